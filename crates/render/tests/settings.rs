//! Settings of the machines and of pods, rendered: whose sockets they are of, what the first source has beside them,
//! and which file has what another one leaves out.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use linerate_render::{RenderRequest, RenderedFile, render};
use serde_json::Value;

fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{name}-kubernetes.yaml"));
    fs::read_to_string(path).expect("a site")
}

fn rendered(text: &str) -> Vec<RenderedFile> {
    let site = linerate_site::read(text, "site.yaml").unwrap_or_else(|error| panic!("{error}\n{text}"));
    let request = RenderRequest { seed: 1, ..RenderRequest::default() };
    render(&site, &request).unwrap_or_else(|error| panic!("{error:?}\n{text}")).files
}

fn file<'f>(files: &'f [RenderedFile], path: &str) -> &'f str {
    &files.iter().find(|file| file.path == path).unwrap_or_else(|| panic!("no {path}")).text
}

/// The settings of a file of sysctl.d: their values, and the reasons above them, unwrapped.
fn settings(text: &str) -> BTreeMap<String, (String, String)> {
    let (mut all, mut why) = (BTreeMap::new(), String::new());
    for line in text.lines() {
        match (line.strip_prefix("# "), line.split_once(" = ")) {
            (Some(comment), _) => why = format!("{why} {comment}"),
            (None, Some((name, value))) => {
                all.insert(name.to_owned(), (value.to_owned(), std::mem::take(&mut why)));
            }
            (None, None) => panic!("{line:?}"),
        }
    }
    all
}

/// The sysctls of the pods of the first StatefulSet.
fn of_pods(files: &[RenderedFile]) -> BTreeMap<String, String> {
    let sets: Vec<Value> = serde_saphyr::from_multiple(file(files, "engine/stateful-sets.yaml")).expect("YAML");
    let all = sets[0]["spec"]["template"]["spec"]["securityContext"]["sysctls"].as_array().expect("sysctls");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    all.iter().map(|one| (text(&one["name"]), text(&one["value"]))).collect()
}

/// What `restricted` admits: Kubernetes, pod-security-admission/policy/check_sysctls.go.
const ADMITTED: [(&str, u32); 6] = [
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

#[test]
fn pods_set_what_their_namespace_admits_with_the_values_of_the_machine() {
    let site = text("minio-8");
    let (start, end) = (site.find("  control_plane:").unwrap(), site.find("  dns:").unwrap());
    let own = format!("{}  api_server: api.example.com\n{}", &site[..start], &site[end..]);
    let own = own.replace("  dns:\n", "  dns:\n    cluster_ip: 10.96.0.10\n");
    for (text, minor) in [
        (site.clone(), 34),
        (site.replace("version: 1.34.4", "version: 1.32.0"), 32),
        (site.replace("version: 1.34.4", "version: 1.31.9"), 31),
        // Nobody says which Kubernetes it is: Cilium's oldest.
        (own, 30),
    ] {
        let files = rendered(&text);
        assert!(file(&files, "engine/namespace.yaml").contains("pod-security.kubernetes.io/enforce: restricted"));
        let of_machine = settings(file(&files, "hosts/storage/sysctl.conf"));
        let admitted = ADMITTED.iter().filter(|(_, since)| *since <= minor);
        let expected: BTreeMap<String, String> =
            admitted.map(|(name, _)| ((*name).to_owned(), of_machine[*name].0.clone())).collect();
        assert_eq!(of_pods(&files), expected, "1.{minor}");
    }
    let files = rendered(&site);
    assert!(file(&files, "engine/stateful-sets.yaml").contains("# net.ipv4.tcp_keepalive_time: it is below"));
}

#[test]
fn no_kubelet_allows_what_no_pod_may_set() {
    for name in ["minio-8", "rustfs-4"] {
        assert!(rendered(&text(name)).iter().all(|file| !file.text.contains("allowedUnsafeSysctls")), "{name}");
    }
}

/// A setting, what its reason says, and what it does not.
const REACHES: [(&str, &str, &str); 10] = [
    ("net.core.somaxconn", "Machine's own sockets; pods have the default: 4096 since Linux 5.4", "engine's pods"),
    ("net.ipv4.tcp_max_syn_backlog", "Machine's own sockets; pods have the default: hash entries", "copy"),
    ("net.ipv4.tcp_slow_start_after_idle", "Machine's own sockets; pods have the default: 1", "copy"),
    ("net.ipv4.tcp_mtu_probing", "Machine's own sockets; pods have the default: 0", "copy"),
    ("net.ipv4.tcp_keepalive_time", "Machine's own sockets; the engine's pods set it for themselves", "default"),
    ("net.ipv4.tcp_rmem", "start with a copy; the engine's pods set it for themselves", "own sockets"),
    ("net.ipv4.conf.all.send_redirects", "Pods that are made afterwards start with a copy", "own sockets"),
    // With the kernel's own value, nobody has another one.
    ("net.ipv4.tcp_sack", "only lost segments", "pods"),
    // Not of a network namespace, or of packets that pass.
    ("net.core.rmem_max", "rounded up", "pods"),
    ("net.netfilter.nf_conntrack_tcp_timeout_established", "removed after a day", "own sockets"),
];

#[test]
fn a_setting_of_sockets_says_whose_they_are() {
    let many = text("minio-8").replace("clients: {count: 32,", "clients: {count: 400, connections: 2000,");
    let files = rendered(&many);
    let sysctl = file(&files, "hosts/storage/sysctl.conf");
    let all = settings(sysctl);
    for (name, says, others) in REACHES {
        let why = &all[name].1;
        assert!(why.contains(says) && !why.contains(others), "{name}: {says:?}, not {others:?}: {why}");
    }
    for (path, times) in [("sysctl.conf", 1), ("tuned.conf", 1), ("udev.rules", 0), ("tmpfiles.conf", 0)] {
        let text = file(&files, &format!("hosts/storage/{path}")).replace("\n# ", " ");
        assert_eq!(text.matches("which admits no other sysctl").count(), times, "{path}\n{text}");
    }
    // Where pods of an older Kubernetes do not set it, they copy it.
    let old = settings(file(&rendered(&many.replace("1.34.4", "1.31.9")), "hosts/storage/sysctl.conf")).clone();
    assert!(old["net.ipv4.tcp_rmem"].1.contains("start with a copy. Source"), "{:?}", old["net.ipv4.tcp_rmem"]);
}

#[test]
fn settings_of_machines_have_the_sources_figures_beside_them() {
    let files = rendered(&text("minio-8"));
    let all = settings(file(&files, "hosts/storage/sysctl.conf"));
    for (name, source) in [
        ("vm.swappiness", "0"),
        ("vm.dirty_bytes", "vm.dirty_ratio = 10"),
        ("vm.dirty_background_bytes", "vm.dirty_background_ratio = 3"),
        ("kernel.hung_task_timeout_secs", "85"),
        ("fs.xfs.xfssyncd_centisecs", "72000"),
        ("net.core.busy_read", "50"),
        ("net.core.netdev_max_backlog", "250000"),
        ("net.core.somaxconn", "16384"),
        ("net.ipv4.tcp_syncookies", "0"),
        ("net.ipv4.tcp_max_syn_backlog", "16384, 65535 by TuneD"),
        ("net.netfilter.nf_conntrack_max", "800000"),
    ] {
        let why = &all[name].1;
        assert!(why.ends_with(&format!(". Source 000: {source}")), "{name}: {why}");
    }
    for (path, times) in [("tmpfiles.conf", 4), ("tuned.conf", 20)] {
        let unwrapped = file(&files, &format!("hosts/storage/{path}")).replace("\n# ", " ");
        let found = unwrapped.matches("Source 000: ").count();
        assert!(found >= times, "{path}: {found}");
    }
}

#[test]
fn what_a_format_leaves_out_is_told_where_another_file_has_it() {
    let stated = text("minio-8");
    let nameless = stated.replace("    devices: /dev/disk/by-label/data{1...4}\n", "");
    let words = "# left out: block.fstrim_timer = active (systemd: fstrim.timer)";
    for (text, expected) in [(stated, ": systemd/fstrim.timer.conf has it\n"), (nameless, "\n")] {
        let files = rendered(&text);
        for name in ["tmpfiles.conf", "tuned.conf"] {
            let found = file(&files, &format!("hosts/storage/{name}"));
            assert!(found.contains(&format!("{words}{expected}")), "{name} {expected:?}\n{found}");
        }
        let has_file = files.iter().any(|file| file.path == "hosts/storage/systemd/fstrim.timer.conf");
        assert_eq!(has_file, expected.len() > 1);
    }
}
