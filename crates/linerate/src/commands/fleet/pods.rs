//! Clients in Kubernetes: printed, started and removed.

use std::process::ExitCode;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use linerate_fleet::description::FleetNode;
use linerate_fleet::node_reach::{NodeReach, PodChoice, PodLocation};
use linerate_kube::access::KubeCluster;
use linerate_kube::client_fleet::{FleetRemainder, NamespaceOwner, Readiness, documents};
use linerate_kube::error::KubeError;
use linerate_kube::manifest::{self, CHANGE, ClientManifest, INSTANCE_LABEL};
use linerate_record::fleet::Allowed;

use super::flags::{ClientFlags, DownFlags, ManifestFlags, UpFlags};
use crate::files::{output_file, output_format};
use crate::remote::kube_cluster::{connect, kube_failure};
use crate::remote::node_access;
use crate::run::interrupt;
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;
use crate::terminal::progress::print_error;

/// How often the API server is asked how far it is.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How often a log that stays the same is printed again.
const LOG_REPEAT_INTERVAL: Duration = Duration::from_secs(10);

/// What is wrong with what is wished for.
pub(super) fn check(flags: &ClientFlags) -> Result<(), Failure> {
    wishes(flags, "checked").map(|_| ())
}

pub(super) fn manifest(flags: &ManifestFlags) -> Result<ExitCode, Failure> {
    let wishes = wishes(&flags.clients, "manual")?;
    output_format::write_or_print(&manifest::render(&wishes), flags.output.as_deref())
}

fn wishes(flags: &ClientFlags, instance: &str) -> Result<ClientManifest, Failure> {
    let label = flags.storage_label.as_deref().map(|label| match label.split_once('=') {
        Some((key, value)) => (key.to_owned(), Some(value.to_owned())),
        None => (label.to_owned(), None),
    });
    let deadline = SignedDuration::try_from(flags.deadline).map_err(Failure::usage)?;
    let until = || (Timestamp::now() + deadline).strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let wishes = ClientManifest {
        instance: flags.instance.clone().unwrap_or_else(|| instance.to_owned()),
        namespace: flags.namespace.clone(),
        makes_namespaces: true,
        image: flags.image.clone(),
        clients: flags.clients.unwrap_or(0),
        allow: Allowed::Load.name().to_owned(),
        cpu: flags.cpu.clone(),
        memory: flags.memory.clone(),
        deadline_s: flags.deadline.as_secs(),
        lease_s: flags.lease.as_secs(),
        storage_label: label,
        storage_hosts: Vec::new(),
        storage_until: None,
        host_clients: flags.host_clients,
        service_port: flags.service_port,
        changes: flags.change,
    };
    wishes.checked().map_err(Failure::usage)?;
    let storage_until = (flags.storage || flags.change).then(until);
    Ok(ClientManifest { storage_until, ..wishes })
}

pub(super) fn up(flags: &UpFlags) -> Result<ExitCode, Failure> {
    let mut wishes = wishes(&flags.clients, &random_instance()?)?;
    let cluster = connect(&flags.cluster, flags.cluster.context.as_deref())?;
    let kube_failure = |fault: KubeError| kube_failure(&fault);
    if cluster.is_up(&wishes).map_err(kube_failure)? {
        let instance = &wishes.instance;
        return Err(Failure::usage(format!(
            "--instance {instance}: a fleet with this name already exists: linerate fleet down --instance {instance} \
             removes it"
        )));
    }
    let others = foreign_namespaces(&cluster, &wishes)?;
    wishes.makes_namespaces = true;
    let objects = documents(&manifest::render(&wishes)).map_err(Failure::Command)?;
    print_error(&format!("starting fleet {}: linerate fleet down --instance {0} removes it", wishes.instance));
    if wishes.changes {
        print_error("its pods are privileged, which amounts to root on each storage node");
    }
    let is_others = |object: &&serde_json::Value| {
        object["kind"] == "Namespace" && others.iter().any(|name| object["metadata"]["name"] == **name)
    };
    cluster.apply_all(objects.iter().filter(|object| !is_others(object)), &wishes).map_err(kube_failure)?;
    let ready = wait_until_ready(&cluster, &wishes, flags.wait)?;
    let context = flags.cluster.context.as_deref();
    let fleet = if wishes.is_placed() {
        manifest::placed_fleet(&wishes, context, &cluster.served(&wishes, ready.placed).map_err(kube_failure)?)
    } else {
        manifest::fleet(&wishes, context, &ready.storage)
    };
    match &flags.output {
        Some(path) => output_file::write_output(path, printing::text_for_file(&fleet).as_bytes(), 0o644)?,
        None => printing::print(&fleet)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Namespaces of somebody else's in which clients are put. They are used as they are: with our labels on them, they
/// would be deleted with the fleet. What is privileged is put into none of them.
fn foreign_namespaces(cluster: &Arc<KubeCluster>, wishes: &ClientManifest) -> Result<Vec<String>, Failure> {
    let mut others = Vec::new();
    for place in wishes.namespaces() {
        if cluster.owner(&place, &wishes.instance).map_err(|fault| kube_failure(&fault))? != NamespaceOwner::Others {
            continue;
        }
        // Every namespace but that of the clients is for pods that Kubernetes calls privileged.
        if place != wishes.namespace {
            return Err(Failure::usage(occupied_namespace_text(&place, wishes)));
        }
        others.push(place);
    }
    Ok(others)
}

/// Why privileged pods are not put into a namespace that is there already.
fn occupied_namespace_text(place: &str, wishes: &ClientManifest) -> String {
    let are = if place == wishes.storage_namespace() {
        "are root on each storage node"
    } else {
        "are in the network of their hosts"
    };
    format!(
        "namespace {place} exists and is not of fleet {}: whoever has rights in it may run commands in this fleet's \
         pods there, which {are}: give another --namespace; or, if an earlier fleet left it, remove it by linerate \
         fleet down --instance with the instance in its label {INSTANCE_LABEL}",
        wishes.instance
    )
}

/// Six letters, so that fleets do not share a name.
fn random_instance() -> Result<String, Failure> {
    let mut bytes = [0_u8; 3];
    let failed = |error: rustix::io::Errno| Failure::Command(format!("failed to draw a name: {error}"));
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).map_err(failed)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Waits until all is ready, and tells how far it is.
fn wait_until_ready(
    cluster: &Arc<KubeCluster>,
    wishes: &ClientManifest,
    within: Duration,
) -> Result<Readiness, Failure> {
    let instance = &wishes.instance;
    let interrupt =
        interrupt::watch_signals(format!("error: interrupted again: fleet down --instance {instance} removes it"))?;
    let (until, mut last_log_line): (_, Option<(Instant, String)>) = (Instant::now() + within, None);
    loop {
        let found = match cluster.readiness(wishes) {
            // An API server that restarts meanwhile is back in time, or the wait is over.
            Err(fault) if fault.is_of_server() && Instant::now() < until => {
                Readiness { waits: vec![fault.to_string()], ..Readiness::default() }
            }
            found => found.map_err(|fault| kube_failure(&fault))?,
        };
        let text = progress(&found, wishes);
        if last_log_line.as_ref().is_none_or(|(at, before)| *before != text || at.elapsed() > LOG_REPEAT_INTERVAL) {
            print_error(&text);
            last_log_line = Some((Instant::now(), text));
        }
        if found.is_whole(wishes) {
            return Ok(found);
        }
        let removes = format!("linerate fleet down --instance {instance} removes them");
        if interrupt::is_set(&interrupt.stop) {
            return Err(Failure::Outcome { why: format!("interrupted; {removes}"), code: code::INTERRUPTED });
        }
        if Instant::now() >= until {
            let why = found.waits.join("\n  ");
            let why = if why.is_empty() { "no pods were made: see kubectl describe job".to_owned() } else { why };
            let ready = format!("{} after {} s", ready_count_text(&found, wishes), within.as_secs());
            return Err(Failure::Outcome { why: format!("{ready}:\n  {why}\n  {removes}"), code: code::TARGET });
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// How many are ready.
fn ready_count_text(found: &Readiness, wishes: &ClientManifest) -> String {
    let storage = found.storage_wanted.map(|wanted| format!("{} of {wanted} storage nodes", found.storage.len()));
    if wishes.changes {
        return format!("{} ready", storage.unwrap_or_else(|| "no storage node".to_owned()));
    }
    let mut text = format!("{} of {} clients ready", found.clients, wishes.clients);
    if wishes.host_clients > 0 {
        text.push_str(&format!(", {} of {} of hosts", found.host_clients, wishes.host_clients));
    }
    storage.into_iter().for_each(|storage| text.push_str(&format!(", {storage}")));
    text
}

fn progress(found: &Readiness, wishes: &ClientManifest) -> String {
    let mut text = ready_count_text(found, wishes);
    if let Some(wait) = found.waits.first() {
        text.push_str(&format!("; {wait}"));
    }
    text
}

pub(super) fn down(flags: &DownFlags) -> Result<ExitCode, Failure> {
    let (instance, namespace, context) = match (&flags.fleet, &flags.instance) {
        (Some(path), _) => fleet_of_file(&node_access::read_owned_fleet(path)?)?,
        (None, instance) => (instance.clone().unwrap_or_default(), flags.namespace.clone(), None),
    };
    let context = flags.cluster.context.clone().or(context);
    let cluster = connect(&flags.cluster, context.as_deref())?;
    let storage = format!("{namespace}-storage");
    let rare = [format!("{namespace}-host"), format!("{namespace}-{CHANGE}")];
    let (until, mut last_log_line, mut changed) = (Instant::now() + flags.wait, String::new(), false);
    loop {
        // Not every fleet has clients of hosts, or changes storage nodes, and not everyone has rights where they would
        // be.
        let there = rare.iter().filter_map(|place| match cluster.owner(place, &instance) {
            Ok(NamespaceOwner::Nobody) => None,
            found => Some(found.map(|_| place.as_str())),
        });
        let deleted = there.collect::<Result<Vec<&str>, KubeError>>().and_then(|there| {
            let all: Vec<&str> = [namespace.as_str(), storage.as_str()].into_iter().chain(there).collect();
            cluster.delete(&all, &instance)
        });
        let left = match deleted {
            Err(fault) if fault.is_of_server() && Instant::now() < until => {
                print_error(&fault.to_string());
                thread::sleep(POLL_INTERVAL);
                continue;
            }
            left => left.map_err(|fault| kube_failure(&fault))?,
        };
        changed |= has_changed_nodes(&left, &instance);
        if left.objects.is_empty() {
            for (namespace, other) in &left.kept {
                print_error(&format!(
                    "namespace {namespace} stays: it contains {other}, which is not part of this fleet"
                ));
            }
            print_error(&format!("nothing is left of fleet {instance}"));
            if changed {
                print_error(NODES_KEEP_TEXT);
            }
            return Ok(ExitCode::SUCCESS);
        }
        let text = remaining(&left);
        if text != last_log_line {
            print_error(&format!("deleting {text}"));
            last_log_line = text;
        }
        if Instant::now() >= until {
            let why = format!(
                "{last_log_line} is left after {} s; a finalizer may block it: see kubectl get",
                flags.wait.as_secs()
            );
            return Err(Failure::Outcome { why, code: code::TARGET });
        }
        thread::sleep(POLL_INTERVAL);
    }
}

/// What is not Kubernetes' of pods through which nodes were changed.
const NODES_KEEP_TEXT: &str = "on its nodes, changes that were confirmed stay, others are rolled back in time, and \
                     /var/lib/linerate stays with the journals, by which linerate tune rolls back, and a copy of this \
                     program";

/// Whether these are objects of a fleet through which nodes are changed.
fn has_changed_nodes(left: &FleetRemainder, instance: &str) -> bool {
    left.objects
        .iter()
        .any(|object| object.kind == "DaemonSet" && object.name == format!("linerate-{instance}-{CHANGE}"))
}

fn remaining(left: &FleetRemainder) -> String {
    let names: Vec<String> = left.objects.iter().take(3).map(ToString::to_string).collect();
    let more = left.objects.len().saturating_sub(3);
    let others = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{others}", names.join(", "))
}

/// Instance, namespace and context of the fleet whose clients a file reaches.
fn fleet_of_file(nodes: &[FleetNode]) -> Result<(String, String, Option<String>), Failure> {
    let mut found: Vec<(String, String, Option<String>)> = nodes.iter().filter_map(fleet_of_node).collect();
    // Those in the network of their hosts are in a namespace beside that of the others.
    let others: Vec<_> =
        found.iter().map(|(instance, place, of)| (instance.clone(), format!("{place}-host"), of.clone())).collect();
    found.retain(|one| !others.contains(one));
    found.sort();
    found.dedup();
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Failure::usage(format!(
            "the fleet file reaches no pods by {INSTANCE_LABEL}: give the file that fleet up wrote, or --instance"
        ))),
        _ => Err(Failure::usage("the fleet file reaches clients of several fleets: name one by --instance")),
    }
}

fn fleet_of_node(node: &FleetNode) -> Option<(String, String, Option<String>)> {
    let NodeReach::Kube(PodLocation { context, namespace, pod: PodChoice::Selected { selector, .. } }) = &node.reach
    else {
        return None;
    };
    let mut terms = selector.split(',').filter_map(|term| term.split_once('='));
    let instance = terms.find(|(key, _)| *key == INSTANCE_LABEL)?.1;
    Some((instance.to_owned(), namespace.clone(), context.clone()))
}

#[cfg(test)]
mod tests {
    use linerate_kube::client_fleet::ObjectName;

    use super::*;

    #[test]
    fn what_stays_on_nodes_is_told_of_a_fleet_that_changes_them() {
        let left = |kind: &str, name: &str| {
            let object = ObjectName {
                kind: kind.to_owned(),
                namespace: Some("linerate-change".to_owned()),
                name: name.to_owned(),
            };
            FleetRemainder { objects: vec![object], kept: Vec::new() }
        };
        assert!(has_changed_nodes(&left("DaemonSet", "linerate-a1-change"), "a1"));
        for (kind, name) in [("DaemonSet", "linerate-a1-storage"), ("DaemonSet", "linerate-b-change"), ("Job", "a1")] {
            assert!(!has_changed_nodes(&left(kind, name), "a1"), "{kind} {name}");
        }
        assert!(
            NODES_KEEP_TEXT.contains("/var/lib/linerate") && NODES_KEEP_TEXT.contains("confirmed stay"),
            "{NODES_KEEP_TEXT}"
        );
    }

    #[test]
    fn the_fleet_of_a_file_is_the_one_that_its_clients_are_of() {
        let read = |text: &str| fleet_of_file(&linerate_fleet::description::read(text, "f.yaml").unwrap());
        let label = "app.kubernetes.io/instance";
        let one =
            format!("nodes: [{{name: 'c{{0...1}}', role: client, reach: 'kube://prod/x/?{label}=a1,i={{0...1}}'}}]");
        assert_eq!(read(&one).unwrap(), ("a1".to_owned(), "x".to_owned(), Some("prod".to_owned())));
        let two = "nodes: [{name: a, role: client, reach: 'kube://x/?app.kubernetes.io/instance=a'}, \
                   {name: b, role: client, reach: 'kube://x/?app.kubernetes.io/instance=b'}]";
        assert!(read(two).unwrap_err().to_string().contains("several fleets"));
        let hosts = "nodes: [{name: a, role: client, reach: 'kube://x-host/?app.kubernetes.io/instance=a'}, \
                     {name: b, role: client, reach: 'kube://x/?app.kubernetes.io/instance=a'}]";
        assert_eq!(read(hosts).unwrap(), ("a".to_owned(), "x".to_owned(), None));
        // What changes nodes is in a namespace of its own, which is all that is asked for then.
        let changing = format!(
            "nodes: [{{name: n1, role: storage, reach: 'kube://x-change/?{label}=a1,spec.nodeName=n1'}}, \
             {{name: n2, role: storage, reach: 'kube://x-change/?{label}=a1,spec.nodeName=n2'}}]"
        );
        assert_eq!(read(&changing).unwrap(), ("a1".to_owned(), "x-change".to_owned(), None));
        let none = "nodes: [{name: a, role: client, reach: 'kube://x/pod'}]";
        assert!(read(none).unwrap_err().to_string().contains("reaches no pods by"));
    }
}
