//! Readings by node, and what comes of them over the instants that are judged.

use std::collections::BTreeMap;
use std::rc::Rc;

use linerate_record::readings::{ReadMeasure, Readings};

use super::machines::ReadMachine;

/// Values over all instants.
pub(super) type Values = [Option<f64>];

/// Series of parts, by measure and node.
type SeriesByNode<'r> = BTreeMap<(ReadMeasure, usize), Vec<(&'r str, &'r Values)>>;

/// Readings by measure and node.
#[derive(Clone)]
pub(super) struct Grid<'r> {
    pub(super) readings: &'r Readings,
    pub(super) nodes: &'r [ReadMachine],
    /// Shared with halves of the window.
    by_node: Rc<SeriesByNode<'r>>,
    /// Whether an instant is judged.
    pub(super) is_busy: Vec<bool>,
}

/// An instant is judged where the load has so much of its most.
const BUSY_SHARE: f64 = 0.6;

/// Where the most is less than so much of what a few instants reach, these are the load.
const SHORT: f64 = 0.3;
const PEAK: f64 = 0.97;

/// Where this is less than so much of the most of all, the load is shorter still.
const MOMENT: f64 = 0.1;

/// What the most is taken to be: a quantile that a moment's burst does not decide.
const MOST: f64 = 0.75;

impl<'r> Grid<'r> {
    /// Readings by node; every instant counts as judged.
    pub(super) fn new(readings: &'r Readings, nodes: &'r [ReadMachine]) -> Self {
        let mut of_key: BTreeMap<&str, usize> = BTreeMap::new();
        for (place, node) in nodes.iter().enumerate() {
            of_key.extend(node.keys.iter().map(|key| (key.as_str(), place)));
        }
        let mut by_node = SeriesByNode::new();
        for series in &readings.series {
            if let Some(place) = of_key.get(series.machine.as_str()) {
                by_node.entry((series.of, *place)).or_default().push((&series.part, &series.values));
            }
        }
        Grid { readings, nodes, by_node: Rc::new(by_node), is_busy: vec![true; readings.steps as usize] }
    }

    /// Readings of other machines, over the same instants.
    pub(super) fn among<'c>(&self, machines: &'c [ReadMachine]) -> Grid<'c>
    where
        'r: 'c,
    {
        Grid { is_busy: self.is_busy.clone(), ..Grid::new(self.readings, machines) }
    }

    /// The same with the first half of the judged instants, and with those of the second half whose rates begin after
    /// it; none if there are no such.
    pub(super) fn halves(&self) -> Option<[Grid<'r>; 2]> {
        let (last, next) = self.split()?;
        let within = |is_in: &dyn Fn(usize) -> bool| {
            let is_busy = self.is_busy.iter().enumerate().map(|(step, busy)| *busy && is_in(step)).collect();
            Grid { is_busy, ..self.clone() }
        };
        Some([within(&|step| step <= last), within(&|step| step >= next)])
    }

    /// Whether there are two halves to compare.
    pub(super) fn has_halves(&self) -> bool {
        self.split().is_some()
    }

    /// The last judged instant of the first half, and the first one whose rates do not reach back into it.
    fn split(&self) -> Option<(usize, usize)> {
        let judged: Vec<usize> = (0..self.is_busy.len()).filter(|step| self.is_busy[*step]).collect();
        let last = *judged.get((judged.len() / 2).checked_sub(1)?)?;
        let apart = self.readings.rate_over_ms.div_ceil(self.readings.step_ms.max(1)).max(1) as usize;
        let next = judged.into_iter().find(|step| *step >= last + apart)?;
        Some((last, next))
    }

    /// The place of a node.
    pub(super) fn place(&self, node: &str) -> Option<usize> {
        self.nodes.iter().position(|one| one.name == node)
    }

    /// Series of a node's parts.
    pub(super) fn parts(&self, of: ReadMeasure, node: usize) -> &[(&'r str, &'r Values)] {
        self.by_node.get(&(of, node)).map_or(&[], Vec::as_slice)
    }

    /// The series of one part of a node.
    pub(super) fn part(&self, of: ReadMeasure, node: usize, part: &str) -> Option<&'r Values> {
        self.parts(of, node).iter().find(|(name, _)| *name == part).map(|(_, values)| *values)
    }

    /// The series of a node as a whole.
    pub(super) fn whole(&self, of: ReadMeasure, node: usize) -> Option<&'r Values> {
        self.parts(of, node).first().map(|(_, values)| *values)
    }

    /// Judged values, in the order of time.
    pub(super) fn busy(&self, values: &Values) -> Vec<f64> {
        values.iter().zip(&self.is_busy).filter_map(|(value, busy)| value.filter(|_| *busy)).collect()
    }

    /// The middle of the judged values.
    pub(super) fn median(&self, values: &Values) -> Option<f64> {
        quantile(&mut self.busy(values), 0.5)
    }

    /// The mean of the judged values: of what is counted in steps, such as a gauge of few, or a counter that its
    /// exporter reads more rarely than it is scraped.
    pub(super) fn mean(&self, values: &Values) -> Option<f64> {
        let busy = self.busy(values);
        (!busy.is_empty()).then(|| busy.iter().sum::<f64>() / busy.len() as f64)
    }

    /// The mean of the judged values, none of which counts for more than three times what three quarters of them stay
    /// below.
    pub(super) fn clipped(&self, values: &Values) -> Option<f64> {
        let mut busy = self.busy(values);
        let most = 3.0 * quantile(&mut busy, 0.75)?;
        let most = if most > 0.0 { most } else { f64::INFINITY };
        Some(busy.iter().map(|value| value.min(most)).sum::<f64>() / busy.len() as f64)
    }

    /// The mean of a gauge over the judged instants, where one without a value has 0, if its node was read:
    /// exporters leave out what is at rest.
    pub(super) fn gauge_mean(&self, node: usize, values: &Values) -> Option<f64> {
        let is_read = self.is_read(node);
        let judged = is_read.iter().zip(&self.is_busy).filter(|(read, busy)| **read && **busy).count();
        (judged > 0).then(|| self.busy(values).iter().sum::<f64>() / judged as f64)
    }

    /// At which instants a node was read: what it always has is there then.
    fn is_read(&self, node: usize) -> Vec<bool> {
        let all: Vec<&Values> =
            ReadMeasure::ALWAYS.iter().flat_map(|of| self.parts(*of, node)).map(|(_, values)| *values).collect();
        let at = |step: usize| all.iter().any(|values| values.get(step).is_some_and(Option::is_some));
        (0..self.is_busy.len()).map(|step| all.is_empty() || at(step)).collect()
    }

    /// How long the judged instants are together.
    pub(super) fn judged_ms(&self) -> u64 {
        self.is_busy.iter().filter(|busy| **busy).count() as u64 * self.readings.step_ms
    }

    /// Judges only the instants at which `load` is near its most. All of them where it tells nothing.
    pub(super) fn judge_where(&mut self, load: &[f64]) {
        // Where nothing was read, nothing is known: links that were carry something.
        let mut sorted: Vec<f64> = load.iter().copied().filter(|value| *value > 0.0).collect();
        let mut at = |share| quantile(&mut sorted, share).unwrap_or(0.0);
        let (most, peak, top) = (at(MOST), at(PEAK), at(1.0));
        // A load that is there for a few instants, or for less than a quarter of the window.
        let peak = if peak < MOMENT * top { top } else { peak };
        let most = if most < SHORT * peak { peak } else { most };
        let is_busy: Vec<bool> = load.iter().map(|value| most > 0.0 && *value >= BUSY_SHARE * most).collect();
        if is_busy.iter().any(|busy| *busy) {
            self.is_busy = is_busy;
        }
    }
}

/// A quantile, between neighbours; `None` of nothing.
pub(super) fn quantile(values: &mut [f64], share: f64) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let position = share * (values.len().checked_sub(1)? as f64);
    let (low, high) = (values[position.floor() as usize], values[position.ceil() as usize]);
    Some(low + (position - position.floor()) * (high - low))
}
