//! What keeps a bucket, and what ends a cleaning, in words.

use std::path::Path;
use std::time::Duration;

use linerate_load::bucket::{BucketContents, is_of_run};
use linerate_record::experiment::KeySource;
use linerate_record::load::TlsTrust;
use linerate_record::sanitize::{clause, in_line};
use linerate_record::shell;
use linerate_record::units::{duration_ns, grouped};

/// The command that cleans after a run, with what no folder may hold: whom to trust, and whose keys to take.
pub(crate) fn command(run: &Path, trust: &TlsTrust, anonymous: bool, keys: &KeySource) -> String {
    let ca_file = trust.ca_file.as_ref().map_or_else(String::new, |path| format!(" --ca-file {}", shell::path(path)));
    let insecure = if trust.insecure { " --insecure" } else { "" };
    let keys = match keys {
        _ if anonymous => " --anonymous".to_owned(),
        KeySource::Profile(name) => format!(" --profile {}", shell::word(name)),
        KeySource::Alias(name) => format!(" --alias {}", shell::word(name)),
        KeySource::Environment => String::new(),
    };
    format!("linerate clean {}{ca_file}{insecure}{keys}", shell::path(run))
}

/// Why nothing more is deleted after so long.
pub(crate) fn gave_up_text(within: Duration) -> String {
    const HOUR_S: u64 = 3_600;
    let within = match within.as_secs() {
        seconds @ HOUR_S.. if seconds % HOUR_S == 0 => format!("{} h", seconds / HOUR_S),
        _ => duration_ns(within.as_nanos() as f64),
    };
    format!("deletion was given up after {within}, and listings still showed something")
}

/// What keeps a bucket, in words.
pub(crate) fn bucket_contents_text(found: &BucketContents, run_prefix: &str) -> String {
    let others_text = |keys: &[String]| {
        let others = keys.iter().filter(|key| !is_of_run(key, run_prefix)).count();
        keys.iter().find(|key| !is_of_run(key, run_prefix)).map(|first| (in_line(first).into_owned(), others))
    };
    let more = if found.more { " or more" } else { "" };
    let alongside = if found.own { ", beside something of this run" } else { "" };
    match (others_text(&found.others), others_text(&found.versions)) {
        (Some((first, 1)), _) if more.is_empty() => {
            format!("1 object that is not of this run is in it, {first:?}{alongside}")
        }
        (Some((first, n)), _) => {
            let n = grouped(n as u64);
            format!("{n}{more} objects that are not of this run are in it, the first is {first:?}{alongside}")
        }
        (None, Some((first, n))) => {
            let objects = if n == 1 && more.is_empty() { "object that is" } else { "objects that are" };
            let n = grouped(n as u64);
            format!(
                "versions or delete markers of {n}{more} {objects} not of this run are in it, the first of \
                 {first:?}{alongside}"
            )
        }
        _ if found.own => "something of this run is still in it".to_owned(),
        _ if found.uploads => "uploads that are not of this run are in it, and were not completed".to_owned(),
        _ => match (&found.unknown, &found.folder) {
            (Some(why), _) => format!("it is not known whether something else is in it: {}", clause(why)),
            (None, Some(first)) => {
                let first = in_line(first);
                format!("empty folders of this run are in it, which the target does not remove, the first is {first:?}")
            }
            (None, None) => "the target says that it is not empty, but listings show nothing in it".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_keeps_a_bucket_is_told_by_what_is_in_it() {
        let contents_text = |keys: &[&str], more, own, uploads| {
            let others = keys.iter().map(ToString::to_string).collect();
            bucket_contents_text(&BucketContents { own, others, more, uploads, ..BucketContents::default() }, "p/r-1/")
        };
        let one = "1 object that is not of this run is in it, \"x\"";
        assert_eq!(contents_text(&["x"], false, false, false), one);
        assert_eq!(contents_text(&["x"], false, true, false), format!("{one}, beside something of this run"));
        let two = "2 objects that are not of this run are in it, the first is \"a\"";
        assert_eq!(contents_text(&["a", "p/r-2/0/1"], false, false, false), two);
        assert!(contents_text(&["a"], true, true, false).starts_with("1 or more objects that are not"));
        assert!(contents_text(&[], false, true, true).starts_with("something of this run"));
        assert!(contents_text(&[], false, false, true).starts_with("uploads that are not of this run"));
        assert!(contents_text(&[], false, false, false).starts_with("the target says that it is not empty"));
        let with = |versions: &[&str], more, own, unknown: Option<&str>| {
            let versions = versions.iter().map(ToString::to_string).collect();
            let unknown = unknown.map(str::to_owned);
            bucket_contents_text(
                &BucketContents { own, versions, more, unknown, ..BucketContents::default() },
                "p/r-1/",
            )
        };
        for (found, expected) in [
            (
                with(&["x"], false, false, Some("denied")),
                "versions or delete markers of 1 object that is not of this run are in it, the first of \"x\"",
            ),
            (
                with(&["x", "y"], true, true, None),
                "versions or delete markers of 2 or more objects that are not of this run are in it, the first of \
                 \"x\", beside something of this run",
            ),
            (with(&[], false, true, Some("denied")), "something of this run is still in it"),
            (with(&[], false, false, Some("denied.")), "it is not known whether something else is in it: denied"),
        ] {
            assert_eq!(found, expected);
        }
        let folder = Some("p/r-1/000/".to_owned());
        let found = bucket_contents_text(&BucketContents { folder, ..BucketContents::default() }, "p/r-1/");
        assert!(found.starts_with("empty folders of this run are in it") && found.contains("p/r-1/000/"), "{found}");
    }
}
