//! The command of a kubeconfig that says who asks: what it writes has a limit, it has a time, and nothing of it goes on
//! after that. Nothing that it wrote is quoted, nor its environment: they may have credentials.

use std::collections::HashMap;
use std::fs;
use std::io::{self, IsTerminal as _, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use kube::config::{ExecConfig, ExecInteractiveMode};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::{Value, json};

use crate::error::KubeError;

/// How long it may take: it may ask somebody else.
const RUNS_WITHIN: Duration = Duration::from_secs(20);

/// Longest output that is read: a token, or a chain of certificates with its key.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;

/// How often its end is looked for when it has closed its output.
const LOOKED_EACH: Duration = Duration::from_millis(10);

/// A command of a kubeconfig.
#[derive(Clone, Debug)]
pub(crate) enum CredentialCommand {
    /// `exec` of a user.
    Exec(Box<ExecConfig>),
    /// What `auth-provider` has of one, as kubectl ran it up to 1.25.
    Provider(HashMap<String, String>),
}

/// What a command said.
#[derive(Debug, Default)]
pub(crate) struct CommandCredential {
    pub(crate) token: Option<String>,
    /// When the token ends; absent where that is not said.
    pub(crate) until: Option<Timestamp>,
    /// A certificate and its key, in PEM.
    pub(crate) identity: Option<(String, String)>,
}

impl CredentialCommand {
    /// # Errors
    /// [`KubeError::Plugin`], with the program and what became of it.
    pub(crate) fn run(&self) -> Result<CommandCredential, KubeError> {
        let program = match self {
            CredentialCommand::Exec(exec) => exec.command.as_deref(),
            CredentialCommand::Provider(config) => config.get("cmd-path").map(String::as_str),
        };
        let Some(program) = program.filter(|program| !program.is_empty()) else {
            return Err(KubeError::Kubeconfig("its exec has no command".to_owned()));
        };
        let said = match self {
            CredentialCommand::Exec(exec) => {
                output(exec_command(program, exec), RUNS_WITHIN).and_then(|bytes| exec_credential(&bytes))
            }
            CredentialCommand::Provider(config) => {
                let mut command = Command::new(program);
                let words = |key: &str| config.get(key).into_iter().flat_map(|words| words.split_whitespace());
                command.args(words("cmd-args")).stdin(Stdio::null()).stderr(Stdio::null());
                for name in words("cmd-drop-env") {
                    command.env_remove(name);
                }
                output(command, RUNS_WITHIN).and_then(|bytes| provider_credential(&bytes, config))
            }
        };
        said.map_err(|why| KubeError::Plugin(format!("{program}: {why}")))
    }
}

/// The command of `exec`, by `client.authentication.k8s.io/v1`.
fn exec_command(program: &str, exec: &ExecConfig) -> Command {
    let mut command = Command::new(program);
    command.args(exec.args.iter().flatten());
    for variable in exec.env.iter().flatten() {
        if let (Some(name), Some(value)) = (variable.get("name"), variable.get("value")) {
            command.env(name, value);
        }
    }
    let may_ask = exec.interactive_mode != Some(ExecInteractiveMode::Never);
    let is_interactive = may_ask && io::stdin().is_terminal();
    command.stdin(if is_interactive { Stdio::inherit() } else { Stdio::null() });
    command.stderr(if may_ask { Stdio::inherit() } else { Stdio::null() });
    let cluster = exec.cluster.as_ref().filter(|_| exec.provide_cluster_info);
    let mut spec = json!({ "interactive": is_interactive });
    if let Some(cluster) = cluster.and_then(|cluster| serde_json::to_value(cluster).ok()) {
        spec["cluster"] = cluster;
    }
    let request = json!({ "kind": "ExecCredential", "apiVersion": exec.api_version, "spec": spec });
    command.env("KUBERNETES_EXEC_INFO", request.to_string());
    for name in exec.drop_env.iter().flatten() {
        command.env_remove(name);
    }
    command
}

/// What an `ExecCredential` says, in JSON or YAML.
fn exec_credential(bytes: &[u8]) -> Result<CommandCredential, String> {
    let none = || "what it wrote is no ExecCredential".to_owned();
    let said: Value = serde_saphyr::from_slice(bytes).map_err(|_| none())?;
    let status = said.get("status").filter(|status| status.is_object()).ok_or_else(none)?;
    let text = |key: &str| status.get(key).and_then(Value::as_str).map(str::to_owned);
    Ok(CommandCredential {
        token: text("token"),
        until: text("expirationTimestamp").map(|text| instant(&text)).transpose()?,
        identity: text("clientCertificateData").zip(text("clientKeyData")),
    })
}

/// What the command of an `auth-provider` says: a token, or JSON that has one where `token-key` leads.
fn provider_credential(bytes: &[u8], config: &HashMap<String, String>) -> Result<CommandCredential, String> {
    let text = str::from_utf8(bytes).map_err(|_| "what it wrote is not text".to_owned())?;
    let Some(token_key) = config.get("token-key") else {
        return Ok(CommandCredential { token: Some(text.trim().to_owned()), ..CommandCredential::default() });
    };
    let said: Value = serde_json::from_str(text).map_err(|_| "what it wrote is not JSON".to_owned())?;
    let at = |path: &str| {
        let mut keys =
            path.trim_matches(['{', '}', '"']).trim_start_matches('$').split('.').filter(|key| !key.is_empty());
        let found = keys.try_fold(&said, |at, key| at.get(key)).and_then(Value::as_str);
        found.map(str::to_owned).ok_or_else(|| format!("what it wrote has no {path}"))
    };
    let until = config.get("expiry-key").map(|path| instant(&at(path)?)).transpose()?;
    Ok(CommandCredential { token: Some(at(token_key)?), until, identity: None })
}

fn instant(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| "its token has no valid time at which it ends".to_owned())
}

/// What a command writes, within its limit and its time; why not, without a word of it.
fn output(mut command: Command, within: Duration) -> Result<Vec<u8>, String> {
    let until = Instant::now() + within;
    // On a terminal it stays in the group that has it: it may ask there, and Ctrl-C ends it too.
    let has_own_group = !io::stdin().is_terminal();
    if has_own_group {
        command.process_group(0);
    }
    let child = command.stdout(Stdio::piped()).spawn().map_err(|error| format!("it could not be started: {error}"))?;
    let mut running = RunningCommand { child, has_own_group, has_ended: false };
    let stdout = running.child.stdout.take();
    let (send, received) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stdout.map(|stdout| stdout.take(OUTPUT_BYTES_MAX + 1).read_to_end(&mut bytes)).transpose();
        // Nobody waits for it any more where its time is over.
        let _ = send.send(read.map(|_| bytes));
    });
    let late = || format!("it did not end within {} s", within.as_secs_f64());
    let bytes = received.recv_timeout(within).map_err(|_| late())?;
    let bytes = bytes.map_err(|error| format!("its output could not be read: {error}"))?;
    if bytes.len() as u64 > OUTPUT_BYTES_MAX {
        return Err(format!("it wrote more than {} MiB", OUTPUT_BYTES_MAX >> 20));
    }
    let status = running.status(until)?.ok_or_else(late)?;
    if status.success() { Ok(bytes) } else { Err(status.to_string()) }
}

/// A command that is ended with all that it started, unless it has ended by itself.
struct RunningCommand {
    child: Child,
    has_own_group: bool,
    has_ended: bool,
}

impl RunningCommand {
    /// How it ended; absent where it has not by then.
    fn status(&mut self, until: Instant) -> Result<Option<ExitStatus>, String> {
        loop {
            let status = self.child.try_wait().map_err(|error| format!("it cannot be waited for: {error}"))?;
            if status.is_some() || Instant::now() >= until {
                self.has_ended = status.is_some();
                return Ok(status);
            }
            thread::sleep(LOOKED_EACH);
        }
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        if self.has_ended {
            return;
        }
        let leader = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(leader) = leader.filter(|_| self.has_own_group) {
            let _ = kill_process_group(leader, Signal::KILL);
        }
        for pid in leader.filter(|_| !self.has_own_group).map(descendants).unwrap_or_default() {
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The processes that a process started, and that these started: `proc_pid_task_tid_children(5)`.
fn descendants(parent: Pid) -> Vec<Pid> {
    let mut found = vec![parent];
    let mut next = 0;
    while let Some(pid) = found.get(next).map(|pid| pid.as_raw_nonzero()) {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        found.extend(children.split_whitespace().filter_map(|child| Pid::from_raw(child.parse().ok()?)));
        next += 1;
    }
    found.split_off(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exec(script: &str) -> CredentialCommand {
        let text = json!({
            "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never", "command": "sh",
            "args": ["-c", script], "env": [{ "name": "X", "value": "a-secret" }],
        });
        CredentialCommand::Exec(Box::new(serde_json::from_value(text).unwrap()))
    }

    #[test]
    fn what_a_command_says_is_read_and_nothing_that_it_wrote_is_quoted() {
        let said = "echo '{\"status\": {\"token\": \"t\", \"expirationTimestamp\": \"2030-01-01T00:00:00Z\"}}'";
        let credential = exec(said).run().unwrap();
        assert_eq!(credential.token.as_deref(), Some("t"));
        assert_eq!(credential.until, Some("2030-01-01T00:00:00Z".parse().unwrap()));
        for (script, expected) in [
            ("echo $X; echo token $X >&2; exit 7", "sh: exit status: 7"),
            ("echo \"status: [$X]\"", "sh: what it wrote is no ExecCredential"),
            ("echo '\"'$X", "sh: what it wrote is no ExecCredential"),
            ("echo '{\"status\": {\"expirationTimestamp\": \"'$X'\"}}'", "sh: its token has no valid time"),
            ("cat /dev/zero", "sh: it wrote more than 1 MiB"),
            // None of it is kept.
            ("head -c 300000000 /dev/zero >&2; exit 1", "sh: exit status: 1"),
        ] {
            let fault = exec(script).run().unwrap_err();
            assert!(matches!(fault, KubeError::Plugin(_)), "{script}: {fault}");
            let text = fault.to_string();
            assert!(text.contains(expected) && !text.contains("a-secret"), "{script}: {text}");
        }
        let provider = HashMap::from(
            [("cmd-path", "echo"), ("cmd-args", "{\"a\":{\"b\":\"t\"}}"), ("token-key", "{.a.b}")]
                .map(|(key, value)| (key.to_owned(), value.to_owned())),
        );
        assert_eq!(CredentialCommand::Provider(provider).run().unwrap().token.as_deref(), Some("t"));
    }

    #[test]
    fn a_command_that_has_had_its_time_is_ended_with_all_that_it_started() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pid");
        let mut command = Command::new("sh");
        command.args(["-c", &format!("sleep 600 & echo $! > {0}.new; mv {0}.new {0}; wait", file.display())]);
        command.stdin(Stdio::null());
        let why = output(command, Duration::from_secs(2)).unwrap_err();
        assert_eq!(why, "it did not end within 2 s");
        let pid = fs::read_to_string(&file).unwrap();
        let state = || fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
        let is_running = || state().is_ok_and(|stat| !stat.contains(") Z") && !stat.contains(") X"));
        (0..200).take_while(|_| is_running()).for_each(|_| thread::sleep(LOOKED_EACH));
        assert!(!is_running(), "{:?}", state());
    }
}
