//! The agent's side of changes: an order about this machine's settings is done by the same journal and watch as `tune`
//! does it, on a thread of its own, and how the machine stands by that journal is told.

use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::{Duration, Instant};

use linerate_fleet::changing::{ApplyOrder, ChangeAnswer, ChangeOrder, DiffOrder, NodePlanned, reason};
use linerate_host::apply::{self, ChangeOutcome, Ground, Terms, TuneError, has_booted, since_boot_ms, unix_ms};
use linerate_host::journal::{JournalContent, JournalFolder, Made};
use linerate_host::{Root, boot_id, watch};
use linerate_record::journal::{Begin, By, Undo, Watcher};
use linerate_record::knob::SettingPlace;
use linerate_record::rollout::{
    EXTENSIONS_MAX, NodeCourse, NodeExtension, NodeSetting, NodeStanding, NodeTold, RolloutName,
};
use linerate_site::SiteFile;

use super::Happening;
use crate::applying::{self, ground, root};
use crate::catalogue::profile_named;
use crate::changes::{all_by_hand, changes_to, space_named, stands};
use crate::failure::{Failure, code};

/// How long another linerate may have the right to change settings before an order is given up.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often it is asked for meanwhile.
const LOOK: Duration = Duration::from_millis(200);

/// Journals that are looked into for the newest rollout.
const JOURNALS_MAX: usize = 64;

/// Begins to do what an order says to this machine, or to a captured one; what comes of it is told.
pub(super) fn begin(order: ChangeOrder, folder: Option<PathBuf>, tell: Sender<Happening>) {
    thread::spawn(move || {
        let answer = answer(&order, folder.as_deref());
        // Nobody may listen any more.
        drop(tell.send(Happening::Changed(Box::new(answer))));
    });
}

fn answer(order: &ChangeOrder, folder: Option<&Path>) -> ChangeAnswer {
    let machine = root(folder);
    let done = match order {
        ChangeOrder::Diff(wanted) => {
            return planned(&machine, wanted).unwrap_or_else(|failure| failed(&failure, None));
        }
        ChangeOrder::Look(order) => looked(&machine, folder, order),
        ChangeOrder::Apply(order) => changed(&machine, folder, order),
        ChangeOrder::Tell { rollout, settings } => stood(&machine, *rollout, *settings),
        ChangeOrder::TellKept => stood_to_kept(&machine),
        ChangeOrder::Extend { rollout, within_ms } => {
            let within = Duration::from_millis(*within_ms);
            kept(&machine, *rollout, &|ground, id| apply::extend(ground, id, within))
        }
        ChangeOrder::Confirm { rollout } => confirmed(&machine, *rollout),
        ChangeOrder::TakeBack { rollout, force, why } => {
            taken_back(&machine, folder, *rollout, (*force, why.as_deref()))
        }
    };
    match done {
        Ok(told) => ChangeAnswer::Told(Box::new(told)),
        Err(failure) => {
            let told = order.rollout().and_then(|rollout| stood(&machine, Some(rollout), false).ok());
            failed(&failure, told.filter(|told| !is_underway(order, told)))
        }
    }
}

/// Whether somebody else takes back what this was asked to: that some settings are not restored is not final then.
fn is_underway(order: &ChangeOrder, told: &NodeTold) -> bool {
    let is_left = matches!(told.standing, NodeStanding::Left { .. });
    matches!(order, ChangeOrder::TakeBack { .. }) && is_left && told.closed_ms.is_none()
}

fn failed(failure: &Failure, told: Option<NodeTold>) -> ChangeAnswer {
    ChangeAnswer::Failed { why: reason(&failure.to_string()), told: told.map(Box::new) }
}

fn refused(why: impl Into<String>) -> Failure {
    Failure::Tune { why: why.into(), code: code::UNCHANGED }
}

/// The changes that lead to what is wanted.
fn planned(machine: &Root, wanted: &DiffOrder) -> Result<ChangeAnswer, Failure> {
    let space = space_named(None, wanted.netns.as_deref());
    let stood = stands(machine, &space)?;
    let by_hand = all_by_hand(machine, &space, &wanted.set)?;
    let profile = wanted.profile.as_deref().map(profile_named).transpose()?;
    let site = wanted.site.as_ref().map(|text| SiteFile::new("site.yaml", text.clone()).read());
    let site = site.transpose().map_err(Failure::Site)?;
    let (set, left_out) = changes_to(machine, &space, stood.as_ref(), (by_hand, profile, site))?;
    Ok(ChangeAnswer::Planned(Box::new(NodePlanned { boot: boot_id(machine), set, left_out })))
}

/// The names of the journals of a rollout, the newest first.
fn journals_of(state: &JournalFolder, rollout: RolloutName) -> Result<Vec<String>, TuneError> {
    let ids = state.ids()?.into_iter().rev();
    Ok(ids.filter(|id| RolloutName::of_application(id) == Some(rollout)).collect())
}

/// Refuses an order that is not for this machine as it booted, or whose watch would not outlive its agent.
fn require_its(machine: &Root, folder: Option<&Path>, order: &ApplyOrder) -> Result<(), Failure> {
    if let Some(why) = applying::unwatched().filter(|_| folder.is_none()) {
        return Err(refused(format!(
            "{why}: reach the machine itself, by ssh:// or by a pod of linerate fleet up --change"
        )));
    }
    // Names of a fleet file may lead to other machines by now, whose boots are others too.
    if apply::machine_hash(machine)? != order.set.machine {
        return Err(refused("it is another machine than when the file of changes was made: make a new one"));
    }
    if boot_id(machine) != order.boot {
        return Err(refused("it was rebooted since the file of changes was made: make a new one"));
    }
    Ok(())
}

/// Refuses a rollout that has another journal here than the one of this name.
fn require_new(state: &JournalFolder, rollout: RolloutName, own: &str) -> Result<(), String> {
    let others = journals_of(state, rollout).map_err(|error| error.to_string())?;
    match others.iter().any(|other| other != own) {
        true => Err(format!("{rollout} was applied or rolled back here before")),
        false => Ok(()),
    }
}

fn terms_of(order: &ApplyOrder, folder: Option<&Path>) -> Terms {
    let id = order.rollout.application(&applying::new_id());
    let within = Duration::from_millis(order.within_ms);
    Terms { id, root: folder.map(Path::to_owned), within, owner: None, wave: order.wave }
}

/// Refuses what making the changes of an order would refuse, before any node is changed. Nothing is written.
fn looked(machine: &Root, folder: Option<&Path>, order: &ApplyOrder) -> Result<NodeTold, Failure> {
    require_its(machine, folder, order)?;
    let (state, terms) = (applying::state()?, terms_of(order, folder));
    require_new(&state, order.rollout, &terms.id).map_err(refused)?;
    // What is being taken back may be so in a moment.
    let passes = |error: &TuneError| matches!(error, TuneError::Busy | TuneError::Lapsing(_));
    match while_passing(passes, || apply::would_apply(&ground(machine, &state), &order.set, &terms))? {
        0 => Err(all_made()),
        _ => stood(machine, Some(order.rollout), false),
    }
}

fn all_made() -> Failure {
    refused("somebody has made all of its changes since the file was made")
}

/// Makes the changes of an order.
fn changed(machine: &Root, folder: Option<&Path>, order: &ApplyOrder) -> Result<NodeTold, Failure> {
    require_its(machine, folder, order)?;
    let (state, rollout) = (applying::state()?, order.rollout);
    let terms = terms_of(order, folder);
    let id = &terms.id;
    // Under the lock, so that none is begun behind one that was forbidden or made.
    let mut arm = |begin: &Begin| -> Result<Vec<Watcher>, String> {
        require_new(&state, rollout, &begin.id)?;
        applying::start_lasting(&state, begin, &order.set.changes).map(|watcher| vec![watcher])
    };
    let applied = patiently(|| apply::apply(&ground(machine, &state), &order.set, &terms, &mut arm, &mut |_| ()));
    if matches!(applied, Err(TuneError::Reverted { left: 0, .. })) {
        unwatch(id);
    }
    let applied = applied?;
    if !applied.is_pending {
        unwatch(id);
    }
    let why = order.set.changes.iter().zip(&applied.outcomes).find_map(|(change, outcome)| match outcome {
        ChangeOutcome::Refused(why) | ChangeOutcome::Failed(why) => Some(format!("{}: {why}", change.place)),
        ChangeOutcome::Made | ChangeOutcome::Already => None,
    });
    match why {
        Some(why) => Err(refused(why)),
        None if !applied.is_pending => Err(all_made()),
        None => stood(machine, Some(rollout), false),
    }
}

/// Ends the timer of an application that needs none any more.
fn unwatch(id: &str) {
    if watch::systemd_runs() {
        watch::stop_timer(id);
    }
}

/// Tries something until no other linerate has the lock.
fn patiently<T>(act: impl FnMut() -> Result<T, TuneError>) -> Result<T, TuneError> {
    while_passing(|error| matches!(error, TuneError::Busy), act)
}

/// Tries something until it fails with what does not pass by itself, or for so long.
fn while_passing<T>(
    passes: impl Fn(&TuneError) -> bool,
    mut act: impl FnMut() -> Result<T, TuneError>,
) -> Result<T, TuneError> {
    let until = Instant::now() + PATIENCE;
    loop {
        match act() {
            Err(error) if passes(&error) && Instant::now() < until => thread::sleep(LOOK),
            result => return result,
        }
    }
}

/// What may be done to an application that waits.
type Keep<'k> = &'k dyn Fn(&Ground<'_>, &str) -> Result<JournalContent, TuneError>;

/// Does something to the application of a rollout that waits.
fn kept(machine: &Root, rollout: RolloutName, keep: Keep<'_>) -> Result<NodeTold, Failure> {
    let state = applying::state()?;
    let ids = journals_of(&state, rollout)?;
    let id = ids.first().ok_or_else(|| refused(format!("{rollout} was not applied here")))?;
    let reported = patiently(|| keep(&ground(machine, &state), id))?;
    let ground = ground(machine, &state);
    Ok(told(&reported, seen(&reported, &ground), &ground))
}

fn confirmed(machine: &Root, rollout: RolloutName) -> Result<NodeTold, Failure> {
    let before = stood(machine, Some(rollout), false)?;
    if before.standing == NodeStanding::Confirmed {
        return Ok(before);
    }
    let told = kept(machine, rollout, &apply::confirm_only)?;
    told.application.iter().for_each(|id| unwatch(id));
    Ok(told)
}

/// Takes the changes of a rollout back; where none were made, sees to it that none will be.
fn taken_back(
    machine: &Root,
    folder: Option<&Path>,
    rollout: RolloutName,
    (force, why): (bool, Option<&str>),
) -> Result<NodeTold, Failure> {
    let state = applying::state()?;
    let id = rollout.application(&applying::new_id());
    let root = folder.map(Path::to_owned);
    let terms = Terms { id, root, within: Duration::ZERO, owner: None, wave: None };
    let is_its = |id: &str| RolloutName::of_application(id) == Some(rollout);
    let begun = patiently(|| apply::forbid(&ground(machine, &state), &terms, ("rollout", why), &is_its))?;
    let Some(begun) = begun.filter(|begun| !begun.is_closed()) else {
        return stood(machine, Some(rollout), false);
    };
    let id = &begun.begin.id;
    let rolled = patiently(|| apply::rollback_because(&ground(machine, &state), id, why, force, &mut |_| ()))?;
    if let Some(why) = &rolled.unrecorded {
        return Err(refused(format!(
            "its settings were restored as far as they could be, and that is not noted: {why}"
        )));
    }
    if rolled.left() == 0 {
        unwatch(id);
        return stood(machine, Some(rollout), false);
    }
    let missed = rolled.undone.iter().find(|(_, undo)| undo.needs_a_look());
    let since = missed.and_then(|(place, _)| set_since(&state, id, place));
    let why = missed.map(|(place, undo)| format!("{place} {}", in_words(undo, since.as_deref()))).unwrap_or_default();
    Err(refused(format!("{} of its settings could not be restored: {why}", rolled.left())))
}

/// What is kept on top of an application, and has changed this setting since.
fn set_since(state: &JournalFolder, id: &str, place: &SettingPlace) -> Option<String> {
    let has_set = |reported: &JournalContent| {
        reported.is_kept()
            && reported.begin.id.as_str() > id
            && reported.made.iter().any(|made| made.change.place == *place)
    };
    let later = state.newest(has_set).ok()??.begin.id;
    Some(RolloutName::of_application(&later).map_or(later, |rollout| rollout.to_string()))
}

fn in_words(undo: &Undo, since: Option<&str>) -> String {
    match (undo, since) {
        (Undo::Left { current }, Some(later)) => {
            format!("is {current:?} by now, which {later} has set: roll that back first")
        }
        (undo, _) => of_undo(undo),
    }
}

fn of_undo(undo: &Undo) -> String {
    match undo {
        Undo::Left { current } => format!("is {current:?} by now, which somebody else has set"),
        Undo::Gone => "is not there".to_owned(),
        Undo::Failed { why } => why.clone(),
        Undo::Restored | Undo::Already | Undo::Ended => String::new(),
    }
}

/// How this machine stands to a rollout, or to its newest; with every setting as it is now where that is asked for.
fn stood(machine: &Root, rollout: Option<RolloutName>, settings: bool) -> Result<NodeTold, Failure> {
    let state = applying::state()?;
    let all = match rollout {
        Some(rollout) => journals_of(&state, rollout)?,
        None => {
            let ids = state.ids()?.into_iter().rev();
            ids.filter(|id| RolloutName::of_application(id).is_some()).take(JOURNALS_MAX).collect()
        }
    };
    let ground = ground(machine, &state);
    let mut found: Vec<(JournalContent, NodeStanding)> = Vec::new();
    for id in &all {
        match state.read(id) {
            Ok(reported) => {
                let standing = seen(&reported, &ground);
                found.push((reported, standing));
            }
            // One that was cut before its first line was whole announces nothing.
            Err(TuneError::Empty { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let first = |is_so: fn(NodeStanding) -> bool| found.iter().find(move |(_, standing)| is_so(*standing));
    let newest = first(|standing| matches!(standing, NodeStanding::Pending { .. } | NodeStanding::Left { .. }))
        .or_else(|| first(|standing| standing != NodeStanding::Untouched))
        .or_else(|| found.first());
    let Some((reported, standing)) = newest else { return Ok(NodeTold::of(None, NodeStanding::Untouched)) };
    let told = told(reported, *standing, &ground);
    Ok(if settings { NodeTold { settings: all_settings(reported, &ground), ..told } } else { told })
}

fn all_settings(reported: &JournalContent, ground: &Ground<'_>) -> Vec<NodeSetting> {
    reported.made.iter().map(|made| setting(made, ground)).collect()
}

/// How this machine stands to the rollout that it keeps, the one that was confirmed last: later ones that were rolled
/// back do not hide it.
fn stood_to_kept(machine: &Root) -> Result<NodeTold, Failure> {
    let state = applying::state()?;
    let is_meant =
        |reported: &JournalContent| reported.is_kept() && RolloutName::of_application(&reported.begin.id).is_some();
    let Some(reported) = state.newest(is_meant)? else { return Ok(NodeTold::of(None, NodeStanding::Untouched)) };
    let ground = ground(machine, &state);
    let told = told(&reported, seen(&reported, &ground), &ground);
    Ok(NodeTold { settings: all_settings(&reported, &ground), ..told })
}

/// What a journal says, and how its settings are.
fn told(reported: &JournalContent, standing: NodeStanding, ground: &Ground<'_>) -> NodeTold {
    let is_pending = matches!(standing, NodeStanding::Pending { .. });
    NodeTold {
        rollout: RolloutName::of_application(&reported.begin.id),
        application: Some(reported.begin.id.clone()),
        standing,
        began_ms: Some(reported.begin.began_ms),
        confirmed_ms: reported.confirmed_ms,
        closed_ms: reported.closed.map(|(_, at_ms, _)| at_ms),
        is_watched: if is_pending { watch::is_watched(reported) } else { None },
        refused: reported.refused.iter().map(|(place, why)| (place.clone(), reason(why))).collect(),
        settings: Vec::new(),
        course: Some(course(reported, ground.root)),
    }
}

/// The way there, by the journal. Instants that it has since boot are put on the clock as it goes now, which says
/// nothing of them once the machine has booted again.
fn course(reported: &JournalContent, machine: &Root) -> NodeCourse {
    let (now_ms, since_boot_ms) = (unix_ms(), since_boot_ms());
    let has_booted = has_booted(machine, &reported.begin);
    let unix = |at_since_boot_ms: u64| {
        let ms = i128::from(now_ms) - i128::from(since_boot_ms) + i128::from(at_since_boot_ms);
        if has_booted { None } else { u64::try_from(ms).ok() }
    };
    let extended = &reported.extended[reported.extended.len().saturating_sub(EXTENSIONS_MAX)..];
    NodeCourse {
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

fn setting(made: &Made, ground: &Ground<'_>) -> NodeSetting {
    NodeSetting {
        place: made.change.place.clone(),
        prior: made.prior.clone(),
        new: made.change.new.clone(),
        now: apply::present(ground, made).map(|(_, now)| now),
    }
}

/// How a machine stands, by a journal of it and by its settings: what was restored while the journal could not be
/// written is restored, and what somebody else has changed since cannot be confirmed as it was applied.
fn seen(reported: &JournalContent, ground: &Ground<'_>) -> NodeStanding {
    let standing = standing(reported, ground.root);
    let may_be_restored = match standing {
        NodeStanding::Confirmed => true,
        NodeStanding::Left { .. } => reported.closed.is_none(),
        _ => false,
    };
    match standing {
        _ if may_be_restored && reported.made.iter().all(|made| apply::is_now(ground, made, &made.prior)) => {
            NodeStanding::Restored
        }
        NodeStanding::Pending { left_ms, is_whole: true } => NodeStanding::Pending {
            left_ms,
            is_whole: reported.made.iter().all(|made| apply::is_now(ground, made, &made.change.new)),
        },
        standing => standing,
    }
}

/// The same by the journal alone.
fn standing(reported: &JournalContent, machine: &Root) -> NodeStanding {
    let is_left = |made: &&Made| made.undone.as_ref().is_none_or(Undo::needs_a_look);
    match reported.closed {
        Some((By::Unchanged, _, _)) => NodeStanding::Untouched,
        Some((By::Reboot, _, _)) => NodeStanding::Rebooted,
        Some((_, _, 0)) if reported.made.is_empty() => NodeStanding::Untouched,
        Some((_, _, 0)) => NodeStanding::Restored,
        _ if has_booted(machine, &reported.begin) => NodeStanding::Rebooted,
        Some((_, _, settings)) => NodeStanding::Left { settings },
        // It is taken back by its name, or was and the end of that could not be noted.
        None if reported.confirmed_ms.is_some() && reported.is_being_undone() => {
            match reported.made.iter().filter(is_left).count() {
                0 => NodeStanding::Restored,
                left => NodeStanding::Left { settings: u32::try_from(left).unwrap_or(u32::MAX) },
            }
        }
        None if reported.confirmed_ms.is_some() => NodeStanding::Confirmed,
        None => NodeStanding::Pending {
            left_ms: reported.begin.deadline_since_boot_ms.saturating_sub(since_boot_ms()),
            is_whole: is_whole(reported),
        },
    }
}

/// Whether every change was made, and none was taken back.
fn is_whole(reported: &JournalContent) -> bool {
    let is_made = |made: &Made| made.became.is_some() && made.undone.is_none();
    let is_going_on = reported.is_applied && reported.refused.is_empty() && !reported.is_being_undone();
    is_going_on && !reported.made.is_empty() && reported.made.iter().all(is_made)
}

#[cfg(test)]
mod tests {
    use linerate_record::journal::JOURNAL_SCHEMA;
    use linerate_record::knob::{Change, Scope, Space, TakesEffect};

    use super::*;

    fn journal() -> JournalContent {
        let place = SettingPlace { knob: "vm.swappiness".to_owned(), device: None, space: Space::Host };
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
            beside: Vec::new(),
            devices: Vec::new(),
            became: Some(("10".to_owned(), Vec::new())),
            undone: None,
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
        type Happens = fn(&mut JournalContent);
        let pending = |standing| matches!(standing, NodeStanding::Pending { is_whole: true, .. });
        let partial = |standing| matches!(standing, NodeStanding::Pending { is_whole: false, .. });
        assert!(pending(standing(&journal(), &Root::live())));
        let cases: [(Happens, Option<NodeStanding>); 13] = [
            (|it| it.is_applied = false, None),
            (|it| it.made[0].became = None, None),
            (|it| it.made[0].undone = Some(Undo::Restored), None),
            (|it| it.undoing_ms = Some(1), None),
            (|it| it.refused = vec![(it.made[0].change.place.clone(), "no".to_owned())], None),
            (|it| it.confirmed_ms = Some(1), Some(NodeStanding::Confirmed)),
            (|it| (it.confirmed_ms, it.undoing_ms) = (Some(1), Some(2)), Some(NodeStanding::Left { settings: 1 })),
            (|it| it.closed = Some((By::Lapse, 1, 0)), Some(NodeStanding::Restored)),
            (|it| it.closed = Some((By::Command, 1, 2)), Some(NodeStanding::Left { settings: 2 })),
            (|it| it.closed = Some((By::Unchanged, 1, 0)), Some(NodeStanding::Untouched)),
            (|it| it.closed = Some((By::Reboot, 1, 0)), Some(NodeStanding::Rebooted)),
            (
                |it| {
                    it.confirmed_ms = Some(1);
                    it.made[0].undone = Some(Undo::Restored);
                },
                Some(NodeStanding::Restored),
            ),
            (
                |it| {
                    it.confirmed_ms = Some(1);
                    it.made[0].undone = Some(Undo::Gone);
                },
                Some(NodeStanding::Left { settings: 1 }),
            ),
        ];
        for (number, (happens, expected)) in cases.into_iter().enumerate() {
            let mut it = journal();
            happens(&mut it);
            let found = standing(&it, &Root::live());
            assert!(expected.map_or(partial(found), |expected| found == expected), "{number}: {found:?}");
        }
    }

    #[test]
    fn the_way_there_is_the_journals_and_instants_since_boot_are_those_of_a_clock() {
        let before_ms = unix_ms();
        let mut it = journal();
        it.extended = (0..20).map(|number| (Some(number), since_boot_ms() + 60_000)).collect();
        it.closed = Some((By::Command, 9, 0));
        it.closed_why = Some("the check failed\n".to_owned());
        let found = course(&it, &Root::live());
        assert_eq!((found.wave, found.made_ms, found.closed_by), (Some(2), Some(5), Some(By::Command)));
        assert_eq!(found.why.as_deref(), Some("the check failed"));
        let is_near = |instant: Option<u64>, ms: u64| instant.is_some_and(|at_ms| at_ms.abs_diff(ms) < 30_000);
        assert!(is_near(found.until_ms, before_ms), "{found:?}");
        let ats: Vec<Option<u64>> = found.extended.iter().map(|extension| extension.at_ms).collect();
        assert_eq!(ats, (4..20).map(Some).collect::<Vec<_>>(), "the last of them");
        assert!(found.extended.iter().all(|one| is_near(one.until_ms, before_ms + 60_000)), "{found:?}");
        assert_eq!(found.booted_ms, None);

        // Behind a boot, what was since the one before is not known.
        it.begin.boot = "another".to_owned();
        let found = course(&it, &Root::live());
        assert_eq!((found.until_ms, found.extended[0].until_ms, found.extended[0].at_ms), (None, None, Some(4)));
        assert!(found.booted_ms.is_some_and(|ms| ms <= unix_ms()), "{found:?}");
        it.begin.root = Some(PathBuf::from("/captured"));
        assert_eq!(course(&it, &Root::live()).booted_ms, None, "a capture did not boot with this machine");
    }

    #[test]
    fn what_the_settings_are_counts_more_than_what_a_journal_could_not_note() {
        let folder = tempfile::tempdir().unwrap();
        let (path, machine) = (folder.path().join("proc/sys/vm/swappiness"), Root::captured(folder.path()));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let state = JournalFolder::open(folder.path().join("state")).unwrap();
        let ground = ground(&machine, &state);
        let confirmed = JournalContent { confirmed_ms: Some(1), ..journal() };
        let undoing = JournalContent { undoing_ms: Some(2), ..confirmed.clone() };
        let left = NodeStanding::Left { settings: 1 };
        for (now, as_confirmed, as_undoing, is_whole) in [
            ("10", NodeStanding::Confirmed, left, true),
            ("60", NodeStanding::Restored, NodeStanding::Restored, false),
            ("33", NodeStanding::Confirmed, left, false),
        ] {
            std::fs::write(&path, format!("{now}\n")).unwrap();
            assert_eq!((seen(&confirmed, &ground), seen(&undoing, &ground)), (as_confirmed, as_undoing), "{now}");
            assert_eq!(seen(&journal(), &ground).is_whole(), is_whole, "{now}");
        }
        let rollout = Some(RolloutName { token: 7, nodes: 2 });
        assert_eq!(told(&journal(), seen(&journal(), &ground), &ground).rollout, rollout);
    }
}
