//! The lab in which worlds are recorded, by the commands that anybody would type.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::design::Shape;

/// Its name, and that of its network namespaces.
pub(super) const NAME: &str = "corpus";

/// A command that hangs is ended: the longest of them writes objects to a slow cluster.
const SECONDS_MAX: &str = "240";

/// A lab that is up; gone with the value.
pub(super) struct Lab {
    pub(super) linerate: PathBuf,
    /// Folder of all labs.
    state: PathBuf,
    pub(super) shape: &'static Shape,
}

/// What a command printed, which ended well; else why not.
pub(super) fn printed(command: &mut Command) -> Result<String, Box<dyn Error>> {
    let output = command.stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let words = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    Err(format!("{command:?} ended with {}: {}", output.status, words.trim()).into())
}

impl Lab {
    /// Makes the lab of a shape, with a MinIO over it.
    pub(super) fn up(
        linerate: &Path,
        minio: &Path,
        folder: &Path,
        shape: &'static Shape,
    ) -> Result<Lab, Box<dyn Error>> {
        std::fs::create_dir_all(folder)?;
        let site = folder.join(format!("{}.yaml", shape.name));
        std::fs::write(&site, shape.site)?;
        let lab = Lab { linerate: linerate.to_owned(), state: folder.join("labs"), shape };
        let mut up = lab.command("up");
        up.arg("--site").arg(&site).args(["--scale", "1", "--quiet", "--engine", "minio", "--binary"]).arg(minio);
        printed(&mut up)?;
        Ok(lab)
    }

    fn command(&self, verb: &str) -> Command {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", SECONDS_MAX]).arg(&self.linerate);
        command.args(["lab", verb, "--name", NAME, "--state"]).arg(&self.state);
        command
    }

    /// A file that describes the lab: `site.yaml`, `fleet.yaml`.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.state.join(NAME).join(name)
    }

    /// Where a machine has its drives.
    pub(super) fn drives(&self) -> PathBuf {
        self.state.join(NAME).join("drives")
    }

    pub(super) fn hosts(&self) -> String {
        match self.shape.nodes {
            1 => "10.231.1.1:9000".to_owned(),
            nodes => format!("10.231.1.{{1...{nodes}}}:9000"),
        }
    }

    pub(super) fn fault(&self, faults: &[String]) -> Result<(), Box<dyn Error>> {
        printed(self.command("fault").args(faults)).map(drop)
    }

    pub(super) fn heal(&self) -> Result<(), Box<dyn Error>> {
        printed(&mut self.command("heal")).map(drop)
    }

    /// A command on a machine, under its limits and with the keys of the engine.
    pub(super) fn exec(&self, machine: &str, words: &[&str]) -> Result<Output, Box<dyn Error>> {
        Ok(self.command("exec").args([machine, "--"]).args(words).stdin(Stdio::null()).output()?)
    }

    /// A bench from the client, whatever comes of it.
    pub(super) fn bench(&self, out: &Path, flags: &str) -> Result<Output, Box<dyn Error>> {
        let (program, out) = (self.linerate.to_string_lossy(), out.to_string_lossy());
        let hosts = self.hosts();
        let words = ["bench", "--host", &hosts, "--no-ceiling", "--yes-load", "--quiet", "-o", &out];
        let all = [&[program.as_ref()][..], &words, &flags.split(' ').collect::<Vec<_>>()].concat();
        self.exec("client1", &all)
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        if let Err(why) = printed(&mut self.command("down")) {
            eprintln!("the lab is left: {why}");
        }
    }
}

/// A command in the network namespace of a machine, outside of its limits.
pub(super) fn within(machine: &str, words: &[&str]) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "30", "ip", "netns", "exec", &format!("{NAME}-{machine}")]).args(words);
    command
}

/// The address of a machine on the public plane.
pub(super) fn address(machine: &str) -> String {
    let kind = if machine.starts_with("client") { 2 } else { 1 };
    let number: String = machine.chars().filter(char::is_ascii_digit).collect();
    format!("10.231.{kind}.{number}")
}
