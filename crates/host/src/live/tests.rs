//! Looks at captured machines and at this one, and what the tests of all readings use.

use std::fs;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use super::*;
use crate::clock::since_boot_ms;

/// Puts a file of a captured machine.
pub(super) fn put(root: &Root, path: &str, text: &str) {
    let path = root.0.join(path);
    fs::create_dir_all(path.parent().expect("a path in a folder")).expect("a writable folder");
    fs::write(path, text).expect("a writable folder");
}

/// The line of a process or a thread.
pub(super) fn stat(id: u32, name: &str, ticks: u64, started_ticks: u64) -> String {
    format!("{id} ({name}) S 1 {id} {id} 0 -1 4194304 9 0 0 0 {ticks} 0 0 0 20 0 4 0 {started_ticks} 0 0\n")
}

/// A process of a captured machine.
pub(super) fn engine(root: &Root, pid: u32, name: &str, ticks: u64) {
    put(root, &format!("proc/{pid}/comm"), &format!("{name}\n"));
    put(root, &format!("proc/{pid}/cmdline"), &format!("/usr/bin/{name}\0server\0"));
    put(root, &format!("proc/{pid}/stat"), &stat(pid, name, ticks, u64::from(pid)));
}

/// What one reading gives.
pub(super) fn looked(root: &Root, now_ms: u64, reading: impl FnOnce(&mut Reader<'_>)) -> LiveLook {
    let mut pass = ReadPass::default();
    let mut at = Reader::new(root, now_ms, &mut pass);
    reading(&mut at);
    let Reader { values, remarks, names, .. } = at;
    LiveLook { values, unreadable: pass.unreadable, remarks, names }
}

/// The values of one reading.
pub(super) fn values(
    root: &Root,
    now_ms: u64,
    reading: impl FnOnce(&mut Reader<'_>),
) -> Vec<(ReadMeasure, String, f64)> {
    let found = looked(root, now_ms, reading).values;
    found.into_iter().map(|ReadValue { of, part, value }| (of, part, value)).collect()
}

fn values_of_measure(look: &LiveLook, of: ReadMeasure) -> impl Iterator<Item = &ReadValue> {
    look.values.iter().filter(move |value| value.of == of)
}

fn processor_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).expect("a time since the thread began")
}

/// What all threads of this process have had.
fn process_time() -> Duration {
    Duration::try_from(clock_gettime(ClockId::ProcessCPUTime)).expect("a time since the process began")
}

/// Ticks of all cores by their state, and how many cores there are, by another way than the one under test.
fn stat_of_this_machine() -> (Vec<f64>, usize) {
    let text = fs::read_to_string("/proc/stat").expect("a Linux machine");
    let sum = text.lines().next().expect("a line of all cores").split_whitespace().skip(1);
    let cores = text.lines().filter(|line| line.starts_with("cpu")).count() - 1;
    (sum.map(|column| column.parse().expect("a number")).collect(), cores)
}

#[test]
fn timed_this_machine_is_looked_at_twice_and_what_is_told_of_it_can_be() {
    let root = Root::live();
    let pid = std::process::id();
    let mut state = begin(&root, &LiveRequest { engine_pids: vec![pid], ..LiveRequest::default() });
    let (before, _) = stat_of_this_machine();
    let (began, had) = (Instant::now(), process_time());
    let first = look(&root, &mut state, since_boot_ms());
    while began.elapsed() < Duration::from_millis(700) {
        std::hint::black_box(began.elapsed());
    }
    let second = look(&root, &mut state, since_boot_ms());
    let (over_s, (after, cores)) = (began.elapsed().as_secs_f64(), stat_of_this_machine());
    assert!(
        values_of_measure(&first, ReadMeasure::CoresBusy).next().is_none()
            && values_of_measure(&first, ReadMeasure::Cores).next().is_some()
    );
    let one = |measure| values_of_measure(&second, measure).next().map(|value| value.value);
    let busy: f64 =
        [0, 1, 2, 5, 6].map(|state: usize| after[state] - before[state]).iter().sum::<f64>() / 100.0 / over_s;
    let reported = one(ReadMeasure::CoresBusy).unwrap();
    assert!((reported - busy).abs() < 0.15 * cores as f64, "{reported} of {busy}");
    assert_eq!(one(ReadMeasure::Cores), Some(cores as f64));
    let own = process_time().saturating_sub(had).as_secs_f64() / over_s;
    let reported_own = one(ReadMeasure::EngineCores).unwrap();
    assert!((reported_own - own).abs() < 0.1, "{reported_own} of {own}");
    let busiest = one(ReadMeasure::BusiestCore).unwrap();
    assert!((reported / cores as f64 - 0.1..=1.0).contains(&busiest), "{busiest} with {reported} busy");
    assert!((0.0..1.0).contains(&one(ReadMeasure::MemoryAvailable).unwrap()));
    let names: BTreeSet<&str> = second.values.iter().map(|value| value.part.as_str()).collect();
    assert!(!names.iter().any(|name| name.starts_with("loop") || name.starts_with("zram")), "{names:?}");
    for value in first.values.iter().chain(&second.values) {
        let most = match value.of.amount(0.5).ends_with('%') {
            true => 1.0,
            false => 1e12,
        };
        assert!((0.0..=most).contains(&value.value), "{value:?}");
    }
    assert!(second.unreadable.is_empty() || first.unreadable.is_empty(), "{first:?} {second:?}");
    // Twice so soon: nothing is told again, and a round beside the looks has ended by now.
    std::thread::sleep(Duration::from_millis(50));
    let third = look(&root, &mut state, since_boot_ms() + 2_000);
    assert!(third.unreadable.is_empty() && third.names.is_empty(), "{third:?}");
}

#[test]
fn what_cannot_be_read_is_told_once_and_the_rest_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::captured(folder.path());
    put(&root, "proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\nCached: 300 kB\nDirty: 2 kB\n");
    put(&root, "proc/sys/kernel/hostname", "store-17\n");
    let mut state = begin(&root, &LiveRequest::default());
    let first = look(&root, &mut state, 0);
    assert_eq!(first.values, [ReadValue { of: ReadMeasure::MemoryAvailable, part: String::new(), value: 0.6 }]);
    let paths: Vec<&str> = first.unreadable.iter().map(|fault| fault.path.as_str()).collect();
    assert_eq!(paths, ["proc/stat", "proc/net/snmp", "proc/net/softnet_stat", "proc/diskstats", "proc/net/dev"]);
    assert_eq!(first.names, [PartName { part: String::new(), name: "store-17".to_owned() }]);
    let second = look(&root, &mut state, 1_000);
    assert_eq!((second.values.len(), second.unreadable, second.names), (1, vec![], vec![]));
}

#[test]
fn every_reading_of_a_machine_is_described_once() {
    let of_the_engine_itself = [
        ReadMeasure::ClientSent,
        ReadMeasure::ClientReceived,
        ReadMeasure::InFlight,
        ReadMeasure::Waiting,
        ReadMeasure::RequestErrors,
    ];
    // What only scrapers tell: agents see changes of speed.
    let of_scrapers = [ReadMeasure::LinkCarrierChanges];
    for measure in ReadMeasure::ALL {
        let rows = ABOUT.iter().filter(|about| about.of.contains(&measure)).count();
        assert_eq!(
            rows,
            usize::from(!of_the_engine_itself.contains(&measure) && !of_scrapers.contains(&measure)),
            "{measure:?}"
        );
    }
    for about in ABOUT {
        let texts = [about.name, about.tells, about.cannot, about.needs];
        assert!(texts.iter().all(|text| !text.is_empty() && !text.ends_with('.')), "{about:?}");
        assert!(about.least_ms >= 1_000, "{about:?}");
    }
}

const CORES: u32 = 192;
const DRIVES: u32 = 24;

/// What stands on a machine of 192 cores, 24 drives, 40 interfaces and 16 servers.
fn constants(root: &Root) {
    put(root, "proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 600 kB\nCached: 300 kB\nDirty: 2 kB\n");
    for pid in 100..116 {
        put(root, &format!("proc/{pid}/comm"), "minio\n");
        put(root, &format!("proc/{pid}/cgroup"), &format!("0::/system.slice/minio{pid}.service\n"));
    }
    for link in 0..38 {
        let folder = format!("sys/class/net/eth{link}");
        put(root, &format!("{folder}/speed"), "25000\n");
        put(root, &format!("{folder}/mtu"), "9000\n");
        put(root, &format!("{folder}/device/uevent"), "DRIVER=mlx5_core\n");
    }
    for drive in 0..DRIVES {
        let folder = format!("sys/class/hwmon/hwmon{drive}");
        put(root, &format!("{folder}/name"), "nvme\n");
        put(root, &format!("{folder}/temp1_input"), "45850\n");
        put(root, &format!("{folder}/device/nvme{drive}n1/size"), "1\n");
    }
    for cpu in 0..CORES {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq");
        put(root, &format!("{folder}/scaling_cur_freq"), "2000000\n");
        put(root, &format!("{folder}/cpuinfo_max_freq"), "4000000\n");
    }
}

/// Its counters at a look, a second after the one before.
fn counters(root: &Root, look: u64) {
    let cores: String = (0..CORES)
        .map(|cpu| {
            let (busy, idle) = (look * 60, 1_000 + look * 40);
            format!("cpu{cpu} {busy} 0 {} {idle} 0 0 {} 0 0 0\n", look * 30, look * 10)
        })
        .collect();
    let interrupts = " 12345".repeat(4_000);
    put(root, "proc/stat", &format!("cpu  1 0 0 1\n{cores}intr 99{interrupts}\nctxt 5\n"));
    let drives: String = (0..DRIVES)
        .map(|drive| {
            let n = look * 1_000;
            let disk_line = |name: String| format!(" 259 0 {name} {n} 0 {n} {n} {n} 0 {n} {n} 3 {n} {n} 0 0 0 0 0 0\n");
            [disk_line(format!("nvme{drive}n1")), disk_line(format!("nvme{drive}n1p1"))].concat()
        })
        .collect();
    put(root, "proc/diskstats", &drives);
    let heading = "Inter-| Receive | Transmit\n face |bytes |bytes\n";
    let pods = (0..250).map(|pod| format!("lxc{pod}"));
    let links = (0..38).map(|link| format!("eth{link}")).chain(["bond0".to_owned(), "lo".to_owned()]).chain(pods);
    let line = |name: String| format!("{name}: {0} 1 0 0 0 0 0 0 {0} 1 0 0 0 0 0 0\n", look * 1_000_000);
    put(root, "proc/net/dev", &format!("{heading}{}", links.map(line).collect::<String>()));
    put(root, "proc/net/snmp", &format!("Tcp: OutSegs RetransSegs\nTcp: {} {look}\n", 100 * look));
    let softnet = format!("0d92631e {look:08x} 00000025\n").repeat(CORES as usize);
    put(root, "proc/net/softnet_stat", &softnet);
    for file in ["cpu", "io", "memory"] {
        put(root, &format!("proc/pressure/{file}"), &format!("some avg10=0.00 total={}\n", look * 100_000));
    }
    for pid in 100..116 {
        put(root, &format!("proc/{pid}/stat"), &stat(pid, "minio", look * 100, 1));
        // Threads are read each other look, and a file takes time to write.
        for thread in (0..60).take(if look <= 3 { 60 } else { 0 }) {
            put(root, &format!("proc/{pid}/task/{thread}/stat"), &stat(1_000 * pid + thread, "minio", look * 9, 1));
        }
        let periods = format!("nr_periods {}\nnr_throttled {look}\n", 10 * look);
        put(root, &format!("sys/fs/cgroup/system.slice/minio{pid}.service/cpu.stat"), &periods);
    }
    for link in 0..38 {
        put(root, &format!("sys/class/net/eth{link}/statistics/rx_missed_errors"), &format!("{look}\n"));
    }
}

#[test]
fn a_large_machine_is_read_whole_within_little_time_and_every_measure_of_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let root = Root::captured(folder.path());
    constants(&root);
    counters(&root, 1);
    let mut state = begin(&root, &LiveRequest::default());
    let mut seen = BTreeSet::new();
    let mut most = 0;
    let (mut least_each, mut least_all) = (Duration::MAX, Duration::MAX);
    for second in 1..=11_u64 {
        counters(&root, second);
        let began = processor_time();
        let found = look(&root, &mut state, 1_000 * second);
        let took = processor_time() - began;
        // Of a captured machine, what is read beside the looks is part of the look in which it is due.
        let is_all = second % 10 == 1;
        let least = if is_all { &mut least_all } else { &mut least_each };
        *least = took.min(*least);
        most = most.max(found.values.len());
        seen.extend(found.values.iter().map(|value| value.of));
        assert_eq!(found.unreadable, [], "{second}");
        let busy = found.values.iter().find(|value| value.of == ReadMeasure::CoresBusy);
        assert!(second == 1 || busy.is_some_and(|busy| (busy.value - 192.0).abs() < 0.01), "{busy:?}");
    }
    println!("a look: {least_each:?}; with all that is read each ten seconds: {least_all:?}; most values: {most}");
    let described: BTreeSet<ReadMeasure> = ABOUT.iter().flat_map(|about| about.of).copied().collect();
    let unseen: Vec<_> = described.difference(&seen).collect();
    // Of a captured machine there is no netlink, and these drives have never discarded.
    assert_eq!(unseen, [&ReadMeasure::LinkPaused]);
    assert!(most <= LOOK_VALUES_MAX && least_each < Duration::from_millis(40), "{most} values, {least_each:?}");
}
