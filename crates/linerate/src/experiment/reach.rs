//! Whether an arm reaches what is measured: each is put in place for a moment before anything is loaded, and it is
//! looked where the client and the server are.

use std::net::SocketAddr;

use linerate_host::setting;
use linerate_host::{Root, Serving, serving};
use linerate_record::experiment::NotTested;
use linerate_record::knob::{Change, Place, Scope, Space, TakesEffect, same};

use crate::failure::Failure;
use crate::tune;

use super::arms::Planned;

/// Who takes part: this process, and the server where it is on this machine.
#[derive(Debug)]
pub(super) struct Parties {
    pub(super) server: Option<Serving>,
    /// Whether the target is on this machine, so that a setting of the machine reaches it.
    pub(super) is_here: bool,
}

impl Parties {
    /// Finds the server that listens where the load goes.
    pub(super) fn find(root: &Root, hosts: &[SocketAddr], is_here: bool) -> Parties {
        let server = serving(root, hosts);
        Parties { is_here: is_here || server.is_some(), server }
    }
}

/// How far a change that is in place reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// The server, or the machine that all are on.
    Server,
    /// The client alone.
    Client,
    /// Neither, and why.
    Nowhere(String),
}

/// How far the changes of an arm that is in place reach, each with its place. A setting of the whole machine reaches
/// who is on it; one that each network namespace has of its own reaches who is in that namespace, and where it is
/// handed on to new ones, who can read it.
pub(super) fn reaches(root: &Root, changes: &[Change], parties: &Parties) -> Vec<(Place, Reach)> {
    changes.iter().map(|change| (change.place.clone(), reach(root, change, parties))).collect()
}

fn reach(root: &Root, change: &Change, parties: &Parties) -> Reach {
    let place = &change.place;
    match change.takes_effect {
        TakesEffect::Never => {
            return Reach::Nowhere(format!("{place} does nothing on this kernel: see linerate knobs {}", place.knob));
        }
        TakesEffect::Reboot => {
            return Reach::Nowhere(format!("{place} acts when the machine boots, which an experiment does not do"));
        }
        _ => {}
    }
    if change.scope != Scope::NetworkNamespace {
        return if parties.is_here { Reach::Server } else { Reach::Client };
    }
    let set_in = setting::identity(root, &place.space).ok().flatten();
    let is_in = |space: Space| {
        let is_same = setting::identity(root, &space).ok().flatten() == set_in;
        is_same || (change.takes_effect == TakesEffect::NewNamespace && reads(root, change, space))
    };
    match parties.server.as_ref() {
        Some(server) if is_in(Space::Pid(server.pid)) => Reach::Server,
        _ if is_in(Space::Host) => Reach::Client,
        server => Reach::Nowhere(in_neither(place, server)),
    }
}

fn in_neither(place: &Place, server: Option<&Serving>) -> String {
    let server = server.map_or_else(
        || "no server was found on this machine".to_owned(),
        |server| format!("the server's is another: give --pid {} ({})", server.pid, server.program),
    );
    format!(
        "{place} reaches neither the client's network namespace nor the server's, and each has its own, whatever the \
         host's are; {server}"
    )
}

/// Whether a space has the new value of a change.
fn reads(root: &Root, change: &Change, space: Space) -> bool {
    let Some(knob) = tune::find(&change.place.knob) else { return false };
    let place = Place { space, ..change.place.clone() };
    setting::read(root, knob, &place).value.is_some_and(|value| same(&knob.locator, &value, &change.new))
}

/// Refuses changes that processes read when they start where nothing restarts them.
pub(super) fn require_restart(arms: &[Planned], restarts: bool) -> Result<(), Failure> {
    let late = |change: &&Change| change.takes_effect == TakesEffect::Restart;
    match arms.iter().flat_map(|arm| &arm.means.changes).find(late) {
        Some(change) if !restarts => {
            let place = &change.place;
            Err(Failure::usage(format!(
                "{place} is read by processes when they start: give --restart with the command that restarts the target"
            )))
        }
        _ => Ok(()),
    }
}

/// What must be said of settings that sockets take when they are made: bench makes new ones for every cell, and a
/// server's listen for longer.
pub(super) fn of_sockets(arms: &[Planned], restarts: bool) -> Option<String> {
    let is_of_sockets =
        |change: &&Change| matches!(change.takes_effect, TakesEffect::NewSocket | TakesEffect::NewNamespace);
    let mut places: Vec<String> = arms
        .iter()
        .flat_map(|arm| &arm.means.changes)
        .filter(is_of_sockets)
        .map(|change| change.place.to_string())
        .collect();
    places.sort();
    places.dedup();
    let are = if places.len() == 1 { "is" } else { "are" };
    (!restarts && !places.is_empty()).then(|| {
        format!(
            "{} {are} taken by new sockets: the client's are new in each cell, and those on which a server listens \
             keep what they had unless --restart restarts it",
            places.join(", ")
        )
    })
}

/// What is said of an arm before it is measured.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Verdict {
    /// Why it cannot be tested; absent where it can.
    pub(super) not_tested: Option<NotTested>,
    pub(super) notes: Vec<String>,
}

/// Judges an arm by the changes in which it differs from the baseline: where none of them reaches anybody, it would
/// measure nothing but itself.
pub(super) fn judge(arm: &str, baseline: &[(Place, Reach)], reached: &[(Place, Reach)], differ: &[Place]) -> Verdict {
    let reach_of = |place: &Place| reached.iter().chain(baseline).find(|(at, _)| at == place).map(|(_, reach)| reach);
    let mut verdict = Verdict::default();
    let mut unreached = Vec::new();
    for place in differ {
        match reach_of(place) {
            Some(Reach::Nowhere(why)) => unreached.push(why.clone()),
            Some(Reach::Client) => verdict.notes.push(format!("{arm}: {place} acts on the client's machine alone")),
            Some(Reach::Server) | None => {}
        }
    }
    if !unreached.is_empty() && unreached.len() == differ.len() {
        unreached.dedup();
        let why = unreached.join("; ");
        return Verdict { not_tested: Some(NotTested { arm: arm.to_owned(), why }), notes: Vec::new() };
    }
    verdict.notes.extend(unreached.into_iter().map(|why| format!("{arm}: {why}")));
    verdict
}

/// The places in which an arm differs from the baseline.
pub(super) fn differ(baseline: &[Change], arm: &[Change]) -> Vec<Place> {
    let is_in =
        |change: &Change, others: &[Change]| others.iter().any(|o| o.place == change.place && o.new == change.new);
    let of_arm = arm.iter().filter(|change| !is_in(change, baseline));
    let of_baseline = baseline.iter().filter(|change| arm.iter().all(|other| other.place != change.place));
    of_arm.chain(of_baseline).map(|change| change.place.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(knob: &str) -> Place {
        Place { knob: knob.to_owned(), device: None, space: Space::Host }
    }

    #[test]
    fn an_arm_is_left_out_where_nothing_of_what_it_changes_reaches_anybody() {
        let nowhere = || Reach::Nowhere("it is elsewhere".to_owned());
        let (a, b) = (place("net.ipv4.tcp_rmem"), place("net.ipv4.tcp_wmem"));
        let left_out = judge("larger", &[], &[(a.clone(), nowhere()), (b.clone(), nowhere())], &[a.clone(), b.clone()]);
        assert_eq!(left_out.not_tested.unwrap().why, "it is elsewhere");
        let partly =
            judge("larger", &[], &[(a.clone(), nowhere()), (b.clone(), Reach::Server)], &[a.clone(), b.clone()]);
        assert_eq!((partly.not_tested, partly.notes), (None, vec!["larger: it is elsewhere".to_owned()]));
        let of_baseline = judge("as it is", &[(a.clone(), nowhere())], &[], std::slice::from_ref(&a));
        assert!(of_baseline.not_tested.is_some(), "what the baseline changes alone differs too");
        let by_client = judge("larger", &[], &[(a.clone(), Reach::Client)], &[a]);
        assert!(by_client.not_tested.is_none() && by_client.notes[0].contains("client's machine alone"));
    }
}
