//! What readers know of a load: its description, and what it became when the run began.

use core::net::IpAddr;
use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{LoadRequest, MaybeKnown, PointSizes, PointSpec, RateSearchSpec, SearchSpec, SeriesSpec};
use crate::load::{Level, Levels, Load, Sizes, WorkloadSizes, Write};

/// What a load became when its run began: what its description leaves open.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resolved {
    /// Key prefix below which the run writes: that of the load, and the run's own.
    pub prefix: String,
    /// Local addresses that connections are made from in turn; empty where the routes give one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<MaybeKnown<IpAddr>>,
    /// Objects written beforehand for operations that read; absent where the load says how many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub objects: Option<u64>,
    /// Longest time for which a point is measured, in milliseconds: whole intervals.
    pub duration_ms: u64,
    /// What all visits of a series may take, in milliseconds, where points are visited in rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds_ms: Option<u64>,
    /// Time before it, in milliseconds: whole intervals; absent where it follows from all visits of a series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup_ms: Option<u64>,
    /// Limits of a search; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<DefaultSearchLimits>,
    /// Numbers of clients from which each series is driven, in order; empty for a run of one machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<u32>,
}

/// Limits of a search that its load does not state.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DefaultSearchLimits {
    Concurrency {
        /// Least concurrency that may be tried.
        lowest: u32,
        /// Longest time of all points of one series, in milliseconds.
        series_ms: u64,
    },
    /// For the highest rate.
    Rate {
        /// Lowest rate that may be tried, in requests per second.
        lowest_per_s: f64,
        /// Share within which the rate is sought.
        precision: f64,
        /// Longest time of all points of one series, in milliseconds.
        series_ms: u64,
    },
}

impl LoadRequest {
    /// A load as readers are told it, with what it became. `threads` are the event-loop threads of a client, for a load
    /// that leaves them to the machine.
    #[must_use]
    pub fn new(load: &Load, resolved: &Resolved, threads: u32) -> Self {
        let Load { endpoint, objects, bodies, levels, stops, .. } = load;
        let uploads = load.has_parts();
        let (search, rate_search) = searches(load, resolved.search, &resolved.clients);
        LoadRequest {
            points: points(load, &resolved.clients),
            search,
            rate_search,
            slo: levels.slo().cloned(),
            duration_ms: resolved.duration_ms,
            warmup_ms: resolved.warmup_ms,
            rounds_ms: resolved.rounds_ms,
            threads: load.threads.unwrap_or(threads),
            objects: objects.count.or(resolved.objects).unwrap_or(0),
            bucket: endpoint.bucket.clone(),
            prefix: resolved.prefix.clone(),
            payload: bodies.payload.into(),
            part_bytes: uploads.then_some(bodies.part_bytes),
            part_concurrent: uploads.then_some(bodies.part_concurrent),
            write: (objects.write != Write::Put).then(|| objects.write.into()),
            unique: bodies.unique.into(),
            verify: bodies.verify,
            range_bytes: bodies.range_bytes,
            max_rate: load.max_rate.map(MaybeKnown::Known),
            arrivals: levels.spacing().map(MaybeKnown::Known),
            abort_if: stops.canary.as_ref().map(|canary| canary.abort_if.clone()),
            canary_per_s: stops.canary.as_ref().map(|canary| canary.per_s),
            retries: stops.retries,
            error_limit: stops.error_limit.map(MaybeKnown::Known),
            host_select: endpoint.host_select.into(),
            sources: resolved.sources.clone(),
            noclear: objects.noclear,
            list_existing: objects.list_existing,
            target_memory_bytes: endpoint.memory_bytes,
            warp_flags: None,
        }
    }
}

/// The series of a load, in order, as folders name them.
#[must_use]
pub fn series(load: &Load) -> Vec<SeriesSpec> {
    let work_series = |work: &WorkloadSizes| {
        let workload = MaybeKnown::Known(work.workload.clone());
        let spec = |size: &Sizes| SeriesSpec {
            workload: workload.clone(),
            size: PointSizes::from(size.clone()).into(),
            clients: None,
        };
        work.sizes.iter().map(spec).collect::<Vec<_>>()
    };
    let mut series: Vec<SeriesSpec> = load.work.iter().flat_map(work_series).collect();
    if load.objects.list_existing {
        // What is there has the sizes that it has: --obj.size makes no series of its own.
        let mut seen = BTreeSet::new();
        series.retain(|s| seen.insert(s.workload.clone()));
        series.iter_mut().for_each(|s| s.size = PointSizes::Existing.into());
    }
    series
}

/// The same with a series for each number of clients, where there are some.
fn series_by_clients(load: &Load, clients: &[u32]) -> Vec<SeriesSpec> {
    let of_one = |s: SeriesSpec| match clients {
        [] => vec![s],
        some => some.iter().map(|&clients| SeriesSpec { clients: Some(clients), ..s.clone() }).collect(),
    };
    series(load).into_iter().flat_map(of_one).collect()
}

/// The points of a load, where they are known beforehand. What a level says of concurrency is of each client.
fn points(load: &Load, clients: &[u32]) -> Vec<PointSpec> {
    let given = load.levels.given().unwrap_or_default();
    let at = |s: SeriesSpec| {
        let point = move |&Level { concurrency, rate_per_s }: &Level| {
            let SeriesSpec { workload, size, clients } = s.clone();
            let concurrency = concurrency.saturating_mul(clients.unwrap_or(1));
            PointSpec { workload, size, concurrency, rate_per_s, clients }
        };
        given.iter().map(point)
    };
    series_by_clients(load, clients).into_iter().flat_map(at).collect()
}

/// The search of a load, of either kind.
fn searches(
    load: &Load,
    limits: Option<DefaultSearchLimits>,
    clients: &[u32],
) -> (Option<SearchSpec>, Option<RateSearchSpec>) {
    match (&load.levels, limits) {
        (Levels::Searched { highest }, Some(DefaultSearchLimits::Concurrency { lowest, series_ms })) => {
            (Some(SearchSpec { lowest, highest: *highest, series_ms, series: series_by_clients(load, clients) }), None)
        }
        (
            Levels::RateSearch { concurrency, highest_per_s, .. },
            Some(DefaultSearchLimits::Rate { lowest_per_s, precision, series_ms }),
        ) => {
            let (highest_per_s, series) = (*highest_per_s, series_by_clients(load, clients));
            let concurrency = Some(concurrency.saturating_mul(clients.iter().copied().max().unwrap_or(1)));
            let search = RateSearchSpec { lowest_per_s, highest_per_s, concurrency, precision, series_ms, series };
            (None, Some(search))
        }
        _ => (None, None),
    }
}
