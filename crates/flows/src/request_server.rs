//! One thread that answers, on flows of its own: once a request has come whole, its answer is sent.

use std::sync::atomic::{AtomicBool, Ordering};

use linerate_record::rng::noise;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::counts::{CountedCpu, PointClock};
use crate::edge_poll::{EdgePoll, LOOK_NS};
use crate::rendezvous::ReceivingFlow;
use crate::stream_receiver::{FlowCount, ReceivedByThread, TAKEN_BYTES};

/// Lengths of a request and of its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExchangeBytes {
    pub(crate) request: usize,
    pub(crate) answer: usize,
}

/// Where a flow is: what came of a request, and what is left to send of an answer.
#[derive(Clone, Copy, Default)]
struct ServerExchange {
    got: usize,
    owed: usize,
}

pub(crate) fn answer_all(
    flows: Vec<ReceivingFlow>,
    bytes: ExchangeBytes,
    point_clock: PointClock,
    stop: &AtomicBool,
) -> (ReceivedByThread, Vec<ReceivingFlow>) {
    let mut cpu = CountedCpu::default();
    let mut counts: Vec<FlowCount> = flows.iter().map(|flow| FlowCount::new(flow, &point_clock.instants)).collect();
    match EdgePoll::new(flows.iter().map(|flow| &flow.stream), EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP) {
        Ok(edges) => answers(&flows, &mut counts, bytes, edges, point_clock, stop, &mut cpu),
        Err(errno) => counts.iter_mut().for_each(|count| count.failed = Some(errno.to_string())),
    }
    (ReceivedByThread { flows: counts, cpu_ns: cpu.used_ns() }, flows)
}

fn answers(
    flows: &[ReceivingFlow],
    counts: &mut [FlowCount],
    bytes: ExchangeBytes,
    mut edges: EdgePoll,
    PointClock { instants, clock }: PointClock,
    stop: &AtomicBool,
    cpu: &mut CountedCpu,
) {
    let (body, mut thrown_away) = (noise(bytes.answer), vec![0_u8; bytes.request.min(TAKEN_BYTES)]);
    let mut all = vec![ServerExchange::default(); flows.len()];
    while !stop.load(Ordering::Relaxed) {
        for ((flow, count), of) in flows.iter().zip(counts.iter_mut()).zip(&mut all) {
            if count.is_empty || count.failed.is_some() {
                continue;
            }
            count.is_empty = true;
            match goes_on(flow, of, &body, &mut thrown_away, bytes.request) {
                Ok(came) => count.add(&instants, clock.now_ns(), came),
                Err(why) => count.failed = Some(why),
            }
        }
        let now_ns = clock.now_ns();
        cpu.at(now_ns, &instants);
        if now_ns >= instants.end_ns {
            return;
        }
        let most_ns = (instants.end_ns - now_ns).min(LOOK_NS);
        edges.wait(most_ns).for_each(|number| counts[number].is_empty = false);
    }
}

/// Goes on with a flow until it has to wait; how many bytes of requests came.
fn goes_on(
    flow: &ReceivingFlow,
    of: &mut ServerExchange,
    body: &[u8],
    thrown_away: &mut [u8],
    request_bytes: usize,
) -> Result<usize, String> {
    let mut came = 0;
    loop {
        while of.owed > 0 {
            match send(&flow.stream, &body[body.len() - of.owed..], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(count) => of.owed -= count,
                Err(Errno::AGAIN) => return Ok(came),
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.to_string()),
            }
        }
        // The next request is sent after this answer has come, and is told then: to look for it would cost a call.
        if came > 0 && of.got == 0 {
            return Ok(came);
        }
        let room = thrown_away.len().min(request_bytes - of.got);
        match recv(&flow.stream, &mut thrown_away[..room], RecvFlags::TRUNC | RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return Err("the sender ended it".to_owned()),
            Ok((_, count)) => {
                of.got += count;
                came += count;
            }
            Err(Errno::AGAIN) => return Ok(came),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.to_string()),
        }
        if of.got == request_bytes {
            (of.got, of.owed) = (0, body.len());
        }
    }
}
