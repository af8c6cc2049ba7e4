//! The words that a site's values are chosen from, and the nearest one to a word that is none.

/// A word of a list.
#[derive(Debug)]
pub(super) struct Word {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// What people call it otherwise, in small letters: suggested, and not taken.
    pub(super) others: &'static [&'static str],
}

const fn word(name: &'static str, about: &'static str, others: &'static [&'static str]) -> Word {
    Word { name, about, others }
}

/// By the names of `drivers/net/bonding/bond_options.c`, `bond_mode_tbl`.
pub(super) const BOND_MODES: &[Word] = &[
    word("802.3ad", "LACP", &["lacp", "4", "mode4", "802.3.ad", "8023ad", "ieee802.3ad", "dynamic"]),
    word("active-backup", "one member carries everything", &["1", "mode1", "failover", "backup"]),
    word("balance-xor", "hashed without negotiation", &["2", "mode2", "xor", "static"]),
    word("balance-rr", "packet by packet; reorders", &["0", "mode0", "round-robin", "rr"]),
    word("balance-tlb", "transmit by load, receive on one member", &["5", "mode5", "tlb"]),
    word("balance-alb", "both by load, receive by ARP", &["6", "mode6", "alb"]),
    word("broadcast", "everything on every member", &["3", "mode3"]),
];

/// By the names of `bond_options.c`, `bond_xmit_hashtype_tbl`.
pub(super) const TRANSMIT_HASHES: &[Word] = &[
    word("layer2", "MAC addresses", &["l2", "mac", "0"]),
    word("layer2+3", "MAC and IP addresses", &["l2+3", "l23", "layer23", "2"]),
    word("layer3+4", "IP addresses and ports", &["l3+4", "l34", "layer34", "l4", "layer4", "1"]),
    word("encap2+3", "as layer2+3, of the inner packet of a tunnel", &["encap23", "3"]),
    word("encap3+4", "as layer3+4, of the inner packet of a tunnel", &["encap34", "4"]),
    word("vlan+srcmac", "VLAN and source MAC", &["vlan", "srcmac", "5"]),
];

pub(super) const SWITCH_HASHES: &[Word] = &[
    word("l2", "MAC addresses", &["layer2", "mac", "src-dst-mac"]),
    word("l3", "IP addresses", &["layer3", "layer2+3", "ip", "src-dst-ip"]),
    word("l4", "IP addresses and ports", &["layer4", "layer3+4", "l3+4", "port", "ports", "5-tuple", "src-dst-port"]),
];

pub(super) const ENCAPSULATIONS: &[Word] = &[
    word("none", "native routing", &["native", "off", "no", "false", "direct"]),
    word("vxlan", "VXLAN over IPv4", &["overlay", "tunnel"]),
    word("geneve", "Geneve over IPv4, without options", &[]),
    word("wireguard", "WireGuard over IPv4", &["wg"]),
    word("ipip", "IP in IP, IPv4", &["ip-in-ip", "ip4ip4"]),
];

pub(super) const IP_VERSIONS: &[Word] =
    &[word("ipv4", "a header of 20 bytes", &["4", "v4", "ip4"]), word("ipv6", "of 40 bytes", &["6", "v6", "ip6"])];

pub(super) const PRODUCTS: &[Word] = &[
    word("minio", "MinIO", &["aistor", "eos"]),
    word("rustfs", "RustFS", &[]),
    word("ceph-rgw", "Ceph's RADOS Gateway", &["ceph", "rgw", "rook", "radosgw"]),
    word("garage", "Garage", &[]),
];

pub(super) const ENTRIES: &[Word] = &[
    word(
        "client-side",
        "clients address all nodes and spread their requests",
        &["client", "clients", "dns", "sidecar"],
    ),
    word("bgp", "routers spread connections over nodes", &["ecmp", "anycast"]),
    word("l2-announcement", "one node answers ARP and takes every connection", &["l2", "arp", "metallb", "vip"]),
    word("node-port", "clients spread over nodes' ports; nodes forward", &["nodeport"]),
    word("cluster-mesh", "from a meshed cluster straight to pods", &["clustermesh", "mesh"]),
    word(
        "local",
        "each client sends requests to the storage node that it runs on",
        &["own-node", "localhost", "loopback", "self"],
    ),
];

pub(super) const CLIENTS_ON: &[Word] = &[
    word("machines", "separate machines", &["own", "hosts", "clients", "elsewhere"]),
    word("nodes", "the storage nodes, which all send the same load", &["storage", "servers", "node"]),
];

pub(super) const PROVISIONERS: &[Word] = &[
    word("directpv", "DirectPV of MinIO", &["direct-pv", "directpv-min-io", "minio"]),
    word("topolvm", "TopoLVM, with a volume group for each drive", &["lvm", "topolvm.io", "topo-lvm"]),
];

pub(super) const POLICIES: &[Word] =
    &[word("cluster", "any node's pod", &["any"]), word("local", "a pod on the node that received it", &["node"])];

pub(super) const SWITCHES: &[Word] = &[word("true", "", &["yes", "on", "1"]), word("false", "", &["no", "off", "0"])];

/// Names of words, as a sentence lists them.
pub(super) fn listed(words: &[Word]) -> String {
    words.iter().map(|word| word.name).collect::<Vec<_>>().join(", ")
}

/// The word that was probably meant.
pub(super) fn meant(text: &str, words: &'static [Word]) -> Option<&'static str> {
    let lower = text.trim().to_lowercase().replace('_', "-");
    let other = words.iter().find(|word| word.name == lower || word.others.contains(&lower.as_str()));
    other.map(|word| word.name).or_else(|| nearest(&lower, words.iter().map(|word| word.name)))
}

/// The candidate that is fewest typing errors away, where there are few enough of them.
pub fn nearest<'a>(text: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let length = text.chars().count();
    // Nobody means a word of the table by a page of text, and the distance is quadratic.
    if length > 64 {
        return None;
    }
    let near = candidates.map(|candidate| (distance(text, candidate), candidate)).min_by_key(|(errors, _)| *errors);
    near.filter(|(errors, candidate)| *errors <= 1.max(length.max(candidate.len()) / 3)).map(|(_, candidate)| candidate)
}

/// Letters to insert, delete, replace or swap with their neighbour (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typing_errors_are_counted() {
        for (a, b, errors) in [("", "", 0), ("", "abc", 3), ("mtu", "mut", 1), ("speed", "sped", 1), ("l4", "l2", 1)] {
            assert_eq!(distance(a, b), errors, "{a:?} {b:?}");
        }
    }

    #[test]
    fn other_names_go_before_near_ones_and_far_ones_are_none() {
        for (text, words, meant_word) in [
            ("lacp", BOND_MODES, Some("802.3ad")),
            ("LACP", BOND_MODES, Some("802.3ad")),
            ("active_backup", BOND_MODES, Some("active-backup")),
            ("activ-backup", BOND_MODES, Some("active-backup")),
            ("layer4", TRANSMIT_HASHES, Some("layer3+4")),
            ("ceph", PRODUCTS, Some("ceph-rgw")),
            ("Minio", PRODUCTS, Some("minio")),
            ("swift", PRODUCTS, None),
            ("", PRODUCTS, None),
        ] {
            assert_eq!(meant(text, words), meant_word, "{text:?}");
        }
    }
}
