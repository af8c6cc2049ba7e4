//! How this machine stands to a rollout: what its journals say, and how the settings are now.

use linerate_fleet::change_protocol::reason;
use linerate_host::apply::{self, ApplyContext, TuneError, has_booted, since_boot_ms, unix_ms};
use linerate_host::journal::{JournalContent, Made};
use linerate_host::{Root, watch};
use linerate_record::journal::{RollbackOutcome, RolledBackBy};
use linerate_record::rollout::{
    EXTENSIONS_MAX, NodeExtension, NodeSetting, NodeState, NodeStatus, NodeTimeline, RolloutName,
};

use super::journal_names;
use crate::run::applications::{self, apply_context};
use crate::terminal::failure::Failure;

/// Journals that are looked into for the newest rollout.
const JOURNALS_MAX: usize = 64;

/// How this machine stands to a rollout, or to its newest; with every setting as it is now where that is asked for.
pub(super) fn node_status(machine: &Root, rollout: Option<RolloutName>, settings: bool) -> Result<NodeStatus, Failure> {
    let state = applications::state()?;
    let apply_context = apply_context(machine, &state);
    let Some((reported, node_state)) = rollout_journal(&apply_context, rollout)? else {
        return Ok(NodeStatus::new(None, NodeState::Untouched));
    };
    let journal_status = journal_status(&reported, node_state, &apply_context);
    Ok(if settings {
        NodeStatus { settings: all_settings(&reported, &apply_context), ..journal_status }
    } else {
        journal_status
    })
}

/// The journal of a rollout, or of the one that somebody is to look at, or else of the newest.
///
/// # Errors
/// Where one that cannot be read is of that rollout, or may be the newest.
fn rollout_journal(
    apply_context: &ApplyContext<'_>,
    rollout: Option<RolloutName>,
) -> Result<Option<(JournalContent, NodeState)>, TuneError> {
    let all = match rollout {
        Some(rollout) => journal_names(apply_context.state, rollout)?,
        None => {
            let ids = apply_context.state.ids()?.into_iter().rev();
            ids.filter(|id| RolloutName::of_application(id).is_some()).take(JOURNALS_MAX).collect()
        }
    };
    let mut found: Vec<(JournalContent, NodeState)> = Vec::new();
    // The newest that cannot be read, behind so many that can be.
    let mut unreadable: Option<(usize, TuneError)> = None;
    for id in &all {
        match apply_context.state.read(id) {
            Ok(reported) => {
                let node_state = state_by_settings(&reported, apply_context);
                found.push((reported, node_state));
            }
            // One that was cut before its first line was whole announces nothing.
            Err(TuneError::Empty { .. }) => {}
            Err(error) if rollout.is_some() => return Err(error),
            Err(error) => {
                unreadable.get_or_insert_with(|| (found.len(), TuneError::Unreadable(Box::new(error))));
            }
        }
    }
    let place = |is_so: fn(NodeState) -> bool| found.iter().position(|(_, node_state)| is_so(*node_state));
    let unsettled = place(|node_state| matches!(node_state, NodeState::Pending { .. } | NodeState::Left { .. }));
    let newest = place(|node_state| node_state != NodeState::Untouched).unwrap_or(0);
    match unreadable {
        Some((before, error)) if unsettled.is_none() && before <= newest => Err(error),
        _ => Ok(found.into_iter().nth(unsettled.unwrap_or(newest))),
    }
}

fn all_settings(reported: &JournalContent, apply_context: &ApplyContext<'_>) -> Vec<NodeSetting> {
    reported.made.iter().map(|made| node_setting(made, apply_context)).collect()
}

/// How this machine stands to the rollout that it keeps, the one that was confirmed last: later ones that were rolled
/// back do not hide it.
pub(super) fn kept_rollout_status(machine: &Root) -> Result<NodeStatus, Failure> {
    let state = applications::state()?;
    let is_meant =
        |reported: &JournalContent| reported.is_kept() && RolloutName::of_application(&reported.begin.id).is_some();
    let Some(reported) = state.newest(is_meant)?.certain()? else {
        return Ok(NodeStatus::new(None, NodeState::Untouched));
    };
    let apply_context = apply_context(machine, &state);
    let journal_status = journal_status(&reported, state_by_settings(&reported, &apply_context), &apply_context);
    Ok(NodeStatus { settings: all_settings(&reported, &apply_context), ..journal_status })
}

/// What a journal says, and how its settings are.
pub(super) fn journal_status(
    reported: &JournalContent,
    node_state: NodeState,
    apply_context: &ApplyContext<'_>,
) -> NodeStatus {
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
pub(super) fn state_by_settings(reported: &JournalContent, apply_context: &ApplyContext<'_>) -> NodeState {
    let node_state = state_by_journal(reported, apply_context.root);
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
fn state_by_journal(reported: &JournalContent, machine: &Root) -> NodeState {
    let is_left = |made: &&Made| made.rolled_back.as_ref().is_none_or(RollbackOutcome::needs_a_look);
    match reported.closed {
        Some((RolledBackBy::Unchanged, _, _)) => NodeState::Untouched,
        Some((RolledBackBy::Reboot, _, _)) => NodeState::Rebooted,
        Some((_, _, 0)) if reported.made.is_empty() => NodeState::Untouched,
        Some((_, _, 0)) => NodeState::Restored,
        _ if has_booted(machine, &reported.begin) => NodeState::Rebooted,
        Some((_, _, settings)) => NodeState::Left { settings },
        // It is rolled back by its name, or was and the end of that could not be noted.
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

/// Whether every change was made, and none was rolled back.
fn is_fully_applied(reported: &JournalContent) -> bool {
    let is_made = |made: &Made| made.became.is_some() && made.rolled_back.is_none();
    let is_going_on = reported.is_applied && reported.refused.is_empty() && !reported.is_rolling_back();
    is_going_on && !reported.made.is_empty() && reported.made.iter().all(is_made)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use linerate_host::journal::JournalFolder;
    use linerate_record::journal::{Begin, JOURNAL_SCHEMA, JournalLine};
    use linerate_record::knob::{Change, Scope, SettingId, Space, TakesEffect};

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
            rollback_began_ms: None,
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
        assert!(pending(state_by_journal(&journal(), &Root::live())));
        let cases: [(JournalEdit, Option<NodeState>); 13] = [
            (|it| it.is_applied = false, None),
            (|it| it.made[0].became = None, None),
            (|it| it.made[0].rolled_back = Some(RollbackOutcome::Restored), None),
            (|it| it.rollback_began_ms = Some(1), None),
            (|it| it.refused = vec![(it.made[0].change.place.clone(), "no".to_owned())], None),
            (|it| it.confirmed_ms = Some(1), Some(NodeState::Confirmed)),
            (|it| (it.confirmed_ms, it.rollback_began_ms) = (Some(1), Some(2)), Some(NodeState::Left { settings: 1 })),
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
            let found = state_by_journal(&it, &Root::live());
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
    fn a_journal_that_cannot_be_read_hides_neither_a_named_rollout_nor_one_that_waits_nor_a_newer_one() {
        let folder = tempfile::tempdir().unwrap();
        let (machine, state) =
            (Root::captured(folder.path()), JournalFolder::open(folder.path().join("state")).unwrap());
        let apply_context = apply_context(&machine, &state);
        let put = |id: &str, text: &str| {
            let path = state.path().join(format!("{id}.journal"));
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        };
        let rollout = RolloutName { token: 7, nodes: 2 };
        let id = rollout.application("20260102T030405123456Z-7");
        let begun = serde_json::to_string(&JournalLine::Begin(Begin { id: id.clone(), ..journal().begin })).unwrap();
        let closed = JournalLine::Closed { by: RolledBackBy::Command, at_ms: 1, left: 0, why: None };
        let closed = format!("{begun}\n{}\n", serde_json::to_string(&closed).unwrap());
        let named = |stamp: &str| RolloutName { token: 8, nodes: 2 }.application(stamp);
        let (before, after) = (named("20260101T000000000000Z-1"), named("20260103T000000000000Z-1"));
        let found = |rollout| {
            rollout_journal(&apply_context, rollout).map(|found| found.map(|(reported, _)| reported.begin.id))
        };
        for (damaged, text, is_known) in
            [(&before, &closed, true), (&after, &format!("{begun}\n"), true), (&after, &closed, false)]
        {
            put(&id, text);
            put(damaged, "no journal\n");
            assert_eq!(found(Some(rollout)).unwrap().as_ref(), Some(&id), "{damaged}");
            match found(None) {
                Ok(found) => assert!(is_known && found.as_ref() == Some(&id), "{damaged}: {found:?}"),
                Err(error) => {
                    let why = error.to_string();
                    assert!(!is_known && why.contains(damaged) && why.contains("move it to another folder"), "{why}");
                }
            }
            assert!(found(RolloutName::of_application(damaged)).is_err(), "{damaged}");
            std::fs::remove_file(state.path().join(format!("{damaged}.journal"))).unwrap();
        }
    }

    #[test]
    fn what_the_settings_are_counts_more_than_what_a_journal_could_not_note() {
        let folder = tempfile::tempdir().unwrap();
        let (path, machine) = (folder.path().join("proc/sys/vm/swappiness"), Root::captured(folder.path()));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let state = JournalFolder::open(folder.path().join("state")).unwrap();
        let apply_context = apply_context(&machine, &state);
        let confirmed = JournalContent { confirmed_ms: Some(1), ..journal() };
        let rolling_back = JournalContent { rollback_began_ms: Some(2), ..confirmed.clone() };
        let left = NodeState::Left { settings: 1 };
        for (now, as_confirmed, as_rolling_back, is_whole) in [
            ("10", NodeState::Confirmed, left, true),
            ("60", NodeState::Restored, NodeState::Restored, false),
            ("33", NodeState::Confirmed, left, false),
        ] {
            std::fs::write(&path, format!("{now}\n")).unwrap();
            assert_eq!(
                (state_by_settings(&confirmed, &apply_context), state_by_settings(&rolling_back, &apply_context)),
                (as_confirmed, as_rolling_back),
                "{now}"
            );
            assert_eq!(state_by_settings(&journal(), &apply_context).is_whole(), is_whole, "{now}");
        }
        let rollout = Some(RolloutName { token: 7, nodes: 2 });
        assert_eq!(
            journal_status(&journal(), state_by_settings(&journal(), &apply_context), &apply_context).rollout,
            rollout
        );
    }
}
