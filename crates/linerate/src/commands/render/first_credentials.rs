//! The engine's first credentials, drawn once.

use std::io::{self, Write as _};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use linerate_record::site::Site;
use linerate_render::{FirstCredentials, credentials, metrics_token};
use linerate_site::SiteFile;
use sha2::Sha512;

use super::manifest::MANIFEST;
use crate::files::atomic_write::{temporary_file, write_failure};
use crate::terminal::failure::Failure;
use crate::terminal::progress::print_error;

/// Bytes of a name and of a password.
const USER_BYTES: usize = 10;
const PASSWORD_BYTES: usize = 20;

/// Refuses a file that is there already, and one in a folder that goes to Git. Nothing is written before.
pub(super) fn require_free(path: &Path, output: Option<&Path>) -> Result<(), Failure> {
    let shown = path.display();
    let parent = folder_of(path).canonicalize().map_err(|source| Failure::File {
        what: "write to",
        path: path.to_owned(),
        source,
    })?;
    if output.and_then(|folder| folder.canonicalize().ok()).is_some_and(|folder| parent.starts_with(folder)) {
        return Err(Failure::usage(format!(
            "--init-secrets {shown} is in the folder of -o: name a file outside of it"
        )));
    }
    if let Some(folder) = parent.ancestors().find(|folder| folder.join(MANIFEST).exists()) {
        let folder = folder.display();
        let why = format!("--init-secrets {shown} is in {folder}, which linerate render has written");
        return Err(Failure::usage(format!("{why}: name a file outside of it")));
    }
    if path.symlink_metadata().is_ok() {
        return Err(already_exists(path));
    }
    Ok(())
}

fn already_exists(path: &Path) -> Failure {
    Failure::usage(format!("{} is there already: credentials are drawn once", path.display()))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a Secret to a file that is not there yet, for its owner alone: whole, or not at all.
pub(super) fn write(path: &Path, site: &Site, file: &SiteFile) -> Result<(), Failure> {
    let drawn = FirstCredentials { user: hexadecimal(USER_BYTES)?, password: hexadecimal(PASSWORD_BYTES)? };
    let Some(mut text) = credentials(site, &drawn) else {
        let what = "a site without a Kubernetes, or with an engine that is not rendered";
        return Err(Failure::usage(file.mistake("kubernetes", what, "add \"kubernetes:\", and write minio or rustfs")));
    };
    text.push_str(&metrics_token(site, &token(&drawn)).unwrap_or_default());
    write_private_file(path, &text).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => already_exists(path),
        _ => write_failure(path, text.len(), source),
    })?;
    print_error(&format!("credentials of the engine: {}, for kubectl apply -f; keep them out of Git", path.display()));
    Ok(())
}

/// Until when Prometheus may read metrics: the year 2100. Another password ends it before.
const TOKEN_UNTIL_S: u64 = 4_102_444_800;

/// What `mc admin prometheus generate` would make: a token of RFC 7519 whose subject is the user, signed with HMAC and
/// SHA-512 by the password (RFC 7518, section 3.2).
#[expect(clippy::expect_used, reason = "HMAC pads or hashes a key of any length (RFC 2104)")]
fn token(drawn: &FirstCredentials) -> String {
    let base64 = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let claims = format!(r#"{{"exp":{TOKEN_UNTIL_S},"iss":"prometheus","sub":"{}"}}"#, drawn.user);
    let signed = format!("{}.{}", base64(br#"{"alg":"HS512","typ":"JWT"}"#), base64(claims.as_bytes()));
    let mut sum = Hmac::<Sha512>::new_from_slice(drawn.password.as_bytes()).expect("HMAC takes keys of every length");
    sum.update(signed.as_bytes());
    format!("{signed}.{}", base64(&sum.finalize().into_bytes()))
}

/// A temporary file is for its owner alone, and goes where it does not come to its place.
fn write_private_file(path: &Path, text: &str) -> io::Result<()> {
    let mut file = temporary_file(folder_of(path))?;
    file.write_all(text.as_bytes())?;
    file.as_file().sync_all()?;
    file.persist_noclobber(path).map(drop).map_err(|error| error.error)
}

fn hexadecimal(bytes: usize) -> Result<String, Failure> {
    let mut drawn = vec![0_u8; bytes];
    rustix::rand::getrandom(&mut drawn, rustix::rand::GetRandomFlags::empty()).map_err(|error| Failure::File {
        what: "draw credentials from",
        path: "/dev/urandom".into(),
        source: error.into(),
    })?;
    Ok(drawn.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// What Python's hmac makes of the same, and a MinIO took.
    #[test]
    fn a_token_is_signed_by_the_password() {
        let drawn = FirstCredentials { user: "userabcdef".to_owned(), password: "passabcdefgh".to_owned() };
        let made = token(&drawn);
        let parts: Vec<&str> = made.split('.').collect();
        assert_eq!(parts[1], "eyJleHAiOjQxMDI0NDQ4MDAsImlzcyI6InByb21ldGhldXMiLCJzdWIiOiJ1c2VyYWJjZGVmIn0");
        assert_eq!(parts[2], "LLFKL46OwQ3CdpjHNEgGp_BXdB21qP6Ds9An2VaFlCYU3B9a_ivZjK1DxoI0cwlNy4yUT7ABI5Ni7s8VRQxXdg");
    }

    #[test]
    fn a_secret_is_whole_for_its_owner_alone_and_in_no_rendered_folder() {
        let base = tempfile::tempdir().unwrap();
        let secret = base.path().join("secret.yaml");
        assert!(require_free(&secret, None).is_ok());
        write_private_file(&secret, "user").unwrap();
        assert_eq!(fs::metadata(&secret).unwrap().permissions().mode() & 0o777, 0o600);
        let again = write_private_file(&secret, "other").unwrap_err();
        assert_eq!(
            (again.kind(), fs::read_to_string(&secret).unwrap().as_str()),
            (io::ErrorKind::AlreadyExists, "user")
        );
        assert_eq!(fs::read_dir(base.path()).unwrap().count(), 1, "no temporary file stays");
        let refused = require_free(&secret, None).unwrap_err().to_string();
        assert!(refused.contains("drawn once"), "{refused}");
        let below = base.path().join("gitops/engine");
        fs::create_dir_all(&below).unwrap();
        fs::write(base.path().join("gitops").join(MANIFEST), "{}").unwrap();
        let refused = require_free(&below.join("s.yaml"), None).unwrap_err().to_string();
        assert!(refused.contains("linerate render has written"), "{refused}");
        let refused = require_free(&base.path().join("s"), Some(base.path())).unwrap_err().to_string();
        assert!(refused.contains("in the folder of -o"), "{refused}");
        assert!(require_free(&base.path().join("none/s"), None).is_err());
    }
}
