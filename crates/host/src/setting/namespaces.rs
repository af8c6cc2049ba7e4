//! The network namespaces of this machine, as far as they can be found: by the processes and threads in them, by the
//! files that processes hold open, and by where they are mounted. The kernel has no list of them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundNetns {
    pub(super) inode: u64,
    /// A file that is it, as long as what it was found by lasts.
    pub(super) path: PathBuf,
    /// What people call it.
    pub(super) reported: String,
}

/// All that are found, and, in words, those of processes that are none of these and not to be seen.
pub(super) fn all() -> (Vec<FoundNetns>, Vec<String>) {
    let mut search = Search::default();
    for name in listed(Path::new(NAMED)) {
        search.named(&name);
    }
    let mut processes: Vec<u32> = listed(Path::new("/proc")).iter().filter_map(|name| name.parse().ok()).collect();
    processes.sort_unstable();
    for pid in processes {
        search.process(pid);
    }
    let unseen = search.unseen();
    (search.found.into_values().collect(), unseen)
}

const NAMED: &str = "/run/netns";

#[derive(Default)]
struct Search {
    found: BTreeMap<u64, FoundNetns>,
    /// What tells the namespace of a process where its link is not to be read, of those that were found.
    known: BTreeSet<u64>,
    /// Processes whose link is not to be read.
    denied: Vec<u32>,
    /// Mount namespaces that were gone through.
    mounts: BTreeSet<PathBuf>,
}

impl Search {
    fn named(&mut self, name: &str) {
        let path = Path::new(NAMED).join(name);
        // A name whose namespace is mounted nowhere any more is a plain file.
        let is_one = rustix::fs::statfs(&path).is_ok_and(|fs| fs.f_type == NSFS);
        if let (true, Ok(metadata)) = (is_one, path.metadata()) {
            self.add(metadata.ino(), path, || format!("network namespace {name}"));
        }
    }

    fn process(&mut self, pid: u32) {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let reported = || format!("the network namespace of process {pid}");
        match std::fs::read_link(folder.join("ns/net")) {
            Ok(link) => {
                self.linked(&link, folder.join("ns/net"), reported);
                self.known.extend(node(pid).ok());
            }
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                self.denied.push(pid);
                return;
            }
            // It ended meanwhile.
            Err(_) => {}
        }
        for thread in listed(&folder.join("task")).iter().filter(|thread| **thread != pid.to_string()) {
            let path = folder.join("task").join(thread).join("ns/net");
            if let Ok(link) = std::fs::read_link(&path) {
                self.linked(&link, path, || format!("the network namespace of thread {thread} of process {pid}"));
            }
        }
        for number in listed(&folder.join("fd")) {
            let path = folder.join("fd").join(number);
            if let Ok(link) = std::fs::read_link(&path) {
                self.linked(&link, path, || format!("a network namespace that process {pid} holds open"));
            }
        }
        self.mounted(pid, &folder);
    }

    /// What is mounted where a process sees it: container runtimes keep namespaces so.
    fn mounted(&mut self, pid: u32, folder: &Path) {
        let Ok(mounts) = std::fs::read_link(folder.join("ns/mnt")) else { return };
        if !self.mounts.insert(mounts) {
            return;
        }
        let text = std::fs::read(folder.join("mountinfo")).unwrap_or_default();
        for (inode, place) in namespace_mounts(&String::from_utf8_lossy(&text)) {
            let path = folder.join("root").join(place.trim_start_matches('/'));
            self.add(inode, path, || format!("the network namespace mounted at {place} of process {pid}"));
        }
    }

    /// The namespaces of processes that are none of those found.
    fn unseen(&self) -> Vec<String> {
        let is_unseen = |pid: &&u32| match node(**pid) {
            Ok(node) => !self.known.contains(&node),
            // ENOENT and ESRCH: it has ended meanwhile.
            Err(error) => error.kind() != io::ErrorKind::NotFound && error.raw_os_error() != Some(3),
        };
        self.denied.iter().filter(is_unseen).map(|pid| format!("the network namespace of process {pid}")).collect()
    }

    fn linked(&mut self, link: &Path, path: PathBuf, reported: impl Fn() -> String) {
        if let Some(inode) = link.to_str().and_then(parse_inode) {
            self.add(inode, path, reported);
        }
    }

    fn add(&mut self, inode: u64, path: PathBuf, reported: impl Fn() -> String) {
        self.found.entry(inode).or_insert_with(|| FoundNetns { inode, path, reported: reported() });
    }
}

/// The inode of a file of which each network namespace has its own, and which anybody may look at.
fn node(pid: u32) -> io::Result<u64> {
    Ok(std::fs::metadata(format!("/proc/{pid}/net/dev"))?.ino())
}

/// `NSFS_MAGIC` of `include/uapi/linux/magic.h`.
const NSFS: rustix::fs::FsWord = 0x6e73_6673;

/// `net:[4026531840]`.
fn parse_inode(link: &str) -> Option<u64> {
    link.strip_prefix("net:[")?.strip_suffix(']')?.parse().ok()
}

/// The network namespaces of a file of mounts, with where they are: `proc_pid_mountinfo(5)`, fields 4 and 5.
fn namespace_mounts(text: &str) -> Vec<(u64, String)> {
    let row = |line: &str| {
        let mut columns = line.split(' ').skip(3);
        Some((parse_inode(columns.next()?)?, columns.next()?.replace("\\040", " ")))
    };
    text.lines().filter_map(row).collect()
}

fn listed(folder: &Path) -> Vec<String> {
    let all = std::fs::read_dir(folder).into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_told_by_their_links_and_mounts() {
        assert_eq!(parse_inode("net:[4026531840]"), Some(4_026_531_840));
        for other in ["mnt:[4026531840]", "socket:[1]", "net:[x]", "/dev/null"] {
            assert_eq!(parse_inode(other), None, "{other}");
        }
        let text = "22 1 0:21 / /proc rw - proc proc rw\n\
                    450 30 0:4 net:[4026532315] /run/docker/netns/a\\040b rw shared:5 - nsfs nsfs rw\n451 30 0:4\n";
        assert_eq!(namespace_mounts(text), [(4_026_532_315, "/run/docker/netns/a b".to_owned())]);
    }

    #[test]
    fn the_own_namespace_is_among_those_found() {
        let own = std::fs::read_link("/proc/thread-self/ns/net").unwrap();
        let (all, _) = all();
        let it = all.iter().find(|one| Some(one.inode) == own.to_str().and_then(parse_inode)).unwrap();
        assert!(it.reported.contains("network namespace"), "{it:?}");
        let mut search = Search { denied: vec![std::process::id()], ..Search::default() };
        assert_eq!(search.unseen().len(), 1, "nothing tells that it is one of those found");
        search.known.extend(node(std::process::id()).ok());
        assert_eq!(search.unseen(), [""; 0]);
    }
}
