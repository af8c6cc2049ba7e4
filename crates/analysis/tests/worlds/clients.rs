//! How often growth over clients is told right, and how often one of clients that are alike is called slow.

use linerate_analysis::estimate::mean_with_interval;
use linerate_analysis::growth::{GrowthOutcome, GrowthVisit, judge};
use linerate_analysis::peers::{PeerRate, slower};
use linerate_worlds::{HeldShare, SeededRng, tries};

use super::table;

const NUMBERS: [u32; 5] = [7, 14, 28, 100, 195];

/// What the target gives to so many clients, as a share of its most.
type GrowthCurve = fn(f64) -> f64;

/// Curves, and the least number of clients that gives 95 % of the most of those measured.
const GROWTHS: [(&str, GrowthCurve, u32); 5] = [
    ("ends at 28", |n| (n / 28.0).min(1.0), 28),
    ("ends between 28 and 100", |n| (n / 60.0).min(1.0), 100),
    ("saturates slowly", |n| 1.0 - (-n / 40.0).exp(), 195),
    ("falls behind 28", |n| if n <= 28.0 { n / 28.0 } else { 1.0 - 0.1 * (n / 28.0).ln() }, 28),
    ("never ends", |n| n / 195.0, 195),
];

/// Visits of a number of clients: intervals that resemble their neighbours, and what differs from visit to visit.
fn visits(rng: &mut SeededRng, clients: u32, level: f64, visits: u32, between: f64) -> Vec<GrowthVisit> {
    let visit = |rng: &mut SeededRng| {
        let level = level * (1.0 + between * rng.normal());
        let mut x = rng.normal();
        let value = |_| {
            x = 0.6 * x + 0.8 * rng.normal();
            level * (1.0 + 0.05 * x)
        };
        let values: Vec<f64> = (0..60).map(value).collect();
        GrowthVisit { clients, concurrency: clients, throughput: mean_with_interval(&values) }
    };
    (0..visits).map(|_| visit(rng)).collect()
}

#[test]
fn growth_is_told_as_often_as_it_says() {
    let n = tries(200);
    let mut rows = Vec::new();
    for (name, curve, end) in GROWTHS {
        for (times, between) in [(1, 0.0), (3, 0.01)] {
            let [mut right, mut covered, mut ratios, mut early] = [HeldShare::default(); 4];
            for seed in 0..n {
                let mut rng = SeededRng::new(seed, 1_400 + u64::from(times));
                let all: Vec<GrowthVisit> =
                    NUMBERS.iter().flat_map(|&c| visits(&mut rng, c, curve(f64::from(c)), times, between)).collect();
                let found = judge(&all).expect("throughput");
                right.add(found.ended_at == end);
                covered.add((found.lowest..=found.highest).contains(&end));
                let claims = matches!(found.outcome, GrowthOutcome::Ended | GrowthOutcome::Falls);
                early.add(claims && found.highest < end);
                for pair in found.points.windows(2) {
                    let truth = curve(f64::from(pair[1].clients)) / curve(f64::from(pair[0].clients));
                    let reported = pair[1].of_previous.expect("throughput");
                    ratios.add((reported.low..=reported.high).contains(&truth));
                }
            }
            // Where a figure lies on the bound itself no method tells; none of these does.
            assert!(early.interval().0 <= 0.05, "{name}: an end before it, {}", early.in_words());
            assert!(covered.interval().1 >= 0.95, "{name}: {}", covered.in_words());
            assert!(ratios.interval().1 >= 0.93, "{name}: {}", ratios.in_words());
            let shares = [right, covered, early, ratios].map(HeldShare::in_words);
            rows.push([&[name.to_owned(), format!("{times}")], &shares[..]].concat());
        }
    }
    let columns = ["growth", "visits", "end told right", "interval has it", "end told too early", "ratios covered"];
    table::publish("clients-growth", "Growth over 7, 14, 28, 100 and 195 clients, in hundredths", &columns, &rows);
}

/// How clients that are alike differ.
type Unlike = fn(&mut SeededRng) -> f64;

const UNLIKES: [(&str, Unlike); 5] = [
    ("normal, 3 %", |rng| 1.0 + 0.03 * rng.normal()),
    ("normal, 10 %", |rng| 1.0 + 0.1 * rng.normal()),
    ("lognormal, 20 %", |rng| (0.2 * rng.normal()).exp()),
    ("two kinds, one at half", |rng| if rng.happens(0.5) { 1.0 } else { 0.5 } * (1.0 + 0.02 * rng.normal())),
    ("long tails, 3 %", |rng| 1.0 + 0.03 * rng.normal() / (0.25 + 0.75 * rng.unit())),
];

#[test]
fn alike_clients_are_seldom_called_slow() {
    let n = tries(400);
    let mut rows = Vec::new();
    for (name, unlike) in UNLIKES {
        for clients in [5usize, 8, 28, 195] {
            let [mut called, mut third] = [HeldShare::default(); 2];
            for seed in 0..n {
                let mut rng = SeededRng::new(seed, 1_410 + clients as u64);
                let mut all: Vec<PeerRate> = (0..clients)
                    .map(|_| PeerRate { throughput: unlike(&mut rng).max(0.01), error: Some(0.01) })
                    .collect();
                called.add(slower(&all, 1).is_some_and(|found| !found.slow.is_empty()));
                all[clients / 2].throughput = 0.33;
                third.add(slower(&all, 1).is_some_and(|found| found.slow.contains(&(clients / 2))));
            }
            let is_normal = name.starts_with("normal");
            assert!(!is_normal || called.interval().0 <= 0.02, "{name}, {clients}: {}", called.in_words());
            assert!(name != "normal, 3 %" || clients < 8 || third.value() >= 0.99, "{clients}: {}", third.in_words());
            rows.push(vec![name.to_owned(), clients.to_string(), called.in_words(), third.in_words()]);
        }
    }
    let columns = ["clients differ", "clients", "any called slow", "one at a third is named"];
    table::publish(
        "clients-peers",
        "Clients that are alike, and one that is not, in hundredths of runs",
        &columns,
        &rows,
    );
}
