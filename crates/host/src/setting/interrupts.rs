//! Where an interface's interrupts are handled.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsFd as _;

use super::file::{self, Links, names};
use super::namespace::InNamespace;

/// `local` where every interrupt of the interface may only be handled on processors of its device's NUMA node, else
/// `anywhere`.
pub(super) fn read(in_namespace: &InNamespace<'_>, device: &str) -> io::Result<String> {
    let sys = file::folder(&in_namespace.root.0.join("sys"))?;
    let of_device = format!("class/net/{device}/device");
    let local = file::read(sys.as_fd(), &format!("{of_device}/local_cpulist"), Links::WithinTheTree)?;
    let local = cpus(&local).ok_or_else(|| io::Error::other(format!("{local:?} is not a list of processors")))?;
    let numbers = names(sys.as_fd(), &format!("{of_device}/msi_irqs"))?;
    let proc = file::folder(&in_namespace.root.0.join("proc"))?;
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

/// On which processors each interrupt of the interface may be handled: `30=0-3 31=4`.
pub(super) fn affinities(in_namespace: &InNamespace<'_>, device: &str) -> io::Result<String> {
    let proc = file::folder(&in_namespace.root.0.join("proc"))?;
    let affinity =
        |number: &String| Some(format!("{number}={}", file::read(proc.as_fd(), &place(number), Links::None).ok()?));
    let all: Vec<String> = numbers(in_namespace, device)?.iter().filter_map(affinity).collect();
    if all.is_empty() { Err(io::ErrorKind::NotFound.into()) } else { Ok(all.join(" ")) }
}

/// Writes them back to those interrupts that the interface has by now: its driver asks for others with other channels,
/// and those begin anywhere. One that the kernel manages takes none.
pub(super) fn set_affinities(in_namespace: &InNamespace<'_>, device: &str, value: &str) -> io::Result<()> {
    let proc = file::folder(&in_namespace.root.0.join("proc"))?;
    let write = if in_namespace.root.is_live() { file::write } else { file::replace };
    let own = numbers(in_namespace, device)?;
    let mut done = Ok(());
    for (number, list) in value.split(' ').filter_map(|pair| pair.split_once('=')) {
        // What a journal says is neither another's interrupt nor anything but a list.
        if cpus(list).is_none() || !own.iter().any(|other| other == number) {
            continue;
        }
        if file::read(proc.as_fd(), &place(number), Links::None).is_ok_and(|now| now != list) {
            done = done.and(write(proc.as_fd(), &place(number), list, Links::None));
        }
    }
    done
}

/// The interrupts of an interface, in their order.
fn numbers(in_namespace: &InNamespace<'_>, device: &str) -> io::Result<Vec<String>> {
    let path = format!("class/net/{device}/device/msi_irqs");
    let mut all = names(in_namespace.sysfs(&path)?.as_fd(), &path)?;
    all.retain(|number| number.bytes().all(|b| b.is_ascii_digit()));
    all.sort_by_key(|number| (number.len(), number.clone()));
    Ok(all)
}

fn place(number: &str) -> String {
    format!("irq/{number}/smp_affinity_list")
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
        let read = || {
            super::super::within(&root, &Default::default(), None, |in_namespace| read(in_namespace, "eth0")).unwrap()
        };
        assert_eq!(read(), "local");
        std::fs::write(dir.path().join("proc/irq/31/smp_affinity_list"), "3-4\n").unwrap();
        assert_eq!(read(), "anywhere");
        assert_eq!(cpus("0-4294967295"), None);
    }

    #[test]
    fn affinities_go_back_to_the_interfaces_own_interrupts_that_are_still_there() {
        let dir = tempfile::tempdir().unwrap();
        let msi = dir.path().join("sys/class/net/eth0/device/msi_irqs");
        std::fs::create_dir_all(&msi).unwrap();
        let list = |number: &str| dir.path().join("proc/irq").join(number).join("smp_affinity_list");
        for (number, value) in [("9", "0\n"), ("30", "0-3,8\n"), ("131", "4\n"), ("40", "5\n")] {
            std::fs::create_dir_all(list(number).parent().unwrap()).unwrap();
            std::fs::write(list(number), value).unwrap();
        }
        // 40 is another device's.
        ["9", "30", "131"].iter().for_each(|number| std::fs::write(msi.join(number), "msix\n").unwrap());
        let root = crate::Root::captured(dir.path());
        let within = |work: &(dyn Fn(&InNamespace<'_>) -> io::Result<String> + Sync)| {
            super::super::within(&root, &Default::default(), None, |in_namespace| work(in_namespace)).unwrap()
        };
        let now = || within(&|in_namespace| affinities(in_namespace, "eth0"));
        let prior = now();
        assert_eq!(prior, "9=0 30=0-3,8 131=4");
        // With other channels: one is gone, another is anywhere, one is new.
        std::fs::remove_file(msi.join("131")).unwrap();
        std::fs::write(msi.join("132"), "msix\n").unwrap();
        std::fs::create_dir_all(list("132").parent().unwrap()).unwrap();
        std::fs::write(list("132"), "0-8\n").unwrap();
        std::fs::write(list("30"), "0-8\n").unwrap();
        std::fs::write(list("131"), "0-8\n").unwrap();
        let set = |value: &str| {
            within(&|in_namespace| set_affinities(in_namespace, "eth0", value).map(|()| String::new()));
        };
        set(&format!("{prior} 40=1 9=../../x 30=99999"));
        assert_eq!(now(), "9=0 30=0-3,8 132=0-8");
        let read = |number: &str| std::fs::read_to_string(list(number)).unwrap();
        assert_eq!((read("40").as_str(), read("131").as_str()), ("5\n", "0-8\n"));
    }
}
