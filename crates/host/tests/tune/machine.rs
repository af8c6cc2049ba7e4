//! A captured machine of 30 settings, the catalogue that describes them, and changes of all.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use linerate_host::Root;
use linerate_host::apply::{Applied, ApplyContext, ApplyStep, ApplyTerms, TuneError, apply, machine_hash};
use linerate_host::journal::JournalFolder;
use linerate_record::knob::domain::number;
use linerate_record::knob::{
    CHANGES_SCHEMA, Change, ChangeSet, Domain, Knob, Layer, Locator, RelievedResource, Scope, SettingId, Space,
    TakesEffect,
};

/// Id, locator, device, file, prior text, new value.
type Row = (&'static str, Locator, Option<&'static str>, &'static str, &'static str, &'static str);

const fn sysctl(name: &'static str) -> Locator {
    Locator::Sysctl { name }
}

const fn sysfs(path: &'static str) -> Locator {
    Locator::Sysfs { path }
}

const SCHEDULER: Locator = sysfs("block/{disk}/queue/scheduler");
const READAHEAD: Locator = sysfs("block/{disk}/queue/read_ahead_kb");
const REQUESTS: Locator = sysfs("block/{disk}/queue/nr_requests");
const AFFINITY: Locator = sysfs("block/{disk}/queue/rq_affinity");
const GOVERNOR: Locator = sysfs("devices/system/cpu/{cpu}/cpufreq/scaling_governor");
const THP: Locator = sysfs("kernel/mm/transparent_hugepage/enabled");

pub(crate) const ROWS: [Row; 31] = [
    ("vm.swappiness", sysctl("vm.swappiness"), None, "proc/sys/vm/swappiness", "60", "10"),
    ("vm.max_map_count", sysctl("vm.max_map_count"), None, "proc/sys/vm/max_map_count", "65530", "262144"),
    ("vm.min_free_kbytes", sysctl("vm.min_free_kbytes"), None, "proc/sys/vm/min_free_kbytes", "67584", "131072"),
    ("vm.dirty_ratio", sysctl("vm.dirty_ratio"), None, "proc/sys/vm/dirty_ratio", "20", "10"),
    ("kernel.pid_max", sysctl("kernel.pid_max"), None, "proc/sys/kernel/pid_max", "32768", "4194304"),
    ("kernel.numa_balancing", sysctl("kernel.numa_balancing"), None, "proc/sys/kernel/numa_balancing", "1", "0"),
    ("fs.nr_open", sysctl("fs.nr_open"), None, "proc/sys/fs/nr_open", "1048576", "2097152"),
    ("fs.file-max", sysctl("fs.file-max"), None, "proc/sys/fs/file-max", "9223372036854775807", "10000000"),
    ("net.core.rmem_max", sysctl("net.core.rmem_max"), None, "proc/sys/net/core/rmem_max", "212992", "16777216"),
    ("net.core.wmem_max", sysctl("net.core.wmem_max"), None, "proc/sys/net/core/wmem_max", "212992", "16777216"),
    ("net.core.somaxconn", sysctl("net.core.somaxconn"), None, "proc/sys/net/core/somaxconn", "4096", "32768"),
    ("net.core.netdev_budget", sysctl("net.core.netdev_budget"), None, "proc/sys/net/core/netdev_budget", "300", "600"),
    (
        "net.core.default_qdisc",
        sysctl("net.core.default_qdisc"),
        None,
        "proc/sys/net/core/default_qdisc",
        "fq",
        "fq_codel",
    ),
    (
        "net.ipv4.tcp_rmem",
        sysctl("net.ipv4.tcp_rmem"),
        None,
        "proc/sys/net/ipv4/tcp_rmem",
        "4096\t131072\t6291456",
        "4096 131072 33554432",
    ),
    (
        "net.ipv4.tcp_wmem",
        sysctl("net.ipv4.tcp_wmem"),
        None,
        "proc/sys/net/ipv4/tcp_wmem",
        "4096\t16384\t4194304",
        "4096\t16384\t33554432",
    ),
    ("net.ipv4.tcp_sack", sysctl("net.ipv4.tcp_sack"), None, "proc/sys/net/ipv4/tcp_sack", "1", "0"),
    (
        "net.ipv4.ip_local_port_range",
        sysctl("net.ipv4.ip_local_port_range"),
        None,
        "proc/sys/net/ipv4/ip_local_port_range",
        "32768\t60999",
        "10000 60999",
    ),
    ("thp", THP, None, "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never", "never"),
    ("block.scheduler", SCHEDULER, Some("sda"), "sys/block/sda/queue/scheduler", "[none] mq-deadline", "mq-deadline"),
    ("block.scheduler", SCHEDULER, Some("sdb"), "sys/block/sdb/queue/scheduler", "none [bfq] kyber", "none"),
    ("block.readahead", READAHEAD, Some("sda"), "sys/block/sda/queue/read_ahead_kb", "128", "4096"),
    ("block.readahead", READAHEAD, Some("sdb"), "sys/block/sdb/queue/read_ahead_kb", "128", "1024"),
    ("block.requests", REQUESTS, Some("sda"), "sys/block/sda/queue/nr_requests", "64", "1024"),
    ("block.affinity", AFFINITY, Some("sda"), "sys/block/sda/queue/rq_affinity", "1", "2"),
    ("block.affinity", AFFINITY, Some("sdb"), "sys/block/sdb/queue/rq_affinity", "1", "2"),
    (
        "governor",
        GOVERNOR,
        Some("cpu0"),
        "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
        "powersave",
        "performance",
    ),
    (
        "governor",
        GOVERNOR,
        Some("cpu1"),
        "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor",
        "schedutil",
        "performance",
    ),
    ("nic.mtu", Locator::Mtu, Some("eth0"), "sys/class/net/eth0/mtu", "1500", "9000"),
    ("nic.mtu", Locator::Mtu, Some("eth1"), "sys/class/net/eth1/mtu", "1500", "9000"),
    (
        "nic.flush",
        sysfs("class/net/{nic}/gro_flush_timeout"),
        Some("eth0"),
        "sys/class/net/eth0/gro_flush_timeout",
        "0",
        "20000",
    ),
    // As on `captures/many-processors-6.1`, which groups what it is given.
    (
        "nic.rps",
        sysfs("class/net/{nic}/queues/rx-*/rps_cpus"),
        Some("eth0"),
        "sys/class/net/eth0/queues/rx-0/rps_cpus",
        "00000000,00000000",
        "ff",
    ),
];

static KNOBS: LazyLock<Vec<Knob>> = LazyLock::new(|| {
    let owned = ("net.ipv4.ip_forward", sysctl("net.ipv4.ip_forward"), Some("the CNI"));
    let fixed = ("kernel.version", Locator::KernelVersion, None);
    let rows = ROWS.iter().map(|row| (row.0, row.1, None));
    rows.chain([owned, fixed]).map(|(id, locator, owned_by)| knob(id, locator, owned_by)).collect()
});

fn knob(id: &'static str, locator: Locator, owned_by: Option<&'static str>) -> Knob {
    Knob {
        id,
        layer: Layer::Vm,
        locator,
        scope: if locator.device_class().is_some() { Scope::Device } else { Scope::Host },
        takes_effect: TakesEffect::AtOnce,
        takes: if locator == Locator::Mtu { number(68, 65_535) } else { Domain::Text("a value") },
        default: "",
        summary: "",
        why: "",
        relief: RelievedResource::Nothing,
        relieves: "",
        risk: "",
        sources: &[],
        since: None,
        until: None,
        also_called: &[],
        owned_by,
    }
}

fn find(id: &str) -> Option<&'static Knob> {
    KNOBS.iter().find(|knob| knob.id == id)
}

/// A folder for one machine: in memory where there is such a place, because thousands of journals are synced here.
pub(crate) fn scratch() -> tempfile::TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("the machine is the test's own")
}

/// A new machine in a folder of its own.
pub(crate) fn made() -> (tempfile::TempDir, Machine) {
    let dir = scratch();
    let machine = Machine::make(dir.path());
    (dir, machine)
}

/// A captured machine and the folder of its journals, beside each other.
pub(crate) struct Machine {
    folder: PathBuf,
    pub(crate) root: Root,
    pub(crate) state: JournalFolder,
}

impl Machine {
    /// Writes one into a folder.
    pub(crate) fn make(folder: &Path) -> Machine {
        let put = |path: &str, text: &str| {
            let path = folder.join("root").join(path);
            std::fs::create_dir_all(path.parent().expect("the machine is the test's own"))
                .expect("the machine is the test's own");
            std::fs::write(path, format!("{text}\n")).expect("the machine is the test's own");
        };
        for (_, _, _, path, prior, _) in ROWS {
            put(path, prior);
        }
        put("etc/machine-id", "0123456789abcdef0123456789abcdef");
        put("proc/sys/kernel/random/boot_id", "11111111-1111-1111-1111-111111111111");
        put("proc/sys/net/ipv4/ip_forward", "1");
        put("sys/class/net/cilium_host/mtu", "1500");
        Machine::at(folder)
    }

    /// The one that is in a folder.
    pub(crate) fn at(folder: &Path) -> Machine {
        let root = Root::captured(folder.join("root"));
        Machine {
            folder: folder.to_owned(),
            root,
            state: JournalFolder::open(folder.join("state")).expect("the machine is the test's own"),
        }
    }

    pub(crate) fn apply_context(&self) -> ApplyContext<'_> {
        ApplyContext { root: &self.root, state: &self.state, find: &find }
    }

    /// Every file of the machine, by its path.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.folder.join("root")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("the machine is the test's own") {
                let path = entry.expect("the machine is the test's own").path();
                if path.is_dir() {
                    folders.push(path);
                } else if !path.file_name().expect("the machine is the test's own").to_string_lossy().ends_with(".new")
                {
                    files.insert(path.clone(), std::fs::read(path).expect("the machine is the test's own"));
                }
            }
        }
        files
    }

    pub(crate) fn text(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.join("root").join(path))
            .expect("the machine is the test's own")
            .trim_end()
            .to_owned()
    }

    pub(crate) fn set(&self, path: &str, text: &str) {
        std::fs::write(self.folder.join("root").join(path), format!("{text}\n"))
            .expect("the machine is the test's own");
    }

    /// The same for a file in a folder that may not be there yet.
    pub(crate) fn set_new(&self, path: &str, text: &str) {
        let folder = self.folder.join("root").join(path);
        std::fs::create_dir_all(folder.parent().expect("the machine is the test's own"))
            .expect("the machine is the test's own");
        self.set(path, text);
    }

    /// Changes of all settings.
    pub(crate) fn changes(&self) -> ChangeSet {
        let change = |&(id, _, device, _, prior, new): &Row| {
            let chosen = prior.split(' ').find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
            Change {
                place: SettingId { knob: id.to_owned(), device: device.map(str::to_owned), space: Space::Host },
                prior: chosen.unwrap_or(prior).to_owned(),
                new: new.to_owned(),
                scope: Scope::Host,
                takes_effect: TakesEffect::AtOnce,
                why: String::new(),
                risk: String::new(),
            }
        };
        ChangeSet {
            schema: CHANGES_SCHEMA,
            machine: machine_hash(&self.root).expect("the machine is the test's own"),
            profile: "test".to_owned(),
            changes: ROWS.iter().map(change).collect(),
            spaces: Vec::new(),
        }
    }

    /// Applies changes under a name, for an hour.
    pub(crate) fn apply(
        &self,
        set: &ChangeSet,
        id: &str,
        step: &mut dyn FnMut(ApplyStep),
    ) -> Result<Applied, TuneError> {
        let terms =
            ApplyTerms { id: id.to_owned(), root: None, within: Duration::from_secs(3600), owner: None, wave: None };
        apply(&self.apply_context(), set, &terms, &mut |_| Ok(Vec::new()), step)
    }

    /// Lets the time of an application be over. Its journal stays as long as it is, as time alone leaves it.
    pub(crate) fn let_time_pass(&self, id: &str) {
        let path = self.state.path().join(format!("{id}.journal"));
        let text = std::fs::read_to_string(&path).expect("the machine is the test's own");
        let (before, after) = text.split_once("\"deadline_since_boot_ms\":").expect("the machine is the test's own");
        let digits = after.chars().take_while(char::is_ascii_digit).count();
        let over = format!("{:<digits$}", 0);
        std::fs::write(path, format!("{before}\"deadline_since_boot_ms\":{over}{}", &after[digits..]))
            .expect("the machine is the test's own");
    }
}
