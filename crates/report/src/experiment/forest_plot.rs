//! Effects with their intervals as a forest plot of characters.

use linerate_record::experiment::{ArmVerdict, Effect, Report};

use crate::colour::Colour;
use crate::phrases::experiment as wording;
use crate::phrases::{ABSENT, change};
use crate::terminal::{TextStyle, clean, paint, width};

/// Columns of an arm's name, at most: longer ones have a line of their own.
const NAME_COLUMNS: usize = 30;

/// Columns of what stands beside the plot: estimate, interval, blocks, decision, and the gaps.
const FIGURES_COLUMNS: usize = 9 + 19 + 8 + 13;

/// Columns of the plot. With fewer than the least there is none.
const PLOT_MIN: usize = 15;
const PLOT_MAX: usize = 41;

/// The plot reaches no farther than this many times the largest estimate, or what matters: what bounds little would
/// otherwise press all the others together.
const REACH: f64 = 4.0;

/// An axis of shares around 0, symmetrical, on so many columns.
struct Axis {
    columns: usize,
    reach: f64,
    matters: f64,
}

/// The effects as rows: name, plot, estimate, interval, blocks, decision.
pub(super) fn plot(report: &Report, look: TextStyle) -> String {
    if report.effects.is_empty() {
        return String::new();
    }
    let widest = report.effects.iter().map(|effect| width(&effect.arm)).filter(|w| *w <= NAME_COLUMNS).max();
    let name_columns = widest.unwrap_or(0).max(8);
    let room = look.width.saturating_sub(name_columns + 3 + FIGURES_COLUMNS).min(PLOT_MAX);
    let axis = (room >= PLOT_MIN).then(|| axis(report, room - usize::from(room.is_multiple_of(2))));
    let mut text = heads(axis.as_ref(), name_columns, look);
    for effect in &report.effects {
        text.push_str(&row(effect, axis.as_ref(), name_columns, look));
    }
    if axis.is_some() {
        let reported = format!(
            "{:1$}┊ what matters: ± {2}",
            "",
            name_columns + 3,
            wording::exact_percent(report.design.matters_share)
        );
        text.push_str(&format!("{}\n", paint(Colour::Dim, &reported, look)));
    }
    text
}

/// An axis on which every estimate is, what matters twice over, and intervals as far as it reaches.
fn axis(report: &Report, columns: usize) -> Axis {
    let shares = report.effects.iter().filter_map(|effect| effect.share);
    let matters = report.design.matters_share;
    let largest = shares.map(f64::abs).fold(matters, f64::max);
    let ends = report.effects.iter().flat_map(|effect| [effect.low_share, effect.high_share]).flatten();
    let farthest = ends.map(f64::abs).fold(largest.max(2.0 * matters), f64::max);
    Axis { columns, reach: farthest.min(REACH * largest), matters }
}

impl Axis {
    /// Column of a share, and whether it is on the axis at all.
    fn column(&self, share: f64) -> (usize, bool) {
        let half = (self.columns / 2) as f64;
        let at = (half + half * share / self.reach).round();
        (at.clamp(0.0, 2.0 * half) as usize, share.abs() <= self.reach)
    }

    /// `├──●──┤` with the line of no effect and the marks of what matters behind it.
    fn drawn(&self, effect: &Effect) -> String {
        let mut cells = vec![' '; self.columns];
        for share in [-self.matters, self.matters] {
            cells[self.column(share).0] = '┊';
        }
        let zero = self.columns / 2;
        cells[zero] = '│';
        if let (Some(low), Some(high)) = (effect.low_share, effect.high_share) {
            let ((from, from_is_on), (to, to_is_on)) = (self.column(low), self.column(high));
            cells[from..=to].fill('─');
            if (from..=to).contains(&zero) {
                cells[zero] = '┼';
            }
            cells[from] = if from_is_on { '├' } else { '◂' };
            cells[to] = if to_is_on { '┤' } else { '▸' };
        }
        if let Some((at, true)) = effect.share.map(|share| self.column(share)) {
            cells[at] = '●';
        }
        cells.into_iter().collect()
    }

    /// The ends and the middle of the axis.
    fn labels(&self) -> String {
        let (low, high) = (change(-self.reach), change(self.reach));
        let half = self.columns / 2;
        format!("{low:<half$}0{high:>half$}")
    }
}

fn heads(axis: Option<&Axis>, name_columns: usize, look: TextStyle) -> String {
    let labels = axis.map_or_else(String::new, |axis| format!("  {}", axis.labels()));
    let head =
        format!(" {:<name_columns$}{labels} {:>8}  {:<17}  {:>6}  decision", "arm", "effect", "interval", "blocks");
    format!("{}\n", paint(Colour::Dim, &head, look))
}

fn row(effect: &Effect, axis: Option<&Axis>, name_columns: usize, look: TextStyle) -> String {
    let name = clean(&effect.arm);
    let (above, name) =
        if width(&name) > name_columns { (format!(" {name}\n"), String::new()) } else { (String::new(), name) };
    let ink = match effect.verdict {
        ArmVerdict::Helps => Colour::Green,
        ArmVerdict::Slower => Colour::Red,
        ArmVerdict::Unknown => Colour::Yellow,
        ArmVerdict::RuledOut | ArmVerdict::Running => Colour::Dim,
    };
    let drawn = axis.map_or_else(String::new, |axis| format!("  {}", paint(ink, &axis.drawn(effect), look)));
    let share = effect.share.map_or_else(|| ABSENT.to_owned(), change);
    let interval = wording::interval(effect.low_share, effect.high_share).unwrap_or_else(|| ABSENT.to_owned());
    let decision = paint(ink, wording::decision(effect), look);
    format!("{above} {name:<name_columns$}{drawn} {share:>8}  {interval:<17}  {:>6}  {decision}\n", effect.runs)
}
