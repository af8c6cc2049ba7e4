//! Sockets and physical cores, by the topology that sysfs has of each processor that is online
//! (`Documentation/admin-guide/cputopology.rst`).

use std::collections::BTreeSet;

use super::word;
use crate::root::{Root, names};

/// Absent where no processor states it, as in some containers.
pub(super) fn sockets_and_cores(root: &Root) -> (Option<u32>, Option<u32>) {
    let folder = "sys/devices/system/cpu";
    let is_processor = |name: &String| {
        name.strip_prefix("cpu").is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|c| c.is_ascii_digit()))
    };
    let (mut packages, mut cores) = (BTreeSet::new(), BTreeSet::new());
    for name in names(root, folder).into_iter().filter(is_processor) {
        let read = |file: &str| word(root, &format!("{folder}/{name}/topology/{file}"));
        packages.extend(read("physical_package_id"));
        // Threads of a core list the same processors; before Linux 5.3 under another name.
        cores.extend(read("core_cpus_list").or_else(|| read("thread_siblings_list")));
    }
    let count = |set: &BTreeSet<String>| u32::try_from(set.len()).ok().filter(|count| *count > 0);
    (count(&packages), count(&cores))
}

#[cfg(test)]
mod tests {
    use super::super::tests::put;
    use super::*;

    #[test]
    fn threads_of_a_core_are_one_core_and_processors_that_are_offline_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        assert_eq!(sockets_and_cores(&root), (None, None));
        for (cpu, package, siblings, file) in [
            (0, 0, "0,4", "core_cpus_list"),
            (1, 0, "1,5", "core_cpus_list"),
            (2, 1, "2,6", "thread_siblings_list"),
            (4, 0, "0,4", "core_cpus_list"),
            (6, 1, "2,6", "thread_siblings_list"),
        ] {
            let folder = format!("sys/devices/system/cpu/cpu{cpu}/topology");
            put(&root, &format!("{folder}/physical_package_id"), &format!("{package}\n"));
            put(&root, &format!("{folder}/{file}"), &format!("{siblings}\n"));
        }
        // One that is offline has no topology, and `cpufreq` is no processor.
        put(&root, "sys/devices/system/cpu/cpu7/online", "0\n");
        put(&root, "sys/devices/system/cpu/cpufreq/topology/core_cpus_list", "9\n");
        assert_eq!(sockets_and_cores(&root), (Some(2), Some(3)));
    }
}
