//! Nodes that are pretended: figures of machines that are alike but for their noise, told as agents tell them. Nothing
//! here is shared with what judges them.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use linerate_fleet::agent::{Agent, AgentAction};
use linerate_fleet::protocol::{AgentHello, FromAgent, PART_BYTES, PROTOCOL, frame};
use linerate_fleet::watch_protocol::{WatchMessage, WatchOrder, WatchStep};
use linerate_record::fleet::Allowed;
use linerate_record::machine::Machine;
use linerate_record::readings::{
    OpenedBy, PortRange, READINGS_SCHEMA, ReadMeasure, ReadSeries, Readings, RemoteSums, SocketGroup, SocketRead,
    SocketRemote, SocketsSeen, StatedMachine, pair_hash,
};

/// The first word of the command line of a pretended agent.
pub(crate) const WORD: &str = "pretended-agent";

/// Connections of each node to each other one, and clients of each node.
const EACH: u16 = 4;
const CLIENTS: u32 = 16;

/// Bytes per second that a node has of its link, and drives.
const LINK: f64 = 50e9;
const DRIVES: usize = 20;

/// Some sixty readings, each with what it is of and its middle.
fn series() -> Vec<(ReadMeasure, String, f64)> {
    use ReadMeasure as M;
    let mut all: Vec<(ReadMeasure, String, f64)> = Vec::new();
    let links = [
        (M::LinkSent, 0.8 * LINK),
        (M::LinkReceived, 0.7 * LINK),
        (M::LinkSpeed, LINK),
        (M::LinkReceivedDrops, 0.0),
        (M::LinkSentDrops, 0.0),
        (M::LinkErrors, 0.0),
    ];
    all.extend(links.map(|(of, middle)| (of, "eth0".to_owned(), middle)));
    let whole = [
        (M::Retransmitted, 1e-5),
        (M::QueueDrops, 0.0),
        (M::CoresBusy, 60.0),
        (M::Cores, 96.0),
        (M::BusiestCore, 0.9),
        (M::CoresSoftirq, 9.0),
        (M::CoresStolen, 0.0),
        (M::CpuPressure, 0.05),
        (M::IoPressure, 0.2),
        (M::MemoryPressure, 0.0),
        (M::MemoryAvailable, 0.6),
    ];
    all.extend(whole.map(|(of, middle)| (of, String::new(), middle)));
    for drive in 0..DRIVES {
        let name = format!("nvme{drive}n1");
        all.extend([(M::DriveRead, name.clone(), 2e9), (M::DriveLatency, name, 3e-4)]);
    }
    all
}

/// A number from 0 to 1 that is the same for the same.
fn noise(of: [u64; 3]) -> f64 {
    let mut state = of.into_iter().fold(0x9e37_79b9_7f4a_7c15_u64, |state, one| {
        (state ^ one).wrapping_mul(0xbf58_476d_1ce4_e5b9).rotate_left(27)
    });
    state = (state ^ (state >> 31)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (state >> 11) as f64 / (1_u64 << 53) as f64
}

/// What a machine has of a series in a step: a few percent about its middle.
fn value(machine: u32, place: usize, step: u32, (of, _, middle): &(ReadMeasure, String, f64)) -> f64 {
    if matches!(of, ReadMeasure::Cores | ReadMeasure::LinkSpeed) {
        return *middle;
    }
    let wobble = noise([machine.into(), place as u64, step.into()]) - 0.5;
    let own = noise([machine.into(), place as u64, u64::MAX]) - 0.5;
    middle * (1.0 + 0.1 * wobble + 0.02 * own)
}

/// Values with the digits that agents keep.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

fn address(machine: u32) -> IpAddr {
    Ipv4Addr::from(0x0a01_0000 + machine).into()
}

fn client(number: u32) -> IpAddr {
    Ipv4Addr::from(0xc612_0000 + number).into()
}

/// Nodes of a rack, and the rack whose uplinks lose packets.
const IN_RACK: u32 = 22;
pub(crate) const LOSSY_RACK: u32 = 13;

/// The rack of a machine.
pub(crate) fn rack(machine: u32) -> u32 {
    (machine - 1) / IN_RACK + 1
}

/// One in so many segments between two machines is sent again.
fn again(machine: u32, other: u32) -> u64 {
    let racks = [rack(machine), rack(other)];
    if racks[0] != racks[1] && racks.contains(&LOSSY_RACK) { 50 } else { 100_000 }
}

/// Sums of one direction to one address.
fn sums(address: IpAddr, opened_by: OpenedBy, sent_bytes: u64) -> RemoteSums {
    RemoteSums {
        address,
        opened_by,
        sockets: EACH.into(),
        sent_bytes,
        received_bytes: sent_bytes / 2,
        sent_segments: sent_bytes / 8_960,
        retransmitted_segments: sent_bytes / 8_960 / 100_000,
        busy_us: 40_123_456,
        window_limited_us: 612_345,
        buffer_limited_us: 212_345,
        open_us: 240_000_000,
        round_trip_us: 180,
        delivery_bytes_per_s: 812_345_678,
    }
}

/// Every node has connections to every other one, as MinIO's have.
fn seen(machine: u32, machines: u32) -> SocketsSeen {
    let mut of = SocketsSeen {
        over_ms: 60_000,
        looks: 31,
        interval_ms: 2_000,
        sockets: u32::from(EACH) * (2 * (machines - 1) + CLIENTS),
        took_us: 312_000,
        addresses: vec![address(machine)],
        ports: vec![PortRange { first: 9000, last: 9000 }],
        ..SocketsSeen::default()
    };
    let port = |ports: u16| 40_000 + ports;
    for other in (1..=machines).filter(|other| *other != machine) {
        for opened_by in [OpenedBy::Them, OpenedBy::Us] {
            let sums = sums(address(other), opened_by, 2 << 30);
            let retransmitted_segments = sums.sent_segments / again(machine, other);
            of.remotes.push(RemoteSums { retransmitted_segments, ..sums });
        }
        let hash = |to: u32, from: u32, number: u16| pair_hash((address(to), 9000), (address(from), port(number)));
        of.met.extend((0..EACH).map(|number| hash(machine, other, number)));
        of.made.extend((0..EACH).map(|number| hash(other, machine, number)));
    }
    for number in 1..=CLIENTS {
        of.remotes.push(sums(client(number), OpenedBy::Them, 64 << 30));
        let from = |number: u16| pair_hash((address(machine), 9000), (client(u32::from(number)), port(0)));
        of.met.push(from(number as u16));
    }
    of.met.sort_unstable();
    of.made.sort_unstable();
    of
}

/// What all of them are read to do in so many steps, as a file has it.
pub(crate) fn readings(machines: u32, steps: u32) -> Readings {
    let name = |machine: u32| format!("node{machine}");
    let mut readings = Readings {
        schema: READINGS_SCHEMA,
        source: "live".to_owned(),
        begin_unix_ms: 1_795_673_177_000,
        step_ms: 1_000,
        steps,
        interval_ms: 1_000,
        rate_over_ms: 1_000,
        ..Readings::default()
    };
    let all = series();
    for machine in 1..=machines {
        for (place, one) in all.iter().enumerate() {
            let values = (1..=steps).map(|step| Some(rounded(value(machine, place, step, one)))).collect();
            readings.series.push(ReadSeries { of: one.0, machine: name(machine), part: one.1.clone(), values });
        }
        let SocketsSeen { over_ms, looks, interval_ms, sockets, took_us, remotes, .. } = seen(machine, machines);
        let remotes = remotes.into_iter().map(remote).collect();
        let (rack, machine) = (Some(format!("row-{}", rack(machine))), name(machine));
        readings.stated.push(StatedMachine { machine: machine.clone(), is_client: false, kind: None, rack });
        readings.sockets.push(SocketRead { machine, over_ms, looks, interval_ms, sockets, took_us, remotes });
    }
    readings
}

fn remote(sums: RemoteSums) -> SocketRemote {
    let IpAddr::V4(address) = sums.address else { panic!("an address of IPv6") };
    let peer = u32::from(address).checked_sub(0x0a01_0000).filter(|machine| *machine < 0x1_0000);
    let group = match (peer, sums.opened_by) {
        (None, _) => SocketGroup::Client,
        (_, OpenedBy::Them) => SocketGroup::FromPeer,
        (_, OpenedBy::Us) => SocketGroup::ToPeer,
    };
    SocketRemote {
        address: sums.address,
        group,
        machine: peer.map(|machine| format!("node{machine}")),
        sockets: sums.sockets,
        sent_bytes: sums.sent_bytes,
        received_bytes: sums.received_bytes,
        sent_segments: sums.sent_segments,
        retransmitted_segments: sums.retransmitted_segments,
        busy_us: sums.busy_us,
        window_limited_us: sums.window_limited_us,
        buffer_limited_us: sums.buffer_limited_us,
        open_us: sums.open_us,
        round_trip_us: sums.round_trip_us,
        delivery_bytes_per_s: sums.delivery_bytes_per_s,
    }
}

/// What an agent noted of its end: when the window ended, in nanoseconds since 1970, and how many bytes it said.
pub(crate) fn reported(folder: &Path, machine: u32) -> std::io::Result<(u64, u64)> {
    let text = fs::read_to_string(folder.join(format!("told-{machine}")))?;
    let mut numbers = text.split_whitespace().map(|number| number.parse().unwrap_or(0));
    Ok((numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)))
}

fn prepared(folder: &Path, machine: u32) -> PathBuf {
    folder.join(format!("sockets-{machine}"))
}

/// Writes what each agent says of its sockets: real ones have processors of their own for it.
pub(crate) fn prepare(machines: u32, folder: &Path) -> std::io::Result<()> {
    for machine in 1..=machines {
        let sockets = serde_json::to_string(&seen(machine, machines))?;
        let (pieces, mut bytes) = (sockets.as_bytes().chunks(PART_BYTES), Vec::new());
        let last = pieces.len();
        for (place, piece) in pieces.enumerate() {
            let text = String::from_utf8_lossy(piece).into_owned();
            bytes.extend(framed(WatchMessage::Sockets { text, is_last: place + 1 == last }));
        }
        fs::write(prepared(folder, machine), bytes)?;
    }
    Ok(())
}

fn framed(said: WatchMessage) -> Vec<u8> {
    frame(&FromAgent::Watched(Box::new(said))).expect("a message is short")
}

fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// What is said on standard output, counted.
#[derive(Default)]
struct Said {
    bytes: u64,
    is_over: bool,
}

impl Said {
    fn bytes(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let mut out = std::io::stdout().lock();
        self.is_over |= out.write_all(bytes).and_then(|()| out.flush()).is_err();
    }

    fn watched(&mut self, said: WatchMessage) {
        self.bytes(&framed(said));
    }
}

/// Is an agent until its coordinator ends it.
pub(crate) fn agent(machine: u32, folder: &Path) {
    let hello = AgentHello {
        protocol: PROTOCOL,
        linerate: env!("CARGO_PKG_VERSION").to_owned(),
        token: String::new(),
        allowed: Allowed::Read,
        pid: std::process::id(),
        is_root: true,
        machine: Machine::default(),
    };
    let (begun, (pieces, heard)) = (Instant::now(), channel());
    let mut agent = Agent::new(hello, begun.elapsed());
    thread::spawn(move || {
        let mut piece = vec![0; 4096];
        while let Ok(count @ 1..) = std::io::stdin().read(&mut piece) {
            if pieces.send((piece[..count].to_vec(), unix_ns())).is_err() {
                return;
            }
        }
    });
    let (mut said, mut watch) = (Said::default(), None::<(Box<WatchOrder>, u32)>);
    // It ends with its input: that hundreds of processes share two processors is no lease that lapsed.
    while !said.is_over {
        let due_ns = watch.as_ref().map_or(200_000_000, |(order, step)| {
            let step_ns = i64::try_from(order.step_ms).unwrap_or(0) * 1_000_000;
            order.begin_ns + step_ns * i64::from(*step) - unix_ns()
        });
        match heard.recv_timeout(Duration::from_nanos(u64::try_from(due_ns).unwrap_or(0))) {
            Ok((piece, taken_ns)) => {
                for action in agent.take(&piece, begun.elapsed(), taken_ns, unix_ns()) {
                    match action {
                        AgentAction::Say(bytes) => said.bytes(&bytes),
                        AgentAction::Watch(order) => watch = Some((order, 0)),
                        AgentAction::End(_) => return,
                        _ => {}
                    }
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {
                watch = watch.and_then(|watch| step(watch, machine, folder, &mut said));
            }
        }
    }
}

/// Tells of a step, and of sockets with the last one.
fn step(
    (order, step): (Box<WatchOrder>, u32),
    machine: u32,
    folder: &Path,
    said: &mut Said,
) -> Option<(Box<WatchOrder>, u32)> {
    if step == 0 {
        // Machines of their own: each has a boot of its own.
        let (names, boot) = (vec![format!("host{machine}")], format!("boot-{machine}"));
        said.watched(WatchMessage::Begun { names, boot, own_drives: false });
        return Some((order, 1));
    }
    let all = series();
    let named = if step == 1 { all.iter().map(|(of, part, _)| (*of, part.clone())).collect() } else { Vec::new() };
    let numbered = all.iter().enumerate();
    let values = numbered.map(|(place, one)| (place as u32, rounded(value(machine, place, step, one)))).collect();
    said.watched(WatchMessage::Step(Box::new(WatchStep { step, named, values })));
    if step < order.steps {
        return Some((order, step + 1));
    }
    said.bytes(&fs::read(prepared(folder, machine)).expect("what was prepared"));
    let end_ns = order.begin_ns + i64::try_from(order.step_ms).unwrap_or(0) * 1_000_000 * i64::from(order.steps);
    fs::write(folder.join(format!("told-{machine}")), format!("{end_ns} {}", said.bytes)).expect("a file");
    said.watched(WatchMessage::Ended { took_us: 600_000 });
    None
}
