//! Settings of the machines, as files of the tools that keep them over a boot.

mod mounts;
mod settings_daemonset;

use linerate_record::knob::{Change, DeviceClass, Locator, Scope, SettingId, Space};
use linerate_record::site::{NodeGroup, Site};
use linerate_settings::change_plan::change;
use linerate_settings::export::{LocatedChange, Reasons, sysctl_d, tmpfiles_d, tuned, udev};
use linerate_settings::knobs::advise;

use crate::catalogue::{PROFILE, of_profile, source};
use crate::deployment::Deployment;
use crate::expected_machine::expected_machine_for;
use crate::file::RenderedFile;
use crate::sysctls::{WHY_NOT_OF_PODS, reach};
use crate::yaml::comment;

/// A format: its file, where that goes, and its writer.
type Format = (&'static str, &'static str, fn(&str, &[LocatedChange<'_>], Reasons) -> String);

/// A setting is in the first of these that has words for it; what none has words for is named in the last.
const FORMATS: [Format; 3] = [
    ("sysctl.conf", "/etc/sysctl.d/90-linerate.conf", sysctl_d),
    ("udev.rules", "/etc/udev/rules.d/90-linerate.rules", udev),
    ("tmpfiles.conf", "/etc/tmpfiles.d/linerate.conf", tmpfiles_d),
];

/// All settings, in the place of those three.
const TUNED: Format = ("tuned.conf", "/etc/tuned/linerate/tuned.conf", tuned);

pub(crate) fn files(deployment: &Deployment<'_>) -> Vec<RenderedFile> {
    let groups = deployment.site.groups.iter().filter(|group| group.count > 0);
    let of_kind = |group| [of_group(deployment, group), mounts::files(deployment, group)].concat();
    groups.flat_map(of_kind).chain(settings_daemonset::files(deployment)).collect()
}

fn of_group(deployment: &Deployment<'_>, group: &NodeGroup) -> Vec<RenderedFile> {
    let changes = advised(deployment, group);
    let all: Vec<LocatedChange<'_>> = changes.iter().map(|(change, locator)| (change, *locator)).collect();
    let file = |(name, place, format): Format, all: &[LocatedChange<'_>]| {
        let mut text = String::new();
        let of_bonds = if group.bonds.is_empty() {
            ""
        } else {
            " The kernel takes a bond's mode and lacp_rate only before it is up and has members: state these to what \
             makes the bond."
        };
        let head = format!(
            "Settings of {}, for {place}. Either tuned.conf, or the other three. Devices that the site does not name \
             are left to linerate tune on the machine.{of_bonds}",
            group.name
        );
        comment(&deployment.head(&head), 0, &mut text);
        if all.iter().any(|(change, _)| change.scope == Scope::NetworkNamespace) {
            comment(WHY_NOT_OF_PODS, 0, &mut text);
        }
        let settings = format(PROFILE, all, Reasons::Reported).replace("by linerate tune export", "by linerate render");
        text.push_str(&in_other_files(settings, deployment, group));
        RenderedFile::new(format!("hosts/{}/{name}", group.name), text)
    };
    let of_format = |i: usize| {
        let is_of = |one: &&LocatedChange<'_>| first_format(one) == i;
        all.iter().filter(is_of).copied().collect::<Vec<_>>()
    };
    let each = FORMATS.into_iter().enumerate().map(|(i, format)| file(format, &of_format(i)));
    each.chain([file(TUNED, &all)]).collect()
}

/// The same, where what is left out of these formats has a file of its own.
fn in_other_files(settings: String, deployment: &Deployment<'_>, group: &NodeGroup) -> String {
    const TIMER: &str = "(systemd: fstrim.timer)";
    match mounts::with_units(deployment, group) {
        Some(_) => settings.replace(TIMER, &format!("{TIMER}: systemd/fstrim.timer.conf has it")),
        None => settings,
    }
}

/// The first format that has words for a change, or the last.
fn first_format(one: &LocatedChange<'_>) -> usize {
    let has_words = |format: &Format| !(format.2)(PROFILE, &[*one], Reasons::Left).contains("# left out: ");
    FORMATS.iter().position(has_words).unwrap_or(FORMATS.len() - 1)
}

/// What the catalogue advises for a kind of nodes, of what needs no look at a machine.
fn advised(deployment: &Deployment<'_>, group: &NodeGroup) -> Vec<(Change, Locator)> {
    let site = deployment.site;
    let machine = expected_machine_for(group);
    let places = of_profile().flat_map(|row| {
        let place = |device| SettingId { knob: row.knob.id.to_owned(), device, space: Space::Host };
        devices(site, group, row.knob.locator.device_class()).into_iter().map(move |device| (row, place(device)))
    });
    places
        .filter_map(|(row, place)| {
            let advice = advise(row, &machine, site, &place)?;
            let of_pods = reach(&row.knob, &advice.value, deployment.kubernetes);
            let source = source(row.knob.id).map(|source| format!("Source 000: {source}"));
            let why = [Some(advice.why), of_pods, source].into_iter().flatten().collect::<Vec<_>>().join(". ");
            let change = change(&row.knob, &place, "", &advice.value, &why)?;
            Some((change, row.knob.locator))
        })
        .collect()
}

/// The devices of a class that have a name in the site; none, once, where a setting is of no device.
fn devices(site: &Site, group: &NodeGroup, class: Option<DeviceClass>) -> Vec<Option<String>> {
    let is_stated = |kind: &str, i: usize| !site.is_assumed(&format!("nodes.{}.{kind}.{i}.name", group.name));
    let bonds = || {
        let bonds = group.bonds.iter().enumerate().filter(|(i, _)| is_stated("bonds", *i));
        bonds.map(|(_, bond)| Some(bond.name.clone()))
    };
    // A card of several ports has an interface for each, with other names.
    let nics = || {
        let nics = group.nics.iter().enumerate().filter(|(i, nic)| nic.ports == 1 && is_stated("nics", *i));
        nics.map(|(_, nic)| Some(nic.name.clone()))
    };
    match class {
        None => vec![None],
        Some(DeviceClass::Bond) => bonds().collect(),
        Some(DeviceClass::Nic) => nics().chain(bonds()).collect(),
        Some(DeviceClass::Disk | DeviceClass::Cpu | DeviceClass::Mount) => Vec::new(),
    }
}
