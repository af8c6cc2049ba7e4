//! A real process, killed with SIGKILL at every step of applying and of rolling back. Afterwards the watch, or
//! `rollback`, leaves every file of the machine as it was, byte for byte.
//!
//! The process is this test's own program, started again. Steps are told to a closure by `apply` and `rollback`; the
//! closure of these processes kills its own process at the step that the environment names. Nothing of this is in the
//! product: its closures do other things.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use linerate_host::apply::{ApplyStep, confirm, extend, rollback};
use linerate_host::watch::watch;
use rustix::process::{Signal, getpid, kill_process};

use super::machine::{Machine, made};

const FOLDER: &str = "CRASH_FOLDER";
const WHAT: &str = "CRASH_WHAT";
const AT: &str = "CRASH_AT";
const ID: &str = "1";

/// Not a test by itself: what the processes of the tests below do, and nothing where no test started it.
#[test]
fn a_process_that_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let at: u32 =
        std::env::var(AT).expect("the machine is the test's own").parse().expect("the machine is the test's own");
    let machine = Machine::at(Path::new(&folder));
    let mut passed = 0;
    let mut step = |_: ApplyStep| {
        passed += 1;
        if passed == at {
            kill_process(getpid(), Signal::KILL).expect("the machine is the test's own");
        }
    };
    match std::env::var(WHAT).expect("the machine is the test's own").as_str() {
        "apply" => drop(machine.apply(&machine.changes(), ID, &mut step).expect("the machine is the test's own")),
        "rollback" => {
            drop(rollback(&machine.apply_context(), None, false, &mut step).expect("the machine is the test's own"))
        }
        "rollback-kept" => {
            drop(
                rollback(&machine.apply_context(), Some(ID), false, &mut step).expect("the machine is the test's own"),
            );
        }
        "watch" => drop(watch(&machine.apply_context(), ID, &mut step).expect("the machine is the test's own")),
        other => panic!("{other}"),
    }
}

/// Whether a process doing this was killed at the step; it ended by itself where there are not so many steps.
fn is_killed(folder: &Path, what: &str, at: u32) -> bool {
    let mut command = Command::new(std::env::current_exe().expect("the machine is the test's own"));
    command.args(["--exact", "tune::crash::a_process_that_is_killed", "--test-threads", "1"]);
    command.env(FOLDER, folder).env(WHAT, what).env(AT, at.to_string()).stdout(Stdio::null());
    let status = command.status().expect("the machine is the test's own");
    assert!(status.success() || status.signal() == Some(9), "{what} at {at}: {status}");
    status.signal() == Some(9)
}

/// Kills at every step; `heal` must make good. Gives the number of steps.
fn at_every_step(what: &str, applied_before: bool, heal: fn(&Machine)) -> u32 {
    for at in 1.. {
        let (dir, machine) = made();
        let before = machine.files();
        if applied_before {
            machine.apply(&machine.changes(), ID, &mut |_| ()).expect("the machine is the test's own");
            assert_ne!(machine.files(), before);
            machine.let_time_pass(ID);
        }
        if !is_killed(dir.path(), what, at) {
            return at - 1;
        }
        heal(&machine);
        assert_eq!(machine.files(), before, "{what} killed at step {at}");
    }
    unreachable!("it ends by itself at last")
}

fn by_rollback(machine: &Machine) {
    if let Some(reported) = machine.state.newest_open().expect("the machine is the test's own").journal {
        let rollback_result = rollback(&machine.apply_context(), Some(&reported.begin.id), false, &mut |_| ())
            .expect("the machine is the test's own");
        assert_eq!(rollback_result.left(), 0, "{rollback_result:?}");
    }
    assert_eq!(
        machine.state.newest_open().expect("the machine is the test's own").journal,
        None,
        "nothing is left to roll back"
    );
}

fn by_the_watch(machine: &Machine) {
    machine.let_time_pass(ID);
    let rollback_result = watch(&machine.apply_context(), ID, &mut |_| ()).expect("the machine is the test's own");
    assert!(rollback_result.is_some_and(|rollback_result| rollback_result.left() == 0));
    assert_eq!(
        machine.state.newest_open().expect("the machine is the test's own").journal,
        None,
        "nothing is left to roll back"
    );
}

#[test]
fn what_was_confirmed_and_is_restored_in_part_never_counts_as_kept_alone() {
    for at in 1.. {
        let (dir, machine) = made();
        let before = machine.files();
        machine.apply(&machine.changes(), ID, &mut |_| ()).expect("the machine is the test's own");
        confirm(&machine.apply_context()).expect("the machine is the test's own");
        let kept = machine.files();
        let is_killed = is_killed(dir.path(), "rollback-kept", at);
        let reported = machine.state.read(ID).expect("the machine is the test's own");
        let says = reported.is_rolling_back() || reported.is_closed();
        assert!(machine.files() == kept || says, "killed at step {at}: {reported:?}");
        by_rollback(&machine);
        assert_eq!(machine.files(), before, "killed at step {at}");
        if !is_killed {
            assert!(at > 20, "{at}");
            return;
        }
    }
}

#[test]
fn what_somebody_began_to_take_back_is_not_confirmed_and_its_watch_goes_on() {
    let (dir, machine) = made();
    let before = machine.files();
    machine.apply(&machine.changes(), ID, &mut |_| ()).expect("the machine is the test's own");
    let applied = machine.files();
    assert!(is_killed(dir.path(), "rollback", 1));
    assert_eq!(machine.files(), applied, "it was about to begin");
    let refusals = [confirm(&machine.apply_context()), extend(&machine.apply_context(), ID, Duration::from_mins(1))];
    for refused in refusals {
        let why = refused.expect_err("it is rolled back").to_string();
        assert!(why.contains("it is partly rolled back"), "{why}");
    }
    by_the_watch(&machine);
    assert_eq!(machine.files(), before);
}

#[test]
fn a_kill_at_any_step_leaves_nothing_changed_after_the_watch_or_a_rollback() {
    let points = [
        at_every_step("apply", false, by_the_watch),
        at_every_step("apply", false, by_rollback),
        at_every_step("rollback", true, by_rollback),
        at_every_step("watch", true, by_rollback),
    ];
    let total: u32 = points.iter().sum();
    println!("killed with SIGKILL at {total} points {points:?}: every file as before, byte for byte");
    assert!(total >= 300, "{points:?}");
}
