//! Processors, by `/proc/stat`: `CoresBusy`, `Cores`, `BusiestCore`, `CoresSoftirq`, `CoresStolen`.
//!
//! - Tells: what cores did between two looks, in the terms of node_exporter's `node_cpu_seconds_total`. Busy is user,
//!   nice, system, irq and softirq; guests are part of user and nice. How busy one core is, is a share of the time that
//!   its counters tell, as what was neither idle nor waiting for drives.
//! - Cannot tell: which program it was (`threads.rs`), how fast a core ran (`frequency.rs`), nor that two cores are
//!   hyper-threads of one. Times are in ticks of 10 ms: a look after a second is exact to 1 % of a core. Interrupts are
//!   charged to what they interrupt where the kernel has no `CONFIG_IRQ_TIME_ACCOUNTING`.
//! - Needs no privilege. One file, of a line a core and one of all interrupts; each second is often enough.

use std::collections::BTreeMap;

use linerate_record::reading::CpuTimes;
use linerate_record::readings::ReadMeasure;

use super::Reader;
use super::counter_delta::{grown, over_s};
use crate::cpu::parse_stat;

/// Idle times are estimates of other cores, and shrink by a little now and then; by more, the core was off meanwhile
/// (node_exporter's `jumpBackSeconds`).
const IDLE_SHRINKS_MS: f64 = 3_000.0;

/// What was read last.
#[derive(Debug, Default)]
pub(super) struct Processors {
    then: Option<(u64, Vec<CpuTimes>)>,
    /// How busy each core was between the last two looks.
    pub(super) busy: Vec<(u32, f64)>,
}

/// What cores did between two looks.
#[derive(Debug, PartialEq)]
struct CoresBetween {
    busy: f64,
    softirq: f64,
    stolen: Option<f64>,
    /// A share of each core.
    each: Vec<(u32, f64)>,
}

pub(super) fn look(state: &mut Processors, at: &mut Reader<'_>) {
    state.busy.clear();
    let Some(now) = at.parsed("proc/stat", parse_stat).filter(|now| !now.is_empty()) else {
        state.then = None;
        return;
    };
    at.tell(ReadMeasure::Cores, "", now.len() as f64);
    let then = state.then.replace((at.now_ms, now));
    let (Some((then_ms, then)), Some((_, now))) = (then, &state.then) else { return };
    let Some(between) = over_s(then_ms, at.now_ms).and_then(|over_s| between(&then, now, over_s)) else { return };
    at.tell(ReadMeasure::CoresBusy, "", between.busy);
    at.tell(ReadMeasure::CoresSoftirq, "", between.softirq);
    at.tell_any(ReadMeasure::CoresStolen, "", between.stolen);
    at.tell_any(ReadMeasure::BusiestCore, "", between.each.iter().map(|(_, share)| *share).reduce(f64::max));
    state.busy = between.each;
}

/// None where a core came, went, or began to count anew: a sum without it would be of another machine.
fn between(then: &[CpuTimes], now: &[CpuTimes], over_s: f64) -> Option<CoresBetween> {
    let before: BTreeMap<u32, &CpuTimes> = then.iter().map(|times| (times.cpu, times)).collect();
    if before.len() != now.len() {
        return None;
    }
    let over_ms = 1e3 * over_s;
    let most = now.len() as f64;
    let (mut busy, mut softirq, mut stolen) = (0.0, 0.0, Some(0.0));
    let mut each = Vec::with_capacity(now.len());
    for now in now {
        let then = before.get(&now.cpu)?;
        let interrupts = grown(then.irq_ms, now.irq_ms)? + grown(then.softirq_ms, now.softirq_ms)?;
        let busy_ms = grown(then.user_ms, now.user_ms)? + grown(then.system_ms, now.system_ms)? + interrupts;
        // Hypervisors have taken back what they had said to have stolen.
        let stolen_ms = grown(then.steal_ms, now.steal_ms);
        let used_ms = busy_ms + stolen_ms.unwrap_or(0.0);
        (busy, softirq) = (busy + busy_ms, softirq + interrupts);
        stolen = stolen.zip(stolen_ms).map(|(sum, by)| sum + by);
        let idle = |times: &CpuTimes| times.idle_ms as f64 + times.iowait_ms as f64;
        let idle_ms = idle(now) - idle(then);
        if idle_ms < -IDLE_SHRINKS_MS {
            return None;
        }
        // Of the time that was counted: of a virtual machine that stood still meanwhile, that is less than has passed.
        let idle_ms = idle_ms.max(0.0);
        let counted_ms = used_ms + idle_ms;
        if counted_ms > 0.0 {
            each.push((now.cpu, (1.0 - idle_ms / counted_ms).clamp(0.0, 1.0)));
        }
    }
    let cores = |ms: f64| (ms / over_ms).min(most);
    Some(CoresBetween { busy: cores(busy), softirq: cores(softirq), stolen: stolen.map(cores), each })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(cpu: u32, user_ms: u64, softirq_ms: u64, idle_ms: u64) -> CpuTimes {
        CpuTimes { cpu, user_ms, system_ms: 0, irq_ms: 0, softirq_ms, steal_ms: 0, iowait_ms: 0, idle_ms }
    }

    #[test]
    fn cores_are_busy_as_node_exporter_has_it() {
        let then = [core(0, 1_000, 10, 500), core(1, 0, 0, 9_000)];
        let mut now = [core(0, 2_500, 210, 700), core(1, 0, 0, 10_500)];
        now[0].system_ms = 100;
        now[1].steal_ms = 500;
        let found = between(&then, &now, 2.0).unwrap();
        assert_eq!((found.busy, found.softirq, found.stolen), (0.9, 0.1, Some(0.25)));
        assert_eq!(found.each, [(0, 0.9), (1, 0.25)]);
    }

    #[test]
    fn a_core_that_came_went_or_began_anew_gives_no_sum() {
        let then = [core(0, 1_000, 10, 9_000), core(1, 0, 0, 9_000)];
        let cases = [
            ("one went", vec![core(0, 1_100, 10, 9_900)]),
            ("one came", vec![core(0, 1_100, 10, 9_900), core(1, 0, 0, 9_999), core(2, 0, 0, 9)]),
            ("another came", vec![core(0, 1_100, 10, 9_900), core(2, 0, 0, 9_999)]),
            ("user began anew", vec![core(0, 900, 10, 9_900), core(1, 0, 0, 9_999)]),
            ("idle began anew", vec![core(0, 1_100, 10, 900), core(1, 0, 0, 9_999)]),
        ];
        for (case, now) in cases {
            assert_eq!(between(&then, &now, 1.0), None, "{case}");
        }
        let shrunk = between(&then, &[core(0, 2_000, 10, 8_990), core(1, 0, 0, 9_999)], 1.0).unwrap();
        assert_eq!(shrunk.each[0], (0, 1.0), "an estimate that shrinks by a tick is of a core that was busy");
        let still = between(&then, &[core(0, 1_010, 10, 9_030), core(1, 0, 0, 9_000)], 1.0).unwrap();
        assert_eq!(still.each, [(0, 0.25)], "a machine that stood still for most of the time was not busy for it");
        let mut returned = then;
        returned[0].steal_ms = 5;
        assert_eq!(between(&returned, &then, 1.0).map(|found| found.stolen), Some(None));
    }

    #[test]
    fn counters_that_leap_are_no_more_than_all_cores() {
        let found = between(&[core(0, 0, 0, 0)], &[core(0, u64::MAX, u64::MAX, 0)], 1.0).unwrap();
        assert_eq!((found.busy, found.softirq), (1.0, 1.0));
    }
}
