//! `linerate knobs`: the catalogue, as a table, or one knob in full.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use linerate_host::Root;
use linerate_model::audit::site_of;
use linerate_model::knobs::{self, KNOBS, Row, manual};
use linerate_model::profiles::{self, PROFILES, Profile, Value};
use linerate_record::knob::{Knob, Layer, Locator, Snapshot, Space};
use linerate_record::site::Site;
use serde::Serialize;

use crate::failure::Failure;
use crate::report;

const EXAMPLES: &str = "\
Examples:
  linerate knobs
  linerate knobs net.ipv4.tcp_rmem
  linerate knobs tcp_syn_backlog
      a name as some guide has it, misspelt or not, leads to its knob
  linerate knobs --layer net --profile s3-storage-node
  linerate knobs --profile source-003-full --json";

#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct KnobsFlags {
    /// A knob to show in full, with what is advised for this machine: its id, a name that a source has it under, or a
    /// part of one. [default: a line for each]
    #[arg(value_name = "ID")]
    id: Option<String>,
    /// Only knobs of a layer.
    #[arg(long, value_name = "LAYER", value_enum, conflicts_with = "id")]
    layer: Option<LayerFlag>,
    /// Only knobs of a profile, with its values where it has some of its own.
    #[arg(long, value_name = "PROFILE", conflicts_with = "id")]
    profile: Option<String>,
    /// JSON instead of text: an array of knobs.
    #[arg(long)]
    json: bool,
}

/// [`Layer`], as a flag has it; those without a knob are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LayerFlag(Layer);

/// Every layer as a flag; clap wants a slice.
const LAYERS: &[LayerFlag] = &[
    LayerFlag(Layer::Vm),
    LayerFlag(Layer::Cpu),
    LayerFlag(Layer::Kernel),
    LayerFlag(Layer::Fs),
    LayerFlag(Layer::Block),
    LayerFlag(Layer::Net),
    LayerFlag(Layer::Nic),
    LayerFlag(Layer::Bond),
    LayerFlag(Layer::Conntrack),
    LayerFlag(Layer::Boot),
    LayerFlag(Layer::Limits),
    LayerFlag(Layer::Kubernetes),
    LayerFlag(Layer::Dns),
    LayerFlag(Layer::Cni),
];

impl ValueEnum for LayerFlag {
    fn value_variants<'a>() -> &'a [Self] {
        LAYERS
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        Some(clap::builder::PossibleValue::new(self.0.name()))
    }
}

/// Does what the flags ask for.
pub(crate) fn run(flags: &KnobsFlags) -> Result<ExitCode, Failure> {
    let profile = flags.profile.as_deref().map(profile).transpose()?;
    let (rows, is_table) = match &flags.id {
        Some(id) => named(id)?,
        None => (listed(flags.layer.map(|layer| layer.0), profile), true),
    };
    let text = if flags.json {
        json(&rows, profile)
    } else if !is_table {
        let advice = Advised::here();
        rows.iter().map(|row| whole(row, &advice)).collect::<Vec<_>>().join("\n")
    } else {
        table(&rows, profile, std::io::stdout().is_terminal().then(|| report::look().width))
    };
    report::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn profile(name: &str) -> Result<&'static Profile, Failure> {
    profiles::find(name).ok_or_else(|| {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        Failure::usage(format!("no profile is called {name:?}: there are {}", names.join(", ")))
    })
}

/// The row of an id, or those that sources have under a name, with or without what stands before its last dots, or
/// those that have it somewhere in theirs; and whether they are so many that a line for each is what is wanted.
fn named(name: &str) -> Result<(Vec<&'static Row>, bool), Failure> {
    if let Some(row) = knobs::find(name) {
        return Ok((vec![row], false));
    }
    let rows = knobs::called(name);
    if !rows.is_empty() {
        return Ok((rows, false));
    }
    let short = format!(".{name}");
    let ends: Vec<&Row> = KNOBS.iter().filter(|row| is_end_of(&short, &row.knob)).collect();
    if !ends.is_empty() {
        return Ok((ends, false));
    }
    let part = name.to_lowercase();
    let has =
        |knob: &Knob| knob.id.contains(&part) || knob.also_called.iter().any(|n| n.to_lowercase().contains(&part));
    let within: Vec<&Row> = KNOBS.iter().filter(|row| part.len() >= PART_LEAST && has(&row.knob)).collect();
    if !within.is_empty() {
        let are_many = within.len() > 1;
        return Ok((within, are_many));
    }
    let near = knobs::nearest(name);
    let hint = if near.is_empty() {
        "linerate knobs lists what there is".to_owned()
    } else {
        format!("did you mean {}?", near.join(" or "))
    };
    Err(Failure::usage(format!("no knob is called {name:?}: {hint}")))
}

/// Fewer letters are in many names.
const PART_LEAST: usize = 3;

/// What is advised for this machine.
struct Advised {
    snapshot: Snapshot,
    site: Site,
}

impl Advised {
    fn here() -> Self {
        let snapshot = crate::tune::diff::snapshot(&Root::live(), &Space::Host);
        let site = site_of(&snapshot);
        Advised { snapshot, site }
    }

    /// Of one knob: each value with the devices that it is for, and why.
    fn of(&self, row: &Row) -> String {
        let mut told: Vec<(String, String, Vec<String>)> = Vec::new();
        let settings = self.snapshot.settings.iter().filter(|setting| setting.place.knob == row.knob.id);
        for setting in settings {
            let Some(advice) = knobs::advise(row, &self.snapshot, &self.site, &setting.place) else { continue };
            let device = setting.place.device.clone();
            match told.iter_mut().find(|(value, why, _)| *value == advice.value && *why == advice.why) {
                Some((_, _, devices)) => devices.extend(device),
                None => told.push((advice.value, advice.why, device.into_iter().collect())),
            }
        }
        let of = |devices: &[String]| {
            if devices.is_empty() { String::new() } else { format!(" for {}", devices.join(", ")) }
        };
        let told = told.iter().map(|(value, why, devices)| format!("{value}{}: {why}", of(devices)));
        let told: Vec<String> = told.collect();
        if told.is_empty() { "nothing for this machine: leave it as it is".to_owned() } else { told.join("; ") }
    }
}

fn is_end_of(short: &str, knob: &Knob) -> bool {
    knob.id.ends_with(short) || knob.also_called.iter().any(|other| other.ends_with(short))
}

fn listed(layer: Option<Layer>, profile: Option<&Profile>) -> Vec<&'static Row> {
    let is_asked = |row: &&Row| {
        layer.is_none_or(|layer| row.knob.layer == layer)
            && profile.is_none_or(|profile| profile.picks.iter().any(|pick| pick.knob == row.knob.id))
    };
    KNOBS.iter().filter(is_asked).collect()
}

/// What a profile sets a knob to, where it has a value of its own.
fn literal(profile: Option<&Profile>, knob: &Knob) -> Option<&'static str> {
    match profile?.picks.iter().find(|pick| pick.knob == knob.id)?.value {
        Value::Literal(value) => Some(value),
        Value::Advised => None,
    }
}

/// A line for each knob: id, value of the profile or else summary, scope, when it takes effect.
fn table(rows: &[&Row], profile: Option<&Profile>, columns: Option<usize>) -> String {
    let mut text = String::new();
    if let Some(profile) = profile {
        let _ = writeln!(text, "{}: {}\n", profile.name, profile.summary);
    }
    let width = rows.iter().map(|row| row.knob.id.len()).max().unwrap_or(0);
    let mut layer = None;
    for row in rows {
        let knob = &row.knob;
        if layer.replace(knob.layer) != Some(knob.layer) {
            let _ = writeln!(text, "{}", manual::title(knob.layer));
        }
        let what = literal(profile, knob).unwrap_or(knob.summary);
        let (scope, effect) = (knob.scope.to_string(), knob.takes_effect.to_string());
        let line = format!("  {:width$}  {scope:17}  {effect:14}  {what}", knob.id);
        let _ = writeln!(text, "{}", cut(&line, columns));
    }
    let _ = writeln!(text, "{} knobs", rows.len());
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

/// Columns of a knob in full.
const WIDTH: usize = 100;

/// A knob in full.
fn whole(row: &Row, advised: &Advised) -> String {
    let knob = &row.knob;
    let mut text = format!("{}\n{}\n\n", knob.id, manual::wrapped(knob.summary, WIDTH, 0));
    let mut line = |what: &str, value: &str| {
        let _ = writeln!(text, "{what:<13} {}", manual::wrapped(value, WIDTH, 14));
    };
    line("where", &knob.locator.to_string());
    line("scope", &knob.scope.to_string());
    line("takes effect", &knob.takes_effect.to_string());
    line("default", knob.default);
    line("advised here", &advised.of(row));
    if let Some(kernels) = manual::kernels(knob) {
        line("kernels", &kernels);
    }
    if let Some(owner) = knob.owned_by {
        line("belongs to", &format!("{owner}: never changed on a node of Kubernetes"));
    }
    if !knob.also_called.is_empty() {
        line("also called", &knob.also_called.join(", "));
    }
    for profile in PROFILES {
        if let Some(value) = literal(Some(profile), knob) {
            line("set by", &format!("{}: {value}", profile.name));
        }
    }
    line("why", knob.why);
    line("relieves", knob.relieves);
    line("risk", knob.risk);
    for source in knob.sources {
        line("source", source);
    }
    text
}

/// A knob as JSON.
#[derive(Serialize)]
struct Shown {
    id: &'static str,
    layer: Layer,
    locator: Locator,
    scope: linerate_record::knob::Scope,
    takes_effect: linerate_record::knob::TakesEffect,
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

fn json(rows: &[&Row], profile: Option<&Profile>) -> String {
    let version = |kernel: (u32, u32)| format!("{}.{}", kernel.0, kernel.1);
    let shown = |row: &&Row| {
        let knob = row.knob;
        Shown {
            id: knob.id,
            layer: knob.layer,
            locator: knob.locator,
            scope: knob.scope,
            takes_effect: knob.takes_effect,
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
            profile_value: literal(profile, &knob),
        }
    };
    let shown: Vec<Shown> = rows.iter().map(shown).collect();
    let mut text = serde_json::to_string_pretty(&shown).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_with_knobs_is_a_flag_and_no_other() {
        for layer in Layer::ALL {
            let has_knobs = !listed(Some(layer), None).is_empty();
            assert_eq!(LAYERS.contains(&LayerFlag(layer)), has_knobs, "{layer}");
        }
    }

    #[test]
    fn a_knob_is_found_by_id_by_a_sources_name_and_by_its_end() {
        for (name, id) in [
            ("net.ipv4.tcp_rmem", "net.ipv4.tcp_rmem"),
            ("tcp_rmem", "net.ipv4.tcp_rmem"),
            ("tcp_syn_backlog", "net.ipv4.tcp_max_syn_backlog"),
            ("ETCD_HEARTBEAT_INTERVAL", "etcd.heartbeat_interval"),
        ] {
            let ids: Vec<&str> = named(name).unwrap().0.iter().map(|row| row.knob.id).collect();
            assert_eq!(ids, [id], "{name}");
        }
        assert!(named("rp_filter").unwrap().0.len() > 1);
    }

    #[test]
    fn a_part_of_a_name_finds_every_knob_that_has_it() {
        let (rows, is_table) = named("rmem").unwrap();
        let ids: Vec<&str> = rows.iter().map(|row| row.knob.id).collect();
        assert!(is_table && ids.contains(&"net.core.rmem_max") && ids.contains(&"net.ipv4.tcp_rmem"), "{ids:?}");
        assert_eq!(named("swappi").unwrap().0.iter().map(|row| row.knob.id).collect::<Vec<_>>(), ["vm.swappiness"]);
        assert!(!named("swappi").unwrap().1 && named("qz").is_err());
    }

    #[test]
    fn a_knob_in_full_says_what_is_advised() {
        let advised = Advised::here();
        let text = whole(knobs::find("net.core.rmem_max").unwrap(), &advised);
        assert!(text.contains("\nadvised here  "), "{text}");
        let text = whole(knobs::find("net.ipv4.tcp_low_latency").unwrap(), &advised);
        assert!(text.contains("\nadvised here  nothing for this machine"), "{text}");
    }

    #[test]
    fn what_is_not_there_is_quoted_with_what_was_meant() {
        let error = named("vm.swapines").expect_err("no such knob").to_string();
        assert_eq!(error, "no knob is called \"vm.swapines\": did you mean vm.swappiness?");
        let error = named("qqqqqqqqqqqqqq").expect_err("no such knob").to_string();
        assert_eq!(error, "no knob is called \"qqqqqqqqqqqqqq\": linerate knobs lists what there is");
        assert!(profile("s3").expect_err("no such profile").to_string().contains("s3-storage-node"));
    }

    #[test]
    fn lines_fit_a_terminal_and_are_whole_elsewhere() {
        assert_eq!(cut("a long line", Some(6)), "a lon…");
        assert_eq!(cut("a long line", Some(11)), "a long line");
        assert_eq!(cut("a long line", None), "a long line");
        let rows = listed(Some(Layer::Net), None);
        let text = table(&rows, None, Some(80));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.ends_with(&format!("\n{} knobs\n", rows.len())), "{text}");
    }
}
