//! Curves that do not rise and level off: requests in rounds over few queues, paths that open late, limits that are
//! met.
//!
//! Of such a curve, what was measured says little of what lies between. All that is taken for granted is that no
//! request in flight does more than one did before, so that throughput grows no faster than concurrency.

use serde::{Deserialize, Serialize};

use super::SHARE;
use super::visits::Rung;

/// Standard errors by which a rung must lie below the line between two others: there are many threes of rungs.
const SURE: f64 = 4.0;

/// A curve that rises again, after it had levelled off or fallen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SecondRise {
    pub before: u32,
    /// The concurrency that lies below.
    pub low: u32,
    /// The concurrency at which throughput is higher again.
    pub after: u32,
    /// By how much the middle one lies below the line between the others, logarithm against logarithm: a share.
    pub below: f64,
}

/// The clearest rise after a level or a fall, where it is beyond doubt and matters to a knee.
pub(super) fn rises_again(rungs: &[Rung]) -> Option<SecondRise> {
    hollows(rungs).max_by(|a, b| a.errors.total_cmp(&b.errors)).map(|h| h.reported)
}

/// The last rung, as an index of the grid, behind which throughput rises again.
pub(super) fn foot(rungs: &[Rung]) -> Option<usize> {
    hollows(rungs).map(|h| h.index).max()
}

/// A rung that lies below the line between two others, of which the last gives more than it.
struct CurveDip {
    index: usize,
    /// By how many standard errors it lies below.
    errors: f64,
    reported: SecondRise,
}

fn hollows(rungs: &[Rung]) -> impl Iterator<Item = CurveDip> {
    let is_sound = |r: &Rung| r.throughput.mean > 0.0 && r.error > 0.0;
    let threes = (0..rungs.len()).flat_map(move |at| {
        (0..at).flat_map(move |before| (at + 1..rungs.len()).map(move |after| [before, at, after]))
    });
    threes
        .map(|three| three.map(|i| &rungs[i]))
        .filter(move |three| three.iter().all(|r| is_sound(r)))
        .filter_map(hollow)
}

fn hollow([before, at, after]: [&Rung; 3]) -> Option<CurveDip> {
    let place = |r: &Rung| (f64::from(r.concurrency).ln(), r.throughput.mean.ln(), r.error / r.throughput.mean);
    let ((x0, y0, e0), (x1, y1, e1), (x2, y2, e2)) = (place(before), place(at), place(after));
    let part = (x1 - x0) / (x2 - x0);
    let (below, rise) = (y0 + part * (y2 - y0) - y1, y2 - y1);
    let error = e1.hypot((1.0 - part) * e0).hypot(part * e2);
    let matters = -SHARE.ln();
    let is_clear = below > (SURE * error).max(matters) && rise > (SURE * e1.hypot(e2)).max(matters);
    let reported = SecondRise {
        before: before.concurrency,
        low: at.concurrency,
        after: after.concurrency,
        below: 1.0 - (-below).exp(),
    };
    is_clear.then(|| CurveDip { index: at.index, errors: below / error, reported })
}

/// Concurrencies of the grid, up to the highest measured, that were not measured and may give nearly the best.
pub(super) fn unseen<'a>(rungs: &'a [Rung], grid: &'a [u32]) -> impl Iterator<Item = usize> + 'a {
    let best = rungs.iter().map(|r| r.throughput.mean).fold(0.0, f64::max);
    let last = rungs.last().map_or(0, |r| r.index);
    (0..last).filter(move |&index| {
        let below = rungs.iter().rev().find(|r| r.index <= index);
        below.is_some_and(|r| {
            let at_most = r.throughput.mean * f64::from(grid[index]) / f64::from(r.concurrency);
            r.index < index && at_most >= SHARE * best
        })
    })
}
