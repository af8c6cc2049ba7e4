//! Files: run folders, reads within limits, atomic writes, descriptions of sites.

pub(crate) mod atomic_write;
pub(crate) mod captured_machine;
pub(crate) mod limited_read;
pub(crate) mod local_state;
pub(crate) mod net_folder;
pub(crate) mod output_file;
pub(crate) mod output_format;
pub(crate) mod owner_check;
pub(crate) mod run_folder;
pub(crate) mod run_view;
pub(crate) mod site_file;
pub(crate) mod site_prediction;
pub(crate) mod site_update;
