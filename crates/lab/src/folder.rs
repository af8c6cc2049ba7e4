//! The folder of a lab: what it is made of, which is written before anything is made, its faults, drives and logs.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::drives::DriveFiles;
use crate::engine::EngineSpec;
use crate::error::LabError;
use crate::faults::Fault;
use crate::keys::LabKeys;
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
    _lock: File,
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

    /// The folder of a lab that is there.
    ///
    /// # Errors
    /// [`LabError::NoLab`], [`LabError::Busy`], [`LabError::Untrusted`], [`LabError::File`].
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
        LabFolder::lock(path, name)
    }

    fn lock(path: PathBuf, name: &LabName) -> Result<LabFolder, LabError> {
        let file = path.join(LOCK);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
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
        let inode = |metadata: io::Result<fs::Metadata>| metadata.map(|metadata| (metadata.dev(), metadata.ino())).ok();
        if inode(lock.metadata()) != inode(fs::metadata(&file)) {
            return Err(busy());
        }
        Ok(LabFolder { path, name: name.clone(), _lock: lock })
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
        self.path.join("nodes").join(node.to_string())
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
        let files = |node: usize, drive: usize, size_bytes: u64| {
            let machine = Machine::Node(node as u32 + 1);
            DriveFiles {
                image: self.path.join("images").join(format!("{machine}-drive{}.img", drive + 1)),
                below: self.path.join("below").join(format!("{machine}-drive{}", drive + 1)),
                mount_point: self.drives_of(machine).join(format!("drive{}", drive + 1)),
                size_bytes,
            }
        };
        let nodes = spec.nodes.iter().enumerate();
        nodes
            .map(|(node, of)| {
                of.drives.iter().enumerate().map(|(at, drive)| files(node, at, drive.size_bytes)).collect()
            })
            .collect()
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
    /// [`LabError::File`], [`LabError::Damaged`]. A lab that was ended before its record was written has none.
    pub fn record(&self) -> Result<Option<LabRecord>, LabError> {
        let record: Option<LabRecord> = self.read(RECORD)?;
        let damaged = |why: &str| Err(LabError::Damaged { path: self.path.join(RECORD), why: why.to_owned() });
        match record {
            Some(record) if record.schema != LAB_SCHEMA => damaged("another version of linerate made it"),
            Some(record) if record.name != self.name => damaged("it is of another lab"),
            Some(record) if record.drives != self.drive_files(&record.spec) => damaged("its drives are elsewhere"),
            record => Ok(record),
        }
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

    /// Removes it with all that is in it, where nothing is mounted any more.
    ///
    /// # Errors
    /// [`LabError::File`].
    pub fn remove(self) -> Result<(), LabError> {
        fs::remove_dir_all(&self.path).map_err(LabError::file("remove", &self.path))
    }

    fn read<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, LabError> {
        let path = self.path.join(name);
        let damaged = |why: String| LabError::Damaged { path: path.clone(), why };
        let text = match fs::metadata(&path) {
            Ok(metadata) if metadata.len() > FILE_BYTES_MAX => return Err(damaged("it is too long".to_owned())),
            Ok(_) => fs::read_to_string(&path).map_err(LabError::file("read", &path))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(LabError::file("read", &path)(error)),
        };
        serde_json::from_str(&text).map(Some).map_err(|error| damaged(error.to_string()))
    }

    fn write<T: Serialize>(&self, name: &str, value: &T) -> Result<(), LabError> {
        let path = self.path.join(name);
        let text = serde_json::to_vec_pretty(value).map_err(io::Error::from);
        text.and_then(|text| replace(&path, &text)).map_err(LabError::file("write", path))
    }
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
}
