//! Credentials and other settings that flags, warp's and AWS's environment and AWS's shared files may give.

use std::env;

use linerate_load::sigv4::{Credentials, Secret};

use crate::cli::Keys;
use crate::failure::Failure;
use crate::profile;

/// The flag's value, or the first of the variables that is set and not empty.
pub(crate) fn flag_or_env(flag: Option<&String>, variables: &[&str]) -> Option<String> {
    let from_env = || variables.iter().find_map(|name| env::var(name).ok().filter(|v| !v.is_empty()));
    flag.cloned().or_else(from_env)
}

/// Who signs requests to a host: the flags, `--profile`, warp's environment, AWS's environment, the default profile, or
/// nobody with `--anonymous`.
pub(crate) fn find(keys: &Keys) -> Result<Option<Credentials>, Failure> {
    if keys.anonymous {
        return Ok(None);
    }
    let env = |names: [&str; 2]| if keys.profile.is_some() { None } else { flag_or_env(None, &names) };
    let given = |flag: &Option<String>, names| flag.clone().or_else(|| env(names));
    let mut access_key = given(&keys.access_key, ["WARP_ACCESS_KEY", "AWS_ACCESS_KEY_ID"]);
    let mut secret_key = given(&keys.secret_key, ["WARP_SECRET_KEY", "AWS_SECRET_ACCESS_KEY"]);
    let mut session_token = given(&keys.session_token, ["WARP_SESSION_TOKEN", "AWS_SESSION_TOKEN"]);
    if access_key.is_none() && secret_key.is_none() {
        // A key, its secret and its token belong together: all of them come from the profile.
        let mut settings = profile::read(keys.profile.as_ref())?;
        access_key = settings.remove("aws_access_key_id");
        secret_key = settings.remove("aws_secret_access_key");
        session_token = settings.remove("aws_session_token").or_else(|| keys.session_token.clone());
    }
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
            "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a --profile that has keys or an \
             --alias of mc, or give --anonymous for a public bucket",
        )),
        (Some(_), None) => Err(Failure::usage("an access key without its secret key: set AWS_SECRET_ACCESS_KEY")),
        (None, Some(_)) => Err(Failure::usage("a secret key without its access key: set AWS_ACCESS_KEY_ID")),
    }
}

/// The region in signatures.
pub(crate) fn region(keys: &Keys) -> String {
    // A profile that is not there matters where its keys are wanted, and is told there.
    let from_profile = || profile::read(keys.profile.as_ref()).ok()?.remove("region");
    flag_or_env(keys.region.as_ref(), &["WARP_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"])
        .or_else(from_profile)
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
