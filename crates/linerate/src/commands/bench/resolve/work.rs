//! What is done and how much of it: from flags to workloads with their sizes, and levels.

use linerate_analysis::knee::STEPS_MAX;
use linerate_analysis::series_search::visits_max;
use linerate_record::load::levels::{RATE_MAX, parse_concurrencies, parse_rates};
use linerate_record::load::workload::{parse_workloads, proportion};
use linerate_record::load::{Levels, Load, Spacing, Time, Workload, WorkloadSizes, sizes};
use linerate_record::run::{Op, POINTS_MAX};
use linerate_record::units::Rate;

use crate::commands::bench::flags::WorkFlags;
use crate::terminal::failure::Failure;

/// What `--concurrent` says where the concurrency is searched.
const KNEE_SEARCH_WORD: &str = "auto";

/// Most requests in flight of an open loop, unless flags say otherwise: a second of a thousand requests per second.
const OPEN_LOOP_CONCURRENCY: u32 = 1024;

/// Sizes of objects, unless flags say otherwise.
const DEFAULT_SIZES: &str = "64KiB,4MiB";

/// The same of operations that move no bodies: one that is soon written.
const DEFAULT_BODILESS_SIZES: &str = "4KiB";

/// What the flags ask for: the series in order, and at what they are measured.
///
/// # Errors
/// Every mistake of these flags.
pub(crate) fn parse_work(flags: &WorkFlags) -> Result<(Vec<WorkloadSizes>, Levels), Failure> {
    let workloads = mix_text(flags).and_then(|mix| parse_workloads(&flags.op, &mix).map_err(Failure::usage));
    let given = flags.obj_size.as_deref();
    let all = sizes::parse_list(given.unwrap_or(DEFAULT_SIZES)).map_err(Failure::usage);
    let small = sizes::parse_list(DEFAULT_BODILESS_SIZES).map_err(Failure::usage);
    let (workloads, all, small, levels) = match (workloads, all, small, parse_levels(flags)) {
        (Ok(workloads), Ok(all), Ok(small), Ok(levels)) => (workloads, all, small, levels),
        (workloads, all, small, levels) => {
            let wrong = [workloads.err(), all.err(), small.err(), levels.err()].into_iter().flatten();
            return Err(Failure::from_errors(wrong.flat_map(Failure::mistakes).collect()));
        }
    };
    let sizes_of = |workload: &Workload| match workload {
        Workload::Single(Op::Stat | Op::Delete | Op::List) if given.is_none() => small.clone(),
        _ => all.clone(),
    };
    let with_sizes = |workload: Workload| WorkloadSizes { sizes: sizes_of(&workload), workload };
    let work: Vec<WorkloadSizes> = workloads.into_iter().map(with_sizes).collect();
    let series: usize = work.iter().map(|work| work.sizes.len()).sum();
    match too_many_points(series, levels.given().map_or(STEPS_MAX, |given| given.len())) {
        Some(why) => Err(Failure::usage(why)),
        None => Ok((work, levels)),
    }
}

/// Why so many series of so many points each are too many for a run.
fn too_many_points(series: usize, each: usize) -> Option<String> {
    let points = series * each;
    (points > POINTS_MAX).then(|| format!("{points} points exceed the {POINTS_MAX} of one run: name fewer"))
}

/// Why the points of a load are visited too often for a run.
pub(super) fn too_many_visits(load: &Load) -> Option<String> {
    let each = load.levels.given().map_or(STEPS_MAX, |given| given.len());
    let Time { series_ns, duration_ns, .. } = load.time;
    let visits = load.series().saturating_mul(visits_max(&load.levels, series_ns, duration_ns));
    let too_often = || format!("{visits} visits exceed the {POINTS_MAX} of one run: give a longer --duration");
    let is_given = load.levels.given().is_some();
    too_many_points(load.series(), each).or_else(|| (is_given && visits > POINTS_MAX).then(too_often))
}

/// `--mix`, or what warp's `--get-distrib` and so on say in its form: whole numbers in the same proportion.
fn mix_text(flags: &WorkFlags) -> Result<String, Failure> {
    let given = &flags.distrib;
    let weights = [
        ("get", given.get_distrib, 45.0),
        ("stat", given.stat_distrib, 30.0),
        ("put", given.put_distrib, 15.0),
        ("delete", given.delete_distrib, 10.0),
    ];
    if weights.iter().all(|(_, weight, _)| weight.is_none()) {
        return Ok(flags.mix.clone());
    }
    let mut all = [0; 4];
    for ((op, weight, default), place) in weights.into_iter().zip(&mut all) {
        let thousandths = weight.unwrap_or(default) * 1e3;
        if !(0.0..=1e9).contains(&thousandths) {
            let fix = "give a number from 0 to 1000000";
            return Err(Failure::usage(format!("invalid --{op}-distrib {:?}: {fix}", weight.unwrap_or(default))));
        }
        *place = thousandths.round() as u64;
    }
    let parts: Vec<String> =
        weights.iter().zip(proportion(all)).map(|((op, ..), weight)| format!("{op}={weight}")).collect();
    Ok(parts.join(","))
}

fn parse_levels(flags: &WorkFlags) -> Result<Levels, Failure> {
    let text = flags.concurrent.trim();
    if flags.rate.is_none() && flags.slo.is_none() {
        return match text {
            KNEE_SEARCH_WORD => Ok(Levels::Searched { highest: flags.max_concurrent }),
            _ => parse_concurrencies(text).map(Levels::Given).map_err(Failure::usage),
        };
    }
    let given = flags.rate.as_deref().map(|text| parse_rates(text).map_err(Failure::usage)).transpose();
    let (concurrency, given) = match (open_loop_concurrency(text), given) {
        (Ok(concurrency), Ok(given)) => (concurrency, given),
        (concurrency, given) => return Err(Failure::combine([concurrency.err(), given.err()])),
    };
    let (spacing, slo) = (flags.arrivals.unwrap_or(Spacing::Constant), flags.slo.clone());
    match (given, slo, flags.max_rate) {
        (Some(per_s), slo, _) => Ok(Levels::Rates { concurrency, spacing, per_s, slo }),
        (None, Some(slo), None) => Ok(Levels::RateSearch { concurrency, spacing, highest_per_s: RATE_MAX, slo }),
        (None, Some(slo), Some(Rate::Requests(highest_per_s))) => {
            Ok(Levels::RateSearch { concurrency, spacing, highest_per_s, slo })
        }
        (None, _, rate) => {
            let why = "--slo searches in requests per second, such as 500/s";
            let rate = rate.map_or_else(String::new, |rate| rate.to_string());
            Err(Failure::usage(format!("invalid --max-rate {rate}: {why}")))
        }
    }
}

/// Notes on lists that name something more than once: each is measured once.
pub(super) fn repeated_values(flags: &WorkFlags) -> Vec<String> {
    let reported = |flag: &str, text: &str, count: fn(&str) -> Option<usize>| {
        let named: usize = text.split(',').filter_map(count).sum();
        count(text)
            .is_some_and(|all| named > all)
            .then(|| format!("{flag} {text} has duplicates: each is measured once; for more, run again, or for longer"))
    };
    let concurrencies = |text: &str| parse_concurrencies(text).ok().map(|all| all.len());
    let rates = |text: &str| parse_rates(text).ok().map(|all| all.len());
    let rate_list = flags.rate.as_deref().and_then(|text| reported("--rate", text, rates));
    reported("--concurrent", flags.concurrent.trim(), concurrencies).into_iter().chain(rate_list).collect()
}

/// The most requests in flight of an open loop.
fn open_loop_concurrency(text: &str) -> Result<u32, Failure> {
    if text == KNEE_SEARCH_WORD {
        return Ok(OPEN_LOOP_CONCURRENCY);
    }
    match parse_concurrencies(text).map_err(Failure::usage)?.as_slice() {
        [one] => Ok(*one),
        _ => {
            let why = "an open loop takes one number, the most requests in flight";
            Err(Failure::usage(format!("invalid concurrency {text:?}: {why}")))
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use clap::Parser as _;
    use linerate_record::load::Sizes;

    use super::*;
    use crate::cli::definition::{Cli, Verb};

    fn flags(words: &str) -> WorkFlags {
        let words = ["linerate", "bench"].into_iter().chain(words.split_whitespace());
        match Cli::try_parse_from(words).unwrap().verb {
            Verb::Bench(flags) => flags.work,
            _ => unreachable!("the verb is bench"),
        }
    }

    fn series(work: &[WorkloadSizes]) -> Vec<String> {
        let series_names = |work: &WorkloadSizes| {
            let name = work.workload.to_string();
            work.sizes.iter().map(move |size: &Sizes| format!("{name} {size}")).collect::<Vec<_>>()
        };
        work.iter().flat_map(series_names).collect()
    }

    #[test]
    fn distributions_of_warp_are_mixes() {
        for (words, expected) in [
            ("", "get=45,stat=30,put=15,delete=10"),
            ("--mix get=1", "get=1"),
            ("--get-distrib 45", "get=45,stat=30,put=15,delete=10"),
            (
                "--get-distrib 0.5 --stat-distrib 0 --put-distrib 0.25 --delete-distrib 0.25",
                "get=50,stat=0,put=25,delete=25",
            ),
        ] {
            assert_eq!(mix_text(&flags(words)).unwrap(), expected, "{words}");
        }
        for words in ["--get-distrib=-1", "--put-distrib NaN", "--put-distrib 1e12"] {
            assert!(mix_text(&flags(words)).unwrap_err().to_string().contains("-distrib"), "{words}");
        }
        assert!(parse_work(&flags("--op mixed --delete-distrib 20")).unwrap_err().to_string().contains("exceed put"));
    }

    #[test]
    fn every_workload_comes_at_every_size_in_the_order_named() {
        let (work, levels) = parse_work(&flags("--op put,get --obj.size 1KiB,2KiB --concurrent 2,1")).unwrap();
        assert_eq!(series(&work), ["put 1KiB", "put 2KiB", "get 1KiB", "get 2KiB"]);
        assert_eq!(levels, Levels::Given(vec![1, 2]));
        assert!(parse_work(&flags("--op copy")).is_err());
        let twice = parse_work(&flags("--op put,get,put")).unwrap_err().to_string();
        assert!(twice.contains("--op \"put,get,put\" names put twice"), "{twice}");
    }

    #[test]
    fn rates_make_an_open_loop_with_a_bound_on_requests_in_flight() {
        let levels_of_flags =
            |words: &str| parse_work(&flags(words)).map(|(_, levels)| levels).map_err(|e| e.to_string());
        let spacing = Spacing::Constant;
        let slo = || "p99=1s".parse().unwrap();
        let rates =
            |concurrency, all: &[f64], slo| Ok(Levels::Rates { concurrency, spacing, per_s: all.to_vec(), slo });
        assert_eq!(levels_of_flags("--rate 200/s,0.1k/s,200"), rates(1024, &[100.0, 200.0], None));
        assert_eq!(levels_of_flags("--rate 5 --concurrent 8"), rates(8, &[5.0], None));
        assert_eq!(levels_of_flags("--rate 5 --slo p99=1s"), rates(1024, &[5.0], Some(slo())));
        let search = |highest_per_s| Ok(Levels::RateSearch { concurrency: 1024, spacing, highest_per_s, slo: slo() });
        assert_eq!(levels_of_flags("--slo p99=1s"), search(RATE_MAX));
        assert_eq!(levels_of_flags("--slo p99=1s --max-rate 700/s"), search(700.0));
        for (words, part) in [
            ("--rate 1MiB/s", "\"1MiB/s\""),
            ("--rate 0/s", "500/s"),
            ("--rate 1/s,x", "\"1/s,x\""),
            ("--rate 100000000/s", "500/s"),
            ("--rate 5 --concurrent 1,2", "one number"),
            ("--slo p99=1s --max-rate 5MiB/s", "--slo"),
        ] {
            let error = levels_of_flags(words).unwrap_err();
            assert!(error.contains(part), "{words}: {error}");
        }
    }

    #[test]
    fn the_knee_is_searched_unless_concurrencies_are_given() {
        let (_, levels) = parse_work(&flags("--op get --max-concurrent 32")).unwrap();
        assert_eq!(levels, Levels::Searched { highest: 32 });
        let sizes = vec!["1KiB"; 100].join(",");
        let error = parse_work(&flags(&format!("--op get,put --obj.size {sizes}"))).unwrap_err().to_string();
        assert!(error.contains("4096 of one run"), "{error}");
    }

    #[test]
    fn what_moves_no_bodies_has_one_small_size_unless_told_otherwise() {
        let named = |words: &str| series(&parse_work(&flags(words)).unwrap().0).join(", ");
        for op in ["stat", "delete", "list"] {
            assert_eq!(named(&format!("--op {op}")), format!("{op} 4KiB"));
            assert_eq!(named(&format!("--op {op} --obj.size 1MiB,2MiB")), format!("{op} 1MiB, {op} 2MiB"));
        }
        assert_eq!(named("--op get,stat"), "get 64KiB, get 4MiB, stat 4KiB");
    }
}
