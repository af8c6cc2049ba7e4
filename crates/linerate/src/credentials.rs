//! Credentials and other settings that flags, warp's and AWS's environment may give.

use std::env;

use linerate_load::sigv4::{Credentials, Secret};

use crate::cli::Keys;
use crate::failure::Failure;

/// The flag's value, or the first of the variables that is set and not empty.
pub(crate) fn flag_or_env(flag: Option<&String>, variables: &[&str]) -> Option<String> {
    let from_env = || variables.iter().find_map(|name| env::var(name).ok().filter(|v| !v.is_empty()));
    flag.cloned().or_else(from_env)
}

/// Who signs requests to a host: the flags, warp's environment, AWS's environment, or nobody with `--anonymous`.
pub(crate) fn find(keys: &Keys) -> Result<Option<Credentials>, Failure> {
    if keys.anonymous {
        return Ok(None);
    }
    let access_key = flag_or_env(keys.access_key.as_ref(), &["WARP_ACCESS_KEY", "AWS_ACCESS_KEY_ID"]);
    let secret_key = flag_or_env(keys.secret_key.as_ref(), &["WARP_SECRET_KEY", "AWS_SECRET_ACCESS_KEY"]);
    let session_token = flag_or_env(keys.session_token.as_ref(), &["WARP_SESSION_TOKEN", "AWS_SESSION_TOKEN"]);
    match (access_key, secret_key) {
        (Some(access_key), Some(secret_key)) => {
            let plain = |text: &str| text.bytes().all(|b| b.is_ascii_graphic());
            if !plain(&access_key) || session_token.as_deref().is_some_and(|t| !plain(t)) {
                return Err(Failure::usage(
                    "the access key or session token holds a blank, a line break or a non-ASCII sign",
                ));
            }
            let session_token = session_token.map(Secret::new);
            Ok(Some(Credentials { access_key, secret_key: Secret::new(secret_key), session_token }))
        }
        (None, None) => Err(Failure::usage(
            "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give --anonymous for a public bucket",
        )),
        (Some(_), None) => Err(Failure::usage("an access key without its secret key: set AWS_SECRET_ACCESS_KEY")),
        (None, Some(_)) => Err(Failure::usage("a secret key without its access key: set AWS_ACCESS_KEY_ID")),
    }
}

/// The region in signatures.
pub(crate) fn region(keys: &Keys) -> String {
    flag_or_env(keys.region.as_ref(), &["WARP_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"])
        .unwrap_or_else(|| "us-east-1".to_owned())
}

/// Credentials of a target that linerate starts for itself: new for every run.
pub(crate) fn ephemeral() -> Result<Credentials, Failure> {
    let random = || -> Result<String, Failure> {
        let mut bytes = [0u8; 20];
        rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
            .map_err(|e| Failure::Child { kind: "embedded", why: format!("no random numbers: {e}") })?;
        Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
    };
    Ok(Credentials { access_key: random()?, secret_key: Secret::new(random()?), session_token: None })
}
