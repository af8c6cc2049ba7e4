//! The arms of an experiment over a fleet: what is wanted of every node, and which changes lead there on each.

use linerate_experiment::arm_applicability::NoTestableArm;
use linerate_experiment::node_arms::{NodeAnswer, is_same, left_out, merged, on_all};
use linerate_fleet::change_protocol::{ChangeAnswer, ChangeOrder, DiffOrder};
use linerate_record::experiment::{ArmSetup, NotTested};

use super::ChangedFleet;
use crate::commands::experiment::arms::{ArmList, ArmPlan, UNCHANGED_BASELINE_NAME, knob_and_values};
use crate::commands::experiment::flags::ArmSelectionFlags;
use crate::remote::rollout::node_changes;
use crate::run::catalogue::{find, profile_named};
use crate::terminal::failure::{Failure, code};

/// What an arm wants of every node.
#[derive(Debug, PartialEq)]
pub(super) struct ArmSpec {
    pub(super) name: String,
    profile: Option<String>,
    /// Values, as `KNOB=VALUE` or `KNOB@DEVICE=VALUE`.
    set: Vec<String>,
}

/// A knob with the values that are compared.
struct ComparedKnob<'t> {
    name: &'t str,
    values: Vec<&'t str>,
}

impl<'t> ComparedKnob<'t> {
    fn read(text: &'t str) -> Result<ComparedKnob<'t>, Failure> {
        let (name, values) = knob_and_values(text)?;
        let name = name.trim();
        let id = name.split_once('@').map_or(name, |(id, _)| id);
        if find(id).is_none() {
            return Err(Failure::usage(format!("invalid knob {text:?}: there is no such knob: see linerate knobs")));
        }
        Ok(ComparedKnob { name, values })
    }

    /// What the baseline has; none where that is what is there.
    fn baseline_value(&self) -> Option<&'t str> {
        self.values.first().filter(|_| self.values.len() > 1).copied()
    }

    /// What is compared with it.
    fn compared_values(&self) -> &[&'t str] {
        if self.values.len() > 1 { &self.values[1..] } else { &self.values[..] }
    }
}

/// What the arms of the flags want, the baseline first: each other arm differs from it in one knob, or is a profile.
pub(super) fn arm_specs_of_flags(flags: &ArmSelectionFlags) -> Result<Vec<ArmSpec>, Failure> {
    let read = flags.knob.iter().map(|text| ComparedKnob::read(text));
    let (knobs, mut wrong): (Vec<_>, Vec<_>) = read.partition(Result::is_ok);
    wrong.extend(flags.profile.iter().filter_map(|name| profile_named(name).err()).map(Err));
    if !wrong.is_empty() {
        return Err(Failure::combine(wrong.into_iter().map(Result::err)));
    }
    let knobs: Vec<ComparedKnob<'_>> = knobs.into_iter().flatten().collect();
    if let Some((_, twice)) = knobs.iter().enumerate().find(|(i, k)| knobs[..*i].iter().any(|of| of.name == k.name)) {
        return Err(Failure::usage(format!("{} is given twice: give all its values at once", twice.name)));
    }
    let set = |instead: Option<(usize, &str)>| -> Vec<String> {
        let value = |i: usize| instead.filter(|(at, _)| *at == i).map(|(_, value)| value).or(knobs[i].baseline_value());
        let text = |i: usize| Some(format!("{}={}", knobs[i].name, value(i)?));
        (0..knobs.len()).filter_map(text).collect()
    };
    let mut arm_specs = vec![ArmSpec { name: baseline_name(&knobs), profile: None, set: set(None) }];
    for (i, knob) in knobs.iter().enumerate() {
        let arm = |value: &&str| ArmSpec {
            name: format!("{}={value}", knob.name),
            profile: None,
            set: set(Some((i, *value))),
        };
        arm_specs.extend(knob.compared_values().iter().map(arm));
    }
    let arm = |name: &String| ArmSpec { name: name.clone(), profile: Some(name.clone()), set: Vec::new() };
    arm_specs.extend(flags.profile.iter().map(arm));
    Ok(arm_specs)
}

fn baseline_name(knobs: &[ComparedKnob<'_>]) -> String {
    match knobs {
        [only] if only.baseline_value().is_some() => format!("{}={}", only.name, only.values[0]),
        all if all.iter().all(|knob| knob.baseline_value().is_none()) => UNCHANGED_BASELINE_NAME.to_owned(),
        _ => "baseline".to_owned(),
    }
}

/// Has all nodes say which changes lead to each arm. One that a node refuses is left out.
pub(super) fn find_arms(fleet: &ChangedFleet, arm_specs: &[ArmSpec], site: Option<&str>) -> Result<ArmList, Failure> {
    let mut arm_list = ArmList::default();
    for arm_spec in arm_specs {
        let is_baseline = arm_list.arms.is_empty();
        let nodes = match on_all(node_answers(fleet, arm_spec, site)?) {
            Ok(nodes) => nodes,
            Err(why) if is_baseline => {
                return Err(Failure::Tune { why: format!("the baseline: {why}"), code: code::UNCHANGED });
            }
            Err(why) => {
                arm_list.not_tested.push(NotTested { arm: arm_spec.name.clone(), why });
                continue;
            }
        };
        let means = ArmSetup { changes: merged(&nodes), nodes, ..ArmSetup::default() };
        if arm_list.arms.first().is_some_and(|baseline| is_same(&baseline.means, &means, &find)) {
            let why = "each node has these values with the baseline already".to_owned();
            arm_list.not_tested.push(NotTested { arm: arm_spec.name.clone(), why });
            continue;
        }
        arm_list.notes.extend(left_out(&arm_spec.name, &means.nodes));
        arm_list.arms.push(ArmPlan { name: arm_spec.name.clone(), flags: Vec::new(), means });
    }
    if arm_list.arms.len() < 2 { Err(Failure::usage(NoTestableArm(arm_list.not_tested))) } else { Ok(arm_list) }
}

/// What each node answers to a wish.
fn node_answers(fleet: &ChangedFleet, arm_spec: &ArmSpec, site: Option<&str>) -> Result<Vec<NodeAnswer>, Failure> {
    let site = site.filter(|_| arm_spec.profile.is_some());
    let order = |_: usize| {
        ChangeOrder::Diff(Box::new(DiffOrder {
            profile: arm_spec.profile.clone(),
            set: arm_spec.set.clone(),
            netns: fleet.netns.clone(),
            site: site.map(str::to_owned),
        }))
    };
    let last_message = fleet.lines.borrow_mut().ask_all(&order, &fleet.interrupt)?;
    let (mut answers, mut lost) = (Vec::with_capacity(last_message.len()), Vec::new());
    for (node, answer) in fleet.nodes.iter().zip(last_message) {
        let changes = match answer {
            Ok(ChangeAnswer::Planned(planned)) => Ok(node_changes(node, *planned)),
            Ok(ChangeAnswer::Failed { why, .. }) => Err(why),
            Ok(ChangeAnswer::Reported(_)) => Err("it answered another question".to_owned()),
            Err(why) => {
                lost.push(format!("{}: {why}", node.name));
                continue;
            }
        };
        answers.push((node.name.clone(), changes));
    }
    if lost.is_empty() {
        return Ok(answers);
    }
    let why = format!("{} of {} nodes were lost:\n  {}", lost.len(), fleet.nodes.len(), lost.join("\n  "));
    Err(Failure::Outcome { why, code: code::TARGET })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct TypedFlags {
        #[command(flatten)]
        arms: ArmSelectionFlags,
    }

    fn specs_of(words: &[&str]) -> Result<Vec<(String, String)>, Failure> {
        let typed = TypedFlags::try_parse_from([&["linerate"][..], words].concat()).unwrap();
        let arm_specs = arm_specs_of_flags(&typed.arms)?;
        Ok(arm_specs.into_iter().map(|arm_spec| (arm_spec.name, arm_spec.set.join("; "))).collect())
    }

    #[test]
    fn each_arm_differs_from_the_baseline_in_one_knob() {
        let pair = |name: &str, set: &str| (name.to_owned(), set.to_owned());
        let one = specs_of(&["--knob", "vm.swappiness=10"]).unwrap();
        assert_eq!(one, [pair(UNCHANGED_BASELINE_NAME, ""), pair("vm.swappiness=10", "vm.swappiness=10")]);
        let two = specs_of(&["--knob", "vm.swappiness=60,10,1", "--knob", "net.core.rmem_max=1"]).unwrap();
        assert_eq!(
            two,
            [
                pair("baseline", "vm.swappiness=60"),
                pair("vm.swappiness=10", "vm.swappiness=10"),
                pair("vm.swappiness=1", "vm.swappiness=1"),
                pair("net.core.rmem_max=1", "vm.swappiness=60; net.core.rmem_max=1"),
            ]
        );
        let device_specs = specs_of(&["--knob", "nic.mtu@eth0=1500,9000"]).unwrap();
        assert_eq!(device_specs[0], pair("nic.mtu@eth0=1500", "nic.mtu@eth0=1500"));
        let profile = specs_of(&["--profile", "s3-storage-node"]).unwrap();
        assert_eq!(profile, [pair(UNCHANGED_BASELINE_NAME, ""), pair("s3-storage-node", "")]);
        for (words, part) in [
            (["--knob", "no.such.knob=1"], "no such knob"),
            (["--knob", "vm.swappiness"], "KNOB=VALUE"),
            (["--profile", "nobody"], "no profile"),
        ] {
            assert!(specs_of(&words).unwrap_err().to_string().contains(part), "{words:?}");
        }
        let twice = specs_of(&["--knob", "vm.swappiness=1", "--knob", "vm.swappiness=2"]).unwrap_err();
        assert!(twice.to_string().contains("given twice"), "{twice}");
    }
}
