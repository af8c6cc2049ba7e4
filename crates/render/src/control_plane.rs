//! The control plane: what kubeadm reads on each machine, and the way from each machine to an API server.

mod haproxy;
mod kubeadm;
mod kubelet;

use linerate_record::site::{ControlPlane, NodeGroup};

use crate::api_server_route::LOCAL;
use crate::deployment::Deployment;
use crate::file::RenderedFile;
use crate::yaml::{Tree, list, map, set, unmarked};

/// Where kubeadm looks for what differs from machine to machine.
const PATCHES: &str = "/etc/kubernetes/patches";

/// Where the scheduler's own configuration is.
const SCHEDULER: &str = "/etc/kubernetes/scheduler-config.yaml";

/// What a control plane needs of a site that has one.
#[derive(Clone, Copy, Debug)]
struct DescribedPlane<'d> {
    deployment: &'d Deployment<'d>,
    plane: &'d ControlPlane,
    /// The kind of nodes by which the catalogue is asked what is of the whole cluster.
    group: &'d NodeGroup,
}

pub(crate) fn files(deployment: &Deployment<'_>) -> Vec<RenderedFile> {
    let described = deployment.kubernetes.control_plane.as_ref().zip(deployment.site.groups.first());
    let Some((plane, group)) = described else { return Vec::new() };
    let described_plane = DescribedPlane { deployment, plane, group };
    let written = |path: String, head: &str, documents: &[Tree]| {
        RenderedFile::new(format!("control-plane/{path}"), unmarked(&deployment.head(head), documents))
    };
    let head = format!(
        "For {SCHEDULER} of each machine of the control plane, before kubeadm. A file, because the scheduler ignores \
         flags of its client where it reads one."
    );
    let mut files = vec![written("scheduler.yaml".to_owned(), &head, &[kubeadm::scheduler(described_plane)])];
    for (i, host) in plane.hosts.iter().enumerate() {
        files.push(match i {
            0 => written(
                format!("init-{host}.yaml"),
                &begin(described_plane, host),
                &kubeadm::first(described_plane, host),
            ),
            _ => written(
                format!("join-{host}.yaml"),
                &join(described_plane, host),
                &[kubeadm::join(host_endpoint(described_plane, host), &[])],
            ),
        });
    }
    for kind in deployment.site.groups.iter().filter(|group| group.count > 0) {
        files.extend(of_kind(described_plane, kind, &written));
    }
    files.extend(haproxy::files(deployment));
    files
}

/// What a machine of the control plane says of itself.
fn host_endpoint(of: DescribedPlane<'_>, host: &str) -> Option<Tree> {
    Some(map([
        set("advertiseAddress", host)
            .because("kubernetes.control_plane.hosts: kubeadm would take the address of the default route."),
        set("bindPort", of.plane.bind_port).because("kubernetes.control_plane.bind_port, or api_port"),
    ]))
}

fn begin(of: DescribedPlane<'_>, host: &str) -> String {
    let before = before(of);
    format!(
        "The first machine of the control plane, {host}: kubeadm init --config FILE. {before}It brings no \
         kube-proxy: until Cilium runs, nodes are not ready."
    )
}

fn join(of: DescribedPlane<'_>, host: &str) -> String {
    let before = before(of);
    format!(
        "Another machine of the control plane, {host}: kubeadm join --config FILE. {before}No secret is in this file: \
         /etc/kubernetes/discovery.conf is a kubeconfig with a token of `kubeadm token create`, and the keys of the \
         first machine (/etc/kubernetes/pki: ca, sa, front-proxy-ca, etcd/ca) are copied to this one beforehand."
    )
}

/// What is done before kubeadm.
fn before(of: DescribedPlane<'_>) -> &'static str {
    match of.deployment.api.proxied {
        Some(_) => "Beforehand, HAProxy runs (haproxy.cfg) and scheduler.yaml is in its place. ",
        None => "Beforehand, scheduler.yaml is in its place. ",
    }
}

/// The files of machines of a kind.
fn of_kind(
    of: DescribedPlane<'_>,
    kind: &NodeGroup,
    written: &impl Fn(String, &str, &[Tree]) -> RenderedFile,
) -> Vec<RenderedFile> {
    let folder = format!("nodes/{}", kind.name);
    let before = match of.deployment.api.proxied {
        Some(_) => " Beforehand, HAProxy runs (haproxy.cfg).",
        None => "",
    };
    let patch = kubelet::patch(of, kind);
    let patches: &[&str] = if patch.is_some() { &[PATCHES] } else { &[] };
    let head = format!(
        "Machines of {}: kubeadm join --config FILE.{before} The name of a machine is that of kubernetes.hosts: its \
         host name. No secret is in this file: /etc/kubernetes/discovery.conf is a kubeconfig with a token of `kubeadm \
         token create`.",
        kind.name
    );
    let mut files = vec![written(format!("{folder}/join.yaml"), &head, &[kubeadm::join(None, patches)])];
    if let Some((why, patch)) = patch {
        let head = format!(
            "What the kubelet of {} has beside the cluster's configuration, for {PATCHES}/kubeletconfiguration.yaml, \
             before kubeadm.{why}",
            kind.name
        );
        files.push(written(format!("{folder}/kubeletconfiguration.yaml"), &head, &[patch]));
    }
    files
}

/// Names and addresses under which an API server is asked, beside its own.
fn names(of: DescribedPlane<'_>) -> Tree {
    let requested = of.deployment.api.host;
    let local = (requested != LOCAL).then_some(LOCAL);
    list(of.plane.hosts.iter().map(String::as_str).chain([requested]).chain(local))
}
