//! The page of a rollout: which node was in which state when, why, in which waves, and what changed there.

mod spans;
mod tables;
mod time_scale;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use linerate_record::fleet::NodeRole;
use linerate_record::rollout::{NodeReported, RolloutReport};

use super::ROLLOUT_SCRIPT;
use super::markup::escaped;
use super::page::{self, Section, exact};
use crate::phrases::rollout::{RolloutState, counts};
use crate::phrases::{ABSENT, plural, utc};
use spans::{NodePhase, NodePhaseSpan, spans};
use time_scale::{TimeScale, instant, pause};

/// A node, and where it is in the JSON.
struct PageNode<'r> {
    place: usize,
    of: &'r NodeReported,
    spans: Vec<NodePhaseSpan>,
}

/// Nodes of one role in one rack: waves have nodes of one rack.
struct PageGroup<'r> {
    name: String,
    nodes: Vec<PageNode<'r>>,
}

/// The page.
pub(crate) fn page(report: &RolloutReport) -> String {
    let name = report.rollout.map_or_else(|| "none is known".to_owned(), |name| name.to_string());
    let nodes = counts(report.nodes.iter().map(|node| node.node_state));
    let mut facts = vec![("Rollout", name.clone()), ("Nodes", nodes)];
    facts.extend(report.requested_ms.map(|ms| ("Asked", utc(ms))));
    let groups = groups(report);
    let sections = [
        ("course", "Which node was in which state when", picture(report, &groups)),
        ("reasons", "Why", tables::reasons(report)),
        ("waves", "Waves", tables::waves(&groups)),
        ("instants", "Instants of each node", tables::instants(&groups)),
        ("changes", "What was changed", tables::changes(report)),
    ];
    let sections = sections.map(|(id, title, html)| Section { id, title, html });
    let header = page::header("A rollout, by the journals of its nodes", &facts);
    page::sheet(&format!("rollout {name}"), &header, &sections, "{}", ROLLOUT_SCRIPT)
}

/// Nodes by role and rack, in the order in which these were begun, and within them in that of waves.
fn groups(report: &RolloutReport) -> Vec<PageGroup<'_>> {
    let key_of = |of: &NodeReported| (of.role, of.rack.clone());
    let mut groups: Vec<PageGroup<'_>> = Vec::new();
    for (place, of) in report.nodes.iter().enumerate() {
        let node = PageNode { place, of, spans: spans(of.reported.as_ref(), report.requested_ms) };
        match groups.iter_mut().find(|group| key_of(group.nodes[0].of) == key_of(of)) {
            Some(group) => group.nodes.push(node),
            None => groups.push(PageGroup { name: group_name(of.role, of.rack.as_deref()), nodes: vec![node] }),
        }
    }
    groups.iter_mut().for_each(|group| group.nodes.sort_by_key(turn));
    groups.sort_by_key(|group| group.nodes.iter().map(turn).min());
    groups
}

/// When it was a node's turn: its wave, when it began, and its place in the fleet file. What is not known comes last.
fn turn(node: &PageNode<'_>) -> (u32, u64, usize) {
    let wave = node.of.course().and_then(|course| course.wave);
    let began_ms = node.of.reported.as_ref().and_then(|reported| reported.began_ms);
    (wave.unwrap_or(u32::MAX), began_ms.unwrap_or(u64::MAX), node.place)
}

fn group_name(role: Option<NodeRole>, rack: Option<&str>) -> String {
    let role = role.map_or("nodes", NodeRole::name);
    match rack {
        Some(rack) => format!("{role}, rack {rack}"),
        None => role.to_owned(),
    }
}

/// The picture: a row for each node, its stretches on one axis of time.
fn picture(report: &RolloutReport, groups: &[PageGroup<'_>]) -> String {
    if groups.is_empty() {
        return "<p class=\"none\">No node knows a rollout.</p>\n".to_owned();
    }
    let all = || groups.iter().flat_map(|group| &group.nodes).flat_map(|node| &node.spans);
    let scale = TimeScale::new(all().flat_map(|span| [span.from_ms, span.to_ms]).flatten().collect());
    let nodes = plural(report.nodes.len() as u64, "node");
    let title = match scale.ends() {
        Some((from_ms, to_ms)) => format!("{nodes}, from {} to {}", utc(from_ms), utc(to_ms)),
        None => nodes,
    };
    let mut html = format!(
        "<div class=\"scroll course\" tabindex=\"0\" role=\"region\" aria-label=\"States of nodes over time: \
         arrow keys move from node to node, and the line below says what one did\"><table>\n<caption>{}</caption>\n\
         <thead><tr><th scope=\"col\">node</th><th scope=\"col\">wave</th><th scope=\"col\" class=\"l\">state</th>\
         <th scope=\"col\" class=\"track\">{}</th></tr></thead>\n",
        escaped(&title),
        axis(&scale)
    );
    for group in groups {
        let _ = write!(
            html,
            "<tbody>\n<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"4\">{} <small>{}</small></th></tr>\n",
            escaped(&group.name),
            plural(group.nodes.len() as u64, "node")
        );
        group.nodes.iter().for_each(|node| html.push_str(&row(node, &scale)));
        html.push_str("</tbody>\n");
    }
    html.push_str("</table></div>\n");
    let _ = writeln!(
        html,
        "<p class=\"hint told js-only\" aria-live=\"polite\">point at a row, or move there with the arrow keys, for \
         its instants</p>\n{}\n<p class=\"hint\">{}</p>",
        legend(&all().copied().collect::<Vec<_>>()),
        escaped(&remark(&scale))
    );
    html
}

/// Times of day along the axis, and pauses that are cut out of it.
fn axis(scale: &TimeScale) -> String {
    let tick = |(at, label): (f64, String)| format!("<i style=\"--x:{at:.2}%\">{label}</i>");
    let cut = |from_ms: u64, to_ms: u64| {
        let (from, to) = (scale.at(from_ms), scale.at(to_ms));
        let title = format!("{} in which nothing happened", pause(to_ms - from_ms));
        format!("<u style=\"--x:{from:.2}%;--w:{:.2}%\" title=\"{title}\">//</u>", to - from)
    };
    let cuts: String = scale.cuts.iter().map(|of| cut(of.from_ms, of.to_ms)).collect();
    scale.ticks().into_iter().map(tick).collect::<String>() + &cuts
}

fn row(node: &PageNode<'_>, scale: &TimeScale) -> String {
    let wave = node.of.course().and_then(|course| course.wave);
    let wave = match wave {
        Some(wave) => {
            let field = format!("nodes.{}.told.course.wave", node.place);
            format!("<td{}>{wave}", exact(&field, wave))
        }
        None => format!("<td>{ABSENT}"),
    };
    let drawn: String = node.spans.iter().map(|span| bar(span, scale)).collect();
    format!(
        "<tr><th scope=\"row\">{}{wave}<td class=\"l\">{}<td class=\"track\"><span role=\"img\" \
         aria-label=\"{}\">{drawn}</span>\n",
        escaped(&node.of.name),
        RolloutState::from_node_state(node.of.node_state).name(),
        escaped(&format!("{}: {}", node.of.name, sentence(&node.spans)))
    )
}

fn bar(span: &NodePhaseSpan, scale: &TimeScale) -> String {
    let from = span.from_ms.map_or(0.0, |ms| scale.at(ms));
    let to = span.to_ms.map_or(100.0, |ms| scale.at(ms));
    let more = [(span.is_untimed, " untimed"), (span.is_ahead, " ahead")];
    let more: String = more.iter().filter(|(is_so, _)| *is_so).map(|(_, class)| *class).collect();
    format!("<b class=\"{}{more}\" style=\"--x:{from:.2}%;--w:{:.2}%\"></b>", span.state.class(), to - from)
}

/// The way of a node in words, with the instants that are known.
fn sentence(spans: &[NodePhaseSpan]) -> String {
    let one = |span: &NodePhaseSpan| {
        let name = span.state.name();
        match (span.from_ms, span.to_ms) {
            _ if span.is_untimed => format!("{name}: time not recorded"),
            (None, None) => name.to_owned(),
            (None, Some(to_ms)) => format!("{name} until {}", instant(to_ms)),
            (_, Some(to_ms)) if span.is_ahead => {
                format!("rolled back by itself at {} unless confirmed", instant(to_ms))
            }
            (Some(from_ms), _) => format!("{name} from {}", instant(from_ms)),
        }
    };
    spans.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// What colours mean, of the states that there are.
fn legend(all: &[NodePhaseSpan]) -> String {
    let states: BTreeSet<NodePhase> = all.iter().map(|span| span.state).collect();
    let item = |class: &str, name: &str| format!("<span><b class=\"{class}\"></b> {name}</span>");
    let mut items: String = states.iter().map(|state| item(&state.class(), state.name())).collect();
    if all.iter().any(|span| span.is_untimed) {
        items.push_str(&item("not-begun untimed", "striped: since when is not recorded"));
    }
    if all.iter().any(|span| span.is_ahead) {
        items.push_str(&item("pending ahead", "pale: yet to come, unless it is confirmed"));
    }
    format!("<p class=\"course-key\">{items}</p>")
}

/// What has to be known of the picture to read it.
fn remark(scale: &TimeScale) -> String {
    let mut text =
        "Instants are each node's own, by its journal, and in UTC. So that nodes can be compared, the picture \
                    has them on the clock of the machine that asked: each node's are moved by how far its clock was \
                    ahead when it was asked, which is known within the bound in the table of instants. If a clock was \
                    set in between, the row of that node is off by as much."
            .to_owned();
    for cut in &scale.cuts {
        let (from, to) = (utc(cut.from_ms), utc(cut.to_ms));
        let _ = write!(text, " Cut out of the axis: {} from {from} to {to}.", pause(cut.to_ms - cut.from_ms));
    }
    text
}
