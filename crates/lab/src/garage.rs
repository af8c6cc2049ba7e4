//! Garage in a lab: what a node of it reads, and what makes nodes a cluster.

use std::path::{Path, PathBuf};

use crate::error::LabError;
use crate::keys::LabKeys;
use crate::names::{Machine, PORT, nodes};
use crate::spec::{LabSpec, Plane};

/// Where nodes speak with each other, and where they say how they are.
const RPC_PORT: u16 = 3901;
pub(crate) const ADMIN_PORT: u16 = 3903;

/// Name of the key of clients.
const KEY: &str = "lab";

#[must_use]
pub(crate) fn config_file(files: &Path, node: Machine) -> PathBuf {
    files.join(format!("{node}.toml"))
}

/// Where other nodes reach a node.
fn rpc_address(spec: &LabSpec, node: Machine) -> String {
    let plane = if spec.private.is_some() { Plane::Private } else { Plane::Public };
    format!("{}:{RPC_PORT}", node.address(plane))
}

/// The file of a node, with the secret by which nodes know each other.
#[must_use]
pub(crate) fn config(spec: &LabSpec, node: Machine, drives: &Path, copies: u32, secret: &str) -> String {
    let folder = |drive: usize, what: &str| format!("{}/drive{drive}/{what}", drives.display());
    let of_node = node.node(spec).map_or(&[][..], |node| &node.drives);
    let data = (1..).zip(of_node).map(|(number, drive)| {
        let path = folder(number, "data");
        format!("  {{ path = \"{path}\", capacity = \"{}\" }},\n", drive.size_bytes)
    });
    let (metadata, data) = (folder(1, "metadata"), data.collect::<String>());
    let address = rpc_address(spec, node);
    format!(
        "metadata_dir = \"{metadata}\"
data_dir = [
{data}]
db_engine = \"lmdb\"
replication_factor = {copies}
rpc_bind_addr = \"[::]:{RPC_PORT}\"
rpc_public_addr = \"{address}\"
rpc_secret = \"{secret}\"
s3_api = {{ s3_region = \"us-east-1\", api_bind_addr = \"0.0.0.0:{PORT}\" }}
admin = {{ api_bind_addr = \"0.0.0.0:{ADMIN_PORT}\" }}
"
    )
}

/// Runs a command of Garage on a node; what it prints.
pub(crate) type RunOnNode<'a> = dyn Fn(Machine, &[String]) -> Result<String, LabError> + 'a;

/// How a cluster is formed: what runs a command of Garage on a node, and what waits before one is tried again.
pub(crate) struct Forming<'a> {
    pub(crate) spec: &'a LabSpec,
    pub(crate) files: &'a Path,
    pub(crate) run: &'a RunOnNode<'a>,
    pub(crate) wait: &'a dyn Fn(LabError) -> Result<(), LabError>,
}

impl Forming<'_> {
    /// Makes running nodes a cluster, in which each has its drives, and a key for clients.
    pub(crate) fn form(&self) -> Result<LabKeys, LabError> {
        let ids: Vec<(Machine, String)> = nodes(self.spec)
            .map(|node| {
                let id = self.surely(node, &["node", "id", "-q"])?;
                Ok((node, id.trim().split('@').next().unwrap_or_default().to_owned()))
            })
            .collect::<Result<_, LabError>>()?;
        for (node, id) in &ids {
            self.on_first(&["node", "connect", &format!("{id}@{}", rpc_address(self.spec, *node))])?;
        }
        for (node, id) in &ids {
            let bytes: u64 = node.node(self.spec).map_or(0, |of| of.drives.iter().map(|drive| drive.size_bytes).sum());
            self.on_first(&["layout", "assign", id, "-z", &node.to_string(), "-c", &bytes.to_string()])?;
        }
        self.on_first(&["layout", "apply", "--version", "1"])?;
        let keys = parse_keys(&self.on_first(&["key", "create", KEY])?)?;
        self.on_first(&["key", "allow", "--create-bucket", KEY])?;
        Ok(keys)
    }

    fn on_first(&self, words: &[&str]) -> Result<String, LabError> {
        self.surely(Machine::Node(1), words)
    }

    /// A command, which is tried again while nodes do not answer yet.
    fn surely(&self, node: Machine, words: &[&str]) -> Result<String, LabError> {
        let file = config_file(self.files, node).display().to_string();
        let words: Vec<String> = ["-c", &file].iter().chain(words).map(|word| (*word).to_owned()).collect();
        loop {
            match (self.run)(node, &words) {
                Ok(text) => return Ok(text),
                Err(why) => (self.wait)(why)?,
            }
        }
    }
}

/// `Key ID: GK…` and `Secret key: …`, among other lines.
fn parse_keys(text: &str) -> Result<LabKeys, LabError> {
    let value = |name: &str| {
        let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
        line.map(|value| value.trim().to_owned()).filter(|value| value.chars().all(char::is_alphanumeric))
    };
    match (value("Key ID:"), value("Secret key:")) {
        (Some(access_key), Some(secret_key)) => Ok(LabKeys { access_key, secret_key }),
        _ => Err(LabError::Program { program: "garage key create".to_owned(), why: "it printed no key".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::*;
    use crate::spec::tests::uniform;

    #[test]
    fn a_node_has_its_drives() {
        let config = config(&uniform(3, 2), Machine::Node(2), Path::new("/labs/lab/drives"), 3, "secret");
        for line in [
            "metadata_dir = \"/labs/lab/drives/drive1/metadata\"",
            "  { path = \"/labs/lab/drives/drive2/data\", capacity = \"1073741824\" },",
            "rpc_public_addr = \"10.231.1.2:3901\"",
            "replication_factor = 3",
        ] {
            assert!(config.lines().any(|other| other == line), "{line}: {config}");
        }
    }

    #[test]
    fn a_cluster_has_all_nodes_and_a_key_though_nodes_answer_late() {
        let (requested, waited) = (RefCell::new(Vec::new()), Cell::new(0));
        let answered = |node: Machine, words: &[String]| {
            requested.borrow_mut().push(format!("{node} {}", words[2..].join(" ")));
            match words[2].as_str() {
                "node" if words[3] == "id" => Ok(format!("id-of-{node}@10.0.0.1:3901\n")),
                "layout" if waited.get() == 0 => Err(LabError::NotRoot),
                "key" if words[3] == "create" => {
                    Ok("Key ID:  GK0a\nSecret key:  0b\nCan create buckets: false".to_owned())
                }
                _ => Ok(String::new()),
            }
        };
        let wait = |_| {
            waited.set(waited.get() + 1);
            Ok(())
        };
        let spec = uniform(2, 2);
        let forming = Forming { spec: &spec, files: Path::new("/labs/lab/engine"), run: &answered, wait: &wait };
        let keys = forming.form().unwrap();
        assert_eq!((keys.access_key.as_str(), keys.secret_key.as_str(), waited.get()), ("GK0a", "0b", 1));
        let requested = requested.into_inner();
        for line in
            ["node1 node connect id-of-node2@10.231.1.2:3901", "node1 layout assign id-of-node2 -z node2 -c 2147483648"]
        {
            assert!(requested.iter().any(|other| other == line), "{line}: {requested:?}");
        }
        assert!(parse_keys("Key ID: (redacted)\nSecret key: (redacted)").is_err());
    }
}
