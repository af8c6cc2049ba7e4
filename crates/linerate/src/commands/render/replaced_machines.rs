//! What is left to do where a machine takes the place of another one: a folder deletes nothing.

use std::fmt::Write as _;

use linerate_render::PlacedPool;

/// The commands by which the pods of machines that were switched off come up on those in their places; nothing where
/// there are none. Each pair is the old machine and the new one.
pub(super) fn remaining_commands(
    pools: &[PlacedPool],
    namespace: &str,
    newly: &[(String, String)],
    folder: &str,
) -> String {
    let mut text = String::new();
    for (old, new) in newly {
        let pods = pools.iter().flat_map(|pool| {
            let ordinals = (0..pool.machines.len()).filter(|&ordinal| pool.machines[ordinal] == *new);
            ordinals.map(move |ordinal| (pool, ordinal))
        });
        for (pool, ordinal) in pods {
            let claims = pool.claims(ordinal).join(" ");
            // Writing to a string does not fail.
            let _ = write!(
                text,
                "\n{new} takes the place of {old}. Once {old} is switched off:\n\
                 \u{20} kubectl apply --kustomize {folder}/storage\n\
                 \u{20} kubectl delete node {old}\n\
                 \u{20} kubectl delete pvc --namespace {namespace} --wait=false {claims}\n\
                 \u{20} kubectl delete pod --namespace {namespace} --wait=false --ignore-not-found {}-{ordinal}\n",
                pool.set
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_and_pod_of_a_replaced_machine_are_named_with_what_ends_them() {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let machines = owned(&["n1", "n5", "n2"]);
        let pools = [
            PlacedPool { set: "minio".to_owned(), machines, folders: owned(&["/a", "/b"]) },
            PlacedPool { set: "minio-1".to_owned(), machines: owned(&["n7"]), folders: owned(&["/a"]) },
        ];
        let newly = [("n3".to_owned(), "n5".to_owned())];
        assert_eq!(
            remaining_commands(&pools, "store", &newly, "gitops"),
            "\nn5 takes the place of n3. Once n3 is switched off:\n\
             \u{20} kubectl apply --kustomize gitops/storage\n\
             \u{20} kubectl delete node n3\n\
             \u{20} kubectl delete pvc --namespace store --wait=false data-1-minio-1 data-2-minio-1\n\
             \u{20} kubectl delete pod --namespace store --wait=false --ignore-not-found minio-1\n"
        );
        assert_eq!(remaining_commands(&pools, "store", &[], "gitops"), "");
    }
}
