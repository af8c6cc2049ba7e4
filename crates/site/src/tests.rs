//! Texts of people, and what is made of them.

use std::collections::BTreeSet;

use linerate_record::site::*;
use proptest::prelude::*;

use super::keys::{DefaultRule, Key, SITE, Shape};
use super::*;

const TEN_LINES: &str = "\
nodes:
  count: 8
  drives: {count: 8, capacity: 7.68TB, read: 6.5GB/s, write: 3GB/s}
  nics: {ports: 2, speed: 25Gb/s}
engine: minio
";

fn message(text: &str) -> String {
    read(text, "site.yaml").expect_err(text).to_string()
}

/// What readers of older folders take where one says nothing.
#[test]
fn the_table_and_the_record_have_the_same_defaults() {
    let site = read(&format!("{TEN_LINES}goals: {{tolerates: {{drives: 2}}}}\n"), "site.yaml").unwrap();
    assert_eq!(site.data.variability, VARIABILITY);
    assert_eq!(site.goals.tolerates, Some(Tolerates::default()));
    let only_nodes = read(&format!("{TEN_LINES}goals: {{tolerates: {{nodes: 1}}}}\n"), "site.yaml").unwrap();
    assert_eq!(only_nodes.goals.tolerates, Some(Tolerates::default()));
}

#[test]
fn a_uniform_cluster_is_a_few_lines_and_the_rest_is_named_as_assumed() {
    let site = read(TEN_LINES, "site.yaml").unwrap();
    let group = &site.groups[0];
    assert_eq!((site.nodes(), group.drives_per_node(), group.name.as_str()), (8, 8, "storage"));
    assert_eq!((group.cores, group.pcie.lanes_per_socket, group.memory_bytes), (32, 64, 128 << 30));
    assert_eq!(group.drives[0].capacity_bytes, 7_680_000_000_000);
    let bond = &group.bonds[0];
    assert_eq!((bond.name.as_str(), bond.mode, bond.transmit_hash), ("bond0", BondMode::Lacp, TransmitHash::Layer2));
    assert_eq!((site.planes.public.link.as_str(), site.planes.public.mtu_bytes), ("bond0", 1500));
    assert!(site.planes.private.is_none() && site.clients.count == 0);
    assert_eq!(site.engine.protection, Protection::Sets { set_drives: None, parity: None });
    for path in [
        "name",
        "nodes.storage.name",
        "nodes.storage.cores",
        "nodes.storage.pcie.generation",
        "nodes.storage.pcie.lanes",
        "nodes.storage.drives.0.read_iops",
        "nodes.storage.nics.0.lanes",
        "nodes.storage.bonds.0.transmit_hash",
        "planes.public.link",
        "planes.public.mtu",
        "engine.protection",
        "engine.internal_tls",
        "entry.path",
        "data.object_size",
        "data.variability",
    ] {
        assert!(site.is_assumed(path), "{path} of {:#?}", site.assumed);
    }
    for path in ["nodes.storage.count", "nodes.storage.drives.0.read", "nodes.storage.nics.0.ports", "engine.product"] {
        assert!(!site.is_assumed(path), "{path}");
    }
    assert!(site.assumed["nodes.storage.bonds.0.transmit_hash"].contains("bond_main.c"));
}

#[test]
fn a_value_marked_as_assumed_is_that_value_and_its_reason() {
    let text = TEN_LINES.replace("ports: 2", "ports: {assumed: 2, because: somebody said so}")
        + "planes: {public: {mtu: {assumed: 9000}}}\n";
    let site = read(&text, "site.yaml").unwrap();
    assert_eq!(site.planes.public.mtu_bytes, 9000);
    assert_eq!(site.assumed["planes.public.mtu"], "marked as assumed");
    assert_eq!(site.assumed["nodes.storage.nics.0.ports"], "somebody said so");
}

#[test]
fn a_whole_mapping_marked_as_assumed_marks_what_is_stated_in_it() {
    for text in [
        TEN_LINES.replace("{ports: 2, speed: 25Gb/s}", "{assumed: {ports: 2, speed: 25Gb/s}, because: a guess}"),
        TEN_LINES.replace("{ports: 2, speed: 25Gb/s}", "[{assumed: {ports: 2, speed: 25Gb/s}, because: a guess}]"),
    ] {
        let site = read(&text, "site.yaml").unwrap();
        assert_eq!(site.assumed["nodes.storage.nics.0.speed"], "a guess");
        assert_ne!(site.assumed["nodes.storage.nics.0.lanes"], "a guess");
    }
}

#[test]
fn a_wrong_word_is_marked_in_its_line_and_the_right_one_is_named() {
    let text = "nodes:\n  count: 4\n  drives: {count: 4, capacity: 1TB}\n  nics: {ports: 2, speed: 25Gb/s}\n  \
                bonds:\n    mode: lacp\nengine: minio\n";
    let expected = "site.yaml:6:11: unknown bond mode \"lacp\" (nodes.bonds.mode)
  6 |     mode: lacp
    |           ^^^^ did you mean \"802.3ad\"? Modes: 802.3ad, active-backup, balance-xor, balance-rr, balance-tlb, \
         balance-alb, broadcast";
    assert_eq!(message(text), expected);
}

#[test]
fn several_mistakes_are_told_at_once_and_no_more_than_ten() {
    let text = TEN_LINES.replace("count: 8", "cuont: 8").replace("25Gb/s", "25GB/s").replace("minio", "swift");
    let error = read(&text, "s.yaml").unwrap_err();
    let message = error.to_string();
    assert_eq!(message.matches("s.yaml:").count(), error.count(), "{message}");
    assert_eq!(message.matches("\nerror: s.yaml:").count(), error.count() - 1, "{message}");
    assert!(message.contains("did you mean \"count\"?") && message.contains("small b"), "{message}");
    let many: String = (0..40).map(|i| format!("key{i}: 1\n")).collect();
    let error = read(&(TEN_LINES.to_owned() + &many), "s.yaml").unwrap_err();
    assert_eq!((error.count(), error.to_string().matches("s.yaml:").count()), (40, 10));
    assert!(error.to_string().ends_with("\nand 30 more"), "{error}");
}

/// A replacement in the ten lines (of which an addition is one at the end), where the mistake is, and words of it.
const MISTAKES: [(&str, &str, &str, &str); 60] = [
    ("count: 8\n", "count: 0\n", "2:10", "invalid count \"0\""),
    ("count: 8\n", "count: -3\n", "2:10", "from 1 to 100000"),
    ("count: 8\n", "count:\n", "2:", "count without a value"),
    ("count: 8\n", "count: [8]\n", "2:10", "a list as count"),
    ("count: 8\n", "count: 8\n  count: 9\n", "3:3", "key \"count\" a second time"),
    ("count: 8\n", "count: 8\n  racks: 9\n", "3:10", "9 racks for 8 nodes"),
    ("count: 8\n", "count: 8\n  cores: 1\n", "3:10", "1 cores on 2 sockets"),
    ("count: 8\n", "count: 8\n  kernel: new\n", "3:11", "as 6.8"),
    ("count: 8\n", "count: 8\n  name: a/b\n", "3:9", "invalid name \"a/b\""),
    ("count: 8\n", "nmae: x\n  count: 8\n", "2:3", "did you mean \"name\"?"),
    ("  count: 8\n", "", "2:3", "the nodes without \"count\""),
    ("7.68TB", "7.68Tb", "3:32", "capital B"),
    ("7.68TB", "7.68XB", "3:32", "invalid capacity"),
    ("7.68TB", "1KB", "3:32", "is out of range"),
    ("7.68TB", "900TB, numa_node: 900", "3:", "invalid numa_node"),
    ("6.5GB/s", "6.5Gb/s", "3:", "capital B"),
    ("3GB/s", "-3GB/s", "3:", "invalid write"),
    ("3GB/s", "nan", "3:", "invalid write"),
    ("25Gb/s", "25GB/s", "4:27", "small b"),
    ("25Gb/s", "25000000Gb/s", "4:27", "is out of range"),
    ("{ports: 2, speed: 25Gb/s}", "fast", "4:9", "keys of nics: name, ports"),
    ("{ports: 2, speed: 25Gb/s}", "[]", "4:", "0 nics"),
    ("{ports: 2, speed: 25Gb/s}", "[{name: a, speed: 1Gb/s}, {name: a, speed: 1Gb/s}]", "4:42", "a second link"),
    ("engine: minio\n", "", "1:1", "a site without \"engine\""),
    ("minio", "Minio", "5:9", "did you mean \"minio\"?"),
    ("minio", "rbd", "5:9", "only S3 is modelled"),
    ("minio", "minio\ndata: {buckets: 200}", "6:8", "nothing depends on the number of buckets"),
    ("minio", "ceph", "5:9", "did you mean \"ceph-rgw\"?"),
    ("minio", "{product: minio, set_drives: 17}", "5:38", "sets have 2 to 16 drives"),
    ("minio", "{product: minio, protection: 12+5}", "5:38", "sets of 17 drives"),
    ("minio", "{product: minio, protection: 2+4}", "5:38", "at most half of a set"),
    ("minio", "{product: minio, set_drives: 4, protection: EC:4}", "5:53", "parity 4 in sets of 4"),
    ("minio", "{product: minio, protection: 3x}", "5:38", "write 10+4 or EC:4"),
    ("minio", "{product: garage, protection: 10+4}", "5:39", "Garage keeps copies"),
    ("minio", "{product: garage, protection: 9x}", "5:39", "9 copies on 8 nodes"),
    ("minio", "{product: ceph-rgw, protection: 8+3}", "5:41", "use 11 nodes, or write fewer shards"),
    ("minio", "minio\nclients: {on: foo}", "6:15", "^^^ Places: machines, nodes"),
    ("minio", "{product: ceph-rgw, protection: 8+0}", "5:41", "no parity"),
    ("minio", "{product: ceph-rgw, set_drives: 8}", "5:41", "without sets"),
    ("minio", "{product: minio, local_shards: true}", "5:40", "only RustFS"),
    ("minio", "minio\nplanes: {public: {mtu: 575}}", "6:24", "from 576 to 65535"),
    ("minio", "minio\nplanes: {public: {mtu: 1279, ip: ipv6}}", "6:24", "IPv6 needs 1280"),
    ("minio", "minio\nplanes: {public: {link: eth7}}", "6:25", "links of storage: bond0"),
    ("minio", "minio\nplanes: {public: {link: nic0}}", "6:25", "2 ports and no bond"),
    ("minio", "minio\nplanes: {private: {mtu: 9000}}", "6:", "names no link"),
    ("minio", "minio\nentry: {path: client-side, dsr: true}", "6:33", "only l2-announcement"),
    ("minio", "minio\nfabric: {rack_uplinks: 1Gb/s, oversubscription: 2}", "6:49", "beside rack_uplinks"),
    ("minio", "minio\ndata: &x {stored: 1TB}\ngoals: *x", "7:8", "an alias of YAML"),
    ("minio", "minio\nclients: {speed: 1Gb/s}", "6:10", "the clients without \"count\""),
    ("minio", "minio\nclients: {count: 4}", "6:10", "or \"on: nodes\" if the storage nodes are the clients"),
    ("minio", "minio\nclients: {on: storage}", "6:15", "did you mean \"nodes\"?"),
    ("minio", "minio\nclients: {onn: nodes}", "6:11", "did you mean \"on\"? Keys: on, count, racks"),
    ("minio", "minio\nclients: {on: nodes, count: 8}", "6:29", "count of clients on the storage nodes"),
    ("minio", "minio\nclients: {on: nodes, ports: 1}", "6:29", "its links are those of the node"),
    ("minio", "minio\nclients: {on: nodes, speed: {assumed: 1Gb/s}}", "6:39", "speed of clients on the storage"),
    ("minio", "minio\nclients: {on: nodes, mtu: 9000}", "6:27", "mtu of clients on the storage nodes"),
    ("minio", "minio\nclients: {count: 1, speed: 1Gb/s, per_core: 1GB/s}", "6:45", "on separate machines"),
    ("minio", "minio\nentry: local", "6:8", "write clients: {on: nodes}"),
    ("minio", "minio\nentry: bgp\nclients: {on: nodes}", "6:8", "an entry path from outside, with clients on the"),
    ("minio", "minio\nentry: {path: cluster-mesh}\nclients: {on: nodes}", "6:15", "write client-side if"),
];

#[test]
fn each_mistake_is_told_at_its_place() {
    for (from, to, place, words) in MISTAKES {
        assert!(TEN_LINES.contains(from), "{from:?}");
        let message = message(&TEN_LINES.replacen(from, to, 1));
        assert!(message.starts_with(&format!("site.yaml:{place}")), "{to:?}: {message}");
        assert!(message.contains(words), "{to:?}: {message}");
    }
}

#[test]
fn groups_are_told_apart_and_each_has_the_planes_links() {
    let group = |name: &str, nic: &str| {
        format!(
            "  - {name}count: 4\n    drives: {{count: 4, capacity: 1TB}}\n    nics: {{name: {nic}, speed: 25Gb/s}}\n"
        )
    };
    let text = |a: &str, b: &str| format!("nodes:\n{a}{b}engine: minio\n");
    let fine = text(&group("name: a\n    ", "eth0"), &group("name: b\n    ", "eth0"));
    assert_eq!(read(&fine, "site.yaml").unwrap().groups.len(), 2);
    for (text, place, words) in [
        (text(&group("", "eth0"), &group("name: b\n    ", "eth0")), "2:5", "nodes without \"name\""),
        (text(&group("name: a\n    ", "eth0"), &group("name: a\n    ", "eth0")), "6:11", "a second kind of nodes"),
        (text(&group("name: a\n    ", "eth0"), &group("name: b\n    ", "eth1")), "", "no link \"eth0\" in \"b\""),
    ] {
        let message = message(&text);
        assert!(message.starts_with(&format!("site.yaml:{place}")) && message.contains(words), "{message}");
    }
}

#[test]
fn a_bond_that_one_kind_of_nodes_lacks_is_told_with_a_fix_that_works() {
    let text = |bonds: &str, planes: &str| {
        format!(
            "nodes:\n- {{name: old, count: 4, drives: {{count: 8, capacity: 4TB}}, nics: {{speed: 100Gb/s}}{bonds}}}\n\
             - {{name: new, count: 4, drives: {{count: 8, capacity: 4TB}}, nics: {{ports: 2, speed: \
             100Gb/s}}}}\n{planes}engine: minio\n"
        )
    };
    let fix = "write bonds: {name: bond0} for \"old\"";
    for (planes, mended, advice) in [
        ("", "", format!("^ {fix}")),
        ("planes: {public: {mtu: 9000}}\n", "planes: {public: {mtu: 9000}}\n", format!("^ {fix}")),
        ("planes: {public: {link: bond0}}\n", "planes: {public: {link: bond0}}\n", fix.to_owned()),
    ] {
        let message = message(&text("", planes));
        assert!(message.contains(&advice), "{planes:?}: {message}");
        let mended = text(", bonds: {name: bond0}", mended);
        assert!(read(&mended, "site.yaml").is_ok(), "{mended}: {:?}", read(&mended, "site.yaml"));
    }
}

#[test]
fn bombs_are_refused_while_they_are_small() {
    let deep = format!("nodes: {}", "[".repeat(40));
    let deeper = format!("nodes: {}", "[".repeat(100_000));
    let doubling = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n".to_owned();
    let wide = format!("nodes: [{}]", "1,".repeat(60_000));
    let large = "#".repeat((1 << 20) + 1);
    for (text, words) in [
        (deep, "nested more than"),
        (deeper, "recursion limit"),
        (doubling, "an alias"),
        (wide, "more than 50000"),
        (large, "more than 1 MiB"),
    ] {
        let message = message(&text);
        assert!(message.contains(words) && message.len() < 1000, "{message}");
    }
}

#[test]
fn texts_that_are_no_site_are_told_so() {
    for (text, words) in [
        ("", "no site"),
        ("- 1", "no site"),
        ("x", "no site"),
        ("a: b: c", "invalid YAML"),
        ("? [a]\n: 1", "a key that is not a word"),
        ("nodes: !x 1", "a tag of YAML"),
        ("---\na: 1\n---\nb: 2\n", "a second document"),
        ("\"", "invalid YAML"),
    ] {
        let message = message(text);
        assert!(message.contains(words), "{text:?}: {message}");
    }
}

#[test]
fn a_line_of_any_length_is_quoted_around_its_mark() {
    let text = TEN_LINES.replace("7.68TB", &format!("{}7.68Tb", " ".repeat(5000)));
    let message = message(&text);
    let lines: Vec<&str> = message.lines().collect();
    let at = lines[2].find('^').unwrap();
    assert!(lines[1].len() < 120 && lines[1][at..].starts_with("7.68Tb"), "{message}");
}

#[test]
fn the_example_reads_and_shows_every_key() {
    let site = read(example(), "example.yaml").unwrap();
    assert_eq!((site.name.as_str(), site.nodes()), ("example", 16));
    // Four nodes a rack, each with 4 × 25 Gb/s, over two.
    assert_eq!((site.fabric.rack_uplink_bits_per_s, site.fabric.oversubscription), (Some(200e9), Some(2.0)));
    let assumed: Vec<&String> = site.assumed.keys().collect();
    let expected = ["kubernetes.control_plane.port", "nodes.storage.drives.0.write_iops"];
    assert_eq!(assumed, expected, "everything else is stated");
    for key in all_keys() {
        assert!(example().contains(&format!("{}:", key.name)), "{} is not in the example", key.name);
    }
}

fn all_keys() -> Vec<&'static Key> {
    let (mut keys, mut at) = (SITE.iter().collect::<Vec<_>>(), 0);
    while at < keys.len() {
        if let Shape::Mapping(_, below) | Shape::Short(_, _, below) | Shape::OneOrMany(_, below, _) = &keys[at].shape {
            keys.extend(below.iter());
        }
        at += 1;
    }
    keys
}

#[test]
fn keys_and_their_defaults_are_in_order() {
    for key in all_keys() {
        let snake = key.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        assert!(snake, "{}", key.name);
        assert!(key.about.ends_with('.'), "{}", key.about);
        if let DefaultRule::Value(value, reason) = key.unless {
            let shape = match &key.shape {
                Shape::Short(_, short, keys) => &keys.iter().find(|key| key.name == *short).unwrap().shape,
                shape => shape,
            };
            assert!(super::value::read(shape, key.name, value).is_ok(), "{}: {value}", key.name);
            assert!(!reason.is_empty(), "{}", key.name);
        }
    }
}

#[test]
fn every_word_is_read() {
    let mut seen = BTreeSet::new();
    for key in all_keys() {
        let Shape::Words(_, words) = key.shape else { continue };
        for word in words {
            let name = word.name;
            let (from, to) = match key.name {
                "product" => ("engine: minio", format!("engine: {name}")),
                "mode" | "transmit_hash" | "switch_hash" => {
                    ("engine: minio", format!("  bonds: {{{}: {name}}}\nengine: minio", key.name))
                }
                "encapsulation" | "ip" => {
                    ("engine: minio", format!("engine: minio\nplanes: {{public: {{{}: {name}}}}}", key.name))
                }
                "path" if name == "local" => {
                    ("engine: minio", format!("engine: minio\nentry: {name}\nclients: {{on: nodes}}"))
                }
                "path" => ("engine: minio", format!("engine: minio\nentry: {name}")),
                "on" if name == "nodes" => ("engine: minio", "engine: minio\nclients: {on: nodes}".to_owned()),
                "on" => ("engine: minio", format!("engine: minio\nclients: {{on: {name}, count: 1, speed: 1Gb/s}}")),
                "policy" => ("engine: minio", format!("engine: minio\nentry: {{path: bgp, policy: {name}}}")),
                "path_hash" => ("engine: minio", format!("engine: minio\nfabric: {{path_hash: {name}}}")),
                "bond" => {
                    ("engine: minio", format!("engine: minio\nclients: {{count: 1, speed: 1Gb/s, bond: {name}}}"))
                }
                "provisioner" => ("engine: minio", format!("engine: minio\nkubernetes: {{provisioner: {name}}}")),
                other => panic!("a key of words that is not tested: {other}"),
            };
            let site = read(&TEN_LINES.replace(from, &to), "site.yaml").unwrap();
            assert!(serde_json::to_string(&site).unwrap().contains(&format!("\"{name}\"")), "{} {name}", key.name);
            seen.insert((key.name, name));
        }
    }
    assert!(seen.len() > 35, "{}", seen.len());
}

#[test]
fn clients_on_the_nodes_have_no_links_and_what_nobody_stated_of_them_is_told() {
    let read = |clients: &str| read(&format!("{TEN_LINES}clients: {clients}\n"), "site.yaml").unwrap();
    let on_nodes = |site: &Site| -> Vec<String> {
        site.assumed.keys().filter(|path| path.starts_with("clients.")).cloned().collect()
    };
    let site = read("{on: nodes}");
    assert!(site.has_clients_on_nodes() && site.clients.count == 0);
    assert_eq!((site.askers(), site.clients.connections), (8, 20));
    assert_eq!(on_nodes(&site), ["clients.connections", "clients.per_core"]);
    assert!(site.assumed["clients.per_core"].contains("runs/bench-2026-11-20"));
    let stated = read("{on: nodes, connections: 64, per_core: 1.2GB/s}");
    assert_eq!((stated.clients.connections, stated.clients.per_core_bytes_per_s), (64, Some(1.2e9)));
    assert!(on_nodes(&stated).is_empty(), "{:?}", stated.assumed);
    let elsewhere = read("{count: 4, speed: 25Gb/s}");
    assert_eq!((elsewhere.askers(), elsewhere.clients.per_core_bytes_per_s), (4, None));
    assert!(!elsewhere.is_assumed("clients.on"), "{:?}", elsewhere.assumed);
}

/// An addition to ten lines with hosts, where its mistake is, and words of it.
const OF_KUBERNETES: [(&str, &str, &str); 32] = [
    ("namespace: Minio", "namespace", "lower-case letters"),
    ("image: minio:latest", "image", "a version or digest"),
    ("image: minio", "image", "a version or digest"),
    ("pod_cidr: 10.0.0.1/8", "pod_cidr", "no bit set"),
    ("pod_cidr: 10.0.0.0/22", "pod_cidr", "has 4 prefixes of /24 for 8 nodes"),
    ("pod_cidr: 10.0.0.0/21", "pod_cidr", "8 nodes and the control plane"),
    ("pod_cidr: 127.0.0.0/8", "pod_cidr", "private addresses"),
    ("{pod_cidr: 10.0.0.0/8, node_mask: 26}", "node_mask", "/24 at the longest"),
    ("node_mask: 30", "node_mask", "from 1 to 28"),
    ("load_balancer: [192.0.2.0/28, 192.0.2.8/29]", "load_balancer", "192.0.2.8/29 overlaps 192.0.2.0/28"),
    ("load_balancer: [192.0.2.1/32, 192.0.2.1/32]", "load_balancer", "each address once"),
    ("load_balancer: 224.0.0.0/24", "load_balancer", "clients can reach"),
    ("namespace: kube-system", "namespace", "of Kubernetes"),
    ("namespace: default", "namespace", "of Kubernetes"),
    ("mesh: {id: 1, name: default}", "mesh.name", "refuses in a mesh"),
    ("mesh: {id: 1, name: a23456789-123456789-123456789-123}", "mesh.name", "32 characters"),
    ("bgp: {local_as: 1, peer_as: 2, hold: 3500ms}", "bgp.hold", "write 4s"),
    ("{pod_cidr: 10.0.0.0/16, native_cidr: 10.1.0.0/16}", "native_cidr", "contains pod_cidr"),
    ("{pod_cidr: 10.0.0.0/16, load_balancer: [10.2.0.0/16, 10.0.1.0/24]}", "load_balancer", "different addresses"),
    ("api_server: api:6443", "api_server", "without a port"),
    ("bgp: {local_as: 65001}", "bgp", "without \"peer_as\""),
    ("bgp: {local_as: 65001, peer_as: 65000, hold: 1s}", "bgp.hold", "is out of range"),
    ("bgp: {local_as: 65001, peer_as: 65000, hold: 2s}", "bgp.hold", "from 3s to 65535s"),
    ("bgp: {local_as: 0, peer_as: 65000}", "bgp.local_as", "from 1 to"),
    ("mesh: {id: 256, name: a}", "mesh.id", "from 1 to 255"),
    ("hosts: {names: 'n{1...7}', mounts: '/d{1...8}'}", "hosts.names", "7 names of machines for 8 nodes"),
    ("hosts: {names: 'n{1...8}', mounts: '/d{1...9}'}", "hosts.mounts", "9 folders for 8 drives"),
    ("hosts: {names: ['n{1...7}', n1], mounts: '/d{1...8}'}", "hosts.names", "machine \"n1\" a second time"),
    ("hosts: {names: 'n{1...8}', mounts: ['/d{1...7}', /d1]}", "hosts.mounts", "folder \"/d1\" a second time"),
    ("hosts: {names: 'n{1...8}', mounts: '/run/d{1...8}'}", "hosts.mounts", "folder \"/run/d1\", which the system"),
    ("hosts: {names: 'n{1...8}', mounts: ['/d{1...7}', /d1/e]}", "hosts.mounts", "\"/d1/e\", which is on the drive"),
    ("hosts: {kind: old, names: 'n{1...8}', mounts: '/d{1...8}'}", "hosts.kind", "kinds: storage"),
];

#[test]
fn a_kubernetes_agrees_with_its_nodes() {
    for (addition, key, words) in OF_KUBERNETES {
        let text = match addition.strip_prefix('{') {
            Some(_) => format!("{TEN_LINES}kubernetes: {addition}\n"),
            None => format!("{TEN_LINES}kubernetes:\n  {addition}\n"),
        };
        let message = message(&text);
        assert!(message.contains(&format!("(kubernetes.{key}")) && message.contains(words), "{addition}: {message}");
    }
    let stated =
        "kubernetes:\n  pod_cidr: 10.0.0.0/16\n  hosts: {names: 'n{01...8}', mounts: ['/a{1...4}', '/b{1...4}']}\n";
    let site = read(&format!("{TEN_LINES}{stated}"), "site.yaml").unwrap();
    let kubernetes = site.kubernetes.as_ref().unwrap();
    let hosts = &kubernetes.hosts[0];
    assert_eq!((hosts.kind.as_str(), hosts.names[7].as_str(), hosts.mounts[4].as_str()), ("storage", "n08", "/b1"));
    assert_eq!((kubernetes.namespace.as_str(), kubernetes.native_cidr), ("minio", kubernetes.pod_cidr));
    assert!(site.is_assumed("kubernetes.namespace") && !site.is_assumed("kubernetes.pod_cidr"), "{:?}", site.assumed);
    assert!(read(TEN_LINES, "site.yaml").unwrap().kubernetes.is_none());
}

#[test]
fn mistakes_that_are_found_later_are_told_together_each_at_its_key() {
    let file = SiteFile::new("site.yaml", format!("{TEN_LINES}kubernetes:\n  api_port: 6443\n"));
    let fault = |path: &str| (path.to_owned(), format!("no {path}"), "add it".to_owned());
    let error = file.mistakes([fault("kubernetes.image"), fault("nodes.storage.count")]);
    let message = error.to_string();
    assert_eq!(error.count(), 2);
    assert!(message.starts_with("site.yaml:2:10: no nodes.storage.count"), "{message}");
    assert!(message.contains("\nerror: site.yaml:7:3: no kubernetes.image"), "{message}");
    assert!(file.text().starts_with(TEN_LINES));
}

#[test]
fn a_site_survives_json() {
    let site = read(example(), "example.yaml").unwrap();
    let json = serde_json::to_string(&site).unwrap();
    assert_eq!(serde_json::from_str::<Site>(&json).unwrap(), site);
}

fn agrees(text: &str) -> bool {
    match read(text, "f.yaml") {
        Ok(site) => super::consistency::faults(&site).is_empty() && site.nodes() > 0,
        Err(error) => error.count() > 0 && error.to_string().starts_with("f.yaml:"),
    }
}

/// Pieces that YAML, units and this table know.
fn piece() -> impl Strategy<Value = String> {
    let fixed = [
        "{",
        "}",
        "[",
        "]",
        ": ",
        "- ",
        "\n",
        "\n  ",
        ", ",
        "0",
        "-1",
        "1e99",
        "assumed: ",
        "because: ",
        "&a ",
        "*a",
        "!!x ",
        "'",
        "\"",
        "|\n",
        "\t",
        "é",
        "\u{feff}",
        "\u{0}",
        "9999999999999999999",
        "25Gb/s",
        "1EiB",
        "~",
    ];
    let keys: Vec<String> = all_keys().iter().map(|key| format!("{}: ", key.name)).collect();
    let words = fixed.iter().map(|piece| (*piece).to_owned()).chain(keys).collect::<Vec<_>>();
    proptest::sample::select(words)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_text_is_read_or_refused(text in "(?s).{0,200}") {
        prop_assert!(agrees(&text));
    }

    #[test]
    fn any_pieces_are_read_or_refused(pieces in proptest::collection::vec(piece(), 0..60)) {
        prop_assert!(agrees(&pieces.concat()));
    }

    #[test]
    fn a_spoilt_example_is_read_or_refused(
        edits in proptest::collection::vec((any::<prop::sample::Index>(), 0usize..12, piece()), 1..4),
    ) {
        let mut letters: Vec<char> = example().chars().collect();
        for (at, cut, piece) in edits {
            let at = at.index(letters.len());
            let end = (at + cut).min(letters.len());
            letters.splice(at..end, piece.chars());
        }
        prop_assert!(agrees(&letters.into_iter().collect::<String>()));
    }
}

/// A replacement in the example, and where its mistake is, by line of the example and by key, and words of the fix.
const MUTATIONS: [(&str, &str, &str, &str); 34] = [
    ("count: 16", "count: sixteen", "10:12: invalid count \"sixteen\" (nodes.0.count)", "a whole number from 1"),
    ("count: 16", "count: [16]", "10:12: a list as count (nodes.0.count)", "write one value"),
    ("    count: 16", "\tcount: 16", "10:1: a tab before a key (nodes.0", "spaces"),
    ("count: 16", "count:\t16", "10:12: invalid YAML", "a space after the colon"),
    (
        "count: 16",
        "count: 16\n    count: 17",
        "11:5: key \"count\" a second time (nodes.0.count)",
        "in line 10: remove",
    ),
    ("  private: {link", "  private: *n #", "47:12: invalid YAML", "(planes.private)"),
    ("  private: {link", "  private: *n #", "47:12: invalid YAML", "write the value itself"),
    (
        "capacity: 7.68TB",
        "capacity: {a: 1}",
        "20:17: a mapping as capacity (nodes.0.drives.capacity)",
        "write one value",
    ),
    (
        "capacity: 7.68TB",
        "capcity: 7.68TB",
        "20:7: unknown key \"capcity\" of the drives (nodes.0.drives.capcity)",
        "mean \"cap",
    ),
    ("read: 6.5GB/s", "read: 6.5Gb/s", "21:13: invalid read \"6.5Gb/s\" (nodes.0.drives.read)", "capital B"),
    ("nics: nic0 ", "nics: [nic0, [nic1]] ", "33:22: a list as nics (nodes.0.bonds.0.nics.1)", "such as [nic0, nic1]"),
    ("nics: nic0 ", "nics: {nic0: 1} ", "33:15: a mapping as nics (nodes.0.bonds.0.nics)", "such as [nic0, nic1]"),
    ("25Gb/s, lanes: 8", "25 GB, lanes: 8", "29:39: invalid speed \"25 GB\" (nodes.0.nics.0.speed)", "small b"),
    ("mode: 802.3ad  ", "mode: lacp  ", "34:15: unknown bond mode \"lacp\" (nodes.0.bonds.0.mode)", "802.3ad"),
    ("link: bond0", "link: bond9", "42:11: no link \"bond9\" in \"storage\" (planes.public.link)", "links of storage"),
    ("ip: ipv4\n", "ip: ipv5\n", "46:9: unknown IP version \"ipv5\" (planes.public.ip)", "ipv4"),
    ("lanes: 64}", "lanes: 64", "18:5: invalid YAML", "close each { with }"),
    ("pcie: {generation: 4, lanes: 64}", "pcie: [4]", "17:11: a list as pcie (nodes.0.pcie)", "generation, lanes"),
    (
        "{assumed: 150k",
        "{assumd: 150k",
        "24:19: a mapping as write_iops (nodes.0.drives.write_iops)",
        "write one value",
    ),
    ("\"the data", "\"the \\q data", "24:44: invalid YAML", "single quotes"),
    ("\"the data", "\"the \\q data", "24:44: invalid YAML", "(nodes.0.drives.write_iops.because)"),
    ("    racks: 4 ", "   racks: 4 ", "11:4: invalid YAML", "equally"),
    ("    racks: 4 ", "      racks: 4 ", "11:12: invalid YAML", "equally"),
    ("engine:\n", "engine: minio\n", "70:10: invalid YAML", "equally"),
    (
        "protection: EC:4",
        "protection: EC:40",
        "71:15: parity 40 in sets of 16 drives (engine.protection)",
        "half of a set",
    ),
    ("p99: 100ms", "p99:", "99:6: p99 without a value (goals.p99)", "write a value, or leave the key out"),
    ("p99: 100ms", "p99: 100", "99:8: invalid p99 \"100\" (goals.p99)", "such as 30s"),
    ("goals:", "goals: !!map", "95:8: a tag of YAML (goals)", "without it"),
    ("name: example", "name: 'example", "5:7: invalid YAML", "close the quote"),
    ("  stored: 600TB", "  stored: 600TB: x", "88:16: invalid YAML", "quote a value that has a colon"),
    (
        "{drives: 2, nodes: 1}",
        "{drives: two}",
        "100:23: invalid drives \"two\" (goals.tolerates.drives)",
        "from 0 to 64",
    ),
    ("{drives: 2, nodes: 1}", "[2, 1]", "100:14: a list as tolerates (goals.tolerates)", "drives, nodes"),
    ("growth: 30%", "growth: @30", "89:11: invalid YAML", "put the value in quotes"),
    ("kernel: 6.8", "kernel: six", "14:13: invalid kernel \"six\" (nodes.0.kernel)", "as 6.8"),
];

#[test]
fn mistakes_of_the_example_name_line_column_key_and_fix() {
    for (from, to, begin, words) in MUTATIONS {
        assert!(example().contains(from), "{from:?}");
        let message = message(&example().replacen(from, to, 1));
        let begin = format!("site.yaml:{begin}");
        assert!(message.starts_with(&begin) && message.contains(words), "{to:?}\n{message}\n{begin}");
        assert_eq!(message.matches("site.yaml:").count(), 1, "{to:?}: one mistake is told once\n{message}");
    }
}
