//! One moment from its beginning to the end, at which every node is as before: what was done before, the verb that is
//! disturbed, what is told of it, and how it is finished.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use linerate_record::rollout::{FleetChanges, NodeState};
use serde::Serialize;

use super::drawn::{Blow, Ending, Moment, Prelude, Verb};
use super::judged::{Counts, Known, Truth, counts_of, counts_said, misfit, place, untrue};
use super::struck::{Coordinator, Ended, Struck, Undisturbed, struck};
use crate::system_parts::fleet_nodes::{Nodes, PAGE_BYTES, differing};
use crate::system_parts::tune::wait_until;

/// After which time nodes roll back what nobody confirmed. The checks of all waves have to fit, each with the two
/// seconds that it may take, and applying takes longer while several fleets do it.
const DEADLINE: &str = "24s";
const DEADLINE_S: Duration = Duration::from_secs(24);

/// The same once somebody began to confirm: linerate puts it off so far, and no flag shortens that.
const EXTENDED_S: Duration = Duration::from_secs(120);

/// When what heals late does so behind that.
const LATE: Duration = Duration::from_secs(3);

/// How long agents may take to end by themselves: one that waits for another's lock does for twenty seconds.
const ALONE_WITHIN: Duration = Duration::from_secs(30);

/// How late a watch may be that shares its processors with many.
const LAPSED_WITHIN: Duration = Duration::from_secs(40);

/// How often what is done undisturbed may fail: agents that get no processor for two seconds are given up.
const TRIES: u32 = 4;

/// Nodes, and what is known of them.
pub(super) struct Fleet {
    pub(super) nodes: Nodes,
    /// The file of changes, and what was in it first.
    changes: String,
    text: String,
    /// How long a node's journal of them is.
    journal_bytes: u64,
    known: Known,
    /// How each verb went at its fastest.
    undisturbed: Mutex<BTreeMap<Verb, Undisturbed>>,
}

/// What came of a moment.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Came {
    /// When it was, from the beginning of the verb, and what the coordinator was about; absent where the verb had ended
    /// by then.
    pub(super) at_ms: Option<u64>,
    pub(super) phase: Option<&'static str>,
    /// How the verb ended, and what it reported, where it did.
    pub(super) code: Option<i32>,
    pub(super) reported: Option<Counts>,
    /// What the nodes were then.
    pub(super) were: Counts,
    /// What status told next and at last, with its exit codes.
    #[serde(rename = "told")]
    pub(super) statuses: Vec<(Option<i32>, Counts)>,
    /// How often status was asked again, since something happened meanwhile.
    #[serde(rename = "asked_again")]
    pub(super) requested_again: u32,
    /// How the ending ended.
    pub(super) ending_code: Option<i32>,
    /// Whether every value of every node is as before.
    pub(super) is_whole: bool,
}

impl Fleet {
    /// Makes one, and does everything once without disturbing it.
    pub(super) fn make(tag: &str, count: usize) -> Result<Fleet, Failed> {
        let nodes = Nodes::make(tag, count)?;
        let changes = nodes.diff();
        let text = fs::read_to_string(&changes)?;
        let known = Known { before: nodes.values(), confirmed: Vec::new() };
        let mut fleet = Fleet { nodes, changes, text, journal_bytes: 0, known, undisturbed: Mutex::default() };
        let mut tried = fleet.tried();
        for _ in 1..TRIES {
            if tried.is_ok() {
                break;
            }
            fleet.reset()?;
            tried = fleet.tried();
        }
        tried?;
        fleet.reset()?;
        let changed = fleet.known.confirmed.iter().zip(&fleet.known.before);
        for (number, (confirmed, before)) in changed.enumerate() {
            let other = confirmed.lines().filter(|line| !before.lines().any(|of| of == *line)).count();
            if other < 8 {
                return Err(format!("n{number} has {other} lines that are other once it is confirmed").into());
            }
        }
        Ok(fleet)
    }

    fn tried(&mut self) -> Result<(), Failed> {
        self.surely(Verb::Apply)?;
        self.journal_bytes = self.nodes.journal_bytes(0).ok_or("a journal")?;
        self.surely(Verb::Status)?;
        self.surely(Verb::Confirm)?;
        self.known.confirmed = self.nodes.values();
        self.surely(Verb::Rollback)
    }

    fn words(&self, verb: Verb) -> Vec<&str> {
        let mut words = vec!["tune", verb.name(), "--json"];
        match verb {
            Verb::Apply => words.extend([
                self.changes.as_str(),
                "--confirm",
                DEADLINE,
                "--wave",
                "1,5,25%",
                "--check",
                "sleep 0.2",
                "--check-within",
                "2s",
            ]),
            Verb::Rollback => words.push("--kept"),
            Verb::Confirm | Verb::Status => {}
        }
        words
    }

    /// Writes the changes, such that a node's journal of them ends so far before the end of a page: what is noted
    /// behind that needs another, which a full disk does not have.
    fn write_changes(&self, gap_bytes: Option<u64>) -> Result<(), Failed> {
        let mut changes: FleetChanges = serde_json::from_str(&self.text)?;
        let longer = gap_bytes.map_or(0, |gap| (2 * PAGE_BYTES - gap - self.journal_bytes % PAGE_BYTES) % PAGE_BYTES);
        for change in changes.nodes.iter_mut().filter_map(|node| node.set.changes.first_mut()) {
            change.why.push_str(&"x".repeat(usize::try_from(longer)?));
        }
        Ok(fs::write(&self.changes, serde_json::to_string(&changes)?)?)
    }

    /// Does something undisturbed, and remembers how that went.
    fn surely(&self, verb: Verb) -> Result<(), Failed> {
        let (ended, undisturbed) = Coordinator::start(&self.nodes, &self.words(verb))?.ended()?;
        if ended.code != Some(0) {
            return Err(format!("{} undisturbed: {ended:?}", verb.name()).into());
        }
        self.remember(verb, undisturbed);
        Ok(())
    }

    /// All fleets are made at once, and what is done first takes longest.
    fn remember(&self, verb: Verb, went: Undisturbed) {
        let mut all = self.undisturbed.lock().unwrap_or_else(PoisonError::into_inner);
        if all.get(&verb).is_none_or(|before| went.is_sooner_than(before)) {
            all.insert(verb, went);
        }
    }

    fn at_its_fastest(&self, verb: Verb) -> Option<Undisturbed> {
        self.undisturbed.lock().unwrap_or_else(PoisonError::into_inner).get(&verb).cloned()
    }

    /// The same of a moment that is about to be; again where this machine was too busy.
    fn prepared(&self, prelude: Prelude) -> Result<(), Failed> {
        let verbs: &[Verb] = match prelude {
            Prelude::Nothing => &[],
            Prelude::Applied => &[Verb::Apply],
            Prelude::Confirmed => &[Verb::Apply, Verb::Confirm],
        };
        let mut last = String::new();
        for _ in 0..TRIES {
            let failed = verbs.iter().find_map(|verb| match self.done(*verb) {
                Ok(ended) if ended.code == Some(0) => None,
                Ok(ended) => Some(format!("{}: {ended:?}", verb.name())),
                Err(failed) => Some(failed.message().unwrap_or_default().to_owned()),
            });
            let Some(why) = failed else { return Ok(()) };
            last = why;
            self.reset()?;
        }
        Err(format!("not even undisturbed: {last}").into())
    }

    fn done(&self, verb: Verb) -> Result<Ended, Failed> {
        let (ended, went) = Coordinator::start(&self.nodes, &self.words(verb))?.ended()?;
        if ended.code == Some(0) {
            self.remember(verb, went);
        }
        Ok(ended)
    }

    /// Rolls back whatever is left, and compares all; then nodes know of nothing.
    fn reset(&self) -> Result<(), Failed> {
        if !self.nodes.are_alone(ALONE_WITHIN) {
            return Err(format!("agents are left on {:?}", self.nodes.network().with_agents()).into());
        }
        let mut ended = self.done(Verb::Rollback)?;
        for _ in 1..TRIES {
            if matches!(ended.code, Some(0 | 2)) {
                break;
            }
            ended = self.done(Verb::Rollback)?;
        }
        let values = self.nodes.values();
        if !matches!(ended.code, Some(0 | 2)) || values != self.known.before {
            let differing = differing(&self.known.before, &values);
            return Err(format!("not as before at last: {differing}: {ended:?}").into());
        }
        self.nodes.forget();
        Ok(())
    }

    /// Asks how all stand, and holds it against what is so. What happens between both, such as a node that lapses, may
    /// make it untrue: then it is asked again.
    fn reported(&self, came: &mut Came) -> Result<(), Failed> {
        let mut last = String::new();
        for number in 0..3 {
            let ended = self.done(Verb::Status)?;
            let values = self.nodes.values();
            let passed_ms = u64::try_from(ended.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            let report = ended.report.as_ref().ok_or_else(|| format!("status tells nothing: {ended:?}"))?;
            let mut faults = untrue(report, &values, &self.known, passed_ms);
            faults.extend(misfit(Verb::Status, &ended, values.len(), &self.known.truths(&values)));
            if faults.is_empty() {
                came.statuses.push((ended.code, counts_said(report)));
                came.requested_again += number;
                return Ok(());
            }
            last = faults.join("; ");
        }
        Err(format!("status is not so: {last}").into())
    }

    /// Goes through a moment. What came of it is told though it fails.
    pub(super) fn conducted(&self, moment: &Moment, came: &mut Came) -> Result<(), Failed> {
        self.write_changes(moment.gap_bytes)?;
        self.prepared(moment.prelude)?;
        let late = match (moment.verb, moment.prelude) {
            (Verb::Confirm, _) => EXTENDED_S + LATE,
            (_, Prelude::Confirmed) => LATE * 2,
            _ => DEADLINE_S + LATE,
        };
        let undisturbed = self.at_its_fastest(moment.verb).ok_or("every verb was tried")?;
        let mut words = self.words(moment.verb);
        // What waits is rolled back without a word more.
        words.retain(|word| moment.prelude == Prelude::Confirmed || *word != "--kept");
        let Struck { ended, at, healings, is_killed } = struck((&self.nodes, &words[..]), moment, &undisturbed, late)?;
        came.at_ms = at.and_then(|(at, _)| u64::try_from(at.as_millis()).ok());
        (came.phase, came.code) = (at.map(|(_, phase)| phase), ended.code);
        came.reported = ended.report.as_ref().map(counts_said);
        let values = self.nodes.values();
        let truths = self.known.truths(&values);
        came.were = counts_of(&truths);
        let held = self.judged(moment, &ended, is_killed, &values)?;

        // Agents of a coordinator that was killed may be about something still; those that are frozen stay.
        let frozen: BTreeSet<usize> =
            healings.iter().filter(|one| one.holds_processes()).flat_map(|one| one.nodes.iter().copied()).collect();
        if !wait_until(|| self.nodes.network().with_agents().is_subset(&frozen), ALONE_WITHIN) {
            return Err("agents are left while it fails".into());
        }
        self.reported(came)?;
        let is_healing = !healings.is_empty();
        for one in healings {
            thread::sleep(one.at.saturating_duration_since(Instant::now()));
            one.heal(&self.nodes)?;
        }
        if !self.nodes.are_alone(ALONE_WITHIN) {
            return Err("agents are left behind it".into());
        }
        if is_healing {
            self.reported(came)?;
        }
        self.remain(&held, "once everything went on")?;
        self.ended(moment, came)?;
        self.remain(&held, "at last")?;
        self.reset()?;
        came.is_whole = true;
        Ok(())
    }

    /// Holds what a verb reported against what is so; the nodes that it said are as before, which they have to remain.
    fn judged(&self, moment: &Moment, ended: &Ended, is_killed: bool, values: &[String]) -> Result<Vec<usize>, Failed> {
        if is_killed && ended.code.is_none() {
            return Ok(Vec::new());
        }
        let passed_ms = u64::try_from(ended.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut faults: Vec<String> =
            misfit(moment.verb, ended, values.len(), &self.known.truths(values)).into_iter().collect();
        // What status says is of the moment at which it asked, and agents may be about something still.
        if let (Some(report), true) = (&ended.report, moment.verb != Verb::Status) {
            faults.extend(untrue(report, values, &self.known, passed_ms));
        }
        if !faults.is_empty() {
            return Err(format!("{} is not so: {}", moment.verb.name(), faults.join("; ")).into());
        }
        let nodes = ended.report.iter().filter(|_| moment.verb != Verb::Status).flat_map(|report| &report.nodes);
        let before = nodes.filter(|node| node.node_state.is_some_and(NodeState::is_as_before));
        Ok(before.filter_map(place).collect())
    }

    /// Nodes that were said to be as before are.
    fn remain(&self, held: &[usize], when: &str) -> Result<(), Failed> {
        if held.is_empty() {
            return Ok(());
        }
        let truths = self.known.truths(&self.nodes.values());
        let others: Vec<&usize> = held.iter().filter(|node| truths[**node] != Truth::Before).collect();
        if others.is_empty() { Ok(()) } else { Err(format!("changed after all, {when}: nodes {others:?}").into()) }
    }

    /// Finishes it as the moment says.
    fn ended(&self, moment: &Moment, came: &mut Came) -> Result<(), Failed> {
        let verb = match moment.ending {
            Ending::Lapse => return self.lapsed(moment, came),
            Ending::Confirm => Verb::Confirm,
            Ending::Rollback => Verb::Rollback,
        };
        let ended = self.done(verb)?;
        came.ending_code = ended.code;
        let values = self.nodes.values();
        let passed_ms = u64::try_from(ended.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut faults: Vec<String> =
            misfit(verb, &ended, values.len(), &self.known.truths(&values)).into_iter().collect();
        if let Some(report) = &ended.report {
            faults.extend(untrue(report, &values, &self.known, passed_ms));
        }
        if !faults.is_empty() {
            return Err(format!("{} afterwards is not so: {}", verb.name(), faults.join("; ")).into());
        }
        self.reported(came)
    }

    /// Leaves all alone until each has rolled back what was not confirmed, but for those whose watch was killed.
    fn lapsed(&self, moment: &Moment, came: &mut Came) -> Result<(), Failed> {
        let ended = self.done(Verb::Status)?;
        let nodes = ended.report.map(|report| report.nodes).ok_or("status tells nothing")?;
        let struck = |blow: Blow| -> BTreeSet<usize> {
            let strikes = moment.strikes.iter().filter(|strike| strike.blow == blow);
            strikes.flat_map(|strike| strike.nodes.iter().copied()).collect()
        };
        let (unwatched, full) = (struck(Blow::NodesKilled), struck(Blow::DisksFull));
        let truths = self.known.truths(&self.nodes.values());
        let (mut longest_ms, mut waiting) = (0, Vec::new());
        for node in &nodes {
            let number = place(node).ok_or("a node")?;
            if let Some(NodeState::Pending { left_ms, .. }) = node.node_state {
                let is_unwatched = node.reported.as_ref().is_some_and(|reported| reported.is_watched == Some(false));
                // A watch whose time came while the disk was full has restored all, and could not write that down.
                let is_unwritten = left_ms == 0 && full.contains(&number) && truths[number] == Truth::Before;
                if is_unwatched && !unwatched.contains(&number) && !is_unwritten {
                    return Err(format!("n{number} waits without a watch, which nobody killed: {node:?}").into());
                }
                longest_ms = longest_ms.max(left_ms);
                waiting.extend((!is_unwatched).then_some(number));
            }
        }
        thread::sleep(Duration::from_millis(longest_ms));
        let is_back = || {
            let truths = self.known.truths(&self.nodes.values());
            waiting.iter().all(|node| truths[*node] == Truth::Before)
        };
        if !waiting.is_empty() && !wait_until(is_back, LAPSED_WITHIN) {
            return Err(format!("of {waiting:?}, which waited, some did not lapse").into());
        }
        self.reported(came)
    }
}
