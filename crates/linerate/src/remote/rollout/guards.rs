//! Which nodes are not to be interrupted together, and by which knobs they could be.

use std::collections::BTreeSet;

use linerate_model::layout::failure_tolerance::tolerated;
use linerate_model::layout::pools;
use linerate_record::fleet::NodeRole;
use linerate_record::sanitize::named_some;
use linerate_record::site::Site;
use linerate_rollout::plan::NamedGuard;
use linerate_settings::change_plan::may_interrupt;

use crate::run::catalogue::find;
use crate::terminal::failure::Failure;

/// A node as guards are made of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuardedNode<'n> {
    pub(crate) name: &'n str,
    pub(crate) role: NodeRole,
    /// The kind of nodes of the site that it is one of.
    pub(crate) kind: Option<&'n str>,
}

/// The knobs among these of which a change may interrupt a node, once each. One that is not known may.
pub(crate) fn interrupting<'k>(knobs: impl Iterator<Item = &'k str>) -> Vec<String> {
    let all: BTreeSet<&str> = knobs.filter(|id| find(id).is_none_or(may_interrupt)).collect();
    all.into_iter().map(str::to_owned).collect()
}

/// How many storage nodes may be interrupted at once: of each pool of a site what all of its erasure sets can miss,
/// whichever nodes those are; without a site one.
pub(crate) fn guards(nodes: &[GuardedNode<'_>], site: Option<&Site>) -> Result<Vec<NamedGuard>, Failure> {
    let storage: Vec<GuardedNode<'_>> = nodes.iter().filter(|node| node.role == NodeRole::Storage).copied().collect();
    let named = |nodes: &[GuardedNode<'_>]| nodes.iter().map(|node| node.name.to_owned()).collect::<Vec<String>>();
    let Some(site) = site else {
        let what = "storage nodes, whose erasure sets are not known without --site".to_owned();
        return Ok(vec![NamedGuard { what, nodes: named(&storage), at_once: 1 }]);
    };
    let pools = pools(site).map_err(Failure::usage)?;
    let (mut guards, mut unplaced) = (Vec::new(), storage.clone());
    for pool in &pools {
        let groups: Vec<&str> = pool.groups.iter().map(|group| site.groups[*group].name.as_str()).collect();
        let is_of = |node: &GuardedNode<'_>| match node.kind {
            Some(kind) => groups.contains(&kind),
            // Of a site with one pool there is no other that it could be of.
            None => pools.len() == 1,
        };
        let pool_nodes: Vec<GuardedNode<'_>> = storage.iter().filter(|node| is_of(node)).copied().collect();
        unplaced.retain(|node| !is_of(node));
        let missed = tolerated(site.engine.product, std::slice::from_ref(pool)).nodes;
        // One has to be changed at some time: what that means is said.
        let all = if missed == 0 { ", which can miss no node, so that requests fail meanwhile" } else { "" };
        let what = format!("the erasure sets of {}{all}", groups.join(", "));
        guards.push(NamedGuard { what, nodes: named(&pool_nodes), at_once: missed.max(1) });
    }
    if unplaced.is_empty() {
        return Ok(guards);
    }
    let kinds: Vec<&str> = site.groups.iter().map(|group| group.name.as_str()).collect();
    Err(Failure::usage(format!(
        "--site {}: it is not known of which pool {} are: add site: {} to them in the fleet file, and make the file of \
         changes anew",
        site.name,
        named_some(unplaced.iter().map(|node| node.name)),
        kinds.join(" or site: ")
    )))
}

#[cfg(test)]
mod tests {
    use linerate_site::SiteFile;

    use super::*;

    fn site(count: u32) -> Site {
        let text = format!(
            "name: x\nengine: {{product: minio, protection: EC:4}}\nnodes:\n  name: dense\n  count: {count}\n  drives: \
             [{{count: 4, capacity: 8TB, read: 3GB/s, write: 2GB/s}}]\n  nics: [{{name: p, ports: 2, speed: \
             25Gb/s}}]\n"
        );
        SiteFile::new("site.yaml", text).read().unwrap()
    }

    fn node(name: &str, role: NodeRole) -> GuardedNode<'_> {
        GuardedNode { name, role, kind: None }
    }

    #[test]
    fn without_a_site_storage_nodes_are_interrupted_one_by_one() {
        let nodes = [node("a", NodeRole::Storage), node("b", NodeRole::Storage), node("c", NodeRole::Client)];
        let found = guards(&nodes, None).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].nodes.clone(), found[0].at_once), (vec!["a".to_owned(), "b".to_owned()], 1));
    }

    #[test]
    fn with_a_site_as_many_as_its_sets_can_miss() {
        let nodes = [node("a", NodeRole::Storage), node("b", NodeRole::Storage)];
        let site = site(16);
        let found = guards(&nodes, Some(&site)).unwrap();
        let pools = pools(&site).unwrap();
        assert_eq!(found[0].at_once, tolerated(site.engine.product, &pools).nodes);
        assert!(found[0].at_once > 1 && !found[0].what.contains("can miss no node"), "{found:?}");
        let alone = guards(&nodes, Some(&self::site(2))).unwrap();
        assert!(alone[0].at_once == 1 && alone[0].what.contains("can miss no node"), "{alone:?}");
        let strange = [GuardedNode { kind: Some("fast"), ..nodes[0] }];
        let why = guards(&strange, Some(&site)).unwrap_err().to_string();
        assert!(why.contains("of which pool a are: add site: dense"), "{why}");
    }

    #[test]
    fn knobs_that_may_interrupt_are_named_once() {
        let knobs = ["net.core.somaxconn", "nic.mtu", "nic.mtu", "no.such.knob", "vm.swappiness"];
        assert_eq!(interrupting(knobs.into_iter()), ["nic.mtu", "no.such.knob"]);
        assert_eq!(interrupting(["vm.swappiness"].into_iter()), Vec::<String>::new());
    }
}
