//! Settings of captured machines and of the machine on which the tests run.

use linerate_record::knob::{Domain, Layer, RelievedResource, Scope, TakesEffect};

use super::*;

/// A row with what matters here.
pub(crate) fn knob(id: &'static str, locator: Locator, scope: Scope) -> Knob {
    Knob {
        id,
        layer: Layer::Vm,
        locator,
        scope,
        takes_effect: TakesEffect::AtOnce,
        takes: Domain::Text("a value"),
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
        owned_by: None,
    }
}

fn place(knob: &Knob, device: Option<&str>) -> SettingId {
    SettingId { knob: knob.id.to_owned(), device: device.map(str::to_owned), space: Space::Host }
}

const RMEM: Locator = Locator::Sysctl { name: "net.ipv4.tcp_rmem" };
const SCHEDULER: Locator = Locator::Sysfs { path: "block/{disk}/queue/scheduler" };
const RPS: Locator = Locator::Sysfs { path: "class/net/{nic}/queues/rx-*/rps_cpus" };

/// A captured machine with a few files.
fn captured(files: &[(&str, &str)]) -> (tempfile::TempDir, Root) {
    let dir = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let root = Root::captured(dir.path());
    (dir, root)
}

#[test]
fn a_capture_is_read_changed_and_put_back_byte_for_byte() {
    let files = [
        ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
        ("sys/block/sda/queue/scheduler", "[none] mq-deadline kyber\n"),
        ("sys/block/sda/queue/nr_requests", "64\n"),
        ("sys/class/net/eth0/device/vendor", "0x1\n"),
        ("sys/class/net/eth0/queues/rx-0/rps_cpus", "0\n"),
        ("sys/class/net/eth0/queues/rx-1/rps_cpus", "f\n"),
    ];
    let (dir, root) = captured(&files);
    let cases = [(RMEM, None, "4096 131072 33554432"), (SCHEDULER, Some("sda"), "kyber"), (RPS, Some("eth0"), "3")];
    for (locator, device, new) in cases {
        let knob = knob("x", locator, Scope::Host);
        let place = place(&knob, device);
        let Before { value: prior, coupled, devices } = read_with_coupled(&root, &knob, &place, None).unwrap();
        let target = SettingTarget { root: &root, knob: &knob, place: &place, net: None, devices: &devices };
        let (now, became) = write(&target, new).unwrap();
        assert!(same(&locator, &now, new), "{locator}: {now:?}");
        let back = restore_value(&target, &prior, &coupled, &became).unwrap();
        assert_eq!(back, prior, "{locator}");
    }
    for (path, text) in files {
        assert_eq!(std::fs::read_to_string(dir.path().join(path)).unwrap(), text, "{path}");
    }
}

#[test]
fn settings_are_read_of_every_device_and_what_is_missing_says_why() {
    let (_dir, root) = captured(&[
        ("sys/block/sda/queue/scheduler", "[none] mq-deadline\n"),
        ("sys/block/loop0/queue/scheduler", "[none]\n"),
        ("sys/class/net/eth0/device/vendor", "0x1\n"),
        ("sys/class/net/eth0/mtu", "9000\n"),
        ("sys/class/net/lo/mtu", "65536\n"),
        ("proc/1/mounts", "/dev/sdb /data xfs rw,noatime,logbufs=8 0 0\n"),
        ("proc/cmdline", "ro quiet skew_tick=1\n"),
    ]);
    let knobs = [
        knob("scheduler", SCHEDULER, Scope::Device),
        knob("mtu", Locator::Mtu, Scope::Device),
        knob("rmem", RMEM, Scope::NetworkNamespace),
        knob("logbufs", Locator::MountOption { fs: "xfs", option: "logbufs" }, Scope::Mount),
        knob("skew", Locator::BootArgument { name: "skew_tick" }, Scope::Host),
        knob("chart", Locator::HelmValue { chart: "cilium", path: "x" }, Scope::Cluster),
        knob("gro", Locator::Offload { feature: "rx-gro" }, Scope::Device),
    ];
    let all = read_all(&root, &Space::Host, &knobs);
    let reported: Vec<String> =
        all.iter().map(|s| format!("{} {:?}", s.place, s.value.as_deref().unwrap_or("-"))).collect();
    assert_eq!(
        reported,
        [
            "scheduler of sda \"none\"",
            "mtu of eth0 \"9000\"",
            "rmem \"-\"",
            "logbufs of /data \"8\"",
            "skew \"1\"",
            "chart \"-\"",
            "gro of eth0 \"-\""
        ]
    );
    assert_eq!(all[0].choices, ["none", "mq-deadline"]);
    assert_eq!(all[2].missing, Some(Missing::Absent));
    assert!(matches!(all[5].missing, Some(Missing::Unreadable(_))));
}

#[test]
fn values_with_line_breaks_and_devices_that_are_paths_are_refused() {
    let (dir, root) =
        captured(&[("proc/sys/vm/swappiness", "60\n"), ("sys/block/sda/queue/scheduler", "[none] bfq\n")]);
    let swappiness = knob("vm.swappiness", Locator::Sysctl { name: "vm.swappiness" }, Scope::Host);
    let written = |knob: &Knob, device: Option<&str>, value: &str| {
        let place = place(knob, device);
        write(&SettingTarget { root: &root, knob, place: &place, net: None, devices: &[] }, value)
    };
    for value in ["1\n2", "1\r", "\u{1b}[31m", "a\0b", &"9".repeat(5000)] {
        let error = written(&swappiness, None, value).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{value:?}");
    }
    let scheduler = knob("block.scheduler", SCHEDULER, Scope::Device);
    for device in [None, Some("../sda"), Some("sda/queue"), Some("..")] {
        assert!(written(&scheduler, device, "bfq").is_err(), "{device:?}");
        assert!(read(&root, &scheduler, &place(&scheduler, device)).value.is_none(), "{device:?}");
    }
    assert!(
        read(&root, &swappiness, &place(&swappiness, Some("sda"))).value.is_none(),
        "it does not belong to a device"
    );
    assert_eq!(std::fs::read_to_string(dir.path().join("proc/sys/vm/swappiness")).unwrap(), "60\n");
}

#[test]
fn what_the_cni_owns_is_known_by_its_row_its_name_and_its_namespace() {
    let (_dir, root) = captured(&[
        ("sys/class/net/vetha/master/uevent", "INTERFACE=cni0\nIFINDEX=3\n"),
        ("sys/class/net/vethb/master/uevent", "INTERFACE=bond0\nIFINDEX=3\n"),
    ]);
    let mtu = knob("nic.mtu", Locator::Mtu, Scope::Device);
    let mut forward = knob("net.ipv4.ip_forward", Locator::Sysctl { name: "net.ipv4.ip_forward" }, Scope::Host);
    forward.owned_by = Some("the CNI");
    assert_eq!(owner(&root, &forward, &place(&forward, None)).unwrap(), "it belongs to the CNI");
    let cases = [("cilium_host", true), ("lxc12ab", true), ("cali0", true), ("cni0", true), ("vetha", true)];
    for (device, owned) in cases.into_iter().chain([("vethb", false), ("eth0", false), ("bond0", false)]) {
        assert_eq!(owner(&root, &mtu, &place(&mtu, Some(device))).is_some(), owned, "{device}");
    }
    for (space, owned) in
        [(Space::Pid(1), true), (Space::Netns("cni-1234".to_owned()), true), (Space::Netns("lab".to_owned()), false)]
    {
        let place = SettingId { space, ..place(&mtu, Some("eth0")) };
        assert_eq!(owner(&root, &mtu, &place).is_some(), owned, "{place}");
    }
}

#[test]
fn this_machine_reads_as_its_files_say() {
    let root = Root::live();
    let kernel = knob("kernel.version", Locator::KernelVersion, Scope::Host);
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    assert_eq!(read(&root, &kernel, &place(&kernel, None)).value.unwrap(), release.trim());
    let swappiness = knob("vm.swappiness", Locator::Sysctl { name: "vm.swappiness" }, Scope::Host);
    let stated = std::fs::read_to_string("/proc/sys/vm/swappiness").unwrap();
    assert_eq!(read(&root, &swappiness, &place(&swappiness, None)).value.unwrap(), stated.trim());
    let limit = knob("limits.nofile", Locator::Limit { name: "Max open files" }, Scope::Process);
    let own = SettingId { space: Space::Pid(std::process::id()), ..place(&limit, None) };
    assert!(read(&root, &limit, &own).value.is_some());
    let gone = SettingId { space: Space::Netns("none-such".to_owned()), ..place(&swappiness, None) };
    assert_eq!(read(&root, &swappiness, &gone).missing, Some(Missing::Absent));
}
