//! A dashboard of Grafana: what links, drives and the engine do, and the plan's ceilings as lines.

use linerate_model::bond::Direction::{Egress, Ingress};
use linerate_record::site::Monitoring;

use super::alerts::{devices, moved, reason_for_link, traffic};
use super::has_metrics;
use super::planned_facts::{KIND, WatchedKind, match_any, number};
use crate::deployment::Deployment;
use crate::json::json;
use crate::object_names::dns_label;
use crate::yaml::{Tree, list, map, set};

/// The schema of Grafana 12.
const SCHEMA: u32 = 42;

/// Longest name of a dashboard: `uid` has 40 characters at most.
const SITE_BYTES_MAX: usize = 31;

/// Most nodes of a panel.
const SHOWN_MAX: u32 = 20;

/// Columns of Grafana's grid, and those and the rows of a panel.
const COLUMNS: u32 = 24;
const WIDTH: u32 = 12;
const HEIGHT: u32 = 8;

/// Begins the name of the plan's lines.
const PLAN: &str = "plan";

/// A chart over time.
struct Panel {
    title: String,
    why: String,
    unit: &'static str,
    /// Expressions, each with the name of its lines.
    lines: Vec<(String, String)>,
}

pub(super) fn config_map(deployment: &Deployment<'_>, monitoring: &Monitoring, kinds: &[WatchedKind<'_>]) -> Tree {
    let name = format!("linerate-{}", dns_label(&deployment.site.name, SITE_BYTES_MAX));
    let labels = map([set("grafana_dashboard", "1").because("Grafana's sidecar loads what has this label.")]);
    map([
        set("apiVersion", "v1"),
        set("kind", "ConfigMap"),
        set(
            "metadata",
            map([set("name", name.as_str()), set("namespace", monitoring.namespace.as_str()), set("labels", labels)]),
        ),
        set(
            "data",
            map([set(format!("{name}.json"), json(&dashboard(deployment, &name, kinds)))
                .because("The reason of each line is in the description of its panel.")]),
        ),
    ])
}

fn dashboard(deployment: &Deployment<'_>, uid: &str, kinds: &[WatchedKind<'_>]) -> Tree {
    let mut panels = of_engine(deployment);
    panels.extend(kinds.iter().flat_map(of_links));
    panels.extend(kinds.iter().flat_map(of_drives));
    panels.extend(of_hosts());
    let source = map([
        set("name", "datasource"),
        set("type", "datasource"),
        set("query", "prometheus"),
        set("label", "Prometheus"),
    ]);
    map([
        set("uid", uid),
        set("title", format!("linerate: {}", deployment.site.name)),
        set("tags", list(["linerate"])),
        set("editable", false),
        set("schemaVersion", SCHEMA),
        set("refresh", "1m"),
        set("time", map([set("from", "now-3h"), set("to", "now")])),
        set("templating", map([set("list", list([source]))])),
        set("panels", list((0_u32..).zip(panels).map(|(i, panel)| panel.tree(i)))),
    ])
}

impl Panel {
    fn tree(self, i: u32) -> Tree {
        let across = COLUMNS / WIDTH;
        let place =
            map([set("x", i % across * WIDTH), set("y", i / across * HEIGHT), set("w", WIDTH), set("h", HEIGHT)]);
        let source = || map([set("type", "prometheus"), set("uid", "${datasource}")]);
        let targets = ('A'..).zip(self.lines).map(|(letter, (expr, legend))| {
            map([
                set("refId", letter.to_string()),
                set("datasource", source()),
                set("expr", expr),
                set("legendFormat", legend),
            ])
        });
        let dashed = map([
            set("id", "custom.lineStyle"),
            set("value", map([set("fill", "dash"), set("dash", list([10_u32, 10]))])),
        ]);
        let red = map([set("id", "color"), set("value", map([set("mode", "fixed"), set("fixedColor", "red")]))]);
        let of_plan = map([
            set("matcher", map([set("id", "byRegexp"), set("options", format!("/^{PLAN}/"))])),
            set("properties", list([dashed, red])),
        ]);
        let defaults = map([set("unit", self.unit), set("min", 0_u32)]);
        map([
            set("id", i + 1),
            set("type", "timeseries"),
            set("title", self.title),
            set("description", self.why),
            set("datasource", source()),
            set("gridPos", place),
            set("fieldConfig", map([set("defaults", defaults), set("overrides", list([of_plan]))])),
            set("targets", list(targets)),
        ])
    }
}

fn plan(ceiling: f64, name: &str) -> (String, String) {
    (format!("vector({})", number(ceiling)), format!("{PLAN}{name}"))
}

/// The nodes with the most.
fn most(expr: &str) -> (String, String) {
    (format!("topk({SHOWN_MAX}, {expr})"), "{{node}}".to_owned())
}

fn of_engine(deployment: &Deployment<'_>) -> Vec<Panel> {
    let Some(limits) = deployment.limits.as_ref().filter(|_| has_metrics(deployment)) else { return Vec::new() };
    let panel = |title: &str, way: &str, limit: &crate::entry_variant::Limit| {
        let mut lines = vec![(traffic(deployment, way), title.to_owned())];
        let mut why = format!("What the engine has {way} for clients.");
        if let Some(bottleneck) = limit.bottleneck {
            lines.push(plan(limit.bytes_per_s, ""));
            why.push_str(&format!(" The plan's ceiling is {}.", bottleneck.name()));
        }
        Panel { title: format!("Engine, {title}"), why, unit: "binBps", lines }
    };
    vec![panel("GET", "sent", &limits.get), panel("PUT", "received", &limits.put)]
}

fn of_links(kind: &WatchedKind<'_>) -> Vec<Panel> {
    let ways = [("transmit", "sends", Egress), ("receive", "receives", Ingress)];
    let links = kind.links.iter().flat_map(|link| {
        ways.map(|(way, does, direction)| Panel {
            title: format!("{}, {} {does}", kind.name, link.name),
            why: format!("{} The {SHOWN_MAX} nodes with the most are shown.", reason_for_link(link, direction)),
            unit: "bps",
            lines: vec![
                most(&format!("{} * 8", moved(kind, link, way))),
                plan(link.ceiling_bytes_per_s(direction) * 8.0, ""),
            ],
        })
    });
    links.collect()
}

fn of_drives(kind: &WatchedKind<'_>) -> Vec<Panel> {
    let drives = kind.drives.iter().flat_map(|drives| {
        let ways = [("read", "read", drives.read_bytes_per_s), ("written", "write", drives.write_bytes_per_s)];
        ways.map(|(way, key, ceiling)| {
            let kind_matcher = kind.matcher();
            let moved = format!(
                "sum by (node) (rate(node_disk_{way}_bytes_total{{{kind_matcher}}}[2m]) and on (node, device) {})",
                devices(kind, drives.mounts)
            );
            let folders = match_any(drives.mounts.iter().map(String::as_str));
            Panel {
                title: format!("{}, bytes {way} by {} drives", kind.name, drives.mounts.len()),
                why: format!("{}.{key}, of the drives at {folders} of a node together.", drives.key),
                unit: "binBps",
                lines: vec![most(&moved), plan(ceiling * drives.mounts.len() as f64, "")],
            }
        })
    });
    drives.collect()
}

/// What stands behind a ceiling that is not reached.
fn of_hosts() -> Vec<Panel> {
    let kind_matcher = format!("{KIND}!=\"\"");
    let panel = |title: &str, why: &str, expr: String| Panel {
        title: title.to_owned(),
        why: why.to_owned(),
        unit: "percentunit",
        lines: vec![most(&expr)],
    };
    vec![
        panel(
            "Segments sent again",
            "Of all that a node itself sends, pods apart. The plan's ceilings are of links that lose none.",
            format!(
                "rate(node_netstat_Tcp_RetransSegs{{{kind_matcher}}}[2m]) / \
                 rate(node_netstat_Tcp_OutSegs{{{kind_matcher}}}[2m])"
            ),
        ),
        panel(
            "Tables of connections",
            "How full the fullest is. Connections of the plan fill a quarter at most.",
            format!("max by (node) (cilium_bpf_map_pressure{{{kind_matcher}, map_name=~\"ct.*|snat.*\"}})"),
        ),
        panel(
            "Waiting for processors",
            "The share of time in which something waited for a processor (pressure stall information).",
            format!("rate(node_pressure_cpu_waiting_seconds_total{{{kind_matcher}}}[2m])"),
        ),
        panel(
            "Waiting for drives",
            "The share of time in which something waited for a drive (pressure stall information).",
            format!("rate(node_pressure_io_waiting_seconds_total{{{kind_matcher}}}[2m])"),
        ),
    ]
}
