//! A MinIO over nodes in network namespaces, whose links, drives and processors are held back: a cluster on one
//! machine.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use libtest_mimic::Failed;
use linerate_analysis::view::View;

use super::minio::{keys, program};
use super::wrapped;
use crate::running::{bench_command, eventually_within, shown, view};

/// Where control groups are.
const GROUPS: &str = "/sys/fs/cgroup";

/// Share of packets that a random number of 32 bits is compared with.
const ALL_PACKETS: f64 = 4_294_967_296.0;

/// Exit code of a run that failed by what it found (`docs/exit-codes.md`).
const FAILED_BY_FINDINGS: i32 = 4;

/// Clusters that this process has made: each has control groups of its own.
static MADE: AtomicU32 = AtomicU32::new(0);

/// What a cluster is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Parts {
    /// Nodes, numbered from 1.
    pub(crate) nodes: u32,
    pub(crate) drives: u32,
    /// Shards of parity; MinIO's own choice without.
    pub(crate) parity: Option<u32>,
    /// Size of each drive, where it is to be a block device that can be held back; in memory without.
    pub(crate) disk_mib: Option<u32>,
    /// Whether each device is a file on another one. What holds a device back stands in front of it, where its own
    /// counters do not see it; one below is seen as time that the drive takes.
    pub(crate) layered: bool,
}

/// One way over a link, as its node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Sending,
    Receiving,
}

pub(crate) const BOTH_WAYS: [Way; 2] = [Way::Sending, Way::Receiving];

/// The cluster; gone with the value, and with the process too, however it ends.
pub(crate) struct Cluster {
    parts: Parts,
    /// `unshare`, around the script.
    child: Child,
    /// Name of its control groups.
    group: String,
    /// Of the first drive of each node, where drives are devices: the number of what is held back.
    devices: Vec<String>,
}

impl Cluster {
    /// Makes it, with nothing held back, and waits until every node serves.
    pub(crate) fn start(parts: Parts) -> Self {
        Self::start_with(parts, 0)
    }

    /// The same with clients `c1` and so on, beside the one that is there always.
    pub(crate) fn start_with(parts: Parts, clients: u32) -> Self {
        Self::start_in(parts, clients, &[])
    }

    /// The same with more in the environment of each MinIO.
    pub(crate) fn start_in(parts: Parts, clients: u32, environment: &[(&str, &str)]) -> Self {
        let group = format!("linerate-test-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        make_groups(&group, parts.nodes);
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]);
        command.args(["sh", "-c", include_str!("cluster.sh")]);
        command.env("MINIO", program()).env("MINIO_CI_CD", "1").env("MINIO_BROWSER", "off").env("MINIO_UPDATE", "off");
        command.env("MINIO_PROMETHEUS_AUTH_TYPE", "public");
        command.env("MINIO_ROOT_USER", &keys()[0].1).env("MINIO_ROOT_PASSWORD", &keys()[1].1);
        command.env("CLIENTS", clients.to_string()).envs(environment.iter().copied());
        command.env("NODES", parts.nodes.to_string()).env("DRIVES", parts.drives.to_string()).env("GROUP", &group);
        command.env("DISK_MIB", parts.disk_mib.map_or(String::new(), |mib| mib.to_string()));
        command.env("LAYERED", if parts.layered { "yes" } else { "" });
        if let Some(parity) = parts.parity {
            command.env("MINIO_STORAGE_CLASS_STANDARD", format!("EC:{parity}"));
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("unshare runs");
        let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut cluster = Cluster { parts, child, group, devices: Vec::new() };
        loop {
            let line = lines.next().and_then(Result::ok).expect("the script of the cluster failed");
            match line.split_once(' ') {
                Some((drive, held)) if drive.ends_with("-drive1") => cluster.devices.push(number_of(held)),
                Some(_) => {}
                None => break assert_eq!(line, "joined", "the script of the cluster failed"),
            }
        }
        cluster.wait();
        cluster
    }

    /// Until a node is ready, every call gets a 503, and an unsigned one a 403 from then on; its health is that of the
    /// drives which it reaches.
    fn wait(&self) {
        let serves = |node: u32| {
            let answers = |path: &str, status: &str| {
                let mut curl = Command::new("curl");
                curl.args(["--silent", "--include", "--max-time", "2", &format!("http://{}{path}", host(node))]);
                self.in_client(&curl).output().is_ok_and(|o| shown(&o).contains(status))
            };
            answers("/", " 403 ") && answers("/minio/health/cluster", " 200 ")
        };
        eventually_within(Duration::from_secs(120), "every node to serve", || (1..=self.parts.nodes).all(&serves));
    }

    /// Every node, as linerate takes hosts.
    pub(crate) fn hosts(&self) -> String {
        format!("10.231.78.{{1...{}}}:9000", self.parts.nodes)
    }

    /// Shapes the links of all nodes, in both directions.
    pub(crate) fn shape_all(&self, rate_bits_per_s: u64) {
        (1..=self.parts.nodes).for_each(|node| self.shape(&format!("node{node}"), &BOTH_WAYS, rate_bits_per_s));
    }

    /// Shapes the link of a node or of the client: what it sends at its end, and what it receives at the switch's.
    pub(crate) fn shape(&self, who: &str, ways: &[Way], rate_bits_per_s: u64) {
        for way in ways {
            let (space, device) = match way {
                Way::Sending => (who.to_owned(), "eth0".to_owned()),
                Way::Receiving => ("switch".to_owned(), format!("to-{who}")),
            };
            // A bucket of 10 ms at 200 Mb/s: what a sender on a busy machine misses while it waits for a processor.
            let bucket = format!("root tbf rate {rate_bits_per_s}bit burst 256kb latency 50ms");
            self.tc(&format!("-n {space} qdisc replace dev {device} {bucket}"));
        }
    }

    /// Drops a share of what goes over a link, in both directions; 0 ends that. Packets are made small first, since
    /// the kernel carries many as one over such links.
    pub(crate) fn lose(&self, who: &str, share: f64) {
        let ends = [(who.to_owned(), "eth0".to_owned()), ("switch".to_owned(), format!("to-{who}"))];
        for (space, device) in ends {
            let state = if share > 0.0 { "off" } else { "on" };
            let offloads = format!("netns exec {space} ethtool -K {device} tso {state} gso {state} gro {state}");
            self.run(Command::new("ip").args(offloads.split(' ')));
            if share > 0.0 {
                self.tc(&format!("-n {space} qdisc add dev {device} clsact"));
                // A random number; if it is greater, pass (0), else drop (2).
                let below = (share * ALL_PACKETS) as u32;
                let code = format!("4,32 0 0 4294963256,37 0 1 {below},6 0 0 0,6 0 0 2");
                let filter = format!("-n {space} filter add dev {device} ingress bpf da bytecode");
                let mut tc = Command::new("tc");
                tc.args(filter.split(' ')).arg(code);
                self.run(&mut tc);
            } else {
                self.tc(&format!("-n {space} qdisc del dev {device} clsact"));
            }
        }
    }

    /// Holds back what a node's first drive writes; nothing lifts that.
    pub(crate) fn hold_drive(&self, node: u32, bytes_per_s: Option<u64>) {
        let device = &self.devices[node as usize - 1];
        let file = self.group_of("blkio", node).join("blkio.throttle.write_bps_device");
        std::fs::write(&file, format!("{device} {}", bytes_per_s.unwrap_or(0))).expect("a limit of a drive");
    }

    /// Holds back a node's processors; nothing lifts that.
    pub(crate) fn hold_cpu(&self, node: u32, cores: Option<f64>) {
        const PERIOD_US: f64 = 50_000.0;
        let group = self.group_of("cpu", node);
        std::fs::write(group.join("cpu.cfs_period_us"), PERIOD_US.to_string()).expect("a period");
        let quota = cores.map_or(-1.0, |cores| (cores * PERIOD_US).max(1_000.0));
        std::fs::write(group.join("cpu.cfs_quota_us"), quota.to_string()).expect("a quota");
    }

    /// A bench in the client's namespace, which must end within three minutes, and may fail by what it found: a cluster
    /// with a cause in it may be gone for seconds.
    pub(crate) fn bench(&self, folder: &Path, flags: &str) -> Result<View, Failed> {
        let mut limited = Command::new("timeout");
        limited.arg("180");
        let limited = wrapped(limited, &bench_command(folder, &format!("{flags} --yes-load --no-ceiling"), &keys()));
        let output: Output = self.in_client(&limited).output()?;
        let is_judged = output.status.success() || output.status.code() == Some(FAILED_BY_FINDINGS);
        if is_judged { Ok(view(folder)) } else { Err(format!("{flags}: {}", shown(&output)).into()) }
    }

    /// A bench in the client's namespace with these words, whatever comes of it.
    pub(crate) fn bench_of(&self, folder: &Path, flags: &str) -> Result<Output, Failed> {
        let mut limited = Command::new("timeout");
        limited.arg("300");
        let limited = wrapped(limited, &bench_command(folder, flags, &keys()));
        Ok(self.in_client(&limited).output()?)
    }

    /// What an address of a node answers without a signature, asked in the client's namespace.
    pub(crate) fn requested(&self, node: u32, path: &str) -> Result<String, Failed> {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--max-time", "10", &format!("http://{}{path}", host(node))]);
        Ok(String::from_utf8_lossy(&self.in_client(&curl).output()?.stdout).into_owned())
    }

    fn tc(&self, arguments: &str) {
        self.run(Command::new("tc").args(arguments.split(' ')));
    }

    /// Runs a command beside the namespaces, which must end well.
    pub(crate) fn run(&self, command: &mut Command) {
        let output = wrapped(self.inside(), command).output().expect("nsenter runs");
        assert!(output.status.success(), "{command:?}: {}", shown(&output));
    }

    fn group_of(&self, kind: &str, node: u32) -> PathBuf {
        Path::new(GROUPS).join(kind).join(&self.group).join(format!("node{node}"))
    }

    fn in_client(&self, inner: &Command) -> Command {
        self.within("client", inner)
    }

    /// A command in the namespace of a node or of the client.
    pub(crate) fn within(&self, who: &str, inner: &Command) -> Command {
        let mut outer = self.inside();
        outer.args(["ip", "netns", "exec", who]);
        wrapped(outer, inner)
    }

    /// A command beside the namespaces of nodes, which sees them by their names, and this machine's `/sys`.
    pub(crate) fn alongside(&self, inner: &Command) -> Command {
        wrapped(self.inside(), inner)
    }

    /// A command that sees the network namespaces by their names; the program comes next.
    fn inside(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.child.id().to_string(), "--mount"]).stdin(Stdio::null());
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
        // The kernel takes a group's processes out of it a moment after they have ended.
        let gone = || remove_groups(&self.group, self.parts.nodes);
        let _ = (0..50).find(|_| {
            gone() || {
                std::thread::sleep(Duration::from_millis(100));
                false
            }
        });
    }
}

fn make_groups(name: &str, nodes: u32) {
    for kind in ["cpu", "blkio"] {
        for node in 1..=nodes {
            let group = Path::new(GROUPS).join(kind).join(name).join(format!("node{node}"));
            std::fs::create_dir_all(group).expect("a control group");
        }
    }
}

/// Whether none is left.
fn remove_groups(name: &str, nodes: u32) -> bool {
    let mut paths = Vec::new();
    for kind in ["cpu", "blkio"] {
        let all = Path::new(GROUPS).join(kind).join(name);
        paths.extend((1..=nodes).map(|node| all.join(format!("node{node}"))));
        paths.push(all);
    }
    for path in &paths {
        let _ = std::fs::remove_dir(path);
    }
    paths.iter().all(|path| !path.exists())
}

/// `MAJOR:MINOR` of a device.
fn number_of(device: &str) -> String {
    let name = Path::new(device).file_name().expect("a device").to_string_lossy().into_owned();
    let number = std::fs::read_to_string(format!("/sys/block/{name}/dev")).expect("a block device");
    number.trim().to_owned()
}

/// Where a node serves.
pub(crate) fn host(node: u32) -> String {
    format!("10.231.78.{node}:9000")
}

/// A token bucket counts the Ethernet header of a packet and what is behind it. On a wire, a checksum, the preamble and
/// the gap come with each, and a link's speed is told of all that. All links have an MTU of 1500.
pub(crate) fn speed_bits_per_s(rate_bits_per_s: u64) -> f64 {
    rate_bits_per_s as f64 * 1538.0 / 1514.0
}

/// What a site says of such a cluster.
pub(crate) struct Described {
    pub(crate) parts: Parts,
    /// Of each node's link, by its token bucket.
    pub(crate) rate_bits_per_s: u64,
    /// As the site says.
    pub(crate) mtu: u32,
    /// MinIO writes past the page cache, and reads out of it.
    pub(crate) written_bytes_per_s: u64,
    pub(crate) clients: u32,
    pub(crate) client_bits_per_s: u64,
}

/// The site file of a cluster.
pub(crate) fn described(of: &Described) -> String {
    let Parts { nodes, drives, parity, .. } = of.parts;
    let mbit = |rate: u64| speed_bits_per_s(rate) / 1e6;
    format!(
        "nodes:
  name: node
  count: {nodes}
  sockets: 1
  cores: 2
  memory: 8GiB
  drives: {{count: {drives}, capacity: 2560MiB, read: 4GB/s, write: {}B/s, lanes: 0}}
  nics: {{name: eth0, speed: {:.3}Mb/s}}
planes:
  public: {{link: eth0, mtu: {}}}
clients: {{count: {}, speed: {:.3}Mb/s}}
entry: client-side
engine: {{product: minio, protection: EC:{}, tls: false, internal_tls: false}}
data: {{object_size: 4MiB}}
",
        of.written_bytes_per_s,
        mbit(of.rate_bits_per_s),
        of.mtu,
        of.clients,
        mbit(of.client_bits_per_s),
        parity.expect("a stated parity"),
    )
}
