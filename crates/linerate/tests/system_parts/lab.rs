//! `linerate lab` on a real kernel: it serves as its limits say, its faults hold and are lifted, and nothing of it is
//! left.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use tempfile::{TempDir, tempdir};

use crate::NamedCheck;
use crate::running::{eventually, eventually_within, linerate, points, shown, view};

/// What a lab needs.
pub(super) const LAB: &[&str] =
    &["root", "ip", "tc", "ethtool", "nft", "losetup", "mkfs.ext4", "mkfs.xfs", "setsid", "setpriv"];

/// What one needs that serves.
pub(super) const SERVING: &[&str] =
    &["MinIO", "root", "ip", "tc", "ethtool", "losetup", "mkfs.ext4", "mkfs.xfs", "setsid", "setpriv"];

/// What is checked, and what it needs.
pub(crate) const CHECKS: [NamedCheck; 5] = [
    ("lab_serves_as_its_links_say_and_nothing_of_it_is_left", SERVING, serves),
    ("lab_faults_hold_and_are_lifted", LAB, faults),
    ("lab_in_awkward_states_is_removed_whole_and_nothing_of_others", LAB, awkward),
    ("lab_is_removed_while_another_goes_on", LAB, side_by_side),
    ("lab_of_one_name_in_two_folders_is_removed_by_its_own_record", LAB, others_and_ended),
];

/// Each link, by its token bucket, each way.
const LINK_BITS_PER_S: f64 = 100e6;

/// What a lab could leave on a machine.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Traces {
    namespaces: BTreeSet<String>,
    mounts: BTreeSet<String>,
    /// Files of loop devices.
    devices: BTreeSet<String>,
    cgroups: BTreeSet<String>,
    links: BTreeSet<String>,
}

fn names_in(folder: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path().display().to_string()).collect()
}

pub(super) fn traces() -> Traces {
    let mounts = fs::read_to_string("/proc/self/mountinfo").expect("mounts");
    let device = |folder: &String| fs::read_to_string(Path::new(folder).join("loop/backing_file")).ok();
    let kinds = ["", "blkio/", "cpu/", "freezer/"].map(|kind| names_in(&format!("/sys/fs/cgroup/{kind}")));
    Traces {
        namespaces: names_in("/run/netns"),
        mounts: mounts.lines().filter_map(|line| line.split(' ').nth(4).map(str::to_owned)).collect(),
        devices: names_in("/sys/block").iter().filter_map(device).collect(),
        cgroups: kinds.into_iter().flatten().filter(|path| path.contains("linerate")).collect(),
        links: names_in("/sys/class/net"),
    }
}

/// A lab of a test, in a folder of its own; removed with the value.
pub(super) struct TestLab {
    name: &'static str,
    folder: TempDir,
}

impl TestLab {
    pub(super) fn new(name: &'static str) -> Result<TestLab, Failed> {
        Ok(TestLab { name, folder: tempdir()? })
    }

    pub(super) fn command(&self, verb: &str) -> Command {
        let mut command = linerate();
        command.args(["lab", verb, "--name", self.name, "--state"]).arg(self.folder.path().join("labs"));
        // What the user has set for an engine of his own: with it, none of a lab would start.
        command.env("MINIO_STORAGE_CLASS_STANDARD", "EC:99");
        command
    }

    pub(super) fn run(&self, verb: &str, words: &[&str]) -> Result<Output, Failed> {
        Ok(self.command(verb).args(words).stdin(Stdio::null()).output()?)
    }

    /// What a verb prints, which must end well.
    pub(super) fn printed(&self, verb: &str, words: &[&str]) -> Result<String, Failed> {
        let output = self.run(verb, words)?;
        if output.status.success() {
            Ok(shown(&output))
        } else {
            Err(format!("{verb} {words:?}: {}", shown(&output)).into())
        }
    }

    /// Its files: descriptions for other verbs.
    pub(super) fn files(&self) -> PathBuf {
        self.folder.path().join("labs").join(self.name)
    }

    pub(super) fn up(&self, words: &[&str]) -> Result<String, Failed> {
        let minio = std::env::var("MINIO")?;
        self.printed("up", &[words, &["--engine", "minio", "--binary", &minio]].concat())
    }

    /// Bytes per second of one point of a load from the client.
    fn bench(&self, flags: &str) -> Result<f64, Failed> {
        let (out, program) = (tempdir()?, linerate().get_program().to_string_lossy().into_owned());
        let folder = out.path().join("run").display().to_string();
        let bench = format!("client1 -- {program} bench --no-ceiling --yes-load -o {folder} {flags}");
        self.printed("exec", &bench.split(' ').collect::<Vec<_>>())?;
        let view = view(&out.path().join("run"));
        Ok(points(&view)[0].bytes_per_s.mean)
    }
}

impl Drop for TestLab {
    fn drop(&mut self) {
        let _ = self.run("down", &[]);
    }
}

/// Four nodes of two drives serve, and the client reads no more than its link carries, and nearly as much.
fn serves() -> Result<(), Failed> {
    let before = traces();
    let lab = TestLab::new("ltserve")?;
    let words = ["--nodes", "4", "--drives", "2", "--link", "200Mb/s", "--client-link", "100Mb/s"];
    let printed = lab.up(&words)?;
    assert!(printed.contains("4 nodes, 8 drives, 1 clients"), "{printed}");
    let again = lab.run("up", &words)?;
    assert!(again.status.code() == Some(1) && shown(&again).contains("is there already"), "{}", shown(&again));
    let status = lab.printed("status", &[])?;
    assert!(status.contains("every node serves") && status.contains("faults none"), "{status}");

    let hosts = "--host 10.231.1.{1...4}:9000";
    // A MinIO that has just started may refuse writes for a moment.
    let flags = "--op get --obj.size 4MiB --objects 24 --concurrent 8 --duration 6s --retries 10";
    let read = lab.bench(&format!("{hosts} {flags}"))?;
    // Headers and the end of the load take some; what a token bucket holds back at its beginning is little.
    let share = read * 8.0 / LINK_BITS_PER_S;
    assert!((0.75..1.02).contains(&share), "{share} of the client's link");

    let files = lab.files();
    let plan = linerate().arg("plan").arg(files.join("site.yaml")).output()?;
    assert!(plan.status.success(), "{}", shown(&plan));
    let fleet = linerate().args(["fleet", "check", "--fleet"]).arg(files.join("fleet.yaml")).output()?;
    assert!(fleet.status.success(), "{}", shown(&fleet));

    lab.printed("down", &[])?;
    assert_eq!(traces(), before);
    assert!(!files.exists(), "its folder is left");
    let gone = lab.run("down", &[])?;
    assert!(gone.status.code() == Some(2) && shown(&gone).contains("there is no lab"), "{}", shown(&gone));
    Ok(())
}

/// Whether the kernel holds the processes of a machine.
fn is_frozen(lab: &str, machine: &str) -> bool {
    let v1 = fs::read_to_string(format!("/sys/fs/cgroup/freezer/linerate-{lab}/{machine}/freezer.state"));
    let v2 = || fs::read_to_string(format!("/sys/fs/cgroup/linerate-{lab}/{machine}/cgroup.freeze"));
    v1.or_else(|_| v2()).is_ok_and(|state| ["FROZEN", "1"].contains(&state.trim()))
}

/// What a machine's interface sent meanwhile.
fn sent_bytes(namespace: &str) -> Result<f64, Failed> {
    let file = "/sys/class/net/eth0/statistics/tx_bytes";
    let output = Command::new("ip").args(["netns", "exec", namespace, "cat", file]).output()?;
    Ok(shown(&output).trim().parse()?)
}

pub(super) fn of_namespace(namespace: &str, words: &str) -> Result<String, Failed> {
    let output = Command::new("ip").args(["netns", "exec", namespace]).args(words.split(' ')).output()?;
    Ok(shown(&output))
}

/// What something comes to on a machine.
fn in_namespace<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T, Failed> {
    let space = fs::File::open(format!("/run/netns/{name}"))?;
    let thread = std::thread::spawn(move || {
        move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))?;
        work()
    });
    Ok(thread.join().map_err(|_| "a thread panicked")??)
}

/// Of two nodes only the first listens: a client reaches it at the second one's address where it answers for both.
fn subset(lab: &TestLab) -> Result<(), Failed> {
    let listener = in_namespace("ltfault-node1", || TcpListener::bind("0.0.0.0:9000"))?;
    let connects = || in_namespace("ltfault-client1", || Ok(TcpStream::connect("10.231.1.2:9000").is_ok()));
    assert!(!connects()?, "the second node listens");
    lab.printed("fault", &["clients.subset=1"])?;
    assert!(connects()?, "the first node does not answer for the second");
    lab.printed("heal", &["clients subset"])?;
    assert!(!connects()?, "the first node still answers for the second");
    drop(listener);
    Ok(())
}

/// Sent one after another, so that no queue is full.
const DATAGRAMS: u64 = 400;

/// Datagrams of one machine that another one's kernel takes, though nobody listens there.
fn datagrams_that_came(from: &str, to: &str) -> Result<u64, Failed> {
    let not_taken = || -> Result<u64, Failed> {
        let counters = of_namespace(to, "cat /proc/net/snmp")?;
        let row = counters.lines().filter(|line| line.starts_with("Udp:")).nth(1).ok_or("counters of UDP")?;
        Ok(row.split(' ').nth(2).ok_or("datagrams to ports where nobody listens")?.parse()?)
    };
    let before = not_taken()?;
    in_namespace(from, || {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        (0..DATAGRAMS).try_for_each(|_| socket.send_to(&[7; 100], "10.231.1.2:9").map(drop))
    })?;
    std::thread::sleep(Duration::from_millis(200));
    Ok(not_taken()? - before)
}

/// Each fault is seen by what is not linerate, and gone when it is lifted.
fn faults() -> Result<(), Failed> {
    let before = traces();
    let lab = TestLab::new("ltfault")?;
    lab.printed("up", &["--nodes", "2", "--drives", "1", "--link", "200Mb/s"])?;
    let node = "ltfault-node2";
    // Behind the handle, which is another each time.
    let queue = || -> Result<String, Failed> {
        let shown = of_namespace(node, "tc qdisc show dev eth0")?;
        Ok(shown.split_once(" root ").ok_or("a queue")?.1.to_owned())
    };
    let healthy = queue()?;
    assert!(healthy.contains("rate 200Mbit"), "{healthy}");

    // Both know each other's hardware address from here on: a question for it may be lost too.
    let came = datagrams_that_came("ltfault-node1", node)?;
    assert!(came > DATAGRAMS * 9 / 10, "{came} of {DATAGRAMS} came");
    lab.printed("fault", &["node2 link.tx=60Mb/s", "node2 window=64KiB", "node2 mtu=1400", "node2 loss=50%"])?;
    assert!(queue()?.contains("rate 60Mbit"), "{}", queue()?);
    assert!(of_namespace(node, "cat /proc/sys/net/ipv4/tcp_rmem")?.contains("65536"), "buffers");
    assert!(of_namespace(node, "cat /sys/class/net/eth0/mtu")?.contains("1400"), "an MTU");
    let came = datagrams_that_came("ltfault-node1", node)?;
    assert!((DATAGRAMS / 4..DATAGRAMS * 3 / 4).contains(&came), "{came} of {DATAGRAMS} came, and half is dropped");
    lab.printed("heal", &["node2 loss", "node2 mtu"])?;
    let status = lab.printed("status", &[])?;
    assert!(status.contains("link.tx") && !status.contains("loss"), "{status}");
    let came = datagrams_that_came("ltfault-node1", node)?;
    assert!(came > DATAGRAMS * 9 / 10, "{came} of {DATAGRAMS} came, and none is dropped");

    lab.printed("fault", &["node2 neighbour.tx=20Mb/s"])?;
    let (sent, begun) = (sent_bytes(node)?, Instant::now());
    let has_sent = || sent_bytes(node).is_ok_and(|now| now - sent > 2e6);
    eventually_within(Duration::from_secs(60), "a neighbour to send", has_sent);
    let rate = (sent_bytes(node)? - sent) * 8.0 / begun.elapsed().as_secs_f64();
    assert!(rate < 25e6, "{rate} bits/s of a neighbour");

    lab.printed("fault", &["node2 freeze"])?;
    assert!(is_frozen("ltfault", "node2"), "it goes on");
    let refused = lab.run("exec", &["node2", "--", "true"])?;
    assert!(refused.status.code() == Some(2) && shown(&refused).contains("stands still"), "{}", shown(&refused));
    // A fault that this kernel may lack leaves what was there.
    let delayed = lab.run("fault", &["node1 delay=2ms"])?;
    let status = lab.printed("status", &[])?;
    assert!(delayed.status.success() == status.contains("delay"), "{}: {status}", shown(&delayed));
    lab.printed("heal", &[])?;
    assert!(!is_frozen("ltfault", "node2"), "it stands still");
    lab.printed("exec", &["node2", "--", "true"])?;
    assert_eq!(queue()?, healthy);
    assert!(of_namespace(node, "cat /sys/class/net/eth0/mtu")?.contains("1500"), "the MTU is back");

    slow_drive(&lab)?;
    subset(&lab)?;
    let refused = lab.run("fault", &["node9 down", "node1 drive7=5MB/s"])?;
    assert!(refused.status.code() == Some(2), "{}", shown(&refused));
    assert!(lab.printed("status", &[])?.contains("faults none"), "nothing is planted of a list with a mistake");
    lab.printed("fault", &["node1 freeze", "node2 pauses=500ms/1s"])?;
    for stands in [true, false, true] {
        let is_so = || is_frozen("ltfault", "node2") == stands;
        eventually_within(Duration::from_secs(60), "a pause to begin and to end", is_so);
    }
    lab.printed("down", &[])?;
    assert_eq!(traces(), before);
    Ok(())
}

/// A lab below a link and a blank, whose drive is so slow that a process waits for it, and with groups below its own,
/// is removed whole; what is mounted into it by others is not.
fn awkward() -> Result<(), Failed> {
    let before = traces();
    let lab = TestLab::new("ltawk")?;
    let (real, others) = (lab.folder.path().join("a real folder"), lab.folder.path().join("others"));
    fs::create_dir(&real)?;
    fs::create_dir(&others)?;
    fs::write(others.join("file"), "data")?;
    std::os::unix::fs::symlink(&real, lab.folder.path().join("labs"))?;
    lab.printed("up", &["--nodes", "1", "--drives", "1", "--drive-write", "64KiB/s"])?;
    let drives = lab.folder.path().join("labs/ltawk/drives");
    let file = drives.join("drive1/file").display().to_string();
    let write = ["node1", "--", "dd", "if=/dev/zero", &format!("of={file}"), "bs=1M", "count=64", "oflag=direct"];
    let mut writer = lab.command("exec").args(write).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let group = ["/sys/fs/cgroup/cpu/linerate-ltawk/node1", "/sys/fs/cgroup/linerate-ltawk/node1"];
    let group = group.into_iter().find(|group| Path::new(group).is_dir()).ok_or("a control group")?;
    fs::create_dir(Path::new(group).join("below"))?;
    std::thread::sleep(Duration::from_millis(500));

    let mounted = Command::new("mount").arg("--bind").args([&others, &drives]).output()?;
    assert!(mounted.status.success(), "{}", shown(&mounted));
    let refused = lab.run("down", &[])?;
    assert!(refused.status.code() == Some(1) && shown(&refused).contains("mounted at"), "{}", shown(&refused));
    assert_eq!(fs::read_to_string(others.join("file"))?, "data");
    let unmounted = Command::new("umount").arg(&drives).output()?;
    assert!(unmounted.status.success(), "{}", shown(&unmounted));
    lab.printed("down", &[])?;
    writer.wait()?;
    assert_eq!(traces(), before);
    Ok(())
}

/// A record of a lab that is gone, in another folder, removes nothing of one that has its name now; and an engine that
/// ends at once is given up, with its lab.
fn others_and_ended() -> Result<(), Failed> {
    let before = traces();
    let lab = TestLab::new("lttwo")?;
    let up = ["--nodes", "1", "--drives", "0"];
    lab.printed("up", &up)?;
    let record = fs::read_to_string(lab.folder.path().join("labs/lttwo/lab.json"))?;
    let (start, rest) = record.split_once("\"id\": \"").ok_or("a record has a number")?;
    let digit = if rest.starts_with('0') { '1' } else { '0' };
    let other = format!("{start}\"id\": \"{digit}{}", &rest[1..]);
    let gone = TestLab::new("lttwo")?;
    let folder = gone.folder.path().join("labs/lttwo");
    DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
    fs::write(folder.join("lab.json"), other)?;
    let refused = gone.run("down", &[])?;
    assert!(refused.status.code() == Some(1) && shown(&refused).contains("another lab"), "{}", shown(&refused));
    assert!(!lab.printed("status", &[])?.contains("are gone"), "a lab of the same name lost a part");
    lab.printed("down", &[])?;
    let ended = lab.run("up", &[&up[..], &["--engine", "minio", "--binary", "false"]].concat())?;
    assert!(ended.status.code() == Some(3) && shown(&ended).contains("did not serve"), "{}", shown(&ended));
    assert_eq!(traces(), before);
    Ok(())
}

/// A lab is removed while processes of a younger one go on, which have seen its mounts.
fn side_by_side() -> Result<(), Failed> {
    let before = traces();
    let (older, younger) = (TestLab::new("ltolder")?, TestLab::new("ltyoung")?);
    let words = ["--nodes", "1", "--drives", "1"];
    older.printed("up", &words)?;
    younger.printed("up", &words)?;
    let started = younger.folder.path().join("started");
    let script = format!("touch {}; exec sleep 60", started.display());
    let mut process = younger.command("exec").args(["node1", "--", "sh", "-c", &script]).spawn()?;
    eventually("a process of the younger lab", || started.exists());
    older.printed("down", &[])?;
    assert!(process.try_wait()?.is_none(), "the process of the younger lab has ended");
    younger.printed("down", &[])?;
    process.wait()?;
    assert_eq!(traces(), before);
    Ok(())
}

/// A drive writes at the rate that it is limited to, as dd sees it.
fn slow_drive(lab: &TestLab) -> Result<(), Failed> {
    let mount = lab.folder.path().join("labs/ltfault/drives/drive1/file");
    let write = format!("node1 -- dd if=/dev/zero of={} bs=1M count=20 oflag=direct", mount.display());
    let time = || {
        let begun = Instant::now();
        lab.printed("exec", &write.split(' ').collect::<Vec<_>>()).map(|_| begun.elapsed().as_secs_f64())
    };
    lab.printed("fault", &["node1 drive1=5MB/s"])?;
    let slow_s = time()?;
    lab.printed("heal", &["node1"])?;
    // 20 MiB at 5 MB/s take 4.2 s: no machine is faster than that limit.
    assert!(slow_s > 3.5, "{slow_s} s");
    Ok(())
}
