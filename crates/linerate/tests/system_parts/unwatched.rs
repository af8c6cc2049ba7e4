//! `linerate tune` where its watch is killed, and what a watch has of whoever started it.

use std::process::Command;
use std::time::Duration;

use libtest_mimic::Failed;

use super::tune::{Ground, wait_until};
use crate::running::{linerate, shown};

type Row = (&'static str, &'static [&'static str], fn() -> Result<(), Failed>);

/// What is checked, and what each needs.
pub(crate) const CHECKS: [Row; 4] = [
    ("tune_tells_and_does_what_a_dead_watch_does_not", &["root", "ip"], watch_killed),
    ("tune_takes_back_though_its_journals_are_moved", &["root", "ip"], journals_moved),
    ("tune_watches_hold_nothing_of_their_caller", &["root", "ip", "flock"], nothing_is_held),
    ("tune_watches_are_not_held_to_their_callers_limits", &["root", "ip"], limits),
];

/// The processes that watch what waits, by its journal.
fn watchers(ground: &Ground) -> Vec<u32> {
    let all = std::fs::read_dir(ground.state.path().join("tune")).expect("journals");
    let newest = all.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some()).max();
    let text = std::fs::read_to_string(newest.expect("a journal")).expect("it is read");
    let line = text.lines().find(|line| line.contains("\"watched\"")).unwrap_or_default();
    line.split("\"pid\":").skip(1).filter_map(|rest| rest.split(',').next()?.parse().ok()).collect()
}

fn changes(ground: &Ground) -> String {
    let file = ground.state.path().join("changes.json").display().to_string();
    let name = ground.namespace.as_deref().unwrap_or_default();
    ground.done(&["tune", "diff", "--netns", name, "--set", "net.core.somaxconn=4097", "-o", &file]);
    file
}

/// With ten files at a time an application is made where its watch may have more, and else refused.
fn limits() -> Result<(), Failed> {
    let ground = Ground::namespace("r");
    let file = ground.state.path().join("changes.json");
    ground.diff(&file);
    let before = ground.bytes();
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -n 10; exec \"$@\"", "sh"]).arg(linerate().get_program());
    command.args(["tune", "apply"]).arg(&file).args(["--confirm", "5s"]).env("LINERATE_STATE", ground.state.path());
    let applied = command.output()?;
    if applied.status.success() {
        assert_ne!(ground.bytes(), before);
    } else {
        assert!(shown(&applied).contains("10 files open at a time"), "{}", shown(&applied));
    }
    assert!(wait_until(|| ground.bytes() == before, Duration::from_secs(60)), "{}", ground.done(&["tune", "log"]));
    Ok(())
}

/// Status says that nobody rolls it back, and the next command after the time does.
fn watch_killed() -> Result<(), Failed> {
    let ground = Ground::namespace("w");
    let file = changes(&ground);
    let before = ground.sysctl("net.core.somaxconn");
    ground.done(&["tune", "apply", &file, "--confirm", "8s"]);
    let watching = watchers(&ground);
    if watching.is_empty() {
        let units = ["stop", "linerate-tune-*.timer", "linerate-tune-*.service"];
        assert!(Command::new("systemctl").args(units).status()?.success());
    } else {
        assert!(!shown(&ground.run(&["tune", "status"])).contains("no watch is running"), "it lives");
        for pid in watching {
            assert!(Command::new("kill").args(["-9", &pid.to_string()]).status()?.success());
        }
    }
    let is_reported = || {
        let output = ground.run(&["tune", "status"]);
        output.status.code() == Some(6) && shown(&output).contains("no watch is running")
    };
    assert!(wait_until(is_reported, Duration::from_secs(5)), "{}", shown(&ground.run(&["tune", "status"])));
    assert_ne!(ground.sysctl("net.core.somaxconn"), before);
    std::thread::sleep(Duration::from_secs(8));
    ground.done(&["tune", "log"]);
    assert_ne!(ground.sysctl("net.core.somaxconn"), before, "nobody is left to roll it back, and log does not");
    let output = ground.run(&["tune", "confirm"]);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains("no watch was running to roll it back: 1 of 1 setting"), "{}", shown(&output));
    assert_eq!(ground.sysctl("net.core.somaxconn"), before);
    assert!(ground.done(&["tune", "status"]).contains("nothing is applied"));
    Ok(())
}

/// Journals that are moved or removed while they wait: the watch acts, and nothing is made on top meanwhile.
fn journals_moved() -> Result<(), Failed> {
    for is_removed in [false, true] {
        let (ground, other) = (Ground::namespace("j"), Ground::machine());
        let file = changes(&ground);
        let name = ground.namespace.as_deref().unwrap_or_default();
        let of_other = other.state.path().join("changes.json").display().to_string();
        other.done(&["tune", "diff", "--netns", name, "--set", "net.core.somaxconn=2222", "-o", &of_other]);
        let before = ground.sysctl("net.core.somaxconn");
        ground.done(&["tune", "apply", &file, "--confirm", "6s"]);
        let is_systemds = watchers(&ground).is_empty();
        let journals = ground.state.path().join("tune");
        if is_removed {
            std::fs::remove_dir_all(&journals)?;
        } else {
            std::fs::rename(&journals, ground.state.path().join("away"))?;
        }
        let output = other.run(&["tune", "apply", &of_other]);
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(shown(&output).contains("cannot be read from here: restore the journal"), "{}", shown(&output));
        let output = ground.run(&["tune", "status"]);
        assert_eq!(output.status.code(), Some(6), "{}", shown(&output));
        assert!(shown(&output).contains("is not there: restore it"), "{}", shown(&output));
        if is_systemds {
            // A timer begins to look for the journals when the time is over.
            std::fs::remove_dir_all(&journals)?;
            std::fs::rename(ground.state.path().join("away"), &journals)?;
            ground.done(&["tune", "rollback"]);
            return Ok(());
        }
        let is_back = || ground.sysctl("net.core.somaxconn") == before;
        assert!(wait_until(is_back, Duration::from_secs(60)), "removed: {is_removed}");
        let is_forgotten = || ground.run(&["tune", "status"]).status.success();
        assert!(wait_until(is_forgotten, Duration::from_secs(60)), "{}", shown(&ground.run(&["tune", "status"])));
        other.done(&["tune", "apply", &of_other, "--confirm", "60s"]);
        other.done(&["tune", "rollback"]);
        assert_eq!(ground.sysctl("net.core.somaxconn"), before, "removed: {is_removed}");
    }
    Ok(())
}

/// A lock that the caller has, and a key in its environment.
fn nothing_is_held() -> Result<(), Failed> {
    let ground = Ground::namespace("h");
    let file = changes(&ground);
    let lock = ground.state.path().join("lock").display().to_string();
    let script = "exec 9>\"$1\"; flock 9; \"$2\" tune apply \"$3\" --confirm 60s";
    let mut command = Command::new("bash");
    command.args(["-c", script, "sh", &lock]).arg(linerate().get_program()).arg(&file);
    command.env("LINERATE_STATE", ground.state.path()).env("AWS_SECRET_ACCESS_KEY", "topsecret");
    let output = command.output()?;
    assert!(output.status.success(), "{}", shown(&output));
    assert!(Command::new("flock").args(["-n", &lock, "true"]).status()?.success(), "the lock is free");
    for pid in watchers(&ground) {
        let environment = std::fs::read(format!("/proc/{pid}/environ"))?;
        let names: Vec<_> = environment.split(|byte| *byte == 0).filter(|text| !text.is_empty()).collect();
        assert!(matches!(names[..], [path] if path.starts_with(b"PATH=")), "{}", String::from_utf8_lossy(&environment));
        let mut open: Vec<_> = std::fs::read_dir(format!("/proc/{pid}/fd"))?
            .flatten()
            .filter_map(|entry| Some((entry.file_name(), std::fs::read_link(entry.path()).ok()?)))
            .filter(|(_, to)| !to.starts_with(ground.state.path().join("tune")))
            .map(|(name, _)| name)
            .collect();
        open.sort_unstable();
        assert_eq!(open, ["0", "1", "2"]);
    }
    Ok(())
}
