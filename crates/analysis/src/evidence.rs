//! What a run is evidence of: its best GET and PUT as figures of a described site, or why they are none.

mod hosts;
mod remarks;

use linerate_record::explanation::{Observed, Quantity};
use linerate_record::finding::{Finding, FindingKind, Severity};
use linerate_record::run::{Op, TargetKind};
use linerate_record::site::{Entry, Site};
use linerate_record::units::Bytes;

use crate::knee::KneeOutcome;
use crate::student::NORMAL_95;
use crate::view::{Bottleneck, Estimate, Measure, Point, Series, View, too_many_failed};

pub use remarks::{Caveat, NoEvidence, NotEvidenceReason, OmittedFigure, RunRemark, SiteMismatch};

/// Half the width of an interval, as a share, from which a caveat says how wide it is: that of the knee.
const WIDE: f64 = 0.2;

/// … and from which a figure says too little to be used: a standard error of 25 %.
const TOO_WIDE: f64 = 0.5;

/// The relative standard error that a figure without an interval is taken to have, where nobody stated one: about that
/// of an interval that is [`WIDE`].
pub const UNKNOWN_ERROR: f64 = 0.1;

/// How the null target calls itself in its replies.
const NULL: &str = "linerate-null";

/// The relative standard errors that figures are taken to have at the least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MinimumError {
    /// Of a figure that states none.
    pub share: f64,
    /// Whether somebody stated it: then it is that of figures without an interval too.
    pub is_stated: bool,
}

/// The standard error that figures are taken to have, unless one is stated.
const ASSUMED_ERROR: f64 = 0.02;

impl MinimumError {
    /// What is stated, or else assumed.
    #[must_use]
    pub fn stated_or_assumed(stated: Option<f64>) -> MinimumError {
        MinimumError { share: stated.unwrap_or(ASSUMED_ERROR), is_stated: stated.is_some() }
    }
}

/// Which figures of a run are used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EvidenceSelection {
    /// Size of the objects, in bytes; none for the largest that the run has.
    pub size: Option<u64>,
    pub error: MinimumError,
    /// Whether what other programs disturbed is used as well, with a caveat.
    pub allows_disturbed: bool,
}

/// What a run says of a site at one size of objects.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    pub object_bytes: u64,
    /// The best GET and PUT, and the same per host where hosts are the nodes.
    pub figures: Vec<Observed>,
    /// Figures that are no evidence.
    pub left_out: Vec<OmittedFigure>,
    /// What the run says by itself: errors, then hosts that answer late.
    pub remarks: Vec<RunRemark>,
    /// What the figures rest on.
    pub caveats: Vec<Caveat>,
}

/// The best GET and PUT of a run at a size of objects, all visits of the concurrency together, and the same per host
/// where hosts are the nodes.
///
/// # Errors
/// Why the run is no evidence of the site.
pub fn of_run(view: &View, site: &Site, selection: EvidenceSelection) -> Result<Evidence, NoEvidence> {
    let EvidenceSelection { size, error, allows_disturbed } = selection;
    let caveats = is_of_site(view, site)?;
    let nothing = || NoEvidence::Nothing { size: size.map(Bytes), measured: measured(view) };
    let object_bytes = size.or_else(|| largest(view)).ok_or_else(nothing)?;
    let mut evidence =
        Evidence { object_bytes, figures: Vec::new(), left_out: Vec::new(), remarks: Vec::new(), caveats };
    let nodes = hosts::node_per_host(&view.run.target.hosts, site);
    let mut late = Vec::new();
    let of_size =
        || view.series.iter().filter(is_reported_in_bytes).filter(|s| object_bytes_read(s) == Some(object_bytes));
    // Of several numbers of clients, those that gave most speak for the site.
    let most = |series: &Series| best_with_concurrency(series).map_or(0.0, |(_, best)| best.mean);
    let is_most = |series: &&Series| {
        let others = of_size().filter(|other| other.workload == series.workload && other.clients != series.clients);
        others.map(most).all(|other| other < most(series))
    };
    for series in of_size().filter(&is_most) {
        let Some((concurrency, best)) = best_with_concurrency(series).filter(|(_, best)| best.mean > 0.0) else {
            continue;
        };
        let visits: Vec<&Point> = series.points.iter().filter(|point| point.concurrency == concurrency).collect();
        evidence.remarks.extend(hosts::failures(&series.workload, &visits));
        let (workload, size) = (series.workload.clone(), series.size.clone());
        let is_disturbed = is_disturbed(view, series, &visits);
        let of_disturbed = || (is_disturbed && !allows_disturbed).then_some(NotEvidenceReason::Disturbed);
        if let Some(why) = of_disturbed().or_else(|| refused(view, series, &visits, &best, site)) {
            evidence.left_out.push(omitted(series, &best, why));
            continue;
        }
        let half_width_share = best.half_width_share();
        if is_disturbed {
            evidence.caveats.push(Caveat::Disturbed { workload: workload.clone(), size: size.clone() });
        }
        if let Some(half_width_share) = half_width_share.filter(|half| *half > WIDE) {
            let (workload, size) = (workload.clone(), size.clone());
            evidence.caveats.push(Caveat::WideInterval { workload, size, half_width_share });
        }
        let error_share = match half_width_share.map(|half| half / NORMAL_95) {
            None if !error.is_stated => {
                evidence.caveats.push(Caveat::NoInterval { workload, size, error_share: UNKNOWN_ERROR });
                Some(UNKNOWN_ERROR)
            }
            own => own.filter(|own| *own > error.share),
        };
        let figure = |node: Option<String>, bytes_per_s| Observed {
            what: match (series.workload.is_only(Op::Get), node) {
                (true, None) => Quantity::Get,
                (false, None) => Quantity::Put,
                (true, Some(node)) => Quantity::NodeGet { node },
                (false, Some(node)) => Quantity::NodePut { node },
            },
            bytes_per_s,
            error_share,
            in_flight: Some(u64::from(concurrency)),
        };
        evidence.figures.push(figure(None, best.mean));
        late.extend(hosts::late(&series.workload, &visits));
        if let Some(nodes) = &nodes {
            let of_hosts = hosts::rates(&visits, nodes).into_iter();
            evidence.figures.extend(of_hosts.map(|(node, rate)| figure(Some(node), rate)));
        }
    }
    evidence.remarks.extend(late);
    match (evidence.figures.is_empty(), evidence.left_out.is_empty()) {
        (true, true) => Err(nothing()),
        (true, false) => Err(NoEvidence::OmittedFigure(evidence.left_out)),
        (false, _) => {
            evidence.left_out.extend(others(view, object_bytes, is_most));
            Ok(evidence)
        }
    }
}

/// A figure that is not used.
fn omitted(series: &Series, best: &Estimate, why: NotEvidenceReason) -> OmittedFigure {
    OmittedFigure {
        workload: series.workload.clone(),
        size: series.size.clone(),
        bytes_per_s: Some(best.mean).filter(|rate| *rate > 0.0 && series.measure == Measure::Bytes),
        half_width_share: best.half_width_share(),
        why,
    }
}

/// What a run measured that is no GET or PUT of the size that is used, or gave less than another number of clients.
fn others<'v>(view: &'v View, object_bytes: u64, is_most: impl Fn(&&'v Series) -> bool) -> Vec<OmittedFigure> {
    let other = |series: &'v Series| {
        let best = best_with_concurrency(series).map(|(_, best)| best).unwrap_or_default();
        let is_alone = [Op::Get, Op::Put].iter().any(|op| series.workload.is_only(*op));
        let why = match object_bytes_read(series) {
            _ if !is_alone => NotEvidenceReason::OtherOperation,
            _ if series.measure != Measure::Bytes => NotEvidenceReason::InRequests,
            None => NotEvidenceReason::SeveralSizes,
            Some(size) if size != object_bytes => NotEvidenceReason::OtherSize { used: Bytes(object_bytes) },
            Some(_) if !is_most(&series) => NotEvidenceReason::FewerClients,
            Some(_) if best.mean <= 0.0 => NotEvidenceReason::NothingMoved,
            Some(_) => return None,
        };
        Some(omitted(series, &best, why))
    };
    view.series.iter().filter_map(other).collect()
}

/// Whether a run can be one of a site: what is to be said where it can.
///
/// # Errors
/// Why it cannot.
pub fn is_of_site(view: &View, site: &Site) -> Result<Vec<Caveat>, SiteMismatch> {
    let target = &view.run.target;
    let is_null = target.kind.is(&TargetKind::Null) || target.server.as_deref() == Some(NULL);
    if is_null || target.kind.is(&TargetKind::Embedded) {
        let kind = if is_null { TargetKind::Null } else { TargetKind::Embedded };
        return Err(SiteMismatch::OwnTarget { kind, site: site.name.clone() });
    }
    let (hosts, nodes) = (target.hosts.len(), site.nodes());
    if hosts > nodes as usize {
        return Err(SiteMismatch::MoreHosts { hosts, nodes, site: site.name.clone() });
    }
    let are_on_nodes = site.has_clients_on_nodes() && nodes > 1;
    let is_imported = view.findings.iter().any(|finding| finding.kind == FindingKind::Imported);
    // A run of one client loads from one machine; warp may have had many.
    if are_on_nodes && !is_imported && view.run.clients.is_empty() {
        return Err(SiteMismatch::OneMachine { nodes, site: site.name.clone() });
    }
    // One address may stand for all nodes where something before them spreads connections.
    let asks_nodes = matches!(site.entry, Entry::ClientSide | Entry::NodePort { .. } | Entry::Local);
    let found = [
        (are_on_nodes, Caveat::OnAllNodes { nodes, site: site.name.clone() }),
        (!are_on_nodes && target.on_this_machine, Caveat::ThisMachine),
        (asks_nodes && hosts < nodes as usize, Caveat::FewerHosts { hosts, nodes, site: site.name.clone() }),
    ];
    Ok(found.into_iter().filter_map(|(holds, caveat)| holds.then_some(caveat)).collect())
}

/// The largest size of objects of which there is a GET or a PUT.
fn largest(view: &View) -> Option<u64> {
    view.series.iter().filter(is_reported_in_bytes).filter_map(object_bytes_read).max()
}

/// What a run measured, for who named one without figures that can be taken: `GET of 16 KiB, in requests per second`.
fn measured(view: &View) -> Vec<String> {
    let reported = |series: &Series| {
        let sized = if series.size.is_unstated() { String::new() } else { format!(" of {}", series.size) };
        let is_failed = series.points.iter().all(|point| point.requests == 0)
            && series.points.iter().any(|point| point.error_count() + point.warmup_error_count() > 0);
        let unit = match series.measure {
            _ if is_failed => ", of which every request failed",
            Measure::Requests => ", reported in requests per second",
            Measure::Bytes => "",
        };
        let none = if series.points.is_empty() { ", without a whole interval" } else { "" };
        format!("{}{sized}{unit}{none}", series.workload.to_string().to_uppercase())
    };
    view.series.iter().map(reported).collect()
}

/// The concurrency that gives most, and what all of its visits give together.
fn best_with_concurrency(series: &Series) -> Option<(u32, Estimate)> {
    if let Some(knee) = &series.knee {
        return Some((knee.best_concurrency, knee.best));
    }
    let point = series.best_point()?;
    let together = series.together().into_iter().find(|(concurrency, _)| *concurrency == point.concurrency);
    Some(together.unwrap_or((point.concurrency, point.bytes_per_s)))
}

/// Whether other programs took part in what was measured.
fn is_disturbed(view: &View, series: &Series, visits: &[&Point]) -> bool {
    series.limit.as_ref().is_some_and(|limit| limit.bound == Bottleneck::Disturbed)
        || critical(view, visits).any(|found| found.kind == FindingKind::Disturbed)
}

/// Why the best of a series says nothing of what holds a site back, other programs apart.
fn refused(view: &View, series: &Series, visits: &[&Point], best: &Estimate, site: &Site) -> Option<NotEvidenceReason> {
    let point = series.best_point()?;
    let (failed, all) = (point.error_count(), point.requests + point.error_count());
    let of_errors =
        too_many_failed(failed, all).then(|| NotEvidenceReason::Failed { share: failed as f64 / all as f64 });
    let spoiled = || critical(view, visits).find(|found| found.kind != FindingKind::Disturbed);
    let of_finding = || spoiled().map(|found| NotEvidenceReason::critical(found.kind, &found.claim));
    let of_bound = || match series.limit.as_ref()?.bound {
        Bottleneck::Client => Some(NotEvidenceReason::Client),
        Bottleneck::Machine => Some(NotEvidenceReason::SharedMachine),
        Bottleneck::Nic if site.askers() > 1 => Some(NotEvidenceReason::Nic),
        Bottleneck::RateCap => Some(NotEvidenceReason::RateCap),
        Bottleneck::RequestedRate => Some(NotEvidenceReason::RequestedRate),
        Bottleneck::Slots => Some(NotEvidenceReason::OpenLoop),
        Bottleneck::Backoff => Some(NotEvidenceReason::Backoff),
        Bottleneck::Hanging => Some(NotEvidenceReason::Failed { share: failed as f64 / all as f64 }),
        Bottleneck::Nic | Bottleneck::Target | Bottleneck::Unread | Bottleneck::Disturbed => None,
    };
    let too_wide = || best.half_width_share().filter(|half| *half > TOO_WIDE);
    let of_width = || too_wide().map(|half_width_share| NotEvidenceReason::Unsteady { half_width_share });
    // One concurrency has no knee: it is held against the curve there. What is too unsteady for a knee counts with the
    // width of its interval, unless more in flight may give more.
    let of_curve = || match series.knee.as_ref()?.outcome {
        KneeOutcome::StillRising => Some(NotEvidenceReason::StillRising),
        KneeOutcome::Unsteady if is_highest_of_several(series) => Some(NotEvidenceReason::StillRising),
        KneeOutcome::Capped => Some(NotEvidenceReason::RateCap),
        KneeOutcome::Uneven => Some(NotEvidenceReason::Uneven),
        KneeOutcome::Unsteady | KneeOutcome::Found | KneeOutcome::Retrograde | KneeOutcome::Nothing => None,
    };
    let open = || point.open.is_some().then_some(NotEvidenceReason::OpenLoop);
    of_errors.or_else(of_finding).or_else(of_bound).or_else(of_width).or_else(of_curve).or_else(open)
}

/// Whether the best is that of the highest concurrency, and there are others.
fn is_highest_of_several(series: &Series) -> bool {
    let visited = || series.points.iter().map(|point| point.concurrency);
    let best = series.knee.as_ref().map(|knee| knee.best_concurrency);
    visited().max() == best && visited().min() != best
}

/// What says that a figure of these visits should not be used: of one of them, or of the whole run.
fn critical<'v>(view: &'v View, visits: &'v [&Point]) -> impl Iterator<Item = &'v Finding> {
    let is_of_them =
        |found: &Finding| found.points.is_empty() || visits.iter().any(|visit| found.points.contains(&visit.point));
    view.findings.iter().filter(move |found| found.severity == Severity::Critical && is_of_them(found))
}

fn is_reported_in_bytes(series: &&Series) -> bool {
    let is_known = [Op::Get, Op::Put].iter().any(|op| series.workload.is_only(*op));
    is_known && series.measure == Measure::Bytes && !series.points.is_empty()
}

fn object_bytes_read(series: &Series) -> Option<u64> {
    series.size.bytes()
}

#[cfg(test)]
mod tests;
