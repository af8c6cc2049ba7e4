//! `linerate net serve` and who comes to it, over 127.0.0.1. No root, nothing changed on the machine.

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::{Duration, Instant};

use linerate_analysis::net::view::{NetSearchEnd, NetView};
use linerate_fleet::protocol::{PROTOCOL, ToAgent, frame};
use linerate_flows::FlowToken;
use linerate_flows::session_handshake::{SESSION_BYTES, SessionAnswer, answered, attach_request};
use linerate_wire::anonymous_tls::AnonymousTls;
use linerate_wire::deadline::{CancelToken, Deadline};
use tempfile::{TempDir, tempdir};

use crate::running::agents::kill;
use crate::running::{END, bound, eventually, files_below, linerate, shown, words};

/// How long whoever serves may take to end.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// One that serves, until it is dropped.
struct Serving {
    child: Child,
    /// Stays open: who prints to a closed pipe is told so.
    _out: BufReader<ChildStdout>,
    address: String,
    token: String,
}

impl Serving {
    fn start(flags: &str) -> Serving {
        let mut command = linerate();
        command.args(["net", "serve", "--listen", "127.0.0.1:0"]).args(words(flags));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let mut next = |mark: &str| {
            let mut line = String::new();
            while !line.contains(mark) {
                line.clear();
                assert!(out.read_line(&mut line).expect("a line") > 0, "it says {mark}");
            }
            let (_, rest) = line.trim().split_once(mark).expect("it is there");
            rest.split(' ').next().unwrap_or_default().to_owned()
        };
        let address = next("listening ");
        let token = if flags.contains("--token-file") { String::new() } else { next("LINERATE_NET_TOKEN=") };
        Serving { child, _out: out, address, token }
    }

    /// Who comes, with a token, into the folder `run` of a place.
    fn comes(&self, place: &TempDir, token: &str, flags: &str) -> Command {
        let mut command = linerate();
        command.env("LINERATE_NET_TOKEN", token).args(["net", &self.address, "--json"]).args(words(flags));
        command.arg("-o").arg(place.path().join("run"));
        command
    }

    /// Ends it by a signal; how it ended, and what it said.
    fn ended_by(mut self, signal: &str) -> (Option<i32>, String) {
        kill(signal, self.child.id());
        let until = Instant::now() + bound(ENDS_WITHIN);
        while self.child.try_wait().expect("its status").is_none() {
            assert!(Instant::now() < until, "it ends");
            std::thread::sleep(Duration::from_millis(10));
        }
        let mut said = String::new();
        self.child.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
        (self.child.wait().expect("it ended").code(), said)
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const SHORT: &str = "--op connect --streams 1 --duration 300ms --warmup 50ms --visits 1";

fn output(mut command: Command) -> (Option<i32>, String, Output) {
    let output = command.output().expect("it runs");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned(), output)
}

#[test]
fn who_has_the_token_measures_and_who_has_another_is_refused_in_one_line() {
    let (serving, place) = (Serving::start(""), tempdir().expect("a folder"));
    let (code, reported, _) = output(serving.comes(&place, &"0".repeat(64), SHORT));
    assert_eq!(code, Some(3), "{reported}");
    let why = format!("error: 127.0.0.1: what serves at {} refuses this token; ", serving.address);
    assert!(reported.starts_with(&why) && reported.lines().count() == 1, "{reported}");
    assert_eq!(files_below(place.path()), Vec::<String>::new(), "nothing was measured");

    let (code, reported, measured) = output(serving.comes(&place, &serving.token, SHORT));
    assert_eq!(code, Some(0), "{}", shown(&measured));
    let view: NetView = serde_json::from_slice(&measured.stdout).expect("the report is JSON");
    let names: Vec<&str> = view.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!((names.as_slice(), view.pairs.len()), (&["here", "127.0.0.1"][..], 2), "{reported}");
    assert!(view.pairs.iter().all(|pair| pair.per_s.is_some_and(|rate| rate.mean > 0.0)), "{:?}", view.pairs);
    for file in files_below(place.path()) {
        let bytes = fs::read(place.path().join(&file)).expect("a file");
        assert!(!String::from_utf8_lossy(&bytes).contains(&serving.token), "the token is in {file}");
    }
    for (threshold, expected, part) in [
        ("throughput<1/s", 0, ""),
        ("throughput<1000k/s", 5, "throughput<1000k/s: the slowest pair, "),
        ("errors>0", 0, ""),
        ("goodput<1Gb/s", 2, "a run of --op connect has nothing that \"goodput<1Gb/s\" is of"),
    ] {
        let mut report = linerate();
        report.arg("report").arg(place.path().join("run")).args(["--format", "csv", "--fail-if", threshold]);
        let (code, reported, printed) = output(report);
        assert!(code == Some(expected) && reported.contains(part), "{threshold}: {reported}");
        assert_eq!(printed.stdout.starts_with(b"from,to,"), expected != 2, "{threshold}");
    }
    let token = serving.token.clone();
    let (code, said) = serving.ended_by("INT");
    assert_eq!(code, Some(0), "{said}");
    for part in ["127.0.0.1 was refused: its token is another one", "127.0.0.1 measures", "has measured for"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains(&token), "{said}");
}

#[test]
fn a_search_measures_each_number_beside_twice_as_many_and_its_folder_is_read_back() {
    let (serving, place) = (Serving::start(""), tempdir().expect("a folder"));
    let flags = "--streams search --max-rate 40Mb/s --duration 400ms --warmup 100ms --visits 2 --yes-load";
    let (code, reported, measured) = output(serving.comes(&place, &serving.token, flags));
    assert_eq!(code, Some(0), "{}", shown(&measured));
    let view: NetView = serde_json::from_slice(&measured.stdout).expect("the report is JSON");
    let numbers = &view.load.streams;
    // Two steps that show nothing are the last ones, and at the rate that is asked for no number gives more.
    assert!(view.load.is_searched && numbers.len() < 9, "{numbers:?}");
    assert!(numbers.iter().enumerate().all(|(step, number)| *number == 1 << step), "{numbers:?}");
    assert_eq!(view.search_ended, Some(NetSearchEnd::MaxRate));
    assert_eq!(
        view.visits as usize,
        (numbers.len() - 1) * 2 * 2 * 2,
        "two numbers, rounds and visits a step: {reported}"
    );
    let visits_with =
        |streams: u32| view.pairs.iter().filter(move |pair| pair.streams == streams).map(|pair| pair.visits);
    let ends = [1, numbers[numbers.len() - 1]];
    for streams in numbers {
        let visits = if ends.contains(streams) { 2 } else { 4 };
        assert!(
            visits_with(*streams).eq([visits, visits]),
            "{streams} streams: {:?}",
            visits_with(*streams).collect::<Vec<_>>()
        );
    }
    let mut report = linerate();
    report.arg("report").arg(place.path().join("run")).args(["--format", "json"]);
    let (code, reported, again) = output(report);
    assert_eq!((code, serde_json::from_slice::<NetView>(&again.stdout).expect("JSON")), (Some(0), view), "{reported}");
}

#[test]
fn a_token_may_be_in_a_file_of_both() {
    let place = tempdir().expect("a folder");
    let file = place.path().join("token");
    fs::write(&file, format!("{}\n", "5a".repeat(32))).expect("written");
    let serving = Serving::start(&format!("--token-file {}", file.display()));
    let mut command = serving.comes(&place, "", &format!("{SHORT} --token-file {}", file.display()));
    command.env_remove("LINERATE_NET_TOKEN");
    let (code, reported, _) = output(command);
    assert_eq!(code, Some(0), "{reported}");
}

#[test]
fn what_cannot_be_is_told_before_anything_is_measured() {
    let (serving, place) = (Serving::start(""), tempdir().expect("a folder"));
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("bound");
    let other = TcpListener::bind("127.0.0.1:0").expect("a port");
    let at_other = other.local_addr().expect("bound").to_string();
    std::thread::spawn(move || {
        for mut stream in other.incoming().flatten().take(4) {
            let _ = stream.write_all(b"SSH-2.0-OpenSSH_10.0\r\n");
        }
    });
    let token = serving.token.as_str();
    for (host, token, code, part) in [
        (serving.address.as_str(), "", 2, "LINERATE_NET_TOKEN is no token: copy all 64"),
        ("nowhere.invalid", token, 3, "nowhere.invalid"),
        (&free.to_string(), token, 3, "nothing listens at"),
        (&at_other, token, 3, "is no linerate net serve"),
        ("no host", token, 2, "no host in"),
    ] {
        let mut command = linerate();
        command.env("LINERATE_NET_TOKEN", token).args(["net", host, "--yes-load", "-o"]);
        command.arg(place.path().join("run")).args(words(SHORT));
        let (found, reported, _) = output(command);
        assert_eq!(found, Some(code), "{host}: {reported}");
        assert!(reported.contains(part) && !reported.contains(&serving.token), "{host}: {reported}");
    }
    let mut command = linerate();
    command.env_remove("LINERATE_NET_TOKEN").args(["net", &serving.address]);
    let (code, reported, _) = output(command);
    assert!(code == Some(2) && reported.contains("no token: set LINERATE_NET_TOKEN"), "{reported}");
    assert_eq!(files_below(place.path()), Vec::<String>::new());
}

#[test]
fn a_cap_is_held_by_who_serves() {
    let (serving, place) = (Serving::start("--max-rate 80Mb/s"), tempdir().expect("a folder"));
    let flags = "--streams 1 --duration 300ms --warmup 100ms --visits 1";
    let (code, reported, _) = output(serving.comes(&place, &serving.token, flags));
    assert_eq!(code, Some(3), "{reported}");
    assert!(reported.contains("give --max-rate 80.0Mb/s"), "{reported}");
    fs::remove_dir_all(place.path().join("run")).expect("a folder of a run without figures");
    let (code, reported, measured) =
        output(serving.comes(&place, &serving.token, &format!("{flags} --max-rate 80.0Mb/s")));
    assert_eq!(code, Some(0), "{reported}");
    let view: NetView = serde_json::from_slice(&measured.stdout).expect("the report is JSON");
    assert!(view.pairs.iter().all(|pair| pair.per_s.is_some_and(|rate| rate.mean < 11e6)), "{:?}", view.pairs);
}

#[test]
fn one_is_served_at_a_time_and_told_when_it_ends() {
    let (serving, places) = (Serving::start(""), [(); 2].map(|()| tempdir().expect("a folder")));
    let long = "--op connect --streams 1 --duration 6s --warmup 0s --visits 1";
    let mut first = serving.comes(&places[0], &serving.token, long);
    let first = first.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    // The folder is there once both machines are met.
    eventually("the first one measures", || places[0].path().join("run").exists());
    let (code, reported, _) = output(serving.comes(&places[1], &serving.token, SHORT));
    assert!(code == Some(3) && reported.contains("measures with another machine"), "{code:?}: {reported}");
    let (code, _) = serving.ended_by("TERM");
    assert_eq!(code, Some(0));
    let ended = first.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(3), "{}", shown(&ended));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("a signal ended the agent"), "{}", shown(&ended));
}

#[test]
fn a_crowd_that_says_nothing_keeps_nobody_out() {
    let (serving, place) = (Serving::start(""), tempdir().expect("a folder"));
    let crowd: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(&serving.address).expect("it listens")).collect();
    let (code, reported, _) = output(serving.comes(&place, &serving.token, SHORT));
    assert_eq!(code, Some(0), "{reported}");
    drop(crowd);
}

#[test]
fn one_that_takes_no_answer_leaves_the_seat_to_the_next() {
    let (serving, place) = (Serving::start(""), tempdir().expect("a folder"));
    let token = FlowToken::from_hex(&serving.token).expect("a token");
    let socket = TcpStream::connect(&serving.address).expect("it listens");
    let patience = Deadline::new(Duration::from_secs(60), &CancelToken::Nothing);
    let mut first = AnonymousTls::connect(socket, patience).expect("it speaks TLS");
    let channel = first.own().expect("it has shaken hands");
    let mut said = [0; SESSION_BYTES];
    first.say(&attach_request(&token, &channel)).expect("it is taken");
    first.hear(&mut said).expect("an answer");
    assert_eq!(answered(&token, &channel, &said), Some(SessionAnswer::Takes));
    let hello = ToAgent::Hello { protocol: PROTOCOL, token: "t".to_owned(), lease_ms: None };
    first.say(&frame(&hello).expect("a message")).expect("it is taken");
    // Their answers are more than buffers of sockets hold, and fewer than end it at once.
    let questions = frame(&ToAgent::Exchange { number: 1 }).expect("a message").repeat(500);
    for _ in 0..300 {
        first.say(&questions).expect("it is taken");
    }
    let until = Instant::now() + END;
    loop {
        let (code, reported, _) = output(serving.comes(&place, &serving.token, SHORT));
        if code == Some(0) {
            break;
        }
        assert!(reported.contains("measures with another machine") && Instant::now() < until, "{code:?}: {reported}");
    }
    drop(first);
}
