//! Two machines of which one serves, without a fleet file.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};

use libtest_mimic::Failed;
use linerate_analysis::net::view::NetView;

use super::{Switched, agrees};
use crate::running::{linerate, shown, words};

/// Machine 2 serves, until it is dropped.
struct Serves {
    child: Child,
    /// Stays open: who prints to a closed pipe is told so.
    _out: BufReader<ChildStdout>,
    token: String,
}

impl Serves {
    fn begin(switched: &Switched) -> Result<Serves, Failed> {
        let mut command = switched.within(2);
        command.arg(linerate().get_program()).args(words("net serve --listen 10.231.90.2"));
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let mut out = BufReader::new(child.stdout.take().ok_or("piped")?);
        let mut line = String::new();
        while !line.contains("LINERATE_NET_TOKEN=") {
            line.clear();
            assert!(out.read_line(&mut line)? > 0, "it says its token");
        }
        let token = line.split("LINERATE_NET_TOKEN=").nth(1).and_then(|rest| rest.split(' ').next());
        let token = token.ok_or("a token")?.to_owned();
        Ok(Serves { child, _out: out, token })
    }
}

impl Drop for Serves {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What machine 1 measures with machine 2.
fn measured(switched: &Switched, token: &str, flags: &str) -> Result<NetView, Failed> {
    let folder = switched.place.path().join("run");
    let _ = fs::remove_dir_all(&folder);
    let mut command = switched.within(1);
    command.arg(linerate().get_program()).args(words("net 10.231.90.2 --yes-load --json")).args(words(flags));
    command.env("LINERATE_NET_TOKEN", token).arg("-o").arg(folder);
    let output = command.stdin(Stdio::null()).output()?;
    assert!(output.status.success(), "{}", shown(&output));
    let view: NetView = serde_json::from_slice(&output.stdout)?;
    let addresses: Vec<&str> = view.nodes.iter().map(|node| node.address.as_str()).collect();
    assert_eq!(addresses, ["10.231.90.1", "10.231.90.2"], "they are sent to where they reach each other");
    assert!(view.nodes.iter().all(|node| node.interface == "eth0"), "{:?}", view.nodes);
    Ok(view)
}

/// As a fleet of these two is: both directions, over a link that is shaped.
pub(super) fn as_iperf3() -> Result<(), Failed> {
    let switched = Switched::make(2)?;
    let serves = Serves::begin(&switched)?;
    [1, 2].into_iter().for_each(|machine| switched.sends(machine, 200, 400_000));
    for (way, reverse) in [((1, 2), false), ((2, 1), true)] {
        agrees(&switched, (200, 2), (way, reverse), &|flags| measured(&switched, &serves.token, flags))?;
    }
    Ok(())
}

/// What goes back is half as fast.
pub(super) fn slow_direction() -> Result<(), Failed> {
    let switched = Switched::make(2)?;
    let serves = Serves::begin(&switched)?;
    [1, 2].into_iter().for_each(|machine| switched.sends(machine, 100, 400_000));
    switched.receives(1, 50, 400_000);
    let flags = "--streams 2 --duration 1s --warmup 300ms --visits 3";
    let view = measured(&switched, &serves.token, flags)?;
    let named: Vec<(u32, u32)> = view.slow.pairs.iter().map(|of| (of.from, of.to)).collect();
    assert_eq!(named, [(1, 0)], "{}: {:?}", view.answer, view.slow);
    assert!(view.answer.contains("10.231.90.2 → here gives ") && view.answer.contains(" less than the other way"));
    Ok(())
}
