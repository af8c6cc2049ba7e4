//! What machines give of the logarithms of pairs' goodputs, and what is left to the pairs.

use super::super::view::NetSide;
use super::PAIRS_LEAST;
use crate::median::median;

/// What the median distance from the median is multiplied with to be a normal distribution's standard deviation.
pub(super) const OF_MEDIAN: f64 = 1.4826;

/// Passes over senders and receivers; a few are enough as a rule.
const PASSES: usize = 30;

/// A pass that moves nothing by more than this is the last.
const SETTLED: f64 = 1e-9;

#[derive(Clone, Debug)]
pub(super) struct NetCell {
    pub(super) from: usize,
    pub(super) to: usize,
    /// The logarithm of its goodput.
    pub(super) value: f64,
    /// The same of each visit, by the place of that.
    pub(super) visits: Vec<(usize, f64)>,
    /// Half the width of its interval, of logarithms, upwards.
    pub(super) half: Option<f64>,
}

impl NetCell {
    /// Takes off what was the visits'.
    pub(super) fn forget(&mut self, effects: &[f64]) {
        self.visits.iter_mut().for_each(|(place, log)| *log -= effects[*place]);
        let of_visits: f64 = self.visits.iter().map(|(place, _)| effects[*place]).sum();
        self.value -= of_visits / self.visits.len().max(1) as f64;
    }

    /// What each visit gave beyond something that the cell's value is beyond by so much.
    pub(super) fn visits_beyond(&self, beyond: f64) -> impl Iterator<Item = f64> {
        self.visits.iter().map(move |(_, log)| log - self.value + beyond)
    }
}

/// What was taken apart.
pub(super) struct MedianPolish {
    middle: f64,
    /// What each machine sends beyond the median one; absent where too few pairs say it.
    pub(super) sends: Vec<Option<f64>>,
    /// The same of what it receives.
    pub(super) receives: Vec<Option<f64>>,
    /// What each pair gives beyond what its machines' other pairs do.
    pub(super) residuals: Vec<f64>,
    /// The cells of each machine.
    pub(super) by_sender: Vec<Vec<usize>>,
    pub(super) by_receiver: Vec<Vec<usize>>,
    /// What is left of each cell when everything is taken off.
    left: Vec<f64>,
}

impl MedianPolish {
    /// What a pair's machines are expected to give.
    pub(super) fn of_machines(&self, cell: &NetCell) -> f64 {
        self.middle + self.sends[cell.from].unwrap_or(0.0) + self.receives[cell.to].unwrap_or(0.0)
    }

    /// A cell's value without all but what its machine of one side gives.
    pub(super) fn less_other_side(&self, cell: &NetCell, place: usize, side: NetSide) -> f64 {
        let own = match side {
            NetSide::Receives => self.receives[cell.to],
            NetSide::Sends | NetSide::Both => self.sends[cell.from],
        };
        self.left[place] + own.unwrap_or(0.0)
    }
}

/// The middle of sorted values, the larger one of two.
fn upper(sorted: &[f64]) -> f64 {
    sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
}

fn upper_median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    upper(&values)
}

/// The scatter of some values as a normal distribution's standard deviation.
pub(super) fn scatter(values: &[f64]) -> f64 {
    let middle = median(values.to_vec()).unwrap_or(0.0);
    let distances = values.iter().map(|value| (value - middle).abs());
    OF_MEDIAN * median(distances.collect()).unwrap_or(0.0)
}

/// Takes senders' and receivers' middles off in turn, until nothing moves.
pub(super) fn polished(nodes: usize, cells: &[NetCell]) -> MedianPolish {
    let (mut by_sender, mut by_receiver) = (vec![Vec::new(); nodes], vec![Vec::new(); nodes]);
    for (place, cell) in cells.iter().enumerate() {
        by_sender[cell.from].push(place);
        by_receiver[cell.to].push(place);
    }
    let mut middle = median(cells.iter().map(|cell| cell.value).collect()).unwrap_or(0.0);
    let mut left: Vec<f64> = cells.iter().map(|cell| cell.value - middle).collect();
    let zero_if_enough =
        |by: &[Vec<usize>]| by.iter().map(|of| (of.len() >= PAIRS_LEAST).then_some(0.0)).collect::<Vec<_>>();
    let (mut sends, mut receives) = (zero_if_enough(&by_sender), zero_if_enough(&by_receiver));
    for _ in 0..PASSES {
        let moved = swept(&by_sender, &mut sends, &mut left, &mut middle).max(swept(
            &by_receiver,
            &mut receives,
            &mut left,
            &mut middle,
        ));
        if moved < SETTLED {
            break;
        }
    }
    let residuals = residuals(cells, &left, &by_sender, &sends, &by_receiver, &receives);
    MedianPolish { middle, sends, receives, residuals, by_sender, by_receiver, left }
}

/// Moves the middle of each machine's cells to its effect, and that of the effects to the middle of all; says how far
/// the farthest went.
fn swept(by: &[Vec<usize>], effects: &mut [Option<f64>], left: &mut [f64], middle: &mut f64) -> f64 {
    let mut moved = 0.0_f64;
    for (cells, effect) in by.iter().zip(effects.iter_mut()) {
        let Some(effect) = effect else { continue };
        let by = upper_median(cells.iter().map(|cell| left[*cell]).collect());
        cells.iter().for_each(|cell| left[*cell] -= by);
        *effect += by;
        moved = moved.max(by.abs());
    }
    let shift = median(effects.iter().flatten().copied().collect()).unwrap_or(0.0);
    effects.iter_mut().flatten().for_each(|effect| *effect -= shift);
    *middle += shift;
    // Cells of machines without an effect do not follow the middle by themselves.
    for (cells, effect) in by.iter().zip(effects.iter()) {
        if effect.is_none() {
            cells.iter().for_each(|cell| left[*cell] -= shift);
        }
    }
    moved
}

/// What each cell has beyond what the other cells of its sender and of its receiver say.
fn residuals(
    cells: &[NetCell],
    left: &[f64],
    by_sender: &[Vec<usize>],
    sends: &[Option<f64>],
    by_receiver: &[Vec<usize>],
    receives: &[Option<f64>],
) -> Vec<f64> {
    let mut residuals = left.to_vec();
    let mut apart = |by: &[Vec<usize>], effects: &[Option<f64>]| {
        for cells in by.iter().zip(effects).filter(|(_, effect)| effect.is_some()).map(|(cells, _)| cells) {
            let mut order = cells.clone();
            order.sort_unstable_by(|a, b| left[*a].total_cmp(&left[*b]));
            let others = order.len() - 1;
            for (rank, cell) in order.iter().enumerate() {
                let at = others / 2;
                residuals[*cell] -= left[order[at + usize::from(at >= rank)]];
            }
        }
    };
    apart(by_sender, sends);
    apart(by_receiver, receives);
    debug_assert_eq!(residuals.len(), cells.len());
    residuals
}
