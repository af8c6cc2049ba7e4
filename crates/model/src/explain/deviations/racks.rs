//! Uplinks of racks carry less than what is below them, though the site does not say so.

use linerate_record::explanation::Observations;
use linerate_record::site::{NodeGroup, Site, key};
use linerate_record::units::bits_per_s;

use crate::bond::line_rate_bits_per_s;
use crate::explain::deviation::{SiteParts, Variant, links, prior_cost};
use crate::explain::readings::ReadingId;

/// Ratios by which fabrics are oversubscribed.
const RATIOS: [f64; 4] = [1.5, 2.0, 3.0, 4.0];

/// Shares that are left of an uplink after a member or a spine was lost.
const LEFT: [f64; 3] = [0.75, 0.5, 0.25];

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    let full = site.fabric.rack_uplink_bits_per_s;
    if full.is_none() && is_one_rack(site) {
        return Vec::new();
    }
    let whole = full.unwrap_or_else(|| below(site));
    if whole <= 0.0 {
        return Vec::new();
    }
    let choices: Vec<(f64, String)> = match full {
        None => RATIOS.iter().map(|ratio| (whole / ratio, format!("{ratio}:1"))).collect(),
        Some(_) => LEFT.iter().map(|left| (whole * left, super::percent(*left))).collect(),
    };
    let cost =
        prior_cost(site, 3.0, &[key::FABRIC_RACK_UPLINKS, key::FABRIC_OVERSUBSCRIPTION]) + (choices.len() as f64).ln();
    choices.into_iter().map(|(uplink, word)| new_variant(uplink, &word, full.is_some(), cost)).collect()
}

/// Whether the site says that there is one rack, or says nothing of racks: then none has uplinks to be short of.
fn is_one_rack(site: &Site) -> bool {
    let racks = site.groups.iter().filter(|group| group.count > 0).map(|group| group.racks).max();
    racks.unwrap_or(1) <= 1 && site.clients.racks == 0
}

fn new_variant(uplink: f64, word: &str, stated: bool, cost: f64) -> Variant {
    let claim = if stated {
        format!("{word} of a rack's uplinks carry traffic: {}", bits_per_s(uplink))
    } else {
        format!("racks are oversubscribed {word}: {} of uplinks each", bits_per_s(uplink))
    };
    Variant::new("rack-uplinks", word, claim, cost, SiteParts::FABRIC, move |site| {
        (site.fabric.rack_uplink_bits_per_s, site.fabric.oversubscription) = (Some(uplink), None);
    })
    .shown_by(ReadingId::RackUplinks)
    .cured_by("add uplinks between racks and spines, or clients in the racks", "a change of the fabric")
}

/// What the links of one rack's nodes carry, where that is most.
pub(super) fn below(site: &Site) -> f64 {
    let bits_below = |group: &NodeGroup| {
        let node: f64 = links(site).iter().map(|(link, ..)| line_rate_bits_per_s(group, link)).sum();
        node * f64::from(group.count) / f64::from(group.racks.max(1))
    };
    site.groups.iter().map(bits_below).fold(0.0, f64::max)
}
