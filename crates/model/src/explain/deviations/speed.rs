//! Links of all nodes run at another speed than stated: negotiated lower, or never what was bought.

use linerate_record::explanation::Observations;
use linerate_record::site::{NodeGroup, Site};
use linerate_record::units::bits_per_s;

use crate::bond::nics_of;
use crate::explain::deviation::{Variant, link_choices, speeds};
use crate::explain::readings::ReadingId;

/// Speeds that ports have, in bits per second.
const SPEEDS: [f64; 10] = [100e6, 1e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9];

pub(super) fn variants(site: &Site, _: &Observations) -> Vec<Variant> {
    let mut found = Vec::new();
    for (links, name, parts, more) in link_choices(site) {
        let Some(stated) = links.iter().map(|link| slowest(site, link)).reduce(f64::min) else { continue };
        if !stated.is_finite() {
            continue;
        }
        let ports = speeds(site, &links);
        let assumed = ports.iter().all(|(path, _)| site.is_assumed(path));
        for (speed, steps) in lower(stated).into_iter().map(|speed| (speed, 0.0)).chain(higher(stated, assumed)) {
            let chosen = links.clone();
            let variant = Variant::new(
                "link-speed",
                format!("{name}: {}", bits_per_s(speed)),
                format!("ports of {name} run at {}, not {}", bits_per_s(speed), bits_per_s(stated)),
                4.0,
                parts,
                move |site| chosen.iter().for_each(|link| run_at(site, link, speed)),
            );
            let variant = variant.instead_of(site, ports.clone()).costing(steps + more).shown_by(ReadingId::LinkSpeed);
            let faster = ports.iter().map(|(path, _)| (path.clone(), bits_per_s(speed))).collect::<Vec<_>>();
            found.push(if speed > stated {
                variant.corrected(&faster)
            } else {
                variant.cured_by(
                    format!(
                        "find what limits the ports of {name} to {}: cable, optics, FEC, the switch",
                        bits_per_s(speed)
                    ),
                    "a forced speed that the other side does not take leaves the link down",
                )
            });
        }
    }
    found
}

/// The slowest port of a link.
fn slowest(site: &Site, link: &str) -> f64 {
    let ports = site.groups.iter().flat_map(|group| nics_of(group, link));
    ports.map(|(_, nic)| nic.speed_bits_per_s).fold(f64::INFINITY, f64::min)
}

/// What a port of each speed negotiates below it, the fastest first. Copper: IEEE 802.3, clauses 28 and 126. Cages of
/// one lane (SFP) take modules of 10 and 25 Gb/s, those of four (QSFP28) run 4, 2 or 1 lanes of 25 Gb/s or are given
/// modules of 40 and 10 Gb/s, and later ones likewise (modes of links in `include/uapi/linux/ethtool.h`).
const NEGOTIATED: [(f64, &[f64]); 12] = [
    (100e6, &[]),
    (1e9, &[100e6]),
    (2.5e9, &[1e9, 100e6]),
    (5e9, &[2.5e9, 1e9, 100e6]),
    (10e9, &[5e9, 2.5e9, 1e9, 100e6]),
    (25e9, &[10e9, 1e9]),
    (40e9, &[10e9, 1e9]),
    (50e9, &[25e9, 10e9, 1e9]),
    (100e9, &[50e9, 40e9, 25e9, 10e9]),
    (200e9, &[100e9, 50e9, 40e9, 25e9, 10e9]),
    (400e9, &[200e9, 100e9, 50e9, 25e9, 10e9]),
    (800e9, &[400e9, 200e9, 100e9, 50e9]),
];

/// What ports of a speed may run at instead: what they negotiate, or the two next speeds below one that no port has.
pub(super) fn lower(stated: f64) -> Vec<f64> {
    let is_stated = |speed: f64| (speed / stated - 1.0).abs() < 0.01;
    match NEGOTIATED.iter().find(|(speed, _)| is_stated(*speed)) {
        Some((_, below)) => below.to_vec(),
        None => SPEEDS.iter().rev().copied().filter(|&speed| speed < stated).take(2).collect(),
    }
}

/// The two next above, where nobody stated the speed.
fn higher(stated: f64, assumed: bool) -> Vec<(f64, f64)> {
    let above = SPEEDS.iter().copied().filter(|&speed| speed > stated * 1.01);
    above.take(if assumed { 2 } else { 0 }).map(|speed| (speed, 0.5)).collect()
}

fn run_at(site: &mut Site, link: &str, speed: f64) {
    site.groups.iter_mut().for_each(|group| run_group_at(group, link, speed));
}

/// Gives the ports of a link of one group a speed.
pub(super) fn run_group_at(group: &mut NodeGroup, link: &str, speed: f64) {
    let ports: Vec<usize> = nics_of(group, link).map(|(place, _)| place).collect();
    ports.into_iter().for_each(|place| group.nics[place].speed_bits_per_s = speed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_may_run_at_each_speed_that_it_negotiates() {
        for (stated, expected) in [
            (25e9, &[10e9, 1e9][..]),
            (100e9, &[50e9, 40e9, 25e9, 10e9]),
            (99.9e9, &[50e9, 40e9, 25e9, 10e9]),
            (10e9, &[5e9, 2.5e9, 1e9, 100e6]),
            (1e9, &[100e6]),
            (100e6, &[]),
            // A shaped link.
            (12.5e9, &[10e9, 1e9]),
        ] {
            assert_eq!(lower(stated), expected, "{stated}");
        }
        for (speed, below) in NEGOTIATED {
            let falls = std::iter::once(speed).chain(below.iter().copied()).collect::<Vec<f64>>();
            assert!(falls.windows(2).all(|pair| pair[0] > pair[1]), "{speed}: {below:?}");
            assert!(below.iter().all(|slow| NEGOTIATED.iter().any(|(known, _)| known == slow)), "{speed}: {below:?}");
        }
        assert!(SPEEDS.iter().all(|speed| NEGOTIATED.iter().any(|(known, _)| known == speed)));
    }
}
