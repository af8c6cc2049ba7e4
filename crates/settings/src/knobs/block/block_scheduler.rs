//! `block.scheduler`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "block.scheduler",
        layer: Layer::Block,
        locator: Locator::Sysfs { path: "block/{disk}/queue/scheduler" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `block/mq-deadline.c`, `kyber-iosched.c`, `bfq-iosched.c`; the last three before Linux 5.0. The file lists
        // what there is.
        takes: Domain::Words(&["none", "mq-deadline", "kyber", "bfq", "noop", "deadline", "cfq"]),
        default: "none for NVMe with several queues; mq-deadline or bfq else",
        summary: "Which scheduler orders a disk's requests.",
        why: "Source 000 says none or mq-deadline, by test. For NVMe none: the drive orders for itself and a \
            scheduler is a lock between cores. For spinning drives mq-deadline: reads overtake writeback, and seeks \
            are sorted.",
        relieves: "drives and processor: latency under queues",
        risk: "none: no fairness between cgroups (io.weight needs bfq or iocost), reads do not overtake writes.",
        sources: &[
            "source 000, XFS (none or mq-deadline)",
            "Linux, Documentation/block/switching-sched.rst; block/elevator.c: elevator_get_default",
        ],
        since: None,
        until: None,
        also_called: &["scheduler"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    let disk = facts::disk(snapshot, place)?;
    let wanted = if disk.rotational { "mq-deadline" } else { "none" };
    let choices = facts::choices(snapshot, place);
    if !choices.is_empty() && !choices.iter().any(|choice| choice == wanted) {
        return None;
    }
    let why = if disk.rotational { "it spins: sort seeks, let reads overtake" } else { "the drive orders for itself" };
    facts::advice(wanted, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn what_spins_is_sorted_and_flash_is_not() {
        let mut snapshot = machine();
        assert_eq!(advised_for(&ROW, &snapshot, "nvme0n1").as_deref(), Some("none"));
        snapshot.devices.disks[0].rotational = true;
        assert_eq!(advised_for(&ROW, &snapshot, "nvme0n1").as_deref(), Some("mq-deadline"));
        assert_eq!(advised_among(&ROW, &snapshot, "none", &["none"]), None);
    }
}
