//! Who else has this machine's processors while a load goes on: from look to look, by the rules of a fingerprint.

use linerate_record::reading::{ProcessorSample, ProgramTime, QuotaPeriods};

use super::known_processes::{AllProcesses, everybody};
use super::processor_share::{CpuTicks, Quotas, hot, quotas, times};
use crate::root::Root;

/// A clock tick of `/proc`.
const MS_PER_TICK: u64 = 10;

/// Most programs that are named in one look.
const MOST_PROGRAMS: usize = 8;

/// Which process of this machine the target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LocalTarget {
    /// None: it is elsewhere.
    Elsewhere,
    Process(u32),
    /// One that cannot be told from others.
    Unknown,
}

/// The look before, from which the next one counts.
#[derive(Debug)]
pub struct Neighbours {
    target: LocalTarget,
    then: Option<Counters>,
}

#[derive(Debug)]
struct Counters {
    at_ms: u64,
    times: Option<CpuTicks>,
    everybody: AllProcesses,
    hot: Option<u64>,
    client_quotas: Quotas,
    target_quotas: Quotas,
}

impl Neighbours {
    /// Of a load on this target.
    #[must_use]
    pub const fn new(target: LocalTarget) -> Self {
        Neighbours { target, then: None }
    }

    /// Looks. Reads a file per process, and two per processor where heat is counted; the first look gives nothing, nor
    /// does one at the instant of the look before.
    pub fn look(&mut self, root: &Root, at_ms: u64) -> Option<ProcessorSample> {
        let now = self.counters(root, at_ms);
        let then = self.then.replace(now)?;
        since(&then, self.then.as_ref()?, self.target)
    }

    fn counters(&self, root: &Root, at_ms: u64) -> Counters {
        let pid = match self.target {
            LocalTarget::Process(pid) => Some(pid),
            LocalTarget::Elsewhere | LocalTarget::Unknown => None,
        };
        let target_quotas = pid.map(|pid| quotas(root, &pid.to_string())).unwrap_or_default();
        let client_quotas = quotas(root, "self");
        Counters {
            at_ms,
            times: times(root),
            everybody: everybody(root, pid),
            hot: hot(root),
            client_quotas,
            target_quotas,
        }
    }
}

fn since(then: &Counters, now: &Counters, target: LocalTarget) -> Option<ProcessorSample> {
    let over_ms = now.at_ms.checked_sub(then.at_ms).filter(|&ms| ms > 0)?;
    let ms = |ticks: u64| ticks.saturating_mul(MS_PER_TICK);
    let (own, by_name) = now.everybody.since(&then.everybody);
    let foreign_ms = ms(by_name.values().copied().fold(0, u64::saturating_add));
    let used_ms = ms(now.times.zip(then.times).map_or(0, |(now, then)| now.used.saturating_sub(then.used)));
    // The whole life of a child is booked to its parent when that has waited for it: nobody had more than all had.
    let of_program = |(name, ticks): (&str, u64)| ProgramTime { name: name.to_owned(), cpu_ms: ms(ticks).min(used_ms) };
    let mut programs: Vec<ProgramTime> = by_name.into_iter().map(of_program).collect();
    programs.sort_by(|a, b| b.cpu_ms.cmp(&a.cpu_ms).then_with(|| a.name.cmp(&b.name)));
    programs.truncate(MOST_PROGRAMS);
    Some(ProcessorSample {
        over_ms,
        used_ms,
        own_ms: (target != LocalTarget::Unknown).then(|| ms(own)),
        foreign_ms,
        programs,
        slowed: now.hot.zip(then.hot).map_or(0, |(now, then)| now.saturating_sub(then)),
        client_quota: tightest(&then.client_quotas, &now.client_quotas),
        target_quota: tightest(&then.target_quotas, &now.target_quotas),
    })
}

/// Of a cgroup and those above it, the one whose quota was used up in most of its periods.
fn tightest(then: &Quotas, now: &Quotas) -> Option<QuotaPeriods> {
    let since = now.iter().map(|(folder, now)| {
        let then = then.get(folder).copied().unwrap_or_default();
        let (periods, throttled) = (now.all.saturating_sub(then.all), now.throttled.saturating_sub(then.throttled));
        QuotaPeriods { periods, throttled }
    });
    let share = |quota: &QuotaPeriods| quota.throttled as f64 / quota.periods.max(1) as f64;
    since.filter(|quota| quota.periods > 0).max_by(|a, b| share(a).total_cmp(&share(b)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A machine of one processor: `linerate` is 10 and its own child 11, the target 20, `rustc` 30 under a shell.
    fn machine(folder: &std::path::Path, used: u64, ticks: &[(u32, u32, &str, u64)], throttled: u64) {
        let write = |path: &str, text: String| {
            let path = folder.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/stat", format!("cpu  {used} 0 0 500 0 0 0 0\ncpu0 {used} 0 0 500 0 0 0 0\n"));
        let line = |pid, name, parent, ticks| {
            format!("{pid} ({name}) S {parent} 1 1 0 -1 0 9 0 0 0 {ticks} 0 0 0 20 0 1 0 {pid} 0 0\n")
        };
        for (pid, parent, name, ticks) in ticks {
            write(&format!("proc/{pid}/stat"), line(*pid, *name, *parent, *ticks));
        }
        write("proc/self/stat", line(10, "linerate", 1, 0));
        write("proc/self/cgroup", "0::/pod\n".to_owned());
        write("sys/fs/cgroup/pod/cpu.stat", format!("nr_periods {}\nnr_throttled {throttled}\n", 2 * throttled));
        write("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", format!("{throttled}\n"));
    }

    #[test]
    fn others_are_named_with_what_they_took_since_the_look_before() {
        let folder = tempfile::tempdir().unwrap();
        let names = |more: u64| {
            let row = |pid, parent, name, ticks| (pid, parent, name, ticks);
            [
                row(10, 1, "linerate", 5 * more),
                row(11, 10, "linerate", 7 * more),
                row(20, 1, "minio", 10 * more),
                row(30, 1, "rustc", 50 * more),
                row(31, 1, "rustc", 20 * more),
                row(32, 1, "cron", more),
                row(33, 1, "idle", 9),
            ]
        };
        for (target, own_ms, first) in [
            (LocalTarget::Process(20), Some(220), 710),
            (LocalTarget::Elsewhere, Some(120), 810),
            (LocalTarget::Unknown, None, 810),
        ] {
            let mut neighbours = Neighbours::new(target);
            let root = Root::captured(folder.path());
            machine(folder.path(), 1_000, &names(1), 10);
            assert_eq!(neighbours.look(&root, 500), None, "nothing to count from");
            machine(folder.path(), 1_093, &names(2), 14);
            let look = neighbours.look(&root, 1_500).unwrap();
            assert_eq!((look.over_ms, look.used_ms, look.own_ms, look.foreign_ms), (1_000, 930, own_ms, first));
            assert_eq!(look.programs[0], ProgramTime { name: "rustc".into(), cpu_ms: 700 });
            assert_eq!((look.slowed, look.client_quota), (4, Some(QuotaPeriods { periods: 8, throttled: 4 })));
            assert_eq!(neighbours.look(&root, 1_500), None, "no time has passed");
        }
    }

    #[test]
    fn a_parent_that_reaps_a_child_has_had_no_more_than_all_had() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let mut neighbours = Neighbours::new(LocalTarget::Elsewhere);
        machine(folder.path(), 1_000, &[(30, 1, "make", 1)], 0);
        assert_eq!(neighbours.look(&root, 500), None);
        machine(folder.path(), 1_093, &[(30, 1, "make", 7_000)], 0);
        let look = neighbours.look(&root, 1_500).unwrap();
        assert_eq!(look.programs, [ProgramTime { name: "make".into(), cpu_ms: 930 }]);
    }

    #[test]
    fn this_machine_is_looked_at() {
        let mut neighbours = Neighbours::new(LocalTarget::Elsewhere);
        assert_eq!(neighbours.look(&Root::live(), 0), None);
        let look = neighbours.look(&Root::live(), 100).unwrap();
        assert!(look.programs.len() <= MOST_PROGRAMS && look.own_ms.is_some(), "{look:?}");
    }
}
