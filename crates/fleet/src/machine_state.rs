//! What an agent says of its machine for an audit, and whether that can be.

use linerate_record::fleet::MachineState;
use linerate_record::knob::Snapshot;

use crate::error::{AgentError, lie};
use crate::facts_limits;
use crate::protocol::checked_machine;

/// Most settings of one machine: a thousand processors, links and drives with thirty each.
const SETTINGS_MAX: usize = 20_000;

/// Most devices of a kind, and of engines and configured settings: an audit holds them against each other.
const DEVICES_MAX: usize = 10_000;
const ENGINES_MAX: usize = 256;
const CONFIGURED_MAX: usize = 10_000;

/// The state of a machine, out of JSON.
///
/// # Errors
/// [`AgentError::Lie`] where no machine is so.
pub(crate) fn state(json: &str) -> Result<MachineState, AgentError> {
    let state: MachineState = serde_json::from_str(json)
        .map_err(|error| lie(&format!("its description of its machine cannot be read: {error}")))?;
    checked_machine(&state.snapshot.machine).map_err(|error| lie(&error))?;
    let Snapshot { settings, devices, engines, configured, .. } = &state.snapshot;
    let lists = [
        ("settings", settings.len(), SETTINGS_MAX),
        ("disks", devices.disks.len(), DEVICES_MAX),
        ("PCIe functions", devices.pcie.len(), DEVICES_MAX),
        ("mounts", devices.mounts.len(), DEVICES_MAX),
        ("members outside LACP", devices.outside_lacp.len(), DEVICES_MAX),
        ("engines", engines.len(), ENGINES_MAX),
        ("configured settings", configured.len(), CONFIGURED_MAX),
        ("firmware versions", state.firmware.len(), DEVICES_MAX),
    ];
    match lists.iter().find(|(_, count, most)| count > most) {
        Some((what, count, most)) => Err(lie(&format!("{count} {what}, but at most {most} are allowed"))),
        None => facts_limits::checked(&state.facts).map_err(|why| lie(&why)).map(|()| state),
    }
}
