//! The nodes of one rack are slower than all others: figures of nodes name them.

use linerate_record::explanation::Observations;
use linerate_record::plan::Resource;
use linerate_record::site::Site;
use linerate_record::units::bits_per_s;

use super::racks::below;
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
    let of = |rack: &nodes::SlowRack| {
        let uplinks = uplinks(site);
        let links = shares.iter().map(|&share| slow_links(site, rack, share, cost)).collect::<Vec<_>>();
        let uplinks =
            uplinks.map(|uplink| shares.iter().map(move |&share| slow_uplinks(site, rack, uplink, share, cost)));
        links.into_iter().chain(uplinks.into_iter().flatten()).collect::<Vec<_>>()
    };
    racks.iter().flat_map(of).collect()
}

/// What a rack's uplinks carry: as stated, or as much as the nodes below them. Nothing where the site has several kinds
/// of nodes, whose racks it does not tell apart.
fn uplinks(site: &Site) -> Option<f64> {
    let kinds = site.groups.iter().filter(|group| group.count > 0).count();
    let carried = site.fabric.rack_uplink_bits_per_s.unwrap_or_else(|| below(site));
    (kinds == 1 && carried > 0.0).then_some(carried)
}

/// Links of all nodes of a rack.
fn slow_links(site: &Site, rack: &nodes::SlowRack, share: f64, cost: f64) -> Variant {
    let left = percent(share);
    let value = format!("{}: links carry {left} of what they should", rack.name);
    let claim = format!("{} is slow ({}): its links carry {left} of what they should", rack.name, joined(&rack.nodes));
    let apart = apart(rack);
    let variant = Variant::new("slow-rack", value, claim, cost, SiteParts::NODE.and(SiteParts::FABRIC), apart);
    let variant = variant.shown_by(ReadingId::EachWay).cured_by(
        format!("check what the nodes of {} share, and repair it: the switch, its uplinks, power, cooling", rack.name),
        RISKS,
    );
    named(site, rack, variant, Hold::Links { resources: &LINKS, share })
}

/// The uplinks that they share: what stays within the rack is not slowed.
fn slow_uplinks(site: &Site, rack: &nodes::SlowRack, uplink: f64, share: f64, cost: f64) -> Variant {
    let (left, carried) = (percent(share), bits_per_s(share * uplink));
    let value = format!("{}: uplinks carry {left} of what they should", rack.name);
    let claim =
        format!("the uplinks of {} ({}) carry {left} of what they should: {carried}", rack.name, joined(&rack.nodes));
    let apart = apart(rack);
    let parts = SiteParts::NODE.and(SiteParts::FABRIC);
    let variant = Variant::new("slow-rack-uplinks", value, claim, cost, parts, move |site| {
        apart(site);
        (site.fabric.rack_uplink_bits_per_s, site.fabric.oversubscription) = (Some(uplink), None);
    });
    let variant = variant.shown_by(ReadingId::RackUplinks).cured_by(
        format!("check the uplinks of {} and their ends at the spines: members, speed, errors, hash", rack.name),
        RISKS,
    );
    named(site, rack, variant, Hold::Uplinks { share })
}

/// What it risks to work at what a rack shares.
const RISKS: &str = "the whole rack is out with its switch: make sure that reads and writes continue without it";

/// Makes a group of the nodes of a rack.
fn apart(rack: &nodes::SlowRack) -> impl Fn(&mut Site) + 'static {
    let (group, count) = (rack.group, rack.nodes.len() as u32);
    move |site| {
        let mut slow = site.groups[group].clone();
        site.groups[group].count -= count;
        slow.count = count;
        site.groups.push(slow);
    }
}

fn named(site: &Site, rack: &nodes::SlowRack, variant: Variant, hold: Hold) -> Variant {
    let odd = Odd {
        nodes: rack.nodes.clone(),
        rack: Some(rack.name.clone()),
        group: site.groups.len(),
        hold: Some(hold),
        is_seen_there: true,
    };
    Variant { free: true, odd: Some(odd), ..variant }
}
