//! Drives of all nodes are slower than stated: worn, throttled, past their cache, or sold by their best figure.

use linerate_record::explanation::Observations;
use linerate_record::site::{Drives, Site};

use super::{FACTORS, of_factors, percent};
use crate::explain::deviation::{Parts, Variant, cost_of};
use crate::explain::readings::ReadingId;

/// Factors for drives that nobody stated the speed of.
const FASTER: [f64; 3] = [1.5, 2.0, 3.0];

/// What some factor costs.
const COST: f64 = 2.0;

/// The figures of drives that a factor is of.
type Figures = fn(&mut Drives) -> [&mut f64; 2];

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    let mut found = Vec::new();
    for (id, verb, figures) in [
        ("drives-read", "read", (|drives| [&mut drives.read_bytes_per_s, &mut drives.read_iops]) as Figures),
        ("drives-write", "write", |drives| [&mut drives.write_bytes_per_s, &mut drives.write_iops]),
    ] {
        let cost = cost_of(site, COST, &[&format!("nodes.*.drives.*.{verb}")]);
        let faster = FASTER.iter().filter(|_| cost < COST);
        for factor in FACTORS.iter().chain(faster).copied() {
            found.push(of(id, verb, factor, of_factors(cost), move |site| {
                for drives in site.groups.iter_mut().flat_map(|group| &mut group.drives) {
                    figures(drives).into_iter().for_each(|figure| *figure *= factor);
                }
            }));
        }
    }
    found
}

fn of(id: &'static str, verb: &str, factor: f64, cost: f64, change: impl Fn(&mut Site) + 'static) -> Variant {
    let claim = format!("drives {verb} at {} of what is stated", percent(factor));
    let variant =
        Variant::new(id, percent(factor), claim, cost, Parts::DRIVES, change).shown_by(ReadingId::DriveUse).cured_by(
            "measure one drive alone for minutes (fio, direct), look at its temperature and wear, then trim or replace",
            "fio on a device destroys what is on it: use a file",
        );
    Variant { free: true, ..variant }
}
