//! `bond.miimon`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "bond.miimon",
        layer: Layer::Bond,
        locator: Locator::Sysfs { path: "class/net/{bond}/bonding/miimon" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `drivers/net/bonding/bond_options.c: bond_intmax_tbl`.
        takes: domain::number(0, domain::INT_MAX),
        default: "0; the driver enforces 100 with 802.3ad",
        summary: "Interval in milliseconds at which the links of members are checked.",
        why: "With 0, links are never checked, and a member without a link keeps its share of the traffic. The \
            documentation calls 100 a good starting point, and the driver enforces it for 802.3ad.",
        relief: Relief::Links,
        relieves: "links: a member without a link that still gets traffic",
        risk: "None worth mentioning.",
        sources: &[
            "Linux, Documentation/networking/bonding.rst",
            "Linux, drivers/net/bonding/bond_main.c: bond_check_params",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    facts::bond(snapshot, place)?;
    match facts::number(snapshot, place) {
        Some(interval @ 1..=100) => facts::advice(interval, "the links are checked often enough"),
        _ => facts::advice(100, "a member without a link is detected"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn links_that_nobody_looks_at_are_looked_at() {
        let mut snapshot = machine();
        for (now, expected) in [("0", "100"), ("50", "50"), ("1000", "100")] {
            set(&mut snapshot, &ROW, Some("bond0"), now);
            assert_eq!(advised_for(&ROW, &snapshot, "bond0").as_deref(), Some(expected), "{now}");
        }
    }
}
