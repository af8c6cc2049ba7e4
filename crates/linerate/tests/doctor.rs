//! `linerate doctor` of nodes that are this machine: one screen, all parts in JSON, and nothing is written.

use std::fs;
use std::path::Path;
use std::process::Output;

use linerate_record::checkup::{Checkup, ProposalBasis};

use crate::running::agents::{Place, with_fleet};
use crate::running::shown;

fn here(name: &str) -> String {
    format!("{{name: {name}, role: storage, reach: here}}")
}

fn doctor(fleet: &Path, words: &[&str]) -> Output {
    with_fleet(&["doctor"], fleet).args(words).output().expect("linerate runs")
}

#[test]
fn a_check_up_fits_a_screen_and_has_all_parts_in_json() {
    let place = Place::make();
    let fleet = place.fleet(&[here("a"), here("b"), here("c"), here("d")]);
    let output = doctor(&fleet, &["--for", "5s"]);
    let text = shown(&output);
    assert!(output.status.success(), "{text}");
    for part in [" read ", " should ", " does ", "linerate discover ", "linerate audit "] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(String::from_utf8_lossy(&output.stdout).lines().count() <= 25, "{text}");
    place.assert_over();

    let json = doctor(&fleet, &["--no-live", "--json"]);
    let checkup: Checkup = serde_json::from_slice(&json.stdout).unwrap_or_else(|_| panic!("{}", shown(&json)));
    assert_eq!((checkup.discovered.nodes_read, checkup.is_site_given), (4, false));
    assert!(checkup.plan.is_some() && checkup.diagnosis.is_none() && checkup.audit.audited.len() == 4);
    let bases: Vec<ProposalBasis> = checkup.proposals.iter().map(|proposal| proposal.basis).collect();
    assert!(bases.is_sorted(), "{bases:?}");
    let settings = checkup.proposals.iter().find(|proposal| proposal.basis == ProposalBasis::Settings);
    assert!(settings.is_none_or(|settings| settings.remedy.starts_with("linerate tune diff --fleet ")), "{settings:?}");
}

#[test]
fn a_site_file_is_what_is_planned_and_its_mistakes_come_before_any_node_is_reached() {
    let place = Place::make();
    let fleet = place.fleet(&[here("a"), here("b"), here("c"), here("d")]);
    let site = place.path("site.yaml");
    let text = "nodes:\n  count: 4\n  drives: {count: 4, capacity: 1TB}\n  nics: {name: eth0, speed: 100Gb/s}\n\
                engine: minio\n";
    fs::write(&site, text).expect("written");
    let json = doctor(&fleet, &["--no-live", "--json", "--site", &site.display().to_string()]);
    let checkup: Checkup = serde_json::from_slice(&json.stdout).unwrap_or_else(|_| panic!("{}", shown(&json)));
    let drives = checkup.plan.as_ref().map(|plan| plan.site.groups[0].drives[0].count);
    assert!(checkup.is_site_given && drives == Some(4), "{}", shown(&json));

    fs::write(&site, "nodes: 7\n").expect("written");
    let bad = doctor(&fleet, &["--site", &site.display().to_string()]);
    assert!(bad.status.code() == Some(2) && shown(&bad).contains("site.yaml:1:8"), "{}", shown(&bad));
    let both = doctor(&fleet, &["--no-live", "--for", "9s"]);
    assert_eq!(both.status.code(), Some(2), "{}", shown(&both));
}

#[test]
fn nodes_that_are_not_reached_end_it_with_3_and_the_others_are_judged() {
    let place = Place::make();
    let dead = "{name: gone, role: storage, reach: 'exec:exit 7'}".to_owned();
    let fleet = place.fleet(&[here("a"), here("b"), here("c"), dead.clone()]);
    let output = doctor(&fleet, &["--no-live"]);
    let text = shown(&output);
    assert!(output.status.code() == Some(3) && text.contains("3 of 4 nodes") && text.contains("gone"), "{text}");
    assert!(text.contains(" should "), "{text}");
    let none = doctor(&place.fleet(&[dead]), &["--no-live"]);
    assert!(none.status.code() == Some(3) && shown(&none).contains("no node was read"), "{}", shown(&none));
}
