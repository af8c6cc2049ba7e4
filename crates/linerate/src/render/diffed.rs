//! A running cluster against what would be written: dry runs, which change nothing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::Duration;

use linerate_kube::compared::ComparedObject;
use linerate_kube::differing::DifferingField;
use linerate_kube::up::{ObjectName, documents};
use linerate_record::units::grouped;
use linerate_render::Rendering;

use crate::clusters::{ClusterFlags, connected, failed};
use crate::failure::{Failure, code};
use crate::progress::Progress;
use crate::{interrupt, printing};

/// Most resources of a kind that are named for one reason.
const NAMED_MAX: usize = 10;

/// What was compared, and the file that it is from.
struct ComparedResource {
    path: String,
    name: ObjectName,
    is: ComparedObject,
}

pub(super) fn diffed(rendering: &Rendering, flags: &ClusterFlags) -> Result<ExitCode, Failure> {
    let (mut objects, mut paths) = (Vec::new(), Vec::new());
    for file in rendering.resources() {
        let of_file = documents(&file.text).map_err(|why| Failure::Command(format!("{}: {why}", file.path)))?;
        paths.extend(of_file.iter().map(|_| file.path.clone()));
        objects.extend(of_file);
    }
    let interrupt = interrupt::watch("error: interrupted again: nothing was changed".to_owned())?;
    let cluster = connected(flags, flags.context.as_deref())?;
    let progress = Progress::new(Duration::ZERO, false);
    let each = |compared: usize| {
        if compared > 0 {
            let (compared, all) = (grouped(compared as u64), grouped(objects.len() as u64));
            progress.goes_on(&format!("{compared} of {all} compared"), false);
        }
        !interrupt.stop.load(Ordering::Relaxed)
    };
    let compared = cluster.compare(&objects, each).map_err(|fault| failed(&fault))?;
    progress.end();
    let (count, all) = (compared.len(), objects.len());
    let compared = compared.into_iter().zip(paths).map(|((name, is), path)| ComparedResource { path, name, is });
    let compared: Vec<ComparedResource> = compared.collect();
    let whose = flags.context.as_ref().map_or_else(String::new, |context| format!(" of context {context}"));
    printing::print(&shown(&compared, &whose))?;
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
fn shown(compared: &[ComparedResource], whose: &str) -> String {
    let mut text = String::new();
    let mut named: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for one in compared {
        let Some(word) = word(&one.is) else { continue };
        let so_far = named.entry((word, &one.name.kind)).or_default();
        *so_far += 1;
        if *so_far > NAMED_MAX {
            continue;
        }
        // Writing to a string does not fail.
        let _ = writeln!(text, "{word:8} {}  {}", one.name, one.path);
        for line in details(&one.is) {
            let _ = writeln!(text, "    {line}");
        }
    }
    for ((word, kind), count) in named.iter().filter(|(_, count)| **count > NAMED_MAX) {
        let _ = writeln!(text, "{word:8} {} more of kind {kind}", grouped((count - NAMED_MAX) as u64));
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

fn word(is: &ComparedObject) -> Option<&'static str> {
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
        ComparedObject::Differs(fields) => fields.iter().map(field).collect(),
        ComparedObject::Refused(why) => vec![format!("it would not be taken: {why}")],
    }
}

fn field(field: &DifferingField) -> String {
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
        let field = |is: Option<&str>, wanted: Option<&str>| DifferingField {
            path: "spec.a".to_owned(),
            is: is.map(str::to_owned),
            wanted: wanted.map(str::to_owned),
        };
        let fields = vec![field(Some("1"), Some("2")), field(None, Some("3")), field(Some("4"), None)];
        let text = shown(
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
        let text = shown(&many, "");
        assert_eq!(text.lines().count(), 12, "{text}");
        assert!(text.contains("missing  12 335 more of kind PersistentVolume\n"), "{text}");
    }
}
