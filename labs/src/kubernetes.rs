//! A real control plane with nodes that kwok pretends: `make kubernetes-scale` builds it.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A control plane with pretended nodes, which ends with its input.
pub(crate) struct Kubernetes {
    holder: Child,
    pub(crate) folder: PathBuf,
    pub(crate) script: PathBuf,
}

impl Kubernetes {
    /// Begins one with so many nodes, and waits until they are ready.
    pub(crate) fn hold(root: &Path, what: &str, nodes: u32) -> Result<Kubernetes, Box<dyn std::error::Error>> {
        let script = root.join("crates/linerate/tests/system_parts/kubernetes/kubernetes.sh");
        let folder = std::env::temp_dir().join(format!("linerate-{what}-{}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let mut command = Command::new(&script);
        command.arg("hold").arg(&folder).args(["scale", &nodes.to_string()]);
        command.env("LINERATE", std::env::current_exe()?).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut holder = command.spawn()?;
        let said = BufReader::new(holder.stdout.take().ok_or("no output")?);
        let kubernetes = Kubernetes { holder, folder, script };
        if said.lines().map_while(Result::ok).any(|line| line == "ready") {
            return Ok(kubernetes);
        }
        Err(format!("the Kubernetes did not begin: see {}", kubernetes.folder.join("logs").display()).into())
    }
}

impl Drop for Kubernetes {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

impl Kubernetes {
    /// A program in its network, which reads nothing.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(&self.script);
        command.arg("in").arg(&self.folder).arg(program).stdin(Stdio::null());
        command
    }
}
