//! `linerate tune` on interfaces on which others stand in other network namespaces: the kernel would lower their MTU,
//! and nobody would raise it again.

use std::fs::File;
use std::net::UdpSocket;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use libtest_mimic::Failed;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::tune::{Ground, wait_until};
use crate::NamedCheck;
use crate::running::shown;

/// What a namespace needs that has no name.
const UNNAMED: &[&str] = &["root", "ip", "unshare", "nsenter", "mount", "umount"];

/// What is checked, and what each needs.
pub(crate) const CHECKS: [NamedCheck; 3] = [
    ("tune_moves_no_mtu_in_another_namespace", UNNAMED, found),
    ("tune_lets_what_stands_elsewhere_be", &["root", "ip", "nsenter"], allowed),
    ("tune_writes_where_it_is_and_not_where_sys_is_of", &["root", "ip", "nsenter"], entered),
];

fn run(program: &str, words: &str) {
    let output = Command::new(program).args(words.split(' ')).output().expect("it runs");
    assert!(output.status.success(), "{program} {words}: {}", shown(&output));
}

/// A process in a network namespace that has no name; ended with the value.
struct Lonely(Child);

impl Lonely {
    fn new() -> Lonely {
        let mut command = Command::new("unshare");
        let child = command.args(["--net", "sleep", "1000"]).stdin(Stdio::null()).spawn().expect("unshare runs");
        let lonely = Lonely(child);
        let own = std::fs::read_link("/proc/self/ns/net").expect("it has one");
        let entered = || std::fs::read_link(lonely.space()).is_ok_and(|net| net != own);
        assert!(wait_until(entered, Duration::from_secs(20)));
        lonely
    }

    fn space(&self) -> String {
        format!("/proc/{}/ns/net", self.0.id())
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Lonely {
    fn drop(&mut self) {
        self.end();
    }
}

/// Does work in a network namespace.
fn inside<T: Send>(space: &File, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network)).expect("it is entered");
            work()
        });
        thread.join().expect("it ends")
    })
}

/// The MTU of an interface of a namespace, by any file that is it.
fn mtu(space: &Path, device: &str) -> String {
    let mut command = Command::new("nsenter");
    command.arg(format!("--net={}", space.display())).args(["ip", "link", "show", device]);
    let text = String::from_utf8_lossy(&command.output().expect("nsenter runs").stdout).into_owned();
    text.split(" mtu ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or_default().to_owned()
}

/// Refuses 1400 for `lab0`, with these parts in its words, and changes nothing.
fn refused(ground: &Ground, parts: &[&str]) {
    let name = ground.namespace.clone().unwrap_or_default();
    let file = ground.state.path().join("none.json").to_string_lossy().into_owned();
    let output = ground.run(&["tune", "diff", "--netns", &name, "--set", "nic.mtu@lab0=1400", "-o", &file]);
    let said = shown(&output);
    assert!(output.status.code() == Some(2) && parts.iter().all(|part| said.contains(part)), "{parts:?}: {said}");
}

fn named(name: &str) -> std::path::PathBuf {
    Path::new("/run/netns").join(name)
}

/// However the namespace can be found: by its name, a process, a mount, an open file, or a number alone.
fn found() -> Result<(), Failed> {
    let (ground, other) = (Ground::namespace("e"), Ground::namespace("f"));
    let (name, away) = (ground.namespace.clone().unwrap_or_default(), other.namespace.clone().unwrap_or_default());

    run("ip", &format!("-n {name} link add link lab0 name top0 type macvlan"));
    run("ip", &format!("-n {name} link set top0 netns {away}"));
    refused(&ground, &["macvlan top0 (now 1500)", &format!("network namespace {away}"), "set it there manually first"]);
    run("ip", &format!("-n {away} link del top0"));

    // Made there, so that its namespace has no number where it stands.
    run("ip", &format!("-n {name} link add link lab0 netns {away} name top1 type macvlan"));
    refused(&ground, &["macvlan top1", &format!("network namespace {away}")]);
    // The other way round: what it does not receive in large, what it stands on does not.
    let of_upper = ground.run(&["tune", "diff", "--netns", &away, "--set", "nic.lro@top1=on"]);
    let said = shown(&of_upper);
    assert!(of_upper.status.code() == Some(2) && said.contains("top1 is stacked on an interface in another"), "{said}");
    run("ip", &format!("-n {away} link del top1"));

    let mut lonely = Lonely::new();
    let pid = lonely.0.id();
    run("ip", &format!("-n {name} link add link lab0 netns {pid} name top2 type macvlan"));
    refused(&ground, &["macvlan top2", &format!("the network namespace of process {pid}")]);

    let place = ground.state.path().join("a space");
    File::create(&place)?;
    let mounted = Command::new("mount").arg("--bind").args([Path::new(&lonely.space()), &place]).status()?;
    let held = File::open(lonely.space())?;
    lonely.end();
    assert!(mounted.success());
    let mounts = shown(&ground.run(&["tune", "diff", "--netns", &name, "--set", "nic.mtu@lab0=1400"]));
    assert!(Command::new("umount").arg(&place).status()?.success());
    assert!(mounts.contains("macvlan top2") && mounts.contains("a space"), "{mounts}");

    refused(&ground, &["macvlan top2", &format!("process {} holds open", std::process::id())]);

    // A socket keeps its namespace, and shows it to nobody; but to where an interface was moved, its own gave a number.
    let file = format!("/proc/{}/fd/{}", std::process::id(), held.as_raw_fd());
    run("ip", &format!("-n {name} link add link lab0 name top3 type macvlan"));
    run("ip", &format!("-n {name} link set top3 netns {file}"));
    let socket = inside(&held, || UdpSocket::bind("0.0.0.0:0"))?;
    drop(held);
    refused(&ground, &["macvlan top3", "of ip netns list-id"]);
    drop(socket);
    Ok(())
}

/// What is as low already stays, and so does all where the change raises; what comes between the file and its
/// application refuses that.
fn allowed() -> Result<(), Failed> {
    let (ground, other) = (Ground::namespace("e"), Ground::namespace("f"));
    let (name, away) = (ground.namespace.clone().unwrap_or_default(), other.namespace.clone().unwrap_or_default());
    let file = ground.state.path().join("changes.json").to_string_lossy().into_owned();
    let diff = |value: &str| {
        ground.done(&["tune", "diff", "--netns", &name, "--set", &format!("nic.mtu@lab0={value}"), "-o", &file])
    };
    let both = || (mtu(&named(&name), "lab0"), mtu(&named(&away), "top0"));
    let are = |below: &str, above: &str| assert_eq!(both(), (below.to_owned(), above.to_owned()));

    diff("1400");
    run("ip", &format!("-n {name} link add link lab0 netns {away} name top0 type macvlan"));
    let output = ground.run(&["tune", "apply", &file]);
    let said = shown(&output);
    assert!(output.status.code() == Some(2) && said.contains("nothing is changed") && said.contains("top0"), "{said}");
    are("1500", "1500");

    run("ip", &format!("-n {away} link set top0 mtu 1400"));
    for (value, below) in [("1400", "1400"), ("9000", "9000")] {
        diff(value);
        ground.done(&["tune", "apply", &file, "--confirm", "60s"]);
        are(below, "1400");
        ground.done(&["tune", "rollback"]);
        are("1500", "1400");
    }
    Ok(())
}

/// Entered by `nsenter`, which leaves /sys to be that of another namespace: what is changed is what is here. And what
/// has one value for the machine is restored though the namespace it was written in is gone.
fn entered() -> Result<(), Failed> {
    const OF_THE_MACHINE: &str = "/proc/sys/vm/vfs_cache_pressure";
    let (ground, other) = (Ground::namespace("e"), Ground::namespace("f"));
    let (name, away) = (ground.namespace.clone().unwrap_or_default(), other.namespace.clone().unwrap_or_default());
    let file = ground.state.path().join("changes.json").to_string_lossy().into_owned();
    // A /sys of one namespace, and the network of the other.
    let enter = |words: &[&str]| {
        let linerate = ground.command();
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &away, "nsenter", &format!("--net=/run/netns/{name}")]);
        command.arg(linerate.get_program()).args(words).env("LINERATE_STATE", ground.state.path());
        let output = command.stdin(Stdio::null()).output().expect("ip runs");
        assert!(output.status.success(), "{words:?}: {}", shown(&output));
    };
    let flush = |name: &str| {
        let file = "/sys/class/net/lab0/gro_flush_timeout";
        let output = Command::new("ip").args(["netns", "exec", name, "cat", file]).output().expect("ip runs");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    };
    let prior = std::fs::read_to_string(OF_THE_MACHINE)?;
    let next = prior.trim().parse::<u32>()? + 1;
    let of_machine = format!("vm.vfs_cache_pressure={next}");
    enter(&["tune", "diff", "--set", "nic.gro_flush_timeout@lab0=20000", "--set", &of_machine, "-o", &file]);
    enter(&["tune", "apply", &file, "--confirm", "300s"]);
    assert_eq!((flush(&name).as_str(), flush(&away).as_str()), ("20000", "0"));
    assert_eq!(std::fs::read_to_string(OF_THE_MACHINE)?.trim(), next.to_string());
    // With its watch the last process of the namespace ends.
    enter(&["tune", "confirm"]);
    run("ip", &format!("netns del {name}"));
    let is_back = || {
        let _ = ground.run(&["tune", "rollback", "--kept"]);
        std::fs::read_to_string(OF_THE_MACHINE).is_ok_and(|now| now == prior)
    };
    assert!(wait_until(is_back, Duration::from_secs(20)), "{}", ground.done(&["tune", "log"]));
    Ok(())
}
