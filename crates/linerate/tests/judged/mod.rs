//! Clusters that were measured, and what `linerate explain` makes of their figures.

use std::path::{Path, PathBuf};

use libtest_mimic::Failed;
use linerate_record::explanation::{Deviation, Explanation};
use linerate_record::plan::{Plan, WorkPlan};
use serde::{Deserialize, Serialize};

use crate::running::{linerate, shown};

/// What one figure varies by: some seconds of requests that draw their nodes at random, on a machine with other work.
pub(crate) const ERROR_SHARE: f64 = 0.05;

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Figure {
    /// As `--observed` takes it: `get`, `put@node3`.
    pub(crate) what: String,
    /// Requests in flight, all together.
    pub(crate) in_flight: u32,
    pub(crate) bytes_per_s: f64,
}

/// All figures of one visit to a cluster: a line of `figures.jsonl`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Visit {
    /// Name of the shape, and of its file in `sites`.
    pub(crate) shape: String,
    /// Name of what was planted there; empty where nothing was.
    pub(crate) planted: String,
    pub(crate) visit: u32,
    pub(crate) figures: Vec<Figure>,
}

impl Visit {
    pub(crate) fn name(&self) -> String {
        let planted = if self.planted.is_empty() { "as described" } else { &self.planted };
        format!("{}, {planted}, {}", self.shape, self.visit)
    }

    /// Figures of one operation at all nodes.
    pub(crate) fn totals<'a>(&'a self, what: &'a str) -> impl Iterator<Item = &'a Figure> {
        self.figures.iter().filter(move |figure| figure.what == what)
    }
}

/// Ceilings and curve of one operation.
fn planned(site: &Path, what: &str) -> Result<WorkPlan, Failed> {
    let output = linerate().arg("plan").arg(site).args(["--format", "json"]).output()?;
    assert!(output.status.success(), "{}", shown(&output));
    let plan: Plan = serde_json::from_slice(&output.stdout)?;
    let read_share = if what.starts_with("get") { 1.0 } else { 0.0 };
    Ok(plan.works.into_iter().find(|planned| planned.work.read_share == read_share).ok_or("both are planned")?)
}

/// Measured over predicted by the curve.
fn over_curve(planned: &WorkPlan, figure: &Figure) -> Result<f64, Failed> {
    let curve = planned.curve.as_ref().ok_or("a curve")?;
    let point = curve.points.iter().find(|point| point.in_flight == u64::from(figure.in_flight)).ok_or("a point")?;
    Ok(figure.bytes_per_s / point.bytes_per_s)
}

/// What `explain` says of the figures at so many requests in flight, and those of nodes.
pub(crate) fn explained(site: &Path, visit: &Visit, in_flight: u32) -> Result<Explanation, Failed> {
    explained_with(site, visit, in_flight, ERROR_SHARE)
}

/// The same where figures are said to be wrong by so much.
pub(crate) fn explained_with(
    site: &Path,
    visit: &Visit,
    in_flight: u32,
    error_share: f64,
) -> Result<Explanation, Failed> {
    let requested = visit.figures.iter().filter(|figure| figure.what.contains('@') || figure.in_flight == in_flight);
    let reported: Vec<String> =
        requested.map(|figure| format!("{}={:.0}B/s", figure.what, figure.bytes_per_s)).collect();
    let mut command = linerate();
    command.arg("explain").arg("--site").arg(site).args(["--observed", &reported.join(",")]);
    command.args(["--error", &format!("{:.0}%", error_share * 100.0), "--concurrent", &in_flight.to_string()]);
    if visit.figures.iter().any(|figure| figure.what.contains('@')) {
        // Each node was measured by itself: together they would give more than the whole.
        command.arg("--nodes-alone");
    }
    let output = command.args(["--format", "json"]).output()?;
    assert!(output.status.success(), "{command:?}: {}", shown(&output));
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// The place of the first survivor that is this one deviation, from 1; the site as described, without one. It is among
/// survivors alone: "none of these" has a weight and no place.
pub(crate) fn rank(explanation: &Explanation, planted: Option<Cause>) -> Option<usize> {
    let place = explanation.survivors.iter().position(|hypothesis| match (planted, &hypothesis.deviations[..]) {
        (None, []) => true,
        (Some(cause), [only]) => cause.is(only),
        _ => false,
    });
    place.map(|place| place + 1)
}

/// What leads, and the weight of none of it.
pub(crate) fn leaders(explanation: &Explanation) -> String {
    format!("{}; none of these {}", leading(explanation), none_of_these(explanation))
}

/// The weight of what is no survivor, in percent.
fn none_of_these(explanation: &Explanation) -> String {
    format!("{:.0} %", explanation.none_of_these * 100.0)
}

/// The first survivors, with their weights in percent.
fn leading(explanation: &Explanation) -> String {
    let leaders = explanation.survivors.iter().take(3);
    let reported: Vec<String> = leaders.map(|one| format!("{} {:.0} %", one.id, one.weight * 100.0)).collect();
    reported.join("; ")
}

/// Something that is planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    SendsSlowly,
    ReceivesSlowly,
    SlowDrive,
    Quota,
    Losses,
    Mtu,
    OneNode,
    SlowClient,
}

impl Cause {
    /// Everything that is planted, in its order.
    pub(crate) const ALL: [Cause; 8] = [
        Cause::SendsSlowly,
        Cause::ReceivesSlowly,
        Cause::SlowDrive,
        Cause::Quota,
        Cause::Losses,
        Cause::Mtu,
        Cause::OneNode,
        Cause::SlowClient,
    ];

    /// What was planted, as visits have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Cause::SendsSlowly => "node 3 sends at half its link",
            Cause::ReceivesSlowly => "node 3 receives at half its link",
            Cause::SlowDrive => "the drive of node 3 at 40 %",
            Cause::Quota => "a quota on node 3's processors",
            Cause::Losses => "packets lost on node 3's link",
            Cause::Mtu => "an MTU of 1500 instead of 9000",
            Cause::OneNode => "all load on node 1",
            Cause::SlowClient => "the client's link at 100 Mb/s",
        }
    }

    /// Whether a deviation is this: what is said of a link has its direction, which is both where packets are lost.
    pub(crate) fn is(self, deviation: &Deviation) -> bool {
        let (id, value) = (deviation.id.as_str(), deviation.value.as_str());
        let of_node3 = |id_of_cause: &str, does: &str| {
            id == id_of_cause && value.strip_prefix("node3: ").is_some_and(|of| of.contains(does))
        };
        match self {
            Cause::SendsSlowly => of_node3("slow-node-link", " sends "),
            Cause::ReceivesSlowly => of_node3("slow-node-link", " receives "),
            Cause::Losses => of_node3("slow-node-link", " carries "),
            Cause::Quota => of_node3("slow-node-cpu", ""),
            // It holds every node's writes alike: no figure of a node can name it.
            Cause::SlowDrive => id == "slow-drive",
            Cause::Mtu => id == "mtu" && value.ends_with(": 1500"),
            Cause::OneNode => id == "one-node-asked" || (id == "entry" && value == "one node"),
            Cause::SlowClient => id == "clients-speed",
        }
    }
}

/// What was planted in a visit; nothing where nothing was.
pub(crate) fn cause_of(visit: &Visit) -> Option<Cause> {
    Cause::ALL.into_iter().find(|cause| cause.name() == visit.planted)
}

/// A file name for a shape.
pub(crate) fn file_name(shape: &str) -> String {
    shape.replace(", ", "-").replace(' ', "-")
}

/// The visits of a folder, with the descriptions of their sites.
pub(crate) fn kept(folder: &Path) -> Result<Vec<(PathBuf, Visit)>, Failed> {
    let text = std::fs::read_to_string(folder.join("figures.jsonl"))?;
    let visits: Result<Vec<Visit>, _> = text.lines().map(serde_json::from_str).collect();
    let site_and_visit = |visit: Visit| (folder.join("sites").join(format!("{}.yaml", file_name(&visit.shape))), visit);
    Ok(visits?.into_iter().map(site_and_visit).collect())
}

/// Measured over the curve: the mean of all visits to one shape, for one operation at one number in flight.
pub(crate) struct OverCurve {
    pub(crate) shape: String,
    pub(crate) what: &'static str,
    pub(crate) in_flight: u32,
    /// Measured over the ceiling, of each visit.
    pub(crate) over_ceiling: Vec<f64>,
    /// The curve over the ceiling.
    pub(crate) curve: f64,
}

impl OverCurve {
    pub(crate) fn mean(&self) -> f64 {
        self.over_ceiling.iter().sum::<f64>() / self.over_ceiling.len() as f64
    }
}

/// All visits to shapes that nothing was planted in, against the curve.
pub(crate) fn over_curves(visits: &[(PathBuf, Visit)]) -> Result<Vec<OverCurve>, Failed> {
    let mut rows: Vec<OverCurve> = Vec::new();
    for (site, visit) in visits.iter().filter(|(_, visit)| visit.planted.is_empty()) {
        for what in ["get", "put"] {
            let planned = planned(site, what)?;
            let ceiling = planned.ceilings.first().ok_or("a ceiling")?.limit_bytes_per_s;
            for figure in visit.totals(what) {
                let (in_flight, over) = (figure.in_flight, figure.bytes_per_s / ceiling);
                let curve = over / over_curve(&planned, figure)?;
                let is_same =
                    |row: &&mut OverCurve| (&row.shape, row.what, row.in_flight) == (&visit.shape, what, in_flight);
                match rows.iter_mut().find(is_same) {
                    Some(row) => row.over_ceiling.push(over),
                    None => rows.push(OverCurve {
                        shape: visit.shape.clone(),
                        what,
                        in_flight,
                        over_ceiling: vec![over],
                        curve,
                    }),
                }
            }
        }
    }
    Ok(rows)
}

const HEAD_OF_CURVES: &str = "\
# MinIO in namespaces, as described and with causes planted

Made by `make shapes`; objects of 4 MiB. The sites are in `sites`, the figures in `figures.jsonl`.

## Against the curve

Shares of the ceiling: the mean of all visits, each visit, and the curve that `plan` predicts.

| shape | | in flight | measured | each | curve | measured / curve |
|---|---|---|---|---|---|---|
";

const HEAD_OF_EXPLAINED: &str = "
## Explained

By the figures at 16 in flight, with those of nodes where a cause was planted. The place is that of the planted cause,
or of the site as described, among the hypotheses that survive. It leaves out \"none of these\", a cause that the model
does not know, whose weight is in a column of its own: where that is above 50 %, it outweighs whatever is first.

| shape | planted | visit | place | leading | none of these |
|---|---|---|---|---|---|
";

/// What came of it all, as tables, with the explanation of each visit at 16 in flight.
pub(crate) fn summary(
    folder: &Path,
    explained: impl Fn(&Path, &Visit) -> Result<Explanation, Failed>,
) -> Result<String, Failed> {
    use std::fmt::Write as _;
    let visits = kept(folder)?;
    let mut text = String::from(HEAD_OF_CURVES);
    for row in over_curves(&visits)? {
        let each: Vec<String> = row.over_ceiling.iter().map(|share| format!("{share:.2}")).collect();
        let OverCurve { shape, what, in_flight, curve, .. } = &row;
        let (mean, each, what) = (row.mean(), each.join(" "), what.to_uppercase());
        let off = (mean / curve - 1.0) * 100.0;
        writeln!(text, "| {shape} | {what} | {in_flight} | {mean:.2} | {each} | {curve:.2} | {off:+.0} % |")?;
    }
    text += HEAD_OF_EXPLAINED;
    for (site, visit) in &visits {
        let explanation = explained(site, visit)?;
        let place = rank(&explanation, cause_of(visit));
        let place = place.map_or("absent".to_owned(), |place| place.to_string());
        let planted = if visit.planted.is_empty() { "nothing" } else { &visit.planted };
        let Visit { shape, visit, .. } = visit;
        let (leading, none) = (leading(&explanation), none_of_these(&explanation));
        writeln!(text, "| {shape} | {planted} | {visit} | {place} | {leading} | {none} |")?;
    }
    Ok(text)
}
