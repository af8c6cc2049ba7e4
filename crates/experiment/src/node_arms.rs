//! Arms on the nodes of a fleet: one is in place on all of them, or it is not in place.

use linerate_record::experiment::ArmSetup;
use linerate_record::knob::{BY_HAND, Change, ChangeSet, SettingId, same};
use linerate_record::lines::listed;
use linerate_record::rollout::{FleetChanges, NodeChanges, ROLLOUT_SCHEMA};

use crate::fingerprint::KnobLookup;

/// What a node answered to what an arm wants of it: its changes, or why it makes none.
pub type NodeAnswer = (String, Result<NodeChanges, String>);

/// Names and reasons in one sentence, at the most.
const NAMED_MAX: usize = 3;

/// The changes of an arm on each node, in their order.
///
/// # Errors
/// Which nodes refuse it and why, in words for a person: on the others it would be another arm.
pub fn on_all(answers: Vec<NodeAnswer>) -> Result<Vec<NodeChanges>, String> {
    let count = answers.len();
    let (mut nodes, mut refused) = (Vec::with_capacity(count), Vec::new());
    for (name, answer) in answers {
        match answer {
            Ok(changes) => nodes.push(changes),
            Err(why) => refused.push(format!("{name}: {why}")),
        }
    }
    if refused.is_empty() {
        return Ok(nodes);
    }
    let more = refused.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    let some: Vec<&str> = refused.iter().take(NAMED_MAX).map(String::as_str).collect();
    Err(format!("{} of {count} nodes refuse it, and it is for all or none: {}{more}", refused.len(), some.join("; ")))
}

/// The changes of all nodes as one list for people: each setting once, as the first node that changes it has it.
#[must_use]
pub fn merged(nodes: &[NodeChanges]) -> Vec<Change> {
    let mut all: Vec<Change> = Vec::new();
    for change in nodes.iter().flat_map(|node| &node.set.changes) {
        if all.iter().all(|known| known.place != change.place) {
            all.push(change.clone());
        }
    }
    all
}

/// What nodes leave alone of what an arm wants, each reason once with its nodes.
#[must_use]
pub fn left_out(arm: &str, nodes: &[NodeChanges]) -> Vec<String> {
    let mut all: Vec<(&SettingId, &str, Vec<&str>)> = Vec::new();
    for node in nodes {
        for (place, why) in &node.left_out {
            match all.iter_mut().find(|(at, reason, _)| *at == place && reason == why) {
                Some((_, _, names)) => names.push(node.name.as_str()),
                None => all.push((place, why.as_str(), vec![node.name.as_str()])),
            }
        }
    }
    let in_words = |(place, why, names): (&SettingId, &str, Vec<&str>)| {
        format!("{arm} leaves out {place} on {}: {why}", listed(&names, NAMED_MAX))
    };
    all.into_iter().map(in_words).collect()
}

/// The changes of a node of an arm.
fn node_changes<'m>(means: &'m ArmSetup, node: &str) -> &'m [Change] {
    means.nodes.iter().find(|of| of.name == node).map_or(&[][..], |of| &of.set.changes)
}

/// Every setting of a node that some arm changes, with the value that it has while this arm is in place: what the arm
/// sets it to, or what it was. What is set by hand on other nodes alone has that value on this one already: were it to
/// lose it, the arm would be in place on some nodes only.
#[must_use]
pub fn expected<'m>(node: &str, all: &'m [ArmSetup], means: &'m ArmSetup) -> Vec<(&'m SettingId, &'m str)> {
    let own = node_changes(means, node).iter().map(|change| (&change.place, change.new.as_str()));
    let others = all.iter().flat_map(|other| node_changes(other, node));
    let others = others.map(|change| (&change.place, change.prior.as_str()));
    let by_hand = all.iter().flat_map(|arm| &arm.nodes).filter(|of| of.set.profile == BY_HAND);
    let elsewhere = by_hand.flat_map(|of| &of.set.changes).map(|change| (&change.place, change.new.as_str()));
    let mut expected: Vec<(&SettingId, &str)> = Vec::new();
    for (place, value) in own.chain(others).chain(elsewhere) {
        if expected.iter().all(|(known, _)| *known != place) {
            expected.push((place, value));
        }
    }
    expected
}

/// A setting and its value as a flag has them: `KNOB@DEVICE=VALUE`.
#[must_use]
pub fn as_flag((place, value): (&SettingId, &str)) -> String {
    let device = place.device.as_ref().map_or_else(String::new, |device| format!("@{device}"));
    format!("{}{device}={value}", place.knob)
}

/// What is not as an arm has it on a node, by the changes that would lead there.
#[must_use]
pub fn displaced(node: &str, needed: &[Change]) -> Option<String> {
    let Change { place, prior, new, .. } = needed.first()?;
    Some(format!(
        "{node}: {place} was {prior:?} when the load ended, not {new:?}: something changed it in the meantime, or its \
         time was over"
    ))
}

/// Whether an arm leads to the same values as the baseline on every node.
#[must_use]
pub fn is_same(baseline: &ArmSetup, arm: &ArmSetup, find: KnobLookup<'_>) -> bool {
    let leads = |change: &Change, others: &[Change]| {
        let of_other = others.iter().find(|other| other.place == change.place);
        of_other.is_some_and(|other| match find(&change.place.knob) {
            Some(knob) => same(&knob.locator, &change.new, &other.new),
            None => change.new == other.new,
        })
    };
    arm.nodes.iter().all(|node| {
        let (own, base) = (&node.set.changes, node_changes(baseline, &node.name));
        own.len() == base.len() && own.iter().all(|change| leads(change, base))
    })
}

/// What is advised by the arms of an experiment, as a file of changes of all nodes.
#[must_use]
pub fn advised(id: &str, all: &[ArmSetup], advice: &[Change]) -> FleetChanges {
    let profile = format!("experiment {id}");
    let first = all.iter().find(|means| !means.nodes.is_empty()).map_or(&[][..], |means| &means.nodes);
    let bare = |node: &NodeChanges| NodeChanges {
        set: ChangeSet { profile: profile.clone(), changes: Vec::new(), spaces: Vec::new(), ..node.set.clone() },
        left_out: Vec::new(),
        ..node.clone()
    };
    let mut nodes: Vec<NodeChanges> = first.iter().map(bare).collect();
    for wanted in advice {
        let has = |means: &&ArmSetup| means.changes.iter().any(|c| c.place == wanted.place && c.new == wanted.new);
        let Some(means) = all.iter().find(has) else { continue };
        for node in &mut nodes {
            let Some(of) = means.nodes.iter().find(|of| of.name == node.name) else { continue };
            let Some(change) = of.set.changes.iter().find(|change| change.place == wanted.place) else { continue };
            node.set.changes.push(Change { why: wanted.why.clone(), ..change.clone() });
            for space in &of.set.spaces {
                if !node.set.spaces.contains(space) {
                    node.set.spaces.push(space.clone());
                }
            }
        }
    }
    FleetChanges { schema: ROLLOUT_SCHEMA, profile, nodes }
}

#[cfg(test)]
mod tests {
    use linerate_record::fleet::NodeRole;
    use linerate_record::knob::{CHANGES_SCHEMA, Scope, Space, TakesEffect};

    use super::*;

    fn change(knob: &str, prior: &str, new: &str) -> Change {
        Change {
            place: SettingId { knob: knob.to_owned(), device: None, space: Space::Host },
            prior: prior.to_owned(),
            new: new.to_owned(),
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            why: String::new(),
            risk: String::new(),
        }
    }

    fn node(name: &str, changes: Vec<Change>) -> NodeChanges {
        NodeChanges {
            name: name.to_owned(),
            role: NodeRole::Storage,
            rack: None,
            site_node: None,
            boot: "b".to_owned(),
            set: ChangeSet {
                schema: CHANGES_SCHEMA,
                machine: name.to_owned(),
                profile: "p".to_owned(),
                changes,
                spaces: Vec::new(),
            },
            left_out: Vec::new(),
        }
    }

    fn arm(nodes: Vec<NodeChanges>) -> ArmSetup {
        ArmSetup { changes: merged(&nodes), nodes, ..ArmSetup::default() }
    }

    #[test]
    fn an_arm_that_one_node_refuses_is_on_none() {
        let ok = |name: &str| (name.to_owned(), Ok(node(name, vec![change("a", "1", "2")])));
        assert_eq!(on_all(vec![ok("x"), ok("y")]).map(|nodes| nodes.len()), Ok(2));
        let mut answers: Vec<NodeAnswer> = (0..55).map(|n| ok(&format!("n{n}"))).collect();
        answers.push(("n55".to_owned(), Err("it has no such setting".to_owned())));
        let why = on_all(answers).unwrap_err();
        assert_eq!(why, "1 of 56 nodes refuse it, and it is for all or none: n55: it has no such setting");
        let none = (0..5).map(|n| (format!("n{n}"), Err("no".to_owned()))).collect();
        assert!(on_all(none).unwrap_err().ends_with("n2: no; and 2 more"));
    }

    #[test]
    fn with_an_arm_in_place_its_settings_are_its_own_and_those_of_others_as_they_were() {
        let base = arm(vec![node("x", Vec::new()), node("y", vec![change("a", "5", "1")])]);
        let one = arm(vec![node("x", vec![change("a", "1", "2")]), node("y", vec![change("a", "5", "2")])]);
        let other = arm(vec![node("x", vec![change("b", "7", "8")]), node("y", vec![change("b", "9", "8")])]);
        let all = [base, one, other];
        let flags_for = |node: &str, arm: usize| -> Vec<String> {
            expected(node, &all, &all[arm]).into_iter().map(as_flag).collect()
        };
        assert_eq!(flags_for("x", 0), ["a=1", "b=7"]);
        assert_eq!(flags_for("y", 0), ["a=1", "b=9"], "the baseline changes it there");
        assert_eq!(flags_for("x", 1), ["a=2", "b=7"]);
        assert_eq!(flags_for("y", 2), ["b=8", "a=5"]);
        assert_eq!(flags_for("z", 2), Vec::<String>::new());
        // It has the value already that others are set to, and would be another arm without it.
        let mut some = [arm(vec![node("x", Vec::new())]), arm(vec![node("x", vec![change("a", "1", "2")])])];
        let of_other =
            |some: &[ArmSetup; 2]| expected("y", some, &some[1]).into_iter().map(as_flag).collect::<Vec<_>>();
        assert_eq!(of_other(&some), Vec::<String>::new(), "what a profile wants of it may be another value");
        some[1].nodes[0].set.profile = BY_HAND.to_owned();
        assert_eq!(of_other(&some), ["a=2"]);
        let device = SettingId { knob: "nic.mtu".into(), device: Some("eth0".into()), space: Space::Host };
        assert_eq!(as_flag((&device, "9000")), "nic.mtu@eth0=9000");
        assert_eq!(displaced("x", &[]), None);
        assert!(displaced("x", &[change("a", "3", "2")]).is_some_and(|why| why.contains("x: a was \"3\"")));
    }

    #[test]
    fn an_arm_that_leads_to_the_baselines_values_everywhere_is_none() {
        let two_nodes =
            |x: &str, y: &str| arm(vec![node("x", vec![change("a", "1", x)]), node("y", vec![change("a", "1", y)])]);
        for (arm, expected) in [(two_nodes("2", "2"), true), (two_nodes("2", "3"), false)] {
            assert_eq!(is_same(&two_nodes("2", "2"), &arm, &|_| None), expected);
        }
        assert!(!is_same(&arm(vec![node("x", Vec::new())]), &two_nodes("2", "2"), &|_| None));
    }

    #[test]
    fn what_is_advised_is_a_file_of_the_changes_of_each_node() {
        let base = arm(vec![node("x", Vec::new()), node("y", Vec::new())]);
        let one = arm(vec![node("x", vec![change("a", "1", "2")]), node("y", vec![change("a", "5", "2")])]);
        let other = arm(vec![node("x", vec![change("b", "7", "8")]), node("y", Vec::new())]);
        let all = [base.clone(), base, one, other];
        let helps = |change: &Change| Change { why: "it is faster".to_owned(), ..change.clone() };
        let advice = [helps(&all[2].changes[0]), helps(&all[3].changes[0])];
        let file = advised("7", &all, &advice);
        let priors = |node: usize| -> Vec<&str> {
            file.nodes[node].set.changes.iter().map(|change| change.prior.as_str()).collect()
        };
        assert_eq!((file.nodes.len(), priors(0), priors(1)), (2, vec!["1", "7"], vec!["5"]));
        assert!(file.nodes.iter().flat_map(|node| &node.set.changes).all(|change| change.why == "it is faster"));
        assert!(file.nodes.iter().all(|node| node.set.profile == "experiment 7"));
        assert!(advised("7", &all, &[]).nodes.iter().all(|node| node.set.changes.is_empty()));
    }

    #[test]
    fn what_one_node_leaves_out_is_told_with_its_name_and_what_all_change_is_listed_once() {
        let place = change("a", "1", "2").place;
        let mut nodes = vec![node("x", vec![change("a", "1", "2")]), node("y", vec![change("a", "4", "2")])];
        nodes.iter_mut().for_each(|node| node.left_out.push((place.clone(), "the CNI owns it".to_owned())));
        assert_eq!(left_out("p", &nodes), ["p leaves out a on x, y: the CNI owns it"]);
        assert_eq!(merged(&nodes), [change("a", "1", "2")]);
    }
}
