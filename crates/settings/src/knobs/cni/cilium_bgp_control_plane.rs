//! `cilium.bgp_control_plane`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};
use linerate_record::site::Entry;

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cilium.bgp_control_plane",
        layer: Layer::Cni,
        locator: Locator::HelmValue { chart: "cilium", path: "bgpControlPlane.enabled" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Cilium, values.yaml: a boolean.
        takes: Domain::Words(&["true", "false"]),
        default: "false",
        summary: "Whether Cilium announces services by BGP.",
        why: "Source 000 settles on native routing, BGP and ClusterMesh (its plan C): switches distribute connections \
            over nodes by ECMP.",
        relief: Relief::Links,
        relieves: "links: one node that receives all connections",
        risk: "The switches must be configured for it.",
        sources: &["source 000, Cilium values", "Cilium, install/kubernetes/cilium/values.yaml"],
        since: None,
        until: None,
        also_called: &["bgpControlPlane.enabled"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    matches!(site.entry, Entry::Bgp { .. }).then(|| facts::advice(true, "the site's entry is BGP")).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn only_a_site_with_bgp_announces() {
        let mut site = site();
        site.entry = Entry::ClientSide;
        assert_eq!(advised_of(&ROW, &machine(), &site), None);
        site.entry = Entry::Bgp { policy: linerate_record::site::TrafficPolicy::Local };
        assert_eq!(advised_of(&ROW, &machine(), &site).as_deref(), Some("true"));
    }
}
