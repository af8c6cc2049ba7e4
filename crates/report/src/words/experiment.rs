//! How an experiment reads: the wording that its text, its page and its progress share.

use linerate_record::experiment::{Decision, Effect, Ended, Means, RemarkKind, Report};
use linerate_record::units::{bytes_iec, bytes_per_s_iec, count, duration_ns};

use super::{ABSENT, change, decimal, percent, plural};

/// Names that a sentence counts up; more are counted.
const NAMES_MAX: usize = 4;

/// What came of an arm, for a reader who wants to know what to do; what matters most first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verdict {
    /// Faster.
    Helps,
    /// Slower.
    Costs,
    /// No effect as large as matters.
    RuledOut,
    /// Neither is known.
    Unknown,
    /// Its blocks go on.
    Running,
}

/// What came of the arm that `effect` is of.
pub(crate) fn verdict(effect: &Effect, report: &Report) -> Verdict {
    let is_shown = effect.decision == Decision::Shown;
    match effect.decision {
        _ if runs_on(effect, report) => Verdict::Running,
        _ if is_shown && effect.share.is_some_and(|share| share < 0.0) => Verdict::Costs,
        _ if is_shown => Verdict::Helps,
        Decision::RuledOut => Verdict::RuledOut,
        _ => Verdict::Unknown,
    }
}

/// Whether an experiment that has not ended still measures the arm.
fn runs_on(effect: &Effect, report: &Report) -> bool {
    let arm = report.design.arms.iter().position(|arm| arm.name == effect.arm);
    let mut decided = report.looks.iter().flat_map(|look| &look.decided);
    report.ended == Ended::NotYet && !decided.any(|(number, _)| Some(*number as usize) == arm)
}

/// A decision in a word or two, for a column.
pub(crate) fn decision(effect: &Effect, report: &Report) -> &'static str {
    match (verdict(effect, report), effect.decision) {
        (Verdict::Running, _) => "goes on",
        (Verdict::Helps, _) => "helps",
        (Verdict::Costs, _) => "costs",
        (_, decision) => decided(decision),
    }
}

/// A decision, without its sign.
pub(crate) const fn decided(decision: Decision) -> &'static str {
    match decision {
        Decision::Shown => "shown",
        Decision::RuledOut => "ruled out",
        Decision::Futile => "dropped",
        Decision::NotShown => "not shown",
        Decision::CannotTell => "cannot tell",
        Decision::Confounded => "confounded",
        Decision::Association => "association",
        Decision::Refused => "refused",
        Decision::SpoiltByArm => "spoilt by arm",
        Decision::CarriedOver => "carried over",
        Decision::NotSettled => "not settled",
        Decision::AtFirst => "at first",
    }
}

/// How an arm is named in a sentence.
type Named = dyn Fn(&Effect) -> String;

/// What the experiment says in a few sentences: what helps, what costs, what was ruled out, and what cannot be told.
pub(crate) fn outcome(report: &Report) -> Vec<String> {
    let of = |wanted: Verdict| -> Vec<&Effect> {
        report.effects.iter().filter(|effect| verdict(effect, report) == wanted).collect()
    };
    let matters = exact_percent(report.design.matters_share);
    let figures = |effect: &Effect| format!("{}, {}", effect.arm, estimate(effect));
    let name = |effect: &Effect| effect.arm.clone();
    let parts: [(Verdict, String, &Named); 5] = [
        (Verdict::Helps, "Helps".to_owned(), &figures),
        (Verdict::Costs, "Costs".to_owned(), &figures),
        (Verdict::RuledOut, format!("No effect of {matters} or more"), &name),
        (Verdict::Unknown, "Cannot tell".to_owned(), &name),
        (Verdict::Running, "Not decided yet".to_owned(), &name),
    ];
    let mut sentences = Vec::new();
    for (wanted, before, told) in parts {
        let found = of(wanted);
        if !found.is_empty() {
            sentences.push(format!("{before}: {}.", listed(&found, told)));
        }
    }
    if sentences.is_empty() { vec!["Nothing was compared.".to_owned()] } else { sentences }
}

/// `a; b`, `a; b; c; d; 3 more`.
fn listed(effects: &[&Effect], told: &Named) -> String {
    let mut names: Vec<String> = effects.iter().take(NAMES_MAX).map(|effect| told(effect)).collect();
    if effects.len() > NAMES_MAX {
        names.push(format!("{} more", effects.len() - NAMES_MAX));
    }
    names.join("; ")
}

/// `+4.2 % (+2.1 to +6.3 %)`; what is not known is left out.
pub(crate) fn estimate(effect: &Effect) -> String {
    let share = effect.share.map_or_else(|| ABSENT.to_owned(), change);
    match interval(effect.low_share, effect.high_share) {
        Some(interval) => format!("{share} ({interval})"),
        None => share,
    }
}

/// `+2.1 to +6.3 %`; nothing where an end is not known.
pub(crate) fn interval(low: Option<f64>, high: Option<f64>) -> Option<String> {
    let (low, high) = (change(low?), change(high?));
    Some(format!("{} to {high}", low.trim_end_matches(" %")))
}

/// A share that somebody chose, with the decimals that it has: `2 %`, `0.5 %`, `0.25 %`.
pub(crate) fn exact_percent(share: f64) -> String {
    let text = format!("{:.3}", 100.0 * share);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Why it ended.
pub(crate) fn ended(report: &Report) -> String {
    let most = plural(u64::from(report.design.blocks_max), "block");
    match report.ended {
        Ended::Decided => "every arm is decided".to_owned(),
        Ended::Blocks => format!("all {most} are spent"),
        Ended::Time => match report.design.time_max_ns {
            Some(time) => format!("another block would not have ended within {}", duration_ns(time as f64)),
            None => "another block would not have ended in time".to_owned(),
        },
        Ended::Spoiled => "as many blocks were spoiled as were to count".to_owned(),
        Ended::NotYet => "it has not ended: it goes on, or was interrupted".to_owned(),
    }
}

/// Blocks that count, and those that do not.
pub(crate) fn blocks(report: &Report) -> (usize, usize) {
    let spoiled = report.blocks.iter().filter(|block| !block.spoiled.is_empty()).count();
    (report.blocks.len() - spoiled, spoiled)
}

/// `14 of at most 24 blocks count, 2 were spoiled`.
pub(crate) fn blocks_told(report: &Report) -> String {
    let (counted, spoiled) = blocks(report);
    let spoiled = match spoiled {
        0 => String::new(),
        1 => ", 1 was spoiled".to_owned(),
        n => format!(", {n} were spoiled"),
    };
    let most = plural(u64::from(report.design.blocks_max), "block");
    format!("{counted} of at most {most} {}{spoiled}", if counted == 1 { "counts" } else { "count" })
}

/// From the first cell to the end of the last, in nanoseconds.
pub(crate) fn elapsed_ns(report: &Report) -> u64 {
    let cells = || report.blocks.iter().flat_map(|block| &block.cells);
    let first = cells().map(|cell| cell.started_ns).min().unwrap_or(0);
    cells().map(|cell| cell.ended_ns).max().unwrap_or(0).saturating_sub(first)
}

/// What puts an arm in place, a line for each change.
pub(crate) fn means(means: &Means) -> Vec<String> {
    let changes = means.changes.iter().map(|change| format!("{}: {} → {}", change.place, change.prior, change.new));
    let flags = (!means.flags.is_empty()).then(|| format!("flags {}", means.flags.join(" ")));
    let command = means.command.as_ref().map(|command| format!("command {command}"));
    let mut told: Vec<String> = changes.chain(flags).chain(command).collect();
    if told.is_empty() {
        told.push("everything as it is".to_owned());
    }
    told
}

/// How probable: `0.031`, `< 0.001`.
pub(crate) fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

/// The kind of a remark.
pub(crate) const fn remark(kind: RemarkKind) -> &'static str {
    match kind {
        RemarkKind::Impossible => "impossible",
        RemarkKind::Spoiled => "spoiled",
        RemarkKind::SpoiltByArm => "spoilt by arm",
        RemarkKind::NotAdvised => "not advised",
        RemarkKind::ConfoundedWithTime => "confounded",
        RemarkKind::Bimodal => "bimodal",
        RemarkKind::Outlying => "outlying",
        RemarkKind::Drift => "drift",
        RemarkKind::CarryOver => "carry-over",
        RemarkKind::Position => "position",
        RemarkKind::Correlated => "correlated",
        RemarkKind::NotSettled => "not settled",
    }
}

/// Whether a remark of the kind puts every effect in doubt.
pub(crate) const fn is_grave(kind: RemarkKind) -> bool {
    matches!(kind, RemarkKind::Impossible | RemarkKind::SpoiltByArm)
}

/// Said wherever secondary figures are.
pub(crate) const SECONDARY: &str = "told, not tested: each interval is by itself, and of many some differ by chance";

/// Figures that have a name of their own, and their units. Others are read by their last words: [`figure`].
const FIGURES: [(&str, &str); 12] = [
    ("total_p50_ns", "latency p50"),
    ("total_p90_ns", "latency p90"),
    ("total_p99_ns", "latency p99"),
    ("total_p999_ns", "latency p99.9"),
    ("ttfb_p50_ns", "first byte p50"),
    ("ttfb_p99_ns", "first byte p99"),
    ("client_cpu_s_per_gib", "client CPU"),
    ("target_cpu_s_per_gib", "target CPU"),
    ("errors", "failed requests"),
    ("requests_per_s", "requests"),
    ("bytes_per_s", "throughput"),
    ("retransmits_per_s", "TCP segments sent again"),
];

/// A value with its unit.
type Shown = fn(f64) -> String;

/// How a figure is shown by the end of its name; the longest that fits first.
const UNITS: [(&str, Shown); 9] = [
    ("_us_per_request", |v| format!("{} µs/req", decimal(v))),
    ("_s_per_gib", |v| format!("{} s/GiB", decimal(v))),
    ("bytes_per_s", bytes_per_s_iec),
    ("_per_s", |v| format!("{}/s", count(v))),
    ("_bytes", bytes_iec),
    ("_share", percent),
    ("_ns", duration_ns),
    ("_ms", |v| duration_ns(v * 1e6)),
    ("", count),
];

/// What a figure of an experiment is called: its own name where it has one, else that in the record without its unit.
pub(crate) fn figure(name: &str) -> String {
    if let Some((_, words)) = FIGURES.iter().find(|(known, _)| *known == name) {
        return (*words).to_owned();
    }
    let unit = UNITS.iter().map(|(end, _)| *end).find(|end| name.ends_with(end) && name.len() > end.len());
    name.strip_suffix(unit.unwrap_or("")).unwrap_or(name).trim_matches('_').replace('_', " ")
}

/// A value of a figure, with the unit that its name ends with.
pub(crate) fn figure_value(name: &str, value: f64) -> String {
    UNITS.iter().find(|(end, _)| name.ends_with(end)).map_or_else(|| decimal(value), |(_, told)| told(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_words_and_units_known_or_not() {
        for (name, words, value, told) in [
            ("total_p99_ns", "latency p99", 2.5e6, "2.50 ms"),
            ("client_cpu_s_per_gib", "client CPU", 0.311, "0.31 s/GiB"),
            ("errors", "failed requests", 3.0, "3"),
            ("requests_per_s", "requests", 1204.0, "1204/s"),
            ("gc_pause_ns", "gc pause", 1e6, "1.00 ms"),
            ("resident_bytes", "resident", 1024.0, "1.00 KiB"),
            ("steal_share", "steal", 0.25, "25 %"),
            ("_ns", "ns", 1e6, "1.00 ms"),
            ("", "", 1.0, "1"),
        ] {
            assert_eq!((figure(name).as_str(), figure_value(name, value).as_str()), (words, told), "{name:?}");
        }
    }

    #[test]
    fn shares_and_intervals_read_as_percent() {
        assert_eq!(exact_percent(0.02), "2 %");
        assert_eq!(exact_percent(0.0025), "0.25 %");
        assert_eq!(interval(Some(-0.012), Some(0.034)).as_deref(), Some("−1.2 to +3.4 %"));
        assert_eq!(interval(None, Some(0.034)), None);
    }
}
