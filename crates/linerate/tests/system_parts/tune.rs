//! `linerate tune` on the real kernel: settings of a network namespace and of the machine, applied and back again,
//! compared byte for byte.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use rustix::thread::UnshareFlags;
use tempfile::{TempDir, tempdir};

use crate::running::{linerate, shown};

/// Sysctls that a namespace has of its own, by the ids of their knobs, which are their names.
pub(super) const OF_A_NAMESPACE: [&str; 26] = [
    "net.core.somaxconn",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.neigh.default.gc_thresh1",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_base_mss",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tw_reuse",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "net.ipv4.conf.all.accept_redirects",
    "net.ipv4.conf.all.accept_source_route",
    "net.ipv4.conf.all.send_redirects",
    "net.ipv6.conf.default.disable_ipv6",
];

/// Settings of the machine that may differ a little for a moment without anybody noticing.
const OF_THE_MACHINE: [&str; 27] = [
    "fs.file-max",
    "fs.inotify.max_user_instances",
    "fs.inotify.max_user_watches",
    "fs.nr_open",
    "kernel.hung_task_timeout_secs",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_max_tw_buckets",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "vm.dirty_background_bytes",
    "vm.dirty_bytes",
    "vm.max_map_count",
    "vm.min_free_kbytes",
    "vm.swappiness",
    "vm.vfs_cache_pressure",
];

/// What the kernel zeroes when its twin is set: compared too.
const TWINS: [&str; 2] = ["vm.dirty_background_ratio", "vm.dirty_ratio"];

/// A namespace with a pair of interfaces, or the machine; and journals.
pub(super) struct Ground {
    pub(super) namespace: Option<String>,
    pub(super) state: TempDir,
}

impl Drop for Ground {
    fn drop(&mut self) {
        for words in [&["tune", "rollback"][..], &["tune", "rollback", "--kept"]] {
            let _ = self.run(words);
        }
        if let Some(name) = &self.namespace {
            let _ = Command::new("ip").args(["netns", "del", name]).status();
        }
    }
}

impl Ground {
    pub(super) fn namespace(tag: &str) -> Ground {
        let name = format!("lrt{tag}{}", std::process::id());
        for line in [
            format!("netns add {name}"),
            format!("-n {name} link add lab0 type veth peer name lab1"),
            format!("-n {name} link set lab0 up"),
        ] {
            let output = Command::new("ip").args(line.split(' ')).output().expect("iproute2 runs");
            assert!(output.status.success(), "{line}: {}", shown(&output));
        }
        Ground { namespace: Some(name), state: tempdir().expect("a folder") }
    }

    pub(super) fn machine() -> Ground {
        Ground { namespace: None, state: tempdir().expect("a folder") }
    }

    pub(super) fn command(&self) -> Command {
        let mut command = linerate();
        command.env("LINERATE_STATE", self.state.path()).stdin(Stdio::null());
        command
    }

    /// A watch, also that of an earlier test, that finds something gone tries again for a moment, and lets nobody
    /// change settings meanwhile: then once more.
    pub(super) fn run(&self, arguments: &[&str]) -> Output {
        let once = || self.command().args(arguments).output().expect("it runs");
        let mut output = once();
        let is_let = || {
            let is_let = !shown(&output).contains("another linerate is changing settings");
            if !is_let {
                output = once();
            }
            is_let
        };
        wait_until(is_let, Duration::from_secs(20));
        output
    }

    pub(super) fn done(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", shown(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The line of the newest application in the log, which is its last.
    pub(super) fn newest_application(&self) -> String {
        self.done(&["tune", "log"]).lines().last().unwrap_or_default().to_owned()
    }

    fn names(&self) -> &'static [&'static str] {
        if self.namespace.is_some() { &OF_A_NAMESPACE } else { &OF_THE_MACHINE }
    }

    /// The text of a sysctl, where this machine has it.
    pub(super) fn sysctl(&self, name: &str) -> Option<Vec<u8>> {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        let Some(namespace) = &self.namespace else { return std::fs::read(path).ok() };
        let output = Command::new("ip").args(["netns", "exec", namespace, "cat", &path]).output().expect("ip runs");
        output.status.success().then_some(output.stdout)
    }

    /// `ip link` in the namespace.
    pub(super) fn link(&self, words: &[&str]) -> String {
        let name = self.namespace.as_deref().expect("a namespace");
        let output = Command::new("ip").args(["-n", name, "-d", "link"]).args(words).output().expect("ip runs");
        assert!(output.status.success(), "{words:?}: {}", shown(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Everything that is changed, as the kernel shows it; of the link without its counters of time.
    pub(super) fn bytes(&self) -> Vec<(String, Option<Vec<u8>>)> {
        let mut all: Vec<_> = self.names().iter().chain(&TWINS).map(|n| ((*n).to_owned(), self.sysctl(n))).collect();
        if let Some(name) = &self.namespace {
            all.push(("link".to_owned(), Some(self.link(&["show", "lab0"]).into_bytes())));
            let offload = self.run(&["tune", "diff", "--netns", name, "--set", "nic.tso@lab0=off"]);
            all.push(("tso".to_owned(), Some(offload.stdout)));
        }
        all
    }

    /// A file of changes that moves every setting by a little; gives how many.
    pub(super) fn diff(&self, file: &Path) -> usize {
        let mut words = vec!["tune".to_owned(), "diff".to_owned(), "-o".to_owned(), file.display().to_string()];
        let mut count = 0;
        for name in self.names() {
            let Some(now) = self.sysctl(name) else { continue };
            words.extend(["--set".to_owned(), format!("{name}={}", moved(name, &String::from_utf8_lossy(&now)))]);
            count += 1;
        }
        if let Some(name) = &self.namespace {
            words.extend(
                ["--netns", name, "--set", "nic.mtu@lab0=1400", "--set", "nic.tso@lab0=off"].map(str::to_owned),
            );
            words.extend(["--set", "nic.rps_cpus@lab0=1"].map(str::to_owned));
            count += 3;
        }
        self.done(&words.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(std::os::unix::fs::MetadataExt::mode(&file.metadata().expect("it is there")) & 0o777, 0o600);
        count
    }
}

/// Another value that the kernel takes.
pub(super) fn moved(name: &str, now: &str) -> String {
    let numbers: Vec<u64> = now.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    match (name, numbers.as_slice()) {
        ("net.ipv4.tcp_congestion_control", _) => "reno".to_owned(),
        ("net.ipv4.ip_local_reserved_ports", _) => "9000,10250".to_owned(),
        ("vm.dirty_bytes", _) => "1073741824".to_owned(),
        ("vm.dirty_background_bytes", _) => "268435456".to_owned(),
        // The largest is more than the kernel takes, and may be what is there.
        ("fs.file-max" | "fs.nr_open" | "net.ipv4.tcp_notsent_lowat", [one]) => (one / 2 / 8 * 8).to_string(),
        ("net.ipv4.tcp_syncookies", [one]) => (one ^ 1).to_string(),
        ("net.ipv4.tcp_tw_reuse", [one]) => (one / 2).to_string(),
        (_, [one @ (0 | 1)]) => (1 - one).to_string(),
        ("net.ipv4.ip_local_port_range", _) => "20000 60999".to_owned(),
        (_, [one]) => (one + 1).to_string(),
        (_, [least, middle, most]) => format!("{least} {middle} {}", most + 4096),
        _ => panic!("{name} is {now:?}"),
    }
}

pub(super) fn wait_until(mut is_so: impl FnMut() -> bool, within: Duration) -> bool {
    let end = Instant::now() + within;
    while Instant::now() < end {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    false
}

/// Apply and roll back, apply and confirm and roll back, apply on a terminal that goes and let the time pass.
fn round_trips(ground: &Ground) {
    let file = ground.state.path().join("changes.json");
    let path = file.to_str().expect("UTF-8");
    let before = ground.bytes();
    let count = ground.diff(&file);
    assert!(count >= 25, "{count} settings");
    let said = ground.done(&["tune", "apply", path, "--confirm", "60s"]);
    assert!(said.starts_with(&format!("{count} settings changed")), "{said}");
    let after = ground.bytes();
    let same: Vec<_> =
        after.iter().filter(|row| before.contains(row) && ground.names().contains(&row.0.as_str())).collect();
    assert!(same.iter().all(|row| row.1.is_none()), "not changed: {same:?}");
    assert_eq!(ground.run(&["tune", "apply", path]).status.code(), Some(2), "one waits");
    ground.done(&["tune", "rollback"]);
    assert_eq!(ground.bytes(), before, "rolled back");

    ground.done(&["tune", "apply", path, "--confirm", "3s"]);
    ground.done(&["tune", "confirm"]);
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(ground.bytes(), after, "what is confirmed stays");
    let unnamed = ground.run(&["tune", "rollback"]);
    assert!(unnamed.status.code() == Some(2) && shown(&unnamed).contains("--kept"), "{}", shown(&unnamed));
    assert_eq!(ground.bytes(), after, "nothing waits");
    ground.done(&["tune", "rollback", "--kept"]);
    assert_eq!(ground.bytes(), before, "confirmed, then rolled back");

    // On a terminal, which is gone when the command is done: its processes get SIGHUP.
    let line = format!("{} tune apply {path} --confirm 3s", ground.command().get_program().to_string_lossy());
    let mut terminal = Command::new("script");
    terminal.args(["--quiet", "--return", "--command", &line, "/dev/null"]).env("LINERATE_STATE", ground.state.path());
    let output = terminal.stdin(Stdio::null()).output().expect("script runs");
    assert!(output.status.success(), "{}", shown(&output));
    assert_eq!(ground.bytes(), after, "applied on a terminal");
    assert!(wait_until(|| ground.bytes() == before, Duration::from_secs(10)), "nobody confirmed");
    assert!(ground.done(&["tune", "log"]).contains("not confirmed in time"));
    println!("{count} settings: applied and confirmed, lapsed, rolled back; byte for byte as before");
}

pub(crate) fn in_a_namespace() -> Result<(), Failed> {
    round_trips(&Ground::namespace("r"));
    Ok(())
}

pub(crate) fn on_the_machine() -> Result<(), Failed> {
    round_trips(&Ground::machine());
    Ok(())
}

/// The command, killed at moments spread over the time that it takes; and the disk of its journal, of every size.
pub(crate) fn killed_and_full() -> Result<(), Failed> {
    let ground = Ground::namespace("k");
    let file = ground.state.path().join("changes.json");
    let path = file.to_str().expect("UTF-8");
    ground.diff(&file);
    let before = ground.bytes();
    let begun = Instant::now();
    ground.done(&["tune", "apply", path, "--confirm", "60s"]);
    let whole = begun.elapsed();
    ground.done(&["tune", "rollback"]);
    let (mut points, mut halfway) = (0, 0);
    for point in 0..40_u32 {
        let mut child =
            ground.command().args(["tune", "apply", path, "--confirm", "60s"]).stdout(Stdio::null()).spawn()?;
        std::thread::sleep(whole * point / 36);
        child.kill()?;
        child.wait()?;
        halfway += u32::from(ground.bytes() != before);
        // With nothing begun there is nothing to roll back: bad usage, and nothing changed.
        let rolled = ground.run(&["tune", "rollback"]);
        assert!(matches!(rolled.status.code(), Some(0 | 2)), "{}", shown(&rolled));
        assert_eq!(ground.bytes(), before, "killed at {point} of 36");
        points += 1;
    }
    assert!(halfway >= 5, "{halfway} of {points} kills found something changed");
    let full = full_disks(&ground, &file, &before)?;
    assert!(full >= 25, "{full} disks were full");
    println!("killed at {points} moments ({halfway} halfway), {full} full disks: byte for byte as before");
    Ok(())
}

/// Applies with journals on disks of one page, two, and so on, until the whole journal fits. Reasons of a page each see
/// to it that every change meets a full disk once.
fn full_disks(ground: &Ground, file: &Path, before: &[(String, Option<Vec<u8>>)]) -> Result<u32, Failed> {
    let text = std::fs::read_to_string(file)?;
    std::fs::write(file, text.replace("set by hand", &"by hand ".repeat(500)))?;
    for pages in 1.. {
        let folder = tempdir()?;
        let size = format!("size={}k,mode=700", pages * 4);
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(folder.path()).status()?;
        assert!(mounted.success());
        let there = |words: &[&str]| {
            ground.command().env("LINERATE_STATE", folder.path()).args(words).output().expect("it runs")
        };
        let output = there(&["tune", "apply", file.to_str().unwrap_or_default()]);
        if output.status.success() {
            there(&["tune", "rollback"]);
        }
        // The watch may be about to look at the journal: it ends by itself within a second.
        Command::new("umount").arg("-l").arg(folder.path()).status()?;
        assert_eq!(ground.bytes(), before, "{pages} pages: {}", shown(&output));
        if output.status.success() {
            return Ok(pages - 1);
        }
        assert!(output.status.code() == Some(1) && shown(&output).contains("No space left"), "{}", shown(&output));
    }
    unreachable!("the whole journal fits at last")
}

#[expect(deprecated, reason = "unsafe for the sake of FILES alone, which is not asked for")]
fn another_names_namespace() -> std::fs::File {
    rustix::thread::unshare(UnshareFlags::NEWUTS).expect("a namespace of names");
    std::fs::File::open("/proc/thread-self/ns/uts").expect("it is there")
}

/// A namespace deleted and made anew under its name, and whether the kernel gave the new one the inode of the old.
fn is_made_anew_of_the_same_inode(name: &str) -> bool {
    let path = format!("/run/netns/{name}");
    let inode = || std::fs::metadata(&path).map(|it| it.ino()).expect("it is there");
    let ip = |word: &str| {
        assert!(Command::new("ip").args(["netns", word, name]).status().expect("ip runs").success());
        // The kernel lets go of one a moment later.
        std::thread::sleep(Duration::from_millis(500));
    };
    let then = inode();
    // The least number that is free is given: all below are taken, each by a namespace that needs one number only.
    let taken = std::thread::spawn(move || {
        let mut taken: Vec<std::fs::File> = Vec::new();
        while taken.last().is_none_or(|last| last.metadata().is_ok_and(|it| it.ino() < then)) && taken.len() < 900 {
            taken.push(another_names_namespace());
        }
        taken
    });
    let _taken = taken.join().expect("it ends");
    ip("del");
    ip("add");
    inode() == then
}

/// The kernel gives the inode of a namespace that went to the next one: what was meant, and changed, is gone.
fn another_of_the_same_inode(ground: &Ground) {
    let name = ground.namespace.clone().unwrap_or_default();
    let path = ground.state.path().join("anew.json").to_string_lossy().into_owned();
    let sysctl = |value: &str| {
        let words = ["netns", "exec", &name, "sysctl", "-q", "-w", &format!("net.core.somaxconn={value}")];
        assert!(Command::new("ip").args(words).status().expect("ip runs").success());
    };
    let diff = || ground.done(&["tune", "diff", "--netns", &name, "--set", "net.core.somaxconn=4097", "-o", &path]);

    let is_refused = || {
        diff();
        let is_given_again = is_made_anew_of_the_same_inode(&name);
        let output = ground.run(&["tune", "apply", &path]);
        let said = shown(&output);
        assert!(output.status.code() == Some(2) && said.contains("another network namespace has that name"), "{said}");
        is_given_again
    };
    assert!(wait_until(is_refused, Duration::from_secs(120)), "an inode is given again");

    let is_let_be = || {
        diff();
        ground.done(&["tune", "apply", &path, "--confirm", "300s"]);
        let is_given_again = is_made_anew_of_the_same_inode(&name);
        // As the one that went was made to be.
        sysctl("4097");
        let said = shown(&ground.run(&["tune", "rollback"]));
        assert_eq!(ground.sysctl("net.core.somaxconn").as_deref(), Some(&b"4097\n"[..]), "another's: {said}");
        assert!(said.contains("namespace"), "{said}");
        ground.run(&["tune", "rollback", "--force"]);
        sysctl("4096");
        is_given_again
    };
    assert!(wait_until(is_let_be, Duration::from_secs(120)), "an inode is given again");
}

/// A process or a name that is another's by the time of apply, and a file made in another namespace.
pub(crate) fn given_again() -> Result<(), Failed> {
    let ground = Ground::namespace("g");
    let name = ground.namespace.clone().unwrap_or_default();
    let file = ground.state.path().join("changes.json");
    let path = file.to_str().unwrap_or_default();
    let set = |words: &[&str]| {
        let words = [&["tune", "diff", "-o", path, "--set", "net.core.somaxconn=4097"], words].concat();
        ground.done(&words);
    };
    let refused = |part: &str| {
        let output = ground.run(&["tune", "apply", path]);
        assert!(output.status.code() == Some(2) && shown(&output).contains(part), "{part}: {}", shown(&output));
    };
    let in_it =
        |words: &[&str]| Command::new("ip").args(["netns", "exec", &name]).args(words).stdin(Stdio::null()).spawn();

    // Another process of the same number cannot be had at will; a file can tell of an earlier one.
    let mut process = in_it(&["sleep", "1000"])?;
    let pid = process.id().to_string();
    let own = std::fs::read_link("/proc/self/ns/net")?;
    let entered = || std::fs::read_link(format!("/proc/{pid}/ns/net")).is_ok_and(|net| net != own);
    assert!(wait_until(entered, Duration::from_secs(20)));
    set(&["--pid", &pid]);
    let text = std::fs::read_to_string(&file)?;
    let ticks = text.split("\"started_ticks\": ").nth(1).ok_or("it says when the process started")?;
    std::fs::write(
        &file,
        text.replace(&format!("\"started_ticks\": {ticks}"), &format!("\"started_ticks\": 1{ticks}")),
    )?;
    refused("another process has that number");
    set(&["--pid", &pid]);
    process.kill()?;
    process.wait()?;
    refused("there is no process");

    set(&["--netns", &name]);
    let before = ground.sysctl("net.core.somaxconn");
    // Held open, so that its inode is not given again at once.
    let _held = std::fs::File::open(format!("/run/netns/{name}"))?;
    for words in [["netns", "del", &name], ["netns", "add", &name]] {
        assert!(Command::new("ip").args(words).status()?.success());
    }
    refused("another network namespace has that name");
    assert_eq!(ground.sysctl("net.core.somaxconn"), before);
    another_of_the_same_inode(&ground);

    set(&[]);
    let mut elsewhere = Command::new("ip");
    elsewhere.args(["netns", "exec", &name]).arg(linerate().get_program()).args(["tune", "apply", path]);
    let output = elsewhere.env("LINERATE_STATE", ground.state.path()).stdin(Stdio::null()).output()?;
    assert!(
        output.status.code() == Some(2) && shown(&output).contains("from that of this process"),
        "{}",
        shown(&output)
    );
    assert_eq!(ground.sysctl("net.core.somaxconn"), before);
    Ok(())
}

/// One application on top of another of other journals: refused until the first waits no more.
pub(crate) fn not_nested() -> Result<(), Failed> {
    let (first, second) = (Ground::namespace("n"), Ground::machine());
    let name = first.namespace.clone().unwrap_or_default();
    let before = first.sysctl("net.core.somaxconn");
    let file = |ground: &Ground, value: &str| {
        let path = ground.state.path().join("changes.json").to_string_lossy().into_owned();
        let set = format!("net.core.somaxconn={value}");
        ground.done(&["tune", "diff", "--netns", &name, "--set", &set, "-o", &path]);
        path
    };
    let (of_first, of_second) = (file(&first, "1111"), file(&second, "2222"));
    let is_refused = |ground: &Ground, file: &str, other: &Ground| {
        let output = ground.run(&["tune", "apply", file]);
        let reported = shown(&output);
        let fix = format!("LINERATE_STATE={}", other.state.path().display());
        output.status.code() == Some(2) && reported.contains("is pending") && reported.contains(&fix)
    };
    for ended in ["confirm", "rollback"] {
        first.done(&["tune", "apply", &of_first]);
        assert!(is_refused(&second, &of_second, &first), "before {ended}");
        assert_eq!(first.sysctl("net.core.somaxconn").as_deref(), Some(&b"1111\n"[..]));
        first.done(&["tune", ended]);
        assert!(!is_refused(&second, &of_second, &first), "after {ended}");
        let _ = second.run(&["tune", "rollback"]);
        let _ = first.run(&["tune", "rollback", "--kept"]);
        assert_eq!(first.sysctl("net.core.somaxconn"), before, "{ended}");
    }
    second.done(&["tune", "apply", &of_second, "--confirm", "2s"]);
    assert!(is_refused(&first, &of_first, &second));
    assert!(wait_until(|| first.sysctl("net.core.somaxconn") == before, Duration::from_secs(60)));
    assert!(wait_until(|| !is_refused(&first, &of_first, &second), Duration::from_secs(60)));
    first.done(&["tune", "rollback"]);
    assert_eq!(first.sysctl("net.core.somaxconn"), before);
    Ok(())
}

/// What belongs to others, and files that are not this machine's.
pub(crate) fn refused() -> Result<(), Failed> {
    let ground = Ground::namespace("f");
    let name = ground.namespace.clone().unwrap_or_default();
    let before = ground.bytes();
    for (set, part) in [
        ("net.ipv4.ip_forward=1", "belongs to the CNI"),
        ("vm.swappiness=1", "one value for the whole machine"),
        ("net.core.somaxcon=1", "did you mean net.core.somaxconn?"),
        ("nic.mtu@../lab0=1400", "cannot be read"),
        ("nic.mtu=1400", "each device has its own"),
    ] {
        let output = ground.run(&["tune", "diff", "--netns", &name, "--set", set]);
        assert!(output.status.code() == Some(2) && shown(&output).contains(part), "{set}: {}", shown(&output));
    }
    let file = ground.state.path().join("changes.json");
    ground.diff(&file);
    let text = std::fs::read_to_string(&file)?;
    let machine = text.split("\"machine\": \"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or_default();
    for (altered, part) in [
        (text.replace(machine, "00000000000000000000000000000000"), "another machine"),
        (text.replace("\"1400\"", "\"1400\\n1\""), "line break"),
        (text.replace("\"schema\": 2", "\"schema\": 7"), "schema 7"),
        (text.replace("\"schema\": 2", "\"schema\": 1").replace("\"spaces\"", "\"x\""), "does not say which namespace"),
    ] {
        std::fs::write(&file, altered)?;
        let output = ground.run(&["tune", "apply", file.to_str().unwrap_or_default()]);
        assert!(output.status.code() == Some(2) && shown(&output).contains(part), "{part}: {}", shown(&output));
    }
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o666))?;
    let output = ground.run(&["tune", "apply", file.to_str().unwrap_or_default()]);
    assert!(shown(&output).contains("others can write"), "{}", shown(&output));
    assert_eq!(ground.bytes(), before);
    Ok(())
}
