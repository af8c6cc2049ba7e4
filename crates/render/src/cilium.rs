//! Cilium: values of its chart, and its own resources for addresses and routes.

mod routes;
mod values;

use crate::deployment::Deployment;
use crate::file::RenderedFile;
use crate::yaml::file;

/// The Cilium whose chart and resources these are.
pub(crate) const VERSION: &str = "1.18";

/// The files, and which of them are resources of Kubernetes.
pub(crate) fn files(deployment: &Deployment<'_>) -> Vec<RenderedFile> {
    let of_variant = format!("Variant {}: {}.", deployment.variant.name(), deployment.variant.summary());
    let head = format!(
        "Values of Cilium's Helm chart, {VERSION}. {of_variant}\nhelm install cilium cilium/cilium --version \
         {VERSION}.x --namespace kube-system --values values.yaml"
    );
    let mut files =
        vec![RenderedFile::new("cilium/values.yaml", file(&deployment.head(&head), &[values::values(deployment)]))];
    for (name, head, documents) in routes::resources(deployment) {
        let head = format!("{head} {of_variant}");
        files.push(RenderedFile::new(format!("cilium/{name}.yaml"), file(&deployment.head(&head), &documents)));
    }
    files
}
