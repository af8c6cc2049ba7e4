//! Readings whose truth is known, judged: what is planted within the table of suspects is first, of what is beyond it
//! none of these leads, healthy clusters name what is full and no node, and weights say how often they are right.
//!
//! `cargo labs readings FOLDER` makes the tables of `docs/method/readings.md` of this.

use linerate_model::diagnosis::diagnose;
use linerate_record::diagnosis::{Cause, Diagnosis, Suspect};
use linerate_record::readings::{OtherName, READINGS_SCHEMA, ReadMeasure, ReadSeries, Readings};
use linerate_worlds::{HeldShare, InjectedFault, READ_FAULTS, ReadingsWorld, table, tries};

/// How often each plant is drawn unless it is said.
const FEW: u64 = 4;

/// What was looked at while weights were chosen, and what never was: seeds from [`HELD_OUT`] on.
const HALVES: [&str; 2] = ["chosen by", "held out"];

const HELD_OUT: u64 = 1_000_000;

fn text(json: serde_json::Result<serde_json::Value>) -> String {
    json.ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn words(cause: Cause) -> String {
    text(serde_json::to_value(cause))
}

fn readings(world: &ReadingsWorld) -> Readings {
    let measure = |of: &str| ReadMeasure::ALL.into_iter().find(|measure| text(serde_json::to_value(measure)) == of);
    let series = world.series.iter().map(|series| ReadSeries {
        of: measure(series.of).unwrap_or_else(|| panic!("{} is no measure", series.of)),
        machine: series.machine.clone(),
        part: series.part.clone(),
        values: series.values.clone(),
    });
    Readings {
        schema: READINGS_SCHEMA,
        source: "simulated".to_owned(),
        begin_unix_ms: 1_795_000_000_000,
        step_ms: world.step_ms,
        steps: world.steps,
        interval_ms: world.step_ms,
        rate_over_ms: world.rate_over_ms,
        series: series.collect(),
        names: world
            .names
            .iter()
            .map(|other| OtherName { machine: other.machine.clone(), name: other.name.clone() })
            .collect(),
        ..Readings::default()
    }
}

fn judged(world: &ReadingsWorld) -> Diagnosis {
    let site = linerate_site::read(&world.site, "hall").unwrap_or_else(|error| panic!("{}\n{error}", world.site));
    let readings = readings(world);
    assert_eq!(readings.check(), Ok(()), "{}", world.reported);
    diagnose(&site, &readings, &[]).unwrap_or_else(|error| panic!("{}: {error}", world.reported))
}

/// Whether a suspect is what was planted, where it was planted, by one of these names.
fn is_it(causes: &[&str], world: &ReadingsWorld, suspect: &Suspect) -> bool {
    let is_there = world.node.is_none() || suspect.node == world.node;
    let is_part = world.part.as_ref().is_none_or(|part| *part == suspect.part);
    causes.contains(&&*words(suspect.cause)) && is_there && is_part
}

/// What came of one window.
struct Verdict {
    plant: usize,
    half: usize,
    weight: f64,
    /// By its own name.
    is_named: bool,
    /// By that, or by the name of what looks the same.
    is_right: bool,
    names_node: bool,
    reported: String,
}

fn verdict(place: usize, plant: &InjectedFault, seed: u64) -> Verdict {
    let half = (seed % 2) as usize;
    let world = plant.draw(if half == 0 { seed } else { HELD_OUT + seed });
    let diagnosis = judged(&world);
    let first = diagnosis.suspects.first().filter(|first| first.weight > diagnosis.none_of_these);
    let is_named = first.map_or(plant.causes.is_empty(), |first| is_it(plant.causes, &world, first));
    let is_right = is_named || first.is_some_and(|first| is_it(plant.alike, &world, first));
    let outlier: Vec<String> = diagnosis
        .suspects
        .iter()
        .take(3)
        .map(|one| format!("{:.2} {} {}", one.weight, words(one.cause), one.claim))
        .collect();
    Verdict {
        plant: place,
        half,
        weight: first.map_or(diagnosis.none_of_these, |first| first.weight),
        is_named,
        is_right,
        names_node: first.is_some_and(|first| first.node.is_some()),
        reported: format!("{}; at {:?} {:?}: {}", world.reported, world.node, world.part, outlier.join(" | ")),
    }
}

/// By which names a plant is told.
fn expected_names(plant: &InjectedFault) -> String {
    let others: Vec<&str> = plant.alike.iter().filter(|alike| !plant.causes.contains(alike)).copied().collect();
    match (plant.causes, &others[..]) {
        ([], _) => "none of these".to_owned(),
        (causes, []) => causes.join(", "),
        (causes, others) => format!("{}; alike: {}", causes.join(", "), others.join(", ")),
    }
}

fn named<'v>(verdicts: impl Iterator<Item = &'v Verdict>) -> HeldShare {
    let mut share = HeldShare::default();
    verdicts.for_each(|one| share.add(one.is_named));
    share
}

/// How many are right.
fn share<'v>(verdicts: impl Iterator<Item = &'v Verdict>) -> HeldShare {
    let mut share = HeldShare::default();
    verdicts.for_each(|one| share.add(one.is_right));
    share
}

const fn is_inside(plant: &InjectedFault) -> bool {
    !plant.is_healthy && !plant.causes.is_empty()
}

const fn is_outside(plant: &InjectedFault) -> bool {
    !plant.is_healthy && plant.causes.is_empty()
}

/// A kind of windows, and which faults are of it.
type Kind = (&'static str, fn(&InjectedFault) -> bool);

const KINDS: [Kind; 3] =
    [("in the table", is_inside), ("in no table", is_outside), ("healthy", |plant: &InjectedFault| plant.is_healthy)];

/// Bounds of the bins of weights.
const BINS: [f64; 7] = [0.0, 0.5, 0.7, 0.8, 0.9, 0.95, 1.0 + 1e-9];

fn print_tables(verdicts: &[Verdict]) {
    let verdicts_at =
        |place: usize, half: usize| verdicts.iter().filter(move |one| one.plant == place && one.half == half);
    let mut rows = Vec::new();
    for (kind, is_of) in KINDS {
        let of_kind =
            |half: usize| verdicts.iter().filter(move |one| is_of(&READ_FAULTS[one.plant]) && one.half == half);
        let [chosen, held_out] = [0, 1].map(|half| share(of_kind(half)).in_words());
        rows.push(vec![format!("**{kind}**"), String::new(), String::new(), chosen, held_out]);
        if kind == KINDS[0].0 {
            let [chosen, held_out] = [0, 1].map(|half| named(of_kind(half)).in_words());
            rows.push(vec!["**by its own name**".to_owned(), String::new(), String::new(), chosen, held_out]);
        }
        for (place, plant) in READ_FAULTS.iter().enumerate().filter(|(_, plant)| is_of(plant)) {
            let [chosen, held_out] = [0, 1].map(|half| share(verdicts_at(place, half)).in_words());
            rows.push(vec![
                plant.name.to_owned(),
                plant.stands_for.to_owned(),
                expected_names(plant),
                chosen,
                held_out,
            ]);
        }
    }
    let columns = ["planted", "stands for", "right is", HALVES[0], HALVES[1]];
    println!("{}", table("causes", "What was planted is told", &columns, &rows));
    let mut rows = Vec::new();
    for bounds in BINS.windows(2) {
        let within = |one: &&Verdict| one.weight >= bounds[0] && one.weight < bounds[1];
        for (half, name) in HALVES.into_iter().enumerate() {
            let those: Vec<&Verdict> = verdicts.iter().filter(|one| one.half == half).filter(within).collect();
            let mean = those.iter().map(|one| one.weight).sum::<f64>() / those.len().max(1) as f64;
            let right = share(those.iter().copied());
            let bar = drawn(mean, right);
            let between = format!("{:.2} to {:.2}", bounds[0], bounds[1]);
            rows.push(vec![between, name.to_owned(), format!("{:.0}", 100.0 * mean), right.in_words(), bar]);
        }
    }
    let columns = ["weight of what leads", "seeds", "mean weight", "right", "drawn, 0 to 100: `#` right, `¦` weight"];
    println!("{}", table("weights", "Weights and how often what leads is right", &columns, &rows));
}

/// A bar of forty characters: as far as what leads is right, with a stroke where its weight is.
fn drawn(weight: f64, right: HeldShare) -> String {
    if right.count == 0 {
        return String::new();
    }
    let at = ((39.0 * weight).round() as usize).min(39);
    let filled = (40.0 * right.value()).round() as usize;
    let sign = |place: usize| match place {
        place if place == at => '¦',
        place if place < filled => '#',
        _ => '.',
    };
    format!("`{}`", (0..40).map(sign).collect::<String>())
}

#[test]
fn causes_in_readings_are_told_and_those_in_no_table_are_not_mistaken() {
    let draws = tries(FEW);
    let mut verdicts = Vec::new();
    for (place, plant) in READ_FAULTS.iter().enumerate() {
        verdicts.extend((0..draws).map(|seed| verdict(place, plant, seed)));
    }
    print_tables(&verdicts);
    let mut late = Vec::new();
    for (kind, is_of) in KINDS {
        let all = share(verdicts.iter().filter(|one| is_of(&READ_FAULTS[one.plant])));
        if all.value() < 0.95 {
            late.push(format!("{kind}: {}", all.in_words()));
        }
    }
    let wrong: Vec<&str> = verdicts.iter().filter(|one| !one.is_right).map(|one| one.reported.as_str()).collect();
    assert!(late.is_empty(), "{}\n{}", late.join("\n"), wrong.join("\n"));
    let healthy = verdicts.iter().filter(|one| READ_FAULTS[one.plant].is_healthy);
    let named: Vec<&str> = healthy.filter(|one| one.names_node).map(|one| one.reported.as_str()).collect();
    assert!(named.len() as u64 * 50 <= 5 * draws, "healthy ones of which a node is named:\n{}", named.join("\n"));
}
