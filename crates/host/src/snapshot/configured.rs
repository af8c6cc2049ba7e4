//! Sysctls that files of the machine set at boot: those that knobs are about, and those that this kernel does not have.

use linerate_record::knob::{Configured, Knob, Locator};

use crate::root::{Root, names, text};

/// Where `sysctl --system` and systemd look, the first first.
const FOLDERS: [&str; 3] = ["etc/sysctl.d", "run/sysctl.d", "usr/lib/sysctl.d"];

pub(super) fn configured(root: &Root, knobs: &[&'static Knob]) -> Vec<Configured> {
    let mut files = vec!["etc/sysctl.conf".to_owned()];
    for folder in FOLDERS {
        let own = names(root, folder).into_iter().filter(|name| name.ends_with(".conf"));
        files.extend(own.map(|name| format!("{folder}/{name}")));
    }
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
