//! The drives of a machine: a unit of systemd that mounts each of them, and when their free space is discarded.

use std::fmt::Write as _;

use linerate_record::site::{Hosts, NodeGroup};

use crate::catalogue::{ComponentSetting, reason, setting};
use crate::deployment::{Deployment, hosts_for_group};
use crate::file::RenderedFile;
use crate::yaml::comment;

/// Options of XFS in the catalogue, in the order in which they are written.
const OPTIONS: [&str; 4] = ["xfs.noatime", "xfs.inode64", "xfs.logbsize", "xfs.allocsize"];

/// Hours over which the machines of a site are spread: less than a week, so that each comes once in it.
const SPREAD_HOURS: u64 = 6 * 24;

/// The machines of a kind whose drives have units here: those of which the site says which devices they are.
pub(super) fn with_units<'d>(deployment: &'d Deployment<'_>, group: &NodeGroup) -> Option<&'d Hosts> {
    hosts_for_group(deployment.kubernetes, group).filter(|hosts| !hosts.devices.is_empty())
}

pub(super) fn files(deployment: &Deployment<'_>, group: &NodeGroup) -> Vec<RenderedFile> {
    let Some(hosts) = with_units(deployment, group) else { return Vec::new() };
    let mounts = hosts.mounts.iter().zip(&hosts.devices);
    let file = |name: String, text: String| RenderedFile::new(format!("hosts/{}/systemd/{name}", group.name), text);
    let mut files: Vec<RenderedFile> = mounts
        .map(|(folder, device)| {
            let name = format!("{}.mount", escaped(folder));
            let text = mount(deployment, group, folder, device, &name);
            file(name, text)
        })
        .collect();
    files.push(file("fstrim.timer.conf".to_owned(), timer(deployment)));
    files.push(file("fstrim.service.conf".to_owned(), service(deployment, hosts)));
    files
}

/// A head and lines.
fn unit(deployment: &Deployment<'_>, what: &str, lines: &str) -> String {
    let mut text = String::new();
    comment(&deployment.head(what), 0, &mut text);
    text.push_str(lines);
    text
}

/// A line with its reason above it.
fn line(why: &str, line: &str, text: &mut String) {
    comment(why, 0, text);
    // Writing to a string does not fail.
    let _ = writeln!(text, "{line}");
}

fn mount(deployment: &Deployment<'_>, group: &NodeGroup, folder: &str, device: &str, name: &str) -> String {
    let mut text = String::from("[Unit]\n");
    line("Whoever starts pods finds the drive, if it is there.", "Before=kubelet.service", &mut text);
    text.push_str("\n[Mount]\n");
    line("kubernetes.hosts.*.devices", &format!("What={device}"), &mut text);
    line("kubernetes.hosts.*.mounts", &format!("Where={folder}"), &mut text);
    text.push_str("Type=xfs\n");
    let (options, why) = options(deployment, group);
    line(&why, &format!("Options={options}"), &mut text);
    line(
        "The folder below: where the drive is missing, nobody but root can write there before the kubelet gives it to \
         the engine's group. LinerateDrivesNotMounted tells of it.",
        "DirectoryMode=0000",
        &mut text,
    );
    text.push_str("\n[Install]\n");
    line("Wanted and not required: a machine with a broken drive starts.", "WantedBy=multi-user.target", &mut text);
    let head = format!("For /etc/systemd/system/{name}: systemd finds a mount by the name of its folder.");
    unit(deployment, &head, &text)
}

/// Options of a mount, and why.
fn options(deployment: &Deployment<'_>, group: &NodeGroup) -> (String, String) {
    let (mut options, mut whys) = (vec!["rw".to_owned()], Vec::new());
    for knob in OPTIONS {
        let Some(ComponentSetting { key, value, why }) = setting(deployment.site, group, knob) else { continue };
        match value.as_str() {
            "absent" => {}
            "present" => options.push(key.to_owned()),
            value => options.push(format!("{key}={value}")),
        }
        whys.push(why);
    }
    if let Some(discard) = setting(deployment.site, group, "xfs.discard") {
        options.push(if discard.value == "absent" { "nodiscard" } else { "discard" }.to_owned());
        whys.push(discard.why);
    }
    (options.join(","), whys.join("\n"))
}

fn timer(deployment: &Deployment<'_>) -> String {
    let nodes = u64::from(deployment.site.nodes().max(1));
    let apart = (SPREAD_HOURS * 60 / nodes).max(1);
    let mut text = String::from("[Timer]\nOnCalendar=\n");
    let weekly = reason("block.fstrim_timer", "once a week, as distributions do");
    line(&weekly, "OnCalendar=weekly", &mut text);
    let spread = format!(
        "Machines are spread over {SPREAD_HOURS} h, {apart} min apart on average for {nodes}: drives of one set that \
         discard together are slow together. Each machine keeps its time."
    );
    line(&spread, &format!("RandomizedDelaySec={SPREAD_HOURS}h"), &mut text);
    text.push_str("FixedRandomDelay=true\n");
    unit(
        deployment,
        "For /etc/systemd/system/fstrim.timer.d/linerate.conf; systemctl enable --now fstrim.timer.",
        &text,
    )
}

/// What is trimmed: the service of util-linux takes what is in fstab, and the mounts above are in none.
fn service(deployment: &Deployment<'_>, hosts: &Hosts) -> String {
    let mut text = String::from("[Service]\nExecStart=\n");
    for folder in &hosts.mounts {
        // A drive that is missing is no reason to leave out the others.
        let _ = writeln!(text, "ExecStart=-/sbin/fstrim --verbose --quiet-unsupported {folder}");
    }
    let head = "For /etc/systemd/system/fstrim.service.d/linerate.conf: the service itself takes its list from \
                /etc/fstab, where there is one, and the units that mount drives are not in it. One drive after the \
                other.";
    unit(deployment, head, &text)
}

/// A path as systemd writes it in the name of a unit: systemd.unit(5), "String escaping for inclusion in unit names".
fn escaped(path: &str) -> String {
    let mut out = String::new();
    for (i, c) in path.trim_matches('/').chars().enumerate() {
        match c {
            '/' => out.push('-'),
            c if c.is_ascii_alphanumeric() || ":_".contains(c) || (c == '.' && i > 0) => out.push(c),
            c => {
                let _ = write!(out, "\\x{:02x}", u32::from(c));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_named_as_systemd_escapes_it() {
        // What `systemd-escape --path` says.
        for (path, name) in [
            ("/data1", "data1"),
            ("/mnt/disk-a", r"mnt-disk\x2da"),
            ("/mnt/a_b.c", "mnt-a_b.c"),
            ("/.hidden/a", r"\x2ehidden-a"),
        ] {
            assert_eq!(escaped(path), name);
        }
    }
}
