//! Agents of a fleet, end to end: those that are met, those that lie, freeze, print, die or say nothing, each told in
//! time, and none of which is left.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use linerate_fleet::protocol::{AgentHello, FromAgent, PROTOCOL, frame};
use linerate_record::fleet::{Allowed, FleetAudit, FleetCheck, FleetRow, NodeRole};
use linerate_record::machine::Machine;

use crate::running::agents::{Place, with_fleet};
use crate::running::{END, bound, linerate, shown};

fn checked(path: &Path) -> (FleetCheck, Output) {
    let output = with_fleet(&["fleet", "check", "--json"], path).output().expect("linerate runs");
    (serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", shown(&output))), output)
}

/// A message as bytes that `printf` of a shell writes.
fn octal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\{byte:03o}")).collect()
}

fn hello(token: &str) -> FromAgent {
    FromAgent::Hello(Box::new(AgentHello {
        protocol: PROTOCOL,
        linerate: "0.1.0".to_owned(),
        token: token.to_owned(),
        allowed: Allowed::Read,
        pid: 1,
        is_root: true,
        machine: Machine::default(),
    }))
}

#[test]
fn several_agents_of_this_machine_are_met_and_none_is_left() {
    let place = Place::make();
    let agent = |name: &str| {
        format!("{{name: {name}, role: storage, reach: 'exec:exec {} agent --allow read'}}", place.program.display())
    };
    let mut nodes: Vec<String> = (1..=5).map(|n| agent(&format!("e{n}"))).collect();
    nodes.push("{name: me, role: client, reach: here, site: clients}".to_owned());
    let (found, output) = checked(&place.fleet(&nodes));
    assert!(output.status.success(), "{}", shown(&output));
    place.assert_over();
    let names: Vec<&str> = found.nodes.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(names, ["e1", "e2", "e3", "e4", "e5", "me"]);
    let (here, _) = linerate_host::machine(&linerate_host::Root::live());
    for row in &found.nodes {
        let reached = row.reached.as_ref().unwrap_or_else(|| panic!("{row:?}"));
        // It is the same clock, read by two processes.
        assert!(reached.clock_offset_ns.abs() <= reached.clock_bound_ns, "{row:?}");
        assert!(reached.round_trip_ns > 0 && reached.machine.cpus == here.cpus, "{row:?}");
        assert_eq!(reached.machine.kernel, here.kernel);
    }
    assert_eq!(found.nodes[5].site_node.as_deref(), Some("clients"));
}

#[test]
fn what_is_no_agent_or_a_bad_one_is_told_in_time_and_ended() {
    let place = Place::make();
    // The greeting begins to come through, and the agent gets a signal before anything else does.
    let through_a_fifo = |name: &str, signal: &str| {
        let fifo = place.path(&format!("{name}.fifo"));
        let fifo = fifo.display();
        format!(
            "mkfifo {fifo}\nAGENT <&3 >{fifo} 3<&- & agent=$!\n{{ head -c 100; kill -{signal} $agent; cat; }} <{fifo}"
        )
    };
    let lie = octal(&frame(&hello("never sent")).expect("a message"));
    let endless = octal(&u32::MAX.to_le_bytes());
    let cases: [(&str, String, &str); 8] = [
        ("banner", "echo Welcome to node07; AGENT".into(), "it wrote \"Welcome to node07\""),
        ("liar", format!("printf '{lie}'; sleep 60"), "the agent's answer is not valid: it does not repeat its token"),
        ("endless", format!("printf '{endless}'; sleep 60"), "this is not an agent"),
        ("mute", "sleep 60".into(), "no answer within 10 s"),
        ("missing", "exec /no/such/linerate agent".into(), "not found"),
        ("frozen", through_a_fifo("frozen", "STOP"), "the agent froze: no answer for 2 s"),
        ("killed", through_a_fifo("killed", "KILL"), "the agent ended"),
        ("refusing", "AGENT --pid 2147483647".into(), "--pid 2147483647: failed to enter its namespaces"),
    ];
    let scripted = |(name, script, _): &(&str, String, &str)| place.scripted(name, &format!("exec 3<&0\n{script}\n"));
    let begun = Instant::now();
    let (found, output) = checked(&place.fleet(&cases.iter().map(scripted).collect::<Vec<_>>()));
    assert!(begun.elapsed() < bound(Duration::from_secs(15)), "{:?}", begun.elapsed());
    place.assert_over();
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    for ((name, _, part), row) in cases.iter().zip(&found.nodes) {
        let fault = row.unreached.as_ref().unwrap_or_else(|| panic!("{row:?}"));
        assert!(fault.why.contains(part) && !fault.remedy.is_empty(), "{name}: {fault:?}");
    }
    let text = with_fleet(&["fleet", "check"], &place.fleet(&[place.scripted("banner", "echo Hi")])).output();
    let text = shown(&text.expect("linerate runs"));
    assert!(text.contains("critical  banner: not reached: this is not an agent: it wrote \"Hi\""), "{text}");
}

#[test]
fn nodes_that_are_not_reached_for_one_reason_are_one_line_of_every_verb() {
    let place = Place::make();
    let node = |n: u32| format!("{{name: node{n:02}, role: storage, reach: 'exec:echo Hi'}}");
    let fleet = place.fleet(&(1..=56).map(node).collect::<Vec<_>>());
    let net = ["net", "--yes-load", "--duration", "1s"];
    for (verb, most) in [(&["tune", "diff"][..], 2), (&["tune", "status"], 12), (&net, 2), (&["fleet", "check"], 12)] {
        let output = with_fleet(verb, &fleet).current_dir(place.path("")).output().expect("linerate runs");
        let text = shown(&output);
        assert_eq!(output.status.code(), Some(3), "{verb:?}: {text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("node01…node56 (56)") && words.contains("it wrote \"Hi\""), "{verb:?}: {text}");
        assert!(text.trim().lines().count() <= most, "{verb:?}: {text}");
        assert!(!words.contains("node02"), "{verb:?}: {text}");
    }
}

#[test]
fn agents_end_when_their_coordinator_is_killed_or_interrupted() {
    for signal in ["KILL", "TERM", "INT"] {
        let place = Place::make();
        // Nobody hears the agent, so that its coordinator waits.
        let path = place.fleet(&[place.scripted("unheard", "AGENT >/dev/null")]);
        let mut command = with_fleet(&["fleet", "check"], &path);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("linerate starts");
        let agent = format!("{} agent", place.program.display());
        let until = Instant::now() + END;
        while !place.processes().iter().any(|args| args.starts_with(&agent)) {
            assert!(Instant::now() < until, "no agent: {:?}", place.processes());
            std::thread::sleep(Duration::from_millis(10));
        }
        let kill = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(kill.expect("kill runs").success());
        let ended = child.wait().expect("it ends");
        if signal != "KILL" {
            assert_eq!(ended.code(), Some(130), "{signal}");
        }
        place.assert_over();
    }
}

#[test]
fn a_fleet_is_audited_and_machines_that_are_one_do_not_differ() {
    let nodes = ["{name: a, role: storage, reach: here}", "{name: b, role: storage, reach: here}"];
    let place = Place::make();
    let path = place.fleet(&nodes.map(str::to_owned));
    let output = with_fleet(&["audit", "--json"], &path).output().expect("linerate runs");
    assert!(output.status.success(), "{}", shown(&output));
    let audit: FleetAudit = serde_json::from_slice(&output.stdout).expect("an audit");
    assert_eq!(audit.unlike, []);
    assert!(audit.compared > 50, "{}", audit.compared);
    let names: Vec<(&str, NodeRole, &str)> =
        audit.audited.iter().map(|node| (node.name.as_str(), node.role, node.profile.as_str())).collect();
    assert_eq!(names, [("a", NodeRole::Storage, "s3-storage-node"), ("b", NodeRole::Storage, "s3-storage-node")]);
    // What one audit of this machine says, the fleet's says of both.
    let alone = linerate().args(["audit", "--json"]).output().expect("linerate runs");
    let alone: linerate_record::audit::Audit = serde_json::from_slice(&alone.stdout).expect("an audit");
    let knobs: Vec<&str> = audit.differences.iter().map(|one| one.difference.knob.as_str()).collect();
    for difference in &alone.differences {
        assert!(knobs.contains(&difference.knob.as_str()), "{difference:?}");
    }
    assert!(audit.differences.iter().all(|one| one.nodes == ["a", "b"]), "{:?}", audit.differences);
    let text = shown(&with_fleet(&["audit"], &path).output().expect("linerate runs"));
    assert!(text.contains("nodes of the same role agree in all") && text.contains("each of 2 nodes"), "{text}");
}

#[test]
fn nodes_of_other_kinds_are_not_compared_and_a_site_has_each_kind() {
    let place = Place::make();
    let node = |name: &str, kind: &str| format!("{{name: {name}, role: storage, reach: here, site: {kind}}}");
    let path = place.fleet(&[node("a", "dense"), node("b", "fast")]);
    let output = with_fleet(&["audit", "--json"], &path).output().expect("linerate runs");
    let audit: FleetAudit = serde_json::from_slice(&output.stdout).expect("an audit");
    assert_eq!((audit.compared, audit.audited.len()), (0, 2), "{}", shown(&output));
    let example = linerate().args(["plan", "--example"]).output().expect("linerate runs");
    let site = place.path("site.yaml");
    std::fs::write(&site, &example.stdout).expect("written");
    let output = with_fleet(&["audit"], &path).arg("--site").arg(&site).output().expect("linerate runs");
    let text = shown(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    for part in ["site \"dense\"", "site \"fast\"", "has no such kind of nodes: write ", "clients"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_node_that_is_not_read_is_told_beside_the_others() {
    let place = Place::make();
    let here = "{name: a, role: storage, reach: here}".to_owned();
    let path = place.fleet(&[here, place.scripted("b", "exit 7")]);
    let output = with_fleet(&["audit", "--json"], &path).output().expect("linerate runs");
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    let audit: FleetAudit = serde_json::from_slice(&output.stdout).expect("an audit");
    let missing: Vec<&FleetRow> = audit.unreached.iter().collect();
    assert!(matches!(&missing[..], [row] if row.name == "b" && row.unreached.is_some()), "{missing:?}");
    assert_eq!(audit.audited.len(), 1);
}

#[test]
fn nothing_is_run_without_consent_or_with_a_mistake_in_the_file() {
    let place = Place::make();
    let mark = place.path("mark");
    let path = place.fleet(&[place.scripted("a", &format!("touch {}", mark.display()))]);
    for args in [["fleet", "check"].as_slice(), &["audit"]] {
        let output = linerate().args(args).arg("--fleet").arg(&path).output().expect("linerate runs");
        let text = shown(&output);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains("a.sh") && text.contains("--yes-exec"), "{text}");
    }
    // What gives an agent rights is a command too, and this machine's own flag is consent to it.
    let refused = |args: &[&str], node: &str| {
        let path = place.fleet(&[node.to_owned()]);
        let output = linerate().args(["fleet", "check"]).args(args).arg("--fleet").arg(&path).output();
        let output = output.expect("linerate runs");
        (output.status.code(), shown(&output))
    };
    let (code, text) = refused(&[], "{name: a, role: client, reach: 'ssh://127.0.0.1:1', become: sudo -n}");
    assert!(code == Some(2) && text.contains("sudo -n") && text.contains("--yes-exec"), "{text}");
    let node = "{name: a, role: client, reach: 'ssh://127.0.0.1:1'}";
    assert_eq!(refused(&["--become", "sudo -n"], node).0, Some(3));
    for (flag, part) in [("--become=-n sudo", "such as sudo -n"), ("--become=sudo -n; id", "such as sudo -n")] {
        let (code, text) = refused(&[flag], node);
        assert!(code == Some(2) && text.contains(part), "{text}");
    }
    let (code, text) = refused(&["--binary", "aarch64"], node);
    assert!(code == Some(2) && text.contains("aarch64=dist/linerate-arm64"), "{text}");
    let path =
        place.fleet(&["{name: a, role: storrage}".into(), place.scripted("b", &format!("touch {}", mark.display()))]);
    let output = with_fleet(&["fleet", "check"], &path).output().expect("linerate runs");
    assert!(
        output.status.code() == Some(2) && shown(&output).contains("unknown role \"storrage\""),
        "{}",
        shown(&output)
    );
    assert!(!mark.exists());
}

/// A node in a pod of a fleet that `fleet up` started.
const OF_PODS: &str = "{name: a, role: client, reach: 'kube://x/?app.kubernetes.io/instance=a'}";

#[test]
fn a_fleet_file_that_others_can_write_to_or_replace_has_no_command_run() {
    let place = Place::make();
    let (mark, folder, path) = (place.path("mark"), place.path("shared"), place.path("shared/fleet.yaml"));
    fs::create_dir(&folder).expect("a folder");
    let write = |node: &str, of_file: u32, of_folder: u32| {
        fs::write(&path, format!("nodes:\n  - {node}\n")).expect("written");
        for (path, mode) in [(&path, of_file), (&folder, of_folder)] {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
        }
    };
    let check = || with_fleet(&["fleet", "check"], &path).output().expect("linerate runs");
    let touches = place.scripted("a", &format!("touch {}", mark.display()));
    for (of_file, of_folder, is_refused) in
        [(0o644, 0o755, false), (0o600, 0o1777, false), (0o646, 0o755, true), (0o644, 0o777, true)]
    {
        write(&touches, of_file, of_folder);
        let (output, case) = (check(), format!("{of_file:o} in {of_folder:o}"));
        let (code, text) = (output.status.code(), shown(&output));
        assert_eq!((code, mark.exists()), (Some(if is_refused { 2 } else { 3 }), !is_refused), "{case}: {text}");
        assert_eq!(text.contains("chmod go-w") && text.contains("fleet.yaml"), is_refused, "{case}: {text}");
        let _ = fs::remove_file(&mark);
    }
    // What gives an agent rights is a command too; what has none run is read as it is, and so is what a shell opened.
    let over_ssh = "{name: a, role: client, reach: 'ssh://127.0.0.1:1'";
    for (node, code) in [
        (format!("{over_ssh}, become: sudo -n}}"), 2),
        (format!("{over_ssh}, cache: /var/tmp/x}}"), 2),
        (format!("{over_ssh}}}"), 3),
    ] {
        write(&node, 0o666, 0o755);
        let output = check();
        assert_eq!(output.status.code(), Some(code), "{node}: {}", shown(&output));
    }
    // What deletes by a file is not led by anybody else.
    for (verb, node) in [("clean", format!("{over_ssh}}}")), ("down", OF_PODS.to_owned())] {
        write(&node, 0o666, 0o755);
        let output = with_fleet(&["fleet", verb], &path).output().expect("linerate runs");
        assert_eq!(output.status.code(), Some(2), "{verb}: {}", shown(&output));
        assert!(shown(&output).contains("chmod go-w"), "{verb}: {}", shown(&output));
    }
    write(&touches, 0o666, 0o755);
    let mut command = with_fleet(&["fleet", "check"], Path::new("/dev/stdin"));
    let output = command.stdin(fs::File::open(&path).expect("it is there")).output().expect("linerate runs");
    assert!(output.status.code() == Some(3) && mark.exists(), "{}", shown(&output));
}

/// Before consent and before anything runs: who gives the flag believes that agents have its rights.
#[test]
fn flags_of_ssh_are_refused_by_every_verb_where_no_node_is_reached_by_it() {
    let place = Place::make();
    let mark = place.path("ran");
    let reach = format!("'exec:touch {}'", mark.display());
    let nodes = ["storage", "client"].map(|role| format!("{{name: {role}1, role: {role}, reach: {reach}}}"));
    let path = place.fleet(&nodes);
    let site = format!("{}/../../examples/namespaces-4.yaml", env!("CARGO_MANIFEST_DIR"));
    let verbs = [
        vec!["fleet", "check"],
        vec!["audit"],
        vec!["bench", "--op", "get", "--host", "127.0.0.1:9", "--anonymous"],
        vec!["explain", &site, "--live", "--for", "5s"],
    ];
    let cases = [
        (vec!["--become", "sudo -n"], vec!["--become 'sudo -n': no node of", "'exec:sudo -n linerate agent'"]),
        (vec!["--binary", "aarch64=x"], vec!["--binary aarch64=x: no node of", "name the program in the node's reach"]),
    ];
    for verb in &verbs {
        for (flags, parts) in &cases {
            let output = linerate().args(verb).arg("--fleet").arg(&path).args(flags).output().unwrap();
            let reported = shown(&output);
            assert_eq!(output.status.code(), Some(2), "{verb:?} {flags:?}: {reported}");
            assert!(parts.iter().all(|part| reported.contains(part)), "{verb:?} {flags:?}: {reported}");
            assert!(!reported.contains("--yes-exec") && !mark.exists(), "{verb:?} {flags:?}: {reported}");
        }
    }
}

#[test]
fn an_agent_writes_nothing_but_messages_and_refuses_a_terminal() {
    let output = linerate().arg("agent").output().expect("linerate runs");
    assert!(output.status.success(), "{}", shown(&output));
    let mut decoder = linerate_fleet::protocol::Decoder::default();
    decoder.take(&output.stdout);
    assert!(matches!(decoder.message::<FromAgent>(), Ok(Some(FromAgent::End { .. }))), "{:?}", output.stdout);
    assert_eq!(decoder.rest(), "");
    let terminal = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR).expect("a terminal");
    rustix::pty::grantpt(&terminal).expect("it is ours");
    rustix::pty::unlockpt(&terminal).expect("it is ours");
    let name = rustix::pty::ptsname(&terminal, Vec::new()).expect("a name");
    let file = fs::File::options().read(true).write(true).open(name.to_str().expect("a path")).expect("it opens");
    let output = linerate().arg("agent").stdin(file).output().expect("linerate runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(shown(&output).contains("linerate fleet check"), "{}", shown(&output));
}
