//! Layouts in words.

use linerate_record::site::{Product, Protection, Site, copies_name};

use super::minio::{default_parity, set_sizes};
use super::{GeometryKind, Pool, largest};

/// What an engine is called.
pub(crate) fn product(product: Product) -> &'static str {
    match product {
        Product::Minio => "MinIO",
        Product::Rustfs => "RustFS",
        Product::CephRgw => "Ceph RGW",
        Product::Garage => "Garage",
    }
}

/// What an engine's protection can be.
pub(super) fn protections(product: Product) -> &'static str {
    match product {
        Product::Minio | Product::Rustfs => "state `sets`",
        Product::CephRgw => "state `erasure` with `data` and `parity`, or `replicas` with `copies`",
        Product::Garage => "state `replicas` with `copies`",
    }
}

/// `2, 4 or 8`.
pub(crate) fn numbers(all: &[u32]) -> String {
    match all {
        [] => "no number".to_owned(),
        [one] => one.to_string(),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(u32::to_string).collect();
            format!("{} or {last}", first.join(", "))
        }
    }
}

/// Why the engine lays pools out so: once for those that are alike, with the groups' names where some are not.
pub(super) fn of_pools(site: &Site, pools: &[Pool]) -> String {
    if pools.iter().all(|pool| pool.geometry.cut() == pools[0].geometry.cut()) {
        return chosen(site, largest(site, pools));
    }
    let reported = |pool: &Pool| {
        let names: Vec<&str> = pool.groups.iter().map(|&place| site.groups[place].name.as_str()).collect();
        format!("{}: {}", names.join(", "), chosen(site, pool))
    };
    pools.iter().map(reported).collect::<Vec<String>>().join("; ")
}

/// Why the engine lays a pool out so.
fn chosen(site: &Site, pool: &Pool) -> String {
    let geometry = pool.geometry;
    let name = product(site.engine.product);
    let (n, k, m) = (geometry.shards, geometry.data, geometry.parity);
    match (geometry.kind, site.engine.protection) {
        (GeometryKind::Sets, Protection::Sets { set_drives, parity }) => {
            let group = &site.groups[pool.groups[0]];
            let size = sizes(pool, group.drives_per_node(), set_drives.is_some());
            let share = match parity {
                Some(_) => format!("parity {m} is stated"),
                None if m == default_parity(n) => format!("parity {m} is the default for it"),
                None => format!("parity {m} is the first pool's"),
            };
            format!("{size}; {share}; {}", spread(pool))
        }
        (GeometryKind::Scattered, _) => {
            format!("{name} places {k} + {m} shards of each object separately, one per node of {}", pool.nodes)
        }
        _ => format!("{name} keeps {}, one to a node of {}", copies_name(n), pool.nodes),
    }
}

fn sizes(pool: &Pool, drives_per_node: u32, stated: bool) -> String {
    let (nodes, n) = (pool.nodes, pool.geometry.shards);
    if stated {
        return format!("sets of {n} drives are stated, and divide {} drives", pool.drives);
    }
    let known = set_sizes(nodes, drives_per_node, true);
    if known.len() < 2 {
        return format!("{n} is the only set size that divides {nodes} nodes × {drives_per_node} drives evenly");
    }
    format!("{n} is the largest of the sizes {} that spread evenly over {nodes} nodes", numbers(&known))
}

fn spread(pool: &Pool) -> String {
    let (nodes, n) = (pool.nodes, pool.geometry.shards);
    match n.div_ceil(nodes) {
        _ if nodes == 1 => "all drives are in one node".to_owned(),
        1 => format!("each shard is on a different node, {n} consecutive nodes"),
        most => format!("up to {most} shards of an object are on one node"),
    }
}
