//! Ports, by `/sys/class/net/*/statistics` and ethtool's netlink: `LinkRingDrops`, `LinkPaused`.
//!
//! - Tells: packets that a port lost for want of descriptors in its rings or room in its own memory, and pause frames
//!   that it received. Drivers count one loss as `rx_missed_errors`, `rx_fifo_errors`, `rx_over_errors` or as 802.3
//!   names it, several under two of these: the one that grew most counts. Pause frames are those of 802.3x, or MAC
//!   control frames of whichever kind, priority flow control (802.1Qbb) among them, where more of these were received.
//! - Cannot tell: counters that drivers have under names of their own (`ethtool -S`: `rx_prio3_pause`,
//!   `rx_out_of_buffer` of one queue), for which the kernel has an ioctl alone; so nothing of drivers that add losses
//!   and control frames to none of the counters above. A zero is no proof of a ring that was large enough. Packets that
//!   no one was there for (`rx_nohandler`) are no losses of rings.
//! - Needs no privilege; pause frames need Linux 5.10, MAC control frames 5.13, and a driver that counts them.
//! - At most each 10 s, beside the looks: counters take the lock of all interfaces, and some drivers ask their
//!   firmware.

use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

use linerate_record::readings::ReadMeasure;

use super::Looking;
use super::aside::Aside;
use super::since::{each_s, over_s};
use crate::root::{Root, Unreadable, text};
use crate::setting::{PortStatistics, pauses_received, port_statistics};

pub(super) const LEAST_MS: u64 = 10_000;
const MOST_PORTS: usize = 64;
const LOSSES: [&str; 3] = ["rx_missed_errors", "rx_fifo_errors", "rx_over_errors"];

/// Counters of one port.
#[derive(Clone, Debug, PartialEq)]
struct PortCounters {
    at_ms: u64,
    losses: [Option<u64>; 4],
    /// Pause frames, and control frames of whichever kind.
    pauses: [Option<u64>; 2],
}

#[derive(Debug)]
struct PortsRead {
    ports: BTreeMap<String, PortCounters>,
    unreadable: Vec<Unreadable>,
}

/// What was read last.
#[derive(Debug, Default)]
pub(super) struct Rings {
    then: BTreeMap<String, PortCounters>,
    aside: Aside<PortsRead>,
}

pub(super) fn look<'a>(state: &mut Rings, ports: impl Iterator<Item = &'a String>, at: &mut Looking<'_>) {
    let ports: Vec<String> = ports.take(MOST_PORTS).cloned().collect();
    let now_ms = at.now_ms;
    let read = match ports.is_empty() {
        true => state.aside.found(),
        false => state.aside.turn(at.root, (now_ms, LEAST_MS), move |root| read(root, &ports, now_ms)),
    };
    let Some(PortsRead { ports, unreadable }) = read else { return };
    at.pass.unreadable.extend(unreadable);
    for (name, now) in &ports {
        let both = state.then.get(name).and_then(|then| Some((then, over_s(then.at_ms, now.at_ms)?)));
        at.tell_any(
            ReadMeasure::LinkRingDrops,
            name,
            both.and_then(|(then, over_s)| most(&then.losses, &now.losses, over_s)),
        );
        let pauses = both.and_then(|(then, over_s)| most(&then.pauses, &now.pauses, over_s));
        at.tell_any(ReadMeasure::LinkPaused, name, pauses);
    }
    state.then = ports;
}

/// The rate of the one of some counters that grew most. None where any of them began anew.
fn most(then: &[Option<u64>], now: &[Option<u64>], over_s: f64) -> Option<f64> {
    let both = then.iter().zip(now).filter_map(|(then, now)| Some(((*then)?, (*now)?)));
    let rates: Vec<Option<f64>> = both.map(|(then, now)| each_s(then, now, over_s)).collect();
    rates.into_iter().collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}

fn read(root: &Root, names: &[String], now_ms: u64) -> PortsRead {
    let (began, mut bytes) = (Instant::now(), Vec::new());
    let mut read = PortsRead { ports: BTreeMap::new(), unreadable: Vec::new() };
    for name in names {
        let at_ms = if root.is_live() { began.elapsed().as_millis() as u64 + now_ms } else { now_ms };
        let [missed, fifo, over] = LOSSES.map(|file| {
            let text = text(root, &format!("sys/class/net/{name}/statistics/{file}"), &mut bytes).ok()?;
            text.trim().parse().ok()
        });
        let asked = || Ok((pauses_received(name)?, port_statistics(name)?));
        let (pauses, statistics) = match root.is_live().then(asked) {
            Some(Ok(counted)) => counted,
            Some(Err(error)) => {
                let error: io::Error = error;
                let reason = format!("{error}: pause frames are not reported");
                read.unreadable.push(Unreadable { path: format!("ethtool of {name}"), reason });
                (None, PortStatistics::default())
            }
            None => (None, PortStatistics::default()),
        };
        let losses = [missed, fifo, over, statistics.lost];
        let pauses = [pauses, statistics.control_received];
        read.ports.insert(name.clone(), PortCounters { at_ms, losses, pauses });
    }
    read
}

#[cfg(test)]
mod tests {
    use super::super::tests::{put, values};
    use super::*;

    #[test]
    fn one_loss_under_two_names_is_one() {
        let then = [Some(10), Some(10), Some(0)];
        for (now, expected) in [
            ([Some(30), Some(30), Some(0)], Some(10.0)),
            ([Some(30), Some(10), Some(0)], Some(10.0)),
            ([Some(10), Some(10), Some(6)], Some(3.0)),
            ([Some(30), None, None], Some(10.0)),
            ([Some(9), Some(30), Some(0)], None),
            ([None, None, None], None),
        ] {
            assert_eq!(most(&then, &now, 2.0), expected, "{now:?}");
        }
    }

    #[test]
    fn ports_are_read_each_ten_seconds_and_one_that_is_replaced_has_no_value() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let ports = ["eth0".to_owned(), "eth1".to_owned()];
        let mut state = Rings::default();
        let mut of = |now_ms, missed: [u64; 2]| {
            for (name, missed) in ports.iter().zip(missed) {
                put(&root, &format!("sys/class/net/{name}/statistics/rx_missed_errors"), &format!("{missed}\n"));
            }
            let found = values(&root, now_ms, |at| look(&mut state, ports.iter(), at));
            found.into_iter().map(|(_, part, value)| (part, value)).collect::<Vec<_>>()
        };
        assert_eq!(of(0, [100, 5]), []);
        assert_eq!(of(5_000, [200, 5]), []);
        assert_eq!(of(10_000, [400, 5]), [("eth0".to_owned(), 30.0), ("eth1".to_owned(), 0.0)]);
        assert_eq!(of(20_000, [7, 15]), [("eth1".to_owned(), 1.0)]);
    }
}
