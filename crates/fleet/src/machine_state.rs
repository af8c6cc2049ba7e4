//! What an agent says of its machine for an audit, and whether that can be.

use linerate_record::discovery::EngineFacts;
use linerate_record::fleet::MachineState;
use linerate_record::knob::Snapshot;

use crate::error::{AgentError, lie};
use crate::protocol::checked_machine;

/// Most settings of one machine: a thousand processors, links and drives with thirty each.
const SETTINGS_MAX: usize = 20_000;

/// Most devices of a kind, and of engines and configured settings: an audit holds them against each other.
const DEVICES_MAX: usize = 10_000;
const ENGINES_MAX: usize = 256;
const CONFIGURED_MAX: usize = 10_000;

/// Most endpoints that an engine is started with: each folder of each node of a large cluster.
const ENDPOINTS_MAX: usize = 65_536;

/// The state of a machine, out of JSON.
///
/// # Errors
/// [`AgentError::Lie`] where no machine is so.
pub(crate) fn state(json: &str) -> Result<MachineState, AgentError> {
    let state: MachineState = serde_json::from_str(json)
        .map_err(|error| lie(&format!("its description of its machine cannot be read: {error}")))?;
    checked_machine(&state.snapshot.machine).map_err(|error| lie(&error))?;
    let Snapshot { settings, devices, engines, configured, .. } = &state.snapshot;
    let facts = &state.facts;
    let of_engines = |length: fn(&EngineFacts) -> usize| facts.engines.iter().map(length).max().unwrap_or_default();
    let lists = [
        ("settings", settings.len(), SETTINGS_MAX),
        ("disks", devices.disks.len(), DEVICES_MAX),
        ("PCIe functions", devices.pcie.len(), DEVICES_MAX),
        ("mounts", devices.mounts.len(), DEVICES_MAX),
        ("members outside LACP", devices.outside_lacp.len(), DEVICES_MAX),
        ("engines", engines.len(), ENGINES_MAX),
        ("configured settings", configured.len(), CONFIGURED_MAX),
        ("firmware versions", state.firmware.len(), DEVICES_MAX),
        ("engines", facts.engines.len(), ENGINES_MAX),
        ("models of drives", facts.drive_models.len(), DEVICES_MAX),
        ("tunnels and VLANs", facts.tunnels.len() + facts.vlans.len(), DEVICES_MAX),
        ("addresses", facts.addresses.len().max(of_engines(|engine| engine.addresses.len())), DEVICES_MAX),
        ("folders of an engine", of_engines(|engine| engine.drives.len()), DEVICES_MAX),
        ("endpoints of an engine", of_engines(|engine| engine.volumes.len()), ENDPOINTS_MAX),
        ("peers of an engine", of_engines(|engine| engine.peers.len()), DEVICES_MAX),
    ];
    match lists.iter().find(|(_, count, most)| count > most) {
        Some((what, count, most)) => Err(lie(&format!("{count} {what}, but at most {most} are allowed"))),
        None => Ok(state),
    }
}
