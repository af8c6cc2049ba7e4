//! Where an interface's interrupts are handled.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsFd as _;

use super::file::{self, Links, names};
use super::space::Inside;

/// `local` where every interrupt of the interface may only be handled on processors of its device's NUMA node, else
/// `anywhere`.
pub(super) fn read(inside: &Inside<'_>, device: &str) -> io::Result<String> {
    let sys = file::folder(&inside.root.0.join("sys"))?;
    let of_device = format!("class/net/{device}/device");
    let local = file::read(sys.as_fd(), &format!("{of_device}/local_cpulist"), Links::WithinTheTree)?;
    let local = cpus(&local).ok_or_else(|| io::Error::other(format!("{local:?} is no list of processors")))?;
    let numbers = names(sys.as_fd(), &format!("{of_device}/msi_irqs"))?;
    let proc = file::folder(&inside.root.0.join("proc"))?;
    let allowed = numbers.iter().filter_map(|number| {
        let path = format!("irq/{number}/smp_affinity_list");
        file::read(proc.as_fd(), &path, Links::None).ok().as_deref().and_then(cpus)
    });
    let allowed: Vec<BTreeSet<u32>> = allowed.collect();
    if allowed.is_empty() {
        return Err(io::Error::from(io::ErrorKind::NotFound));
    }
    let is_local = allowed.iter().all(|allowed| allowed.is_subset(&local));
    Ok(if is_local { "local" } else { "anywhere" }.to_owned())
}

/// The members of a list such as `0-3,8`.
fn cpus(text: &str) -> Option<BTreeSet<u32>> {
    let mut all = BTreeSet::new();
    for range in text.trim().split(',').filter(|range| !range.is_empty()) {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
        // More than any kernel is built for: NR_CPUS is at most 8192.
        if last > 8192 {
            return None;
        }
        all.extend(first..=last);
    }
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interrupts_are_local_only_where_all_are() {
        let dir = tempfile::tempdir().unwrap();
        let device = dir.path().join("sys/class/net/eth0/device");
        std::fs::create_dir_all(device.join("msi_irqs")).unwrap();
        std::fs::write(device.join("local_cpulist"), "0-3,8\n").unwrap();
        for (number, list) in [("30", "1\n"), ("31", "2-3,8\n")] {
            std::fs::write(device.join("msi_irqs").join(number), "msix\n").unwrap();
            std::fs::create_dir_all(dir.path().join("proc/irq").join(number)).unwrap();
            std::fs::write(dir.path().join("proc/irq").join(number).join("smp_affinity_list"), list).unwrap();
        }
        let root = crate::Root::captured(dir.path());
        let read = || super::super::within(&root, &Default::default(), None, |inside| read(inside, "eth0")).unwrap();
        assert_eq!(read(), "local");
        std::fs::write(dir.path().join("proc/irq/31/smp_affinity_list"), "3-4\n").unwrap();
        assert_eq!(read(), "anywhere");
        assert_eq!(cpus("0-4294967295"), None);
    }
}
