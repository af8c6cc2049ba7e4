//! Drives of all nodes are slower than stated: worn, throttled, past their cache, or sold by their best figure.

use linerate_record::explanation::Observations;
use linerate_record::site::{Drives, Site};

use super::{FACTORS, of_factors, percent};
use crate::explain::deviation::{SiteParts, Variant, prior_cost};
use crate::explain::node_figures;
use crate::explain::readings::ReadingId;

/// Factors for drives that nobody stated the speed of.
const FASTER: [f64; 3] = [1.5, 2.0, 3.0];

/// What some factor costs: less often the cause than what the model does not know, whose chance is 8 % of a GET.
const COST: f64 = 3.0;

/// The same where all nodes' figures are alike, as those of one slow drive are.
const COST_OF_ALL: f64 = 2.5;

/// So many nodes that are alike tell of no single one.
const MANY: usize = 5;

/// The figures of drives that a factor is of.
type Figures = fn(&mut Drives) -> [&mut f64; 2];

pub(super) fn variants(site: &Site, observations: &Observations) -> Vec<Variant> {
    let mut found = Vec::new();
    for (id, verb, figures) in [
        ("drives-read", "read", (|drives| [&mut drives.read_bytes_per_s, &mut drives.read_iops]) as Figures),
        ("drives-write", "write", |drives| [&mut drives.write_bytes_per_s, &mut drives.write_iops]),
    ] {
        let cost = prior_cost(site, COST, &[&format!("nodes.*.drives.*.{verb}")]);
        let faster = FASTER.iter().filter(|_| cost < COST);
        for factor in FACTORS.iter().chain(faster).copied() {
            found.push(new_variant(id, verb, factor, of_factors(cost), move |site| {
                all_drives(site).for_each(|drives| figures(drives).into_iter().for_each(|figure| *figure *= factor));
            }));
        }
    }
    // Half where nobody stated either.
    let cost = cost_of_both(site, observations);
    let both = ["read", "write"].map(|verb| prior_cost(site, cost, &[&format!("nodes.*.drives.*.{verb}")]));
    let both = both[0].max(both[1]);
    found.extend(FACTORS.map(|factor| {
        new_variant("drives", "read and write", factor, of_factors(both), move |site| {
            all_drives(site).for_each(|drives| scale(drives, factor));
        })
    }));
    found
}

/// Drives that are slow both ways are one cause: of all nodes, if many were looked at and none of them is slower.
fn cost_of_both(site: &Site, observations: &Observations) -> f64 {
    let looked_at = [true, false].map(|reads| node_figures::figures(site, observations, reads).nodes.len());
    let alike =
        looked_at.into_iter().any(|nodes| nodes >= MANY) && node_figures::suspects(site, observations).is_empty();
    if alike { COST_OF_ALL } else { COST }
}

fn all_drives(site: &mut Site) -> impl Iterator<Item = &mut Drives> {
    site.groups.iter_mut().flat_map(|group| &mut group.drives)
}

/// Gives drives another speed, both ways.
pub(super) fn scale(drives: &mut Drives, factor: f64) {
    let Drives { read_bytes_per_s, write_bytes_per_s, read_iops, write_iops, .. } = drives;
    [read_bytes_per_s, write_bytes_per_s, read_iops, write_iops].into_iter().for_each(|figure| *figure *= factor);
}

fn new_variant(id: &'static str, verb: &str, factor: f64, cost: f64, change: impl Fn(&mut Site) + 'static) -> Variant {
    let claim = format!("drives {verb} at {} of what is stated", percent(factor));
    let variant =
        Variant::new(id, percent(factor), claim, cost, SiteParts::DRIVES, change).shown_by(ReadingId::DriveUse);
    let variant = if factor > 1.0 {
        variant.corrected(&[(format!("nodes.*.drives.*.{verb}"), format!("{} of what was assumed", percent(factor)))])
    } else {
        variant.cured_by(
            "measure one drive alone for minutes (fio, direct), look at its temperature and wear, then trim or replace",
            "fio on a device destroys its data: use a file",
        )
    };
    Variant { free: true, ..variant }
}
