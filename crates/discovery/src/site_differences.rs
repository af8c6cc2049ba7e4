//! In what a site that somebody wrote differs from the nodes.

use std::collections::BTreeMap;

use linerate_record::discovery::SiteDifference;
use linerate_record::site::{Bond, Nic, NodeGroup, Plane, Product, Protection, Site, key};

use crate::size_text::{binary, decimal, speed};
use crate::votes::is_same_size;

/// A value of both sites.
struct Compared {
    key: &'static str,
    stated: String,
    found: String,
    is_same: bool,
}

/// Differences of what the nodes state: what is assumed of them is none.
#[must_use]
pub fn differences(stated: &Site, found: &Site) -> Vec<SiteDifference> {
    let mut all = Vec::new();
    // Without connections of clients, nothing says which link is theirs.
    let is_public_known = !found.is_assumed(key::PLANES_PUBLIC_LINK);
    let mut extend = |path: &str, [own_path, found_path]: [&str; 2], rows: Vec<Compared>| {
        let is_one = |row: &Compared| !row.is_same && !found.is_assumed(&format!("{found_path}.{}", known_by(row.key)));
        all.extend(rows.into_iter().filter(is_one).map(|row| SiteDifference {
            path: format!("{path}.{}", row.key),
            is_assumed: stated.is_assumed(&format!("{own_path}.{}", known_by(row.key))),
            stated: row.stated,
            found: row.found,
            is_written: false,
        }));
    };
    let is_single = stated.groups.len() == 1 && found.groups.len() == 1;
    for (at, own) in stated.groups.iter().enumerate() {
        let by_name = found.groups.iter().find(|group| group.name == own.name);
        let Some(other) = (if is_single { found.groups.first() } else { by_name }) else { continue };
        let path = if is_single { "nodes".to_owned() } else { format!("nodes.{at}") };
        extend(&path, [&format!("nodes.{}", own.name), &format!("nodes.{}", other.name)], group_rows(own, other));
    }
    if is_public_known {
        extend(key::PLANES_PUBLIC, [key::PLANES_PUBLIC; 2], plane_rows(&stated.planes.public, &found.planes.public));
    }
    if let (Some(own), Some(other)) = (&stated.planes.private, &found.planes.private) {
        extend(key::PLANES_PRIVATE, [key::PLANES_PRIVATE; 2], plane_rows(own, other));
    }
    extend("engine", ["engine"; 2], engine_rows(stated, found));
    all.extend(parts(stated, found));
    all
}

/// The key by which it is known whether nodes state a value: of what has many, the first of those.
fn known_by(key: &'static str) -> &'static str {
    match key {
        "drives" => "drives.0.capacity",
        "nics" => "nics.0.speed",
        "bonds" => "bonds.0.mode",
        other => other,
    }
}

/// What one of them has and the other lacks.
fn parts(stated: &Site, found: &Site) -> Vec<SiteDifference> {
    let mut all = Vec::new();
    let mut push = |path: &str, stated: String, found: String| {
        all.push(SiteDifference { path: path.to_owned(), stated, is_assumed: false, found, is_written: false });
    };
    if stated.groups.len() != found.groups.len() {
        let kinds = |site: &Site| {
            if site.groups.len() == 1 { "1 kind".to_owned() } else { format!("{} kinds", site.groups.len()) }
        };
        push("nodes", kinds(stated), kinds(found));
    }
    let private =
        |site: &Site| site.planes.private.as_ref().map_or_else(|| "none".to_owned(), |plane| plane.link.clone());
    let is_known = !found.is_assumed(key::PLANES_PUBLIC_LINK);
    if is_known && stated.planes.private.is_some() != found.planes.private.is_some() {
        push(key::PLANES_PRIVATE, private(stated), private(found));
    }
    all
}

fn row<T: PartialEq>(key: &'static str, stated: &T, found: &T, in_words: impl Fn(&T) -> String) -> Compared {
    Compared { key, is_same: stated == found, stated: in_words(stated), found: in_words(found) }
}

fn group_rows(stated: &NodeGroup, found: &NodeGroup) -> Vec<Compared> {
    let memory = row("memory", &stated.memory_bytes, &found.memory_bytes, |bytes| binary(*bytes));
    let is_same = is_same_size(stated.memory_bytes, found.memory_bytes);
    let kernel = |group: &NodeGroup| group.kernel.map(|kernel| format!("{}.{}", kernel.major, kernel.minor));
    let mut rows = vec![
        row("count", &stated.count, &found.count, u32::to_string),
        row("racks", &stated.racks, &found.racks, u32::to_string),
        row("sockets", &stated.sockets, &found.sockets, u32::to_string),
        row("cores", &stated.cores, &found.cores, u32::to_string),
        Compared { is_same, ..memory },
        row("drives", &drives(stated), &drives(found), Clone::clone),
        row("nics", &nics(stated, found), &nics(found, stated), Clone::clone),
        row("bonds", &bonds(stated, found), &bonds(found, stated), Clone::clone),
    ];
    // A kernel that nobody stated is no statement.
    if let (Some(own), Some(other)) = (kernel(stated), kernel(found)) {
        rows.push(row("kernel", &own, &other, Clone::clone));
    }
    rows
}

/// Capacities are rounded as far as two drives of one size may differ.
fn drives(group: &NodeGroup) -> String {
    let part = |count: u32, bytes: u64| format!("{count} × {}", decimal(rounded(bytes)));
    let mut all: Vec<(u64, u32)> = group.drives.iter().map(|drives| (drives.capacity_bytes, drives.count)).collect();
    all.sort_unstable_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    all.into_iter().map(|(bytes, count)| part(count, bytes)).collect::<Vec<_>>().join(" and ")
}

/// To two digits.
fn rounded(bytes: u64) -> u64 {
    let unit = 10_u64.pow(bytes.max(1).ilog10().saturating_sub(1));
    (bytes + unit / 2) / unit * unit
}

/// Ports of links that both have: what carries no plane that is known is not in what nodes say.
fn nics(group: &NodeGroup, other: &NodeGroup) -> String {
    let others = links(other);
    let shared = links(group).into_iter().filter(|(name, _)| others.contains_key(name));
    shared.map(|(_, ports)| ports).collect::<Vec<_>>().join(" and ")
}

/// Ports of each link, by its name: a bond's are those of its cards, whatever these are called.
fn links(group: &NodeGroup) -> BTreeMap<&str, String> {
    let in_words = |nics: Vec<&Nic>| {
        let mut parts: Vec<String> =
            nics.iter().map(|nic| format!("{} × {}", nic.ports, speed(nic.speed_bits_per_s as u64))).collect();
        parts.sort_unstable();
        parts.join(" and ")
    };
    let bonded = |nic: &Nic| group.bonds.iter().any(|bond| bond.nics.contains(&nic.name));
    let bonds = group.bonds.iter().map(|bond| {
        let nics = group.nics.iter().filter(|nic| bond.nics.contains(&nic.name)).collect();
        (bond.name.as_str(), in_words(nics))
    });
    let single = group.nics.iter().filter(|nic| !bonded(nic)).map(|nic| (nic.name.as_str(), in_words(vec![nic])));
    bonds.chain(single).collect()
}

fn bonds(group: &NodeGroup, other: &NodeGroup) -> String {
    let is_shared = |name: &str| other.bonds.iter().any(|bond| bond.name == name);
    let shared = group.bonds.iter().filter(|bond| is_shared(&bond.name));
    let in_words = |bond: &Bond| format!("{} {} {}", bond.name, bond.mode.name(), bond.transmit_hash.name());
    let mut all: Vec<String> = shared.map(in_words).collect();
    all.sort_unstable();
    all.join(" and ")
}

/// Of another link, the rest is another too.
fn plane_rows(stated: &Plane, found: &Plane) -> Vec<Compared> {
    let link = row("link", &stated.link, &found.link, Clone::clone);
    if !link.is_same {
        return vec![link];
    }
    vec![
        row("mtu", &stated.mtu_bytes, &found.mtu_bytes, u32::to_string),
        row("encapsulation", &stated.encapsulation, &found.encapsulation, |tunnel| {
            format!("{tunnel:?}").to_lowercase()
        }),
        row("timestamps", &stated.timestamps, &found.timestamps, bool::to_string),
    ]
}

fn engine_rows(stated: &Site, found: &Site) -> Vec<Compared> {
    let (own, other) = (&stated.engine, &found.engine);
    let product = |product: &Product| match product {
        Product::Minio => "minio".to_owned(),
        Product::Rustfs => "rustfs".to_owned(),
        Product::CephRgw => "ceph-rgw".to_owned(),
        Product::Garage => "garage".to_owned(),
    };
    let mut rows =
        vec![row("product", &own.product, &other.product, product), row("tls", &own.tls, &other.tls, bool::to_string)];
    if let (Protection::Sets { parity: a, set_drives: c }, Protection::Sets { parity: b, set_drives: d }) =
        (own.protection, other.protection)
    {
        let both = |key, a: Option<u32>, b: Option<u32>, before: &str| {
            Some(row(key, &a?, &b?, |number| format!("{before}{number}")))
        };
        rows.extend(both("protection", a, b, "EC:"));
        rows.extend(both("set_drives", c, d, ""));
        // Of a file that leaves it to the engine, the drives say what this chose.
        if let (None, Some(drives)) = (c, d) {
            let stated = "the engine's choice".to_owned();
            rows.push(Compared { key: "set_drives", is_same: false, stated, found: drives.to_string() });
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    const SITE: &str = "\
nodes:
  count: 4
  cores: 32
  memory: 256GiB
  drives: {count: 4, capacity: 7.68TB}
  nics: {name: eth0, speed: 25Gb/s}
planes: {public: {link: eth0, mtu: 9000}}
engine: {product: minio, protection: EC:2}
";

    fn differing(from: &str, to: &str) -> Vec<(String, String, String)> {
        let read = |text: &str| linerate_site::read(text, "tests").unwrap();
        let found = read(&SITE.replace(from, to));
        let all = differences(&read(SITE), &found).into_iter();
        all.map(|difference| (difference.path, difference.stated, difference.found)).collect()
    }

    #[test]
    fn what_nodes_say_otherwise_is_named_with_both_values() {
        for (from, to, path, stated, found) in [
            ("count: 4\n", "count: 5\n", "nodes.count", "4", "5"),
            ("cores: 32", "cores: 16", "nodes.cores", "32", "16"),
            ("256GiB", "128GiB", "nodes.memory", "256GiB", "128GiB"),
            ("7.68TB", "3.84TB", "nodes.drives", "4 × 7.7TB", "4 × 3.8TB"),
            ("25Gb/s", "10Gb/s", "nodes.nics", "1 × 25Gb/s", "1 × 10Gb/s"),
            ("9000", "1500", "planes.public.mtu", "9000", "1500"),
            ("EC:2", "EC:1", "engine.protection", "EC:2", "EC:1"),
        ] {
            assert_eq!(differing(from, to), [(path.to_owned(), stated.to_owned(), found.to_owned())], "{from} {to}");
        }
    }

    #[test]
    fn what_is_assumed_of_the_nodes_or_hardly_differs_is_no_difference() {
        assert_eq!(differing("", ""), []);
        assert_eq!(differing("256GiB", "252GiB"), []);
        assert_eq!(differing("7.68TB", "7.682TB"), []);
        assert_eq!(differing("  cores: 32\n", ""), []);
        assert_eq!(differing(", protection: EC:2", ""), []);
        assert_eq!(differing("mtu: 9000", "mtu: {assumed: 1500}"), []);
    }
}
