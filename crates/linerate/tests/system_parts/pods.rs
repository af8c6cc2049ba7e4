//! Clients in a real Kubernetes: brought up, reached, restarted under, and gone; and the agent as process 1.

use std::borrow::Cow;
use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use linerate_fleet::attachment::{ATTACH_VERSION, Attach, word};
use linerate_fleet::node_reach::NodeReach;
use linerate_fleet::protocol::{Decoder, FromAgent, PROTOCOL, ToAgent, frame};
use linerate_kube::access::{Access, KubeconfigSource};
use linerate_kube::api_client::SecretRegistry;
use linerate_kube::stream::{PodStream, StreamEnd};
use linerate_record::fleet::FleetCheck;
use rustix::thread::{LinkNameSpaceType, Uid, move_into_link_name_space, set_thread_uid};

use super::kubernetes::{Kubernetes, NEEDS, WITH_MINIO};
use super::pods_load;
use crate::running::{eventually_within, linerate, shown};

type Check = fn() -> Result<(), Failed>;

pub(crate) const CHECKS: [(&str, &[&str], Check); 9] = [
    ("agent_that_listens_serves_no_other_user", &["root"], of_others),
    ("agent_as_process_1_takes_what_ended_processes_leave", &["root", "unshare", "nsenter"], as_process_1),
    (
        "agent_as_process_1_stays_without_capabilities_when_its_time_is_over",
        &["root", "unshare", "nsenter"],
        over_as_process_1,
    ),
    ("pods_are_brought_up_reached_with_the_documented_rights_and_gone", NEEDS, up_and_down),
    ("pods_keep_their_streams_while_the_api_server_is_restarted", NEEDS, restarted),
    ("pods_load_a_minio_as_one_without_one_of_them_and_over_a_restart", WITH_MINIO, pods_load::loads),
    ("pods_that_read_storage_nodes_in_full_are_apart_and_expire", NEEDS, of_storage),
    ("agent_that_does_not_see_the_machine_of_its_pod_changes_nothing", &["root", "unshare", "nsenter"], unseeing),
    ("pods_change_no_node_that_is_a_container_itself", NEEDS, of_containers),
];

/// How long what is of a pod may take on a machine that does something else as well.
pub(super) const LONG_TIMEOUT: Duration = Duration::from_secs(60);

/// linerate in the network of the Kubernetes, as its administrator.
fn inside(kubernetes: &Kubernetes, words: &str) -> Command {
    let mut command = kubernetes.inside(Path::new(linerate().get_program()));
    command.args(words.split_whitespace());
    command
}

fn done(mut command: Command) -> Result<Output, Failed> {
    let output = command.output()?;
    assert!(output.status.success(), "{command:?}: {}", shown(&output));
    Ok(output)
}

const UP: &str = "fleet up --image linerate.local/linerate:test --cpu 100m --memory 64Mi --wait 1m";

/// A fleet that is up, which goes down with the value.
pub(super) struct Fleet<'k> {
    kubernetes: &'k Kubernetes,
    instance: &'static str,
    pub(super) path: PathBuf,
}

impl<'k> Fleet<'k> {
    pub(super) fn up(kubernetes: &'k Kubernetes, instance: &'static str, more: &str) -> Result<Self, Failed> {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{instance}.yaml"));
        let output = done(inside(kubernetes, &format!("{UP} --instance {instance} {more} -o {}", path.display())))?;
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(reported.contains(" ready"), "{reported}");
        Ok(Fleet { kubernetes, instance, path })
    }

    /// What a check says, with this kubeconfig or the administrator's.
    pub(super) fn check(&self, kubeconfig: Option<&Path>) -> Result<FleetCheck, Failed> {
        let mut command = inside(self.kubernetes, "fleet check --json --fleet");
        command.arg(&self.path);
        if let Some(kubeconfig) = kubeconfig {
            command = self.kubernetes.inside(Path::new("env"));
            command.arg(format!("KUBECONFIG={}", kubeconfig.display())).arg(linerate().get_program());
            command.args(["fleet", "check", "--json", "--fleet"]).arg(&self.path);
        }
        let output = command.output()?;
        serde_json::from_slice(&output.stdout).map_err(|error| format!("{error}: {}", shown(&output)).into())
    }

    pub(super) fn pods(&self) -> Vec<String> {
        let path = "jsonpath={range .items[*]}{.metadata.name} {.spec.nodeName}\n{end}";
        let label = format!("app.kubernetes.io/instance={}", self.instance);
        let said = self.kubernetes.kubectl(&["get", "pods", "-A", "--selector", &label, "--output", path]);
        said.lines().map(str::to_owned).collect()
    }

    /// Takes it down, and sees that nothing is left.
    pub(super) fn down(&self) -> Result<(), Failed> {
        done(inside(self.kubernetes, &format!("fleet down --instance {}", self.instance)))?;
        let label = format!("app.kubernetes.io/instance={}", self.instance);
        let kinds = "namespaces,pods,jobs,daemonsets,roles,rolebindings,serviceaccounts";
        let left = self.kubernetes.kubectl(&["get", kinds, "-A", "--selector", &label, "--output", "name"]);
        assert_eq!(left, "", "nothing carries its label");
        Ok(())
    }
}

impl Drop for Fleet<'_> {
    fn drop(&mut self) {
        // However its test ends: it is gone already where that ended well.
        let _ = inside(self.kubernetes, &format!("fleet down --instance {}", self.instance)).output();
    }
}

/// A kubeconfig of the coordinator's service account.
fn of_coordinator(kubernetes: &Kubernetes, instance: &str) -> Result<PathBuf, Failed> {
    let account = format!("linerate-{instance}-coordinator");
    let token = kubernetes.kubectl(&["create", "token", "--namespace", "linerate", &account]);
    let own = kubernetes.kubectl(&["config", "view", "--raw", "--output", "json"]);
    let mut config: serde_json::Value = serde_json::from_str(&own)?;
    config["users"][0]["user"] = serde_json::json!({"token": token.trim()});
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{instance}.kubeconfig"));
    fs::write(&path, config.to_string())?;
    Ok(path)
}

pub(super) fn reached(found: &FleetCheck) -> usize {
    found.nodes.iter().filter(|node| node.reached.is_some()).count()
}

fn up_and_down() -> Result<(), Failed> {
    Kubernetes::shared(|kubernetes| {
        kubernetes.create(r#"{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "linerate"}}"#);
        let fleet = Fleet::up(kubernetes, "one", "--clients 3")?;
        let pods = fleet.pods();
        let on = |node: &str| pods.iter().filter(|pod| pod.ends_with(node)).count();
        assert!(on("n1") >= 1 && on("n2") >= 1 && pods.len() == 3, "{pods:?}");
        assert_eq!(reached(&fleet.check(None)?), 3);
        // The rights that the documents name are enough, and are of this namespace.
        let coordinator = of_coordinator(kubernetes, "one")?;
        assert_eq!(reached(&fleet.check(Some(&coordinator))?), 3);
        let can = |verb: &str, resource: &str, namespace: &str| {
            let account = "system:serviceaccount:linerate:linerate-one-coordinator";
            let mut command = kubernetes.inside(Path::new("kubectl"));
            let (resource, part) = resource.split_once('/').unwrap_or((resource, ""));
            let part = format!("--subresource={part}");
            command.args(["auth", "can-i", verb, resource, &part, "--namespace", namespace, "--as", account]);
            command.output().is_ok_and(|output| output.status.success())
        };
        for (verb, resource, namespace, is_allowed) in [
            ("get", "pods/exec", "linerate", true),
            ("create", "pods/exec", "linerate", true),
            ("list", "pods", "linerate", true),
            ("get", "pods", "linerate", false),
            ("delete", "pods", "linerate", false),
            ("list", "secrets", "linerate", false),
            ("create", "pods/exec", "default", false),
        ] {
            assert_eq!(can(verb, resource, namespace), is_allowed, "{verb} {resource} in {namespace}");
        }
        // A client that was deleted is another pod of the same number.
        let pod = pods[0].split(' ').next().expect("a name").to_owned();
        kubernetes.kubectl(&["delete", "pod", "--namespace", "linerate", &pod]);
        eventually_within(LONG_TIMEOUT, "the client that was deleted to be there again", || {
            thread::sleep(Duration::from_secs(1));
            fleet.check(None).is_ok_and(|found| reached(&found) == 3)
        });
        fleet.down()?;
        // The namespace was there before.
        kubernetes.kubectl(&["get", "namespace", "linerate"]);
        kubernetes.kubectl(&["delete", "namespace", "linerate"]);
        Ok(())
    })
}

/// Keeps no secrets: nothing is printed of this test's answers.
struct NoSecrets;

impl SecretRegistry for NoSecrets {
    fn remember(&self, _: &str) {}

    fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        Cow::Borrowed(text)
    }
}

/// A stream to a pod, from the network of the Kubernetes: threads that this one begins are in it too.
fn stream(kubernetes: &Kubernetes, pod: &str) -> Result<PodStream, Failed> {
    let folder = kubernetes.kubeconfig();
    let first = fs::read_to_string(folder.with_file_name("first"))?;
    let process = first.split(' ').next().unwrap_or_default();
    let network = File::open(format!("/proc/{process}/ns/net"))?;
    move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
    let source = KubeconfigSource::Files { paths: vec![folder] };
    let cluster =
        Access::find(&source, None, |path, _| fs::read(path)).and_then(|access| access.connect(Arc::new(NoSecrets)));
    let cluster = cluster.map_err(|fault| fault.to_string())?;
    let Ok(NodeReach::Kube(place)) = format!("kube://linerate/{pod}").parse() else { panic!("a place") };
    Ok(PodStream::start(&cluster, &place, "a token".to_owned())?)
}

/// Asks an agent for the time, five times a second, until so many answers came; whether the stream broke meanwhile.
fn requested(stream: &mut PodStream, until: u64, within: Duration) -> bool {
    let greeting = ToAgent::Hello { protocol: PROTOCOL, token: "t".to_owned(), lease_ms: None };
    stream.socket.write_all(&frame(&greeting).expect("short")).expect("said");
    let (mut decoder, mut bytes) = (Decoder::default(), vec![0; 64 << 10]);
    let (begun, mut requested, mut answered, mut was_mending) = (Instant::now(), 0, 0, false);
    while answered < until {
        assert!(begun.elapsed() < within, "{answered} of {requested} answered: {:?}", stream.end());
        was_mending |= stream.is_mending();
        if begun.elapsed() > Duration::from_millis(200 * requested) {
            requested += 1;
            let question = frame(&ToAgent::Exchange { number: requested }).expect("short");
            stream.socket.write_all(&question).expect("said");
        }
        match stream.socket.read(&mut bytes) {
            Ok(0) => panic!("it ended: {:?} {}", stream.end(), stream.errors()),
            Ok(count) => decoder.take(&bytes[..count]),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                thread::sleep(Duration::from_millis(5));
            }
        }
        while let Some(message) = decoder.message().expect("a message") {
            if let FromAgent::Exchange { number, .. } = message {
                assert_eq!(number, answered + 1, "each answer once and in order");
                answered = number;
            }
        }
    }
    was_mending
}

fn restarted() -> Result<(), Failed> {
    Kubernetes::shared(|kubernetes| {
        let fleet = Fleet::up(kubernetes, "two", "--clients 1 --lease 60s")?;
        let pods = fleet.pods();
        let pod = pods[0].split(' ').next().expect("a name");
        thread::scope(|scope| {
            let held = scope.spawn(|| -> Result<(), Failed> {
                let mut stream = stream(kubernetes, pod)?;
                assert!(requested(&mut stream, 100, Duration::from_secs(120)), "the stream broke and came back");
                stream.socket.write_all(&frame(&ToAgent::End).expect("short"))?;
                eventually_within(Duration::from_secs(5), "the end", || stream.end() == Some(StreamEnd::Exited(0)));
                Ok(())
            });
            thread::sleep(Duration::from_secs(4));
            kubernetes.act(&["restart-api", "5"]);
            held.join().expect("it ends")
        })?;
        fleet.down()
    })
}

fn of_storage() -> Result<(), Failed> {
    Kubernetes::shared(|kubernetes| {
        kubernetes.kubectl(&["label", "node", "n1", "store=yes", "--overwrite"]);
        let fleet = Fleet::up(kubernetes, "three", "--clients 1 --storage --storage-label store=yes --deadline 1m")?;
        let begun = Instant::now();
        let found = fleet.check(None)?;
        assert_eq!(reached(&found), 2, "{found:?}");
        let storage = found.nodes.iter().find(|node| node.name == "n1").expect("named after its node");
        assert!(storage.reached.as_ref().is_some_and(|reached| reached.is_root), "{storage:?}");
        let pods = fleet.pods();
        let client = pods.iter().find(|pod| !pod.contains("-storage-")).expect("a client");
        assert!(client.ends_with(" n2"), "no client on a storage node: {pods:?}");
        // From its instant on nothing privileged is there, though nobody took it down.
        let left = || {
            let kinds = "jobs,daemonsets,pods,roles,rolebindings,serviceaccounts";
            let label = ["--selector", "app.kubernetes.io/instance=three", "--output", "name"];
            kubernetes.kubectl(&[&["get", kinds, "--namespace", "linerate-storage"][..], &label].concat())
        };
        assert!(left().contains("daemonset.apps/linerate-three-storage"), "{}", left());
        eventually_within(Duration::from_secs(100), "the end of what is privileged", || {
            thread::sleep(Duration::from_secs(1));
            left().is_empty()
        });
        println!("gone {} s after fleet up, by a deadline of 60 s", begun.elapsed().as_secs());
        assert!(begun.elapsed() > Duration::from_secs(50), "not before its time");
        fleet.down()?;
        kubernetes.kubectl(&["label", "node", "n1", "store-"]);
        Ok(())
    })
}

/// Nodes here are in PID namespaces of their own: what is started there would end with them, however privileged a pod
/// is. Each says so, and nothing is on them.
fn of_containers() -> Result<(), Failed> {
    Kubernetes::shared(|kubernetes| {
        kubernetes.kubectl(&["label", "node", "n1", "change=yes", "--overwrite"]);
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("four.yaml");
        let up = "fleet up --image linerate.local/linerate:test --wait 1m --instance four --change --storage-label";
        let output = done(inside(kubernetes, &format!("{up} change=yes -o {}", path.display())))?;
        let fleet = Fleet { kubernetes, instance: "four", path };
        assert!(shown(&output).contains("1 of 1 storage nodes ready"), "{}", shown(&output));
        let text = fs::read_to_string(&fleet.path)?;
        assert!(text.contains(",spec.nodeName=n1'"), "{text}");
        let output = inside(kubernetes, &format!("tune status --fleet {}", fleet.path.display())).output()?;
        let said = shown(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains("a node that is a container itself") && said.contains("ssh://"), "{said}");
        // Another pod of the same node is found by the same file.
        let before = fleet.pods();
        kubernetes.kubectl(&["delete", "pod", "--all", "--namespace", "linerate-change"]);
        eventually_within(LONG_TIMEOUT, "the next pod", || {
            thread::sleep(Duration::from_secs(1));
            let unreached = fleet.check(None).ok().and_then(|found| found.nodes[0].unreached.clone());
            unreached.is_some_and(|unreached| unreached.why.contains("hostPID")) && fleet.pods() != before
        });
        fleet.down()?;
        kubernetes.kubectl(&["label", "node", "n1", "change-"]);
        Ok(())
    })
}

/// What an agent answers to a stream of a user: nothing, where it is not theirs.
fn answered(socket: &Path, user: u32) -> Result<Vec<u8>, Failed> {
    let socket = socket.to_owned();
    let answer = thread::spawn(move || -> Result<Vec<u8>, Failed> {
        // Of this thread alone.
        set_thread_uid(Uid::from_raw(user))?;
        let mut stream = UnixStream::connect(&socket)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        let requested = Attach { attach: ATTACH_VERSION, token: "t".to_owned(), is_again: false, taken: 0 };
        // It may be closed already.
        let _ = stream.write_all(&word(&requested));
        let mut bytes = vec![0; 4096];
        let count = match stream.read(&mut bytes) {
            Err(error) if error.kind() == ErrorKind::ConnectionReset => 0,
            read => read?,
        };
        bytes.truncate(count);
        Ok(bytes)
    });
    answer.join().expect("it ends")
}

fn of_others() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("run/agent.sock");
    let mut command = linerate();
    command.args(["agent", "--listen"]).arg(&socket).stdin(Stdio::null()).stderr(Stdio::null());
    let _agent = Outer(command.spawn()?);
    eventually_within(LONG_TIMEOUT, "the agent to listen", || socket.exists());
    // Somebody opened what is kept closed.
    for (path, mode) in [(folder.path(), 0o755), (&folder.path().join("run"), 0o755), (&socket, 0o666)] {
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    assert_eq!(answered(&socket, 65_534)?, Vec::<u8>::new());
    assert!(!answered(&socket, 0)?.is_empty(), "root's is answered");
    Ok(())
}

/// Processes whose parent this is.
fn children(process: u32) -> Vec<String> {
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).unwrap_or_default();
    children.split_whitespace().map(str::to_owned).collect()
}

/// A process that ends with the value, and by `unshare --kill-child` all that is in its namespace.
struct Outer(Child);

impl Drop for Outer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An agent as process 1 of a namespace.
fn first_of_all(socket: &Path, more: &[&str]) -> Result<Outer, Failed> {
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--kill-child", "--mount-proc"]).arg(linerate().get_program());
    command.args(["agent", "--listen"]).arg(socket).args(more).stdin(Stdio::null()).stderr(Stdio::null());
    Ok(Outer(command.spawn()?))
}

fn ends_on_a_signal(outer: &mut Outer, first: u32) -> Result<(), Failed> {
    let first = rustix::process::Pid::from_raw(i32::try_from(first)?).expect("not 0");
    rustix::process::kill_process(first, rustix::process::Signal::TERM)?;
    assert_eq!(outer.0.wait()?.code(), Some(130), "the code of the agent");
    Ok(())
}

/// The capabilities that a process may use, as the kernel tells them.
fn capabilities(process: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let lines = status.lines().filter_map(|line| line.strip_prefix("CapPrm:").or(line.strip_prefix("CapEff:")));
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

fn over_as_process_1() -> Result<(), Failed> {
    const NONE: &str = "0000000000000000 0000000000000000";
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("run/agent.sock");
    let until = (jiff::Timestamp::now() + jiff::SignedDuration::from_secs(2)).to_string();
    for was_there in [true, false] {
        let mut outer = first_of_all(&socket, &["--until", &until])?;
        if was_there {
            eventually_within(LONG_TIMEOUT, "the agent to listen", || socket.exists());
        }
        eventually_within(LONG_TIMEOUT, "process 1", || !children(outer.0.id()).is_empty());
        let first: u32 = children(outer.0.id())[0].parse()?;
        assert!(!was_there || capabilities(first) != NONE, "{}", capabilities(first));
        eventually_within(LONG_TIMEOUT, "the end of its time", || capabilities(first) == NONE);
        assert!(children(first).is_empty() && !socket.exists(), "nobody is served");
        assert!(outer.0.try_wait()?.is_none(), "it stays");
        ends_on_a_signal(&mut outer, first)?;
    }
    Ok(())
}

fn unseeing() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("run/agent.sock");
    let _outer = first_of_all(&socket, &["--allow", "change", "--on-host"])?;
    eventually_within(LONG_TIMEOUT, "the agent to listen", || socket.exists());
    let said = String::from_utf8_lossy(&answered(&socket, 0)?).into_owned();
    assert!(said.contains("unfit") && said.contains("hostPID: true"), "{said}");
    Ok(())
}

fn as_process_1() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let socket = folder.path().join("run/agent.sock");
    let mut outer = first_of_all(&socket, &[])?;
    eventually_within(LONG_TIMEOUT, "the agent to listen", || socket.exists());
    let first: u32 = children(outer.0.id())[0].parse()?;
    assert_eq!(children(first).len(), 1, "process 1 and the agent");
    for _ in 0..5 {
        let mut orphans = Command::new("nsenter");
        orphans.args(["--target", &first.to_string(), "--pid", "sh", "-c", "(sleep 0.3 &) ; (sleep 0.3 &)"]);
        assert!(orphans.stdin(Stdio::null()).status()?.success());
    }
    assert!(children(first).len() > 1, "orphans are its children");
    eventually_within(LONG_TIMEOUT, "nothing to be left of ended processes", || children(first).len() == 1);
    ends_on_a_signal(&mut outer, first)?;
    assert!(!socket.exists());
    Ok(())
}
