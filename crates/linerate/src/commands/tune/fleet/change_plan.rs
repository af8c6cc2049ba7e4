//! Files of changes of many machines: made by all nodes, read again, and planned.

use std::path::Path;
use std::process::ExitCode;

use linerate_fleet::change_protocol::{ChangeAnswer, ChangeOrder, DiffOrder};
use linerate_fleet::description::FleetNode;
use linerate_host::apply::readable;
use linerate_record::fleet::{NodeRole, UnreachedNode};
use linerate_record::rollout::{FleetChanges, NodeChanges, ROLLOUT_NODES_MAX, ROLLOUT_SCHEMA, RolloutPlan};
use linerate_record::sanitize::named_some;
use linerate_rollout::plan::{RolloutRequest, plan as planned};
use linerate_rollout::waves::WaveSizes;

use super::super::diff::weight;
use super::super::flags::{ApplyFlags, DiffFlags};
use super::super::read_owned;
use super::{consent_and_watch, read_nodes, whole_if};
use crate::files::{output_file, site_file};
use crate::remote::node_access;
use crate::remote::rollout::guards::{GuardedNode, guards, interrupting};
use crate::remote::rollout::node_agents::NodeAgents;
use crate::remote::rollout::node_changes;
use crate::run::catalogue::profile_named;
use crate::run::random_bytes::random_bytes;
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;

/// The profiles of a role where neither one nor values are named.
const STORAGE_PROFILE: &str = "s3-storage-node";
const CLIENT_PROFILE: &str = "s3-client-node";

/// The largest file of changes of a fleet: a thousand nodes with a hundred changes each take 50 MiB.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// How long a check may take at the most unless it is stated, in milliseconds.
const CHECK_TIMEOUT_MS: u64 = 60_000;

/// How long a check may take unless it is stated: as long as all of them leave half of the time for the changes.
fn default_check_ms(plan: &RolloutPlan) -> u64 {
    let each_ms = plan.within_ms / 2 / (plan.waves.len() as u64).max(1);
    let whole_ms = if each_ms < 1_000 { each_ms } else { each_ms / 1_000 * 1_000 };
    CHECK_TIMEOUT_MS.min(whole_ms)
}

/// What is wrong with what the flags of a diff name.
pub(in crate::commands::tune) fn check_diff(flags: &DiffFlags, fleet: &Path) -> Result<(), Failure> {
    read_inputs(flags, fleet).map(|_| ())
}

/// The nodes, and the text of the site where one is named; all that is wrong with the flags is told at once.
fn read_inputs(flags: &DiffFlags, fleet: &Path) -> Result<(Vec<FleetNode>, Option<String>), Failure> {
    let (nodes, site) = (read_nodes(&flags.fleet_flags, fleet), site_text(flags));
    let profile = flags.profile.as_deref().map(profile_named).transpose();
    match (nodes, site, profile) {
        (Ok(nodes), Ok(site), Ok(_)) => Ok((nodes, site)),
        (nodes, site, profile) => Err(Failure::combine([nodes.err(), site.err(), profile.err()])),
    }
}

/// The text of the site, where one is named that can be read.
fn site_text(flags: &DiffFlags) -> Result<Option<String>, Failure> {
    let Some(path) = flags.site.as_deref() else { return Ok(None) };
    if flags.profile.is_none() && !flags.set.is_empty() {
        return Err(Failure::usage(format!(
            "--site {} is what values of a profile follow from, and --set alone has none: give --profile, or drop \
             --site",
            path.display()
        )));
    }
    site_file::read_site_file(path).map(|(_, file)| Some(file.text().to_owned()))
}

/// Has all nodes say which changes lead to what is wanted, and writes them as one file.
pub(in crate::commands::tune) fn diff(flags: &DiffFlags, fleet: &Path) -> Result<ExitCode, Failure> {
    let (nodes, site) = read_inputs(flags, fleet)?;
    if let Some(path) = &flags.output {
        output_file::check_output(path)?;
    }
    let interrupt = consent_and_watch(&flags.fleet_flags, &nodes)?;
    let profile = |role| match (&flags.profile, flags.set.is_empty(), role) {
        (Some(name), _, _) => Some(name.clone()),
        (None, true, NodeRole::Storage) => Some(STORAGE_PROFILE.to_owned()),
        (None, true, NodeRole::Client) => Some(CLIENT_PROFILE.to_owned()),
        (None, false, _) => None,
    };
    let order = |node: usize| {
        let profile = profile(nodes[node].role);
        let site = site.clone().filter(|_| profile.is_some());
        let (set, netns) = (flags.set.clone(), flags.place.netns.clone());
        ChangeOrder::Diff(Box::new(DiffOrder { profile, set, netns, site }))
    };
    let mut lines = NodeAgents::new(&nodes, &flags.fleet_flags.reach);
    let answers = lines.ask_all(&order, &interrupt)?;
    drop(lines);
    let changes = join_answers(&nodes, answers)?;
    let text = linerate_report::rollout::json(&changes);
    if let Some(path) = &flags.output {
        output_file::write_output(path, text.as_bytes(), 0o600)?;
    }
    if flags.fleet_flags.json {
        printing::print(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let look = whole_if(flags.all, printing::text_style());
    printing::print(&linerate_report::rollout::changes(&changes, &weight, look))?;
    let written = match &flags.output {
        Some(path) => format!("\nwritten to {}; linerate tune apply --fleet makes the changes\n", path.display()),
        None => "\nnothing is written: name a file with -o\n".to_owned(),
    };
    printing::print(&written)?;
    Ok(ExitCode::SUCCESS)
}

/// The answers of all nodes as one file; a file of some of them would change some of them.
fn join_answers(nodes: &[FleetNode], answers: Vec<Result<ChangeAnswer, String>>) -> Result<FleetChanges, Failure> {
    let (mut of_nodes, mut lost, mut wrong) = (Vec::new(), Vec::new(), Vec::new());
    for (node, answer) in nodes.iter().zip(answers) {
        match answer {
            Ok(ChangeAnswer::Planned(planned)) => of_nodes.push(node_changes(node, *planned)),
            Ok(ChangeAnswer::Failed { why, .. }) => wrong.push(format!("{}: {why}", node.name)),
            Ok(ChangeAnswer::Reported(_)) => wrong.push(format!("{}: it answered another question", node.name)),
            Err(why) => lost.push((node, UnreachedNode { why, remedy: String::new() })),
        }
    }
    if !lost.is_empty() {
        let reasons = node_access::unreached_list(lost.iter().map(|(node, lost)| (*node, lost)));
        let why = format!("{} of {} nodes were not reached:{reasons}", lost.len(), nodes.len());
        return Err(Failure::Outcome { why, code: code::TARGET });
    }
    if !wrong.is_empty() {
        return Err(Failure::from_errors(wrong));
    }
    let mut profiles: Vec<&str> = of_nodes.iter().map(|node: &NodeChanges| node.set.profile.as_str()).collect();
    profiles.sort_unstable();
    profiles.dedup();
    Ok(FleetChanges { schema: ROLLOUT_SCHEMA, profile: profiles.join(" and "), nodes: of_nodes })
}

/// Reads a file of changes of a fleet that nobody else could have written to.
pub(super) fn read_changes(path: &Path) -> Result<FleetChanges, Failure> {
    let text = read_owned(path, FILE_BYTES_MAX)?;
    let shown = path.display();
    let changes: FleetChanges = serde_json::from_slice(&text)
        .map_err(|error| Failure::usage(format!("{shown} is not a file of changes from tune diff --fleet: {error}")))?;
    if changes.schema != ROLLOUT_SCHEMA || changes.nodes.len() > ROLLOUT_NODES_MAX as usize {
        return Err(Failure::usage(format!(
            "{shown} has schema {} and {} nodes, and this linerate reads schema {ROLLOUT_SCHEMA} with up to \
             {ROLLOUT_NODES_MAX}: make it anew",
            changes.schema,
            changes.nodes.len()
        )));
    }
    changes.nodes.iter().try_for_each(|node| readable(&node.set))?;
    Ok(changes)
}

/// Refuses a fleet file that is not as it was when a file of changes was made: nodes of a role that this changes would
/// be left out, and waves and what is not to be interrupted together would be those of then.
pub(super) fn require_same_fleet(changes: &FleetChanges, nodes: &[FleetNode], fleet: &Path) -> Result<(), Failure> {
    let changes_of_node =
        |node: &FleetNode| changes.nodes.iter().find(|changes_of_node| changes_of_node.name == node.name);
    let is_of_role = |node: &FleetNode| changes.nodes.iter().any(|changes_of_node| changes_of_node.role == node.role);
    let is_other = |node: &FleetNode| {
        changes_of_node(node).is_some_and(|changes_of_node| {
            (changes_of_node.role, &changes_of_node.rack, &changes_of_node.site_node)
                != (node.role, &node.rack, &node.site_node)
        })
    };
    let new: Vec<&str> = nodes
        .iter()
        .filter(|node| changes_of_node(node).is_none() && is_of_role(node))
        .map(|node| node.name.as_str())
        .collect();
    let other: Vec<&str> = nodes.iter().filter(|node| is_other(node)).map(|node| node.name.as_str()).collect();
    let wrong = [(new, "says nothing of"), (other, "has another role, rack or site of")];
    let wrong: Vec<String> = wrong
        .into_iter()
        .filter(|(names, _)| !names.is_empty())
        .map(|(names, what)| format!("{what} {}", named_some(names.into_iter())))
        .collect();
    if wrong.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "the file of changes {}, and is for all nodes of {} or for none: make it anew with linerate tune diff --fleet",
        wrong.join(", and "),
        fleet.display()
    )))
}

/// The plan of a file of changes; none where each node is as wanted.
pub(super) fn rollout_plan(flags: &ApplyFlags, changes: &FleetChanges) -> Result<Option<RolloutPlan>, Failure> {
    let site = flags.site.as_deref().map(site_file::read_site).transpose()?;
    let knobs = changes.nodes.iter().flat_map(|node| &node.set.changes).map(|change| change.place.knob.as_str());
    let interrupting = interrupting(knobs);
    let guarded: Vec<GuardedNode<'_>> = changes
        .nodes
        .iter()
        .map(|node| GuardedNode { name: &node.name, role: node.role, kind: node.site_node.as_deref() })
        .collect();
    let milliseconds = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let wish = RolloutRequest {
        token: random_bytes::<8>().map(u64::from_ne_bytes)?,
        sizes: flags.wave.clone().unwrap_or_else(WaveSizes::usual),
        guards: if interrupting.is_empty() { Vec::new() } else { guards(&guarded, site.as_ref())? },
        interrupting,
        within_ms: milliseconds(flags.confirm),
        check: flags.check.clone(),
        check_within_ms: flags.check_within.map_or(CHECK_TIMEOUT_MS, milliseconds),
    };
    let mut plan = planned(changes, &wish);
    if flags.check.is_some() && flags.check_within.is_none() {
        plan.iter_mut().for_each(|plan| plan.check_within_ms = default_check_ms(plan));
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use linerate_fleet::change_protocol::NodePlanned;
    use linerate_record::knob::{CHANGES_SCHEMA, ChangeSet};
    use linerate_record::rollout::RolloutName;

    use super::*;

    fn nodes(text: &str) -> Vec<FleetNode> {
        linerate_fleet::description::read(text, "f").unwrap()
    }

    #[test]
    fn checks_of_many_waves_fit_the_time_to_confirm() {
        let check_ms_for = |within_ms, waves| {
            let name = RolloutName { token: 7, nodes: 1 };
            default_check_ms(&RolloutPlan {
                schema: ROLLOUT_SCHEMA,
                name,
                nodes: Vec::new(),
                waves: vec![Vec::new(); waves],
                interrupting: Vec::new(),
                guards: Vec::new(),
                within_ms,
                stagger_ms: 0,
                check: Some("true".to_owned()),
                check_within_ms: 0,
            })
        };
        for (within_ms, waves, expected) in
            [(600_000, 10, 30_000), (120_000, 1, 60_000), (120_000, 7, 8_000), (5_000, 9, 277), (86_400_000, 3, 60_000)]
        {
            assert_eq!(check_ms_for(within_ms, waves), expected, "{within_ms} {waves}");
        }
    }

    #[test]
    fn a_fleet_file_that_was_changed_since_is_refused() {
        let read_nodes = |lines: &str| nodes(&format!("nodes:\n{lines}"));
        let made_with = read_nodes("  - {name: a, role: storage, rack: r}\n  - {name: b, role: storage, rack: r}\n");
        let changes_for = |node: &FleetNode| {
            let (machine, profile) = (node.name.clone(), "p".to_owned());
            let set = ChangeSet { schema: CHANGES_SCHEMA, machine, profile, changes: Vec::new(), spaces: Vec::new() };
            node_changes(node, NodePlanned { boot: "b".to_owned(), set, left_out: Vec::new() })
        };
        let changes = FleetChanges {
            schema: ROLLOUT_SCHEMA,
            profile: "p".to_owned(),
            nodes: made_with.iter().map(changes_for).collect(),
        };
        for (lines, expected) in [
            ("  - {name: 'a', role: storage, rack: r}\n  - {name: b, role: storage, rack: r}\n", None),
            // Nodes of another role are none of what the file is of.
            (
                "  - {name: a, role: storage, rack: r}\n  - {name: b, role: storage, rack: r}\n  - {name: c, role: \
                 client}\n",
                None,
            ),
            (
                "  - {name: a, role: storage, rack: r}\n  - {name: b, role: storage, rack: r}\n  - {name: c, role: \
                 storage}\n",
                Some("says nothing of c"),
            ),
            (
                "  - {name: a, role: storage, rack: s}\n  - {name: b, role: client, rack: r}\n",
                Some("another role, rack or site of a, b"),
            ),
            (
                "  - {name: a, role: storage, rack: r, site: dense}\n  - {name: b, role: storage, rack: r}\n",
                Some("another role, rack or site of a, "),
            ),
        ] {
            let found =
                require_same_fleet(&changes, &read_nodes(lines), Path::new("f")).err().map(|found| found.to_string());
            let is_so = match (&found, expected) {
                (None, None) => true,
                (Some(found), Some(part)) => found.contains(part),
                _ => false,
            };
            assert!(is_so, "{expected:?}: {found:?}");
        }
    }
}
