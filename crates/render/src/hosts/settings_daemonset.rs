//! What applies the hosts' profile from within the cluster: privileged, and in a folder that nothing else includes.
//!
//! A watch in a pod ends with the pod, so that settings would stay that nobody confirmed. The pod therefore only begins
//! a unit of the machine's own systemd: there are the journal and the watch.

use linerate_record::site::{Applier, key};

use super::PROFILE;
use crate::api_server_route::LOCAL;
use crate::deployment::Deployment;
use crate::file::RenderedFile;
use crate::kustomization::kustomization;
use crate::yaml::{Tree, file, list, map, set};

const NAME: &str = "linerate-applier";

/// The label of nodes that get the settings.
const LABEL: &str = "linerate-applier";

/// Where the machine has the changes until they are applied.
const CHANGES: &str = "/run/linerate-applier.json";

/// Seconds after which changes are rolled back unless confirmed, and after which it is looked whether they may be.
const CONFIRM_S: u32 = 300;
const LOOK_S: u32 = 60;

/// Seconds between two looks for drift.
const AUDIT_S: u32 = 3600;

pub(super) fn files(deployment: &Deployment<'_>) -> Vec<RenderedFile> {
    let Some(applier) = &deployment.kubernetes.applier else { return Vec::new() };
    let head = format!(
        "Privileged: it enters the machine as root. Nothing includes this folder: kubectl apply -k hosts/applier.\nIt \
         begins `linerate tune apply` as a unit of the machine's own systemd, in which the watch and the journal are: \
         one in the pod would end with the pod. Nodes get the settings when they are labelled, a rack after the other: \
         kubectl label node NODE {LABEL}=apply. A pod that is not ready has drift or a finding to tell: its log \
         has linerate audit."
    );
    let documents = [namespace(), configuration(deployment, applier), daemons(applier)];
    let of_folder = "The applier alone, which is privileged.";
    vec![
        RenderedFile::new("hosts/applier/applier.yaml", file(&deployment.head(&head), &documents)),
        RenderedFile::new(
            "hosts/applier/kustomization.yaml",
            file(&deployment.head(of_folder), &[kustomization(&["applier.yaml"])]),
        ),
    ]
}

fn namespace() -> Tree {
    let labels = map([set("pod-security.kubernetes.io/enforce", "privileged")
        .because("It enters the namespaces of the machine. No other pod is to be here.")]);
    map([
        set("apiVersion", "v1"),
        set("kind", "Namespace"),
        set("metadata", map([set("name", NAME), set("labels", labels)])),
    ])
}

fn metadata() -> Tree {
    map([set("name", NAME), set("namespace", NAME), set("labels", map([set("app.kubernetes.io/name", NAME)]))])
}

/// Words of a shell that enter the machine.
const HOST: &str = "nsenter -t 1 -m -u -i -n -p --";

/// Applies the profile once, by the machine's systemd; keeps it if the machine still reaches an API server; and looks
/// for drift from then on. What was not applied is not tried again: a setting that cuts the machine off would
/// do so every
/// five minutes.
fn script(deployment: &Deployment<'_>, applier: &Applier) -> String {
    let (api, program) = (deployment.api, &applier.program);
    let site = applier.site.as_ref().map(|site| format!(" --site {site}")).unwrap_or_default();
    let reached = match api.proxied {
        Some(_) => format!("wget -q -O /dev/null http://{LOCAL}:{}/healthz", api.health_port()),
        None => format!("nc -z -w 5 {} {}", api.host, api.port),
    };
    let unit = format!("{HOST} systemd-run --unit=linerate-apply --collect --wait --quiet");
    let lines = [
        "set -u".to_owned(),
        format!("linerate() {{ {HOST} {program} \"$@\"; }}"),
        format!("unit() {{ {unit} {program} \"$@\"; }}"),
        format!("reached() {{ {reached}; }}"),
        "look() {".to_owned(),
        format!("    linerate audit --profile {PROFILE}{site} --check"),
        "}".to_owned(),
        "apply() {".to_owned(),
        format!("    {HOST} rm -f {CHANGES} &&"),
        format!("    linerate tune diff --profile {PROFILE}{site} -o {CHANGES} &&"),
        format!("    unit tune apply {CHANGES} --confirm {CONFIRM_S}s &&"),
        format!("    sleep {LOOK_S} &&"),
        "    reached &&".to_owned(),
        "    linerate tune confirm".to_owned(),
        "}".to_owned(),
        "touch /state/differs".to_owned(),
        "look || apply || echo 'not confirmed: what was changed is rolled back by the machine'".to_owned(),
        "while :; do".to_owned(),
        "    if look; then rm -f /state/differs; else touch /state/differs; fi".to_owned(),
        format!("    sleep {AUDIT_S} &"),
        "    wait $!".to_owned(),
        "done".to_owned(),
    ];
    lines.join("\n") + "\n"
}

fn configuration(deployment: &Deployment<'_>, applier: &Applier) -> Tree {
    let why = format!(
        "kubernetes.applier.program and kubernetes.applier.site. Rolled back by the machine after {CONFIRM_S} s unless \
         it reaches an API server {LOOK_S} s after the changes. That the engine serves is not looked at. audit \
         ends with 5 where a setting differs or a finding is a warning or worse."
    );
    let data = map([set("applier.sh", script(deployment, applier)).because(why)]);
    map([set("apiVersion", "v1"), set("kind", "ConfigMap"), set("metadata", metadata()), set("data", data)])
}

fn container(applier: &Applier) -> Tree {
    let privileged = map([set("privileged", true).because("nsenter needs all rights of root.")]);
    let mount = |name: &str, path: &str| map([set("name", name), set("mountPath", path)]);
    let amounts = map([set("cpu", "50m"), set("memory", "64Mi")]);
    let check = map([set("command", list(["test", "!", "-e", "/state/differs"]))]);
    map([
        set("name", "applier"),
        set("image", applier.image.as_str()).because(key::KUBERNETES_APPLIER_IMAGE),
        set("imagePullPolicy", "IfNotPresent"),
        set("command", list(["sh", "/scripts/applier.sh"])),
        set("readinessProbe", map([set("exec", check), set("periodSeconds", 60_u32)]))
            .because("A pod that is not ready is a node that linerate audit has something to say of."),
        set("resources", map([set("requests", amounts)])),
        set("securityContext", privileged),
        set("volumeMounts", list([mount("scripts", "/scripts"), mount("state", "/state")])),
    ])
}

fn daemons(applier: &Applier) -> Tree {
    let labels = || map([set("app.kubernetes.io/name", NAME)]);
    let scripts = map([set("name", "scripts"), set("configMap", map([set("name", NAME)]))]);
    let state = map([set("name", "state"), set("emptyDir", map([]))]);
    let pod = map([
        set("nodeSelector", map([set(LABEL, "apply")])).because(
            "Not all machines at once: settings of the network can cut a machine off until they are rolled back.",
        ),
        set("automountServiceAccountToken", false).because("It does not ask the API server."),
        set("hostPID", true).because("Process 1 of the machine, whose namespaces it enters."),
        set("hostNetwork", true).because("It looks from the machine whether an API server is reached."),
        set("tolerations", list([map([set("operator", "Exists")])])),
        set("terminationGracePeriodSeconds", 5_u32),
        set("containers", list([container(applier)])),
        set("volumes", list([scripts, state])),
    ]);
    let rolling = map([set("maxUnavailable", 1_u32).because("One machine after the other.")]);
    let spec = map([
        set("selector", map([set("matchLabels", labels())])),
        set("updateStrategy", map([set("type", "RollingUpdate"), set("rollingUpdate", rolling)])),
        set("template", map([set("metadata", map([set("labels", labels())])), set("spec", pod)])),
    ]);
    map([set("apiVersion", "apps/v1"), set("kind", "DaemonSet"), set("metadata", metadata()), set("spec", spec)])
}
