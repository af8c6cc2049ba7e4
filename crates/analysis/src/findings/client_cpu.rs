//! Processors of this machine, one by one.
//!
//! A mean hides the one that is full. Three ways to it: an event-loop thread that has no time left while others have
//! (connections are not spread evenly); a processor on which the interrupts of a NIC land while others idle (its queues
//! are not spread); and a machine that spends much of its time in software interrupts, which on a client is the network
//! stack at its work. Full is 95 %: of the rest, the scheduler takes its part.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::reading::{CpuTimes, Reading};

use super::{PointFinding, Run, worst};
use crate::bottlenecks;
use crate::view::{Point, Series};

/// Share of its time from which a thread or a processor is full.
const FULL: f64 = 0.95;

/// Share of their time that the others are in use at most, while one is full.
const OTHERS_IDLE: f64 = 0.60;

/// Share of the full processor's time in interrupts from which these are what fills it.
const INTERRUPTS: f64 = 0.50;

/// Share of all processors in software interrupts from which it is told.
const SOFTIRQ: f64 = 0.40;

const THREAD_REMEDY: &str = "drive more requests in flight, which are spread more evenly, or use fewer --threads";

const INTERRUPTS_REMEDY: &str = "spread the NIC's queues over processors: irqbalance, or ethtool -L and \
                                 /proc/irq/*/smp_affinity; on a NIC of one queue, receive packet steering (rps_cpus)";

const SOFTIRQ_REMEDY: &str = "raise the MTU, and check that offloads are on (ethtool -k: gro, tso); a firewall or an \
                              overlay on the path adds to this";

/// One event-loop thread full while others have time.
pub(super) fn thread(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    worst(FindingKind::ThreadFull, THREAD_REMEDY, label, series, |point| busy_thread(run, point))
}

/// One processor full of interrupts while others have time.
pub(super) fn interrupts(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    worst(FindingKind::InterruptsOnOneProcessor, INTERRUPTS_REMEDY, label, series, |point| busy_interrupts(run, point))
}

/// Much of all processors in software interrupts.
pub(super) fn softirq(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    worst(FindingKind::SoftirqLoad, SOFTIRQ_REMEDY, label, series, |point| busy_softirq(run, point))
}

fn busy_thread(run: &Run<'_>, point: &Point) -> Option<PointFinding> {
    let measured = run.measured(point.point);
    let threads = measured.iter().map(|i| i.thread_cpu_ns.len()).max()?;
    let mean = point.client_busy?;
    if threads < 2 || mean >= bottlenecks::THREAD_FULL {
        // All of them full is another finding: the client is bound.
        return None;
    }
    let busy = |thread: usize| {
        let ns: u64 = measured.iter().filter_map(|i| i.thread_cpu_ns.get(thread)).sum();
        ns as f64 / 1e6 / point.measured_ms.max(1) as f64
    };
    let (busiest, share) = (0..threads).map(|t| (t, busy(t))).max_by(|a, b| a.1.total_cmp(&b.1))?;
    (share >= FULL).then(|| PointFinding {
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        badness: share - mean,
        claim: "one event-loop thread was saturated while others were not".into(),
        evidence: format!(
            "thread {busiest} was busy {:.0} % of the time, all {threads} threads {:.0} % on average",
            share.min(1.0) * 100.0,
            mean * 100.0
        ),
    })
}

/// What one processor did.
struct Core {
    cpu: u32,
    busy: f64,
    interrupts: f64,
}

/// What each processor did between the first and the last reading inside a point.
fn cores(run: &Run<'_>, point: &Point) -> Option<Vec<Core>> {
    let measured = run.measured(point.point);
    let (from, to) = (measured.first()?.from_ms, measured.last()?.to_ms);
    let mut inside = run.records.readings.iter().filter(|r| (from..=to).contains(&r.at_ms));
    let (first, last): (&Reading, &Reading) = (inside.next()?, inside.next_back()?);
    let core = |after: &CpuTimes| {
        let before = first.cpus.iter().find(|c| c.cpu == after.cpu)?;
        let spent = |extract: fn(&CpuTimes) -> u64| extract(after).saturating_sub(extract(before)) as f64;
        let interrupts = spent(|c| c.irq_ms) + spent(|c| c.softirq_ms);
        let work = spent(|c| c.user_ms) + spent(|c| c.system_ms) + interrupts;
        let all = work + spent(|c| c.idle_ms) + spent(|c| c.iowait_ms) + spent(|c| c.steal_ms);
        (all > 0.0).then(|| Core { cpu: after.cpu, busy: work / all, interrupts: interrupts / all })
    };
    Some(last.cpus.iter().filter_map(core).collect())
}

fn busy_interrupts(run: &Run<'_>, point: &Point) -> Option<PointFinding> {
    let cores = cores(run, point)?;
    let full = cores.iter().max_by(|a, b| a.interrupts.total_cmp(&b.interrupts))?;
    let others = cores.iter().filter(|c| c.cpu != full.cpu);
    let idle = others.clone().map(|c| c.busy).sum::<f64>() / others.count().max(1) as f64;
    (cores.len() > 1 && full.busy >= FULL && full.interrupts >= INTERRUPTS && idle <= OTHERS_IDLE).then(|| {
        PointFinding {
            severity: Severity::Warning,
            confidence: Confidence::Certain,
            badness: full.interrupts,
            claim: format!("interrupts saturated processor {} of this machine while others were idle", full.cpu),
            evidence: format!(
                "it was {:.0} % busy, {:.0} % in interrupts; the others were {:.0} % busy",
                full.busy * 100.0,
                full.interrupts * 100.0,
                idle * 100.0
            ),
        }
    })
}

fn busy_softirq(run: &Run<'_>, point: &Point) -> Option<PointFinding> {
    let samples = run.samples(point.point);
    let share = samples.iter().map(|s| s.softirq).sum::<f64>() / samples.len().max(1) as f64;
    (share >= SOFTIRQ).then(|| PointFinding {
        severity: Severity::Note,
        confidence: Confidence::Certain,
        badness: share,
        claim: "this machine spent much processor time in software interrupts".into(),
        evidence: format!("{:.0} % of all processors' time", share * 100.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::{kinds, records};

    #[test]
    fn a_lone_full_thread_is_told_and_an_even_load_is_not() {
        for (threads_ns, reported) in [
            (vec![98_000_000, 30_000_000], true),
            (vec![80_000_000, 80_000_000], false),
            (vec![98_000_000, 97_000_000], false),
            (vec![98_000_000], false),
        ] {
            let mut records = records(&[1, 2], |_| 5);
            records.intervals.iter_mut().for_each(|i| i.thread_cpu_ns.clone_from(&threads_ns));
            let kinds = kinds(&build(&records).unwrap());
            assert_eq!(kinds.contains(&FindingKind::ThreadFull), reported, "{threads_ns:?}: {kinds:?}");
        }
    }

    /// Findings of a run of which processors spend so many of 100 ms in user code and in software interrupts.
    fn kinds_of_run(cores: &[(u64, u64)]) -> Vec<FindingKind> {
        let mut records = records(&[1, 2], |_| 5);
        let times = |i: u64| {
            let core = |(cpu, &(user, softirq)): (u32, &(u64, u64))| CpuTimes {
                cpu,
                user_ms: user * i,
                softirq_ms: softirq * i,
                idle_ms: (100 - user - softirq) * i,
                ..CpuTimes::default()
            };
            (0..).zip(cores).map(core).collect()
        };
        records.readings = (0..30).map(|i| Reading { at_ms: i * 100, cpus: times(i), ..Reading::default() }).collect();
        kinds(&build(&records).unwrap())
    }

    #[test]
    fn interrupts_on_one_processor_are_told_only_while_others_idle() {
        for (cores, expected) in [
            (vec![(10, 88), (20, 2), (30, 2), (10, 0)], true),
            (vec![(10, 88), (90, 8), (90, 8), (90, 8)], false),
            (vec![(90, 8), (20, 2), (30, 2), (10, 0)], false),
            (vec![(10, 88)], false),
        ] {
            assert_eq!(kinds_of_run(&cores).contains(&FindingKind::InterruptsOnOneProcessor), expected, "{cores:?}");
        }
    }

    #[test]
    fn much_time_in_software_interrupts_is_told() {
        assert!(kinds_of_run(&[(20, 45), (20, 45)]).contains(&FindingKind::SoftirqLoad));
        assert!(!kinds_of_run(&[(60, 30), (60, 30)]).contains(&FindingKind::SoftirqLoad));
    }
}
