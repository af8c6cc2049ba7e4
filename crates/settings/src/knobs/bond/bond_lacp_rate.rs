//! `bond.lacp_rate`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "bond.lacp_rate",
        layer: Layer::Bond,
        locator: Locator::Sysfs { path: "class/net/{bond}/bonding/lacp_rate" },
        scope: Scope::Device,
        takes_effect: TakesEffect::Restart,
        // `drivers/net/bonding/bond_options.c: bond_lacp_rate_tbl`.
        takes: Domain::Words(&["slow", "fast"]),
        default: "slow",
        summary: "How often the partner is asked to send LACP packets: every 30 s (slow) or every second (fast).",
        why: "A member whose link is up but which passes no traffic is removed after three missed packets: 90 s with \
            slow, 3 s with fast. In between, requests for shards time out. The driver accepts a change only while the \
            bond is down (BOND_OPTFLAG_IFDOWN), so it belongs in the network configuration, for the next boot.",
        relief: Relief::Links,
        relieves: "links: a dead member that still gets traffic",
        risk: "Switches that handle LACP for many ports in software may miss packets under load.",
        sources: &[
            "Linux, Documentation/networking/bonding.rst",
            "Linux, drivers/net/bonding/bond_3ad.c",
            "Linux, drivers/net/bonding/bond_options.c: BOND_OPT_LACP_RATE",
        ],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    let bond = facts::bond(snapshot, place)?;
    (facts::bond_mode(bond) == "802.3ad")
        .then(|| facts::advice("fast", "a dead member is detected after 3 s instead of 90 s"))
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn only_lacp_has_a_rate() {
        let mut snapshot = machine();
        assert_eq!(advised_for(&ROW, &snapshot, "bond0").as_deref(), Some("fast"));
        set_bond_mode(&mut snapshot, "balance-xor");
        assert_eq!(advised_for(&ROW, &snapshot, "bond0"), None);
    }
}
