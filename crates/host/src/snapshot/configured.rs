//! Sysctls that files of the machine set at boot: those that knobs are about, and those that this kernel does not have.

use std::collections::BTreeMap;

use linerate_record::knob::{Configured, Knob, Locator};

use crate::root::{Root, names, text};

/// Where systemd-sysctl and `sysctl --system` look: a file hides those of the same name in later folders (sysctl.d(5)).
const FOLDERS: [&str; 4] = ["etc/sysctl.d", "run/sysctl.d", "usr/local/lib/sysctl.d", "usr/lib/sysctl.d"];

/// In the order in which they are set: the last of a name wins.
pub(super) fn configured(root: &Root, knobs: &[&'static Knob]) -> Vec<Configured> {
    let files = in_order(FOLDERS.map(|folder| names(root, folder)));
    let mut found = Vec::new();
    for file in files {
        let Ok(text) = text(root, &file, &mut Vec::new()).map(std::borrow::Cow::into_owned) else { continue };
        for (name, value) in text.lines().filter_map(line) {
            let is_there = exists(root, &name);
            if !is_there || is_of_knob(&name, knobs) {
                found.push(Configured { file: file.clone(), name, value, is_there });
            }
        }
    }
    found
}

/// The files that are read, by their own names whatever their folder. What `sysctl --system` reads besides comes last,
/// unless a link brings it in among the others, as Debian's does.
fn in_order(of_folders: [Vec<String>; 4]) -> Vec<String> {
    let mut files = BTreeMap::new();
    for (folder, names) in FOLDERS.iter().zip(of_folders) {
        for name in names.into_iter().filter(|name| name.ends_with(".conf")) {
            let path = format!("{folder}/{name}");
            files.entry(name).or_insert(path);
        }
    }
    let is_linked = files.contains_key("99-sysctl.conf");
    let last = (!is_linked).then(|| "etc/sysctl.conf".to_owned());
    files.into_values().chain(last).collect()
}

/// `net.core.somaxconn = 4096`, `-net/core/somaxconn=4096`; patterns are left out.
fn line(text: &str) -> Option<(String, String)> {
    let text = text.trim();
    if text.starts_with(['#', ';']) {
        return None;
    }
    let (name, value) = text.split_once('=')?;
    let name = name.trim().trim_start_matches('-');
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/".contains(c);
    let plain = !name.is_empty() && name.chars().all(is_plain) && !name.contains("..");
    // The separator that comes first is the one; the other then stands for a dot in a name.
    let by_slashes = name.find(['.', '/']).is_some_and(|at| name[at..].starts_with('/'));
    let dotted =
        if by_slashes { name.replace('.', "\u{1}").replace('/', ".").replace('\u{1}', "/") } else { name.into() };
    plain.then(|| (dotted, value.trim().to_owned()))
}

fn exists(root: &Root, name: &str) -> bool {
    // A dot in an interface's name is a slash here, and changes places with the others.
    let path: String = name
        .chars()
        .map(|c| {
            if c == '.' {
                '/'
            } else if c == '/' {
                '.'
            } else {
                c
            }
        })
        .collect();
    root.0.join("proc/sys").join(path.trim_start_matches('/')).exists()
}

fn is_of_knob(name: &str, knobs: &[&'static Knob]) -> bool {
    knobs.iter().any(|knob| {
        matches!(knob.locator, Locator::Sysctl { name: own } if own == name) || knob.also_called.contains(&name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_read_by_their_names_and_hide_those_of_later_folders() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let (etc, run) = (names(&["90-s3.conf", "10-own.conf", "README"]), names(&["50-x.conf"]));
        let order = in_order([etc.clone(), run.clone(), names(&[]), names(&["95-late.conf", "90-s3.conf"])]);
        let expected = [
            "etc/sysctl.d/10-own.conf",
            "run/sysctl.d/50-x.conf",
            "etc/sysctl.d/90-s3.conf",
            "usr/lib/sysctl.d/95-late.conf",
            "etc/sysctl.conf",
        ];
        assert_eq!(order, expected);
        let order = in_order([[etc, names(&["99-sysctl.conf"])].concat(), run, names(&[]), names(&[])]);
        assert_eq!(order.last().map(String::as_str), Some("etc/sysctl.d/99-sysctl.conf"));
    }

    #[test]
    fn lines_are_read_as_sysctl_does() {
        let cases = [
            ("vm.swappiness = 10", Some(("vm.swappiness", "10"))),
            ("-net/core/somaxconn=4096", Some(("net.core.somaxconn", "4096"))),
            ("net/ipv4/conf/eth0.1/rp_filter=0", Some(("net.ipv4.conf.eth0/1.rp_filter", "0"))),
            ("# vm.swappiness = 10", None),
            ("; vm.swappiness = 10", None),
            ("net.ipv4.conf.*.rp_filter = 2", None),
            ("../x = 1", None),
            ("nonsense", None),
        ];
        for (text, expected) in cases {
            let read = line(text);
            let read = read.as_ref().map(|(name, value)| (name.as_str(), value.as_str()));
            assert_eq!(read, expected, "{text:?}");
        }
    }
}
