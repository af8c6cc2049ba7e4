//! What `linerate render` writes, held against a real API server with strict fields: it admits all of it, and refuses a
//! field that it does not know. Cilium's resources have no definitions there: the test `cluster` has them. The
//! scheduler reads its own configuration.

use std::fs;
use std::path::Path;
use std::process::Command;

use libtest_mimic::Failed;

use super::kubernetes::{Kubernetes, NEEDS, built};
use crate::running::{linerate, shown};

type Check = fn() -> Result<(), Failed>;

/// The checks, with what each needs.
pub(crate) const CHECKS: [(&str, &[&str], Check); 2] = [
    ("kubernetes_accepts_all_that_is_rendered", NEEDS, rendered_is_accepted_by_an_api_server),
    ("kubernetes_differs_where_somebody_edited_it", NEEDS, edits_are_differences),
];

/// The words that hold resources against the server without making them.
pub(super) const HELD: [&str; 4] = ["apply", "--server-side", "--dry-run=server", "--validate=strict"];

/// The scheduler reads its configuration, fills in what is not said, and writes it: what it does not know, it refuses.
fn scheduler_takes(folder: &Path) -> Result<(), Failed> {
    let (read, written) = (folder.with_extension("scheduler.yaml"), folder.with_extension("written.yaml"));
    let config = folder.with_extension("kubeconfig");
    fs::write(&config, KUBECONFIG)?;
    let text = fs::read_to_string(folder.join("control-plane/scheduler.yaml"))?;
    let text = text.replace("/etc/kubernetes/scheduler.conf", &config.display().to_string());
    for (text, is_taken) in [(text.clone(), true), (text.replace("clientConnection", "clientConection"), false)] {
        fs::write(&read, text)?;
        let _ = fs::remove_file(&written);
        let scheduler = built().ok_or("no Kubernetes")?.join("bin/kube-scheduler");
        let mut command = Command::new(scheduler);
        let output = command.arg("--config").arg(&read).arg("--write-config-to").arg(&written).output()?;
        assert_eq!(written.exists(), is_taken, "{}", shown(&output));
        assert!(is_taken || shown(&output).contains("clientConection"), "{}", shown(&output));
    }
    Ok(())
}

/// Components of the control plane, as kubeadm's configuration names them and as their programs are called.
/// etcd's is not among what is built.
const COMPONENTS: [(&str, &str); 3] = [
    ("apiServer", "kube-apiserver"),
    ("controllerManager", "kube-controller-manager"),
    ("scheduler", "kube-scheduler"),
];

/// Each program reads its flags with their values before it says what its flags are.
fn components_take_their_flags(folder: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(folder.join("control-plane/init-10.0.0.11.yaml"))?;
    for (key, program) in COMPONENTS {
        let section = text.lines().skip_while(|line| *line != format!("{key}:")).skip(1);
        let section: Vec<&str> = section.take_while(|line| line.starts_with(' ') || line.starts_with('#')).collect();
        let after = |line: &str, word: &str| Some(line.trim().strip_prefix(word)?.trim_matches('"').to_owned());
        let flags: Vec<String> = section
            .windows(2)
            .filter_map(|pair| Some(format!("--{}={}", after(pair[0], "- name: ")?, after(pair[1], "value: ")?)))
            .collect();
        assert!(!flags.is_empty(), "{key}: {section:?}");
        let path = built().ok_or("no Kubernetes")?.join("bin").join(program);
        let output = Command::new(path).args(&flags).arg("--help").output()?;
        assert!(output.status.success(), "{program} {flags:?}: {}", shown(&output));
    }
    Ok(())
}

/// The kubelet reads and checks its configuration, with what is of a kind of machines where there is any, before it
/// finds that it has no cluster.
fn kubelet_takes(folder: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(folder.join("control-plane/init-10.0.0.11.yaml"))?;
    let common = text.split("---\n").nth(2).unwrap_or_default();
    let patch = fs::read_to_string(folder.join("control-plane/nodes/storage/kubeletconfiguration.yaml"));
    let patch = patch.unwrap_or_default().replace("apiVersion:", "#").replace("kind:", "#");
    let (read, root) = (folder.with_extension("kubelet.yaml"), folder.with_extension("kubelet"));
    for (from, to, refused) in [("", "", ""), ("maxPods: ", "maxPods: -", "maxPods"), ("maxPods", "maxPodz", "maxPodz")]
    {
        fs::write(&read, format!("{common}{patch}").replacen(from, to, 1))?;
        let kubelet = built().ok_or("no Kubernetes")?.join("bin/kubelet");
        let mut command = Command::new("timeout");
        let output = command.arg("20").arg(kubelet).arg("--config").arg(&read).arg("--root-dir").arg(&root).output()?;
        let said = shown(&output);
        let why =
            ["failed to validate", "failed to load", "strict decoding"].into_iter().find(|why| said.contains(why));
        assert_eq!(why.is_none(), refused.is_empty(), "{refused:?}: {said}");
        assert!(said.contains(refused) && !output.status.success(), "{refused:?}: {said}");
    }
    Ok(())
}

/// A kubeconfig of no cluster: it is read, and nobody is asked.
const KUBECONFIG: &str = r#"{"apiVersion": "v1", "kind": "Config", "current-context": "a",
    "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}],
    "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
    "users": [{"name": "a", "user": {"token": "a"}}]}"#;

fn rendered_is_accepted_by_an_api_server() -> Result<(), Failed> {
    Kubernetes::shared(|kubernetes| {
        for (name, namespace) in [("minio-8", "object-store"), ("rustfs-4", "rustfs")] {
            let example = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{name}-kubernetes.yaml"));
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("rendered-{name}"));
            let site = folder.with_extension("site.yaml");
            // A service's address is one of the cluster that is asked: see control.sh.
            let text = fs::read_to_string(example)?;
            let text = text.replacen("version: 1.34.4", "service_cidr: 10.233.0.0/16, version: 1.34.4", 1);
            fs::write(&site, text.replace("  service_cidr: 10.233.0.0/16, ", "  service_cidr: 10.233.0.0/16\n    "))?;
            let secret = folder.with_extension("secret.yaml");
            let _ = (fs::remove_dir_all(&folder), fs::remove_file(&secret));
            let mut render = linerate();
            render.arg("render").arg(&site).arg("-o").arg(&folder).arg("--init-secrets").arg(&secret);
            let output = render.output()?;
            assert!(output.status.success(), "{}", shown(&output));
            // What is in a namespace is held against the server only if the namespace is there.
            let path = |name: &str| folder.join(name).display().to_string();
            kubernetes.kubectl(&["apply", "--validate=strict", "--filename", &path("engine/namespace.yaml")]);
            for part in ["storage", "engine", "priority"] {
                kubernetes.kubectl(&[&HELD[..], &["--kustomize", &path(part)]].concat());
            }
            // Beside these, Cilium's redirection.
            for part in ["dns/coredns.yaml", "dns/node-cache.yaml"] {
                kubernetes.kubectl(&[&HELD[..], &["--filename", &path(part)]].concat());
            }
            if Path::new(&path("hosts/applier")).exists() {
                let applier = path("hosts/applier/applier.yaml");
                // Its namespace comes first, as the engine's does.
                let namespace = folder.with_extension("applier.yaml");
                let text = fs::read_to_string(&applier)?;
                fs::write(&namespace, text.split("---\n").nth(1).unwrap_or_default())?;
                let namespace = namespace.display().to_string();
                kubernetes.kubectl(&["apply", "--validate=strict", "--filename", &namespace]);
                kubernetes.kubectl(&[&HELD[..], &["--filename", &applier]].concat());
                kubernetes.kubectl(&["delete", "--filename", &namespace, "--wait=false"]);
            }
            scheduler_takes(&folder)?;
            components_take_their_flags(&folder)?;
            kubelet_takes(&folder)?;
            kubernetes.kubectl(&[&HELD[..], &["--filename", &secret.display().to_string()]].concat());
            let sets = fs::read_to_string(path("engine/stateful-sets.yaml"))?;
            let wrong = folder.with_extension("wrong.yaml");
            fs::write(&wrong, sets.replacen("podManagementPolicy", "podManagmentPolicy", 1))?;
            let mut refused = kubernetes.inside(Path::new("kubectl"));
            let output = refused.args(HELD).arg("--filename").arg(&wrong).output()?;
            assert!(!output.status.success() && shown(&output).contains("podManagmentPolicy"), "{}", shown(&output));
            if name == "minio-8" {
                provisioned_is_accepted(kubernetes, &site)?;
            }
            kubernetes.kubectl(&["delete", "namespace", namespace, "--wait=false"]);
        }
        Ok(())
    })
}

/// What is rendered where a provisioner makes the volumes; its namespace is there.
fn provisioned_is_accepted(kubernetes: &Kubernetes, site: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(site)?;
    let is_kept = |line: &&str| !["mounts:", "devices:"].iter().any(|key| line.trim_start().starts_with(key));
    let without_folders: Vec<&str> = text.lines().filter(is_kept).collect();
    for provisioner in ["directpv", "topolvm"] {
        let folder = site.with_extension(provisioner);
        let _ = fs::remove_dir_all(&folder);
        let of_it = folder.with_extension("site.yaml");
        let stated = format!("kubernetes:\n  provisioner: {provisioner}");
        fs::write(&of_it, without_folders.join("\n").replacen("kubernetes:", &stated, 1))?;
        let output = linerate().arg("render").arg(&of_it).arg("-o").arg(&folder).output()?;
        assert!(output.status.success() && shown(&output).contains("\n  lost  "), "{}", shown(&output));
        for part in ["storage", "engine"] {
            kubernetes.kubectl(&[&HELD[..], &["--kustomize", &folder.join(part).display().to_string()]].concat());
        }
    }
    Ok(())
}

/// The site whose cluster is edited.
const EDITED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/minio-8-kubernetes.yaml");

/// What `render --diff` says of the cluster, and its exit code.
fn diff(kubernetes: &Kubernetes) -> Result<(String, Option<i32>), Failed> {
    let mut diff = kubernetes.inside(Path::new(linerate().get_program()));
    let output = diff.args(["render", EDITED, "--diff"]).output()?;
    Ok((shown(&output), output.status.code()))
}

fn edits_are_differences() -> Result<(), Failed> {
    Kubernetes::shared(|kubernetes| {
        // The test before may have deleted it just now.
        kubernetes.kubectl(&["wait", "--for=delete", "namespace/object-store", "--timeout=60s"]);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rendered-edited");
        let _ = fs::remove_dir_all(&folder);
        let output = linerate().arg("render").arg(EDITED).arg("-o").arg(&folder).output()?;
        assert!(output.status.success(), "{}", shown(&output));
        let (said, code) = diff(kubernetes)?;
        assert!(code == Some(5) && said.contains("missing  StatefulSet object-store/minio "), "{said}");
        assert!(said.contains("unknown  CiliumLoadBalancerIPPool "), "{said}");
        let path = |name: &str| folder.join(name).display().to_string();
        let apply = ["apply", "--server-side", "--validate=strict"];
        kubernetes.kubectl(&[&apply[..], &["--filename", &path("engine/namespace.yaml")]].concat());
        for part in ["storage", "engine"] {
            kubernetes.kubectl(&[&apply[..], &["--kustomize", &path(part)]].concat());
        }
        // The others are not applied here.
        let is_applied = |line: &str| ["  storage/", "  engine/"].iter().any(|folder| line.contains(folder));
        let is_other = |line: &str| ["missing", "differs", "refused"].iter().any(|word| line.starts_with(word));
        let differs = |said: &str| said.lines().any(|line| is_other(line) && is_applied(line));
        let (said, _) = diff(kubernetes)?;
        assert!(!differs(&said), "as it was applied: {said}");
        let set = ["--namespace", "object-store", "statefulset", "minio"];
        let edit = r#"{"spec": {"replicas": 7, "template": {"metadata": {"annotations": {"mine": "kept"}}}}}"#;
        kubernetes.kubectl(&[&["patch"], &set[..], &["--type", "merge", "--patch", edit]].concat());
        // Of a StorageClass, nothing can be changed.
        let class = kubernetes.kubectl(&["get", "storageclass", "--output", "name"]);
        kubernetes.kubectl(&["delete", class.trim()]);
        let name = class.trim().rsplit('/').next().unwrap_or_default();
        kubernetes.create(&format!(
            "{{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {{name: {name}}}, provisioner: elsewhere}}"
        ));
        let version = ["get", "--output", "jsonpath={.metadata.resourceVersion}"];
        let before = kubernetes.kubectl(&[&version[..], &set[..]].concat());
        let (said, code) = diff(kubernetes)?;
        assert_eq!(code, Some(5), "{said}");
        assert!(said.contains("differs  StatefulSet object-store/minio  engine/stateful-sets.yaml"), "{said}");
        assert!(said.contains("    spec.replicas: 7 in the cluster, 8 as rendered"), "{said}");
        assert!(!said.contains("mine"), "what nothing rendered sets is no difference: {said}");
        assert!(said.contains(&format!("refused  StorageClass {name}  storage/")), "{said}");
        assert_eq!(kubernetes.kubectl(&[&version[..], &set[..]].concat()), before, "nothing is changed");
        kubernetes.kubectl(&["delete", "namespace", "object-store", "--wait=false"]);
        kubernetes.kubectl(&["delete", "--wait=false", "--kustomize", &path("storage")]);
        Ok(())
    })
}
