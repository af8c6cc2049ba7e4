//! Processes that stand still: stopped at every step, or waiting for a slow disk longer than their watch waits.
//! Whatever they do when they go on, every file of the machine is as it was, byte for byte.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use linerate_host::apply::{ApplyStep, ApplyTerms, TuneError, apply, rollback};
use linerate_host::watch::watch;
use linerate_record::journal::RolledBackBy;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, getpid, kill_process, waitid};

use super::machine::{Machine, ROWS, scratch};

const FOLDER: &str = "STALL_FOLDER";
const WHAT: &str = "STALL_WHAT";
const AT: &str = "STALL_AT";
const ID: &str = "1";

/// Not a test by itself: what the processes of the tests below do, and nothing where no test started it.
#[test]
fn a_process_that_is_stopped() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let at: u32 = std::env::var(AT).expect("the test says so").parse().expect("the test says so");
    let machine = Machine::at(Path::new(&folder));
    let mut passed = 0;
    let mut step = |_: ApplyStep| {
        passed += 1;
        if passed == at {
            kill_process(getpid(), Signal::STOP).expect("it may stop itself");
        }
    };
    match std::env::var(WHAT).expect("the test says so").as_str() {
        "apply" => drop(machine.apply(&machine.changes(), ID, &mut step)),
        "rollback" => drop(rollback(&machine.apply_context(), None, false, &mut step)),
        other => panic!("{other}"),
    }
}

fn started(folder: &Path, what: &str, at: u32) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("it runs"));
    command.args(["--exact", "tune::stalled::a_process_that_is_stopped", "--test-threads", "1"]);
    command.env(FOLDER, folder).env(WHAT, what).env(AT, at.to_string()).stdout(Stdio::null());
    command.spawn().expect("it starts")
}

/// Whether a process stopped itself; it ended where there are not so many steps. Either can be waited for again.
fn has_stopped(child: &Child) -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(Pid::from_child(child)), options).expect("a child").expect("a status").stopped()
}

/// Stops at every step, lets the time be over, has the watch act and lets the process go on, if it can. Gives how many
/// steps there are.
fn stopped_at_every_step(what: &str, applied_before: bool) -> u32 {
    for at in 1.. {
        let dir = scratch();
        let machine = Machine::make(dir.path());
        let before = machine.files();
        if applied_before {
            machine.apply(&machine.changes(), ID, &mut |_| ()).expect("it is applied");
        }
        let mut child = started(dir.path(), what, at);
        if !has_stopped(&child) {
            child.wait().expect("a child");
            return at - 1;
        }
        machine.let_time_pass(ID);
        watch(&machine.apply_context(), ID, &mut |_| ()).expect("the watch acts");
        assert_eq!(machine.files(), before, "{what} stopped at step {at}");
        let journal = machine.state.read(ID).expect("a journal");
        assert!(matches!(journal.closed, Some((_, _, 0))), "{what} stopped at step {at}: {journal:?}");
        let _ = kill_process(Pid::from_child(&child), Signal::CONT);
        child.wait().expect("a child");
        assert_eq!(machine.files(), before, "{what} stopped at step {at}, and went on");
        assert_eq!(machine.state.read(ID).expect("a journal"), journal, "{what} stopped at step {at}, and went on");
    }
    unreachable!("it ends by itself at last")
}

#[test]
fn a_process_stopped_at_any_step_changes_nothing_after_its_watch() {
    let points = [stopped_at_every_step("apply", false), stopped_at_every_step("rollback", true)];
    println!("stopped at {points:?} points: every file as before, byte for byte, when it went on too");
    assert!(points.iter().sum::<u32>() >= 200, "{points:?}");
}

/// Applies within so many milliseconds, with a step that may take longer.
fn applied_within(machine: &Machine, ms: u64, step: &mut dyn FnMut(ApplyStep)) -> Result<(), TuneError> {
    let terms =
        ApplyTerms { id: ID.to_owned(), root: None, within: Duration::from_millis(ms), owner: None, wave: None };
    apply(&machine.apply_context(), &machine.changes(), &terms, &mut |_| Ok(Vec::new()), step).map(drop)
}

#[test]
fn an_application_that_a_disk_outlasts_at_any_step_takes_itself_back_and_tells_no_success() {
    let last = u32::try_from(ROWS.len()).expect("few");
    let cases = [ApplyStep::Announcing, ApplyStep::Announced, ApplyStep::Written, ApplyStep::Recorded]
        .map(|step| [(step, 1), (step, last)]);
    let single = [(ApplyStep::Begun, 1), (ApplyStep::Armed, 1), (ApplyStep::Applied, 1)];
    for (slow, times) in single.into_iter().chain(cases.into_iter().flatten()) {
        let dir = scratch();
        let machine = Machine::make(dir.path());
        let before = machine.files();
        let mut passed = 0;
        let done = applied_within(&machine, 1_000, &mut |step| {
            passed += u32::from(step == slow);
            if step == slow && passed == times {
                std::thread::sleep(Duration::from_millis(1_100));
            }
        });
        let why = done.expect_err("it took longer than it may").to_string();
        assert!(why.contains("time to confirm ended"), "{slow:?} {times}: {why}");
        assert_eq!(machine.files(), before, "{slow:?} {times}");
        assert!(
            matches!(machine.state.read(ID).expect("a journal").closed, Some((RolledBackBy::Failure, _, 0))),
            "{slow:?}"
        );
    }
}

/// A thread of the watch's own process is not ended by it, and stands for what cannot be ended at all.
#[test]
fn a_holder_of_the_lock_that_cannot_be_ended_neither_keeps_the_watch_nor_outlives_it() {
    let dir = scratch();
    let machine = Machine::make(dir.path());
    let before = machine.files();
    let (go_on, waiting) = channel::<()>();
    std::thread::scope(|scope| {
        let machine = &machine;
        let applying = scope.spawn(move || {
            let mut written = 0;
            applied_within(machine, 3_000, &mut |step| {
                written += u32::from(step == ApplyStep::Written);
                if step == ApplyStep::Written && written == 10 {
                    let _ = waiting.recv();
                }
            })
        });
        let end = Instant::now() + Duration::from_secs(60);
        while machine.files() == before && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        let watching = scope.spawn(|| watch(&machine.apply_context(), ID, &mut |_| ()));
        while machine.files() != before && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(100));
        }
        assert_eq!(machine.files(), before, "the watch does without the lock at last");
        assert!(!watching.is_finished(), "it stays while the lock is held");
        // What the kernel ends late: a write that was begun before.
        machine.set(ROWS[9].3, ROWS[9].5);
        go_on.send(()).expect("it waits");
        let done = applying.join().expect("no panic");
        assert!(matches!(done, Err(TuneError::Reverted { left: 0, .. })), "{done:?}");
        assert_eq!(
            watching.join().expect("no panic").expect("it acted").map(|rollback_result| rollback_result.left()),
            Some(0)
        );
    });
    assert_eq!(machine.files(), before);
    assert!(machine.state.read(ID).expect("a journal").is_closed());
}
