//! `block.fstrim_timer`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "block.fstrim_timer",
        layer: Layer::Block,
        locator: Locator::Timer { unit: "fstrim.timer" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        // `systemctl(1)`: a timer that is not failed is one of both.
        takes: Domain::Words(&["active", "inactive"]),
        default: "active on most distributions, weekly",
        summary: "Whether systemd discards the unused space of mounted file systems once a week.",
        why: "Source 000 gives fstrim as the reason for its choice of kernel: flash without free blocks has to collect \
            garbage when it is written to, which raises the tail latency of PUT. On Kubernetes, nothing else trims the \
            file systems that a CSI driver such as DirectPV mounts. The service takes its list from fstab, which does \
            not contain those mounts, so a job in the cluster has to name them.",
        relief: Relief::Drives,
        relieves: "drives: garbage collection during writes",
        risk: "Discards compete with reads while they run: schedule them for a quiet hour.",
        sources: &["source 000, fstrim", "fstrim(8); util-linux, sys-utils/fstrim.service.in"],
        since: None,
        until: None,
        also_called: &["fstrim"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    let trims = snapshot.devices.disks.iter().any(|disk| disk.discards);
    trims.then(|| facts::advice("active", "the machine has drives that support discards")).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn drives_that_take_no_discards_need_no_timer() {
        let mut snapshot = machine();
        assert_eq!(advised(&ROW, &snapshot).as_deref(), Some("active"));
        for disk in &mut snapshot.devices.disks {
            disk.discards = false;
        }
        assert_eq!(advised(&ROW, &snapshot), None);
    }
}
