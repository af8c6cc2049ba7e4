//! The engine's processes and their quotas, by `/proc/PID/stat` and `cpu.stat` of cgroups: `EngineCores`, `Throttled`.
//!
//! - Tells: cores that processes of a program use, summed over those of one name; and for each cgroup that binds one of
//!   them and has a quota, the share of periods in which that was used up, as cAdvisor's
//!   `container_cpu_cfs_throttled_periods_total`: of a container by its name, of those above it and of services by the
//!   cgroup's.
//! - Cannot tell: work of the kernel on their behalf (interrupts, write-back, encryption). Of a container that sees its
//!   own cgroup as the topmost, nothing is told of quotas of others. Processor time is in ticks of 10 ms.
//! - Needs no privilege. Where `/proc` is mounted with `hidepid`, the cgroup's name stands for that of a container.
//! - A file a process and a cgroup; each second is often enough.

use std::collections::BTreeMap;

use linerate_record::readings::ReadMeasure;

use super::Reader;
use super::counter_delta::{grown, over_s};
use super::engines::{Engines, has_ended};
use crate::fingerprint::{Periods, parse_periods};
use crate::process::process_stat;
use crate::root::text;

/// A clock tick of `/proc`.
pub(super) const TICKS_PER_S: f64 = 100.0;

/// What was read last.
#[derive(Debug, Default)]
pub(super) struct EngineCounters {
    then: Option<(u64, Ticks, PeriodsOf)>,
}

/// Of processes by their numbers and when they started.
type Ticks = BTreeMap<(u32, u64), u64>;
/// Of cgroups by their folders.
type PeriodsOf = BTreeMap<String, Periods>;

pub(super) fn look(state: &mut EngineCounters, engines: &mut Engines, at: &mut Reader<'_>) {
    let mut ticks = BTreeMap::new();
    let mut is_whole = true;
    for engine in &engines.all {
        let stat = process_stat(at.root, &engine.pid.to_string(), &mut at.pass.bytes).ok();
        match stat.filter(|stat| stat.started_ticks == engine.started_ticks && !stat.has_ended) {
            Some(stat) => drop(ticks.insert((engine.pid, engine.started_ticks), stat.ticks)),
            None => is_whole = false,
        }
    }
    if !is_whole {
        has_ended(engines, at.now_ms);
    }
    let mut periods = BTreeMap::new();
    for quota in &engines.quotas {
        let text = text(at.root, &format!("{}/cpu.stat", quota.folder), &mut at.pass.bytes).ok();
        periods.extend(text.and_then(|text| parse_periods(&text)).map(|periods| (quota.folder.clone(), periods)));
    }
    let then = state.then.replace((at.now_ms, ticks, periods));
    let (Some((then_ms, old_ticks, old_periods)), Some((_, ticks, periods))) = (then, &state.then) else { return };
    let Some(over_s) = over_s(then_ms, at.now_ms) else { return };
    let mut cores: BTreeMap<&str, f64> = BTreeMap::new();
    for engine in &engines.all {
        let key = (engine.pid, engine.started_ticks);
        let both = old_ticks.get(&key).zip(ticks.get(&key));
        if let Some(by) = both.and_then(|(then, now)| grown(*then, *now)) {
            *cores.entry(&engine.program).or_default() += by / TICKS_PER_S / over_s;
        }
    }
    for (program, cores) in cores {
        at.tell(ReadMeasure::EngineCores, program, cores);
    }
    for quota in &engines.quotas {
        let both = old_periods.get(&quota.folder).zip(periods.get(&quota.folder));
        at.tell_any(ReadMeasure::Throttled, &quota.part, both.and_then(|(then, now)| throttled(*then, *now)));
    }
}

/// None where no period has passed: there is no quota, or nothing ran.
fn throttled(then: Periods, now: Periods) -> Option<f64> {
    let periods = grown(then.all, now.all).filter(|periods| *periods > 0.0)?;
    Some((grown(then.throttled, now.throttled)? / periods).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::engines::begin;
    use super::super::tests::{engine, put, values};
    use super::*;
    use crate::root::Root;

    #[test]
    fn cores_of_a_program_are_those_of_its_processes_that_were_there_at_both_looks() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let service = "sys/fs/cgroup/system.slice/minio.service";
        put(&root, "proc/40/cgroup", "0::/system.slice/minio.service\n");
        put(&root, "proc/41/cgroup", "0::/\n");
        let periods = |all: u64, throttled: u64| {
            put(&root, &format!("{service}/cpu.stat"), &format!("nr_periods {all}\nnr_throttled {throttled}\n"));
        };
        engine(&root, 40, "minio", 1_000);
        engine(&root, 41, "minio", 50);
        periods(100, 10);
        let mut engines = begin(&root, &[]);
        let mut state = EngineCounters::default();
        assert_eq!(values(&root, 0, |at| look(&mut state, &mut engines, at)), []);
        engine(&root, 40, "minio", 1_300);
        engine(&root, 41, "minio", 150);
        periods(120, 15);
        let cores = |value| (ReadMeasure::EngineCores, "minio".to_owned(), value);
        let share = |value| (ReadMeasure::Throttled, "minio.service".to_owned(), value);
        assert_eq!(values(&root, 2_000, |at| look(&mut state, &mut engines, at)), [cores(2.0), share(0.25)]);
        std::fs::remove_dir_all(folder.path().join("proc/41")).unwrap();
        engine(&root, 40, "minio", 1_400);
        periods(120, 15);
        assert_eq!(values(&root, 3_000, |at| look(&mut state, &mut engines, at)), [cores(1.0)]);
        periods(20, 1);
        engine(&root, 40, "minio", 7);
        assert_eq!(values(&root, 4_000, |at| look(&mut state, &mut engines, at)), []);
    }
}
