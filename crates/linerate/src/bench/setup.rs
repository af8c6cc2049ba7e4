//! Before the load: who is loaded, with whose consent, under which keys, and what the run folder says of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use linerate_analysis::slo::Limits;
use linerate_host::fingerprint::neighbours::TargetHere;
use linerate_host::{Root, serving};
use linerate_load::bucket::{Bucket, BucketError, Heed, Keeping};
use linerate_load::clock::Clock;
use linerate_load::hosts::{Host, labels};
use linerate_load::session::{Arrivals, ErrorLimit, Existing, HostSelect, Lookup, Payload, Session, Spacing};
use linerate_load::sigv4::Credentials;
use linerate_load::tls::{Negotiated, Tls, Trust};
use linerate_record::run::{
    Asked, Manifest, Op, PointSpec, RateSearchSpec, SCHEMA, SearchSpec, SeriesSpec, Target, TlsUsed,
};
use rustix::process::{Resource, getrlimit, setrlimit};

use super::objects::{cleaning, place};
use super::{bodies, kept, parts, together};
use crate::child::{self, TargetProcess};
use crate::clean::aim::bucket_note;
use crate::cli::{
    ArrivalsFlag, BenchFlags, HostSelectFlag, LookupFlag, PayloadFlag, TargetChoice, TargetKind, WriteFlag, name_of,
};
use crate::failure::Failure;
use crate::folder::{self, RunFolder};
use crate::grid::{self, Grid, Level, Levels};
use crate::interrupt::{Left, Remains, came};
use crate::metrics::{self, Exporter};
use crate::progress::say;
use crate::state::{self, Note};
use crate::timing::{self, Timing};
use crate::{consent, credentials, endpoint, printing, sources, trust};

/// How the size of objects that were there before is called in points.
pub(super) const EXISTING_SIZE: &str = "existing";

/// Intervals of one ceiling: 0.2 s of warm-up and 0.5 s measured.
pub(super) const CEILING: Timing =
    Timing { interval_ms: 100, warmup_ms: Some(200), all: 7, precision: None, bytes_max: 0 };

/// Everything that is decided before the load begins.
pub(crate) struct Setup<'a> {
    pub(crate) flags: &'a BenchFlags,
    pub(crate) grid: Grid,
    pub(crate) session: Session,
    pub(crate) clock: Clock,
    pub(crate) timing: Timing,
    pub(crate) threads: u32,
    pub(crate) folder: PathBuf,
    pub(crate) existing: Arc<Vec<Existing>>,
    pub(crate) target_pid: Option<u32>,
    pub(crate) metrics: Option<Arc<Exporter>>,
    /// Set by Ctrl-C: it ends calls before the load, and shortens those after it.
    pub(crate) signalled: Arc<AtomicBool>,
    /// What a second signal leaves at the target.
    pub(crate) remains: Remains,
    /// Raised where a call after the load was not answered in its time: the others are not made.
    pub(super) deaf: AtomicBool,
    id: String,
    /// Ends with the setup.
    _process: Option<TargetProcess>,
    server: Option<String>,
    bucket_is_missing: bool,
    /// What the bucket does with what is deleted in it.
    pub(super) keeping: Keeping,
    negotiated: Option<Negotiated>,
    made_bucket: bool,
    /// What was noted of the bucket before it was made.
    noted: Option<String>,
}

impl<'a> Setup<'a> {
    pub(crate) fn make(flags: &'a BenchFlags) -> Result<Self, Failure> {
        let (grid, notes) = together::check(flags)?;
        if !flags.output.quiet {
            notes.iter().for_each(|note| say(&format!("note: {note}")));
        }
        let (id, folder) = name_folder(flags, &grid)?;
        folder::require_free(&folder)?;
        allow_open_files();
        let region = credentials::region(&flags.keys)?;
        let Aim { hosts, trust, credentials, process } = aim(flags, &grid)?;
        let seed = seed()?;
        let lookup = lookup(flags.target.lookup);
        let session = Session {
            tls: trust.map(|trust| Tls::new(trust, &hosts, lookup, &flags.target.bucket)).transpose()?,
            sources: flags.target.source.as_ref().map_or(Ok(Vec::new()), |text| sources::parse(text, &hosts))?,
            lookup,
            bucket: flags.target.bucket.clone(),
            run_prefix: format!("{}linerate-{id}-{:08x}/", flags.target.prefix, seed >> 32),
            credentials,
            region,
            payload: payload(flags.work.payload),
            bodies: Arc::new(bodies::of(flags, &grid, seed)),
            host_select: match flags.target.host_select {
                HostSelectFlag::RoundRobin => HostSelect::RoundRobin,
                HostSelectFlag::LeastOutstanding => HostSelect::LeastOutstanding,
            },
            timeout_ns: u64::try_from(flags.work.timeout.as_nanos()).unwrap_or(u64::MAX),
            seed,
            hosts,
        };
        // An upload is told as a whole and by its parts.
        let of = |w: &grid::Named| w.name.matches('=').count().max(1) + usize::from(w.workload.has(Op::Multipart));
        let ops = grid.workloads.iter().map(of).max().unwrap_or(1);
        let points = grid.series().len() * timing::points_worth(&grid.levels);
        let timing = timing::timing(&flags.work, points, session.hosts.len(), ops)?;
        let metrics = metrics(flags, &session, points)?;
        Ok(Setup {
            metrics,
            target_pid: flags.target.target_pid.or_else(|| process.as_ref().map(TargetProcess::pid)),
            threads: flags.work.threads.unwrap_or_else(grid::processors),
            clock: Clock::start(),
            existing: Arc::default(),
            signalled: Arc::default(),
            remains: Remains::default(),
            deaf: AtomicBool::new(false),
            server: None,
            bucket_is_missing: false,
            keeping: Keeping::default(),
            negotiated: None,
            made_bucket: false,
            noted: None,
            _process: process,
            flags,
            grid,
            session,
            timing,
            folder,
            id,
        })
    }

    /// Reaches every host, sees whether there is a bucket, and lists what is to be read.
    pub(crate) fn open_bucket(&mut self) -> Result<(), Failure> {
        let heed = Heed::Stop(Arc::clone(&self.signalled));
        for host in 1..self.session.hosts.len() {
            Bucket::connect_heeding(&self.session, host, &heed)?;
        }
        let mut bucket = Bucket::connect_heeding(&self.session, 0, &heed)?;
        self.negotiated = bucket.negotiated();
        let (exists, server) = bucket.exists()?;
        // It was sent the keys, and may say anything.
        self.server = server.map(|server| printing::without_keys(&server));
        if !exists {
            if self.flags.work.list_existing {
                let name = &self.session.bucket;
                return Err(Failure::usage(format!(
                    "bucket {name:?} does not exist, so --list-existing finds nothing in it"
                )));
            }
            self.bucket_is_missing = true;
        } else {
            self.keeping = kept::look(self, &mut bucket)?;
        }
        if self.flags.work.list_existing {
            let most = usize::try_from(self.flags.work.objects.unwrap_or(10_000)).unwrap_or(usize::MAX);
            let prefix = &self.flags.target.prefix;
            let found = bucket.list(prefix, most)?;
            if found.is_empty() {
                let name = &self.session.bucket;
                return Err(Failure::usage(format!("no object below prefix {prefix:?} in bucket {name:?} to read")));
            }
            self.existing = Arc::new(found);
        }
        Ok(())
    }

    /// Makes the bucket where there is none. The folder says so already, so that a run that is killed can be cleaned.
    pub(crate) fn make_bucket(&mut self, manifest: &mut Manifest) -> Result<(), Failure> {
        self.begin_writing();
        if !self.bucket_is_missing {
            return Ok(());
        }
        self.note_bucket(manifest);
        let heed = Heed::Stop(Arc::clone(&self.signalled));
        match Bucket::connect_heeding(&self.session, 0, &heed).and_then(|mut bucket| bucket.create()) {
            Ok(true) => self.made_bucket = true,
            Ok(false) => {
                self.forget_bucket();
                manifest.target.bucket_made = false;
                folder::write_manifest(&self.folder, manifest)?;
            }
            Err(error) => {
                if matches!(error, BucketError::Refused { .. }) {
                    self.forget_bucket();
                    folder::discard(&self.folder);
                } else {
                    let (name, cleaning) = (&self.session.bucket, cleaning(self));
                    say(&format!("warning: the target may have made bucket {name:?} all the same; {cleaning}"));
                }
                return Err(error.into());
            }
        }
        Ok(())
    }

    /// Removes the bucket where the run made it and left nothing in it; `false` where something is in it.
    pub(crate) fn close_bucket(&mut self) -> Result<bool, Failure> {
        if std::mem::take(&mut self.made_bucket) && !self.flags.work.noclear {
            let is_removed = self.afterwards(Bucket::remove)?;
            if is_removed {
                self.forget_bucket();
            }
            return Ok(is_removed);
        }
        Ok(true)
    }

    /// Notes, outside the folder, that this run makes the bucket: whom a folder comes from later, nobody knows.
    fn note_bucket(&mut self, manifest: &Manifest) {
        // A target of linerate's own goes with its buckets.
        if manifest.target.kind != "s3" {
            return;
        }
        let note = bucket_note(manifest);
        if let Err(error) = state::note(Note::Bucket, &note) {
            let after = "if this run is killed, linerate clean leaves the bucket but with --remove-bucket";
            say(&format!("warning: that the run makes its bucket could not be noted: {error}; {after}"));
        }
        self.noted = Some(note);
    }

    fn forget_bucket(&mut self) {
        self.noted.take().iter().for_each(|note| state::forget(Note::Bucket, note));
    }

    /// Makes calls after a load: none is made after one that was not answered in its time, and once a signal has come,
    /// none of them is waited for for long.
    pub(super) fn afterwards<'s, T>(
        &'s self,
        calls: impl FnOnce(&mut Bucket<'s>) -> Result<T, BucketError>,
    ) -> Result<T, BucketError> {
        if came(&self.deaf) {
            return Err(BucketError::Unanswered);
        }
        let bucket = Bucket::connect_any_heeding(&self.session, &Heed::Hurry(Arc::clone(&self.signalled)));
        let called = bucket.and_then(|mut bucket| calls(&mut bucket));
        let is_late = matches!(called, Err(BucketError::Late { .. }));
        if is_late || called.as_ref().is_err_and(|error| !error.is_an_answer()) && came(&self.signalled) {
            self.deaf.store(true, Ordering::Relaxed);
        }
        called
    }

    /// Whether the target is linerate's own, which goes with all that is in it.
    pub(super) const fn has_own_target(&self) -> bool {
        self._process.is_some()
    }

    /// Makes calls that a signal ends at once.
    pub(super) fn while_nobody_waits<'s, T>(
        &'s self,
        calls: impl FnOnce(&mut Bucket<'s>) -> Result<T, BucketError>,
    ) -> Result<T, BucketError> {
        let mut bucket = Bucket::connect_any_heeding(&self.session, &Heed::Stop(Arc::clone(&self.signalled)))?;
        calls(&mut bucket)
    }

    /// Whether the run made its bucket, and it is still there.
    pub(crate) const fn has_bucket(&self) -> bool {
        self.made_bucket
    }

    /// Notes that the run may write from now on.
    fn begin_writing(&self) {
        // A target of linerate's own goes with all that is in it.
        let left = Left { place: place(self), cleaning: cleaning(self), stays: self.flags.work.noclear };
        self.remains.set((!self.has_own_target()).then_some(left));
    }

    /// Whether the target is linerate's null target, which keeps nothing of what it takes.
    pub(super) fn stores_nothing(&self) -> bool {
        self.flags.target.target == Some(TargetKind::Null) || self.server.as_deref() == Some("linerate-null")
    }

    /// How long the run will take at the most, setting up and clearing left aside.
    pub(crate) fn expected(&self) -> Duration {
        let series = self.series().len() as u64;
        // Over TLS, the ceiling without it is measured too.
        let per_series = if self.session.tls.is_some() { 2 } else { 1 };
        let ceilings = if self.wants_ceilings() { per_series * series * CEILING.point_ms() } else { 0 };
        Duration::from_millis(series * self.timing.series_ms(&self.grid.levels) + ceilings)
    }

    /// Which process of this machine the target is: as named or started, or as found at its address.
    pub(crate) fn target_here(&self) -> TargetHere {
        let addresses = || self.session.hosts.iter().map(|host| host.address).collect::<Vec<_>>();
        let pid = self.target_pid.or_else(|| serving(&Root::live(), &addresses()).map(|found| found.pid));
        match pid {
            Some(pid) => TargetHere::Process(pid),
            None if consent::on_this_machine(&self.session.hosts) => TargetHere::Unknown,
            None => TargetHere::Elsewhere,
        }
    }

    /// A run against the null target is a ceiling itself.
    pub(crate) fn wants_ceilings(&self) -> bool {
        !self.flags.output.no_ceiling && self.flags.target.target != Some(TargetKind::Null)
    }

    /// The series, as the folder names them.
    pub(crate) fn series(&self) -> Vec<SeriesSpec> {
        let mut series = self.grid.series();
        if self.flags.work.list_existing {
            // What is there has the sizes that it has: --obj.size makes no series of its own.
            let mut seen = Vec::new();
            series.retain(|s| {
                !seen.contains(&s.workload) && {
                    seen.push(s.workload.clone());
                    true
                }
            });
            series.iter_mut().for_each(|s| EXISTING_SIZE.clone_into(&mut s.size));
        }
        series
    }

    /// The points where concurrencies were given, else the search.
    fn points(&self) -> (Vec<PointSpec>, Option<SearchSpec>) {
        if let Some(given) = self.grid.levels.given() {
            let at = |s: SeriesSpec| {
                let point = move |&Level { concurrency, rate_per_s }: &Level| {
                    let SeriesSpec { workload, size } = s.clone();
                    PointSpec { workload, size, concurrency, rate_per_s }
                };
                given.iter().map(point)
            };
            return (self.series().into_iter().flat_map(at).collect(), None);
        }
        let Levels::Searched(highest) = self.grid.levels else { return (Vec::new(), None) };
        let series_ms = self.timing.series_ms(&self.grid.levels);
        (Vec::new(), Some(SearchSpec { lowest: 1, highest, series_ms, series: self.series() }))
    }

    /// The search for the highest rate, where that is asked for.
    fn rate_search(&self) -> Option<RateSearchSpec> {
        let Levels::HighestRate { highest_per_s, .. } = self.grid.levels else { return None };
        let defaults = Limits::new(Vec::new());
        Some(RateSearchSpec {
            lowest_per_s: defaults.lowest_per_s.min(highest_per_s),
            highest_per_s,
            precision: defaults.precision,
            series_ms: self.timing.series_ms(&self.grid.levels),
            series: self.series(),
        })
    }

    /// The schedule of an open loop.
    pub(crate) fn arrivals(&self, rate_per_s: Option<f64>) -> Option<Arrivals> {
        let spacing = match self.flags.work.arrivals.unwrap_or(ArrivalsFlag::Constant) {
            ArrivalsFlag::Constant => Spacing::Constant,
            ArrivalsFlag::Poisson => Spacing::Poisson,
        };
        rate_per_s.map(|per_s| Arrivals { per_s, spacing })
    }

    /// Writes the manifest.
    pub(crate) fn begin_folder(&self) -> Result<(RunFolder, Manifest), Failure> {
        folder::make(&self.folder)?;
        let (machine, unreadable) = linerate_host::machine(&Root::live());
        let target = &self.flags.target;
        let manifest = Manifest {
            schema: SCHEMA,
            id: self.id.clone(),
            title: self.flags.output.title.clone(),
            linerate_version: env!("CARGO_PKG_VERSION").into(),
            started_unix_ms: unix_ms(),
            seed: self.session.seed,
            asked: self.asked(),
            target: Target {
                kind: match (&self._process, target.target) {
                    (None, _) => "s3".into(),
                    (Some(_), kind) => name_of(kind.unwrap_or(TargetKind::Embedded)),
                },
                hosts: labels(&self.session.hosts),
                server: self.server.clone(),
                lookup: name_of(target.lookup),
                region: self.session.region.clone(),
                on_this_machine: consent::on_this_machine(&self.session.hosts),
                bucket_made: self.bucket_is_missing,
                tls: self.negotiated.as_ref().map(|negotiated| TlsUsed {
                    version: negotiated.version.clone(),
                    cipher: negotiated.cipher.clone(),
                    verified: !target.insecure,
                }),
            },
            machine,
            interval_ms: self.timing.interval_ms,
            intervals_bytes_max: self.timing.bytes_max,
        };
        let mut folder = folder::begin(&self.folder, &manifest)?;
        for unreadable in unreadable {
            folder.findings.push(&crate::readings::finding(unreadable))?;
        }
        if self.session.tls.is_some() && target.insecure {
            folder.findings.push(&trust::unverified())?;
        }
        Ok((folder, manifest))
    }

    fn asked(&self) -> Asked {
        let work = &self.flags.work;
        let (points, search) = self.points();
        let uploads = parts::wanted(work, &self.grid);
        Asked {
            points,
            search,
            rate_search: self.rate_search(),
            slo: work.slo.clone(),
            duration_ms: self.timing.point_ms() - self.timing.warmup_ms.unwrap_or(0),
            warmup_ms: self.timing.warmup_ms,
            precision: self.timing.precision,
            threads: self.threads,
            objects: work.objects.unwrap_or_else(|| {
                let first = self.grid.workloads.first().and_then(|w| self.grid.sizes_of(&w.workload).first());
                first.map_or(0, |sizes| grid::read_set_objects(work, sizes))
            }),
            bucket: self.session.bucket.clone(),
            prefix: self.session.run_prefix.clone(),
            payload: name_of(work.payload),
            part_bytes: uploads.then_some(work.part_size.0),
            part_concurrent: uploads.then_some(work.part_concurrent),
            write: (work.write != WriteFlag::Put).then(|| name_of(work.write)),
            unique: name_of(work.unique),
            verify: work.verify,
            range_bytes: work.range_size.map(|r| r.0),
            max_rate: work.max_rate.map(|rate| rate.to_string()),
            arrivals: work.is_open().then(|| name_of(work.arrivals.unwrap_or(ArrivalsFlag::Constant))),
            abort_if: work.abort_if.clone(),
            canary_per_s: work.abort_if.is_some().then_some(work.canary_rate),
            retries: work.retries,
            error_limit: work.error_limit.map(|limit| match limit {
                ErrorLimit::Count(most) => most.to_string(),
                ErrorLimit::Share(most) => format!("{}%", most * 100.0),
            }),
            host_select: name_of(self.flags.target.host_select),
            sources: self.session.sources.iter().map(ToString::to_string).collect(),
            noclear: work.noclear,
            list_existing: work.list_existing,
            target_memory_bytes: self.flags.target.target_memory.map(|m| m.0),
        }
    }
}

/// Serves figures while the run goes on, where that is asked for.
fn metrics(flags: &BenchFlags, session: &Session, points: usize) -> Result<Option<Arc<Exporter>>, Failure> {
    let hosts = || session.hosts.iter().map(|h| h.authority.clone()).collect();
    let exporter = flags.output.metrics.map(|address| metrics::start(address, hosts(), points, flags.output.quiet));
    Ok(exporter.transpose()?.map(Arc::new))
}

/// Where the load goes, under which keys, and the process where linerate starts the target itself.
struct Aim {
    hosts: Vec<Host>,
    /// Whom to believe; `None` without TLS.
    trust: Option<Trust>,
    credentials: Option<Credentials>,
    process: Option<TargetProcess>,
}

/// Finds the hosts and their keys, and asks for consent; or starts a target of linerate's own.
fn aim(flags: &BenchFlags, grid: &Grid) -> Result<Aim, Failure> {
    let Some((text, named)) = endpoint::named(&flags.target)? else { return aim_at_own(&flags.target) };
    if !named.tls && (flags.target.insecure || flags.target.ca_file.is_some()) {
        let flag = if flags.target.insecure { "--insecure" } else { "--ca-file" };
        return Err(Failure::usage(format!("{flag} is for TLS, and {text:?} is plain HTTP: write https://, or --tls")));
    }
    let trust =
        if named.tls { Some(trust::find(flags.target.insecure, flags.target.ca_file.as_deref())?) } else { None };
    let credentials = credentials::find(&flags.keys)?;
    credentials::refuse_as_host(credentials.as_ref(), &named.authorities)?;
    let hosts = endpoint::resolved(&flags.target, &named, flags.work.timeout)?;
    let output = flags.output.output.as_ref().map_or_else(String::new, |path| path.display().to_string());
    let names = [("--prefix", &flags.target.prefix), ("--bucket", &flags.target.bucket), ("--output", &output)];
    credentials::refuse_within(credentials.as_ref(), &names.map(|(flag, name)| (flag, name.as_str())))?;
    let load = grid::in_words(grid, &flags.work);
    consent::obtain(&hosts, flags.target.yes_load, &load)?;
    Ok(Aim { hosts, trust, credentials, process: None })
}

/// Starts a target of linerate's own, which proves itself to it.
fn aim_at_own(target: &TargetChoice) -> Result<Aim, Failure> {
    let kind = target.target.unwrap_or(TargetKind::Embedded);
    let credentials = credentials::ephemeral()?;
    let mut process = child::start(kind, target.drive.as_deref(), Some(&credentials), target.tls)?;
    let trust = process.trust.take().map(|own| if target.insecure { Trust::Anything } else { own });
    Ok(Aim { hosts: vec![local(&process)], trust, credentials: Some(credentials), process: Some(process) })
}

pub(super) const fn lookup(flag: LookupFlag) -> Lookup {
    match flag {
        LookupFlag::Path => Lookup::Path,
        LookupFlag::Host => Lookup::VirtualHost,
    }
}

/// Raises this process's soft limit of open files to the hard one: each request in flight is a connection.
fn allow_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Where it cannot be raised, the points that need more say so: "too many open files".
    let _ = setrlimit(Resource::Nofile, limit);
}

fn local(process: &TargetProcess) -> Host {
    Host { authority: process.address.to_string(), address: process.address }
}

pub(super) const fn payload(flag: PayloadFlag) -> Payload {
    match flag {
        PayloadFlag::Signed => Payload::Signed,
        PayloadFlag::Unsigned => Payload::Unsigned,
        PayloadFlag::Streaming => Payload::Streaming,
        PayloadFlag::StreamingTrailer => Payload::StreamingTrailer,
        PayloadFlag::UnsignedTrailer => Payload::UnsignedTrailer,
    }
}

fn seed() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .map_err(|e| Failure::usage(format!("no random numbers from the kernel: {e}")))?;
    Ok(u64::from_le_bytes(bytes))
}

fn unix_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| u64::try_from(d.as_millis()).unwrap_or(0))
}

/// The run's name and folder: `runs/1120-0931-get` and so on, with a number where that exists.
fn name_folder(flags: &BenchFlags, grid: &Grid) -> Result<(String, PathBuf), Failure> {
    if let Some(path) = &flags.output.output {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-._".contains(c) { c } else { '-' };
        let id: String = name.chars().map(plain).take(64).collect();
        return Ok((if id.is_empty() { "run".into() } else { id }, path.clone()));
    }
    let words: Vec<&str> = grid.workloads.iter().filter_map(|w| w.name.split(' ').next()).collect();
    let stem = format!("{}-{}", jiff::Zoned::now().strftime("%m%d-%H%M"), words.join("-"));
    let names = std::iter::once(stem.clone()).chain((2..1000).map(|n| format!("{stem}-{n}")));
    let free = names.map(|id| (Path::new("runs").join(&id), id)).find(|(path, _)| !path.exists());
    let (path, id) =
        free.ok_or_else(|| Failure::usage(format!("runs/{stem} exists a thousand times: name --output")))?;
    Ok((id, path))
}
