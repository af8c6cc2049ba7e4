//! Processor time of what belongs to the measurement, and of the kernel's threads.

use std::collections::{BTreeMap, BTreeSet};

use crate::process::{ProcessStat, process_stat};
use crate::root::{ReadPass, Root, names};
use crate::snapshot::is_engine;

/// The thread whose children are all other threads of the kernel: `kthreadd`.
const KERNEL_THREADS: u32 = 2;

/// The process whose children orphans become.
const FIRST: u32 = 1;

/// Processes by number and start, which together no other process has.
#[derive(Clone, Debug, Default)]
pub(super) struct Known(BTreeMap<(u32, u64), ProcessStat>);

/// This process, the target, programs of the target's name, `kthreadd`, S3 servers behind a target that is none (a
/// reverse proxy), and what they started.
pub(super) fn known(root: &Root, target_pid: Option<u32>) -> Known {
    parted(root, target_pid).0
}

/// All processes that can be seen, and which of them are known.
#[derive(Clone, Debug, Default)]
pub(super) struct AllProcesses {
    all: Known,
    known: BTreeSet<(u32, u64)>,
}

/// Everybody, of whom those are known that [`known`] gives.
pub(super) fn everybody(root: &Root, target_pid: Option<u32>) -> AllProcesses {
    let (known, others) = parted(root, target_pid);
    let of_known = known.0.keys().copied().collect();
    AllProcesses { all: Known(known.0.into_iter().chain(others.0).collect()), known: of_known }
}

impl AllProcesses {
    /// The time, in ticks, that those known took since, and that of the others by their names. Whoever has ended is
    /// looked for among all: the parent of one that is known may be a shell that is not.
    pub(super) fn since(&self, then: &AllProcesses) -> (u64, BTreeMap<&str, u64>) {
        let (mut of_known, mut by_name) = (0_u64, BTreeMap::<&str, u64>::new());
        for (stat, ticks) in self.all.each_since(&then.all).filter(|(_, ticks)| *ticks > 0) {
            let is_known = self.known.contains(&(stat.pid, stat.started_ticks));
            let sum = if is_known { &mut of_known } else { by_name.entry(&stat.name).or_default() };
            *sum = sum.saturating_add(ticks);
        }
        (of_known, by_name)
    }
}

fn parted(root: &Root, target_pid: Option<u32>) -> (Known, Known) {
    let mut bytes = Vec::new();
    let numbers = names(root, "proc").into_iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    let all: Vec<ProcessStat> = numbers.filter_map(|pid| process_stat(root, &pid, &mut bytes).ok()).collect();
    let own = process_stat(root, "self", &mut bytes).ok().map(|stat| stat.pid);
    let by_id =
        |stats: Vec<ProcessStat>| stats.into_iter().map(|stat| ((stat.pid, stat.started_ticks), stat)).collect();
    let engines = behind_proxy(root, &all, own, target_pid);
    let (family, others) = family(all, own, target_pid, &engines);
    (Known(by_id(family)), Known(by_id(others)))
}

/// S3 servers of this machine where the target is neither one itself nor a linerate: what it passes on, they serve.
fn behind_proxy(root: &Root, all: &[ProcessStat], own: Option<u32>, target_pid: Option<u32>) -> BTreeSet<u32> {
    let name = |pid: Option<u32>| all.iter().find(|stat| Some(stat.pid) == pid).map(|stat| stat.name.as_str());
    let mut pass = ReadPass::default();
    let mut is_engine = |pid: u32| is_engine(root, pid, &mut pass);
    let Some(target) = target_pid.filter(|target| name(Some(*target)).is_some() && name(Some(*target)) != name(own))
    else {
        return BTreeSet::new();
    };
    if is_engine(target) {
        return BTreeSet::new();
    }
    all.iter().filter(|stat| stat.parent != KERNEL_THREADS).map(|stat| stat.pid).filter(|pid| is_engine(*pid)).collect()
}

fn family(
    all: Vec<ProcessStat>,
    own: Option<u32>,
    target_pid: Option<u32>,
    engines: &BTreeSet<u32>,
) -> (Vec<ProcessStat>, Vec<ProcessStat>) {
    let name = |pid: Option<u32>| all.iter().find(|stat| Some(stat.pid) == pid).map(|stat| stat.name.clone());
    // Another linerate is no peer of a target of this one's own, but another load.
    let target = name(target_pid).filter(|target| Some(target) != name(own).as_ref());
    let is_first = |stat: &ProcessStat| {
        // In a container, this number and parent can be anybody's.
        let is_kernels = stat.pid == KERNEL_THREADS && stat.parent == 0 && stat.name == "kthreadd";
        let is_named = [own, target_pid].contains(&Some(stat.pid));
        is_named || target.as_ref() == Some(&stat.name) || is_kernels || engines.contains(&stat.pid)
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
    all.into_iter().partition(|stat| members.contains(&stat.pid))
}

impl Known {
    /// The time, in ticks, that they took since. A process that has ended since is part of what its parent's children
    /// took, with what it had taken before, which does not count; threads of the kernel are part of nothing then.
    pub(super) fn ticks_since(&self, then: &Known) -> u64 {
        self.each_since(then).map(|(_, ticks)| ticks).fold(0, u64::saturating_add)
    }

    /// The same of each.
    fn each_since(&self, then: &Known) -> impl Iterator<Item = (&ProcessStat, u64)> {
        let here: BTreeSet<u32> = self.0.values().map(|stat| stat.pid).collect();
        let mut ended: BTreeMap<u32, u64> = BTreeMap::new();
        for (_, stat) in then.0.iter().filter(|(id, _)| !self.0.contains_key(id)) {
            // Orphans are the first process's.
            let parent = if here.contains(&stat.parent) { stat.parent } else { FIRST };
            let before = ended.entry(parent).or_default();
            *before = before.saturating_add(stat.ticks).saturating_add(stat.children_ticks);
        }
        self.0.iter().map(move |(id, now)| {
            let (ticks, children) = then.0.get(id).map_or((0, 0), |then| (then.ticks, then.children_ticks));
            let before = ended.get(&now.pid).copied().unwrap_or(0);
            let of_children = now.children_ticks.saturating_sub(children).saturating_sub(before);
            (now, now.ticks.saturating_sub(ticks).saturating_add(of_children))
        })
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

    fn known_from(all: Vec<ProcessStat>) -> Known {
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
        let pids = |own, target| {
            family(all(), own, target, &BTreeSet::new()).0.iter().map(|stat| stat.pid).collect::<Vec<_>>()
        };
        assert_eq!(pids(Some(10), Some(20)), [2, 3, 10, 11, 12, 20, 21, 22]);
        assert_eq!(pids(Some(10), None), [2, 3, 10, 11, 12]);
        assert_eq!(pids(Some(10), Some(99)), [2, 3, 10, 11, 12], "a target that is gone");
        // Others of the program's own name are other loads.
        let mut others = all();
        others[6].name = "linerate".to_owned();
        others[8].name = "linerate".to_owned();
        let own = family(others, Some(10), Some(20), &BTreeSet::new()).0;
        assert_eq!(own.iter().map(|stat| stat.pid).collect::<Vec<_>>(), [2, 3, 10, 11, 12, 20, 21]);
        let mut contained = all();
        contained[1].name = "sh".to_owned();
        assert!(!family(contained, Some(10), None, &BTreeSet::new()).0.iter().any(|stat| stat.pid == 2));
    }

    #[test]
    fn servers_behind_a_proxy_that_is_the_target_are_of_the_measurement() {
        let folder = tempfile::tempdir().unwrap();
        let put = |pid: &str, parent: u32, name: &str, command: &str| {
            let folder = folder.path().join("proc").join(pid);
            std::fs::create_dir_all(&folder).unwrap();
            let number: u32 = pid.parse().unwrap_or(10);
            let line = format!("{number} ({name}) S {parent} 1 1 0 -1 0 9 0 0 0 1 0 0 0 20 0 1 0 {number} 0 0\n");
            std::fs::write(folder.join("stat"), line).unwrap();
            std::fs::write(folder.join("comm"), format!("{name}\n")).unwrap();
            std::fs::write(folder.join("cmdline"), command).unwrap();
        };
        put("self", 1, "linerate", "linerate\0bench\0");
        put("10", 1, "linerate", "linerate\0bench\0");
        put("20", 1, "nginx", "nginx: master\0");
        put("21", 20, "nginx", "nginx: worker\0");
        put("30", 1, "minio", "minio\0server\0");
        put("31", 30, "helper", "helper\0");
        put("32", 1, "s3-wrapper", "/opt/bin/rustfs\0/data\0");
        put("40", 1, "rustc", "rustc\0minio.rs\0");
        let known = |target| {
            let found = known(&Root::captured(folder.path()), target);
            found.0.keys().map(|(pid, _)| *pid).collect::<Vec<_>>()
        };
        assert_eq!(known(Some(20)), [10, 20, 21, 30, 31, 32], "a proxy, and what serves behind it");
        assert_eq!(known(Some(30)), [10, 30, 31], "of a server that is asked itself, no other");
        assert_eq!(known(None), [10], "of a target elsewhere, none");
        assert_eq!(known(Some(99)), [10], "a target that is gone");
        assert_eq!(known(Some(10)), [10], "a target of linerate's own");
    }

    #[test]
    fn time_of_one_that_is_known_and_ended_is_not_its_parents_who_is_not() {
        let everybody = |all: Vec<ProcessStat>, known: &[u32]| AllProcesses {
            known: all.iter().map(|stat| (stat.pid, stat.started_ticks)).filter(|id| known.contains(&id.0)).collect(),
            all: known_from(all),
        };
        let shell = |children| process(5, 1, "sh", 10, children);
        let then = everybody(vec![shell(0), process(10, 5, "linerate", 9_000, 0)], &[10]);
        // 3 more, and then it ended.
        let now = everybody(vec![shell(9_003)], &[]);
        assert_eq!(now.since(&then), (0, BTreeMap::from([("sh", 3)])));
        // Its parent ended with it: the first process has the time of both.
        let then = everybody(vec![process(1, 0, "init", 1, 0), shell(0), process(10, 5, "b", 9_000, 0)], &[]);
        let now = everybody(vec![process(1, 0, "init", 1, 9_010)], &[]);
        assert_eq!(now.since(&then), (0, BTreeMap::new()));
    }

    #[test]
    fn time_of_those_that_ended_counts_once_and_from_the_beginning_on() {
        let then =
            known_from(vec![process(10, 1, "a", 100, 50), process(11, 10, "b", 30, 5), process(3, 2, "k", 9000, 0)]);
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
            assert_eq!(known_from(now.clone()).ticks_since(&then), expected, "{now:?}");
        }
    }
}
