//! Devices that are renamed, moved away or replaced while they are changed: what is changed back is the device, not
//! what has its name.

use std::path::Path;

use linerate_host::apply::{RollbackResult, rollback};
use linerate_host::watch::watch;
use linerate_record::journal::{
    CoupledSetting, Device, DeviceKind, JournalLine, RecordedLocator, RollbackOutcome, RolledBackBy,
};
use linerate_record::knob::ChangeSet;

use super::machine::{self, Machine};

fn nothing(_: linerate_host::apply::ApplyStep) {}

/// A machine whose devices have numbers.
fn made() -> (tempfile::TempDir, Machine) {
    let (dir, machine) = machine::made();
    for (path, number) in [
        ("sys/class/net/eth0/ifindex", "2"),
        ("sys/class/net/eth1/ifindex", "3"),
        ("sys/block/sda/diskseq", "5"),
        ("sys/block/sdb/diskseq", "6"),
    ] {
        machine.set(path, number);
    }
    (dir, machine)
}

fn moved(folder: &Path, from: &str, to: &str) {
    std::fs::rename(folder.join("root").join(from), folder.join("root").join(to)).expect("it is renamed");
}

/// Changes of one device.
fn changes_for(machine: &Machine, device: &str) -> ChangeSet {
    let mut set = machine.changes();
    set.changes.retain(|change| change.place.device.as_deref() == Some(device));
    assert!(set.changes.len() >= 2);
    set
}

fn lapsed(machine: &Machine) -> RollbackResult {
    machine.let_time_pass("1");
    watch(&machine.apply_context(), "1", &mut nothing).expect("a journal").expect("an end")
}

const DEVICES: [(&str, &str, &str); 2] =
    [("eth0", "sys/class/net/eth0", "sys/class/net/eth9"), ("sda", "sys/block/sda", "sys/block/sdz")];

#[test]
fn a_device_that_was_renamed_is_restored_under_its_new_name() {
    for (device, folder, elsewhere) in DEVICES {
        let (dir, machine) = made();
        let before = machine.files();
        machine.apply(&changes_for(&machine, device), "1", &mut nothing).unwrap();
        moved(dir.path(), folder, elsewhere);
        assert_eq!(lapsed(&machine).left(), 0);
        moved(dir.path(), elsewhere, folder);
        assert_eq!(machine.files(), before, "{device}");
    }
}

#[test]
fn another_device_that_has_the_name_by_now_is_not_written_to() {
    for (device, folder, elsewhere) in DEVICES {
        let (dir, machine) = made();
        machine.apply(&changes_for(&machine, device), "1", &mut nothing).unwrap();
        // The other is as the first was made to be.
        let root = dir.path().join("root");
        let copied =
            std::process::Command::new("cp").arg("-a").args([root.join(folder), root.join(elsewhere)]).status();
        assert!(copied.unwrap().success());
        let number = if device == "sda" { "diskseq" } else { "ifindex" };
        machine.set(&format!("{folder}/{number}"), "77");
        let of_other = || -> Vec<_> {
            machine.files().into_iter().filter(|(path, _)| path.starts_with(root.join(folder))).collect()
        };
        let before = of_other();
        assert_eq!(lapsed(&machine).left(), 0);
        assert_eq!(of_other(), before, "{device}: another's");
        let file = if device == "sda" { "queue/read_ahead_kb" } else { "mtu" };
        let prior = if device == "sda" { "128" } else { "1500" };
        assert_eq!(machine.text(&format!("{elsewhere}/{file}")), prior, "{device}: the one that was changed");
    }
}

#[test]
fn a_device_that_is_gone_is_not_restored_and_is_when_it_is_back() {
    for (device, folder, _) in DEVICES {
        let (dir, machine) = made();
        let before = machine.files();
        let set = changes_for(&machine, device);
        let count = u32::try_from(set.changes.len()).unwrap();
        machine.apply(&set, "1", &mut nothing).unwrap();
        moved(dir.path(), folder, "aside");
        let rollback_result = rollback(&machine.apply_context(), None, false, &mut nothing).unwrap();
        assert_eq!(rollback_result.left(), count, "{rollback_result:?}");
        assert!(rollback_result.rolled_back.iter().all(|(_, outcome)| *outcome == RollbackOutcome::Gone));
        assert!(machine.state.read("1").unwrap().is_pending(), "the watch tries again");
        assert_eq!(lapsed(&machine).left(), count);
        assert!(
            matches!(machine.state.read("1").unwrap().closed, Some((RolledBackBy::Lapse, _, left)) if left == count)
        );
        // Another of the name, as the first was made to be, is not it.
        let root = dir.path().join("root");
        let copied = std::process::Command::new("cp").arg("-a").args([root.join("aside"), root.join(folder)]).status();
        assert!(copied.unwrap().success());
        machine.set(&format!("{folder}/{}", if device == "sda" { "diskseq" } else { "ifindex" }), "77");
        let with_another = machine.files();
        assert_eq!(rollback(&machine.apply_context(), None, false, &mut nothing).unwrap().left(), count);
        assert_eq!(machine.files(), with_another);
        std::fs::remove_dir_all(root.join(folder)).unwrap();
        moved(dir.path(), "aside", folder);
        assert_eq!(rollback(&machine.apply_context(), None, false, &mut nothing).unwrap().left(), 0);
        assert_eq!(machine.files(), before, "{device}");
        assert_eq!(machine.state.newest_open().unwrap().journal, None);
    }
}

#[test]
fn a_device_that_is_gone_for_good_is_given_up_by_force_and_had_by_its_name_later() {
    for (device, folder, _) in DEVICES {
        let (dir, machine) = made();
        let before = machine.files();
        let set = changes_for(&machine, device);
        machine.apply(&set, "1", &mut nothing).unwrap();
        moved(dir.path(), folder, "aside");
        lapsed(&machine);
        let rollback_result = rollback(&machine.apply_context(), Some("1"), false, &mut nothing).unwrap();
        assert!(
            !rollback_result.has_given_up && machine.state.newest_open().unwrap().journal.is_some(),
            "it is tried again"
        );
        let rollback_result = rollback(&machine.apply_context(), Some("1"), true, &mut nothing).unwrap();
        assert!(
            rollback_result.has_given_up && rollback_result.left() > 0,
            "it is told all the same: {rollback_result:?}"
        );
        assert_eq!(machine.state.newest_open().unwrap().journal, None, "nothing of it is left to do");
        assert_eq!(machine.state.read("1").unwrap().given_up(), set.changes.len());
        moved(dir.path(), "aside", folder);
        assert_eq!(rollback(&machine.apply_context(), Some("1"), false, &mut nothing).unwrap().left(), 0);
        assert_eq!(machine.files(), before, "{device}");
        assert_eq!(machine.state.read("1").unwrap().given_up(), 0);
    }
}

#[test]
fn a_whole_machine_that_was_not_there_for_a_moment_is_restored_later() {
    let (dir, machine) = made();
    let before = machine.files();
    machine.apply(&machine.changes(), "1", &mut nothing).unwrap();
    let (there, aside) = (dir.path().join("root"), dir.path().join("aside"));
    std::fs::rename(&there, &aside).unwrap();
    machine.let_time_pass("1");
    // Its folder is what is locked: without it the watch cannot look once more, and says so.
    assert!(watch(&machine.apply_context(), "1", &mut nothing).is_err());
    assert!(matches!(machine.state.read("1").unwrap().closed, Some((RolledBackBy::Lapse, _, 1..))));
    std::fs::rename(&aside, &there).unwrap();
    assert_eq!(rollback(&machine.apply_context(), None, false, &mut nothing).unwrap().left(), 0);
    assert_eq!(machine.files(), before);
}

/// The journal is as the kernel makes it, which lowers what is on top; a captured machine does not.
#[test]
fn what_moved_besides_is_restored_under_its_new_name_and_without_the_device_too() {
    for is_gone in [false, true] {
        let (dir, machine) = made();
        machine.set_new("sys/class/net/vlan7/mtu", "1400");
        machine.set_new("sys/class/net/vlan7/ifindex", "4");
        let mut set = changes_for(&machine, "eth0");
        set.changes.retain(|change| change.place.knob == "nic.mtu");
        machine.apply(&set, "1", &mut nothing).unwrap();
        let journal = machine.state.path().join("1.journal");
        let text = std::fs::read_to_string(&journal).unwrap();
        let on_top = |value: &str| CoupledSetting {
            locator: RecordedLocator::Sysfs("class/net/vlan7/mtu".to_owned()),
            value: value.to_owned(),
        };
        let lines = text.lines().map(|line| {
            let mut line: JournalLine = serde_json::from_str(line).unwrap();
            match &mut line {
                JournalLine::Intent { coupled, devices, .. } => {
                    coupled.push(on_top("1500"));
                    let (kind, name) = (DeviceKind::Interface, "vlan7".to_owned());
                    devices.push(Device { kind, name, number: 4, identity: None, node: None });
                }
                JournalLine::Made { coupled, .. } => coupled.push(on_top("1400")),
                _ => {}
            }
            serde_json::to_string(&line).unwrap() + "\n"
        });
        std::fs::write(&journal, lines.collect::<String>()).unwrap();
        moved(dir.path(), "sys/class/net/vlan7", "sys/class/net/vlan9");
        if is_gone {
            moved(dir.path(), "sys/class/net/eth0", "aside");
        }
        assert_eq!(lapsed(&machine).left(), u32::from(is_gone));
        assert_eq!(machine.text("sys/class/net/vlan9/mtu"), "1500", "gone: {is_gone}");
    }
}

#[test]
fn what_has_another_name_between_reading_and_writing_is_not_written_to() {
    let (dir, machine) = made();
    let mut set = changes_for(&machine, "eth0");
    set.changes.retain(|change| change.place.knob == "nic.mtu");
    let mut is_moved = false;
    let applied = machine
        .apply(&set, "1", &mut |step| {
            if step == linerate_host::apply::ApplyStep::Announced && !is_moved {
                is_moved = true;
                moved(dir.path(), "sys/class/net/eth0", "sys/class/net/eth9");
                machine.set_new("sys/class/net/eth0/mtu", "1500");
                machine.set_new("sys/class/net/eth0/ifindex", "77");
            }
        })
        .unwrap();
    assert!(
        matches!(&applied.outcomes[..], [linerate_host::apply::ChangeOutcome::Failed(why)]
            if why.contains("now named eth9")),
        "{applied:?}"
    );
    for name in ["eth0", "eth9"] {
        assert_eq!(machine.text(&format!("sys/class/net/{name}/mtu")), "1500", "{name}");
    }
}
