//! `linerate audit --fleet`: the machines of a fleet, against each other and against their profiles.

use std::path::Path;
use std::process::ExitCode;

use linerate_fleet::description::FleetNode;
use linerate_record::fleet::{FleetRow, MachineState, NodeRole};
use linerate_record::site::Site;
use linerate_settings::drift::PeerMachine;
use linerate_settings::fleet::{fleet_audit, is_missed};
use linerate_site::quoted;

use super::flags::AuditFlags;
use super::{CLIENT_PROFILE, STORAGE_PROFILE};
use crate::files::output_format::OutputFormat;
use crate::files::{output_format, site_file};
use crate::remote::node_access;
use crate::run::catalogue;
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;

/// What is wrong with what the flags name.
pub(super) fn check(flags: &AuditFlags, fleet: &Path) -> Result<(), Failure> {
    read(flags, fleet).map(|_| ())
}

/// The fleet, and the site where one is named; all that is wrong with what the flags name.
fn read(flags: &AuditFlags, fleet: &Path) -> Result<(Vec<FleetNode>, Option<Site>), Failure> {
    let profile = flags.profile.as_deref().map(catalogue::profile_named).transpose();
    let site = flags.site.as_deref().map(site_file::read_site).transpose();
    let nodes = node_access::read_fleet(fleet);
    let unknown = match (&site, &nodes) {
        (Ok(Some(site)), Ok(nodes)) => unknown_nodes(site, nodes, fleet),
        _ => None,
    };
    let unused = nodes.as_ref().ok().and_then(|nodes| flags.reach.check(nodes, fleet).err());
    match (profile, site, nodes, unknown.is_none() && unused.is_none()) {
        (Ok(_), Ok(site), Ok(nodes), true) => Ok((nodes, site)),
        (profile, site, nodes, _) => Err(Failure::combine([profile.err(), site.err(), nodes.err(), unknown, unused])),
    }
}

/// What `clients` of a site are, which have no name there.
const CLIENTS: &str = "clients";

/// Nodes of kinds that the site does not have.
fn unknown_nodes(site: &Site, nodes: &[FleetNode], fleet: &Path) -> Option<Failure> {
    let mut kinds: Vec<&str> = site.groups.iter().map(|group| group.name.as_str()).collect();
    kinds.push(CLIENTS);
    let mut unknown: Vec<String> = Vec::new();
    for node in nodes {
        let Some(kind) = node.site_node.as_deref().filter(|kind| !kinds.contains(kind)) else { continue };
        let mistake = format!(
            "{}: site {}: {} has no such kind of nodes: write {}",
            fleet.display(),
            quoted(kind),
            site.name,
            kinds.join(", ")
        );
        if !unknown.contains(&mistake) {
            unknown.push(mistake);
        }
    }
    (!unknown.is_empty()).then(|| Failure::from_errors(unknown))
}

fn peer<'p>(row: &'p FleetRow, state: &'p MachineState) -> PeerMachine<'p> {
    PeerMachine { name: &row.name, role: row.role, site_node: row.site_node.as_deref(), state }
}

pub(super) fn run(flags: &AuditFlags, fleet: &Path) -> Result<ExitCode, Failure> {
    let (nodes, site) = read(flags, fleet)?;
    if flags.shown.chosen() == OutputFormat::Html {
        return Err(Failure::usage("--format html shows one machine: with --fleet, use text or json"));
    }
    let [storage, client] = [STORAGE_PROFILE, CLIENT_PROFILE].map(|name| flags.profile.as_deref().unwrap_or(name));
    let (storage, client) = (catalogue::profile_named(storage)?, catalogue::profile_named(client)?);
    node_access::consent_to_commands(&nodes, flags.yes_exec)?;
    let found = node_access::reach_all(&nodes, &flags.reach, true)?;
    let read: Vec<(&FleetRow, &MachineState)> =
        found.iter().filter_map(|(row, state)| Some((row, state.as_ref()?))).collect();
    let peers: Vec<PeerMachine<'_>> = read.iter().map(|(row, state)| peer(row, state)).collect();
    let unreached: Vec<FleetRow> =
        found.iter().filter(|(_, state)| state.is_none()).map(|(row, _)| row.clone()).collect();
    let missing = unreached.len();
    let profile_of_role = |role| if role == NodeRole::Client { client } else { storage };
    let audit = fleet_audit(&peers, unreached, profile_of_role, site.as_ref());
    let rendered = if flags.shown.chosen() == OutputFormat::Json {
        linerate_report::fleet::json(&audit)
    } else {
        linerate_report::fleet::audit(&audit, flags.all, printing::text_style_for_file(flags.output.is_some()))
    };
    let done = output_format::write_or_print(&rendered, flags.output.as_deref())?;
    if missing > 0 {
        let why = format!("{missing} of {} nodes were not reached", nodes.len());
        return Err(Failure::Outcome { why, code: code::TARGET });
    }
    let why = "--check: nodes of the same role differ, a setting differs, or a finding is a warning or worse";
    if flags.check && is_missed(&audit) {
        return Err(Failure::Outcome { why: why.to_owned(), code: code::MISSED });
    }
    Ok(done)
}
