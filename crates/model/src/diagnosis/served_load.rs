//! What was served, at which instants the load was near its most, and where throughput stopped following demand; and
//! what a node serves next to others.

use linerate_record::diagnosis::{BEYOND_LINKS, LoadKnee, OutlierKind, OutlierReading, ReadLoad};
use linerate_record::readings::ReadMeasure;
use linerate_record::units::bytes_per_s_iec;

use super::readings_grid::{Grid, Values, quantile};

/// Sum over nodes of a measure, an instant; an instant lacks what a node lacks. `of` picks what counts of a node.
fn summed<'r>(grid: &Grid<'r>, extract: impl Fn(usize) -> Vec<&'r Values>) -> Vec<f64> {
    let steps = grid.is_busy.len();
    let mut sum = vec![0.0; steps];
    for node in 0..grid.nodes.len() {
        for values in extract(node) {
            for (total, value) in sum.iter_mut().zip(values) {
                *total += value.unwrap_or(0.0);
            }
        }
    }
    sum
}

/// The series of the whole of each node, as lists.
fn whole<'r>(grid: &Grid<'r>, of: ReadMeasure) -> impl Fn(usize) -> Vec<&'r Values> {
    let series: Vec<Vec<&'r Values>> =
        (0..grid.nodes.len()).map(|node| grid.whole(of, node).into_iter().collect()).collect();
    move |node| series[node].clone()
}

/// Bytes that links of planes carry: what the load is told by, since every engine's nodes have them.
pub(super) fn carried<'r>(grid: &Grid<'r>, interfaces: &[Vec<&'r str>]) -> [Vec<f64>; 2] {
    [ReadMeasure::LinkSent, ReadMeasure::LinkReceived].map(|of| {
        let links = |node: usize| -> Vec<&'r Values> {
            let links = interfaces.get(node).into_iter().flatten();
            links.filter_map(|link| grid.part(of, node, link)).collect()
        };
        let nodes: Vec<Vec<&Values>> = (0..grid.nodes.len()).map(links).filter(|all| !all.is_empty()).collect();
        let is_there =
            |all: &Vec<&Values>, step| all.iter().any(|values| values.get(step).is_some_and(Option::is_some));
        let mut sums = summed(grid, links);
        // Nodes that were not read at an instant are taken to do what the others do then.
        for (step, sum) in sums.iter_mut().enumerate() {
            let there = nodes.iter().filter(|all| is_there(all, step)).count();
            *sum *= nodes.len() as f64 / there.max(1) as f64;
        }
        sums
    })
}

/// The mean of a measure over all nodes and judged instants; absent where any node lacks it.
fn served(grid: &Grid<'_>, of: ReadMeasure) -> Option<f64> {
    let is_gauge = of == ReadMeasure::InFlight;
    let mean = |node, values| if is_gauge { grid.gauge_mean(node, values) } else { grid.mean(values) };
    let of_node = |node| grid.whole(of, node).and_then(|values| mean(node, values));
    let each: Option<Vec<f64>> = (0..grid.nodes.len()).map(of_node).collect();
    each.filter(|each| !each.is_empty()).map(|each| each.iter().sum())
}

/// What was served at the judged instants.
pub(super) fn load(grid: &Grid<'_>, carried: &[Vec<f64>; 2]) -> ReadLoad {
    let mean = |values: &Vec<f64>| {
        let busy: Vec<f64> =
            values.iter().zip(&grid.is_busy).filter(|(_, busy)| **busy).map(|(value, _)| *value).collect();
        busy.iter().sum::<f64>() / busy.len().max(1) as f64
    };
    ReadLoad {
        get_bytes_per_s: served(grid, ReadMeasure::ClientSent),
        put_bytes_per_s: served(grid, ReadMeasure::ClientReceived),
        sent_bytes_per_s: mean(&carried[0]),
        received_bytes_per_s: mean(&carried[1]),
        in_flight: served(grid, ReadMeasure::InFlight),
        turn: turn(grid, carried),
    }
}

/// Bytes of clients may exceed what links count by so much: exporters are not scraped at the same moments.
const EXCESS: f64 = 1.1;

/// What the engine counts for its clients beyond what the links of its nodes carried, if all of these were read.
pub(super) fn beyond_links(load: &ReadLoad) -> Option<String> {
    let ways = [
        ("GET", load.get_bytes_per_s, "sent", load.sent_bytes_per_s),
        ("PUT", load.put_bytes_per_s, "received", load.received_bytes_per_s),
    ];
    let (op, counted, way, carried) = ways.into_iter().find_map(|(op, counted, way, carried)| {
        counted
            .filter(|counted| carried > 0.0 && *counted > EXCESS * carried)
            .map(|counted| (op, counted, way, carried))
    })?;
    Some(format!(
        "{op} {} exceeds the {} that the nodes' links {way}: {BEYOND_LINKS}",
        bytes_per_s_iec(counted),
        bytes_per_s_iec(carried)
    ))
}

/// Fewest instants on either side of a turn.
const SIDE_LEAST: usize = 3;

/// More requests in flight by so much are more demand.
const MORE: f64 = 1.3;

/// Throughput that grows by less of what demand grows by does not follow it.
const FOLLOWS: f64 = 0.25;

/// What demand grows by is a trend from so many standard errors of its looks on: of all splits, the best is taken.
const TREND: f64 = 4.0;

/// For how many instants gauges of nodes are held, by the lower quarter of the times that they stay as they are:
/// engines renew them more rarely than they are looked at.
fn held(grid: &Grid<'_>) -> usize {
    let mut runs = Vec::new();
    for node in 0..grid.nodes.len() {
        let Some(values) = grid.whole(ReadMeasure::InFlight, node) else { continue };
        let seen: Vec<f64> = values.iter().copied().flatten().collect();
        runs.extend(seen.chunk_by(|a, b| a.total_cmp(b).is_eq()).map(|run| run.len() as f64));
    }
    quantile(&mut runs, 0.25).map_or(1, |held| held.ceil().max(1.0) as usize)
}

/// Mean, and the square of its standard error, of the looks of a side; none of too few.
fn looks(values: &[f64], held: usize) -> Option<(f64, f64)> {
    let each: Vec<f64> = values.chunks(held).map(|look| look.iter().sum::<f64>() / look.len() as f64).collect();
    let n = each.len() as f64;
    let mean = each.iter().sum::<f64>() / n;
    let scatter = each.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (values.len() >= held * SIDE_LEAST).then_some((mean, scatter / n))
}

/// Whether there is more of it behind than before, beyond how much looks scatter.
fn is_trend(before: &[f64], behind: &[f64], held: usize) -> bool {
    let Some(((less, error), (more, other))) = looks(before, held).zip(looks(behind, held)) else { return false };
    more - less >= TREND * (error + other).sqrt()
}

/// The instant from which more requests in flight gave no more throughput: the one that parts the window into what has
/// fewer of them and what has more, where throughput grows least for it.
fn turn(grid: &Grid<'_>, carried: &[Vec<f64>; 2]) -> Option<LoadKnee> {
    let demand = summed(grid, whole(grid, ReadMeasure::InFlight));
    let bytes: Vec<f64> = carried[0].iter().zip(&carried[1]).map(|(sent, received)| sent + received).collect();
    let most = quantile(&mut bytes.clone(), 0.9)?;
    // Only once the load has begun.
    let first = bytes.iter().position(|bytes| *bytes >= 0.3 * most)?;
    let last = bytes.iter().rposition(|bytes| *bytes >= 0.3 * most)? + 1;
    let middle = |values: &[f64]| quantile(&mut values.to_vec(), 0.5).unwrap_or(0.0);
    let held = held(grid);
    let mut best: Option<(f64, LoadKnee)> = None;
    for at in (first + SIDE_LEAST)..last.saturating_sub(SIDE_LEAST - 1) {
        let in_flight = [middle(&demand[first..at]), middle(&demand[at..last])];
        let per_s = [middle(&bytes[first..at]), middle(&bytes[at..last])];
        if in_flight[0] <= 0.0 || in_flight[1] < MORE * in_flight[0] {
            continue;
        }
        if !is_trend(&demand[first..at], &demand[at..last], held) {
            continue;
        }
        let followed = (per_s[1] / per_s[0] - 1.0) / (in_flight[1] / in_flight[0] - 1.0);
        let growth = in_flight[1] / in_flight[0];
        if followed < FOLLOWS && best.as_ref().is_none_or(|(most, _)| growth > *most) {
            let at_unix_ms = grid.readings.at_unix_ms(at);
            best = Some((growth, LoadKnee { at_unix_ms, in_flight, bytes_per_s: per_s }));
        }
    }
    best.map(|(_, turn)| turn)
}

/// Links that carry less than so much of those of the middle node carry no requests.
const CARRIED: f64 = 0.05;

/// What a link carries more than others is for clients, if these get so much more, as shares of what others have.
const FOR_CLIENTS: f64 = 0.4;

/// Whether the links of a node carry something next to those of others: what passed none of them reached no client.
pub(super) fn is_carried(grid: &Grid<'_>, outlier: &OutlierReading) -> bool {
    let carried = |place: usize| {
        let of_link = |of: ReadMeasure| grid.parts(of, place).iter().filter_map(|(_, values)| grid.mean(values));
        of_link(ReadMeasure::LinkSent).chain(of_link(ReadMeasure::LinkReceived)).reduce(|a, b| a + b)
    };
    let Some(place) = grid.place(&outlier.node) else { return true };
    let mut others: Vec<f64> = (0..grid.nodes.len()).filter(|other| *other != place).filter_map(carried).collect();
    let middle = quantile(&mut others, 0.5);
    carried(place).zip(middle).is_none_or(|(own, middle)| own >= CARRIED * middle)
}

/// Whether what clients get of a node, or send to it, explains what its link has more than others.
pub(super) fn is_by_clients(grid: &Grid<'_>, outlier: &OutlierReading) -> bool {
    let client_measure = match outlier.of {
        OutlierKind::Value(ReadMeasure::LinkSent) => ReadMeasure::ClientSent,
        OutlierKind::Value(ReadMeasure::LinkReceived) => ReadMeasure::ClientReceived,
        _ => return false,
    };
    let Some(place) = grid.place(&outlier.node).filter(|_| outlier.others > 0.0) else { return false };
    let served = |place: usize| grid.whole(client_measure, place).and_then(|values| grid.clipped(values));
    let mut others: Vec<f64> = (0..grid.nodes.len()).filter(|other| *other != place).filter_map(served).collect();
    let middle = quantile(&mut others, 0.5).filter(|middle| *middle > 0.0);
    let Some((own, middle)) = served(place).zip(middle) else { return false };
    // As shares: a link carries what its node asks of others as well.
    own / middle - 1.0 >= FOR_CLIENTS * (outlier.value / outlier.others - 1.0)
}

/// How many times more requests a node has under way for each byte that it serves than the middle node; none where that
/// was not read.
pub(super) fn under_way(grid: &Grid<'_>, node: &str) -> Option<f64> {
    let each = |place: usize| {
        let served = [ReadMeasure::ClientSent, ReadMeasure::ClientReceived]
            .map(|of| grid.whole(of, place).and_then(|values| grid.clipped(values)));
        let bytes = served[0].unwrap_or(0.0) + served[1].unwrap_or(0.0);
        let in_flight = grid.gauge_mean(place, grid.whole(ReadMeasure::InFlight, place)?)?;
        (bytes > 0.0).then(|| in_flight / bytes)
    };
    let own = each(grid.place(node)?)?;
    let mut all: Vec<f64> = (0..grid.nodes.len()).filter_map(each).collect();
    quantile(&mut all, 0.5).filter(|middle| *middle > 0.0).map(|middle| own / middle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_that_are_held_count_once_and_scatter_is_no_trend() {
        let each = |looks: &[f64], held: usize| -> Vec<f64> {
            looks.iter().flat_map(|look| std::iter::repeat_n(*look, held)).collect()
        };
        for held in [1, 10] {
            let is = |before: &[f64], behind: &[f64]| is_trend(&each(before, held), &each(behind, held), held);
            assert!(is(&[4.0, 5.0, 4.0, 4.0], &[8.0, 9.0, 8.0, 9.0]), "{held}");
            assert!(!is(&[4.0, 5.0], &[8.0, 9.0]), "two looks are no trend");
            assert!(!is(&[1.0, 5.0, 3.0], &[6.0, 2.0, 5.0]), "what scatters");
        }
        assert!(is_trend(&[4.0; 9], &[8.0; 9], 1));
    }
}
