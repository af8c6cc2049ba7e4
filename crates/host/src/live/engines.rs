//! Which processes are the engine's: found when the agent begins, and again each 30 s or soon after one has ended.

use std::collections::{BTreeMap, BTreeSet};

use super::background::BackgroundRead;
use super::engine_devices::{DeviceNumber, devices};
use super::{PartName, QUOTAS_UNREAD, Reader, plain};
use crate::fingerprint::{cpu_cgroups, parse_periods};
use crate::process::process_stat;
use crate::root::{ReadPass, Root, Unreadable, note, text};
use crate::snapshot::{engine_pids, program};

pub(super) const FIND_LEAST_MS: u64 = 30_000;
/// How long after one has ended another is looked for.
const SOON_MS: u64 = 3_000;
/// A machine with more servers is one of a test.
const MOST: usize = 64;
/// Of an id of 64 digits, as people abbreviate it.
const ID_SHOWN: usize = 12;

/// A process of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EngineHere {
    pub(super) pid: u32,
    /// Another process of the same number started at another time.
    pub(super) started_ticks: u64,
    pub(super) program: String,
}

/// A cgroup with a quota of processor time that binds engines, or could have one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Quota {
    /// Relative to the root of the machine.
    pub(super) folder: String,
    /// What its values are told as: the container, or the cgroup.
    pub(super) part: String,
}

#[derive(Debug, Default)]
struct Found {
    engines: Vec<EngineHere>,
    quotas: Vec<Quota>,
    devices: Option<BTreeSet<DeviceNumber>>,
    unreadable: Vec<Unreadable>,
}

/// Those that there are.
#[derive(Debug, Default)]
pub(super) struct Engines {
    /// Those that were named; none where they are found.
    requested: Vec<u32>,
    pub(super) all: Vec<EngineHere>,
    pub(super) quotas: Vec<Quota>,
    /// What they serve from; none where that is not known of each.
    pub(super) devices: Option<BTreeSet<DeviceNumber>>,
    aside: BackgroundRead<Found>,
    unreadable: Vec<Unreadable>,
}

pub(super) fn begin(root: &Root, requested: &[u32]) -> Engines {
    let Found { engines, quotas, devices, unreadable } = find(root, requested);
    Engines { requested: requested.to_vec(), all: engines, quotas, devices, unreadable, ..Engines::default() }
}

pub(super) fn look(state: &mut Engines, at: &mut Reader<'_>) {
    at.pass.unreadable.append(&mut state.unreadable);
    let requested = state.requested.clone();
    if let Some(found) = state.aside.turn(at.root, at.now_ms, FIND_LEAST_MS, move |root| find(root, &requested)) {
        // One that is started again serves from the same drives.
        if !found.engines.is_empty() {
            state.devices = found.devices;
        }
        (state.all, state.quotas) = (found.engines, found.quotas);
        at.pass.unreadable.extend(found.unreadable);
    }
    let quota_name = |quota: &Quota| PartName { part: quota.part.clone(), name: quota.folder.clone() };
    at.names.extend(state.quotas.iter().map(quota_name));
}

/// Some process is not there any more.
pub(super) fn has_ended(state: &mut Engines, now_ms: u64) {
    state.aside.hasten(now_ms.saturating_add(SOON_MS));
}

fn find(root: &Root, requested: &[u32]) -> Found {
    let mut pass = ReadPass::default();
    let mut found = Found::default();
    for pid in engine_pids(root, requested, &mut pass) {
        let stat = process_stat(root, &pid.to_string(), &mut pass.bytes);
        match (stat, program(root, pid, &mut pass)) {
            (Ok(stat), Some(program)) if found.engines.len() < MOST => {
                found.engines.push(EngineHere { pid, started_ticks: stat.started_ticks, program: plain(&program) });
            }
            (Ok(_), Some(_)) => note(&mut pass, "proc", format!("the engine's processes beyond {MOST} are left out")),
            (Err(error), _) if !requested.is_empty() => note(&mut pass, &format!("proc/{pid}/stat"), error.to_string()),
            // One that ended meanwhile.
            _ => (),
        }
    }
    found.quotas = quotas(root, &found.engines, &mut pass);
    found.devices = devices(root, found.engines.iter().map(|engine| engine.pid), &mut pass);
    Found { unreadable: pass.unreadable, ..found }
}

/// The cgroups of engines and those above them, where they count periods of a quota.
fn quotas(root: &Root, engines: &[EngineHere], pass: &mut ReadPass) -> Vec<Quota> {
    let mut parts = BTreeMap::new();
    let mut taken = BTreeSet::new();
    for engine in engines {
        let folders = match cpu_cgroups(root, &engine.pid.to_string()) {
            Ok(mut folders) => {
                folders.retain(|folder| !is_topmost(folder) || has_same_mounts(root, engine.pid));
                folders
            }
            Err(error) => {
                note(pass, &format!("proc/{}/cgroup", engine.pid), format!("{error}: {QUOTAS_UNREAD}"));
                continue;
            }
        };
        if folders.is_empty() {
            let reason = format!("no cgroup of it is below /sys/fs/cgroup as it is mounted here: {QUOTAS_UNREAD}");
            note(pass, &format!("proc/{}/cgroup", engine.pid), reason);
        }
        for (depth, folder) in folders.into_iter().enumerate() {
            let counts = text(root, &format!("{folder}/cpu.stat"), &mut pass.bytes)
                .is_ok_and(|text| parse_periods(&text).is_some());
            if !counts || parts.contains_key(&folder) {
                continue;
            }
            let named = (depth == 0).then(|| container(root, engine.pid, pass)).flatten();
            let name = named.or_else(|| cgroup_name(&folder)).unwrap_or_else(|| engine.program.clone());
            let part = if taken.contains(&name) { format!("{name} of {}", engine.pid) } else { name };
            taken.insert(part.clone());
            parts.insert(folder, part);
        }
    }
    parts.into_iter().map(|(folder, part)| Quota { folder, part }).collect()
}

/// Whether a folder is the topmost that is mounted here. In a container this is the container's own, which binds this
/// process and not the engine.
fn is_topmost(folder: &str) -> bool {
    let mount = folder.strip_prefix("sys/fs/cgroup").map(|rest| rest.trim_matches('/'));
    mount.is_some_and(|mount| ["", "unified", "cpu", "cpu,cpuacct"].contains(&mount))
}

/// Whether a process sees the files that this one sees. Of another user's, root alone may ask.
fn has_same_mounts(root: &Root, pid: u32) -> bool {
    let space = |process: &str| std::fs::read_link(root.0.join(format!("proc/{process}/ns/mnt"))).ok();
    let own = space("self");
    own.is_some() && space(&pid.to_string()) == own
}

/// The last part of a cgroup's path, its id abbreviated: `cri-containerd-0123456789ab.scope`.
fn cgroup_name(folder: &str) -> Option<String> {
    let (_, name) = folder.split_once("sys/fs/cgroup/")?;
    let name = name.rsplit('/').next().filter(|name| !name.is_empty())?;
    let name = plain(name);
    let mut shown = String::new();
    for part in name.split_inclusive(|letter: char| !letter.is_ascii_hexdigit()) {
        let digits = part.chars().take_while(char::is_ascii_hexdigit).count();
        match digits {
            64 => shown.extend(part.chars().take(ID_SHOWN).chain(part.chars().skip(digits))),
            _ => shown.push_str(part),
        }
    }
    Some(shown)
}

/// The name of a container of Kubernetes: the kubelet mounts a file into it that has the name in its path.
fn container(root: &Root, pid: u32, pass: &mut ReadPass) -> Option<String> {
    parse_container(&text(root, &format!("proc/{pid}/mountinfo"), &mut pass.bytes).ok()?)
}

/// `.../pods/UID/containers/NAME/ID` is what is mounted, the fourth field of `proc_pid_mountinfo(5)`.
fn parse_container(mounts: &str) -> Option<String> {
    let name = |line: &str| {
        let (_, pod) = line.split(' ').nth(3)?.split_once("/pods/")?;
        let name = pod.split_once("/containers/")?.1.split('/').next()?;
        let is_label = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        (is_label && (1..=63).contains(&name.len())).then(|| name.to_owned())
    };
    mounts.lines().find_map(name)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{engine, put};
    use super::*;
    use proptest::prelude::*;

    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    #[test]
    fn engines_are_found_with_their_containers_and_those_that_are_named_are_taken() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        engine(&root, 40, "minio", 700);
        engine(&root, 41, "bash", 1);
        engine(&root, 42, "ceph-osd", 1);
        let pod = "kubepods.slice/kubepods-burstable-pod11.slice";
        put(&root, "proc/40/cgroup", &format!("0::/{pod}/cri-containerd-{ID}.scope\n"));
        put(&root, "proc/42/cgroup", "5:cpu,cpuacct:/system.slice/ceph-osd@3.service\n0::/\n");
        put(
            &root,
            &format!("sys/fs/cgroup/{pod}/cri-containerd-{ID}.scope/cpu.stat"),
            "nr_periods 1\nnr_throttled 0\n",
        );
        put(&root, &format!("sys/fs/cgroup/{pod}/cpu.stat"), "nr_periods 1\nnr_throttled 0\n");
        put(&root, "sys/fs/cgroup/kubepods.slice/cpu.stat", "usage_usec 5\n");
        let v1 = "sys/fs/cgroup/cpu,cpuacct/system.slice/ceph-osd@3.service";
        put(&root, &format!("{v1}/cpu.stat"), "nr_periods 1\nnr_throttled 0\n");
        let found = begin(&root, &[]);
        let named: Vec<(u32, &str)> = found.all.iter().map(|engine| (engine.pid, engine.program.as_str())).collect();
        assert_eq!(named, [(40, "minio"), (42, "ceph-osd")]);
        let parts = |found: &Engines| found.quotas.iter().map(|quota| quota.part.clone()).collect::<Vec<_>>();
        let scope = "cri-containerd-0123456789ab.scope";
        assert_eq!(parts(&found), ["ceph-osd@3.service", "kubepods-burstable-pod11.slice", scope].map(str::to_owned));
        put(
            &root,
            "proc/40/mountinfo",
            &format!("9 8 8:1 /lib/kubelet/pods/u-1/containers/minio/{ID} /dev/log rw - ext4\n"),
        );
        assert!(parts(&begin(&root, &[])).contains(&"minio".to_owned()));
        // The topmost cgroup is the engine's own where both have the same mounts.
        put(&root, "sys/fs/cgroup/cpu.stat", "nr_periods 1\nnr_throttled 0\n");
        assert_eq!(parts(&begin(&root, &[])).len(), 3);
        for process in ["self", "40"] {
            let link = folder.path().join(format!("proc/{process}/ns/mnt"));
            std::fs::create_dir_all(link.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink("mnt:[4026531841]", link).unwrap();
        }
        assert_eq!(parts(&begin(&root, &[])).len(), 4);
        let named = begin(&root, &[41, 99]);
        assert_eq!((named.all.len(), named.all[0].program.as_str()), (1, "bash"));
        assert!(named.unreadable.iter().any(|reported| reported.path == "proc/99/stat"), "{:?}", named.unreadable);
    }

    #[test]
    fn a_name_of_a_container_is_a_label() {
        let line = |root: &str| format!("1 2 8:1 {root} /x rw - ext4 /dev/sda rw");
        for (root, expected) in [
            ("/var/lib/kubelet/pods/u/containers/minio/a1", Some("minio")),
            ("/pods/u/containers/a-b/1", Some("a-b")),
            ("/pods/u/containers/a.b/1", None),
            ("/pods/u/containers//1", None),
            ("/pods/u/volumes/x", None),
            ("/", None),
        ] {
            assert_eq!(parse_container(&line(root)).as_deref(), expected, "{root}");
        }
        assert_eq!(cgroup_name(&format!("sys/fs/cgroup/a/{ID}")).as_deref(), Some("0123456789ab"));
        assert_eq!(cgroup_name("sys/fs/cgroup"), None);
        let mounts = line("/var/lib/kubelet/pods/u/containers/minio/a1");
        for cut in 0..mounts.len() {
            assert!(parse_container(&mounts[..cut]).is_none_or(|name| "minio".starts_with(&name)), "{cut}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "sys/fs/cgroup/([0-9a-f]{60,70}|é|-|/){0,4}|1 2 3 /pods/[a-z/]{0,30}|(?s).*") {
            parse_container(&text);
            cgroup_name(&text);
        }
    }
}
