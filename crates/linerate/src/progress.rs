//! What is shown while a run goes on: a live line on a terminal, a line per finished point otherwise.

use std::cell::Cell;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use linerate_load::point::IntervalFigures;
use linerate_record::units::{bytes_per_s_iec, count, duration_ns};

use crate::printing;
pub(crate) use crate::printing::say;

/// How often a log is told how something goes on.
const EACH: Duration = Duration::from_secs(1);

/// The live line, and what it is where a terminal is narrow.
const TEMPLATE: &str = "{bar:24.cyan/dim} {percent:>3} %  at most {eta:>4} left  {wide_msg}";
const NARROW_TEMPLATE: &str = "{percent:>3} %  {wide_msg}";

/// Columns of each before its message.
const LEAD: usize = 52;
const NARROW_LEAD: usize = 7;

/// Columns from which a terminal has room for the whole line: the lead, and figures in 70 columns.
const WIDE: usize = LEAD + 70;

/// Shows how a run goes, on standard error.
pub(crate) struct Progress {
    bar: ProgressBar,
    live: bool,
    quiet: bool,
    /// When it was said last how something goes on.
    told: Cell<Option<Instant>>,
}

impl Progress {
    /// For a run expected to take so long.
    pub(crate) fn new(expected: Duration, quiet: bool) -> Self {
        let live = !quiet && std::io::stderr().is_terminal();
        let bar = ProgressBar::new(u64::try_from(expected.as_millis()).unwrap_or(u64::MAX));
        bar.set_draw_target(if live { ProgressDrawTarget::stderr_with_hz(8) } else { ProgressDrawTarget::hidden() });
        // The templates are constants; were one wrong, the default look would do.
        let template = if width() < WIDE { NARROW_TEMPLATE } else { TEMPLATE };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        if live {
            bar.enable_steady_tick(Duration::from_millis(250));
        }
        Progress { bar, live, quiet, told: Cell::default() }
    }

    /// Says what is being done now.
    pub(crate) fn doing(&self, what: &str) {
        self.bar.set_message(printing::text(what));
        if !self.live && !self.quiet {
            say(what);
        }
    }

    /// Says what is being done, where it can be seen live; a log has no use for it.
    pub(crate) fn live(&self, what: &str) {
        self.bar.set_message(printing::text(what));
    }

    /// Says how what is being done goes on, where somebody waits for its end: in a log too, each second.
    pub(crate) fn goes_on(&self, what: &str) {
        self.bar.set_message(printing::text(what));
        let is_due = self.told.get().is_none_or(|told| told.elapsed() >= EACH);
        if !self.live && !self.quiet && is_due {
            self.told.set(Some(Instant::now()));
            say(what);
        }
    }

    /// Shows the figures of the interval that has just ended.
    pub(crate) fn interval(&self, label: &str, figures: &IntervalFigures) {
        let seconds = (figures.to_ns - figures.from_ns) as f64 / 1e9;
        self.bar.inc((seconds * 1e3) as u64);
        if !self.live {
            return;
        }
        let rows = || figures.rows.iter().filter(|row| !row.op.is_detail());
        let sum = |f: fn(&linerate_load::point::FigureRow) -> u64| rows().map(f).sum::<u64>() as f64;
        let mut total = linerate_analysis::histogram::empty();
        rows().for_each(|row| total += &row.total);
        let requests = sum(|r| r.requests) / seconds;
        let bytes = rows().map(|r| r.moved_bytes).sum::<i64>() as f64 / seconds;
        let errors = sum(|r| r.errors.values().sum());
        let latency = |q: f64| match total.len() {
            0 => "–".to_owned(),
            _ => duration_ns(total.value_at_quantile(q) as f64),
        };
        let parts = [
            label.to_owned(),
            if bytes > 0.0 { bytes_per_s_iec(bytes) } else { String::new() },
            format!("{} req/s", count(requests)),
            if errors > 0.0 { format!("{errors} failed") } else { String::new() },
            format!("p50 {}", latency(0.5)),
            format!("p99 {}", latency(0.99)),
        ];
        let columns = width();
        let room = columns.saturating_sub(if columns < WIDE { NARROW_LEAD } else { LEAD });
        self.bar.set_message(fitting(&parts.map(|part| printing::text(&part)), room));
    }

    /// The run is so much further than before.
    pub(crate) fn step(&self, ms: u64) {
        self.bar.inc(ms);
    }

    /// How far the run is, in milliseconds of those expected.
    pub(crate) fn position_ms(&self) -> u64 {
        self.bar.position()
    }

    /// The run is as far as this: what was expected at the most took less.
    pub(crate) fn reached_ms(&self, position_ms: u64) {
        self.bar.set_position(position_ms);
    }

    /// Tells a finished point: above the live line, or as a line of a log.
    pub(crate) fn finished(&self, line: &str) {
        if self.live {
            self.bar.println(printing::text(line));
        } else if !self.quiet {
            say(line);
        }
    }

    /// Takes the live line away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// Columns of the terminal on standard error; as many as it takes where it has none.
fn width() -> usize {
    rustix::termios::tcgetwinsize(std::io::stderr()).map_or(WIDE, |size| usize::from(size.ws_col).max(1))
}

/// The parts that fit, in their order, each whole: half a number is a wrong one.
fn fitting(parts: &[String], columns: usize) -> String {
    let mut told = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let gap = if told.is_empty() { "" } else { "  " };
        if told.chars().count() + gap.len() + part.chars().count() > columns {
            break;
        }
        told.push_str(gap);
        told.push_str(part);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_row_loses_whole_figures_and_never_digits() {
        let parts = ["get 4MiB × 16", "11.3 GiB/s", "", "2890 req/s", "p50 5.53 ms", "p99 12.1 ms"].map(str::to_owned);
        assert_eq!(fitting(&parts, 80), "get 4MiB × 16  11.3 GiB/s  2890 req/s  p50 5.53 ms  p99 12.1 ms");
        for columns in 0..80 {
            let told = fitting(&parts, columns);
            assert!(told.chars().count() <= columns);
            assert!(told.is_empty() || told.split("  ").all(|part| parts.iter().any(|p| p == part)), "{told:?}");
        }
    }
}
