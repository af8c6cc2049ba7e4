//! MinIO and RustFS: endpoints as arguments or in the environment, and `format.json` on each drive.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::super::{data_folders, inside};
use super::{DataLayout, EngineProcess};
use crate::live::engine_devices::{data_path, expanded};
use crate::root::{ReadPass, note};

/// Folders of one engine that are looked at: a node has some dozens of drives.
const FOLDERS_MAX: usize = 1_024;

/// Endpoints among the arguments of one engine: each folder of each node of a large cluster.
const ENDPOINTS_MAX: usize = 65_536;

/// Flags of engines that have no value: what comes behind them is an argument.
const SWITCHES: [&str; 6] = ["--quiet", "--anonymous", "--json", "--no-compat", "--insecure", "--strict-s3-compat"];

/// What one of them calls things.
struct Names {
    /// Names in the environment that list endpoints or folders with data, in the place of arguments: the first that is
    /// not empty (`cmd/server-main.go` of MinIO, `serverCmdArgs`).
    volumes: &'static [&'static str],
    /// Names in the environment that decide the layout.
    settings: &'static [&'static str],
    /// The name in the environment of a file with more of it, as operators write one.
    file: Option<&'static str>,
    /// The folder of each drive in which it describes its erasure sets.
    system_folder: &'static str,
}

const MINIO: Names = Names {
    volumes: &["MINIO_ARGS", "MINIO_VOLUMES", "MINIO_ENDPOINTS"],
    settings: &["MINIO_STORAGE_CLASS_STANDARD", "MINIO_ERASURE_SET_DRIVE_COUNT"],
    file: Some("MINIO_CONFIG_ENV_FILE"),
    system_folder: ".minio.sys",
};

const RUSTFS: Names = Names {
    volumes: &["RUSTFS_VOLUMES"],
    settings: &["RUSTFS_STORAGE_CLASS_STANDARD", "RUSTFS_ERASURE_SET_DRIVE_COUNT"],
    file: None,
    system_folder: ".rustfs.sys",
};

pub(super) fn minio(process: EngineProcess<'_>, pass: &mut ReadPass) -> DataLayout {
    read(process, &MINIO, pass)
}

pub(super) fn rustfs(process: EngineProcess<'_>, pass: &mut ReadPass) -> DataLayout {
    read(process, &RUSTFS, pass)
}

fn read(process: EngineProcess<'_>, names: &Names, pass: &mut ReadPass) -> DataLayout {
    let mut settings = settings(process, names, pass);
    let listed = names.volumes.iter().filter_map(|name| settings.get(*name)).find(|listed| !listed.trim().is_empty());
    let words = match listed {
        Some(listed) => listed.split_whitespace().take(ENDPOINTS_MAX).map(str::to_owned).collect(),
        None => process.arguments(pass),
    };
    let volumes = endpoints(&words);
    settings.retain(|name, _| names.settings.contains(&name.as_str()));
    let folders = folders(process, &volumes, pass);
    let drives = data_folders::drives(process.root, process.pid, folders, Some(names.system_folder), pass);
    DataLayout { volumes, settings, drives }
}

/// What is set in its environment, and in the file that this names.
fn settings(process: EngineProcess<'_>, names: &Names, pass: &mut ReadPass) -> BTreeMap<String, String> {
    let kept: Vec<&str> = names.volumes.iter().chain(names.settings).copied().collect();
    let all: Vec<&str> = kept.iter().copied().chain(names.file).collect();
    let mut found = process.environment(&all, pass);
    let Some(file) = names.file.and_then(|name| found.remove(name)).filter(|file| file.starts_with('/')) else {
        return found;
    };
    match inside::text(process.root, process.pid, &file) {
        Ok(text) => {
            let lines = text.lines().filter_map(exported).filter(|(name, _)| kept.contains(name));
            lines.for_each(|(name, value)| drop(found.insert(name.to_owned(), value.to_owned())));
        }
        Err(error) => note(pass, &process.inside(&file), error.to_string()),
    }
    found
}

/// `export NAME="value"` and `NAME=value`.
fn exported(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let (name, value) = line.strip_prefix("export ").unwrap_or(line).split_once('=')?;
    Some((name.trim(), value.trim().trim_matches(['"', '\''])))
}

/// Endpoints and folders with data among arguments.
fn endpoints(arguments: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_value = false;
    for argument in arguments.iter().take(ENDPOINTS_MAX) {
        if !is_value && data_path(argument).is_some() {
            found.push(without_user(argument));
        }
        is_value = argument.starts_with('-') && !argument.contains('=') && !SWITCHES.contains(&argument.as_str());
    }
    found
}

/// An endpoint without a name and a password before its host, which no engine needs there.
fn without_user(endpoint: &str) -> String {
    let Some((scheme, rest)) = endpoint.split_once("://") else { return endpoint.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}://{host}{path}")
}

/// Folders of endpoints that may be on this machine. Those of other nodes and pools are in the list of an engine too:
/// they are left out by the address of the endpoint, where it is one.
fn folders(process: EngineProcess<'_>, volumes: &[String], pass: &mut ReadPass) -> Vec<String> {
    let path = format!("proc/{}/cmdline", process.pid);
    let (mut folders, mut expansions) = (BTreeSet::new(), 0);
    for volume in volumes.iter().filter(|volume| is_of_this_machine(volume, process.own)) {
        let Some(all) = data_path(volume).map(expanded) else { continue };
        let Some(all) = all else {
            note(pass, &path, "it names folders with data by a pattern that is not known");
            break;
        };
        expansions += all.len();
        folders.extend(all);
        if folders.len() > FOLDERS_MAX || expansions > ENDPOINTS_MAX {
            note(pass, &path, format!("folders beyond {FOLDERS_MAX} are left out"));
            break;
        }
    }
    folders.into_iter().take(FOLDERS_MAX).collect()
}

/// Whether an endpoint may be one of this machine: a name may be anybody's.
fn is_of_this_machine(volume: &str, own: &[IpAddr]) -> bool {
    let rest = volume.strip_prefix("http://").or_else(|| volume.strip_prefix("https://"));
    let Some(authority) = rest.map(|rest| rest.split('/').next().unwrap_or_default()) else { return true };
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    let address: Option<IpAddr> = host.trim_matches(['[', ']']).parse().ok();
    address.is_none_or(|address| address.is_loopback() || own.contains(&address))
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::put;
    use super::*;
    use crate::root::Root;

    #[test]
    fn values_of_flags_are_no_folders() {
        for (line, expected) in [
            ("server --certs-dir /c --quiet /d1 /d2", &["/d1", "/d2"][..]),
            ("server --address :9000 https://n{1...4}/d --config-dir=/x", &["https://n{1...4}/d"]),
            ("gateway nas", &[]),
        ] {
            let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
            assert_eq!(endpoints(&arguments), expected, "{line}");
        }
    }

    #[test]
    fn no_name_and_no_password_of_an_endpoint_leaves_the_machine() {
        let words = ["server", "https://user:hunter2@n1:9000/data", "/d@x", "--sftp=key"].map(str::to_owned);
        assert_eq!(endpoints(&words), ["https://n1:9000/data", "/d@x"]);
    }

    #[test]
    fn endpoints_of_other_machines_are_left_out_by_their_address() {
        let own = ["10.0.0.9".parse().unwrap(), "2001:db8::1".parse().unwrap()];
        for (volume, is_own) in [
            ("/data", true),
            ("http://10.0.0.9:9000/d", true),
            ("https://10.0.0.8/d", false),
            ("http://[2001:db8::1]:9000/d", true),
            ("http://[2001:db8::2]:9000/d", false),
            ("http://node{1...4}:9000/d", true),
            ("http://127.0.0.1:9001/d", true),
        ] {
            assert_eq!(is_of_this_machine(volume, &own), is_own, "{volume}");
        }
    }

    /// An operator writes keys and endpoints into one file.
    #[test]
    fn of_the_file_of_an_operator_only_the_layout_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        put(&root, "proc/7/environ", "MINIO_CONFIG_ENV_FILE=/tmp/minio/config.env\0HOME=/\0");
        let file = "export MINIO_ROOT_USER=\"admin\"\nexport MINIO_ROOT_PASSWORD='hunter2'\n\
                    export MINIO_ARGS=\"https://t-pool-0-{0...3}.t-hl:9000/export{0...1}\"\n\
                    MINIO_STORAGE_CLASS_STANDARD=EC:2\n";
        put(&root, "proc/7/root/tmp/minio/config.env", file);
        put(&root, "proc/7/root/export0/x", "");
        let process = EngineProcess { root: &root, pid: 7, own: &[] };
        let found = minio(process, &mut ReadPass::default());
        assert_eq!(found.volumes, ["https://t-pool-0-{0...3}.t-hl:9000/export{0...1}"]);
        assert_eq!(found.settings.get("MINIO_STORAGE_CLASS_STANDARD").map(String::as_str), Some("EC:2"));
        assert_eq!(found.drives.iter().map(|drive| drive.path.as_str()).collect::<Vec<_>>(), ["/export0"]);
        assert!(!format!("{found:?}").contains("hunter2"), "{found:?}");
    }
}
