//! The ways in which a site may differ from its description: one kind a file.

mod assumed;
mod clients;
mod cpu;
mod drives;
mod encapsulation;
mod entry;
mod layout;
mod locality;
mod members;
mod mode;
mod mtu;
mod node;
mod one_node;
mod planes;
mod rack;
mod racks;
mod speed;

use linerate_record::explanation::Observations;
use linerate_record::site::{NodeGroup, Site};

use super::deviation::{DeviationRow, Variant};

const ROWS: [DeviationRow; 17] = [
    members::variants,
    mode::variants,
    speed::variants,
    mtu::variants,
    encapsulation::variants,
    planes::variants,
    layout::variants,
    locality::variants,
    clients::variants,
    node::variants,
    rack::variants,
    racks::variants,
    drives::variants,
    cpu::variants,
    entry::variants,
    one_node::variants,
    assumed::variants,
];

/// Shares of what is stated that a free factor may take: what runs at less than 40 % is broken rather than slow, and
/// shows elsewhere. The steps are as wide as what systems lose to a ceiling anyway.
const FACTORS: [f64; 12] = [0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4];

/// Every single deviation of a site, the likeliest first.
pub(super) fn all(site: &Site, observations: &Observations) -> Vec<Variant> {
    let mut variants: Vec<Variant> = ROWS.iter().flat_map(|row| row(site, observations)).collect();
    variants.sort_by(|a, b| a.cost.total_cmp(&b.cost).then_with(|| a.name().cmp(&b.name())));
    variants
}

/// Whether a path's value is varied by some row.
pub(super) fn is_varied(site: &Site, path: &str) -> bool {
    assumed::is_varied(site, path)
}

/// Makes so many nodes of a group one of their own, where it has others; returns its place, which [`place_apart`] says
/// beforehand.
fn set_apart(site: &mut Site, group: usize, count: u32) -> usize {
    let place = place_apart(site, group, count);
    if place != group {
        let these = NodeGroup { count, ..site.groups[group].clone() };
        site.groups[group].count -= count;
        site.groups.push(these);
    }
    place
}

/// The place of a group of so many nodes of another one, which is that itself where it has no others.
fn place_apart(site: &Site, group: usize, count: u32) -> usize {
    if site.groups[group].count == count { group } else { site.groups.len() }
}

/// What one value of a free factor costs, if any value costs `cost`: all are equally likely.
fn of_factors(cost: f64) -> f64 {
    cost + (FACTORS.len() as f64).ln()
}

/// A factor for people: `55 %`.
fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
