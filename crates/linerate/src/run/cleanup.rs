//! What a run left at its target, deleted from what its folder says of it.

mod cleanup_counts;
pub(crate) mod cleanup_target;
mod deletion;
mod messages;

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use linerate_load::body::Bodies;
use linerate_load::bucket::Bucket;
use linerate_load::hosts::{Host, Recorded};
use linerate_load::naming::check_region;
use linerate_load::session::Session;
use linerate_load::sigv4::Credentials;
use linerate_load::tls::Tls;
use linerate_record::load::{HostSelect, Payload, TlsTrust, Unique};
use linerate_record::run::{Manifest, MaybeKnown, TargetKind};
use linerate_record::shell;
use linerate_record::units::{Rate, whole_ns};
use linerate_report::cleaning::{BucketEnd, no_bucket};

use crate::credentials::tls_trust;
use crate::files::local_state::{self, Note};
use crate::files::run_folder;
use crate::run::{consent, source_addresses};
use crate::terminal::failure::Failure;
use crate::terminal::key_masks;
use crate::terminal::progress::print_error;

use cleanup_target::CleanupTarget;
use deletion::CleanupRun;

pub(crate) use messages::{bucket_contents_text, command, gave_up_text};

/// What is cleaned, how, and with whose keys: all that a run folder does not say, or is not believed in.
pub(crate) struct CleanupRequest<'a> {
    pub(crate) run: &'a Path,
    pub(crate) dry_run: bool,
    pub(crate) yes_load: bool,
    pub(crate) remove_bucket: bool,
    /// Local addresses in place of those of the run.
    pub(crate) source: Option<&'a str>,
    pub(crate) trust: TlsTrust,
    pub(crate) timeout: Duration,
    /// Region in place of that of the run.
    pub(crate) region: Option<&'a str>,
    /// Hosts of which nobody is asked, with their addresses where these are known.
    pub(crate) consented: Vec<Recorded>,
    /// The command that cleans again.
    pub(crate) command: String,
}

/// Slowest pace of deletions, whatever a folder says that its run was held to.
const DELETIONS_PER_S_MIN: f64 = 0.01;

/// Deletes what a run left; says what was done, and what could not be. Keys are looked for once there is consent.
pub(crate) fn clean(
    order: &CleanupRequest<'_>,
    keys: impl FnOnce(&CleanupTarget) -> Result<Option<Credentials>, Failure>,
) -> Result<(String, Option<Failure>), Failure> {
    let manifest = run_folder::read_owned_manifest(order.run)?;
    if let Some(kind @ (TargetKind::Embedded | TargetKind::Null)) = manifest.target.kind.known() {
        let run = order.run.display();
        return Err(Failure::usage(format!("nothing to clean: the {kind} target of {run} was removed with its run")));
    }
    if manifest.is_imported() {
        return Err(Failure::usage(format!(
            "nothing to clean: linerate imported the contents of {}, and wrote none of its objects; warp clears its \
             bucket itself; delete objects that it left (--noclear, --keep-data) yourself, such as with mc rm \
             --recursive --force {}",
            order.run.display(),
            shell::word(format!("ALIAS/{}", key_masks::mask_keys(&manifest.requested.bucket)))
        )));
    }
    let aim = cleanup_target::read_target(&manifest)
        .map_err(|why| Failure::NotARun { path: order.run.to_owned(), why: format!("run.json: {why}") })?;
    if run_folder::is_being_written(order.run) {
        let run = order.run.display();
        return Err(Failure::usage(format!("the run in {run} is still running: end it first, with Ctrl-C")));
    }
    let timeout_ns = whole_ns(order.timeout);
    let session = Session { timeout_ns, ..cleanup_session(&manifest, aim, order, keys)? };
    let mut bucket = Bucket::connect_any(&session)?;
    let (made, note) = (manifest.target.bucket_made, cleanup_target::bucket_note(&manifest));
    if !bucket.is_there()?.0 {
        // The note stays: what a target says is not there may be there a while later, and be the run's then as now.
        return Ok((no_bucket(&session.bucket), None));
    }
    let mut cleaning = CleanupRun::new(bucket, &session, order.dry_run, recorded_rate_cap(&manifest));
    if let Err(error) = cleaning.all() {
        cleaning.tell_unfinished(&order.command);
        return Err(error);
    }
    // That the run made it is what the folder says: without a note of this machine's, it may be anybody's bucket.
    let removes = order.remove_bucket || (made && local_state::has_note(Note::Bucket, &note));
    if removes && !order.dry_run && cleaning.remove_bucket()? {
        local_state::remove_note(Note::Bucket, &note);
    }
    let stays = (!removes).then_some(if made { BucketEnd::NotNoted } else { BucketEnd::Stays });
    Ok((cleaning.said(stays), cleaning.left()))
}

/// The session of a run, as far as cleaning needs it: with consent for its hosts.
fn cleanup_session(
    manifest: &Manifest,
    aim: CleanupTarget,
    order: &CleanupRequest<'_>,
    keys: impl FnOnce(&CleanupTarget) -> Result<Option<Credentials>, Failure>,
) -> Result<Session, Failure> {
    if let Some(flag) = tls_flag(&order.trust).filter(|_| !aim.tls) {
        let run = order.run.display();
        return Err(Failure::usage(format!("{flag} is for TLS, and the run in {run} was over plain HTTP: drop it")));
    }
    let place = format!("s3://{}/{}", aim.bucket, aim.prefix);
    let (yes_load, timeout) = (order.yes_load, order.timeout);
    let hosts = consent::cleanup_hosts(&aim.hosts, &order.consented, yes_load, &place, order.dry_run, timeout)?;
    let tls = match aim.tls {
        true => {
            let trust = tls_trust::find_trust(order.trust.insecure, order.trust.ca_file.as_deref())?;
            Some(Tls::new(trust, &hosts, aim.lookup, &aim.bucket)?)
        }
        false => None,
    };
    let sources = match order.source {
        Some(text) => source_addresses::parse(text, &hosts)?,
        None => usable_sources(&manifest.requested.sources, &hosts),
    };
    let credentials = keys(&aim)?;
    let mut session = plain_session(manifest.seed, aim, hosts, credentials);
    (session.tls, session.sources) = (tls, sources);
    if let Some(region) = order.region {
        check_region(region)?;
        region.clone_into(&mut session.region);
    }
    Ok(session)
}

/// The flag that says whom to believe, where one was given.
fn tls_flag(trust: &TlsTrust) -> Option<&'static str> {
    if trust.insecure { Some("--insecure") } else { trust.ca_file.as_ref().map(|_| "--ca-file") }
}

/// A session over plain HTTP. Nothing is asked, looked up or sent.
pub(crate) fn plain_session(
    seed: u64,
    aim: CleanupTarget,
    hosts: Vec<Host>,
    credentials: Option<Credentials>,
) -> Session {
    Session {
        hosts,
        tls: None,
        sources: Vec::new(),
        lookup: aim.lookup,
        bucket: aim.bucket,
        run_prefix: aim.prefix,
        credentials,
        region: aim.region,
        payload: Payload::Signed,
        bodies: Arc::new(Bodies::new(seed, Unique::Tail, &[], None)),
        host_select: HostSelect::RoundRobin,
        timeout_ns: 60_000_000_000,
        seed,
    }
}

/// The local addresses that the run's connections came from, where this machine still has them all.
fn usable_sources(recorded: &[MaybeKnown<IpAddr>], hosts: &[Host]) -> Vec<IpAddr> {
    let found: Result<Vec<Vec<IpAddr>>, Failure> =
        recorded.iter().map(|one| source_addresses::parse(&one.to_string(), hosts)).collect();
    found.map(|all| all.concat()).unwrap_or_else(|error| {
        print_error(&format!(
            "warning: connections use the local addresses of the routes, not those of the run: {error}"
        ));
        Vec::new()
    })
}

/// Requests per second that the run was held to: it holds for deletions too.
fn recorded_rate_cap(manifest: &Manifest) -> Option<f64> {
    match manifest.requested.max_rate.as_ref()?.known() {
        Some(Rate::Requests(per_s)) => Some(per_s.max(DELETIONS_PER_S_MIN)),
        _ => None,
    }
}
