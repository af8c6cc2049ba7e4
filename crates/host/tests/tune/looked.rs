//! What would be refused is told before anything is begun, and telling it writes nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use linerate_host::apply::{ApplyTerms, TuneError, apply, confirm, rollback, would_apply};
use linerate_host::owner;
use linerate_record::journal::Owner;
use linerate_record::knob::ChangeSet;

use super::machine::{Machine, ROWS, made};

pub(super) fn terms(id: &str, owner: Option<Owner>) -> ApplyTerms {
    ApplyTerms { id: id.to_owned(), root: None, within: Duration::from_secs(3600), owner, wave: None }
}

/// All files of the machine, and all of its journals' folder, with the lock.
fn files(machine: &Machine) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = machine.files();
    for entry in std::fs::read_dir(machine.state.path()).expect("the machine is the test's own") {
        let path = entry.expect("the machine is the test's own").path();
        files.insert(path.clone(), std::fs::read(path).expect("the machine is the test's own"));
    }
    files
}

/// What a look says, which writes nothing.
fn looked(machine: &Machine, set: &ChangeSet) -> Result<usize, TuneError> {
    let before = files(machine);
    let said = would_apply(&machine.apply_context(), set, &terms("9", None));
    assert!(files(machine) == before, "it only looks: {said:?}");
    said
}

#[test]
fn settings_machines_and_values_that_are_not_as_planned_are_refused_alike_by_a_look_and_by_an_application() {
    let (_dir, machine) = made();
    let changes = machine.changes();
    assert_eq!(looked(&machine, &changes).unwrap(), ROWS.len());
    machine.set("proc/sys/vm/swappiness", "10");
    assert_eq!(looked(&machine, &changes).unwrap(), ROWS.len() - 1, "somebody has made one of them");
    machine.set("proc/sys/vm/swappiness", "30");
    let refused = |set: &ChangeSet, part: &str| {
        let why = looked(&machine, set).unwrap_err().to_string();
        assert!(why.contains(part), "{part}: {why}");
        assert_eq!(machine.apply(set, "1", &mut |_| ()).unwrap_err().to_string(), why);
    };
    refused(&changes, "vm.swappiness: it is \"30\" now but was \"60\"");
    machine.set("proc/sys/vm/swappiness", "60");
    refused(&ChangeSet { machine: "another".to_owned(), ..machine.changes() }, "made for another machine");
    refused(&ChangeSet { schema: 99, ..machine.changes() }, "schema 99");
    assert_eq!(looked(&machine, &changes).unwrap(), ROWS.len());
}

#[test]
fn what_waits_is_refused_by_a_look_and_stays_as_it_is() {
    let (_dir, machine) = made();
    let changes = machine.changes();
    machine.apply(&changes, "1", &mut |_| ()).unwrap();
    assert!(matches!(looked(&machine, &changes), Err(TuneError::Pending(id)) if id == "1"));
    machine.let_time_pass("1");
    assert!(matches!(looked(&machine, &changes), Err(TuneError::Lapsing(id)) if id == "1"));
    rollback(&machine.apply_context(), None, false, &mut |_| ()).unwrap();
    assert_eq!(looked(&machine, &changes).unwrap(), ROWS.len());

    machine.apply(&changes, "2", &mut |_| ()).unwrap();
    confirm(&machine.apply_context()).unwrap();
    assert_eq!(looked(&machine, &changes).unwrap(), 0, "it has all of them");
}

#[test]
fn what_the_next_application_ends_is_not_refused_by_a_look_and_not_ended_by_it() {
    let (dir, machine) = made();
    let changes = machine.changes();
    let mut child = Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
    let owner = owner::process_owner(child.id()).unwrap();
    apply(&machine.apply_context(), &changes, &terms("1", Some(owner)), &mut |_| Ok(Vec::new()), &mut |_| ()).unwrap();
    assert!(matches!(looked(&machine, &changes), Err(TuneError::Busy)), "its owner lives");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(looked(&machine, &changes).unwrap(), ROWS.len());
    assert!(machine.state.read("1").unwrap().is_pending());
    machine.apply(&changes, "2", &mut |_| ()).expect("the first is rolled back");

    // A boot has reset what waited then.
    machine.set("proc/sys/kernel/random/boot_id", "22222222-2222-2222-2222-222222222222");
    assert_eq!(looked(&machine, &changes).unwrap(), 0, "by their values, these settings survived it");
    assert!(machine.state.read("2").unwrap().is_pending());
    machine.set("proc/sys/kernel/random/boot_id", "11111111-1111-1111-1111-111111111111");
    rollback(&machine.apply_context(), None, false, &mut |_| ()).unwrap();

    // As a kill before the first change leaves it.
    let path = dir.path().join("state/2.journal");
    let begun = std::fs::read_to_string(&path).unwrap().lines().next().unwrap().to_owned() + "\n";
    std::fs::write(&path, begun).unwrap();
    assert_eq!(looked(&machine, &changes).unwrap(), ROWS.len());
    assert!(machine.state.read("2").unwrap().is_pending());
}

#[test]
fn a_look_needs_no_lock_that_another_has() {
    let (_dir, machine) = made();
    let changes = machine.changes();
    let lock = machine.state.lock().unwrap();
    assert!(lock.is_some());
    assert!(matches!(machine.apply(&changes, "1", &mut |_| ()), Err(TuneError::Busy)));
    assert_eq!(looked(&machine, &changes).unwrap(), ROWS.len());
    drop(lock);
}
