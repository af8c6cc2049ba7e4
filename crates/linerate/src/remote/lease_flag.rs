//! How long an agent may go on alone, as a flag of those who start it.

use std::time::Duration;

use linerate_fleet::lease::{LEASE_MAX, LEASE_MIN};
use linerate_record::units::parse_duration;

/// No shorter than that of an agent on pipes, and no longer than somebody waits who ended its coordinator.
pub(crate) fn parse_lease(text: &str) -> Result<Duration, String> {
    let lease = parse_duration(text).map_err(|error| error.to_string())?;
    (LEASE_MIN..=LEASE_MAX).contains(&lease).then_some(lease).ok_or_else(|| "write 2s to 5m".to_owned())
}
