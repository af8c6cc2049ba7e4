//! Two network namespaces with a link between them: a server's and a client's.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use super::wrapped;
use crate::running::{bench_command, linerate, shown};

/// The namespaces and the link; gone with the value.
pub(crate) struct Namespaces {
    server: String,
    client: String,
    pub(crate) server_address: String,
    /// Name of the client's end of the link.
    pub(crate) client_link: String,
}

impl Namespaces {
    /// Makes both, joined by a veth pair; `rate_bits_per_s` shapes both directions.
    pub(crate) fn make(rate_bits_per_s: Option<u64>) -> Self {
        let tag = std::process::id() % 10_000 * 10 + u32::from(rate_bits_per_s.is_some());
        let spaces = Namespaces {
            server: format!("lrs{tag}"),
            client: format!("lrc{tag}"),
            server_address: "10.231.77.1".into(),
            client_link: format!("lrc{tag}"),
        };
        let (server, client) = (&spaces.server, &spaces.client);
        ip(&format!("netns add {server}"));
        ip(&format!("netns add {client}"));
        ip(&format!("-n {server} link add {server} type veth peer name {client} netns {client}"));
        for (space, address) in [(server, "10.231.77.1/30"), (client, "10.231.77.2/30")] {
            ip(&format!("-n {space} address add {address} dev {space}"));
            ip(&format!("-n {space} link set {space} up"));
            ip(&format!("-n {space} link set lo up"));
            if let Some(rate) = rate_bits_per_s {
                let shape = format!("qdisc add dev {space} root tbf rate {rate}bit burst 64kb latency 50ms");
                run(Command::new("tc").args(["-n", space]).args(shape.split(' ')));
            }
        }
        spaces
    }

    /// A command in the server's namespace; the program comes next.
    pub(crate) fn in_server(&self) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.server]);
        command
    }

    /// A command in the client's namespace; the program comes next.
    pub(crate) fn in_client(&self) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.client]).stdin(Stdio::null());
        command
    }

    /// Runs a bench in the client's namespace.
    pub(crate) fn bench(&self, folder: &Path, flags: &str, keys: &[(&str, String)]) -> Output {
        wrapped(self.in_client(), &bench_command(folder, flags, keys)).output().expect("ip runs")
    }

    /// The same on a pseudo-terminal, on which `answer` is typed.
    pub(crate) fn bench_on_terminal(&self, folder: &Path, flags: &str, answer: &str) -> Output {
        let inner = bench_command(folder, flags, &[]);
        let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_string_lossy());
        let words: Vec<String> = std::iter::once(inner.get_program()).chain(inner.get_args()).map(quoted).collect();
        let line = format!("ip netns exec {} {}", self.client, words.join(" "));
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("script runs");
        let mut keyboard = child.stdin.take().expect("piped");
        writeln!(keyboard, "{answer}").expect("it reads");
        // The keyboard stays until the end: its end would be typed as the end of input.
        let output = child.wait_with_output().expect("it ends");
        drop(keyboard);
        output
    }

    /// Sets a sysctl in the server's namespace.
    pub(crate) fn set(&self, name: &str, value: &str) {
        run(self.in_server().args(["sysctl", "-q", "-w", &format!("{name}={value}")]));
    }

    /// Sets a sysctl in the client's namespace.
    pub(crate) fn set_in_client(&self, name: &str, value: &str) {
        run(self.in_client().args(["sysctl", "-q", "-w", &format!("{name}={value}")]));
    }

    /// Name of the server's namespace.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// The null target in the server's namespace.
    pub(crate) fn null_target(&self) -> Null {
        let mut command = self.in_server();
        command.arg(linerate().get_program()).args(["target", "null", "--listen"]);
        command.arg(format!("{}:9001", self.server_address)).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("ip runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
        let address = line.trim().strip_prefix("listening ").expect("it says where").to_owned();
        Null { child, address }
    }
}

/// A null target in a namespace.
pub(crate) struct Null {
    child: Child,
    pub(crate) address: String,
}

impl Null {
    /// Its process: `ip netns exec` becomes the program.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Null {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn ip(arguments: &str) {
    run(Command::new("ip").args(arguments.split(' ')));
}

fn run(command: &mut Command) {
    let output = command.output().expect("iproute2 runs");
    assert!(output.status.success(), "{command:?}: {}", shown(&output));
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for space in [&self.server, &self.client] {
            let _ = Command::new("ip").args(["netns", "del", space]).status();
        }
    }
}
