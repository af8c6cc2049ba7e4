//! What a Kubernetes rests on, rendered: the control plane and the way to it, DNS, priorities, mounts, and what applies
//! settings.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use linerate_record::site::Site;
use linerate_render::{RenderError, RenderRequest, RenderedFile, render};
use serde_json::Value;

/// The sections of a site that nothing else of it needs.
const SECTIONS: [&str; 4] = ["  control_plane:", "  dns:", "  applier:", "    devices:"];

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{name}-kubernetes.yaml"));
    fs::read_to_string(path).expect("a site")
}

/// A site without some of its sections.
fn without(text: &str, sections: &[&str]) -> String {
    let mut is_in = false;
    let kept = text.lines().filter(|line| {
        let indent = line.len() - line.trim_start().len();
        is_in = sections.iter().any(|section| line.starts_with(section))
            || (is_in && indent > 2 && !line.contains("mounts"));
        !is_in
    });
    kept.map(|line| format!("{line}\n")).collect()
}

fn read(text: &str) -> Site {
    linerate_site::read(text, "site.yaml").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn rendered(text: &str) -> Vec<RenderedFile> {
    let request = RenderRequest { seed: 1, ..RenderRequest::default() };
    render(&read(text), &request).unwrap_or_else(|error| panic!("{error:?}\n{text}")).files
}

/// The keys of what keeps a site from being rendered.
fn faults(text: &str) -> Vec<String> {
    match render(&read(text), &RenderRequest::default()) {
        Err(RenderError::Site(faults)) => faults.into_iter().map(|fault| fault.path).collect(),
        other => panic!("{other:?}\n{text}"),
    }
}

fn file<'f>(files: &'f [RenderedFile], path: &str) -> &'f str {
    let found = files.iter().find(|file| file.path == path);
    &found
        .unwrap_or_else(|| panic!("no {path} among {:?}", files.iter().map(|file| &file.path).collect::<Vec<_>>()))
        .text
}

fn documents(files: &[RenderedFile], path: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(file(files, path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The flags of a component, by their names.
fn flag<'d>(component: &'d Value, name: &str) -> &'d str {
    let all = component["extraArgs"].as_array().expect("flags");
    all.iter().find(|flag| flag["name"] == name).and_then(|flag| flag["value"].as_str()).unwrap_or_default()
}

/// A site with an API server of its own, and without all of this.
fn bare() -> String {
    let own = text("minio-8").replace("  pod_cidr:", "  api_server: api.example.com\n  pod_cidr:");
    without(&without(&own, &SECTIONS), &["  git:", "  observation:", "  load:"])
}

#[test]
fn what_a_site_does_not_describe_is_not_written() {
    let files = rendered(&bare());
    let folders: BTreeSet<&str> = files.iter().filter_map(|file| Some(file.path.split_once('/')?.0)).collect();
    assert_eq!(folders, BTreeSet::from(["cilium", "engine", "hosts", "priority", "storage"]));
    assert!(!files.iter().any(|file| file.path.contains("systemd/") || file.path.contains("applier")));
    let all = file(&files, "kustomization.yaml");
    assert!(!all.contains("- dns") && all.contains("- priority"), "{all}");
    assert!(file(&files, "cilium/values.yaml").contains("k8sServiceHost: api.example.com"));
}

#[test]
fn nothing_that_enters_machines_is_applied_with_the_rest() {
    let files = rendered(&text("minio-8"));
    for folder in ["", "cilium/", "dns/", "engine/", "priority/", "storage/"] {
        let path = format!("{folder}kustomization.yaml");
        for resource in documents(&files, &path)[0]["resources"].as_array().unwrap() {
            assert!(!resource.as_str().unwrap().contains("hosts"), "{path}");
        }
    }
    let privileged: Vec<&str> =
        files.iter().filter(|file| file.text.contains("privileged: true")).map(|file| file.path.as_str()).collect();
    assert_eq!(privileged, ["hosts/applier/applier.yaml"]);
}

#[test]
fn what_is_described_by_half_names_the_key_that_is_missing() {
    let plane = "  control_plane:";
    assert_eq!(faults(&without(&text("minio-8"), &[plane, "  dns:"])), ["kubernetes.api_server"]);
    let own = text("minio-8").replace("  pod_cidr:", "  api_server: api.example.com\n  pod_cidr:");
    assert_eq!(faults(&without(&own, &[plane])), ["kubernetes.dns.cluster_ip"]);
    let stated = without(&own, &[plane]).replace("  dns:\n", "  dns:\n    cluster_ip: 10.3.0.10\n");
    let files = rendered(&stated);
    assert!(file(&files, "dns/coredns.yaml").contains("kubernetes.dns.cluster_ip\n  clusterIP: \"10.3.0.10\""));
    assert!(!files.iter().any(|file| file.path.starts_with("control-plane/")));
}

#[test]
fn a_kind_of_nodes_does_not_take_the_appliers_folder() {
    let named = text("minio-8").replace("nodes:\n  count", "nodes:\n  name: applier\n  count");
    assert_eq!(faults(&named), ["nodes.applier.name"]);
    assert!(!rendered(&without(&named, &["  applier:"])).is_empty());
}

/// Round trip, heartbeat and election.
const TIMES: [(&str, &str, &str); 5] = [
    ("", "100", "1000"),
    ("6.35ms", "100", "1000"),
    ("67ms", "110", "1100"),
    ("180ms", "270", "2700"),
    ("1s", "1500", "15000"),
];

#[test]
fn etcds_times_follow_from_its_round_trip() {
    for (rtt, heartbeat, election) in TIMES {
        let line = if rtt.is_empty() { String::new() } else { format!("    etcd_rtt: {rtt}\n") };
        let files = rendered(&text("minio-8").replace("    etcd_rtt: 6.35ms\n", &line));
        let etcd = &documents(&files, "control-plane/init-10.0.0.11.yaml")[1]["etcd"]["local"];
        let times = (flag(etcd, "heartbeat-interval"), flag(etcd, "election-timeout"));
        assert_eq!(times, (heartbeat, election), "{rtt}");
    }
}

/// A site of so many nodes in one rack.
fn of_nodes(nodes: u32) -> String {
    let more = text("rustfs-4").replace("count: 4\n", &format!("count: {nodes}\n"));
    let named = more.replace("names: [alpha, beta, gamma, delta]", &format!("names: 'node{{1...{nodes}}}'"));
    named.replace("  load_balancer:", "  node_mask: 26\n  load_balancer:")
}

/// Nodes, requests in flight, workers that delete, requests of controllers, and replicas of CoreDNS.
const SIZES: [(u32, &str, &str, &str, u32); 3] =
    [(4, "400", "1", "20", 2), (96, "400", "1", "20", 6), (484, "800", "20", "150", 31)];

#[test]
fn limits_follow_from_the_nodes_with_the_sources_beside_them() {
    for (nodes, inflight, workers, qps, replicas) in SIZES {
        let files = rendered(&of_nodes(nodes));
        let cluster = &documents(&files, "control-plane/init-10.0.0.11.yaml")[1];
        let api = &cluster["apiServer"];
        assert_eq!((flag(api, "max-requests-inflight"), flag(api, "delete-collection-workers")), (inflight, workers));
        assert_eq!(flag(&cluster["controllerManager"], "kube-api-qps"), qps, "{nodes}");
        assert_eq!(flag(api, "goaway-chance"), "", "one API server keeps its clients");
        let dns = documents(&files, "dns/coredns.yaml");
        let deployment = dns.iter().find(|document| document["kind"] == "Deployment").unwrap();
        assert_eq!(deployment["spec"]["replicas"], replicas, "{nodes}");
        let said = file(&files, "control-plane/init-10.0.0.11.yaml");
        assert!(said.contains("Source 000: 200.") && said.contains("000: 2700."), "{said}");
    }
}

#[test]
fn a_balancer_of_the_site_needs_no_haproxy() {
    let files = rendered(&text("rustfs-4"));
    assert!(!files.iter().any(|file| file.path.contains("haproxy")));
    let cluster = &documents(&files, "control-plane/init-10.0.0.11.yaml")[1];
    assert_eq!(cluster["controlPlaneEndpoint"], "10.0.0.10:6443");
    let names = cluster["apiServer"]["certSANs"].as_array().unwrap();
    assert!(names.iter().any(|name| name == "10.0.0.10"), "{names:?}");
    let proxied = rendered(&text("minio-8"));
    let haproxy = file(&proxied, "control-plane/haproxy.cfg");
    for words in ["balance leastconn", "uri /readyz", "bind 127.0.0.1:7443", "server api3 10.0.0.13:6443", "inter 2s"] {
        assert!(haproxy.contains(words), "{words}: {haproxy}");
    }
    let many = text("minio-8").replace("  count: 8\n", "  count: 484\n").replace("node{01...08}", "node{001...484}");
    let many = many.replace("  load_balancer:", "  node_mask: 26\n  load_balancer:");
    assert!(file(&rendered(&many), "control-plane/haproxy.cfg").contains("inter 5s"));
}

/// What kubeadm and the kubelet read has no document before the first one: kubeadm refuses a comment as one.
#[test]
fn kubeadm_reads_no_document_that_is_a_comment() {
    for name in ["minio-8", "rustfs-4"] {
        let files = rendered(&text(name));
        let all = files.iter().filter(|file| file.path.starts_with("control-plane/") && file.path.ends_with(".yaml"));
        for file in all {
            let documents: Vec<&str> = file.text.split("---\n").collect();
            assert!(documents.iter().all(|document| document.contains("\nkind: ")), "{}", file.path);
        }
    }
}

#[test]
fn a_kubelet_divides_numa_nodes_as_far_as_the_site_states_them() {
    let patch = "control-plane/nodes/storage/kubeletconfiguration.yaml";
    let (one, two) = (text("minio-8"), text("minio-8").replace("  sockets: 1\n", "  sockets: 2\n"));
    let kubelet_patch = |text: &str| documents(&rendered(text), patch)[0].clone();
    assert!(
        kubelet_patch(&one).get("cpuManagerPolicy").is_none()
            && kubelet_patch(&one).get("memoryManagerPolicy").is_none()
    );
    let divided = kubelet_patch(&two);
    assert_eq!(divided["cpuManagerPolicy"], "static");
    assert_eq!(
        (&divided["topologyManagerPolicy"], &divided["memoryManagerPolicy"]),
        (&"best-effort".into(), &"Static".into())
    );
    let mebibytes = |value: &Value| value.as_str().unwrap().trim_end_matches("Mi").parse::<u64>().unwrap();
    let reserved =
        mebibytes(&divided["kubeReserved"]["memory"]) + mebibytes(&divided["systemReserved"]["memory"]) + 100;
    let nodes = divided["reservedMemory"].as_array().unwrap();
    assert_eq!(nodes.iter().map(|node| mebibytes(&node["limits"]["memory"])).sum::<u64>(), reserved);
    // Exclusive processors need some that are nobody's.
    let no_cores = two.replace("  cores: 32\n", "");
    assert!(kubelet_patch(&no_cores).get("cpuManagerPolicy").is_none());
    assert!(file(&rendered(&no_cores), patch).contains("nodes.storage.cores is"));
    // Of a machine of which nothing is stated, nothing is reserved.
    assert!(!rendered(&text("rustfs-4")).iter().any(|file| file.path == patch));
}

#[test]
fn pods_of_a_node_are_no_more_than_its_addresses() {
    for (mask, pods) in [("24", 110), ("25", 110), ("26", 60), ("28", 12)] {
        let masked = text("minio-8").replace("  native_cidr", &format!("  node_mask: {mask}\n  native_cidr"));
        let kubelet = &documents(&rendered(&masked), "control-plane/init-10.0.0.11.yaml")[2];
        assert_eq!(kubelet["maxPods"], pods, "/{mask}");
    }
}

#[test]
fn names_within_the_cluster_have_the_domain_that_is_stated() {
    let files = rendered(&text("minio-8").replace("  dns:\n", "  dns:\n    domain: storage.internal\n"));
    for path in
        ["engine/stateful-sets.yaml", "dns/coredns.yaml", "dns/node-cache.yaml", "control-plane/init-10.0.0.11.yaml"]
    {
        let said = file(&files, path);
        assert!(said.contains("storage.internal") && !said.contains("cluster.local"), "{path}");
    }
}

#[test]
fn caches_are_as_advised_and_redirected_to_by_cilium() {
    let files = rendered(&text("rustfs-4"));
    let (server, cache) = (file(&files, "dns/coredns.yaml"), file(&files, "dns/node-cache.yaml"));
    for said in [server, cache] {
        for words in
            ["success 30000", "denial 30000", "prefetch 10 1m 10%", "serve_stale 1h", "forward . 10.0.0.2 10.0.0.3"]
        {
            assert!(said.contains(words), "{words}: {said}");
        }
    }
    assert!(cache.contains("serve_stale 1h verify") && !server.contains("autopath @"), "{cache}");
    let values: Value = serde_saphyr::from_str(file(&files, "cilium/values.yaml")).unwrap();
    assert_eq!(values["localRedirectPolicies"]["enabled"], true);
    let redirect = &documents(&files, "dns/redirect.yaml")[0]["spec"];
    let daemons = documents(&files, "dns/node-cache.yaml");
    let pods =
        &daemons.iter().find(|one| one["kind"] == "DaemonSet").unwrap()["spec"]["template"]["metadata"]["labels"];
    assert_eq!(&redirect["redirectBackend"]["localEndpointSelector"]["matchLabels"], pods);
}

#[test]
fn every_pod_of_the_engine_has_the_class_that_is_written() {
    for name in ["minio-8", "rustfs-4"] {
        let files = rendered(&text(name));
        let class = &documents(&files, "priority/pods.yaml")[0];
        for set in documents(&files, "engine/stateful-sets.yaml") {
            assert_eq!(set["spec"]["template"]["spec"]["priorityClassName"], class["metadata"]["name"]);
        }
        let requests = documents(&files, "priority/requests.yaml");
        assert_eq!(requests[1]["spec"]["priorityLevelConfiguration"]["name"], requests[0]["metadata"]["name"]);
    }
}

#[test]
fn each_drive_is_a_unit_of_its_folder() {
    let files = rendered(&text("minio-8").replace("/data{1...4}\n    devices", "/mnt/disk-{1...4}\n    devices"));
    for drive in 1..=4 {
        let unit = file(&files, &format!(r"hosts/storage/systemd/mnt-disk\x2d{drive}.mount"));
        let lines = [format!("What=/dev/disk/by-label/data{drive}"), format!("Where=/mnt/disk-{drive}")];
        assert!(lines.iter().all(|line| unit.lines().any(|one| one == line)), "{unit}");
        assert!(unit.contains("Options=rw,noatime,inode64,logbsize=256k,nodiscard\n"), "{unit}");
        let trimmed = format!("fstrim --verbose --quiet-unsupported /mnt/disk-{drive}\n");
        assert!(file(&files, "hosts/storage/systemd/fstrim.service.conf").contains(&trimmed));
    }
    let timer = file(&files, "hosts/storage/systemd/fstrim.timer.conf");
    assert!(timer.contains("RandomizedDelaySec=144h") && timer.contains("FixedRandomDelay=true"), "{timer}");
}

#[test]
fn the_appliers_watch_is_on_the_machine() {
    let script = |text: &str| {
        let all = documents(&rendered(text), "hosts/applier/applier.yaml");
        all.iter().find_map(|document| document["data"]["applier.sh"].as_str().map(str::to_owned)).unwrap()
    };
    let proxied = script(&text("minio-8"));
    assert!(proxied.contains("systemd-run --unit=linerate-apply") && !proxied.contains("--foreground"), "{proxied}");
    assert!(proxied.contains("wget -q -O /dev/null http://127.0.0.1:7444/healthz") && !proxied.contains("--site"));
    let own = text("rustfs-4") + "  applier: {image: 'busybox:1', program: /opt/linerate, site: /etc/site.yaml}\n";
    let own = script(&own);
    assert!(own.contains("nc -z -w 5 10.0.0.10 6443") && own.contains("/opt/linerate \"$@\""), "{own}");
    assert_eq!(own.matches("--site /etc/site.yaml").count(), 2, "{own}");
}

/// Programs in the place of those that the applier's script calls: each writes what it was called with, and
/// linerate and
/// wget end as their variables say.
const CALLED: [(&str, &str); 5] = [
    ("nsenter", "while [ \"$1\" != -- ]; do shift; done; shift; exec \"$@\""),
    ("systemd-run", "while [ \"${1#--}\" != \"$1\" ]; do shift; done; echo \"unit $2 $3\" >>\"$LOG\"; exec \"$@\""),
    ("linerate", "echo \"$1 $2\" >>\"$LOG\"; case $1.$2 in audit.*) exit $AUDIT ;; tune.apply) exit $APPLY ;; esac"),
    ("wget", "exit $REACHED"),
    // The hour between two looks ends the script.
    ("sleep", "[ \"$1\" = 60 ] || kill $PPID"),
];

/// What audit and apply end with, whether an API server is reached, and what is called in turn.
const COURSES: [(&str, &str, &str, &[&str]); 4] = [
    ("0", "0", "0", &[]),
    ("5", "0", "0", &["tune diff", "unit tune apply", "tune apply", "tune confirm"]),
    ("5", "6", "0", &["tune diff", "unit tune apply", "tune apply"]),
    ("5", "0", "1", &["tune diff", "unit tune apply", "tune apply"]),
];

#[test]
fn the_applier_confirms_only_what_left_the_machine_reachable() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("applier");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in CALLED {
        fs::write(folder.join(name), format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(folder.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let site = text("minio-8").replace("1.37.0\"}", "1.37.0\", program: /opt/linerate}");
    let all = documents(&rendered(&site), "hosts/applier/applier.yaml");
    let script = all.iter().find_map(|document| document["data"]["applier.sh"].as_str()).unwrap();
    let state = folder.display().to_string();
    let script = script.replace("/opt/linerate", &format!("{state}/linerate")).replace("/state/", &format!("{state}/"));
    let script = script.replace("/run/", &format!("{state}/"));
    for (audit, apply, reached, expected) in COURSES {
        let log = folder.join("log");
        fs::write(&log, "").unwrap();
        let path = format!("{state}:{}", std::env::var("PATH").unwrap_or_default());
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &script]).env("PATH", path).env("LOG", &log);
        let output = command.envs([("AUDIT", audit), ("APPLY", apply), ("REACHED", reached)]).output().unwrap();
        let said = fs::read_to_string(&log).unwrap();
        // A look before, and one after.
        let mut whole = vec!["audit --profile"];
        whole.extend(expected.iter().copied());
        whole.push("audit --profile");
        assert_eq!(said.lines().collect::<Vec<_>>(), whole, "{audit} {apply} {reached}: {output:?}");
        assert_eq!(folder.join("differs").exists(), audit != "0");
        let is_reported = String::from_utf8_lossy(&output.stdout).contains("not confirmed");
        assert_eq!(is_reported, expected.len() == 3, "{output:?}");
    }
}
