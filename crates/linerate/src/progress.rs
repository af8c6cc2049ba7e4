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
        // The template is a constant; were it wrong, the default look would do.
        if let Ok(style) =
            ProgressStyle::with_template("{bar:24.cyan/dim} {percent:>3} %  at most {eta:>4} left  {wide_msg}")
        {
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
        let moved = if bytes > 0.0 { bytes_per_s_iec(bytes) } else { String::new() };
        let failed = if errors > 0.0 { format!("  {errors} failed") } else { String::new() };
        let p50 = duration_ns(total.value_at_quantile(0.5) as f64);
        let p99 = duration_ns(total.value_at_quantile(0.99) as f64);
        let told = format!("{label}  {moved}  {} req/s  p50 {p50}  p99 {p99}{failed}", count(requests));
        self.bar.set_message(printing::text(&told));
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
