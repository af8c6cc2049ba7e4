//! What the kernel of this machine may not have, Geneve and netkit, on nodes that are virtual machines with Debian's:
//! `make machine` takes it, and `MACHINE` names the folder.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;

use libtest_mimic::Failed;

use super::loss::{ask_often, await_both, by_node};
use super::reach::{
    Check, IN_SEGMENT, address_of_service, all_see, announcing, answered_directly, over_both, pods_and_services,
    pods_by_the_router,
};
use super::{Cluster, LONG_TIMEOUT, NODES, of_variant};
use crate::running::eventually_within;

/// What these checks need beside the others, in the place of a kind of link.
pub(crate) const NEEDED: &str = "machines";

/// A connection with an answer: what accepts it, the answer with the end, and what confirms the client's end.
const PACKETS_OF_AN_ANSWER: u64 = 3;

pub(crate) const CHECKS: [Check; 7] = [
    ("machines_variant_b_agents_take_geneve_and_dsr_as_rendered", NEEDED, || of_variant("machines/b", tell_of_geneve)),
    ("machines_variant_b_pods_reach_each_other_through_geneve", NEEDED, || {
        of_variant("machines/b", served(through_geneve))
    }),
    ("machines_variant_b_one_announces_and_the_other_answers_the_client_itself", NEEDED, || {
        of_variant("machines/b", served(answered_by_its_own_link))
    }),
    ("machines_variant_b_ports_of_a_node_are_served_by_both_which_see_the_client", NEEDED, || {
        of_variant("machines/b", served(ports_by_both))
    }),
    ("machines_variant_c_pods_have_netkit_and_reach_each_other", NEEDED, || {
        of_variant(
            "machines/c-netkit",
            served(|cluster| pods_by_the_router(cluster).and_then(|()| have_netkit(cluster))),
        )
    }),
    ("machines_variant_c_address_is_reached_over_both_nodes_with_netkit", NEEDED, || {
        of_variant("machines/c-netkit", served(over_both))
    }),
    ("machines_variant_b_takes_netkit_with_geneve", NEEDED, || {
        of_variant("machines/b-netkit", served(|cluster| through_geneve(cluster).and_then(|()| have_netkit(cluster))))
    }),
];

/// A check that needs pods.
fn served(check: impl FnOnce(&Cluster) -> Result<(), Failed>) -> impl FnOnce(&Cluster) -> Result<(), Failed> {
    |cluster| {
        cluster.serve();
        check(cluster)
    }
}

/// What this machine lacks for others.
pub(crate) fn missing() -> Vec<String> {
    let kernel = std::env::var_os("MACHINE").map(|folder| Path::new(&folder).join("vmlinuz"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = |program: &str| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let parts = [
        ("a kernel for machines", kernel.is_some_and(|kernel| kernel.exists())),
        ("qemu-system-x86_64", on_path("qemu-system-x86_64")),
        ("virtiofsd of qemu", Path::new("/usr/lib/qemu/virtiofsd").exists()),
        ("busybox", on_path("busybox")),
    ];
    parts.into_iter().filter(|(_, is_there)| !is_there).map(|(name, _)| name.to_owned()).collect()
}

/// Packets that the other end of a link has sent, and those that have been sent to it.
fn packets(cluster: &Cluster, link: &str) -> (u64, u64) {
    let output = cluster.inside("ip").args(["-json", "-stats", "link", "show", link]).output().expect("it runs");
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("ip says JSON");
    let packets = |way: &str| said[0]["stats64"][way]["packets"].as_u64().expect("a count");
    (packets("rx"), packets("tx"))
}

/// Of the links of both planes, for something that is done meanwhile.
fn counted<T>(cluster: &Cluster, act: impl FnOnce() -> T) -> (T, BTreeMap<String, (u64, u64)>) {
    let links: Vec<String> = (1..=NODES).flat_map(|node| [format!("to-n{node}"), format!("out-n{node}")]).collect();
    let before: Vec<(u64, u64)> = links.iter().map(|link| packets(cluster, link)).collect();
    let done = act();
    let counts = links.into_iter().zip(before).map(|(link, before)| {
        let after = packets(cluster, &link);
        (link, (after.0 - before.0, after.1 - before.1))
    });
    (done, counts.collect())
}

/// Links of a machine, as its own kernel tells of them.
fn links_of(cluster: &Cluster, node: u32) -> Result<Vec<serde_json::Value>, Failed> {
    let said = cluster.act(&["on", &node.to_string(), "ip", "-json", "-details", "-stats", "link", "show"]);
    Ok(serde_json::from_str(&said).map_err(|error| format!("{error}: {said}"))?)
}

/// Agents are well with what was rendered, and tell of it; the link of the tunnel is Geneve's, and cards have programs.
fn tell_of_geneve(cluster: &Cluster) -> Result<(), Failed> {
    for node in 1..=NODES {
        let reported = cluster.act(&["agent", &node.to_string(), "status", "--verbose"]);
        for part in ["Tunnel [geneve]", "DSR", "Geneve", "Device Mode:"] {
            assert!(reported.contains(part), "{part}: {reported}");
        }
        let links = links_of(cluster, node)?;
        assert!(links.iter().any(|link| link["linkinfo"]["info_kind"] == "geneve"), "{links:?}");
        // An agent says that all is well before its programs are on every card.
        let program = |card: &str| -> Option<String> {
            let links = links_of(cluster, node).ok()?;
            let its = links.iter().find(|link| link["ifname"] == card)?;
            Some(its["xdp"]["prog"]["name"].as_str()?.to_owned())
        };
        for card in ["eth0", "eth1"] {
            eventually_within(LONG_TIMEOUT, "a program of XDP", || program(card).as_deref() == Some("cil_xdp_entry"));
        }
    }
    Ok(())
}

/// Packets of a way, `tx` or `rx`, that the link of a node's tunnel has counted, which is Geneve's.
fn tunnelled(cluster: &Cluster, node: u32, way: &str) -> Result<u64, Failed> {
    let links = links_of(cluster, node)?;
    let tunnel = links.iter().find(|link| link["linkinfo"]["info_kind"] == "geneve");
    Ok(tunnel.and_then(|link| link["stats64"][way]["packets"].as_u64()).ok_or("a tunnel with counts")?)
}

/// What is between pods of both nodes goes through the link of the tunnel.
fn through_geneve(cluster: &Cluster) -> Result<(), Failed> {
    let sent = || (1..=NODES).map(|node| tunnelled(cluster, node, "tx")).collect::<Result<Vec<u64>, Failed>>();
    let before = sent()?;
    pods_and_services(cluster)?;
    let after = sent()?;
    println!("packets that each node has sent in Geneve: {before:?}, then {after:?}");
    for (before, after) in before.iter().zip(&after) {
        // Each pod has asked the other node's, and been asked by it.
        assert!(after - before >= 2 * PACKETS_OF_AN_ANSWER, "{before} to {after}");
    }
    Ok(())
}

/// Replies of the node that does not announce are on its own link, on which no request has come; requests have come to
/// it in Geneve from the one that announces.
fn answered_by_its_own_link(cluster: &Cluster) -> Result<(), Failed> {
    answered_directly(cluster)?;
    let address = address_of_service(cluster)?;
    await_both(cluster, address);
    let one = announcing(cluster, address).ok_or("one of the nodes announces it")?;
    let other = (1..=NODES).find(|node| *node != one).ok_or("there is another")?;
    let before = tunnelled(cluster, other, "rx")?;
    let (requested, counts) = counted(cluster, || ask_often(cluster, address, 60));
    let forwarded = tunnelled(cluster, other, "rx")? - before;
    let requested = requested?;
    assert_eq!(announcing(cluster, address), Some(one), "it announces still");
    let answered = by_node(&requested).get(&*format!("n{other}")).copied().unwrap_or_default() as u64;
    println!(
        "announced by n{one}; n{other} answered {answered} and took {forwarded} packets out of Geneve: \
         packets {{link: (from it, to it)}} {counts:?}"
    );
    let (replies, requests) = counts[&format!("out-n{other}")];
    assert!(answered >= 10, "{:?}", by_node(&requested));
    assert!(replies >= answered * PACKETS_OF_AN_ANSWER, "{counts:?}");
    assert!(requests < answered, "{counts:?}");
    assert!(forwarded >= answered * PACKETS_OF_AN_ANSWER, "{forwarded}");
    Ok(())
}

/// A port of each node, which the variant itself has none of: policy Cluster.
fn ports_by_both(cluster: &Cluster) -> Result<(), Failed> {
    let labels = serde_json::json!({"app.kubernetes.io/name": "minio", "pool": "minio"});
    let service = serde_json::json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "ports", "namespace": "minio"},
        "spec": {"type": "NodePort", "selector": labels, "ports": [{"name": "s3", "port": 9000}]},
    });
    cluster.apply(&service.to_string());
    let path = "jsonpath={.spec.ports[0].nodePort}";
    let port = cluster.kubectl(&["get", "service", "ports", "--namespace", "minio", "--output", path]).parse()?;
    for node in 1..=NODES {
        let address = SocketAddr::new(format!("10.231.82.{}", 10 + node).parse()?, port);
        await_both(cluster, address);
        let requested = ask_often(cluster, address, 60)?;
        println!("{address}: {:?}", by_node(&requested));
        assert!(by_node(&requested).values().all(|&count| count >= 10), "{:?}", by_node(&requested));
        all_see(&requested, IN_SEGMENT);
    }
    Ok(())
}

/// Devices of pods are netkit's, on both nodes.
fn have_netkit(cluster: &Cluster) -> Result<(), Failed> {
    for node in 1..=NODES {
        let links = links_of(cluster, node)?;
        let of_pods = links.iter().filter(|link| link["ifname"].as_str().is_some_and(|name| name.starts_with("lxc")));
        let kinds: Vec<_> =
            of_pods.map(|link| (link["ifname"].as_str(), link["linkinfo"]["info_kind"].as_str())).collect();
        println!("n{node}: {kinds:?}");
        // One of the pod, and one of what Cilium asks for its health.
        assert!(kinds.len() >= 2 && kinds.iter().all(|(_, its)| *its == Some("netkit")), "{kinds:?}");
    }
    Ok(())
}
