//! Where this user's kubeconfig is, as kubectl looks for it, and a connection by it, whose secrets are known to what
//! masks them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use linerate_kube::access::{Access, KubeCluster, KubeconfigSource};
use linerate_kube::api_client::SecretRegistry;
use linerate_kube::error::KubeError;

use crate::credentials::tls_trust;
use crate::files::limited_read;
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
    if access.trusts_system() {
        tls_trust::require_bounded_roots().map_err(|why| KubeError::Kubeconfig(why.to_string()))?;
    }
    access.connect(Arc::new(ProcessSecrets))
}

/// The cluster that a context means, as [`Access::find`] has it.
pub(crate) fn find(context: Option<&str>) -> Result<Access, KubeError> {
    Access::find(&source(), context, read_once)
}

/// What was read of pipes, or why it was not: a pipe has its bytes once, and is waited for once.
static PIPES: Mutex<BTreeMap<PathBuf, PipeContents>> = Mutex::new(BTreeMap::new());

/// What a pipe gave, or why it gave nothing.
type PipeContents = Result<Vec<u8>, (io::ErrorKind, String)>;

/// Reads a file within limits; what is no regular file, once.
fn read_once(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.is_file() {
        return limited_read::read_named(path, most);
    }
    let mut pipes = PIPES.lock().unwrap_or_else(PoisonError::into_inner);
    let read = pipes
        .entry(path.to_owned())
        .or_insert_with(|| limited_read::read_named(path, most).map_err(|error| (error.kind(), error.to_string())));
    read.clone().map_err(|(kind, why)| io::Error::new(kind, why))
}

/// The files of `KUBECONFIG`, or the one in the home folder; in a pod that has neither, its service account.
fn source() -> KubeconfigSource {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipe_is_read_once_and_what_never_ends_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let writer = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::write(pipe, "a: 1").unwrap()
        });
        assert_eq!(read_once(&pipe, 100).unwrap(), b"a: 1");
        writer.join().unwrap();
        assert_eq!(read_once(&pipe, 100).unwrap(), b"a: 1");
        let zero = Path::new("/dev/zero");
        assert!((0..2).all(|_| read_once(zero, 100).unwrap_err().kind() == io::ErrorKind::FileTooLarge));
        // Each file that a kubeconfig names.
        for key in ["certificate-authority", "client-certificate", "client-key", "tokenFile"] {
            let config = folder.path().join("config");
            let of_cluster = if key.ends_with("authority") { ", certificate-authority: /dev/zero" } else { "" };
            let of_user = if of_cluster.is_empty() { format!("{key}: /dev/zero") } else { String::new() };
            let text = format!(
                "current-context: a\ncontexts: [{{name: a, context: {{cluster: k, user: u}}}}]\n\
                 clusters: [{{name: k, cluster: {{server: 'https://127.0.0.1:1'{of_cluster}}}}}]\n\
                 users: [{{name: u, user: {{{of_user}}}}}]\n"
            );
            fs::write(&config, text).unwrap();
            let access = Access::find(&KubeconfigSource::Files { paths: vec![config] }, None, read_once);
            let why = access.and_then(connect).err().unwrap().to_string();
            assert!(why.contains(&format!("{key} /dev/zero: it is too large")), "{key}: {why}");
        }
    }
}
