//! Where this user's kubeconfig is, as kubectl looks for it, and a connection by it, whose secrets are known to what
//! masks them.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use linerate_kube::access::{Access, KubeCluster, KubeconfigSource};
use linerate_kube::api_client::SecretRegistry;
use linerate_kube::error::KubeError;

use crate::terminal::key_masks;

/// The secrets of this process.
struct ProcessSecrets;

impl SecretRegistry for ProcessSecrets {
    fn remember(&self, secret: &str) {
        key_masks::remember_secret(secret);
    }

    fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        key_masks::mask_secrets_for_folder(text)
    }
}

/// Connects, as [`Access::connect`] has it.
pub(crate) fn connect(access: Access) -> Result<Arc<KubeCluster>, KubeError> {
    access.connect(Arc::new(ProcessSecrets))
}

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
