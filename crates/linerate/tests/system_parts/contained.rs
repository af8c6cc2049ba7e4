//! `linerate tune` in a PID namespace of its own, as in a container: no watch outlives that.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use libtest_mimic::Failed;
use rustix::process::{Pid, Signal, kill_process};

use super::tune::{Ground, wait_until};
use crate::running::{linerate, shown};

const LONG: Duration = Duration::from_secs(60);

/// The command as the first process of a PID namespace, which sees no other.
fn contained(ground: &Ground, arguments: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc"]).arg(linerate().get_program()).args(arguments);
    command.env("LINERATE_STATE", ground.state.path()).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The first process of the namespace that `unshare` has made, by its number outside.
fn first_of(unshare: &Child) -> Pid {
    let number = unshare.id();
    let children = std::fs::read_to_string(format!("/proc/{number}/task/{number}/children")).expect("it runs");
    children.trim().parse().ok().and_then(Pid::from_raw).expect("one child")
}

/// Applies in a container, and gives what runs there once every setting is changed and it stays.
fn stays(ground: &Ground, file: &str, within: &str, before: &Bytes) -> Child {
    let mut command = contained(ground, &["tune", "apply", file, "--foreground", "--confirm", within]);
    let child = command.spawn().expect("unshare runs");
    let newest = || ground.newest_application();
    let is_applied = || newest().contains("unless confirmed") && !newest().contains("ended before");
    assert!(wait_until(is_applied, LONG), "{}", newest());
    assert_ne!(ground.bytes(), *before);
    child
}

type Bytes = Vec<(String, Option<Vec<u8>>)>;

fn ended(child: Child, code: i32, part: &str) {
    let output: Output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(code), "{}", shown(&output));
    assert!(shown(&output).contains(part), "{part}: {}", shown(&output));
}

pub(crate) fn tune() -> Result<(), Failed> {
    let ground = Ground::namespace("c");
    let file = ground.state.path().join("changes.json");
    let path = file.to_str().expect("UTF-8");
    ground.diff(&file);
    let before = ground.bytes();

    let refused = contained(&ground, &["tune", "apply", path]).output()?;
    assert!(refused.status.code() == Some(1) && shown(&refused).contains("--foreground"), "{}", shown(&refused));
    assert_eq!(ground.bytes(), before);
    assert!(ground.done(&["tune", "log"]).contains("nothing was ever applied"), "it was not even begun");
    experiment_is_refused(&ground, &before)?;

    let child = stays(&ground, path, "100s", &before);
    let after = ground.bytes();
    ground.done(&["tune", "confirm"]);
    ended(child, 0, "confirmed");
    assert_eq!(ground.bytes(), after, "what is confirmed stays");
    ground.done(&["tune", "rollback", "--kept"]);
    assert_eq!(ground.bytes(), before);

    let child = stays(&ground, path, "100s", &before);
    kill_process(first_of(&child), Signal::TERM).expect("it runs");
    ended(child, 130, "are as before");
    assert_eq!(ground.bytes(), before, "SIGTERM, as docker stop sends it");

    let child = stays(&ground, path, "20s", &before);
    ended(child, 6, "nobody confirmed in time");
    assert_eq!(ground.bytes(), before, "time was over");

    // What is true, and told: a container that is killed takes its watches with it, unless one of them is faster.
    let child = stays(&ground, path, "20s", &before);
    kill_process(first_of(&child), Signal::KILL).expect("it runs");
    child.wait_with_output()?;
    std::thread::sleep(Duration::from_secs(21));
    let left = ground.bytes();
    assert!(left == after || left == before, "all or nothing: {left:?}");
    if left == after {
        ground.done(&["tune", "rollback"]);
    }
    assert_eq!(ground.bytes(), before);
    println!("refused; confirmed, stopped, lapsed and killed with --foreground: byte for byte as before");
    Ok(())
}

/// A day ahead by its own clock, a process confirms what waits, and what it applies waits no shorter or longer.
pub(crate) fn another_clock() -> Result<(), Failed> {
    let ground = Ground::namespace("t");
    let file = ground.state.path().join("changes.json");
    let path = file.to_str().expect("UTF-8");
    ground.diff(&file);
    let before = ground.bytes();
    let ahead = |arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--time", "--boottime", "86400", "--fork"]).arg(linerate().get_program()).args(arguments);
        command.env("LINERATE_STATE", ground.state.path()).stdin(Stdio::null()).output().expect("unshare runs")
    };
    ground.done(&["tune", "apply", path, "--confirm", "100s"]);
    let confirmed = ahead(&["tune", "confirm"]);
    assert!(confirmed.status.success(), "{}", shown(&confirmed));
    ground.done(&["tune", "rollback", "--kept"]);
    assert_eq!(ground.bytes(), before);
    let applied = ahead(&["tune", "apply", path, "--confirm", "100s"]);
    assert!(applied.status.success(), "{}", shown(&applied));
    let log = ground.done(&["tune", "log"]);
    let left = log.split("rolled back in ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<u32>().ok());
    assert!(left.is_some_and(|left_s| left_s <= 100), "{log}");
    ground.done(&["tune", "confirm"]);
    ground.done(&["tune", "rollback", "--kept"]);
    assert_eq!(ground.bytes(), before);
    Ok(())
}

fn experiment_is_refused(ground: &Ground, before: &Bytes) -> Result<(), Failed> {
    let folder = ground.state.path().join("experiment");
    let knob = ["experiment", "--knob", "vm.swappiness=41,42", "-o", folder.to_str().unwrap_or_default()];
    let refused = contained(ground, &knob).output()?;
    assert!(refused.status.code() == Some(1) && shown(&refused).contains("PID namespace"), "{}", shown(&refused));
    assert!(!Path::new(&folder).exists(), "nothing was begun");
    assert_eq!(ground.bytes(), *before);
    Ok(())
}
