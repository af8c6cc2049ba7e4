//! Estimators and verdicts in worlds whose truth is known, which share no code with them.
//!
//! `LINERATE_WORLDS` says how often each world is drawn; `cargo labs worlds` sets it, and keeps the tables that are
//! printed. Without it each world is drawn often enough to see what is badly wrong.

mod best;
mod canaries;
mod clients;
mod compares;
mod knees;
mod means;
mod open_loops;
mod rates;
mod recorded;
mod replay;
mod rounds;
mod shares;
mod stalls;
mod table;
mod visit_shares;
mod warmups;

use linerate_worlds::{CURVES, TRIALS, WORLDS};

#[test]
fn every_world_says_what_it_stands_for() {
    let row = |kind: &str, name: &str, stands_for: &str, source: &str| {
        [kind, name, stands_for, source].map(str::to_owned).to_vec()
    };
    let over_time = WORLDS.iter().map(|w| row("over time", w.name, w.stands_for, w.source));
    let curves = CURVES.iter().map(|c| row("over concurrency", c.name, c.stands_for, c.source));
    let trials = TRIALS.iter().map(|t| row("of two arms", t.name, t.stands_for, t.source));
    let rows: Vec<Vec<String>> = over_time.chain(curves).chain(trials).collect();
    assert!(rows.iter().flatten().all(|text| !text.is_empty() && !text.contains('|')), "{rows:?}");
    table::publish("worlds", "The worlds", &["kind", "name", "what it stands for", "source"], &rows);
}
