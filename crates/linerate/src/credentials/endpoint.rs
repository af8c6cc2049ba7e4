//! Which hosts the flags and the environment name.

pub(crate) mod flags;

use std::time::Duration;

use linerate_load::hosts::{self, Host, HostsError, NamedHosts};

use crate::credentials::keys::flag_or_env;
use crate::credentials::tls_trust;
use crate::files::limited_read;
use crate::terminal::key_masks;
use flags::TargetChoice;

/// Variables that name hosts, the first first.
const VARIABLES: [&str; 3] = ["WARP_HOST", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"];

/// The hosts that the environment names.
pub(crate) fn host_of_environment() -> Option<String> {
    flag_or_env(None, &VARIABLES)
}

/// Whether the flags ask for a target of linerate's own. Who does so does not mean the endpoint of the environment.
pub(crate) fn is_own_target(target: &TargetChoice) -> bool {
    target.target.is_some() || target.drive.is_some()
}

/// The hosts that are named, as text and as what it says; none where a target of linerate's own is loaded.
pub(crate) fn named_hosts(target: &TargetChoice) -> Result<Option<(String, NamedHosts)>, HostsError> {
    let text = target.host.clone().or_else(|| if is_own_target(target) { None } else { host_of_environment() });
    let Some(text) = text else { return Ok(None) };
    let tls = target.tls || tls_trust::is_tls_in_environment(&text)?;
    let parsed = hosts::parse(&text, tls, limited_read::read_text);
    let named = parsed.map_err(|error| match key_masks::mask_used_keys(&text) {
        // An entry is quoted up to a sign that the key may hold: a part of it would be told.
        masked if masked != text && !matches!(error, HostsError::Keys(_)) => HostsError::Url(masked.into_owned()),
        _ => error,
    })?;
    Ok(Some((text, named)))
}

/// Hosts where somebody found them before or, where nobody did, by their names.
pub(crate) fn found_hosts(
    addresses: &[String],
    authorities: &[String],
    every_address: bool,
    within: Duration,
) -> Result<Vec<Host>, HostsError> {
    if addresses.is_empty() {
        return resolve_hosts(authorities, every_address, within);
    }
    hosts::resolve_recorded(&hosts::recorded(addresses)?, within)
}

/// Their addresses, each looked up within a time.
pub(crate) fn resolve_hosts(
    authorities: &[String],
    every_address: bool,
    within: Duration,
) -> Result<Vec<Host>, HostsError> {
    let resolve = if every_address { hosts::resolve_all } else { hosts::resolve };
    resolve(authorities, within)
}
