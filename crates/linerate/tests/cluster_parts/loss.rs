//! Requests of a client while a node is lost: how many fail, and for how long.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::{Cluster, LONG_TIMEOUT};
use crate::running::eventually_within;

/// Twenty requests a second, each with a connection of its own.
const EVERY: Duration = Duration::from_millis(50);

/// A request that has no answer by then has failed.
const TIMEOUT: Duration = Duration::from_secs(1);

/// A request: when it began, counted from the first, and who answered: the node, and the address that it saw.
pub(crate) struct Requested {
    pub(crate) at: Duration,
    pub(crate) answer: io::Result<(String, String)>,
}

/// Requests of the client for so long, while something is done after a second of them.
pub(crate) fn ask_during(
    cluster: &Cluster,
    address: SocketAddr,
    seconds: u64,
    act: impl FnOnce(),
) -> Result<(Duration, Vec<Requested>), Failed> {
    let network = File::open(cluster.network_of_client())?;
    let began = Instant::now();
    let asking = thread::spawn(move || -> io::Result<Vec<Requested>> {
        // Threads that this one begins are in its network.
        move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
        let mut requests = Vec::new();
        while began.elapsed() < Duration::from_secs(seconds) {
            let at = began.elapsed();
            requests.push(thread::spawn(move || Requested { at, answer: ask(address) }));
            thread::sleep(EVERY);
        }
        requests.into_iter().map(|one| one.join().map_err(|_| io::Error::other("a request panicked"))).collect()
    });
    thread::sleep(Duration::from_secs(1));
    let acted = began.elapsed();
    act();
    let requested = asking.join().map_err(|_| "the client panicked")??;
    Ok((acted, requested))
}

/// Requests of the client, as many as that.
pub(crate) fn ask_often(cluster: &Cluster, address: SocketAddr, count: usize) -> Result<Vec<Requested>, Failed> {
    let network = File::open(cluster.network_of_client())?;
    let asking = thread::spawn(move || -> io::Result<Vec<Requested>> {
        move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok((0..count).map(|_| Requested { at: Duration::ZERO, answer: ask(address) }).collect())
    });
    Ok(asking.join().map_err(|_| "the client panicked")??)
}

fn ask(address: SocketAddr) -> io::Result<(String, String)> {
    let mut connection = TcpStream::connect_timeout(&address, TIMEOUT)?;
    connection.set_read_timeout(Some(TIMEOUT))?;
    connection.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
    let mut reply = String::new();
    connection.read_to_string(&mut reply)?;
    let body = reply.split_once("\r\n\r\n").map(|(_, body)| body.trim()).unwrap_or_default();
    let (node, client) = body.split_once(' ').ok_or_else(|| io::Error::other(format!("no answer in {reply:?}")))?;
    Ok((node.to_owned(), client.to_owned()))
}

/// How many requests each node answered; those that failed are under the empty name.
pub(crate) fn by_node(requested: &[Requested]) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for one in requested {
        *counts.entry(one.answer.as_ref().map_or("", |(node, _)| node)).or_default() += 1;
    }
    counts
}

/// What a loss did to requests.
pub(crate) struct Loss {
    /// Requests that began afterwards.
    pub(crate) requests: usize,
    pub(crate) failed: usize,
    /// From the loss to the beginning of the last request that failed.
    pub(crate) healed: Duration,
}

/// Loses a node in a way, and brings it back; the client asks for so long.
pub(crate) fn lose(
    cluster: &Cluster,
    address: SocketAddr,
    node: u32,
    way: (&str, &str),
    seconds: u64,
) -> Result<Loss, Failed> {
    let node = node.to_string();
    let (lose, regain) = way;
    let (acted, requested) = ask_during(cluster, address, seconds, || drop(cluster.act(&[lose, &node])))?;
    let before = requested.iter().filter(|one| one.at < acted && one.answer.is_err()).count();
    let after: Vec<&Requested> = requested.iter().filter(|one| one.at >= acted).collect();
    let failed = after.iter().filter(|one| one.answer.is_err());
    let last = failed.clone().map(|one| one.at).max().unwrap_or(acted);
    // One that was under way when the node was lost may fail of that.
    let loss = Loss { requests: after.len(), failed: failed.count() + before, healed: last.saturating_sub(acted) };
    cluster.act(&[regain, &node]);
    println!(
        "{lose}: {} of {} requests failed, the last of them begun {:.1} s after the loss",
        loss.failed,
        loss.requests,
        loss.healed.as_secs_f64()
    );
    Ok(loss)
}

/// Waits until both nodes answer again.
pub(crate) fn await_both(cluster: &Cluster, address: SocketAddr) {
    eventually_within(LONG_TIMEOUT, "both nodes to answer", || {
        ask_often(cluster, address, 20).is_ok_and(|requested| {
            let counts = by_node(&requested);
            counts.len() == 2 && !counts.contains_key("")
        })
    });
}
