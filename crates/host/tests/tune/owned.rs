//! Changes that end with their owner: a real process, killed long before their time is over.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use linerate_host::apply::{ApplyTerms, RollbackResult, TuneError, apply, confirm, rollback};
use linerate_host::owner;
use linerate_host::watch::watch;
use linerate_record::journal::{Owner, RolledBackBy};

use super::machine::{Machine, ROWS, scratch};

fn process() -> Child {
    Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().expect("sleep runs")
}

/// Applies every change for an hour, as long as the owner lives.
fn applied(machine: &Machine, owner: Owner) {
    let within = Duration::from_secs(3600);
    let terms = ApplyTerms { id: "1".to_owned(), root: None, within, owner: Some(owner), wave: None };
    apply(&machine.apply_context(), &machine.changes(), &terms, &mut |_| Ok(Vec::new()), &mut |_| ())
        .expect("the machine is the test's own");
    let reported = machine.state.read("1").expect("it was begun");
    assert_eq!(reported.begin.owner, Some(owner), "the journal has it");
}

fn watched(machine: &Machine) -> Option<RollbackResult> {
    watch(&machine.apply_context(), "1", &mut |_| ()).expect("the machine is the test's own")
}

#[test]
fn an_owner_killed_long_before_the_deadline_has_everything_taken_back() {
    let dir = scratch();
    let machine = Machine::make(dir.path());
    let before = machine.files();
    let mut child = process();
    applied(&machine, owner::process_owner(child.id()).unwrap());
    let rollback_result = std::thread::scope(|scope| {
        let watching = scope.spawn(|| watched(&machine));
        std::thread::sleep(Duration::from_millis(500));
        assert!(!watching.is_finished(), "an owner that lives is left alone");
        assert_ne!(machine.files(), before);
        // Nobody waits for it yet, as where the experiment's parent does not.
        child.kill().unwrap();
        watching.join().unwrap()
    });
    assert_eq!(
        rollback_result.map(|rollback_result| (rollback_result.left(), rollback_result.rolled_back.len())),
        Some((0, ROWS.len()))
    );
    assert_eq!(machine.files(), before);
    assert!(matches!(machine.state.read("1").unwrap().closed, Some((RolledBackBy::Lapse, _, 0))));
    child.wait().unwrap();
}

#[test]
fn another_process_of_the_owners_number_is_not_the_owner() {
    let dir = scratch();
    let machine = Machine::make(dir.path());
    let before = machine.files();
    let now = owner::this_process().unwrap();
    applied(&machine, Owner { started_ticks: now.started_ticks - 1, ..now });
    assert!(watched(&machine).is_some_and(|rollback_result| rollback_result.left() == 0));
    assert_eq!(machine.files(), before);
}

#[test]
fn what_its_owner_takes_back_itself_needs_no_watch_any_more() {
    let dir = scratch();
    let machine = Machine::make(dir.path());
    let before = machine.files();
    applied(&machine, owner::this_process().unwrap());
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| watched(&machine));
        rollback(&machine.apply_context(), Some("1"), false, &mut |_| ()).unwrap();
        assert!(watching.join().unwrap().is_none());
    });
    assert_eq!(machine.files(), before);
}

#[test]
fn what_has_an_owner_is_not_confirmed_by_anybody() {
    let dir = scratch();
    let machine = Machine::make(dir.path());
    let before = machine.files();
    let mut child = process();
    applied(&machine, owner::process_owner(child.id()).unwrap());
    let why = || confirm(&machine.apply_context()).unwrap_err().to_string();
    assert!(why().contains(&format!("process {}'s, which rolls them back itself", child.id())), "{}", why());
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(why().contains("has ended"), "{}", why());
    assert_eq!(machine.state.read("1").unwrap().confirmed_ms, None);
    assert!(watched(&machine).is_some_and(|rollback_result| rollback_result.left() == 0));
    assert_eq!(machine.files(), before);
}

#[test]
fn the_deadline_of_an_owner_that_lives_counts_too() {
    let dir = scratch();
    let machine = Machine::make(dir.path());
    let before = machine.files();
    applied(&machine, owner::this_process().unwrap());
    machine.let_time_pass("1");
    assert!(watched(&machine).is_some_and(|rollback_result| rollback_result.left() == 0));
    assert_eq!(machine.files(), before);
}

#[test]
fn what_an_owner_left_without_a_watch_is_taken_back_by_the_next_application() {
    let dir = scratch();
    let machine = Machine::make(dir.path());
    let before = machine.files();
    let mut child = process();
    applied(&machine, owner::process_owner(child.id()).unwrap());
    let terms = |id: &str| ApplyTerms {
        id: id.to_owned(),
        root: None,
        within: Duration::from_secs(60),
        owner: None,
        wave: None,
    };
    let again =
        |id| apply(&machine.apply_context(), &machine.changes(), &terms(id), &mut |_| Ok(Vec::new()), &mut |_| ());
    assert!(matches!(again("2"), Err(TuneError::Busy)), "its owner lives");
    child.kill().unwrap();
    child.wait().unwrap();
    again("3").expect("the first is rolled back");
    assert!(matches!(machine.state.read("1").unwrap().closed, Some((RolledBackBy::Lapse, _, 0))));
    rollback(&machine.apply_context(), Some("3"), false, &mut |_| ()).unwrap();
    assert_eq!(machine.files(), before);
}
