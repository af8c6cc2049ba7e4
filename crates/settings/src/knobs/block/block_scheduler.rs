//! `block.scheduler`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
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
        default: "none for NVMe with several queues; otherwise mq-deadline or bfq",
        summary: "I/O scheduler that orders the requests of a disk.",
        why: "Source 000 advises none or mq-deadline, depending on tests. For NVMe the advice is none: the drive \
            orders requests itself, and a scheduler adds a lock between cores. For spinning drives it is mq-deadline, \
            which lets reads overtake writeback and sorts seeks.",
        relief: Relief::Drives,
        relieves: "drives and processor: latency with long queues",
        risk: "none: no fairness between cgroups (io.weight needs bfq or iocost), and reads do not overtake writes.",
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
    let why = if disk.rotational {
        "it sorts the seeks of a spinning drive, and reads overtake writes"
    } else {
        "the drive orders requests itself"
    };
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
