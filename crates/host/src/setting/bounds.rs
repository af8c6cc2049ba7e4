//! The most that this kernel takes of a number, where it follows from how it was built.

use linerate_record::knob::Locator;
use rustix::time::{ClockId, clock_getres};

use super::kernel_build::KernelBuild;
use crate::root::{Root, text};

/// Pages of a huge page that may be empty.
const EMPTY_PAGES: &str = "kernel/mm/transparent_hugepage/khugepaged/max_ptes_none";

/// The smallest page of any processor with huge pages.
const PAGE_BYTES_MIN: u64 = 4096;

/// Ticks per second that a kernel can be built with (`kernel/Kconfig.hz`, `arch/mips/Kconfig`, `arch/alpha/Kconfig`).
const TICKS_PER_S: std::ops::RangeInclusive<i128> = 24..=1200;

/// The most that a setting can be; `None` where nothing of this machine bounds it.
pub(super) fn most(built: &KernelBuild<'_>, locator: &Locator) -> Option<i128> {
    match locator {
        Locator::Sysfs { path } if *path == EMPTY_PAGES => empty_pages(built.root),
        // `kernel/sysctl.c: proc_dointvec_jiffies`: seconds are kept as an `int` of ticks.
        Locator::Sysctl { name } if is_in_ticks(name) => Some(i128::from(i32::MAX) / ticks_per_s(built)?),
        _ => None,
    }
}

fn is_in_ticks(name: &str) -> bool {
    matches!(name, "net.ipv4.tcp_fin_timeout" | "net.ipv4.tcp_keepalive_time")
        || (name.starts_with("net.netfilter.nf_conntrack_") && name.contains("_timeout"))
}

/// `mm/khugepaged.c: max_ptes_none_store`: fewer than a huge page has pages. Of a captured machine the size of a page
/// is not known, and the smallest refuses nothing that its kernel takes.
fn empty_pages(root: &Root) -> Option<i128> {
    let path = "sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
    let huge_bytes: u64 = text(root, path, &mut Vec::new()).ok()?.trim().parse().ok()?;
    let page_bytes = if root.is_live() { rustix::param::page_size() as u64 } else { PAGE_BYTES_MIN };
    Some(i128::from((huge_bytes / page_bytes).checked_sub(1)?))
}

/// By the kernel's configuration, or else by the resolution of its coarse clock, which is a tick
/// (`kernel/time/posix-timers.c: posix_get_coarse_res`).
fn ticks_per_s(built: &KernelBuild<'_>) -> Option<i128> {
    let configured = || built.value("CONFIG_HZ")?.parse().ok();
    let of_clock = || {
        let tick = clock_getres(ClockId::MonotonicCoarse);
        (built.root.is_live() && tick.tv_sec == 0 && tick.tv_nsec > 0)
            .then(|| (1_000_000_000 + i128::from(tick.tv_nsec) / 2) / i128::from(tick.tv_nsec))
    };
    configured().or_else(of_clock).filter(|ticks| TICKS_PER_S.contains(ticks))
}

#[cfg(test)]
mod tests {
    use super::super::kernel_build::tests::{packed, write};
    use super::*;

    #[test]
    fn empty_pages_are_fewer_than_a_huge_page_has() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let none = Locator::Sysfs { path: EMPTY_PAGES };
        assert_eq!(most(&KernelBuild::new(&root), &none), None);
        for (bytes, expected) in [("2097152\n", Some(511)), ("1048576\n", Some(255)), ("0\n", None), ("x\n", None)] {
            write(folder.path(), "sys/kernel/mm/transparent_hugepage/hpage_pmd_size", bytes.as_bytes());
            assert_eq!(most(&KernelBuild::new(&root), &none), expected, "{bytes:?}");
        }
    }

    #[test]
    fn seconds_kept_as_ticks_are_bounded_by_how_many_ticks_there_are() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let most_for = |name: &'static str| most(&KernelBuild::new(&root), &Locator::Sysctl { name });
        assert_eq!(most_for("net.ipv4.tcp_fin_timeout"), None, "nobody says how many");
        for (config, expected) in [("CONFIG_HZ=1000\n", Some(2_147_483)), ("CONFIG_HZ=250\n", Some(8_589_934))] {
            write(folder.path(), "proc/config.gz", &packed(&format!("CONFIG_HZ_PERIODIC=y\n{config}")));
            for name in ["net.ipv4.tcp_fin_timeout", "net.netfilter.nf_conntrack_tcp_timeout_established"] {
                assert_eq!(most_for(name), expected, "{name} {config}");
            }
            assert_eq!(most_for("vm.swappiness"), None);
        }
        write(folder.path(), "proc/config.gz", &packed("CONFIG_HZ=0\n"));
        assert_eq!(most_for("net.ipv4.tcp_fin_timeout"), None);
    }
}
