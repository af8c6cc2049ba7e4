//! The journal's disk fills up at any byte. A limit on the size of files is what stands for it here: the kernel writes
//! up to it, in the middle of a line too, and then refuses, as a full disk does.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use linerate_host::apply::{TuneError, rollback};
use linerate_host::watch::{watch, write_down};
use linerate_record::journal::RolledBackBy;
use rustix::process::{Resource, Rlimit, setrlimit};

use super::machine::{Machine, made};

const FOLDER: &str = "FULL_FOLDER";
const WHAT: &str = "FULL_WHAT";
const BYTES: &str = "FULL_BYTES";
/// What an operator sets by hand once it was rolled back, to what was applied, and what it was before.
const OWN: (&str, &str, &str) = ("proc/sys/vm/swappiness", "10", "60");
/// Bytes from point to point: odd, so that lines are cut everywhere.
const STRIDE: u64 = 53;

/// Not a test by itself: what the processes of the tests below do, and nothing where no test started it.
#[test]
fn a_process_whose_disk_is_full() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let bytes: u64 =
        std::env::var(BYTES).expect("the machine is the test's own").parse().expect("the machine is the test's own");
    let machine = Machine::at(Path::new(&folder));
    let changes = machine.changes();
    // Without a handler, the signal ends the process before it sees the error.
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::new(AtomicBool::new(false)))
        .expect("the machine is the test's own");
    setrlimit(Resource::Fsize, Rlimit { current: Some(bytes), maximum: None }).expect("the machine is the test's own");
    if std::env::var(WHAT).expect("the machine is the test's own") == "rollback" {
        let rollback_result =
            rollback(&machine.apply_context(), None, false, &mut |_| ()).expect("the machine is the test's own");
        assert_eq!(rollback_result.left(), 0);
        assert!(rollback_result.unrecorded.is_some(), "it says that the journal does not tell");
        return;
    }
    if std::env::var(WHAT).expect("the machine is the test's own") == "watch" {
        return written_down_later(&machine);
    }
    match machine.apply(&changes, "1", &mut |_| ()) {
        Err(TuneError::Reverted { left: 0, .. } | TuneError::State { .. }) => {}
        Ok(_) => std::process::exit(7),
        Err(other) => panic!("{other}"),
    }
}

/// The watch restores all, and its journal says so once the disk has room.
fn written_down_later(machine: &Machine) {
    let rollback_result =
        watch(&machine.apply_context(), "1", &mut |_| ()).expect("it acts").expect("its time is over");
    assert!(rollback_result.left() == 0 && rollback_result.unrecorded.is_some(), "{rollback_result:?}");
    assert!(!write_down(&machine.apply_context(), &rollback_result, Duration::ZERO), "the disk is full");
    machine.set(OWN.0, OWN.1);
    let closed = || machine.state.read("1").expect("the machine is the test's own").closed;
    assert_eq!(closed(), None);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            setrlimit(Resource::Fsize, Rlimit { current: None, maximum: None }).expect("it may have more");
        });
        assert!(write_down(&machine.apply_context(), &rollback_result, Duration::from_mins(1)));
    });
    assert!(matches!(closed(), Some((RolledBackBy::Lapse, _, 0))), "{:?}", closed());
}

/// Whether the disk was full before the process was done.
fn is_full(folder: &Path, what: &str, bytes: u64) -> bool {
    let mut command = Command::new(std::env::current_exe().expect("the machine is the test's own"));
    command.args(["--exact", "tune::full_disk::a_process_whose_disk_is_full", "--test-threads", "1"]);
    command.env(FOLDER, folder).env(WHAT, what).env(BYTES, bytes.to_string()).stdout(Stdio::null());
    let status = command.status().expect("the machine is the test's own");
    assert!(status.success() || status.code() == Some(7), "{what} with {bytes} bytes: {status}");
    status.success()
}

/// A file no longer than this has no room for another line of it.
fn journal_bytes(machine: &Machine) -> u64 {
    std::fs::metadata(machine.state.path().join("1.journal")).expect("the machine is the test's own").len()
}

#[test]
fn a_disk_full_at_any_byte_of_the_journal_leaves_nothing_changed() {
    let mut points = 0;
    // Settings are files here too, of up to 40 bytes: what is smaller would refuse those.
    for bytes in (64..).step_by(STRIDE as usize) {
        let (dir, machine) = made();
        let before = machine.files();
        if !is_full(dir.path(), "apply", bytes) {
            break;
        }
        assert_eq!(machine.files(), before, "{bytes} bytes");
        points += 1;
    }
    println!("full at {points} points: every file as before, byte for byte, without anybody's doing");
    assert!(points >= 100, "{points}");
}

#[test]
fn settings_are_restored_though_the_journal_cannot_say_so() {
    let (dir, machine) = made();
    let before = machine.files();
    machine.apply(&machine.changes(), "1", &mut |_| ()).expect("the machine is the test's own");
    assert!(is_full(dir.path(), "rollback", journal_bytes(&machine)));
    assert_eq!(machine.files(), before);
}

#[test]
fn what_a_watch_could_not_write_it_writes_once_the_disk_has_room() {
    let (dir, machine) = made();
    let before = machine.files();
    machine.apply(&machine.changes(), "1", &mut |_| ()).expect("the machine is the test's own");
    machine.let_time_pass("1");
    assert!(is_full(dir.path(), "watch", journal_bytes(&machine)));
    assert_eq!(machine.text(OWN.0), OWN.1, "what somebody has set meanwhile stays");
    machine.set(OWN.0, OWN.2);
    assert_eq!(machine.files(), before);
}
