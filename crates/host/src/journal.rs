//! The journal on disk: one file an application, each line on the disk before what it announces is done.
//!
//! Files are 0600 in a folder of 0700. Of a file whose last line was cut, the whole lines count.

mod content;
mod search;

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use linerate_record::journal::{Begin, JournalLine};

use crate::error::TuneError;
use crate::lock::{self, Lock, LockHolder};
use crate::path_trust::{self, NO_FOLLOW, private};

use content::parsed;
pub use content::{JournalContent, Made};
pub use search::{FoundJournal, UnreadableJournal};

/// Longest journal that is read. One of the most changes that a file may have stays under this.
const LARGEST_JOURNAL_BYTES: u64 = 64 << 20;

/// Behind so much nothing more is changed: what comes then is what was restored, which has to fit too.
const CHANGED_BYTES: u64 = LARGEST_JOURNAL_BYTES - (16 << 20);

/// The folder with the journals of a machine.
#[derive(Clone, Debug)]
pub struct JournalFolder {
    path: PathBuf,
    held: Option<Arc<HeldFolder>>,
}

/// What a watch holds on to, whatever becomes of the names.
#[derive(Debug)]
struct HeldFolder {
    folder: File,
    id: String,
    journal: File,
}

impl HeldFolder {
    /// A name for an open file that is its own as long as it is open: `proc_pid_fd(5)`.
    fn name(file: &File) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }
}

impl JournalFolder {
    /// The journals in a folder, which is made where it is not there.
    ///
    /// # Errors
    /// Where it cannot be made, or others than its owner can write to it: what is in it decides what is written to the
    /// machine's settings.
    pub fn open(folder: impl Into<PathBuf>) -> Result<JournalFolder, TuneError> {
        let folder = folder.into();
        let failed = |source| TuneError::State { path: folder.clone(), source };
        DirBuilder::new().recursive(true).mode(0o700).create(&folder).map_err(failed)?;
        JournalFolder::existing(folder)
    }

    /// The journals in a folder that is there: a watch that made one would watch nothing.
    ///
    /// # Errors
    /// Where it is not there, or others than its owner can write to it, or put another in its place.
    pub fn existing(folder: impl Into<PathBuf>) -> Result<JournalFolder, TuneError> {
        let folder = folder.into();
        let failed = |source| TuneError::State { path: folder.clone(), source };
        let metadata = folder.symlink_metadata().map_err(failed)?;
        if !metadata.is_dir() || !path_trust::is_own_alone(&metadata) {
            return Err(TuneError::Permissions { path: folder });
        }
        match path_trust::weak(&folder).map_err(failed)? {
            Some(above) => Err(TuneError::Above { path: folder, above }),
            None => Ok(JournalFolder { path: folder, held: None }),
        }
    }

    /// The same, held on to: the folder is found by whatever name it has later, and what one journal says is read
    /// though it was removed.
    ///
    /// # Errors
    /// Where one of them cannot be opened.
    pub fn held(&self, id: &str) -> Result<JournalFolder, TuneError> {
        let open = |path: PathBuf| {
            let opened = OpenOptions::new().read(true).custom_flags(NO_FOLLOW).open(&path);
            opened.map_err(|source| TuneError::State { path, source })
        };
        let (folder, journal) = (open(self.path.clone())?, open(self.file(id)?)?);
        Ok(JournalFolder {
            path: self.path.clone(),
            held: Some(Arc::new(HeldFolder { folder, id: id.to_owned(), journal })),
        })
    }

    pub(crate) fn is_held(&self) -> bool {
        self.held.is_some()
    }

    /// Where it is, or was when it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// By which name its files are found.
    fn folder(&self) -> PathBuf {
        self.held.as_ref().map_or_else(|| self.path.clone(), |held| HeldFolder::name(&held.folder))
    }

    /// Takes the right to change settings; `None` where somebody else has it.
    ///
    /// # Errors
    /// Where the lock's file cannot be made.
    pub fn lock(&self) -> Result<Option<Lock>, TuneError> {
        let path = self.lock_file();
        lock::take(&path).map_err(|source| TuneError::State { path, source })
    }

    /// Who has that right, where it is another process that is known here.
    pub(crate) fn holder(&self) -> Option<LockHolder> {
        LockHolder::named_in(&self.lock_file())
    }

    fn lock_file(&self) -> PathBuf {
        self.folder().join("lock")
    }

    /// Refuses where the lock or a journal could not be written to. Nothing is written, and nobody's lock is taken.
    pub(crate) fn require_writable(&self, id: &str) -> Result<(), TuneError> {
        for path in [self.lock_file(), self.file(id)?] {
            private().write(true).open(&path).map_err(|source| TuneError::State { path, source })?;
        }
        Ok(())
    }

    /// The names of all journals, oldest first. A file with a name that no application can have (a copy) is none.
    ///
    /// # Errors
    /// Where the folder cannot be listed.
    pub fn ids(&self) -> Result<Vec<String>, TuneError> {
        let failed = |source| TuneError::State { path: self.path.clone(), source };
        let mut ids = Vec::new();
        for entry in std::fs::read_dir(self.folder()).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let id = name.to_str().and_then(|name| name.strip_suffix(".journal"));
            ids.extend(id.filter(|id| is_id(id)).map(str::to_owned));
        }
        ids.sort_unstable();
        Ok(ids)
    }

    /// How long a journal is, in bytes; none where it cannot be looked at.
    pub(crate) fn bytes(&self, id: &str) -> Option<u64> {
        Some(self.file(id).ok()?.symlink_metadata().ok()?.len())
    }

    /// Reads a journal.
    ///
    /// # Errors
    /// Where there is none of that name, or it cannot be read.
    pub fn read(&self, id: &str) -> Result<JournalContent, TuneError> {
        let path = self.file(id)?;
        let failed = |source| TuneError::State { path: path.clone(), source };
        let named = OpenOptions::new().read(true).custom_flags(NO_FOLLOW).open(&path);
        let held =
            || self.held.as_ref().filter(|held| held.id == id).map(|held| File::open(HeldFolder::name(&held.journal)));
        let file = match named {
            Err(error) if error.kind() == io::ErrorKind::NotFound => held().unwrap_or(Err(error)),
            named => named,
        };
        let bytes = whole(&file.map_err(failed)?, &path)?;
        if !bytes.contains(&b'\n') {
            return Err(TuneError::Empty { path });
        }
        let content = parsed(&bytes).map_err(|why| TuneError::Journal { path: path.clone(), why })?;
        match content.begin.id == id {
            true => Ok(content),
            false => {
                let why = format!("it is the journal of {:?} under another name", content.begin.id);
                Err(TuneError::Journal { path, why })
            }
        }
    }

    fn file(&self, id: &str) -> Result<PathBuf, TuneError> {
        if is_id(id) { Ok(self.folder().join(format!("{id}.journal"))) } else { Err(TuneError::Id(id.to_owned())) }
    }
}

fn is_id(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// A journal that is being written, at its end and nowhere else: two that write at once, though they should not, lose
/// no line of each other's.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of whole lines, as far as this process knows.
    length: u64,
}

impl Journal {
    /// Begins one, with its first line on the disk.
    pub(crate) fn begin(state: &JournalFolder, begin: &Begin) -> Result<Journal, TuneError> {
        let path = state.file(&begin.id)?;
        let failed = |source| TuneError::State { path: path.clone(), source };
        let file = private().read(true).append(true).create_new(true).open(&path).map_err(failed)?;
        let mut journal = Journal { path: path.clone(), file, length: 0 };
        let begun = journal
            .append(&JournalLine::Begin(begin.clone()))
            .and_then(|()| sync_folder(&state.folder()).map_err(failed));
        if begun.is_err() {
            let _ = std::fs::remove_file(&path);
        }
        begun.map(|()| journal)
    }

    /// Opens one to go on with it; a line that was cut is dropped.
    pub(crate) fn resume(state: &JournalFolder, id: &str) -> Result<Journal, TuneError> {
        let path = state.file(id)?;
        let failed = |source| TuneError::State { path: path.clone(), source };
        let file = private().read(true).append(true).open(&path).map_err(failed)?;
        let bytes = whole(&file, &path)?;
        let length = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1) as u64;
        if length < bytes.len() as u64 {
            file.set_len(length).map_err(failed)?;
        }
        Ok(Journal { path, file, length })
    }

    /// Refuses where somebody else has gone on with it: what was read of it is not what it says now.
    pub(crate) fn require_own(&self) -> Result<(), TuneError> {
        let failed = |source| TuneError::State { path: self.path.clone(), source };
        // By its name: a file that was put in its place is not this one.
        let (there, own) = (self.path.symlink_metadata().map_err(failed)?, self.file.metadata().map_err(failed)?);
        let is_own = there.ino() == own.ino() && own.len() == self.length;
        if is_own { Ok(()) } else { Err(TuneError::Overtaken { path: self.path.clone() }) }
    }

    /// What it tells, though it has its name no more.
    pub(crate) fn content(&self) -> Result<JournalContent, TuneError> {
        let path = self.path.clone();
        let mut bytes = vec![0; usize::try_from(self.length).unwrap_or(0)];
        match self.file.read_exact_at(&mut bytes, 0) {
            Ok(()) => parsed(&bytes).map_err(|why| TuneError::Journal { path, why }),
            Err(source) => Err(TuneError::State { path, source }),
        }
    }

    /// Puts a line on the disk. Where that fails (a full disk), none of it stays.
    pub(crate) fn append(&mut self, line: &JournalLine) -> Result<(), TuneError> {
        self.append_all(std::slice::from_ref(line))
    }

    /// The same for several, all or none.
    pub(crate) fn append_all(&mut self, lines: &[JournalLine]) -> Result<(), TuneError> {
        let mut text = String::new();
        for line in lines {
            text += &serde_json::to_string(line)
                .map_err(|error| TuneError::Journal { path: self.path.clone(), why: error.to_string() })?;
            text.push('\n');
        }
        self.require_own()?;
        let end = self.length + text.len() as u64;
        let is_change = lines.iter().any(|line| matches!(line, JournalLine::Begin(_) | JournalLine::Intent { .. }));
        if end > if is_change { CHANGED_BYTES } else { LARGEST_JOURNAL_BYTES } {
            let source = io::Error::new(io::ErrorKind::FileTooLarge, "the journal would be too long to be read");
            return Err(TuneError::State { path: self.path.clone(), source });
        }
        match self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data()) {
            Ok(()) => {
                self.length = end;
                Ok(())
            }
            Err(source) => {
                if self.file.metadata().is_ok_and(|metadata| metadata.len() <= end) {
                    let _ = self.file.set_len(self.length);
                }
                Err(TuneError::State { path: self.path.clone(), source })
            }
        }
    }
}

/// All of a journal: what is behind the end of what is read would not be restored.
fn whole(file: &File, path: &Path) -> Result<Vec<u8>, TuneError> {
    let mut bytes = Vec::new();
    let metadata = file.metadata().map_err(|source| TuneError::State { path: path.to_owned(), source })?;
    if !metadata.is_file() {
        return Err(TuneError::Journal { path: path.to_owned(), why: "it is not a regular file".to_owned() });
    }
    // It decides what is written to settings.
    if !path_trust::is_own_alone(&metadata) {
        let why = "another user owns it or can write to it: chown it to yourself and chmod 600 it if you know what it \
                   says";
        return Err(TuneError::Journal { path: path.to_owned(), why: why.to_owned() });
    }
    let read = file.take(LARGEST_JOURNAL_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|source| TuneError::State { path: path.to_owned(), source })?;
    if bytes.len() as u64 > LARGEST_JOURNAL_BYTES {
        let why = format!("it is longer than {} MiB", LARGEST_JOURNAL_BYTES >> 20);
        return Err(TuneError::Journal { path: path.to_owned(), why });
    }
    Ok(bytes)
}

/// A new file's name is on the disk when its folder is.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use linerate_record::journal::{JOURNAL_SCHEMA, RolledBackBy};

    use super::*;

    fn begin() -> Begin {
        Begin {
            schema: JOURNAL_SCHEMA,
            id: "20260102T030405Z-1".into(),
            machine: "m".into(),
            boot: "b".into(),
            profile: "p".into(),
            root: None,
            began_ms: 1,
            deadline_since_boot_ms: 2,
            owner: None,
            wave: None,
        }
    }

    #[test]
    fn a_pipe_in_the_place_of_a_journal_is_refused_and_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let state = JournalFolder::open(dir.path().join("tune")).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let path = state.file("1").unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let refused = state.read("1").unwrap_err().to_string();
        assert!(refused.contains("not a regular file"), "{refused}");
    }

    #[test]
    fn a_journal_that_others_can_write_to_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let state = JournalFolder::open(dir.path().join("tune")).unwrap();
        Journal::begin(&state, &begin()).unwrap();
        let path = state.file(&begin().id).unwrap();
        for (mode, is_believed) in [(0o600, true), (0o644, true), (0o666, false), (0o620, false)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            let read = state.read(&begin().id).map(drop).map_err(|error| error.to_string());
            assert_eq!(read.is_ok(), is_believed, "{mode:o}: {read:?}");
            assert_eq!(Journal::resume(&state, &begin().id).is_ok(), is_believed, "{mode:o}");
        }
    }

    #[test]
    fn files_are_for_their_owner_alone_and_a_folder_open_to_others_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let state = JournalFolder::open(dir.path().join("tune")).unwrap();
        Journal::begin(&state, &begin()).unwrap();
        let _lock = state.lock().unwrap().unwrap();
        for entry in std::fs::read_dir(state.path()).unwrap() {
            assert_eq!(entry.unwrap().metadata().unwrap().mode() & 0o777, 0o600);
        }
        assert_eq!(std::fs::metadata(state.path()).unwrap().mode() & 0o777, 0o700);
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(JournalFolder::open(state.path()), Err(TuneError::Above { .. })));
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        std::fs::set_permissions(state.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(JournalFolder::open(state.path()), Err(TuneError::Permissions { .. })));
    }

    #[test]
    fn a_folder_that_must_be_there_is_not_made() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("tune");
        assert!(matches!(JournalFolder::existing(&folder), Err(TuneError::State { .. })));
        assert!(!folder.exists());
        JournalFolder::open(&folder).unwrap();
        JournalFolder::existing(&folder).unwrap();
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(matches!(JournalFolder::existing(&folder), Err(TuneError::Permissions { .. })));
    }

    #[test]
    fn a_journal_cut_anywhere_tells_its_whole_lines_and_can_be_gone_on_with() {
        let dir = tempfile::tempdir().unwrap();
        let state = JournalFolder::open(dir.path()).unwrap();
        let mut journal = Journal::begin(&state, &begin()).unwrap();
        journal.append(&JournalLine::Applied).unwrap();
        journal.append(&JournalLine::Confirmed { at_ms: 7 }).unwrap();
        let path = state.file(&begin().id).unwrap();
        let whole = std::fs::read(&path).unwrap();
        for end in 0..=whole.len() {
            std::fs::write(&path, &whole[..end]).unwrap();
            let lines = whole[..end].iter().filter(|byte| **byte == b'\n').count();
            match state.read(&begin().id) {
                Ok(reported) => {
                    assert!(lines > 0 && reported.is_applied == (lines > 1), "{end}");
                    assert_eq!(reported.confirmed_ms.is_some(), lines > 2, "{end}");
                    Journal::resume(&state, &begin().id).unwrap().append(&JournalLine::Applied).unwrap();
                    assert!(state.read(&begin().id).unwrap().is_applied, "{end}");
                }
                Err(error) => assert!(lines == 0 && matches!(error, TuneError::Empty { .. }), "{end}: {error}"),
            }
        }
    }

    #[test]
    fn a_journal_that_could_not_be_read_whole_is_neither_written_nor_read_nor_cut() {
        let dir = tempfile::tempdir().unwrap();
        let state = JournalFolder::open(dir.path()).unwrap();
        let id = begin().id;
        let mut journal = Journal::begin(&state, &begin()).unwrap();
        let path = state.file(&id).unwrap();
        let grown = |bytes: u64| std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(bytes).unwrap();
        // As long as changes may make it: what was restored goes on being noted.
        grown(CHANGED_BYTES - 10);
        journal.length = CHANGED_BYTES - 10;
        let intent = JournalLine::Intent {
            number: 0,
            change: Box::new(serde_json::from_str(CHANGE).unwrap()),
            prior: "1".to_owned(),
            net: None,
            coupled: Vec::new(),
            devices: Vec::new(),
        };
        let why = journal.append(&intent).unwrap_err().to_string();
        assert!(why.contains("too long to be read"), "{why}");
        assert_eq!(path.metadata().unwrap().len(), CHANGED_BYTES - 10);
        journal
            .append(&JournalLine::RolledBack {
                number: 0,
                outcome: linerate_record::journal::RollbackOutcome::Restored,
            })
            .unwrap();
        grown(LARGEST_JOURNAL_BYTES + 1);
        let said = [state.read(&id).map(drop), Journal::resume(&state, &id).map(drop)]
            .map(|done| done.unwrap_err().to_string());
        assert!(said.iter().all(|why| why.contains("longer than 64 MiB")), "{said:?}");
        assert_eq!(path.metadata().unwrap().len(), LARGEST_JOURNAL_BYTES + 1);
    }

    const CHANGE: &str = r#"{"place": {"knob": "vm.dirty_ratio"}, "prior": "1", "new": "2", "scope": "host",
        "takes_effect": "at-once", "why": "w", "risk": "none"}"#;

    #[test]
    fn the_last_instant_counts_that_it_was_put_off_to() {
        let dir = tempfile::tempdir().unwrap();
        let state = JournalFolder::open(dir.path()).unwrap();
        let mut journal = Journal::begin(&state, &begin()).unwrap();
        for (deadline_since_boot_ms, at_ms) in [(7, None), (9, Some(8))] {
            journal.append(&JournalLine::Extended { deadline_since_boot_ms, at_ms }).unwrap();
            let reported = state.read(&begin().id).unwrap();
            assert_eq!(reported.begin, Begin { deadline_since_boot_ms, ..begin() });
            assert_eq!(reported.first_deadline_since_boot_ms, 2);
            assert_eq!(reported.extended.last(), Some(&(at_ms, deadline_since_boot_ms)));
        }
        assert_eq!(state.read(&begin().id).unwrap().extended.len(), 2);
    }

    #[test]
    fn two_that_write_at_once_lose_no_line_and_the_first_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let state = JournalFolder::open(dir.path()).unwrap();
        let mut first = Journal::begin(&state, &begin()).unwrap();
        first.append(&JournalLine::Applied).unwrap();
        first.require_own().unwrap();
        let closed = JournalLine::Closed { by: RolledBackBy::Lapse, at_ms: 7, left: 0, why: None };
        Journal::resume(&state, &begin().id).unwrap().append(&closed).unwrap();
        let whole = std::fs::read(state.file(&begin().id).unwrap()).unwrap();
        assert!(matches!(first.require_own(), Err(TuneError::Overtaken { .. })));
        assert!(matches!(first.append(&JournalLine::Confirmed { at_ms: 8 }), Err(TuneError::Overtaken { .. })));
        assert_eq!(std::fs::read(state.file(&begin().id).unwrap()).unwrap(), whole);

        let mut replaced = Journal::resume(&state, &begin().id).unwrap();
        std::fs::rename(state.file(&begin().id).unwrap(), dir.path().join("aside")).unwrap();
        std::fs::write(state.file(&begin().id).unwrap(), &whole).unwrap();
        assert!(matches!(replaced.append(&JournalLine::Applied), Err(TuneError::Overtaken { .. })));
    }

    #[test]
    fn names_of_journals_cannot_be_paths_and_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let state = JournalFolder::open(dir.path()).unwrap();
        for id in ["", "../x", "a/b", "a.b", "a\n"] {
            assert!(matches!(state.read(id), Err(TuneError::Id(_))), "{id:?}");
        }
        std::fs::write(dir.path().join("target"), "").unwrap();
        std::os::unix::fs::symlink(dir.path().join("target"), dir.path().join("linked.journal")).unwrap();
        assert!(matches!(state.read("linked"), Err(TuneError::State { .. })));
    }
}
