//! How an experiment reads: the wording that its text, its page and its progress share.

use linerate_record::experiment::{
    ArmSetup, ArmVerdict, Decision, Effect, ExperimentFleet, ExperimentStopReason, KeySource, RemarkKind, Report,
};
use linerate_record::lines;
use linerate_record::units::{Unit, bytes_iec, bytes_per_s_iec, count, duration_ns};

use super::{ABSENT, change, decimal, percent, plural};

/// Names that a sentence counts up; more are counted.
const NAMES_MAX: usize = 4;

/// The nodes of which settings are changed: `4 storage nodes (n1, n2, n3, n4)`.
pub(crate) fn changed(fleet: &ExperimentFleet) -> String {
    let nodes = plural(fleet.nodes.len() as u64, &format!("{} node", fleet.on.name()));
    format!("{nodes} ({})", lines::listed(&fleet.nodes, NAMES_MAX))
}

/// The same, and who loads.
pub(crate) fn changed_and_loaded(fleet: &ExperimentFleet) -> String {
    let clients = plural(fleet.clients.len() as u64, "client");
    format!("{}; load from {clients} ({})", changed(fleet), lines::listed(&fleet.clients, NAMES_MAX))
}

/// A decision in a word or two, for a column.
pub(crate) const fn decision(effect: &Effect) -> &'static str {
    match (effect.verdict, effect.decision) {
        (ArmVerdict::Running, _) => "goes on",
        (ArmVerdict::Helps, _) => "helps",
        (ArmVerdict::Slower, _) => "slower",
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
        Decision::ExcludesBlocks => "excludes blocks",
        Decision::CarriedOver => "carried over",
        Decision::NotSettled => "not settled",
        Decision::AtFirst => "at first",
    }
}

/// How an arm is named in a sentence.
type Named = dyn Fn(&Effect) -> String;

/// What the experiment says in a few sentences: what helps, what costs, what was ruled out, and what cannot be told.
pub(crate) fn outcome(report: &Report) -> Vec<String> {
    let effects_with = |wanted: ArmVerdict| -> Vec<&Effect> {
        report.effects.iter().filter(|effect| effect.verdict == wanted).collect()
    };
    let matters = exact_percent(report.design.matters_share);
    let figures = |effect: &Effect| format!("{}, {}", effect.arm, estimate(effect));
    let name = |effect: &Effect| effect.arm.clone();
    let parts: [(ArmVerdict, String, &Named); 5] = [
        (ArmVerdict::Helps, "Helps".to_owned(), &figures),
        (ArmVerdict::Slower, "Slower".to_owned(), &figures),
        (ArmVerdict::RuledOut, format!("No effect of {matters} or more"), &name),
        (ArmVerdict::Unknown, "Cannot tell".to_owned(), &name),
        (ArmVerdict::Running, "Not decided yet".to_owned(), &name),
    ];
    let mut sentences = Vec::new();
    for (wanted, before, reported) in parts {
        let found = effects_with(wanted);
        if !found.is_empty() {
            sentences.push(format!("{before}: {}.", listed(&found, reported)));
        }
    }
    if sentences.is_empty() { vec!["Nothing was compared.".to_owned()] } else { sentences }
}

/// `a; b`, `a; b; c; d; 3 more`.
fn listed(effects: &[&Effect], reported: &Named) -> String {
    let mut names: Vec<String> = effects.iter().take(NAMES_MAX).map(|effect| reported(effect)).collect();
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

/// Why it ended, and what the rules of this version say where they say otherwise.
pub(crate) fn ended(report: &Report) -> String {
    let recorded = stop_reason(report, report.ended);
    match report.ended_by_own_rules {
        Some(own) => format!("{recorded} (by the rules of this version: {})", stop_reason(report, own)),
        None => recorded,
    }
}

fn stop_reason(report: &Report, ended: ExperimentStopReason) -> String {
    let most = plural(u64::from(report.design.blocks_max), "block");
    match ended {
        // Neither an effect nor its absence could be expected of what was dropped: nothing is decided of it.
        ExperimentStopReason::Decided if report.effects.iter().any(|e| e.decision == Decision::Futile) => {
            "every arm is decided or dropped early".to_owned()
        }
        ExperimentStopReason::Decided => "every arm is decided".to_owned(),
        ExperimentStopReason::Blocks => format!("all {most} are spent"),
        ExperimentStopReason::Time => match report.design.time_max_ns {
            Some(time) => format!("another block would not have ended within {}", duration_ns(time as f64)),
            None => "another block would not have ended in time".to_owned(),
        },
        ExperimentStopReason::Excluded => "as many blocks are excluded as were to count".to_owned(),
        ExperimentStopReason::NotYet => "it is still running, or was interrupted".to_owned(),
    }
}

/// `14 of at most 24 blocks count, 2 are excluded`.
pub(crate) fn blocks_in_words(report: &Report) -> String {
    let (counted, excluded) = (report.counted_blocks, report.excluded_blocks);
    let excluded = match excluded {
        0 => String::new(),
        1 => ", 1 is excluded".to_owned(),
        n => format!(", {n} are excluded"),
    };
    let most = plural(u64::from(report.design.blocks_max), "block");
    format!("{counted} of at most {most} {}{excluded}", if counted == 1 { "counts" } else { "count" })
}

/// What puts an arm in place, a line for each change; `load` is what sets its load apart.
pub(crate) fn means(means: &ArmSetup, load: &[String]) -> Vec<String> {
    let changes = means.changes.iter().map(|change| format!("{}: {} → {}", change.place, change.prior, change.new));
    let loads = load.iter().map(|field| format!("load {field}"));
    let keys = (means.keys != KeySource::Environment).then(|| format!("keys of {}", means.keys));
    let flags = (!means.flags.is_empty()).then(|| format!("flags {}", means.flags.join(" ")));
    let command = means.command.as_ref().map(|command| format!("command {command}"));
    let mut reported: Vec<String> = changes.chain(loads).chain(keys).chain(flags).chain(command).collect();
    if reported.is_empty() {
        reported.push("everything as it is".to_owned());
    }
    reported
}

/// How probable: `0.031`, `< 0.001`.
pub(crate) fn probability(p: f64) -> String {
    if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
}

/// The kind of a remark.
pub(crate) const fn remark(kind: RemarkKind) -> &'static str {
    match kind {
        RemarkKind::Impossible => "impossible",
        RemarkKind::Excluded => "excluded",
        RemarkKind::ExcludesBlocks => "excludes blocks",
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
pub(crate) const fn is_severe(kind: RemarkKind) -> bool {
    matches!(kind, RemarkKind::Impossible | RemarkKind::ExcludesBlocks)
}

/// Said wherever secondary figures are.
pub(crate) const SECONDARY: &str =
    "reported, not tested: each interval stands alone, so among many some differ by chance";

/// Figures that have a name of their own; others are called what stands before their unit: [`figure`].
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
    ("retransmits_per_s", "TCP retransmits"),
];

/// What a figure of an experiment is called: its own name where it has one, else that in the record without its unit.
pub(crate) fn figure(name: &str) -> String {
    if let Some((_, words)) = FIGURES.iter().find(|(known, _)| *known == name) {
        return (*words).to_owned();
    }
    let (before, _) = Unit::of_figure(name);
    let stem = if before.is_empty() { name } else { before };
    stem.trim_matches('_').replace('_', " ")
}

/// A value of a figure, in the unit that its name ends with.
pub(crate) fn figure_value(name: &str, value: f64) -> String {
    match Unit::of_figure(name).1 {
        Unit::UsPerRequest => format!("{} µs/req", decimal(value)),
        Unit::SPerGib => format!("{} s/GiB", decimal(value)),
        Unit::BytesPerS => bytes_per_s_iec(value),
        Unit::PerS => format!("{}/s", count(value)),
        Unit::OperationsPerS => format!("{} op/s", count(value)),
        Unit::CoreNsPerS => format!("{} cores", count(value / 1e9)),
        Unit::Bytes => bytes_iec(value),
        Unit::Share => percent(value),
        Unit::Ns => duration_ns(value),
        Unit::Ms => duration_ns(value * 1e6),
        Unit::Count => count(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_words_and_units_known_or_not() {
        for (name, words, value, reported) in [
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
            assert_eq!((figure(name).as_str(), figure_value(name, value).as_str()), (words, reported), "{name:?}");
        }
    }

    #[test]
    fn of_a_fleet_it_says_who_is_changed_and_who_loads() {
        let names = |count: usize| (1..=count).map(|number| format!("n{number}")).collect();
        let fleet = ExperimentFleet {
            on: linerate_record::fleet::NodeRole::Storage,
            nodes: names(56),
            clients: names(1),
            rollouts: 7,
            rounds: Vec::new(),
            health: None,
        };
        let expected = "56 storage nodes (n1, n2, n3, n4 and 52 more); load from 1 client (n1)";
        assert_eq!(changed_and_loaded(&fleet), expected);
    }

    #[test]
    fn shares_and_intervals_read_as_percent() {
        assert_eq!(exact_percent(0.02), "2 %");
        assert_eq!(exact_percent(0.0025), "0.25 %");
        assert_eq!(interval(Some(-0.012), Some(0.034)).as_deref(), Some("−1.2 to +3.4 %"));
        assert_eq!(interval(None, Some(0.034)), None);
    }
}
