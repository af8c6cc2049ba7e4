//! Use of resources over time, for a page: a character a cell.

use linerate_record::diagnosis::{HeatMap, HeatRows};

use super::readings_grid::Grid;
use super::resources::NodeUse;

const COLUMNS: usize = 120;

/// A map a resource that any node has; a cell is the most within its time.
pub(super) fn heat(grid: &Grid<'_>, uses: &[NodeUse]) -> HeatMap {
    let steps = grid.is_busy.len();
    let each = steps.div_ceil(COLUMNS).max(1);
    let columns = steps.div_ceil(each);
    let mut resources: Vec<_> = uses.iter().map(|one| one.resource).collect();
    resources.sort_unstable();
    resources.dedup();
    let row = |resource, node| -> String {
        let Some(used) = uses.iter().find(|one| one.resource == resource && one.node == node) else {
            return ".".repeat(columns);
        };
        let most = |part: &[Option<f64>]| part.iter().flatten().copied().reduce(f64::max);
        used.shares.chunks(each).map(|part| HeatMap::cell(most(part))).collect()
    };
    let maps = resources.into_iter().map(|resource| HeatRows {
        name: resource.name().to_owned(),
        rows: (0..grid.nodes.len()).map(|node| row(resource, node)).collect(),
    });
    HeatMap {
        begin_unix_ms: grid.readings.begin_unix_ms,
        column_ms: grid.readings.step_ms * each as u64,
        columns: columns as u32,
        maps: maps.collect(),
    }
}
