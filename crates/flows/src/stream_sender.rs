//! One thread that sends, on flows of its own: in turn on each that takes more, until the point ends. Sends without a
//! copy: `stream_sender/zerocopy.rs`.

mod zerocopy;

use std::sync::atomic::{AtomicBool, Ordering};

use linerate_record::rng::noise;
use linerate_wire::sys::tcp_info;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::counts::{CountedCpu, FlowSent, PointClock, SentByThread};
use crate::edge_poll::{EdgePoll, LOOK_NS};
use crate::rendezvous::SendingFlow;
use zerocopy::ZeroCopySends;

/// A limited flow is given what it may send in so long at once: finer than any queue drains, coarser than a timer.
const GIVEN_NS: f64 = 4e6;

/// The least that is sent at once on a limited flow, a segment, and the most: queues on the way are shared.
const LEAST_BYTES: f64 = 1_448.0;
const GIVEN_BYTES: f64 = 262_144.0;

/// A limited flow that was held up, or begun late, makes up for no more than this: what was not sent meanwhile would
/// come at once, as fast as the path takes it. Threads of a busy machine wake up later than those of datagrams may.
const MADE_UP_MOST_NS: f64 = 50e6;

/// What a flow may send, and when.
#[derive(Clone, Copy, Debug)]
struct SendBudget {
    bytes_per_s: Option<f64>,
    /// When the next bytes are due, in nanoseconds since the begin.
    due_ns: f64,
}

impl SendBudget {
    const fn new(bytes_per_s: Option<f64>) -> SendBudget {
        SendBudget { bytes_per_s, due_ns: 0.0 }
    }

    /// How much may be sent now, so long after the begin; else when, in nanoseconds since then.
    fn at(&self, since_ns: u64, send_bytes: usize) -> Result<usize, u64> {
        let Some(bytes_per_s) = self.bytes_per_s else { return Ok(send_bytes) };
        if self.due_ns > since_ns as f64 {
            return Err(self.due_ns as u64);
        }
        let most = (send_bytes as f64).min(GIVEN_BYTES);
        Ok((bytes_per_s * GIVEN_NS / 1e9).clamp(LEAST_BYTES.min(most), most) as usize)
    }

    /// So much was sent then.
    fn step(&mut self, since_ns: u64, bytes: usize) {
        let Some(bytes_per_s) = self.bytes_per_s else { return };
        self.due_ns = self.due_ns.max(since_ns as f64 - MADE_UP_MOST_NS) + bytes as f64 * 1e9 / bytes_per_s;
    }
}

/// Where a flow is.
struct Progress {
    allowed: SendBudget,
    is_blocked: bool,
    failed: Option<Errno>,
    /// Where it sends without a copy.
    zerocopy_sends: Option<ZeroCopySends>,
}

pub(crate) fn send_all(
    flows: Vec<SendingFlow>,
    send_bytes: usize,
    zerocopy: bool,
    point_clock: PointClock,
    stop: &AtomicBool,
) -> (SentByThread, Vec<SendingFlow>) {
    let mut cpu = CountedCpu::default();
    let ended = EdgePoll::new(flows.iter().map(|flow| &flow.stream), EventFlags::OUT | EventFlags::RDHUP)
        .map(|edges| turns(&flows, edges, send_bytes, zerocopy, point_clock, stop, &mut cpu));
    let flow_sent = |(number, flow): (usize, &SendingFlow)| {
        let (failed, zerocopy) = match &ended {
            Ok(progress) => {
                (progress[number].failed, progress[number].zerocopy_sends.as_ref().map(ZeroCopySends::counted))
            }
            Err(errno) => (Some(*errno), None),
        };
        let reported = match failed {
            Some(errno) => Err(errno.to_string()),
            None => tcp_info(&flow.stream).map_err(|error| error.to_string()),
        };
        let reported = reported.map(|info| FlowSent { info: Some(info), zerocopy, ..FlowSent::default() });
        (flow.to, reported)
    };
    let reported = flows.iter().enumerate().map(flow_sent).collect();
    (SentByThread { flows: reported, cpu_ns: cpu.used_ns() }, flows)
}

fn turns(
    flows: &[SendingFlow],
    mut edges: EdgePoll,
    send_bytes: usize,
    zerocopy: bool,
    point_clock: PointClock,
    stop: &AtomicBool,
    cpu: &mut CountedCpu,
) -> Vec<Progress> {
    let PointClock { instants, clock } = point_clock;
    let body = noise(send_bytes);
    let flow_progress = |flow: &SendingFlow| {
        let zerocopy_sends = zerocopy.then(|| ZeroCopySends::begun(&flow.stream));
        Progress { allowed: SendBudget::new(flow.most_bytes_per_s), is_blocked: false, failed: None, zerocopy_sends }
    };
    let mut progress: Vec<Progress> = flows.iter().map(flow_progress).collect();
    if !instants.wait_to_begin(clock, stop) {
        return progress;
    }
    loop {
        let wake_ns = one_turn(flows, &mut progress, &body, point_clock);
        let now_ns = clock.now_ns();
        cpu.at(now_ns, &instants);
        if now_ns >= instants.end_ns || stop.load(Ordering::Relaxed) {
            for (flow, state) in flows.iter().zip(&mut progress) {
                state.zerocopy_sends.iter_mut().for_each(|zerocopy_sends| zerocopy_sends.read(&flow.stream));
            }
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
    PointClock { instants, clock }: PointClock,
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
        let since_ns = now_ns.saturating_sub(instants.begin_ns);
        let bytes = match progress.allowed.at(since_ns, body.len()) {
            Ok(bytes) => bytes,
            Err(due_ns) => {
                wake_ns = wake_ns.min(instants.begin_ns.saturating_add(due_ns));
                continue;
            }
        };
        let sent = match &mut progress.zerocopy_sends {
            Some(zerocopy_sends) => zerocopy_sends.send(&flow.stream, bytes),
            None => send(&flow.stream, &body[..bytes], SendFlags::NOSIGNAL | SendFlags::DONTWAIT),
        };
        match sent {
            Ok(count) => {
                progress.allowed.step(since_ns, count);
                is_idle = false;
            }
            Err(Errno::AGAIN) => progress.is_blocked = true,
            Err(Errno::INTR) => is_idle = false,
            Err(errno) => progress.failed = Some(errno),
        }
    }
    is_idle.then_some(wake_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a limited flow sends until an instant, and when it looks again.
    fn sent_until(allowed: &mut SendBudget, send_bytes: usize, (mut now_ns, until_ns): (u64, u64)) -> u64 {
        let mut sent = 0;
        while now_ns < until_ns {
            match allowed.at(now_ns, send_bytes) {
                Ok(bytes) => {
                    assert!((1..=send_bytes).contains(&bytes), "{allowed:?}: {bytes}");
                    allowed.step(now_ns, bytes);
                    sent += bytes as u64;
                }
                Err(due_ns) => {
                    assert!(due_ns + 1 >= now_ns, "{allowed:?}");
                    now_ns = due_ns.max(now_ns + 1);
                }
            }
        }
        sent
    }

    #[test]
    fn a_limited_flow_sends_no_more_than_its_rate_and_one_piece() {
        for (rate, send_bytes) in [(1e5, 262_144), (12.5e6, 262_144), (3.1e9, 262_144), (1e6, 1_000)] {
            let sent = sent_until(&mut SendBudget::new(Some(rate)), send_bytes, (0, 1_000_000_000));
            let share = sent as f64 / rate;
            assert!((0.99..1.02).contains(&share), "{rate}: {share}");
        }
        let mut free = SendBudget::new(None);
        free.step(0, usize::MAX);
        assert_eq!(free.at(0, 4096), Ok(4096));
    }

    #[test]
    fn a_limited_flow_that_was_held_up_does_not_send_at_once_what_it_did_not_send_meanwhile() {
        let rate = 5e6;
        let mut allowed = SendBudget::new(Some(rate));
        sent_until(&mut allowed, 262_144, (0, 100_000_000));
        // Two seconds long nothing was taken, and then all that is sent.
        let sent = sent_until(&mut allowed, 262_144, (2_100_000_000, 2_200_000_000));
        let share = sent as f64 / (0.1 * rate);
        assert!((1.0..1.75).contains(&share), "{share} of what is due in this time");
        // One whose begin is long over is one that was held up, too.
        let late = sent_until(&mut SendBudget::new(Some(rate)), 262_144, (3_600_000_000_000, 3_600_100_000_000));
        assert!((late as f64) < 1.75 * 0.1 * rate, "{late}");
        // A thread that wakes up late loses nothing.
        let mut behind = SendBudget::new(Some(rate));
        let sent: u64 = (0..50)
            .map(|wake| sent_until(&mut behind, 262_144, (40_000_000 * wake + 39_999_999, 40_000_000 * (wake + 1))))
            .sum();
        assert!((0.97..1.02).contains(&(sent as f64 / (2.0 * rate))), "{sent}");
    }
}
