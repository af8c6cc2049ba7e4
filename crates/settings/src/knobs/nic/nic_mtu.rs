//! `nic.mtu`.

use linerate_record::knob::{Advice, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect, domain};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "nic.mtu",
        layer: Layer::Nic,
        locator: Locator::Mtu,
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `include/uapi/linux/if_ether.h`: ETH_MIN_MTU and ETH_MAX_MTU; most drivers take less.
        takes: domain::number(68, 65535),
        default: "1500",
        summary: "Maximum size in bytes of IP packets that an interface sends.",
        why: "The advice is the MTU of the site's plane that the interface carries. Compared with 1500, 9000 has 5 % \
            more payload on the wire and a sixth of the packets. It only works if every switch port and every peer has \
            it; otherwise large packets are lost. If the site has no plane on this interface, nothing is advised: the \
            interface of an overlay has its own MTU.",
        relief: Relief::Links,
        relieves: "links: payload per frame; processor: work per packet",
        risk: "If one port of the path has less, connections hang on large packets (net.ipv4.tcp_mtu_probing).",
        sources: &[
            "source 002, network tuning",
            "payload share of an Ethernet frame: (MTU - 40 - 12) / (MTU + 38)",
            "ip-link(8)",
        ],
        since: None,
        until: None,
        also_called: &["ifconfig <iface> mtu", "ip link set mtu"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, site: &Site, place: &SettingPlace) -> Option<Advice> {
    let device = place.device.as_deref()?;
    let plane = facts::plane_of(snapshot, site, device)?;
    facts::advice(plane.mtu_bytes, format!("the MTU of the site's plane on {}", plane.link))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn interfaces_of_a_plane_and_members_of_its_bond_have_the_sites_mtu() {
        let (snapshot, mut site) = (machine(), site());
        site.planes.public.mtu_bytes = 9000;
        for (device, expected) in [("ens1f0", Some("9000")), ("bond0", Some("9000")), ("eno1", None)] {
            assert_eq!(advised_on(&ROW, &snapshot, &site, device).as_deref(), expected, "{device}");
        }
    }
}
