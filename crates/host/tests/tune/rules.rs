//! What is applied, what is refused, whose value stays.

use linerate_host::apply::{ApplyStep, ChangeOutcome, TuneError, apply, confirm, rollback};
use linerate_host::watch::{trial, watch};
use linerate_record::journal::{RollbackOutcome, RolledBackBy};
use linerate_record::knob::{Change, SettingId, Space};

use super::machine::{ROWS, made};

fn nothing(_: linerate_host::apply::ApplyStep) {}

#[test]
fn what_is_confirmed_stays_and_can_still_be_taken_back() {
    let (_dir, machine) = made();
    let before = machine.files();
    let applied = machine.apply(&machine.changes(), "1", &mut nothing).unwrap();
    assert!(applied.outcomes.iter().all(|outcome| *outcome == ChangeOutcome::Made), "{applied:?}");
    assert!(applied.overridden.is_empty());
    confirm(&machine.apply_context()).unwrap();
    machine.let_time_pass("1");
    assert!(watch(&machine.apply_context(), "1", &mut nothing).unwrap().is_none(), "it is not needed any more");
    assert_eq!(machine.text("sys/block/sda/queue/scheduler"), "none [mq-deadline]");
    assert_eq!(machine.text("sys/class/net/eth0/queues/rx-0/rps_cpus"), "00000000,000000ff");
    assert!(confirm(&machine.apply_context()).is_err(), "once is enough");
    let again = machine.apply(&machine.changes(), "2", &mut nothing).unwrap();
    assert!(again.outcomes.iter().all(|outcome| *outcome == ChangeOutcome::Already));
    assert!(!again.is_pending, "nothing was changed, so nothing waits");
    let kept = machine.files();
    let why = rollback(&machine.apply_context(), None, false, &mut nothing).unwrap_err().to_string();
    assert!(why.contains("1 was confirmed: linerate tune rollback 1, or --kept"), "{why}");
    assert_eq!(machine.files(), kept, "what is kept is rolled back by its name alone");
    rollback(&machine.apply_context(), Some("1"), false, &mut nothing).unwrap();
    assert_eq!(machine.files(), before);
}

#[test]
fn what_lapsed_does_not_expose_what_was_confirmed_before_it() {
    let (_dir, machine) = made();
    let mut first = machine.changes();
    let rest = first.changes.split_off(5);
    machine.apply(&first, "1", &mut nothing).unwrap();
    confirm(&machine.apply_context()).unwrap();
    let kept = machine.files();
    machine.apply(&linerate_record::knob::ChangeSet { changes: rest, ..first }, "2", &mut nothing).unwrap();
    machine.let_time_pass("2");
    watch(&machine.apply_context(), "2", &mut nothing).unwrap();
    for _ in 0..3 {
        assert!(matches!(rollback(&machine.apply_context(), None, false, &mut nothing), Err(TuneError::Nothing(_))));
        assert_eq!(machine.files(), kept);
    }
}

#[test]
fn what_was_confirmed_is_not_taken_back_while_another_application_waits() {
    let (_dir, machine) = made();
    let before = machine.files();
    let mut first = machine.changes();
    let rest = first.changes.split_off(5);
    machine.apply(&first, "1", &mut nothing).unwrap();
    confirm(&machine.apply_context()).unwrap();
    // One that sets a value of the first back, which its own rollback would bring again.
    let mut second = linerate_record::knob::ChangeSet { changes: rest, ..first.clone() };
    let back = first.changes.remove(0);
    second.changes.push(Change { new: back.prior.clone(), prior: back.new.clone(), ..back });
    machine.apply(&second, "2", &mut nothing).unwrap();
    let waits = machine.files();
    for force in [false, true] {
        let refused = rollback(&machine.apply_context(), Some("1"), force, &mut nothing);
        assert!(matches!(&refused, Err(TuneError::Pending(id)) if id == "2"), "{refused:?}");
        assert_eq!(machine.files(), waits);
    }
    assert_eq!(rollback(&machine.apply_context(), None, false, &mut nothing).unwrap().id, "2");
    assert_eq!(rollback(&machine.apply_context(), Some("1"), false, &mut nothing).unwrap().left(), 0);
    assert_eq!(machine.files(), before);
}

#[test]
fn what_later_applications_keep_is_not_taken_back_with_an_earlier_one_though_the_value_is_the_same() {
    let (_dir, machine) = made();
    let swappiness = |prior: &str, new: &str| {
        let mut set = machine.changes();
        set.changes.retain(|change| change.place.knob == "vm.swappiness");
        set.changes[0].prior = prior.to_owned();
        set.changes[0].new = new.to_owned();
        set
    };
    for (id, prior, new) in [("1", "60", "7"), ("2", "7", "8"), ("3", "8", "7")] {
        machine.apply(&swappiness(prior, new), id, &mut nothing).unwrap();
        confirm(&machine.apply_context()).unwrap();
    }
    // What the first has set, and what the second found.
    for id in ["1", "2", "1"] {
        let found = rollback(&machine.apply_context(), Some(id), false, &mut nothing).unwrap();
        let kept = RollbackOutcome::Left { current: "7".to_owned(), by: Some("3".to_owned()) };
        assert_eq!((found.left(), &found.rolled_back[0].1), (1, &kept), "{id}");
        assert_eq!(machine.text("proc/sys/vm/swappiness"), "7", "{id}");
    }
    for (id, value) in [("3", "8"), ("2", "7"), ("1", "60")] {
        assert_eq!(rollback(&machine.apply_context(), Some(id), false, &mut nothing).unwrap().left(), 0, "{id}");
        assert_eq!(machine.text("proc/sys/vm/swappiness"), value, "{id}");
    }
    // Unless it is forced.
    for (id, prior, new) in [("4", "60", "7"), ("5", "7", "8")] {
        machine.apply(&swappiness(prior, new), id, &mut nothing).unwrap();
        confirm(&machine.apply_context()).unwrap();
    }
    assert_eq!(rollback(&machine.apply_context(), Some("4"), true, &mut nothing).unwrap().left(), 0);
    assert_eq!(machine.text("proc/sys/vm/swappiness"), "60");
}

#[test]
fn what_was_rolled_back_and_set_again_by_a_later_application_is_not_as_before() {
    let (_dir, machine) = made();
    let before = machine.files();
    machine.apply(&machine.changes(), "1", &mut nothing).unwrap();
    assert_eq!(rollback(&machine.apply_context(), Some("1"), false, &mut nothing).unwrap().left(), 0);
    assert_eq!(rollback(&machine.apply_context(), Some("1"), false, &mut nothing).unwrap().left(), 0, "again");
    machine.apply(&machine.changes(), "2", &mut nothing).unwrap();
    confirm(&machine.apply_context()).unwrap();
    let kept = machine.files();
    let found = rollback(&machine.apply_context(), Some("1"), false, &mut nothing).unwrap();
    assert_eq!(found.left() as usize, machine.changes().changes.len(), "{found:?}");
    assert_eq!(machine.files(), kept, "what another one set stays");
    assert!(matches!(rollback(&machine.apply_context(), None, false, &mut nothing), Err(TuneError::Nothing(_))));
    assert_eq!(rollback(&machine.apply_context(), Some("1"), true, &mut nothing).unwrap().left(), 0);
    assert_eq!(machine.files(), before, "unless it is forced");
}

#[test]
fn a_file_of_changes_with_texts_beyond_what_a_journal_holds_is_refused() {
    let (_dir, machine) = made();
    let before = machine.files();
    for (bytes, part) in [((16 << 10) + 1, "has a text of 16385 bytes: at most 16384 are read"), (16 << 10, "")] {
        let mut long = machine.changes();
        long.changes[0].why = "w".repeat(bytes);
        match machine.apply(&long, "1", &mut nothing) {
            Err(why) => assert!(!part.is_empty() && why.to_string().contains(part), "{bytes}: {why}"),
            Ok(_) => assert!(part.is_empty(), "{bytes}"),
        }
    }
    rollback(&machine.apply_context(), None, false, &mut nothing).unwrap();
    assert_eq!(machine.files(), before);
    let mut many = machine.changes();
    let one = Change { why: "w".repeat(16 << 10), ..many.changes[0].clone() };
    let numbered_change = |number: usize| Change {
        place: SettingId { knob: format!("net.ipv4.none{number}"), ..one.place.clone() },
        ..one.clone()
    };
    many.changes = (0..1_025).map(numbered_change).collect();
    let why = machine.apply(&many, "2", &mut nothing).unwrap_err().to_string();
    assert!(why.contains("longer than 16 MiB"), "{why}");
}

#[test]
fn an_application_of_no_change_waits_for_nobody() {
    let (dir, machine) = made();
    let before = machine.files();
    let mut none = machine.changes();
    none.changes.clear();
    let mut failing = machine.changes();
    failing.changes.retain(|change| change.place.knob == "block.scheduler");
    let schedulers = |sda: &str, sdb: &str| {
        machine.set("sys/block/sda/queue/scheduler", sda);
        machine.set("sys/block/sdb/queue/scheduler", sdb);
    };
    for (id, set) in [("1", &none), ("2", &failing)] {
        // Modules of schedulers go between the look and the change.
        let go = |step| {
            if step == ApplyStep::Begun {
                schedulers("[none]", "[bfq] kyber")
            }
        };
        let applied = machine.apply(set, id, &mut |step| go(step)).unwrap();
        schedulers("[none] mq-deadline", "none [bfq] kyber");
        assert!(!applied.is_pending, "{id}");
        assert!(matches!(machine.state.read(id).unwrap().closed, Some((RolledBackBy::Unchanged, _, 0))), "{id}");
        assert!(confirm(&machine.apply_context()).unwrap_err().to_string().contains("no changes are pending"));
        assert!(matches!(rollback(&machine.apply_context(), None, false, &mut nothing), Err(TuneError::Nothing(_))));
    }
    // As a kill before the first change leaves it: a journal that has begun, and no more.
    machine.apply(&machine.changes(), "3", &mut nothing).unwrap();
    let path = dir.path().join("state/3.journal");
    let begun = std::fs::read_to_string(&path).unwrap().lines().next().unwrap().to_owned() + "\n";
    rollback(&machine.apply_context(), None, false, &mut nothing).unwrap();
    std::fs::write(&path, &begun).unwrap();
    assert!(machine.state.read("3").unwrap().is_pending());
    assert!(confirm(&machine.apply_context()).unwrap_err().to_string().contains("no changes are pending"));
    std::fs::write(&path, &begun).unwrap();
    machine.apply(&machine.changes(), "4", &mut nothing).unwrap();
    assert!(matches!(machine.state.read("3").unwrap().closed, Some((RolledBackBy::Unchanged, _, 0))));
    rollback(&machine.apply_context(), None, false, &mut nothing).unwrap();
    assert_eq!(machine.files(), before);
}

#[test]
fn what_nobody_confirms_is_taken_back_and_cannot_be_confirmed_then() {
    let (_dir, machine) = made();
    let before = machine.files();
    machine.apply(&machine.changes(), "1", &mut nothing).unwrap();
    machine.let_time_pass("1");
    assert!(confirm(&machine.apply_context()).unwrap_err().to_string().contains("its time is over"));
    let rollback_result = watch(&machine.apply_context(), "1", &mut nothing).unwrap().unwrap();
    assert!(rollback_result.rolled_back.iter().all(|(_, outcome)| *outcome == RollbackOutcome::Restored));
    assert_eq!(rollback_result.rolled_back.len(), ROWS.len());
    assert_eq!(machine.files(), before);
    assert!(confirm(&machine.apply_context()).is_err());
    assert!(matches!(rollback(&machine.apply_context(), None, false, &mut nothing), Err(TuneError::Nothing(_))));
}

#[test]
fn a_change_of_somebody_else_stays_and_is_told() {
    let (_dir, machine) = made();
    let before = machine.files();
    machine.apply(&machine.changes(), "1", &mut nothing).unwrap();
    machine.set("proc/sys/vm/swappiness", "1");
    let rollback_result = rollback(&machine.apply_context(), None, false, &mut nothing).unwrap();
    assert_eq!(rollback_result.left(), 1);
    let left = rollback_result.rolled_back.iter().find(|(place, _)| place.knob == "vm.swappiness").unwrap();
    assert_eq!(left.1, RollbackOutcome::Left { current: "1".to_owned(), by: None });
    assert_eq!(machine.text("proc/sys/vm/swappiness"), "1");
    let forced = rollback(&machine.apply_context(), None, true, &mut nothing).unwrap();
    assert_eq!(forced.left(), 0);
    assert_eq!(machine.files(), before);
}

#[test]
fn a_setting_that_moved_since_the_file_was_made_refuses_the_file() {
    let (_dir, machine) = made();
    let changes = machine.changes();
    machine.set("proc/sys/vm/swappiness", "30");
    machine.set("proc/sys/net/ipv4/tcp_sack", "2");
    let before = machine.files();
    let error = machine.apply(&changes, "1", &mut nothing).unwrap_err().to_string();
    for part in
        ["2 of 31 changes cannot be made", "vm.swappiness: it is \"30\" now but was \"60\"", "\n  net.ipv4.tcp_sack"]
    {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert_eq!(machine.files(), before);
    // What moves between that look and the change is refused alone.
    machine.set("proc/sys/vm/swappiness", "60");
    machine.set("proc/sys/net/ipv4/tcp_sack", "1");
    let applied = machine
        .apply(&changes, "2", &mut |step| {
            if step == linerate_host::apply::ApplyStep::Armed {
                machine.set("proc/sys/vm/swappiness", "30");
            }
        })
        .unwrap();
    assert!(matches!(&applied.outcomes[0], ChangeOutcome::Refused(why) if why.contains("\"30\" now")), "{applied:?}");
    assert_eq!(applied.outcomes.iter().filter(|outcome| **outcome == ChangeOutcome::Made).count(), ROWS.len() - 1);
    assert_eq!(machine.text("proc/sys/vm/swappiness"), "30");
}

#[test]
fn what_cannot_be_changed_refuses_the_whole_file_each_with_its_reason() {
    let (_dir, machine) = made();
    let mut changes = machine.changes();
    let change = |knob: &str, device: Option<&str>, space: Space, new: &str| Change {
        place: SettingId { knob: knob.to_owned(), device: device.map(str::to_owned), space },
        prior: "1".to_owned(),
        new: new.to_owned(),
        ..changes.changes[0].clone()
    };
    let cases = [
        (change("net.ipv4.ip_forward", None, Space::Host, "0"), "belongs to the CNI"),
        (change("nic.mtu", Some("cilium_host"), Space::Host, "9000"), "belongs to the CNI"),
        (change("nic.mtu", Some("eth0"), Space::Pid(1), "9000"), "leave out --pid"),
        (change("kernel.version", None, Space::Host, "7"), "cannot be changed while the machine runs"),
        (change("vm.none", None, Space::Host, "7"), "there is no knob"),
        (change("vm.swappiness", None, Space::Pid(1), "7"), "one value for the whole machine"),
        (change("block.scheduler", Some("../sda"), Space::Host, "none"), "not the name of a device"),
        (change("block.scheduler", Some("sda/../sdb"), Space::Host, "none"), "not the name of a device"),
        (change("block.scheduler", None, Space::Host, "none"), "but none is given"),
        (change("nic.mtu", Some("eth0/queues/../../eth1"), Space::Host, "1400"), "not the name of a device"),
        (change("../../etc/passwd", None, Space::Host, "0"), "there is no knob"),
        (change("net.core.rmem_max", None, Space::Host, &"1".repeat(100_000)), "at most 4094 are accepted"),
        (change("nic.mtu", Some("eth0"), Space::Host, "abc"), "not a whole number"),
        (change("nic.flush", Some("eth7"), Space::Host, "1"), "cannot be read"),
    ];
    let before = machine.files();
    let reasons: Vec<&str> = cases.iter().map(|case| case.1).collect();
    changes.changes.retain(|good| cases.iter().all(|(change, _)| change.place != good.place));
    let good = changes.changes.clone();
    assert!(good.len() > 20);
    changes.changes.extend(cases.iter().map(|case| case.0.clone()));
    let Err(TuneError::Refused { of, refused }) = machine.apply(&changes, "1", &mut nothing) else { panic!("refused") };
    assert_eq!((of, refused.len()), (changes.changes.len(), cases.len()), "{refused:?}");
    for (((place, why), reason), (change, _)) in refused.iter().zip(reasons).zip(&cases) {
        assert!(*place == change.place && why.contains(reason), "{}: {why}", change.place);
    }
    for (change, reason) in cases {
        changes.changes = good.iter().cloned().chain([change]).collect();
        let error = machine.apply(&changes, "1", &mut nothing).unwrap_err().to_string();
        assert!(error.contains("nothing is changed, because 1 of ") && error.contains(reason), "{error}");
    }
    assert_eq!(machine.files(), before);
    assert!(machine.state.ids().unwrap().is_empty(), "nothing was begun");
}

#[test]
fn a_value_that_the_kernel_does_not_take_is_told_and_the_others_are_made() {
    let (_dir, machine) = made();
    const PATH: &str = "sys/block/sda/queue/scheduler";
    let mut changes = machine.changes();
    let scheduler = changes.changes.iter_mut().find(|change| change.place.knob == "block.scheduler").unwrap();
    scheduler.new = "cfq".to_owned();
    let refused = machine.apply(&changes, "0", &mut nothing).unwrap_err().to_string();
    assert!(refused.contains("\"cfq\" is not one of none, mq-deadline"), "{refused}");
    // The module of a scheduler goes when the change is announced.
    let changes = machine.changes().changes;
    let place = changes.iter().position(|change| change.place.knob == "block.scheduler").unwrap();
    let mut announced = 0;
    let mut go = |step| {
        announced += usize::from(step == ApplyStep::Announced);
        if step == ApplyStep::Announced && announced == place + 1 {
            machine.set(PATH, "[none]");
        }
    };
    let applied = machine.apply(&machine.changes(), "1", &mut go).unwrap();
    let failed: Vec<&ChangeOutcome> =
        applied.outcomes.iter().filter(|outcome| **outcome != ChangeOutcome::Made).collect();
    assert!(
        matches!(failed[..], [ChangeOutcome::Failed(why)] if why.contains("\"mq-deadline\" is not one of none")),
        "{failed:?}"
    );
    assert_eq!(machine.text(PATH), "[none]");
}

#[test]
fn files_of_another_machine_or_layout_and_those_with_traps_are_refused_whole() {
    let (_dir, machine) = made();
    let before = machine.files();
    let set = machine.changes();
    let with = |alter: &dyn Fn(&mut linerate_record::knob::ChangeSet)| {
        let mut set = set.clone();
        alter(&mut set);
        set
    };
    let cases = [
        (with(&|set| set.machine = "0".repeat(32)), "another machine"),
        (with(&|set| set.schema = 99), "schema 99"),
        (with(&|set| set.schema = 0), "schema 0"),
        (
            with(&|set| set.profile = "p\nkernel.core_pattern = |/bin/x".to_owned()),
            "profile or machine has a line break",
        ),
        (with(&|set| set.profile = "p\u{2028}x: y".to_owned()), "profile or machine has a line break"),
        (with(&|set| set.machine.push('\n')), "profile or machine has a line break"),
        (with(&|set| set.changes.push(set.changes[0].clone())), "twice"),
        (with(&|set| set.changes[0].new = "1\n2".to_owned()), "line break"),
        (with(&|set| set.changes[0].why = "\u{1b}[2J".to_owned()), "control character"),
        (with(&|set| set.changes[0].place.device = Some("a\nb".to_owned())), "line break"),
    ];
    for (set, reason) in cases {
        let error = machine.apply(&set, "1", &mut nothing).unwrap_err().to_string();
        assert!(error.contains(reason), "{reason}: {error}");
    }
    assert_eq!(machine.files(), before);
    assert!(machine.state.ids().unwrap().is_empty(), "nothing was begun");
}

#[test]
fn nothing_is_changed_without_a_watch_or_while_another_waits_or_works() {
    let (_dir, machine) = made();
    let before = machine.files();
    let set = machine.changes();
    let within = std::time::Duration::from_secs(60);
    let terms = linerate_host::apply::ApplyTerms { id: "1".to_owned(), root: None, within, owner: None, wave: None };
    let unarmed = apply(&machine.apply_context(), &set, &terms, &mut |_| Err("no".to_owned()), &mut nothing);
    assert!(matches!(unarmed, Err(TuneError::Watch(_))));
    assert_eq!(machine.files(), before);
    let lock = machine.state.lock().unwrap();
    assert!(matches!(machine.apply(&set, "2", &mut nothing), Err(TuneError::Busy)));
    assert!(matches!(rollback(&machine.apply_context(), None, false, &mut nothing), Err(TuneError::Busy)));
    drop(lock);
    assert_eq!(machine.files(), before);
    machine.apply(&set, "3", &mut nothing).unwrap();
    assert!(matches!(machine.apply(&set, "4", &mut nothing), Err(TuneError::Pending(id)) if id == "3"));
    // What can be confirmed no more is to be rolled back: to confirm is not advised.
    machine.let_time_pass("3");
    let why = machine.apply(&set, "4", &mut nothing).unwrap_err();
    assert!(matches!(&why, TuneError::Lapsing(id) if id == "3") && !why.to_string().contains("tune confirm"), "{why}");
}

#[test]
fn one_machine_is_changed_by_one_at_a_time_whatever_its_journals() {
    let (dir, machine) = made();
    let other = linerate_host::journal::JournalFolder::open(dir.path().join("other")).unwrap();
    let apply_context = linerate_host::apply::ApplyContext { state: &other, ..machine.apply_context() };
    let within = std::time::Duration::from_secs(60);
    let terms = linerate_host::apply::ApplyTerms { id: "2".to_owned(), root: None, within, owner: None, wave: None };
    let mut tried = 0;
    let set = machine.changes();
    machine
        .apply(&set, "1", &mut |_| {
            let at_once = apply(&apply_context, &set, &terms, &mut |_| Ok(Vec::new()), &mut nothing);
            assert!(matches!(at_once, Err(TuneError::Busy)), "{at_once:?}");
            tried += 1;
        })
        .unwrap();
    assert!(tried > ROWS.len());
    assert!(other.ids().unwrap().is_empty());
    rollback(&machine.apply_context(), None, false, &mut nothing).unwrap();
}

#[test]
fn a_restore_that_failed_leaves_the_watch_armed_until_it_gives_up() {
    let (dir, machine) = made();
    let before = machine.files();
    machine.apply(&machine.changes(), "1", &mut nothing).unwrap();
    let file = dir.path().join("root/proc/sys/vm/swappiness");
    // A folder in the file's place is neither read nor written, and is not gone either.
    let block = || std::fs::remove_file(&file).and_then(|()| std::fs::create_dir(&file)).unwrap();
    block();
    for _ in 0..2 {
        let rollback_result = rollback(&machine.apply_context(), None, false, &mut nothing).unwrap();
        assert_eq!(rollback_result.left(), 1, "{rollback_result:?}");
        assert!(machine.state.read("1").unwrap().is_pending(), "the watch goes on");
        assert!(confirm(&machine.apply_context()).unwrap_err().to_string().contains("partly rolled back"));
    }
    std::fs::remove_dir(&file).unwrap();
    machine.set("proc/sys/vm/swappiness", "10");
    machine.let_time_pass("1");
    let rollback_result = watch(&machine.apply_context(), "1", &mut nothing).unwrap().unwrap();
    assert_eq!(rollback_result.left(), 0);
    assert_eq!(machine.files(), before);
    assert_eq!(machine.state.newest_open().unwrap().journal, None);

    machine.apply(&machine.changes(), "2", &mut nothing).unwrap();
    block();
    machine.let_time_pass("2");
    assert_eq!(watch(&machine.apply_context(), "2", &mut nothing).unwrap().unwrap().left(), 1);
    assert!(matches!(machine.state.read("2").unwrap().closed, Some((RolledBackBy::Lapse, _, 1))), "it has given up");
    std::fs::remove_dir(&file).unwrap();
    machine.set("proc/sys/vm/swappiness", "10");
    assert_eq!(rollback(&machine.apply_context(), None, false, &mut nothing).unwrap().left(), 0);
    assert_eq!(machine.state.newest_open().unwrap().journal, None);
    assert_eq!(machine.files(), before);
}

#[test]
fn a_watch_outlasts_a_journal_that_cannot_be_read_for_a_while_and_not_one_that_is_gone() {
    let (_dir, machine) = made();
    let before = machine.files();
    machine.apply(&machine.changes(), "1", &mut nothing).unwrap();
    machine.let_time_pass("1");
    let (journal, aside) = (machine.state.path().join("1.journal"), machine.state.path().join("aside"));
    std::fs::copy(&journal, &aside).unwrap();
    let rollback_result = std::thread::scope(|scope| {
        // A link is not followed; it takes the journal's place at once, as the journal does then.
        let link = machine.state.path().join("link");
        std::os::unix::fs::symlink(&aside, &link).unwrap();
        std::fs::rename(&link, &journal).unwrap();
        let watching = scope.spawn(|| watch(&machine.apply_context(), "1", &mut nothing));
        std::thread::sleep(std::time::Duration::from_millis(300));
        assert!(!watching.is_finished(), "it tries again");
        std::fs::rename(&aside, &journal).unwrap();
        watching.join().unwrap().unwrap()
    });
    assert_eq!(rollback_result.map(|rollback_result| rollback_result.left()), Some(0));
    assert_eq!(machine.files(), before);
    std::fs::remove_file(&journal).unwrap();
    assert!(matches!(watch(&machine.apply_context(), "1", &mut nothing), Err(TuneError::State { .. })));
}

#[test]
fn a_trial_opens_for_writing_what_the_watch_writes_and_changes_nothing() {
    let (dir, machine) = made();
    machine.apply(&machine.changes(), "1", &mut nothing).unwrap();
    let lock = machine.state.lock().unwrap();
    let (before, journal) = (machine.files(), machine.state.read("1").unwrap());
    let tried = |sysctl| trial(&machine.apply_context(), "1", sysctl).map_err(|error| error.to_string());
    assert_eq!(tried(None), Ok(()), "its applier has the lock");
    assert_eq!(tried(Some("vm.swappiness")), Ok(()));
    assert!(tried(Some("../etc/passwd")).unwrap_err().contains("is not the name of a sysctl"));
    let file = dir.path().join("root/proc/sys/vm/swappiness");
    std::fs::rename(&file, dir.path().join("aside")).unwrap();
    std::fs::create_dir(&file).unwrap();
    assert!(tried(Some("vm.swappiness")).unwrap_err().contains("cannot write to vm.swappiness"));
    std::fs::remove_dir(&file).unwrap();
    std::fs::rename(dir.path().join("aside"), &file).unwrap();
    assert_eq!((machine.files(), machine.state.read("1").unwrap()), (before, journal));
    drop(lock);
    std::fs::remove_file(machine.state.path().join("lock")).unwrap();
    assert!(tried(None).unwrap_err().contains("lock"), "it makes none");
}

#[test]
fn after_a_boot_nothing_is_restored_blindly() {
    let (_dir, machine) = made();
    machine.apply(&machine.changes(), "1", &mut nothing).unwrap();
    machine.set("proc/sys/kernel/random/boot_id", "22222222-2222-2222-2222-222222222222");
    let after = machine.files();
    assert!(confirm(&machine.apply_context()).unwrap_err().to_string().contains("has been rebooted since"));
    let rollback_result = rollback(&machine.apply_context(), None, false, &mut nothing).unwrap();
    assert!(rollback_result.after_reboot && rollback_result.rolled_back.is_empty());
    assert_eq!(machine.files(), after);
}

#[test]
fn without_a_boot_id_changes_are_taken_back_and_not_taken_for_gone() {
    let (dir, machine) = made();
    let before = machine.files();
    machine.apply(&machine.changes(), "1", &mut nothing).unwrap();
    let id = dir.path().join("root/proc/sys/kernel/random/boot_id");
    let text = std::fs::read(&id).unwrap();
    std::fs::remove_file(&id).unwrap();
    assert!(matches!(machine.apply(&machine.changes(), "2", &mut nothing), Err(TuneError::Pending(_))));
    let rollback_result = rollback(&machine.apply_context(), None, false, &mut nothing).unwrap();
    assert!(
        !rollback_result.after_reboot && rollback_result.left() == 0 && rollback_result.rolled_back.len() == ROWS.len()
    );
    // A capture that never had one is changed and changed back too.
    machine.apply(&machine.changes(), "3", &mut nothing).unwrap();
    rollback(&machine.apply_context(), None, false, &mut nothing).unwrap();
    std::fs::write(&id, text).unwrap();
    assert_eq!(machine.files(), before);
}

#[test]
fn an_application_whose_time_is_over_before_it_is_through_takes_itself_back() {
    let (_dir, machine) = made();
    let before = machine.files();
    let within = std::time::Duration::ZERO;
    let terms = linerate_host::apply::ApplyTerms { id: "1".to_owned(), root: None, within, owner: None, wave: None };
    let error =
        apply(&machine.apply_context(), &machine.changes(), &terms, &mut |_| Ok(Vec::new()), &mut nothing).unwrap_err();
    assert!(error.to_string().contains("time to confirm ended"), "{error}");
    assert_eq!(machine.files(), before);
}
