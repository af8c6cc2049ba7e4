//! `tune --fleet` that is disturbed at random moments: coordinators are killed and frozen, the network is cut, agents
//! and nodes are killed and frozen, disks are full, one of it or two. Whatever happens, every value of every node is as
//! before or as confirmed, and every report is true of every node. `make rollouts` has 300 moments on 16 nodes.

mod conducted;
mod drawn;
mod judged;
mod struck;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use libtest_mimic::Failed;
use serde::Serialize;

use conducted::{Came, Fleet};
use drawn::{AIMS, Moment, PHASES};

use super::fleet_changed::NEEDS;
use crate::NamedCheck;

/// What is checked, and what it needs.
pub(crate) const CHECKS: [NamedCheck; 1] =
    [("tune_fleet_at_random_moments_is_in_no_state_that_no_report_tells", NEEDS, at_random_moments)];

/// Moments, nodes of a fleet, and fleets at once, where nothing else is asked for: two moments for each aim.
const MOMENTS: u64 = 24;
const NODES: usize = 6;
const FLEETS: usize = 4;

/// So many moments fail, and no more are tried.
const FAILED_MAX: usize = 6;

/// A moment with what came of it, as a line.
#[derive(Clone, Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    moment: Moment,
    #[serde(flatten)]
    came: Came,
    took_ms: u64,
    /// What is not as it should be.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

/// What is asked for by the environment.
struct Requested {
    moments: u64,
    nodes: usize,
    fleets: usize,
    seed: u64,
}

fn requested_of<T: FromStr>(name: &str, otherwise: T) -> Result<T, Failed> {
    let Some(text) = std::env::var(name).ok().filter(|text| !text.is_empty()) else { return Ok(otherwise) };
    text.parse().map_err(|_| format!("invalid {name}={text:?}: write a number").into())
}

fn at_random_moments() -> Result<(), Failed> {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
    let requested = Requested {
        moments: requested_of("LINERATE_ROLLOUT_MOMENTS", MOMENTS)?,
        nodes: requested_of("LINERATE_ROLLOUT_NODES", NODES)?.clamp(2, 200),
        fleets: requested_of("LINERATE_ROLLOUT_FLEETS", FLEETS)?.clamp(1, 26),
        seed: requested_of("LINERATE_ROLLOUT_SEED", u64::try_from(clock).unwrap_or(0) % 1_000_000)?,
    };
    let Requested { moments, nodes, fleets, seed } = requested;
    println!("{moments} moments from LINERATE_ROLLOUT_SEED={seed}, {fleets} fleets of {nodes} nodes at once");
    let out = std::env::var_os("LINERATE_ROLLOUT_OUT");
    let (next, rows, begun) = (AtomicU64::new(0), Mutex::new(Vec::new()), Instant::now());
    let went = thread::scope(|scope| {
        let fleets: Vec<_> = (0..fleets)
            .map(|fleet| {
                scope.spawn({
                    let (requested, next, rows) = (&requested, &next, &rows);
                    move || through_moments(fleet, requested, (next, rows))
                })
            })
            .collect();
        // All are waited for, whatever became of one.
        let ended: Vec<Result<(), Failed>> =
            fleets.into_iter().map(|fleet| fleet.join().unwrap_or_else(|_| Err("a fleet panicked".into()))).collect();
        ended.into_iter().collect::<Result<(), Failed>>()
    });
    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by_key(|row: &Row| row.moment.seed.wrapping_sub(seed));
    let summary = summary(&rows, &requested, begun.elapsed());
    print!("{summary}");
    if let Some(out) = out {
        written(Path::new(&out), &rows, &summary)?;
    }
    went?;
    verdict(&rows, moments)
}

/// Has a fleet go through moments as long as there are any; for each whose verb had ended before it there is one more,
/// up to half as many. One that failed leaves nobody knows what: then with a new
/// fleet.
fn through_moments(
    number: usize,
    requested: &Requested,
    (next, rows): (&AtomicU64, &Mutex<Vec<Row>>),
) -> Result<(), Failed> {
    let locked = || rows.lock().unwrap_or_else(PoisonError::into_inner);
    let mut fleet: Option<Fleet> = None;
    let mut made = 0;
    loop {
        let moment = next.fetch_add(1, Ordering::AcqRel);
        let missed = locked().iter().filter(|row| row.came.phase.is_none()).count() as u64;
        let drawn_max = requested.moments + missed.min(requested.moments / 2);
        if moment >= drawn_max || locked().iter().filter(|row| row.failed.is_some()).count() >= FAILED_MAX {
            return Ok(());
        }
        let one = match fleet.take() {
            Some(fleet) => fleet,
            None => {
                made += 1;
                Fleet::make(&format!("{}{made}n", letter(number)), requested.nodes)?
            }
        };
        let moment = Moment::draw(requested.seed.wrapping_add(moment), requested.nodes);
        let (mut came, begun) = (Came::default(), Instant::now());
        let failed = one.conducted(&moment, &mut came).err();
        let failed = failed.map(|failed| failed.message().unwrap_or("it failed").to_owned());
        if let Some(why) = &failed {
            println!("FAILED LINERATE_ROLLOUT_SEED={} LINERATE_ROLLOUT_MOMENTS=1: {moment:?}: {why}", moment.seed);
        }
        fleet = failed.is_none().then_some(one);
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        locked().push(Row { moment, came, took_ms, failed });
    }
}

fn letter(number: usize) -> char {
    char::from(b'a' + u8::try_from(number % 26).unwrap_or(0))
}

/// How often each was met: the verb and what it was about, and what happened.
fn summary(rows: &[Row], requested: &Requested, took: Duration) -> String {
    let Requested { moments, nodes, fleets, seed } = requested;
    let met: Vec<&Row> = rows.iter().filter(|row| row.came.phase.is_some()).collect();
    let (mut phases, mut blows) = (BTreeMap::<String, u32>::new(), BTreeMap::<String, u32>::new());
    for row in &met {
        let (verb, phase) = (row.moment.verb.name(), row.came.phase.unwrap_or_default());
        *phases.entry(format!("`{verb}`: {phase}")).or_default() += 1;
        for strike in &row.moment.strikes {
            *blows.entry(format!("{:?}", strike.blow)).or_default() += 1;
        }
    }
    let count = |is_so: fn(&Row) -> bool| rows.iter().filter(|row| is_so(row)).count();
    let reported: usize =
        rows.iter().map(|row| (row.came.statuses.len() + usize::from(row.came.reported.is_some())) * nodes).sum();
    let mut text = format!(
        "{} of {moments} moments, from seed {seed}, on {fleets} fleets of {nodes} nodes at once, in {:.0} s.\n\n\
         | what | count |\n|---|---|\n",
        rows.len(),
        took.as_secs_f64()
    );
    for (what, count) in [
        ("verbs that had ended before", rows.len() - met.len()),
        ("found nodes changed and unchanged", count(|row| row.came.were.before > 0 && is_changed(row))),
        ("found every node changed", count(|row| row.came.were.before == 0 && is_changed(row))),
        ("found every node as before", count(|row| row.came.phase.is_some() && !is_changed(row))),
        ("reports of nodes held against their values", reported),
        ("status asked again, since something happened meanwhile", count(|row| row.came.requested_again > 0)),
        ("every value of every node as before at last", count(|row| row.came.is_whole)),
        ("failed", count(|row| row.failed.is_some())),
    ] {
        let _ = writeln!(text, "| {what} | {count} |");
    }
    for (title, counts) in [("disturbed in", phases), ("disturbed by", blows)] {
        let _ = write!(text, "\n| {title} | moments |\n|---|---|\n");
        counts.iter().for_each(|(what, count)| _ = writeln!(text, "| {what} | {count} |"));
    }
    text
}

fn is_changed(row: &Row) -> bool {
    row.came.were.confirmed + row.came.were.left > 0
}

/// Writes a line for each moment, and the summary.
fn written(out: &Path, rows: &[Row], summary: &str) -> Result<(), Failed> {
    fs::create_dir_all(out)?;
    let lines: Vec<String> = rows.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    fs::write(out.join("moments.jsonl"), lines.join("\n") + "\n")?;
    fs::write(out.join("summary.md"), format!("# Rollouts at random moments\n\n{summary}"))?;
    Ok(())
}

/// Whether nothing failed, and something was shown.
fn verdict(rows: &[Row], moments: u64) -> Result<(), Failed> {
    let failed: Vec<String> =
        rows.iter().filter_map(|row| Some(format!("{}: {}", row.moment.seed, row.failed.as_ref()?))).collect();
    if !failed.is_empty() {
        return Err(format!("{} moments failed:\n{}", failed.len(), failed.join("\n")).into());
    }
    if moments < 2 * AIMS.len() as u64 {
        return Ok(());
    }
    let is_met = |phase: &&&str| rows.iter().any(|row| row.came.phase == Some(**phase));
    let missed: Vec<&&str> = PHASES.iter().filter(|phase| !is_met(phase)).collect();
    // A short phase may be over before a moment that is aimed at it, and so may both of few.
    if !missed.is_empty() && moments >= 8 * AIMS.len() as u64 {
        return Err(format!("no moment was in {missed:?}").into());
    }
    let late = rows.iter().filter(|row| row.came.phase.is_none()).count();
    if late * 3 > rows.len() {
        return Err(format!("{late} of {} verbs had ended before their moment", rows.len()).into());
    }
    let halfway = rows.iter().filter(|row| is_changed(row)).count();
    if halfway * 6 < rows.len() {
        return Err(format!("{halfway} of {} moments found something changed", rows.len()).into());
    }
    Ok(())
}
