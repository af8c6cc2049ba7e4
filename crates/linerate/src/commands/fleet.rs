//! `linerate fleet`: whether each node of a fleet is reached, what was left there, and clients in Kubernetes.

pub(crate) mod flags;
#[cfg(feature = "kube")]
mod pods;
#[cfg(not(feature = "kube"))]
#[path = "fleet/no_pods.rs"]
mod pods;

use std::process::ExitCode;

use linerate_fleet::description::FleetNode;
use linerate_record::fleet::{FLEET_SCHEMA, FleetCheck};

use crate::files::output_format;
use crate::remote::node_access;
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;
use flags::{CheckFlags, DownFlags, FleetCleanFlags, FleetFlags, FleetVerb};

/// What is wrong with what the flags name.
pub(crate) fn check(flags: &FleetFlags) -> Result<(), Failure> {
    let path = match &flags.verb {
        FleetVerb::Check(flags) => return read(flags).map(|_| ()),
        FleetVerb::Clean(FleetCleanFlags { fleet }) | FleetVerb::Down(DownFlags { fleet: Some(fleet), .. }) => fleet,
        FleetVerb::Manifest(flags) => return pods::check(&flags.clients),
        FleetVerb::Up(flags) => return pods::check(&flags.clients),
        FleetVerb::Down(_) => return Ok(()),
    };
    node_access::read_owned_fleet(path).map(|_| ())
}

pub(crate) fn run(flags: &FleetFlags) -> Result<ExitCode, Failure> {
    match &flags.verb {
        FleetVerb::Check(flags) => check_nodes(flags),
        FleetVerb::Clean(flags) => clean_nodes(flags),
        FleetVerb::Manifest(flags) => pods::manifest(flags),
        FleetVerb::Up(flags) => pods::up(flags),
        FleetVerb::Down(flags) => pods::down(flags),
    }
}

/// The nodes to check, where the flags mean something to them.
fn read(flags: &CheckFlags) -> Result<Vec<FleetNode>, Failure> {
    let nodes = node_access::read_fleet(&flags.fleet)?;
    flags.reach.check(&nodes, &flags.fleet)?;
    Ok(nodes)
}

fn check_nodes(flags: &CheckFlags) -> Result<ExitCode, Failure> {
    let nodes = read(flags)?;
    node_access::consent_to_commands(&nodes, flags.yes_exec)?;
    let rows = node_access::reach_all(&nodes, &flags.reach, false)?.into_iter().map(|(row, _)| row).collect();
    let found = FleetCheck { schema: FLEET_SCHEMA, linerate: env!("CARGO_PKG_VERSION").to_owned(), nodes: rows };
    let rendered = if flags.json {
        linerate_report::fleet::json(&found)
    } else {
        linerate_report::fleet::check(&found, flags.all, printing::text_style_for_file(flags.output.is_some()))
    };
    let done = output_format::write_or_print(&rendered, flags.output.as_deref())?;
    let missing = found.nodes.iter().filter(|row| row.reached.is_none()).count();
    if missing == 0 { Ok(done) } else { Err(unreached_failure(missing, found.nodes.len())) }
}

fn unreached_failure(missing: usize, all: usize) -> Failure {
    Failure::Outcome { why: format!("{missing} of {all} nodes were not reached"), code: code::TARGET }
}

fn clean_nodes(flags: &FleetCleanFlags) -> Result<ExitCode, Failure> {
    let nodes = node_access::read_owned_fleet(&flags.fleet)?;
    let cleaned = node_access::clean_all(&nodes)?;
    let missing = cleaned.iter().filter(|(_, fault)| fault.is_some()).count();
    printing::print(&linerate_report::fleet::cleaned(&cleaned))?;
    if missing == 0 { Ok(ExitCode::SUCCESS) } else { Err(unreached_failure(missing, cleaned.len())) }
}
