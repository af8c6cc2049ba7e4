//! `kernel.version`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "kernel.version",
        layer: Layer::Boot,
        locator: Locator::KernelVersion,
        scope: Scope::Host,
        takes_effect: TakesEffect::Reboot,
        // `uname(1)`.
        takes: Domain::Text("a version of Linux such as 6.12"),
        default: "that of the distribution",
        summary: "Version of the kernel, as major.minor.",
        why: "Source 000 requires 6.8 because of fstrim. The change that it describes came to XFS in 6.7 (see \
            block.discard_max_bytes); 6.8 is what Cilium requires for netkit (IPv4 BIG TCP requires 6.3). So 6.8 \
            remains the minimum, for a different reason, and older kernels are advised to move to a long-term release \
            (6.12). Distributions backport changes: RHEL 9.4 reports 5.14.",
        relief: Relief::Drives,
        relieves: "drives: fstrim; links: netkit, BIG TCP",
        risk: "A new kernel changes much at once: try it on one node first.",
        sources: &[
            "source 000, HW",
            "Cilium, Documentation/operations/performance/tuning.rst (Kernel >= 6.8)",
            "Linux 6.7, fs/xfs/xfs_discard.c",
        ],
        since: None,
        until: None,
        also_called: &["Linux Kernel version 6.8"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
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
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn a_kernel_from_6_8_on_is_kept() {
        let mut snapshot = machine();
        for (kernel, expected) in [("5.14.0-427.el9", Some("6.12")), ("6.8.0-31-generic", None), ("6.18.44", None)] {
            snapshot.machine.kernel = kernel.to_owned();
            assert_eq!(advised(&ROW, &snapshot).as_deref(), expected, "{kernel}");
        }
    }
}
