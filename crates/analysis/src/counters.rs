//! Differences of readings: what a machine did between two instants.

use std::collections::BTreeMap;

use linerate_record::reading::{CpuTimes, DiskCounters, NicCounters, Reading};
use linerate_record::run::Interval;

use crate::view::{DiskSample, MachineSample, NicSample};

/// What the machine did from reading to reading: one sample fewer than readings. Counters that went backwards (a device
/// that was made anew) count as no movement.
#[must_use]
pub fn samples(readings: &[Reading]) -> Vec<MachineSample> {
    let moved_nic = moved(readings, |r| &r.nics, |n| (&n.name, n.rx_bytes.saturating_add(n.tx_bytes)));
    let moved_disk = moved(readings, |r| &r.disks, |d| (&d.name, d.read_bytes.saturating_add(d.written_bytes)));
    readings
        .windows(2)
        .filter(|pair| pair[1].at_ms > pair[0].at_ms)
        .map(|pair| between(&pair[0], &pair[1], &moved_nic, &moved_disk))
        .collect()
}

/// Names of the devices whose counter changed over all readings, in the order of the first.
fn moved<T>(readings: &[Reading], list: fn(&Reading) -> &Vec<T>, key: fn(&T) -> (&String, u64)) -> Vec<String> {
    let (Some(first), Some(last)) = (readings.first(), readings.last()) else { return Vec::new() };
    list(last)
        .iter()
        .map(key)
        .filter(|(name, total)| !list(first).iter().map(key).any(|(n, t)| n == *name && t == *total))
        .map(|(name, _)| name.clone())
        .collect()
}

fn between(a: &Reading, b: &Reading, nics: &[String], disks: &[String]) -> MachineSample {
    let seconds = (b.at_ms - a.at_ms) as f64 / 1e3;
    let rate = |from: u64, to: u64| to.saturating_sub(from) as f64 / seconds;
    let share_us = |from: u64, to: u64| (rate(from, to) / 1e6).min(1.0);
    let cpus = cpu_shares(&a.cpus, &b.cpus);
    let mean = |f: fn(&CpuShares) -> f64| cpus.iter().map(f).sum::<f64>() / cpus.len().max(1) as f64;
    let pressure = a.pressure.as_ref().zip(b.pressure.as_ref());
    MachineSample {
        at_ms: b.at_ms,
        cpu_busy: mean(|c| c.busy),
        cpu_busiest: cpus.iter().map(|c| c.busy).fold(0.0, f64::max),
        softirq: mean(|c| c.softirq),
        steal: mean(|c| c.steal),
        cpus: cpus.iter().map(|c| c.busy).collect(),
        nics: nics.iter().filter_map(|name| nic(name, a, b, &rate)).collect(),
        segments_per_s: rate(a.tcp.out_segments, b.tcp.out_segments),
        retransmits_per_s: rate(a.tcp.retransmitted_segments, b.tcp.retransmitted_segments),
        disks: disks.iter().filter_map(|name| disk(name, a, b, &rate)).collect(),
        memory_available_bytes: b.memory.available_bytes,
        pressure_cpu: pressure.map(|(a, b)| share_us(a.cpu_some_us, b.cpu_some_us)),
        pressure_io: pressure.map(|(a, b)| share_us(a.io_some_us, b.io_some_us)),
        pressure_memory: pressure.map(|(a, b)| share_us(a.memory_some_us, b.memory_some_us)),
    }
}

struct CpuShares {
    busy: f64,
    softirq: f64,
    steal: f64,
}

/// Shares of the time that each processor accounted for. A processor present in one reading only is left out, and so is
/// one that accounted for none, as where readings follow each other within a tick of the kernel: that is not 0 %.
fn cpu_shares(a: &[CpuTimes], b: &[CpuTimes]) -> Vec<CpuShares> {
    b.iter()
        .filter_map(|b| {
            let a = a.iter().find(|a| a.cpu == b.cpu)?;
            let spent = |f: fn(&CpuTimes) -> u64| f(b).saturating_sub(f(a)) as f64;
            let work = spent(|t| t.user_ms) + spent(|t| t.system_ms) + spent(|t| t.irq_ms) + spent(|t| t.softirq_ms);
            let steal = spent(|t| t.steal_ms);
            let all = work + steal + spent(|t| t.iowait_ms) + spent(|t| t.idle_ms);
            let share = |x: f64| x / all;
            let shares = CpuShares { busy: share(work), softirq: share(spent(|t| t.softirq_ms)), steal: share(steal) };
            (all > 0.0).then_some(shares)
        })
        .collect()
}

fn nic(name: &str, a: &Reading, b: &Reading, rate: &impl Fn(u64, u64) -> f64) -> Option<NicSample> {
    let find = |r: &Reading| -> Option<NicCounters> { r.nics.iter().find(|n| n.name == name).cloned() };
    let (a, b) = (find(a)?, find(b)?);
    Some(NicSample {
        name: name.to_owned(),
        rx_bytes_per_s: rate(a.rx_bytes, b.rx_bytes),
        tx_bytes_per_s: rate(a.tx_bytes, b.tx_bytes),
        drops_per_s: rate(a.rx_dropped, b.rx_dropped) + rate(a.tx_dropped, b.tx_dropped),
    })
}

fn disk(name: &str, a: &Reading, b: &Reading, rate: &impl Fn(u64, u64) -> f64) -> Option<DiskSample> {
    let find = |r: &Reading| -> Option<DiskCounters> { r.disks.iter().find(|d| d.name == name).cloned() };
    let (a, b) = (find(a)?, find(b)?);
    Some(DiskSample {
        name: name.to_owned(),
        read_bytes_per_s: rate(a.read_bytes, b.read_bytes),
        write_bytes_per_s: rate(a.written_bytes, b.written_bytes),
        busy: (rate(a.busy_ms, b.busy_ms) / 1e3).min(1.0),
    })
}

/// Those of some samples that say how busy processors were.
pub(crate) fn of_processors<'a>(samples: &[&'a MachineSample]) -> Vec<&'a MachineSample> {
    samples.iter().copied().filter(|sample| !sample.cpus.is_empty()).collect()
}

/// Samples whose later reading falls into the measured part of a point, or just after it: a sample speaks of the second
/// before it.
pub(crate) fn samples_of<'a>(samples: &'a [MachineSample], intervals: &[&Interval]) -> Vec<&'a MachineSample> {
    let spans = spans(intervals);
    let inside = |s: &&MachineSample| spans.iter().any(|(from, to)| s.at_ms > from + 300 && s.at_ms <= to + 300);
    samples.iter().filter(inside).collect()
}

/// How long intervals are as a rule: one at the end may be shorter, and one that a client merged is longer.
pub(crate) fn usual_ms(intervals: &[&Interval]) -> u64 {
    let mut lengths: Vec<u64> = intervals.iter().map(|i| i.length_ms()).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied().unwrap_or(0)
}

/// From when to when each point was measured of which these are the intervals.
pub(crate) fn spans(intervals: &[&Interval]) -> Vec<(u64, u64)> {
    let mut spans = BTreeMap::<u32, (u64, u64)>::new();
    for one in intervals.iter().filter(|i| !i.warmup) {
        let (from, to) = spans.entry(one.point).or_insert((one.from_ms, one.to_ms));
        (*from, *to) = ((*from).min(one.from_ms), (*to).max(one.to_ms));
    }
    spans.into_values().collect()
}

#[cfg(test)]
mod tests {
    use linerate_record::reading::{Pressure, TcpCounters};

    use super::*;

    fn reading(at_ms: u64, user_ms: u64, softirq_ms: u64, idle_ms: u64, rx_bytes: u64) -> Reading {
        let nic = |name: &str, rx_bytes| NicCounters { name: name.into(), rx_bytes, ..NicCounters::default() };
        Reading {
            at_ms,
            cpus: vec![CpuTimes { user_ms, softirq_ms, idle_ms, ..CpuTimes::default() }],
            nics: vec![nic("eth0", rx_bytes), nic("eth1", 77)],
            tcp: TcpCounters { out_segments: 0, retransmitted_segments: rx_bytes / 1000 },
            pressure: Some(Pressure { cpu_some_us: at_ms * 250, ..Pressure::default() }),
            ..Reading::default()
        }
    }

    #[test]
    fn shares_and_rates_come_from_differences() {
        let got = samples(&[reading(1000, 0, 0, 0, 0), reading(3000, 600, 200, 1200, 4_000)]);
        assert_eq!(got.len(), 1);
        let sample = &got[0];
        assert!((sample.cpu_busy - 0.4).abs() < 1e-9 && (sample.softirq - 0.1).abs() < 1e-9, "{sample:?}");
        assert_eq!(sample.nics.len(), 1, "an interface that moved nothing is left out");
        assert_eq!(sample.nics[0].rx_bytes_per_s, 2_000.0);
        assert_eq!(sample.retransmits_per_s, 2.0);
        assert_eq!(sample.pressure_cpu, Some(0.25));
    }

    #[test]
    fn counters_that_went_backwards_are_no_movement() {
        let got = samples(&[reading(0, 50, 0, 50, 9_000), reading(1000, 20, 0, 80, 10)]);
        assert_eq!(got[0].nics[0].rx_bytes_per_s, 0.0);
        assert!((0.0..=1.0).contains(&got[0].cpu_busy));
    }

    #[test]
    fn fewer_than_two_readings_give_no_sample() {
        assert!(samples(&[]).is_empty());
        assert!(samples(&[reading(0, 0, 0, 0, 0)]).is_empty());
        assert!(samples(&[reading(5, 0, 0, 0, 0), reading(5, 1, 1, 1, 1)]).is_empty(), "no time passed");
    }
}
