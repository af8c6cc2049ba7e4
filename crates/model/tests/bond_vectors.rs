//! The hashes of `bond::hash` against what stock kernels did: `vectors/kernel_*.csv`, written by `vectors/boot.sh`.

use linerate_model::bond::hash::{Addresses, Header, Packet, member, rules};
use linerate_record::site::{Kernel, TransmitHash};

const KERNELS: [(&str, &str); 3] = [
    ("5.10", include_str!("vectors/kernel_5_10.csv")),
    ("6.1", include_str!("vectors/kernel_6_1.csv")),
    ("6.12", include_str!("vectors/kernel_6_12.csv")),
];

/// A frame that a kernel was given, and the member that took it.
struct Vector {
    policy: TransmitHash,
    members: u32,
    packet: Packet,
    member: u32,
}

fn mac(text: &str) -> [u8; 6] {
    let bytes: Vec<u8> = text.split(':').map(|byte| u8::from_str_radix(byte, 16).expect("a byte")).collect();
    bytes.try_into().expect("six bytes")
}

fn addresses(source: &str, destination: &str) -> Addresses {
    let both = (source.parse().expect("an address"), destination.parse().expect("an address"));
    match both {
        (std::net::IpAddr::V4(source), std::net::IpAddr::V4(destination)) => {
            Addresses::V4(source.octets(), destination.octets())
        }
        (std::net::IpAddr::V6(source), std::net::IpAddr::V6(destination)) => {
            Addresses::V6(source.octets(), destination.octets())
        }
        _ => panic!("two versions in {source} to {destination}"),
    }
}

fn ports(text: &str) -> Option<[u16; 2]> {
    let (source, destination) = text.split_once('>')?;
    Some([source.parse().expect("a port"), destination.parse().expect("a port")])
}

fn vector(line: &str) -> Vector {
    let fields: Vec<&str> = line.split(',').collect();
    let [_, policy, members, source_mac, destination_mac, vlan, tunnel, source, destination, outer, rest @ ..] =
        fields.as_slice()
    else {
        panic!("too few fields in {line}")
    };
    let [inner_source, inner_destination, inner_ports, member] = rest else { panic!("fields in {line}") };
    let is_opened = matches!(*tunnel, "ipip" | "gre");
    let packet = Packet {
        source_mac: mac(source_mac),
        destination_mac: mac(destination_mac),
        vlan: vlan.parse().ok(),
        outer: Header { addresses: addresses(source, destination), ports: ports(outer) },
        inner: is_opened
            .then(|| Header { addresses: addresses(inner_source, inner_destination), ports: ports(inner_ports) }),
        socket_hash: None,
    };
    let policy = serde_json::from_value((*policy).into()).expect("a policy");
    Vector { policy, members: members.parse().expect("a number"), packet, member: member.parse().expect("a number") }
}

fn kernel(version: &str) -> Option<Kernel> {
    let (major, minor) = version.split_once('.')?;
    Some(Kernel { major: major.parse().ok()?, minor: minor.parse().ok()? })
}

fn rows(file: &str) -> impl Iterator<Item = &str> {
    file.lines().filter(|line| !line.starts_with('#') && !line.starts_with("kernel,"))
}

#[test]
fn members_are_those_that_stock_kernels_chose() {
    for (version, file) in KERNELS {
        let rules = rules(kernel(version));
        for line in rows(file) {
            assert!(line.starts_with(&format!("{version}.")), "{version}: {line}");
            let v = vector(line);
            assert_eq!(member(v.policy, rules, v.members, &v.packet), v.member, "{line}");
        }
    }
}

#[test]
fn vectors_reach_every_policy_and_tell_old_rules_from_new_ones() {
    let policies = |file: &str| -> std::collections::BTreeSet<TransmitHash> {
        rows(file).map(|line| vector(line).policy).collect()
    };
    assert_eq!(policies(KERNELS[2].1).len(), 6);
    assert_eq!(policies(KERNELS[0].1).len(), 5, "vlan+srcmac came with 5.12");
    for (written, other) in [(KERNELS[0], "6.1"), (KERNELS[1], "5.10"), (KERNELS[2], "3.10")] {
        let wrong = rows(written.1).map(vector).filter(|v| {
            let chosen = member(v.policy, rules(kernel(other)), v.members, &v.packet);
            chosen != v.member
        });
        let wrong = wrong.count();
        assert!(wrong > 20, "rules of {other} fail on {wrong} vectors of {} only", written.0);
    }
}

/// Each file tells how 64 connections of the same addresses and ports were spread over two members.
#[test]
fn sockets_of_the_same_ports_share_a_member_but_with_encap34() {
    for (version, file) in KERNELS {
        for (policy, spreads) in [("layer3+4", false), ("encap3+4", true)] {
            let line = file.lines().find(|line| line.starts_with("# 64 connections") && line.contains(policy));
            let counts: Vec<u32> = line
                .map(|line| line.split(' ').rev().take(2).map(|count| count.parse().expect("a count")).collect())
                .unwrap_or_default();
            assert_eq!(counts.iter().sum::<u32>(), 64, "{version} {policy}");
            assert_eq!(counts.iter().all(|&count| count > 0), spreads, "{version} {policy}: {counts:?}");
        }
    }
}
