//! Fingerprints of a captured machine, to which something happens, and of the machine on which the tests run.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, TcpListener};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use linerate_host::fingerprint::{FingerprintEnd, FingerprintRequest, begin, end};
use linerate_host::{Root, serving};
use linerate_record::reading::QuotaPeriods;

use crate::processor::least_time;

const TARGET: u32 = 20;
const CPU: &str = "sys/devices/system/cpu";

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
    fs::write(path, format!("{text}\n")).expect("a file");
}

fn process(folder: &Path, pid: &str, parent: u32, comm: &str, ticks: u64) {
    let number = if pid == "self" { "10" } else { pid };
    let line = format!("{number} ({comm}) S {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 77 0 0");
    write(folder, &format!("proc/{pid}/stat"), &line);
    write(folder, &format!("proc/{pid}/status"), "Name:\tx\nCpus_allowed_list:\t0-3");
    write(folder, &format!("proc/{pid}/cgroup"), "0::/pods/one");
    let net = folder.join(format!("proc/{pid}/ns/net"));
    if !net.is_symlink() {
        fs::create_dir_all(net.parent().expect("it has one")).expect("a folder");
        symlink("net:[4026531840]", net).expect("a link");
    }
}

/// The sum over processors: in programs, idle, stolen.
fn times(folder: &Path, used: u64, idle: u64, stolen: u64) {
    write(folder, "proc/stat", &format!("cpu  {used} 0 0 {idle} 0 0 0 {stolen} 0 0"));
}

fn throttled(folder: &Path, periods: u64, throttled: u64) {
    let text = format!("usage_usec 1\nnr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec 1");
    write(folder, "sys/fs/cgroup/pods/cpu.stat", &text);
}

/// Four processors, a VLAN on a bond of two, a default route by another interface, a target with a quota above it.
fn machine(folder: &Path) -> Root {
    for (path, text) in [
        ("proc/sys/kernel/osrelease", "6.12.1"),
        ("proc/sys/kernel/version", "#1 SMP"),
        ("proc/sys/kernel/random/boot_id", "1111"),
        ("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc"),
        ("sys/fs/cgroup/pods/one/cpu.max", "max 100000"),
        ("sys/fs/cgroup/pods/cpu.max", "200000 100000"),
        ("sys/class/net/eth9/mtu", "1500"),
        ("sys/class/net/bond0.7/mtu", "9000"),
        ("sys/class/net/bond0.7/lower_bond0/mtu", "9000"),
        ("sys/class/net/bond0/mtu", "9000"),
        ("sys/class/net/bond0/speed", "50000"),
        ("sys/class/net/bond0/lower_eth0/mtu", "9000"),
        ("sys/class/net/bond0/lower_eth1/mtu", "9000"),
        ("sys/class/net/bond0/bonding/slaves", "eth1 eth0"),
        ("sys/class/net/bond0/bonding/active_slave", ""),
        ("sys/class/net/eth0/speed", "25000"),
        ("sys/class/net/eth0/duplex", "full"),
        ("sys/class/net/eth0/carrier_changes", "4"),
        ("sys/class/net/eth0/device/uevent", "DRIVER=mlx5_core\nPCI_CLASS=20000"),
        ("sys/class/net/eth0/bonding_slave/mii_status", "up"),
        ("sys/class/net/eth1/speed", "-1"),
        ("sys/class/net/eth1/carrier_changes", "2"),
        ("sys/class/net/eth1/bonding_slave/mii_status", "up"),
        ("proc/20/exe", "the program"),
    ] {
        write(folder, path, text);
    }
    write(folder, &format!("{CPU}/online"), "0-3");
    for cpu in 0..4 {
        write(folder, &format!("{CPU}/cpu{cpu}/thermal_throttle/core_throttle_count"), "3");
        write(folder, &format!("{CPU}/cpufreq/policy{cpu}/scaling_governor"), "performance");
    }
    let hex = |address: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(address));
    let (ten, mask, none) = (hex([10, 7, 0, 0]), hex([255, 255, 0, 0]), hex([0; 4]));
    let routes = format!("Iface Destination\neth9 {none} 0 3 0 0 0 {none} 0 0 0\nbond0.7 {ten} 0 1 0 0 0 {mask} 0 0 0");
    write(folder, "proc/net/route", &routes);
    process(folder, "self", 1, "linerate", 100);
    process(folder, "10", 1, "linerate", 100);
    process(folder, "20", 1, "minio", 1000);
    process(folder, "30", 1, "cron", 5);
    times(folder, 2000, 8000, 0);
    throttled(folder, 100, 7);
    Root::captured(folder)
}

/// What stood and what happened, by key: figures as they are, so that what moves one is seen.
fn by_key(ended: FingerprintEnd) -> BTreeMap<String, String> {
    let FingerprintEnd { mut static_keys, flaps, meanwhile } = ended;
    static_keys.extend(flaps);
    let per_mille = |share: f64| format!("{:.0} per mille", share * 1000.0);
    let cut = |quotas: &[QuotaPeriods]| quotas.iter().map(|quota| quota.throttled).sum::<u64>().to_string();
    let shares = meanwhile.processors;
    let figures = [
        ("stolen", shares.map_or("unreadable".to_owned(), |shares| per_mille(shares.stolen))),
        ("foreign_load", shares.map_or("unreadable".to_owned(), |shares| per_mille(shares.foreign))),
        ("throttled", format!("{:?}", meanwhile.slowed)),
        ("cgroup.throttled", cut(&meanwhile.client_quotas)),
        ("target.cgroup.throttled", meanwhile.target_quotas.as_deref().map_or("no target".to_owned(), cut)),
    ];
    static_keys.extend(figures.map(|(key, figure)| (key.to_owned(), figure)));
    static_keys
}

/// A fingerprint of the machine, during which something happens.
fn during(happens: impl Fn(&Path)) -> BTreeMap<String, String> {
    let dir = tempfile::tempdir().expect("a folder");
    let root = machine(dir.path());
    let hosts: [IpAddr; 2] = ["10.7.0.9".parse().expect("an address"), "127.0.0.1".parse().expect("an address")];
    let begun = begin(&root, &FingerprintRequest { target_pid: Some(TARGET), target_hosts: &hosts });
    times(dir.path(), 2300, 8700, 0);
    happens(dir.path());
    let mut print = by_key(end(begun, &root));
    // The file is another in each folder.
    assert!(print.remove("target.program").is_some_and(|file| file.contains("12 bytes")));
    print
}

#[test]
fn a_captured_machine_to_which_nothing_happens_is_told_by_every_key() {
    let print = during(|_| ());
    let expected = [
        ("affinity", "0-3"),
        ("boot", "1111"),
        ("cgroup.throttled", "0"),
        ("client.cgroup", "200000 of 100000 us"),
        ("client.netns", "net:[4026531840]"),
        ("clocksource", "tsc"),
        ("foreign_load", "300 per mille"),
        ("frequency.governor", "performance"),
        ("interfaces", "bond0.7, lo"),
        ("kernel", "6.12.1 #1 SMP"),
        ("nic.bond0.7.driver", "not stated"),
        ("nic.bond0.7.duplex", "not stated"),
        ("nic.bond0.7.mtu", "9000"),
        ("nic.bond0.7.speed", "not stated"),
        ("nic.bond0.active", "eth0, eth1"),
        ("nic.bond0.driver", "not stated"),
        ("nic.bond0.duplex", "not stated"),
        ("nic.bond0.mtu", "9000"),
        ("nic.bond0.speed", "50000 Mb/s"),
        ("nic.eth0.driver", "mlx5_core"),
        ("nic.eth0.duplex", "full"),
        ("nic.eth0.flaps", "0"),
        ("nic.eth0.mtu", "not stated"),
        ("nic.eth0.speed", "25000 Mb/s"),
        ("nic.eth1.driver", "not stated"),
        ("nic.eth1.duplex", "not stated"),
        ("nic.eth1.flaps", "0"),
        ("nic.eth1.mtu", "not stated"),
        ("nic.eth1.speed", "not stated"),
        ("nic.lo.driver", "not stated"),
        ("nic.lo.duplex", "not stated"),
        ("nic.lo.mtu", "not stated"),
        ("nic.lo.speed", "not stated"),
        ("processors", "0-3"),
        ("stolen", "0 per mille"),
        ("target.affinity", "0-3"),
        ("target.cgroup", "200000 of 100000 us"),
        ("target.cgroup.throttled", "0"),
        ("target.netns", "net:[4026531840]"),
        ("target.started", "at tick 77"),
        ("throttled", "Some(false)"),
    ];
    let expected: BTreeMap<String, String> = expected.map(|(k, v)| (k.to_owned(), v.to_owned())).into();
    assert_eq!(print, expected);
}

#[test]
fn what_happens_during_a_cell_is_told_by_its_key_and_by_no_other() {
    type Case<'a> = (&'a dyn Fn(&Path), &'a [(&'a str, &'a str)]);
    let cases: [Case; 9] = [
        // The measurement's own 300 ticks are not foreign.
        (&|dir| process(dir, "20", 1, "minio", 1300), &[("foreign_load", "0 per mille")]),
        (&|dir| process(dir, "10", 1, "linerate", 400), &[("foreign_load", "0 per mille")]),
        (&|dir| process(dir, "30", 1, "cron", 305), &[]),
        (&|dir| times(dir, 2300, 8650, 50), &[("stolen", "50 per mille")]),
        (
            &|dir| write(dir, &format!("{CPU}/cpu2/thermal_throttle/core_throttle_count"), "4"),
            &[("throttled", "Some(true)")],
        ),
        (&|dir| throttled(dir, 200, 8), &[("cgroup.throttled", "1"), ("target.cgroup.throttled", "1")]),
        (
            &|dir| {
                write(dir, "sys/class/net/eth1/carrier_changes", "3");
                write(dir, "sys/class/net/eth1/bonding_slave/mii_status", "down");
            },
            &[("nic.eth1.flaps", "1"), ("nic.bond0.active", "eth0, eth1, then eth0")],
        ),
        (&|dir| write(dir, "sys/class/net/bond0/mtu", "1500"), &[("nic.bond0.mtu", "9000, then 1500")]),
        (
            &|dir| write(dir, "proc/20/stat", "20 (minio) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99 0 0"),
            &[("target.started", "at tick 77, then at tick 99")],
        ),
    ];
    let calm = during(|_| ());
    for (number, (happens, expected)) in cases.iter().enumerate() {
        let print = during(happens);
        let moved: BTreeMap<&str, &str> = print
            .iter()
            .filter(|(key, value)| calm.get(*key) != Some(value))
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        assert_eq!(moved, expected.iter().copied().collect(), "case {number}");
        assert!(calm.keys().eq(print.keys()), "case {number}");
    }
}

#[test]
fn a_target_that_is_gone_and_a_machine_without_files_are_told_and_cost_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    let root = Root::captured(dir.path());
    let requested = FingerprintRequest { target_pid: Some(4), target_hosts: &["10.0.0.1".parse().unwrap()] };
    let print = by_key(end(begin(&root, &requested), &root));
    assert_eq!(print["target.started"], "no such process");
    assert_eq!(print["kernel"], "not stated not stated");
    assert!(print["interfaces"].starts_with("no route to 10.0.0.1"), "{print:?}");
    assert_eq!(print["foreign_load"], "unreadable");
}

#[test]
fn this_machine_is_the_same_twice() {
    let hosts: Vec<IpAddr> = vec!["127.0.0.1".parse().unwrap(), "192.0.2.77".parse().unwrap()];
    let requested = FingerprintRequest { target_pid: Some(std::process::id()), target_hosts: &hosts };
    let print = || {
        let begun = begin(&Root::live(), &requested);
        std::thread::sleep(Duration::from_millis(100));
        let mut print = by_key(end(begun, &Root::live()));
        // Whoever else is on the machine may begin and end meanwhile.
        for key in ["foreign_load", "stolen", "cgroup.throttled", "target.cgroup.throttled"] {
            assert!(print.remove(key).is_some(), "{key}");
        }
        print
    };
    let (one, other) = (print(), print());
    assert_eq!(one, other);
    assert_eq!(one["nic.lo.mtu"], fs::read_to_string("/sys/class/net/lo/mtu").unwrap().trim());
    assert_eq!(one["client.netns"], one["target.netns"]);
    assert!(one["interfaces"].contains("lo"), "{one:?}");
    assert!(!one.values().any(|value| value.starts_with("unreadable") || value.contains(", then ")), "{one:?}");
}

#[test]
fn what_others_do_with_the_processors_is_foreign() {
    let cpus = std::thread::available_parallelism().unwrap();
    // The shell ends at once, so that its children are not this process's any more.
    let line = format!("for i in $(seq {cpus}); do timeout 1 sh -c 'while :; do :; done' & done");
    let shell = Command::new("sh").args(["-c", &line]).stdin(Stdio::null()).status().unwrap();
    assert!(shell.success());
    let begun = begin(&Root::live(), &FingerprintRequest::default());
    std::thread::sleep(Duration::from_millis(700));
    let shares = end(begun, &Root::live()).meanwhile.processors.expect("proc/stat is there");
    assert!(shares.foreign >= 0.25, "{shares:?}");
}

#[test]
fn the_process_behind_a_port_of_this_machine_is_this_one() {
    for at in ["127.0.0.1:0", "0.0.0.0:0", "[::1]:0", "[::]:0"] {
        // Without IPv6 there is nothing to find.
        let Ok(listener) = TcpListener::bind(at) else { continue };
        let mut host = listener.local_addr().unwrap();
        if host.ip().is_unspecified() {
            host.set_ip("127.0.0.1".parse().unwrap());
        }
        let found = serving(&Root::live(), &[host]).expect("this process listens");
        assert_eq!((found.pid, found.own_network), (std::process::id(), false), "{at}");
        drop(listener);
        assert_eq!(serving(&Root::live(), &[host]), None, "{at}");
    }
}

#[test]
fn finding_it_among_a_thousand_processes_costs_less_than_a_tenth_of_a_second() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let host = listener.local_addr().unwrap();
    let processes = fs::read_dir("/proc").unwrap().count();
    let allowed = Duration::from_millis(100) * u32::try_from(processes.div_ceil(1000)).unwrap();
    let fastest = least_time(10, |_| serving(&Root::live(), &[host]));
    assert!(fastest < allowed, "{fastest:?}, allowed {allowed:?}");
}
