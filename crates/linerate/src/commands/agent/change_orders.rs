//! The agent's side of changes: an order about this machine's settings is done by the same journal and watch as `tune`
//! does it, on a thread of its own; `node_state.rs` reads how the machine stands by that journal.

mod node_state;

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use linerate_fleet::change_protocol::{ApplyOrder, ChangeAnswer, ChangeOrder, DiffOrder, NodePlanned, reason};
use linerate_host::apply::{self, ApplyContext, ApplyTerms, ChangeOutcome, TuneError};
use linerate_host::journal::{JournalContent, JournalFolder};
use linerate_host::{Root, boot_id, watch};
use linerate_record::journal::{Begin, RollbackOutcome, Watcher};
use linerate_record::rollout::{NodeState, NodeStatus, RolloutName};
use linerate_site::SiteFile;

use super::AgentEvent;
use crate::run::applications::{self, apply_context, root};
use crate::run::catalogue::profile_named;
use crate::run::wanted_changes::{WantedValues, all_manual_values, changes_to, space_identity, space_of_flags};
use crate::terminal::failure::{Failure, code};
use node_state::{journal_status, kept_rollout_status, node_status, state_by_settings};

/// How long another linerate may have the right to change settings before an order is given up.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// How often it is asked for meanwhile.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Begins to do what an order says to this machine, or to a captured one; what comes of it is told.
pub(super) fn begin(order: ChangeOrder, folder: Option<PathBuf>, event_sender: Sender<AgentEvent>) {
    thread::spawn(move || {
        let answer = answer(&order, folder.as_deref());
        // Nobody may listen any more.
        drop(event_sender.send(AgentEvent::Changed(Box::new(answer))));
    });
}

fn answer(order: &ChangeOrder, folder: Option<&Path>) -> ChangeAnswer {
    let machine = root(folder);
    let done = match order {
        ChangeOrder::Diff(wanted) => {
            return plan_changes(&machine, wanted).unwrap_or_else(|failure| failure_answer(&failure, None));
        }
        ChangeOrder::Look(order) => check_apply(&machine, folder, order),
        ChangeOrder::Apply(order) => apply_order(&machine, folder, order),
        ChangeOrder::QueryStatus { rollout, settings } => node_status(&machine, *rollout, *settings),
        ChangeOrder::QueryKept => kept_rollout_status(&machine),
        ChangeOrder::Extend { rollout, within_ms } => {
            let within = Duration::from_millis(*within_ms);
            act_on_pending(&machine, *rollout, &|apply_context, id| apply::extend(apply_context, id, within))
        }
        ChangeOrder::Confirm { rollout } => confirm_rollout(&machine, *rollout),
        ChangeOrder::Rollback { rollout, force, why } => roll_back(&machine, folder, *rollout, *force, why.as_deref()),
    };
    match done {
        Ok(status) => ChangeAnswer::Reported(Box::new(status)),
        Err(failure) => {
            let status = order.rollout().and_then(|rollout| node_status(&machine, Some(rollout), false).ok());
            failure_answer(&failure, status.filter(|status| !is_rollback_in_progress(order, status)))
        }
    }
}

/// Whether somebody else rolls back what this was asked to: that some settings are not restored is not final then.
fn is_rollback_in_progress(order: &ChangeOrder, status: &NodeStatus) -> bool {
    let is_left = matches!(status.node_state, NodeState::Left { .. });
    matches!(order, ChangeOrder::Rollback { .. }) && is_left && status.closed_ms.is_none()
}

fn failure_answer(failure: &Failure, reported: Option<NodeStatus>) -> ChangeAnswer {
    ChangeAnswer::Failed { why: reason(&failure.to_string()), reported: reported.map(Box::new) }
}

fn refusal(why: impl Into<String>) -> Failure {
    Failure::Tune { why: why.into(), code: code::UNCHANGED }
}

/// The changes that lead to what is wanted.
fn plan_changes(machine: &Root, wanted: &DiffOrder) -> Result<ChangeAnswer, Failure> {
    let space = space_of_flags(None, wanted.netns.as_deref());
    let stood = space_identity(machine, &space)?;
    let by_hand = all_manual_values(machine, &space, &wanted.set)?;
    let profile = wanted.profile.as_deref().map(profile_named).transpose()?;
    let site = wanted.site.as_ref().map(|text| SiteFile::new("site.yaml", text.clone()).read());
    let site = site.transpose().map_err(Failure::Site)?;
    let (set, left_out) = changes_to(machine, &space, stood.as_ref(), WantedValues { by_hand, profile, site })?;
    Ok(ChangeAnswer::Planned(Box::new(NodePlanned { boot: boot_id(machine), set, left_out })))
}

/// The names of the journals of a rollout, the newest first.
fn journal_names(state: &JournalFolder, rollout: RolloutName) -> Result<Vec<String>, TuneError> {
    let ids = state.ids()?.into_iter().rev();
    Ok(ids.filter(|id| RolloutName::of_application(id) == Some(rollout)).collect())
}

/// Refuses an order that is not for this machine as it booted, or whose watch would not outlive its agent.
fn require_same_machine(machine: &Root, folder: Option<&Path>, order: &ApplyOrder) -> Result<(), Failure> {
    if let Some(why) = applications::why_unwatched().filter(|_| folder.is_none()) {
        return Err(refusal(format!(
            "{why}: reach the machine itself, by ssh:// or by a pod of linerate fleet up --change"
        )));
    }
    // Names of a fleet file may lead to other machines by now, whose boots are others too.
    if apply::machine_hash(machine)? != order.set.machine {
        return Err(refusal("it is another machine than when the file of changes was made: make a new one"));
    }
    if boot_id(machine) != order.boot {
        return Err(refusal("it was rebooted since the file of changes was made: make a new one"));
    }
    Ok(())
}

/// Refuses a rollout that has another journal here than the one of this name.
fn require_no_other_journal(state: &JournalFolder, rollout: RolloutName, own: &str) -> Result<(), String> {
    let others = journal_names(state, rollout).map_err(|error| error.to_string())?;
    match others.iter().any(|other| other != own) {
        true => Err(format!("{rollout} was applied or rolled back here before")),
        false => Ok(()),
    }
}

fn apply_terms(order: &ApplyOrder, state: &JournalFolder, folder: Option<&Path>) -> ApplyTerms {
    let id = order.rollout.application(&applications::new_id(state));
    let within = Duration::from_millis(order.within_ms);
    ApplyTerms { id, root: folder.map(Path::to_owned), within, owner: None, wave: order.wave }
}

/// Refuses what making the changes of an order would refuse, before any node is changed. Nothing is written.
fn check_apply(machine: &Root, folder: Option<&Path>, order: &ApplyOrder) -> Result<NodeStatus, Failure> {
    require_same_machine(machine, folder, order)?;
    let state = applications::state()?;
    let terms = apply_terms(order, &state, folder);
    require_no_other_journal(&state, order.rollout, &terms.id).map_err(refusal)?;
    // What is being rolled back may be so in a moment.
    let is_transient = |error: &TuneError| matches!(error, TuneError::Busy | TuneError::Lapsing(_));
    match retry_while(is_transient, || apply::would_apply(&apply_context(machine, &state), &order.set, &terms))? {
        0 => Err(nothing_left_to_change()),
        _ => node_status(machine, Some(order.rollout), false),
    }
}

fn nothing_left_to_change() -> Failure {
    refusal("somebody has made all of its changes since the file was made")
}

/// Makes the changes of an order.
fn apply_order(machine: &Root, folder: Option<&Path>, order: &ApplyOrder) -> Result<NodeStatus, Failure> {
    require_same_machine(machine, folder, order)?;
    let (state, rollout) = (applications::state()?, order.rollout);
    let terms = apply_terms(order, &state, folder);
    let id = &terms.id;
    // Under the lock, so that none is begun behind one that was forbidden or made.
    let mut arm = |begin: &Begin| -> Result<Vec<Watcher>, String> {
        require_no_other_journal(&state, rollout, &begin.id)?;
        applications::start_lasting_watch(&state, begin, &order.set.changes).map(|watcher| vec![watcher])
    };
    let applied =
        retry_while_locked(|| apply::apply(&apply_context(machine, &state), &order.set, &terms, &mut arm, &mut |_| ()));
    if matches!(applied, Err(TuneError::Reverted { left: 0, .. })) {
        stop_watch_timer(id);
    }
    let applied = applied?;
    if !applied.is_pending {
        stop_watch_timer(id);
    }
    let why = order.set.changes.iter().zip(&applied.outcomes).find_map(|(change, outcome)| match outcome {
        ChangeOutcome::Refused(why) | ChangeOutcome::Failed(why) => Some(format!("{}: {why}", change.place)),
        ChangeOutcome::Made | ChangeOutcome::Already => None,
    });
    match why {
        Some(why) => Err(refusal(why)),
        None if !applied.is_pending => Err(nothing_left_to_change()),
        None => node_status(machine, Some(rollout), false),
    }
}

/// Ends the timer of an application that needs none any more.
fn stop_watch_timer(id: &str) {
    if watch::systemd_runs() {
        watch::stop_timer(id);
    }
}

/// Tries something until no other linerate has the lock.
fn retry_while_locked<T>(act: impl FnMut() -> Result<T, TuneError>) -> Result<T, TuneError> {
    retry_while(|error| matches!(error, TuneError::Busy), act)
}

/// Tries something until it fails with what does not pass by itself, or for so long.
fn retry_while<T>(
    is_transient: impl Fn(&TuneError) -> bool,
    mut act: impl FnMut() -> Result<T, TuneError>,
) -> Result<T, TuneError> {
    let until = Instant::now() + LOCK_TIMEOUT;
    loop {
        match act() {
            Err(error) if is_transient(&error) && Instant::now() < until => thread::sleep(LOCK_POLL_INTERVAL),
            result => return result,
        }
    }
}

/// What may be done to an application that waits.
type JournalAction<'k> = &'k dyn Fn(&ApplyContext<'_>, &str) -> Result<JournalContent, TuneError>;

/// Does something to the application of a rollout that waits.
fn act_on_pending(machine: &Root, rollout: RolloutName, keep: JournalAction<'_>) -> Result<NodeStatus, Failure> {
    let state = applications::state()?;
    let ids = journal_names(&state, rollout)?;
    let id = ids.first().ok_or_else(|| refusal(format!("{rollout} was not applied here")))?;
    let reported = retry_while_locked(|| keep(&apply_context(machine, &state), id))?;
    let apply_context = apply_context(machine, &state);
    Ok(journal_status(&reported, state_by_settings(&reported, &apply_context), &apply_context))
}

fn confirm_rollout(machine: &Root, rollout: RolloutName) -> Result<NodeStatus, Failure> {
    let before = node_status(machine, Some(rollout), false)?;
    if before.node_state == NodeState::Confirmed {
        return Ok(before);
    }
    let status = act_on_pending(machine, rollout, &apply::confirm_only)?;
    status.application.iter().for_each(|id| stop_watch_timer(id));
    Ok(status)
}

/// Rolls the changes of a rollout back; where none were made, sees to it that none will be.
fn roll_back(
    machine: &Root,
    folder: Option<&Path>,
    rollout: RolloutName,
    force: bool,
    why: Option<&str>,
) -> Result<NodeStatus, Failure> {
    let state = applications::state()?;
    let id = rollout.application(&applications::new_id(&state));
    let root = folder.map(Path::to_owned);
    let terms = ApplyTerms { id, root, within: Duration::ZERO, owner: None, wave: None };
    let is_its = |id: &str| RolloutName::of_application(id) == Some(rollout);
    let begun = retry_while_locked(|| apply::forbid(&apply_context(machine, &state), &terms, "rollout", why, &is_its))?;
    let Some(begun) = begun.filter(|begun| !begun.is_closed()) else {
        return node_status(machine, Some(rollout), false);
    };
    let id = &begun.begin.id;
    let rolled =
        retry_while_locked(|| apply::rollback_because(&apply_context(machine, &state), id, why, force, &mut |_| ()))?;
    if let Some(why) = &rolled.unrecorded {
        return Err(refusal(format!(
            "its settings were restored as far as they could be, and that is not noted: {why}"
        )));
    }
    if rolled.left() == 0 {
        stop_watch_timer(id);
        return node_status(machine, Some(rollout), false);
    }
    let missed = rolled.rolled_back.iter().find(|(_, outcome)| outcome.needs_a_look());
    let why = missed.map(|(place, outcome)| format!("{place} {}", describe_rollback(outcome))).unwrap_or_default();
    Err(refusal(format!("{} of its settings could not be restored: {why}", rolled.left())))
}

fn describe_rollback(outcome: &RollbackOutcome) -> String {
    match outcome {
        RollbackOutcome::Left { current, by: Some(later) } => {
            let rollout = RolloutName::of_application(later).map(|rollout| rollout.to_string());
            format!("is {current:?} by now, which {} has set: roll that back first", rollout.as_ref().unwrap_or(later))
        }
        RollbackOutcome::Left { current, by: None } => {
            format!("is {current:?} by now, which somebody else has set")
        }
        RollbackOutcome::Gone => "is not there".to_owned(),
        RollbackOutcome::Failed { why } => why.clone(),
        RollbackOutcome::Restored | RollbackOutcome::Already | RollbackOutcome::Ended => String::new(),
    }
}
