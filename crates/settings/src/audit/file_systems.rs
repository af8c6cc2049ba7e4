//! File systems that hold data, and options of them that slow drives. Options that the catalogue advises (`noatime`)
//! are differences, not findings.

use linerate_record::audit::{AuditCheck, AuditFinding};
use linerate_record::finding::{Confidence, Severity};
use linerate_record::knob::{Mount, Snapshot};
use linerate_record::site::Site;

use super::{finding, listed};

/// Where an operating system lives.
const OF_SYSTEM: [&str; 10] = ["/", "/boot", "/boot/efi", "/efi", "/home", "/opt", "/tmp", "/usr", "/var", "/var/log"];

/// Options, what they do, and how bad that is.
const OPTIONS: [(&str, Severity, &str); 9] = [
    ("ro", Severity::Critical, "nothing can be written: the kernel remounts so after errors"),
    ("sync", Severity::Critical, "each write waits for the drive"),
    ("wsync", Severity::Warning, "each operation on metadata waits for the log"),
    ("dirsync", Severity::Warning, "each change of a directory waits for the drive"),
    ("strictatime", Severity::Warning, "each read writes the time of access"),
    ("usrquota", Severity::Note, "quotas are counted for each block and file, but an S3 engine does not use them"),
    ("grpquota", Severity::Note, "quotas are counted for each block and file, but an S3 engine does not use them"),
    ("prjquota", Severity::Note, "quotas are counted for each block and file, but an S3 engine does not use them"),
    ("nobarrier", Severity::Critical, "what was acknowledged may be lost when power fails"),
];

/// Options that a component sets which needs them, and where it mounts: below folders that end in a slash, at others
/// themselves. DirectPV keeps each volume to its size by project quotas of XFS. The kubelet measures pods' ephemeral
/// storage by them (`LocalStorageCapacityIsolationFSQuotaMonitoring`), and Docker and Podman limit containers with them
/// (`overlay2.size`, containers-storage.conf(5)): in a folder of their own, not where drives are bound into pods.
const NEEDED: [(&str, &str); 7] = [
    ("prjquota", "/var/lib/directpv/"),
    ("prjquota", "/var/lib/direct-csi/"),
    ("prjquota", "/var/lib/kubelet"),
    ("prjquota", "/var/snap/microk8s/common/var/lib/kubelet"),
    ("prjquota", "/var/lib/docker"),
    ("prjquota", "/var/lib/containers"),
    ("prjquota", "/var/lib/containers/storage"),
];

pub(super) fn check(snapshot: &Snapshot, _site: &Site) -> Vec<AuditFinding> {
    let data: Vec<&Mount> = snapshot.devices.mounts.iter().filter(|mount| is_of_data(snapshot, mount)).collect();
    let mut found = Vec::new();
    for (option, severity, what) in OPTIONS {
        let having: Vec<&str> =
            data.iter().filter(|mount| has(snapshot, mount, option)).map(|mount| mount.path.as_str()).collect();
        if !having.is_empty() {
            found.push(finding(
                AuditCheck::FileSystem,
                severity,
                Confidence::Certain,
                format!("{} mounted with {option}: {what}", affected(having.len(), data.len())),
                listed(having),
                format!("mount without {option}"),
            ));
        }
    }
    let others: Vec<String> =
        data.iter().filter(|mount| mount.fs != "xfs").map(|mount| format!("{} ({})", mount.path, mount.fs)).collect();
    if !others.is_empty() {
        found.push(finding(
            AuditCheck::FileSystem,
            Severity::Note,
            Confidence::Likely,
            format!("{} not on XFS, which MinIO and source 000 ask for", affected(others.len(), data.len())),
            listed(others.iter().map(String::as_str)),
            "use XFS on drives that are added later; converting an existing drive means rebuilding it",
        ));
    }
    found
}

/// Whether a mount has an option that nobody needs: what a component mounts is bound into pods with the same.
fn has(snapshot: &Snapshot, mount: &Mount, option: &str) -> bool {
    let is_needed = |other: &Mount| {
        let is_at = |folder: &str| {
            if folder.ends_with('/') { other.path.starts_with(folder) } else { other.path == folder }
        };
        other.device == mount.device && NEEDED.iter().any(|(needed, folder)| *needed == option && is_at(folder))
    };
    mount.options.iter().any(|one| one == option) && !snapshot.devices.mounts.iter().any(is_needed)
}

fn affected(count: usize, all: usize) -> String {
    match (count, all) {
        (1, 1) => "the file system of data is".to_owned(),
        (1, all) => format!("1 of {all} file systems of data is"),
        (count, all) => format!("{count} of {all} file systems of data are"),
    }
}

/// Whether a mount holds data: on a disk of this machine, and not where an operating system lives.
fn is_of_data(snapshot: &Snapshot, mount: &Mount) -> bool {
    let device = mount.device.strip_prefix("/dev/").unwrap_or(&mount.device);
    let on_disk = snapshot.devices.disks.iter().any(|disk| device.starts_with(&disk.name));
    (on_disk || device.starts_with("mapper/") || device.starts_with("dm-") || device.starts_with("md"))
        && !snapshot.devices.mounts.iter().any(|other| {
            // What is on the system's device is the system's, wherever it is mounted besides.
            other.device == mount.device && OF_SYSTEM.contains(&other.path.as_str())
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::{machine, site};

    #[test]
    fn options_that_slow_and_other_file_systems_are_told_and_the_systems_own_are_not() {
        let reported = |snapshot: &Snapshot| check(snapshot, &site()).into_iter().map(|f| f.claim).collect::<Vec<_>>();
        let mut snapshot = machine();
        assert_eq!(reported(&snapshot), [""; 0]);
        snapshot.devices.mounts[0].options.push("wsync".to_owned());
        assert_eq!(
            reported(&snapshot),
            ["1 of 4 file systems of data is mounted with wsync: each operation on metadata waits for the log"]
        );
        snapshot.devices.mounts[0].options = vec!["rw".to_owned(), "prjquota".to_owned()];
        assert!(reported(&snapshot)[0].contains("is mounted with prjquota"));
        let volume = Mount { path: "/var/lib/directpv/mnt/1".to_owned(), ..snapshot.devices.mounts[0].clone() };
        snapshot.devices.mounts.push(volume);
        assert_eq!(reported(&snapshot), [""; 0], "DirectPV needs it, and binds it into pods");
        snapshot.devices.mounts.pop();
        for (path, is_needed) in [
            ("/var/lib/kubelet", true),
            ("/var/lib/docker", true),
            ("/var/lib/containers/storage", true),
            ("/var/lib/kubelet/pods/7/volumes/kubernetes.io~local-volume/d0", false),
        ] {
            let mut snapshot = snapshot.clone();
            snapshot.devices.mounts[0].path = path.to_owned();
            assert_eq!(reported(&snapshot).is_empty(), is_needed, "{path}");
        }
        snapshot.devices.mounts[0].options.clear();
        snapshot.devices.mounts[0].path = "/".to_owned();
        assert_eq!(reported(&snapshot), [""; 0]);
        let bound =
            Mount { path: "/run/netns".to_owned(), fs: "ext4".to_owned(), ..snapshot.devices.mounts[0].clone() };
        snapshot.devices.mounts.push(bound);
        assert_eq!(reported(&snapshot), [""; 0]);
        snapshot.devices.mounts.pop();
        snapshot.devices.mounts[1].fs = "ext4".to_owned();
        assert_eq!(
            reported(&snapshot),
            ["1 of 3 file systems of data is not on XFS, which MinIO and source 000 ask for"]
        );
    }
}
