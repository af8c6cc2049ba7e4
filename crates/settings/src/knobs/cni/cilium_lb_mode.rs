//! `cilium.lb_mode`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Scope, SettingPlace, Snapshot, TakesEffect};
use linerate_record::site::Site;

use crate::knobs::{KnobRow, facts};
use linerate_record::site::{Entry, TrafficPolicy};

pub(crate) const ROW: KnobRow = KnobRow {
    knob: Knob {
        id: "cilium.lb_mode",
        layer: Layer::Cni,
        locator: Locator::HelmValue { chart: "cilium", path: "loadBalancer.mode" },
        scope: Scope::Cluster,
        takes_effect: TakesEffect::Restart,
        // Cilium, pkg/option: NodePortMode.
        takes: Domain::Words(&["snat", "dsr", "hybrid"]),
        default: "snat",
        summary: "How a reply of a forwarded connection returns: through the forwarding node (snat) or directly \
            (dsr).",
        why: "snat, as source 000 has it for BGP with externalTrafficPolicy Local, where no connection is forwarded \
            and there is nothing to return. With policy Cluster or L2 announcements dsr saves the reply's second \
            hop, which is most of a GET.",
        relieves: "links: a second hop of replies",
        risk: "dsr: packets with a source address of another node, which switches may filter.",
        sources: &["source 000, Cilium values", "Cilium, install/kubernetes/cilium/values.yaml"],
        since: None,
        until: None,
        also_called: &["loadBalancer.mode"],
        owned_by: None,
    },
    advise: Some(advise),
};

fn advise(_snapshot: &Snapshot, site: &Site, _place: &SettingPlace) -> Option<Advice> {
    let forwards = match site.entry {
        Entry::Bgp { policy } | Entry::NodePort { policy } => policy == TrafficPolicy::Cluster,
        Entry::L2Announcement { .. } => true,
        Entry::ClientSide | Entry::ClusterMesh | Entry::Local => false,
    };
    if forwards {
        return facts::advice("dsr", "replies go straight to the client, not through the node that forwarded");
    }
    facts::advice("snat", "no node forwards: there is no reply to shorten")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::*;

    #[test]
    fn only_forwarded_connections_are_worth_dsr() {
        let mut site = site();
        for (policy, expected) in [(TrafficPolicy::Local, "snat"), (TrafficPolicy::Cluster, "dsr")] {
            site.entry = Entry::Bgp { policy };
            assert_eq!(advised_of(&ROW, &machine(), &site).as_deref(), Some(expected));
        }
    }
}
