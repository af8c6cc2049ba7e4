//! The nodes of one rack are slower than all others: figures of nodes name them.

use linerate_record::explanation::Observations;
use linerate_record::plan::Resource;
use linerate_record::site::Site;

use super::{FACTORS, percent};
use crate::explain::deviation::{Hold, Odd, SiteParts, Variant};
use crate::explain::nodes::{self, joined};
use crate::explain::readings::ReadingId;

/// What is left of a rack's links below the usual factors: a switch may have lost most of its uplinks.
const LOWER: [f64; 6] = [0.35, 0.3, 0.25, 0.2, 0.15, 0.1];

/// What it costs in log odds: as one slow node, since racks are fewer, and what is chosen among is counted elsewhere.
const COST: f64 = 3.0;

const LINKS: [Resource; 4] =
    [Resource::PublicEgress, Resource::PublicIngress, Resource::PrivateEgress, Resource::PrivateIngress];

pub(super) fn variants(site: &Site, observations: &Observations) -> Vec<Variant> {
    let mut racks = nodes::slow_racks(site, observations);
    racks.dedup();
    let shares: Vec<f64> = FACTORS.iter().chain(&LOWER).copied().collect();
    let cost = COST + (shares.len() as f64).ln();
    let of = |rack: &nodes::SlowRack, share: f64| {
        let (group, count, name) = (rack.group, rack.nodes.len() as u32, rack.name.clone());
        let value = format!("{name}: links carry {} of what they should", percent(share));
        let claim =
            format!("{name} is slow ({}): its links carry {} of what they should", joined(&rack.nodes), percent(share));
        let variant =
            Variant::new("slow-rack", value, claim, cost, SiteParts::NODE.and(SiteParts::FABRIC), move |site| {
                let mut slow = site.groups[group].clone();
                site.groups[group].count -= count;
                slow.count = count;
                site.groups.push(slow);
            });
        let variant = variant.shown_by(ReadingId::EachWay).cured_by(
            format!("check what the nodes of {name} share, and repair it: the switch, its uplinks, power, cooling"),
            "the whole rack is out with its switch: make sure that reads and writes continue without it",
        );
        let odd = Odd {
            nodes: rack.nodes.clone(),
            rack: Some(name),
            group: site.groups.len(),
            hold: Some(Hold::Links { resources: &LINKS, share }),
            is_seen_there: true,
        };
        Variant { free: true, odd: Some(odd), ..variant }
    };
    racks.iter().flat_map(|rack| shares.iter().map(|&share| of(rack, share)).collect::<Vec<_>>()).collect()
}
