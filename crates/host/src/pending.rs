//! What waits on a machine to be confirmed, for all who change it: one application on top of another of other journals
//! could not be rolled back in any order.
//!
//! It is a file beside the machine's lock, in a folder that only root writes to, and is written and read under that
//! lock. It says where the journal is, which alone says whether it still waits. It goes with a boot.

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use linerate_record::journal::{Begin, PendingApplication};

use crate::apply_context::ApplyContext;
use crate::boot::{are_two_boots, boot_id};
use crate::clock::since_boot_ms;
use crate::error::TuneError;
use crate::journal::{JournalContent, JournalFolder};
use crate::lock::MachineLock;
use crate::path_trust::{self, NO_FOLLOW, private};
use crate::root::Root;

/// How long after the time to confirm is over a watch may still be at work on settings, or be started again by systemd.
pub(crate) const WATCH_MS_MAX: u64 = 120_000;

/// Longest such file: a path and some words.
const FILE_BYTES_MAX: u64 = 64 << 10;

/// One that is noted, and whose journal was moved or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostWatch {
    pub id: String,
    /// The folder in which its journal was.
    pub journals: PathBuf,
    /// How long its watch may still take to roll it back, in milliseconds.
    pub wait_ms: u64,
    pub file: PathBuf,
}

/// The application that nobody can confirm or roll back, since its journal is not where it was.
#[must_use]
pub fn lost(machine: &Root) -> Option<LostWatch> {
    lost_watch(MachineLock::open(machine)?.waiting_file()?, &boot_id(machine))
}

fn lost_watch(file: PathBuf, boot: &str) -> Option<LostWatch> {
    let noted = read(&file).ok()??;
    // In another mount namespace's view of files it may well be there.
    let is_of_now = noted.mounts == mounts() && !are_two_boots(&noted.boot, boot);
    match read_journal(&noted) {
        Err(TuneError::State { source, .. }) if source.kind() == ErrorKind::NotFound && is_of_now => {
            Some(LostWatch { wait_ms: wait_ms(&noted), id: noted.id, journals: noted.journals, file })
        }
        _ => None,
    }
}

/// Whether an application waits of which nothing keeps [`confirm`](crate::apply::confirm) from keeping it, unless the
/// machine has booted.
#[must_use]
pub fn can_be_confirmed(reported: &JournalContent) -> bool {
    let is_in_time = since_boot_ms() < reported.begin.deadline_since_boot_ms;
    reported.is_pending()
        && reported.is_applied
        && reported.begin.owner.is_none()
        && !reported.is_rolling_back()
        && is_in_time
}

/// Refuses where an application of other journals waits.
pub(crate) fn require_none(apply_context: &ApplyContext<'_>, boot: &str) -> Result<(), TuneError> {
    let file = MachineLock::open(apply_context.root).and_then(|whole| whole.waiting_file());
    file.map_or(Ok(()), |file| none_in(&file, apply_context.state, boot))
}

/// Notes the application that begins now, and whose journal is begun.
pub(crate) fn begin(apply_context: &ApplyContext<'_>, begin: &Begin) -> Result<(), TuneError> {
    let Some(file) = MachineLock::open(apply_context.root).and_then(|whole| whole.waiting_file()) else {
        return Ok(());
    };
    note(&file, apply_context.state, begin).map_err(|source| TuneError::State { path: file, source })
}

/// Forgets an application that waits no more, where it is the one that is noted.
pub(crate) fn end(apply_context: &ApplyContext<'_>, id: &str) {
    let file = MachineLock::open(apply_context.root).and_then(|whole| whole.waiting_file());
    file.into_iter().for_each(|file| forget(&file, apply_context.state, id));
}

fn forget(file: &Path, state: &JournalFolder, id: &str) {
    if let Ok(Some(noted)) = read(file)
        && noted.journals == state.path()
        && noted.id == id
    {
        // What stays names a journal that says that it waits no more.
        let _ = std::fs::remove_file(file);
    }
}

fn none_in(file: &Path, own: &JournalFolder, boot: &str) -> Result<(), TuneError> {
    let failed = |source| TuneError::State { path: file.to_owned(), source };
    let Some(noted) = read(file).map_err(failed)?.filter(|noted| !are_two_boots(&noted.boot, boot)) else {
        return Ok(());
    };
    let is_own = noted.journals == own.path() && noted.mounts == mounts();
    match read_journal(&noted) {
        // Of one's own journals, what waits was looked at already.
        Ok(_) if is_own => Ok(()),
        // Its process is gone: it would have the lock.
        Ok(reported) if reported.is_pending() && !reported.has_changed_nothing() => {
            let can_be_confirmed = can_be_confirmed(&reported);
            Err(TuneError::Elsewhere { id: noted.id, journals: noted.journals, can_be_confirmed })
        }
        // Nothing was changed under its name, or nothing of it waits.
        Ok(_) | Err(TuneError::Empty { .. }) => Ok(()),
        // Its folder was moved or removed, or is not to be seen from here (a container's): its watch acts in time, or
        // has.
        Err(_) => match wait_ms(&noted) {
            0 => Ok(()),
            wait_ms => {
                let (id, journals, file) = (noted.id, noted.journals, file.to_owned());
                Err(TuneError::Unseen { id, journals, wait_ms, file })
            }
        },
    }
}

fn read_journal(noted: &PendingApplication) -> Result<JournalContent, TuneError> {
    JournalFolder::existing(&noted.journals).and_then(|state| state.read(&noted.id))
}

fn wait_ms(noted: &PendingApplication) -> u64 {
    noted.deadline_since_boot_ms.saturating_add(WATCH_MS_MAX).saturating_sub(since_boot_ms())
}

fn note(file: &Path, state: &JournalFolder, begin: &Begin) -> io::Result<()> {
    let noted = PendingApplication {
        journals: state.path().to_owned(),
        mounts: mounts(),
        id: begin.id.clone(),
        boot: begin.boot.clone(),
        deadline_since_boot_ms: begin.deadline_since_boot_ms,
    };
    let coupled = file.with_extension("waiting.new");
    let mut options = private();
    let mut text = options.write(true).create(true).truncate(true).open(&coupled)?;
    text.write_all(serde_json::to_string(&noted)?.as_bytes())?;
    std::fs::rename(&coupled, file)
}

fn read(file: &Path) -> io::Result<Option<PendingApplication>> {
    let opened = match OpenOptions::new().read(true).custom_flags(NO_FOLLOW).open(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened?,
    };
    let metadata = opened.metadata()?;
    if !metadata.is_file() || !path_trust::is_own_alone(&metadata) {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "it must be a file that only its owner writes to"));
    }
    let mut text = String::new();
    opened.take(FILE_BYTES_MAX).read_to_string(&mut text)?;
    Ok(Some(serde_json::from_str(&text)?))
}

/// The inode of this process's mount namespace; 0 where `/proc` does not tell.
fn mounts() -> u64 {
    std::fs::metadata("/proc/self/ns/mnt").map_or(0, |metadata| metadata.ino())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use linerate_record::journal::{JOURNAL_SCHEMA, JournalLine, RolledBackBy};
    use linerate_record::knob::{Change, Scope, SettingId, Space, TakesEffect};

    use super::*;
    use crate::journal::Journal;

    fn begin(id: &str) -> Begin {
        Begin {
            schema: JOURNAL_SCHEMA,
            id: id.into(),
            machine: "m".into(),
            boot: "b".into(),
            profile: "p".into(),
            root: None,
            began_ms: 1,
            deadline_since_boot_ms: since_boot_ms() + 3_600_000,
            owner: None,
            wave: None,
        }
    }

    fn intent() -> JournalLine {
        let change = Change {
            place: SettingId { knob: "vm.swappiness".into(), device: None, space: Space::Host },
            prior: "60".into(),
            new: "10".into(),
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            why: String::new(),
            risk: String::new(),
        };
        let (change, prior) = (Box::new(change), "60".to_owned());
        JournalLine::Intent { number: 0, change, prior, net: None, coupled: Vec::new(), devices: Vec::new() }
    }

    #[test]
    fn what_waits_with_other_journals_is_named_until_it_waits_no_more() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("tune.waiting");
        let open = |name: &str| JournalFolder::open(dir.path().join(name)).unwrap();
        let (one, other) = (open("one"), open("other"));
        let refused =
            |state: &JournalFolder, boot: &str| none_in(&file, state, boot).err().map(|error| error.to_string());
        assert_eq!(refused(&other, "b"), None, "nothing is noted");
        for (id, ends) in [
            ("1", JournalLine::Confirmed { at_ms: 1 }),
            ("2", JournalLine::Closed { by: RolledBackBy::Command, at_ms: 1, left: 0, why: None }),
            ("3", JournalLine::Closed { by: RolledBackBy::Lapse, at_ms: 1, left: 0, why: None }),
        ] {
            let mut journal = Journal::begin(&one, &begin(id)).unwrap();
            note(&file, &one, &begin(id)).unwrap();
            assert_eq!(refused(&other, "b"), None, "{id}: it has changed nothing");
            journal.append(&intent()).unwrap();
            let reported = refused(&other, "b").unwrap();
            assert!(reported.contains(&format!("{id}, whose journal is in")) && reported.contains("one"), "{reported}");
            assert!(reported.contains("is pending: run linerate tune rollback with"), "{reported}");
            journal.append(&JournalLine::Applied).unwrap();
            let reported = refused(&other, "b").unwrap();
            assert!(reported.contains("is pending: run linerate tune confirm or"), "{reported}");
            assert_eq!(refused(&one, "b"), None, "{id}: its own journals say so themselves");
            assert_eq!(refused(&other, "c"), None, "{id}: the machine has booted since");
            journal.append(&ends).unwrap();
            assert_eq!(refused(&other, "b"), None, "{id}");
        }
        forget(&file, &one, "2");
        forget(&file, &other, "3");
        assert!(file.exists(), "it is another's");
        forget(&file, &one, "3");
        assert!(!file.exists());
    }

    #[test]
    fn journals_that_are_not_to_be_seen_from_here_wait_until_their_watch_has_acted() {
        let dir = tempfile::tempdir().unwrap();
        let (file, state) = (dir.path().join("tune.waiting"), JournalFolder::open(dir.path().join("own")).unwrap());
        let put = |mounts: u64, deadline_since_boot_ms: u64| {
            let (journals, id, boot) = (dir.path().join("none"), "1".to_owned(), "b".to_owned());
            let noted = PendingApplication { journals, mounts, id, boot, deadline_since_boot_ms };
            std::fs::write(&file, serde_json::to_string(&noted).unwrap()).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
            none_in(&file, &state, "b").is_err()
        };
        let later = since_boot_ms() + 3_600_000;
        assert!(put(mounts() + 1, later));
        assert!(!put(mounts() + 1, 0), "its time is over");
        assert!(put(mounts(), later), "it was moved or removed: its watch lives");
        assert!(!put(mounts(), 0), "its time is over");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        assert!(none_in(&file, &state, "b").unwrap_err().to_string().contains("only its owner writes to"));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&file, "{").unwrap();
        assert!(none_in(&file, &state, "b").is_err());
    }

    #[test]
    fn what_waits_with_journals_that_were_moved_is_lost_until_they_are_back() {
        let dir = tempfile::tempdir().unwrap();
        let (file, away) = (dir.path().join("tune.waiting"), dir.path().join("away"));
        let state = JournalFolder::open(dir.path().join("own")).unwrap();
        let lost = |boot: &str| lost_watch(file.clone(), boot).map(|lost| (lost.id, lost.wait_ms > 0));
        assert_eq!(lost("b"), None, "nothing is noted");
        let mut journal = Journal::begin(&state, &begin("1")).unwrap();
        journal.append(&intent()).unwrap();
        note(&file, &state, &begin("1")).unwrap();
        assert_eq!(lost("b"), None);
        std::fs::rename(state.path(), &away).unwrap();
        assert_eq!(lost("b"), Some(("1".to_owned(), true)));
        assert_eq!(lost("c"), None, "the machine has booted since");
        let own = JournalFolder::open(state.path()).unwrap();
        let why = none_in(&file, &own, "b").unwrap_err().to_string();
        assert!(why.contains("cannot be read from here") && why.contains("tune.waiting can be removed"), "{why}");
        std::fs::remove_dir(own.path()).unwrap();
        std::fs::rename(&away, state.path()).unwrap();
        assert_eq!(lost("b"), None);
    }
}
