//! Whether a path leads only through folders in which nobody else can put something in another's place.

use std::ffi::{OsStr, OsString};
use std::fs::{Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The first folder or link on the way to a path, itself included, in which somebody else could put another in its
/// place, if there is one. Looked at is every step that the kernel takes: also those from link to link.
///
/// # Errors
/// Where one of them cannot be looked at.
pub fn weak(path: &Path) -> io::Result<Option<PathBuf>> {
    let owners = Owners::known()?;
    let (mut at, mut links) = (PathBuf::new(), 0);
    let mut left = steps(&std::path::absolute(path)?);
    while let Some(step) = left.pop() {
        if step == OsStr::new("..") {
            at.pop();
            continue;
        }
        // What begins with a slash takes the place of all before.
        at.push(step);
        let metadata = at.symlink_metadata()?;
        if !owners.is_safe(&metadata) {
            return Ok(Some(at));
        }
        if metadata.is_symlink() {
            links += 1;
            if links > LINKS_MAX {
                return Err(rustix::io::Errno::LOOP.into());
            }
            left.extend(steps(&at.read_link()?));
            at.pop();
        }
    }
    Ok(None)
}

/// As many links as the kernel follows: `path_resolution(7)`.
const LINKS_MAX: u32 = 40;

/// The steps of a path, the last first.
fn steps(path: &Path) -> Vec<OsString> {
    path.components().rev().map(|step| step.as_os_str().to_owned()).filter(|step| step != ".").collect()
}

/// Who is trusted: root, this user, and whoever owns the root folder, as root looks like in a user namespace.
struct Owners {
    own: u32,
    of_root: u32,
}

impl Owners {
    fn known() -> io::Result<Owners> {
        Ok(Owners { own: rustix::process::geteuid().as_raw(), of_root: Path::new("/").symlink_metadata()?.uid() })
    }

    fn is_safe(&self, metadata: &Metadata) -> bool {
        let is_owned = |id: u32| id == 0 || id == self.own || id == self.of_root;
        // Of a link only the owner counts. In a sticky folder nobody moves what is another's: `inode(7)`.
        let is_open = |bit: u32| metadata.is_dir() && metadata.mode() & bit != 0 && metadata.mode() & 0o1000 == 0;
        // A user's own group, of the same number, has nobody else in it.
        let is_own_group = is_owned(metadata.gid()) && (metadata.gid() == 0 || metadata.gid() == metadata.uid());
        is_owned(metadata.uid()) && !is_open(0o002) && (!is_open(0o020) || is_own_group)
    }
}

/// Whether this user owns a file or folder, and nobody else can write to it.
#[must_use]
pub fn is_own_alone(metadata: &Metadata) -> bool {
    metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0
}

/// Opens no link in place of a file, and waits for nobody at the other end of a pipe.
pub(crate) const NO_FOLLOW: i32 = rustix::fs::OFlags::NOFOLLOW.union(rustix::fs::OFlags::NONBLOCK).bits().cast_signed();

/// How files are opened that are for their owner alone.
pub(crate) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600).custom_flags(NO_FOLLOW);
    options
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn a_folder_above_that_others_write_to_is_named_and_a_sticky_one_is_none() {
        let dir = tempfile::tempdir().unwrap();
        let above = dir.path().canonicalize().unwrap().join("above");
        let path = above.join("state/tune");
        std::fs::create_dir_all(&path).unwrap();
        std::fs::set_permissions(above.join("state"), std::fs::Permissions::from_mode(0o700)).unwrap();
        symlink(&above, dir.path().join("link")).unwrap();
        let linked = dir.path().join("link/state/tune");
        for (mode, is_weak) in [(0o755, false), (0o777, true), (0o1777, false), (0o700, false), (0o702, true)] {
            std::fs::set_permissions(&above, std::fs::Permissions::from_mode(mode)).unwrap();
            let expected = is_weak.then(|| above.clone());
            assert_eq!(weak(&path).unwrap(), expected, "{mode:o}");
            assert_eq!(weak(&linked).unwrap(), expected, "{mode:o} behind a link");
        }
        std::fs::set_permissions(&above, std::fs::Permissions::from_mode(0o700)).unwrap();
        // A link in a folder of others leads to where they like, though both ends are one's own.
        let (kept, open) = (dir.path().join("kept"), dir.path().canonicalize().unwrap().join("open"));
        for folder in [&kept, &open] {
            std::fs::create_dir(folder).unwrap();
        }
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
        symlink(&kept, open.join("second")).unwrap();
        symlink("open/../open/second", dir.path().join("first")).unwrap();
        assert_eq!(weak(&kept).unwrap(), None);
        assert_eq!(weak(&dir.path().join("first")).unwrap(), Some(open));
        symlink("around", dir.path().join("around")).unwrap();
        assert!(weak(&dir.path().join("around")).is_err());
        assert!(weak(&above.join("none")).is_err());
        assert_eq!(weak(Path::new("/proc/sys")).unwrap(), None);
    }
}
