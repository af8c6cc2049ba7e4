//! Applications of Argo CD, in waves: one for each rack's volumes, and one for each other folder.

use linerate_record::site::{GitFolder, key};

use crate::deployment::Deployment;
use crate::file::RenderedFile;
use crate::kustomization::{folders, kustomization};
use crate::object_names::dns_label;
use crate::storage::{CLASSES, parts};
use crate::yaml::{CommentedEntry, Tree, file, list, map, set};

/// Longest name of a site in the names of its Applications: these are labels of all that they have.
const SITE_BYTES_MAX: usize = 24;

/// What Argo CD calls the cluster that it runs in.
const THIS_CLUSTER: &str = "https://kubernetes.default.svc";

/// Claims from which the tree of the engine's Application is too large: as of volumes in a file.
const CLAIMS_MAX: usize = 2_500;

struct Source<'a> {
    /// The end of its name.
    name: String,
    /// The folder that it takes.
    folder: &'a str,
    /// The one file of the folder, where it does not take all.
    only: Option<String>,
    wave: u32,
}

pub(crate) fn files(deployment: &Deployment<'_>, files: &[RenderedFile]) -> Vec<RenderedFile> {
    let Some(git) = &deployment.kubernetes.git else { return Vec::new() };
    let mut all = Vec::new();
    for folder in folders(files) {
        let applications: Vec<Tree> =
            sources(deployment, folder).iter().map(|source| application(deployment, git, source)).collect();
        let head = format!("Applications of the folder {folder}. {}", of_folder(deployment, folder));
        let text = file(&deployment.head(&head), &applications);
        all.push(RenderedFile::new(format!("argocd/{folder}.yaml"), text));
    }
    let names: Vec<String> =
        all.iter().filter_map(|file| file.path.strip_prefix("argocd/")).map(str::to_owned).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let text = file(&deployment.head("All Applications but the root."), &[kustomization(&names)]);
    all.push(RenderedFile::new("argocd/kustomization.yaml", text));
    all.push(RenderedFile::new("argocd/root.yaml", root(deployment, git)));
    all
}

/// What is to be known of a folder.
fn of_folder(deployment: &Deployment<'_>, folder: &str) -> String {
    let claims: usize = deployment.pools.iter().map(|pool| pool.machines.len() * pool.drives()).sum();
    match folder {
        "storage" => "One for each file of volumes: Argo CD fails near 3,000 objects of an Application \
                      (argo-cd #14486). Nothing here deletes a volume: no Application prunes or has a finalizer, and \
                      each volume has Prune=false,Delete=false."
            .to_owned(),
        "cilium" => "The chart is not among them: helm installs it with values.yaml before, and its operator brings \
                     the definitions of these resources."
            .to_owned(),
        "engine" if claims > CLAIMS_MAX => format!(
            "Argo CD counts the {claims} claims of the StatefulSets as theirs, which is more than it can show (argo-cd \
             #14486): exclude PersistentVolumeClaim by resource.exclusions in argocd-cm."
        ),
        _ => String::new(),
    }
}

/// Volumes before pods that claim them; addresses and routes before services that have them; what watches, last.
fn wave(folder: &str) -> u32 {
    match folder {
        "storage" => 0,
        "engine" => 2,
        "observation" => 3,
        _ => 1,
    }
}

fn sources<'a>(deployment: &Deployment<'_>, folder: &'a str) -> Vec<Source<'a>> {
    let wave = wave(folder);
    if folder != "storage" {
        return vec![Source { name: folder.to_owned(), folder, only: None, wave }];
    }
    let names = [CLASSES.to_owned()].into_iter().chain(parts(deployment).into_iter().map(|part| part.name));
    names
        .map(|name| {
            let end = if name == CLASSES { "storage".to_owned() } else { format!("storage-{name}") };
            Source { name: end, folder, only: Some(format!("{name}.yaml")), wave }
        })
        .collect()
}

fn application(deployment: &Deployment<'_>, git: &GitFolder, source: &Source<'_>) -> Tree {
    let mut annotations = vec![
        set("argocd.argoproj.io/sync-wave", source.wave.to_string())
            .because("Volumes, then addresses and routes, then the engine, then what observes it."),
    ];
    if source.folder == "engine" {
        annotations.push(set("argocd.argoproj.io/compare-options", "ServerSideDiff=true").because(
            "The API server fills in claim templates: compared with what it would make of the file, they are the same.",
        ));
    }
    let mut spec = vec![
        set("project", git.project.as_str()).because(key::KUBERNETES_GIT_PROJECT),
        set("source", of_source(git, source)),
        set("destination", map([set("server", THIS_CLUSTER)])).because("The cluster in which Argo CD runs."),
        set("syncPolicy", policy(source)),
    ];
    if source.only.as_deref().is_some_and(|only| !only.starts_with(CLASSES)) {
        spec.push(ignored());
    }
    let name = format!("{}-{}", dns_label(&deployment.site.name, SITE_BYTES_MAX), source.name);
    of_kind(git, &name, Some(map(annotations)), map(spec))
}

fn of_kind(git: &GitFolder, name: &str, annotations: Option<Tree>, spec: Tree) -> Tree {
    let mut metadata = vec![
        set("name", name),
        set("namespace", git.namespace.as_str())
            .because("kubernetes.git.namespace. There is no finalizer: a deleted Application deletes nothing."),
    ];
    metadata.extend(annotations.map(|annotations| set("annotations", annotations)));
    map([
        set("apiVersion", "argoproj.io/v1alpha1"),
        set("kind", "Application"),
        set("metadata", map(metadata)),
        set("spec", spec),
    ])
}

fn of_source(git: &GitFolder, source: &Source<'_>) -> Tree {
    let mut all = vec![
        set("repoURL", git.repository.as_str()).because(key::KUBERNETES_GIT_REPOSITORY),
        set("targetRevision", git.revision.as_str()).because(key::KUBERNETES_GIT_REVISION),
        set("path", below(git, source.folder)).because("kubernetes.git.path, and the folder."),
    ];
    if let Some(only) = &source.only {
        all.push(
            set("directory", map([set("include", only.as_str())]))
                .because("One file. Stated as a directory, the kustomization beside it is not read."),
        );
    }
    map(all)
}

fn below(git: &GitFolder, folder: &str) -> String {
    if git.path == "." { folder.to_owned() } else { format!("{}/{folder}", git.path) }
}

fn policy(source: &Source<'_>) -> Tree {
    let mut options = vec!["ServerSideApply=true"];
    let mut why =
        "ServerSideApply: a StatefulSet or a dashboard may be larger than the annotation of a client's apply."
            .to_owned();
    if source.only.is_some() {
        options.extend(["ApplyOutOfSyncOnly=true", "RespectIgnoreDifferences=true"]);
        why.push_str(" ApplyOutOfSyncOnly: of a rack's volumes, those that changed.");
    }
    if matches!(source.folder, "cilium" | "dns" | "observation") {
        options.push("SkipDryRunOnMissingResource=true");
        why.push_str(" SkipDryRunOnMissingResource: operators bring the definitions of these resources.");
    }
    map([automated(), retry(), set("syncOptions", list(options)).because(why)])
}

fn automated() -> CommentedEntry {
    set(
        "automated",
        map([
            set("prune", false).because("What leaves the folder stays until somebody deletes it."),
            set("selfHeal", false)
                .because("What is edited in an emergency is shown as OutOfSync, and not undone while it is needed."),
        ]),
    )
}

fn retry() -> CommentedEntry {
    let backoff = map([set("duration", "10s"), set("factor", 2_u32), set("maxDuration", "3m")]);
    set("retry", map([set("limit", 5_u32), set("backoff", backoff)])).because(
        "10 + 20 + 40 + 80 + 160 s: five minutes, in which operators register their definitions. Then it ends, and is \
         seen.",
    )
}

/// What Kubernetes writes into a volume that is bound.
fn ignored() -> CommentedEntry {
    let bound = map([
        set("group", ""),
        set("kind", "PersistentVolume"),
        set("jsonPointers", list(["/spec/claimRef/uid", "/spec/claimRef/resourceVersion"])),
    ]);
    set("ignoreDifferences", list([bound]))
        .because("Kubernetes writes these when it binds a volume. Taken away, the volume would be lost to its claim.")
}

/// The one that is applied by hand.
fn root(deployment: &Deployment<'_>, git: &GitFolder) -> String {
    let source = map([
        set("repoURL", git.repository.as_str()),
        set("targetRevision", git.revision.as_str()),
        set("path", below(git, "argocd")),
    ]);
    let spec = map([
        set("project", git.project.as_str()),
        set("source", source),
        set("destination", map([set("server", THIS_CLUSTER)])),
        set("syncPolicy", map([automated(), retry(), set("syncOptions", list(["ServerSideApply=true"]))])),
    ]);
    let head = "The Application of all others: apply it once, by hand, with kubectl apply --filename.\nArgo CD waits \
                for a wave only if it knows the health of an Application, which since 1.8 it does not of itself: set \
                resource.customizations.health.argoproj.io_Application in argocd-cm, as its page on resource health \
                has it. Without that, all waves begin at once, and retries do the rest.";
    let name = dns_label(&deployment.site.name, SITE_BYTES_MAX);
    file(&deployment.head(head), &[of_kind(git, &name, None, spec)])
}
