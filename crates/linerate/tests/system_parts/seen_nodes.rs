//! A node with an engine in a namespace, for agents that are started in ways of a test's own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};

use libtest_mimic::Failed;
use linerate_record::readings::Readings;
use tempfile::TempDir;

use super::Namespaces;
use crate::running::{linerate, shown};

/// The site that is read: its figures do not matter here.
const SITE: &str = "nodes:
  {name: node, count: 4, sockets: 1, cores: 2, memory: 8GiB,
   drives: {count: 4, capacity: 2560MiB, read: 4GB/s, write: 2GB/s, lanes: 0}, nics: {name: eth0, speed: 10Gb/s}}
planes:
  public: {link: eth0, mtu: 1500}
clients: {count: 1, speed: 10Gb/s}
entry: client-side
engine: {product: minio, protection: EC:2, tls: false, internal_tls: false}
data: {object_size: 4MiB}
";

/// Two namespaces, in one of them a target that is called as an engine is.
pub(super) struct EngineNode {
    pub(super) spaces: Namespaces,
    pub(super) folder: TempDir,
    engine: Child,
    pub(super) address: String,
}

impl EngineNode {
    pub(super) fn start() -> Result<EngineNode, Failed> {
        let (spaces, folder) = (Namespaces::make(None), tempfile::tempdir()?);
        let program = folder.path().join("minio");
        let ours = PathBuf::from(linerate().get_program());
        fs::hard_link(&ours, &program).or_else(|_| fs::copy(&ours, &program).map(drop))?;
        let mut engine = spaces.in_server();
        engine.arg(&program).args(["target", "null", "--listen", &format!("{}:9001", spaces.server_address)]);
        let mut engine = engine.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(engine.stdout.take().ok_or("piped")?).read_line(&mut line)?;
        let address = line.trim().strip_prefix("listening ").ok_or("it says where")?.to_owned();
        fs::write(folder.path().join("site.yaml"), SITE)?;
        Ok(EngineNode { spaces, folder, engine, address })
    }

    /// The path of the network namespace in which the engine is.
    pub(super) fn space(&self) -> String {
        format!("/run/netns/{}", self.spaces.server())
    }

    pub(super) fn pid(&self) -> u32 {
        self.engine.id()
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Reads for so long by an agent that this command of a shell starts.
    pub(super) fn read(&self, command: &str, seconds: u32) -> Result<Readings, Failed> {
        let fleet = format!("nodes:\n  - {{name: node1, role: storage, reach: 'exec:{command}'}}\n");
        fs::write(self.path("fleet.yaml"), fleet)?;
        let kept = self.path("readings.json");
        let mut requested = linerate();
        requested.arg("explain").arg(self.path("site.yaml")).args(["--live", "--yes-exec", "--engine-port", "9001"]);
        requested.arg("--fleet").arg(self.path("fleet.yaml")).args(["--for", &format!("{seconds}s")]);
        let output: Output = requested.arg("--record").arg(&kept).stdin(Stdio::null()).output()?;
        let read = fs::read(&kept).map_err(|_| shown(&output))?;
        Ok(serde_json::from_slice(&read)?)
    }
}

impl Drop for EngineNode {
    fn drop(&mut self) {
        drop(self.engine.stdin.take());
        let _ = self.engine.kill();
        let _ = self.engine.wait();
    }
}

/// The program of this test's agents, as a shell reads it.
pub(super) fn agent() -> String {
    format!("{} agent", Path::new(linerate().get_program()).display())
}
