//! Which hosts the flags and the environment name.

pub(crate) mod flags;

use std::time::Duration;

use linerate_load::hosts::{self, Host, HostsError, Named};

use crate::credentials::flag_or_env;
use crate::{bounded, masks, trust};
use flags::TargetChoice;

/// Variables that name hosts, the first first.
const VARIABLES: [&str; 3] = ["WARP_HOST", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"];

/// The hosts that the environment names.
pub(crate) fn of_environment() -> Option<String> {
    flag_or_env(None, &VARIABLES)
}

/// Whether the flags ask for a target of linerate's own. Who does so does not mean the endpoint of the environment.
pub(crate) fn is_own(target: &TargetChoice) -> bool {
    target.target.is_some() || target.drive.is_some()
}

/// The hosts that are named, as text and as what it says; none where a target of linerate's own is loaded.
pub(crate) fn named(target: &TargetChoice) -> Result<Option<(String, Named)>, HostsError> {
    let text = target.host.clone().or_else(|| if is_own(target) { None } else { of_environment() });
    let Some(text) = text else { return Ok(None) };
    let tls = target.tls || trust::tls_of_environment(&text)?;
    let parsed = hosts::parse(&text, tls, bounded::text);
    let named = parsed.map_err(|error| match masks::without_used(&text) {
        // An entry is quoted up to a sign that the key may hold: a part of it would be told.
        masked if masked != text && !matches!(error, HostsError::Keys(_)) => HostsError::Url(masked.into_owned()),
        _ => error,
    })?;
    Ok(Some((text, named)))
}

/// Their addresses, each looked up within a time.
pub(crate) fn resolved(authorities: &[String], every_address: bool, within: Duration) -> Result<Vec<Host>, HostsError> {
    let resolve = if every_address { hosts::resolve_all } else { hosts::resolve };
    resolve(authorities, within)
}
