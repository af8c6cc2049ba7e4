//! Before the load: who is loaded, with whose consent, under which keys, and what the run folder says of it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use linerate_analysis::findings;
use linerate_analysis::series_search::points_max;
use linerate_fleet::load_protocol::{CA_BYTES_MAX, LoadKeys, LoadOrder};
use linerate_host::fingerprint::neighbours::LocalTarget;
use linerate_host::{Root, serving};
use linerate_load::bucket::{Bucket, BucketError, Removal, Versioning};
use linerate_load::hosts::{Host, labels};
use linerate_load::session::{Existing, Session};
use linerate_load::sigv4::Credentials;
use linerate_load::tls::Tls;
use linerate_record::experiment::KeySource;
use linerate_record::load::{Load, OwnTarget, Server, TlsTrust};
use linerate_record::run::{Client, LoadRequest, Manifest, Op, SCHEMA, Target, TargetKind, TlsUsed, series};
use linerate_record::site::Site;
use linerate_record::units::Bytes;
use linerate_report::dry_run::in_words;
use linerate_wire::clock::{Clock, unix_base_ns};
use linerate_wire::deadline::{CancelToken, ShutdownBudget};
use linerate_wire::open_loop::Arrivals;
use linerate_wire::rate_limit::RateLimit;
use linerate_wire::tls::{Negotiated, Trust};

use super::clients::{ClientFleet, ClientSelection};
use super::flags::{FleetChoice, Output};
use super::objects::{cleanup_command, place};
use super::prerequisites::Prerequisites;
use super::resolved_load::resolved;
use super::{preparation, versioned_bucket};
use crate::credentials::keys::Keys;
use crate::credentials::{endpoint, keys, tls_trust};
use crate::files::local_state::{self, Note};
use crate::files::run_folder::{self, RunFolder};
use crate::remote::remote_load;
use crate::run::cleanup::cleanup_target::bucket_note;
use crate::run::interrupt::{DELETION_TIMEOUT, LeftoverPlace, RunLeftovers, is_set};
use crate::run::metrics::{self, MetricsServer};
use crate::run::open_files::require_open_files;
use crate::run::point_timing::{self, Timing};
use crate::run::processors::processors;
use crate::run::target_process::{self, TargetProcess};
use crate::run::{bodies, consent, machine_readings, source_addresses};
use crate::terminal::failure::{Failure, code};
use crate::terminal::key_masks;
use crate::terminal::progress::print_error;

/// Intervals of one ceiling: 0.2 s of warm-up and 0.5 s measured.
pub(super) const CEILING_TIMING: Timing =
    Timing { interval_ms: 100, warmup_ms: Some(200), all: 7, precision: None, bytes_max: 0 };

/// Objects that are listed of those that were there before, unless `--objects` says otherwise.
const LISTED_OBJECTS_MAX: u64 = 10_000;

/// What a run has besides its load: whose keys, whether there is consent, and what is shown of it and kept.
pub(crate) struct RunContext<'a> {
    pub(crate) keys: &'a Keys,
    pub(crate) output: &'a Output,
    pub(crate) fleet: &'a FleetChoice,
    pub(crate) yes_load: bool,
}

/// Everything that is decided before the load begins.
pub(crate) struct PreparedRun<'a> {
    pub(crate) load: Load,
    pub(crate) output: &'a Output,
    /// Whether there is consent to load a target that is not on this machine.
    pub(crate) yes_load: bool,
    pub(crate) session: Session,
    pub(crate) clock: Clock,
    pub(crate) timing: Timing,
    pub(crate) threads: u32,
    /// `--max-rate`, over the whole run.
    pub(crate) cap: Option<Arc<RateLimit>>,
    pub(crate) folder: PathBuf,
    pub(crate) existing: Arc<Vec<Existing>>,
    pub(crate) target_pid: Option<u32>,
    pub(crate) metrics: Option<Arc<MetricsServer>>,
    /// Set by Ctrl-C: it ends calls before the load, and shortens those after it.
    pub(crate) signalled: Arc<AtomicBool>,
    /// What a second signal leaves at the target.
    pub(crate) leftovers: RunLeftovers,
    /// What is left of the time for calls after the load once a signal has come.
    shutdown_budget: Arc<ShutdownBudget>,
    /// What became of a call after the load for which the others are not made.
    abandoned_reason: Mutex<Option<String>>,
    id: String,
    /// What is loaded, as it is described.
    site: Option<Site>,
    /// Where the keys come from.
    pub(super) key_source: KeySource,
    /// Where the load comes from, where that is not this process: as requested, and once they were reached.
    client_selection: Option<ClientSelection>,
    pub(super) clients: Option<ClientFleet>,
    /// Ends with the setup.
    _process: Option<TargetProcess>,
    server: Option<String>,
    bucket_is_missing: bool,
    /// What the bucket does with what is deleted in it.
    pub(super) keeping: Versioning,
    negotiated: Option<Negotiated>,
    made_bucket: AtomicBool,
    /// What was noted of the bucket before it was made.
    bucket_note_text: Mutex<Option<String>>,
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
        let points = load.series() * points_max(&load.levels) * counts;
        let hosts =
            || client_selection.is_none().then(|| session.hosts.iter().map(|host| host.authority.clone()).collect());
        let metrics = metrics.map(|listener| metrics::start(listener, hosts(), points, output.quiet)).transpose()?;
        let signalled = Arc::default();
        Ok(PreparedRun {
            shutdown_budget: Arc::new(ShutdownBudget::new(Arc::clone(&signalled), DELETION_TIMEOUT)),
            metrics: metrics.map(Arc::new),
            target_pid: load.endpoint.pid.or_else(|| process.as_ref().map(TargetProcess::pid)),
            threads: load.threads.unwrap_or_else(processors),
            cap: load.max_rate.map(|rate| Arc::new(RateLimit::new(rate))),
            clock: Clock::start(),
            existing: Arc::default(),
            signalled,
            leftovers: RunLeftovers::default(),
            abandoned_reason: Mutex::default(),
            server: None,
            bucket_is_missing: false,
            key_source: keys.source(),
            keeping: Versioning::default(),
            negotiated: None,
            made_bucket: AtomicBool::new(false),
            bucket_note_text: Mutex::default(),
            client_selection,
            clients: None,
            _process: process,
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

    /// Has this flag end calls before the load, and shorten those after it.
    pub(super) fn stop_on(&mut self, signalled: &Arc<AtomicBool>) {
        self.signalled = Arc::clone(signalled);
        self.shutdown_budget = Arc::new(ShutdownBudget::new(Arc::clone(signalled), DELETION_TIMEOUT));
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

    /// Meets the clients that load, where there are some, and tells them whom to load.
    pub(super) fn start_clients(&mut self, stop: &Arc<AtomicBool>) -> Result<(), Failure> {
        let Some(requested) = &self.client_selection else { return Ok(()) };
        let ca_file = self.load.endpoint.tls.as_ref().and_then(|tls| tls.ca_file.as_deref());
        let keys = self.session.credentials.as_ref().map(|keys| LoadKeys {
            access_key: keys.access_key.clone(),
            secret_key: keys.secret_key.reveal().to_owned(),
            session_token: keys.session_token.as_ref().map(|token| token.reveal().to_owned()),
        });
        let every_address = matches!(self.load.endpoint.server, Server::Hosts { every_address: true, .. });
        let named = |host: &Host| format!("{} ({})", host.authority, host.address.ip());
        let order = LoadOrder {
            load: self.load.clone(),
            addresses: self.session.hosts.iter().filter(|_| every_address).map(named).collect(),
            ca_pem: ca_file.map(|path| tls_trust::read_pem(path, CA_BYTES_MAX)).transpose()?,
            run_prefix: self.session.run_prefix.clone(),
            seed: self.session.seed,
            keys,
            expected_ms: machine_readings::sampling_duration_ms(self.expected_duration(), requested.most()),
            existing: (!self.existing.is_empty())
                .then(|| remote_load::listing_digest(&self.existing, self.listed_objects_max())),
        };
        if !self.output.quiet {
            print_error(&format!("starting agents on {} clients", requested.most()));
        }
        let met = ClientFleet::start_agents(requested, &order, self.clock, stop)?;
        if let Some(found) = findings::client_versions(env!("CARGO_PKG_VERSION"), &met.manifest()) {
            print_error(&format!("warning: {}: {}; {}", found.claim, found.evidence, found.remedy));
        }
        self.clients = Some(met);
        Ok(())
    }

    /// Numbers of clients from which each series is driven: none, once, where this process drives it.
    pub(super) fn client_counts(&self) -> Vec<Option<u32>> {
        let counts =
            self.client_selection.as_ref().map(|requested| requested.counts.iter().copied().map(Some).collect());
        counts.unwrap_or_else(|| vec![None])
    }

    /// Reaches every host, sees whether there is a bucket, and lists what is to be read.
    pub(crate) fn open_bucket(&mut self) -> Result<(), Failure> {
        let stop_on = CancelToken::Stop(Arc::clone(&self.signalled));
        for host in 1..self.session.hosts.len() {
            Bucket::connect_heeding(&self.session, host, &stop_on)?;
        }
        let mut bucket = Bucket::connect_heeding(&self.session, 0, &stop_on)?;
        self.negotiated = bucket.negotiated();
        // A target of linerate's own has none yet, and says so.
        let (exists, server) = if self.has_own_target() { bucket.exists()? } else { bucket.is_there()? };
        // It was sent the keys, and may say anything.
        self.server = server.map(|server| key_masks::mask_keys(&server));
        if !exists {
            if self.load.objects.list_existing {
                let name = &self.session.bucket;
                return Err(Failure::usage(format!(
                    "bucket {name:?} does not exist, so --list-existing finds nothing in it"
                )));
            }
            self.bucket_is_missing = true;
        } else {
            self.keeping = versioned_bucket::check_versioning(self, &mut bucket)?;
        }
        if self.load.objects.list_existing {
            let most = usize::try_from(self.listed_objects_max()).unwrap_or(usize::MAX);
            let prefix = &self.load.endpoint.prefix;
            let found = bucket.list(prefix, most)?;
            if found.is_empty() {
                let name = &self.session.bucket;
                return Err(Failure::usage(format!("no object below prefix {prefix:?} in bucket {name:?} to read")));
            }
            let range = self.load.bodies.range_bytes.filter(|_| self.load.has(Op::Get));
            if let Some(range) = range.filter(|&range| found.iter().all(|object| object.size_bytes < range)) {
                let longest = Bytes(found.iter().map(|object| object.size_bytes).max().unwrap_or(0));
                let (range, place) = (Bytes(range), &self.session.bucket);
                return Err(Failure::usage(format!(
                    "--range-size {range} is longer than every object below prefix {prefix:?} in bucket {place:?}, \
                     which have at most {longest}: give a shorter range"
                )));
            }
            self.existing = Arc::new(found);
        }
        Ok(())
    }

    /// So many objects that were there before are listed at the most.
    fn listed_objects_max(&self) -> u64 {
        self.load.objects.count.unwrap_or(LISTED_OBJECTS_MAX)
    }

    /// Makes the bucket where there is none. The folder says so already, so that a run that is killed can be cleaned.
    pub(crate) fn make_bucket(&mut self, manifest: &mut Manifest) -> Result<(), Failure> {
        self.begin_writing();
        if !self.bucket_is_missing {
            return Ok(());
        }
        self.note_bucket(manifest);
        let stop_on = CancelToken::Stop(Arc::clone(&self.signalled));
        let made = Bucket::connect_heeding(&self.session, 0, &stop_on).and_then(|mut bucket| bucket.create());
        match made {
            Ok(true) => self.made_bucket.store(true, Ordering::Relaxed),
            Ok(false) => {
                self.forget_bucket();
                manifest.target.bucket_made = false;
                run_folder::write_manifest(&self.folder, manifest)?;
            }
            Err(error) => {
                if matches!(error, BucketError::Refused { .. }) {
                    self.forget_bucket();
                    run_folder::remove_run(&self.folder);
                } else {
                    let (name, cleanup) = (&self.session.bucket, cleanup_command(self));
                    print_error(&format!(
                        "warning: the target may have created bucket {name:?} anyway; {cleanup} removes it if it is \
                         there and empty"
                    ));
                }
                return Err(error.into());
            }
        }
        // Some keep versions, or lock what is written, from the birth of a bucket on.
        let bucket = self.bucket_everywhere(&stop_on).map_err(Failure::from);
        match bucket.and_then(|mut bucket| versioned_bucket::check_versioning(self, &mut bucket)) {
            Ok(keeping) => self.keeping = keeping,
            Err(failure) => {
                if matches!(self.close_bucket(), Some(Ok(Removal::Removed))) {
                    run_folder::remove_run(&self.folder);
                }
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Waits until every host has the bucket that was made, and connects to the first. A host that has it late is told,
    /// and no other is waited for: what the load meets there counts.
    fn bucket_everywhere(&self, stop_on: &CancelToken) -> Result<Bucket<'_>, BucketError> {
        for (place, host) in self.session.hosts.iter().enumerate() {
            if !Bucket::connect_heeding(&self.session, place, stop_on)?.appears()? {
                print_error(&format!("warning: {} does not have the bucket yet that was made", host.authority));
                break;
            }
        }
        Bucket::connect_heeding(&self.session, 0, stop_on)
    }

    /// Removes the bucket where the run made it and left nothing in it: what became of it. Nothing where it is to stay,
    /// or was tried already.
    pub(crate) fn close_bucket(&self) -> Option<Result<Removal, BucketError>> {
        if !self.made_bucket.swap(false, Ordering::Relaxed) || self.load.objects.noclear {
            return None;
        }
        let removal = self.calls_after_load(Bucket::remove);
        if matches!(removal, Ok(Removal::Removed)) {
            self.forget_bucket();
        }
        Some(removal)
    }

    /// Notes, outside the folder, that this run makes the bucket: whom a folder comes from later, nobody knows.
    fn note_bucket(&mut self, manifest: &Manifest) {
        // A target of linerate's own goes with its buckets.
        if !manifest.target.kind.is(&TargetKind::S3) {
            return;
        }
        let note = bucket_note(manifest);
        if let Err(error) = local_state::write_note(Note::Bucket, &note) {
            let after = "if this run is killed, linerate clean keeps the bucket unless --remove-bucket is given";
            print_error(&format!("warning: linerate could not note that the run creates its bucket: {error}; {after}"));
        }
        *self.bucket_note_text.lock().unwrap_or_else(PoisonError::into_inner) = Some(note);
    }

    fn forget_bucket(&self) {
        let bucket_note_text = self.bucket_note_text.lock().unwrap_or_else(PoisonError::into_inner).take();
        bucket_note_text.iter().for_each(|note| local_state::remove_note(Note::Bucket, note));
    }

    /// Makes calls after a load: none is made after one that was not answered in its time, and once a signal has come,
    /// none of them is waited for for long.
    pub(super) fn calls_after_load<'s, T>(
        &'s self,
        calls: impl FnOnce(&mut Bucket<'s>) -> Result<T, BucketError>,
    ) -> Result<T, BucketError> {
        if let Some(why) = self.abandoned_reason() {
            return Err(BucketError::Unmade(why));
        }
        let bucket =
            Bucket::connect_any_heeding(&self.session, &CancelToken::ShuttingDown(Arc::clone(&self.shutdown_budget)));
        let per_s = super::resolved_load::deletion_rate_limit(&self.load);
        let called = bucket.and_then(|bucket| calls(&mut bucket.held_to(per_s)));
        let why = match &called {
            Err(BucketError::Late { ended, .. }) => Some(ended.to_string()),
            Err(error) if is_set(&self.signalled) && !error.is_an_answer() => Some("failed".to_owned()),
            _ => None,
        };
        if why.is_some() {
            self.give_up(why);
        }
        called
    }

    /// What became of a call for which no other is made.
    pub(super) fn abandoned_reason(&self) -> Option<String> {
        self.abandoned_reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A target that did not answer in the midst of the run is asked once more, unless a signal has come: then nobody
    /// waits for it again.
    pub(super) fn allow_one_more_call(&self) {
        if !is_set(&self.signalled) {
            self.give_up(None);
        }
    }

    fn give_up(&self, why: Option<String>) {
        *self.abandoned_reason.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    /// Whether the target is linerate's own, which goes with all that is in it.
    pub(super) const fn has_own_target(&self) -> bool {
        self._process.is_some()
    }

    /// Makes calls that a signal ends at once.
    pub(super) fn calls_until_signal<'s, T>(
        &'s self,
        calls: impl FnOnce(&mut Bucket<'s>) -> Result<T, BucketError>,
    ) -> Result<T, BucketError> {
        let mut bucket = Bucket::connect_any_heeding(&self.session, &CancelToken::Stop(Arc::clone(&self.signalled)))?;
        calls(&mut bucket)
    }

    /// Notes that the run may write from now on.
    fn begin_writing(&self) {
        // A target of linerate's own goes with all that is in it. What another says of itself is no proof.
        self.leftovers.set(Some(if self.has_own_target() {
            LeftoverPlace::Own
        } else {
            LeftoverPlace::AtTarget {
                place: place(self),
                cleaning: cleanup_command(self),
                stays: self.load.objects.noclear,
            }
        }));
    }

    /// Whether the target is linerate's null target, which keeps nothing of what it takes.
    pub(super) fn stores_nothing(&self) -> bool {
        self.load.endpoint.server.is_null() || self.server.as_deref() == Some("linerate-null")
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

    pub(crate) fn begin_folder(&self) -> Result<(RunFolder, Manifest), Failure> {
        run_folder::create_folder(&self.folder)?;
        let (machine, unreadable) = linerate_host::machine(&Root::live());
        let endpoint = &self.load.endpoint;
        let is_unverified = endpoint.tls.as_ref().is_some_and(|trust| trust.insecure);
        let mut resolved = resolved(&self.load, &self.timing, &self.session.run_prefix, &self.session.sources);
        resolved.clients = self.client_counts().into_iter().flatten().collect();
        let clients = self.clients.as_ref().map(ClientFleet::manifest);
        let clients = clients.unwrap_or_else(|| vec![Client::local(machine, self.threads)]);
        let is_alongside = self.client_selection.as_ref().is_none_or(ClientSelection::are_all_local);
        // A path that is no UTF-8 cannot be described: the folder tells of the load what its readers need.
        let load = Some(self.load.clone()).filter(|load| serde_json::to_value(load).is_ok());
        let manifest = Manifest {
            schema: SCHEMA,
            id: self.id.clone(),
            title: self.output.title.clone(),
            linerate_version: env!("CARGO_PKG_VERSION").into(),
            // All instants of the folder count from this one: clients may take a while to be met after it.
            started_unix_ms: unix_base_ns(&self.clock) / 1_000_000,
            seed: self.session.seed,
            requested: LoadRequest::new(&self.load, &resolved, clients[0].threads),
            resolved: load.is_some().then_some(resolved),
            load,
            site: self.site.clone(),
            target: Target {
                kind: match &endpoint.server {
                    Server::Hosts { .. } => TargetKind::S3.into(),
                    Server::Own { kind, .. } => TargetKind::from(*kind).into(),
                },
                hosts: labels(&self.session.hosts),
                server: self.server.clone(),
                lookup: endpoint.lookup.into(),
                region: self.session.region.clone(),
                on_this_machine: is_alongside && consent::are_local(&self.session.hosts),
                bucket_made: self.bucket_is_missing,
                tls: self.negotiated.as_ref().map(|negotiated| TlsUsed {
                    version: negotiated.version.clone(),
                    cipher: negotiated.cipher.clone(),
                    verified: !is_unverified,
                }),
            },
            clients,
            interval_ms: self.timing.interval_ms,
            intervals_bytes_max: self.timing.bytes_max,
        };
        let mut folder = run_folder::create_run(&self.folder, &manifest)?;
        for unreadable in unreadable {
            folder.findings.push(&findings::unreadable(unreadable))?;
        }
        if self.session.tls.is_some() && is_unverified {
            folder.findings.push(&findings::unverified())?;
        }
        Ok((folder, manifest))
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
    let (authorities, every_address) = match &endpoint.server {
        Server::Hosts { authorities, every_address } => (authorities, *every_address),
        Server::Own { kind, drive } => return start_own_target(*kind, drive.as_deref(), endpoint.tls.as_ref()),
    };
    let within = Duration::from_nanos(load.stops.timeout_ns);
    let hosts = endpoint::resolve_hosts(authorities, every_address, within)?;
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
