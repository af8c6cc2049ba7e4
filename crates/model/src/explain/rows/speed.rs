//! Links of all nodes run at another speed than stated: negotiated lower, or never what was bought.

use linerate_record::explanation::Observations;
use linerate_record::site::{NodeGroup, Site};
use linerate_record::units::bits_per_s;

use crate::explain::deviation::{Variant, cost_of, link_choices, nics_of};
use crate::explain::readings::ReadingId;

/// Speeds that ports have, in bits per second.
const SPEEDS: [f64; 9] = [1e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9];

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    let mut found = Vec::new();
    for (links, name, parts, more) in link_choices(site) {
        let Some(stated) = links.iter().map(|link| slowest(site, link)).reduce(f64::min) else { continue };
        if !stated.is_finite() {
            continue;
        }
        let assumed = cost_of(site, 4.0, &["nodes.*.nics.*.speed"]) < 4.0;
        for (speed, steps) in lower(stated).into_iter().map(|speed| (speed, 0.0)).chain(higher(stated, assumed)) {
            let chosen = links.clone();
            let cost = cost_of(site, 4.0, &["nodes.*.nics.*.speed"]) + steps + more;
            found.push(
                Variant::new(
                    "link-speed",
                    format!("{name}: {}", bits_per_s(speed)),
                    format!("ports of {name} run at {}, not {}", bits_per_s(speed), bits_per_s(stated)),
                    cost,
                    parts,
                    move |site| chosen.iter().for_each(|link| run_at(site, link, speed)),
                )
                .shown_by(ReadingId::LinkSpeed)
                .cured_by(
                    format!(
                        "find what holds the ports of {name} at {}: cable, optics, FEC, the switch",
                        bits_per_s(speed)
                    ),
                    "a forced speed that the other side does not take leaves the link down",
                ),
            );
        }
    }
    found
}

/// The slowest port of a link.
fn slowest(site: &Site, link: &str) -> f64 {
    let of = |group: &NodeGroup| {
        nics_of(group, link).iter().map(|&nic| group.nics[nic].speed_bits_per_s).fold(f64::INFINITY, f64::min)
    };
    site.groups.iter().map(of).fold(f64::INFINITY, f64::min)
}

/// The two next speeds below.
pub(super) fn lower(stated: f64) -> Vec<f64> {
    SPEEDS.iter().rev().copied().filter(|&speed| speed < stated * 0.99).take(2).collect()
}

/// The two next above, where nobody stated the speed.
fn higher(stated: f64, assumed: bool) -> Vec<(f64, f64)> {
    let above = SPEEDS.iter().copied().filter(|&speed| speed > stated * 1.01);
    above.take(if assumed { 2 } else { 0 }).map(|speed| (speed, 0.5)).collect()
}

fn run_at(site: &mut Site, link: &str, speed: f64) {
    for group in &mut site.groups {
        for nic in nics_of(group, link) {
            group.nics[nic].speed_bits_per_s = speed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_lower_speeds_are_those_that_ports_have() {
        for (stated, expected) in [(25e9, vec![10e9, 1e9]), (100e9, vec![50e9, 40e9]), (1e9, vec![])] {
            assert_eq!(lower(stated), expected, "{stated}");
        }
    }
}
