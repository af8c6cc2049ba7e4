//! The canary: an open loop of a few small requests per second alongside the load, on a thread and connections of its
//! own.
//!
//! It runs from before the load on, so that there is something to compare with, and raises a flag where it exceeds a
//! bound; whoever drives the load looks at the flag ten times a second.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use linerate_analysis::canary::{BASELINE_REQUESTS, CanaryTrip, CanaryWatch, timeout_ns};
use linerate_analysis::findings::canary_tripped;
use linerate_load::multipart::{PART_BYTES_MIN, Parts};
use linerate_load::point::{PointDriver, drive};
use linerate_load::session::{EndCondition, PointPlan, Session, Source};
use linerate_load::supervisor::PointSupervisor;
use linerate_record::canary::CanaryLine;
use linerate_record::finding::Finding;
use linerate_record::histogram::Latencies;
use linerate_record::load::{CanaryRules, Sizes, Spacing, Workload};
use linerate_record::run::{Interval, Op, StopReason};
use linerate_wire::open_loop::Arrivals;

use super::objects::RunObjects;
use super::open_run::OpenRun;
use crate::files::run_folder;
use crate::run::interrupt;
use crate::terminal::failure::Failure;
use crate::terminal::key_masks;
use crate::terminal::progress::{LiveLine, Progress};

/// Size of the object that the canary reads.
const OBJECT_BYTES: &str = "4096";

/// How often the canary is looked at.
const INTERVAL_NS: u64 = 200_000_000;

/// Requests of the canary in flight at the most.
const CONCURRENCY: u32 = 64;

/// A canary that is running.
pub(super) struct CanaryThread {
    stop: Arc<AtomicBool>,
    loaded: Arc<AtomicBool>,
    answered: Arc<AtomicU64>,
    /// Raised where a bound is exceeded.
    pub(super) tripped: Arc<AtomicBool>,
    thread: JoinHandle<Result<Option<CanaryTrip>, Failure>>,
    /// Set and sizes of the object that it reads, where it wrote one.
    wrote: Option<(u32, Sizes)>,
}

/// Ends points where the canary has exceeded a bound, and says on the live line what a point waits for.
pub(super) struct RunSupervisor {
    pub(super) is_halted: Arc<AtomicBool>,
    pub(super) live_line: LiveLine,
}

impl PointSupervisor for RunSupervisor {
    fn stop_reason(&self) -> Option<StopReason> {
        self.is_halted.load(Ordering::Relaxed).then_some(StopReason::Canary)
    }

    fn waits_for_in_flight(&self) {
        self.live_line.show("measured; waiting for the requests that are still in flight");
    }
}

/// Starts the canary, where bounds on it were given, and waits for its baseline.
pub(super) fn start(
    run: &OpenRun<'_>,
    objects: &mut RunObjects<'_>,
    interrupted: &AtomicBool,
    progress: &Progress,
) -> Result<Option<CanaryThread>, Failure> {
    let Some(CanaryRules { per_s, abort_if: rules }) = run.prepared.load.stops.canary.clone() else { return Ok(None) };
    let sizes: Sizes = OBJECT_BYTES.parse().map_err(Failure::usage)?;
    let session =
        Session { timeout_ns: timeout_ns(&rules, run.prepared.session.timeout_ns), ..run.prepared.session.clone() };
    let (op, source, wrote) = if run.target.existing.is_empty() {
        let set = objects.new_set();
        objects.note_one_ahead();
        write_canary_object(run, &sizes, set, interrupted)?;
        (Op::Get, Source::Set { set, count: 1 }, Some((set, sizes.clone())))
    } else {
        (Op::Stat, Source::Existing(run.target.existing.clone()), None)
    };
    let arrivals = Some(Arrivals { per_s, spacing: Spacing::Constant, point: 0, client: (0, 1) });
    let plan = PointPlan { arrivals, until: EndCondition::Intervals(u64::MAX), source, ..plan(op, sizes) };
    let mut lines = run_folder::open_lines(&run.prepared.folder, "canary.jsonl")?;
    let (stop, loaded, tripped) = (flag(), flag(), flag());
    let answered = Arc::new(AtomicU64::new(0));
    let (ends, under_load, trips, counts) = (stop.clone(), loaded.clone(), tripped.clone(), answered.clone());
    let clock = run.prepared.clock;
    let thread = std::thread::spawn(move || {
        let mut unguarded = TripOnDrop(Some(trips.clone()));
        let with = PointDriver::new(&session, clock, &ends);
        let (mut watch, mut first, mut written) = (CanaryWatch::new(rules), None, Ok(()));
        let outcome = drive(&with, &plan, |figures| {
            let line = line(&figures, under_load.load(Ordering::Relaxed));
            let ended = line.total_ns.len() as u64 + line.errors.values().sum::<u64>();
            counts.fetch_add(ended, Ordering::Relaxed);
            if written.is_ok() && ended > 0 {
                written = lines.push(&line);
            }
            if let Some(exceeded) = watch.push(&line) {
                first.get_or_insert(exceeded);
                trips.store(true, Ordering::Relaxed);
            }
            // Nothing to go by is no reason to go on.
            trips.fetch_or(written.is_err(), Ordering::Relaxed);
            ControlFlow::Continue(())
        })?;
        // What it saw is reported by itself from here on.
        unguarded.0 = None;
        let unanswered = watch.unanswered(outcome.ended);
        trips.fetch_or(unanswered.is_some(), Ordering::Relaxed);
        // A run that ends before enough has come together is judged by all that there is.
        written.map(|()| first.or(unanswered).or_else(|| watch.at_the_end()))
    });
    let canary = CanaryThread { stop, loaded, answered, tripped, thread, wrote };
    progress.set_task("watching the canary before the load");
    canary.wait_for_baseline(per_s, interrupted);
    Ok(Some(canary))
}

impl CanaryThread {
    /// Waits for enough answers, for no longer than twice the time that they should take.
    fn wait_for_baseline(&self, per_s: f64, interrupted: &AtomicBool) {
        let looks = (2.0 * BASELINE_REQUESTS as f64 / per_s / 0.05) as u32 + 20;
        for _ in 0..looks {
            if self.answered.load(Ordering::Relaxed) >= BASELINE_REQUESTS || interrupt::is_set(interrupted) {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.loaded.store(true, Ordering::Relaxed);
    }

    /// Ends the canary, notes its object for clearing, and gives what it has to say.
    pub(super) fn stop(self, objects: &mut RunObjects<'_>) -> Result<Option<Finding>, Failure> {
        self.stop.store(true, Ordering::Relaxed);
        if let Some((set, sizes)) = &self.wrote {
            objects.note(*set, 1, sizes, None, Vec::new());
        }
        let panicked = |_| Err(Failure::Load("the canary's thread panicked: please report this".to_owned()));
        let exceeded = self.thread.join().unwrap_or_else(panicked)?;
        Ok(exceeded.as_ref().map(canary_tripped))
    }
}

/// A canary that cannot go on, for whatever reason, guards nothing: the load ends with it.
struct TripOnDrop(Option<Arc<AtomicBool>>);

impl Drop for TripOnDrop {
    fn drop(&mut self) {
        self.0.iter().for_each(|trips| trips.store(true, Ordering::Relaxed));
    }
}

fn flag() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}

fn plan(op: Op, sizes: Sizes) -> PointPlan {
    PointPlan {
        workload: Workload::Single(op),
        sizes,
        concurrency: CONCURRENCY,
        arrivals: None,
        retries: 0,
        error_limit: None,
        threads: 1,
        write_set: 0,
        write_first: 0,
        delete_first: 0,
        // The canary uploads nothing in parts.
        parts: Parts { bytes: PART_BYTES_MIN, concurrent: 1 },
        source: Source::Set { set: 0, count: 0 },
        listed: 0,
        listed_most: u64::MAX,
        range_bytes: None,
        verify: false,
        until: EndCondition::Written(1),
        cap: None,
        interval_ns: INTERVAL_NS,
    }
}

/// Writes the object that the canary reads.
fn write_canary_object(run: &OpenRun<'_>, sizes: &Sizes, set: u32, interrupted: &AtomicBool) -> Result<(), Failure> {
    let (session, clock) = (&run.prepared.session, run.prepared.clock);
    let with = PointDriver::new(session, clock, interrupted);
    let plan = PointPlan { write_set: set, concurrency: 1, ..plan(Op::Put, sizes.clone()) };
    let (mut written, mut kinds) = (0, Vec::new());
    drive(&with, &plan, |figures| {
        written += figures.rows.iter().map(|r| r.requests).sum::<u64>();
        kinds.extend(figures.rows.into_iter().flat_map(|r| r.errors.into_keys()));
        ControlFlow::Continue(())
    })?;
    if written == 0 && !interrupt::is_set(interrupted) {
        return Err(Failure::Prepare {
            count: 1,
            size: OBJECT_BYTES.to_owned(),
            kinds: kinds.join(", "),
            remedy: String::new(),
        });
    }
    Ok(())
}

fn line(figures: &Interval<Latencies>, loaded: bool) -> CanaryLine {
    let mut line = CanaryLine { at_ms: figures.to_ms, loaded, total_ns: Vec::new(), errors: Default::default() };
    for row in &figures.rows {
        for value in row.total_intended.iter().flat_map(|total| total.iter_recorded()) {
            let times = value.count_since_last_iteration() as usize;
            line.total_ns.extend(std::iter::repeat_n(value.value_iterated_to(), times));
        }
        for (kind, n) in &row.errors {
            *line.errors.entry(key_masks::mask_keys(kind)).or_default() += n;
        }
    }
    line
}
