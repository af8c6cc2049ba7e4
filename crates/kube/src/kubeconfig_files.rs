//! Files of a kubeconfig, and those that it names, each read once and within limits.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::{Kubeconfig, KubeconfigError};

use crate::error::{KubeError, of_kubeconfig};

/// Reads a file of at most so many bytes, in bounded time.
pub type FileReader = fn(&Path, u64) -> std::io::Result<Vec<u8>>;

/// Largest file read as a kubeconfig.
const KUBECONFIG_BYTES_MAX: u64 = 16 << 20;

/// Largest file of certificates, or of a key, that it names.
const PEM_BYTES_MAX: u64 = 16 << 20;

/// Reads all files that are there, the first to name something wins.
pub(crate) fn read(paths: &[PathBuf], reader: FileReader) -> Result<Kubeconfig, KubeError> {
    let shown = || paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let mut merged: Option<Kubeconfig> = None;
    for path in paths {
        let unusable = |why: String| KubeError::Kubeconfig(format!("{}: {why}", path.display()));
        let failed = |error: KubeconfigError| unusable(of_kubeconfig(&error));
        let bytes = match reader(path, KUBECONFIG_BYTES_MAX) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            bytes => bytes.map_err(|error| unusable(error.to_string()))?,
        };
        let text = str::from_utf8(&bytes).map_err(|_| unusable("it is not text in UTF-8".to_owned()))?;
        let mut read = Kubeconfig::from_yaml(text.trim_start_matches('\u{feff}')).map_err(failed)?;
        if let Some(folder) = path.parent() {
            resolve(&mut read, folder);
        }
        merged = Some(match merged {
            Some(merged) => merged.merge(read).map_err(failed)?,
            None => read,
        });
    }
    merged.ok_or_else(|| KubeError::NoKubeconfig(format!("none of {} is there", shown())))
}

/// Paths of a kubeconfig are below its folder, and so is a command that is a path.
fn resolve(kubeconfig: &mut Kubeconfig, folder: &Path) {
    let below = |path: &mut Option<String>| {
        let named = path.as_deref().filter(|path| !path.is_empty() && Path::new(path).is_relative());
        if let Some(resolved) = named.and_then(|named| folder.join(named).to_str().map(str::to_owned)) {
            *path = Some(resolved);
        }
    };
    for cluster in kubeconfig.clusters.iter_mut().filter_map(|named| named.cluster.as_mut()) {
        below(&mut cluster.certificate_authority);
    }
    for user in kubeconfig.auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut()) {
        [&mut user.client_certificate, &mut user.client_key, &mut user.token_file].into_iter().for_each(below);
        if let Some(exec) = user.exec.as_mut().filter(|exec| exec.command.as_ref().is_some_and(|c| c.contains('/'))) {
            below(&mut exec.command);
        }
    }
}

/// Puts what files of certificates and keys have into a kubeconfig, for the context that is used.
pub(crate) fn inline(kubeconfig: &mut Kubeconfig, context: &str, reader: FileReader) -> Result<(), KubeError> {
    let named = kubeconfig.contexts.iter().find(|named| named.name == context);
    let Some(context) = named.and_then(|named| named.context.clone()) else { return Ok(()) };
    let data = |path: &mut Option<String>, has_data: bool, key: &str| {
        let Some(path) = path.take().filter(|path| !has_data && !path.is_empty()) else { return Ok(None) };
        let failed = |error| KubeError::Kubeconfig(format!("{key} {path}: {error}"));
        reader(Path::new(&path), PEM_BYTES_MAX).map(|bytes| Some(STANDARD.encode(bytes))).map_err(failed)
    };
    let cluster = kubeconfig.clusters.iter_mut().find(|named| named.name == context.cluster);
    if let Some(cluster) = cluster.and_then(|named| named.cluster.as_mut()) {
        let has_data = cluster.certificate_authority_data.is_some();
        if let Some(data) = data(&mut cluster.certificate_authority, has_data, "certificate-authority")? {
            cluster.certificate_authority_data = Some(data);
        }
    }
    let user = kubeconfig.auth_infos.iter_mut().find(|named| Some(&named.name) == context.user.as_ref());
    if let Some(user) = user.and_then(|named| named.auth_info.as_mut()) {
        let has_data = user.client_certificate_data.is_some();
        if let Some(data) = data(&mut user.client_certificate, has_data, "client-certificate")? {
            user.client_certificate_data = Some(data);
        }
        let has_data = user.client_key_data.is_some();
        if let Some(data) = data(&mut user.client_key, has_data, "client-key")? {
            user.client_key_data = Some(data.into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    /// Says which files were read, and with what limit.
    fn limited(path: &Path, most: u64) -> io::Result<Vec<u8>> {
        match path.to_str() {
            Some("/c/absent") => Err(ErrorKind::NotFound.into()),
            Some("/c/config") => Ok(CONFIG.to_owned().into_bytes()),
            Some(path) if path.contains("zero") => Err(io::Error::other(format!("{path} over {most}"))),
            _ => Ok(b"x".to_vec()),
        }
    }

    const CONFIG: &str = "current-context: a\ncontexts: [{name: a, context: {cluster: k, user: u}}]\n\
                          clusters: [{name: k, cluster: {server: 'https://h', certificate-authority: zero-ca}}, \
                          {name: other, cluster: {certificate-authority: zero-other}}]\n\
                          users: [{name: u, user: {client-certificate: c.pem, client-key: sub/k.pem, \
                          exec: {command: ./plugin}}}]\n";

    #[test]
    fn files_of_the_context_in_use_are_read_by_the_reader_and_no_other_is() {
        let paths = ["/c/absent", "/c/config"].map(PathBuf::from);
        let mut kubeconfig = read(&paths, limited).unwrap();
        let fault = inline(&mut kubeconfig, "a", limited).unwrap_err().to_string();
        assert!(fault.ends_with("certificate-authority /c/zero-ca: /c/zero-ca over 16777216"), "{fault}");
        kubeconfig.clusters[0].cluster.as_mut().unwrap().certificate_authority = Some("/ca".to_owned());
        inline(&mut kubeconfig, "a", limited).unwrap();
        let cluster = kubeconfig.clusters[0].cluster.as_ref().unwrap();
        assert_eq!(cluster.certificate_authority_data.as_deref(), Some("eA=="));
        let user = kubeconfig.auth_infos[0].auth_info.as_ref().unwrap();
        assert_eq!(user.client_certificate_data.as_deref(), Some("eA=="));
        assert!(user.client_key_data.is_some() && user.client_key.is_none());
        assert_eq!(user.exec.as_ref().unwrap().command.as_deref(), Some("/c/./plugin"));
        assert!(matches!(read(&paths[..1], limited), Err(KubeError::NoKubeconfig(_))));
        let fault = read(&[PathBuf::from("/dev/zero")], limited).unwrap_err();
        assert!(matches!(fault, KubeError::Kubeconfig(_)), "{fault}");
    }
}
