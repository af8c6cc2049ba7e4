//! `linerate clean`: deletes what a run left at its target, from what its folder says of it.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use linerate_load::body::{Bodies, Unique};
use linerate_load::bucket::{Bucket, BucketError, DELETE_KEYS_MAX, Leftover};
use linerate_load::hosts;
use linerate_load::session::{HostSelect, Lookup, Payload, Session};
use linerate_load::tls::Tls;
use linerate_record::run::Manifest;
use linerate_record::units::Rate;

use crate::cli::CleanFlags;
use crate::failure::Failure;
use crate::{credentials, folder, report, trust};

/// How often everything is gone through: an object may be stored late, and a listing may tell of one that is gone.
const PASSES: usize = 3;

/// How long it is waited between looks, of how many in a row that find nothing is believed that nothing comes any more,
/// and how many there are at the most: what was in flight may be stored seconds later by a busy server.
const LATE: Duration = Duration::from_secs(1);
const QUIET_LOOKS: usize = 3;
const LOOKS_MAX: usize = 12;

/// Pages in a row without anything of the run, after which a listing is taken not to end.
const EMPTY_PAGES_MAX: usize = 1000;

pub(crate) fn run(flags: &CleanFlags) -> Result<ExitCode, Failure> {
    let (said, left) = clean(flags)?;
    report::print(&said)?;
    left.map_or(Ok(ExitCode::SUCCESS), Err)
}

/// Deletes what a run left; says what was done, and what could not be.
pub(crate) fn clean(flags: &CleanFlags) -> Result<(String, Option<Failure>), Failure> {
    let manifest = folder::read_manifest(&flags.run)?;
    let session = session(&manifest, flags)?;
    if folder::is_being_written(&flags.run) {
        let run = flags.run.display();
        return Err(Failure::usage(format!("the run in {run} still goes on: end it first, with Ctrl-C")));
    }
    let mut bucket = Bucket::connect_any(&session)?;
    if !bucket.exists()?.0 {
        return Ok((format!("nothing is left: there is no bucket {:?}\n", session.bucket), None));
    }
    let mut cleaning =
        Cleaning { bucket, session: &session, dry_run: flags.dry_run, cap: cap(&manifest), done: Done::default() };
    cleaning.all()?;
    let made = manifest.target.bucket_made;
    cleaning.done.bucket_removed = made && !flags.dry_run && cleaning.bucket.remove()?;
    let left = (cleaning.done.left > 0).then(|| Failure::Left { left: cleaning.done.left, place: place(&session) });
    Ok((cleaning.said(made), left))
}

/// The session of a run, as far as cleaning needs it.
fn session(manifest: &Manifest, flags: &CleanFlags) -> Result<Session, Failure> {
    let (target, asked, run) = (&manifest.target, &manifest.asked, flags.run.display());
    if target.kind != "s3" {
        let kind = &target.kind;
        return Err(Failure::usage(format!("nothing to clean: the {kind} target of {run} went with its run")));
    }
    // Whatever became of run.json, only what a run of linerate may have written is deleted.
    let own = format!("linerate-{}-{:08x}/", manifest.id, manifest.seed >> 32);
    if !asked.prefix.ends_with(&own) {
        let prefix = &asked.prefix;
        let why = format!("run.json: prefix {prefix:?} does not end in {own:?}, so it is not this run's own");
        return Err(Failure::NotARun { path: flags.run.clone(), why });
    }
    // As they were written: not to be read again, where "file:80" would be a file.
    let hosts = hosts::resolve(&target.hosts)?;
    let lookup = if target.lookup == "host" { Lookup::VirtualHost } else { Lookup::Path };
    let tls = match &target.tls {
        Some(_) => {
            let trust = trust::find(flags.insecure, flags.ca_file.as_deref())?;
            Some(Tls::new(trust, &hosts, lookup, &asked.bucket)?)
        }
        None => None,
    };
    Ok(Session {
        hosts,
        tls,
        sources: Vec::new(),
        lookup,
        bucket: asked.bucket.clone(),
        run_prefix: asked.prefix.clone(),
        credentials: credentials::find(&flags.keys)?,
        region: flags.keys.region.clone().unwrap_or_else(|| target.region.clone()),
        payload: Payload::Signed,
        bodies: Arc::new(Bodies::new(manifest.seed, Unique::Tail, &[], None)),
        host_select: HostSelect::RoundRobin,
        timeout_ns: 60_000_000_000,
        seed: manifest.seed,
    })
}

/// Requests per second that the run was held to: it holds for deletions too.
fn cap(manifest: &Manifest) -> Option<f64> {
    match manifest.asked.max_rate.as_deref()?.parse() {
        Ok(Rate::Requests(per_s)) => Some(per_s),
        _ => None,
    }
}

fn place(session: &Session) -> String {
    format!("s3://{}/{}", session.bucket, session.run_prefix)
}

/// What was found and deleted; in a dry run, what was found.
#[derive(Default)]
struct Done {
    objects: usize,
    versions: usize,
    uploads: usize,
    /// Could not be deleted.
    left: usize,
    /// What this target does not list.
    unlisted: Vec<&'static str>,
    bucket_removed: bool,
}

impl Done {
    fn found(&self) -> usize {
        self.objects + self.versions + self.uploads
    }
}

struct Cleaning<'a> {
    bucket: Bucket<'a>,
    session: &'a Session,
    dry_run: bool,
    cap: Option<f64>,
    done: Done,
}

impl Cleaning<'_> {
    /// Everything, until looks some time later find nothing more: a server goes on storing what a run was sending when
    /// it was killed. Where the first finds nothing, nothing was left.
    fn all(&mut self) -> Result<(), Failure> {
        let mut quiet = 0;
        for look in 0..LOOKS_MAX {
            let found_before = self.done.found();
            self.done.unlisted.clear();
            self.uploads()?;
            self.objects()?;
            self.versions()?;
            quiet = if self.done.found() > found_before { 0 } else { quiet + 1 };
            let is_quiet = quiet == QUIET_LOOKS || self.done.found() == 0;
            if self.dry_run || is_quiet || self.done.left > 0 || look + 1 == LOOKS_MAX {
                break;
            }
            std::thread::sleep(LATE);
        }
        Ok(())
    }

    fn uploads(&mut self) -> Result<(), Failure> {
        let Some(uploads) = self.bucket.uploads()? else {
            self.done.unlisted.push("unfinished uploads");
            return Ok(());
        };
        for upload in uploads {
            if self.dry_run {
                report::print(&format!("upload   {} {}\n", upload.key, upload.id))?;
                self.done.uploads += 1;
            } else {
                self.done.uploads += usize::from(self.bucket.abort_upload(&upload)?);
                self.pause(1);
            }
        }
        Ok(())
    }

    fn objects(&mut self) -> Result<(), Failure> {
        let prefix = self.session.run_prefix.clone();
        self.done.objects += self.passes(|bucket, from: Option<&String>| {
            let page = bucket.objects(&prefix, from)?;
            let own = page.entries.into_iter().map(|o| o.key).filter(|key| key.starts_with(&prefix));
            Ok(Some((own.map(Leftover::Object).collect(), page.next)))
        })?;
        Ok(())
    }

    /// Objects of a bucket with versions are still there when they are deleted: as versions, below delete markers.
    fn versions(&mut self) -> Result<(), Failure> {
        let mut known = true;
        let dry_run = self.dry_run;
        self.done.versions += self.passes(|bucket, from| {
            let page = bucket.versions(from)?;
            known = page.is_some();
            // Without versions, each object is a version called "null"; a dry run has told of it.
            let told = |id: &str| dry_run && id == "null";
            Ok(page.map(|page| {
                let fresh = page.entries.into_iter().filter(|version| !told(&version.id));
                (fresh.map(Leftover::Version).collect(), page.next)
            }))
        })?;
        if !known {
            self.done.unlisted.push("versions");
        }
        Ok(())
    }

    /// Goes through a listing page by page and deletes what it lists, until it lists nothing; returns how many.
    fn passes<Next: PartialEq>(
        &mut self,
        mut list: impl FnMut(&mut Bucket<'_>, Option<&Next>) -> Listed<Next>,
    ) -> Result<usize, Failure> {
        let (mut deleted, mut left) = (0, 0);
        for _ in 0..PASSES {
            let (mut from, mut found, mut empty) = (None, 0, 0);
            left = 0;
            while let Some((page, next)) = list(&mut self.bucket, from.as_ref())? {
                let gone = self.delete(&page)?;
                (found, deleted, left) = (found + page.len(), deleted + gone, left + page.len() - gone);
                empty = if page.is_empty() { empty + 1 } else { 0 };
                if next.is_none() || next == from || empty > EMPTY_PAGES_MAX {
                    break;
                }
                from = next;
            }
            if found == 0 || self.dry_run {
                break;
            }
        }
        self.done.left += left;
        Ok(deleted)
    }

    /// Deletes, or names in a dry run; returns how many.
    fn delete(&mut self, page: &[Leftover]) -> Result<usize, Failure> {
        if self.dry_run {
            let line = |one: &Leftover| match one {
                Leftover::Object(key) => format!("object   {key}\n"),
                Leftover::Version(version) => format!("version  {} {}\n", version.key, version.id),
            };
            report::print(&page.iter().map(line).collect::<String>())?;
            return Ok(page.len());
        }
        let batch = self.cap.map_or(DELETE_KEYS_MAX, |per_s| (per_s as usize).clamp(1, DELETE_KEYS_MAX));
        let mut gone = 0;
        for batch in page.chunks(batch) {
            gone += self.bucket.delete_leftovers(batch)?;
            self.pause(batch.len());
        }
        Ok(gone)
    }

    fn pause(&self, requests: usize) {
        if let Some(per_s) = self.cap {
            std::thread::sleep(Duration::from_secs_f64(requests as f64 / per_s));
        }
    }

    /// What was done, in words.
    fn said(&self, bucket_made: bool) -> String {
        let done = &self.done;
        let parts: Vec<String> = [
            (done.objects, "object", "objects"),
            (done.versions, "version or delete marker", "versions and delete markers"),
            (done.uploads, "unfinished upload", "unfinished uploads"),
        ]
        .into_iter()
        .filter(|(n, ..)| *n > 0)
        .map(|(n, one, many)| format!("{n} {}", if n == 1 { one } else { many }))
        .collect();
        let (place, name) = (place(self.session), &self.session.bucket);
        let mut said = match (parts.is_empty(), self.dry_run) {
            (true, _) => format!("nothing is left below {place}\n"),
            (false, true) => format!("would delete {} below {place}\n", parts.join(", ")),
            (false, false) => format!("deleted {} below {place}\n", parts.join(", ")),
        };
        for unlisted in &done.unlisted {
            said += &format!("{unlisted} were not looked for: this target does not list them\n");
        }
        said += &match (bucket_made, done.bucket_removed, self.dry_run) {
            (true, true, _) => format!("removed bucket {name:?}, which the run had made\n"),
            (true, false, true) => {
                format!("would remove bucket {name:?}, which the run made, if nothing else is in it\n")
            }
            (true, false, false) => format!("kept bucket {name:?}, which the run made: something else is in it\n"),
            (false, ..) => String::new(),
        };
        said
    }
}

/// A page of leftovers, and where the next begins; nothing where the target does not list them.
type Listed<Next> = Result<Option<(Vec<Leftover>, Option<Next>)>, BucketError>;
