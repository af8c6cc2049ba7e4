//! `bond.mode`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "bond.mode",
        layer: Layer::Bond,
        locator: Locator::Sysfs { path: "class/net/{bond}/bonding/mode" },
        scope: Scope::Device,
        takes_effect: TakesEffect::Reboot,
        // `drivers/net/bonding/bond_options.c: bond_mode_tbl`. It takes numbers too, and shows words.
        takes: Domain::Words(&[
            "balance-rr",
            "active-backup",
            "balance-xor",
            "broadcast",
            "802.3ad",
            "balance-tlb",
            "balance-alb",
        ]),
        default: "balance-rr",
        summary: "How a bond uses its members.",
        why: "802.3ad uses all members in both directions and detects a member that is up but passes no traffic. \
            active-backup leaves all but one port idle; balance-rr reorders the packets of a connection. The mode can \
            be changed only while the bond has no members, so not on a running node.",
        relief: Relief::Links,
        relieves: "links: members without traffic",
        risk: "The switch must use LACP on these ports; otherwise the node is cut off.",
        sources: &[
            "source 004",
            "Linux, Documentation/networking/bonding.rst",
            "Linux, drivers/net/bonding/bond_options.c: BOND_OPT_MODE (BOND_OPTFLAG_NOSLAVES)",
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
    let (mode, wanted) = (bond.mode.as_str(), facts::bond_mode(bond));
    if mode == wanted {
        return facts::advice(mode, "the present mode: the audit cannot detect whether the switches use LACP");
    }
    facts::advice(wanted, format!("{mode} reorders packets or balances one direction only"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn a_bond_that_reorders_is_not_kept() {
        let mut snapshot = machine();
        for (mode, expected) in [("802.3ad", "802.3ad"), ("active-backup", "active-backup"), ("balance-rr", "802.3ad")]
        {
            set_bond_mode(&mut snapshot, mode);
            assert_eq!(advised_for(&ROW, &snapshot, "bond0").as_deref(), Some(expected), "{mode}");
        }
    }
}
