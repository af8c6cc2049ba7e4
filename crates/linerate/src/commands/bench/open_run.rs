//! A run whose target was seen and whose clients were met: its bucket and its folder.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use linerate_analysis::findings;
use linerate_fleet::load_protocol::{CA_BYTES_MAX, LoadKeys, LoadOrder};
use linerate_host::Root;
use linerate_load::bucket::{Bucket, BucketError, Removal, Versioning};
use linerate_load::hosts::{Host, labels};
use linerate_load::session::Existing;
use linerate_record::load::Server;
use linerate_record::run::{Client, LoadRequest, Manifest, Op, SCHEMA, Target, TargetKind, TlsUsed};
use linerate_record::units::Bytes;
use linerate_wire::clock::unix_base_ns;
use linerate_wire::deadline::CancelToken;
use linerate_wire::tls::Negotiated;

use super::clients::{ClientFleet, ClientSelection};
use super::resolved_load::{deletion_rate_limit, resolved};
use super::setup::PreparedRun;
use super::target_calls::TargetCalls;
use super::versioning_check::check_versioning;
use crate::credentials::tls_trust;
use crate::files::local_state::{self, Note};
use crate::files::run_folder::{self, RunFolder};
use crate::remote::remote_load;
use crate::run::cleanup;
use crate::run::cleanup::cleanup_target::bucket_note;
use crate::run::interrupt::{Interrupt, LeftoverPlace};
use crate::run::{consent, machine_readings};
use crate::terminal::failure::Failure;
use crate::terminal::key_masks;
use crate::terminal::progress::print_error;

/// Objects that are listed of those that were there before, unless `--objects` says otherwise.
const LISTED_OBJECTS_MAX: u64 = 10_000;

/// What was seen of the target before the load.
pub(super) struct SeenTarget {
    server: Option<String>,
    /// Whether it is linerate's null target, which keeps nothing of what it takes.
    pub(super) stores_nothing: bool,
    negotiated: Option<Negotiated>,
    bucket_is_missing: bool,
    /// What the bucket does with what is deleted in it.
    pub(super) keeping: Versioning,
    /// The objects of others that are read.
    pub(super) existing: Arc<Vec<Existing>>,
}

/// Everything that a run has while it loads.
pub(super) struct OpenRun<'a> {
    pub(super) prepared: PreparedRun<'a>,
    pub(super) calls: TargetCalls,
    pub(super) target: SeenTarget,
    /// Where the load comes from, where that is not this process.
    pub(super) clients: Option<ClientFleet>,
    bucket_made: AtomicBool,
    /// What was noted of the bucket before it was made.
    bucket_note: Mutex<Option<String>>,
}

/// So many objects that were there before are listed at the most.
fn listed_objects_max(prepared: &PreparedRun<'_>) -> u64 {
    prepared.load.objects.count.unwrap_or(LISTED_OBJECTS_MAX)
}

/// Reaches every host, sees whether there is a bucket, and lists what is to be read.
fn see(prepared: &PreparedRun<'_>, calls: &TargetCalls) -> Result<SeenTarget, Failure> {
    let (session, cancel) = (&prepared.session, calls.cancel_token());
    for host in 1..session.hosts.len() {
        Bucket::connect_heeding(session, host, &cancel)?;
    }
    let mut bucket = Bucket::connect_heeding(session, 0, &cancel)?;
    let negotiated = bucket.negotiated();
    // A target of linerate's own has none yet, and says so.
    let (exists, server) = if prepared.has_own_target() { bucket.exists()? } else { bucket.is_there()? };
    // It was sent the keys, and may say anything.
    let server = server.map(|server| key_masks::mask_keys(&server));
    let stores_nothing = prepared.load.endpoint.server.is_null() || server.as_deref() == Some("linerate-null");
    let lists_existing = prepared.load.objects.list_existing;
    if !exists && lists_existing {
        let name = &session.bucket;
        return Err(Failure::usage(format!("bucket {name:?} does not exist, so --list-existing finds nothing in it")));
    }
    let mut target = SeenTarget {
        server,
        stores_nothing,
        negotiated,
        bucket_is_missing: !exists,
        keeping: Versioning::default(),
        existing: Arc::default(),
    };
    if exists {
        target.keeping = check_versioning(prepared, stores_nothing, &mut bucket)?;
    }
    if lists_existing {
        target.existing = Arc::new(list_existing(prepared, &mut bucket)?);
    }
    Ok(target)
}

/// The objects of others that are to be read.
fn list_existing(prepared: &PreparedRun<'_>, bucket: &mut Bucket<'_>) -> Result<Vec<Existing>, Failure> {
    let most = usize::try_from(listed_objects_max(prepared)).unwrap_or(usize::MAX);
    let (load, place) = (&prepared.load, &prepared.session.bucket);
    let prefix = &load.endpoint.prefix;
    let found = bucket.list(prefix, most)?;
    if found.is_empty() {
        return Err(Failure::usage(format!("no object below prefix {prefix:?} in bucket {place:?} to read")));
    }
    let range = load.bodies.range_bytes.filter(|_| load.has(Op::Get));
    if let Some(range) = range.filter(|&range| found.iter().all(|object| object.size_bytes < range)) {
        let longest = Bytes(found.iter().map(|object| object.size_bytes).max().unwrap_or(0));
        let range = Bytes(range);
        return Err(Failure::usage(format!(
            "--range-size {range} is longer than every object below prefix {prefix:?} in bucket {place:?}, which have \
             at most {longest}: give a shorter range"
        )));
    }
    Ok(found)
}

/// Meets the clients that load, where there are some, and tells them whom to load.
fn start_clients(
    prepared: &PreparedRun<'_>,
    target: &SeenTarget,
    stop: &Arc<AtomicBool>,
) -> Result<Option<ClientFleet>, Failure> {
    let Some(requested) = &prepared.client_selection else { return Ok(None) };
    let (load, session) = (&prepared.load, &prepared.session);
    let ca_file = load.endpoint.tls.as_ref().and_then(|tls| tls.ca_file.as_deref());
    let keys = session.credentials.as_ref().map(|keys| LoadKeys {
        access_key: keys.access_key.clone(),
        secret_key: keys.secret_key.reveal().to_owned(),
        session_token: keys.session_token.as_ref().map(|token| token.reveal().to_owned()),
    });
    let every_address = matches!(load.endpoint.server, Server::Hosts { every_address: true, .. });
    let order = LoadOrder {
        load: load.clone(),
        addresses: session.hosts.iter().filter(|_| every_address).map(Host::with_address).collect(),
        ca_pem: ca_file.map(|path| tls_trust::read_pem(path, CA_BYTES_MAX)).transpose()?,
        run_prefix: session.run_prefix.clone(),
        seed: session.seed,
        keys,
        expected_ms: machine_readings::sampling_duration_ms(prepared.expected_duration(), requested.most()),
        existing: (!target.existing.is_empty())
            .then(|| remote_load::listing_digest(&target.existing, listed_objects_max(prepared))),
    };
    if !prepared.output.quiet {
        print_error(&format!("starting agents on {} clients", requested.most()));
    }
    let met = ClientFleet::start_agents(requested, &order, prepared.clock, stop)?;
    if let Some(found) = findings::client_versions(env!("CARGO_PKG_VERSION"), &met.manifest()) {
        print_error(&format!("warning: {}: {}; {}", found.claim, found.evidence, found.remedy));
    }
    Ok(Some(met))
}

impl<'a> OpenRun<'a> {
    /// Sees what is there of the target, and meets the clients that load. A signal ends that.
    pub(super) fn open(prepared: PreparedRun<'a>, interrupt: &Interrupt) -> Result<OpenRun<'a>, Failure> {
        let calls = TargetCalls::new(&interrupt.signalled);
        let target = see(&prepared, &calls).map_err(|failure| prepared.failure_of_this_machine(failure))?;
        let clients = start_clients(&prepared, &target, &interrupt.stop)?;
        let (bucket_made, bucket_note) = (AtomicBool::new(false), Mutex::default());
        Ok(OpenRun { prepared, calls, target, clients, bucket_made, bucket_note })
    }

    /// Makes the bucket where there is none. The folder says so already, so that a run that is killed can be cleaned.
    pub(super) fn make_bucket(&mut self, manifest: &mut Manifest) -> Result<(), Failure> {
        self.begin_writing();
        if !self.target.bucket_is_missing {
            return Ok(());
        }
        self.note_bucket(manifest);
        let stop_on = self.calls.cancel_token();
        let made = Bucket::connect_heeding(&self.prepared.session, 0, &stop_on).and_then(|mut bucket| bucket.create());
        match made {
            Ok(true) => self.bucket_made.store(true, Ordering::Relaxed),
            Ok(false) => {
                self.forget_bucket();
                manifest.target.bucket_made = false;
                run_folder::write_manifest(&self.prepared.folder, manifest)?;
            }
            Err(error) => {
                if matches!(error, BucketError::Refused { .. }) {
                    self.forget_bucket();
                    run_folder::remove_run(&self.prepared.folder);
                } else {
                    let (name, cleanup) = (&self.prepared.session.bucket, self.cleanup_command());
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
        match bucket.and_then(|mut bucket| check_versioning(&self.prepared, self.target.stores_nothing, &mut bucket)) {
            Ok(keeping) => self.target.keeping = keeping,
            Err(failure) => {
                if matches!(self.close_bucket(), Some(Ok(Removal::Removed))) {
                    run_folder::remove_run(&self.prepared.folder);
                }
                return Err(failure);
            }
        }
        Ok(())
    }

    /// Waits until every host has the bucket that was made, and connects to the first. Hosts that do not have it in
    /// time are named: what the load meets there counts.
    fn bucket_everywhere(&self, stop_on: &CancelToken) -> Result<Bucket<'_>, BucketError> {
        let session = &self.prepared.session;
        for host in Bucket::late_hosts(session, stop_on)? {
            let authority = &session.hosts[host].authority;
            print_error(&format!("warning: {authority} does not have the bucket yet that was made"));
        }
        Bucket::connect_heeding(session, 0, stop_on)
    }

    /// Removes the bucket where the run made it and left nothing in it: what became of it. Nothing where it is to stay,
    /// or was tried already.
    pub(super) fn close_bucket(&self) -> Option<Result<Removal, BucketError>> {
        if !self.bucket_made.swap(false, Ordering::Relaxed) || self.prepared.load.objects.noclear {
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
        *self.bucket_note.lock().unwrap_or_else(PoisonError::into_inner) = Some(note);
    }

    fn forget_bucket(&self) {
        let bucket_note_text = self.bucket_note.lock().unwrap_or_else(PoisonError::into_inner).take();
        bucket_note_text.iter().for_each(|note| local_state::remove_note(Note::Bucket, note));
    }

    /// Notes that the run may write from now on.
    fn begin_writing(&self) {
        // A target of linerate's own goes with all that is in it. What another says of itself is no proof.
        self.prepared.leftovers.set(Some(if self.prepared.has_own_target() {
            LeftoverPlace::Own
        } else {
            LeftoverPlace::AtTarget {
                place: self.place(),
                cleaning: self.cleanup_command(),
                stays: self.prepared.load.objects.noclear,
            }
        }));
    }

    /// Makes calls that a signal ends at once.
    pub(super) fn calls_until_signal<'s, T>(
        &'s self,
        calls: impl FnOnce(&mut Bucket<'s>) -> Result<T, BucketError>,
    ) -> Result<T, BucketError> {
        let mut bucket = Bucket::connect_any_heeding(&self.prepared.session, &self.calls.cancel_token())?;
        calls(&mut bucket)
    }

    /// The command that cleans after the run, with the flags that no folder may hold: whom to trust, and whose keys to
    /// take.
    pub(super) fn cleanup_command(&self) -> String {
        let endpoint = &self.prepared.load.endpoint;
        cleanup::command(
            &self.prepared.folder,
            &endpoint.tls.clone().unwrap_or_default(),
            endpoint.anonymous,
            &self.prepared.key_source,
        )
    }

    /// The place of the run at the target: `s3://BUCKET/PREFIX`.
    pub(super) fn place(&self) -> String {
        format!("s3://{}/{}", self.prepared.session.bucket, self.prepared.session.run_prefix)
    }

    /// Makes calls after the load, at the rate to which deletions are held.
    pub(super) fn calls_after_load<'s, T>(
        &'s self,
        calls: impl FnOnce(&mut Bucket<'s>) -> Result<T, BucketError>,
    ) -> Result<T, BucketError> {
        let per_s = deletion_rate_limit(&self.prepared.load);
        self.calls.after_load(&self.prepared.session, per_s, calls)
    }

    pub(super) fn begin_folder(&self) -> Result<(RunFolder, Manifest), Failure> {
        run_folder::create_folder(&self.prepared.folder)?;
        let (machine, unreadable) = linerate_host::machine(&Root::live());
        let endpoint = &self.prepared.load.endpoint;
        let is_unverified = endpoint.tls.as_ref().is_some_and(|trust| trust.insecure);
        let mut resolved = resolved(
            &self.prepared.load,
            &self.prepared.timing,
            &self.prepared.session.run_prefix,
            &self.prepared.session.sources,
        );
        resolved.clients = self.prepared.client_counts().into_iter().flatten().collect();
        let clients = self.clients.as_ref().map(ClientFleet::manifest);
        let clients = clients.unwrap_or_else(|| vec![Client::local(machine, self.prepared.threads)]);
        let is_alongside = self.prepared.client_selection.as_ref().is_none_or(ClientSelection::are_all_local);
        // A path that is no UTF-8 cannot be described: the folder tells of the load what its readers need.
        let load = Some(self.prepared.load.clone()).filter(|load| serde_json::to_value(load).is_ok());
        let manifest = Manifest {
            schema: SCHEMA,
            id: self.prepared.id.clone(),
            title: self.prepared.output.title.clone(),
            linerate_version: env!("CARGO_PKG_VERSION").into(),
            // All instants of the folder count from this one: clients may take a while to be met after it.
            started_unix_ms: unix_base_ns(&self.prepared.clock) / 1_000_000,
            seed: self.prepared.session.seed,
            requested: LoadRequest::new(&self.prepared.load, &resolved, clients[0].threads),
            resolved: load.is_some().then_some(resolved),
            load,
            site: self.prepared.site.clone(),
            target: Target {
                kind: match &endpoint.server {
                    Server::Hosts { .. } => TargetKind::S3.into(),
                    Server::Own { kind, .. } => TargetKind::from(*kind).into(),
                },
                hosts: labels(&self.prepared.session.hosts),
                server: self.target.server.clone(),
                lookup: endpoint.lookup.into(),
                region: self.prepared.session.region.clone(),
                on_this_machine: is_alongside && consent::are_local(&self.prepared.session.hosts),
                bucket_made: self.target.bucket_is_missing,
                tls: self.target.negotiated.as_ref().map(|negotiated| TlsUsed {
                    version: negotiated.version.clone(),
                    cipher: negotiated.cipher.clone(),
                    verified: !is_unverified,
                }),
            },
            clients,
            interval_ms: self.prepared.timing.interval_ms,
            intervals_bytes_max: self.prepared.timing.bytes_max,
        };
        let mut folder = run_folder::create_run(&self.prepared.folder, &manifest)?;
        for unreadable in unreadable {
            folder.findings.push(&findings::unreadable(unreadable))?;
        }
        if self.prepared.session.tls.is_some() && is_unverified {
            folder.findings.push(&findings::unverified())?;
        }
        Ok((folder, manifest))
    }
}
