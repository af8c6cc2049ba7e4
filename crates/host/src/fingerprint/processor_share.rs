//! What happens during a cell, from counters at both ends of it: heat, quotas, and who had the processors. How much of
//! that is much, is for others to say.

use std::collections::BTreeMap;

use linerate_record::reading::{MachineShare, ProcessorShares, QuotaPeriods};

use super::count;
use super::known_processes::{Known, known};
use super::static_keys::cpu_cgroups;
use crate::root::{Root, names, text};

/// Counters at one end.
#[derive(Clone, Debug, Default)]
pub(super) struct CpuCounters {
    times: Option<CpuTicks>,
    /// Programs of the measurement and the kernel's threads.
    known: Known,
    /// How often a processor was slowed for heat; none where no processor counts it.
    hot: Option<u64>,
    /// Quotas that bind this process, and the target, by the folders of their cgroups.
    client_quotas: Quotas,
    target_quotas: Quotas,
    has_target: bool,
}

/// Processor time in ticks of 10 ms, of all processors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct CpuTicks {
    all: u64,
    stolen: u64,
    /// In programs and on their behalf in the kernel, without interrupts.
    pub(super) used: u64,
}

pub(super) type Quotas = BTreeMap<String, Periods>;

/// Periods of a quota.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Periods {
    pub(crate) all: u64,
    pub(crate) throttled: u64,
}

/// Processor time of all processors since the machine booted.
pub(super) fn times(root: &Root) -> Option<CpuTicks> {
    text(root, "proc/stat", &mut Vec::new()).ok().and_then(|text| parse_times(&text))
}

pub(super) fn shares(root: &Root, target_pid: Option<u32>) -> CpuCounters {
    CpuCounters {
        times: times(root),
        known: known(root, target_pid),
        hot: hot(root),
        client_quotas: quotas(root, "self"),
        target_quotas: target_pid.map(|pid| quotas(root, &pid.to_string())).unwrap_or_default(),
        has_target: target_pid.is_some(),
    }
}

pub(super) fn meanwhile(then: &CpuCounters, now: &CpuCounters) -> MachineShare {
    let processors = then.times.zip(now.times);
    let target_quotas = now.has_target.then(|| since(&then.target_quotas, &now.target_quotas));
    MachineShare {
        processors: processors
            .map(|(at_first, at_last)| of_times(at_first, at_last, now.known.ticks_since(&then.known))),
        slowed: then.hot.zip(now.hot).map(|(then, now)| now > then),
        client_quotas: since(&then.client_quotas, &now.client_quotas),
        target_quotas,
    }
}

/// Of times at both ends, and of what is known to be of the measurement.
fn of_times(then: CpuTicks, now: CpuTicks, known: u64) -> ProcessorShares {
    let all = now.all.saturating_sub(then.all).max(1) as f64;
    let stolen = now.stolen.saturating_sub(then.stolen) as f64 / all;
    let foreign = now.used.saturating_sub(then.used).saturating_sub(known) as f64 / all;
    ProcessorShares { stolen, foreign }
}

/// The periods of each quota between two looks.
fn since(then: &Quotas, now: &Quotas) -> Vec<QuotaPeriods> {
    let periods_since = |(folder, now): (&String, &Periods)| {
        let then = then.get(folder).copied().unwrap_or_default();
        let (periods, throttled) = (now.all.saturating_sub(then.all), now.throttled.saturating_sub(then.throttled));
        QuotaPeriods { periods, throttled }
    };
    now.iter().map(periods_since).collect()
}

/// The sum over processors: `cpu  user nice system idle iowait irq softirq steal`.
fn parse_times(text: &str) -> Option<CpuTicks> {
    let line = text.lines().find(|line| line.starts_with("cpu "))?;
    let columns: Vec<u64> = line.split_whitespace().skip(1).map_while(|column| column.parse().ok()).collect();
    let sum_of_columns = |columns: &[u64]| columns.iter().fold(0_u64, |sum, ticks| sum.saturating_add(*ticks));
    // What follows are guests' times, which are part of user and nice.
    let first = columns.get(..columns.len().min(8)).filter(|first| first.len() >= 4)?;
    let stolen = first.get(7).copied().unwrap_or(0);
    Some(CpuTicks { all: sum_of_columns(first), stolen, used: sum_of_columns(&first[..3]) })
}

/// How often processors were slowed, alone or as a package (`arch/x86/kernel/cpu/mce/therm_throt.c`).
pub(super) fn hot(root: &Root) -> Option<u64> {
    let folder = "sys/devices/system/cpu";
    let is_processor = |name: &String| name.strip_prefix("cpu").is_some_and(|number| number.parse::<u32>().is_ok());
    let counts = names(root, folder).into_iter().filter(is_processor).flat_map(|cpu| {
        ["core_throttle_count", "package_throttle_count"]
            .map(|file| count(root, &format!("{folder}/{cpu}/thermal_throttle/{file}")))
    });
    counts.flatten().reduce(u64::saturating_add)
}

/// What `cpu.stat` of a cgroup tells of its quota; none where it could have none.
pub(crate) fn parse_periods(text: &str) -> Option<Periods> {
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        line.trim().parse().ok()
    };
    Some(Periods { all: number("nr_periods")?, throttled: number("nr_throttled")? })
}

/// The quotas that bind a process; none where it is not there.
pub(super) fn quotas(root: &Root, process: &str) -> Quotas {
    let periods = |folder: &str| {
        let mut bytes = Vec::new();
        parse_periods(&text(root, &format!("{folder}/cpu.stat"), &mut bytes).ok()?)
    };
    let folders = cpu_cgroups(root, process).unwrap_or_default().into_iter();
    folders.filter_map(|folder| periods(&folder).map(|periods| (folder, periods))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_known_of_the_measurement_is_not_foreign() {
        let then = CpuTicks { all: 1000, stolen: 10, used: 500 };
        for (stolen, used, known, expected) in [
            (0, 0, 0, (0.0, 0.0)),
            (49, 249, 0, (0.049, 0.249)),
            (0, 900, 800, (0.0, 0.1)),
            // Clocks of processes and of processors are not the same.
            (0, 100, 110, (0.0, 0.0)),
        ] {
            let now = CpuTicks { all: 2000, stolen: 10 + stolen, used: 500 + used };
            let ProcessorShares { stolen, foreign } = of_times(then, now, known);
            assert!((stolen - expected.0).abs() < 1e-9 && (foreign - expected.1).abs() < 1e-9, "{now:?}");
        }
    }

    #[test]
    fn each_quota_has_its_own_periods_since_the_first_look() {
        let quotas = |all: &[(&str, u64, u64)]| -> Quotas {
            all.iter()
                .map(|(folder, all, cut)| ((*folder).to_owned(), Periods { all: *all, throttled: *cut }))
                .collect()
        };
        let then = quotas(&[("a", 500, 400), ("a/b", 10, 5), ("gone", 3, 3)]);
        let now = quotas(&[("a", 500, 400), ("a/b", 20, 9), ("new", 7, 1)]);
        let reported: Vec<(u64, u64)> =
            since(&then, &now).iter().map(|quota| (quota.periods, quota.throttled)).collect();
        assert_eq!(reported, [(0, 0), (10, 4), (7, 1)]);
    }

    #[test]
    fn the_sum_of_all_processors_is_read_with_and_without_late_columns() {
        let full = CpuTicks { all: 36, stolen: 8, used: 6 };
        for (text, expected) in [
            ("cpu0 9 9 9 9\ncpu  1 2 3 4 5 6 7 8 9 10\n", Some(full)),
            ("cpu  1 2 3 4", Some(CpuTicks { all: 10, stolen: 0, ..full })),
            ("cpu  1 2 3", None),
            ("cpu0 1 2 3 4", None),
            ("", None),
        ] {
            assert_eq!(parse_times(text), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(cpu[0-9]{0,2}( -?[0-9]{1,24}){0,12}\n){0,4}|(?s).*") {
            parse_times(&text);
        }
    }
}
