//! `boot.skew_tick`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "boot.skew_tick",
        layer: Layer::Boot,
        locator: Locator::BootArgument { name: "skew_tick" },
        scope: Scope::Host,
        takes_effect: TakesEffect::Reboot,
        // `Documentation/admin-guide/kernel-parameters.txt`: skew_tick.
        takes: Domain::Words(&["absent", "0", "1"]),
        default: "absent: 0",
        summary: "Whether the timer ticks of the cores are offset from each other.",
        why: "Source 000 and MinIO's tuned profile set 1. On machines with many cores, ticks that fire at the same \
            time contend for the same locks; full nohz makes this irrelevant. With fewer than 32 processors, the gain \
            is not worth a reboot.",
        relief: Relief::Processors,
        relieves: "processor: lock contention at each tick",
        risk: "Slightly more power, because the cores of a package are idle together less often.",
        sources: &[
            "source 000, tuned profile",
            "MinIO, docs/tuning/tuned.conf (v0.0.0-20260212)",
            "Linux, Documentation/admin-guide/kernel-parameters.txt: skew_tick",
        ],
        since: None,
        until: None,
        also_called: &["cmdline = skew_tick=1"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, _place: &SettingPlace) -> Option<Advice> {
    (snapshot.machine.cpus >= 32)
        .then(|| facts::advice(1, format!("{} ticks would fire at the same time", snapshot.machine.cpus)))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn few_cores_are_not_worth_a_reboot() {
        let mut snapshot = machine();
        assert_eq!(advised(&ROW, &snapshot).as_deref(), Some("1"));
        snapshot.machine.cpus = 8;
        assert_eq!(advised(&ROW, &snapshot), None);
    }
}
