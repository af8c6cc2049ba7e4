//! The kernel's command line and version.

use linerate_record::knob::{
    Advice, Domain, Knob, Layer, Locator, RelievedResource, Scope, SettingId, Snapshot, TakesEffect,
};
use linerate_record::site::Site;

use crate::knobs::{Advise, KnobRow, facts};

/// What all rows have in common.
const BASE: Knob = Knob { layer: Layer::Boot, scope: Scope::Host, takes_effect: TakesEffect::Reboot, ..Knob::NONE };

/// In the order in which pages and listings have them.
pub(in crate::knobs) const ROWS: &[KnobRow] = &[
    KnobRow {
        knob: Knob {
            id: "boot.skew_tick",
            locator: Locator::BootArgument { name: "skew_tick" },
            // `Documentation/admin-guide/kernel-parameters.txt`: skew_tick.
            takes: Domain::Words(&["absent", "0", "1"]),
            default: "absent: 0",
            summary: "Whether the timer ticks of the cores are offset from each other.",
            why: "Source 000 and MinIO's tuned profile set 1. On machines with many cores, ticks that fire at the same \
                time contend for the same locks; full nohz makes this irrelevant. With fewer than 32 processors, the \
                gain is not worth a reboot.",
            relief: RelievedResource::Processors,
            relieves: "processor: lock contention at each tick",
            risk: "Slightly more power, because the cores of a package are idle together less often.",
            sources: &[
                "source 000, tuned profile",
                "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
                "Linux, Documentation/admin-guide/kernel-parameters.txt: skew_tick",
            ],
            also_called: &["cmdline = skew_tick=1"],
            ..BASE
        },
        advise: Advise::Computed(|snapshot, _, _| {
            facts::advice_if(
                snapshot.machine.cpus >= 32,
                1,
                format!("{} ticks would fire at the same time", snapshot.machine.cpus),
            )
        }),
    },
    KnobRow {
        knob: Knob {
            id: "boot.iommu",
            locator: Locator::BootArgument { name: "iommu" },
            // `Documentation/admin-guide/kernel-parameters.txt`: iommu.
            takes: Domain::Words(&[
                "absent", "off", "force", "noforce", "biomerge", "panic", "nopanic", "merge", "nomerge", "soft", "pt",
                "nopt",
            ]),
            default: "absent: on most distributions the IOMMU translates if the firmware enables it",
            summary: "Whether DMA of the host's own devices is translated by the IOMMU (pt: it bypasses translation).",
            why: "No source mentions it. With translation, each DMA buffer of a NIC is mapped and unmapped; from 100 \
                Gb/s on, this shows as processor time in the IOVA allocator. There is no advice for virtual machines \
                or below 100 Gb/s.",
            relief: RelievedResource::Processors,
            relieves: "processor: mapping of DMA buffers",
            risk: "A device can write to all of memory, as on a machine without an IOMMU.",
            sources: &["Linux, Documentation/admin-guide/kernel-parameters.txt: iommu"],
            ..BASE
        },
        advise: Advise::Computed(iommu),
    },
    KnobRow {
        knob: Knob {
            id: "kernel.version",
            locator: Locator::KernelVersion,
            // `uname(1)`.
            takes: Domain::Text("a version of Linux such as 6.12"),
            default: "that of the distribution",
            summary: "Version of the kernel, as major.minor.",
            why: "Source 000 requires 6.8 because of fstrim. The change that it describes came to XFS in 6.7 (see \
                block.discard_max_bytes); 6.8 is what Cilium requires for netkit (IPv4 BIG TCP requires 6.3). So 6.8 \
                remains the minimum, for a different reason, and older kernels are advised to move to a long-term \
                release (6.12). Distributions backport changes: RHEL 9.4 reports 5.14.",
            relief: RelievedResource::Drives,
            relieves: "drives: fstrim; links: netkit, BIG TCP",
            risk: "A new kernel changes much at once: try it on one node first.",
            sources: &[
                "source 000, HW",
                "Cilium, Documentation/operations/performance/tuning.rst (Kernel >= 6.8)",
                "Linux 6.7, fs/xfs/xfs_discard.c",
            ],
            also_called: &["Linux Kernel version 6.8"],
            ..BASE
        },
        advise: Advise::Computed(version),
    },
];

fn iommu(snapshot: &Snapshot, site: &Site, _place: &SettingId) -> Option<Advice> {
    let fast = facts::node_bits_per_s(snapshot, site) >= 100e9;
    facts::advice_if(
        fast && !snapshot.machine.virtualized,
        "pt",
        "from 100 Gb/s on, mapping each DMA buffer costs noticeable processor time",
    )
}

fn version(snapshot: &Snapshot, _site: &Site, _place: &SettingId) -> Option<Advice> {
    match facts::kernel(snapshot) {
        Some(kernel) if kernel < (6, 8) => {
            let why = "netkit requires 6.8, and XFS sends discards in batches since 6.7";
            facts::advice("6.12", format!("it is {}.{}; {why}", kernel.0, kernel.1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::knobs::fixtures::*;

    #[test]
    fn few_cores_are_not_worth_a_reboot() {
        let mut snapshot = machine();
        assert_eq!(advised("boot.skew_tick", &snapshot).as_deref(), Some("1"));
        snapshot.machine.cpus = 8;
        assert_eq!(advised("boot.skew_tick", &snapshot), None);
    }

    #[test]
    fn slow_and_virtual_machines_are_left_alone() {
        let mut snapshot = machine();
        assert_eq!(advised("boot.iommu", &snapshot), None);
        snapshot.machine.nics[1].speed_bits_per_s = Some(100_000_000_000);
        assert_eq!(advised("boot.iommu", &snapshot).as_deref(), Some("pt"));
        snapshot.machine.virtualized = true;
        assert_eq!(advised("boot.iommu", &snapshot), None);
    }

    #[test]
    fn a_kernel_from_6_8_on_is_kept() {
        let mut snapshot = machine();
        for (kernel, expected) in [("5.14.0-427.el9", Some("6.12")), ("6.8.0-31-generic", None), ("6.18.44", None)] {
            snapshot.machine.kernel = kernel.to_owned();
            assert_eq!(advised("kernel.version", &snapshot).as_deref(), expected, "{kernel}");
        }
    }
}
