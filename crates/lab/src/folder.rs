//! The folder of a lab: what it is made of, which is written before anything is made, its faults, drives and logs.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::OFlags;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::drives::DriveFiles;
use crate::engine::EngineSpec;
use crate::error::LabError;
use crate::faults::Fault;
use crate::keys::LabKeys;
use crate::mounts;
use crate::names::{LabName, Machine, nodes};
use crate::spec::LabSpec;

/// Where labs are, unless it is said.
pub const STATE: &str = "/var/lib/linerate/labs";

/// Version of [`LabRecord`]'s JSON.
pub const LAB_SCHEMA: u32 = 1;

const RECORD: &str = "lab.json";
const FAULTS: &str = "faults.json";
const KEYS: &str = "keys.json";
const LOCK: &str = "lock";

/// What a kill leaves of the record before it has its name.
const NEW_RECORD: &str = "lab.new";

/// So many files of a folder that is no lab's are named.
const NAMED_MAX: usize = 3;

/// How often the lock of a lab is tried, and how long lies between.
const LOCK_TRIES: u32 = 20;
const LOCK_TRIED_EACH: Duration = Duration::from_millis(10);

/// Longest file that is read of it.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// What a lab is made of: from this alone it is removed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabRecord {
    /// [`LAB_SCHEMA`].
    pub schema: u32,
    pub name: LabName,
    /// Drawn for each lab: its namespace of switches is marked with it.
    pub id: String,
    pub spec: LabSpec,
    /// Absent if nothing serves in it.
    pub engine: Option<EngineSpec>,
    /// The drives of each node.
    pub drives: Vec<Vec<DriveFiles>>,
    /// Whether the first namespace with a name on this machine is of this lab: the folder of names is its own then.
    pub makes_names_folder: bool,
    /// By how much the rates of a site were divided, and what of it a lab has not; absent without a site.
    pub scaled: Option<ScaledSite>,
}

/// How a lab differs from the site that it is made after.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScaledSite {
    pub site: String,
    /// All rates of links and drives are divided by it.
    pub divisor: f64,
    /// What the lab has not, a sentence each.
    pub differs: Vec<String>,
}

/// Faults of a lab.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlantedFaults {
    /// The latest last.
    pub faults: Vec<Fault>,
    /// Machines that are not set by them yet: a kill may have come between.
    pub unset: BTreeSet<Machine>,
}

/// The folder of a lab, which one process at a time works on.
#[derive(Debug)]
pub struct LabFolder {
    path: PathBuf,
    name: LabName,
    lock: File,
}

impl LabFolder {
    /// Makes the folder of a new lab.
    ///
    /// # Errors
    /// [`LabError::Taken`] where there is one; [`LabError::Untrusted`], [`LabError::File`].
    pub fn make(state: &Path, name: &LabName) -> Result<LabFolder, LabError> {
        private_folder(true).create(state).map_err(LabError::file("make", state))?;
        let state = &resolved(state)?;
        check_trusted(state)?;
        let path = state.join(name.to_string());
        match private_folder(false).create(&path) {
            Ok(()) => LabFolder::lock(path, name),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Err(LabError::Taken { what: format!("the lab {name}") })
            }
            Err(error) => Err(LabError::file("make", path)(error)),
        }
    }

    /// The folder of a lab that is there. A folder that is not a lab's is left as it is.
    ///
    /// # Errors
    /// [`LabError::NoLab`], [`LabError::NotALab`], [`LabError::Busy`], [`LabError::Untrusted`], [`LabError::Damaged`],
    /// [`LabError::File`].
    pub fn open(state: &Path, name: &LabName) -> Result<LabFolder, LabError> {
        if !state.exists() {
            return Err(LabError::NoLab { name: name.to_string() });
        }
        let state = &resolved(state)?;
        let path = state.join(name.to_string());
        match path.symlink_metadata() {
            Ok(metadata) if metadata.is_dir() => {}
            _ => return Err(LabError::NoLab { name: name.to_string() }),
        }
        [state, &path].into_iter().try_for_each(|path| check_trusted(path))?;
        record_of_lab(&path, name)?;
        LabFolder::lock(path, name)
    }

    fn lock(path: PathBuf, name: &LabName) -> Result<LabFolder, LabError> {
        let file = path.join(LOCK);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600).custom_flags(unfollowed());
        let lock = options.open(&file).map_err(LabError::file("open", &file))?;
        let busy = || LabError::Busy { name: name.to_string() };
        // A program that this process starts has its files too, until it is what it was started as.
        let is_locked = (0..LOCK_TRIES).any(|nth| {
            std::thread::sleep(LOCK_TRIED_EACH * nth.min(1));
            lock.try_lock().is_ok()
        });
        if !is_locked {
            return Err(busy());
        }
        // Another process may have removed the lab, and a third made it anew, since the file was opened.
        if inode(lock.metadata()) != inode(file.symlink_metadata()) {
            return Err(busy());
        }
        Ok(LabFolder { path, name: name.clone(), lock })
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[must_use]
    pub const fn name(&self) -> &LabName {
        &self.name
    }

    /// What is seen of a node's drives: its engine has them at [`LabFolder::drives`].
    #[must_use]
    pub fn drives_of(&self, node: Machine) -> PathBuf {
        drives_of(&self.path, node)
    }

    /// Where each node's processes have their drives: an empty folder for all others.
    #[must_use]
    pub fn drives(&self) -> PathBuf {
        self.path.join("drives")
    }

    /// Files that an engine reads.
    #[must_use]
    pub fn engine_files(&self) -> PathBuf {
        self.path.join("engine")
    }

    #[must_use]
    pub fn log(&self, node: Machine) -> PathBuf {
        self.path.join("logs").join(format!("{node}.log"))
    }

    /// Files of the drives that a description has.
    #[must_use]
    pub fn drive_files(&self, spec: &LabSpec) -> Vec<Vec<DriveFiles>> {
        drive_files(&self.path, spec)
    }

    /// # Errors
    /// [`LabError::File`].
    pub fn make_folders(&self, spec: &LabSpec) -> Result<(), LabError> {
        let nodes = nodes(spec).map(|node| self.drives_of(node));
        for folder in ["images", "drives", "engine", "logs"].map(|name| self.path.join(name)).into_iter().chain(nodes) {
            private_folder(true).create(&folder).map_err(LabError::file("make", &folder))?;
        }
        Ok(())
    }

    /// # Errors
    /// [`LabError::File`], [`LabError::Damaged`], [`LabError::NotALab`]. A lab that was ended before its record was
    /// written has none, and nothing else.
    pub fn record(&self) -> Result<Option<LabRecord>, LabError> {
        record_of_lab(&self.path, &self.name)
    }

    /// # Errors
    /// [`LabError::File`].
    pub fn write_record(&self, record: &LabRecord) -> Result<(), LabError> {
        self.write(RECORD, record)
    }

    /// # Errors
    /// [`LabError::File`], [`LabError::Damaged`].
    pub fn faults(&self) -> Result<PlantedFaults, LabError> {
        Ok(self.read(FAULTS)?.unwrap_or_default())
    }

    /// # Errors
    /// [`LabError::File`].
    pub fn write_faults(&self, faults: &PlantedFaults) -> Result<(), LabError> {
        self.write(FAULTS, faults)
    }

    /// # Errors
    /// [`LabError::File`], [`LabError::Damaged`].
    pub fn keys(&self) -> Result<Option<LabKeys>, LabError> {
        self.read(KEYS)
    }

    /// # Errors
    /// [`LabError::File`].
    pub fn write_keys(&self, keys: &LabKeys) -> Result<(), LabError> {
        self.write(KEYS, keys)
    }

    /// Writes text that people or an engine read, for its owner alone.
    ///
    /// # Errors
    /// [`LabError::File`].
    pub fn write_text(&self, name: impl AsRef<Path>, text: &str) -> Result<PathBuf, LabError> {
        let path = self.path.join(name);
        replace(&path, text.as_bytes()).map_err(LabError::file("write", &path))?;
        Ok(path)
    }

    /// Removes it with all that is in it, where nothing is mounted any more. Its record goes last: a folder that a kill
    /// leaves is a lab's to its end.
    ///
    /// # Errors
    /// [`LabError::File`]; [`LabError::Taken`] where its path leads to another folder by now.
    pub fn remove(self) -> Result<(), LabError> {
        if inode(self.lock.metadata()) != inode(self.path.join(LOCK).symlink_metadata()) {
            return Err(LabError::Taken { what: format!("another folder at {}", self.path.display()) });
        }
        self.remove_contents()?;
        self.remove_unmade()
    }

    /// All but what says whose it is.
    fn remove_contents(&self) -> Result<(), LabError> {
        let entries = fs::read_dir(&self.path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        for entry in entries.map_err(LabError::file("read", &self.path))? {
            let path = entry.path();
            let removed = match entry.file_type() {
                _ if [RECORD, LOCK].iter().any(|name| entry.file_name() == *name) => Ok(()),
                Ok(kind) if kind.is_dir() => fs::remove_dir_all(&path),
                _ => fs::remove_file(&path),
            };
            removed.map_err(LabError::file("remove", path))?;
        }
        Ok(())
    }

    /// Removes the folder of a lab of which nothing was made but its record: whatever else is in it keeps it.
    ///
    /// # Errors
    /// [`LabError::File`].
    pub fn remove_unmade(self) -> Result<(), LabError> {
        for path in [NEW_RECORD, RECORD, LOCK].map(|name| self.path.join(name)) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(LabError::file("remove", path)(error));
                }
                _ => {}
            }
        }
        fs::remove_dir(&self.path).map_err(LabError::file("remove", &self.path))
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, LabError> {
        read(&self.path.join(name))
    }

    fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<(), LabError> {
        let path = self.path.join(name);
        let text = serde_json::to_vec_pretty(value).map_err(io::Error::from);
        text.and_then(|text| replace(&path, &text)).map_err(LabError::file("write", path))
    }
}

/// The record of a lab by its folder. A folder without one is a lab's only where nothing else is in it than a kill of
/// `lab up` leaves before it.
fn record_of_lab(path: &Path, name: &LabName) -> Result<Option<LabRecord>, LabError> {
    let file = path.join(RECORD);
    let foreign = |what: String| LabError::NotALab { name: name.to_string(), path: path.to_owned(), what };
    if file.symlink_metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(foreign(format!("its {RECORD} is not a regular file")));
    }
    let damaged = |why: &str| Err(LabError::Damaged { path: file.clone(), why: why.to_owned() });
    let Some(record) = read::<LabRecord>(&file)? else {
        return match what_is_in(path)? {
            None => Ok(None),
            Some(what) => Err(foreign(what)),
        };
    };
    if record.schema != LAB_SCHEMA {
        return damaged("another version of linerate made it");
    }
    if record.name != *name {
        return damaged("it is of another lab");
    }
    if record.drives != drive_files(path, &record.spec) {
        return damaged("its drives are elsewhere");
    }
    Ok(Some(record))
}

/// What is in a folder, or mounted at it, that is not of a lab whose record was not written yet.
fn what_is_in(path: &Path) -> Result<Option<String>, LabError> {
    if mounts::is_mounted(path)? {
        return Ok(Some("something is mounted there".to_owned()));
    }
    let is_left = |entry: &fs::DirEntry| {
        let is_left_file = |metadata: &fs::Metadata| match entry.file_name().to_str() {
            Some(LOCK) => metadata.len() == 0,
            name => name == Some(NEW_RECORD),
        };
        entry.metadata().is_ok_and(|metadata| metadata.is_file() && is_left_file(&metadata))
    };
    let entries = fs::read_dir(path).map_err(LabError::file("read", path))?.map(|entry| match entry {
        Ok(entry) if is_left(&entry) => Ok(None),
        Ok(entry) => Ok(Some(entry.file_name().to_string_lossy().escape_debug().to_string())),
        Err(error) => Err(error),
    });
    // One more than are named, of a folder that may have any number.
    let others: io::Result<Vec<String>> = entries.filter_map(Result::transpose).take(NAMED_MAX + 1).collect();
    let others = others.map_err(LabError::file("read", path))?;
    let more = if others.len() > NAMED_MAX { ", …" } else { "" };
    let named = others[..others.len().min(NAMED_MAX)].join(", ");
    Ok((!others.is_empty()).then(|| format!("it has no {RECORD}, but {named}{more}")))
}

/// Reads a regular file of a lab, within [`FILE_BYTES_MAX`]: no pipe is waited for, and no link is followed.
fn read<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, LabError> {
    let damaged = |why: &str| LabError::Damaged { path: path.to_owned(), why: why.to_owned() };
    let failed = |error| LabError::file("read", path)(error);
    let file = match OpenOptions::new().read(true).custom_flags(unfollowed()).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(failed)?,
    };
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(damaged("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(damaged("it is too long"));
    }
    serde_json::from_slice(&bytes).map(Some).map_err(|error| damaged(&error.to_string()))
}

/// Files of the drives that a description has, in the folder of a lab.
fn drive_files(path: &Path, spec: &LabSpec) -> Vec<Vec<DriveFiles>> {
    let files = |node: usize, drive: usize, size_bytes: u64| {
        let machine = Machine::Node(node as u32 + 1);
        DriveFiles {
            image: path.join("images").join(format!("{machine}-drive{}.img", drive + 1)),
            below: path.join("below").join(format!("{machine}-drive{}", drive + 1)),
            mount_point: drives_of(path, machine).join(format!("drive{}", drive + 1)),
            size_bytes,
        }
    };
    let nodes = spec.nodes.iter().enumerate();
    nodes
        .map(|(at, node)| node.drives.iter().enumerate().map(|(nth, drive)| files(at, nth, drive.size_bytes)).collect())
        .collect()
}

fn drives_of(path: &Path, node: Machine) -> PathBuf {
    path.join("nodes").join(node.to_string())
}

/// Flags of `open(2)` for files that may be somebody else's.
fn unfollowed() -> i32 {
    (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed()
}

/// Which file it is, whatever its path.
fn inode(metadata: io::Result<fs::Metadata>) -> Option<(u64, u64)> {
    metadata.map(|metadata| (metadata.dev(), metadata.ino())).ok()
}

/// Mounts and devices are listed by paths without links.
fn resolved(state: &Path) -> Result<PathBuf, LabError> {
    state.canonicalize().map_err(LabError::file("find", state))
}

fn private_folder(is_recursive: bool) -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(is_recursive).mode(0o700);
    builder
}

/// What is in it decides what is removed as root.
fn check_trusted(path: &Path) -> Result<(), LabError> {
    let metadata = path.symlink_metadata().map_err(LabError::file("look at", path))?;
    let is_own = metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0;
    if is_own && metadata.is_dir() { Ok(()) } else { Err(LabError::Untrusted { path: path.to_owned() }) }
}

/// Puts a file in the place of another, on the disk before it has its name.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::tests::uniform;

    fn lab() -> LabName {
        "lab".parse().unwrap()
    }

    fn record(folder: &LabFolder) -> LabRecord {
        let spec = uniform(2, 2);
        let drives = folder.drive_files(&spec);
        LabRecord {
            schema: LAB_SCHEMA,
            name: lab(),
            id: "0123".to_owned(),
            spec,
            engine: None,
            drives,
            makes_names_folder: false,
            scaled: None,
        }
    }

    /// Names of all that is in a folder.
    fn entries(path: &Path) -> BTreeSet<String> {
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_record_is_read_back_and_one_that_names_files_elsewhere_is_refused() {
        let state = tempfile::tempdir().unwrap();
        let folder = LabFolder::make(state.path(), &lab()).unwrap();
        assert!(matches!(LabFolder::make(state.path(), &lab()), Err(LabError::Taken { .. })));
        assert!(matches!(LabFolder::open(state.path(), &lab()), Err(LabError::Busy { .. })));
        assert_eq!(folder.record().unwrap(), None);
        let mut record = record(&folder);
        folder.write_record(&record).unwrap();
        drop(folder);
        let folder = LabFolder::open(state.path(), &lab()).unwrap();
        assert_eq!(folder.record().unwrap().as_ref(), Some(&record));
        record.drives[1][0].image = "/etc/passwd".into();
        folder.write_record(&record).unwrap();
        assert!(matches!(folder.record(), Err(LabError::Damaged { .. })));
        folder.remove().unwrap();
        assert!(matches!(LabFolder::open(state.path(), &lab()), Err(LabError::NoLab { .. })));
    }

    #[test]
    fn a_folder_that_others_can_write_to_is_not_believed() {
        use std::os::unix::fs::PermissionsExt as _;
        let state = tempfile::tempdir().unwrap();
        let folder = LabFolder::make(state.path(), &lab()).unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        drop(folder);
        assert!(matches!(LabFolder::open(state.path(), &lab()), Err(LabError::Untrusted { .. })));
    }

    #[test]
    fn a_folder_that_is_not_a_labs_is_refused_and_left_as_it_is() {
        let state = tempfile::tempdir().unwrap();
        let path = state.path().join("lab");
        let refused = |expected: &str| {
            let before = entries(&path);
            let error = LabFolder::open(state.path(), &lab()).expect_err(expected);
            assert!(matches!(error, LabError::NotALab { .. }), "{expected}: {error}");
            assert!(error.to_string().contains(expected), "{expected}: {error}");
            assert_eq!(entries(&path), before, "{expected}");
        };
        private_folder(false).create(&path).unwrap();
        fs::write(path.join("thesis.txt"), "years of work").unwrap();
        refused("there is no lab \"lab\"");
        refused("not a lab's folder: it has no lab.json, but thesis.txt");
        ["1", "2", "3"].iter().for_each(|name| fs::create_dir(path.join(name)).unwrap());
        refused(", …");
        fs::remove_dir_all(&path).unwrap();
        private_folder(false).create(&path).unwrap();
        fs::write(path.join(LOCK), "of a database").unwrap();
        refused("but lock");
        fs::remove_file(path.join(LOCK)).unwrap();
        // Neither is read to its end, nor waited for.
        std::os::unix::fs::symlink("/dev/zero", path.join(RECORD)).unwrap();
        refused("lab.json is not a regular file");
        fs::remove_file(path.join(RECORD)).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        let fifo = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, path.join(RECORD), fifo, mode, 0).unwrap();
        refused("lab.json is not a regular file");
        fs::remove_file(path.join(RECORD)).unwrap();
        // Sparse.
        fs::File::create(path.join(RECORD)).unwrap().set_len(1 << 40).unwrap();
        let error = LabFolder::open(state.path(), &lab()).unwrap_err().to_string();
        assert!(error.contains("too long") && entries(&path).len() == 1, "{error}");
    }

    #[test]
    fn the_record_of_a_lab_is_removed_last() {
        let state = tempfile::tempdir().unwrap();
        let folder = LabFolder::make(state.path(), &lab()).unwrap();
        folder.write_record(&record(&folder)).unwrap();
        folder.make_folders(&uniform(2, 2)).unwrap();
        let path = folder.path().to_owned();
        folder.remove_contents().unwrap();
        assert_eq!(entries(&path), BTreeSet::from([RECORD.to_owned(), LOCK.to_owned()]));
        folder.make_folders(&uniform(2, 2)).unwrap();
        folder.remove().unwrap();
        assert!(!path.exists());
    }
}
