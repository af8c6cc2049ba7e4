//! Agents that tests start, and whether they have ended.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A folder with this program under a path that no other process has in its arguments.
pub(crate) struct Place {
    folder: TempDir,
    pub(crate) program: PathBuf,
}

impl Place {
    pub(crate) fn make() -> Place {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("linerate");
        symlink(env!("CARGO_BIN_EXE_linerate"), &program).expect("a link");
        Place { folder, program }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A fleet of these lines.
    pub(crate) fn fleet(&self, nodes: &[String]) -> PathBuf {
        let path = self.path("fleet.yaml");
        let lines: Vec<String> = nodes.iter().map(|node| format!("  - {node}\n")).collect();
        fs::write(&path, format!("nodes:\n{}", lines.concat())).expect("written");
        path
    }

    /// A node that is reached by a script in a file of this folder.
    pub(crate) fn scripted(&self, name: &str, script: &str) -> String {
        let path = self.path(&format!("{name}.sh"));
        fs::write(&path, script.replace("AGENT", &format!("{} agent", self.program.display()))).expect("written");
        format!("{{name: {name}, role: client, reach: 'exec:sh {}'}}", path.display())
    }

    /// Processes with this folder in their arguments, beside this one.
    pub(crate) fn processes(&self) -> Vec<String> {
        let mark = self.folder.path().display().to_string();
        let entries = fs::read_dir("/proc").expect("/proc").flatten();
        let args = |entry: &fs::DirEntry| {
            let args = fs::read(entry.path().join("cmdline")).ok()?;
            Some(String::from_utf8_lossy(&args).replace('\0', " "))
        };
        entries.filter_map(|entry| args(&entry)).filter(|args| args.contains(&mark)).collect()
    }

    /// Waits three seconds at the most until nothing runs any more.
    pub(crate) fn assert_over(&self) {
        let until = Instant::now() + Duration::from_secs(3);
        while !self.processes().is_empty() {
            assert!(Instant::now() < until, "it runs: {:?}", self.processes());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
