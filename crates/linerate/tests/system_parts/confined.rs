//! An agent that reads writes, sets and configures nothing: by what strace tells of a whole watch, and under a seccomp
//! profile that lets it do nothing else.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use linerate_fleet::attachment::{ATTACH_VERSION, Attach, AttachAnswer, word};
use linerate_record::readings::Readings;

use super::seen_nodes::{EngineNode, agent};
use super::sockets::{expect, inside};
use crate::NamedCheck;
use crate::confined::{Row, file, outside, rows};
use crate::running::shown;

/// What is checked, and what each needs.
pub(crate) const CHECKS: [NamedCheck; 3] = [
    (
        "read_only_a_whole_watch_asks_the_kernel_for_nothing_but_what_is_listed",
        &["root", "ip", "nsenter", "strace"],
        traced,
    ),
    (
        "read_only_a_whole_watch_runs_under_the_seccomp_profile",
        &["root", "ip", "nsenter", "python3", "libseccomp"],
        under_the_profile,
    ),
    ("read_only_an_agent_in_a_pod_runs_under_the_seccomp_profile", &["root", "ip", "python3", "libseccomp"], in_a_pod),
];

/// Long enough for what is read each 10 s to be read twice.
const WATCH_S: u32 = 12;

/// Bytes that each request brings to the engine.
const BYTES: usize = 100_000;

/// Work while clients write to the engine.
fn while_written<T>(node: &EngineNode, work: impl FnOnce() -> Result<T, Failed>) -> Result<T, Failed> {
    let space = format!("/run/netns/{}", node.spaces.client_link);
    let mut streams =
        inside(&space, || (0..8).map(|_| TcpStream::connect(&node.address)).collect::<Result<Vec<_>, _>>())?;
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let head = format!("PUT /b/o HTTP/1.1\r\nhost: h\r\ncontent-length: {BYTES}\r\n\r\n");
            let request = [head.as_bytes(), &vec![7; BYTES]].concat();
            while !is_over.load(Ordering::Acquire) {
                for stream in &mut streams {
                    let _ = stream.write_all(&request).and_then(|()| stream.read(&mut [0; 4096]));
                }
                thread::sleep(Duration::from_millis(100));
            }
        });
        let done = work();
        is_over.store(true, Ordering::Release);
        done
    })
}

/// Where an agent is: in the machine's namespace, from which it enters the engine's, and in the engine's own.
fn places(node: &EngineNode) -> [(&'static str, String); 2] {
    [("the machine", String::new()), ("the node", format!("nsenter --net={} ", node.space()))]
}

/// Readings that are whole: of the whole time, and of the engine's sockets.
fn whole(place: &str, readings: &Readings, sockets: bool) -> Result<(), Failed> {
    expect(readings.steps == WATCH_S, || format!("{place}: {} steps", readings.steps))?;
    let seen = readings.sockets.first().map_or(0, |read| read.sockets);
    expect(!sockets || seen >= 8, || format!("{place}: {seen} sockets; {:?}", readings.remarks))?;
    let denied = |remark: &&String| remark.contains("ermitted") || remark.contains("not implemented");
    let denied = readings.remarks.iter().find(denied);
    expect(denied.is_none(), || format!("{place}: {denied:?}"))
}

/// That a trace of a program that writes to a file and sends a signal is told as such.
fn is_reported(node: &EngineNode, rows: &[Row]) -> Result<(), Failed> {
    let (trace, written) = (node.path("trace"), node.path("written"));
    let script = format!("echo x > {}; kill -URG $$", written.display());
    let output = Command::new("strace").args(["-f", "-y", "-o"]).arg(&trace).args(["sh", "-c", &script]).output()?;
    expect(output.status.success(), || shown(&output))?;
    let (odd, _) = outside(&String::from_utf8_lossy(&fs::read(&trace)?), rows, &["watch", "start"]);
    let reported = |call: &str| odd.iter().any(|odd| odd.starts_with(call));
    fs::remove_file(written)?;
    expect(reported("openat(") && reported("write(") && reported("kill("), || format!("{odd:?}"))
}

/// A trace of a watch in which strace knows each call. Of a thread that the end of the process meets at the start of a
/// call, strace may not read which call that is (`???`): then the watch is traced again.
fn whole_trace(node: &EngineNode, place: &str, enter: &str, rows: &[Row]) -> Result<String, Failed> {
    let trace = node.path("trace");
    let command = format!("exec {enter}strace -f -y -s 64 -o {} {} --allow read", trace.display(), agent());
    for _ in 0..4 {
        let readings = while_written(node, || node.read(&command, WATCH_S))?;
        whole(place, &readings, true)?;
        let text = String::from_utf8_lossy(&fs::read(&trace)?).into_owned();
        let (_, seen) = outside(&text, rows, &["watch", "start"]);
        if !seen.contains_key("???") {
            return Ok(text);
        }
    }
    Err(format!("{place}: four traces, and in each a call that strace could not read").into())
}

fn traced() -> Result<(), Failed> {
    let node = EngineNode::start()?;
    let rows = rows();
    is_reported(&node, &rows)?;
    let mut requested_for = String::new();
    for (place, enter) in places(&node) {
        let trace = whole_trace(&node, place, &enter, &rows)?;
        let (odd, seen) = outside(&trace, &rows, &["watch", "start"]);
        println!("{place}: {seen:?}");
        expect(odd.is_empty(), || format!("{place}: calls outside contrib/agent/calls.txt:\n{}", odd.join("\n")))?;
        // The trace is of a whole life, and of one program.
        expect(seen.get("execve") == Some(&1) && seen.contains_key("exit_group"), || format!("{place}: {seen:?}"))?;
        requested_for += &trace;
    }
    // What is listed as the widest is there to be seen.
    for part in ["setns(", "NETLINK_SOCK_DIAG", "NETLINK_GENERIC", "openat("] {
        expect(requested_for.contains(part), || format!("no {part} in the traces"))?;
    }
    Ok(())
}

/// The words before a program that is to run under the profile.
fn confine() -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/system_parts/confine.py");
    format!("python3 {} {}", script.display(), file("seccomp.json").display())
}

/// That the profile is in force: a program under it writes to its output, and to no file.
fn refuses(node: &EngineNode) -> Result<(), Failed> {
    let written = node.path("written");
    for (script, is_done) in [("echo x".to_owned(), true), (format!("echo x > {}", written.display()), false)] {
        let words = format!("exec {} /bin/sh -c '{script}'", confine());
        let output = Command::new("sh").args(["-c", &words]).output()?;
        let is_as_expected = output.status.success() == is_done && !written.exists();
        expect(is_as_expected, || format!("{script}: {}", shown(&output)))?;
    }
    Ok(())
}

fn under_the_profile() -> Result<(), Failed> {
    let node = EngineNode::start()?;
    refuses(&node)?;
    for (place, enter) in places(&node) {
        let command = format!("exec {enter}{} {} --allow read", confine(), agent());
        let readings = while_written(&node, || node.read(&command, WATCH_S))?;
        whole(place, &readings, true)?;
    }
    Ok(())
}

/// As in a pod of the DaemonSet: a first process with an agent behind it, in the namespaces of another process, and
/// streams that `linerate agent attach` brings.
fn in_a_pod() -> Result<(), Failed> {
    let node = EngineNode::start()?;
    let socket = node.path("run/agent.sock");
    let mut confined = Command::new("sh");
    let words = format!(
        "exec {} {} --listen {} --allow read --lease 10s --pid {} --until 2100-01-01T00:00:00Z",
        confine(),
        agent(),
        socket.display(),
        node.pid()
    );
    let first =
        confined.args(["-c", &words]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    let mut first = First(Some(first));
    let until = Instant::now() + Duration::from_secs(10);
    while !socket.exists() && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
    // What kubelet brings to and fro, and what a coordinator of pods and such an agent say before all else.
    let attach = Attach { attach: ATTACH_VERSION, token: "t".to_owned(), is_again: false, taken: 0 };
    fs::write(node.path("word"), word(&attach))?;
    let answer = word(&AttachAnswer::Taken { taken: 0, lease_ms: 10_000 }).len();
    let stream = format!("{} {} attach --socket {}", confine(), agent(), socket.display());
    let first_word = node.path("word").display().to_string();
    let command = format!("(cat {first_word}; exec cat) | {stream} | (head -c {answer} > /dev/null; exec cat)");
    let read = while_written(&node, || node.read(&command, WATCH_S));
    let said = first.end()?;
    let readings = read.map_err(|failed| format!("{failed:?}; the agent: {said}"))?;
    whole("the pod", &readings, true).map_err(|failed| format!("{failed:?}; the agent: {said}").into())
}

/// The first process of what is as a pod; ended with the value.
struct First(Option<Child>);

impl First {
    /// Ends it as a kubelet does; what it said. Its end is that of a signal, which process 1 handed on to its agent.
    fn end(&mut self) -> Result<String, Failed> {
        let Some(child) = self.0.take() else { return Ok(String::new()) };
        let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status()?;
        let output = child.wait_with_output()?;
        let code = output.status.code();
        let is_ended = killed.success() && code == Some(130);
        if is_ended { Ok(shown(&output)) } else { Err(format!("ended with {code:?}: {}", shown(&output)).into()) }
    }
}

impl Drop for First {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
