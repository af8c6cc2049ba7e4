//! Running the `linerate` binary, and targets for it, from tests.

pub(crate) mod agents;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use linerate_analysis::view::{Point, View};
use serde::de::DeserializeOwned;

/// Keys that targets of the tests take. They are looked for in everything that a run leaves.
pub(crate) const ACCESS_KEY: &str = "AKtestaccesskey0001";
pub(crate) const SECRET_KEY: &str = "secret-of-the-tests-5f3a9";

/// The binary with an environment in which nothing points elsewhere.
pub(crate) fn linerate() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    for (name, _) in std::env::vars() {
        if ["AWS_", "WARP_", "MC_"].iter().any(|prefix| name.starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    // Notes of what tests begin stay among what the tests build.
    command.env("LINERATE_STATE", concat!(env!("CARGO_TARGET_TMPDIR"), "/state"));
    command.stdin(Stdio::null());
    command
}

/// Words separated by blanks, as one types them.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace()
}

/// `--verify` where a load reads what can be compared.
pub(crate) fn verify(flags: &str) -> &'static str {
    if flags.contains("get") || flags.contains("mixed") { "--verify" } else { "" }
}

/// `linerate bench` with flags, an output folder and keys in its environment.
pub(crate) fn bench_command(folder: &Path, flags: &str, keys: &[(&str, String)]) -> Command {
    let mut command = linerate();
    command.envs(keys.iter().map(|(name, value)| (name, value)));
    command.arg("bench").args(words(flags)).arg("-o").arg(folder);
    command
}

pub(crate) fn bench_with(folder: &Path, flags: &str, keys: &[(&str, String)]) -> Output {
    bench_command(folder, flags, keys).output().expect("linerate runs")
}

/// Runs it with the tests' keys.
pub(crate) fn bench(folder: &Path, flags: &str) -> Output {
    let keys = [("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()), ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned())];
    bench_with(folder, flags, &keys)
}

/// The same, which must end well; returns the view.
pub(crate) fn bench_view(folder: &Path, flags: &str) -> View {
    let output = bench(folder, flags);
    assert!(output.status.success(), "bench {flags}: {}\n{}", output.status, shown(&output));
    view(folder)
}

/// What `linerate report --format json` says of a folder.
pub(crate) fn view(folder: &Path) -> View {
    let output = linerate().arg("report").arg(folder).args(["--format", "json"]).output().expect("linerate runs");
    assert!(output.status.success(), "{}", shown(&output));
    serde_json::from_slice(&output.stdout).expect("the report is JSON")
}

/// Both streams of a process, for messages.
pub(crate) fn shown(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Every point of a view.
pub(crate) fn points(view: &View) -> Vec<&Point> {
    view.series.iter().flat_map(|s| &s.points).collect()
}

/// Whether each request of a visit has a latency, and besides those alone that were in flight at its end.
pub(crate) fn has_a_latency_of_each_request(point: &Point) -> bool {
    let holds = |count: u64| (point.requests..=point.requests + u64::from(point.concurrency)).contains(&count);
    holds(point.total.count) && point.open.as_ref().is_none_or(|open| holds(open.total_intended.count))
}

/// A server of `linerate target`, ended with the test.
pub(crate) struct Served {
    child: Child,
    pub(crate) address: String,
    /// File with the certificate of its authority, where it speaks TLS.
    pub(crate) ca: String,
    /// Folder in which the embedded target keeps its objects.
    pub(crate) root: Option<PathBuf>,
}

impl Served {
    pub(crate) fn null() -> Self {
        Self::start("null", None, "")
    }

    /// The embedded target below `drive`.
    pub(crate) fn embedded(drive: &Path) -> Self {
        Self::start("embedded", Some(drive), "")
    }

    /// One of the two with further flags: `--tls`, `--listen`.
    pub(crate) fn start(kind: &str, drive: Option<&Path>, flags: &str) -> Self {
        let mut command = linerate();
        command.args(["target", kind]).args(words(flags)).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
        if let Some(drive) = drive {
            command.arg("--drive").arg(drive);
        }
        let mut child = command.spawn().expect("a target starts");
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let mut next = |word: &str| {
            let mut line = String::new();
            out.read_line(&mut line).expect("a line");
            line.trim().strip_prefix(word).expect("it says what").to_owned()
        };
        let address = next("listening ");
        let ca = if flags.contains("--tls") { next("ca ") } else { String::new() };
        let made =
            drive.map(|d| std::fs::read_dir(d).expect("a folder").flatten().map(|e| e.path()).collect::<Vec<_>>());
        Served { child, address, ca, root: made.and_then(|paths| paths.into_iter().next()) }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it without a chance to clear up.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Files below a folder, relative to it.
pub(crate) fn files_below(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(one) = folders.pop() {
        for entry in std::fs::read_dir(&one).into_iter().flatten().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                let path = entry.path();
                found.push(path.strip_prefix(folder).expect("below").to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

/// The lines of a file of records.
pub(crate) fn lines<T: DeserializeOwned>(path: &Path) -> Vec<T> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// Objects of any run in the embedded target's folder.
pub(crate) fn objects(target: &Served) -> Vec<String> {
    let root = target.root.as_ref().expect("a folder");
    files_below(root).into_iter().filter(|name| name.contains("linerate-")).collect()
}

/// Longer than anything takes that ends at all, on any machine.
pub(crate) const END: Duration = Duration::from_secs(600);

/// How long something may take: as is said where `LINERATE_TIMED` is set, as by `make test-timed`, which runs one test
/// at a time. Elsewhere others may fill the machine, and only what hangs fails.
pub(crate) fn bound(alone: Duration) -> Duration {
    if std::env::var_os("LINERATE_TIMED").is_some() { alone } else { END }
}

/// Waits until something holds; panics where it never does.
pub(crate) fn eventually(what: &str, holds: impl FnMut() -> bool) {
    eventually_within(END, what, holds);
}

/// The same with a time of its own.
pub(crate) fn eventually_within(most: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + most;
    while !holds() {
        assert!(Instant::now() < until, "waited in vain for: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A server that answers each request by what its target holds, as often as it is asked.
pub(crate) fn serving(answer: impl Fn(&str) -> String + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten().take(100) {
            let mut stream = stream;
            let mut head = Vec::new();
            let mut piece = [0; 4096];
            while let Ok(n @ 1..) = stream.read(&mut piece) {
                head.extend_from_slice(&piece[..n]);
                if head.windows(4).any(|end| end == b"\r\n\r\n") {
                    let text = String::from_utf8_lossy(&head).into_owned();
                    let _ = stream.write_all(answer(text.lines().next().unwrap_or_default()).as_bytes());
                    break;
                }
            }
        }
    });
    address
}
