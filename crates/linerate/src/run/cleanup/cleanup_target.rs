//! Whom a run loaded and what it wrote, as its folder says. Anybody may have made the folder: what it says is held
//! against the rules of flags, before a host is looked up or a request is made.

use linerate_load::hosts::{self, Recorded};
use linerate_load::naming::{check_old_bucket, check_prefix, check_region};
use linerate_record::load::Lookup;
use linerate_record::run::{Manifest, MaybeKnown, TargetKind};

/// Most characters of a run's id: as its maker cuts it.
const ID_CHARS_MAX: usize = 64;

/// What a run folder leads to, as far as it may lead anywhere.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CleanupTarget {
    pub(crate) hosts: Vec<Recorded>,
    pub(crate) tls: bool,
    pub(crate) lookup: Lookup,
    pub(crate) bucket: String,
    /// The user's prefix and the run's own.
    pub(crate) prefix: String,
    pub(crate) region: String,
}

impl CleanupTarget {
    /// Names of its hosts, each once.
    pub(crate) fn authorities(&self) -> Vec<String> {
        let mut all: Vec<String> = self.hosts.iter().map(|host| host.authority.clone()).collect();
        all.dedup();
        all
    }
}

/// Reads it from a manifest; where it says what no run of linerate writes, why it does not lead anywhere.
pub(crate) fn read_target(manifest: &Manifest) -> Result<CleanupTarget, String> {
    let (target, requested) = (&manifest.target, &manifest.requested);
    if !target.kind.is(&TargetKind::S3) {
        let kind = quoted_start(&target.kind.to_string());
        return Err(format!("invalid kind of target {kind:?}: a run has \"s3\", \"embedded\" or \"null\""));
    }
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    if manifest.id.is_empty() || manifest.id.len() > ID_CHARS_MAX || !manifest.id.bytes().all(plain) {
        let id = quoted_start(&manifest.id);
        return Err(format!(
            "invalid id {id:?}: write up to {ID_CHARS_MAX} letters, digits, dots, dashes or underscores"
        ));
    }
    // Whatever became of run.json, only what a run of linerate may have written is deleted.
    let own = format!("linerate-{}-{:08x}/", manifest.id, manifest.seed >> 32);
    let Some(before) = requested.prefix.strip_suffix(&own) else {
        let prefix = quoted_start(&requested.prefix);
        return Err(format!("prefix {prefix:?} does not end in {own:?}, so it is not this run's own"));
    };
    check_prefix(before).and_then(|()| check_prefix(&own)).map_err(|error| error.to_string())?;
    let MaybeKnown::Known(lookup) = target.lookup else {
        let lookup = quoted_start(&target.lookup.to_string());
        return Err(format!("invalid lookup {lookup:?}: a run has \"path\" or \"host\""));
    };
    check_region(&target.region).map_err(|error| error.to_string())?;
    check_old_bucket(&requested.bucket, lookup).map_err(|error| error.to_string())?;
    let hosts = hosts::recorded(&target.hosts).map_err(|error| error.to_string())?;
    Ok(CleanupTarget {
        hosts,
        tls: target.tls.is_some(),
        lookup,
        bucket: requested.bucket.clone(),
        prefix: requested.prefix.clone(),
        region: target.region.clone(),
    })
}

/// As much of a text as a message quotes.
fn quoted_start(text: &str) -> String {
    text.chars().take(100).collect()
}

/// What tells a bucket that a run made from every other: it is noted before the bucket is made.
pub(crate) fn bucket_note(manifest: &Manifest) -> String {
    let (hosts, bucket, prefix) = (&manifest.target.hosts, &manifest.requested.bucket, &manifest.requested.prefix);
    format!("bucket {bucket:?} at {hosts:?}, made by the run that writes below {prefix:?}\n")
}
