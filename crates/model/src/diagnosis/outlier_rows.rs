//! What is compared among nodes that should be alike, a row each, and which of them are odd.

use std::collections::BTreeMap;

use linerate_analysis::outlier::{LEAST, OutlierSide, OutlierThreshold, outliers};
use linerate_record::diagnosis::{OutlierKind, OutlierReading};
use linerate_record::readings::ReadMeasure;

use super::readings_grid::{Grid, Values, quantile};
use super::resources::NodeUse;
use super::sentences;

/// On which scale values are compared.
#[derive(Clone, Copy, Debug)]
enum Scale {
    /// As ratios; what is less than this counts as this.
    Ratio(f64),
    Difference,
}

/// Of what there is one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ComparisonUnit {
    /// A node, as a whole.
    Node,
    /// Each plane's link of a node.
    Link,
    /// Each part of a node that has it: drives, ports.
    Part,
}

#[derive(Clone, Copy, Debug)]
struct ComparedRow {
    of: OutlierKind,
    per: ComparisonUnit,
    side: OutlierSide,
    scale: Scale,
    /// What healthy ones scatter by: a judgement, which counts as ten observations (`docs/method/readings.md`).
    scatter: f64,
    /// The least that matters, in the same unit.
    least: f64,
    /// What is compared of a series.
    take: SeriesStatistic,
}

/// What is compared of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SeriesStatistic {
    Middle,
    /// Its mean: of what is rare.
    Mean,
    /// Its mean without bursts that no node can have: of counters that exporters read more rarely than they are
    /// scraped, and of clocks that jump.
    Clipped,
    /// Its mean, where an instant without a value has 0.
    GaugeMean,
}

const fn row(
    of: ReadMeasure,
    per: ComparisonUnit,
    side: OutlierSide,
    scale: Scale,
    scatter: f64,
    least: f64,
) -> ComparedRow {
    ComparedRow { of: OutlierKind::Value(of), per, side, scale, scatter, least, take: SeriesStatistic::Middle }
}

const fn mean(row: ComparedRow) -> ComparedRow {
    ComparedRow { take: SeriesStatistic::Mean, ..row }
}

const fn clipped(row: ComparedRow) -> ComparedRow {
    ComparedRow { take: SeriesStatistic::Clipped, ..row }
}

const fn gauge_mean(row: ComparedRow) -> ComparedRow {
    ComparedRow { take: SeriesStatistic::GaugeMean, ..row }
}

/// How little a rate varies that is at a limit: less than three tenths of how others vary. Its scatter follows from how
/// long it was watched.
const fn steady(of: ReadMeasure) -> ComparedRow {
    ComparedRow {
        of: OutlierKind::Steadiness(of),
        per: ComparisonUnit::Link,
        side: OutlierSide::Low,
        scale: Scale::Ratio(0.002),
        scatter: 0.5,
        least: 1.2,
        take: SeriesStatistic::Middle,
    }
}

/// Everything that is compared. Least differences of ratios are logarithms: 0.18 is a fifth, 0.69 is twice.
const ROWS: &[ComparedRow] = &[
    row(ReadMeasure::LinkSent, ComparisonUnit::Link, OutlierSide::Both, Scale::Ratio(1e3), 0.08, 0.18),
    row(ReadMeasure::LinkReceived, ComparisonUnit::Link, OutlierSide::Both, Scale::Ratio(1e3), 0.08, 0.18),
    steady(ReadMeasure::LinkSent),
    steady(ReadMeasure::LinkReceived),
    row(ReadMeasure::LinkSpeed, ComparisonUnit::Link, OutlierSide::Low, Scale::Ratio(1.0), 0.01, 0.05),
    mean(row(ReadMeasure::LinkReceivedDrops, ComparisonUnit::Link, OutlierSide::High, Scale::Ratio(1.0), 0.7, 1.6)),
    mean(row(ReadMeasure::LinkSentDrops, ComparisonUnit::Link, OutlierSide::High, Scale::Ratio(1.0), 0.7, 1.6)),
    mean(row(ReadMeasure::LinkErrors, ComparisonUnit::Link, OutlierSide::High, Scale::Ratio(0.1), 0.7, 1.6)),
    mean(row(ReadMeasure::Retransmitted, ComparisonUnit::Node, OutlierSide::High, Scale::Ratio(5e-4), 0.3, 1.1)),
    mean(row(ReadMeasure::LinkPaused, ComparisonUnit::Part, OutlierSide::High, Scale::Ratio(10.0), 0.7, 1.6)),
    mean(row(ReadMeasure::LinkRingDrops, ComparisonUnit::Part, OutlierSide::High, Scale::Ratio(1.0), 0.7, 1.6)),
    row(ReadMeasure::LinkMtu, ComparisonUnit::Link, OutlierSide::Both, Scale::Ratio(1.0), 0.001, 0.002),
    row(ReadMeasure::CoreFrequency, ComparisonUnit::Node, OutlierSide::Low, Scale::Ratio(0.05), 0.06, 0.18),
    row(ReadMeasure::CoresBusy, ComparisonUnit::Node, OutlierSide::High, Scale::Ratio(0.5), 0.12, 0.3),
    row(ReadMeasure::CoresStolen, ComparisonUnit::Node, OutlierSide::High, Scale::Ratio(0.2), 0.3, 0.7),
    row(ReadMeasure::CpuPressure, ComparisonUnit::Node, OutlierSide::High, Scale::Difference, 0.06, 0.2),
    row(ReadMeasure::IoPressure, ComparisonUnit::Node, OutlierSide::High, Scale::Difference, 0.06, 0.2),
    row(ReadMeasure::MemoryPressure, ComparisonUnit::Node, OutlierSide::High, Scale::Difference, 0.03, 0.1),
    mean(row(ReadMeasure::DriveRead, ComparisonUnit::Part, OutlierSide::High, Scale::Ratio(1e6), 0.12, 0.4)),
    mean(row(ReadMeasure::DriveWritten, ComparisonUnit::Part, OutlierSide::High, Scale::Ratio(1e6), 0.12, 0.4)),
    mean(row(ReadMeasure::DriveDiscarded, ComparisonUnit::Part, OutlierSide::High, Scale::Ratio(1e6), 0.3, 0.7)),
    row(ReadMeasure::DriveTemperature, ComparisonUnit::Part, OutlierSide::High, Scale::Difference, 5.0, 15.0),
    row(ReadMeasure::DriveLatency, ComparisonUnit::Part, OutlierSide::High, Scale::Ratio(2e-4), 0.25, 0.7),
    row(ReadMeasure::DriveQueue, ComparisonUnit::Part, OutlierSide::High, Scale::Ratio(0.5), 0.4, 1.1),
    clipped(row(ReadMeasure::ClientSent, ComparisonUnit::Node, OutlierSide::Both, Scale::Ratio(1e3), 0.1, 0.26)),
    clipped(row(ReadMeasure::ClientReceived, ComparisonUnit::Node, OutlierSide::Both, Scale::Ratio(1e3), 0.1, 0.26)),
    gauge_mean(row(ReadMeasure::InFlight, ComparisonUnit::Node, OutlierSide::High, Scale::Ratio(1.0), 0.5, 1.1)),
    gauge_mean(row(ReadMeasure::Waiting, ComparisonUnit::Node, OutlierSide::High, Scale::Ratio(1.0), 0.5, 1.1)),
];

/// One of those that are compared.
struct Compared {
    node: usize,
    part: String,
    value: f64,
}

/// Those that are compared with each other.
struct Family {
    row: &'static ComparedRow,
    group: usize,
    plane: usize,
    all: Vec<Compared>,
}

/// What lasts differs in each half of the window by so much of the least that matters.
const LASTING: f64 = 0.5;

/// What is odd, the oddest first, and how many comparisons were made.
pub(super) fn outlier(
    grid: &Grid<'_>,
    interfaces: &[Vec<Option<&str>>],
    uses: &[NodeUse],
) -> (Vec<OutlierReading>, u64) {
    let mut families: Vec<Family> = Vec::new();
    let mut groups: Vec<usize> = grid.nodes.iter().map(|node| node.group).collect();
    groups.dedup();
    for group in groups {
        for row in ROWS {
            let planes = if row.per == ComparisonUnit::Link { interfaces.first().map_or(0, Vec::len) } else { 1 };
            for plane in 0..planes {
                let all = by_kind(row, compared(grid, group, row, interfaces, plane, uses));
                families.extend(all.into_iter().map(|all| Family { row, group, plane, all }));
            }
        }
    }
    families.retain(|family| family.all.len() >= LEAST);
    let comparisons: usize = families.iter().map(|family| family.all.len()).sum();
    let halves = grid.halves();
    let mut found: Vec<OutlierReading> = Vec::new();
    for family in &families {
        let Family { row, group, plane, all } = family;
        // What is odd is rare: halves are compared for it alone.
        let mut in_halves: Option<[Vec<Compared>; 2]> = None;
        let values: Vec<f64> = all.iter().map(|one| scaled(row.scale, one.value)).collect();
        let scatter = if matches!(row.of, OutlierKind::Steadiness(_)) { steady_scatter(grid) } else { row.scatter };
        let bar = OutlierThreshold { scatter, least: row.least, side: row.side, family: comparisons };
        for outlier in outliers(&values, &bar) {
            let one = &all[outlier.place];
            if stands_still(row.of, one.value) {
                continue;
            }
            let others = match row.scale {
                Scale::Ratio(_) => outlier.others.exp(),
                Scale::Difference => outlier.others,
            };
            let node = grid.nodes[one.node].name.clone();
            let of_halves = halves.as_ref().map(|halves| {
                let of_half = |half: &Grid<'_>| compared(half, *group, row, interfaces, *plane, uses);
                &*in_halves.get_or_insert_with(|| halves.each_ref().map(of_half))
            });
            let is_higher = outlier.sigmas > 0.0;
            let is_lasting =
                of_halves.is_some_and(|halves| halves.iter().all(|half| lasts(family, half, one, is_higher)));
            let claim = sentences::outlier(row.of, &node, &one.part, one.value, others);
            let when = if is_lasting { "" } else { ", but not in both halves of the window" };
            found.push(OutlierReading {
                of: row.of,
                claim: format!("{claim}{when}"),
                is_lasting,
                node,
                part: one.part.clone(),
                value: one.value,
                others,
                sigmas: outlier.sigmas,
                chance: outlier.chance,
            });
        }
    }
    found.sort_by(|a, b| a.chance.total_cmp(&b.chance));
    (found, comparisons as u64)
}

/// Whether one differs from the others of its family in half of the window, in the same direction as in all of it.
fn lasts(family: &Family, half: &[Compared], one: &Compared, is_higher: bool) -> bool {
    let is_same = |a: &Compared, b: &Compared| a.node == b.node && a.part == b.part;
    // Half of a window may be too short to show how steady a link is.
    let is_unread = matches!(family.row.of, OutlierKind::Steadiness(_));
    let Some(own) = half.iter().find(|of_half| is_same(of_half, one)) else { return is_unread };
    let others = half.iter().filter(|of_half| !is_same(of_half, one));
    let mut others: Vec<f64> = others
        .filter(|of_half| family.all.iter().any(|member| is_same(member, of_half)))
        .map(|of_half| scaled(family.row.scale, of_half.value))
        .collect();
    let Some(middle) = quantile(&mut others, 0.5) else { return is_unread };
    let differs = scaled(family.row.scale, own.value) - middle;
    (if is_higher { differs } else { -differs }) >= LASTING * family.row.least
}

/// Parts of a kind are compared with each other: what is NVMe by its name with NVMe, and a system's disk with those of
/// other nodes.
fn by_kind(row: &ComparedRow, all: Vec<Compared>) -> Vec<Vec<Compared>> {
    if row.per != ComparisonUnit::Part {
        return vec![all];
    }
    let mut kinds: BTreeMap<String, Vec<Compared>> = BTreeMap::new();
    for one in all {
        let kind = one.part.chars().take_while(char::is_ascii_alphabetic).collect();
        kinds.entry(kind).or_default().push(one);
    }
    kinds.into_values().collect()
}

/// Whether a counter of bytes does not move at all: it says that nobody asks, or nothing, and of no node that it is
/// slow.
fn stands_still(of: OutlierKind, value: f64) -> bool {
    use ReadMeasure as M;
    let is_bytes = matches!(of, OutlierKind::Value(M::LinkSent | M::LinkReceived | M::ClientSent | M::ClientReceived));
    is_bytes && value <= 0.0
}

fn scaled(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Ratio(least) => value.max(least).ln(),
        Scale::Difference => value,
    }
}

fn compared(
    grid: &Grid<'_>,
    group: usize,
    row: &ComparedRow,
    interfaces: &[Vec<Option<&str>>],
    plane: usize,
    uses: &[NodeUse],
) -> Vec<Compared> {
    let (OutlierKind::Value(of) | OutlierKind::Steadiness(of)) = row.of;
    let take = |node: usize, values: &Values| match row.take {
        SeriesStatistic::Middle => grid.median(values),
        SeriesStatistic::Mean => grid.mean(values),
        SeriesStatistic::Clipped => grid.clipped(values),
        SeriesStatistic::GaugeMean => grid.gauge_mean(node, values),
    };
    let mut all = Vec::new();
    for node in (0..grid.nodes.len()).filter(|node| grid.nodes[*node].group == group) {
        let mut add = |part: &str, value: Option<f64>| {
            all.extend(value.map(|value| Compared { node, part: part.to_owned(), value }));
        };
        match (row.per, row.of) {
            (ComparisonUnit::Node, _) => add("", grid.whole(of, node).and_then(|values| take(node, values))),
            (ComparisonUnit::Part, _) => {
                let parts = grid.parts(of, node).iter();
                parts.for_each(|(part, values)| add(part, take(node, values)));
            }
            (ComparisonUnit::Link, OutlierKind::Value(_)) => {
                let Some(interface) = interfaces[node][plane] else { continue };
                add(interface, grid.part(of, node, interface).and_then(|values| take(node, values)));
            }
            (ComparisonUnit::Link, OutlierKind::Steadiness(_)) => {
                let Some(interface) = interfaces[node][plane] else { continue };
                let used = uses.iter().find(|one| one.node == node && one.part == interface && measure_for(one) == of);
                add(interface, used.and_then(|used| spread(grid, &used.shares)));
            }
        }
    }
    all
}

fn measure_for(used: &NodeUse) -> ReadMeasure {
    use linerate_record::plan::Resource as R;
    if matches!(used.resource, R::PublicEgress | R::PrivateEgress) {
        ReadMeasure::LinkSent
    } else {
        ReadMeasure::LinkReceived
    }
}

/// Fewest rates that do not overlap, from which it shows how much a rate varies.
pub(super) const APART_LEAST: f64 = 3.0;

/// A link that has less of its speed in use is at no limit of its own, however steady.
const IDLE: f64 = 0.05;

/// How many rates of the judged instants do not overlap.
pub(super) fn apart(grid: &Grid<'_>) -> f64 {
    let judged = grid.is_busy.iter().filter(|busy| **busy).count() as f64;
    judged * grid.readings.step_ms as f64 / (grid.readings.rate_over_ms.max(1)) as f64
}

/// What the logarithm of [`spread`] scatters by for so many normal values: 0.78 / √n for many, a little more for few.
fn steady_scatter(grid: &Grid<'_>) -> f64 {
    (0.85 / apart(grid).max(1.0).sqrt()).max(0.2)
}

/// Of more instants than this, some are left out: pairs are many.
const PAIRED_MOST: usize = 120;

/// How many standard deviations the upper tenth of normal values is above their middle.
const OF_TENTH: f64 = 1.2816;

/// What the lower quarter of the differences of pairs is multiplied with to be the standard deviation of normal values.
const OF_PAIRS: f64 = 2.2191;

/// How much a rate varies over the judged instants, relative to its middle, by the lower quarter of the differences of
/// all pairs (Rousseeuw and Croux, JASA 88, 1993): a begin that is not yet at the limit does not count, and it takes
/// half as many instants as the distance of quarters to know as much.
pub(super) fn spread(grid: &Grid<'_>, shares: &Values) -> Option<f64> {
    let mut busy = grid.busy(shares);
    // Of a node that was lost on the way, a few instants are steady by chance.
    let judged = grid.is_busy.iter().filter(|busy| **busy).count();
    if busy.len() < 2 || 2 * busy.len() < judged {
        return None;
    }
    let every = busy.len().div_ceil(PAIRED_MOST).max(1);
    let thinned: Vec<f64> = busy.iter().copied().step_by(every).collect();
    let middle = quantile(&mut busy, 0.5)?;
    if apart(grid) < APART_LEAST || middle < IDLE {
        return None;
    }
    let pairs = thinned
        .iter()
        .enumerate()
        .flat_map(|(place, one)| thinned[..place].iter().map(move |other| (one - other).abs()));
    let mut differences: Vec<f64> = pairs.collect();
    let place = differences.len() / 4;
    let (_, quarter, _) = differences.select_nth_unstable_by(place, f64::total_cmp);
    // What is at a limit is seldom above it; below it, a begin or a pause does not count.
    let above = (quantile(&mut busy, 0.9).unwrap_or(middle) - middle) / OF_TENTH;
    Some((OF_PAIRS * *quarter).max(above) / middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_matters_by_more_than_healthy_ones_scatter() {
        for (place, row) in ROWS.iter().enumerate() {
            assert!(row.least > row.scatter && row.scatter > 0.0, "{row:?}");
            assert!(ROWS[..place].iter().all(|other| other.of != row.of), "{row:?}");
        }
    }
}
