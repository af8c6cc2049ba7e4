//! `linerate knobs`: the catalogue, as a table, or one knob in full.

pub(crate) mod flags;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use linerate_host::Root;
use linerate_record::knob::{Knob, Layer, Snapshot, Space};
use linerate_record::site::Site;
use linerate_report::knobs::{self as shown, KnobEntry};
use linerate_settings::audit::site_from_machine;
use linerate_settings::knobs::{self, KNOBS, KnobRow, manual};
use linerate_settings::profiles::{self, PROFILES, Profile, Value};

use crate::run::wanted_changes;
use crate::terminal::failure::Failure;
use crate::terminal::printing;
use flags::KnobsFlags;

/// What is wrong with what the flags name.
pub(crate) fn check(flags: &KnobsFlags) -> Result<(), Failure> {
    let id = flags.id.as_deref().map(knobs_named).transpose().err();
    let profile = flags.profile.as_deref().map(profile).transpose().err();
    if id.is_none() && profile.is_none() { Ok(()) } else { Err(Failure::combine([id, profile])) }
}

/// Does what the flags ask for.
pub(crate) fn run(flags: &KnobsFlags) -> Result<ExitCode, Failure> {
    let profile = flags.profile.as_deref().map(profile).transpose()?;
    let (rows, is_table) = match &flags.id {
        Some(id) => knobs_named(id)?,
        None => (listed_knobs(flags.layer.map(|layer| layer.0), profile), true),
    };
    let mut entries: Vec<KnobEntry> = rows.iter().map(|row| entry(row, profile)).collect();
    let text = if flags.json {
        shown::json(&entries)
    } else if !is_table {
        let advice = Advised::for_this_machine();
        for (entry, row) in entries.iter_mut().zip(&rows) {
            entry.advised = advice.for_row(row);
        }
        shown::whole(&entries, crate::terminal::printing::text_style().width)
    } else {
        let columns = std::io::stdout().is_terminal().then(|| printing::text_style().width);
        shown::table(&entries, profile.map(|profile| (profile.name, profile.summary)), flags.all, columns)
    };
    printing::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn profile(name: &str) -> Result<&'static Profile, Failure> {
    profiles::find(name).ok_or_else(|| {
        let names: Vec<&str> = PROFILES.iter().map(|profile| profile.name).collect();
        Failure::usage(format!("there is no profile {name:?}: there are {}", names.join(", ")))
    })
}

/// The row of an id, or those that sources have under a name, with or without what stands before its last dots, or
/// those that have it somewhere in theirs; and whether they are so many that a line for each is what is wanted.
fn knobs_named(name: &str) -> Result<(Vec<&'static KnobRow>, bool), Failure> {
    if let Some(row) = knobs::find(name) {
        return Ok((vec![row], false));
    }
    let rows = knobs::called(name);
    if !rows.is_empty() {
        return Ok((rows, false));
    }
    let short = format!(".{name}");
    let ends: Vec<&KnobRow> = KNOBS.iter().filter(|row| is_end_of(&short, &row.knob)).collect();
    if !ends.is_empty() {
        return Ok((ends, false));
    }
    let part = name.to_lowercase();
    let has =
        |knob: &Knob| knob.id.contains(&part) || knob.also_called.iter().any(|n| n.to_lowercase().contains(&part));
    let within: Vec<&KnobRow> = KNOBS.iter().filter(|row| part.len() >= PART_CHARS_MIN && has(&row.knob)).collect();
    if !within.is_empty() {
        let are_many = within.len() > 1;
        return Ok((within, are_many));
    }
    let near = knobs::nearest(name);
    let hint = if near.is_empty() {
        "linerate knobs lists them all".to_owned()
    } else {
        format!("did you mean {}?", near.join(" or "))
    };
    Err(Failure::usage(format!("there is no knob {name:?}: {hint}")))
}

/// Fewer letters are in many names.
const PART_CHARS_MIN: usize = 3;

/// What is advised for this machine.
struct Advised {
    snapshot: Snapshot,
    site: Site,
}

impl Advised {
    fn for_this_machine() -> Self {
        let snapshot = wanted_changes::snapshot(&Root::live(), &Space::Host);
        let site = site_from_machine(&snapshot);
        Advised { snapshot, site }
    }

    /// Of one knob: each value with the devices that it is for, and why.
    fn for_row(&self, row: &KnobRow) -> Vec<shown::Advised> {
        let mut reported: Vec<shown::Advised> = Vec::new();
        let settings = self.snapshot.settings.iter().filter(|setting| setting.place.knob == row.knob.id);
        for setting in settings {
            let Some(advice) = knobs::advise(row, &self.snapshot, &self.site, &setting.place) else { continue };
            let device = setting.place.device.clone();
            match reported.iter_mut().find(|one| one.advice == advice) {
                Some(one) => one.devices.extend(device),
                None => reported.push(shown::Advised { advice, devices: device.into_iter().collect() }),
            }
        }
        reported
    }
}

/// A knob as it is shown.
fn entry(row: &'static KnobRow, profile: Option<&Profile>) -> KnobEntry {
    let knob = &row.knob;
    let set_by = |profile: &Profile| Some((profile.name, value_of_profile(Some(profile), knob)?));
    KnobEntry {
        knob,
        title: manual::title(knob.layer),
        kernels: manual::kernels(knob),
        set_by: PROFILES.iter().filter_map(set_by).collect(),
        profile_value: value_of_profile(profile, knob),
        advised: Vec::new(),
    }
}

fn is_end_of(short: &str, knob: &Knob) -> bool {
    knob.id.ends_with(short) || knob.also_called.iter().any(|other| other.ends_with(short))
}

fn listed_knobs(layer: Option<Layer>, profile: Option<&Profile>) -> Vec<&'static KnobRow> {
    let is_requested = |row: &&KnobRow| {
        layer.is_none_or(|layer| row.knob.layer == layer)
            && profile.is_none_or(|profile| profile.picks.iter().any(|pick| pick.knob == row.knob.id))
    };
    KNOBS.iter().filter(is_requested).collect()
}

/// What a profile sets a knob to, where it has a value of its own.
fn value_of_profile(profile: Option<&Profile>, knob: &Knob) -> Option<&'static str> {
    match profile?.picks.iter().find(|pick| pick.knob == knob.id)?.value {
        Value::Literal(value) => Some(value),
        Value::Advised => None,
    }
}

#[cfg(test)]
mod tests {
    use super::flags::{LAYERS, LayerFlag};
    use super::*;

    #[test]
    fn every_layer_with_knobs_is_a_flag_and_no_other() {
        for layer in Layer::ALL {
            let has_knobs = !listed_knobs(Some(layer), None).is_empty();
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
            let ids: Vec<&str> = knobs_named(name).unwrap().0.iter().map(|row| row.knob.id).collect();
            assert_eq!(ids, [id], "{name}");
        }
        assert!(knobs_named("rp_filter").unwrap().0.len() > 1);
    }

    #[test]
    fn a_part_of_a_name_finds_every_knob_that_has_it() {
        let (rows, is_table) = knobs_named("rmem").unwrap();
        let ids: Vec<&str> = rows.iter().map(|row| row.knob.id).collect();
        assert!(is_table && ids.contains(&"net.core.rmem_max") && ids.contains(&"net.ipv4.tcp_rmem"), "{ids:?}");
        assert_eq!(
            knobs_named("swappi").unwrap().0.iter().map(|row| row.knob.id).collect::<Vec<_>>(),
            ["vm.swappiness"]
        );
        assert!(!knobs_named("swappi").unwrap().1 && knobs_named("qz").is_err());
    }

    #[test]
    fn what_is_advised_here_is_handed_over_with_its_devices() {
        let advised = Advised::for_this_machine();
        assert!(!advised.for_row(knobs::find("net.core.rmem_max").unwrap()).is_empty());
        assert_eq!(advised.for_row(knobs::find("net.ipv4.tcp_low_latency").unwrap()), []);
        let all = advised.for_row(knobs::find("nic.mtu").unwrap());
        assert!(all.iter().all(|one| !one.devices.is_empty()), "{all:?}");
    }

    #[test]
    fn what_is_not_there_is_quoted_with_what_was_meant() {
        let error = knobs_named("vm.swapines").expect_err("no such knob").to_string();
        assert_eq!(error, "there is no knob \"vm.swapines\": did you mean vm.swappiness?");
        let error = knobs_named("qqqqqqqqqqqqqq").expect_err("no such knob").to_string();
        assert_eq!(error, "there is no knob \"qqqqqqqqqqqqqq\": linerate knobs lists them all");
        assert!(profile("s3").expect_err("no such profile").to_string().contains("s3-storage-node"));
    }
}
