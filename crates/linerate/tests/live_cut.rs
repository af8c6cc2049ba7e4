//! `explain --live` ended early by signals, with an agent of its own on this machine. No root, nothing changed on it.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use linerate_record::readings::Readings;

use crate::running::agents::{Place, agents, kill};
use crate::running::{bound, eventually, linerate};

/// A server that sends to whoever connects, and a connection of which all is read; its port.
fn stream() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    thread::spawn(move || {
        let (mut to, _) = listener.accept().expect("a connection");
        while to.write_all(&[7; 32 << 10]).is_ok() {
            thread::sleep(Duration::from_millis(10));
        }
    });
    let mut from = TcpStream::connect(address).expect("a connection");
    thread::spawn(move || {
        let mut bytes = vec![0; 64 << 10];
        while from.read(&mut bytes).is_ok_and(|count| count > 0) {}
    });
    address.port()
}

/// A watch of a minute, with its words in a file. Beside its node there is a client, which looks at connections of its
/// own network namespace alone, whatever engines there are on this machine.
struct Watched {
    place: Place,
    child: Child,
    port: u16,
}

impl Watched {
    fn start(are_sockets_read: bool) -> Watched {
        let (place, port) = (Place::make(), stream());
        let reach = format!("exec:exec {} agent", place.program.display());
        let node = |(name, role)| format!("{{name: {name}, role: {role}, reach: '{reach}'}}");
        let fleet = place.fleet(&[("node1", "storage"), ("client1", "client")].map(node));
        let site = format!("{}/../../examples/namespaces-4.yaml", env!("CARGO_MANIFEST_DIR"));
        let mut command = linerate();
        command.args(["explain", &site, "--live", "--for", "60s", "--yes-exec"]);
        match are_sockets_read {
            true => command.args(["--engine-port", &port.to_string()]),
            false => command.arg("--no-sockets"),
        };
        command.arg("--fleet").arg(fleet).arg("--record").arg(place.path("readings.json"));
        let err = fs::File::create(place.path("err")).expect("a file");
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(err).spawn().expect("linerate runs");
        Watched { place, child, port }
    }

    fn reported(&self) -> String {
        fs::read_to_string(self.place.path("err")).unwrap_or_default()
    }

    /// Waits until it says that it has read so many steps, or more: it says so each few seconds.
    fn has_read(&self, steps: u32) {
        let read = || self.reported().lines().filter_map(|line| line.split_once(" of 60 s")?.0.parse().ok()).max();
        eventually("steps", || read().is_some_and(|read: u32| read >= steps));
    }

    /// Its code, once it has ended.
    fn code(&mut self) -> Option<i32> {
        let mut code = None;
        eventually("its end", || {
            code = self.child.try_wait().expect("a child").map(|status| status.code());
            code.is_some()
        });
        code.flatten()
    }

    fn readings(&self) -> PathBuf {
        self.place.path("readings.json")
    }
}

#[test]
fn a_window_that_is_cut_has_what_sockets_did_until_then() {
    let mut watched = Watched::start(true);
    watched.has_read(5);
    kill("INT", watched.child.id());
    assert_eq!(watched.code(), Some(130), "{}", watched.reported());
    let readings: Readings = serde_json::from_slice(&fs::read(watched.readings()).unwrap()).unwrap();
    assert!((5..60).contains(&readings.steps), "{} steps", readings.steps);
    let sent: u64 = readings.sockets.iter().flat_map(|of| &of.remotes).map(|remote| remote.sent_bytes).sum();
    // Some three megabytes each second.
    assert!(sent > 1 << 20, "{sent} bytes through port {}: {:?}", watched.port, readings.remarks);
    assert!(readings.warnings.iter().any(|one| one.starts_with("interrupted after")), "{:?}", readings.warnings);
    watched.place.assert_over();
}

#[test]
fn a_window_without_sockets_is_cut_at_once_and_one_that_is_too_short_gives_no_answer() {
    let mut watched = Watched::start(false);
    watched.has_read(4);
    kill("INT", watched.child.id());
    assert_eq!(watched.code(), Some(130), "{}", watched.reported());
    assert!(!watched.reported().contains("what sockets did"), "{}", watched.reported());
    let mut short = Watched::start(true);
    short.has_read(1);
    kill("INT", short.child.id());
    assert_eq!(short.code(), Some(130), "{}", short.reported());
    assert!(short.reported().contains("and 4 are needed") && !short.readings().exists(), "{}", short.reported());
}

#[test]
fn a_second_signal_ends_it_at_once_whatever_its_agent_does() {
    let mut watched = Watched::start(true);
    watched.has_read(5);
    let agents = agents(&watched.place);
    agents.iter().for_each(|agent| kill("STOP", *agent));
    kill("INT", watched.child.id());
    eventually("the first signal is told", || watched.reported().contains("a second Ctrl-C ends at once"));
    let since = Instant::now();
    kill("INT", watched.child.id());
    let (code, took) = (watched.code(), since.elapsed());
    agents.iter().for_each(|agent| kill("CONT", *agent));
    assert_eq!(code, Some(130), "{}", watched.reported());
    assert!(took < bound(Duration::from_millis(1_500)), "{took:?}: {}", watched.reported());
    assert!(watched.reported().contains("interrupted again") && !watched.readings().exists(), "{}", watched.reported());
    watched.place.assert_over();
}
