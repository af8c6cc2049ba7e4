//! Before anything is reached: who is loaded, with whose consent, under which keys, and for how long.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use linerate_analysis::series_search::visits_max;
use linerate_host::fingerprint::neighbours::LocalTarget;
use linerate_host::{Root, serving};
use linerate_load::hosts::Host;
use linerate_load::session::Session;
use linerate_load::sigv4::Credentials;
use linerate_load::tls::Tls;
use linerate_record::experiment::KeySource;
use linerate_record::load::{Load, OwnTarget, Server, TlsTrust};
use linerate_record::run::series;
use linerate_record::site::Site;
use linerate_report::dry_run::in_words;
use linerate_wire::clock::Clock;
use linerate_wire::open_loop::Arrivals;
use linerate_wire::rate_limit::RateLimit;
use linerate_wire::tls::Trust;

use super::clients::ClientSelection;
use super::flags::Output;
use super::preparation;
use super::prerequisites::{Prerequisites, RunContext};
use crate::credentials::{endpoint, keys};
use crate::run::interrupt::RunLeftovers;
use crate::run::metrics::{self, MetricsServer};
use crate::run::open_files::require_open_files;
use crate::run::point_timing::{self, Timing};
use crate::run::processors::processors;
use crate::run::target_process::{self, TargetProcess};
use crate::run::{bodies, consent, source_addresses};
use crate::terminal::failure::{Failure, code};

/// Intervals of one ceiling: 0.2 s of warm-up and 0.5 s measured.
pub(super) const CEILING_TIMING: Timing =
    Timing { interval_ms: 100, warmup_ms: Some(200), all: 7, series_ms: None, bytes_max: 0 };

/// Everything that is decided before the target is reached.
pub(crate) struct PreparedRun<'a> {
    pub(super) load: Load,
    pub(super) output: &'a Output,
    /// Whether there is consent to load a target that is not on this machine.
    pub(super) yes_load: bool,
    pub(super) session: Session,
    pub(super) clock: Clock,
    pub(super) timing: Timing,
    pub(super) threads: u32,
    /// `--max-rate`, over the whole run.
    pub(super) cap: Option<Arc<RateLimit>>,
    pub(super) folder: PathBuf,
    pub(super) target_pid: Option<u32>,
    pub(super) metrics: Option<Arc<MetricsServer>>,
    /// What a second signal leaves at the target.
    pub(super) leftovers: RunLeftovers,
    pub(super) id: String,
    /// What is loaded, as it is described.
    pub(super) site: Option<Site>,
    /// Where the keys come from.
    pub(super) key_source: KeySource,
    /// Where the load comes from, where that is not this process.
    pub(super) client_selection: Option<ClientSelection>,
    /// The target, where linerate starts it: it ends with the run.
    process: Option<TargetProcess>,
}

impl<'a> PreparedRun<'a> {
    pub(crate) fn prepare(
        load: Load,
        run_context: RunContext<'a>,
        prerequisites: Prerequisites,
    ) -> Result<Self, Failure> {
        let RunContext { keys, output, yes_load, .. } = run_context;
        let Prerequisites { id, folder, trust, credentials, metrics, site, clients: client_selection } = prerequisites;
        client_selection.is_none().then(|| require_open_files(&load.levels)).transpose()?;
        let aimed = resolve_target(&load, yes_load, trust, credentials, client_selection.as_ref())?;
        let ResolvedTarget { hosts, trust, credentials, process } = aimed;
        let seed = super::resolved_load::random_seed()?;
        let endpoint = &load.endpoint;
        let session = Session {
            tls: trust.map(|trust| Tls::new(trust, &hosts, endpoint.lookup, &endpoint.bucket)).transpose()?,
            sources: endpoint.source.as_ref().map_or(Ok(Vec::new()), |text| source_addresses::parse(text, &hosts))?,
            lookup: endpoint.lookup,
            bucket: endpoint.bucket.clone(),
            run_prefix: format!("{}linerate-{id}-{:08x}/", endpoint.prefix, seed >> 32),
            credentials,
            region: endpoint.region.clone(),
            payload: load.bodies.payload,
            bodies: Arc::new(bodies::for_load(&load, seed)),
            host_select: endpoint.host_select,
            timeout_ns: load.stops.timeout_ns,
            seed,
            hosts,
        };
        let timing = point_timing::timing(&load, session.hosts.len() * reading_multiplier(client_selection.as_ref()))?;
        let counts = client_selection.as_ref().map_or(1, |requested| requested.counts.len());
        let points = load.series() * visits_max(&load.levels, timing.series_ms, timing.point_ms()) * counts;
        let hosts =
            || client_selection.is_none().then(|| session.hosts.iter().map(|host| host.authority.clone()).collect());
        let metrics = metrics.map(|listener| metrics::start(listener, hosts(), points, output.quiet)).transpose()?;
        Ok(PreparedRun {
            metrics: metrics.map(Arc::new),
            target_pid: load.endpoint.pid.or_else(|| process.as_ref().map(TargetProcess::pid)),
            threads: load.threads.unwrap_or_else(processors),
            cap: load.max_rate.map(|rate| Arc::new(RateLimit::new(rate))),
            clock: Clock::start(),
            leftovers: RunLeftovers::default(),
            key_source: keys.source(),
            client_selection,
            process,
            load,
            output,
            yes_load,
            session,
            timing,
            folder,
            id,
            site,
        })
    }

    /// What is wrong with calls of this machine, where clients load: it has to make them all the same.
    pub(super) fn failure_of_this_machine(&self, failure: Failure) -> Failure {
        if self.client_selection.is_none() || failure.code() != code::TARGET {
            return failure;
        }
        let why = format!(
            "{failure}; with --fleet this machine has to reach the target too: it creates the bucket, and lists and \
             deletes what the clients wrote"
        );
        Failure::Outcome { why, code: failure.code() }
    }

    /// Numbers of clients from which each series is driven: none, once, where this process drives it.
    pub(super) fn client_counts(&self) -> Vec<Option<u32>> {
        let counts =
            self.client_selection.as_ref().map(|requested| requested.counts.iter().copied().map(Some).collect());
        counts.unwrap_or_else(|| vec![None])
    }

    /// Whether the target is linerate's own, which goes with all that is in it.
    pub(super) const fn has_own_target(&self) -> bool {
        self.process.is_some()
    }

    /// How long the run will take at the most, setting up and clearing left aside.
    pub(crate) fn expected_duration(&self) -> Duration {
        let each = series(&self.load).len() as u64;
        let series = each * self.client_counts().len() as u64;
        // Over TLS, the ceiling without it is measured too.
        let per_series = if self.session.tls.is_some() { 2 } else { 1 };
        // All clients measure theirs at once, whatever their numbers are later.
        let ceilings = if self.measures_ceilings() { per_series * each * CEILING_TIMING.point_ms() } else { 0 };
        Duration::from_millis(series * self.timing.series_ms(&self.load.levels) + ceilings)
    }

    /// Which process of this machine the target is: as named or started, or as found at its address.
    pub(crate) fn local_target(&self) -> LocalTarget {
        let addresses = || self.session.hosts.iter().map(|host| host.address).collect::<Vec<_>>();
        let pid = self.target_pid.or_else(|| serving(&Root::live(), &addresses()).map(|found| found.pid));
        match pid {
            Some(pid) => LocalTarget::Process(pid),
            None if consent::are_local(&self.session.hosts) => LocalTarget::Unknown,
            None => LocalTarget::Elsewhere,
        }
    }

    /// A run against the null target is a ceiling itself.
    pub(crate) fn measures_ceilings(&self) -> bool {
        !self.output.no_ceiling && !self.load.endpoint.server.is_null()
    }

    /// The schedule of a point of an open loop.
    pub(crate) fn arrivals(&self, rate_per_s: Option<f64>, point: u32) -> Option<Arrivals> {
        let scheduled = rate_per_s.zip(self.load.levels.spacing());
        scheduled.map(|(per_s, spacing)| Arrivals { per_s, spacing, point, client: (0, 1) })
    }
}

/// Where the load goes, under which keys, and the process where linerate starts the target itself.
struct ResolvedTarget {
    hosts: Vec<Host>,
    /// Whom to believe; `None` without TLS.
    trust: Option<Trust>,
    credentials: Option<Credentials>,
    process: Option<TargetProcess>,
}

/// Finds the hosts, and asks for consent; or starts a target of linerate's own.
fn resolve_target(
    load: &Load,
    yes_load: bool,
    trust: Option<Trust>,
    credentials: Option<Credentials>,
    clients: Option<&ClientSelection>,
) -> Result<ResolvedTarget, Failure> {
    let endpoint = &load.endpoint;
    let hosts = match &endpoint.server {
        Server::Hosts { authorities, every_address, addresses } => {
            let within = Duration::from_nanos(load.stops.timeout_ns);
            endpoint::found_hosts(addresses, authorities, *every_address, within)?
        }
        Server::Own { kind, drive } => return start_own_target(*kind, drive.as_deref(), endpoint.tls.as_ref()),
    };
    let numbers = clients.map_or(1, |clients| clients.counts.len());
    let words = in_words(load, numbers, preparation::prepared_data(load, numbers));
    match clients {
        None => consent::require(&hosts, yes_load, &words)?,
        Some(clients) => consent::require_for_clients(
            &hosts,
            yes_load,
            clients.are_all_local(),
            &clients.describe_load(&words, load),
        )?,
    }
    Ok(ResolvedTarget { hosts, trust, credentials, process: None })
}

/// Starts a target of linerate's own, which proves itself to it.
fn start_own_target(kind: OwnTarget, drive: Option<&Path>, tls: Option<&TlsTrust>) -> Result<ResolvedTarget, Failure> {
    let credentials = keys::random_credentials()?;
    let mut process = target_process::start(kind, drive, Some(&credentials), tls.is_some())?;
    let is_insecure = tls.is_some_and(|trust| trust.insecure);
    let trust = process.trust.take().map(|own| if is_insecure { Trust::Anything } else { own });
    Ok(ResolvedTarget {
        hosts: vec![local_host(&process)],
        trust,
        credentials: Some(credentials),
        process: Some(process),
    })
}

/// By how many times the intervals of a run are more with clients.
fn reading_multiplier(clients: Option<&ClientSelection>) -> usize {
    clients.map_or(1, |requested| requested.most() as usize * requested.counts.len())
}

fn local_host(process: &TargetProcess) -> Host {
    Host { authority: process.address.to_string(), address: process.address }
}
