//! What kustomize, and with it Argo CD and Flux, read of each folder.

use crate::deployment::Deployment;
use crate::file::RenderedFile;
use crate::yaml::{Tree, file, list, map, set};

/// Folders of resources, in the order in which they are applied; not every site has all.
const FOLDERS: [&str; 6] = ["cilium", "dns", "priority", "storage", "engine", "observation"];

/// Not resources: Helm reads them.
const VALUES: [&str; 2] = ["cilium/values.yaml", "observation/node-exporter-values.yaml"];

/// The folders of resources that a site has.
pub(crate) fn folders(files: &[RenderedFile]) -> Vec<&'static str> {
    // kubectl and Argo CD refuse a kustomization of nothing.
    let has = |folder: &&str| {
        files.iter().any(|file| is_resource(&file.path) && file.path.starts_with(&format!("{folder}/")))
    };
    FOLDERS.into_iter().filter(has).collect()
}

/// Whether a file is a resource of Kubernetes, by its path.
pub(crate) fn is_resource(path: &str) -> bool {
    let in_folder = FOLDERS.iter().any(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')));
    in_folder && !VALUES.contains(&path) && !path.ends_with("/kustomization.yaml")
}

pub(crate) fn files(deployment: &Deployment<'_>, files: &[RenderedFile]) -> Vec<RenderedFile> {
    let folders = folders(files);
    let of_folder = |folder: &str| {
        let prefix = format!("{folder}/");
        let resources = files
            .iter()
            .filter(|file| !VALUES.contains(&file.path.as_str()))
            .filter_map(|file| file.path.strip_prefix(&prefix));
        let mut resources: Vec<&str> = resources.collect();
        resources.sort_unstable();
        let what = match folder {
            "cilium" => "Resources of Cilium. values.yaml is of its Helm chart, which brings their definitions.",
            "observation" => {
                "Resources of Prometheus Operator, and a dashboard. node-exporter-values.yaml is of the chart \
                 prometheus-node-exporter."
            }
            _ => "Resources of this folder.",
        };
        let text = file(&deployment.head(what), &[kustomization(&resources)]);
        RenderedFile::new(format!("{folder}/kustomization.yaml"), text)
    };
    let all = file(
        &deployment
            .head("All resources. The folders hosts and control-plane are of the machines and not of Kubernetes."),
        &[kustomization(&folders)],
    );
    folders.iter().copied().map(of_folder).chain([RenderedFile::new("kustomization.yaml", all)]).collect()
}

pub(crate) fn kustomization(resources: &[&str]) -> Tree {
    map([
        set("apiVersion", "kustomize.config.k8s.io/v1beta1"),
        set("kind", "Kustomization"),
        set("resources", list(resources.iter().copied())),
    ])
}
