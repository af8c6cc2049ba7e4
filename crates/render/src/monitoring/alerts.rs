//! Alerts on what is no longer as the plan has it, with the plan's figures in them.

use linerate_model::bond::Direction::{self, Egress, Ingress};
use linerate_record::site::Monitoring;
use linerate_record::units::{bits_per_s, bytes_per_s_iec};

use super::monitors::OF_POD;
use super::planned_facts::{KIND, WatchedDrives, WatchedKind, WatchedLink, match_any, number};
use super::{has_metrics, object};
use crate::bpf_tables::tables;
use crate::deployment::Deployment;
use crate::yaml::{Tree, list, map, set};

/// Shares of the plan's ceilings, which alerts and the dashboard read.
pub(super) const SENT: &str = "linerate:link_transmit:ceiling_ratio";
pub(super) const RECEIVED: &str = "linerate:link_receive:ceiling_ratio";
pub(super) const DRIVES: &str = "linerate:drive:ceiling_ratio";

/// The share of a ceiling from which it is what limits.
const FULL: &str = "0.95";

/// Retransmitted segments of all from which packets count as lost: as in the findings of `linerate bench`.
const RETRANSMITTED: &str = "0.001";

/// How full tables of connections may be: the plan fills a quarter, which is what the margin of four leaves.
const TABLES_FULL: &str = "0.5";

/// Whether a session of BGP is established, by node and neighbour.
const SESSION: &str = "cilium_bgp_control_plane_session_state";

struct Alert {
    name: &'static str,
    expr: String,
    lasting: &'static str,
    is_critical: bool,
    summary: String,
    why: String,
}

fn alert(
    name: &'static str,
    expr: String,
    lasting: &'static str,
    summary: impl Into<String>,
    why: impl Into<String>,
) -> Alert {
    Alert { name, expr, lasting, is_critical: false, summary: summary.into(), why: why.into() }
}

impl Alert {
    fn critical(self) -> Alert {
        Alert { is_critical: true, ..self }
    }

    fn tree(self) -> Tree {
        map([
            set("alert", self.name),
            set("expr", self.expr).because(self.why),
            set("for", self.lasting),
            set("labels", map([set("severity", if self.is_critical { "critical" } else { "warning" })])),
            set("annotations", map([set("summary", self.summary)])),
        ])
    }
}

pub(super) fn rule(deployment: &Deployment<'_>, monitoring: &Monitoring, kinds: &[WatchedKind<'_>]) -> Tree {
    let recorded = kinds.iter().flat_map(recorded);
    let mut alerts: Vec<Alert> = kinds.iter().flat_map(of_kind).collect();
    alerts.extend(full(kinds));
    alerts.extend(of_hosts());
    alerts.extend(of_engine(deployment, kinds));
    alerts.extend(of_cilium(deployment));
    let group = |name: &str, rules: Vec<Tree>| map([set("name", name), set("rules", list(rules))]);
    let groups = list([
        group("linerate.shares", recorded.collect()),
        group("linerate.drift", alerts.into_iter().map(Alert::tree).collect()),
    ]);
    let name = format!("linerate-{}", crate::object_names::dns_label(&deployment.site.name, 40));
    object(
        monitoring,
        "monitoring.coreos.com/v1",
        "PrometheusRule",
        &name,
        &monitoring.namespace,
        map([set("groups", groups)]),
    )
}

/// How much of each ceiling is used.
fn recorded(kind: &WatchedKind<'_>) -> Vec<Tree> {
    let rule = |name: &str, expr: String, why: String| map([set("record", name), set("expr", expr).because(why)]);
    let links = kind.links.iter().flat_map(|link| {
        [(SENT, "transmit", Egress), (RECEIVED, "receive", Ingress)].map(|(name, way, direction)| {
            rule(
                name,
                format!("{} / {}", moved(kind, link, way), direction_expression(link, direction)),
                reason_for_link(link, direction),
            )
        })
    });
    let drives = kind.drives.iter().map(|drives| {
        let WatchedDrives { key, read_bytes_per_s, write_bytes_per_s, .. } = drives;
        let share = |way: &str, ceiling: f64| {
            format!("rate(node_disk_{way}_bytes_total{{{}}}[2m]) / {}", kind.matcher(), number(ceiling))
        };
        let expr = format!(
            "({} + {}) and on (node, device) {}",
            share("read", *read_bytes_per_s),
            share("written", *write_bytes_per_s),
            devices(kind, drives.mounts)
        );
        let why = format!(
            "{key}: reads of {} and writes of {}, of drives that are formatted whole.",
            bytes_per_s_iec(*read_bytes_per_s),
            bytes_per_s_iec(*write_bytes_per_s)
        );
        rule(DRIVES, expr, why)
    });
    links.chain(drives).collect()
}

/// Bytes that a link moves in a second.
pub(super) fn moved(kind: &WatchedKind<'_>, link: &WatchedLink<'_>, way: &str) -> String {
    format!("rate(node_network_{way}_bytes_total{{{}, device=\"{}\"}}[2m])", kind.matcher(), link.name)
}

fn direction_expression(link: &WatchedLink<'_>, direction: Direction) -> String {
    number(link.ceiling_bytes_per_s(direction))
}

pub(super) fn reason_for_link(link: &WatchedLink<'_>, direction: Direction) -> String {
    format!(
        "{}.link: {} in full packets of {} bytes, whose headers of Ethernet are counted too.",
        link.key,
        bits_per_s(link.ceiling_bytes_per_s(direction) * 8.0),
        link.mtu_bytes
    )
}

/// The devices that are mounted at folders, by node.
pub(super) fn devices(kind: &WatchedKind<'_>, mounts: &[String]) -> String {
    format!("label_replace({}, \"device\", \"$1\", \"device\", \"/dev/(.+)\")", mounted(kind, mounts))
}

fn mounted(kind: &WatchedKind<'_>, mounts: &[String]) -> String {
    let folders = match_any(mounts.iter().map(String::as_str));
    format!("node_filesystem_size_bytes{{{}, fstype=\"xfs\", mountpoint=~\"{folders}\"}}", kind.matcher())
}

/// What a kind of nodes is described as.
fn of_kind(kind: &WatchedKind<'_>) -> Vec<Alert> {
    let (nodes, drives, of) = (kind.machines.len(), kind.mounts.len(), kind.matcher());
    let seen = format!("count by (node) (node_uname_info{{{of}}})");
    let mut all = vec![alert(
        "LinerateNodesNotObserved",
        format!("(count(node_uname_info{{{of}}}) or vector(0)) < {nodes}"),
        "15m",
        format!("node-exporter is scraped on {{{{ $value }}}} of {nodes} nodes of {}", kind.name),
        format!("nodes.{}.count. Of a node without it, no other alert here says anything.", kind.name),
    )];
    if !kind.mounts.is_empty() {
        all.push(alert(
            "LinerateDrivesNotMounted",
            format!("(count by (node) ({}) or 0 * {seen}) < {drives}", mounted(kind, kind.mounts)),
            "5m",
            format!("{{{{ $labels.node }}}} has {{{{ $value }}}} of {drives} folders of drives mounted with XFS"),
            "kubernetes.hosts.*.mounts. Into a folder that is not mounted, the engine writes on the system's drive.",
        )
        .critical());
    }
    all.extend(kind.links.iter().flat_map(|link| of_link(kind, link)));
    all
}

fn of_link(kind: &WatchedKind<'_>, link: &WatchedLink<'_>) -> Vec<Alert> {
    let WatchedLink { name, key, members, shown_bits_per_s, mtu_bytes, .. } = link;
    let (of, node) = (kind.matcher(), "{{ $labels.node }}");
    let speed = bits_per_s(*shown_bits_per_s);
    let mut all = vec![
        alert(
            "LinerateLinkSlow",
            format!("node_network_speed_bytes{{{of}, device=\"{name}\"}} < {}", number(shown_bits_per_s / 8.0)),
            "5m",
            format!("{name} of {node} is slower than its {speed}"),
            format!("{key}.link: {speed} are described, by its ports and the mode of its bond."),
        ),
        alert(
            "LinerateMtuDiffers",
            format!("node_network_mtu_bytes{{{of}, device=\"{name}\"}} != {mtu_bytes}"),
            "5m",
            format!("{name} of {node} has an MTU of {{{{ $value }}}}, and not of {mtu_bytes}"),
            format!("{key}.mtu. Packets that are larger than the other end's are lost without a word."),
        ),
    ];
    if let Some(members) = members {
        all.push(alert(
            "LinerateBondMemberMissing",
            format!("node_bonding_active{{{of}, master=\"{name}\"}} < {members}"),
            "2m",
            format!("{name} of {node} has {{{{ $value }}}} of {members} members"),
            format!("{key}.link: the ports of its NICs. The plan's ceiling is that of all members."),
        ));
    }
    all
}

/// What is at its ceiling.
fn full(kinds: &[WatchedKind<'_>]) -> Vec<Alert> {
    let why = format!("{FULL} of the plan's ceiling of the link, which linerate.shares has: more does not pass.");
    let link = |name, share: &str, does: &str| {
        let (device, share_of) = ("{{ $labels.device }} of {{ $labels.node }}", "{{ $value | humanizePercentage }}");
        let summary = format!("{device} {does} at {share_of} of its ceiling");
        alert(name, format!("{share} >= {FULL}"), "5m", summary, why.as_str())
    };
    if kinds.is_empty() {
        return Vec::new();
    }
    vec![link("LinerateLinkTransmitFull", SENT, "sends"), link("LinerateLinkReceiveFull", RECEIVED, "receives")]
}

/// What holds of every node of the site.
fn of_hosts() -> Vec<Alert> {
    let kind_matcher = format!("{KIND}!=\"\"");
    vec![
        alert(
            "LinerateTimeNotSynchronised",
            format!("node_timex_sync_status{{{kind_matcher}}} == 0"),
            "10m",
            "The clock of {{ $labels.node }} is not synchronised",
            "Requests whose time is 15 minutes off are refused (S3, RequestTimeTooSkewed); the kernel says long before \
             that nobody keeps the clock.",
        ),
        alert(
            "LinerateRetransmits",
            format!(
                "rate(node_netstat_Tcp_RetransSegs{{{kind_matcher}}}[5m]) / \
                 rate(node_netstat_Tcp_OutSegs{{{kind_matcher}}}[5m]) > {RETRANSMITTED}"
            ),
            "15m",
            "{{ $labels.node }} sends {{ $value | humanizePercentage }} of its segments again",
            format!(
                "{RETRANSMITTED} of all segments, from which linerate bench reports lost packets. The plan's ceilings \
                 are of links that lose none. node-exporter counts connections of the machine itself, such as the \
                 kubelet's and Cilium's: those of pods have counters of their own, which it does not read."
            ),
        ),
    ]
}

/// What the engine says of itself.
fn of_engine(deployment: &Deployment<'_>, kinds: &[WatchedKind<'_>]) -> Vec<Alert> {
    if !has_metrics(deployment) {
        return Vec::new();
    }
    let (namespace, job, path) = (&deployment.kubernetes.namespace, deployment.headless(), OF_POD[0].0);
    let pods: usize = kinds.iter().map(|kind| kind.machines.len()).sum();
    let up = format!("up{{namespace=\"{namespace}\", job=\"{job}\", metrics_path=\"{path}\"}}");
    let mut all = vec![alert(
        "LinerateEngineNotObserved",
        format!("(count({up} == 1) or vector(0)) < {pods}"),
        "10m",
        format!("{{{{ $value }}}} of {pods} pods of the engine answer who scrapes them"),
        "Nodes of the site. A pod that does not answer is down, or does not take the token.",
    )];
    all.extend(below_plan(deployment));
    all.extend(kinds.iter().flat_map(|kind| of_sets(kind, namespace)));
    all
}

fn of_sets(kind: &WatchedKind<'_>, namespace: &str) -> Vec<Alert> {
    let WatchedKind { shards, parity, pool, .. } = kind;
    let set = "erasure set {{ $labels.set_id }} of pool {{ $labels.pool_id }}";
    let of_pool =
        |name: &str| format!("minio_cluster_erasure_set_{name}{{namespace=\"{namespace}\", pool_id=\"{pool}\"}}");
    // MinIO leaves out what is 0 (MetricValues.Set in cmd/metrics-v3-types.go). A set always has a quorum.
    let quorum = of_pool("write_quorum");
    let online = format!("({} or 0 * {quorum})", of_pool("online_drives_count"));
    let least = |expr: &str| format!("min by (pool_id, set_id) {expr}");
    let mut all = vec![alert(
        "LinerateSetDrivesOffline",
        format!("{} < {shards}", least(&online)),
        "5m",
        format!("{set} has {{{{ $value }}}} of {shards} drives online"),
        format!(
            "The layout of the plan: sets of {shards} drives, of which {parity} may be lost. MinIO leaves out a count \
             of 0, which the second term puts in its place."
        ),
    )];
    // Half of a set is not enough to write: of two drives, a set takes no writes without both.
    let lost_at_most = if parity * 2 == *shards { parity.saturating_sub(1) } else { *parity };
    if lost_at_most > 0 {
        all.push(
            alert(
                "LinerateSetAtItsLimit",
                format!("{} <= 0", least(&format!("({online} - {quorum})"))),
                "1m",
                format!("{set} takes no writes after the loss of another drive"),
                "The layout of the plan: what a set may lose before writes stop.",
            )
            .critical(),
        );
    }
    all
}

/// Throughput far below the plan while something is full: the load is there, and does not get through.
fn below_plan(deployment: &Deployment<'_>) -> Option<Alert> {
    let limits = deployment.limits.as_ref()?;
    let lower = limits.get.bytes_per_s.min(limits.put.bytes_per_s);
    if !lower.is_finite() {
        return None;
    }
    let full = [SENT, RECEIVED, DRIVES].map(|share| format!("(count({share} >= {FULL}) or vector(0))"));
    let expr = format!(
        "{} + {} < {} and on () {} > 0",
        traffic(deployment, "sent"),
        traffic(deployment, "received"),
        number(lower / 2.0),
        full.join(" + ")
    );
    Some(alert(
        "LinerateBelowPlan",
        expr,
        "15m",
        "The engine moves {{ $value | humanize1024 }}B/s, and a link or drive is at its ceiling",
        format!(
            "Half of the lower of the plan's ceilings, GET of {} and PUT of {}: while anything is full, a mixture of \
             both moves more than that unless it is spread unevenly, or a part is slower than described. linerate \
             explain says which.",
            bytes_per_s_iec(limits.get.bytes_per_s),
            bytes_per_s_iec(limits.put.bytes_per_s)
        ),
    ))
}

/// What clients get from the engine, or give to it.
pub(super) fn traffic(deployment: &Deployment<'_>, way: &str) -> String {
    let namespace = &deployment.kubernetes.namespace;
    // MinIO leaves out what is 0.
    format!(
        "(sum(rate(minio_api_requests_traffic_{way}_bytes{{namespace=\"{namespace}\", type=\"s3\"}}[2m])) or vector(0))"
    )
}

fn of_cilium(deployment: &Deployment<'_>) -> Vec<Alert> {
    let kind_matcher = format!("{KIND}!=\"\"");
    let mut all = vec![alert(
        "LinerateTablesFilling",
        format!(
            "max by (node, map_name) (cilium_bpf_map_pressure{{{kind_matcher}, map_name=~\"ct.*|snat.*\"}}) > \
             {TABLES_FULL}"
        ),
        "10m",
        "{{ $labels.map_name }} of {{ $labels.node }} is {{ $value | humanizePercentage }} full",
        format!(
            "Connections of the plan fill a quarter of their tables at most: {}. Twice that has other reasons, and \
             full tables drop connections.",
            tables(deployment.site).why
        ),
    )];
    if let Some(bgp) = deployment.bgp {
        all.push(
            alert(
                "LinerateBgpNoSession",
                format!(
                    "count by (node) (node_uname_info{{{kind_matcher}}}) unless on (node) {SESSION}{{{kind_matcher}}}"
                ),
                "5m",
                "{{ $labels.node }} has no session of BGP at all, or nobody scrapes its Cilium",
                "kubernetes.bgp: a node that knows no switch announces nothing, and has no series that could be 0.",
            )
            .critical(),
        );
        all.push(
            alert(
                "LinerateBgpSessionDown",
                format!("{SESSION}{{{kind_matcher}}} == 0"),
                "1m",
                "{{ $labels.node }} has no session with {{ $labels.neighbor }}",
                format!(
                    "kubernetes.bgp: the switch drops a node's routes {} s after its last word.",
                    bgp.hold_s + bgp.restart_s
                ),
            )
            .critical(),
        );
    }
    all
}
