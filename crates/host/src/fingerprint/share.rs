//! What happens during a cell, from counters at both ends of it: heat, quotas, and who had the processors.

use std::collections::BTreeMap;

use super::known::{Known, known};
use super::standing::cpu_cgroups;
use super::{NOT_STATED, count};
use crate::root::{Root, names, text};

/// Of processor time. Hosts with room to spare steal below 1 %, crowded ones tens of per cent.
const MUCH_STOLEN: f64 = 0.05;
/// Of the time of all processors. Daemons stay far below it, a build, a scrub or another load test far above; what is
/// between is rare, so that the value does not flap.
const MUCH_FOREIGN: f64 = 0.25;
/// Of the periods of a quota (100 ms mostly) in which there was something to run. A burst as threads start may cut one.
const MUCH_THROTTLED: f64 = 0.01;

/// Counters at one end.
#[derive(Clone, Debug, Default)]
pub(super) struct Shares {
    times: Option<Times>,
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
pub(super) struct Times {
    all: u64,
    stolen: u64,
    /// In programs and on their behalf in the kernel, without interrupts.
    pub(super) used: u64,
}

pub(super) type Quotas = BTreeMap<String, Periods>;

/// Periods of a quota.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Periods {
    pub(super) all: u64,
    pub(super) throttled: u64,
}

/// Processor time of all processors since the machine booted.
pub(super) fn times(root: &Root) -> Option<Times> {
    text(root, "proc/stat", &mut Vec::new()).ok().and_then(|text| parse_times(&text))
}

pub(super) fn shares(root: &Root, target_pid: Option<u32>) -> Shares {
    Shares {
        times: times(root),
        known: known(root, target_pid),
        hot: hot(root),
        client_quotas: quotas(root, "self"),
        target_quotas: target_pid.map(|pid| quotas(root, &pid.to_string())).unwrap_or_default(),
        has_target: target_pid.is_some(),
    }
}

pub(super) fn told(then: &Shares, now: &Shares) -> BTreeMap<String, String> {
    let (stolen, foreign) = match (then.times, now.times) {
        (Some(then_times), Some(now_times)) => of_times(then_times, now_times, now.known.ticks_since(&then.known)),
        _ => ("unreadable: proc/stat".to_owned(), "unreadable: proc/stat".to_owned()),
    };
    let hot = match (then.hot, now.hot) {
        (Some(then), Some(now)) => if now > then { "yes" } else { "no" }.to_owned(),
        _ => NOT_STATED.to_owned(),
    };
    let mut rows = BTreeMap::from([
        ("stolen".to_owned(), stolen),
        ("foreign_load".to_owned(), foreign),
        ("throttled".to_owned(), hot),
        ("cgroup.throttled".to_owned(), of_quotas(&then.client_quotas, &now.client_quotas)),
    ]);
    if now.has_target {
        rows.insert("target.cgroup.throttled".to_owned(), of_quotas(&then.target_quotas, &now.target_quotas));
    }
    rows
}

/// Of times at both ends, and of what is known to be of the measurement.
fn of_times(then: Times, now: Times, known: u64) -> (String, String) {
    let all = now.all.saturating_sub(then.all).max(1) as f64;
    let stolen = now.stolen.saturating_sub(then.stolen) as f64 / all;
    let foreign = now.used.saturating_sub(then.used).saturating_sub(known) as f64 / all;
    let side = |share: f64, bound: f64| {
        let percent = bound * 100.0;
        if share < bound { format!("below {percent:.0} %") } else { format!("{percent:.0} % or more") }
    };
    (side(stolen, MUCH_STOLEN), side(foreign, MUCH_FOREIGN))
}

/// Where there is no quota, nothing is held back by one.
fn of_quotas(then: &Quotas, now: &Quotas) -> String {
    let is_much = |(folder, now): (&String, &Periods)| {
        let then = then.get(folder).copied().unwrap_or_default();
        let throttled = now.throttled.saturating_sub(then.throttled);
        throttled > 0 && throttled as f64 >= MUCH_THROTTLED * now.all.saturating_sub(then.all) as f64
    };
    if now.iter().any(is_much) { "yes" } else { "no" }.to_owned()
}

/// The sum over processors: `cpu  user nice system idle iowait irq softirq steal`.
fn parse_times(text: &str) -> Option<Times> {
    let line = text.lines().find(|line| line.starts_with("cpu "))?;
    let columns: Vec<u64> = line.split_whitespace().skip(1).map_while(|column| column.parse().ok()).collect();
    let of = |columns: &[u64]| columns.iter().fold(0_u64, |sum, ticks| sum.saturating_add(*ticks));
    // What follows are guests' times, which are part of user and nice.
    let first = columns.get(..columns.len().min(8)).filter(|first| first.len() >= 4)?;
    let stolen = first.get(7).copied().unwrap_or(0);
    Some(Times { all: of(first), stolen, used: of(&first[..3]) })
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

/// The quotas that bind a process; none where it is not there.
pub(super) fn quotas(root: &Root, process: &str) -> Quotas {
    let periods = |folder: &str| {
        let mut bytes = Vec::new();
        let text = text(root, &format!("{folder}/cpu.stat"), &mut bytes).ok()?;
        let number = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
            line.trim().parse().ok()
        };
        Some(Periods { all: number("nr_periods")?, throttled: number("nr_throttled")? })
    };
    let folders = cpu_cgroups(root, process).unwrap_or_default().into_iter();
    folders.filter_map(|folder| periods(&folder).map(|periods| (folder, periods))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn shares_have_two_values_and_a_threshold_each() {
        let then = Times { all: 1000, stolen: 10, used: 500 };
        let now =
            |stolen: u64, used: u64, known: u64| (Times { all: 2000, stolen: 10 + stolen, used: 500 + used }, known);
        for ((end, known), stolen, foreign) in [
            (now(0, 0, 0), "below 5 %", "below 25 %"),
            (now(49, 249, 0), "below 5 %", "below 25 %"),
            (now(50, 250, 0), "5 % or more", "25 % or more"),
            (now(0, 900, 800), "below 5 %", "below 25 %"),
            (now(0, 900, 600), "below 5 %", "25 % or more"),
            // Clocks of processes and of processors are not the same.
            (now(0, 100, 110), "below 5 %", "below 25 %"),
        ] {
            assert_eq!(of_times(then, end, known), (stolen.to_owned(), foreign.to_owned()), "{end:?}");
        }
    }

    #[test]
    fn a_quota_holds_back_from_one_period_in_a_hundred_on() {
        let quotas = |all: &[(&str, u64, u64)]| -> Quotas {
            all.iter()
                .map(|(folder, all, cut)| ((*folder).to_owned(), Periods { all: *all, throttled: *cut }))
                .collect()
        };
        type Rows<'a> = &'a [(&'a str, u64, u64)];
        let cases: [(Rows, Rows, &str); 7] = [
            (&[], &[], "no"),
            (&[("a", 0, 0)], &[("a", 1000, 9)], "no"),
            (&[("a", 0, 0)], &[("a", 1000, 10)], "yes"),
            (&[("a", 500, 400)], &[("a", 600, 400)], "no"),
            (&[("a", 500, 400)], &[("a", 500, 400)], "no"),
            (&[("a", 500, 400)], &[("a", 510, 401)], "yes"),
            // Each by itself: what a cgroup above was cut before is not what this one is cut now.
            (&[("a", 500, 400), ("a/b", 10, 5)], &[("a", 500, 400), ("a/b", 20, 9)], "yes"),
        ];
        for (then, now, expected) in cases {
            assert_eq!(of_quotas(&quotas(then), &quotas(now)), expected, "{then:?} {now:?}");
        }
    }

    #[test]
    fn the_sum_of_all_processors_is_read_with_and_without_late_columns() {
        let full = Times { all: 36, stolen: 8, used: 6 };
        for (text, expected) in [
            ("cpu0 9 9 9 9\ncpu  1 2 3 4 5 6 7 8 9 10\n", Some(full)),
            ("cpu  1 2 3 4", Some(Times { all: 10, stolen: 0, ..full })),
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
