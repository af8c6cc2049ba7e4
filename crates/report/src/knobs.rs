//! The catalogue of knobs as a table, as JSON, or each knob in full.

use std::fmt::Write as _;

use linerate_record::knob::{Advice, Knob, Layer, Locator, Scope, TakesEffect};
use linerate_record::lines::{listed, wrapped};
use serde::Serialize;

use crate::line_budget::SCREEN_LINES;

/// A knob with what is shown beside it.
#[derive(Clone, Debug)]
pub struct KnobEntry {
    pub knob: &'static Knob,
    /// Heading of its layer.
    pub title: &'static str,
    /// In which kernels it works, where that matters.
    pub kernels: Option<String>,
    /// Profiles that have a value of their own for it, with that.
    pub set_by: Vec<(&'static str, &'static str)>,
    /// The value of the profile that was asked for.
    pub profile_value: Option<&'static str>,
    /// What is advised on this machine; looked at only where the knob is shown in full.
    pub advised: Vec<Advised>,
}

/// What is advised of a knob, for one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Advised {
    /// The value and why.
    pub advice: Advice,
    /// For which devices; empty where the knob is of none.
    pub devices: Vec<String>,
}

/// Lines of a layer on a screen.
const EACH: usize = 2;

/// A line for each knob: id, value of the profile or else summary, scope, when it takes effect. Before them name and
/// summary of the profile. On a terminal, which has `columns`, a line or two for each layer where that is more than a
/// screen, unless `all` are wanted.
#[must_use]
pub fn table(entries: &[KnobEntry], profile: Option<(&str, &str)>, all: bool, columns: Option<usize>) -> String {
    let heading = profile.map_or_else(String::new, |(name, summary)| {
        let heading = format!("{name}: {summary}");
        columns.map_or_else(|| heading.clone(), |columns| wrapped(&heading, columns, 0)) + "\n\n"
    });
    let rows = rows(entries, columns);
    match columns {
        Some(width) if !all && heading.lines().count() + rows.lines().count() > SCREEN_LINES => {
            heading + &layers(entries, width)
        }
        _ => heading + &rows,
    }
}

/// The knobs of each layer by their names, with the values of the profile.
fn layers(entries: &[KnobEntry], columns: usize) -> String {
    let name = |entry: &KnobEntry| {
        entry.profile_value.map_or_else(|| entry.knob.id.to_owned(), |value| format!("{}={value}", entry.knob.id))
    };
    let by_layer: Vec<&[KnobEntry]> = entries.chunk_by(|one, next| one.knob.layer == next.knob.layer).collect();
    let indent = by_layer.iter().map(|layer| layer[0].knob.layer.name().len()).max().unwrap_or(0) + 4;
    let mut text = String::new();
    for layer in by_layer {
        let names: Vec<String> = layer.iter().map(name).collect();
        let sentence = |shown| {
            let list = listed(&names, shown);
            wrapped(&format!("{} ({}): {list}", layer[0].title, layer.len()), columns, indent)
        };
        let fits = |shown: &usize| sentence(*shown).lines().count() <= EACH;
        let shown = (1..=names.len()).rev().find(fits).unwrap_or(1);
        let _ = writeln!(text, "{:indent$}{}", format!("  {}", layer[0].knob.layer.name()), sentence(shown));
    }
    let end = format!("{} knobs; a line for each: --layer LAYER, or --all", entries.len());
    text + &wrapped(&end, columns, 0) + "\n"
}

fn rows(entries: &[KnobEntry], columns: Option<usize>) -> String {
    let mut text = String::new();
    let width = entries.iter().map(|entry| entry.knob.id.len()).max().unwrap_or(0);
    let mut layer = None;
    for entry in entries {
        let knob = entry.knob;
        if layer.replace(knob.layer) != Some(knob.layer) {
            let _ = writeln!(text, "{}", entry.title);
        }
        let what = entry.profile_value.unwrap_or(knob.summary);
        let (scope, effect) = (knob.scope.to_string(), knob.takes_effect.to_string());
        let line = format!("  {:width$}  {scope:17}  {effect:14}  {what}", knob.id);
        let _ = writeln!(text, "{}", cut(&line, columns));
    }
    let _ = writeln!(text, "{} knobs", entries.len());
    text
}

/// A line as it fits a terminal; whole where the output is none.
fn cut(line: &str, columns: Option<usize>) -> String {
    match columns {
        Some(columns) if line.chars().count() > columns => {
            line.chars().take(columns.saturating_sub(1)).chain(['…']).collect()
        }
        _ => line.to_owned(),
    }
}

/// Knobs in full in so many columns, with an empty line between.
#[must_use]
pub fn whole(entries: &[KnobEntry], columns: usize) -> String {
    entries.iter().map(|entry| in_full(entry, columns)).collect::<Vec<_>>().join("\n")
}

fn in_full(entry: &KnobEntry, columns: usize) -> String {
    let knob = entry.knob;
    let mut text = format!("{}\n{}\n\n", knob.id, wrapped(knob.summary, columns, 0));
    let mut line = |what: &str, value: &str| {
        let _ = writeln!(text, "{what:<13} {}", wrapped(value, columns, 14));
    };
    line("location", &knob.locator.to_string());
    line("scope", &knob.scope.to_string());
    line("takes effect", &knob.takes_effect.to_string());
    line("values", &knob.takes.to_string());
    line("default", knob.default);
    line("advised here", &advised(&entry.advised));
    if let Some(kernels) = &entry.kernels {
        line("kernels", kernels);
    }
    if let Some(owner) = knob.owned_by {
        line("owned by", &format!("{owner}: never changed on a Kubernetes node"));
    }
    if !knob.also_called.is_empty() {
        line("also called", &knob.also_called.join(", "));
    }
    for (profile, value) in &entry.set_by {
        line("set by", &format!("{profile}: {value}"));
    }
    line("why", knob.why);
    line("relieves", knob.relieves);
    line("risk", knob.risk);
    for source in knob.sources {
        line("source", source);
    }
    text
}

fn advised(all: &[Advised]) -> String {
    let devices_suffix = |devices: &[String]| {
        if devices.is_empty() { String::new() } else { format!(" for {}", devices.join(", ")) }
    };
    let reported =
        all.iter().map(|one| format!("{}{}: {}", one.advice.value, devices_suffix(&one.devices), one.advice.why));
    let reported: Vec<String> = reported.collect();
    if reported.is_empty() { "nothing for this machine: leave it as it is".to_owned() } else { reported.join("; ") }
}

/// A knob as JSON.
#[derive(Serialize)]
struct Shown {
    id: &'static str,
    layer: Layer,
    locator: Locator,
    scope: Scope,
    takes_effect: TakesEffect,
    takes: String,
    default: &'static str,
    summary: &'static str,
    why: &'static str,
    relieves: &'static str,
    risk: &'static str,
    sources: &'static [&'static str],
    since_kernel: Option<String>,
    until_kernel: Option<String>,
    also_called: &'static [&'static str],
    owned_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    profile_value: Option<&'static str>,
}

/// Knobs as pretty JSON, with a line feed at the end.
#[must_use]
pub fn json(entries: &[KnobEntry]) -> String {
    let version = |kernel: (u32, u32)| format!("{}.{}", kernel.0, kernel.1);
    let shown = |entry: &KnobEntry| {
        let knob = entry.knob;
        Shown {
            id: knob.id,
            layer: knob.layer,
            locator: knob.locator,
            scope: knob.scope,
            takes_effect: knob.takes_effect,
            takes: knob.takes.to_string(),
            default: knob.default,
            summary: knob.summary,
            why: knob.why,
            relieves: knob.relieves,
            risk: knob.risk,
            sources: knob.sources,
            since_kernel: knob.since.map(version),
            until_kernel: knob.until.map(version),
            also_called: knob.also_called,
            owned_by: knob.owned_by,
            profile_value: entry.profile_value,
        }
    };
    let shown: Vec<Shown> = entries.iter().map(shown).collect();
    crate::json::pretty(&shown).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use linerate_record::knob::RelievedResource;
    use linerate_record::knob::domain::number;

    use super::*;

    static KNOB: Knob = Knob {
        id: "vm.swappiness",
        layer: Layer::Vm,
        locator: Locator::Sysctl { name: "vm.swappiness" },
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        takes: number(0, 200),
        default: "60",
        summary: "How readily anonymous memory is swapped.",
        why: "An engine that is swapped answers late.",
        relief: RelievedResource::Memory,
        relieves: "memory",
        risk: "None.",
        sources: &["Linux, mm/vmscan.c"],
        since: None,
        until: Some((9, 1)),
        also_called: &[],
        owned_by: None,
    };

    fn entry() -> KnobEntry {
        KnobEntry {
            knob: &KNOB,
            title: "Memory",
            kernels: Some("no longer in 9.1".to_owned()),
            set_by: vec![("source-000-os", "10")],
            profile_value: None,
            advised: Vec::new(),
        }
    }

    #[test]
    fn lines_fit_a_terminal_and_are_whole_elsewhere() {
        for (columns, expected) in [(Some(6), "a lon…"), (Some(11), "a long line"), (None, "a long line")] {
            assert_eq!(cut("a long line", columns), expected);
        }
        let text = table(&[entry()], Some(("mine", "a profile that is told in full")), false, Some(40));
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        assert!(text.starts_with("mine: a profile that is told in full\n\nMemory\n  vm.swappiness  host"), "{text}");
        assert!(text.ends_with("\n1 knobs\n"), "{text}");
    }

    #[test]
    fn a_knob_in_full_says_what_it_takes_who_sets_it_and_what_is_advised() {
        let narrow = whole(&[entry()], 60);
        assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
        let text = whole(&[entry()], 100);
        for line in [
            "values        0 to 200\n",
            "advised here  nothing for this machine: leave it as it is\n",
            "kernels       no longer in 9.1\n",
            "set by        source-000-os: 10\n",
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        let advice = Advice { value: "1".to_owned(), why: "it serves".to_owned(), is_uncertain: false };
        let advised = vec![Advised { advice, devices: vec!["a".to_owned(), "b".to_owned()] }];
        let text = whole(&[KnobEntry { advised, ..entry() }], 100);
        assert!(text.contains("advised here  1 for a, b: it serves\n"), "{text}");
    }

    #[test]
    fn more_knobs_than_a_screen_holds_are_a_line_or_two_for_each_layer() {
        let entries: Vec<KnobEntry> = (0..50).map(|_| KnobEntry { profile_value: Some("10"), ..entry() }).collect();
        let brief = table(&entries, None, false, Some(80));
        assert_eq!(brief.lines().count(), EACH + 1, "{brief}");
        assert!(brief.lines().all(|line| line.chars().count() <= 80), "{brief}");
        assert!(brief.starts_with("  vm  ") && brief.contains(" (50): "), "{brief}");
        assert!(brief.contains("=10, ") && brief.contains(" more\n") && brief.contains("--layer LAYER"), "{brief}");
        for (all, columns) in [(true, Some(80)), (false, None)] {
            assert_eq!(table(&entries, None, all, columns).lines().count(), 52);
        }
    }

    #[test]
    fn json_has_the_value_of_a_profile_only_where_one_was_asked_for() {
        let values: serde_json::Value =
            serde_json::from_str(&json(&[entry(), KnobEntry { profile_value: Some("10"), ..entry() }])).unwrap();
        assert_eq!(values[0].get("profile_value"), None);
        assert_eq!(values[1]["profile_value"], "10");
        assert_eq!(values[0]["takes"], "0 to 200");
        assert_eq!(values[0]["until_kernel"], "9.1");
    }
}
