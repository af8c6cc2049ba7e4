//! Sockets of an engine in another network namespace, read from here: by who may enter it, and by who may not.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use linerate_host::live::sockets::{SocketsRequest, begin, end, look};
use linerate_host::{Root, Unreadable};
use linerate_record::readings::{OpenedBy, PortRange, RemoteSums, SocketGroup, SocketRead, SocketsSeen};
use rustix::net::sockopt;
use rustix::thread::{CapabilitySet, LinkNameSpaceType, capabilities, move_into_link_name_space, set_capabilities};

use super::Namespaces;
use crate::running::{eventually, shown};

/// What is checked, and what each needs.
pub(crate) const CHECKS: [(&str, &[&str], Check); 2] = [
    ("sockets_of_an_engine_in_another_namespace_are_read", &["root", "ip"], in_another_namespace),
    ("sockets_that_wait_for_their_buffer_are_told", &["root", "ip", "tc"], limited_by_the_buffer),
];

type Check = fn() -> Result<(), Failed>;

const BYTES: usize = 2_000_003;

fn in_another_namespace() -> Result<(), Failed> {
    let spaces = Namespaces::make(None);
    let server = spaces.null_target();
    let client = Idle::inside(&spaces.client_link)?;
    let port = server.address.parse::<std::net::SocketAddr>()?.port();
    let ports = || vec![PortRange { first: port, last: port }];
    let mut stream = inside(&format!("/run/netns/{}", spaces.client_link), || {
        let stream = TcpStream::connect(&server.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(20)))?;
        Ok(stream)
    })?;

    // The server's port is found by its socket that listens.
    let at_server = SocketsRequest { ports: vec![], pids: vec![server.pid()] };
    let at_client = SocketsRequest { ports: ports(), pids: vec![client.0.id()] };
    let own = SocketsRequest { ports: ports(), pids: vec![std::process::id()] };
    let (mut watches, unreadable): (Vec<_>, Vec<_>) =
        [&at_server, &at_client, &own].map(|requested| begin(&Root::live(), requested)).into_iter().unzip();
    expect(unreadable.iter().all(Vec::is_empty), || format!("{unreadable:?}"))?;
    watches.iter_mut().for_each(|watch| _ = look(watch, 0));
    let head = format!("PUT /b/o HTTP/1.1\r\nhost: h\r\ncontent-length: {BYTES}\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(&vec![7; BYTES])?;
    let answered = stream.read(&mut [0; 4096])?;
    std::thread::sleep(Duration::from_millis(300));
    watches.iter_mut().for_each(|watch| _ = look(watch, 2000));
    let mut seen = watches.into_iter().map(end);
    let (server_saw, client_saw, own_saw) = (seen.next(), seen.next(), seen.next());
    let (server_saw, client_saw) = (server_saw.ok_or("nothing")?, client_saw.ok_or("nothing")?);

    let total = (head.len() + BYTES) as u64;
    let remote_rows = |seen: &SocketsSeen| -> Vec<(IpAddr, OpenedBy, u64, u64)> {
        let row = |remote_rows: &RemoteSums| {
            (remote_rows.address, remote_rows.opened_by, remote_rows.sent_bytes, remote_rows.received_bytes)
        };
        seen.remotes.iter().map(row).collect()
    };
    let (ours, theirs): (IpAddr, IpAddr) = ("10.231.77.2".parse()?, spaces.server_address.parse()?);
    let answered = answered as u64;
    expect(remote_rows(&server_saw) == [(ours, OpenedBy::Them, answered, total)], || format!("{server_saw:?}"))?;
    expect(remote_rows(&client_saw) == [(theirs, OpenedBy::Us, total, answered)], || format!("{client_saw:?}"))?;
    expect(server_saw.ports == ports() && server_saw.met == client_saw.made, || format!("{server_saw:?}"))?;
    expect(own_saw.is_some_and(|seen| seen.sockets == 0), || "this namespace has the sockets too".to_owned())?;

    // Both ends know the connection: the client is a node here.
    let read = linerate_analysis::sockets::join(&[("s".to_owned(), server_saw), ("c".to_owned(), client_saw)]);
    let groups: Vec<SocketGroup> = read.iter().map(|one: &SocketRead| one.remotes[0].group).collect();
    expect(groups == [SocketGroup::FromPeer, SocketGroup::ToPeer], || format!("{groups:?}"))?;
    denied(&SocketsRequest { ports: ports(), ..at_server })
}

/// Without the rights, it is said which are needed, and the own namespace is read.
fn denied(requested: &SocketsRequest) -> Result<(), Failed> {
    for lacking in [CapabilitySet::SYS_ADMIN, CapabilitySet::SYS_ADMIN | CapabilitySet::SYS_PTRACE] {
        // Rights are a thread's own.
        let tried = std::thread::scope(|scope| {
            let tried = scope.spawn(|| -> rustix::io::Result<(Vec<Unreadable>, u32)> {
                let mut sets = capabilities(None)?;
                sets.effective -= lacking;
                sets.permitted -= lacking;
                set_capabilities(None, sets)?;
                let (mut watch, unreadable) = begin(&Root::live(), requested);
                let looked = look(&mut watch, 0);
                let all = unreadable.into_iter().chain(looked.unreadable).collect();
                Ok((all, end(watch).looks))
            });
            tried.join()
        });
        let (unreadable, looks) = tried.map_err(|_| "the thread ended early")??;
        let said: Vec<String> = unreadable.iter().map(ToString::to_string).collect();
        expect(looks == 1 && said.len() == 1 && said[0].contains("CAP_SYS_ADMIN"), || format!("{said:?}"))?;
    }
    Ok(())
}

/// The kernel counts a sender as limited by its buffer while all of it is under way and the program waits for room
/// (`net/ipv4/tcp_output.c: tcp_cwnd_validate`), which depends on how acknowledgements come. So it is tried until one
/// of several ways has it.
fn limited_by_the_buffer() -> Result<(), Failed> {
    let name = format!("lrk{}", std::process::id() % 10_000);
    run("ip", &format!("netns add {name}"))?;
    let space = Removed(name);
    let name = &space.0;
    run("ip", &format!("-n {name} link set lo mtu 1500 up"))?;
    run("tc", &format!("-n {name} qdisc add dev lo root tbf rate 100mbit burst 64kb latency 50ms"))?;
    let idle = Idle::inside(name)?;
    let mut most = 0.0_f64;
    for attempt in 0..40 {
        let sums = inside(&format!("/run/netns/{name}"), || sent_by(&idle, 16_384 << (attempt % 3)))?;
        let share = sums.buffer_limited_us as f64 / sums.busy_us.max(1) as f64;
        expect(share <= 1.0, || format!("{sums:?}"))?;
        most = most.max(share);
        if most > 0.3 {
            println!("limited by its buffer for {most:.2} of the time: {sums:?}");
            return Ok(());
        }
    }
    Err(format!("no sender was limited by its buffer for more than {most:.2} of the time").into())
}

/// Sends for half a second with a buffer of so many bytes to a reader that is quick.
fn sent_by(idle: &Idle, buffer_bytes: usize) -> std::io::Result<RemoteSums> {
    let server = TcpListener::bind("127.0.0.1:0")?;
    let address = server.local_addr()?;
    let mut from = TcpStream::connect(address)?;
    let (mut to, _) = server.accept()?;
    sockopt::set_socket_send_buffer_size(&from, buffer_bytes)?;
    from.set_nodelay(true)?;
    let ports = vec![PortRange { first: address.port(), last: address.port() }];
    let (mut watch, _) = begin(&Root::live(), &SocketsRequest { ports, pids: vec![idle.0.id()] });
    look(&mut watch, 0);
    let until = Instant::now() + Duration::from_millis(500);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut room = vec![0; 1 << 20];
            while to.read(&mut room).is_ok_and(|read| read > 0) {}
        });
        while Instant::now() < until {
            from.write_all(&[7; 8000])?;
        }
        look(&mut watch, 500);
        drop(from);
        let seen = end(watch);
        let sums = seen.remotes.into_iter().find(|sums| sums.opened_by == OpenedBy::Us);
        sums.ok_or_else(|| std::io::Error::other("the sender was not seen"))
    })
}

/// Does work in a network namespace.
pub(super) fn inside<T: Send>(path: &str, work: impl FnOnce() -> std::io::Result<T> + Send) -> std::io::Result<T> {
    let space = File::open(path)?;
    std::thread::scope(|scope| {
        let inside = scope.spawn(|| {
            move_into_link_name_space(space.as_fd(), Some(LinkNameSpaceType::Network))?;
            work()
        });
        inside.join().unwrap_or_else(|_| Err(std::io::Error::other("the thread ended early")))
    })
}

pub(super) fn expect(is_so: bool, reported: impl FnOnce() -> String) -> Result<(), Failed> {
    if is_so { Ok(()) } else { Err(reported().into()) }
}

fn run(program: &str, words: &str) -> Result<(), Failed> {
    let output = Command::new(program).args(words.split(' ')).stdin(Stdio::null()).output()?;
    expect(output.status.success(), || format!("{program} {words}: {}", shown(&output)))
}

/// A process that does nothing in a network namespace; ended with the value.
struct Idle(Child);

impl Idle {
    /// Starts it; it is inside when this returns.
    fn inside(name: &str) -> std::io::Result<Idle> {
        let idle = Idle(Command::new("ip").args(["netns", "exec", name, "sleep", "1000"]).spawn()?);
        let space = std::fs::metadata(format!("/run/netns/{name}"))?.ino();
        let its_space = format!("/proc/{}/ns/net", idle.0.id());
        eventually("it is in its namespace", || std::fs::metadata(&its_space).is_ok_and(|its| its.ino() == space));
        Ok(idle)
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A network namespace, removed with the value.
struct Removed(String);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", &self.0]).status();
    }
}
