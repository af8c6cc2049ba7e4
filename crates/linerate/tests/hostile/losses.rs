//! Servers that confirm every object and lose some of more than are listed.

use std::collections::BTreeMap;

use linerate_record::finding::{FindingKind, Severity};
use tempfile::tempdir;

use super::server::{Hostile, ReceivedRequest, Said, well};
use super::{bench, flags, says, shown, view};

/// More than two pages of a listing, also if a fifth of them is lost.
const MANY: &str = "--op list --objects 3000";

fn loses_every_fifth(requested: &ReceivedRequest, _: &mut BTreeMap<String, u64>) -> Option<Said> {
    let name = requested.key.rsplit('/').next()?.split('-').next()?;
    let is_lost = requested.method == "PUT" && u64::from_str_radix(name, 16).is_ok_and(|seq| seq % 5 == 4);
    is_lost.then(|| says(""))?
}

#[test]
fn a_run_of_which_a_fifth_was_lost_is_no_success_however_many_objects_there_are() {
    let (hostile, out) = (Hostile::serve(loses_every_fifth), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, MANY));
    assert_eq!(output.status.code(), Some(4), "{}", shown(&output));
    let found = view(out.path()).findings.into_iter().find(|found| found.kind == FindingKind::NotStored);
    let found = found.unwrap_or_else(|| panic!("{}", shown(&output)));
    assert_eq!(found.severity, Severity::Critical);
    let is_of_confirmed = found.evidence.contains("of 64 objects that the target confirmed, such as object");
    assert!(found.evidence.starts_with("HEAD does not find") && is_of_confirmed, "{found:?}");
    let (hostile, out) = (Hostile::serve(well), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, MANY));
    assert!(output.status.success() && hostile.count() == 0, "{}", shown(&output));
    assert!(view(out.path()).findings.iter().all(|found| found.kind != FindingKind::NotStored), "{}", shown(&output));
}
