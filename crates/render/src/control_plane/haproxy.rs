//! HAProxy of every machine, which passes connections on to API servers.

use std::fmt::Write as _;

use crate::api_server_route::LOCAL;
use crate::deployment::Deployment;
use crate::file::RenderedFile;
use crate::yaml::comment;

/// Checks a second that an API server answers.
const CHECKS_PER_S: u64 = 100;

/// Seconds between two checks at the least.
const CHECK_S_MIN: u64 = 2;

/// Checks that fail before an API server counts as gone.
const FAILED: u64 = 2;

/// Lines of a configuration, each with why.
type Lines<'l> = &'l [(String, &'l str)];

pub(super) fn files(deployment: &Deployment<'_>) -> Vec<RenderedFile> {
    if deployment.api.proxied.is_none() {
        return Vec::new();
    }
    let unit = format!(
        "{}[Unit]\nBefore=kubelet.service\nStartLimitIntervalSec=0\n\n[Service]\nRestart=always\nRestartSec=1\n",
        head(
            deployment,
            "For /etc/systemd/system/haproxy.service.d/linerate.conf. A service and no static pod: kubeadm asks an API \
             server before a kubelet runs that could start one. Without it a machine reaches no API server: it is \
             started again for as long as it takes."
        )
    );
    vec![
        RenderedFile::new("control-plane/haproxy.cfg", configuration(deployment)),
        RenderedFile::new("control-plane/haproxy.service.conf", unit),
    ]
}

fn head(deployment: &Deployment<'_>, what: &str) -> String {
    let mut text = String::new();
    comment(&deployment.head(what), 0, &mut text);
    text
}

fn section(name: &str, lines: Lines<'_>, text: &mut String) {
    // Writing to a string does not fail.
    let _ = writeln!(text, "\n{name}");
    for (line, why) in lines {
        comment(why, 4, text);
        let _ = writeln!(text, "    {line}");
    }
}

fn configuration(deployment: &Deployment<'_>) -> String {
    let line = |text: &str, why: &'static str| (text.to_owned(), why);
    let mut text = head(
        deployment,
        "HAProxy of every machine, of the control plane too, for /etc/haproxy/haproxy.cfg: what asks an API server \
         asks 127.0.0.1, and gets one that answers. It passes TLS on as it is. No address moves from machine to \
         machine, so that there is no election, and neither ARP nor BGP is needed before Cilium runs.",
    );
    section(
        "global",
        &[
            line("log stdout format raw local0 notice", "The journal."),
            line("maxconn 4096", "A kubelet and the agents of a machine have tens."),
        ],
        &mut text,
    );
    section("defaults", &defaults(), &mut text);
    let bind =
        (format!("bind {LOCAL}:{}", deployment.api.port), "kubernetes.control_plane.port: of this machine alone.");
    section("frontend kubernetes", &[bind, line("default_backend api-servers", "")], &mut text);
    backend(deployment, &mut text);
    let health = [
        (
            format!("bind {LOCAL}:{}", deployment.api.health_port()),
            "The port after it: whether any API server is reached.",
        ),
        line("mode http", ""),
        line("monitor-uri /healthz", ""),
        line("acl unreached nbsrv(api-servers) lt 1", ""),
        line("monitor fail if unreached", ""),
    ];
    section("frontend health", &health, &mut text);
    text
}

fn defaults() -> Vec<(String, &'static str)> {
    let line = |text: &str, why: &'static str| (text.to_owned(), why);
    vec![
        line("mode tcp", ""),
        line("log global", ""),
        line("option redispatch", "A connection that one API server does not take goes to another one."),
        line("retries 2", ""),
        line("timeout connect 2s", "Machines of one site: far above a round trip, far below what clients wait for."),
        line(
            "timeout client 10m",
            "Watches are silent for minutes: clients of Kubernetes ask every 30 s whether a connection lives (HTTP/2).",
        ),
        line("timeout server 10m", ""),
        line("timeout check 2s", ""),
    ]
}

fn backend(deployment: &Deployment<'_>, text: &mut String) {
    let Some(plane) = deployment.api.proxied else { return };
    let machines = u64::from(deployment.site.nodes()) + plane.hosts.len() as u64;
    let every_s = machines.div_ceil(CHECKS_PER_S).max(CHECK_S_MIN);
    let of_checks = format!(
        "{machines} machines check each API server: every {every_s} s, so that it answers {CHECKS_PER_S} checks a \
         second at most. One that fails {FAILED} is gone after {} s, and its connections are closed, so that clients \
         take another one. Certificates are the clients' to check: before kubeadm has run, a machine has no authority \
         to check them by.",
        every_s * FAILED
    );
    let lines = [
        (
            "balance leastconn".to_owned(),
            "Connections last for days: in turn, a server that has come back would have none for as long.",
        ),
        ("option httpchk".to_owned(), ""),
        (
            format!("http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host {LOCAL}"),
            "Not /livez: an API server that lives and has no etcd, or that is about to end, serves nobody.",
        ),
        ("http-check expect status 200".to_owned(), ""),
        (
            format!(
                "default-server check check-ssl verify none inter {every_s}s fall {FAILED} rise 2 \
                 on-marked-down shutdown-sessions"
            ),
            of_checks.as_str(),
        ),
    ];
    section("backend api-servers", &lines, text);
    for (i, host) in plane.hosts.iter().enumerate() {
        let _ = writeln!(text, "    server api{} {host}:{}", i + 1, plane.bind_port);
    }
}
