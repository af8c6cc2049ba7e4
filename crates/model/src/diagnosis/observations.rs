//! Readings as figures: what the engine served becomes observations for the model run backward.

use linerate_record::diagnosis::ReadLoad;
use linerate_record::explanation::{Observations, Observed, Quantity};
use linerate_record::readings::ReadMeasure;

use super::readings_grid::Grid;

/// From such a share of the bytes on, a load is one of reads, or of writes.
const ALONE: f64 = 0.95;

/// Least standard error of a mean over a window.
const ERROR_LEAST: f64 = 0.02;

/// The most that observations may have.
const ERROR_MOST: f64 = 0.25;

/// How rarely exporters of engines may read their own counters: MinIO's version 2 keeps what it said for 10 s.
const CACHED_MS: f64 = 10_000.0;

/// Shortest time over which counters that move in such steps tell a rate.
const STEPPED_LEAST_MS: f64 = 120_000.0;

/// A counter that stands still at so many instants under load moves in steps.
const STILL: f64 = 0.3;

/// Whether the engine's counters move in steps.
fn is_stepped(grid: &Grid<'_>, of: ReadMeasure) -> bool {
    (0..grid.nodes.len()).filter_map(|node| grid.whole(of, node)).any(|values| {
        let busy = grid.busy(values);
        busy.iter().filter(|value| **value <= 0.0).count() as f64 > STILL * busy.len() as f64
    })
}

/// Observations of one operation, or why there are none.
pub(super) fn observations(grid: &Grid<'_>, load: &ReadLoad, unheard: u32) -> Result<Observations, String> {
    if unheard > 0 {
        let why = format!(
            "{unheard} nodes have no readings: what the others served is not the whole, so that the model was not run \
             backward"
        );
        return Err(why);
    }
    let (get, put) = match (load.get_bytes_per_s, load.put_bytes_per_s) {
        (Some(get), Some(put)) => (get, put),
        _ => {
            let why = "the engine's bytes to and from clients were not read of every node: links alone say nothing of \
                       GET and PUT, so that the model was not run backward";
            return Err(why.to_owned());
        }
    };
    let all = get + put;
    if all <= 0.0 {
        return Err("the engine served nothing, so that the model was not run backward".to_owned());
    }
    let reads = match get / all {
        share if share >= ALONE => true,
        share if share <= 1.0 - ALONE => false,
        _ => {
            let why = "clients read and wrote at once: ceilings of GET and PUT are not of such a mix, so that the \
                       model was not run backward";
            return Err(why.to_owned());
        }
    };
    let judged_ms = grid.is_busy.iter().filter(|busy| **busy).count() as f64 * grid.readings.step_ms as f64;
    let measure = if reads { ReadMeasure::ClientSent } else { ReadMeasure::ClientReceived };
    let is_stepped = is_stepped(grid, measure);
    if is_stepped && judged_ms < STEPPED_LEAST_MS {
        let why = "the engine's counters move in steps, since its exporter keeps what it read for some seconds \
                   (MinIO's version 2: 10 s): the window is too short for what it served, so that the model was not \
                   run backward; scrape /minio/metrics/v3/api/requests of every node, or give a window of minutes";
        return Err(why.to_owned());
    }
    let cached_ms = if is_stepped { CACHED_MS } else { 0.0 };
    let error_share = (cached_ms / 2.0 / judged_ms.max(1.0)).clamp(ERROR_LEAST, ERROR_MOST);
    let in_flight = load.in_flight.map(|in_flight| in_flight.round()).filter(|in_flight| *in_flight >= 1.0);
    let total = if reads { Quantity::Get } else { Quantity::Put };
    let mut figures = vec![Observed {
        what: total,
        bytes_per_s: if reads { get } else { put },
        error_share: None,
        in_flight: in_flight.map(|in_flight| in_flight as u64),
    }];
    for (node, machine) in grid.nodes.iter().enumerate() {
        let bytes_per_s = grid.whole(measure, node).and_then(|values| grid.mean(values)).unwrap_or(0.0);
        let node = machine.name.clone();
        let what = if reads { Quantity::NodeGet { node } } else { Quantity::NodePut { node } };
        figures.push(Observed { what, bytes_per_s, error_share: None, in_flight: None });
    }
    // A node that serves nobody has no figure.
    figures.retain(|figure| figure.bytes_per_s > 0.0);
    Ok(Observations { figures, error_share, nodes_alone: false })
}
