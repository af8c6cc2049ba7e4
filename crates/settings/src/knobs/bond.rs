//! Bonds.

use linerate_record::knob::{
    Advice, Domain, Knob, Layer, Locator, RelievedResource, Scope, SettingId, Snapshot, TakesEffect, domain,
};
use linerate_record::site::Site;

use crate::knobs::{Advise, KnobRow, facts};

/// What all rows have in common.
const BASE: Knob = Knob { layer: Layer::Bond, scope: Scope::Device, ..Knob::NONE };

/// In the order in which pages and listings have them.
pub(in crate::knobs) const ROWS: &[KnobRow] = &[
    KnobRow {
        knob: Knob {
            id: "bond.mode",
            locator: Locator::Sysfs { path: "class/net/{bond}/bonding/mode" },
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
                active-backup leaves all but one port idle; balance-rr reorders the packets of a connection. The mode \
                can be changed only while the bond has no members, so not on a running node.",
            relief: RelievedResource::Links,
            relieves: "links: members without traffic",
            risk: "The switch must use LACP on these ports; otherwise the node is cut off.",
            sources: &[
                "source 004",
                "Linux, Documentation/networking/bonding.rst",
                "Linux, drivers/net/bonding/bond_options.c: BOND_OPT_MODE (BOND_OPTFLAG_NOSLAVES)",
            ],
            ..BASE
        },
        advise: Advise::Computed(mode),
    },
    KnobRow {
        knob: Knob {
            id: "bond.xmit_hash_policy",
            locator: Locator::Sysfs { path: "class/net/{bond}/bonding/xmit_hash_policy" },
            takes_effect: TakesEffect::AtOnce,
            // `drivers/net/bonding/bond_options.c: bond_xmit_hashtype_tbl`. It takes numbers too, and shows words.
            takes: Domain::Words(&["layer2", "layer3+4", "layer2+3", "encap2+3", "encap3+4", "vlan+srcmac"]),
            default: "layer2",
            summary: "Fields of a packet that select the member that sends it.",
            why: "layer2 sends all traffic to one peer, and all traffic through a router, over one member: for 24 \
                streams between two hosts, source 004 measures 90 of 200 Gb/s with layer2 and 160 with layer3+4. \
                layer3+4 distributes connections by their ports. The source objects that it is not 802.3ad-compliant, \
                but only fragments of a datagram can be reordered, and TCP does not fragment. With VXLAN or Geneve, \
                the outer source port differs by flow, so layer3+4 works there too; encap3+4 hashes the inner headers.",
            relief: RelievedResource::Links,
            relieves: "links: one saturated member while others are idle",
            risk: "Fragmented UDP may be reordered.",
            sources: &[
                "source 004",
                "Linux, Documentation/networking/bonding.rst",
                "Linux, drivers/net/bonding/bond_main.c: bond_xmit_hash",
            ],
            also_called: &["xmit-hash"],
            ..BASE
        },
        advise: Advise::Computed(xmit_hash_policy),
    },
    KnobRow {
        knob: Knob {
            id: "bond.lacp_rate",
            locator: Locator::Sysfs { path: "class/net/{bond}/bonding/lacp_rate" },
            takes_effect: TakesEffect::Restart,
            // `drivers/net/bonding/bond_options.c: bond_lacp_rate_tbl`.
            takes: Domain::Words(&["slow", "fast"]),
            default: "slow",
            summary: "How often the partner is asked to send LACP packets: every 30 s (slow) or every second (fast).",
            why: "A member whose link is up but which passes no traffic is removed after three missed packets: 90 s \
                with slow, 3 s with fast. In between, requests for shards time out. The driver accepts a change only \
                while the bond is down (BOND_OPTFLAG_IFDOWN), so it belongs in the network configuration, for the next \
                boot.",
            relief: RelievedResource::Links,
            relieves: "links: a dead member that still gets traffic",
            risk: "Switches that handle LACP for many ports in software may miss packets under load.",
            sources: &[
                "Linux, Documentation/networking/bonding.rst",
                "Linux, drivers/net/bonding/bond_3ad.c",
                "Linux, drivers/net/bonding/bond_options.c: BOND_OPT_LACP_RATE",
            ],
            ..BASE
        },
        advise: Advise::Computed(lacp_rate),
    },
    KnobRow {
        knob: Knob {
            id: "bond.miimon",
            locator: Locator::Sysfs { path: "class/net/{bond}/bonding/miimon" },
            takes_effect: TakesEffect::AtOnce,
            // `drivers/net/bonding/bond_options.c: bond_intmax_tbl`.
            takes: domain::number(0, domain::INT_MAX),
            default: "0; the driver enforces 100 with 802.3ad",
            summary: "Interval in milliseconds at which the links of members are checked.",
            why: "With 0, links are never checked, and a member without a link keeps its share of the traffic. The \
                documentation calls 100 a good starting point, and the driver enforces it for 802.3ad.",
            relief: RelievedResource::Links,
            relieves: "links: a member without a link that still gets traffic",
            risk: "None worth mentioning.",
            sources: &[
                "Linux, Documentation/networking/bonding.rst",
                "Linux, drivers/net/bonding/bond_main.c: bond_check_params",
            ],
            ..BASE
        },
        advise: Advise::Computed(miimon),
    },
];

fn mode(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    let bond = facts::bond(snapshot, place)?;
    let (mode, wanted) = (bond.mode.as_str(), facts::bond_mode(snapshot, bond));
    if mode != wanted {
        let why = match mode {
            "broadcast" => "sends every packet by each member",
            _ => "reorders packets or balances one direction only",
        };
        return facts::advice(wanted, format!("{mode} {why}"));
    }
    if facts::unlike_speeds(snapshot, bond).is_some() {
        return facts::advice(mode, "the present mode: 802.3ad uses only members of one speed");
    }
    facts::advice(mode, "the present mode: the audit cannot detect whether the switches use LACP")
}

fn xmit_hash_policy(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    let bond = facts::bond(snapshot, place)?;
    if !matches!(facts::bond_mode(snapshot, bond), "802.3ad" | "balance-xor") {
        return None;
    }
    facts::advice("layer3+4", format!("connections are distributed over {} members by their ports", bond.members.len()))
}

fn lacp_rate(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    let bond = facts::bond(snapshot, place)?;
    facts::advice_if(
        facts::bond_mode(snapshot, bond) == "802.3ad",
        "fast",
        "a dead member is detected after 3 s instead of 90 s",
    )
}

fn miimon(snapshot: &Snapshot, _site: &Site, place: &SettingId) -> Option<Advice> {
    facts::bond(snapshot, place)?;
    match facts::number(snapshot, place) {
        Some(interval @ 1..=100) => facts::advice(interval, "the links are checked often enough"),
        _ => facts::advice(100, "a member without a link is detected"),
    }
}

#[cfg(test)]
mod tests {
    use crate::knobs::fixtures::*;

    #[test]
    fn a_bond_that_reorders_is_not_kept() {
        let mut snapshot = machine();
        for (mode, expected) in [("802.3ad", "802.3ad"), ("active-backup", "active-backup"), ("balance-rr", "802.3ad")]
        {
            set_bond_mode(&mut snapshot, mode);
            assert_eq!(advised_for("bond.mode", &snapshot, "bond0").as_deref(), Some(expected), "{mode}");
        }
        snapshot.machine.nics.iter_mut().find(|nic| nic.name == "ens1f1").unwrap().speed_bits_per_s =
            Some(1_000_000_000);
        for mode in ["broadcast", "balance-rr", "balance-tlb"] {
            set_bond_mode(&mut snapshot, mode);
            let advised = advised_for("bond.mode", &snapshot, "bond0");
            assert_eq!(advised.as_deref(), Some(mode), "LACP does not use members of unlike speeds together");
        }
    }

    #[test]
    fn a_mode_that_does_not_hash_has_no_policy_to_choose() {
        let id = "bond.xmit_hash_policy";
        let mut snapshot = machine();
        assert_eq!(advised_for(id, &snapshot, "bond0").as_deref(), Some("layer3+4"));
        set_bond_mode(&mut snapshot, "active-backup");
        assert_eq!(advised_for(id, &snapshot, "bond0"), None);
    }

    #[test]
    fn only_lacp_has_a_rate() {
        let mut snapshot = machine();
        assert_eq!(advised_for("bond.lacp_rate", &snapshot, "bond0").as_deref(), Some("fast"));
        set_bond_mode(&mut snapshot, "balance-xor");
        assert_eq!(advised_for("bond.lacp_rate", &snapshot, "bond0"), None);
    }

    #[test]
    fn links_that_nobody_looks_at_are_looked_at() {
        let mut snapshot = machine();
        for (now, expected) in [("0", "100"), ("50", "50"), ("1000", "100")] {
            set(&mut snapshot, "bond.miimon", Some("bond0"), now);
            assert_eq!(advised_for("bond.miimon", &snapshot, "bond0").as_deref(), Some(expected), "{now}");
        }
    }
}
