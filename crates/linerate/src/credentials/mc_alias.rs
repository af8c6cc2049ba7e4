//! Aliases of MinIO's `mc`: from `MC_HOST_<alias>`, or its `config.json`. Keys are never part of a message.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use serde::Deserialize;

use crate::credentials::key_permissions;
use crate::files::limited_read;
use crate::terminal::failure::Failure;
use crate::terminal::key_masks;

/// One alias: where it points, and with which keys.
#[derive(Clone, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Alias {
    pub(crate) url: String,
    pub(crate) access_key: String,
    pub(crate) secret_key: String,
    pub(crate) session_token: String,
    pub(crate) api: String,
    pub(crate) path: String,
}

/// `config.json`: `aliases` since version 10, `hosts` before.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Config {
    #[serde(alias = "hosts")]
    aliases: BTreeMap<String, Alias>,
}

/// Where an alias stands, in words.
pub(crate) fn alias_location(name: &str) -> String {
    let variable = format!("MC_HOST_{name}");
    match env::var(&variable) {
        Ok(value) if !value.is_empty() => variable,
        _ => format!("alias {name:?} of mc"),
    }
}

/// The alias of a name.
pub(crate) fn find_alias(name: &str) -> Result<Alias, Failure> {
    if let Some(value) = env::var(format!("MC_HOST_{name}")).ok().filter(|v| !v.is_empty()) {
        return from_url(&value).ok_or_else(|| {
            Failure::usage(format!("MC_HOST_{name} is not of the form https://ACCESS_KEY:SECRET_KEY@HOST:PORT"))
        });
    }
    let (path, mut config) = config()?;
    let found = config.aliases.remove(name).filter(|alias| !alias.url.is_empty());
    if let (Some(alias), Some(path)) = (&found, &path)
        && !(alias.secret_key.is_empty() && alias.session_token.is_empty())
    {
        key_permissions::warn_if_readable(path);
    }
    found.ok_or_else(|| {
        let mut names: Vec<String> = config.aliases.into_keys().collect();
        names.extend(env::vars().filter_map(|(n, _)| n.strip_prefix("MC_HOST_").map(str::to_owned)));
        let there = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let place = path.map_or_else(|| "no config.json".to_owned(), |p| p.display().to_string());
        Failure::usage(format!(
            "no mc alias {name:?}: aliases in the environment and {place}: {there}; set MC_HOST_{name}, or name hosts \
             with --host"
        ))
    })
}

/// Reads `https://ACCESS:SECRET[:TOKEN]@HOST`, with or without keys.
pub(crate) fn from_url(text: &str) -> Option<Alias> {
    let (scheme, rest) = text.split_once("://").filter(|(s, _)| matches!(*s, "http" | "https"))?;
    let Some((keys, host)) = rest.rsplit_once('@') else {
        // What stands behind a colon and is no port may be a key, for want of the sign behind it.
        let port = rest.trim_end_matches('/').rsplit_once(':').map_or("0", |(_, port)| port.trim_end_matches(']'));
        let plain = !rest.is_empty() && (rest.contains('[') || port.parse::<u16>().is_ok());
        return plain.then(|| Alias { url: text.to_owned(), ..Alias::default() });
    };
    let mut keys = keys.splitn(3, ':').map(str::to_owned);
    let alias = Alias {
        url: format!("{scheme}://{host}"),
        access_key: keys.next()?,
        secret_key: keys.next()?,
        session_token: keys.next().unwrap_or_default(),
        ..Alias::default()
    };
    (!host.is_empty() && !alias.access_key.is_empty() && !alias.secret_key.is_empty()).then_some(alias)
}

/// Largest configuration: one with thousands of aliases.
const CONFIG_BYTES_MAX: u64 = 1 << 20;

/// Where mc's configuration would be.
pub(crate) fn path() -> Option<PathBuf> {
    let folder = env::var_os("MC_CONFIG_DIR").filter(|d| !d.is_empty()).map(PathBuf::from);
    folder.or_else(|| env::home_dir().map(|home| home.join(".mc"))).map(|folder| folder.join("config.json"))
}

/// mc's configuration, and where it would be.
fn config() -> Result<(Option<PathBuf>, Config), Failure> {
    let Some(path) = path() else { return Ok((None, Config::default())) };
    let read = limited_read::read_named(&path, CONFIG_BYTES_MAX);
    read.iter().for_each(|bytes| key_masks::remember_secrets_of_file(&String::from_utf8_lossy(bytes)));
    match read {
        Ok(bytes) => match serde_json::from_slice(&bytes) {
            Ok(config) => Ok((Some(path), config)),
            // serde's message may quote a value, and a value may be a key: only its place is told.
            Err(error) => Err(Failure::usage(format!(
                "{}:{}:{}: not mc's configuration: it should contain \"aliases\" with \"url\", \"accessKey\" and \
                 \"secretKey\" each",
                path.display(),
                error.line(),
                error.column()
            ))),
        },
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((Some(path), Config::default())),
        Err(source) => Err(Failure::File { what: "read mc's configuration", path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_the_environment_give_host_and_keys() {
        for (text, expected) in [
            ("https://AK:SK@s3.example.com", Some(("https://s3.example.com", "AK", "SK", ""))),
            ("http://AK:S/K+=@h:9000", Some(("http://h:9000", "AK", "S/K+=", ""))),
            ("http://AK:S@K@h:9000", Some(("http://h:9000", "AK", "S@K", ""))),
            ("https://AK:SK:TO:KEN@h", Some(("https://h", "AK", "SK", "TO:KEN"))),
            ("https://play.example", Some(("https://play.example", "", "", ""))),
            ("http://play.example:9000/", Some(("http://play.example:9000/", "", "", ""))),
            ("https://AK:SK", None),
            ("https://AK@h", None),
            ("https://AK:SK@", None),
            ("https://", None),
            ("h:9000", None),
            ("ftp://AK:SK@h", None),
        ] {
            let alias = from_url(text);
            let read = alias
                .as_ref()
                .map(|a| (a.url.as_str(), a.access_key.as_str(), a.secret_key.as_str(), a.session_token.as_str()));
            assert_eq!(read, expected, "{text}");
        }
    }
}
