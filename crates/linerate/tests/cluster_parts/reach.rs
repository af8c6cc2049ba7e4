//! What each variant promises: who reaches whom, by which way, and whom the server sees.

use std::net::{IpAddr, SocketAddr};

use libtest_mimic::Failed;

use super::loss::{Requested, ask_often, await_both, by_node, lose};
use super::{Cluster, LONG_TIMEOUT, NODES, of_variant};
use crate::running::eventually_within;

/// The client behind the router, and in the segment of the nodes' second links.
const BEHIND_ROUTER: &str = "10.231.81.2";
pub(crate) const IN_SEGMENT: &str = "10.231.82.2";

/// Silence after which a session has ended, and what is granted to the rest: sites state nothing else.
const HEALED_S: f64 = 5.0;

/// A lease of 3 s, a look after a second and a fifth, and what agents and neighbours' tables take on a busy machine.
const LEASE_PASSED_S: f64 = 15.0;

/// A check of a cluster's own; what it needs beside it.
pub(crate) type Check = (&'static str, &'static str, fn() -> Result<(), Failed>);

/// The checks, variant after variant: each has a cluster of its own.
pub(crate) const CHECKS: [Check; 11] = [
    ("variant_c_pods_reach_each_other_and_services_by_the_router", "", || of_variant("c", pods_by_the_router)),
    ("variant_c_address_is_reached_over_both_nodes_which_see_the_client", "", || of_variant("c", over_both)),
    ("variant_c_heals_in_time_from_a_node_that_is_cut_off", "", || of_variant("c", |it| heals(it, ("cut", "heal")))),
    ("variant_c_heals_in_time_from_a_node_that_crashes", "", || of_variant("c", |it| heals(it, ("crash", "boot")))),
    ("variant_a_node_ports_of_the_public_plane_see_the_client", "", || of_variant("a", ports_of_two_planes)),
    ("variant_a_pods_reach_each_other_by_the_gateway_that_was_found", "", || of_variant("a", pods_by_the_router)),
    ("variant_b_others_answer_the_client_itself", "geneve", || of_variant("b", answered_directly)),
    ("variant_b_with_vxlan_one_node_announces_and_both_serve", "vxlan", || of_variant("b+vxlan", announced_by_one)),
    ("variant_b_with_vxlan_another_node_announces_then", "vxlan", || of_variant("b+vxlan", announced_by_another)),
    ("variant_client_node_ports_see_the_client", "", || of_variant("client", ports_of_one_plane)),
    ("variant_client_pods_reach_each_other_by_routes_of_agents", "", || of_variant("client", pods_and_services)),
];

/// The pod of a node, and its address.
pub(crate) fn pod(cluster: &Cluster, node: u32) -> (String, String) {
    let of = format!("--field-selector=spec.nodeName=n{node},status.phase=Running");
    let path = "jsonpath={.items[0].metadata.name} {.items[0].status.podIP}";
    let said = cluster.kubectl(&["get", "pods", "--namespace", "minio", &of, "--output", path]);
    let (name, address) = said.split_once(' ').expect("a name and an address");
    (name.to_owned(), address.to_owned())
}

/// Who answers a pod, and whom it sees.
fn requested_by_pod(cluster: &Cluster, name: &str, address: &str) -> String {
    cluster.kubectl(&["exec", "--namespace", "minio", name, "--", "/answer", "ask", address, "9000"])
}

fn service(cluster: &Cluster, path: &str) -> String {
    cluster.kubectl(&["get", "service", "minio", "--namespace", "minio", "--output", &format!("jsonpath={{{path}}}")])
}

/// Routes to pods come seconds after agents say that all is well.
fn await_pods(cluster: &Cluster) {
    let ((name, _), (_, address)) = (pod(cluster, 1), pod(cluster, 2));
    let words = ["exec", "--namespace", "minio", &name, "--", "/answer", "ask", &address, "9000"];
    eventually_within(LONG_TIMEOUT, "pods to reach each other", || cluster.ended(&words).status.success());
}

pub(crate) fn pods_and_services(cluster: &Cluster) -> Result<(), Failed> {
    await_pods(cluster);
    let inside = service(cluster, ".spec.clusterIP");
    for from in 1..=NODES {
        let (name, source) = pod(cluster, from);
        for to in 1..=NODES {
            let (_, address) = pod(cluster, to);
            // Pods have their own addresses: nothing is masqueraded among them.
            assert_eq!(requested_by_pod(cluster, &name, &address), format!("n{to} {source}\n"), "n{from} to n{to}");
        }
        let answers: Vec<String> = (0..8).map(|_| requested_by_pod(cluster, &name, &inside)).collect();
        println!("n{from} to {inside}: {answers:?}");
        assert!(answers.iter().all(|answer| answer.starts_with('n')), "{answers:?}");
    }
    Ok(())
}

/// Agents install no routes here: what a node does not know goes to the router.
pub(crate) fn pods_by_the_router(cluster: &Cluster) -> Result<(), Failed> {
    pods_and_services(cluster)?;
    let routes = cluster.act(&["router", "show ip route bgp"]);
    println!("{routes}");
    let learned = routes.lines().filter(|line| line.starts_with("B>*") && line.contains(" 10.232.")).count();
    assert_eq!(learned, NODES as usize, "{routes}");
    Ok(())
}

/// The address that the pool has given to the service.
pub(crate) fn address_of_service(cluster: &Cluster) -> Result<SocketAddr, Failed> {
    let path = ".status.loadBalancer.ingress[0].ip";
    eventually_within(LONG_TIMEOUT, "an address of the pool", || !service(cluster, path).is_empty());
    let address: IpAddr = service(cluster, path).parse()?;
    Ok(SocketAddr::new(address, 9000))
}

/// Next hops that the router's kernel has for an address.
fn next_hops(cluster: &Cluster, address: SocketAddr) -> usize {
    let route = cluster.act(&["on", "router", "ip", "route", "show", &address.ip().to_string()]);
    route.matches("via ").count()
}

/// Each request has an answer of a server that sees this client.
pub(crate) fn all_see(requested: &[Requested], client: &str) {
    for one in requested {
        let (node, seen) = one.answer.as_ref().expect("an answer");
        assert_eq!(seen, client, "{node}");
    }
}

pub(crate) fn over_both(cluster: &Cluster) -> Result<(), Failed> {
    let address = address_of_service(cluster)?;
    eventually_within(LONG_TIMEOUT, "two next hops", || next_hops(cluster, address) == NODES as usize);
    println!("{}", cluster.act(&["on", "router", "ip", "route", "show", &address.ip().to_string()]));
    await_both(cluster, address);
    let requested = ask_often(cluster, address, 60)?;
    println!("{address}: {:?}", by_node(&requested));
    // Of 60 choices between two, fewer than ten for one are less likely than 1e-7.
    assert!(by_node(&requested).values().all(|&count| count >= 10), "{:?}", by_node(&requested));
    all_see(&requested, BEHIND_ROUTER);
    Ok(())
}

fn heals(cluster: &Cluster, way: (&str, &str)) -> Result<(), Failed> {
    let address = address_of_service(cluster)?;
    eventually_within(LONG_TIMEOUT, "two next hops", || next_hops(cluster, address) == NODES as usize);
    await_both(cluster, address);
    let loss = lose(cluster, address, 2, way, 12)?;
    assert!(loss.healed.as_secs_f64() <= HEALED_S, "{:?}", loss.healed);
    eventually_within(LONG_TIMEOUT, "two next hops again", || next_hops(cluster, address) == NODES as usize);
    await_both(cluster, address);
    Ok(())
}

/// The port of a service on each node, by the addresses of a segment: under policy Local each answers itself.
fn ports(cluster: &Cluster, segment: &str, client: &str) -> Result<(), Failed> {
    let port: u16 = service(cluster, ".spec.ports[0].nodePort").parse()?;
    for node in 1..=NODES {
        let address = SocketAddr::new(format!("{segment}.{}", 10 + node).parse()?, port);
        eventually_within(LONG_TIMEOUT, "a node port to answer", || {
            ask_often(cluster, address, 1).is_ok_and(|requested| requested[0].answer.is_ok())
        });
        let requested = ask_often(cluster, address, 20)?;
        println!("{address}: {:?}", by_node(&requested));
        assert_eq!(by_node(&requested), [(&*format!("n{node}"), 20)].into(), "policy Local");
        all_see(&requested, client);
    }
    Ok(())
}

fn ports_of_two_planes(cluster: &Cluster) -> Result<(), Failed> {
    ports(cluster, "10.231.82", IN_SEGMENT)
}

fn ports_of_one_plane(cluster: &Cluster) -> Result<(), Failed> {
    await_pods(cluster);
    ports(cluster, "10.231.80", BEHIND_ROUTER)
}

/// The node whose link answers for an address in the client's segment.
pub(crate) fn announcing(cluster: &Cluster, address: SocketAddr) -> Option<u32> {
    let neighbours = cluster.act(&["on", "client", "ip", "neighbour", "show", &address.ip().to_string()]);
    let link = neighbours.split_whitespace().skip_while(|word| *word != "lladdr").nth(1)?.to_owned();
    (1..=NODES).find(|node| cluster.act(&["on", &node.to_string(), "ip", "link", "show", "eth1"]).contains(&link))
}

fn announced_by_one(cluster: &Cluster) -> Result<(), Failed> {
    pods_and_services(cluster)?;
    let address = address_of_service(cluster)?;
    await_both(cluster, address);
    let requested = ask_often(cluster, address, 60)?;
    let one = announcing(cluster, address);
    println!("{address}: {:?}, announced by {one:?}", by_node(&requested));
    assert!(one.is_some(), "one of the nodes announces it");
    assert!(by_node(&requested).values().all(|&count| count >= 10), "policy Cluster: {:?}", by_node(&requested));
    Ok(())
}

/// Both nodes see the client: the one that does not announce answers it by itself.
pub(crate) fn answered_directly(cluster: &Cluster) -> Result<(), Failed> {
    announced_by_one(cluster)?;
    all_see(&ask_often(cluster, address_of_service(cluster)?, 60)?, IN_SEGMENT);
    let reported = cluster.act(&["agent", "1", "status", "--verbose"]);
    for part in ["DSR", "Geneve"] {
        assert!(reported.contains(part), "{part}: {reported}");
    }
    Ok(())
}

fn announced_by_another(cluster: &Cluster) -> Result<(), Failed> {
    let address = address_of_service(cluster)?;
    await_both(cluster, address);
    let one = announcing(cluster, address).ok_or("one of the nodes announces it")?;
    println!("announced by n{one}");
    let loss = lose(cluster, address, one, ("cut", "heal"), 20)?;
    // What announces is a lease of 3 s, which another node looks for once a second.
    assert!(loss.healed.as_secs_f64() <= LEASE_PASSED_S, "{:?}", loss.healed);
    await_both(cluster, address);
    Ok(())
}
