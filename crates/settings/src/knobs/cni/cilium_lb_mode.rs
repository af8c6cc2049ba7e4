//! `cilium.lb_mode`.

use linerate_record::knob::{Advice, Domain, Knob, Layer, Locator, Relief, Scope, SettingPlace, Snapshot, TakesEffect};
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
        summary: "How the reply of a forwarded connection returns: through the forwarding node (snat) or directly \
            (dsr).",
        why: "Source 000 sets snat for BGP with externalTrafficPolicy Local, where no connection is forwarded and \
            there is no detour. With policy Cluster or L2 announcements, dsr saves the second hop of the reply, which \
            is most of the traffic of a GET.",
        relief: Relief::Links,
        relieves: "links: the second hop of replies",
        risk: "dsr: packets carry the source address of another node, which switches may filter.",
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
        return facts::advice("dsr", "replies go directly to the client instead of through the forwarding node");
    }
    facts::advice("snat", "no node forwards, so replies have no detour")
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
