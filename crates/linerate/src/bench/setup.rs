//! Before the load: who is loaded, with whose consent, under which keys, and what the run folder says of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use linerate_host::Root;
use linerate_load::body::{Bodies, Unique};
use linerate_load::bucket::Bucket;
use linerate_load::clock::Clock;
use linerate_load::hosts::{self, Host};
use linerate_load::session::{Existing, HostSelect, Lookup, Payload, Session};
use linerate_load::sigv4::Credentials;
use linerate_load::sizes::Sizes;
use linerate_load::sys::process_cpu_ns;
use linerate_record::run::{Asked, Manifest, PointSpec, SCHEMA, Target};
use rustix::process::{Resource, getrlimit, setrlimit};

use crate::child::{self, TargetProcess};
use crate::cli::{BenchFlags, HostSelectFlag, LookupFlag, PayloadFlag, TargetKind, UniqueFlag, name_of};
use crate::failure::Failure;
use crate::folder::{self, RunFolder};
use crate::grid::{self, Grid, Timing};
use crate::metrics::{self, Exporter};
use crate::{consent, credentials};

/// How the size of objects that were there before is called in points.
pub(super) const EXISTING_SIZE: &str = "existing";

/// Intervals of one ceiling: 0.2 s of warm-up and 0.5 s measured.
pub(super) const CEILING: Timing = Timing { interval_ms: 100, warmup: 2, all: 7, bytes_max: 0 };

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
    id: String,
    /// Ends with the setup.
    _process: Option<TargetProcess>,
    server: Option<String>,
    made_bucket: bool,
}

impl<'a> Setup<'a> {
    pub(crate) fn make(flags: &'a BenchFlags) -> Result<Self, Failure> {
        let grid = Grid::parse(&flags.work)?;
        check_together(flags, &grid)?;
        let (id, folder) = name_folder(flags, &grid)?;
        folder::require_free(&folder)?;
        allow_open_files();
        let region = credentials::region(&flags.keys);
        let Aim { hosts, credentials, process } = aim(flags, &grid)?;
        let seed = seed()?;
        let session = Session {
            lookup: match flags.target.lookup {
                LookupFlag::Path => Lookup::Path,
                LookupFlag::Host => Lookup::VirtualHost,
            },
            bucket: flags.target.bucket.clone(),
            run_prefix: format!("{}linerate-{id}-{:08x}/", flags.target.prefix, seed >> 32),
            credentials,
            region,
            payload: match flags.work.payload {
                PayloadFlag::Signed => Payload::Signed,
                PayloadFlag::Unsigned => Payload::Unsigned,
            },
            bodies: Arc::new(bodies(flags, &grid, seed)),
            host_select: match flags.target.host_select {
                HostSelectFlag::RoundRobin => HostSelect::RoundRobin,
                HostSelectFlag::LeastOutstanding => HostSelect::LeastOutstanding,
            },
            timeout_ns: u64::try_from(flags.work.timeout.as_nanos()).unwrap_or(u64::MAX),
            seed,
            hosts,
        };
        let ops = grid.workloads.iter().map(|w| w.name.matches('=').count().max(1)).max().unwrap_or(1);
        let timing = grid::timing(&flags.work, grid.points().len(), session.hosts.len(), ops);
        let metrics = metrics(flags, &session, grid.points().len())?;
        Ok(Setup {
            metrics,
            target_pid: flags.target.target_pid.or_else(|| process.as_ref().map(TargetProcess::pid)),
            threads: flags.work.threads.unwrap_or_else(grid::processors),
            clock: Clock::start(),
            existing: Arc::default(),
            server: None,
            made_bucket: false,
            _process: process,
            flags,
            grid,
            session,
            timing,
            folder,
            id,
        })
    }

    /// Reaches every host, makes the bucket where there is none, and lists what is to be read.
    pub(crate) fn open_bucket(&mut self) -> Result<(), Failure> {
        for host in 1..self.session.hosts.len() {
            Bucket::connect(&self.session, host)?;
        }
        let mut bucket = Bucket::connect(&self.session, 0)?;
        let (exists, server) = bucket.exists()?;
        self.server = server;
        if !exists {
            if self.flags.work.list_existing {
                let name = &self.session.bucket;
                return Err(Failure::usage(format!(
                    "bucket {name:?} does not exist, so --list-existing finds nothing in it"
                )));
            }
            self.made_bucket = bucket.create()?;
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

    /// Removes the bucket where the run made it and left nothing in it.
    pub(crate) fn close_bucket(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.made_bucket) && !self.flags.work.noclear {
            Bucket::connect_any(&self.session)?.remove()?;
        }
        Ok(())
    }

    /// How long the run will take, setting up and clearing left aside.
    pub(crate) fn expected(&self) -> Duration {
        let point_ms = self.timing.interval_ms * self.timing.all;
        let points = self.points().len() as u64;
        let series = points / self.grid.concurrencies.len() as u64;
        let ceilings = if self.wants_ceilings() { series * CEILING.interval_ms * CEILING.all } else { 0 };
        Duration::from_millis(points * point_ms + ceilings)
    }

    /// A run against the null target is a ceiling itself.
    pub(crate) fn wants_ceilings(&self) -> bool {
        !self.flags.output.no_ceiling && self.flags.target.target != Some(TargetKind::Null)
    }

    /// The points, as the folder names them.
    pub(crate) fn points(&self) -> Vec<PointSpec> {
        let mut points = self.grid.points();
        if self.flags.work.list_existing {
            // What is there has the sizes that it has: --obj.size makes no points of its own.
            let first = self.grid.sizes[0].to_string();
            points.retain(|p| p.size == first);
            points.iter_mut().for_each(|p| EXISTING_SIZE.clone_into(&mut p.size));
        }
        points
    }

    /// Writes the manifest.
    pub(crate) fn begin_folder(&self) -> Result<(RunFolder, Manifest), Failure> {
        folder::make(&self.folder)?;
        let (machine, unreadable) = linerate_host::machine(&Root::live());
        let target = &self.flags.target;
        let manifest = Manifest {
            schema: SCHEMA,
            id: self.id.clone(),
            linerate_version: env!("CARGO_PKG_VERSION").into(),
            started_unix_ms: unix_ms(),
            seed: self.session.seed,
            asked: self.asked(),
            target: Target {
                kind: match (&self._process, target.target) {
                    (None, _) => "s3".into(),
                    (Some(_), kind) => name_of(kind.unwrap_or(TargetKind::Embedded)),
                },
                hosts: self.session.hosts.iter().map(|h| h.authority.clone()).collect(),
                server: self.server.clone(),
                lookup: name_of(target.lookup),
                region: self.session.region.clone(),
                on_this_machine: consent::on_this_machine(&self.session.hosts),
            },
            machine,
            interval_ms: self.timing.interval_ms,
            intervals_bytes_max: self.timing.bytes_max,
        };
        let mut folder = folder::begin(&self.folder, &manifest)?;
        for unreadable in unreadable {
            folder.findings.push(&crate::readings::finding(unreadable))?;
        }
        Ok((folder, manifest))
    }

    fn asked(&self) -> Asked {
        let work = &self.flags.work;
        let ms = |intervals: u64| intervals * self.timing.interval_ms;
        Asked {
            points: self.points(),
            duration_ms: ms(self.timing.all - self.timing.warmup),
            warmup_ms: ms(self.timing.warmup),
            threads: self.threads,
            objects: work.objects.unwrap_or_else(|| grid::read_set_objects(work, &self.grid.sizes[0])),
            bucket: self.session.bucket.clone(),
            prefix: self.session.run_prefix.clone(),
            payload: name_of(work.payload),
            unique: name_of(work.unique),
            verify: work.verify,
            range_bytes: work.range_size.map(|r| r.0),
            max_rate: work.max_rate.map(|rate| rate.to_string()),
            host_select: name_of(self.flags.target.host_select),
            noclear: work.noclear,
            list_existing: work.list_existing,
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
    credentials: Option<Credentials>,
    process: Option<TargetProcess>,
}

/// Finds the hosts and their keys, and asks for consent; or starts a target of linerate's own.
fn aim(flags: &BenchFlags, grid: &Grid) -> Result<Aim, Failure> {
    // Who asks for a target of linerate's own does not mean the endpoint of the environment.
    let own = flags.target.target.is_some() || flags.target.drive.is_some();
    let variables: &[&str] = if own { &[] } else { &["WARP_HOST", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"] };
    let Some(text) = credentials::flag_or_env(flags.target.host.as_ref(), variables) else {
        let kind = flags.target.target.unwrap_or(TargetKind::Embedded);
        let credentials = credentials::ephemeral()?;
        let process = child::start(kind, flags.target.drive.as_deref(), Some(&credentials))?;
        return Ok(Aim { hosts: vec![local(&process)], credentials: Some(credentials), process: Some(process) });
    };
    let hosts = hosts::resolve(&hosts::parse(&text)?)?;
    let credentials = credentials::find(&flags.keys)?;
    let load = grid::in_words(grid, &flags.work, grid.points().len());
    consent::obtain(&hosts, flags.target.yes_load, &load)?;
    Ok(Aim { hosts, credentials, process: None })
}

/// Flags that are right one by one and wrong together.
fn check_together(flags: &BenchFlags, grid: &Grid) -> Result<(), Failure> {
    let work = &flags.work;
    let writes = grid.workloads.iter().any(|w| !matches!(w.name.as_str(), "get" | "stat" | "list"));
    if work.list_existing && writes {
        return Err(Failure::usage("--list-existing only reads: use it with --op get, stat or list"));
    }
    if work.verify && work.list_existing {
        return Err(Failure::usage("--verify needs objects that the run wrote: drop --list-existing or --verify"));
    }
    if work.verify && flags.target.target == Some(TargetKind::Null) {
        return Err(Failure::usage("--verify has nothing to compare with on --target null, which stores nothing"));
    }
    if work.timeout < Duration::from_millis(1) {
        return Err(Failure::usage(format!("--timeout {:?} fails every request: give 1ms or more", work.timeout)));
    }
    if let Some(pid) = flags.target.target_pid.filter(|&pid| process_cpu_ns(pid).is_err()) {
        return Err(Failure::usage(format!("--target-pid {pid} is no process that can be looked at on this machine")));
    }
    if work.range_size.is_some_and(|r| r.0 == 0) {
        return Err(Failure::usage("--range-size 0 reads nothing: give a length such as 64KiB"));
    }
    let bucket = &flags.target.bucket;
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._".contains(&b);
    if bucket.len() < 3 || bucket.len() > 63 || !bucket.bytes().all(plain) {
        let rule = "3 to 63 letters, digits, dots, dashes or underscores";
        return Err(Failure::usage(format!("invalid bucket name {bucket:?}: write {rule}")));
    }
    if flags.target.prefix.len() > 512 || flags.target.prefix.starts_with('/') {
        let prefix = &flags.target.prefix;
        return Err(Failure::usage(format!("invalid prefix {prefix:?}: write up to 512 bytes, not beginning with /")));
    }
    Ok(())
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

fn bodies(flags: &BenchFlags, grid: &Grid, seed: u64) -> Bodies {
    let unique = match flags.work.unique {
        UniqueFlag::Tail => Unique::Tail,
        UniqueFlag::Full => Unique::Full,
    };
    if flags.work.payload == PayloadFlag::Unsigned {
        return Bodies::new(seed, unique, &[], None);
    }
    let named: Vec<u64> = grid.sizes.iter().flat_map(Sizes::each).collect();
    let others = grid.sizes.iter().filter(|s| s.each().is_empty()).map(Sizes::max).max();
    Bodies::new(seed, unique, &named, others)
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
