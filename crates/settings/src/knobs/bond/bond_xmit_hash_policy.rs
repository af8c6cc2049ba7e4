//! `bond.xmit_hash_policy`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "bond.xmit_hash_policy",
        layer: Layer::Bond,
        locator: Locator::Sysfs { path: "class/net/{bond}/bonding/xmit_hash_policy" },
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `drivers/net/bonding/bond_options.c: bond_xmit_hashtype_tbl`. It takes numbers too, and shows words.
        takes: Domain::Words(&["layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"]),
        default: "layer2",
        summary: "Fields of a packet that select the member that sends it.",
        why: "layer2 sends all traffic to one peer, and all traffic through a router, over one member: for 24 streams \
            between two hosts, source 004 measures 90 of 200 Gb/s with layer2 and 160 with layer3+4. layer3+4 \
            distributes connections by their ports. The source objects that it is not 802.3ad-compliant, but only \
            fragments of a datagram can be reordered, and TCP does not fragment. With VXLAN or Geneve, the outer \
            source port differs by flow, so layer3+4 works there too; encap3+4 hashes the inner headers.",
        relief: Relief::Links,
        relieves: "links: one saturated member while others are idle",
        risk: "Fragmented UDP may be reordered.",
        sources: &[
            "source 004",
            "Linux, Documentation/networking/bonding.rst",
            "Linux, drivers/net/bonding/bond_main.c: bond_xmit_hash",
        ],
        since: None,
        until: None,
        also_called: &["xmit-hash"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, _site: &Site, place: &SettingPlace) -> Option<Advice> {
    let bond = facts::bond(snapshot, place)?;
    if !matches!(facts::bond_mode(bond), "802.3ad" | "balance-xor") {
        return None;
    }
    facts::advice("layer3+4", format!("connections are distributed over {} members by their ports", bond.members.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn a_mode_that_does_not_hash_has_no_policy_to_choose() {
        let mut snapshot = machine();
        assert_eq!(advised_for(&ROW, &snapshot, "bond0").as_deref(), Some("layer3+4"));
        set_bond_mode(&mut snapshot, "active-backup");
        assert_eq!(advised_for(&ROW, &snapshot, "bond0"), None);
    }
}
