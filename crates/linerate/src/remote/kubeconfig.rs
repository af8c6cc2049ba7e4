//! Where this user's kubeconfig is, as kubectl looks for it.

use std::path::PathBuf;

use linerate_kube::access::KubeconfigSource;

/// The files of `KUBECONFIG`, or the one in the home folder; in a pod that has neither, its service account.
pub(crate) fn source() -> KubeconfigSource {
    let named = std::env::var_os("KUBECONFIG").filter(|named| !named.is_empty());
    let named = named.map(|named| std::env::split_paths(&named).filter(|path| !path.as_os_str().is_empty()).collect());
    let of_home = || std::env::home_dir().map(|home| vec![home.join(".kube/config")]).unwrap_or_default();
    let is_given = named.is_some();
    let paths: Vec<PathBuf> = named.unwrap_or_else(of_home);
    let is_in_pod = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    if !is_given && is_in_pod && !paths.iter().any(|path| path.exists()) {
        return KubeconfigSource::InCluster;
    }
    KubeconfigSource::Files { paths }
}
