//! One thread that sends, on flows of its own: in turn on each that takes more, until the point ends.

use std::sync::atomic::{AtomicBool, Ordering};

use linerate_wire::clock::Clock;
use linerate_wire::sys::tcp_info;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::counted::{CountedCpu, FlowSent, Instants, SentByThread};
use crate::edges::{Edges, LOOK_NS};
use crate::meeting::SendingFlow;

/// A limited flow is given what it may send in so long at once: finer than any queue drains, coarser than a timer.
const GIVEN_NS: f64 = 4e6;

/// The least that is sent at once on a limited flow: a segment.
const LEAST_BYTES: f64 = 1_448.0;

/// Where a flow is.
struct Progress {
    sent_bytes: u64,
    is_blocked: bool,
    failed: Option<Errno>,
}

pub(crate) fn send_all(
    flows: Vec<SendingFlow>,
    send_bytes: usize,
    (instants, clock): (Instants, Clock),
    stop: &AtomicBool,
) -> (SentByThread, Vec<SendingFlow>) {
    let mut cpu = CountedCpu::default();
    let ended = Edges::of(flows.iter().map(|flow| &flow.stream), EventFlags::OUT | EventFlags::RDHUP)
        .map(|edges| turns(&flows, edges, send_bytes, (instants, clock), (stop, &mut cpu)));
    let of = |(number, flow): (usize, &SendingFlow)| {
        let failed = match &ended {
            Ok(progress) => progress[number].failed,
            Err(errno) => Some(*errno),
        };
        let told = match failed {
            Some(errno) => Err(errno.to_string()),
            None => tcp_info(&flow.stream).map_err(|error| error.to_string()),
        };
        let told = told.map(|info| FlowSent { info: Some(info), ..FlowSent::default() });
        (flow.to, told)
    };
    let told = flows.iter().enumerate().map(of).collect();
    (SentByThread { flows: told, cpu_ns: cpu.used_ns() }, flows)
}

fn turns(
    flows: &[SendingFlow],
    mut edges: Edges,
    send_bytes: usize,
    (instants, clock): (Instants, Clock),
    (stop, cpu): (&AtomicBool, &mut CountedCpu),
) -> Vec<Progress> {
    let body = body(send_bytes);
    let mut progress: Vec<Progress> =
        flows.iter().map(|_| Progress { sent_bytes: 0, is_blocked: false, failed: None }).collect();
    if !instants.wait_to_begin(clock, stop) {
        return progress;
    }
    loop {
        let wake_ns = one_turn(flows, &mut progress, &body, (instants, clock));
        let now_ns = clock.now_ns();
        cpu.at(now_ns, &instants);
        if now_ns >= instants.end_ns || stop.load(Ordering::Relaxed) {
            return progress;
        }
        if let Some(wake_ns) = wake_ns {
            let most_ns = wake_ns.min(instants.end_ns).saturating_sub(now_ns).min(LOOK_NS);
            edges.wait(most_ns).for_each(|number| progress[number].is_blocked = false);
        }
    }
}

/// Sends once on each flow that takes more; where none does, until when to wait.
fn one_turn(
    flows: &[SendingFlow],
    progress: &mut [Progress],
    body: &[u8],
    (instants, clock): (Instants, Clock),
) -> Option<u64> {
    let (mut is_idle, mut wake_ns) = (true, u64::MAX);
    for (flow, progress) in flows.iter().zip(progress) {
        let now_ns = clock.now_ns();
        if now_ns >= instants.end_ns {
            return None;
        }
        if progress.is_blocked || progress.failed.is_some() {
            continue;
        }
        let bytes =
            match due(flow.most_bytes_per_s, body.len(), progress.sent_bytes, now_ns.saturating_sub(instants.begin_ns))
            {
                Ok(bytes) => bytes,
                Err(due_ns) => {
                    wake_ns = wake_ns.min(instants.begin_ns.saturating_add(due_ns));
                    continue;
                }
            };
        match send(&flow.stream, &body[..bytes], SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(count) => {
                progress.sent_bytes += count as u64;
                is_idle = false;
            }
            Err(Errno::AGAIN) => progress.is_blocked = true,
            Err(Errno::INTR) => is_idle = false,
            Err(errno) => progress.failed = Some(errno),
        }
    }
    is_idle.then_some(wake_ns)
}

/// How much may be sent now on a flow that has sent so much since its begin; else when, in nanoseconds since then.
fn due(most_bytes_per_s: Option<f64>, send_bytes: usize, sent_bytes: u64, since_ns: u64) -> Result<usize, u64> {
    let Some(bytes_per_s) = most_bytes_per_s else { return Ok(send_bytes) };
    let piece = (bytes_per_s * GIVEN_NS / 1e9).clamp(LEAST_BYTES.min(send_bytes as f64), send_bytes as f64);
    let due_ns = sent_bytes as f64 * 1e9 / bytes_per_s;
    if due_ns <= since_ns as f64 { Ok(piece as usize) } else { Err(due_ns as u64) }
}

/// Bytes that nothing on the way can make fewer of.
pub(crate) fn body(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut word = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    let mut body: Vec<u8> = std::iter::repeat_with(&mut word).take(bytes.div_ceil(8)).flatten().collect();
    body.truncate(bytes);
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limited_flow_sends_no_more_than_its_rate_and_one_piece() {
        for (rate, send_bytes) in [(1e5, 262_144), (12.5e6, 262_144), (3.1e9, 262_144), (1e6, 1_000)] {
            let (mut sent, mut now_ns) = (0_u64, 0);
            while now_ns < 1_000_000_000 {
                match due(Some(rate), send_bytes, sent, now_ns) {
                    Ok(bytes) => {
                        assert!((1..=send_bytes).contains(&bytes), "{rate}: {bytes}");
                        sent += bytes as u64;
                    }
                    Err(due_ns) => {
                        assert!(due_ns + 1 >= now_ns, "{rate}");
                        now_ns = due_ns.max(now_ns + 1);
                    }
                }
            }
            let share = sent as f64 / rate;
            assert!((0.99..1.02).contains(&share), "{rate}: {share}");
        }
        assert_eq!(due(None, 4096, u64::MAX, 0), Ok(4096));
    }

    #[test]
    fn a_body_is_as_long_as_it_is_to_be_and_of_all_bytes() {
        let body = body(100_003);
        let kinds: std::collections::BTreeSet<u8> = body.iter().copied().collect();
        assert_eq!((body.len(), kinds.len()), (100_003, 256));
    }
}
