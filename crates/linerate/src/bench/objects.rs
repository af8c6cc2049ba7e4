//! Objects of a run at the target: written before reading, and deleted again. Nothing else is ever deleted.

use linerate_load::bucket::{Bucket, BucketError, DELETE_KEYS_MAX};
use linerate_load::multipart::Unfinished;
use linerate_load::object::ObjectId;
use linerate_load::sizes::Sizes;
use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::units::Rate;

use super::parts;
use super::setup::Setup;
use crate::progress::Progress;

/// Objects `0..until` of a set may exist at the target.
struct Written {
    set: u32,
    until: u64,
    sizes: Sizes,
}

/// What the run has written and not yet deleted: a few numbers per set, however many objects.
pub(super) struct Objects<'a> {
    setup: &'a Setup<'a>,
    written: Vec<Written>,
    next_set: u32,
    unended_writes: u64,
    /// Multipart uploads to abort.
    unfinished: Vec<Unfinished>,
}

impl<'a> Objects<'a> {
    pub(super) fn new(setup: &'a Setup<'a>) -> Self {
        Objects { setup, written: Vec::new(), next_set: 0, unended_writes: 0, unfinished: Vec::new() }
    }

    /// A set that nothing was written to.
    pub(super) fn new_set(&mut self) -> u32 {
        self.next_set += 1;
        self.next_set - 1
    }

    /// Notes that objects below `until` of a set may exist.
    pub(super) fn note(&mut self, set: u32, until: u64, sizes: &Sizes) {
        if until > 0 {
            self.written.push(Written { set, until, sizes: sizes.clone() });
        }
    }

    /// Notes writes that were given up and may be stored yet, and uploads that were not completed.
    pub(super) fn note_unended(&mut self, writes: u64, uploads: Vec<Unfinished>) {
        self.unended_writes += writes;
        self.unfinished.extend(uploads);
    }

    /// Aborts uploads that were not completed, whatever --noclear says: their parts are no objects, are seen by nobody,
    /// and are paid for. Those that could not be aborted stay noted.
    fn abort_uploads(&mut self) -> Result<(), BucketError> {
        if self.unfinished.is_empty() {
            return Ok(());
        }
        let mut bucket = Bucket::connect_any(&self.setup.session)?;
        while let Some(last) = self.unfinished.last() {
            bucket.abort(last)?;
            self.unfinished.pop();
        }
        Ok(())
    }

    /// Aborts what is left of uploads at the end, noted or not; tells what remains.
    fn abort_all(&mut self) -> Vec<Finding> {
        if !parts::wanted(&self.setup.flags.work, &self.setup.grid) {
            return Vec::new();
        }
        let aborted = self.abort_uploads();
        let left = aborted.and_then(|()| Bucket::connect_any(&self.setup.session)?.sweep_uploads());
        match left {
            Ok(0) => Vec::new(),
            Ok(n) => vec![left_behind(self.setup, &format!("{n} or more multipart uploads could not be aborted"))],
            Err(error) => vec![left_behind(self.setup, &format!("aborting multipart uploads: {error}"))],
        }
    }

    /// Deletes every set but `keep`. What could not be deleted stays noted, for the end.
    pub(super) fn clear_except(&mut self, keep: Option<u32>, progress: &Progress) {
        // What cannot be aborted now is tried again at the end, and told there.
        let _ = self.abort_uploads();
        if self.setup.flags.work.noclear {
            return;
        }
        let (setup, mut lost) = (self.setup, false);
        self.written.retain(|written| {
            // After one failure the others wait for the next time: a target that hangs would hold up each in turn.
            let stays = Some(written.set) == keep || lost;
            if !stays {
                lost = delete_set(setup, written, progress).is_err();
            }
            stays || lost
        });
    }

    /// Deletes everything, then looks whether something is left: a PUT that was cut off may have been stored since.
    pub(super) fn clear_all(&mut self, progress: &Progress) -> Vec<Finding> {
        if self.next_set == 0 {
            return Vec::new();
        }
        let mut findings = self.abort_all();
        findings.extend(self.delete_all(progress));
        findings
    }

    fn delete_all(&mut self, progress: &Progress) -> Vec<Finding> {
        if self.setup.flags.work.noclear {
            return if self.written.is_empty() { Vec::new() } else { vec![kept(self.setup)] };
        }
        self.clear_except(None, progress);
        match Bucket::connect_any(&self.setup.session).and_then(|mut bucket| bucket.sweep_up()) {
            Ok(0) if self.unended_writes > 0 => {
                let n = self.unended_writes;
                vec![left_behind(self.setup, &format!("{n} writes were given up; the target may store them yet"))]
            }
            Ok(0) => Vec::new(),
            Ok(left) => vec![left_behind(self.setup, &format!("{left} or more objects could not be deleted"))],
            Err(error) => vec![left_behind(self.setup, &error.to_string())],
        }
    }
}

fn delete_set(setup: &Setup<'_>, written: &Written, progress: &Progress) -> Result<(), BucketError> {
    let mut bucket = Bucket::connect_any(&setup.session)?;
    // A cap on requests, or the rate of an open loop, holds for deletions too: a call of a thousand keys costs a target
    // a thousand deletions.
    let (batch, pause_s) = match setup.grid.cap(&setup.flags.work) {
        Some(Rate::Requests(per_s)) => ((per_s as usize).clamp(1, DELETE_KEYS_MAX), 1.0 / per_s),
        _ => (DELETE_KEYS_MAX, 0.0),
    };
    let mut seq = 0;
    while seq < written.until {
        let end = written.until.min(seq + batch as u64);
        let ids: Vec<_> = (seq..end)
            .map(|seq| {
                let id = ObjectId { set: written.set, seq };
                (id, written.sizes.of(setup.session.seed, id))
            })
            .collect();
        bucket.delete(&ids)?;
        progress.live(&format!("deleting objects of this run: {end} of {}", written.until));
        std::thread::sleep(std::time::Duration::from_secs_f64(pause_s * ids.len() as f64));
        seq = end;
    }
    Ok(())
}

fn kept(setup: &Setup<'_>) -> Finding {
    Finding {
        severity: Severity::Note,
        claim: "the objects of this run were left at the target, as --noclear asks".into(),
        remedy: format!("linerate clean {} deletes them when they are no longer wanted", setup.folder.display()),
        ..left_behind(setup, "")
    }
}

/// Objects of the run remain, and why.
pub(super) fn left_behind(setup: &Setup<'_>, why: &str) -> Finding {
    Finding {
        kind: FindingKind::LeftBehind,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points: Vec::new(),
        claim: "objects or a bucket of this run remain at the target".into(),
        evidence: why.to_owned(),
        remedy: format!("linerate clean {} deletes what is below {}", setup.folder.display(), place(setup)),
    }
}

fn place(setup: &Setup<'_>) -> String {
    format!("s3://{}/{}", setup.session.bucket, setup.session.run_prefix)
}
