//! One thread that asks, on flows of its own: on each a request and its answer at a time, until the point ends.

use std::sync::atomic::{AtomicBool, Ordering};

use linerate_record::rng::noise;
use linerate_wire::sys::tcp_info;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::counts::{CountedCpu, ExchangeCount, FlowSent, PointClock, SentByThread};
use crate::edge_poll::{EdgePoll, LOOK_NS};
use crate::rendezvous::SendingFlow;
use crate::request_server::ExchangeBytes;
use crate::stream_receiver::TAKEN_BYTES;

/// Where a flow is.
struct ClientExchange {
    /// When the first byte of the request was given to the kernel.
    begun_ns: u64,
    sent: usize,
    got: usize,
    waits: bool,
    failed: Option<String>,
    count: ExchangeCount,
}

pub(crate) fn ask_all(
    flows: Vec<SendingFlow>,
    bytes: ExchangeBytes,
    point_clock: PointClock,
    stop: &AtomicBool,
) -> (SentByThread, Vec<SendingFlow>) {
    let mut cpu = CountedCpu::default();
    let count = || ExchangeCount::new(&point_clock.instants);
    let asking = || ClientExchange { begun_ns: 0, sent: 0, got: 0, waits: false, failed: None, count: count() };
    let mut all: Vec<ClientExchange> = flows.iter().map(|_| asking()).collect();
    match EdgePoll::new(flows.iter().map(|flow| &flow.stream), EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP) {
        Ok(edges) => asks(&flows, &mut all, bytes, edges, point_clock, stop, &mut cpu),
        Err(errno) => all.iter_mut().for_each(|of| of.failed = Some(errno.to_string())),
    }
    let reported = |(flow, of): (&SendingFlow, ClientExchange)| {
        let info = match of.failed {
            Some(why) => Err(why),
            None => tcp_info(&flow.stream).map_err(|error| error.to_string()),
        };
        let reported = info.map(|info| FlowSent { info: Some(info), exchanges: Some(of.count), ..FlowSent::default() });
        (flow.to, reported)
    };
    let reported = flows.iter().zip(all).map(reported).collect();
    (SentByThread { flows: reported, cpu_ns: cpu.used_ns() }, flows)
}

fn asks(
    flows: &[SendingFlow],
    all: &mut [ClientExchange],
    bytes: ExchangeBytes,
    mut edges: EdgePoll,
    PointClock { instants, clock }: PointClock,
    stop: &AtomicBool,
    cpu: &mut CountedCpu,
) {
    let (body, mut thrown_away) = (noise(bytes.request), vec![0_u8; bytes.answer.min(TAKEN_BYTES)]);
    if !instants.wait_to_begin(clock, stop) {
        return;
    }
    all.iter_mut().for_each(|of| of.begun_ns = clock.now_ns());
    while !stop.load(Ordering::Relaxed) {
        let mut is_idle = true;
        for (flow, of) in flows.iter().zip(all.iter_mut()) {
            if of.waits || of.failed.is_some() {
                continue;
            }
            is_idle = false;
            match goes_on(flow, of, &body, &mut thrown_away, bytes.answer) {
                Ok(true) => {
                    let now_ns = clock.now_ns();
                    of.count.note(&instants, of.begun_ns, now_ns);
                    (of.begun_ns, of.sent, of.got) = (now_ns, 0, 0);
                }
                Ok(false) => of.waits = true,
                Err(why) => of.failed = Some(why),
            }
        }
        let now_ns = clock.now_ns();
        cpu.at(now_ns, &instants);
        if now_ns >= instants.end_ns {
            return;
        }
        if is_idle {
            let most_ns = (instants.end_ns - now_ns).min(LOOK_NS);
            edges.wait(most_ns).for_each(|number| all[number].waits = false);
        }
    }
}

/// Goes on with a flow; true where its answer is whole, false where it has to wait.
fn goes_on(
    flow: &SendingFlow,
    of: &mut ClientExchange,
    body: &[u8],
    thrown_away: &mut [u8],
    answer_bytes: usize,
) -> Result<bool, String> {
    let mut has_sent = false;
    while of.sent < body.len() {
        match send(&flow.stream, &body[of.sent..], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(count) => of.sent += count,
            Err(Errno::AGAIN) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.to_string()),
        }
        has_sent = true;
    }
    // No answer can be there yet, and it is told when it comes: to look for it would cost a call for each request.
    if has_sent && of.got == 0 {
        return Ok(false);
    }
    while of.got < answer_bytes {
        let room = thrown_away.len().min(answer_bytes - of.got);
        match recv(&flow.stream, &mut thrown_away[..room], RecvFlags::TRUNC | RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return Err("the receiver ended it".to_owned()),
            Ok((_, count)) => of.got += count,
            Err(Errno::AGAIN) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.to_string()),
        }
    }
    Ok(true)
}
