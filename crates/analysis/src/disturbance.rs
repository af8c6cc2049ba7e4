//! What others had of this machine while a point was measured: other programs, the hypervisor, quotas, heat.
//!
//! Other programs are told from a quarter of all processors on: daemons stay far below it, a build, a scrub or another
//! load test far above. A hypervisor is told from a twentieth on: quiet hosts steal below 1 %, crowded ones tens of per
//! cent. Below both, what is lost is lost in the noise of any machine.

use linerate_record::reading::{ProcessorSample, QuotaPeriods};
use linerate_record::run::Interval;

use crate::counters::{of_processors, samples_of, spans};
use crate::records::Records;
use crate::view::{Bottleneck, MachineSample, Point, Series, SeriesLimit};

/// Share of all processors that other programs have, from which it is told.
pub const MUCH_FOREIGN: f64 = 0.25;

/// The same, from which others are named beside linerate and the target. Clocks and looks differ by less.
const SOME_FOREIGN: f64 = 0.02;

/// Share of processor time that the hypervisor takes, from which it is told of a point.
pub const MUCH_STOLEN: f64 = 0.05;

/// Share of a quota's periods in which it was used up, from which it is told. A burst as threads start may cut one.
pub const MUCH_CUT: f64 = 0.01;

/// The same, from which it is what bound a point.
const CUT_BOUND: f64 = 0.10;

/// Share of a point in which somebody must have looked.
const SEEN_MIN: f64 = 0.5;

/// Share of what other programs had, from which it is told that no program that was read had it; and its processors.
const UNREAD_SHARE: f64 = 0.1;
const UNREAD_MIN: f64 = 0.05;

/// Programs that are named in one sentence.
const NAMED: usize = 3;

/// Share of the machine's processors, stolen time included, from which it counts as full.
const FULL: f64 = 0.93;

const FOREIGN: &str =
    "the run was disturbed: other programs used this machine's processors, so it does not show the bottleneck";

const HELD: &str =
    "the run was disturbed: this machine's processors were held back, so it does not show the bottleneck";

const CALM: &str = "stop the disturbance, or measure at another time; do not compare these figures with others";

/// What others had during one point.
#[derive(Clone, Debug, Default)]
pub(crate) struct OtherLoad {
    cpus: f64,
    /// Share of processors in use, and of those taken by the hypervisor.
    busy: f64,
    stolen: f64,
    /// Processors that other programs had; absent where it is not known which are the target's.
    pub(crate) foreign: Option<f64>,
    /// Programs that are neither linerate nor known to be the target, with the processors that they had.
    programs: Vec<(String, f64)>,
    /// What of `foreign` no process that was read had.
    unread: f64,
    /// Whether the target is on this machine.
    alongside_target: bool,
    /// Processors that linerate, the target and the kernel's threads had.
    own: Option<f64>,
    slowed: u64,
    client_cut: f64,
    target_cut: f64,
}

/// What others had during a point, of which these are the intervals.
pub(crate) fn of_point(
    point: &Point,
    intervals: &[&Interval],
    records: &Records,
    samples: &[MachineSample],
) -> Option<OtherLoad> {
    let inside = of_processors(&samples_of(samples, intervals));
    let cpus = f64::from(records.manifest.machine().cpus);
    if inside.is_empty() || cpus < 1.0 {
        return None;
    }
    let mean =
        |extract: fn(&MachineSample) -> f64| inside.iter().map(|s| extract(s)).sum::<f64>() / inside.len() as f64;
    let mut others = OtherLoad {
        cpus,
        busy: mean(|s| s.cpu_busy),
        stolen: mean(|s| s.steal),
        alongside_target: records.manifest.target.on_this_machine,
        ..OtherLoad::default()
    };
    let looks = samples_in_point(records, intervals);
    if looks.is_empty() {
        others.foreign = unaccounted(point, &others, mean(|s| s.softirq));
    } else {
        add_looks(&mut others, &looks, point);
    }
    Some(others)
}

/// Looks that fall into the measured part of a point, each with the share of it that does; none where they are of less
/// than half of it.
fn samples_in_point<'a>(records: &'a Records, intervals: &[&Interval]) -> Vec<(&'a ProcessorSample, f64)> {
    let spans = spans(intervals);
    let mut seen_ms = 0;
    let mut looks = Vec::new();
    for reading in &records.readings {
        let Some(look) = reading.look.as_ref().filter(|look| look.over_ms > 0) else { continue };
        let begun = reading.at_ms.saturating_sub(look.over_ms);
        let inside = |&(from, to): &(u64, u64)| reading.at_ms.min(to).saturating_sub(begun.max(from));
        let shared = spans.iter().map(inside).fold(0, u64::saturating_add);
        seen_ms = shared.saturating_add(seen_ms);
        looks.extend((shared > 0).then(|| (look, (shared as f64 / look.over_ms as f64).min(1.0))));
    }
    let all_ms: u64 = spans.iter().map(|(from, to)| to.saturating_sub(*from)).fold(0, u64::saturating_add);
    if (seen_ms as f64) < SEEN_MIN * all_ms as f64 { Vec::new() } else { looks }
}

fn add_looks(others: &mut OtherLoad, looks: &[(&ProcessorSample, f64)], point: &Point) {
    let sum = |extract: &dyn Fn(&ProcessorSample) -> f64| {
        looks.iter().map(|(look, share)| extract(look) * share).sum::<f64>()
    };
    let over_ms = sum(&|look| look.over_ms as f64).max(1.0);
    let mut within = 1.0;
    if looks.iter().all(|(look, _)| look.own_ms.is_some()) {
        // Both are too few: one where processes cannot be seen, the other by interrupts that processes are booked for.
        let unaccounted = sum(&|look| look.used_ms.saturating_sub(look.own_ms.unwrap_or(0)) as f64);
        // The life of a child is booked to its parent when that has waited for it: nobody had more than all had.
        let read = sum(&|look| look.foreign_ms.min(look.used_ms) as f64);
        let foreign = unaccounted.max(read) / over_ms;
        // Clocks of processes and of processors are not the same, and a look may reach into another point. Who is known
        // to have run during this one has left no more than the rest.
        let known = [point.client_cpu, point.target_cpu].into_iter().flatten().map(|cost| cost.cores).sum::<f64>();
        let left = (others.busy * others.cpus - known).max(0.0);
        within = if foreign > left { left / foreign } else { 1.0 };
        others.foreign = Some(foreign.min(left));
        others.unread = (unaccounted - read).max(0.0) * within / over_ms;
        others.own = Some(sum(&|look| look.own_ms.unwrap_or(0) as f64) / over_ms);
    }
    let mut programs = std::collections::BTreeMap::<&str, f64>::new();
    for (look, share) in looks {
        for program in &look.programs {
            *programs.entry(&program.name).or_default() += program.cpu_ms as f64 * share * within / over_ms;
        }
    }
    // A parent that takes over the times of children that have ended is booked for what they are booked for.
    let most = others.foreign.unwrap_or(others.busy * others.cpus);
    let fit = (most / programs.values().sum::<f64>().max(f64::MIN_POSITIVE)).min(1.0);
    let mut programs: Vec<(String, f64)> =
        programs.into_iter().map(|(name, cores)| (name.to_owned(), cores * fit)).collect();
    programs.sort_by(|a, b| b.1.total_cmp(&a.1));
    others.programs = programs.into_iter().filter(|(_, cores)| *cores >= 0.01).take(NAMED).collect();
    others.slowed = looks.iter().map(|(look, _)| look.slowed).fold(0, u64::saturating_add);
    let cut = |extract: fn(&ProcessorSample) -> Option<QuotaPeriods>| {
        let quotas = || looks.iter().filter_map(|(look, _)| extract(look));
        let periods: f64 = quotas().map(|quota| quota.periods as f64).sum();
        quotas().map(|quota| quota.throttled as f64).sum::<f64>() / periods.max(1.0)
    };
    others.client_cut = cut(|look| look.client_quota);
    others.target_cut = cut(|look| look.target_quota);
}

/// What is left of the processors in use without linerate, the target and interrupts: told where nobody looked, as in
/// older folders, and only where it is most.
fn unaccounted(point: &Point, others: &OtherLoad, softirq: f64) -> Option<f64> {
    let known = point.client_cpu?.cores + point.target_cpu?.cores;
    let used = (others.busy - softirq).max(0.0) * others.cpus;
    (known < used / 2.0).then_some(used - known)
}

impl OtherLoad {
    fn is_full(&self) -> bool {
        self.busy + self.stolen >= FULL
    }

    /// Processors that other programs had, where that is much.
    pub(crate) fn much_foreign(&self) -> Option<f64> {
        self.foreign.filter(|&foreign| foreign >= MUCH_FOREIGN * self.cpus)
    }

    /// Processors that other programs had, where they are a share worth naming.
    pub(crate) fn share(&self) -> Option<f64> {
        self.foreign.filter(|&foreign| foreign >= SOME_FOREIGN * self.cpus)
    }

    /// Whether a point's figures may be those of a disturbance: a target on the same machine loses processors to other
    /// programs, also where some are to spare on average.
    pub(crate) fn is_severe(&self) -> bool {
        let is_short = self.is_full() || self.alongside_target;
        (self.much_foreign().is_some() && is_short) || self.client_cut >= MUCH_CUT || self.slowed > 0
    }

    /// Whether linerate or a target on this machine may have got so little of it that silence tells of no target.
    pub(crate) fn explains_silence(&self) -> bool {
        self.is_severe() || self.stolen >= MUCH_STOLEN && self.is_full()
    }

    /// Whether nothing but heat disturbed a point.
    fn is_hot_alone(&self) -> bool {
        self.slowed > 0 && !OtherLoad { slowed: 0, ..self.clone() }.is_severe()
    }

    /// Programs by name with the processors that they had, in brackets, and what no program that was read had; empty
    /// where nothing could be seen.
    pub(crate) fn named(&self) -> String {
        let of_program = |(name, cores): &(String, f64)| match name.as_str() {
            "linerate" => format!("another linerate {cores:.2}"),
            name => format!("{name} {cores:.2}"),
        };
        let named = self.programs.iter().map(of_program).collect::<Vec<_>>().join(", ");
        let is_reported = self.unread >= UNREAD_SHARE * self.foreign.unwrap_or_default() && self.unread >= UNREAD_MIN;
        let rest = is_reported.then(|| {
            format!("{:.2} by programs that ended before they were read, or that cannot be read", self.unread)
        });
        let parts: Vec<String> = (!named.is_empty()).then_some(named).into_iter().chain(rest).collect();
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) }
    }

    /// Processors that the target had during this point, and a name for them; `None` where that is not known.
    pub(crate) fn of_target(&self, point: &Point) -> Option<String> {
        if let Some(target) = point.target_cpu {
            return Some(format!("the target {:.2}", target.cores));
        }
        let client = point.client_cpu.map_or(0.0, |cost| cost.cores);
        let left = self.busy * self.cpus - client - self.foreign.unwrap_or_default();
        let target = (self.own.filter(|_| self.alongside_target)? - client).min(left).max(0.0);
        Some(format!("the target and the kernel's threads {target:.2}"))
    }

    /// What disturbed a point, in a sentence each.
    pub(crate) fn in_words(&self) -> Vec<String> {
        let cpus = self.cpus;
        let foreign = self.much_foreign();
        let mut reported = Vec::new();
        reported.extend(foreign.map(|cores| {
            let named = self.named();
            format!("other programs used {cores:.2} of this machine's {cpus} processors{named}")
        }));
        let percent = self.client_cut * 100.0;
        reported.extend(
            (self.client_cut >= MUCH_CUT)
                .then(|| format!("the quota of linerate's cgroup was used up in {percent:.0} % of its periods")),
        );
        reported.extend((self.slowed > 0).then(|| format!("processors were throttled by heat {} times", self.slowed)));
        reported
    }
}

/// How the processors were shared during a point beside which other programs had many of them.
fn shares(point: &Point, others: &OtherLoad) -> Option<String> {
    let foreign = others.much_foreign()?;
    let (busy, cpus, named) = (others.busy * 100.0, others.cpus, others.named());
    let own = point.client_cpu.map_or(0.0, |cost| cost.cores);
    let target = others.of_target(point).map_or_else(String::new, |of_target| format!(", {of_target}"));
    Some(format!(
        "{busy:.0} % of {cpus} processors busy; other programs used {foreign:.2} of them{named}, linerate \
         {own:.2}{target}"
    ))
}

fn disturbed(claim: &str, evidence: String, remedy: &str) -> SeriesLimit {
    SeriesLimit { bound: Bottleneck::Disturbed, claim: claim.to_owned(), evidence, remedy: remedy.to_owned() }
}

/// Points of a series that were disturbed so much that their figures may be those of the disturbance.
fn severe<'a>(series: &'a Series, records: &Records, samples: &[MachineSample]) -> Vec<(&'a Point, OtherLoad)> {
    let of_one = |point: &'a Point| {
        let of_point = |i: &&Interval| i.point == point.point;
        let intervals: Vec<&Interval> = records.intervals.iter().filter(of_point).collect();
        let others = self::of_point(point, &intervals, records, samples)?;
        others.is_severe().then_some((point, others))
    };
    series.points.iter().filter_map(of_one).collect()
}

/// How many points of a series were disturbed, of all.
fn of_points(severe: usize, series: &Series) -> String {
    let all = series.points.len();
    if all > 1 { format!("; {severe} of {all} points were disturbed") } else { String::new() }
}

/// The verdict on a series of which some points were disturbed so much that the target is not shown to be the
/// bottleneck: the best point first, else the one of which others had most. Heat slows the points during which it was
/// counted, and says nothing of the others: a series whose best point was cool is not disturbed by it.
pub(crate) fn of_series(
    best: &Point,
    series: &Series,
    records: &Records,
    samples: &[MachineSample],
) -> Option<SeriesLimit> {
    let severe = severe(series, records, samples);
    let is_of_best = |point: &Point| series.visits_of(best).any(|visit| visit.point == point.point);
    let rank = |(point, others): &(&Point, OtherLoad)| (is_of_best(point), others.foreign.unwrap_or_default());
    let worse = |a: &&(&Point, OtherLoad), b: &&(&Point, OtherLoad)| {
        rank(a).0.cmp(&rank(b).0).then(rank(a).1.total_cmp(&rank(b).1))
    };
    let counts = |(point, others): &&(&Point, OtherLoad)| is_of_best(point) || !others.is_hot_alone();
    let (point, others) = severe.iter().filter(counts).max_by(worse)?;
    let load = crate::view::load_in_words(point);
    let claim = if others.much_foreign().is_some() { FOREIGN } else { HELD };
    let evidence = shares(point, others).unwrap_or_else(|| others.in_words().join("; "));
    Some(disturbed(claim, format!("at {load}, {evidence}{}", of_points(severe.len(), series)), CALM))
}

/// What is said of a series beside a verdict on its best point: how many of the others were disturbed.
pub(crate) fn of_others(series: &Series, records: &Records, samples: &[MachineSample]) -> String {
    match severe(series, records, samples).len() {
        0 => String::new(),
        severe => format!("{}, this one was not", of_points(severe, series)),
    }
}

/// The verdict on a point whose figures are those of what disturbed it.
pub(crate) fn limit(point: &Point, others: &OtherLoad) -> Option<SeriesLimit> {
    let cores = |cost: Option<crate::view::CpuCost>| cost.map(|cost| cost.cores);
    let own = cores(point.client_cpu).unwrap_or_default();
    let target = others.of_target(point).map_or_else(String::new, |of_target| format!(", {of_target}"));
    let (busy, cpus) = (others.busy * 100.0, others.cpus);
    if others.client_cut >= CUT_BOUND {
        let percent = others.client_cut * 100.0;
        return Some(disturbed(
            "the quota of linerate's cgroup is the bottleneck: the run does not show the limit of the target",
            format!("the quota was used up in {percent:.0} % of its periods (cpu.stat)"),
            "raise the quota (cpu.max), or measure from elsewhere",
        ));
    }
    if others.is_full()
        && let Some(evidence) = shares(point, others)
    {
        return Some(disturbed(FOREIGN, evidence, CALM));
    }
    if others.stolen >= MUCH_STOLEN && others.is_full() {
        let stolen = others.stolen * 100.0;
        return Some(disturbed(
            "the run was disturbed: the hypervisor took processors away, so it does not show the bottleneck",
            format!("{busy:.0} % of {cpus} processors busy and {stolen:.0} % stolen; linerate used {own:.2}{target}"),
            CALM,
        ));
    }
    (others.target_cut >= CUT_BOUND).then(|| SeriesLimit {
        bound: Bottleneck::Target,
        claim: "the processor quota of the target's cgroup is the bottleneck".to_owned(),
        evidence: format!("it was used up in {:.0} % of its periods (cpu.stat){target}", others.target_cut * 100.0),
        remedy: "raise the quota (cpu.max), or accept it as the target's intended limit".to_owned(),
    })
}

#[cfg(test)]
mod tests;
