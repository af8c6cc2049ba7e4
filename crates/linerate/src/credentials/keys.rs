//! Credentials and other settings that flags, warp's and AWS's environment and AWS's shared files may give.

pub(crate) mod alias;
pub(crate) mod flags;

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use linerate_load::naming::check_region;
use linerate_load::sigv4::{Credentials, KeyNames, Secret};

use crate::credentials::{aws_profile, mc_alias};
use crate::files::limited_read;
use crate::terminal::failure::Failure;
use crate::terminal::key_masks;
pub(crate) use flags::Keys;

/// Largest file of keys, as those who read them have it.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The flag's value, or the first of the variables that is set and not empty.
pub(crate) fn flag_or_env(flag: Option<&String>, variables: &[&str]) -> Option<String> {
    let from_env = || variables.iter().find_map(|name| env::var(name).ok().filter(|v| !v.is_empty()));
    flag.cloned().or_else(from_env)
}

/// What a variable holds that is set and not empty, and its name.
fn in_env(name: &'static str) -> Option<(String, String)> {
    env::var(name).ok().filter(|value| !value.is_empty()).map(|value| (value, name.to_owned()))
}

/// Who signs requests to a host: the flags, `--profile`, warp's environment, AWS's environment, the default profile, or
/// nobody with `--anonymous`.
pub(crate) fn find_signing(keys: &Keys) -> Result<Option<Credentials>, Failure> {
    if keys.anonymous {
        return Ok(None);
    }
    let none = "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, name a --profile that has keys or an \
                --alias of mc, or give --anonymous for a public bucket";
    find_optional(keys)?.map(Some).ok_or_else(|| Failure::usage(none))
}

/// The same, of which there may be none.
pub(crate) fn find_optional(keys: &Keys) -> Result<Option<Credentials>, Failure> {
    let given = |key: &Option<String>, flag: &str, names: [&'static str; 2]| {
        let flag = || keys.from_alias.as_deref().map_or_else(|| flag.to_owned(), mc_alias::alias_location);
        let env = || names.into_iter().filter(|_| keys.profile.is_none()).find_map(in_env);
        key.clone().map(|key| (key, flag())).or_else(env).map_or((None, None), |(key, from)| (Some(key), Some(from)))
    };
    let (mut access_key, access_from) =
        given(&keys.access_key, "--access-key", ["WARP_ACCESS_KEY", "AWS_ACCESS_KEY_ID"]);
    let (mut secret_key, secret_from) =
        given(&keys.secret_key, "--secret-key", ["WARP_SECRET_KEY", "AWS_SECRET_ACCESS_KEY"]);
    let (mut session_token, token_from) =
        given(&keys.session_token, "--session-token", ["WARP_SESSION_TOKEN", "AWS_SESSION_TOKEN"]);
    let token_from = token_from.or_else(|| Some("--session-token".to_owned()));
    let mut from = [access_from, secret_from, token_from].map(Option::unwrap_or_default);
    if access_key.is_none() && secret_key.is_none() {
        // A key, its secret and its token belong together: all of them come from the profile.
        let mut settings = aws_profile::read_keys(keys.profile.as_ref())?;
        access_key = settings.remove("aws_access_key_id");
        secret_key = settings.remove("aws_secret_access_key");
        let token = settings.remove("aws_session_token");
        let names = ["aws_access_key_id", "aws_secret_access_key", "aws_session_token"];
        let own = token.is_none().then(|| std::mem::take(&mut from[2]));
        from = names.map(|key| aws_profile::setting_location(key, keys.profile.as_ref()));
        own.into_iter().for_each(|own| from[2] = own);
        session_token = token.or_else(|| keys.session_token.clone());
    }
    match (access_key, secret_key) {
        (Some(access_key), Some(secret_key)) => {
            let plain = |text: &str| text.bytes().all(|b| b.is_ascii_graphic());
            if !plain(&access_key) || session_token.as_deref().is_some_and(|t| !plain(t)) {
                return Err(Failure::usage(
                    "the access key or session token contains a blank, a line break or a non-ASCII character",
                ));
            }
            key_masks::remember_key_name(&access_key);
            std::iter::once(&secret_key).chain(&session_token).for_each(|key| key_masks::remember_secret(key));
            let session_token = session_token.map(Secret::new);
            let [of_access_key, of_secret_key, of_token] = from;
            let names = KeyNames { access_key: of_access_key, secret_key: of_secret_key, session_token: of_token };
            Ok(Some(Credentials { access_key, secret_key: Secret::new(secret_key), session_token, from: names.into() }))
        }
        (None, None) => Ok(None),
        (Some(_), None) => Err(Failure::usage("an access key without its secret key: set AWS_SECRET_ACCESS_KEY")),
        (None, Some(_)) => Err(Failure::usage("a secret key without its access key: set AWS_ACCESS_KEY_ID")),
    }
}

/// Verbs that take keys.
const VERBS_WITH_KEYS: [&str; 3] = ["bench", "clean", "experiment"];

/// Remembers what may be keys in the files that a command would have read, had it got so far: what refuses its flags
/// quotes them. A pipe is not waited for.
pub(crate) fn remember_keys_of_files() {
    let words: Vec<OsString> = env::args_os().skip(1).collect();
    if !words.first().and_then(|verb| verb.to_str()).is_some_and(|verb| VERBS_WITH_KEYS.contains(&verb)) {
        return;
    }
    let behind =
        words.iter().zip(words.iter().skip(1)).filter(|(flag, _)| *flag == "--config").map(|(_, path)| path.into());
    let glued = words.iter().filter_map(|word| word.to_str()?.strip_prefix("--config=").map(PathBuf::from));
    for path in aws_profile::paths().chain(mc_alias::path()).chain(behind).chain(glued) {
        let read = limited_read::open_without_waiting(&path)
            .and_then(|file| limited_read::read_regular(&file, FILE_BYTES_MAX));
        read.iter().for_each(|bytes| key_masks::remember_secrets_of_file(&String::from_utf8_lossy(bytes)));
    }
}

/// Refuses a host that is called as a secret in use, before a name server is asked for it.
pub(crate) fn refuse_key_as_host(credentials: Option<&Credentials>, hosts: &[String]) -> Result<(), Failure> {
    let Some(credentials) = credentials else { return Ok(()) };
    let secrets = [Some(&credentials.secret_key), credentials.session_token.as_ref()];
    let is_one = |host: &String| {
        let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
        let is_it = |key: &&Secret| key_masks::is_long_enough(key.reveal()) && name.eq_ignore_ascii_case(key.reveal());
        secrets.iter().flatten().any(is_it)
    };
    if hosts.iter().any(is_one) {
        return Err(Failure::usage("a host has the same name as the secret key or the session token: write host:port"));
    }
    Ok(())
}

/// The region in signatures.
pub(crate) fn region(keys: &Keys) -> Result<String, Failure> {
    // A profile that is not there matters where its keys are wanted, and is told there.
    let from_profile = || aws_profile::read(keys.profile.as_ref()).ok()?.remove("region");
    let region = flag_or_env(keys.region.as_ref(), &["WARP_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"])
        .or_else(from_profile)
        .unwrap_or_else(|| "us-east-1".to_owned());
    check_region(&region)?;
    Ok(region)
}

/// Credentials of a target that linerate starts for itself: new for every run.
pub(crate) fn random_credentials() -> Result<Credentials, Failure> {
    Ok(Credentials {
        access_key: random_hex(40)?,
        secret_key: Secret::new(random_hex(40)?),
        session_token: None,
        from: Arc::default(),
    })
}

/// Credentials that are nobody's, as long as these: a request signed with them is as long, and costs as much.
pub(crate) fn dummy_credentials(like: &Credentials) -> Result<Credentials, Failure> {
    let token = like.session_token.as_ref().map(|token| random_hex(token.reveal().len()).map(Secret::new));
    Ok(Credentials {
        access_key: random_hex(like.access_key.len())?,
        secret_key: Secret::new(random_hex(like.secret_key.reveal().len())?),
        session_token: token.transpose()?,
        from: Arc::default(),
    })
}

/// So many random hexadecimal digits.
fn random_hex(digits: usize) -> Result<String, Failure> {
    let mut bytes = vec![0u8; digits.div_ceil(2)];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|e| Failure::Child { kind: "embedded", why: format!("no random numbers: {e}") })?;
    let mut text: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    text.truncate(digits);
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn made_up_keys_are_as_long_as_the_users_and_nothing_of_them() {
        for token in [None, Some(Secret::new("a token of the user's".into()))] {
            let (access_key, secret_key) = ("AKusers".to_owned(), Secret::new("a secret of the user's".into()));
            let own = Credentials { access_key, secret_key, session_token: token, from: Arc::default() };
            let other = dummy_credentials(&own).unwrap();
            let token = |keys: &Credentials| keys.session_token.as_ref().map(|t| t.reveal().to_owned());
            assert_eq!(own.access_key.len(), other.access_key.len());
            assert_eq!(own.secret_key.reveal().len(), other.secret_key.reveal().len());
            assert_eq!(token(&own).map(|t| t.len()), token(&other).map(|t| t.len()));
            assert!(own.access_key != other.access_key && own.secret_key.reveal() != other.secret_key.reveal());
            assert!(token(&own).is_none() || token(&own) != token(&other));
        }
    }
}
