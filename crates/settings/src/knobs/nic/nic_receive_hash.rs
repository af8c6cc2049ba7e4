//! `nic.receive_hash`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};
use linerate_record::site::Encapsulation;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "nic.receive_hash",
        layer: Layer::Nic,
        locator: Locator::ReceiveHash,
        scope: Scope::Device,
        takes_effect: TakesEffect::AtOnce,
        // `ethtool(8)`, rx-flow-hash: any of m, v, t, s, d, f, n and r.
        takes: Domain::Text("fields as letters of ethtool(8), such as sdfn"),
        default: "sdfn for TCP, sd for UDP on many drivers",
        summary: "Fields of a UDP packet that select its receive queue: addresses (sd), or addresses and ports (sdfn).",
        why: "VXLAN and Geneve use UDP with a source port for each inner flow. If a NIC hashes UDP by addresses only, \
            all overlay traffic between two nodes uses the same queue. It is only advised if the site has an overlay.",
        relief: Relief::Receiving,
        relieves: "receiving: one saturated core with an overlay",
        risk: "Fragments of a datagram may be received by different queues.",
        sources: &[
            "source 000, Switch RSS queue",
            "Linux, Documentation/networking/scaling.rst",
            "ethtool(8): -N rx-flow-hash udp4",
        ],
        since: None,
        until: None,
        also_called: &["RSS"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(snapshot: &Snapshot, site: &Site, place: &SettingPlace) -> Option<Advice> {
    let plane = facts::plane_of(snapshot, site, place.device.as_deref()?)?;
    let udp = matches!(plane.encapsulation, Encapsulation::Vxlan | Encapsulation::Geneve);
    udp.then(|| facts::advice("sdfn", "the outer ports of the overlay distinguish its flows")).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn native_routing_needs_no_ports_of_udp() {
        let (snapshot, mut site) = (machine(), site());
        assert_eq!(advised_on(&ROW, &snapshot, &site, "ens1f0"), None);
        site.planes.public.encapsulation = Encapsulation::Vxlan;
        assert_eq!(advised_on(&ROW, &snapshot, &site, "ens1f0").as_deref(), Some("sdfn"));
    }
}
