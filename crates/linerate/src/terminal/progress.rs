//! What is shown while a run goes on: a live line on a terminal, a line per finished point otherwise.

use std::cell::Cell;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use linerate_record::histogram::{self, Latencies};
use linerate_record::run::{Interval, IntervalRow};
use linerate_record::shell;
use linerate_record::units::{bytes_per_s_iec, count, duration_ns, grouped};

use crate::terminal::printing;
pub(crate) use crate::terminal::printing::print_error;

/// How often a log is told how something goes on.
const LOG_INTERVAL: Duration = Duration::from_secs(1);

/// The live line, and what it is where a terminal is narrow.
const TEMPLATE: &str = "{bar:24.cyan/dim} {percent:>3} %  at most {eta:>4} left  {wide_msg}";
const NARROW_TEMPLATE: &str = "{percent:>3} %  {wide_msg}";

/// Columns of each before its message.
const LIVE_PREFIX_COLUMNS: usize = 52;
const NARROW_PREFIX_COLUMNS: usize = 7;

/// Columns from which a terminal has room for the whole line: the lead, and figures in 70 columns.
const WIDE_COLUMNS: usize = LIVE_PREFIX_COLUMNS + 70;

/// Shows how a run goes, on standard error.
pub(crate) struct Progress {
    bar: ProgressBar,
    live: bool,
    quiet: bool,
    /// When it was said last how something goes on.
    reported: Cell<Option<Instant>>,
}

/// The live line, for threads that watch what goes on.
pub(crate) struct LiveLine(ProgressBar);

impl LiveLine {
    /// Says what is being done, where it can be seen live.
    pub(crate) fn show(&self, what: &str) {
        self.0.set_message(truncate_at_word(&printing::terminal_text(what), message_columns()));
    }
}

impl Progress {
    /// For a run expected to take so long.
    pub(crate) fn new(expected: Duration, quiet: bool) -> Self {
        let live = !quiet && std::io::stderr().is_terminal();
        let bar = ProgressBar::new(u64::try_from(expected.as_millis()).unwrap_or(u64::MAX));
        bar.set_draw_target(if live { ProgressDrawTarget::stderr_with_hz(8) } else { ProgressDrawTarget::hidden() });
        // The templates are constants; were one wrong, the default look would do.
        let template = if width() < WIDE_COLUMNS { NARROW_TEMPLATE } else { TEMPLATE };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        if live {
            bar.enable_steady_tick(Duration::from_millis(250));
        }
        Progress { bar, live, quiet, reported: Cell::default() }
    }

    /// Says what is being done now.
    pub(crate) fn set_task(&self, what: &str) {
        self.live(what);
        if !self.live && !self.quiet {
            print_error(what);
        }
    }

    /// Says what is being done, where it can be seen live; a log has no use for it.
    pub(crate) fn live(&self, what: &str) {
        self.live_line().show(what);
    }

    /// The live line by itself.
    pub(crate) fn live_line(&self) -> LiveLine {
        LiveLine(self.bar.clone())
    }

    /// Says how what is being done goes on, where somebody waits for its end: in a log too, each second and at its end.
    pub(crate) fn goes_on(&self, what: &str, is_end: bool) {
        self.live(what);
        let is_due = is_end || self.reported.get().is_none_or(|reported| reported.elapsed() >= LOG_INTERVAL);
        if !self.live && !self.quiet && is_due {
            self.reported.set(Some(Instant::now()));
            print_error(what);
        }
    }

    /// Shows the figures of the interval that has just ended; `has_success` says whether a request of its point has
    /// succeeded.
    pub(crate) fn interval(&self, label: &str, figures: &Interval<Latencies>, has_success: bool) {
        self.bar.inc(figures.length_ms());
        if self.live && figures.length_ms() > 0 {
            let parts = interval_parts(label, figures, has_success).map(|part| printing::terminal_text(&part));
            self.bar.set_message(join_fitting(&parts, message_columns()));
        }
    }

    /// It is known better now how long the run takes.
    pub(crate) fn expects(&self, expected: Duration) {
        self.bar.set_length(u64::try_from(expected.as_millis()).unwrap_or(u64::MAX));
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
            self.bar.println(wrap_line(&printing::terminal_text(line), width()));
        } else if !self.quiet {
            print_error(line);
        }
    }

    /// Takes the live line away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}

/// What is shown of an interval. Bytes move before it is known whether their requests succeed: while none of a point
/// has, they may come to be in no figure.
fn interval_parts(label: &str, figures: &Interval<Latencies>, has_success: bool) -> [String; 6] {
    let seconds = figures.length_ms() as f64 / 1e3;
    let rows = || figures.whole_rows();
    let sum = |f: fn(&IntervalRow<Latencies>) -> u64| rows().map(f).sum::<u64>() as f64;
    let mut total = histogram::empty();
    rows().for_each(|row| total += &row.total);
    let bytes = rows().map(|r| r.moved_bytes).sum::<i64>() as f64 / seconds;
    let errors = sum(|r| r.errors.values().sum());
    let latency = |q: f64| match total.len() {
        0 => "–".to_owned(),
        _ => duration_ns(total.value_at_quantile(q) as f64),
    };
    [
        label.to_owned(),
        match (bytes > 0.0, has_success) {
            (false, _) => String::new(),
            (true, true) => bytes_per_s_iec(bytes),
            (true, false) => format!("none answered yet, moving {}", bytes_per_s_iec(bytes)),
        },
        format!("{} req/s", count(sum(|r| r.requests) / seconds)),
        if errors > 0.0 { format!("{} failed", grouped(errors as u64)) } else { String::new() },
        format!("p50 {}", latency(0.5)),
        format!("p99 {}", latency(0.99)),
    ]
}

/// Says why a command failed, in lines of the terminal that standard error is.
pub(crate) fn print_failure(text: &str) {
    // Keys are masked before a line ends within one.
    let text = printing::terminal_text(text);
    print_error(&columns().map_or_else(|| text.clone(), |columns| wrap_line(&text, columns)));
}

/// Columns of the terminal on standard error; none where it is none, or where its size is not known.
fn columns() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

/// The same; as many as it takes where there are none.
fn width() -> usize {
    columns().unwrap_or(WIDE_COLUMNS)
}

/// Columns of the live line's message.
fn message_columns() -> usize {
    let columns = width();
    columns.saturating_sub(if columns < WIDE_COLUMNS { NARROW_PREFIX_COLUMNS } else { LIVE_PREFIX_COLUMNS })
}

/// The words of a sentence that fit, each whole: it says where it is cut.
fn truncate_at_word(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let mut reported = String::new();
    for word in text.split(' ') {
        if reported.chars().count() + word.chars().count() + 2 > columns {
            break;
        }
        reported.push_str(word);
        reported.push(' ');
    }
    if columns > 0 { format!("{reported}…") } else { reported }
}

/// A line above the live one, or of a failure, broken between words where a terminal is narrower: what follows is
/// indented below what is said first. Figures stand in columns, whose gaps are closed then; a command stays whole.
fn wrap_line(text: &str, columns: usize) -> String {
    const INDENT: usize = 4;
    let lines = text.split('\n').map(|line| {
        if line.chars().count() <= columns {
            return line.trim_end().to_owned();
        }
        let lead = line.chars().take_while(|c| *c == ' ').count().min(columns / 2);
        let (mut reported, mut at) = (" ".repeat(lead), lead);
        for word in shell::pieces(line) {
            let long = word.chars().count();
            let gap = usize::from(at > lead);
            if gap > 0 && at + gap + long > columns {
                let indent = (lead + INDENT).min(columns / 2);
                reported.push('\n');
                reported.push_str(&" ".repeat(indent));
                at = indent + long;
            } else {
                reported.push_str(&" ".repeat(gap));
                at += gap + long;
            }
            reported.push_str(word);
        }
        reported
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The parts that fit, in their order, each whole: half a number is a wrong one.
fn join_fitting(parts: &[String], columns: usize) -> String {
    let mut reported = String::new();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        let gap = if reported.is_empty() { "" } else { "  " };
        if reported.chars().count() + gap.len() + part.chars().count() > columns {
            break;
        }
        reported.push_str(gap);
        reported.push_str(part);
    }
    reported
}

#[cfg(test)]
mod tests {
    use linerate_record::run::Op;

    use super::*;

    #[test]
    fn a_live_sentence_loses_whole_words_and_never_digits() {
        let text = "writing 1152 objects of 4 MiB ahead, 1234567 bytes so far";
        assert_eq!(truncate_at_word(text, 80), text);
        assert_eq!(truncate_at_word(text, 40), "writing 1152 objects of 4 MiB ahead, …");
        for columns in 0..text.len() {
            let reported = truncate_at_word(text, columns);
            assert!(reported.chars().count() <= columns, "{columns}: {reported:?}");
            let mut words = reported.split(' ').filter(|word| *word != "…" && !word.is_empty());
            assert!(words.all(|word| text.split(' ').any(|whole| whole == word)), "{columns}: {reported:?}");
        }
    }

    #[test]
    fn a_line_above_the_live_one_is_broken_between_words() {
        let row = " get 4 MiB            16   11.3 GiB/s  ± 1.1 %   2890 req/s   5.53 ms   12.1 ms   34 %";
        assert_eq!(wrap_line(row, 100), row);
        assert_eq!(wrap_line(row, 40), " get 4 MiB 16 11.3 GiB/s ± 1.1 % 2890\n     req/s 5.53 ms 12.1 ms 34 %");
        for columns in 12..100 {
            let reported = wrap_line(row, columns);
            assert!(reported.lines().all(|line| line.chars().count() <= columns), "{columns}: {reported:?}");
            assert!(reported.split_whitespace().eq(row.split_whitespace()), "{columns}: {reported:?}");
        }
        assert!(!wrap_line("a-word-longer-than-all", 5).starts_with('\n'));
    }

    #[test]
    fn an_error_is_broken_between_words_and_a_command_in_it_never() {
        let command = "linerate clean runs/1120-0931-get --profile 'prof  x'";
        let error = format!("error: 12 objects below bench/ could not be deleted: the target refused it; {command}");
        for columns in [60, 80] {
            let reported = wrap_line(&error, columns);
            assert!(reported.lines().all(|line| line.chars().count() <= columns), "{columns}: {reported}");
            assert!(reported.lines().count() > 1 && reported.contains(command), "{columns}: {reported}");
        }
        let listed = "error: 2 mistakes\n  a.csv:1: x y\n  a.csv:2: z";
        assert_eq!(wrap_line(listed, 12), "error: 2\n    mistakes\n  a.csv:1: x\n      y\n  a.csv:2: z");
    }

    #[test]
    fn bytes_are_no_throughput_before_a_request_of_the_point_has_succeeded() {
        let row = IntervalRow { moved_bytes: 300 << 20, ..IntervalRow::counting(0, Op::Put) };
        let figures = Interval { to_ms: 1_000, rows: vec![row], ..Interval::default() };
        let parts = |has_success| interval_parts("put", &figures, has_success).join("|");
        assert_eq!(parts(false), "put|none answered yet, moving 300 MiB/s|0 req/s||p50 –|p99 –");
        assert_eq!(parts(true), "put|300 MiB/s|0 req/s||p50 –|p99 –");
    }

    #[test]
    fn a_live_row_loses_whole_figures_and_never_digits() {
        let parts = ["get 4MiB × 16", "11.3 GiB/s", "", "2890 req/s", "p50 5.53 ms", "p99 12.1 ms"].map(str::to_owned);
        assert_eq!(join_fitting(&parts, 80), "get 4MiB × 16  11.3 GiB/s  2890 req/s  p50 5.53 ms  p99 12.1 ms");
        for columns in 0..80 {
            let reported = join_fitting(&parts, columns);
            assert!(reported.chars().count() <= columns);
            assert!(
                reported.is_empty() || reported.split("  ").all(|part| parts.iter().any(|p| p == part)),
                "{reported:?}"
            );
        }
    }
}
