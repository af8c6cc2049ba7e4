//! What kustomize, and with it Argo CD and Flux, read of each folder.

use crate::deployment::Deployment;
use crate::file::RenderedFile;
use crate::yaml::{Tree, file, list, map, set};

/// Folders of resources, in the order in which they are applied.
const FOLDERS: [&str; 5] = ["cilium", "dns", "priority", "storage", "engine"];

/// Not a resource: Helm reads it.
const VALUES: &str = "cilium/values.yaml";

pub(crate) fn files(deployment: &Deployment<'_>, files: &[RenderedFile]) -> Vec<RenderedFile> {
    let is_there = |folder: &&str| files.iter().any(|file| file.path.starts_with(&format!("{folder}/")));
    let folders: Vec<&str> = FOLDERS.into_iter().filter(is_there).collect();
    let of_folder = |folder: &&str| {
        let prefix = format!("{folder}/");
        let resources =
            files.iter().filter(|file| file.path != VALUES).filter_map(|file| file.path.strip_prefix(&prefix));
        let mut resources: Vec<&str> = resources.collect();
        resources.sort_unstable();
        let what = match *folder {
            "cilium" => "Resources of Cilium. values.yaml is of its Helm chart, which brings their definitions.",
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
    folders.iter().map(of_folder).chain([RenderedFile::new("kustomization.yaml", all)]).collect()
}

pub(crate) fn kustomization(resources: &[&str]) -> Tree {
    map([
        set("apiVersion", "kustomize.config.k8s.io/v1beta1"),
        set("kind", "Kustomization"),
        set("resources", list(resources.iter().copied())),
    ])
}
