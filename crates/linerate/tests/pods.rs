//! Nodes in pods, through the binary: a server that speaks exec runs real agents, and breaks their streams.

#![cfg(feature = "kube")]

#[expect(dead_code, reason = "what misbehaves is of the tests of the room")]
#[path = "../../kube/tests/server/mod.rs"]
mod server;

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use linerate_record::fleet::FleetCheck;
use tempfile::TempDir;

use self::server::{Call, Server};
use crate::running::{linerate, shown};

/// A container with an agent.
struct Container {
    folder: TempDir,
    agent: Child,
}

impl Container {
    fn start() -> Container {
        let folder = tempfile::tempdir().expect("a folder");
        let mut command = linerate();
        command.args(["agent", "--lease", "10s", "--listen"]).arg(folder.path().join("run/agent.sock"));
        let agent = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn().expect("it runs");
        Container { folder, agent }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("run/agent.sock")
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = self.agent.kill();
        let _ = self.agent.wait();
    }
}

/// Runs `linerate agent attach` as an exec does, until so many bytes came of it.
fn exec(call: Call, socket: &Path, most: usize) {
    let mut exec = call.exec("v5.channel.k8s.io");
    let mut command = linerate();
    command.args(["agent", "attach", "--socket"]).arg(socket);
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs");
    let (mut input, mut output) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
    let (tell, came) = std::sync::mpsc::channel();
    thread::spawn(move || {
        let mut bytes = vec![0; 4096];
        while let Ok(count @ 1..) = output.read(&mut bytes) {
            if tell.send(bytes[..count].to_vec()).is_err() {
                return;
            }
        }
    });
    let mut moved = 0;
    while !exec.is_over && moved < most {
        let said = exec.received();
        if !said.is_empty() && input.write_all(&said).is_err() {
            break;
        }
        while let Ok(bytes) = came.try_recv() {
            moved += bytes.len();
            exec.send(1, &bytes);
        }
        if let Ok(Some(status)) = child.try_wait() {
            came.iter().for_each(|bytes| exec.send(1, &bytes));
            return exec.ended(status.code().unwrap_or(137));
        }
    }
    let _ = child.kill();
    let _ = child.wait();
}

fn checked(kubeconfig: &Path, nodes: &str, more: &[&str]) -> (Option<FleetCheck>, Output) {
    let fleet = kubeconfig.with_file_name("fleet.yaml");
    fs::write(&fleet, format!("nodes: [{nodes}]\n")).expect("written");
    let mut command = linerate();
    command.args(["fleet", "check", "--json", "--fleet"]).arg(&fleet).args(more).env("KUBECONFIG", kubeconfig);
    let output = command.output().expect("linerate runs");
    (serde_json::from_slice(&output.stdout).ok(), output)
}

#[test]
fn pods_are_reached_like_any_node_and_over_streams_that_break() {
    for most in [usize::MAX, 700] {
        let (container, execs) = (Container::start(), Arc::new(AtomicU32::new(0)));
        let (socket, counted) = (container.socket(), Arc::clone(&execs));
        let server = Server::start(move |call| {
            // Breaks only the first: what is short would otherwise never be whole.
            let number = counted.fetch_add(1, Ordering::Relaxed);
            exec(call, &socket, if number == 0 { most } else { usize::MAX });
        });
        let (found, output) =
            checked(&server.kubeconfig("{token: t}"), "{name: a, role: client, reach: 'kube://ns/pod'}", &[]);
        let found = found.unwrap_or_else(|| panic!("{}", shown(&output)));
        let reached = found.nodes[0].reached.as_ref().unwrap_or_else(|| panic!("{found:?}"));
        assert_eq!(reached.linerate, env!("CARGO_PKG_VERSION"));
        assert!(output.status.success(), "{}", shown(&output));
        assert_eq!(execs.load(Ordering::Relaxed), if most == 700 { 2 } else { 1 });
    }
}

#[test]
fn settings_are_not_changed_through_a_pod_with_which_the_watch_would_end() {
    let container = Container::start();
    let socket = container.socket();
    let server = Server::start(move |call| exec(call, &socket, usize::MAX));
    let kubeconfig = server.kubeconfig("{token: t}");
    let fleet = kubeconfig.with_file_name("fleet.yaml");
    fs::write(&fleet, "nodes: [{name: a, role: storage, reach: 'kube://ns/pod'}]\n").expect("written");
    let mut command = linerate();
    command.args(["tune", "status", "--fleet"]).arg(&fleet).env("KUBECONFIG", &kubeconfig);
    let output = command.output().expect("linerate runs");
    let said = shown(&output).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.status.code(), Some(3), "{said}");
    for part in ["has to outlive the pod", "linerate fleet up --change", "ssh://"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn what_the_api_server_refuses_is_a_finding_with_its_remedy() {
    let server = Server::start(|call| {
        let why = "pods \"pod\" is forbidden: User \"u\" cannot create resource \"pods/exec\" in API group \"\" in the \
                   namespace \"ns\"";
        call.refuse(403, "Forbidden", why);
    });
    let (found, output) =
        checked(&server.kubeconfig("{token: t}"), "{name: a, role: client, reach: 'kube://ns/pod'}", &[]);
    let unreached = found.expect("JSON").nodes.remove(0).unreached.expect("not reached");
    assert!(unreached.why.contains("does not allow create on pods/exec in namespace ns"), "{unreached:?}");
    assert!(unreached.remedy.contains("grant create on pods/exec"), "{unreached:?}");
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
}

#[test]
fn a_command_of_the_kubeconfig_runs_with_consent_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = Server::start(|call| call.refuse(404, "NotFound", "pods \"pod\" not found"));
    let mark = folder.path().join("mark");
    let plugin = format!(
        "{{exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: touch, \
         args: ['{}']}}}}",
        mark.display()
    );
    let node = "{name: a, role: client, reach: 'kube://ns/pod'}";
    let (_, output) = checked(&server.kubeconfig(&plugin), node, &[]);
    let reported = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && reported.contains("touch ") && reported.contains("--yes-exec"),
        "{reported}"
    );
    assert!(!mark.exists());
    let (found, output) = checked(&server.kubeconfig(&plugin), node, &["--yes-exec"]);
    let why = found.unwrap_or_else(|| panic!("{}", shown(&output))).nodes[0].unreached.clone().expect("refused").why;
    assert!(mark.exists() && why.contains("the credential command of the kubeconfig failed"), "{why}");
}

/// Secrets of a kubeconfig, each read from another place, as YAML of a user and in the words of the request.
fn secrets(folder: &Path) -> Vec<(String, &'static str)> {
    let long: &'static str = Box::leak(format!("a-token-of-the-tests-{}", "0123456789".repeat(90)).into_boxed_str());
    let file = folder.join("token");
    fs::write(&file, "a-token-of-a-file-of-the-tests").expect("written");
    let plugin = folder.join("plugin");
    let credential = r#"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",
        "status":{"token":"a-token-of-a-plugin-of-the-tests"}}"#;
    fs::write(&plugin, format!("cat <<'E'\n{credential}\nE\n")).expect("written");
    let exec = "{exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh, args:";
    vec![
        (format!("{{token: {long}}}"), long),
        (format!("{{tokenFile: '{}'}}", file.display()), "a-token-of-a-file-of-the-tests"),
        (format!("{exec} ['{}']}}}}", plugin.display()), "a-token-of-a-plugin-of-the-tests"),
        ("{username: somebody, password: a-password-of-the-tests}".to_owned(), "a-password-of-the-tests"),
    ]
}

#[test]
fn by_what_a_kubeconfig_proves_who_asks_is_in_nothing_that_is_printed_or_written() {
    let folder = tempfile::tempdir().expect("a folder");
    for (user, secret) in secrets(folder.path()) {
        type Answer = fn(Call, &str);
        let answers: [Answer; 4] = [
            |call, said| call.refuse(500, "InternalError", said),
            |call, said| call.json(502, said),
            |call, said| call.redirect(&format!("https://127.0.0.1/{said}")),
            |call, said| {
                let mut exec = call.exec("v5.channel.k8s.io");
                exec.send(2, said.as_bytes());
                exec.ended(1);
            },
        ];
        for answer in answers {
            // A proxy that repeats what it was sent.
            let server = Server::start(move |call| {
                let said = format!("you sent {} as {secret}", call.header("authorization"));
                answer(call, &said);
            });
            let kubeconfig = server.kubeconfig(&user);
            let fleet = kubeconfig.with_file_name("fleet.yaml");
            fs::write(&fleet, "nodes: [{name: a, role: client, reach: 'kube://ns/pod'}]\n").expect("written");
            let written = kubeconfig.with_file_name("written");
            for line in ["fleet check --json --yes-exec", "audit --yes-exec", "fleet down --instance a --yes-exec"] {
                let mut command = linerate();
                command.args(line.split(' ')).env("KUBECONFIG", &kubeconfig);
                if line.contains("down") {
                    command.args(["--wait", "1s"]);
                } else {
                    command.arg("--output").arg(&written).arg("--fleet").arg(&fleet);
                }
                let output = command.output().expect("linerate runs");
                let all = shown(&output) + &fs::read_to_string(&written).unwrap_or_default();
                let bare: String = all.split_whitespace().collect();
                let is_masked = bare.contains("***") || line.contains("down");
                assert!(is_masked && !bare.contains(&secret[..20]), "{line}: {all}");
                let _ = fs::remove_file(&written);
            }
        }
    }
}

#[test]
fn what_is_not_understood_of_a_kubeconfig_and_its_command_is_not_quoted() {
    let server = Server::start(|call| call.refuse(404, "NotFound", "pods \"pod\" not found"));
    let exec = |script: &str| {
        format!(
            "{{exec: {{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh, \
             env: [{{name: X, value: 'a-secret-of-the-tests'}}], args: [-c, '{script}']}}}}"
        )
    };
    for (user, part) in [
        (exec("echo $X; echo log in with $X >&2; exit 7"), "failed: sh: exit status: 7"),
        (exec("echo \"status: [$X]\""), "no ExecCredential"),
        ("{token: [a-secret-of-the-tests]}".to_owned(), "no kubeconfig in YAML: line 5"),
    ] {
        let node = "{name: a, role: client, reach: 'kube://ns/pod'}";
        let (_, output) = checked(&server.kubeconfig(&user), node, &["--yes-exec"]);
        let reported = shown(&output);
        assert!(reported.contains(part) && !reported.contains("a-secret-of-the-tests"), "{part}: {reported}");
    }
}

/// What `fleet up` says, and the paths of what it would have applied, where these namespaces are there with labels.
fn brought_up(flags: &str, taken: &'static [&str], labels: &'static str) -> (Option<i32>, String, Vec<String>) {
    let patched = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&patched);
    let server = Server::start(move |call| {
        let path = call.path.split('?').next().unwrap_or_default().to_owned();
        if call.method == "PATCH" {
            let is_last = path.contains("/jobs/");
            noted.lock().expect("no test panicked meanwhile").push(path);
            return if is_last { call.refuse(422, "Invalid", "enough") } else { call.json(200, "{}") };
        }
        match path.strip_prefix("/api/v1/namespaces/").filter(|name| !name.contains('/')) {
            Some(name) if taken.contains(&name) => call.json(200, &format!(r#"{{"metadata":{{"labels":{labels}}}}}"#)),
            Some(_) => call.refuse(404, "NotFound", "no such namespace"),
            None => call.json(200, r#"{"kind":"List","apiVersion":"v1","metadata":{},"items":[]}"#),
        }
    });
    let mut command = linerate();
    command.args(["fleet", "up", "--image", "linerate:1", "--instance", "a1"]).args(flags.split_whitespace());
    let output = command.env("KUBECONFIG", server.kubeconfig("{token: t}")).output().expect("linerate runs");
    let patched = patched.lock().expect("no test panicked meanwhile").clone();
    (output.status.code(), shown(&output).split_whitespace().collect::<Vec<_>>().join(" "), patched)
}

#[test]
fn what_is_privileged_is_put_into_no_namespace_of_somebody_else() {
    let labels = |instance: &'static str| match instance {
        "a1" => r#"{"app.kubernetes.io/instance":"a1","app.kubernetes.io/managed-by":"linerate"}"#,
        // Of another fleet, or of whoever writes that it is.
        "b2" => r#"{"app.kubernetes.io/instance":"b2","app.kubernetes.io/managed-by":"linerate"}"#,
        _ => "{}",
    };
    let cases: [(&str, &'static [&str], &str); 3] = [
        ("--change --storage-label s", &["linerate-change"], "root on each storage node"),
        ("--clients 1 --storage --storage-label s", &["linerate-storage"], "root on each storage node"),
        ("--clients 1 --host-clients 1", &["linerate-host"], "in the network of their hosts"),
    ];
    for (flags, taken, are) in cases {
        for instance in ["", "b2"] {
            let (code, said, patched) = brought_up(flags, taken, labels(instance));
            assert_eq!(code, Some(2), "{flags}: {said}");
            let begin = format!("namespace {} exists and is not of fleet a1", taken[0]);
            for part in [begin.as_str(), are, "give another --namespace", "fleet down --instance"] {
                assert!(said.contains(part), "{flags}: {part}: {said}");
            }
            assert!(patched.is_empty(), "{flags}: {patched:?}");
        }
        // One that is this fleet's goes on.
        let (code, said, patched) = brought_up(flags, taken, labels("a1"));
        assert!(code == Some(3) && said.contains("enough") && !patched.is_empty(), "{flags}: {said} {patched:?}");
    }
    // Clients have no right of their host: a namespace of somebody else's is used for them as it is.
    let (code, said, patched) = brought_up("--clients 1", &["linerate"], labels("b2"));
    assert!(code == Some(3) && said.contains("enough"), "{said}");
    let is_labelled = patched.iter().any(|path| path.ends_with("/namespaces/linerate"));
    assert!(!patched.is_empty() && !is_labelled, "{patched:?}");
}

#[test]
fn manifests_are_printed_and_what_cannot_be_is_refused() {
    let manifest = |more: &[&str]| {
        let mut command = linerate();
        command.args(["fleet", "manifest", "--clients", "8", "--image", "registry.example/linerate:0.1.0"]);
        command.args(more).output().expect("linerate runs")
    };
    let output = manifest(&[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && text.contains("kind: Job") && !text.contains("DaemonSet"), "{}", shown(&output));
    assert_eq!(manifest(&[]).stdout, output.stdout, "the same each time");
    let output = manifest(&["--storage", "--storage-label", "example.com/storage=true", "--deadline", "2h"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("PRIVILEGED") && text.contains("operator: NotIn"), "{}", shown(&output));
    let mut command = linerate();
    command.args(["fleet", "manifest", "--change", "--image", "linerate:1", "--storage-label"]);
    let output = command.arg("example.com/storage").output().expect("linerate runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.starts_with("# PRIVILEGED") && text.contains("privileged: true"), "{}", shown(&output));
    assert!(!text.contains("-client"), "{text}");
    for (more, part) in [
        (&["--namespace", "A"][..], "invalid namespace \"A\""),
        (&["--deadline", "1s"], "invalid deadline"),
        (&["--lease", "1h"], "write 2s to 5m"),
        (&["--storage"], "--storage-label"),
        (&["--change", "--storage-label", "store"], "--clients"),
    ] {
        let output = manifest(more);
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(String::from_utf8_lossy(&output.stderr).contains(part), "{part}: {}", shown(&output));
    }
}
