//! What a site is discovered from: processors, tunnels, and what the S3 servers of a machine keep data on and talk to.
//!
//! - Reads procfs, sysfs, and of each folder with data `format.json`, which lists the drives of its erasure sets. Of a
//!   server's environment and files, only what `layouts` names is kept: the rest may hold secrets.
//! - Needs root to read another user's environment, open files and folders. What may not be read is reported so.
//! - Changes nothing, starts nothing and sends nothing.

mod connections;
mod data_folders;
mod drive_format;
mod inside;
mod layouts;
mod processors;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use linerate_record::discovery::{EngineFacts, NodeFacts};

use crate::root::{ReadPass, Root, names, note, text};
use crate::snapshot::{engine_pids, program};

/// Engines of one machine that are looked at: one with more is one of a test.
const ENGINES_MAX: usize = 64;

/// Reads the machine.
#[must_use]
pub fn node_facts(root: &Root) -> NodeFacts {
    let mut pass = ReadPass::default();
    let (sockets, cores) = processors::sockets_and_cores(root);
    let mut facts = NodeFacts {
        sockets,
        cores,
        drive_models: drive_models(root),
        tunnels: device_types(root, |word| TUNNELS.contains(&word)),
        vlans: device_types(root, |word| word == "vlan").into_keys().collect(),
        timestamps: word(root, "proc/sys/net/ipv4/tcp_timestamps").map(|value| value != "0"),
        addresses: connections::addresses(root, "self"),
        ..NodeFacts::default()
    };
    let pids = engine_pids(root, &[], &mut pass);
    if pids.len() > ENGINES_MAX {
        note(&mut pass, "proc", format!("engines beyond {ENGINES_MAX} are left out"));
    }
    facts.engines =
        pids.iter().take(ENGINES_MAX).filter_map(|pid| engine(root, *pid, &facts.addresses, &mut pass)).collect();
    facts.unreadable = unreadable(&pass);
    facts
}

/// Reasons that one machine reports, each once, and how long each is.
const REASONS_MAX: usize = 256;
const REASON_BYTES_MAX: usize = 400;

fn unreadable(pass: &ReadPass) -> Vec<String> {
    let mut reasons = BTreeSet::new();
    for part in &pass.unreadable {
        let mut reason = part.to_string();
        reason.truncate(reason.floor_char_boundary(REASON_BYTES_MAX));
        reasons.insert(reason);
        if reasons.len() == REASONS_MAX {
            break;
        }
    }
    reasons.into_iter().collect()
}

fn engine(root: &Root, pid: u32, node: &[IpAddr], pass: &mut ReadPass) -> Option<EngineFacts> {
    let program = program(root, pid, pass)?;
    let mut facts = EngineFacts { pid, program, ..EngineFacts::default() };
    if connections::is_in_own_network(root, pid) {
        facts.addresses = connections::addresses(root, &pid.to_string());
    }
    let own: Vec<IpAddr> = node.iter().chain(&facts.addresses).copied().collect();
    let layout = layouts::layout(root, pid, &facts.program, &own, pass);
    (facts.volumes, facts.settings, facts.drives) = (layout.volumes, layout.settings, layout.drives);
    (facts.listens, facts.peers) = connections::connections(root, pid, &own, pass);
    Some(facts)
}

fn word(root: &Root, path: &str) -> Option<String> {
    let text = text(root, path, &mut Vec::new()).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// Types of interfaces that put a header around each packet, as their drivers name them.
const TUNNELS: [&str; 6] = ["vxlan", "geneve", "wireguard", "gre", "ipip", "sit"];

/// Interfaces with a type (`SET_NETDEV_DEVTYPE`; `DEVTYPE=` of an uevent) that is looked for.
fn device_types(root: &Root, is_one: fn(&str) -> bool) -> BTreeMap<String, String> {
    let device_type = |name: &String| {
        let uevent = word(root, &format!("sys/class/net/{name}/uevent"))?;
        uevent.lines().find_map(|line| line.strip_prefix("DEVTYPE=")).map(str::to_owned)
    };
    let all = names(root, "sys/class/net").into_iter();
    all.filter_map(|name| Some((device_type(&name).filter(|word| is_one(word))?, name)))
        .map(|(word, name)| (name, word))
        .collect()
}

/// Of NVMe the namespace's own, of others the device's. No serial number.
fn drive_models(root: &Root) -> BTreeMap<String, String> {
    let model = |name: &String| word(root, &format!("sys/block/{name}/device/model"));
    names(root, "sys/block").into_iter().filter_map(|name| Some((name.clone(), model(&name)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn put(root: &Root, path: &str, text: &str) {
        let path = root.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn of_an_environment_only_what_decides_the_layout_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        put(&root, "proc/7/comm", "minio\n");
        put(&root, "proc/7/cmdline", "minio\0server\0--console-address\0:9001\0");
        let environment = "MINIO_ROOT_USER=admin\0MINIO_ROOT_PASSWORD=hunter2\0MINIO_VOLUMES=http://n{1...4}/d{1...2}\0\
                           MINIO_STORAGE_CLASS_STANDARD=EC:2\0MINIO_KMS_SECRET_KEY=key\0";
        put(&root, "proc/7/environ", environment);
        let facts = node_facts(&root);
        let [engine] = &facts.engines[..] else { panic!("{facts:?}") };
        assert_eq!(engine.volumes, ["http://n{1...4}/d{1...2}"]);
        let settings: Vec<(&str, &str)> = engine.settings.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(settings, [("MINIO_STORAGE_CLASS_STANDARD", "EC:2")]);
        let json = serde_json::to_string(&facts).unwrap();
        assert!(!json.contains("hunter2") && !json.contains("admin") && !json.contains("KMS"), "{json}");
    }

    #[test]
    fn tunnels_vlans_models_and_timestamps_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        put(&root, "sys/class/net/cilium_vxlan/uevent", "DEVTYPE=vxlan\nINTERFACE=cilium_vxlan\nIFINDEX=7\n");
        put(&root, "sys/class/net/bond0.7/uevent", "DEVTYPE=vlan\nINTERFACE=bond0.7\n");
        put(&root, "sys/class/net/eth0/uevent", "INTERFACE=eth0\n");
        put(&root, "sys/block/nvme0n1/device/model", "KX 7.68T     \n");
        put(&root, "proc/sys/net/ipv4/tcp_timestamps", "0\n");
        let facts = node_facts(&root);
        assert_eq!(facts.tunnels.get("cilium_vxlan").map(String::as_str), Some("vxlan"));
        assert_eq!((facts.tunnels.len(), facts.vlans, facts.timestamps), (1, vec!["bond0.7".to_owned()], Some(false)));
        assert_eq!(facts.drive_models.get("nvme0n1").map(String::as_str), Some("KX 7.68T"));
    }
}
