//! A kernel whose `fstrim` of XFS stalls writes.
//!
//! Source 000 asks for 6.8, "the key reason is fstrim": before it, free space is discarded one after the other, then
//! many at once and in large pieces, "more than four times as fast". What fits this in the kernel's history is
//! 89cfa899608f ("xfs: reduce AGF hold times during fstrim operations", September 2023): discards were synchronous, one
//! at a time, with the header of the allocation group locked for the whole walk; since then they are issued in batches,
//! asynchronously, without the lock. It came with 6.6 (the merge is called `xfs-6.6-fixes`, and later corrections say
//! `stable # v6.6`). So 6.8 is safe but not where it changed, and the factor of four is the source's own.

use linerate_record::finding::Severity;
use linerate_record::plan::{PlanFinding, PlanFindingKind};
use linerate_record::site::Kernel;

use super::{Case, finding};

/// What source 000 asks for.
const REQUESTED: Kernel = Kernel { major: 6, minor: 8 };
/// Since when XFS discards in batches.
const BATCHES: Kernel = Kernel { major: 6, minor: 6 };

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    for group in case.groups() {
        let Some(kernel) = group.kernel.filter(|&kernel| kernel < REQUESTED) else { continue };
        let version = format!("{}.{}", kernel.major, kernel.minor);
        let (severity, claim, evidence) = if kernel < BATCHES {
            (
                Severity::Warning,
                format!("kernel {version} of \"{}\" stops allocation on XFS while fstrim runs", group.name),
                "before 6.6, xfs_trim_extents holds an allocation group's header over every discard; vendors' kernels \
                 may include the change",
            )
        } else {
            (
                Severity::Note,
                format!("kernel {version} of \"{}\" is older than the recommended 6.8", group.name),
                "according to its history, the change of fstrim that the recommendation refers to is already in 6.6",
            )
        };
        out.push(finding(
            PlanFindingKind::OldKernel,
            severity,
            claim,
            evidence.to_owned(),
            "run 6.8 or newer (Ubuntu 24.04, RHEL 10), or trim when the load is low",
            "sources/000 (6.8, fstrim); kernel commit 89cfa899608f, fs/xfs/xfs_discard.c, v6.6",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings_after;
    use super::*;

    #[test]
    fn kernels_before_6_6_are_warned_of_and_those_before_6_8_noted() {
        for (major, minor, severity) in [(5, 14, Severity::Warning), (6, 5, Severity::Warning), (6, 6, Severity::Note)]
        {
            let kernel = Some(Kernel { major, minor });
            let found = findings_after(PlanFindingKind::OldKernel, |site| site.groups[0].kernel = kernel);
            assert_eq!(found.iter().map(|finding| finding.severity).collect::<Vec<_>>(), [severity], "{kernel:?}");
        }
    }

    #[test]
    fn newer_and_unknown_kernels_are_not_spoken_of() {
        for kernel in [None, Some(REQUESTED), Some(Kernel { major: 7, minor: 0 })] {
            let found = findings_after(PlanFindingKind::OldKernel, |site| site.groups[0].kernel = kernel);
            assert!(found.is_empty(), "{kernel:?}: {found:?}");
        }
    }
}
