//! A running cluster against what would be written: dry runs, which change nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use linerate_kube::client_fleet::{ObjectName, documents};
use linerate_kube::comparison::ComparedObject;
use linerate_kube::object_diff::DifferingField;
use linerate_record::units::grouped;
use linerate_render::Rendering;

use crate::remote::kube_cluster::{ClusterFlags, connect, kube_failure};
use crate::run::interrupt;
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;
use crate::terminal::progress::Progress;

/// Most resources of a kind that are named for one reason.
const LISTED_RESOURCES_MAX: usize = 10;

/// What was compared, and the file that it is from.
struct ComparedResource {
    path: String,
    name: ObjectName,
    is: ComparedObject,
}

pub(super) fn diff_cluster(rendering: &Rendering, flags: &ClusterFlags) -> Result<ExitCode, Failure> {
    let (mut objects, mut paths) = (Vec::new(), Vec::new());
    for file in rendering.resources() {
        let file_documents = documents(&file.text).map_err(|why| Failure::Command(format!("{}: {why}", file.path)))?;
        paths.extend(file_documents.iter().map(|_| file.path.clone()));
        objects.extend(file_documents);
    }
    let interrupt = interrupt::watch_signals("error: interrupted again: nothing was changed".to_owned())?;
    let cluster = connect(flags, flags.context.as_deref())?;
    let progress = Progress::new(Duration::ZERO, false);
    let each = |compared: usize| {
        if compared > 0 {
            let (compared, all) = (grouped(compared as u64), grouped(objects.len() as u64));
            progress.goes_on(&format!("{compared} of {all} compared"), false);
        }
        !interrupt.stop.load(Ordering::Relaxed)
    };
    let compared = cluster.compare(&objects, each).map_err(|fault| kube_failure(&fault))?;
    progress.end();
    let (count, all) = (compared.len(), objects.len());
    let compared = compared.into_iter().zip(paths).map(|((name, is), path)| ComparedResource { path, name, is });
    let compared: Vec<ComparedResource> = compared.collect();
    let whose = flags.context.as_ref().map_or_else(String::new, |context| format!(" of context {context}"));
    printing::print(&difference_text(&compared, &whose))?;
    let differing = compared.iter().filter(|one| one.is != ComparedObject::Same).count();
    if count < all {
        let why = format!("interrupted: {} of {} were compared", grouped(count as u64), grouped_resources(all));
        return Err(Failure::Outcome { why, code: code::INTERRUPTED });
    }
    if differing == 0 {
        return Ok(ExitCode::SUCCESS);
    }
    let why = format!("{} of {} differ in the cluster{whose}", grouped(differing as u64), grouped_resources(all));
    Err(Failure::Outcome { why, code: code::MISSED })
}

fn grouped_resources(count: usize) -> String {
    format!("{} resource{}", grouped(count as u64), if count == 1 { "" } else { "s" })
}

/// What differs, the first of many of a kind.
fn difference_text(compared: &[ComparedResource], whose: &str) -> String {
    let mut text = String::new();
    let mut named: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for one in compared {
        let Some(word) = outcome_word(&one.is) else { continue };
        let so_far = named.entry((word, &one.name.kind)).or_default();
        *so_far += 1;
        if *so_far > LISTED_RESOURCES_MAX {
            continue;
        }
        // Writing to a string does not fail.
        let _ = writeln!(text, "{word:8} {}  {}", one.name, one.path);
        for line in details(&one.is) {
            let _ = writeln!(text, "    {line}");
        }
    }
    for ((word, kind), count) in named.iter().filter(|(_, count)| **count > LISTED_RESOURCES_MAX) {
        let _ = writeln!(text, "{word:8} {} more of kind {kind}", grouped((count - LISTED_RESOURCES_MAX) as u64));
    }
    let same = compared.iter().filter(|one| one.is == ComparedObject::Same).count();
    let _ = writeln!(
        text,
        "{} of {} are in the cluster{whose} as rendered",
        grouped(same as u64),
        grouped_resources(compared.len())
    );
    text
}

fn outcome_word(is: &ComparedObject) -> Option<&'static str> {
    match is {
        ComparedObject::Same => None,
        ComparedObject::Missing => Some("missing"),
        ComparedObject::UnknownKind => Some("unknown"),
        ComparedObject::Differs(_) => Some("differs"),
        ComparedObject::Refused(_) => Some("refused"),
    }
}

fn details(is: &ComparedObject) -> Vec<String> {
    match is {
        ComparedObject::Same | ComparedObject::Missing => Vec::new(),
        ComparedObject::UnknownKind => vec!["the cluster has no such kind: install what defines it".to_owned()],
        ComparedObject::Differs(fields) => fields.iter().map(field_text).collect(),
        ComparedObject::Refused(why) => vec![format!("it would not be taken: {why}")],
    }
}

fn field_text(field: &DifferingField) -> String {
    let value = |value: &Option<String>| value.clone().unwrap_or_else(|| "nothing".to_owned());
    format!("{}: {} in the cluster, {} as rendered", field.path, value(&field.is), value(&field.wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(kind: &str, name: &str, is: ComparedObject) -> ComparedResource {
        let name = ObjectName { kind: kind.to_owned(), namespace: None, name: name.to_owned() };
        ComparedResource { path: "storage/volumes.yaml".to_owned(), name, is }
    }

    #[test]
    fn what_differs_is_named_with_both_values() {
        let differing = |is: Option<&str>, wanted: Option<&str>| DifferingField {
            path: "spec.a".to_owned(),
            is: is.map(str::to_owned),
            wanted: wanted.map(str::to_owned),
        };
        let fields = vec![differing(Some("1"), Some("2")), differing(None, Some("3")), differing(Some("4"), None)];
        let text = difference_text(
            &[
                one("Service", "a", ComparedObject::Differs(fields)),
                one("Service", "b", ComparedObject::Same),
                one("CiliumBGPPeerConfig", "c", ComparedObject::UnknownKind),
                one("StatefulSet", "d", ComparedObject::Refused("field is immutable".to_owned())),
            ],
            " of context x",
        );
        assert_eq!(
            text,
            "differs  Service a  storage/volumes.yaml\n    spec.a: 1 in the cluster, 2 as rendered\n    \
             spec.a: nothing in the cluster, 3 as rendered\n    spec.a: 4 in the cluster, nothing as rendered\n\
             unknown  CiliumBGPPeerConfig c  storage/volumes.yaml\n    \
             the cluster has no such kind: install what defines it\n\
             refused  StatefulSet d  storage/volumes.yaml\n    it would not be taken: field is immutable\n\
             1 of 4 resources are in the cluster of context x as rendered\n"
        );
    }

    #[test]
    fn of_many_the_first_are_named() {
        let many: Vec<ComparedResource> =
            (0..12_345).map(|i| one("PersistentVolume", &format!("v{i}"), ComparedObject::Missing)).collect();
        let text = difference_text(&many, "");
        assert_eq!(text.lines().count(), 12, "{text}");
        assert!(text.contains("missing  12 335 more of kind PersistentVolume\n"), "{text}");
    }
}
