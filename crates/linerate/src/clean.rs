//! `linerate clean`: deletes what a run left at its target, from what its folder says of it.

pub(crate) mod aim;
mod removal;

use std::net::IpAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use linerate_load::body::{Bodies, Unique};
use linerate_load::bucket::Bucket;
use linerate_load::hosts::Host;
use linerate_load::naming::check_region;
use linerate_load::session::{HostSelect, Payload, Session};
use linerate_load::sigv4::Credentials;
use linerate_load::tls::Tls;
use linerate_record::run::Manifest;
use linerate_record::units::{Rate, parse_duration};

use crate::cli::Keys;
use crate::failure::Failure;
use crate::progress::say;
use crate::state::{self, Note};
use crate::{consent, credentials, folder, report, sources, trust};

use aim::Aim;
use removal::Cleaning;

#[derive(Args, Debug)]
#[command(after_help = "\
It deletes objects, their versions and unfinished uploads below the run's own prefix, and the bucket if nothing else is
in it and this machine noted that the run made it. Hosts, lookup, bucket, prefix and the local addresses are those that
run.json names, and so is the region unless --region names another; whom to trust it does not say: --ca-file and
--insecure are given again. Hosts that are not this machine are asked about, and names before they are looked up. A run
folder that belongs to somebody else, or that others can write to or put another in the place of, is refused. To clean
twice does no harm.")]
pub(crate) struct CleanFlags {
    /// Run folder.
    #[arg(value_name = "RUN")]
    pub(crate) run: PathBuf,
    /// List what would be deleted, and delete nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Clean at hosts that are not this machine without asking: requests signed with your keys go to those that
    /// run.json names.
    #[arg(long)]
    pub(crate) yes_load: bool,
    /// Remove the bucket if nothing is in it, though nothing but run.json says that the run made it.
    #[arg(long)]
    pub(crate) remove_bucket: bool,
    /// Local addresses, or interfaces, that connections are made from, as for bench. [default: those of the run]
    #[arg(long, value_name = "ADDR|INTERFACE,…")]
    pub(crate) source: Option<String>,
    /// Certificates to trust beside the system's, in PEM, as for bench.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Do not verify the target's certificate.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Longest time for one call; one that deletes many objects gets a minute where this is less.
    #[arg(long, value_parser = parse_duration, default_value = "60s")]
    pub(crate) timeout: Duration,
    #[command(flatten)]
    pub(crate) keys: Keys,
}

/// Slowest pace of deletions, whatever a folder says that its run was held to.
const SLOWEST_PER_S: f64 = 0.01;

pub(crate) fn run(flags: &CleanFlags) -> Result<ExitCode, Failure> {
    let (said, left) = clean(flags, &[])?;
    report::print(&said)?;
    left.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// Deletes what a run left; says what was done, and what could not be. Nobody is asked about hosts whose `name:port`
/// is among the consented.
pub(crate) fn clean(flags: &CleanFlags, consented: &[String]) -> Result<(String, Option<Failure>), Failure> {
    let manifest = folder::read_own_manifest(&flags.run)?;
    if let kind @ ("embedded" | "null") = manifest.target.kind.as_str() {
        let run = flags.run.display();
        return Err(Failure::usage(format!("nothing to clean: the {kind} target of {run} went with its run")));
    }
    let aim = aim::of(&manifest)
        .map_err(|why| Failure::NotARun { path: flags.run.clone(), why: format!("run.json: {why}") })?;
    if folder::is_being_written(&flags.run) {
        let run = flags.run.display();
        return Err(Failure::usage(format!("the run in {run} still goes on: end it first, with Ctrl-C")));
    }
    let timeout_ns = u64::try_from(flags.timeout.as_nanos()).unwrap_or(u64::MAX);
    let session = Session { timeout_ns, ..session(&manifest, aim, flags, consented)? };
    let mut bucket = Bucket::connect_any(&session)?;
    let (made, note) = (manifest.target.bucket_made, aim::bucket_note(&manifest));
    if !bucket.exists()?.0 {
        state::forget(Note::Bucket, &note);
        return Ok((format!("nothing is left: there is no bucket {:?}\n", session.bucket), None));
    }
    let mut cleaning = Cleaning::new(bucket, &session, flags.dry_run, cap(&manifest));
    cleaning.all()?;
    // That the run made it is what the folder says: without a note of this machine's, it may be anybody's bucket.
    let removes = flags.remove_bucket || (made && state::is_noted(Note::Bucket, &note));
    if removes && !flags.dry_run && cleaning.remove_bucket()? {
        state::forget(Note::Bucket, &note);
    }
    let mut said = cleaning.said(removes);
    if made && !removes {
        let name = &session.bucket;
        said += &format!(
            "kept bucket {name:?}: run.json says that the run made it, and this machine has no note of that; \
             --remove-bucket removes it if nothing is in it\n"
        );
    }
    Ok((said, cleaning.left()))
}

/// The session of a run, as far as cleaning needs it: with consent for its hosts.
fn session(manifest: &Manifest, aim: Aim, flags: &CleanFlags, consented: &[String]) -> Result<Session, Failure> {
    let place = format!("s3://{}/{}", aim.bucket, aim.prefix);
    let hosts = consent::to_clean(&aim.hosts, consented, flags.yes_load, &place, flags.dry_run, flags.timeout)?;
    let tls = match aim.tls {
        true => {
            let trust = trust::find(flags.insecure, flags.ca_file.as_deref())?;
            Some(Tls::new(trust, &hosts, aim.lookup, &aim.bucket)?)
        }
        false => None,
    };
    let sources = match &flags.source {
        Some(text) => sources::parse(text, &hosts)?,
        None => sources_of(&manifest.asked.sources, &hosts),
    };
    let mut session = session_with(manifest.seed, aim, hosts, credentials::find(&flags.keys)?);
    (session.tls, session.sources) = (tls, sources);
    if let Some(region) = &flags.keys.region {
        check_region(region)?;
        session.region.clone_from(region);
    }
    Ok(session)
}

/// A session over plain HTTP. Nothing is asked, looked up or sent.
pub(crate) fn session_with(seed: u64, aim: Aim, hosts: Vec<Host>, credentials: Option<Credentials>) -> Session {
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
fn sources_of(recorded: &[String], hosts: &[Host]) -> Vec<IpAddr> {
    let found: Result<Vec<Vec<IpAddr>>, Failure> = recorded.iter().map(|one| sources::parse(one, hosts)).collect();
    found.map(|all| all.concat()).unwrap_or_else(|error| {
        say(&format!("warning: connections come from where the routes say, not as the run's did: {error}"));
        Vec::new()
    })
}

/// Requests per second that the run was held to: it holds for deletions too.
fn cap(manifest: &Manifest) -> Option<f64> {
    match manifest.asked.max_rate.as_deref()?.parse() {
        Ok(Rate::Requests(per_s)) => Some(per_s.max(SLOWEST_PER_S)),
        _ => None,
    }
}
