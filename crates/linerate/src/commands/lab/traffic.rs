//! The neighbour of a lab's node: datagrams at a rate, which nobody takes.

use std::net::UdpSocket;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::flags::TrafficFlags;
use crate::terminal::failure::Failure;

/// Body of a datagram: with headers of IPv4 and UDP it fills an MTU of 1500.
const BODY_BYTES: usize = 1472;

/// The same with headers of IPv4, UDP and Ethernet, as a token bucket counts it.
const COUNTED_BITS: f64 = 8.0 * 1514.0;

/// The longest that is made up for after a pause.
const BEHIND_MAX: Duration = Duration::from_millis(50);

/// Sends until it is killed.
pub(super) fn run(flags: &TrafficFlags) -> Result<ExitCode, Failure> {
    let failed = |source| Failure::File { what: "send to", path: flags.to.to_string().into(), source };
    let socket = UdpSocket::bind("0.0.0.0:0").map_err(failed)?;
    socket.connect(flags.to).map_err(failed)?;
    let each = Duration::from_secs_f64(COUNTED_BITS / flags.bits_per_s.max(1) as f64);
    let body = [0_u8; BODY_BYTES];
    let mut due = Instant::now();
    loop {
        let now = Instant::now();
        if due > now {
            std::thread::sleep(due - now);
        } else if now - due > BEHIND_MAX {
            due = now;
        }
        // Nobody takes them: what comes back says so.
        let _ = socket.send(&body);
        due += each;
    }
}
