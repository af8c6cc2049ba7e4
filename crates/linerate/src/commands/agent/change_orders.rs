//! The agent's side of changes: an order about this machine's settings is done by the same journal and watch as `tune`
//! does it, on a thread of its own, and how the machine stands by that journal is told.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use linerate_fleet::change_protocol::{ApplyOrder, ChangeAnswer, ChangeOrder, DiffOrder, NodePlanned, reason};
use linerate_host::apply::{
    self, ApplyContext, ApplyTerms, ChangeOutcome, TuneError, has_booted, since_boot_ms, unix_ms,
};
use linerate_host::journal::{JournalContent, JournalFolder, Made};
use linerate_host::{Root, boot_id, watch};
use linerate_record::journal::{Begin, RollbackOutcome, RolledBackBy, Watcher};
use linerate_record::knob::SettingId;
use linerate_record::rollout::{
    EXTENSIONS_MAX, NodeExtension, NodeSetting, NodeState, NodeStatus, NodeTimeline, RolloutName,
};
use linerate_site::SiteFile;

use super::AgentEvent;
use crate::run::applications::{self, apply_context, root};
use crate::run::catalogue::profile_named;
use crate::run::wanted_changes::{all_manual_values, changes_to, space_identity, space_of_flags};
use crate::terminal::failure::{Failure, code};

/// How long another linerate may have the right to change settings before an order is given up.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);

/// How often it is asked for meanwhile.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Journals that are looked into for the newest rollout.
const JOURNALS_MAX: usize = 64;

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
        ChangeOrder::Rollback { rollout, force, why } => {
            roll_back(&machine, folder, *rollout, (*force, why.as_deref()))
        }
    };
    match done {
        Ok(status) => ChangeAnswer::Reported(Box::new(status)),
        Err(failure) => {
            let status = order.rollout().and_then(|rollout| node_status(&machine, Some(rollout), false).ok());
            failure_answer(&failure, status.filter(|status| !is_rollback_in_progress(order, status)))
        }
    }
}

/// Whether somebody else takes back what this was asked to: that some settings are not restored is not final then.
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
    let (set, left_out) = changes_to(machine, &space, stood.as_ref(), (by_hand, profile, site))?;
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

fn apply_terms(order: &ApplyOrder, folder: Option<&Path>) -> ApplyTerms {
    let id = order.rollout.application(&applications::new_id());
    let within = Duration::from_millis(order.within_ms);
    ApplyTerms { id, root: folder.map(Path::to_owned), within, owner: None, wave: order.wave }
}

/// Refuses what making the changes of an order would refuse, before any node is changed. Nothing is written.
fn check_apply(machine: &Root, folder: Option<&Path>, order: &ApplyOrder) -> Result<NodeStatus, Failure> {
    require_same_machine(machine, folder, order)?;
    let (state, terms) = (applications::state()?, apply_terms(order, folder));
    require_no_other_journal(&state, order.rollout, &terms.id).map_err(refusal)?;
    // What is being taken back may be so in a moment.
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
    let terms = apply_terms(order, folder);
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
    Ok(journal_status(&reported, standing_by_settings(&reported, &apply_context), &apply_context))
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

/// Takes the changes of a rollout back; where none were made, sees to it that none will be.
fn roll_back(
    machine: &Root,
    folder: Option<&Path>,
    rollout: RolloutName,
    (force, why): (bool, Option<&str>),
) -> Result<NodeStatus, Failure> {
    let state = applications::state()?;
    let id = rollout.application(&applications::new_id());
    let root = folder.map(Path::to_owned);
    let terms = ApplyTerms { id, root, within: Duration::ZERO, owner: None, wave: None };
    let is_its = |id: &str| RolloutName::of_application(id) == Some(rollout);
    let begun =
        retry_while_locked(|| apply::forbid(&apply_context(machine, &state), &terms, ("rollout", why), &is_its))?;
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
    let missed = rolled.rolled_back.iter().find(|(_, undo)| undo.needs_a_look());
    let since = missed.and_then(|(place, _)| newer_application_with(&state, id, place));
    let why = missed
        .map(|(place, undo)| format!("{place} {}", describe_failed_restores(undo, since.as_deref())))
        .unwrap_or_default();
    Err(refusal(format!("{} of its settings could not be restored: {why}", rolled.left())))
}

/// What is kept on top of an application, and has changed this setting since.
fn newer_application_with(state: &JournalFolder, id: &str, place: &SettingId) -> Option<String> {
    let has_set = |reported: &JournalContent| {
        reported.is_kept()
            && reported.begin.id.as_str() > id
            && reported.made.iter().any(|made| made.change.place == *place)
    };
    let later = state.newest(has_set).ok()??.begin.id;
    Some(RolloutName::of_application(&later).map_or(later, |rollout| rollout.to_string()))
}

fn describe_failed_restores(undo: &RollbackOutcome, since: Option<&str>) -> String {
    match (undo, since) {
        (RollbackOutcome::Left { current }, Some(later)) => {
            format!("is {current:?} by now, which {later} has set: roll that back first")
        }
        (undo, _) => describe_undo(undo),
    }
}

fn describe_undo(undo: &RollbackOutcome) -> String {
    match undo {
        RollbackOutcome::Left { current } => format!("is {current:?} by now, which somebody else has set"),
        RollbackOutcome::Gone => "is not there".to_owned(),
        RollbackOutcome::Failed { why } => why.clone(),
        RollbackOutcome::Restored | RollbackOutcome::Already | RollbackOutcome::Ended => String::new(),
    }
}

/// How this machine stands to a rollout, or to its newest; with every setting as it is now where that is asked for.
fn node_status(machine: &Root, rollout: Option<RolloutName>, settings: bool) -> Result<NodeStatus, Failure> {
    let state = applications::state()?;
    let all = match rollout {
        Some(rollout) => journal_names(&state, rollout)?,
        None => {
            let ids = state.ids()?.into_iter().rev();
            ids.filter(|id| RolloutName::of_application(id).is_some()).take(JOURNALS_MAX).collect()
        }
    };
    let apply_context = apply_context(machine, &state);
    let mut found: Vec<(JournalContent, NodeState)> = Vec::new();
    for id in &all {
        match state.read(id) {
            Ok(reported) => {
                let node_state = standing_by_settings(&reported, &apply_context);
                found.push((reported, node_state));
            }
            // One that was cut before its first line was whole announces nothing.
            Err(TuneError::Empty { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let first = |is_so: fn(NodeState) -> bool| found.iter().find(move |(_, node_state)| is_so(*node_state));
    let newest = first(|node_state| matches!(node_state, NodeState::Pending { .. } | NodeState::Left { .. }))
        .or_else(|| first(|node_state| node_state != NodeState::Untouched))
        .or_else(|| found.first());
    let Some((reported, node_state)) = newest else { return Ok(NodeStatus::new(None, NodeState::Untouched)) };
    let journal_status = journal_status(reported, *node_state, &apply_context);
    Ok(if settings {
        NodeStatus { settings: all_settings(reported, &apply_context), ..journal_status }
    } else {
        journal_status
    })
}

fn all_settings(reported: &JournalContent, apply_context: &ApplyContext<'_>) -> Vec<NodeSetting> {
    reported.made.iter().map(|made| node_setting(made, apply_context)).collect()
}

/// How this machine stands to the rollout that it keeps, the one that was confirmed last: later ones that were rolled
/// back do not hide it.
fn kept_rollout_status(machine: &Root) -> Result<NodeStatus, Failure> {
    let state = applications::state()?;
    let is_meant =
        |reported: &JournalContent| reported.is_kept() && RolloutName::of_application(&reported.begin.id).is_some();
    let Some(reported) = state.newest(is_meant)? else { return Ok(NodeStatus::new(None, NodeState::Untouched)) };
    let apply_context = apply_context(machine, &state);
    let journal_status = journal_status(&reported, standing_by_settings(&reported, &apply_context), &apply_context);
    Ok(NodeStatus { settings: all_settings(&reported, &apply_context), ..journal_status })
}

/// What a journal says, and how its settings are.
fn journal_status(reported: &JournalContent, node_state: NodeState, apply_context: &ApplyContext<'_>) -> NodeStatus {
    let is_pending = matches!(node_state, NodeState::Pending { .. });
    NodeStatus {
        rollout: RolloutName::of_application(&reported.begin.id),
        application: Some(reported.begin.id.clone()),
        node_state,
        began_ms: Some(reported.begin.began_ms),
        confirmed_ms: reported.confirmed_ms,
        closed_ms: reported.closed.map(|(_, at_ms, _)| at_ms),
        is_watched: if is_pending { watch::is_watched(reported) } else { None },
        refused: reported.refused.iter().map(|(place, why)| (place.clone(), reason(why))).collect(),
        settings: Vec::new(),
        course: Some(node_timeline(reported, apply_context.root)),
    }
}

/// The way there, by the journal. Instants that it has since boot are put on the clock as it goes now, which says
/// nothing of them once the machine has booted again.
fn node_timeline(reported: &JournalContent, machine: &Root) -> NodeTimeline {
    let (now_ms, since_boot_ms) = (unix_ms(), since_boot_ms());
    let has_booted = has_booted(machine, &reported.begin);
    let unix = |at_since_boot_ms: u64| {
        let ms = i128::from(now_ms) - i128::from(since_boot_ms) + i128::from(at_since_boot_ms);
        if has_booted { None } else { u64::try_from(ms).ok() }
    };
    let extended = &reported.extended[reported.extended.len().saturating_sub(EXTENSIONS_MAX)..];
    NodeTimeline {
        wave: reported.begin.wave,
        made_ms: reported.made_ms,
        until_ms: unix(reported.first_deadline_since_boot_ms),
        extended: extended
            .iter()
            .map(|(at_ms, until)| NodeExtension { at_ms: *at_ms, until_ms: unix(*until) })
            .collect(),
        // A captured machine did not boot with this one.
        booted_ms: (has_booted && reported.begin.root.is_none()).then(|| now_ms.saturating_sub(since_boot_ms)),
        closed_by: reported.closed.map(|(by, _, _)| by),
        why: reported.closed_why.as_deref().map(reason),
    }
}

fn node_setting(made: &Made, apply_context: &ApplyContext<'_>) -> NodeSetting {
    NodeSetting {
        place: made.change.place.clone(),
        prior: made.prior.clone(),
        new: made.change.new.clone(),
        now: apply::present(apply_context, made).map(|(_, now)| now),
    }
}

/// How a machine stands, by a journal of it and by its settings: what was restored while the journal could not be
/// written is restored, and what somebody else has changed since cannot be confirmed as it was applied.
fn standing_by_settings(reported: &JournalContent, apply_context: &ApplyContext<'_>) -> NodeState {
    let node_state = standing_by_journal(reported, apply_context.root);
    let may_be_restored = match node_state {
        NodeState::Confirmed => true,
        NodeState::Left { .. } => reported.closed.is_none(),
        _ => false,
    };
    match node_state {
        _ if may_be_restored && reported.made.iter().all(|made| apply::is_now(apply_context, made, &made.prior)) => {
            NodeState::Restored
        }
        NodeState::Pending { left_ms, is_whole: true } => NodeState::Pending {
            left_ms,
            is_whole: reported.made.iter().all(|made| apply::is_now(apply_context, made, &made.change.new)),
        },
        node_state => node_state,
    }
}

/// The same by the journal alone.
fn standing_by_journal(reported: &JournalContent, machine: &Root) -> NodeState {
    let is_left = |made: &&Made| made.rolled_back.as_ref().is_none_or(RollbackOutcome::needs_a_look);
    match reported.closed {
        Some((RolledBackBy::Unchanged, _, _)) => NodeState::Untouched,
        Some((RolledBackBy::Reboot, _, _)) => NodeState::Rebooted,
        Some((_, _, 0)) if reported.made.is_empty() => NodeState::Untouched,
        Some((_, _, 0)) => NodeState::Restored,
        _ if has_booted(machine, &reported.begin) => NodeState::Rebooted,
        Some((_, _, settings)) => NodeState::Left { settings },
        // It is taken back by its name, or was and the end of that could not be noted.
        None if reported.confirmed_ms.is_some() && reported.is_rolling_back() => {
            match reported.made.iter().filter(is_left).count() {
                0 => NodeState::Restored,
                left => NodeState::Left { settings: u32::try_from(left).unwrap_or(u32::MAX) },
            }
        }
        None if reported.confirmed_ms.is_some() => NodeState::Confirmed,
        None => NodeState::Pending {
            left_ms: reported.begin.deadline_since_boot_ms.saturating_sub(since_boot_ms()),
            is_whole: is_fully_applied(reported),
        },
    }
}

/// Whether every change was made, and none was taken back.
fn is_fully_applied(reported: &JournalContent) -> bool {
    let is_made = |made: &Made| made.became.is_some() && made.rolled_back.is_none();
    let is_going_on = reported.is_applied && reported.refused.is_empty() && !reported.is_rolling_back();
    is_going_on && !reported.made.is_empty() && reported.made.iter().all(is_made)
}

#[cfg(test)]
mod tests {
    use linerate_record::journal::JOURNAL_SCHEMA;
    use linerate_record::knob::{Change, Scope, Space, TakesEffect};

    use super::*;

    fn journal() -> JournalContent {
        let place = SettingId { knob: "vm.swappiness".to_owned(), device: None, space: Space::Host };
        let change = Change {
            place,
            prior: "60".to_owned(),
            new: "10".to_owned(),
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            why: String::new(),
            risk: String::new(),
        };
        let made = Made {
            number: 0,
            change,
            prior: "60".to_owned(),
            net: None,
            coupled: Vec::new(),
            devices: Vec::new(),
            became: Some(("10".to_owned(), Vec::new())),
            rolled_back: None,
        };
        let begin = Begin {
            schema: JOURNAL_SCHEMA,
            id: RolloutName { token: 7, nodes: 2 }.application("20260102T030405123456Z-7"),
            machine: "m".to_owned(),
            boot: String::new(),
            profile: "p".to_owned(),
            root: None,
            began_ms: 1,
            deadline_since_boot_ms: u64::MAX,
            owner: None,
            wave: Some(2),
        };
        JournalContent {
            begin,
            watchers: Vec::new(),
            made: vec![made],
            refused: Vec::new(),
            is_applied: true,
            confirmed_ms: None,
            undoing_ms: None,
            closed: None,
            closed_why: None,
            made_ms: Some(5),
            first_deadline_since_boot_ms: since_boot_ms(),
            extended: Vec::new(),
        }
    }

    #[test]
    fn a_node_stands_as_its_journal_says() {
        type JournalEdit = fn(&mut JournalContent);
        let pending = |node_state| matches!(node_state, NodeState::Pending { is_whole: true, .. });
        let partial = |node_state| matches!(node_state, NodeState::Pending { is_whole: false, .. });
        assert!(pending(standing_by_journal(&journal(), &Root::live())));
        let cases: [(JournalEdit, Option<NodeState>); 13] = [
            (|it| it.is_applied = false, None),
            (|it| it.made[0].became = None, None),
            (|it| it.made[0].rolled_back = Some(RollbackOutcome::Restored), None),
            (|it| it.undoing_ms = Some(1), None),
            (|it| it.refused = vec![(it.made[0].change.place.clone(), "no".to_owned())], None),
            (|it| it.confirmed_ms = Some(1), Some(NodeState::Confirmed)),
            (|it| (it.confirmed_ms, it.undoing_ms) = (Some(1), Some(2)), Some(NodeState::Left { settings: 1 })),
            (|it| it.closed = Some((RolledBackBy::Lapse, 1, 0)), Some(NodeState::Restored)),
            (|it| it.closed = Some((RolledBackBy::Command, 1, 2)), Some(NodeState::Left { settings: 2 })),
            (|it| it.closed = Some((RolledBackBy::Unchanged, 1, 0)), Some(NodeState::Untouched)),
            (|it| it.closed = Some((RolledBackBy::Reboot, 1, 0)), Some(NodeState::Rebooted)),
            (
                |it| {
                    it.confirmed_ms = Some(1);
                    it.made[0].rolled_back = Some(RollbackOutcome::Restored);
                },
                Some(NodeState::Restored),
            ),
            (
                |it| {
                    it.confirmed_ms = Some(1);
                    it.made[0].rolled_back = Some(RollbackOutcome::Gone);
                },
                Some(NodeState::Left { settings: 1 }),
            ),
        ];
        for (number, (happens, expected)) in cases.into_iter().enumerate() {
            let mut it = journal();
            happens(&mut it);
            let found = standing_by_journal(&it, &Root::live());
            assert!(expected.map_or(partial(found), |expected| found == expected), "{number}: {found:?}");
        }
    }

    #[test]
    fn the_way_there_is_the_journals_and_instants_since_boot_are_those_of_a_clock() {
        let before_ms = unix_ms();
        let mut it = journal();
        it.extended = (0..20).map(|number| (Some(number), since_boot_ms() + 60_000)).collect();
        it.closed = Some((RolledBackBy::Command, 9, 0));
        it.closed_why = Some("the check failed\n".to_owned());
        let found = node_timeline(&it, &Root::live());
        assert_eq!((found.wave, found.made_ms, found.closed_by), (Some(2), Some(5), Some(RolledBackBy::Command)));
        assert_eq!(found.why.as_deref(), Some("the check failed"));
        let is_near = |instant: Option<u64>, ms: u64| instant.is_some_and(|at_ms| at_ms.abs_diff(ms) < 30_000);
        assert!(is_near(found.until_ms, before_ms), "{found:?}");
        let ats: Vec<Option<u64>> = found.extended.iter().map(|extension| extension.at_ms).collect();
        assert_eq!(ats, (4..20).map(Some).collect::<Vec<_>>(), "the last of them");
        assert!(found.extended.iter().all(|one| is_near(one.until_ms, before_ms + 60_000)), "{found:?}");
        assert_eq!(found.booted_ms, None);

        // Behind a boot, what was since the one before is not known.
        it.begin.boot = "another".to_owned();
        let found = node_timeline(&it, &Root::live());
        assert_eq!((found.until_ms, found.extended[0].until_ms, found.extended[0].at_ms), (None, None, Some(4)));
        assert!(found.booted_ms.is_some_and(|ms| ms <= unix_ms()), "{found:?}");
        it.begin.root = Some(PathBuf::from("/captured"));
        assert_eq!(node_timeline(&it, &Root::live()).booted_ms, None, "a capture did not boot with this machine");
    }

    #[test]
    fn what_the_settings_are_counts_more_than_what_a_journal_could_not_note() {
        let folder = tempfile::tempdir().unwrap();
        let (path, machine) = (folder.path().join("proc/sys/vm/swappiness"), Root::captured(folder.path()));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let state = JournalFolder::open(folder.path().join("state")).unwrap();
        let apply_context = apply_context(&machine, &state);
        let confirmed = JournalContent { confirmed_ms: Some(1), ..journal() };
        let undoing = JournalContent { undoing_ms: Some(2), ..confirmed.clone() };
        let left = NodeState::Left { settings: 1 };
        for (now, as_confirmed, as_undoing, is_whole) in [
            ("10", NodeState::Confirmed, left, true),
            ("60", NodeState::Restored, NodeState::Restored, false),
            ("33", NodeState::Confirmed, left, false),
        ] {
            std::fs::write(&path, format!("{now}\n")).unwrap();
            assert_eq!(
                (standing_by_settings(&confirmed, &apply_context), standing_by_settings(&undoing, &apply_context)),
                (as_confirmed, as_undoing),
                "{now}"
            );
            assert_eq!(standing_by_settings(&journal(), &apply_context).is_whole(), is_whole, "{now}");
        }
        let rollout = Some(RolloutName { token: 7, nodes: 2 });
        assert_eq!(
            journal_status(&journal(), standing_by_settings(&journal(), &apply_context), &apply_context).rollout,
            rollout
        );
    }
}
