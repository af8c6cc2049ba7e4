//! Whose namespaces a setting is read and changed in, and how a thread gets there.
//!
//! `/proc/sys/net` and netlink show the network namespace of the thread that opens them (`net/sysctl_net.c:
//! net_ctl_header_lookup` looks at `current`), so a thread of its own enters the namespace and ends with the work.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;

use linerate_record::knob::Space;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::gone::Gone;
use super::{file, namespaces};
use crate::root::Root;

/// A machine, seen from within a network namespace.
pub(super) struct InNamespace<'r> {
    pub(super) root: &'r Root,
    /// Whether the thread has entered a namespace that is not its process's.
    foreign: bool,
    /// The process whose namespaces were asked for.
    pub(super) pid: Option<u32>,
}

impl InNamespace<'_> {
    /// Whether the namespace is another than that of this process.
    pub(super) fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// `proc/sys` of the machine.
    pub(super) fn sysctls(&self) -> io::Result<OwnedFd> {
        file::folder(&self.root.0.join("proc/sys"))
    }

    /// `sys` of the machine. What it shows of interfaces are those of the namespace in which it was mounted: where that
    /// is not this one, another is mounted, nowhere, for as long as it is open.
    pub(super) fn sysfs(&self, path: &str) -> io::Result<OwnedFd> {
        let there = file::folder(&self.root.0.join("sys"));
        if !self.root.is_live() || !path.starts_with("class/net") {
            return there;
        }
        match (own_sysfs(), there) {
            // By /sys itself where it is this one's, which may be mounted to be read only.
            (Ok(own), Ok(there)) if file_system_id(&own)? == file_system_id(&there)? => Ok(there),
            (Ok(own), _) => Ok(own),
            // Without the right to mount, a process has not entered a namespace either.
            (Err(_), there) if !self.foreign => there,
            (Err(error), _) => Err(error),
        }
    }
}

/// The `sys` of this thread's network namespace, mounted nowhere.
pub(super) fn own_sysfs() -> io::Result<OwnedFd> {
    let context = rustix::mount::fsopen("sysfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    rustix::mount::fsconfig_create(context.as_fd())?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    Ok(rustix::mount::fsmount(context.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?)
}

/// Which instance of a file system it is of.
fn file_system_id(tree: &OwnedFd) -> io::Result<u64> {
    Ok(rustix::fs::fstat(tree)?.st_dev)
}

/// Does work within the namespaces asked for. `net` is the inode of the network namespace where it is known: then it is
/// that one, by whatever name it can be reached, or none.
pub(super) fn within<T: Send>(
    root: &Root,
    space: &Space,
    net: Option<u64>,
    work: impl FnOnce(&InNamespace<'_>) -> io::Result<T> + Send,
) -> io::Result<T> {
    let pid = if let Space::Pid(pid) = space { Some(*pid) } else { None };
    if !root.is_live() {
        if matches!(space, Space::Netns(_)) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "a capture has no named network namespaces"));
        }
        return work(&InNamespace { root, foreign: false, pid });
    }
    let entered = match net {
        None => stated(space)?,
        Some(inode) if inode == own()? => None,
        Some(inode) => Some(found(space, inode)?),
    };
    match entered {
        None => work(&InNamespace { root, foreign: false, pid }),
        Some(namespace) => std::thread::scope(|scope| {
            let in_namespace = scope.spawn(|| {
                move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
                work(&InNamespace { root, foreign: true, pid })
            });
            in_namespace.join().unwrap_or_else(|_| Err(io::Error::other("the thread inside the namespace ended early")))
        }),
    }
}

/// Does work in the network namespace of a process of this machine.
///
/// # Errors
/// What the kernel says to whoever may not enter it, or what the work fails with.
pub(crate) fn within_process<T: Send>(pid: u32, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    within(&Root::live(), &Space::Pid(pid), None, |_| work())
}

/// The inode of the network namespace asked for; none on a captured machine.
///
/// # Errors
/// Where there is no such process or namespace.
pub fn identity(root: &Root, space: &Space) -> io::Result<Option<u64>> {
    if !root.is_live() {
        return Ok(None);
    }
    match stated(space)? {
        None => own().map(Some),
        Some(namespace) => Ok(Some(namespace.metadata()?.ino())),
    }
}

fn own() -> io::Result<u64> {
    Ok(own_namespace()?.metadata()?.ino())
}

/// The network namespace of this thread.
pub(super) fn own_namespace() -> io::Result<File> {
    File::open("/proc/thread-self/ns/net")
}

/// The namespace that a space names; none where that is the process's own.
fn stated(space: &Space) -> io::Result<Option<File>> {
    let path = match space {
        Space::Host => return Ok(None),
        Space::Pid(pid) => format!("/proc/{pid}/ns/net"),
        Space::Netns(name) => named(name)?,
    };
    let opened = File::open(&path).map_err(|error| {
        let what = match space {
            Space::Netns(name) => format!("there is no network namespace {name:?} in /run/netns"),
            _ => format!("there is no process with {path}"),
        };
        if error.kind() == io::ErrorKind::NotFound { io::Error::new(error.kind(), what) } else { error }
    })?;
    Ok((opened.metadata()?.ino() != own()?).then_some(opened))
}

fn named(name: &str) -> io::Result<String> {
    let is_name = !name.is_empty() && !name.starts_with('.') && !name.contains(|c: char| c == '/' || c.is_control());
    if is_name {
        return Ok(format!("/run/netns/{name}"));
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} is not the name of a network namespace")))
}

/// The namespace with this inode, by the name that it had, or by any other.
fn found(space: &Space, inode: u64) -> io::Result<File> {
    let is_it = |file: &File| file.metadata().is_ok_and(|metadata| metadata.ino() == inode);
    if let Ok(Some(file)) = stated(space)
        && is_it(&file)
    {
        return Ok(file);
    }
    let (known, _) = namespaces::all();
    let it = known.into_iter().find(|one| one.inode == inode);
    it.and_then(|one| File::open(one.path).ok()).filter(is_it).ok_or_else(|| Gone::Namespace.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_namespaces_cannot_be_paths() {
        for name in ["", ".", "..", "../etc", "a/b", "a\nb", ".hidden", "/x"] {
            assert!(named(name).is_err(), "{name:?}");
        }
        assert_eq!(named("cni-1").unwrap(), "/run/netns/cni-1");
    }

    #[test]
    fn the_own_namespace_is_told_by_its_inode_and_one_that_is_gone_is_not_entered() {
        let root = Root::live();
        let own = identity(&root, &Space::Host).unwrap();
        assert!(own.is_some());
        assert_eq!(identity(&root, &Space::Pid(std::process::id())).unwrap(), own);
        assert!(within(&root, &Space::Host, own, |_| Ok(())).is_ok());
        let error = within(&root, &Space::Host, Some(1), |_| Ok(())).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert_eq!(identity(&Root::captured("/none"), &Space::Host).unwrap(), None);
    }
}
