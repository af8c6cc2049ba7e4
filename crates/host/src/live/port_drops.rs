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
//!   firmware. Who waits for them, as `linerate net` does at the begin and at the end of a visit, reads them at once by
//!   [`ports_now`].

use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

use linerate_record::readings::{ReadMeasure, ReadValue};

use super::Reader;
use super::background::BackgroundRead;
use super::counter_delta::{each_s, over_s};
use super::links::hardware;
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
pub(super) struct PortDrops {
    then: BTreeMap<String, PortCounters>,
    aside: BackgroundRead<PortsRead>,
}

pub(super) fn look<'a>(state: &mut PortDrops, ports: impl Iterator<Item = &'a String>, at: &mut Reader<'_>) {
    let ports: Vec<String> = ports.take(MOST_PORTS).cloned().collect();
    let now_ms = at.now_ms;
    let read = match ports.is_empty() {
        true => state.aside.found(),
        false => state.aside.turn(at.root, now_ms, LEAST_MS, move |root| read(root, &ports, now_ms)),
    };
    let Some(PortsRead { ports, unreadable }) = read else { return };
    at.pass.unreadable.extend(unreadable);
    for (name, now) in &ports {
        let reported = state.then.get(name).map(|then| rates(then, now));
        reported.into_iter().flatten().for_each(|(of, value)| at.tell_any(of, name, value));
    }
    state.then = ports;
}

/// What a port lost and received between two instants, per second.
fn rates(then: &PortCounters, now: &PortCounters) -> [(ReadMeasure, Option<f64>); 2] {
    let over_s = over_s(then.at_ms, now.at_ms);
    [
        (ReadMeasure::LinkRingDrops, over_s.and_then(|over_s| most(&then.losses, &now.losses, over_s))),
        (ReadMeasure::LinkPaused, over_s.and_then(|over_s| most(&then.pauses, &now.pauses, over_s))),
    ]
}

/// Counters of ports at one instant.
#[derive(Clone, Debug, Default)]
pub struct PortsNow(BTreeMap<String, PortCounters>);

/// Reads the counters of ports of hardware, at an instant in milliseconds of a clock that nobody sets: as long as that
/// takes. None where `/sys` shows another network namespace than that of the thread that asks.
#[must_use]
pub fn ports_now(root: &Root, now_ms: u64) -> PortsNow {
    let names: Vec<String> = hardware(root).into_iter().take(MOST_PORTS).collect();
    PortsNow(read(root, &names, now_ms).ports)
}

/// What ports lost for want of room, and pause frames that they received, per second between two instants.
#[must_use]
pub fn ports_between(then: &PortsNow, now: &PortsNow) -> Vec<ReadValue> {
    let both = now.0.iter().filter_map(|(name, now)| Some((name, rates(then.0.get(name)?, now))));
    let each = both.flat_map(|(name, rates)| rates.map(|(of, value)| (name, of, value)));
    each.filter_map(|(name, of, value)| Some(ReadValue { of, part: name.clone(), value: value? })).collect()
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
        let requested = || Ok((pauses_received(name)?, port_statistics(name)?));
        let (pauses, statistics) = match root.is_live().then(requested) {
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
    fn ports_of_hardware_are_read_at_once_by_who_waits_for_them() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        put(&root, "sys/class/net/eth0/device/vendor", "0x15b3\n");
        let missed = |name: &str, count: u64| {
            put(&root, &format!("sys/class/net/{name}/statistics/rx_missed_errors"), &format!("{count}\n"));
        };
        ["eth0", "veth1"].into_iter().for_each(|name| missed(name, 100));
        let then = ports_now(&root, 1_000);
        assert_eq!(ports_between(&then, &then), [], "no time has passed");
        ["eth0", "veth1"].into_iter().for_each(|name| missed(name, 400));
        let value = ReadValue { of: ReadMeasure::LinkRingDrops, part: "eth0".to_owned(), value: 150.0 };
        assert_eq!(ports_between(&then, &ports_now(&root, 3_000)), [value]);
        assert_eq!(ports_between(&PortsNow::default(), &then), []);
    }

    #[test]
    fn ports_are_read_each_ten_seconds_and_one_that_is_replaced_has_no_value() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let ports = ["eth0".to_owned(), "eth1".to_owned()];
        let mut state = PortDrops::default();
        let mut values_at = |now_ms, missed: [u64; 2]| {
            for (name, missed) in ports.iter().zip(missed) {
                put(&root, &format!("sys/class/net/{name}/statistics/rx_missed_errors"), &format!("{missed}\n"));
            }
            let found = values(&root, now_ms, |at| look(&mut state, ports.iter(), at));
            found.into_iter().map(|(_, part, value)| (part, value)).collect::<Vec<_>>()
        };
        assert_eq!(values_at(0, [100, 5]), []);
        assert_eq!(values_at(5_000, [200, 5]), []);
        assert_eq!(values_at(10_000, [400, 5]), [("eth0".to_owned(), 30.0), ("eth1".to_owned(), 0.0)]);
        assert_eq!(values_at(20_000, [7, 15]), [("eth1".to_owned(), 1.0)]);
    }
}
