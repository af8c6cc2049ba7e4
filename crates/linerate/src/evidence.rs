//! What a run says of a site: its best GET and PUT, where they are evidence of it at all.

use std::collections::{BTreeMap, BTreeSet};

use linerate_analysis::knee::KneeOutcome;
use linerate_analysis::view::{Bottleneck, Estimate, HostFigures, Measure, Point, Series, View, too_many_failed};
use linerate_record::explanation::{Observed, Quantity};
use linerate_record::finding::FindingKind;
use linerate_record::load::Workload;
use linerate_record::run::{Op, TargetKind, Worded};
use linerate_record::site::Site;
use linerate_record::units::{Bytes, duration_ns};

/// Half the width of an interval, as a share, from which a figure is too unsteady: that of the knee.
const UNSTEADY: f64 = 0.2;

/// A host answers late whose median latency is so many times that of the hosts.
const LATE: f64 = 1.5;

/// Standard errors in half a 95 % interval of a normal distribution.
const NORMAL_95: f64 = 1.96;

/// How the null target calls itself in its replies.
const NULL: &str = "linerate-null";

/// Whether a run can be one of the site: what is to be told where it can.
///
/// # Errors
/// Why it cannot.
pub(crate) fn of_run(view: &View, site: &Site) -> Result<Option<String>, String> {
    let target = &view.run.target;
    let is_null = target.kind.is(&TargetKind::Null) || target.server.as_deref() == Some(NULL);
    if is_null || target.kind.is(&TargetKind::Embedded) {
        let kind = if is_null { TargetKind::Null } else { TargetKind::Embedded };
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
    if site.has_clients_on_nodes() && nodes > 1 {
        return of_clients_on_nodes(view, site);
    }
    let is_here = target.on_this_machine;
    let here = "note: the target had an address of the machine that loaded it: unless that forwards to the site, its \
                links were not crossed";
    Ok(is_here.then(|| here.to_owned()))
}

/// Whether a run can be one of clients on every storage node. linerate loads from one machine; warp may have had many.
fn of_clients_on_nodes(view: &View, site: &Site) -> Result<Option<String>, String> {
    let (name, nodes) = (&site.name, site.nodes());
    if view.findings.iter().any(|finding| finding.kind == FindingKind::Imported) {
        return Ok(Some(format!(
            "note: clients of {name} run on its {nodes} nodes: it is taken that warp ran on all of them"
        )));
    }
    Err(format!(
        "it was loaded from one machine, and the clients of {name} run on its {nodes} nodes: import what warp measured \
         there, give the sum by --observed, or describe clients on machines of their own"
    ))
}

/// The largest size of objects of which there is a GET or a PUT.
pub(crate) fn largest(view: &View) -> Option<u64> {
    view.series.iter().filter(is_told_in_bytes).filter_map(size).max()
}

/// What a run measured, for who named one without figures that can be taken: `GET of 16 KiB, in requests per second`.
pub(crate) fn measured(view: &View) -> Vec<String> {
    let reported = |series: &Series| {
        let sized = if series.size.is_empty() { String::new() } else { format!(" of {}", series.size) };
        let unit = if series.measure == Measure::Requests { ", reported in requests per second" } else { "" };
        let none = if series.points.is_empty() { ", without a whole interval" } else { "" };
        format!("{}{sized}{unit}{none}", series.workload.to_string().to_uppercase())
    };
    view.series.iter().map(reported).collect()
}

/// What a run says at one size of objects.
pub(crate) struct Found {
    pub(crate) figures: Vec<Observed>,
    /// Figures that are no evidence, each with the reason.
    pub(crate) refused: Vec<String>,
    /// What the run says by itself: errors, then hosts that answer late.
    pub(crate) said: Vec<String>,
}

/// The best GET and PUT of a run at a size, all visits of the concurrency together, and the same per host where hosts
/// are the nodes; `None` where it has neither. `error` is the least standard error that a figure has.
pub(crate) fn figures(view: &View, site: &Site, bytes: u64, error: f64) -> Option<Found> {
    let mut found = Found { figures: Vec::new(), refused: Vec::new(), said: Vec::new() };
    let nodes = nodes_of(&view.run.target.hosts, site);
    let mut late = Vec::new();
    for series in view.series.iter().filter(is_told_in_bytes).filter(|series| size(series) == Some(bytes)) {
        let Some((concurrency, best)) = best_of(series).filter(|(_, best)| best.mean > 0.0) else { continue };
        let visits: Vec<&Point> = series.points.iter().filter(|point| point.concurrency == concurrency).collect();
        found.said.extend(errors(&series.workload, &visits));
        if let Some(why) = no_evidence(series, &best, site) {
            found.refused.push(format!("{} of {}: {why}", series.workload, series.size));
            continue;
        }
        let own = best.half_width_95.map_or(0.0, |half| half / NORMAL_95 / best.mean);
        let figure = |node: Option<String>, bytes_per_s| Observed {
            what: match (series.workload.is_only(Op::Get), node) {
                (true, None) => Quantity::Get,
                (false, None) => Quantity::Put,
                (true, Some(node)) => Quantity::NodeGet { node },
                (false, Some(node)) => Quantity::NodePut { node },
            },
            bytes_per_s,
            error_share: (own > error).then_some(own),
            in_flight: Some(u64::from(concurrency)),
        };
        found.figures.push(figure(None, best.mean));
        late.extend(late_hosts(&series.workload, &visits));
        if let Some(nodes) = &nodes {
            found.figures.extend(of_hosts(&visits, nodes).into_iter().map(|(node, rate)| figure(Some(node), rate)));
        }
    }
    found.said.extend(late);
    (!found.figures.is_empty() || !found.refused.is_empty()).then_some(found)
}

/// The concurrency that gives most, and what all of its visits give together.
fn best_of(series: &Series) -> Option<(u32, Estimate)> {
    if let Some(knee) = &series.knee {
        return Some((knee.best_concurrency, knee.best));
    }
    let together = series.together().into_iter().max_by(|a, b| a.1.mean.total_cmp(&b.1.mean));
    together.or_else(|| series.best_point().map(|point| (point.concurrency, point.bytes_per_s)))
}

/// The name of a node for each host, where hosts are the nodes of the site one to one: by their number, and by kind.
fn nodes_of(hosts: &[String], site: &Site) -> Option<Vec<String>> {
    let bare = |host: &String| host.rsplit_once(':').map_or(host.clone(), |(name, _)| name.to_owned());
    let unique = |names: &[String]| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    let mut names: Vec<String> = hosts.iter().map(bare).collect();
    if !unique(&names) {
        names = hosts.to_vec();
    }
    let groups: Vec<_> = site.groups.iter().filter(|group| group.count > 0).collect();
    // The kind with the longest name with which a host's begins.
    let kind = |name: &String| {
        let begins = groups.iter().filter(|group| name.starts_with(group.name.as_str()));
        begins.max_by_key(|group| group.name.len()).map(|group| group.name.as_str())
    };
    let of_kind = |group: &str| names.iter().filter(|name| kind(name) == Some(group)).count();
    let known = groups.len() == 1 || groups.iter().all(|group| of_kind(&group.name) == group.count as usize);
    (names.len() > 1 && names.len() == site.nodes() as usize && unique(&names) && known).then_some(names)
}

/// What each host gave over all visits, by the name of its node; nothing where a point does not tell of all.
fn of_hosts(visits: &[&Point], nodes: &[String]) -> Vec<(String, f64)> {
    if visits.iter().any(|point| point.hosts.len() != nodes.len()) {
        return Vec::new();
    }
    let time: f64 = visits.iter().map(|point| point.measured_ms as f64).sum();
    let of = |(place, node): (usize, &String)| {
        let moved: f64 = visits.iter().map(|point| point.hosts[place].bytes_per_s * point.measured_ms as f64).sum();
        (node.clone(), moved / time.max(1.0))
    };
    nodes.iter().enumerate().map(of).filter(|(_, rate)| *rate > 0.0).collect()
}

/// Requests that failed, were made again or were refused, and where.
fn errors(workload: &Worded<Workload>, visits: &[&Point]) -> Option<String> {
    let requests: u64 = visits.iter().map(|point| point.requests + point.error_count()).sum();
    let mut kinds: BTreeMap<&str, u64> = BTreeMap::new();
    for (kind, count) in visits.iter().flat_map(|point| point.errors.iter().chain(&point.retries)) {
        *kinds.entry(kind).or_default() += count;
    }
    let failed: u64 = kinds.values().sum();
    let mut hosts: BTreeMap<&str, u64> = BTreeMap::new();
    for host in visits.iter().flat_map(|point| &point.hosts).filter(|host| host.errors > 0) {
        *hosts.entry(&host.host).or_default() += host.errors;
    }
    let most = hosts.iter().max_by_key(|(_, count)| **count).filter(|_| visits[0].hosts.len() > 1);
    let at = most.map_or_else(String::new, |(host, count)| format!(", {count} of them at {host}"));
    let kinds: Vec<String> = kinds.iter().map(|(kind, count)| format!("{kind}: {count}")).collect();
    (failed > 0).then(|| {
        format!(
            "of {requests} requests of {}, attempts failed {failed} times ({}){at}: look there first, since what fails \
             takes the time of what does not",
            workload.to_string().to_uppercase(),
            kinds.join(", ")
        )
    })
}

/// Hosts whose median latency is far above that of the others.
fn late_hosts(workload: &Worded<Workload>, visits: &[&Point]) -> Vec<String> {
    let Some(longest) = visits.iter().max_by_key(|point| point.measured_ms) else { return Vec::new() };
    let mut medians: Vec<u64> = longest.hosts.iter().map(|host| host.total_p50_ns).collect();
    medians.sort_unstable();
    let Some(&median) = medians.get(medians.len() / 2).filter(|median| **median > 0 && medians.len() > 2) else {
        return Vec::new();
    };
    let late = |host: &&HostFigures| host.total_p50_ns as f64 > LATE * median as f64;
    let reported = |host: &HostFigures| {
        format!(
            "{} of {} takes {:.1} times as long as at half of the hosts ({}, not {}): look there first",
            workload.to_string().to_uppercase(),
            host.host,
            host.total_p50_ns as f64 / median as f64,
            duration_ns(host.total_p50_ns as f64),
            duration_ns(median as f64)
        )
    };
    longest.hosts.iter().filter(late).map(reported).collect()
}

/// Why the best of a series says nothing of what holds a site back.
fn no_evidence(series: &Series, best: &Estimate, site: &Site) -> Option<String> {
    // One concurrency has no knee: it is held against the curve there, if it is steady.
    let unsteady = best.half_width_95.is_some_and(|half| half > UNSTEADY * best.mean).then_some(KneeOutcome::Unsteady);
    let outcome = series.knee.as_ref().map_or(unsteady, |knee| Some(knee.outcome));
    let of_curve = match outcome {
        Some(KneeOutcome::StillRising) => Some("it was still rising at the most requests in flight: measure with more"),
        Some(KneeOutcome::Unsteady) => Some("it is too unsteady to say what it gives: measure again, for longer"),
        Some(KneeOutcome::Uneven) => Some("it does not rise and level off: measure what may give the best too"),
        _ => None,
    };
    let bound = series.limit.as_ref().map(|limit| limit.bound);
    let of_bound = match bound {
        Some(Bottleneck::Client) => {
            Some("linerate itself was the limit, and not the site: load from more, or --threads")
        }
        Some(Bottleneck::Machine) => {
            Some("client and target shared the processors of one machine, which were the limit")
        }
        Some(Bottleneck::Nic) if site.askers() > 1 => {
            Some("the NIC of one client was the limit, and the site has several: load from all of them")
        }
        Some(Bottleneck::Disturbed) => Some("what else ran beside it disturbed it: measure again when that has ended"),
        Some(Bottleneck::RateCap) => Some("--max-rate was the limit, and not the site"),
        Some(Bottleneck::AskedRate) => Some("no more was asked for, by --rate or the search of --slo"),
        Some(Bottleneck::Rests) => Some("linerate rested after failures, and asked the site for less meanwhile"),
        Some(Bottleneck::Nic | Bottleneck::Target) | None => None,
    };
    let point = series.best_point()?;
    let (failed, all) = (point.error_count(), point.requests + point.error_count());
    let of_errors = too_many_failed(failed, all)
        .then(|| format!("{:.1} % of its requests failed", failed as f64 / all as f64 * 100.0));
    let open = point.open.is_some().then_some("an open loop gives what it is asked for, and not the most");
    of_errors.or_else(|| of_bound.or(of_curve).or(open).map(str::to_owned))
}

fn is_told_in_bytes(series: &&Series) -> bool {
    let is_known = [Op::Get, Op::Put].iter().any(|op| series.workload.is_only(*op));
    is_known && series.measure == Measure::Bytes && !series.points.is_empty()
}

fn size(series: &Series) -> Option<u64> {
    series.size.parse::<Bytes>().ok().map(|bytes| bytes.0)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use linerate_analysis::view::SeriesLimit;

    use super::*;
    use crate::{import, sites, views};

    fn site(name: &str) -> Site {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
        sites::read_site(&folder.join(name)).unwrap()
    }

    /// A GET of one host, as warp recorded it.
    fn run() -> View {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run");
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/warp-get.csv.zst");
        import::run(&import::of_warp(file, path.clone())).unwrap();
        let mut view = views::view_of(&path).unwrap();
        view.run.target.on_this_machine = false;
        view
    }

    #[test]
    fn figures_that_are_no_evidence_of_a_site_are_refused_with_the_reason() {
        let (site, view) = (site("namespaces-4.yaml"), run());
        let size = largest(&view).expect("it has a GET");
        assert_eq!(of_run(&view, &site), Ok(None));
        let taken = figures(&view, &site, size, 0.02).expect("it has a GET");
        assert_eq!((taken.figures.len(), taken.refused.as_slice()), (1, &[][..]));
        assert_eq!(taken.figures[0].bytes_per_s, view.series[0].best().unwrap().mean);
        let limit = |bound| SeriesLimit { bound, claim: String::new(), evidence: String::new(), remedy: String::new() };
        for (bound, why) in [
            (Some(Bottleneck::Client), "linerate itself was the limit"),
            (Some(Bottleneck::Machine), "shared the processors"),
            (Some(Bottleneck::RateCap), "--max-rate"),
            (Some(Bottleneck::AskedRate), "--rate"),
            (Some(Bottleneck::Rests), "rested after failures"),
            (None, "50.0 % of its requests failed"),
        ] {
            let mut view = view.clone();
            let series = &mut view.series[0];
            if bound.is_none() {
                let point = &mut series.points[0];
                point.errors.insert("503".to_owned(), point.requests);
            }
            series.limit = bound.map(limit);
            let found = figures(&view, &site, size, 0.02).expect("it has a GET");
            assert!(found.figures.is_empty() && found.refused[0].contains(why), "{why}: {:?}", found.refused);
        }
    }

    /// The same run over hosts, each with so many bytes per second and such a median latency.
    fn run_of_hosts(hosts: &[(&str, f64, u64)]) -> View {
        let mut view = run();
        view.run.target.hosts = hosts.iter().map(|(host, ..)| (*host).to_owned()).collect();
        let series = &mut view.series[0];
        series.limit = None;
        series.points.truncate(1);
        let template = series.points[0].hosts[0].clone();
        let of = |&(host, bytes_per_s, total_p50_ns): &(&str, f64, u64)| HostFigures {
            host: host.to_owned(),
            bytes_per_s,
            total_p50_ns,
            ..template.clone()
        };
        series.points[0].hosts = hosts.iter().map(of).collect();
        view
    }

    #[test]
    fn one_concurrency_is_held_against_the_curve_with_figures_of_its_hosts_and_errors_come_first() {
        let site = site("namespaces-4.yaml");
        let hosts = [("n1:9000", 3e6, 100), ("n2:9000", 3.1e6, 110), ("n3:9000", 1e6, 290), ("n4:9000", 3e6, 105)];
        let mut view = run_of_hosts(&hosts);
        assert!(view.series[0].knee.is_none(), "it has one concurrency");
        let concurrency = u64::from(view.series[0].points[0].concurrency);
        let size = largest(&view).expect("it has a GET");
        let found = figures(&view, &site, size, 0.02).expect("it has a GET");
        assert!(found.figures.iter().all(|figure| figure.in_flight == Some(concurrency)), "{:?}", found.figures);
        let third = Quantity::NodeGet { node: "n3".to_owned() };
        let rates: Vec<f64> = found.figures.iter().filter(|f| f.what == third).map(|f| f.bytes_per_s).collect();
        assert_eq!((found.figures.len(), rates), (5, vec![1e6]));
        assert!(
            found.said.len() == 1 && found.said[0].starts_with("GET of n3:9000 takes 2.6 times"),
            "{:?}",
            found.said
        );
        // A few that failed are told first; hosts that are not the nodes give no figures of nodes.
        view.series[0].points[0].errors.insert("503".to_owned(), 1);
        view.series[0].points[0].requests = 1000;
        let found = figures(&view, &site, size, 0.02).expect("it has a GET");
        assert!(found.said[0].contains("failed 1 times (503: 1)") && found.said.len() == 2, "{:?}", found.said);
        let of_three = figures(&run_of_hosts(&hosts[..3]), &site, size, 0.02).expect("it has a GET");
        assert_eq!(of_three.figures.len(), 1);
        // Too unsteady to say, with one concurrency too.
        let best = &mut view.series[0].points[0].bytes_per_s;
        best.half_width_95 = Some(0.5 * best.mean);
        let found = figures(&view, &site, size, 0.02).expect("it has a GET");
        assert!(found.refused[0].contains("too unsteady to say"), "{:?}", found.refused);
    }

    #[test]
    fn what_a_run_measured_is_told_where_nothing_of_it_can_be_taken() {
        let mut view = run();
        let site = site("namespaces-4.yaml");
        assert!(figures(&view, &site, 1, 0.02).is_none(), "it has no object of one byte");
        let series = &mut view.series[0];
        (series.size, series.measure) = ("16KiB".to_owned(), Measure::Requests);
        assert_eq!(largest(&view), None);
        assert_eq!(measured(&view), ["GET of 16KiB, reported in requests per second"]);
    }

    #[test]
    fn hosts_are_nodes_one_to_one_by_number_and_by_kind() {
        let mut site = site("namespaces-4.yaml");
        let of = |names: &[&str], site: &Site| {
            nodes_of(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), site)
        };
        assert_eq!(of(&["a:9000", "b:9000", "c:9000", "d:9000"], &site).unwrap(), ["a", "b", "c", "d"]);
        assert_eq!(of(&["a:1", "a:2", "a:3", "a:4"], &site).unwrap()[3], "a:4");
        assert_eq!(of(&["a:9000", "b:9000", "c:9000"], &site), None);
        let mut other = site.groups[0].clone();
        (site.groups[0].name, site.groups[0].count) = ("old".to_owned(), 2);
        (other.name, other.count) = ("new".to_owned(), 2);
        site.groups.push(other);
        assert!(of(&["old1:1", "old2:1", "new1:1", "new2:1"], &site).is_some());
        assert_eq!(of(&["old1:1", "old2:1", "old3:1", "new2:1"], &site), None);
    }

    #[test]
    fn a_run_from_one_machine_is_none_of_clients_on_every_node() {
        let mut site = site("namespaces-4.yaml");
        site.clients.on = linerate_record::site::ClientsOn::Nodes;
        let mut view = run();
        assert!(of_run(&view, &site).unwrap().unwrap().contains("warp ran on all of them"));
        view.findings.clear();
        let why = of_run(&view, &site).unwrap_err();
        assert!(why.contains("from one machine") && why.contains("its 4 nodes"), "{why}");
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
        for (kind, server, own) in [
            (TargetKind::Null, None, "null"),
            (TargetKind::Embedded, None, "embedded"),
            (TargetKind::S3, Some(NULL), "null"),
        ] {
            (view.run.target.kind, view.run.target.server) = (kind.into(), server.map(str::to_owned));
            let why = of_run(&view, &site).unwrap_err();
            assert!(why.contains(&format!("linerate's own {own} target")), "{why}");
        }
    }
}
