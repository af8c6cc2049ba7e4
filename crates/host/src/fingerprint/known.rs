//! Processor time of what belongs to the measurement, and of the kernel's threads.

use std::collections::{BTreeMap, BTreeSet};

use crate::process::{ProcessStat, process_stat};
use crate::root::{Root, names};

/// The thread whose children are all other threads of the kernel: `kthreadd`.
const KERNEL_THREADS: u32 = 2;

/// Processes by number and start, which together no other process has.
#[derive(Clone, Debug, Default)]
pub(super) struct Known(BTreeMap<(u32, u64), ProcessStat>);

/// This process, the target, programs of the target's name, `kthreadd`, and what they started.
pub(super) fn known(root: &Root, target_pid: Option<u32>) -> Known {
    let mut bytes = Vec::new();
    let numbers = names(root, "proc").into_iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let all: Vec<ProcessStat> = numbers.filter_map(|pid| process_stat(root, &pid, &mut bytes).ok()).collect();
    let own = process_stat(root, "self", &mut bytes).ok().map(|stat| stat.pid);
    Known(family(all, own, target_pid).into_iter().map(|stat| ((stat.pid, stat.started_ticks), stat)).collect())
}

fn family(all: Vec<ProcessStat>, own: Option<u32>, target_pid: Option<u32>) -> Vec<ProcessStat> {
    let target = all.iter().find(|stat| Some(stat.pid) == target_pid).map(|stat| stat.name.clone());
    let is_first = |stat: &ProcessStat| {
        // In a container, this number and parent can be anybody's.
        let is_kernels = stat.pid == KERNEL_THREADS && stat.parent == 0 && stat.name == "kthreadd";
        Some(stat.pid) == own || target.as_ref() == Some(&stat.name) || is_kernels
    };
    let mut children: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for stat in &all {
        children.entry(stat.parent).or_default().push(stat.pid);
    }
    let mut open: Vec<u32> = all.iter().filter(|stat| is_first(stat)).map(|stat| stat.pid).collect();
    let mut members = BTreeSet::new();
    while let Some(pid) = open.pop() {
        if members.insert(pid) {
            open.extend(children.get(&pid).into_iter().flatten());
        }
    }
    all.into_iter().filter(|stat| members.contains(&stat.pid)).collect()
}

impl Known {
    /// The time, in ticks, that they took since. A process that has ended since is part of what its parent's children
    /// took, with what it had taken before, which does not count; threads of the kernel are part of nothing then.
    pub(super) fn ticks_since(&self, then: &Known) -> u64 {
        let mut ended: BTreeMap<u32, u64> = BTreeMap::new();
        for (_, stat) in then.0.iter().filter(|(id, _)| !self.0.contains_key(id)) {
            let before = ended.entry(stat.parent).or_default();
            *before = before.saturating_add(stat.ticks).saturating_add(stat.children_ticks);
        }
        let since = |(id, now): (&(u32, u64), &ProcessStat)| {
            let (ticks, children) = then.0.get(id).map_or((0, 0), |then| (then.ticks, then.children_ticks));
            let before = ended.get(&now.pid).copied().unwrap_or(0);
            let of_children = now.children_ticks.saturating_sub(children).saturating_sub(before);
            now.ticks.saturating_sub(ticks).saturating_add(of_children)
        };
        self.0.iter().map(since).fold(0, u64::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, name: &str, ticks: u64, children_ticks: u64) -> ProcessStat {
        let started_ticks = u64::from(pid);
        ProcessStat {
            pid,
            name: name.to_owned(),
            has_ended: false,
            is_stopped: false,
            parent,
            ticks,
            children_ticks,
            started_ticks,
        }
    }

    fn of(all: Vec<ProcessStat>) -> Known {
        Known(all.into_iter().map(|stat| ((stat.pid, stat.started_ticks), stat)).collect())
    }

    #[test]
    fn the_measurement_is_this_process_the_target_its_peers_and_what_they_started() {
        let names = [
            (1, 0, "init"),
            (2, 0, "kthreadd"),
            (3, 2, "kworker/0:1"),
            (10, 1, "linerate"),
            (11, 10, "linerate"),
            (12, 11, "sh"),
            (20, 1, "minio"),
            (21, 20, "helper"),
            (22, 1, "minio"),
            (30, 1, "cron"),
            (31, 30, "backup"),
        ];
        let all = || names.iter().map(|(pid, parent, name)| process(*pid, *parent, name, 1, 0)).collect::<Vec<_>>();
        let pids = |own, target| family(all(), own, target).iter().map(|stat| stat.pid).collect::<Vec<_>>();
        assert_eq!(pids(Some(10), Some(20)), [2, 3, 10, 11, 12, 20, 21, 22]);
        assert_eq!(pids(Some(10), None), [2, 3, 10, 11, 12]);
        assert_eq!(pids(Some(10), Some(99)), [2, 3, 10, 11, 12], "a target that is gone");
        let mut contained = all();
        contained[1].name = "sh".to_owned();
        assert!(!family(contained, Some(10), None).iter().any(|stat| stat.pid == 2));
    }

    #[test]
    fn time_of_those_that_ended_counts_once_and_from_the_beginning_on() {
        let then = of(vec![process(10, 1, "a", 100, 50), process(11, 10, "b", 30, 5), process(3, 2, "k", 9000, 0)]);
        let cases = [
            (vec![process(10, 1, "a", 100, 50), process(11, 10, "b", 30, 5), process(3, 2, "k", 9000, 0)], 0),
            (vec![process(10, 1, "a", 103, 50), process(11, 10, "b", 34, 5), process(3, 2, "k", 9001, 0)], 8),
            // 11 took 7 more and ended: its parent's children took 30 + 5 + 7 more.
            (vec![process(10, 1, "a", 103, 92), process(3, 2, "k", 9000, 0)], 10),
            // One came, one of the kernel ended, of which nobody keeps the time.
            (vec![process(10, 1, "a", 103, 50), process(11, 10, "b", 30, 5), process(12, 10, "c", 4, 1)], 8),
            (vec![], 0),
        ];
        for (now, expected) in cases {
            assert_eq!(of(now.clone()).ticks_since(&then), expected, "{now:?}");
        }
    }
}
