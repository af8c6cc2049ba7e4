//! How far the changes of an arm reach: each is put in place for a moment before anything is loaded, and it is looked
//! where the client and the server are. What follows of it, `linerate_experiment::reach` says.

use std::net::SocketAddr;

use linerate_experiment::arm_applicability::{ArmReach, never_acts, read_at_start};
use linerate_host::setting;
use linerate_host::{Root, Serving, serving};
use linerate_record::knob::{Change, Scope, SettingId, Space, TakesEffect, same};
use linerate_report::experiment::reaches_neither;

use crate::run::catalogue;
use crate::terminal::failure::Failure;

use super::arms::ArmPlan;

/// Who takes part: this process, and the server where it is on this machine.
#[derive(Debug)]
pub(super) struct LoadParties {
    pub(super) server: Option<Serving>,
    /// Whether the target is on this machine, so that a setting of the machine reaches it.
    pub(super) is_here: bool,
}

impl LoadParties {
    /// Finds the server that listens where the load goes.
    pub(super) fn find(root: &Root, hosts: &[SocketAddr], is_here: bool) -> LoadParties {
        let server = serving(root, hosts);
        LoadParties { is_here: is_here || server.is_some(), server }
    }
}

/// How far the changes of an arm that is in place reach, each with its place. A setting of the whole machine reaches
/// who is on it; one that each network namespace has of its own reaches who is in that namespace, and where it is
/// handed on to new ones, who can read it.
pub(super) fn setting_reaches(root: &Root, changes: &[Change], parties: &LoadParties) -> Vec<(SettingId, ArmReach)> {
    changes.iter().map(|change| (change.place.clone(), setting_reach(root, change, parties))).collect()
}

fn setting_reach(root: &Root, change: &Change, parties: &LoadParties) -> ArmReach {
    let place = &change.place;
    if let Some(why) = never_acts(change) {
        return ArmReach::Nowhere(why);
    }
    if change.scope != Scope::NetworkNamespace {
        return if parties.is_here { ArmReach::Server } else { ArmReach::Client };
    }
    let set_in = setting::identity(root, &place.space).ok().flatten();
    let is_in = |space: Space| {
        let is_same = setting::identity(root, &space).ok().flatten() == set_in;
        is_same || (change.takes_effect == TakesEffect::NewNamespace && has_new_value(root, change, space))
    };
    match parties.server.as_ref() {
        Some(server) if is_in(Space::Pid(server.pid)) => ArmReach::Server,
        _ if is_in(Space::Host) => ArmReach::Client,
        server => ArmReach::Nowhere(reaches_neither(place, server.map(|server| (server.pid, server.program.as_str())))),
    }
}

/// Whether a space has the new value of a change.
fn has_new_value(root: &Root, change: &Change, space: Space) -> bool {
    let Some(knob) = catalogue::find(&change.place.knob) else { return false };
    let place = SettingId { space, ..change.place.clone() };
    setting::read(root, knob, &place).value.is_some_and(|value| same(&knob.locator, &value, &change.new))
}

/// Refuses changes that processes read when they start where nothing restarts them.
pub(super) fn require_restart_command(arms: &[ArmPlan], restarts: bool) -> Result<(), Failure> {
    match read_at_start(arms.iter().flat_map(|arm| &arm.means.changes)).filter(|_| !restarts) {
        Some(change) => Err(Failure::usage(format!(
            "{} is read by processes when they start: give --restart with the command that restarts the target",
            change.place
        ))),
        None => Ok(()),
    }
}
