//! What `linerate render` writes, held against a real API server with strict fields: it admits all of it, and refuses a
//! field that it does not know. Cilium's resources have no definitions there.

use std::fs;
use std::path::Path;

use libtest_mimic::Failed;

use super::kubernetes::{Kubernetes, NEEDS};
use crate::running::{linerate, shown};

type Check = fn() -> Result<(), Failed>;

/// The checks, with what each needs.
pub(crate) const CHECKS: [(&str, &[&str], Check); 2] = [
    ("kubernetes_accepts_all_that_is_rendered", NEEDS, rendered_is_accepted_by_an_api_server),
    ("kubernetes_differs_where_somebody_edited_it", NEEDS, edits_are_differences),
];

/// The words that hold resources against the server without making them.
const HELD: [&str; 4] = ["apply", "--server-side", "--dry-run=server", "--validate=strict"];

fn rendered_is_accepted_by_an_api_server() -> Result<(), Failed> {
    Kubernetes::shared(|kubernetes| {
        for (name, namespace) in [("minio-8", "object-store"), ("rustfs-4", "rustfs")] {
            let site = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../examples/{name}-kubernetes.yaml"));
            let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("rendered-{name}"));
            let secret = folder.with_extension("secret.yaml");
            let _ = (fs::remove_dir_all(&folder), fs::remove_file(&secret));
            let mut render = linerate();
            render.arg("render").arg(&site).arg("-o").arg(&folder).arg("--init-secrets").arg(&secret);
            let output = render.output()?;
            assert!(output.status.success(), "{}", shown(&output));
            // What is in a namespace is held against the server only if the namespace is there.
            let path = |name: &str| folder.join(name).display().to_string();
            kubernetes.kubectl(&["apply", "--validate=strict", "--filename", &path("engine/namespace.yaml")]);
            for part in ["storage", "engine"] {
                kubernetes.kubectl(&[&HELD[..], &["--kustomize", &path(part)]].concat());
            }
            kubernetes.kubectl(&[&HELD[..], &["--filename", &secret.display().to_string()]].concat());
            let sets = fs::read_to_string(path("engine/stateful-sets.yaml"))?;
            let wrong = folder.with_extension("wrong.yaml");
            fs::write(&wrong, sets.replacen("podManagementPolicy", "podManagmentPolicy", 1))?;
            let mut refused = kubernetes.inside(Path::new("kubectl"));
            let output = refused.args(HELD).arg("--filename").arg(&wrong).output()?;
            assert!(!output.status.success() && shown(&output).contains("podManagmentPolicy"), "{}", shown(&output));
            kubernetes.kubectl(&["delete", "namespace", namespace, "--wait=false"]);
        }
        Ok(())
    })
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
        let differs = |said: &str| {
            said.lines().any(|line| ["missing", "differs", "refused"].iter().any(|word| line.starts_with(word)))
        };
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
