//! The network between a coordinator and its nodes, each in a namespace of its own: a router, by which packets of each
//! way are dropped; agents at the nodes' end of a TCP stream; and what joins a coordinator to the other end.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use libtest_mimic::Failed;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::sockets::inside;

/// The first argument of this program as what joins a coordinator to a node's agent.
pub(crate) const RELAY: &str = "relay-to-a-node";

const PORT: u16 = 7_000;

/// How long what came for the coordinator is passed on after the coordinator has ended.
const LAST_WITHIN: Duration = Duration::from_secs(5);

/// How long the thread that starts agents waits before it looks whether to end.
const LOOK_NS: i64 = 100_000_000;

/// Which packets between the coordinator and a node are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CutWay {
    /// Those to the node.
    To,
    From,
    Both,
}

/// A cut of one way: which node, and whether it is the way to it.
type Cut = (usize, bool);

/// The agents of a fleet that were started and are not waited for yet, with their nodes.
type Started = Arc<Mutex<Vec<(usize, Child)>>>;

/// The router, the coordinator's own namespace, and the thread that starts agents.
pub(crate) struct Network {
    router: String,
    coordinator: String,
    cuts: Mutex<BTreeSet<Cut>>,
    agents: Started,
    is_over: Arc<AtomicBool>,
    starts: Option<JoinHandle<()>>,
}

impl Network {
    /// Links to namespaces that are there. `scripts` start an agent of each, by `sh`.
    pub(crate) fn make(tag: &str, nodes: &[String], scripts: Vec<PathBuf>) -> Result<Network, Failed> {
        let name = |end: &str| format!("lrc{tag}{end}x{}", std::process::id());
        let mut network = Network {
            router: name("router"),
            coordinator: name("hub"),
            cuts: Mutex::default(),
            agents: Started::default(),
            is_over: Arc::default(),
            starts: None,
        };
        for space in [&network.router, &network.coordinator] {
            assert!(Command::new("ip").args(["netns", "add", space]).status()?.success(), "{space}");
        }
        network.link(nodes)?;
        let listener = |(number, name): (usize, &String)| {
            inside(&format!("/run/netns/{name}"), || TcpListener::bind((address(number).as_str(), PORT)))
        };
        let listeners: Vec<TcpListener> = nodes.iter().enumerate().map(listener).collect::<io::Result<_>>()?;
        let (agents, is_over) = (Arc::clone(&network.agents), Arc::clone(&network.is_over));
        network.starts = Some(thread::spawn(move || start_agents(&listeners, &scripts, &agents, &is_over)));
        Ok(network)
    }

    fn link(&self, nodes: &[String]) -> Result<(), Failed> {
        let mut routed = vec![
            "link set lo up".to_owned(),
            format!("link add name hub0 type veth peer name eth0 netns {}", self.coordinator),
            "addr add 10.232.255.1/30 dev hub0".to_owned(),
            "link set hub0 up".to_owned(),
        ];
        for (number, name) in nodes.iter().enumerate() {
            let link = "link add name eth0 numtxqueues 2 numrxqueues 2 type veth peer name";
            batch(name, &[format!("{link} p{number} netns {}", self.router)])?;
            routed.push(format!("addr add 10.232.{number}.1/30 dev p{number}"));
            routed.push(format!("link set p{number} up"));
        }
        batch(&self.router, &routed)?;
        inside(&format!("/run/netns/{}", self.router), || fs::write("/proc/sys/net/ipv4/ip_forward", "1\n"))?;
        let end = |address: &str, by: &str| {
            ["link set lo up", &format!("addr add {address}/30 dev eth0"), "link set eth0 up"]
                .map(str::to_owned)
                .into_iter()
                .chain([format!("route add default via {by}")])
                .collect::<Vec<String>>()
        };
        batch(&self.coordinator, &end("10.232.255.2", "10.232.255.1"))?;
        for (number, name) in nodes.iter().enumerate() {
            // An address that is not tried for a second has no state that changes by itself.
            inside(&format!("/run/netns/{name}"), || fs::write("/proc/sys/net/ipv6/conf/eth0/accept_dad", "0\n"))?;
            batch(name, &end(&address(number), &format!("10.232.{number}.1")))?;
        }
        Ok(())
    }

    /// The command by which a coordinator reaches a node's agent.
    pub(crate) fn reach(&self, number: usize) -> Result<String, Failed> {
        let program = std::env::current_exe()?;
        let (program, address) = (program.display(), address(number));
        Ok(format!("exec {program} {RELAY} /run/netns/{} {address}:{PORT}", self.coordinator))
    }

    /// Drops packets of a node.
    pub(crate) fn cut(&self, nodes: &[usize], way: CutWay) -> Result<(), Failed> {
        let mut cuts = locked(&self.cuts);
        let new: Vec<Cut> = cuts_of(nodes, way).into_iter().filter(|cut| cuts.insert(*cut)).collect();
        batch(&self.router, &rules("add", &new))
    }

    /// Lets them through again.
    pub(crate) fn heal(&self, nodes: &[usize], way: CutWay) -> Result<(), Failed> {
        let mut cuts = locked(&self.cuts);
        let old: Vec<Cut> = cuts_of(nodes, way).into_iter().filter(|cut| cuts.remove(cut)).collect();
        batch(&self.router, &rules("del", &old))
    }

    /// Sends a signal to every agent of a node that has not ended; how many there were.
    pub(crate) fn signal(&self, node: usize, signal: Signal) -> usize {
        let mut agents = locked(&self.agents);
        let of_node = agents.iter_mut().filter(|(of, _)| *of == node).map(|(_, agent)| agent);
        // Its number is no other's before it was waited for.
        of_node
            .filter_map(|agent| matches!(agent.try_wait(), Ok(None)).then(|| Pid::from_child(agent)))
            .filter(|pid| kill_process(*pid, signal).is_ok())
            .count()
    }

    /// Nodes of which an agent runs or stands still.
    pub(crate) fn with_agents(&self) -> BTreeSet<usize> {
        let mut agents = locked(&self.agents);
        agents.retain_mut(|(_, agent)| matches!(agent.try_wait(), Ok(None)));
        agents.iter().map(|(node, _)| *node).collect()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        let _ = self.starts.take().map(JoinHandle::join);
        for (_, mut agent) in locked(&self.agents).drain(..) {
            let _ = agent.kill().and_then(|()| agent.wait());
        }
        for space in [&self.router, &self.coordinator] {
            let _ = Command::new("ip").args(["netns", "del", space]).status();
        }
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

fn address(number: usize) -> String {
    format!("10.232.{number}.2")
}

fn cuts_of(nodes: &[usize], way: CutWay) -> Vec<Cut> {
    let ways: &[bool] = match way {
        CutWay::To => &[true],
        CutWay::From => &[false],
        CutWay::Both => &[true, false],
    };
    nodes.iter().flat_map(|node| ways.iter().map(|is_to| (*node, *is_to))).collect()
}

/// Rules by which the router drops what it would forward, and says nothing to anybody: as if the line were cut.
fn rules(word: &str, cuts: &[Cut]) -> Vec<String> {
    let rule = |(node, is_to): &Cut| {
        format!("rule {word} {} {} blackhole", if *is_to { "to" } else { "from" }, address(*node))
    };
    cuts.iter().map(rule).collect()
}

/// Has iproute2 do all of these in a namespace.
fn batch(space: &str, lines: &[String]) -> Result<(), Failed> {
    if lines.is_empty() {
        return Ok(());
    }
    let mut ip = Command::new("ip").args(["-n", space, "-batch", "-"]).stdin(Stdio::piped()).spawn()?;
    ip.stdin.take().ok_or("piped")?.write_all(format!("{}\n", lines.join("\n")).as_bytes())?;
    if ip.wait()?.success() { Ok(()) } else { Err(format!("ip -n {space}: {lines:?}").into()) }
}

/// Starts an agent for each stream that comes to a node, with the stream as its input and output.
fn start_agents(listeners: &[TcpListener], scripts: &[PathBuf], agents: &Started, is_over: &AtomicBool) {
    let patience = Timespec { tv_sec: 0, tv_nsec: LOOK_NS };
    while !is_over.load(Ordering::Acquire) {
        let mut ends: Vec<PollFd<'_>> = listeners.iter().map(|end| PollFd::new(end, PollFlags::IN)).collect();
        if poll(&mut ends, Some(&patience)).is_err() {
            continue;
        }
        let ready: Vec<bool> = ends.iter().map(|end| end.revents().contains(PollFlags::IN)).collect();
        for node in (0..listeners.len()).filter(|node| ready[*node]) {
            let Ok((stream, _)) = listeners[node].accept() else { continue };
            let Ok(agent) = start_agent(stream, &scripts[node]) else { continue };
            let mut agents = locked(agents);
            agents.retain_mut(|(_, agent)| matches!(agent.try_wait(), Ok(None)));
            agents.push((node, agent));
        }
    }
}

fn start_agent(stream: TcpStream, script: &Path) -> io::Result<Child> {
    stream.set_nodelay(true)?;
    let (input, output) = (OwnedFd::from(stream.try_clone()?), OwnedFd::from(stream));
    Command::new("sh").arg(script).stdin(input).stdout(output).stderr(Stdio::null()).spawn()
}

/// This program as the coordinator's end: what comes on its input goes to a node, and what comes from there to its
/// output, until either ends.
///
/// # Errors
/// Where the namespace cannot be entered, or nobody is reached.
pub(crate) fn relay(space: &str, address: &str) -> io::Result<()> {
    move_into_link_name_space(File::open(space)?.as_fd(), Some(LinkNameSpaceType::Network))?;
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    let to = stream.try_clone()?;
    thread::spawn(move || {
        pass(io::stdin(), &to);
        let _ = to.shutdown(Shutdown::Write);
        // Of a node that is cut off, nothing tells that it has ended.
        thread::sleep(LAST_WITHIN);
        std::process::exit(0);
    });
    pass(&stream, io::stdout());
    Ok(())
}

fn pass(mut from: impl Read, mut to: impl Write) {
    let mut piece = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut piece) {
        if to.write_all(&piece[..count]).and_then(|()| to.flush()).is_err() {
            return;
        }
    }
}
