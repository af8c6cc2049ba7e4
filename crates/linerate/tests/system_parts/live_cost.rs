//! What a watch costs a node whose engine has ten thousand connections: processor time, memory, and bytes to the
//! coordinator.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use libtest_mimic::Failed;
use rustix::param::clock_ticks_per_second;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use super::seen_nodes::{EngineNode, agent};
use super::sockets::{expect, inside};
use crate::NamedCheck;

/// What is checked, and what it needs.
pub(crate) const CHECKS: [NamedCheck; 1] =
    [("live_at_ten_thousand_sockets_costs_little", &["root", "ip", "nsenter", "tee"], at_ten_thousand_sockets)];

const SOCKETS: usize = 10_000;

/// Made one after the other, with a pause behind so many: the engine's queue of those that come has room for 128.
const AT_ONCE: usize = 32;

/// How many of them do something each second.
const BUSY: usize = 500;

const WATCH_S: u32 = 20;

/// Of one core, for a release: a build for development is not optimised, and takes several times that.
const CORE_SHARE_MAX: f64 = 0.02;

/// Of memory that is the process's own. The pages of the program's file besides are shared, and depend on how it was
/// built: those of a build for development, which is not optimised, are more than twice those of a release.
const OWN_BYTES_MAX: u64 = 10 << 20;
const RESIDENT_BYTES_MAX: u64 = 20 << 20;

/// What was read of the agent's process last.
#[derive(Clone, Copy, Debug, Default)]
struct Cost {
    cpu_s: f64,
    over_s: f64,
    own_bytes: u64,
    resident_bytes: u64,
}

fn at_ten_thousand_sockets() -> Result<(), Failed> {
    let node = EngineNode::start()?;
    let files = getrlimit(Resource::Nofile).maximum;
    setrlimit(Resource::Nofile, Rlimit { current: files, maximum: files })?;
    let address: SocketAddr = node.address.parse()?;
    let space = format!("/run/netns/{}", node.spaces.client_link);
    let streams = inside(&space, || connect(address))?;
    let (pid, said) = (node.path("pid"), node.path("said"));
    let command = format!(
        r#"nsenter --net={} sh -c "echo \$\$ > {}; exec {} --allow read" | tee {}"#,
        node.space(),
        pid.display(),
        agent(),
        said.display()
    );
    let is_over = AtomicBool::new(false);
    let (readings, cost) = thread::scope(|scope| {
        scope.spawn(|| ask(streams, &is_over));
        let watched = scope.spawn(|| {
            let mut cost = Cost::default();
            while !is_over.load(Ordering::Acquire) {
                cost = fs::read_to_string(&pid).ok().and_then(|pid| read_cost(pid.trim(), cost)).unwrap_or(cost);
                thread::sleep(Duration::from_millis(100));
            }
            cost
        });
        let readings = node.read(&command, WATCH_S);
        is_over.store(true, Ordering::Release);
        (readings, watched.join().unwrap_or_default())
    });
    let readings = readings?;
    let seen = readings.sockets.first().ok_or("no sockets were read")?;
    expect(seen.sockets as usize >= SOCKETS, || format!("{seen:?}"))?;
    let (each_s, at_end) = said_bytes(&fs::read(&said)?)?;
    let share = cost.cpu_s / cost.over_s.max(1.0);
    let figures = json!({
        "sockets": seen.sockets, "watch_s": WATCH_S, "looks_at_sockets": seen.looks,
        "sockets_each_ms": seen.interval_ms, "core_share": share, "cpu_s": cost.cpu_s, "over_s": cost.over_s,
        "own_bytes": cost.own_bytes, "resident_bytes": cost.resident_bytes, "optimised": !cfg!(debug_assertions),
        "said_bytes_per_s": each_s, "said_bytes_at_end": at_end,
    });
    println!("{figures}");
    if let Some(out) = std::env::var_os("LINERATE_LIVE_COST_OUT") {
        fs::write(out, serde_json::to_string_pretty(&figures)? + "\n")?;
    }
    let is_little = cfg!(debug_assertions) || share <= CORE_SHARE_MAX;
    expect(share > 0.0 && is_little, || format!("{share} of a core"))?;
    expect(cost.own_bytes <= OWN_BYTES_MAX, || format!("{cost:?}"))?;
    expect(cfg!(debug_assertions) || cost.resident_bytes <= RESIDENT_BYTES_MAX, || format!("{cost:?}"))
}

fn connect(to: SocketAddr) -> std::io::Result<Vec<TcpStream>> {
    let mut all = Vec::with_capacity(SOCKETS);
    while all.len() < SOCKETS {
        for _ in 0..AT_ONCE {
            all.push(TcpStream::connect(to)?);
        }
        thread::sleep(Duration::from_millis(10));
    }
    Ok(all)
}

/// Each second, some of the connections read something.
fn ask(mut streams: Vec<TcpStream>, is_over: &AtomicBool) {
    let mut next = 0;
    while !is_over.load(Ordering::Acquire) {
        for _ in 0..BUSY {
            let stream = &mut streams[next % SOCKETS];
            let _ = stream.set_read_timeout(Some(Duration::from_millis(200)));
            let _ =
                stream.write_all(b"GET /b/o HTTP/1.1\r\nhost: h\r\n\r\n").and_then(|()| stream.read(&mut [0; 4096]));
            next += 1;
        }
        thread::sleep(Duration::from_secs(1));
    }
}

/// What a process has used so far (proc_pid_stat(5), proc_pid_status(5)), and the most that it had of memory.
fn read_cost(pid: &str, before: Cost) -> Option<Cost> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<u64> =
        stat.rsplit_once(')')?.1.split_whitespace().map(|field| field.parse().unwrap_or(0)).collect();
    let ticks = clock_ticks_per_second() as f64;
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let bytes = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().split(' ').next()?.parse::<u64>().ok()? << 10)
    };
    let up: f64 = fs::read_to_string("/proc/uptime").ok()?.split(' ').next()?.parse().ok()?;
    Some(Cost {
        cpu_s: (fields.get(11)? + fields.get(12)?) as f64 / ticks,
        over_s: up - *fields.get(19)? as f64 / ticks,
        own_bytes: bytes("RssAnon:")?.max(before.own_bytes),
        resident_bytes: bytes("VmHWM:")?.max(before.resident_bytes),
    })
}

/// Bytes of an agent's messages for each second of a watch, and those at its end. Messages have their length in front,
/// which is binary: each begins at its brace.
fn said_bytes(said: &[u8]) -> Result<(f64, usize), Failed> {
    let text = String::from_utf8_lossy(said);
    let end = text.find("{\"watched\":{\"sockets\"").ok_or("it says nothing of sockets")?;
    let begin = text.find("{\"watched\":{\"step\"").ok_or("it says nothing")?;
    let last = text.rfind("{\"watched\":{\"ended\"").ok_or("it does not end")?;
    Ok(((end - begin) as f64 / f64::from(WATCH_S), last - end))
}
