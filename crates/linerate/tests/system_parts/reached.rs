//! Nodes that are reached by a real sshd and OpenSSH, each of its failures, and nodes in namespaces.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use linerate_record::fleet::{FleetCheck, FleetRow};
use tempfile::{TempDir, tempdir};

use super::{cut_off, logins, many_clients};
use crate::running::{linerate, shown};

/// What nodes that are reached by SSH need.
const SSH: &[&str] = &["root", "sshd", "ssh", "ssh-keygen", "mount"];

/// What a cluster of network namespaces needs.
const CLUSTER: &[&str] = &["MinIO", "root", "ip", "tc", "unshare", "nsenter", "curl"];

type Check = fn() -> Result<(), Failed>;

/// Names of the checks, what each needs, and the checks.
pub(crate) const CHECKS: [(&str, &[&str], Check); 7] = [
    ("fleet_by_ssh_the_program_is_put_there_verified_and_removed", SSH, by_ssh),
    ("fleet_by_ssh_each_failure_is_its_own_and_in_time", SSH, failures_of_ssh),
    ("fleet_by_ssh_what_is_dropped_in_a_burst_is_begun_again", SSH, bursts_of_ssh),
    ("fleet_by_ssh_shells_sudo_and_noexec_homes_are_reached_or_told", logins::NEEDS, logins::reached_or_reported),
    ("fleet_by_ssh_a_client_that_is_cut_off_ends_and_leaves_nothing", cut_off::NEEDS, cut_off::ends),
    ("fleet_of_many_clients_loads_as_one_and_as_planned", CLUSTER, many_clients::as_one),
    ("fleet_in_namespaces_by_name_and_by_process", &["root", "ip", "unshare", "mount"], in_namespaces),
];

/// A server with a configuration of its own; it ends with the value.
pub(super) struct Sshd {
    child: Child,
    pub(super) port: u16,
}

impl Sshd {
    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it listens, in whatever network it is.
    fn is_up(&self) -> bool {
        let listens = format!(":{:04X} 00000000:0000 0A", self.port);
        fs::read_to_string(format!("/proc/{}/net/tcp", self.pid())).is_ok_and(|sockets| sockets.contains(&listens))
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A file system of one MiB, or one that runs no programs; gone with the value.
struct Mounted(PathBuf);

impl Mounted {
    fn make(path: &Path, options: &str) -> Mounted {
        fs::create_dir_all(path).expect("a folder");
        run(Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(path));
        Mounted(path.to_owned())
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

fn run(command: &mut Command) {
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{command:?}: {}", shown(&output));
}

/// Keys, a configuration of the client, and servers.
pub(super) struct Place {
    folder: TempDir,
    pub(super) servers: Vec<Sshd>,
    nodes: String,
}

impl Place {
    pub(super) fn make() -> Place {
        let place = Place { folder: tempdir().expect("a folder"), servers: Vec::new(), nodes: "nodes:\n".to_owned() };
        for key in ["host", "client", "other"] {
            run(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(place.path(key)));
        }
        let (key, known) = (place.path("client"), place.path("known"));
        let config = format!(
            "Host *\n  IdentityFile {}\n  IdentitiesOnly yes\n  UserKnownHostsFile {}\n  \
             GlobalKnownHostsFile /dev/null\n",
            key.display(),
            known.display()
        );
        fs::write(place.path("config"), config).expect("written");
        place.program("bin/ssh", &format!("exec /usr/bin/ssh -F {} \"$@\"", place.path("config").display()));
        // Where the machine has started no sshd, its folder is missing.
        fs::create_dir_all("/run/sshd").expect("the folder of sshd");
        place
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn program(&self, name: &str, script: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    }

    /// A server with these lines beside what each needs, and a node that is reached by it. `key` is the host key that
    /// is known of it.
    fn serve(&mut self, name: &str, lines: &str, key: Option<&str>) {
        // The first of a setting holds.
        let lines = format!(
            "{lines}\nAuthorizedKeysFile {}\nSetEnv XDG_CACHE_HOME={}\n",
            self.path("client.pub").display(),
            self.path(&format!("cache-{name}")).display()
        );
        let port = self.serve_at(name, "127.0.0.1", &lines, Command::new("/usr/sbin/sshd"), key);
        self.node(name, &format!("ssh://root@127.0.0.1:{port}"));
    }

    /// A server at an address of its network, which `sshd` begins; its port.
    pub(super) fn serve_at(
        &mut self,
        name: &str,
        address: &str,
        lines: &str,
        mut sshd: Command,
        key: Option<&str>,
    ) -> u16 {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
        let of_all = format!(
            "Port {port}\nListenAddress {address}\nHostKey {}\nPidFile none\nStrictModes no\nUsePAM no\n\
             PermitRootLogin yes\nKbdInteractiveAuthentication no\n",
            self.path("host").display()
        );
        let config = self.path(&format!("sshd-{name}"));
        fs::write(&config, format!("{of_all}{lines}\nPasswordAuthentication no\n")).expect("written");
        sshd.arg("-D").arg("-f").arg(&config).arg("-E").arg(self.path(&format!("log-{name}")));
        let child = sshd.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("sshd starts");
        self.servers.push(Sshd { child, port });
        if let Some(key) = key {
            let key = fs::read_to_string(self.path(&format!("{key}.pub"))).expect("a key");
            let known = fs::read_to_string(self.path("known")).unwrap_or_default();
            let line = format!("{known}[{address}]:{port} {key}");
            fs::write(self.path("known"), line).expect("written");
        }
        port
    }

    fn node(&mut self, name: &str, reach: &str) {
        self.node_with(name, reach, "");
    }

    /// A node with further keys.
    pub(super) fn node_with(&mut self, name: &str, reach: &str, keys: &str) {
        self.nodes.push_str(&format!("  - {{name: {name}, role: client, reach: '{reach}'{keys}}}\n"));
    }

    /// The variable with this place's ssh before the machine's.
    pub(super) fn search_path(&self) -> String {
        format!("{}:{}", self.path("bin").display(), std::env::var("PATH").expect("a path"))
    }

    /// The fleet file, once all servers are up.
    pub(super) fn fleet(&self) -> PathBuf {
        let until = Instant::now() + Duration::from_secs(5);
        while !self.servers.iter().all(Sshd::is_up) {
            assert!(Instant::now() < until, "sshd does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        let fleet = self.path("fleet.yaml");
        fs::write(&fleet, &self.nodes).expect("written");
        fleet
    }

    fn linerate(&self, args: &[&str]) -> Command {
        let mut command = linerate();
        command.env("PATH", self.search_path()).args(args).arg("--fleet").arg(self.fleet());
        command
    }

    fn checked(&self) -> Vec<FleetRow> {
        self.checked_with(&[])
    }

    pub(super) fn checked_with(&self, flags: &[&str]) -> Vec<FleetRow> {
        let output = self.linerate(&["fleet", "check", "--json"]).args(flags).output().expect("linerate runs");
        let check: Result<FleetCheck, _> = serde_json::from_slice(&output.stdout);
        check.unwrap_or_else(|error| panic!("{error}: {}", shown(&output))).nodes
    }

    /// Files in the cache of a node.
    fn cached(&self, name: &str) -> Vec<PathBuf> {
        let folder = self.path(&format!("cache-{name}")).join("linerate/agents");
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    }
}

fn by_ssh() -> Result<(), Failed> {
    let mut place = Place::make();
    place.serve("good", "", Some("host"));
    for _ in 0..2 {
        let rows = place.checked();
        assert!(rows[0].reached.is_some(), "{rows:?}");
        assert_eq!(place.cached("good").len(), 1);
    }
    // What is in the cache and is not this program is not run, whatever its name says.
    let [cached] = &place.cached("good")[..] else { panic!("one file") };
    let mark = place.path("mark");
    fs::write(cached, format!("#!/bin/sh\ntouch {}\n", mark.display())).expect("it is ours");
    assert!(place.checked()[0].reached.is_some());
    assert!(!mark.exists() && fs::metadata(cached).expect("a file").len() > 1_000_000);
    let output = place.linerate(&["fleet", "clean"]).output().expect("linerate runs");
    assert!(output.status.success() && shown(&output).contains("1 of 1 nodes"), "{}", shown(&output));
    assert!(place.cached("good").is_empty());
    of_another_architecture();
    Ok(())
}

/// Where `uname` names another architecture, the program that is given for it is put there, if it can be one of it.
fn of_another_architecture() {
    let mut place = Place::make();
    for machine in ["mips64", "aarch64"] {
        place.program(&format!("{machine}/uname"), &format!("echo {machine}"));
        // One line: the first SetEnv holds.
        let cache = place.path(&format!("cache-{machine}"));
        let path = place.path(machine);
        let lines = format!("SetEnv PATH={}:/usr/bin:/bin XDG_CACHE_HOME={}", path.display(), cache.display());
        place.serve(machine, &lines, Some("host"));
    }
    let own = env!("CARGO_BIN_EXE_linerate");
    let rows = place.checked_with(&["--binary", &format!("mips64={own}")]);
    assert!(rows[0].reached.is_some() && place.cached("mips64").len() == 1, "{rows:?}");
    let fault = rows[1].unreached.as_ref().expect("there is no program for it");
    let (ours, remedy) = (std::env::consts::ARCH, "--binary aarch64=PATH, such as dist/linerate-arm64 of make dist");
    assert_eq!(fault.why, format!("its architecture is aarch64, and this linerate is for {ours} and mips64"));
    assert!(fault.remedy.contains(remedy), "{fault:?}");
    assert!(place.cached("aarch64").is_empty());
    let mut wrong = place.linerate(&["fleet", "check", "--binary", &format!("riscv64={own}")]);
    let output = wrong.output().expect("linerate runs");
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(shown(&output).contains(&format!("it is a program for {ours}")), "{}", shown(&output));
}

fn failures_of_ssh() -> Result<(), Failed> {
    let mut place = Place::make();
    place.program("elsewhere/uname", "echo riscv64");
    let path = format!("SetEnv PATH={}:/usr/bin:/bin", place.path("elsewhere").display());
    let (full, noexec) = (place.path("cache-full"), place.path("cache-noexec"));
    let _mounted = [Mounted::make(&full, "size=1m"), Mounted::make(&noexec, "size=1g,noexec")];
    let banner = "ForceCommand yes Welcome to node07";
    let wants_password = "AuthorizedKeysFile none\nPasswordAuthentication yes";
    let servers = [
        ("unknown", "", None, "its host key is not known"),
        ("changed", "", Some("other"), "its host key differs from the known one"),
        ("refused", "AuthorizedKeysFile none", Some("host"), "it refused the keys of this user"),
        ("password", wants_password, Some("host"), "it asks for a password"),
        ("banner", banner, Some("host"), "it wrote \"Welcome to node07\""),
        ("full", "", Some("host"), "its disk is full"),
        ("noexec", "", Some("host"), "it is mounted noexec"),
        ("other", path.as_str(), Some("host"), "its architecture is riscv64"),
    ];
    for (name, lines, key, _) in servers {
        place.serve(name, lines, key);
    }
    // It takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let silent_port = silent.local_addr().expect("an address").port();
    place.node("silent", &format!("ssh://127.0.0.1:{silent_port}"));
    place.node("closed", "ssh://127.0.0.1:1");
    let begun = Instant::now();
    let rows = place.checked();
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    let others = [("silent", "it did not answer in time"), ("closed", "nothing listens there")];
    let expected = servers.iter().map(|(name, .., part)| (*name, *part)).chain(others);
    for ((name, part), row) in expected.zip(&rows) {
        let fault = row.unreached.as_ref().unwrap_or_else(|| panic!("{name}: {row:?}"));
        assert!(fault.why.contains(part) && !fault.remedy.is_empty(), "{name}: {fault:?}");
    }
    assert!(place.cached("full").is_empty(), "{:?}", place.cached("full"));
    Ok(())
}

fn bursts_of_ssh() -> Result<(), Failed> {
    let mut place = Place::make();
    place.serve("one", "MaxStartups 1:100:1", Some("host"));
    let port = place.servers[0].port;
    for n in 2..=4 {
        place.node(&format!("n{n}"), &format!("ssh://root@127.0.0.1:{port}"));
    }
    let rows = place.checked();
    assert!(rows.iter().all(|row| row.reached.is_some()), "{rows:#?}");
    let log = fs::read_to_string(place.path("log-one")).expect("a log");
    assert!(log.contains("MaxStartups"), "no connection was dropped, so that nothing is shown: {log}");
    Ok(())
}

/// A process in namespaces of its own; gone with the value.
struct Unshared(Child);

impl Drop for Unshared {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A network namespace with a name; gone with the value.
struct Named<'n>(&'n str);

impl Named<'_> {
    fn make(name: &str) -> Named<'_> {
        run(Command::new("ip").args(["netns", "add", name]));
        Named(name)
    }
}

impl Drop for Named<'_> {
    fn drop(&mut self) {
        let _ = Command::new("ip").args(["netns", "delete", self.0]).status();
    }
}

fn in_namespaces() -> Result<(), Failed> {
    let name = format!("lrf{}", std::process::id() % 100_000);
    let space = Named::make(&name);
    let link = |space: &[&str], link: &str| {
        let peer = ["link", "add", link, "mtu", "4321", "type", "veth", "peer", "name", "peer"];
        run(Command::new("ip").args(space).args(peer));
        // One end has a carrier once both are up.
        for end in ["peer", link] {
            run(Command::new("ip").args(space).args(["link", "set", end, "up"]));
        }
    };
    link(&["-n", &name], "lrnamed");
    let script = "mount -t sysfs sysfs /sys && ip link add lrpid mtu 1234 type veth peer name peer && \
                  ip link set peer up && ip link set lrpid up && echo up && exec sleep 60";
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "sh", "-c", script]).stdout(Stdio::piped());
    let mut unshared = Unshared(command.spawn().expect("unshare runs"));
    let mut line = String::new();
    let out = unshared.0.stdout.take().expect("its output");
    std::io::BufRead::read_line(&mut std::io::BufReader::new(out), &mut line).expect("a line");
    assert_eq!(line, "up\n");
    let mut place = Place::make();
    place.node("named", &format!("netns://{name}"));
    place.node("process", &format!("pid://{}", unshared.0.id()));
    let rows = place.checked();
    drop(space);
    let links = |row: &FleetRow| -> Vec<(String, u32)> {
        let machine = &row.reached.as_ref().unwrap_or_else(|| panic!("{row:?}")).machine;
        let own = machine.nics.iter().filter(|nic| nic.name.starts_with("lr"));
        own.map(|nic| (nic.name.clone(), nic.mtu_bytes)).collect()
    };
    assert_eq!(links(&rows[0]), [("lrnamed".to_owned(), 4321)]);
    assert_eq!(links(&rows[1]), [("lrpid".to_owned(), 1234)]);
    Ok(())
}
