//! An agent that listens, over real sockets: streams that break and come back, and everybody who should not have it.

use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use linerate_fleet::attachment::{ATTACH_VERSION, Attach, AttachAnswer, AttachRefusal, FirstWord, SentBytes, word};
use linerate_fleet::conversation::{AgentInfo, Conversation};
use linerate_fleet::lease::LAPSES_AFTER;
use linerate_fleet::protocol::{PROTOCOL, ToAgent, frame};
use tempfile::TempDir;

use crate::running::{END, bound, linerate, shown};

/// The most that is read at once.
const READ_BYTES: usize = 4096;

/// An agent that listens, until it is dropped.
struct Agent {
    folder: TempDir,
    child: Child,
}

impl Agent {
    fn start(more: &[&str]) -> Agent {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("run/agent.sock");
        let mut command = linerate();
        command.args(["agent", "--listen"]).arg(&socket).args(more);
        let child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let agent = Agent { folder, child };
        let until = Instant::now() + END;
        while !agent.socket().exists() {
            assert!(Instant::now() < until, "it does not listen");
            thread::sleep(Duration::from_millis(5));
        }
        agent
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("run/agent.sock")
    }

    fn connect(&self) -> UnixStream {
        let until = Instant::now() + bound(Duration::from_secs(5));
        loop {
            match UnixStream::connect(self.socket()) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(Duration::from_millis(20))).expect("set");
                    return stream;
                }
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
        }
    }

    /// A stream on which this was said first, and what was answered.
    fn requested(&self, requested: &Attach) -> (UnixStream, Option<AttachAnswer>, Vec<u8>) {
        let mut stream = self.connect();
        stream.write_all(&word(requested)).expect("said");
        let (mut first, until) = (FirstWord::default(), Instant::now() + bound(Duration::from_secs(5)));
        let mut bytes = [0; READ_BYTES];
        while Instant::now() < until {
            match stream.read(&mut bytes) {
                Ok(0) => return (stream, None, Vec::new()),
                Ok(count) => {
                    if let Some((answer, rest)) = first.take(&bytes[..count]).expect("a word") {
                        return (stream, Some(answer), rest);
                    }
                }
                Err(error) => assert!(waits(&error), "{error}"),
            }
        }
        panic!("no answer");
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn waits(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

fn attach(token: &str, is_again: bool, taken: u64) -> Attach {
    Attach { attach: ATTACH_VERSION, token: token.to_owned(), is_again, taken }
}

fn now_ns() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_nanos()).expect("before 2262")
}

/// Speaks to an agent over streams of which each breaks after so many bytes came on it. Returns what it said, the
/// number of streams and the bytes that came.
fn met(agent: &Agent, token: &str, breaks_after: usize) -> (AgentInfo, usize, u64) {
    let (mut conversation, first) = Conversation::begin(token.to_owned(), true, now_ns(), 10_000_000_000, LAPSES_AFTER);
    let (mut kept, mut taken, mut streams, mut unsent) = (SentBytes::default(), 0_u64, 0, first);
    let until = Instant::now() + END;
    loop {
        let (mut stream, answer, rest) = agent.requested(&attach(token, streams > 0, taken));
        streams += 1;
        let Some(AttachAnswer::Taken { taken: theirs, .. }) = answer else { panic!("{answer:?}") };
        stream.write_all(&kept.since(theirs).expect("kept")).expect("said again");
        taken += rest.len() as u64;
        conversation.take(&rest, now_ns()).expect("valid");
        let (mut came, mut bytes) = (rest.len(), [0; READ_BYTES]);
        while came < breaks_after {
            assert!(Instant::now() < until, "{streams} streams");
            if conversation.is_done() {
                let (last, met) = conversation.end(now_ns()).expect("done");
                stream.write_all(&last).expect("said");
                // The agent is free once it closes the stream.
                while !matches!(stream.read(&mut bytes), Ok(0)) {
                    assert!(Instant::now() < until, "it is not closed");
                }
                return (met, streams, taken);
            }
            conversation.excuse(now_ns());
            unsent.extend(conversation.due(now_ns()).expect("in time"));
            kept.push(&unsent);
            stream.write_all(&unsent).expect("said");
            unsent.clear();
            match stream.read(&mut bytes) {
                Ok(0) => panic!("it ended"),
                Ok(count) => {
                    came += count;
                    taken += count as u64;
                    conversation.take(&bytes[..count], now_ns()).expect("valid");
                }
                Err(error) => assert!(waits(&error), "{error}"),
            }
        }
        // What is said and not taken by the agent, and what it says meanwhile, is lost with the stream.
    }
}

#[test]
fn a_machine_is_read_whole_over_streams_that_break_anywhere() {
    let agent = Agent::start(&["--lease", "10s"]);
    let (whole, streams, _) = met(&agent, "a", usize::MAX);
    assert_eq!(streams, 1);
    for breaks_after in [777, 2_000, 5_000] {
        let (met, streams, taken) = self::met(&agent, &format!("b{breaks_after}"), breaks_after);
        // A stream may bring one more read than it breaks after. How much there is to read depends on the machine.
        let most = usize::try_from(taken).expect("small") / (breaks_after + READ_BYTES);
        assert!(streams > most.max(1), "{breaks_after}: {streams} streams for {taken} bytes");
        let settings = |met: &AgentInfo| met.state.as_ref().map(|state| state.snapshot.settings.len());
        assert_eq!(settings(&met), settings(&whole));
    }
}

#[test]
fn an_agent_has_one_coordinator_and_waits_for_the_next() {
    let agent = Agent::start(&[]);
    let (mut first, answer, _) = agent.requested(&attach("a", false, 0));
    assert_eq!(answer, Some(AttachAnswer::Taken { taken: 0, lease_ms: 2_000 }));
    let greeting = ToAgent::Hello { protocol: PROTOCOL, token: "a".to_owned(), lease_ms: None };
    first.write_all(&frame(&greeting).expect("short")).expect("said");
    // Its lease is that of an agent that was spoken to from its answer on.
    while matches!(first.read(&mut [0; 4096]), Err(error) if waits(&error)) {}
    let refused = |requested: &Attach| match agent.requested(requested) {
        (_, Some(AttachAnswer::Refused(refusal)), _) => refusal,
        other => panic!("{other:?}"),
    };
    assert!(matches!(refused(&attach("b", false, 0)), AttachRefusal::Busy { .. }));
    assert!(matches!(refused(&attach("b", true, 7)), AttachRefusal::Busy { .. }));
    assert_eq!(
        refused(&Attach { attach: 2, ..attach("a", false, 0) }),
        AttachRefusal::Version { attach: ATTACH_VERSION }
    );
    assert_eq!(refused(&attach("a", true, 1 << 40)), AttachRefusal::Lost);
    // Nobody speaks to it any more: it is free after its lease, and knows nobody of before.
    let (begun, mut answer) = (Instant::now(), AttachRefusal::Busy { for_s: 0 });
    while matches!(answer, AttachRefusal::Busy { .. }) {
        assert!(begun.elapsed() < bound(Duration::from_millis(3_500)), "it does not end");
        thread::sleep(Duration::from_millis(50));
        answer = refused(&attach("b", true, 0));
    }
    assert_eq!(answer, AttachRefusal::Unknown);
    assert_eq!(refused(&attach("a", true, 0)), AttachRefusal::Unknown);
    let (met, ..) = met(&agent, "c", usize::MAX);
    assert_eq!(met.hello.token, "c");
}

#[test]
fn the_same_token_takes_the_agent_from_a_stream_that_is_frozen() {
    let agent = Agent::start(&["--lease", "10s"]);
    let (mut frozen, _, _) = agent.requested(&attach("a", false, 0));
    let (_next, answer, _) = agent.requested(&attach("a", true, 0));
    assert!(matches!(answer, Some(AttachAnswer::Taken { .. })), "{answer:?}");
    let until = Instant::now() + bound(Duration::from_secs(2));
    while !matches!(frozen.read(&mut [0; 64]), Ok(0)) {
        assert!(Instant::now() < until, "it is not closed");
    }
}

#[test]
fn who_says_nothing_or_floods_is_closed_and_keeps_nobody_out() {
    let agent = Agent::start(&[]);
    let mut flood = agent.connect();
    let begun = Instant::now();
    let written = (0..1_000).take_while(|_| flood.write_all(&[b'x'; 16 << 10]).is_ok()).count();
    assert!(written < 100, "{written}");
    let mut silent: Vec<UnixStream> = (0..100).map(|_| agent.connect()).collect();
    let until = begun + bound(Duration::from_secs(5));
    for stream in &mut silent {
        while !matches!(stream.read(&mut [0; 64]), Ok(0)) {
            assert!(Instant::now() < until, "it is not closed");
        }
    }
    let (met, ..) = met(&agent, "a", usize::MAX);
    assert_eq!(met.hello.token, "a");
}

#[test]
fn attach_carries_bytes_and_ends_with_either_side() {
    let agent = Agent::start(&[]);
    let attached = |path: &std::path::Path| {
        let mut command: Command = linerate();
        command.args(["agent", "attach", "--socket"]).arg(path);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let mut child = attached(&agent.socket()).spawn().expect("it runs");
    let mut input = child.stdin.take().expect("piped");
    input.write_all(&[word(&attach("a", false, 0)), frame(&ToAgent::End).expect("short")].concat()).expect("said");
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", shown(&output));
    let (answer, _) = FirstWord::default().take::<AttachAnswer>(&output.stdout).expect("a word").expect("whole");
    assert_eq!(answer, AttachAnswer::Taken { taken: 0, lease_ms: 2_000 });
    drop(input);
    // Its input ends, and the agent is left.
    let mut child = attached(&agent.socket()).spawn().expect("it runs");
    drop(child.stdin.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
    let output = attached(&agent.folder.path().join("none.sock")).output().expect("it ends");
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && reported.contains("no agent listens on"), "{}", shown(&output));
    assert!(reported.contains("--listen"), "{reported}");
}

#[test]
fn an_agent_ends_by_a_signal_and_at_its_instant_and_takes_its_socket_along() {
    let mut agent = Agent::start(&[]);
    let _held = agent.requested(&attach("a", false, 0));
    let pid = rustix::process::Pid::from_raw(i32::try_from(agent.child.id()).expect("a pid")).expect("not 0");
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("sent");
    let begun = Instant::now();
    assert_eq!(agent.child.wait().expect("it ends").code(), Some(130));
    assert!(begun.elapsed() < bound(Duration::from_secs(3)), "{:?}", begun.elapsed());
    assert!(!agent.socket().exists());
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |socket: &std::path::Path, more: &[&str]| {
        let mut command = linerate();
        let output = command.args(["agent", "--listen"]).arg(socket).args(more).output().expect("it ends");
        assert_eq!(output.status.code(), Some(1), "{}", shown(&output));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let socket = folder.path().join("run/agent.sock");
    assert!(refused(&socket, &["--until", "2020-01-01T00:00:00Z"]).contains("--until has passed"));
    let soon = jiff::Timestamp::now() + jiff::SignedDuration::from_millis(1_500);
    assert!(refused(&socket, &["--until", &soon.to_string()]).contains("--until has passed"));
    assert!(!socket.exists());
    let agent = Agent::start(&[]);
    assert!(refused(&agent.socket(), &[]).contains("an agent listens there already"));
    std::fs::create_dir(folder.path().join("open")).expect("made");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder.path().join("open"), open).expect("set");
    assert!(refused(&folder.path().join("open/agent.sock"), &[]).contains("others may write to it"));
}

#[test]
fn an_agent_that_was_killed_leaves_a_socket_that_the_next_one_takes() {
    let mut agent = Agent::start(&[]);
    agent.child.kill().expect("sent");
    agent.child.wait().expect("it ends");
    assert!(agent.socket().exists());
    let mut command = linerate();
    command.args(["agent", "--listen"]).arg(agent.socket());
    agent.child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
    let until = Instant::now() + bound(Duration::from_secs(5));
    while UnixStream::connect(agent.socket()).is_err() {
        assert!(Instant::now() < until, "it does not listen");
        thread::sleep(Duration::from_millis(5));
    }
}
