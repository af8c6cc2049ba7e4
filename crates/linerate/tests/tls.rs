//! The main job over TLS, end to end, on the targets that linerate brings along; IPv6, many addresses of a name, and
//! local addresses. No root, nothing changed on the machine.

use std::net::{TcpListener, ToSocketAddrs as _};

use linerate_record::finding::{FindingKind, Severity};
use linerate_record::run::{MaybeKnown, Op, TargetKind};
use tempfile::tempdir;

use crate::running;
use crate::running::{
    ACCESS_KEY, SECRET_KEY, Served, bench, bench_view, bench_with, files_below, points, shown, verify, view,
};

/// Short points: the tests are about what is right, not about how fast.
const SHORT: &str = "--duration 1s --warmup 100ms --no-ceiling --objects 40";

#[test]
fn every_operation_and_payload_is_verified_over_tls_and_leaves_nothing() {
    let (drive, out) = (tempdir().unwrap(), tempdir().unwrap());
    let target = Served::start("embedded", Some(drive.path()), "--tls");
    for (i, flags) in [
        "--op get,put --obj.size 0,1,16384,70000 --payload signed --unique tail",
        "--op get,put --obj.size 300000 --payload unsigned --unique full",
        "--op get --obj.size 200000 --range-size 30000",
        "--op stat,list,delete --obj.size 100",
        "--op mixed --obj.size 4096:3,8192:1 --mix get=4,put=3,stat=2,delete=1",
    ]
    .into_iter()
    .enumerate()
    {
        let flags = format!(
            "--host https://{} --ca-file {} --concurrent 5 {} {SHORT} {flags}",
            target.address,
            target.ca,
            verify(flags)
        );
        let view = bench_view(&out.path().join(i.to_string()), &flags);
        for point in points(&view) {
            assert!(point.requests > 0 && point.error_count() == 0, "{flags}: {point:?}");
            assert!(
                running::has_a_latency_of_each_request(point),
                "{flags}: {} of {}",
                point.total.count,
                point.requests
            );
        }
        let tls = view.run.target.tls.as_ref().expect("TLS is told");
        assert_eq!((tls.version.as_str(), tls.verified), ("TLSv1.3", true));
        let left = files_below(target.root.as_deref().expect("it has a folder"));
        let left: Vec<_> = left.iter().filter(|f| !f.split('/').any(|part| part.starts_with('.'))).collect();
        assert_eq!(left, Vec::<&String>::new(), "{flags}");
    }
}

#[test]
fn who_cannot_be_trusted_or_speaks_otherwise_is_named_and_nothing_hangs() {
    let drive = tempdir().unwrap();
    // Listening on every address, its certificate is for none but those of `localhost`.
    let everywhere = Served::start("null", None, "--tls --listen 0.0.0.0:0");
    let port = everywhere.address.rsplit(':').next().unwrap().to_owned();
    let over_tls = Served::start("embedded", Some(drive.path()), "--tls");
    let other = Served::start("null", None, "--tls");
    let plain = Served::null();
    for (host, flags, parts) in [
        (format!("https://{}", over_tls.address), String::new(), ["unknown issuer", "--ca-file"]),
        (over_tls.address.clone(), format!("--tls --ca-file {}", other.ca), ["bad signature", "--ca-file"]),
        (format!("https://127.0.0.2:{port}"), format!("--ca-file {}", everywhere.ca), ["not valid for", "--insecure"]),
        (format!("https://{}", plain.address), String::new(), ["failed to speak TLS", "without --tls"]),
        (over_tls.address.clone(), String::new(), [over_tls.address.as_str(), "https://, or --tls"]),
        (other.address.clone(), String::new(), [other.address.as_str(), "https://, or --tls"]),
    ] {
        let out = tempdir().unwrap();
        let output = bench(&out.path().join("run"), &format!("--host {host} {flags} --op get --concurrent 1 {SHORT}"));
        assert_eq!(output.status.code(), Some(3), "{host} {flags}: {}", shown(&output));
        for part in parts {
            assert!(shown(&output).contains(part), "{host} {flags}: {part:?} in {}", shown(&output));
        }
        assert!(!out.path().join("run").exists(), "{host} {flags} left a folder");
    }
}

#[test]
fn who_believes_any_certificate_is_told_so() {
    let (out, target) = (tempdir().unwrap(), Served::start("null", None, "--tls"));
    let flags =
        format!("--host {} --tls --insecure --op get,put --obj.size 4KiB --concurrent 2 {SHORT}", target.address);
    let view = bench_view(out.path(), &flags);
    assert!(points(&view).iter().all(|p| p.requests > 0 && p.error_count() == 0));
    assert!(!view.run.target.tls.as_ref().unwrap().verified);
    let reported = view.findings.iter().find(|f| f.kind == FindingKind::Unverified).expect("a finding");
    assert_eq!(reported.severity, Severity::Warning);
}

#[test]
fn a_target_of_its_own_over_tls_shows_what_tls_costs() {
    let out = tempdir().unwrap();
    let flags = "--tls --op get,stat --obj.size 256KiB --concurrent 2 --duration 300ms --warmup 100ms --objects 10";
    let view = bench_view(out.path(), flags);
    assert_eq!((view.run.target.kind.known(), view.ceilings.len()), (Some(&TargetKind::Embedded), 2));
    assert!(view.run.target.tls.is_some() && view.findings.iter().all(|f| f.kind != FindingKind::Unverified));
    for ceiling in &view.ceilings {
        let plain = ceiling.plain.as_ref().expect("the ceiling without TLS is told");
        assert!(
            plain.requests > 0 && ceiling.point.requests > 0 && plain.error_count() + ceiling.point.error_count() == 0
        );
        let (over, without) = (ceiling.point.client_cpu.unwrap(), plain.client_cpu.unwrap());
        // Encrypting costs processor time wherever it is done, however busy the machine.
        assert!(!ceiling.workload.is_only(Op::Get) || over.s_per_gib > without.s_per_gib, "{over:?} {without:?}");
    }
    for (flags, part) in [("--why", "without TLS)"), ("-f csv", ",plain-ceiling,"), ("--why", "TLSv1.3")] {
        let output = running::linerate().arg("report").arg(out.path()).args(flags.split(' ')).output().unwrap();
        assert!(shown(&output).contains(part), "{flags}: {}", shown(&output));
    }
}

#[test]
fn the_endpoint_of_the_environment_may_be_https_and_keys_stay_secret() {
    let (drive, out) = (tempdir().unwrap(), tempdir().unwrap());
    let target = Served::start("embedded", Some(drive.path()), "--tls");
    let keys = [
        ("AWS_ACCESS_KEY_ID", ACCESS_KEY.to_owned()),
        ("AWS_SECRET_ACCESS_KEY", SECRET_KEY.to_owned()),
        ("AWS_ENDPOINT_URL", format!("https://{}", target.address)),
    ];
    let flags = format!("--ca-file {} --op get --obj.size 100 --concurrent 1 {SHORT} --json", target.ca);
    let output = bench_with(out.path(), &flags, &keys);
    assert!(output.status.success(), "{}", shown(&output));
    assert!(view(out.path()).run.target.tls.is_some());
    let mut texts = vec![shown(&output), std::fs::read_to_string(&target.ca).unwrap()];
    for file in files_below(out.path()) {
        texts.push(String::from_utf8_lossy(&std::fs::read(out.path().join(file)).unwrap()).into_owned());
    }
    for text in texts {
        let secret = [SECRET_KEY, ACCESS_KEY, "PRIVATE KEY"].into_iter().find(|secret| text.contains(secret));
        assert_eq!(secret, None, "in {text:.200}");
    }
    let folder = std::path::Path::new(&target.ca).parent().unwrap().to_owned();
    drop(target);
    assert!(!folder.exists(), "the certificate's folder goes with the target");
}

#[test]
fn the_environment_of_warp_may_ask_for_tls_of_hosts_without_a_scheme() {
    let (out, target) = (tempdir().unwrap(), Served::start("null", None, "--tls"));
    let run = |name: &str, host: &str, asks: &str| {
        let keys = [("WARP_HOST", host.to_owned()), ("WARP_TLS", asks.to_owned())];
        let flags = format!("--anonymous --op get --obj.size 100 --concurrent 1 {SHORT}");
        let flags = if asks == "true" { format!("{flags} --ca-file {}", target.ca) } else { flags };
        bench_with(&out.path().join(name), &flags, &keys)
    };
    let output = run("asked", &target.address, "true");
    assert!(output.status.success(), "{}", shown(&output));
    let output = run("not-asked", &target.address, "false");
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
}

#[test]
fn ipv6_addresses_are_loaded_plain_and_over_tls_where_there_is_ipv6() {
    if TcpListener::bind("[::1]:0").is_err() {
        return;
    }
    let out = tempdir().unwrap();
    let plain = Served::start("null", None, "--listen [::1]:0");
    let over_tls = Served::start("null", None, "--tls --listen [::1]:0");
    for (i, flags) in [
        format!("--host {}", plain.address),
        format!("--host https://{}/ --ca-file {}", over_tls.address, over_tls.ca),
        format!("--host {} --source ::1", plain.address),
    ]
    .into_iter()
    .enumerate()
    {
        let view = bench_view(
            &out.path().join(i.to_string()),
            &format!("{flags} --op get,put --obj.size 70000 --concurrent 2 {SHORT}"),
        );
        assert!(points(&view).iter().all(|p| p.requests > 0 && p.error_count() == 0), "{flags}");
        assert!(view.run.target.hosts[0].starts_with("[::1]:") && view.run.target.on_this_machine);
    }
}

#[test]
fn every_address_of_a_name_is_loaded_under_its_name_where_asked() {
    let addresses: std::collections::BTreeSet<_> =
        ("localhost", 0).to_socket_addrs().unwrap().map(|a| a.ip()).collect();
    let listen = if addresses.iter().any(|a| a.is_ipv6()) { "[::]:0" } else { "0.0.0.0:0" };
    let (out, target) = (tempdir().unwrap(), Served::start("null", None, &format!("--tls --listen {listen}")));
    let port = target.address.rsplit(':').next().unwrap();
    let flags = format!(
        "--host https://localhost:{port} --resolve-host --ca-file {} --op get --obj.size 4KiB --concurrent 4 {SHORT}",
        target.ca
    );
    let view = bench_view(out.path(), &flags);
    assert_eq!(view.run.target.hosts.len(), addresses.len(), "{:?}", view.run.target.hosts);
    for address in &addresses {
        let label = match addresses.len() {
            1 => format!("localhost:{port}"),
            _ => format!("localhost:{port} ({address})"),
        };
        assert!(view.run.target.hosts.contains(&label), "{label} in {:?}", view.run.target.hosts);
    }
    assert!(points(&view)[0].hosts.iter().all(|h| h.requests > 0 && h.errors == 0), "{:?}", points(&view)[0].hosts);
}

#[test]
fn local_addresses_are_recorded_and_refused_where_they_are_not_local() {
    let (out, target) = (tempdir().unwrap(), Served::null());
    let flags = format!("--host {} --op get --obj.size 4KiB --concurrent 4 {SHORT}", target.address);
    let view = bench_view(&out.path().join("run"), &format!("{flags} --source 127.0.0.2,127.0.0.3"));
    assert_eq!(view.run.requested.sources, ["127.0.0.2", "127.0.0.3"].map(MaybeKnown::read));
    assert_eq!(points(&view)[0].error_count(), 0);
    for (source, part) in
        [("192.0.2.7", "not an address of this machine"), ("no-such0", "interface"), ("::1", "family")]
    {
        let refused = bench(&out.path().join("refused"), &format!("{flags} --source {source}"));
        assert_eq!(refused.status.code(), Some(2), "{source}: {}", shown(&refused));
        assert!(shown(&refused).contains(part), "{source}: {}", shown(&refused));
    }
}
