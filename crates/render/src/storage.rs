//! Volumes: each drive of each node, bound to the claim that it is for.

mod provisioned;

use linerate_record::site::Provisioner;

use crate::deployment::{DeployedPool, Deployment, capacity};
use crate::file::RenderedFile;
use crate::yaml::{Tree, file, list, map, set};

pub(crate) use provisioned::{claimed_bytes, lost, why_claimed};

/// Argo CD deletes no volume, neither when it leaves the folder nor with the application.
pub(crate) const KEPT: &str = "Prune=false,Delete=false";

/// Most volumes of a file: Argo CD fails near 3,000 objects of an Application (argo-cd #14486), and a file is one.
const VOLUMES_MAX: usize = 2_500;

/// Volumes that are in one file: those of a rack, or of a part of its machines where there are too many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RackPart {
    /// The pool, counted from 0.
    pool: usize,
    /// The rack, counted from 0.
    rack: u32,
    /// The ordinals of its machines.
    ordinals: Vec<usize>,
    /// Which part it is, counted from 1, of how many.
    part: (usize, usize),
    /// The name of the file, without `.yaml`.
    pub(crate) name: String,
}

/// The file of the StorageClasses, without `.yaml`.
pub(crate) const CLASSES: &str = "storage-classes";

pub(crate) fn files(deployment: &Deployment<'_>) -> Vec<RenderedFile> {
    let path = |name: &str| format!("storage/{name}.yaml");
    let volumes =
        parts(deployment).into_iter().map(|part| RenderedFile::new(path(&part.name), volumes_yaml(deployment, &part)));
    [RenderedFile::new(path(CLASSES), classes(deployment))].into_iter().chain(volumes).collect()
}

/// The files of volumes, rack after rack.
pub(crate) fn parts(deployment: &Deployment<'_>) -> Vec<RackPart> {
    let mut all = Vec::new();
    if deployment.kubernetes.provisioner.is_some() {
        return all;
    }
    for (i, pool) in deployment.pools.iter().enumerate() {
        let digits = pool.racks.to_string().len().max(2);
        let prefix = if i > 0 { format!("{}-", pool.set) } else { String::new() };
        for rack in 0..pool.racks as u32 {
            let ordinals: Vec<usize> =
                (0..pool.machines.len()).filter(|&ordinal| pool.placement.rack_of[ordinal] == rack).collect();
            // The volumes of a machine stay together.
            let machines = (VOLUMES_MAX / pool.mounts.len().max(1)).max(1);
            let part_count = ordinals.len().div_ceil(machines);
            for (part, ordinals) in (1..).zip(ordinals.chunks(machines)) {
                let end = if part_count > 1 { format!("-part-{part}") } else { String::new() };
                let name = format!("{prefix}rack-{:0digits$}{end}", rack + 1);
                all.push(RackPart { pool: i, rack, ordinals: ordinals.to_vec(), part: (part, part_count), name });
            }
        }
    }
    all
}

fn classes(deployment: &Deployment<'_>) -> String {
    if let Some(provisioner) = deployment.kubernetes.provisioner {
        return provisioned_classes(deployment, provisioner);
    }
    let mut documents: Vec<Tree> = Vec::new();
    for pool in &deployment.pools {
        let mut drive = 0;
        for drives in &pool.group.drives {
            documents.push(class(&pool.class(drive)));
            drive += drives.count as usize;
        }
    }
    let head = "StorageClasses: one for each kind of drives, so that no claim takes a drive of another tier.";
    file(&deployment.head(head), &documents)
}

fn provisioned_classes(deployment: &Deployment<'_>, provisioner: Provisioner) -> String {
    let mut names = Vec::new();
    let mut documents: Vec<Tree> = Vec::new();
    for (pool, drive) in deployment.pools.iter().flat_map(|pool| (0..pool.drives()).map(move |drive| (pool, drive))) {
        let name = pool.class(drive);
        if !names.contains(&name) {
            documents.push(provisioned::class(provisioner, pool, drive));
            names.push(name);
        }
    }
    let lost: Vec<String> = lost(deployment).into_iter().map(|what| format!("Lost: {what}.")).collect();
    let head = format!("StorageClasses of kubernetes.provisioner, which makes the volumes.\n{}", lost.join("\n"));
    file(&deployment.head(&head), &documents)
}

fn class(name: &str) -> Tree {
    map([
        set("apiVersion", "storage.k8s.io/v1"),
        set("kind", "StorageClass"),
        set("metadata", map([set("name", name)])),
        set("provisioner", "kubernetes.io/no-provisioner").because(
            "The volumes are written here: a provisioner makes them wherever a pod is scheduled, and the order of \
             machines would be lost.",
        ),
        set("volumeBindingMode", "WaitForFirstConsumer")
            .because("A claim is bound when its pod is scheduled, so that all claims of a pod are on one node."),
        set("reclaimPolicy", "Retain").because("A deleted claim deletes no data."),
    ])
}

/// What is the same of each volume, said once.
const EACH: &str = "\
claimRef: the claim that the volume is for, without its uid: the ordinal of a pod decides its erasure sets, and by \
this its node. Nobody else's claim takes the drive.
persistentVolumeReclaimPolicy Retain, Prune=false, Delete=false: neither a deleted claim nor a file that has left the \
folder deletes a volume.
nodeAffinity: the drive is on this machine. It cannot be changed: a machine that is replaced gets new volumes.
capacity: nodes.*.drives.*.capacity of the site.";

fn volumes_yaml(deployment: &Deployment<'_>, part: &RackPart) -> String {
    let (pool, rack) = (&deployment.pools[part.pool], part.rack);
    let share = pool.placement.share;
    let of_sets = if pool.racks > 1 {
        format!(
            "No rack has more than {} of the {} shards of a set, which may lose {}.",
            share.most, pool.geometry.shards, share.parity
        )
    } else {
        let is_stated = !deployment.site.is_assumed(&format!("nodes.{}.racks", pool.group.name));
        let racks =
            if is_stated { "The site has one rack" } else { "The site states no racks, and all nodes are in one" };
        format!("{racks}: its loss is the loss of all nodes.")
    };
    let of_part = match part.part {
        (_, 1) => String::new(),
        (part, of) => format!(", part {part} of {of}: of more volumes, Argo CD fails (argo-cd #14486)"),
    };
    let head = format!("PersistentVolumes of rack {} of {}{of_part}. {of_sets}\n{EACH}", rack + 1, pool.group.name);
    let volumes = part
        .ordinals
        .iter()
        .flat_map(|&ordinal| (0..pool.mounts.len()).map(move |drive| volume(deployment, pool, rack, ordinal, drive)));
    file(&deployment.head(&head), &volumes.collect::<Vec<_>>())
}

fn volume(deployment: &Deployment<'_>, pool: &DeployedPool<'_>, rack: u32, ordinal: usize, drive: usize) -> Tree {
    let machine = &pool.machines[ordinal];
    let term =
        map([set("key", "kubernetes.io/hostname"), set("operator", "In"), set("values", list([machine.as_str()]))]);
    let terms = list([map([set("matchExpressions", list([term]))])]);
    let labels = map([
        set("app.kubernetes.io/name", deployment.name),
        set("erasure-set", pool.erasure_set(drive, ordinal).to_string()),
        set("pool", pool.set.as_str()),
        set("rack", (rack + 1).to_string()),
    ]);
    let claim = map([
        set("apiVersion", "v1"),
        set("kind", "PersistentVolumeClaim"),
        set("namespace", deployment.kubernetes.namespace.as_str()),
        set("name", pool.claim(drive, ordinal)),
    ]);
    map([
        set("apiVersion", "v1"),
        set("kind", "PersistentVolume"),
        set(
            "metadata",
            map([
                set("name", format!("{}-{machine}", pool.claim(drive, ordinal))),
                set("labels", labels),
                set("annotations", map([set("argocd.argoproj.io/sync-options", KEPT)])),
            ]),
        ),
        set(
            "spec",
            map([
                set("capacity", map([set("storage", capacity(pool.kind(drive).1))])),
                set("volumeMode", "Filesystem"),
                set("accessModes", list(["ReadWriteOnce"])),
                set("persistentVolumeReclaimPolicy", "Retain"),
                set("storageClassName", pool.class(drive)),
                set("claimRef", claim),
                set("local", map([set("path", pool.mounts[drive].as_str())])),
                set("nodeAffinity", map([set("required", map([set("nodeSelectorTerms", terms)]))])),
            ]),
        ),
    ])
}
