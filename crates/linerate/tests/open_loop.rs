//! Open loops, bounds on latencies and limits on errors, end to end. No root, nothing changed on the machine.

use linerate_analysis::slo::{BoundVerdict, RateSearchOutcome};
use linerate_analysis::view::{Bottleneck, BoundFigures, Point, View};
use linerate_record::finding::FindingKind;
use linerate_record::run::{MaybeKnown, StopReason};
use tempfile::tempdir;

use crate::running::{
    END, Served, bench, bench_view, files_below, has_a_latency_of_each_request, linerate, points, shown, view,
};

/// An open loop of small reads, for a second.
const OPEN: &str = "--op get --obj.size 4KiB --objects 20 --duration 1s --no-ceiling";

fn has(view: &View, kind: FindingKind) -> bool {
    view.findings.iter().any(|f| f.kind == kind)
}

#[test]
fn rates_are_points_whose_latencies_count_from_when_requests_were_due() {
    for arrivals in ["constant", "poisson"] {
        let (out, target) = (tempdir().unwrap(), Served::null());
        let flags = format!("--host {} {OPEN} --rate 200/s,100/s --arrivals {arrivals}", target.address);
        let view = bench_view(out.path(), &flags);
        assert!(view.run.complete && view.run.requested.arrivals == Some(MaybeKnown::read(arrivals)));
        let points = points(&view);
        assert_eq!(points.len(), 2);
        for (point, rate) in points.iter().zip([100.0, 200.0]) {
            let open = point.open.as_ref().unwrap();
            assert_eq!((open.requested_per_s, point.concurrency, point.error_count()), (rate, 1024, 0));
            // A second of a Poisson process of 100/s has 60 to 140 arrivals but once in ten thousand times.
            let slack = if arrivals == "constant" { 0.05 } else { 0.4 };
            assert!(((1.0 - slack) * rate..=(1.0 + slack) * rate).contains(&(open.due as f64)), "{open:?}");
            assert!(has_a_latency_of_each_request(point), "{point:?}");
            assert_eq!(open.late.count > 0, point.requests > 0);
            assert!(
                open.total_intended.p50_ns >= point.total.p50_ns && open.total_intended.max_ns >= point.total.max_ns
            );
        }
        assert!(view.series[0].knee.is_none(), "the most in flight is no load");
        let csv = linerate().arg("report").arg(out.path()).args(["-f", "csv"]).output().unwrap();
        assert!(shown(&csv).contains(",rate_per_s,due,backlog,"), "{}", shown(&csv));
        let text = shown(&linerate().arg("report").arg(out.path()).arg("--why").output().unwrap());
        assert!(text.contains("of 100/s asked for; from actual starts p50"), "{text}");
        let html = std::fs::read_to_string(out.path().join("report.html")).unwrap();
        assert!(html.contains("Open loop: from when requests were due"));
    }
}

#[test]
fn rates_are_visited_in_rounds_and_have_the_verdict_of_all_of_their_visits() {
    let (out, target) = (tempdir().unwrap(), Served::null());
    let times = OPEN.replace("--duration 1s", "--time 9s --duration 1200ms --warmup 300ms");
    let flags = format!("--host {} {times} --rate 200/s,100/s --slo p90=600ms", target.address);
    let view = bench_view(out.path(), &flags);
    let [series] = &view.series[..] else { panic!("{:?}", view.series) };
    assert!(view.run.complete && series.points.len() == 6, "{:?}", series.points);
    let mut in_order = series.points.clone();
    in_order.sort_by_key(|point| point.point);
    let rate = |point: &Point| point.open.as_ref().unwrap().requested_per_s;
    for round in in_order.chunks(2) {
        assert_ne!(rate(&round[0]), rate(&round[1]), "each once a round");
    }
    for row in series.at_each() {
        let (visits, open) = (series.visits_of(row).count(), row.open.as_ref().unwrap());
        assert_eq!((visits, open.bounds[0].verdict), (3, BoundVerdict::Held), "{open:?}");
        assert!(has_a_latency_of_each_request(row), "{row:?}");
    }
    let text = shown(&linerate().arg("report").arg(out.path()).output().unwrap());
    assert_eq!(text.matches(" ×3 ").count(), 2, "one row a rate:\n{text}");
}

#[test]
fn a_low_rate_paces_no_writing_beforehand_and_no_deletion() {
    let (out, target) = (tempdir().unwrap(), Served::null());
    let begin = std::time::Instant::now();
    let many = OPEN.replace("--objects 20", "--objects 2000");
    let view = bench_view(out.path(), &format!("--host {} {many} --rate 2/s", target.address));
    // At two a second, either would take a quarter of an hour.
    assert!(view.run.complete && begin.elapsed() < END, "{:?}", begin.elapsed());
    assert_eq!(points(&view)[0].open.as_ref().unwrap().requested_per_s, 2.0);
}

#[test]
fn a_rate_that_was_kept_up_with_is_what_bound() {
    let (out, target) = (tempdir().unwrap(), Served::null());
    // Of four seconds a busy machine may stand still for one in fifty without another verdict.
    let four = OPEN.replace("--duration 1s", "--duration 4s");
    let view = bench_view(out.path(), &format!("--host {} {four} --rate 100/s", target.address));
    assert!(!has(&view, FindingKind::FellBehind) && !has(&view, FindingKind::TargetLost), "{:?}", view.findings);
    assert_eq!(view.series[0].limit.as_ref().unwrap().bound, Bottleneck::RequestedRate);
}

#[test]
fn a_rate_that_no_target_reaches_leaves_a_backlog_and_says_so() {
    let (out, target) = (tempdir().unwrap(), Served::null());
    let flags = format!("--host {} {OPEN} --rate 3000000/s --concurrent 8", target.address);
    let view = bench_view(out.path(), &flags);
    let open = points(&view)[0].open.clone().unwrap();
    assert!(open.backlog > 1_000_000 && open.due >= 2_900_000, "{open:?}");
    assert!(has(&view, FindingKind::FellBehind), "{:?}", view.findings);
}

#[test]
fn a_rate_with_bounds_is_a_check() {
    for (slo, code, reported) in [
        ("p90=2s", 0, None),
        ("p50=2s,p99=1us", 5, Some(FindingKind::SloMissed)),
        // Of some fifty requests that are all fast, one more may have been slow: that is no 99 %.
        ("p99=2s", 5, Some(FindingKind::SloInDoubt)),
    ] {
        let (out, target) = (tempdir().unwrap(), Served::null());
        let open = OPEN.replace("--duration 1s", "--duration 3s");
        let output = bench(out.path(), &format!("--host {} {open} --rate 50/s --slo {slo}", target.address));
        assert_eq!(output.status.code(), Some(code), "{slo}: {}", shown(&output));
        let view = view(out.path());
        let kinds = [FindingKind::SloMissed, FindingKind::SloInDoubt];
        assert_eq!(kinds.into_iter().find(|&kind| has(&view, kind)), reported, "{slo}");
        let open = points(&view)[0].open.as_ref().unwrap();
        let held = reported != Some(FindingKind::SloMissed);
        assert!(open.bounds[0].held && open.bounds.last().unwrap().held == held, "{:?}", open.bounds);
        assert_eq!(open.bounds.iter().all(BoundFigures::is_shown), reported != Some(FindingKind::SloInDoubt));
        assert!(view.run.complete && view.series[0].sustained.is_none());
    }
}

#[test]
fn a_bound_as_long_as_a_visit_is_refused_with_a_visit_that_is_longer() {
    let out = tempdir().unwrap();
    for rate in ["--rate 50/s", ""] {
        let output = bench(out.path(), &format!("--host 127.0.0.1:9 {OPEN} {rate} --slo p50=10ms,p99=30s"));
        let reported = shown(&output);
        assert!(output.status.code() == Some(2) && reported.contains("--slo p99=30s"), "{reported}");
        assert!(reported.contains("--duration 60"), "{reported}");
    }
}

#[test]
fn the_highest_rate_under_a_bound_is_searched() {
    for (flags, code, outcome) in [
        ("--slo p90=1s --max-rate 200/s --duration 2s --objects 20", 0, RateSearchOutcome::NeverMissed),
        ("--slo p50=1us --max-rate 4/s --duration 500ms --objects 4", 5, RateSearchOutcome::NoneHolds),
        // So few requests cannot show a p99.9, however fast they are; nor do they lean either way.
        ("--slo p99.9=1s --max-rate 20/s --duration 2s --objects 20", 5, RateSearchOutcome::NoneHolds),
    ] {
        let (out, target) = (tempdir().unwrap(), Served::null());
        let flags = format!("--host {} --op stat --obj.size 4KiB --no-ceiling {flags}", target.address);
        let output = bench(out.path(), &flags);
        assert_eq!(output.status.code(), Some(code), "{flags}: {}", shown(&output));
        let view = view(out.path());
        let sustained = view.series[0].sustained.as_ref().unwrap();
        assert_eq!(sustained.outcome, outcome, "{sustained:?}");
        assert_eq!(sustained.rate_per_s.is_some(), outcome == RateSearchOutcome::NeverMissed);
        assert_eq!(sustained.holds_per_s.is_some(), code == 0);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let last = error.lines().last().unwrap_or_default();
        let slo = flags.split("--slo ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
        assert_eq!(last.starts_with(&format!("error: {slo} ")), code == 5, "{error}");
        assert!(!shown(&output).contains("raise --rate"), "{}", shown(&output));
        assert!(view.run.complete && points(&view).len() >= 2, "{flags}");
        assert!(shown(&output).contains("p90=1s holds up to 200/s") || code == 5, "{}", shown(&output));
    }
}

#[test]
fn an_error_limit_ends_the_run_and_says_which_kinds() {
    // The null target's bodies are not what was written.
    for limit in ["10", "5%"] {
        let (out, target) = (tempdir().unwrap(), Served::null());
        let flags = format!("--host {} --op get --obj.size 4KiB --concurrent 2,4 --no-ceiling", target.address);
        let output = bench(out.path(), &format!("{flags} --verify --duration 5s --error-limit {limit}"));
        assert_eq!(output.status.code(), Some(4), "{}", shown(&output));
        let lines = std::fs::read_to_string(out.path().join("points.jsonl")).unwrap();
        assert_eq!(lines.matches("\"event\":\"begin\"").count(), 1, "the second point is not begun: {lines}");
        assert!(lines.contains("\"ended\":\"error-limit\""), "{lines}");
        let view = view(out.path());
        let early = view.findings.iter().find(|f| f.kind == FindingKind::EndedEarly).unwrap();
        assert!(early.claim.contains("--error-limit") && early.evidence.contains("wrong body"), "{early:?}");
        assert!(points(&view).iter().all(|p| p.ended == Some(StopReason::ErrorLimit)));
        assert!(has(&view, FindingKind::Incomplete));
    }
}

#[test]
fn mistakes_are_quoted_and_name_the_fix() {
    for (flags, part) in [
        ("--rate 5/s --max-rate 5/s", "cannot be used with"),
        ("--rate 5MiB/s", "\"5MiB/s\""),
        ("--rate 5/s --concurrent 1..4", "one number"),
        ("--arrivals poisson", "--rate or --slo"),
        ("--slo p99", "p99=50ms"),
        ("--error-limit lots", "1%"),
        ("--retries 1000", "0..=100"),
    ] {
        let out = tempdir().unwrap();
        let output = bench(&out.path().join("run"), flags);
        assert_eq!(output.status.code(), Some(2), "{flags}: {}", shown(&output));
        assert!(shown(&output).contains(part), "{flags}: {}", shown(&output));
    }
}

#[test]
fn a_canary_within_its_bounds_lets_the_run_go_on_and_is_told() {
    let (drive, out) = (tempdir().unwrap(), tempdir().unwrap());
    let target = Served::embedded(drive.path());
    let flags = format!("--host {} --op put --obj.size 4KiB --concurrent 1 --no-ceiling", target.address);
    let canary = "--duration 1s --abort-if p50>30s,errors>90% --canary-rate 50";
    let output = bench(out.path(), &format!("{flags} {canary}"));
    assert_eq!(output.status.code(), Some(0), "{}", shown(&output));
    let view = view(out.path());
    let canary = view.canary.as_ref().unwrap();
    assert!(canary.before.total.count >= 20 && canary.under_load.total.count > 0, "{canary:?}");
    assert_eq!(canary.before.errors + canary.under_load.errors, 0);
    assert!(view.run.complete && shown(&output).contains("canary"), "{}", shown(&output));
    let left = files_below(target.root.as_deref().unwrap());
    assert!(left.iter().all(|f| f.split('/').any(|part| part.starts_with('.'))), "its object is deleted: {left:?}");
}

#[test]
fn a_run_that_ends_before_its_canary_has_many_requests_is_judged_by_those_that_it_has() {
    let (out, target) = (tempdir().unwrap(), Served::null());
    let flags = format!("--host {} --op get --obj.size 4KiB --concurrent 1 --no-ceiling", target.address);
    // Two a second for a second and a half: a p50 takes two dozen to end a run.
    let canary = "--duration 1500ms --abort-if p50>1us --canary-rate 2";
    let output = bench(out.path(), &format!("{flags} {canary}"));
    assert_eq!(output.status.code(), Some(5), "{}", shown(&output));
    let view = view(out.path());
    let finding = view.findings.iter().find(|f| f.kind == FindingKind::CanaryTripped).unwrap();
    assert!(finding.claim.contains("exceeded its bound: p50>1us"), "{finding:?}");
    assert!(finding.evidence.contains("none met the bound"), "{finding:?}");
    assert!(view.run.complete, "nothing was cut short");
}

#[test]
fn a_canary_that_exceeds_a_bound_ends_the_run_in_good_order() {
    let (out, target) = (tempdir().unwrap(), Served::null());
    let flags = format!("--host {} --op get --obj.size 4KiB --concurrent 1,2 --no-ceiling", target.address);
    let canary = "--duration 20s --abort-if p50>1us --canary-rate 50";
    let output = bench(out.path(), &format!("{flags} {canary}"));
    assert_eq!(output.status.code(), Some(5), "{}", shown(&output));
    let view = view(out.path());
    let finding = view.findings.iter().find(|f| f.kind == FindingKind::CanaryTripped).unwrap();
    assert!(finding.claim.contains("p50>1us") && finding.evidence.contains("took longer"), "{finding:?}");
    assert!(points(&view).iter().all(|p| p.ended == Some(StopReason::Canary)), "what was measured is kept");
    assert!(points(&view).len() <= 1 && !view.run.complete, "the second point is not begun");
    let lines = std::fs::read_to_string(out.path().join("canary.jsonl")).unwrap();
    assert!(lines.contains("\"loaded\":false") && lines.contains("\"loaded\":true"), "{lines}");
}
