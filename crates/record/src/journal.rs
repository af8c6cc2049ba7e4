//! The journal of changes: what was set, what it was before, and what became of it.
//!
//! One file an application, one JSON object a line. A line about a change is on the disk before the change is made.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::knob::{Change, SettingId};

/// The version of [`JournalLine`].
pub const JOURNAL_SCHEMA: u32 = 1;

/// The first line: which machine, which boot, until when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// The version of this layout.
    pub schema: u32,
    /// The name of the application, and of the journal's file: `20260102T030405Z-4711`.
    pub id: String,
    /// The machine: a hash of its machine id.
    pub machine: String,
    /// The boot during which it began. What is set at run time does not outlive it.
    pub boot: String,
    /// The profile that the changes follow.
    pub profile: String,
    /// The captured machine that is changed; absent for the machine itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<PathBuf>,
    /// When it began, in milliseconds since 1970.
    pub began_ms: u64,
    /// When it reverts by itself unless confirmed, in milliseconds since the machine booted.
    pub deadline_since_boot_ms: u64,
    /// The process with whose end it reverts, before its time is over too; absent where only time counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// The wave of a rollout in which it began, from 1; absent where it is of one machine alone, and in journals of
    /// earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<u32>,
}

/// The application of a machine that waited last, for all who change it, whatever folder their journals are in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingApplication {
    /// The folder of its journal.
    pub journals: PathBuf,
    /// The inode of the mount namespace in which that path is the folder's.
    pub mounts: u64,
    pub id: String,
    /// As of [`Begin`].
    pub boot: String,
    /// As of [`Begin`].
    pub deadline_since_boot_ms: u64,
}

/// A process, told from a later one of the same number by when it started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Its number, in the PID namespace that it shares with the watch.
    pub pid: u32,
    /// When it started, in clock ticks since the machine booted (`proc_pid_stat(5)`, field 22).
    pub started_ticks: u64,
}

/// Who rolls changes back when their time is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Watcher {
    Process {
        process: Owner,
        /// The inode of the PID namespace in which it has that number.
        namespace: u64,
    },
    /// A timer or a service of systemd, by its name without what it is.
    Unit(String),
}

/// A setting that moves when another is written: the kernel zeroes `vm.dirty_ratio` when `vm.dirty_bytes` is set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoupledSetting {
    #[serde(rename = "address")]
    pub locator: RecordedLocator,
    pub value: String,
}

/// Where a coupled setting lives: a locator with its device filled in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RecordedLocator {
    /// A sysctl by its name.
    Sysctl(String),
    /// A file below `sys`.
    Sysfs(String),
    /// One feature of an interface, as the kernel names it: `tx-tcp-segmentation`.
    Feature { device: String, name: String },
    /// On which processors each interrupt of an interface may be handled.
    Interrupts { device: String },
}

/// What a device is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeviceKind {
    Interface,
    Disk,
}

/// A device that a change touches: its name may be another's later, its node is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    pub kind: DeviceKind,
    /// What it was called when it was changed.
    pub name: String,
    /// The index of an interface, which its network namespace gives once, unless somebody gives it by hand; the
    /// sequence number of a disk, which the machine gives once a boot (`diskseq`), and 0 where it has none.
    pub number: u64,
    /// Where hardware stands behind it: its place on a bus and its permanent address, which it takes along into another
    /// network namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The inode of its folder in sysfs, which the machine gives once a boot; absent of a captured machine, and in
    /// journals of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u64>,
}

/// One line of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JournalLine {
    /// What follows, and for whom.
    Begin(Begin),
    Watched {
        /// Who watches: one that lives is enough.
        by: Vec<Watcher>,
        /// When somebody began to roll it back, in milliseconds since 1970: nothing was restored yet, and it is neither
        /// kept nor to be confirmed from here on. Absent where it is only watched, where its watch rolls it back, and
        /// in journals of earlier versions, which read the line all the same.
        #[serde(rename = "undoing_ms", default, skip_serializing_if = "Option::is_none")]
        rollback_began_ms: Option<u64>,
    },
    /// A change is about to be made.
    Intent {
        /// Its number in the file of changes, from 0.
        number: u32,
        change: Box<Change>,
        /// The text read right before it: what is restored.
        prior: String,
        /// The inode of the network namespace that it is made in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        net: Option<u64>,
        /// What moves with it, as it was.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[serde(rename = "beside")]
        coupled: Vec<CoupledSetting>,
        /// The devices that it and what moves with it are of.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        devices: Vec<Device>,
    },
    /// It was made, and read back.
    Made {
        number: u32,
        /// The text read back: what tells a later change of somebody else's.
        value: String,
        /// What moved with it, as it became.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        #[serde(rename = "beside")]
        coupled: Vec<CoupledSetting>,
        /// When, in milliseconds since 1970; absent in journals of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_ms: Option<u64>,
    },
    /// A change was not made.
    Refused { number: u32, place: SettingId, why: String },
    /// All changes were gone through; they wait to be confirmed.
    Applied,
    /// Its watch rolls it back at another instant from here on.
    Extended {
        /// In milliseconds since the machine booted: in place of that of [`Begin`].
        deadline_since_boot_ms: u64,
        /// When it was put off, in milliseconds since 1970; absent in journals of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at_ms: Option<u64>,
    },
    Confirmed {
        /// When, in milliseconds since 1970.
        at_ms: u64,
    },
    /// What came of rolling one change back.
    #[serde(rename = "undone")]
    RolledBack { number: u32, outcome: RollbackOutcome },
    /// Every change was rolled back, or left for a reason.
    Closed {
        by: RolledBackBy,
        /// When, in milliseconds since 1970.
        at_ms: u64,
        /// How many settings could not be restored.
        left: u32,
        /// Why, where whoever rolled it back said so; absent in journals of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
}

/// What came of rolling one change back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "undo")]
pub enum RollbackOutcome {
    /// The prior value is there again.
    Restored,
    /// The prior value was there already.
    Already,
    /// Somebody else, or a later application, has changed it since: left alone.
    Left {
        /// What it is now.
        current: String,
        /// The later application; absent where it is not known to be one, and in journals of earlier versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The device, or the setting, is not there: it may be back later, changed as it is.
    Gone,
    /// The network namespace is gone, and the setting with it.
    Ended,
    /// It could not be restored.
    Failed {
        /// What the kernel said.
        why: String,
    },
}

impl RollbackOutcome {
    /// Whether somebody has to look at the setting.
    #[must_use]
    pub fn needs_a_look(&self) -> bool {
        matches!(self, RollbackOutcome::Left { .. } | RollbackOutcome::Gone | RollbackOutcome::Failed { .. })
    }
}

/// Who rolled changes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RolledBackBy {
    /// Somebody, by `tune rollback`.
    Command,
    /// The watch: nobody confirmed in time, or the owner ended.
    Lapse,
    /// The application itself, because it could not go on.
    Failure,
    /// Nobody: nothing was changed.
    Unchanged,
    /// A boot of the machine, with which all run-time settings go.
    Reboot,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::{Scope, Space, TakesEffect};

    #[test]
    fn a_journal_without_an_owner_reads_and_one_with_an_owner_keeps_it() {
        let old = r#"{"schema":1,"id":"x","machine":"m","boot":"b","profile":"p","began_ms":1,
            "deadline_since_boot_ms":2}"#;
        let mut begin: Begin = serde_json::from_str(old).unwrap();
        assert_eq!((begin.owner, begin.wave), (None, None));
        assert!(!serde_json::to_string(&begin).unwrap().contains("owner"));
        begin.owner = Some(Owner { pid: 7, started_ticks: u64::MAX });
        assert_eq!(serde_json::from_str::<Begin>(&serde_json::to_string(&begin).unwrap()).unwrap(), begin);
    }

    #[test]
    fn a_device_of_an_earlier_version_reads_and_has_no_node() {
        let old: Device = serde_json::from_str(r#"{"kind":"interface","name":"a","number":2}"#).unwrap();
        assert_eq!((old.node, old.identity.clone()), (None, None));
        assert!(!serde_json::to_string(&old).unwrap().contains("node"));
        let new = Device { node: Some(u64::MAX), ..old };
        assert_eq!(serde_json::from_str::<Device>(&serde_json::to_string(&new).unwrap()).unwrap(), new);
    }

    #[test]
    fn lines_of_an_earlier_version_read_without_instants_and_reasons_and_are_written_as_they_were() {
        for (line, expected) in [
            (r#"{"made":{"number":3,"value":"10"}}"#, (3, None)),
            (r#"{"extended":{"deadline_since_boot_ms":7}}"#, (7, None)),
            (r#"{"made":{"number":3,"value":"10","at_ms":9}}"#, (3, Some(9))),
            (r#"{"extended":{"deadline_since_boot_ms":7,"at_ms":9}}"#, (7, Some(9))),
        ] {
            let read: JournalLine = serde_json::from_str(line).unwrap();
            let found = match &read {
                JournalLine::Made { number, at_ms, .. } => (u64::from(*number), *at_ms),
                JournalLine::Extended { deadline_since_boot_ms, at_ms } => (*deadline_since_boot_ms, *at_ms),
                other => panic!("{line}: {other:?}"),
            };
            assert_eq!(found, expected, "{line}");
            assert_eq!(serde_json::to_string(&read).unwrap(), line);
        }
        let watched = r#"{"watched":{"by":[{"unit":"x"}]}}"#;
        let read: JournalLine = serde_json::from_str(watched).unwrap();
        assert_eq!(read, JournalLine::Watched { by: vec![Watcher::Unit("x".into())], rollback_began_ms: None });
        assert_eq!(serde_json::to_string(&read).unwrap(), watched);
        let closed = r#"{"closed":{"by":"lapse","at_ms":1,"left":0}}"#;
        let read: JournalLine = serde_json::from_str(closed).unwrap();
        assert_eq!(read, JournalLine::Closed { by: RolledBackBy::Lapse, at_ms: 1, left: 0, why: None });
        assert_eq!(serde_json::to_string(&read).unwrap(), closed);
    }

    #[test]
    fn a_line_reads_back_as_it_was_written_tabs_included() {
        let place = SettingId { knob: "net.ipv4.tcp_rmem".into(), device: None, space: Space::Netns("lab".into()) };
        let change = Change {
            place: place.clone(),
            prior: "4096\t131072\t6291456".into(),
            new: "4096 131072 33554432".into(),
            scope: Scope::NetworkNamespace,
            takes_effect: TakesEffect::NewSocket,
            why: "x".into(),
            risk: "y".into(),
        };
        let prior = change.prior.clone();
        let coupled =
            vec![CoupledSetting { locator: RecordedLocator::Sysctl("vm.dirty_ratio".into()), value: "20".into() }];
        let identity = Some("pci/0000:01:00.0 02:00:00:00:00:01".to_owned());
        let devices =
            vec![Device { kind: DeviceKind::Interface, name: "eth0".into(), number: 2, identity, node: None }];
        for line in [
            JournalLine::Intent { number: 0, change: Box::new(change), prior, net: Some(1), coupled, devices },
            JournalLine::Refused { number: 1, place, why: "belongs to the CNI".into() },
            JournalLine::RolledBack { number: 0, outcome: RollbackOutcome::Left { current: "1".into(), by: None } },
            JournalLine::RolledBack {
                number: 0,
                outcome: RollbackOutcome::Left { current: "1".into(), by: Some("20260102T030405Z-1".into()) },
            },
            JournalLine::Applied,
            JournalLine::Made { number: 0, value: "10".into(), coupled: Vec::new(), at_ms: Some(u64::MAX) },
            JournalLine::Extended { deadline_since_boot_ms: u64::MAX, at_ms: Some(1) },
            JournalLine::Watched {
                by: vec![
                    Watcher::Process { process: Owner { pid: 1, started_ticks: 2 }, namespace: 3 },
                    Watcher::Unit("x".into()),
                ],
                rollback_began_ms: Some(1),
            },
            JournalLine::Closed { by: RolledBackBy::Lapse, at_ms: 1, left: 0, why: Some("nobody confirmed".into()) },
        ] {
            let text = serde_json::to_string(&line).unwrap();
            assert!(!text.contains('\n'), "{text}");
            assert_eq!(serde_json::from_str::<JournalLine>(&text).unwrap(), line);
        }
    }

    #[test]
    fn fields_keep_the_names_that_journals_of_earlier_versions_have() {
        let coupled = CoupledSetting { locator: RecordedLocator::Sysctl("vm.dirty_ratio".into()), value: "20".into() };
        let text = serde_json::to_string(&coupled).unwrap();
        assert_eq!(text, r#"{"address":{"sysctl":"vm.dirty_ratio"},"value":"20"}"#);
        let watched = JournalLine::Watched { by: vec![Watcher::Unit("x".into())], rollback_began_ms: Some(1) };
        let text = serde_json::to_string(&watched).unwrap();
        assert_eq!(text, r#"{"watched":{"by":[{"unit":"x"}],"undoing_ms":1}}"#);
    }
}
