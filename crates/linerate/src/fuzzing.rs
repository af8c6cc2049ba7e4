//! Doors for fuzz targets: files of users, read as the verbs read them, with nothing done about them.

use std::path::Path;
use std::sync::Arc;

use linerate_load::hosts::Host;
use linerate_load::sigv4::{Credentials, Secret};

use crate::run::cleanup::{cleanup_target, plain_session};

/// Reads records of another tool, as `linerate import` does; whether they could be.
#[must_use]
pub fn import(file: &Path) -> bool {
    crate::commands::import::intervals_of(file).is_ok()
}

/// Reads a file of flags, as `linerate bench --config` does; whether it could be.
#[must_use]
pub fn config(file: &Path) -> bool {
    crate::cli::config::flags_of_file(file).is_ok_and(|read| read.wrong.is_empty())
}

/// Reads a shared file of AWS; how many sections it has.
#[must_use]
pub fn profile(text: &str) -> usize {
    crate::credentials::aws_profile::sections(text).len()
}

/// Reads the URL of an alias of mc; whether it is one.
#[must_use]
pub fn alias(url: &str) -> bool {
    crate::credentials::mc_alias::from_url(url).is_some()
}

/// What `linerate clean` would ask of whom because of a `run.json`.
pub struct Cleaning {
    pub bucket: String,
    /// Prefix below which is deleted.
    pub prefix: String,
    pub region: String,
    /// `name:port` of the first host.
    pub host: String,
    /// Whether the bucket is named in the host name.
    pub is_in_host: bool,
    /// A request of each kind, as it would go out.
    pub requests: Vec<Vec<u8>>,
}

/// Reads a `run.json` as `linerate clean --dry-run` does, up to the first request; nothing is looked up, and nothing is
/// sent. Nothing where it is refused.
#[must_use]
pub fn clean(run_json: &[u8]) -> Option<Cleaning> {
    let manifest = crate::files::run_folder::manifest(Path::new("run"), run_json).ok()?;
    let aim = cleanup_target::read_target(&manifest).ok()?;
    let is_in_host = aim.lookup == linerate_record::load::Lookup::Host;
    let nowhere = ([127, 0, 0, 1], 9).into();
    let hosts: Vec<Host> =
        aim.hosts.iter().map(|host| Host { authority: host.authority.clone(), address: nowhere }).collect();
    let (key, token) = (Secret::new("secret".to_owned()), Secret::new("token".to_owned()));
    let credentials =
        Credentials { access_key: "key".to_owned(), secret_key: key, session_token: Some(token), from: Arc::default() };
    let session = plain_session(manifest.seed, aim, hosts, Some(credentials));
    Some(Cleaning {
        requests: linerate_load::bucket::written(&session),
        host: session.hosts.first()?.authority.clone(),
        bucket: session.bucket,
        prefix: session.run_prefix,
        region: session.region,
        is_in_host,
    })
}
