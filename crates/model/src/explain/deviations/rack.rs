//! The nodes of one rack are slower than all others: figures of nodes name them.

use linerate_record::explanation::Observations;
use linerate_record::plan::Resource;
use linerate_record::site::Site;
use linerate_record::units::bits_per_s;

use super::racks::below;
use super::{FACTORS, percent};
use crate::explain::deviation::{HeldNode, OutlierNodes, SiteParts, Variant};
use crate::explain::node_figures::{self, joined};
use crate::explain::readings::ReadingId;
use crate::layout::nodes_per_rack;

/// What a rack costs more that no figure of a node hints at, in log odds: as one such node does.
const UNHEARD_OF: f64 = 1.0;

/// What is left of a rack's links below the usual factors: a switch may have lost most of its uplinks.
const LOWER: [f64; 6] = [0.35, 0.3, 0.25, 0.2, 0.15, 0.1];

/// What it costs in log odds: as one slow node, since racks are fewer, and what is chosen among is counted elsewhere.
const COST: f64 = 3.0;

const LINKS: [Resource; 4] =
    [Resource::PublicEgress, Resource::PublicIngress, Resource::PrivateEgress, Resource::PrivateIngress];

pub(super) fn variants(site: &Site, observations: &Observations) -> Vec<Variant> {
    let mut racks: Vec<SlowRack> = node_figures::slow_racks(site, observations).iter().map(SlowRack::named).collect();
    racks.dedup_by(|a, b| a.name == b.name);
    let shares: Vec<f64> = FACTORS.iter().chain(&LOWER).copied().collect();
    let cost = COST + (shares.len() as f64).ln();
    let uplink = uplinks(site);
    let rack_variants = |rack: &SlowRack| {
        let links = shares.iter().map(|&share| slow_links(site, rack, share, cost)).collect::<Vec<_>>();
        let uplinks =
            uplink.map(|uplink| shares.iter().map(move |&share| slow_uplinks(site, rack, uplink, share, cost)));
        links.into_iter().chain(uplinks.into_iter().flatten()).collect::<Vec<_>>()
    };
    let mut found: Vec<Variant> = racks.iter().flat_map(rack_variants).collect();
    let unheard_of = uplink.zip(SlowRack::any(site));
    found.extend(unheard_of.into_iter().flat_map(|(uplink, rack)| {
        let uplink_variant = |share: &f64| slow_uplinks(site, &rack, uplink, *share, cost + UNHEARD_OF);
        shares.iter().map(uplink_variant).collect::<Vec<_>>()
    }));
    found
}

/// A rack that is slow.
struct SlowRack {
    /// The place of its nodes' group, and how many there are.
    group: usize,
    count: u32,
    name: String,
    /// Their names, where figures name them.
    nodes: Vec<String>,
}

impl SlowRack {
    fn named(rack: &node_figures::SlowRack) -> SlowRack {
        let (name, nodes) = (rack.name.clone(), rack.nodes.clone());
        SlowRack { group: rack.group, count: nodes.len() as u32, name, nodes }
    }

    /// One that no figure of a node names, where there are several: the fullest.
    fn any(site: &Site) -> Option<SlowRack> {
        let (group, of) = site.groups.iter().enumerate().find(|(_, of)| of.count > 0 && of.racks > 1)?;
        let count = nodes_per_rack(of).into_iter().max().filter(|count| *count < of.count)?;
        Some(SlowRack { group, count, name: "one rack".to_owned(), nodes: Vec::new() })
    }

    /// For people: `rack 2 (n3 and n4)`.
    fn with_nodes(&self) -> String {
        if self.nodes.is_empty() { self.name.clone() } else { format!("{} ({})", self.name, joined(&self.nodes)) }
    }
}

/// What a rack's uplinks carry: as stated, or as much as the nodes below them. Nothing where the site has several kinds
/// of nodes, whose racks it does not tell apart.
fn uplinks(site: &Site) -> Option<f64> {
    let kinds = site.groups.iter().filter(|group| group.count > 0).count();
    let carried = site.fabric.rack_uplink_bits_per_s.unwrap_or_else(|| below(site));
    (kinds == 1 && carried > 0.0).then_some(carried)
}

/// Links of all nodes of a rack.
fn slow_links(site: &Site, rack: &SlowRack, share: f64, cost: f64) -> Variant {
    let left = percent(share);
    let value = format!("{}: links carry {left} of what they should", rack.name);
    let claim = format!("{} is slow ({}): its links carry {left} of what they should", rack.name, joined(&rack.nodes));
    let apart = apart(rack);
    let variant = Variant::new("slow-rack", value, claim, cost, SiteParts::NODE.and(SiteParts::FABRIC), apart);
    let variant = variant.shown_by(ReadingId::EachWay).cured_by(
        format!("check what the nodes of {} share, and repair it: the switch, its uplinks, power, cooling", rack.name),
        RISKS,
    );
    named(site, rack, variant, HeldNode::Links { resources: &LINKS, share })
}

/// The uplinks that they share: what stays within the rack is not slowed.
fn slow_uplinks(site: &Site, rack: &SlowRack, uplink: f64, share: f64, cost: f64) -> Variant {
    let (left, carried) = (percent(share), bits_per_s(share * uplink));
    let value = format!("{}: uplinks carry {left} of what they should", rack.name);
    let claim = format!("the uplinks of {} carry {left} of what they should: {carried}", rack.with_nodes());
    let apart = apart(rack);
    let parts = SiteParts::NODE.and(SiteParts::FABRIC);
    let variant = Variant::new("slow-rack-uplinks", value, claim, cost, parts, move |site| {
        apart(site);
        (site.fabric.rack_uplink_bits_per_s, site.fabric.oversubscription) = (Some(uplink), None);
    });
    let check = "their ends at the spines: members, speed, errors, hash";
    let change = match rack.nodes.is_empty() {
        true => format!("find the rack whose uplinks are slow, and check them and {check}"),
        false => format!("check the uplinks of {} and {check}", rack.name),
    };
    let variant = variant.shown_by(ReadingId::RackUplinks).cured_by(change, RISKS);
    named(site, rack, variant, HeldNode::Uplinks { share })
}

/// What it risks to work at what a rack shares.
const RISKS: &str = "the whole rack is out with its switch: make sure that reads and writes continue without it";

/// Makes a group of the nodes of a rack.
fn apart(rack: &SlowRack) -> impl Fn(&mut Site) + 'static {
    let (group, count) = (rack.group, rack.count);
    move |site| {
        let mut slow = site.groups[group].clone();
        site.groups[group].count -= count;
        slow.count = count;
        site.groups.push(slow);
    }
}

fn named(site: &Site, rack: &SlowRack, variant: Variant, hold: HeldNode) -> Variant {
    let outlier = OutlierNodes {
        nodes: rack.nodes.clone(),
        rack: Some(rack.name.clone()),
        group: site.groups.len(),
        hold: Some(hold),
        is_seen_there: true,
        is_requested_alone: false,
    };
    Variant { free: true, outlier: Some(outlier), ..variant }
}
