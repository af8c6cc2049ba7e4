//! Audits of this machine with a server in a network namespace of its own.

use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use linerate_host::fingerprint::{FingerprintRequest, begin, end};
use linerate_host::{Root, serving};
use linerate_record::audit::Audit;
use linerate_record::knob::Space;

use super::Namespaces;
use crate::running::{linerate, shown};

fn audit(flags: &[&str]) -> Audit {
    let output = linerate().args(["audit", "--json"]).args(flags).output().expect("linerate runs");
    assert!(output.status.success(), "{}", shown(&output));
    serde_json::from_slice(&output.stdout).expect("an audit")
}

fn somaxconn() -> String {
    std::fs::read_to_string("/proc/sys/net/core/somaxconn").expect("a sysctl").trim().to_owned()
}

/// A server that is named by its process, and a namespace by its name.
pub(crate) fn own_network() -> Result<(), Failed> {
    let spaces = Namespaces::make(None);
    spaces.set("net.core.somaxconn", "77");
    let server = spaces.null_target();
    let pid = server.pid();
    let reported = audit(&["--pid", &pid.to_string()]);
    let engine = reported.engines.iter().find(|engine| engine.pid == pid).ok_or("the process is not told")?;
    assert!(engine.own_network, "{engine:?}");
    let one = reported.unreached.iter().find(|one| one.knob == "net.core.somaxconn" && one.engine.pid == pid);
    let one = one.ok_or_else(|| format!("not told: {:?}", reported.unreached))?;
    assert_eq!((&one.host, one.engine_value.as_str()), (&somaxconn(), "77"));
    let inside = reported.differences.iter().find(|d| d.knob == "net.core.somaxconn" && d.space == Space::Pid(pid));
    assert!(inside.is_some_and(|difference| difference.commands[0].starts_with(&format!("nsenter -t {pid} -n"))));
    let reported = audit(&["--netns", spaces.server()]);
    let named = Space::Netns(spaces.server().to_owned());
    assert!(
        reported.differences.iter().any(|d| d.knob == "net.core.somaxconn" && d.space == named && d.present == "77")
    );
    assert_eq!(linerate().args(["audit", "--check"]).output()?.status.code(), Some(5));
    Ok(())
}

/// The server behind an address is found from outside its namespace, and with it what an experiment looks at.
pub(crate) fn behind_an_address() -> Result<(), Failed> {
    let spaces = Namespaces::make(None);
    let server = spaces.null_target();
    let here = Root::live();
    let host = server.address.parse()?;
    let found = serving(&here, &["203.0.113.1:9001".parse()?, host]).ok_or("it is not found")?;
    assert_eq!((found.pid, found.own_network), (server.pid(), true));
    let link = std::fs::read_link(format!("/proc/{}/ns/net", server.pid()))?;
    assert_eq!(link.to_str(), Some(format!("net:[{}]", found.netns).as_str()));
    let mut elsewhere = host;
    elsewhere.set_port(9002);
    assert_eq!(serving(&here, &[elsewhere]), None, "nobody listens there");

    let hosts = [host.ip()];
    let begun = begin(&here, &FingerprintRequest { target_pid: Some(found.pid), target_hosts: &hosts });
    let print = end(begun, &here).static_keys;
    assert_eq!(print["target.netns"], format!("net:[{}]", found.netns));
    assert_ne!(print["client.netns"], print["target.netns"]);
    assert!(print["target.program"].starts_with("inode ") && print["target.started"].starts_with("at tick "));
    drop(server);
    assert_eq!(serving(&here, &[host]), None, "it has ended");
    Ok(())
}

/// MinIO in a namespace of its own is found by itself.
pub(crate) fn found() -> Result<(), Failed> {
    let program = std::env::var("MINIO")?;
    let drive = tempfile::tempdir()?;
    let line =
        "sysctl -q -w net.core.somaxconn=78; ip link set lo up; exec \"$0\" server --address 127.0.0.1:9555 \"$1\"";
    let mut command = Command::new("unshare");
    command.args(["--net", "sh", "-c", line, &program]).arg(drive.path());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = command.spawn()?;
    let pid = server.id();
    let is_minio = || std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.starts_with("minio"));
    for _ in 0..100 {
        if is_minio() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let reported = audit(&[]);
    server.kill()?;
    server.wait()?;
    let engine = reported.engines.iter().find(|engine| engine.pid == pid).ok_or("MinIO is not found")?;
    assert!(engine.program == "minio" && engine.own_network, "{engine:?}");
    let one = reported.unreached.iter().find(|one| one.knob == "net.core.somaxconn" && one.engine.pid == pid);
    assert_eq!(one.map(|one| one.engine_value.as_str()), Some("78"), "{:?}", reported.unreached);
    Ok(())
}
