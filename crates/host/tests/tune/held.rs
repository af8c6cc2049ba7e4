//! A watch whose journals are moved or removed, and one that is not there when it should act.

use linerate_host::apply::rollback;
use linerate_host::owner;
use linerate_host::watch::{is_watched, overdue, watch};
use linerate_record::journal::{JournalLine, Owner, RolledBackBy, Watcher};

use super::machine::{Machine, scratch};

fn nothing(_: linerate_host::apply::ApplyStep) {}

#[test]
fn a_watch_that_holds_on_to_journals_acts_though_they_are_moved_or_removed() {
    for is_removed in [false, true] {
        let dir = scratch();
        let machine = Machine::make(dir.path());
        let before = machine.files();
        machine.apply(&machine.changes(), "1", &mut nothing).unwrap();
        machine.let_time_pass("1");
        let (apply_context, held) = (machine.apply_context(), machine.state.held("1").unwrap());
        let away = dir.path().join("away");
        if is_removed {
            std::fs::remove_dir_all(machine.state.path()).unwrap();
        } else {
            std::fs::rename(machine.state.path(), &away).unwrap();
        }
        assert!(watch(&apply_context, "1", &mut nothing).is_err(), "one that does not, finds nothing");
        let apply_context = linerate_host::apply::ApplyContext { state: &held, ..apply_context };
        let rollback_result = watch(&apply_context, "1", &mut nothing).unwrap().unwrap();
        assert_eq!(
            (rollback_result.left(), rollback_result.unrecorded.is_some()),
            (0, is_removed),
            "{rollback_result:?}"
        );
        assert_eq!(machine.files(), before, "removed: {is_removed}");
        if !is_removed {
            std::fs::rename(&away, machine.state.path()).unwrap();
            assert!(matches!(machine.state.read("1").unwrap().closed, Some((RolledBackBy::Lapse, _, 0))));
        }
    }
}

/// Says of an application who watches it.
fn watched_by(machine: &Machine, by: Vec<Watcher>) {
    let path = machine.state.path().join("1.journal");
    let text = std::fs::read_to_string(&path).expect("the machine is the test's own");
    let lines = text.lines().map(|line| match serde_json::from_str(line).expect("the machine is the test's own") {
        JournalLine::Watched { .. } => {
            serde_json::to_string(&JournalLine::Watched { by: by.clone(), rollback_began_ms: None })
                .expect("the machine is the test's own")
                + "\n"
        }
        _ => format!("{line}\n"),
    });
    std::fs::write(&path, lines.collect::<String>()).expect("the machine is the test's own");
}

#[test]
fn what_is_over_and_has_no_watch_is_taken_back_and_what_has_one_or_may_have_is_not() {
    let dir = scratch();
    let machine = Machine::make(dir.path());
    let before = machine.files();
    let apply_context = machine.apply_context();
    let (own, namespace) = match linerate_host::watch::this_process().unwrap() {
        Watcher::Process { process, namespace } => (process, namespace),
        Watcher::Unit(unit) => panic!("{unit}"),
    };
    assert_eq!(own, owner::this_process().unwrap());
    let process = |process| Watcher::Process { process, namespace };
    let ended = process(Owner { started_ticks: own.started_ticks - 1, ..own });
    machine.apply(&machine.changes(), "1", &mut nothing).unwrap();
    let after = machine.files();
    let reported = || machine.state.read("1").unwrap();
    watched_by(&machine, vec![ended.clone()]);
    assert_eq!(is_watched(&reported()), Some(false));
    assert!(overdue(&apply_context, &reported()).unwrap().is_none(), "it is not over");
    machine.let_time_pass("1");
    for (by, lives) in [(vec![], None), (vec![ended.clone(), process(own)], Some(true))] {
        watched_by(&machine, by);
        assert_eq!(is_watched(&reported()), lives);
        assert!(overdue(&apply_context, &reported()).unwrap().is_none(), "{lives:?}");
        assert_eq!(machine.files(), after, "{lives:?}");
    }
    watched_by(&machine, vec![ended]);
    assert_eq!(overdue(&apply_context, &reported()).unwrap().map(|rollback_result| rollback_result.left()), Some(0));
    assert_eq!(machine.files(), before);
    assert!(rollback(&apply_context, None, false, &mut nothing).is_err(), "nothing is left to roll back");
}
