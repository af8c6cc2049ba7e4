//! What `linerate render` writes, held against a real API server with strict fields: it admits all of it, and refuses a
//! field that it does not know. Cilium's resources have no definitions there: the test `cluster` has them.

use std::fs;
use std::path::Path;

use libtest_mimic::Failed;

use super::kubernetes::{Kubernetes, NEEDS};
use crate::running::{linerate, shown};

type Check = fn() -> Result<(), Failed>;

/// The checks, with what each needs.
pub(crate) const CHECKS: [(&str, &[&str], Check); 1] =
    [("kubernetes_accepts_all_that_is_rendered", NEEDS, rendered_is_accepted_by_an_api_server)];

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
