//! Keys, where they come from, and whom they are sent to: endpoints and certificates.

pub(crate) mod aws_profile;
pub(crate) mod endpoint;
pub(crate) mod key_permissions;
pub(crate) mod keys;
pub(crate) mod mc_alias;
pub(crate) mod tls_trust;
