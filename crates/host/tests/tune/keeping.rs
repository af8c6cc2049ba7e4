//! An application that is put off, confirmed by its name, or forbidden before it was begun.

use std::io::Write as _;
use std::time::Duration;

use linerate_host::apply::{
    ApplyTerms, apply, confirm_only, extend, forbid, rollback, rollback_because, since_boot_ms, unix_ms,
};
use linerate_host::watch::watch;
use linerate_record::journal::RolledBackBy;

use super::machine::{Machine, scratch};

const DAY: Duration = Duration::from_secs(86_400);

#[test]
fn what_is_put_off_is_put_off_to_a_later_instant_only_and_only_while_it_waits() {
    let dir = scratch();
    let machine = Machine::make(dir.path());
    machine.apply(&machine.changes(), "1", &mut |_| ()).unwrap();
    let first_ms = machine.state.read("1").unwrap().begin.deadline_since_boot_ms;
    let later_ms = extend(&machine.apply_context(), "1", DAY).unwrap().begin.deadline_since_boot_ms;
    assert!(later_ms >= first_ms + 82_000_000, "{first_ms} {later_ms}");
    let same_ms = extend(&machine.apply_context(), "1", Duration::ZERO).unwrap().begin.deadline_since_boot_ms;
    assert_eq!(same_ms, later_ms);
    for result in [extend(&machine.apply_context(), "2", DAY), confirm_only(&machine.apply_context(), "2")] {
        let why = result.unwrap_err().to_string();
        assert!(why.contains("2 is not pending"), "{why}");
    }
    assert!(confirm_only(&machine.apply_context(), "1").unwrap().is_kept());
    assert!(extend(&machine.apply_context(), "1", DAY).is_err(), "it waits no more");
}

#[test]
fn what_is_over_is_not_put_off() {
    let dir = scratch();
    let machine = Machine::make(dir.path());
    machine.apply(&machine.changes(), "1", &mut |_| ()).unwrap();
    machine.let_time_pass("1");
    let why = extend(&machine.apply_context(), "1", DAY).unwrap_err().to_string();
    assert!(why.contains("its time is over"), "{why}");
}

#[test]
fn a_watch_waits_until_the_instant_that_it_was_put_off_to() {
    let dir = scratch();
    let machine = Machine::make(dir.path());
    let before = machine.files();
    machine.apply(&machine.changes(), "1", &mut |_| ()).unwrap();
    machine.let_time_pass("1");
    // As one that was written in time.
    let put_off_to_ms = since_boot_ms() + 900;
    let line = format!("{{\"extended\":{{\"deadline_since_boot_ms\":{}}}}}\n", put_off_to_ms);
    let path = machine.state.path().join("1.journal");
    let mut journal = std::fs::OpenOptions::new().append(true).open(path).unwrap();
    journal.write_all(line.as_bytes()).unwrap();
    let rollback_result = watch(&machine.apply_context(), "1", &mut |_| ()).unwrap().unwrap();
    assert!(since_boot_ms() >= put_off_to_ms);
    assert_eq!((rollback_result.left(), machine.files()), (0, before));
}

#[test]
fn what_waits_is_found_though_the_clock_was_put_back_before_it_began() {
    let dir = scratch();
    let machine = Machine::make(dir.path());
    let changes_with = |prior: &str, new: &str| {
        let mut set = machine.changes();
        set.changes.retain(|change| change.place.knob == "vm.swappiness");
        (set.changes[0].prior, set.changes[0].new) = (prior.to_owned(), new.to_owned());
        set
    };
    machine.apply(&changes_with("60", "10"), "9", &mut |_| ()).unwrap();
    confirm_only(&machine.apply_context(), "9").unwrap();
    assert!(machine.apply(&changes_with("10", "20"), "5", &mut |_| ()).unwrap().is_pending);
    let why = machine.apply(&changes_with("20", "30"), "6", &mut |_| ()).unwrap_err().to_string();
    assert!(why.contains('5') && machine.text("proc/sys/vm/swappiness") == "20", "one waits: {why}");
    extend(&machine.apply_context(), "5", DAY).unwrap();
    assert!(confirm_only(&machine.apply_context(), "5").unwrap().is_kept());
    assert!(confirm_only(&machine.apply_context(), "5").is_err(), "nothing waits any more");
    assert!(machine.apply(&changes_with("20", "30"), "4", &mut |_| ()).unwrap().is_pending);
}

#[test]
fn what_is_forbidden_has_a_journal_that_says_so_and_what_was_begun_is_given() {
    let dir = scratch();
    let machine = Machine::make(dir.path());
    let before = machine.files();
    let terms =
        |id: &str| ApplyTerms { id: id.to_owned(), root: None, within: Duration::ZERO, owner: None, wave: None };
    let is_x = |id: &str| id.ends_with("-x");
    let forbidden = |id: &str| forbid(&machine.apply_context(), &terms(id), "p", None, &is_x).unwrap();
    assert_eq!(forbidden("1-x"), None);
    let found = forbidden("2-x").unwrap();
    assert_eq!(found.begin.id, "1-x", "once is enough");
    assert!(matches!(found.closed, Some((RolledBackBy::Unchanged, _, 0))) && found.made.is_empty(), "{found:?}");
    assert_eq!(machine.state.ids().unwrap(), ["1-x"]);
    machine.apply(&machine.changes(), "3-y", &mut |_| ()).unwrap();
    let is_y = |id: &str| id.ends_with("-y");
    let found = forbid(&machine.apply_context(), &terms("4-y"), "p", Some("the check failed"), &is_y).unwrap().unwrap();
    assert!(found.begin.id == "3-y" && found.is_pending(), "{found:?}");
    machine.let_time_pass("3-y");
    watch(&machine.apply_context(), "3-y", &mut |_| ()).unwrap();
    assert_eq!(machine.files(), before);
}

#[test]
fn a_journal_says_when_changes_were_made_and_put_off_in_which_wave_and_why_they_were_taken_back() {
    let dir = scratch();
    let machine = Machine::make(dir.path());
    let from_ms = unix_ms();
    let terms = ApplyTerms { id: "1".to_owned(), root: None, within: DAY, owner: None, wave: Some(3) };
    apply(&machine.apply_context(), &machine.changes(), &terms, &mut |_| Ok(Vec::new()), &mut |_| ()).unwrap();
    let waits = extend(&machine.apply_context(), "1", DAY).unwrap();
    rollback_because(&machine.apply_context(), "1", Some("the check failed"), false, &mut |_| ()).unwrap();
    let found = machine.state.read("1").unwrap();
    let is_now = |instant: Option<u64>| instant.is_some_and(|ms| (from_ms..=unix_ms()).contains(&ms));
    assert!(is_now(found.made_ms) && is_now(found.extended[0].0), "{found:?}");
    assert_eq!(found.extended, [(found.extended[0].0, waits.begin.deadline_since_boot_ms)]);
    assert!(found.first_deadline_since_boot_ms <= waits.begin.deadline_since_boot_ms, "{found:?}");
    assert_eq!((found.begin.wave, found.closed_why.as_deref()), (Some(3), Some("the check failed")));
    // Whoever rolls it back once more, with another reason or none, leaves the first.
    rollback_because(&machine.apply_context(), "1", Some("another"), false, &mut |_| ()).unwrap();
    rollback(&machine.apply_context(), Some("1"), false, &mut |_| ()).unwrap();
    assert_eq!(machine.state.read("1").unwrap().closed_why.as_deref(), Some("the check failed"));

    // What was never begun says why too.
    let terms = ApplyTerms { id: "2".to_owned(), root: None, within: Duration::ZERO, owner: None, wave: None };
    assert_eq!(
        forbid(&machine.apply_context(), &terms, "p", Some("n2: no answer"), &|id: &str| id == "2").unwrap(),
        None
    );
    let found = machine.state.read("2").unwrap();
    assert_eq!((found.closed_why.as_deref(), found.made_ms, found.extended.len()), (Some("n2: no answer"), None, 0));
}
