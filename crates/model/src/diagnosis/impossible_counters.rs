//! Counters of links that no port can have, such as bits that are counted as bytes: they take part in nothing.

use std::borrow::Cow;
use std::collections::BTreeSet;

use linerate_record::readings::{ReadMeasure, Readings};
use linerate_record::sanitize::named_some;
use linerate_record::site::Site;
use linerate_record::units::bits_per_s;

use super::links::planes;
use super::machines::ReadMachine;
use super::readings_grid::{Grid, quantile};
use crate::bond::line_rate_bits_per_s;

/// A few hundredths above a speed are framing and how counters are read.
pub(super) const ABOVE: f64 = 1.1;

/// Speeds in bytes per second that drivers state and that are no limit: 10 Gb/s of veth, 10 Mb/s of tun.
const NOMINAL: [f64; 2] = [1.25e9, 1.25e6];

/// An interface that carries more than it can.
struct ExcessiveInterface<'r> {
    machine: &'r ReadMachine,
    interface: String,
    /// What it sends or receives at the middle of all instants, the larger of both.
    bytes_per_s: f64,
    speed_bytes_per_s: f64,
    /// Whether what the site says of it has room for that.
    fits_site: bool,
}

/// Readings without such counters, and what is to be known of these.
pub(super) fn without<'r>(
    readings: &'r Readings,
    site: &Site,
    nodes: &Grid<'_>,
    clients: &Grid<'_>,
    interfaces: &[Vec<Option<&str>>],
) -> (Cow<'r, Readings>, Vec<String>) {
    let mut beyond = of_nodes(nodes, site, interfaces);
    let judged = interfaces.iter().flatten().flatten().count();
    // Where every port has more than its driver says, and no more than the site says, it is a driver's word: those of
    // virtual machines state one.
    if beyond.len() == judged && beyond.iter().all(|one| one.fits_site) {
        beyond.clear();
    }
    let mut warnings = reported(&beyond, judged);
    let of_clients = of_clients(clients, site);
    warnings.extend(of_clients.iter().map(alone));
    beyond.extend(of_clients);
    if beyond.is_empty() {
        return (Cow::Borrowed(readings), warnings);
    }
    let keys: BTreeSet<(&str, &str)> = beyond
        .iter()
        .flat_map(|one| one.machine.keys.iter().map(|key| (key.as_str(), one.interface.as_str())))
        .collect();
    let mut without = readings.clone();
    for series in &mut without.series {
        let is_of_link =
            matches!(series.of, ReadMeasure::LinkSent | ReadMeasure::LinkReceived | ReadMeasure::LinkSpeed);
        if is_of_link && keys.contains(&(series.machine.as_str(), series.part.as_str())) {
            series.values.fill(None);
        }
    }
    (Cow::Owned(without), warnings)
}

fn of_nodes<'g>(grid: &Grid<'g>, site: &Site, interfaces: &[Vec<Option<&str>>]) -> Vec<ExcessiveInterface<'g>> {
    let planes = planes(site);
    let mut found = Vec::new();
    for (node, machine) in grid.nodes.iter().enumerate() {
        for (plane, interface) in planes.iter().zip(&interfaces[node]) {
            let Some(interface) = interface else { continue };
            let stated = line_rate_bits_per_s(&site.groups[machine.group], &plane.plane.link) / 8.0;
            found.extend(beyond(grid, node, interface, stated));
        }
    }
    found
}

fn of_clients<'g>(grid: &Grid<'g>, site: &Site) -> Vec<ExcessiveInterface<'g>> {
    let stated = f64::from(site.clients.ports.max(1)) * site.clients.speed_bits_per_s / 8.0;
    let interfaces_beyond = |place: usize| {
        let all = grid.parts(ReadMeasure::LinkSpeed, place).iter();
        all.filter_map(|(name, _)| beyond(grid, place, name, stated)).collect::<Vec<_>>()
    };
    // What the site has room for may be a driver's word, and a client's ports are not compared with others.
    (0..grid.nodes.len()).flat_map(interfaces_beyond).filter(|one| !one.fits_site).collect()
}

fn beyond<'g>(grid: &Grid<'g>, node: usize, interface: &str, stated: f64) -> Option<ExcessiveInterface<'g>> {
    let middle = |of: ReadMeasure| {
        let values = grid.part(of, node, interface)?;
        quantile(&mut values.iter().flatten().copied().collect::<Vec<f64>>(), 0.5)
    };
    let read = middle(ReadMeasure::LinkSpeed).filter(|speed| *speed > 0.0)?;
    let is_nominal = NOMINAL.iter().any(|nominal| (read / nominal - 1.0).abs() < 1e-3);
    let speed_bytes_per_s = if is_nominal { read.max(stated) } else { read };
    let ways = [ReadMeasure::LinkSent, ReadMeasure::LinkReceived].into_iter().filter_map(middle);
    let bytes_per_s = ways.fold(0.0, f64::max);
    (bytes_per_s > ABOVE * speed_bytes_per_s).then(|| ExcessiveInterface {
        machine: &grid.nodes[node],
        interface: interface.to_owned(),
        bytes_per_s,
        speed_bytes_per_s,
        fits_site: bytes_per_s <= ABOVE * stated,
    })
}

/// A warning each, or one where all are so.
fn reported(beyond: &[ExcessiveInterface<'_>], judged: usize) -> Vec<String> {
    let Some(first) = beyond.first().filter(|_| beyond.len() > 1 && beyond.len() == judged) else {
        return beyond.iter().map(alone).collect();
    };
    let names = named_some(beyond.iter().map(|one| one.machine.name.as_str()));
    vec![format!(
        "all {judged} links of nodes ({names}) carry more than they can, {} of {} {} of a speed of {}: the unit of \
         these counters is wrong (bits that are counted as bytes), or the speed is; they take part in nothing",
        first.interface,
        first.machine.name,
        bits_per_s(8.0 * first.bytes_per_s),
        bits_per_s(8.0 * first.speed_bytes_per_s)
    )]
}

fn alone(one: &ExcessiveInterface<'_>) -> String {
    format!(
        "{} of {} carries {} at the middle, and its speed is {}: no port can, so that its counters take part in \
         nothing (bits that are counted as bytes, or a speed that is wrong)",
        one.interface,
        one.machine.name,
        bits_per_s(8.0 * one.bytes_per_s),
        bits_per_s(8.0 * one.speed_bytes_per_s)
    )
}

#[cfg(test)]
mod tests {
    use linerate_record::diagnosis::Diagnosis;
    use linerate_record::readings::{READINGS_SCHEMA, ReadSeries};

    use super::super::diagnose;
    use super::*;
    use crate::test_site::site;

    const STEPS: usize = 60;

    /// Sixteen nodes whose links carry about `share` of a speed, which `wrong` of them count in bits.
    fn judged(speed: f64, share: f64, wrong: usize) -> Diagnosis {
        let mut site = site();
        site.planes.private = None;
        let link = site.planes.public.link.clone();
        let mut series = Vec::new();
        for node in 1..=16 {
            let mut add = |of: ReadMeasure, values: Vec<f64>| {
                let (machine, part) = (format!("storage-{node}"), link.clone());
                series.push(ReadSeries { of, machine, part, values: values.into_iter().map(Some).collect() });
            };
            let unit = if node <= wrong { 8.0 } else { 1.0 };
            let about = |step: usize| 1.0 + 0.2 * ((step * 7 + node * 13) % 11) as f64 / 11.0;
            let counted = |step: usize| unit * share * speed * about(step);
            add(ReadMeasure::LinkSent, (0..STEPS).map(counted).collect());
            add(ReadMeasure::LinkReceived, (0..STEPS).map(|step| 0.5 * counted(step + 3)).collect());
            add(ReadMeasure::LinkSpeed, vec![speed; STEPS]);
        }
        let readings = Readings {
            schema: READINGS_SCHEMA,
            source: "prometheus".to_owned(),
            step_ms: 1_000,
            steps: STEPS as u32,
            interval_ms: 1_000,
            rate_over_ms: 1_000,
            series,
            ..Readings::default()
        };
        diagnose(&site, &readings, &[]).expect("a diagnosis")
    }

    #[test]
    fn counters_that_no_port_can_have_are_a_warning_and_take_part_in_nothing() {
        let found = judged(25e9, 0.5, 1);
        let [warning] = &found.warnings[..] else { panic!("{:?}", found.warnings) };
        assert!(warning.contains("of storage-1 carries 8") && warning.contains("its speed is 200 Gb/s"), "{warning}");
        assert!(found.suspects.is_empty() && found.outlier.is_empty(), "{:?} {:?}", found.suspects, found.outlier);
        assert!(found.used.iter().all(|one| one.most_share < 1.0), "{:?}", found.used);
        assert!(judged(25e9, 0.5, 0).warnings.is_empty());
    }

    #[test]
    fn where_all_count_so_the_unit_or_the_speed_is_wrong_and_no_link_is_full() {
        let found = judged(25e9, 0.5, 16);
        let [warning] = &found.warnings[..] else { panic!("{:?}", found.warnings) };
        assert!(warning.starts_with("all 16 links of nodes") && warning.contains("the unit"), "{warning}");
        assert!(!found.answer.contains("full") && found.suspects.is_empty(), "{} {:?}", found.answer, found.suspects);
    }

    #[test]
    fn a_speed_that_is_a_drivers_word_is_no_limit() {
        // 10 Gb/s of veth, and 5 Gb/s that every virtual machine is told.
        for speed in [1.25e9, 0.625e9] {
            let found = judged(speed, 4.0, 0);
            assert!(found.warnings.is_empty(), "{speed}: {:?}", found.warnings);
            assert!(found.used.iter().any(|one| one.most_share > 0.05), "{speed}: {:?}", found.used);
        }
    }
}
