//! The engine's first credentials, drawn once.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use linerate_record::site::Site;
use linerate_render::{FirstCredentials, credentials};
use linerate_site::SiteFile;

use crate::failure::Failure;
use crate::progress::say;

/// Bytes of a name and of a password.
const USER_BYTES: usize = 10;
const PASSWORD_BYTES: usize = 20;

/// Writes a Secret to a file that is not there yet, for its owner alone. It is in no folder that goes to Git.
pub(super) fn write(path: &Path, output: Option<&Path>, site: &Site, file: &SiteFile) -> Result<(), Failure> {
    if output.is_some_and(|folder| is_below(path, folder)) {
        let path = path.display();
        return Err(Failure::usage(format!("--init-secrets {path} is in the folder of -o: name a file outside of it")));
    }
    let drawn = FirstCredentials { user: hexadecimal(USER_BYTES)?, password: hexadecimal(PASSWORD_BYTES)? };
    let Some(text) = credentials(site, &drawn) else {
        let what = "a site without a Kubernetes, or with an engine that is not rendered";
        return Err(Failure::usage(file.mistake("kubernetes", what, "add \"kubernetes:\", and write minio or rustfs")));
    };
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut secret = made.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::usage(format!("{} is there already: credentials are drawn once", path.display()))
        }
        _ => Failure::File { what: "write to", path: path.to_owned(), source },
    })?;
    secret.write_all(text.as_bytes()).and_then(|()| secret.sync_all()).map_err(|source| Failure::File {
        what: "write to",
        path: path.to_owned(),
        source,
    })?;
    say(&format!("credentials of the engine: {}, for kubectl apply -f; keep them out of Git", path.display()));
    Ok(())
}

/// Whether a file that is not there would be in a folder, by links or not.
fn is_below(path: &Path, folder: &Path) -> bool {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (parent.canonicalize(), folder.canonicalize()) {
        (Ok(parent), Ok(folder)) => parent.starts_with(folder),
        _ => false,
    }
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
