//! Agents that tests start, and whether they have ended.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::{ACCESS_KEY, SECRET_KEY, bound, linerate, words};

/// An agent that may load, by this program's link in the place.
pub(crate) fn loader(place: &Place, name: &str) -> String {
    let program = place.program.display();
    format!("{{name: {name}, role: client, reach: 'exec:exec {program} agent --allow load'}}")
}

/// The manifest of a captured machine of which nothing is known but its files.
pub(crate) const CAPTURE: &str = r#"{"schema": 1, "linerate": "0.1.0", "captured": "2026-01-01", "kernel": "6.18.0",
"files": 0, "engines": [], "is_initial_netns": true, "settings": [], "unreadable": []}"#;

/// A captured machine with these lines in files, in the folder `rootN` of the place, and its row of a fleet with
/// `more` in it: an agent that may change it, whose journals are in `stateN`.
pub(crate) fn captured(place: &Place, number: usize, more: &str, files: &[(&str, &str)]) -> String {
    let root = place.path(&format!("root{number}"));
    let put = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
        fs::write(path, format!("{text}\n")).expect("a file");
    };
    files.iter().for_each(|(path, text)| put(path, text));
    fs::create_dir_all(root.join("sys")).expect("a folder");
    put("capture.json", CAPTURE);
    put("etc/machine-id", &format!("{number:032x}"));
    put("proc/sys/kernel/random/boot_id", &format!("11111111-1111-1111-1111-{number:012x}"));
    let (state, root) = (place.path(&format!("state{number}")), root.display());
    let agent = format!("env LINERATE_STATE={} {} agent", state.display(), place.program.display());
    format!("{{name: n{number}, {more}, reach: 'exec:exec {agent} --allow change --root {root}'}}")
}

/// `linerate` with the nodes of a fleet, whose commands may be run.
pub(crate) fn with_fleet(args: &[&str], fleet: &Path) -> Command {
    let mut command = linerate();
    command.args(args).arg("--fleet").arg(fleet).arg("--yes-exec");
    command
}

/// `linerate bench --fleet` into the folder `run` of the place.
pub(crate) fn bench(place: &Place, fleet: &Path, target: &str, flags: &str) -> Command {
    let mut command = linerate();
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    command.args(["bench", "--host", target, "--fleet"]).arg(fleet).args(["--yes-exec", "--yes-load", "-o"]);
    command.arg(place.path("run")).args(words(flags));
    command
}

/// Sends a process a signal.
pub(crate) fn kill(signal: &str, pid: u32) {
    let status = Command::new("kill").args([&format!("-{signal}"), &pid.to_string()]).status();
    assert!(status.expect("kill runs").success());
}

/// The pids of agents of the place, in the order in which they were started.
pub(crate) fn agents(place: &Place) -> Vec<u32> {
    let mark = place.program.display().to_string();
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let is_own = |pid: &u32| {
        let args = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let args = String::from_utf8_lossy(&args).replace('\0', " ");
        args.starts_with(&mark) && args.contains(" agent ")
    };
    let mut pids: Vec<u32> =
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(is_own).collect();
    pids.sort_unstable();
    pids
}

/// Ends whatever agents of the place there are.
pub(crate) fn end_all(place: &Place) {
    for pid in agents(place) {
        let _ = Command::new("kill").args(["-KILL", &pid.to_string()]).status();
    }
}

/// Files by their paths, with what is in them.
pub(crate) type Files = BTreeMap<PathBuf, Vec<u8>>;

/// All files below folders, but those that are being written (`.new`).
pub(crate) fn files_below(mut folders: Vec<PathBuf>) -> Files {
    let mut files = Files::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_none_or(|extension| extension != "new") {
                files.insert(path.clone(), fs::read(&path).unwrap_or_default());
            }
        }
    }
    files
}

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

    /// Waits until nothing runs any more: three seconds where time is measured.
    pub(crate) fn assert_over(&self) {
        let until = Instant::now() + bound(Duration::from_secs(3));
        while !self.processes().is_empty() {
            assert!(Instant::now() < until, "it runs: {:?}", self.processes());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
