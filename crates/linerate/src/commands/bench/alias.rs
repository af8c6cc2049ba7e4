//! `--alias`: what an alias of mc stands for, in the flags.

use linerate_record::load::Lookup;

use super::flags::BenchFlags;
use crate::credentials::endpoint::flags::BUCKET;
use crate::credentials::keys::alias::{fill_keys, read_alias};
use crate::terminal::failure::Failure;

/// Puts what `--alias` stands for into the flags; flags that were given stay.
pub(crate) fn apply(flags: &mut BenchFlags) -> Result<(), Failure> {
    let Some(text) = flags.target.alias.clone() else { return Ok(()) };
    let mut parts = text.splitn(3, '/');
    let name = parts.next().unwrap_or_default();
    let alias = read_alias(name)?;
    if alias.url.contains('@') {
        return Err(Failure::usage(format!(
            "the url of mc alias {name:?} contains keys: move them to its accessKey and secretKey"
        )));
    }
    if !matches!(alias.api.to_ascii_lowercase().as_str(), "" | "s3v4") {
        let api = &alias.api;
        return Err(Failure::usage(format!("mc alias {name:?} signs with {api:?}: linerate signs with S3v4 only")));
    }
    if let Some(bucket) = parts.next().filter(|b| !b.is_empty()) {
        if flags.target.bucket != BUCKET && flags.target.bucket != bucket {
            let other = &flags.target.bucket;
            return Err(Failure::usage(format!("--alias {text:?} and --bucket {other:?} differ: name one bucket")));
        }
        bucket.clone_into(&mut flags.target.bucket);
    }
    if let Some(prefix) = parts.next().filter(|p| !p.is_empty()) {
        if !flags.target.prefix.is_empty() && flags.target.prefix != prefix {
            let other = &flags.target.prefix;
            return Err(Failure::usage(format!("--alias {text:?} and --prefix {other:?} differ: name one prefix")));
        }
        prefix.clone_into(&mut flags.target.prefix);
    }
    if matches!(alias.path.as_str(), "off" | "dns") {
        flags.target.lookup = Lookup::Host;
    }
    flags.target.host = Some(alias.url.clone());
    let keys = &mut flags.keys;
    if keys.access_key.is_none() && keys.secret_key.is_none() && keys.profile.is_none() && !keys.anonymous {
        fill_keys(keys, name, alias);
    }
    Ok(())
}
