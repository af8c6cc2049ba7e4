//! The command line: its definition, its help, words of warp and iperf3, and the table of verbs.

pub(crate) mod all_errors;
pub(crate) mod clap_error_text;
pub(crate) mod config;
pub(crate) mod definition;
pub(crate) mod doc_pages;
pub(crate) mod help_footer;
pub(crate) mod iperf3;
pub(crate) mod parse;
pub(crate) mod short_help;
pub(crate) mod verbs;
pub(crate) mod warp;
