//! What a run says of a site: its best GET and PUT, where they are evidence of it at all.

use linerate_analysis::knee::Outcome;
use linerate_analysis::view::{Bound, Measure, Series, View};
use linerate_record::explanation::{Observed, Quantity};
use linerate_record::site::Site;
use linerate_record::units::Bytes;

/// Share of failed requests from which a figure is not one of the site at work: that of exit code 4.
const FAILED: f64 = 0.01;

/// How the null target calls itself in its replies.
const NULL: &str = "linerate-null";

/// Whether a run can be one of the site: what is to be told where it can.
///
/// # Errors
/// Why it cannot.
pub(super) fn of_run(view: &View, site: &Site) -> Result<Option<String>, String> {
    let target = &view.run.target;
    let is_null = target.kind == "null" || target.server.as_deref() == Some(NULL);
    if is_null || target.kind == "embedded" {
        let kind = if is_null { "null" } else { "embedded" };
        return Err(format!(
            "it loaded linerate's own {kind} target, which is no part of {}: name a run with --host of the site",
            site.name
        ));
    }
    let (hosts, nodes) = (target.hosts.len(), site.groups.iter().map(|group| u64::from(group.count)).sum::<u64>());
    if hosts as u64 > nodes {
        return Err(format!(
            "it loaded {hosts} hosts, and {} has {nodes} nodes: it is a run of another target, or the site lacks some",
            site.name
        ));
    }
    let is_here = target.on_this_machine;
    let here = "note: the target had an address of the machine that loaded it: unless that forwards to the site, its \
                links were not crossed";
    Ok(is_here.then(|| here.to_owned()))
}

/// The largest size of objects of which there is a GET or a PUT.
pub(super) fn largest(view: &View) -> Option<u64> {
    view.series.iter().filter(is_told_in_bytes).filter_map(size).max()
}

/// What a run says at one size of objects.
pub(super) struct Found {
    pub(super) figures: Vec<Observed>,
    /// Figures that are no evidence, each with the reason.
    pub(super) refused: Vec<String>,
}

/// The best GET and PUT of a run at a size, all visits of the concurrency together; `None` where it has neither.
pub(super) fn figures(view: &View, site: &Site, bytes: u64) -> Option<Found> {
    let mut found = Found { figures: Vec::new(), refused: Vec::new() };
    for series in view.series.iter().filter(is_told_in_bytes).filter(|series| size(series) == Some(bytes)) {
        let Some(best) = series.best().filter(|best| best.mean > 0.0) else { continue };
        match no_evidence(series, site) {
            Some(why) => found.refused.push(format!("{} of {}: {why}", series.workload, series.size)),
            None => {
                let what = if series.workload == "get" { Quantity::Get } else { Quantity::Put };
                let in_flight = series.typical().map(|point| u64::from(point.concurrency));
                found.figures.push(Observed { what, bytes_per_s: best.mean, error_share: None, in_flight });
            }
        }
    }
    (!found.figures.is_empty() || !found.refused.is_empty()).then_some(found)
}

/// Why the best of a series says nothing of what holds a site back.
fn no_evidence(series: &Series, site: &Site) -> Option<String> {
    let outcome = series.knee.as_ref().map(|knee| knee.outcome);
    let of_curve = match outcome {
        Some(Outcome::StillRising) => Some("it was still rising at the most requests in flight: measure with more"),
        Some(Outcome::Unsteady) => Some("its visits lie too far apart to say what it gives: measure again, for longer"),
        Some(Outcome::Uneven) => Some("it does not rise and level off: measure what may give the best too"),
        _ => None,
    };
    let bound = series.limit.as_ref().map(|limit| limit.bound);
    let of_bound = match bound {
        Some(Bound::Client) => Some("linerate itself was the limit, and not the site: load from more, or --threads"),
        Some(Bound::Machine) => Some("client and target shared the processors of one machine, which were the limit"),
        Some(Bound::Nic) if site.clients.count > 1 => {
            Some("the NIC of one client was the limit, and the site has several: load from all of them")
        }
        Some(Bound::Disturbed) => Some("what else ran beside it disturbed it: measure again when that has ended"),
        Some(Bound::RateCap) => Some("--max-rate was the limit, and not the site"),
        Some(Bound::AskedRate) => Some("it kept up with --rate, and was not asked for more"),
        Some(Bound::Nic | Bound::Target) | None => None,
    };
    let point = series.typical()?;
    let failed = point.error_count() as f64 / (point.requests + point.error_count()).max(1) as f64;
    let of_errors = (failed >= FAILED).then(|| format!("{:.1} % of its requests failed", failed * 100.0));
    let open = point.open.is_some().then_some("an open loop gives what it is asked for, and not the most");
    of_errors.or_else(|| of_bound.or(of_curve).or(open).map(str::to_owned))
}

fn is_told_in_bytes(series: &&Series) -> bool {
    let is_known = ["get", "put"].contains(&series.workload.as_str());
    is_known && series.measure == Measure::Bytes && !series.points.is_empty()
}

fn size(series: &Series) -> Option<u64> {
    series.size.parse::<Bytes>().ok().map(|bytes| bytes.0)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use linerate_analysis::view::Limit;

    use super::*;
    use crate::{import, plan, report};

    fn site(name: &str) -> Site {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        plan::read_site(&folder.join(name)).unwrap()
    }

    /// A GET of one host, as warp recorded it.
    fn run() -> View {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/warp-get.csv.zst");
        import::run(&import::of_warp(file, path.clone())).unwrap();
        let mut view = report::view_of(&path).unwrap();
        view.run.target.on_this_machine = false;
        view
    }

    #[test]
    fn figures_that_are_no_evidence_of_a_site_are_refused_with_the_reason() {
        let (site, view) = (site("namespaces-4.yaml"), run());
        let size = largest(&view).expect("it has a GET");
        assert_eq!(of_run(&view, &site), Ok(None));
        let taken = figures(&view, &site, size).expect("it has a GET");
        assert_eq!((taken.figures.len(), taken.refused.as_slice()), (1, &[][..]));
        assert_eq!(taken.figures[0].bytes_per_s, view.series[0].best().unwrap().mean);
        let limit = |bound| Limit { bound, claim: String::new(), evidence: String::new(), remedy: String::new() };
        for (bound, why) in [
            (Some(Bound::Client), "linerate itself was the limit"),
            (Some(Bound::Machine), "shared the processors"),
            (Some(Bound::RateCap), "--max-rate"),
            (Some(Bound::AskedRate), "--rate"),
            (None, "50.0 % of its requests failed"),
        ] {
            let mut view = view.clone();
            let series = &mut view.series[0];
            if bound.is_none() {
                let point = &mut series.points[0];
                point.errors.insert("503".to_owned(), point.requests);
            }
            series.limit = bound.map(limit);
            let found = figures(&view, &site, size).expect("it has a GET");
            assert!(found.figures.is_empty() && found.refused[0].contains(why), "{why}: {:?}", found.refused);
        }
    }

    #[test]
    fn runs_of_another_target_are_refused_whole() {
        let site = site("namespaces-4.yaml");
        let mut view = run();
        view.run.target.on_this_machine = true;
        assert!(of_run(&view, &site).unwrap().unwrap().contains("unless that forwards"));
        let mut many = view.clone();
        many.run.target.hosts = (0..9).map(|n| format!("node{n}:9000")).collect();
        assert!(of_run(&many, &site).unwrap_err().contains("9 hosts, and namespaces"), "{:?}", of_run(&many, &site));
        for (kind, server, own) in
            [("null", None, "null"), ("embedded", None, "embedded"), ("s3", Some("linerate-null"), "null")]
        {
            (view.run.target.kind, view.run.target.server) = (kind.to_owned(), server.map(str::to_owned));
            let why = of_run(&view, &site).unwrap_err();
            assert!(why.contains(&format!("linerate's own {own} target")), "{why}");
        }
    }
}
