//! Clients that were lost in a run: what is reported of them, and how a run ends that cannot go on without them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use linerate_analysis::findings::{client_lost, stood_still};
use linerate_analysis::view::View;
use linerate_record::finding::Finding;
use linerate_record::fleet::UnreachedNode;

use crate::remote::node_access::LostAgent;
use crate::terminal::failure::{Failure, code};

/// A client of which nothing more is heard.
pub(super) struct LostClientEntry {
    pub(super) client: usize,
    pub(super) loss: LostAgent,
    /// In which point, where it drove one.
    pub(super) point: Option<u32>,
}

/// All clients that were lost, in that order.
#[derive(Default)]
pub(super) struct LostClients {
    all: RefCell<Vec<LostClientEntry>>,
    /// Points that a client ended there by itself, as it does where a signal ends it: it is lost a moment later.
    ended_by_signal: RefCell<BTreeMap<usize, u32>>,
    /// How many of them were reported.
    reported_count: Cell<usize>,
    /// Whether a point had none left.
    has_no_driver: Cell<bool>,
}

impl LostClients {
    pub(super) fn push(&self, loss: LostClientEntry) {
        let point = self.ended_by_signal.borrow().get(&loss.client).copied().or(loss.point);
        self.all.borrow_mut().push(LostClientEntry { point, ..loss });
    }

    /// Notes that a client ended a point by itself.
    pub(super) fn note_ended_itself(&self, client: usize, point: u32) {
        self.ended_by_signal.borrow_mut().insert(client, point);
    }

    /// Notes that no client is left to drive a point.
    pub(super) fn has_no_driver(&self) {
        self.has_no_driver.set(true);
    }

    /// The words with which a run ends that cannot go on; `name` is a client's.
    pub(super) fn fatal_loss<'n>(
        &self,
        require_all: bool,
        are_all: bool,
        name: impl Fn(usize) -> &'n String,
    ) -> Option<Failure> {
        let lost = self.all.borrow();
        let first = lost.first().filter(|_| require_all || are_all || self.has_no_driver.get())?;
        let (name, why) = (name(first.client), &first.loss.why.why);
        let why = match first.loss.stalled_ms {
            // None of them is to blame.
            Some(_) => format!("{}: {}", if require_all { "clients were lost" } else { "every client was lost" }, why),
            None if require_all => format!("client {name} was lost, and --require-all ends the run with it: {why}"),
            None if are_all => format!("every client was lost; {name} first: {why}"),
            None => format!("every client of a point was lost; {name} first: {why}"),
        };
        Some(Failure::Outcome { why, code: code::TARGET })
    }

    /// Why a run does not go on of whose objects one of these clients was to write some.
    pub(super) fn preparation_loss<'n>(
        &self,
        is_one: impl Fn(usize) -> bool,
        name: impl Fn(usize) -> &'n String,
    ) -> Option<Failure> {
        let lost = self.all.borrow();
        let first = lost.iter().find(|loss| is_one(loss.client))?;
        let UnreachedNode { why, remedy } = &first.loss.why;
        let lost = match first.loss.stalled_ms {
            Some(_) => "clients were lost while they wrote".to_owned(),
            None => format!("client {} was lost while it wrote", name(first.client)),
        };
        let why = format!("{lost} objects beforehand: {why}; {remedy}");
        Some(Failure::Outcome { why, code: code::TARGET })
    }

    /// The findings on clients that were lost since the last call; `view` is of the point that was driven last. Those
    /// that were lost because this process stood still are one finding without names: they are not to blame.
    pub(super) fn findings<'n>(&self, view: Option<&View>, name: impl Fn(usize) -> &'n String) -> Vec<Finding> {
        let all = self.all.borrow();
        let lost = &all[self.reported_count.replace(all.len())..];
        let (ours, theirs): (Vec<&LostClientEntry>, Vec<&LostClientEntry>) =
            lost.iter().partition(|loss| loss.loss.stalled_ms.is_some());
        let finding =
            |lost: &&LostClientEntry| client_lost(name(lost.client), lost.loss.at_ms, lost.point, &lost.loss.why, view);
        let mut found: Vec<Finding> = theirs.iter().map(finding).collect();
        if let Some(first) = ours.first() {
            let longest_ms = ours.iter().filter_map(|loss| loss.loss.stalled_ms).max().unwrap_or(0);
            let mut points: Vec<u32> = ours.iter().filter_map(|loss| loss.point).collect();
            points.sort_unstable();
            points.dedup();
            found.push(stood_still(longest_ms, first.loss.at_ms, ours.len(), &points));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::finding::FindingKind;

    use super::*;

    fn loss(client: usize, stalled_ms: Option<u64>) -> LostClientEntry {
        let why = UnreachedNode { why: "it ended".to_owned(), remedy: "look".to_owned() };
        LostClientEntry { client, loss: LostAgent { why, at_ms: 4_000, stalled_ms }, point: Some(2) }
    }

    #[test]
    fn clients_that_were_lost_since_this_process_stood_still_are_told_as_one_without_names() {
        let names = ["a", "b", "c"].map(str::to_owned);
        let losses = LostClients::default();
        [loss(2, None), loss(0, Some(3_100)), loss(1, Some(3_100))].into_iter().for_each(|loss| losses.push(loss));
        let found = losses.findings(None, |client| &names[client]);
        let kinds: Vec<FindingKind> = found.iter().map(|f| f.kind).collect();
        assert_eq!(kinds, [FindingKind::ClientLost, FindingKind::Stopped]);
        assert!(found[1].evidence.starts_with("2 clients ended") && found[1].points == [2], "{found:?}");
        assert_eq!(losses.findings(None, |client| &names[client]), [], "each is told once");
    }

    #[test]
    fn what_ends_a_run_names_the_first_client_unless_this_process_stood_still() {
        let names = ["a", "b"].map(str::to_owned);
        for (stalled_ms, require_all, are_all, has_no_driver, expected) in [
            (None, false, false, false, None),
            (None, true, false, false, Some("client b was lost, and --require-all ends the run with it: it ended")),
            (None, false, true, true, Some("every client was lost; b first: it ended")),
            (None, false, false, true, Some("every client of a point was lost; b first: it ended")),
            (Some(3_000), false, true, true, Some("every client was lost: it ended")),
            (Some(3_000), true, false, false, Some("clients were lost: it ended")),
        ] {
            let losses = LostClients::default();
            losses.push(loss(1, stalled_ms));
            if has_no_driver {
                losses.has_no_driver();
            }
            let reported_count =
                losses.fatal_loss(require_all, are_all, |client| &names[client]).map(|failure| failure.to_string());
            assert_eq!(reported_count.as_deref(), expected);
        }
    }
}
