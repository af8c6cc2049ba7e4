//! Threads of the engine, by `/proc/PID/task/TID/stat`: `BusiestThread`.
//!
//! - Tells: of each program of the engine, the thread that had most of a core between two rounds, by the name that it
//!   has: `minio/minio`, `radosgw/civetweb-worker`. A program with one thread at 1 is full however many cores there
//!   are.
//! - Cannot tell: goroutines and tasks, which move between threads; a thread that began and ended between two rounds;
//!   and more than 4,096 threads. Ticks are 10 ms, so that a round after 2 s is exact to 1 % of a core.
//! - Needs no privilege.
//! - Each 2 s at most, beside the looks. A round of many threads takes long: the next one is put off until rounds take
//!   at most 1 % of a core.

use std::collections::BTreeMap;
use std::time::Instant;

use linerate_record::readings::ReadMeasure;
use rustix::time::{ClockId, clock_gettime};

use super::background::BackgroundRead;
use super::counter_delta::{grown, over_s};
use super::engine::TICKS_PER_S;
use super::engines::EngineHere;
use super::{Reader, plain};
use crate::process::process_stat;
use crate::root::{Root, names};

pub(super) const LEAST_MS: u64 = 2_000;
const MOST_THREADS: usize = 4_096;
/// Rounds take one part in so many of a core.
const PAUSE_PER_COST: u64 = 100;

/// Threads by their numbers and when they started, with their ticks and when these were read.
type Threads = BTreeMap<(u32, u64), ThreadTicks>;

#[derive(Clone, Debug, PartialEq, Eq)]
struct ThreadTicks {
    /// Which of the programs.
    program: usize,
    name: String,
    ticks: u64,
    at_ms: u64,
}

#[derive(Debug, Default)]
struct Round {
    programs: Vec<String>,
    threads: Threads,
    left_out: usize,
    began_ms: u64,
    cost_ms: u64,
}

/// What was read last.
#[derive(Debug, Default)]
pub(super) struct BusiestThreads {
    then: Threads,
    aside: BackgroundRead<Round>,
}

pub(super) fn look(state: &mut BusiestThreads, engines: &[EngineHere], at: &mut Reader<'_>) {
    // Before the next begins, which this one may put off.
    if let Some(round) = state.aside.found() {
        take(state, round, at);
    }
    if engines.is_empty() {
        return;
    }
    let (engines, now_ms) = (engines.to_vec(), at.now_ms);
    if let Some(round) = state.aside.turn(at.root, now_ms, LEAST_MS, move |root| round(root, &engines, now_ms)) {
        take(state, round, at);
    }
}

fn take(state: &mut BusiestThreads, round: Round, at: &mut Reader<'_>) {
    state.aside.put_off(round.began_ms.saturating_add(round.cost_ms.saturating_mul(PAUSE_PER_COST)));
    if round.left_out > 0 {
        at.remark(format!("threads of the engine beyond {MOST_THREADS} are left out"));
    }
    for (part, share) in busiest(&state.then, &round) {
        at.tell(ReadMeasure::BusiestThread, &part, share);
    }
    state.then = round.threads;
}

/// The busiest thread of each program.
fn busiest(then: &Threads, round: &Round) -> Vec<(String, f64)> {
    let mut most: Vec<Option<(f64, &str)>> = vec![None; round.programs.len()];
    for (key, now) in &round.threads {
        let share = then
            .get(key)
            .and_then(|then| Some(grown(then.ticks, now.ticks)? / TICKS_PER_S / over_s(then.at_ms, now.at_ms)?));
        let (Some(share), Some(most)) = (share, most.get_mut(now.program)) else { continue };
        if most.is_none_or(|(before, _)| share > before) {
            *most = Some((share, &now.name));
        }
    }
    let named = round.programs.iter().zip(most);
    named
        .filter_map(|(program, most)| most.map(|(share, name)| (format!("{program}/{name}"), share.min(1.0))))
        .collect()
}

fn round(root: &Root, engines: &[EngineHere], now_ms: u64) -> Round {
    let (began, processor_ms) = (Instant::now(), processor_ms());
    let mut round = Round { began_ms: now_ms, ..Round::default() };
    let mut bytes = Vec::new();
    for engine in engines {
        let program = match round.programs.iter().position(|name| *name == engine.program) {
            Some(program) => program,
            None => {
                round.programs.push(engine.program.clone());
                round.programs.len() - 1
            }
        };
        for id in names(root, &format!("proc/{}/task", engine.pid)) {
            if round.threads.len() >= MOST_THREADS {
                round.left_out += 1;
                continue;
            }
            let at_ms = if root.is_live() { now_ms + began.elapsed().as_millis() as u64 } else { now_ms };
            // One that has ended meanwhile.
            let Ok(stat) = process_stat(root, &format!("{}/task/{id}", engine.pid), &mut bytes) else { continue };
            let thread = ThreadTicks { program, name: plain(&stat.name), ticks: stat.ticks, at_ms };
            round.threads.insert((stat.pid, stat.started_ticks), thread);
        }
    }
    round.cost_ms = self::processor_ms().saturating_sub(processor_ms);
    round
}

/// What this thread has had of processors.
fn processor_ms() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    u64::try_from(time.tv_sec.saturating_mul(1_000).saturating_add(time.tv_nsec / 1_000_000)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{put, stat, values};
    use super::*;

    fn engines() -> Vec<EngineHere> {
        let engine = |pid, program: &str| EngineHere { pid, started_ticks: 1, program: program.to_owned() };
        vec![engine(40, "radosgw"), engine(50, "ceph-osd"), engine(60, "ceph-osd")]
    }

    #[test]
    fn the_busiest_thread_of_each_program_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let thread = |pid: u32, id: u32, name: &str, ticks: u64| {
            put(&root, &format!("proc/{pid}/task/{id}/stat"), &stat(id, name, ticks, 7));
        };
        let mut state = BusiestThreads::default();
        let mut values_at = |now_ms| {
            let found = values(&root, now_ms, |at| look(&mut state, &engines(), at));
            found.into_iter().map(|(_, part, value)| (part, value)).collect::<Vec<_>>()
        };
        for (id, name, ticks) in [(40, "radosgw", 100), (41, "(a) b", 100)] {
            thread(40, id, name, ticks);
        }
        thread(50, 50, "msgr-worker-0", 100);
        thread(60, 60, "msgr-worker-1", 100);
        assert_eq!(values_at(0), []);
        thread(40, 40, "radosgw", 120);
        thread(40, 41, "(a)\u{1b}b", 290);
        thread(50, 50, "msgr-worker-0", 110);
        thread(60, 60, "msgr-worker-1", 150);
        thread(60, 61, "new", 900);
        assert_eq!(values_at(1_000), []);
        let found = values_at(2_000);
        assert_eq!(found, [("radosgw/(a)?b".to_owned(), 0.95), ("ceph-osd/msgr-worker-1".to_owned(), 0.25)]);
        thread(60, 60, "msgr-worker-1", 3);
        thread(50, 50, "msgr-worker-0", 3);
        assert_eq!(values_at(4_000), [("radosgw/radosgw".to_owned(), 0.0), ("ceph-osd/new".to_owned(), 0.0)]);
    }

    #[test]
    fn threads_are_bounded_and_a_round_that_costs_much_puts_off_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        for id in 0..MOST_THREADS as u32 + 10 {
            put(&root, &format!("proc/40/task/{id}/stat"), &stat(id, "t", 1, 7));
        }
        let round = round(&root, &engines(), 0);
        assert_eq!((round.threads.len(), round.left_out), (MOST_THREADS, 10));
        println!("{} threads: {} ms of a core", round.threads.len(), round.cost_ms);
        let mut state = BusiestThreads::default();
        values(&root, 0, |at| look(&mut state, &engines(), at));
        let again =
            (0..).step_by(100).find(|now_ms| state.aside.turn(&root, *now_ms, 1, |_| Round::default()).is_some());
        assert!(again.is_some_and(|ms| ms >= LEAST_MS), "{again:?}");
    }
}
