//! How both ends of the flows of a point meet: who sends connects and is told where datagrams are taken, who receives
//! waits for those that it expects.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use linerate_record::net::NetOp;
use linerate_wire::deadline::{CancelToken, Deadline, DeadlineSocket};
use linerate_wire::transport::{dial_blocking, dial_blocking_from};

use crate::datagram::SECRET_BYTES;
use crate::flow_handshake::{ANSWER_BYTES, FlowName, FlowToken, is_answer, preface};
use crate::listener::AcceptedFlow;
use crate::plan::{FlowPlan, FlowsError, FlowsTo};

/// How long one flow may take to be accepted by the other end.
pub(crate) const CONNECTED_WITHIN: Duration = Duration::from_secs(5);

/// How often whoever waits for flows looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// Shortest wait for something that is due at an instant that may be over.
const LEAST_WAIT: Duration = Duration::from_millis(100);

/// What a receiver asks its kernel to keep of datagrams that it has not read: net.core.rmem_max bounds it.
const DATAGRAMS_KEPT_BYTES: usize = 4 << 20;

/// What a receiver says of where it takes datagrams: the port, the high byte first, and the flow's secret.
const PLACE_BYTES: usize = 2 + SECRET_BYTES;

/// A flow that this machine sends on.
pub(crate) struct SendingFlow {
    pub(crate) to: u32,
    pub(crate) stream: TcpStream,
    pub(crate) most_bytes_per_s: Option<f64>,
    /// Which part of the flows to its receiver are before it: what is due on all of them is not due at once.
    pub(crate) place_share: f64,
    pub(crate) datagrams: Option<DatagramDestination>,
}

/// Where its datagrams go.
pub(crate) struct DatagramDestination {
    pub(crate) socket: UdpSocket,
    pub(crate) secret: [u8; SECRET_BYTES],
}

/// A flow that this machine receives on.
pub(crate) struct ReceivingFlow {
    pub(crate) from: u32,
    /// Its number among those of its sender.
    pub(crate) flow: u32,
    pub(crate) stream: TcpStream,
    pub(crate) datagrams: Option<DatagramSource>,
}

/// Where its datagrams are taken, and whose.
pub(crate) struct DatagramSource {
    pub(crate) socket: UdpSocket,
    pub(crate) secret: [u8; SECRET_BYTES],
    pub(crate) peer: IpAddr,
    /// Whether the sender hears on the stream which of them came, by their numbers.
    pub(crate) is_answered: bool,
}

/// Flows by machines, and machines of which not all came, with the reason.
type MatchedFlows<F> = (Vec<F>, BTreeMap<u32, String>);

pub(crate) fn drawn<const N: usize>() -> Result<[u8; N], rustix::io::Errno> {
    let mut drawn = [0; N];
    rustix::rand::getrandom(&mut drawn, rustix::rand::GetRandomFlags::empty()).map(|_| drawn)
}

/// Connects to all that are sent to, until an instant. What listens there may be anybody: whatever it does, it is given
/// up in time.
pub(crate) fn reached(
    plan: &FlowPlan,
    token: &FlowToken,
    until: Instant,
    stop: &Arc<AtomicBool>,
) -> Result<MatchedFlows<SendingFlow>, FlowsError> {
    let cancel = CancelToken::Stop(Arc::clone(stop));
    let (mut sending, mut unsent) = (Vec::new(), BTreeMap::new());
    for to in &plan.sends {
        let most_bytes_per_s = plan.stream_bytes_per_s(to.streams);
        let mut places = source_addresses(to);
        for flow in 0..to.streams {
            if stop.load(Ordering::Relaxed) {
                return Err(FlowsError::Stopped);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                unsent.insert(to.to, format!("{} is not reached: no time was left for it", to.address));
                break;
            }
            let name = FlowName { point: plan.point, from: plan.own, to: to.to, flow };
            let drawn = drawn().map_err(FlowsError::Random)?;
            let mut deadline = Deadline::new(left.min(CONNECTED_WITHIN), &cancel);
            let made = match &to.source {
                Some(_) => opened_from(&mut places, to.address, &mut deadline)
                    .and_then(|stream| proven(stream, token, name, drawn, &deadline)),
                None => connected(to.address, token, name, drawn, &mut deadline),
            };
            match made {
                Ok(stream) => {
                    let place_share = f64::from(flow) / f64::from(to.streams);
                    sending.push(SendingFlow { to: to.to, stream, most_bytes_per_s, place_share, datagrams: None });
                }
                Err(_) if stop.load(Ordering::Relaxed) => return Err(FlowsError::Stopped),
                Err(error) => {
                    unsent.insert(to.to, format!("{} is not reached: {error}", to.address));
                    break;
                }
            }
        }
    }
    sending.retain(|flow| !unsent.contains_key(&flow.to));
    Ok((sending, unsent))
}

/// Where flows to a receiver may come from, in order; nothing where that is left to the kernel.
fn source_addresses(to: &FlowsTo) -> impl Iterator<Item = SocketAddr> {
    to.source.iter().flat_map(|source| source.ports.iter().map(move |port| SocketAddr::new(source.address, *port)))
}

/// Connects from the first of these places that is free. Those before it are tried no more.
fn opened_from(
    places: &mut impl Iterator<Item = SocketAddr>,
    address: SocketAddr,
    deadline: &mut Deadline,
) -> io::Result<TcpStream> {
    for place in places {
        match dial_blocking_from(address, place, deadline) {
            Err(error) if matches!(error.kind(), io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable) => {}
            made => return freed_at_once(made?),
        }
    }
    Err(io::Error::other("none of the ports to send from is free"))
}

/// Makes one flow, and proves both ends.
pub(crate) fn connected(
    address: SocketAddr,
    token: &FlowToken,
    name: FlowName,
    drawn: [u8; 16],
    deadline: &mut Deadline,
) -> io::Result<TcpStream> {
    proven(dial_blocking(address, None, deadline)?, token, name, drawn, deadline)
}

/// A flow whose port is free again once it is closed: what is left of it is dropped then (`SO_LINGER` of 0), and
/// nothing is kept of it (`TIME_WAIT`). Its ports may be asked for again in the next round.
fn freed_at_once(stream: TcpStream) -> io::Result<TcpStream> {
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO))?;
    Ok(stream)
}

/// Proves both ends of a flow.
fn proven(
    stream: TcpStream,
    token: &FlowToken,
    name: FlowName,
    drawn: [u8; 16],
    deadline: &Deadline,
) -> io::Result<TcpStream> {
    let said = preface(token, name, drawn);
    let mut stream = DeadlineSocket::new(stream, deadline.clone())?;
    stream.write_all(&said)?;
    let mut answer = [0; ANSWER_BYTES];
    let denied = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => io::Error::other("what listens there does not have the token of this run"),
        _ => error,
    };
    stream.read_exact(&mut answer).map_err(denied)?;
    if !is_answer(token, &said, &answer) {
        return Err(io::Error::other("what listens there does not have the token of this run"));
    }
    Ok(stream.into_socket())
}

/// Waits for the flows of this point; those of others are dropped.
pub(crate) fn expected(
    plan: &FlowPlan,
    accepted: &Receiver<AcceptedFlow>,
    until: Instant,
    stop: &AtomicBool,
) -> Result<MatchedFlows<ReceivingFlow>, FlowsError> {
    // What came in time is taken, however long others were waited for before.
    let until = until.max(Instant::now() + LEAST_WAIT);
    let wanted: u32 = plan.receives.iter().map(|of| of.streams).sum();
    let is_expected = |name: FlowName| {
        name.point == plan.point && plan.receives.iter().any(|of| of.from == name.from && name.flow < of.streams)
    };
    let (mut came, mut broken) = (Vec::new(), BTreeMap::new());
    while came.len() + broken.len() < wanted as usize && Instant::now() < until {
        if stop.load(Ordering::Relaxed) {
            return Err(FlowsError::Stopped);
        }
        match accepted.recv_timeout(LOOK) {
            Ok(flow) if is_expected(flow.name) => match received(plan.op, flow.name, flow.stream) {
                Ok(flow) => came.push(flow),
                Err(error) => drop(broken.insert(flow.name.from, format!("no socket for datagrams: {error}"))),
            },
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(FlowsError::Deaf),
        }
    }
    let count = |from: u32| came.iter().filter(|flow| flow.from == from).count() as u32;
    for of in plan.receives.iter().filter(|of| count(of.from) < of.streams) {
        let why = || format!("{} of its {} streams came", count(of.from), of.streams);
        broken.entry(of.from).or_insert_with(why);
    }
    came.retain(|flow| !broken.contains_key(&flow.from));
    Ok((came, broken))
}

/// What is made of a flow that was accepted. Where it is of datagrams, its sender is told where these are taken.
fn received(op: NetOp, name: FlowName, mut stream: TcpStream) -> io::Result<ReceivingFlow> {
    let FlowName { from, flow, .. } = name;
    stream.set_nodelay(true)?;
    if !op.is_of_datagrams() {
        return Ok(ReceivingFlow { from, flow, stream, datagrams: None });
    }
    let socket = UdpSocket::bind((stream.local_addr()?.ip().to_canonical(), 0))?;
    socket.set_nonblocking(true)?;
    // The kernel gives as much of it as it may.
    let _ = rustix::net::sockopt::set_socket_recv_buffer_size(&socket, DATAGRAMS_KEPT_BYTES);
    let secret = drawn()?;
    let mut place = [0; PLACE_BYTES];
    place[..2].copy_from_slice(&socket.local_addr()?.port().to_be_bytes());
    place[2..].copy_from_slice(&secret);
    // It fits any send buffer.
    stream.write_all(&place)?;
    let peer = stream.peer_addr()?.ip().to_canonical();
    let is_answered = op == NetOp::Mtu;
    let datagrams = Some(DatagramSource { socket, secret, peer, is_answered });
    Ok(ReceivingFlow { from, flow, stream, datagrams })
}

/// Learns of each flow where its datagrams are taken; those that are not told are dropped with the reason.
pub(crate) fn places_reported(
    sending: &mut Vec<SendingFlow>,
    unsent: &mut BTreeMap<u32, String>,
    until: Instant,
    stop: &Arc<AtomicBool>,
) {
    let cancel = CancelToken::Stop(Arc::clone(stop));
    for flow in sending.iter_mut() {
        // Of one that was silent, the other flows are not waited for.
        if unsent.contains_key(&flow.to) {
            continue;
        }
        let left = until.saturating_duration_since(Instant::now()).max(LEAST_WAIT);
        match place_reported(&flow.stream, Deadline::new(left, &cancel)) {
            Ok(to) => flow.datagrams = Some(to),
            Err(error) => drop(unsent.insert(flow.to, format!("it does not tell where it takes datagrams: {error}"))),
        }
    }
    sending.retain(|flow| !unsent.contains_key(&flow.to));
}

fn place_reported(stream: &TcpStream, deadline: Deadline) -> io::Result<DatagramDestination> {
    let mut place = [0; PLACE_BYTES];
    DeadlineSocket::new(stream.try_clone()?, deadline)?.read_exact(&mut place)?;
    let ([high, low], mut secret) = ([place[0], place[1]], [0; SECRET_BYTES]);
    secret.copy_from_slice(&place[2..]);
    let socket = UdpSocket::bind((stream.local_addr()?.ip().to_canonical(), 0))?;
    socket.connect((stream.peer_addr()?.ip().to_canonical(), u16::from_be_bytes([high, low])))?;
    socket.set_nonblocking(true)?;
    Ok(DatagramDestination { socket, secret })
}
