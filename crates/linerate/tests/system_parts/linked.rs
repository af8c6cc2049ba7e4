//! Links between machines that are namespaces on one switch: figures as iperf3's, losses as the kernel counts them, and
//! what was planted is named. Loads that are no streams: `linked/loads.rs`; how long packets may be: `linked/paths.rs`;
//! many that send to one, and one slow pair of many: `linked/planted.rs`; racks and their uplinks: `linked/racked.rs`;
//! datagrams that a third party forges: `linked/reflected.rs`; two machines without a file: `linked/two.rs`.

mod loads;
mod paths;
mod planted;
mod racked;
mod reflected;
mod two;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use linerate_analysis::net::view::{NetLimit, NetLimitedBy, NetPairFigures, NetSide, NetView};
use linerate_record::net::{NetPair, NetSent, NetVisit};
use tempfile::{TempDir, tempdir};

use crate::running::{linerate, shown, words};

type Check = fn() -> Result<(), Failed>;

const NEEDS: &[&str] = &["root", "ip", "tc"];

pub(crate) const CHECKS: [(&str, &[&str], Check); 17] = [
    ("net_agrees_with_iperf3_on_shaped_links", &["root", "ip", "tc", "iperf3"], as_iperf3),
    ("net_counts_losses_as_the_kernel_does", NEEDS, losses),
    ("net_names_a_slow_machine_and_a_slow_pair", NEEDS, slow),
    ("net_says_who_limits_a_flow", NEEDS, limits),
    ("net_datagrams_agree_with_iperf3_and_the_queue", &["root", "ip", "tc", "iperf3"], loads::datagrams_as_iperf3),
    ("net_sends_datagrams_at_once_and_falls_back", NEEDS, loads::bursts_and_singles),
    ("net_requests_agree_with_bare_round_trips", &["root", "ip", "tc", "python3"], loads::requests_as_round_trips),
    ("net_names_an_mtu_black_hole_with_its_side", NEEDS, paths::black_holes),
    ("net_names_interfaces_that_send_more_than_others_take", NEEDS, paths::mismatches),
    ("net_tells_what_a_router_says_of_its_mtu_from_a_black_hole", NEEDS, paths::routers),
    ("net_goes_on_without_a_machine_that_is_lost", NEEDS, lost),
    ("net_names_incast_and_counts_its_losses_as_the_queue_does", NEEDS, planted::incast),
    ("net_names_one_slow_direction_of_one_pair_of_eight_machines", NEEDS, planted::slow_pair),
    ("net_names_racks_whose_uplinks_carry_half_of_what_their_machines_send", NEEDS, racked::uplinks),
    ("net_sends_nothing_to_whom_forged_datagrams_name", &["root", "ip", "tc", "python3"], reflected::nothing),
    ("net_of_two_machines_names_the_slow_direction", NEEDS, two::slow_direction),
    ("net_of_two_machines_agrees_with_iperf3_without_a_fleet_file", &["root", "ip", "tc", "iperf3"], two::as_iperf3),
];

/// Machines on a switch, each in a namespace, as the fleet's file names them. Gone with the value.
struct Switched {
    switch: String,
    spaces: Vec<String>,
    place: TempDir,
}

impl Switched {
    fn make(machines: usize) -> Result<Switched, Failed> {
        let tag = std::process::id() % 100_000;
        let spaces: Vec<String> = (1..=machines).map(|number| format!("lrn{number}x{tag}")).collect();
        let switched = Switched { switch: format!("lrnsx{tag}"), spaces, place: tempdir()? };
        let switch = &switched.switch;
        ip(&format!("netns add {switch}"));
        ip(&format!("-n {switch} link add br0 type bridge"));
        ip(&format!("-n {switch} link set br0 up"));
        for (number, space) in (1..).zip(&switched.spaces) {
            ip(&format!("netns add {space}"));
            ip(&format!("-n {switch} link add p{number} type veth peer name eth0 netns {space}"));
            ip(&format!("-n {switch} link set p{number} master br0 up"));
            ip(&format!("-n {space} address add 10.231.90.{number}/24 dev eth0"));
            ip(&format!("-n {space} link set eth0 up"));
            ip(&format!("-n {space} link set lo up"));
        }
        let rows: String = (1..)
            .zip(&switched.spaces)
            .map(|(number, space)| format!("  - {{name: n{number}, role: storage, reach: 'netns://{space}'}}\n"))
            .collect();
        fs::write(switched.fleet(), format!("nodes:\n{rows}"))?;
        Ok(switched)
    }

    fn fleet(&self) -> PathBuf {
        self.place.path().join("fleet.yaml")
    }

    /// Shapes what a machine sends, by a queue of so many bytes.
    fn sends(&self, machine: usize, mbit_per_s: u32, limit_bytes: u32) {
        tc(&format!(
            "-n {} qdisc replace dev eth0 root tbf rate {mbit_per_s}mbit burst 32kb limit {limit_bytes}",
            self.spaces[machine - 1]
        ));
    }

    /// Shapes what a machine receives, by a queue of so many bytes.
    fn receives(&self, machine: usize, mbit_per_s: u32, limit_bytes: u32) {
        tc(&format!(
            "-n {} qdisc replace dev p{machine} root tbf rate {mbit_per_s}mbit burst 32kb limit {limit_bytes}",
            self.switch
        ));
    }

    fn within(&self, machine: usize) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.spaces[machine - 1]]);
        command
    }

    /// Measures with these flags; what it printed.
    fn measured(&self, flags: &str) -> Result<Output, Failed> {
        let folder = self.place.path().join("run");
        let _ = fs::remove_dir_all(&folder);
        let mut command = linerate();
        command.args(["net", "--json", "--fleet"]).arg(self.fleet()).args(words(flags)).arg("-o").arg(folder);
        Ok(command.stdin(Stdio::null()).output()?)
    }

    fn view(&self, flags: &str) -> Result<NetView, Failed> {
        let output = self.measured(flags)?;
        assert!(output.status.success(), "{}", shown(&output));
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

impl Drop for Switched {
    fn drop(&mut self) {
        for space in self.spaces.iter().chain([&self.switch]) {
            let _ = Command::new("ip").args(["netns", "delete", space]).status();
        }
    }
}

fn ip(arguments: &str) {
    done("ip", arguments);
}

fn tc(arguments: &str) {
    done("tc", arguments);
}

fn done(program: &str, arguments: &str) {
    let output = Command::new(program).args(words(arguments)).output().expect("it runs");
    assert!(output.status.success(), "{program} {arguments}: {}", shown(&output));
}

/// The figures of one pair, by the machines' numbers from 1.
fn pair(view: &NetView, (from, to): (u32, u32), streams: u32) -> Result<&NetPairFigures, Failed> {
    let is_it = |of: &&NetPairFigures| (of.from + 1, of.to + 1, of.streams) == (from, to, streams);
    Ok(view.pairs.iter().find(is_it).ok_or("the pair was measured")?)
}

fn rate(view: &NetView, way: (u32, u32), streams: u32) -> Result<f64, Failed> {
    Ok(pair(view, way, streams)?.per_s.ok_or("it has a figure")?.mean)
}

/// A server of iperf3 in a machine's namespace, for one client.
fn iperf3_server(switched: &Switched, machine: usize) -> Result<Child, Failed> {
    let child = switched.within(machine).args(words("iperf3 -s -1")).stdout(Stdio::null()).spawn()?;
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let listening = switched.within(machine).args(words("ss -Htln sport = :5201")).output()?;
        if !listening.stdout.is_empty() {
            return Ok(child);
        }
        assert!(Instant::now() < until, "iperf3 listens");
        sleep(Duration::from_millis(20));
    }
}

/// What iperf3's receiver says of a flow from machine 1 to machine 2, in bytes per second.
fn by_iperf3(switched: &Switched, streams: u32, reverse: bool) -> Result<f64, Failed> {
    let mut server = iperf3_server(switched, 2)?;
    let reverse = if reverse { " -R" } else { "" };
    let flags = format!("iperf3 -c 10.231.90.2 -t 2 -O 1 -J -P {streams}{reverse}");
    let output = switched.within(1).args(words(&flags)).output()?;
    server.wait()?;
    assert!(output.status.success(), "{}", shown(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let bits_per_s = report["end"]["sum_received"]["bits_per_second"].as_f64().ok_or("iperf3 says what came")?;
    Ok(bits_per_s / 8.0)
}

/// How often both are compared on links that they are too slow to fill, because something else has the processors.
const TRIES: usize = 6;

/// Of a shaped rate, what payload has at least if nothing but the link limits it: frames are counted with their
/// headers.
const FILLED: f64 = 0.93;

/// Both send on links that are shaped alike, one after the other, each way. Only links that iperf3 fills before and
/// after tell anything: on a machine whose processors are busy, two visits differ by more than their programs do.
fn as_iperf3() -> Result<(), Failed> {
    let switched = Switched::make(2)?;
    for (mbit_per_s, streams) in [(50, 1), (400, 4)] {
        [1, 2].into_iter().for_each(|machine| switched.sends(machine, mbit_per_s, 400_000));
        for (way, reverse) in [((1, 2), false), ((2, 1), true)] {
            agrees(&switched, (mbit_per_s, streams), (way, reverse), &|flags| switched.view(flags))?;
        }
    }
    Ok(())
}

fn agrees(
    switched: &Switched,
    (mbit_per_s, streams): (u32, u32),
    (way, reverse): ((u32, u32), bool),
    measured: &dyn Fn(&str) -> Result<NetView, Failed>,
) -> Result<(), Failed> {
    let is_filled = |bytes_per_s: f64| bytes_per_s * 8e-6 >= FILLED * f64::from(mbit_per_s);
    let flags = format!("--streams {streams} --duration 2s --warmup 500ms --visits 1");
    for _ in 0..TRIES {
        let before = by_iperf3(switched, streams, reverse)?;
        let ours = rate(&measured(&flags)?, way, streams)?;
        let after = by_iperf3(switched, streams, reverse)?;
        let said = [before, ours, after].map(|bytes_per_s| format!("{:.1}", bytes_per_s * 8e-6)).join(", ");
        println!("{mbit_per_s} Mb/s, {streams} streams, {way:?}: iperf3, linerate, iperf3: {said} Mb/s");
        if is_filled(before) && is_filled(after) {
            let ratio = 2.0 * ours / (before + after);
            assert!((0.97..=1.03).contains(&ratio), "{mbit_per_s} Mb/s {way:?}: {said}");
            return Ok(());
        }
    }
    Err(format!("iperf3 filled no link of {mbit_per_s} Mb/s twice in {TRIES} tries").into())
}

/// Packets to a machine that the switch's queue had no room for. Those that a machine's own queue refuses were not sent
/// by its kernel's account, and are not sent again.
fn dropped(switched: &Switched, machine: usize) -> Result<u64, Failed> {
    let requested = format!("-n {} -s -j qdisc show dev p{machine}", switched.switch);
    let output = Command::new("tc").args(words(&requested)).output()?;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    Ok(report[0]["drops"].as_u64().ok_or("tc says how many were dropped")?)
}

fn visits(switched: &Switched) -> Result<Vec<NetVisit>, Failed> {
    let run = fs::read_to_string(switched.place.path().join("run/visits.jsonl"))?;
    Ok(run.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
}

/// Segments that pairs of the run sent again, over all visits.
fn sent_again(switched: &Switched, is_of: fn(&NetPair) -> bool) -> Result<u64, Failed> {
    let visits = visits(switched)?;
    let pairs = visits.iter().flat_map(|visit| &visit.pairs).filter(|pair| is_of(pair));
    Ok(pairs.map(|pair| pair.sent.retransmitted_segments).sum())
}

/// Segments that were sent and not acknowledged when the load ended. Those that were lost among them were not sent
/// again yet.
fn outstanding(switched: &Switched, is_of: fn(&NetPair) -> bool) -> Result<u64, Failed> {
    let segments_in_flight = |pair: &NetPair| {
        let NetSent { segments, retransmitted_segments, acknowledged_bytes, segment_bytes, .. } = pair.sent;
        let taken = acknowledged_bytes / segment_bytes.max(1);
        segments.saturating_sub(retransmitted_segments).saturating_sub(taken)
    };
    Ok(visits(switched)?.iter().flat_map(|visit| &visit.pairs).filter(|pair| is_of(pair)).map(segments_in_flight).sum())
}

fn losses() -> Result<(), Failed> {
    let switched = Switched::make(2)?;
    // Packets go one by one, as the queue counts them.
    for space in &switched.spaces {
        ip(&format!("-n {space} link set eth0 gso_max_segs 1"));
    }
    switched.receives(2, 100, 12_000);
    let before = dropped(&switched, 2)?;
    let view = switched.view("--streams 8 --one-way --duration 4s --warmup 0s --visits 1")?;
    let dropped = dropped(&switched, 2)? - before;
    let sent_again = sent_again(&switched, |pair| pair.from == 0)?;
    println!("{dropped} packets dropped, {sent_again} segments sent again");
    assert!(dropped > 100, "the queue is shallow: {dropped}");
    assert!((0.9..=1.1).contains(&(sent_again as f64 / dropped as f64)), "{sent_again} of {dropped}");
    let limit = pair(&view, (1, 2), 8)?.limit.as_ref().ok_or("something limits it")?;
    assert!(matches!(limit.by, NetLimitedBy::Losses | NetLimitedBy::Network), "{limit:?}");
    Ok(())
}

fn slow() -> Result<(), Failed> {
    let switched = Switched::make(6)?;
    (1..=6).for_each(|machine| switched.sends(machine, 100, 300_000));
    let flags = "--streams 1 --duration 500ms --warmup 300ms --visits 3";
    let view = switched.view(flags)?;
    assert!(view.slow.nodes.is_empty() && view.slow.pairs.is_empty(), "all are alike: {:?}", view.slow);
    assert_eq!(view.pairs.len(), 30);

    switched.sends(3, 60, 300_000);
    let view = switched.view(flags)?;
    let named: Vec<(u32, NetSide)> = view.slow.nodes.iter().map(|of| (of.node + 1, of.side)).collect();
    assert_eq!((named, view.slow.pairs.len()), (vec![(3, NetSide::Sends)], 0), "{}", view.answer);

    // A machine that receives slowly, and a queue of its own for what goes from machine 2 to machine 5. One way:
    // answers
    // would wait in the same queues.
    switched.sends(3, 100, 300_000);
    switched.receives(6, 50, 400_000);
    let space = &switched.spaces[1];
    tc(&format!("-n {space} qdisc replace dev eth0 root handle 1: htb default 10"));
    tc(&format!("-n {space} class add dev eth0 parent 1: classid 1:10 htb rate 100mbit burst 32kb"));
    tc(&format!("-n {space} class add dev eth0 parent 1: classid 1:20 htb rate 40mbit burst 32kb"));
    tc(&format!("-n {space} filter add dev eth0 parent 1: protocol ip u32 match ip dst 10.231.90.5/32 flowid 1:20"));
    let view = switched.view(&format!("{flags} --one-way"))?;
    let named: Vec<(u32, NetSide)> = view.slow.nodes.iter().map(|of| (of.node + 1, of.side)).collect();
    assert_eq!(named, [(6, NetSide::Receives)], "{}", view.answer);
    let named: Vec<(u32, u32)> = view.slow.pairs.iter().map(|of| (of.from + 1, of.to + 1)).collect();
    assert_eq!(named, [(2, 5)], "{}", view.answer);
    Ok(())
}

fn limits() -> Result<(), Failed> {
    let switched = Switched::make(2)?;
    let limited = |flags: &str| -> Result<NetLimit, Failed> {
        let view = switched.view(&format!("--streams 1 --duration 1s --warmup 300ms --visits 2 {flags}"))?;
        Ok(pair(&view, (1, 2), 1)?.limit.clone().ok_or("something limits it")?)
    };
    let limit = limited("--max-rate 20Mb/s")?;
    assert_eq!(limit.by, NetLimitedBy::RequestedRate, "{limit:?}");
    // A window of a few segments, over a link on which that takes a while: what acknowledges it goes slowly.
    switched.sends(2, 1, 50_000);
    let set = switched.within(2).args(["sysctl", "-q", "-w", "net.ipv4.tcp_rmem=4096 8192 8192"]).output()?;
    assert!(set.status.success(), "{}", shown(&set));
    let limit = limited("--one-way")?;
    assert_eq!(limit.by, NetLimitedBy::ReceiveWindow, "{limit:?}");
    assert!(limit.evidence.contains("the receiver's window is the limit"), "{limit:?}");
    assert!(limit.look_at.contains("net.ipv4.tcp_rmem"), "{limit:?}");
    Ok(())
}

/// One of three machines goes while others send to it.
fn lost() -> Result<(), Failed> {
    let switched = Switched::make(3)?;
    let folder = switched.place.path().join("run");
    let mut command = linerate();
    command.args(["net", "--json", "--fleet"]).arg(switched.fleet()).arg("-o").arg(&folder);
    command.args(words("--streams 1 --duration 700ms --warmup 100ms --visits 3 --max-rate 50Mb/s"));
    let run = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let until = Instant::now() + Duration::from_secs(30);
    let visits = || fs::read_to_string(folder.join("visits.jsonl")).map_or(0, |text| text.lines().count());
    while visits() == 0 {
        assert!(Instant::now() < until, "a visit is made");
        sleep(Duration::from_millis(20));
    }
    let pids = Command::new("ip").args(["netns", "pids", &switched.spaces[2]]).output()?;
    for pid in String::from_utf8(pids.stdout)?.lines() {
        done("kill", &format!("-9 {pid}"));
    }
    let output = run.wait_with_output()?;
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    let reported = String::from_utf8_lossy(&output.stderr);
    assert!(reported.contains("1 of 3 machines") && reported.contains("n3: "), "{reported}");
    let view: NetView = serde_json::from_slice(&output.stdout)?;
    let of = pair(&view, (1, 2), 1)?;
    assert_eq!((of.visits, of.failed), (3, 0), "the others went on: {of:?}");
    let of = pair(&view, (1, 3), 1)?;
    assert!(of.failed >= 1 && of.reasons.iter().any(|why| why.contains("n3 was lost")), "{of:?}");
    Ok(())
}
