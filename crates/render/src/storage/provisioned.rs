//! StorageClasses of a provisioner, which makes volumes itself, and what is lost with it.

use linerate_record::site::{Provisioner, key};

use crate::deployment::{DeployedPool, Deployment};
use crate::object_names::stable_uuid;
use crate::yaml::{CommentedEntry, Tree, list, map, set};

/// What of a drive a claim asks for, in hundredths: XFS keeps a part of each drive for itself (its log, and what its
/// trees of reverse mappings and references may grow to).
const CLAIMED_PERCENT: u64 = 98;

/// What lvmd spares of a volume group unless told otherwise: TopoLVM, `docs/lvmd.md`, `spare-gb`.
const SPARED_BYTES: u64 = 10 << 30;

const GIGABYTE: u64 = 1_000_000_000;

/// The largest claim that a drive has room for, in whole gigabytes.
pub(crate) fn claimed_bytes(provisioner: Provisioner, capacity_bytes: u64) -> u64 {
    let spared_bytes = match provisioner {
        Provisioner::DirectPv => 0,
        Provisioner::TopoLvm => SPARED_BYTES,
    };
    let bytes = (capacity_bytes / 100 * CLAIMED_PERCENT).saturating_sub(spared_bytes);
    (bytes / GIGABYTE).max(1) * GIGABYTE
}

/// Why a claim asks for no more.
pub(crate) fn why_claimed(provisioner: Provisioner) -> String {
    let spared = match provisioner {
        Provisioner::DirectPv => "",
        Provisioner::TopoLvm => ", less the 10 GiB that lvmd spares (spare-gb)",
    };
    format!(
        "{CLAIMED_PERCENT} % of nodes.*.drives.*.capacity{spared}: what XFS keeps for itself is nobody's claim, and no \
         drive has room for a larger one."
    )
}

/// The class of a drive of a pool, counted from 0.
pub(super) fn class(provisioner: Provisioner, pool: &DeployedPool<'_>, drive: usize) -> Tree {
    let name = pool.class(drive);
    let mut lines = vec![
        set("apiVersion", "storage.k8s.io/v1"),
        set("kind", "StorageClass"),
        set("metadata", map([set("name", name.as_str())])),
    ];
    lines.extend(match provisioner {
        Provisioner::DirectPv => of_directpv(pool, &name),
        Provisioner::TopoLvm => of_topolvm(drive),
    });
    lines.extend([
        set("volumeBindingMode", "WaitForFirstConsumer")
            .because("Volumes are made where the pod is scheduled: all claims of a pod are on one node."),
        set("reclaimPolicy", "Retain").because("A deleted claim deletes no data."),
        set("allowVolumeExpansion", false).because("A claim is a drive: there is no room to grow into."),
    ]);
    map(lines)
}

fn of_directpv(pool: &DeployedPool<'_>, name: &str) -> Vec<CommentedEntry> {
    let mut parameters = vec![
        set("csi.storage.k8s.io/fstype", "xfs"),
        set("directpv.min.io/volume-claim-id", stable_uuid(name)).because(
            "No drive has two volumes with the same one: otherwise the drive with the most free space is taken, and \
             one drive would have several shards of a set.",
        ),
    ];
    if pool.group.drives.len() > 1 {
        parameters.push(
            set("directpv.min.io/tier", name)
                .because(format!("Label the drives of this kind: kubectl directpv label drives tier={name}.")),
        );
    }
    let label = map([set("key", "directpv.min.io/identity"), set("values", list(["directpv-min-io"]))]);
    vec![
        set("provisioner", "directpv-min-io").because(key::KUBERNETES_PROVISIONER),
        set("parameters", map(parameters)),
        set("allowedTopologies", list([map([set("matchLabelExpressions", list([label]))])]))
            .because("Nodes on which DirectPV runs."),
    ]
}

fn of_topolvm(drive: usize) -> Vec<CommentedEntry> {
    let why = format!(
        "A device class of lvmd for drive {} alone, with a volume group of that drive: in a group of several drives, a \
         volume is on any of them, and one drive would have several shards of a set.",
        drive + 1
    );
    let parameters = [
        set("csi.storage.k8s.io/fstype", "xfs"),
        set("topolvm.io/device-class", crate::deployment::claim_template(drive)).because(why),
    ];
    vec![set("provisioner", "topolvm.io").because(key::KUBERNETES_PROVISIONER), set("parameters", map(parameters))]
}

/// What a site gives up by a provisioner.
pub(crate) fn lost(deployment: &Deployment<'_>) -> Vec<String> {
    let Some(provisioner) = deployment.kubernetes.provisioner else { return Vec::new() };
    let name = match provisioner {
        Provisioner::DirectPv => "DirectPV",
        Provisioner::TopoLvm => "TopoLVM",
    };
    let of_racks = deployment.pools.iter().filter_map(|pool| over_racks(pool, name));
    of_racks
        .chain([
            format!(
                "{name} makes volumes wherever a pod is scheduled first: which node has which ordinal is not known \
                 before, is not kept when claims are deleted, and --replace is refused"
            ),
            "alerts and panels of drives are left out: they find drives by their folders, and a provisioner has others"
                .to_owned(),
        ])
        .collect()
}

/// The most that a rack may have of a set, where no order is held.
fn over_racks(pool: &DeployedPool<'_>, name: &str) -> Option<String> {
    let (racks, nodes) = (u64::from(pool.group.racks), u64::from(pool.group.count));
    let (shards, parity) = (u64::from(pool.geometry.shards), pool.geometry.parity);
    if racks < 2 || nodes == 0 {
        return None;
    }
    let most = (nodes.div_ceil(racks) * shards.div_ceil(nodes)).min(shards);
    (most > u64::from(parity)).then(|| {
        format!(
            "the order of erasure sets over {racks} racks: {name} writes no claimRef, and a rack may have {most} of \
             the {shards} shards of a set, which may lose {parity}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_leaves_room_for_what_the_file_system_and_lvmd_keep() {
        assert_eq!(claimed_bytes(Provisioner::DirectPv, 8_000 * GIGABYTE), 7_840 * GIGABYTE);
        assert_eq!(claimed_bytes(Provisioner::TopoLvm, 8_000 * GIGABYTE), 7_829 * GIGABYTE);
        assert_eq!(claimed_bytes(Provisioner::TopoLvm, GIGABYTE), GIGABYTE);
    }
}
