//! The arms of an experiment over a fleet: what is wanted of every node, and which changes lead there on each.

use linerate_experiment::nodes::{NodeAnswer, is_same, left_out, merged, on_all};
use linerate_experiment::reach::NothingTested;
use linerate_fleet::changing::{ChangeAnswer, ChangeOrder, DiffOrder};
use linerate_record::experiment::{Means, NotTested};

use super::ArmFleet;
use crate::catalogue::{find, profile_named};
use crate::experiment::arms::{AS_IS, Lineup, Planned, knob_and_values};
use crate::experiment::flags::ArmFlags;
use crate::failure::{Failure, code};
use crate::rollouts::node_changes;

/// What an arm wants of every node.
#[derive(Debug, PartialEq)]
pub(super) struct ArmWish {
    pub(super) name: String,
    profile: Option<String>,
    /// Values, as `KNOB=VALUE` or `KNOB@DEVICE=VALUE`.
    set: Vec<String>,
}

/// A knob with the values that are compared.
struct WishedKnob<'t> {
    name: &'t str,
    values: Vec<&'t str>,
}

impl<'t> WishedKnob<'t> {
    fn read(text: &'t str) -> Result<WishedKnob<'t>, Failure> {
        let (name, values) = knob_and_values(text)?;
        let name = name.trim();
        let id = name.split_once('@').map_or(name, |(id, _)| id);
        if find(id).is_none() {
            return Err(Failure::usage(format!("invalid knob {text:?}: there is no such knob: see linerate knobs")));
        }
        Ok(WishedKnob { name, values })
    }

    /// What the baseline has; none where that is what is there.
    fn base(&self) -> Option<&'t str> {
        self.values.first().filter(|_| self.values.len() > 1).copied()
    }

    /// What is compared with it.
    fn trials(&self) -> &[&'t str] {
        if self.values.len() > 1 { &self.values[1..] } else { &self.values[..] }
    }
}

/// What the arms of the flags want, the baseline first: each other arm differs from it in one knob, or is a profile.
pub(super) fn wishes(flags: &ArmFlags) -> Result<Vec<ArmWish>, Failure> {
    let read = flags.knob.iter().map(|text| WishedKnob::read(text));
    let (knobs, mut wrong): (Vec<_>, Vec<_>) = read.partition(Result::is_ok);
    wrong.extend(flags.profile.iter().filter_map(|name| profile_named(name).err()).map(Err));
    if !wrong.is_empty() {
        return Err(Failure::all_of(wrong.into_iter().map(Result::err)));
    }
    let knobs: Vec<WishedKnob<'_>> = knobs.into_iter().flatten().collect();
    if let Some((_, twice)) = knobs.iter().enumerate().find(|(i, k)| knobs[..*i].iter().any(|of| of.name == k.name)) {
        return Err(Failure::usage(format!("{} is given twice: give all its values at once", twice.name)));
    }
    let set = |instead: Option<(usize, &str)>| -> Vec<String> {
        let value = |i: usize| instead.filter(|(at, _)| *at == i).map(|(_, value)| value).or(knobs[i].base());
        let text = |i: usize| Some(format!("{}={}", knobs[i].name, value(i)?));
        (0..knobs.len()).filter_map(text).collect()
    };
    let mut wishes = vec![ArmWish { name: baseline_name(&knobs), profile: None, set: set(None) }];
    for (i, knob) in knobs.iter().enumerate() {
        let arm = |value: &&str| ArmWish {
            name: format!("{}={value}", knob.name),
            profile: None,
            set: set(Some((i, *value))),
        };
        wishes.extend(knob.trials().iter().map(arm));
    }
    let arm = |name: &String| ArmWish { name: name.clone(), profile: Some(name.clone()), set: Vec::new() };
    wishes.extend(flags.profile.iter().map(arm));
    Ok(wishes)
}

fn baseline_name(knobs: &[WishedKnob<'_>]) -> String {
    match knobs {
        [only] if only.base().is_some() => format!("{}={}", only.name, only.values[0]),
        all if all.iter().all(|knob| knob.base().is_none()) => AS_IS.to_owned(),
        _ => "baseline".to_owned(),
    }
}

/// Has all nodes say which changes lead to each arm. One that a node refuses is left out.
pub(super) fn lined_up(fleet: &ArmFleet, wishes: &[ArmWish], site: Option<&str>) -> Result<Lineup, Failure> {
    let mut lineup = Lineup::default();
    for wish in wishes {
        let is_baseline = lineup.arms.is_empty();
        let nodes = match on_all(answers(fleet, wish, site)?) {
            Ok(nodes) => nodes,
            Err(why) if is_baseline => {
                return Err(Failure::Tune { why: format!("the baseline: {why}"), code: code::UNCHANGED });
            }
            Err(why) => {
                lineup.not_tested.push(NotTested { arm: wish.name.clone(), why });
                continue;
            }
        };
        let means = Means { changes: merged(&nodes), nodes, ..Means::default() };
        if lineup.arms.first().is_some_and(|baseline| is_same(&baseline.means, &means, &find)) {
            let why = "each node has these values with the baseline already".to_owned();
            lineup.not_tested.push(NotTested { arm: wish.name.clone(), why });
            continue;
        }
        lineup.notes.extend(left_out(&wish.name, &means.nodes));
        lineup.arms.push(Planned { name: wish.name.clone(), flags: Vec::new(), means });
    }
    if lineup.arms.len() < 2 { Err(Failure::usage(NothingTested(lineup.not_tested))) } else { Ok(lineup) }
}

/// What each node answers to a wish.
fn answers(fleet: &ArmFleet, wish: &ArmWish, site: Option<&str>) -> Result<Vec<NodeAnswer>, Failure> {
    let site = site.filter(|_| wish.profile.is_some());
    let order = |_: usize| {
        ChangeOrder::Diff(Box::new(DiffOrder {
            profile: wish.profile.clone(),
            set: wish.set.clone(),
            netns: fleet.netns.clone(),
            site: site.map(str::to_owned),
        }))
    };
    let said = fleet.lines.borrow_mut().ask_all(&order, &fleet.interrupt)?;
    let (mut answers, mut lost) = (Vec::with_capacity(said.len()), Vec::new());
    for (node, answer) in fleet.nodes.iter().zip(said) {
        let changes = match answer {
            Ok(ChangeAnswer::Planned(planned)) => Ok(node_changes(node, *planned)),
            Ok(ChangeAnswer::Failed { why, .. }) => Err(why),
            Ok(ChangeAnswer::Told(_)) => Err("it answered another question".to_owned()),
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
    struct Typed {
        #[command(flatten)]
        arms: ArmFlags,
    }

    fn wished(words: &[&str]) -> Result<Vec<(String, String)>, Failure> {
        let typed = Typed::try_parse_from([&["linerate"][..], words].concat()).unwrap();
        let wishes = wishes(&typed.arms)?;
        Ok(wishes.into_iter().map(|wish| (wish.name, wish.set.join("; "))).collect())
    }

    #[test]
    fn each_arm_differs_from_the_baseline_in_one_knob() {
        let pair = |name: &str, set: &str| (name.to_owned(), set.to_owned());
        let one = wished(&["--knob", "vm.swappiness=10"]).unwrap();
        assert_eq!(one, [pair(AS_IS, ""), pair("vm.swappiness=10", "vm.swappiness=10")]);
        let two = wished(&["--knob", "vm.swappiness=60,10,1", "--knob", "net.core.rmem_max=1"]).unwrap();
        assert_eq!(
            two,
            [
                pair("baseline", "vm.swappiness=60"),
                pair("vm.swappiness=10", "vm.swappiness=10"),
                pair("vm.swappiness=1", "vm.swappiness=1"),
                pair("net.core.rmem_max=1", "vm.swappiness=60; net.core.rmem_max=1"),
            ]
        );
        let of_device = wished(&["--knob", "nic.mtu@eth0=1500,9000"]).unwrap();
        assert_eq!(of_device[0], pair("nic.mtu@eth0=1500", "nic.mtu@eth0=1500"));
        let profile = wished(&["--profile", "s3-storage-node"]).unwrap();
        assert_eq!(profile, [pair(AS_IS, ""), pair("s3-storage-node", "")]);
        for (words, part) in [
            (["--knob", "no.such.knob=1"], "no such knob"),
            (["--knob", "vm.swappiness"], "KNOB=VALUE"),
            (["--profile", "nobody"], "no profile"),
        ] {
            assert!(wished(&words).unwrap_err().to_string().contains(part), "{words:?}");
        }
        let twice = wished(&["--knob", "vm.swappiness=1", "--knob", "vm.swappiness=2"]).unwrap_err();
        assert!(twice.to_string().contains("given twice"), "{twice}");
    }
}
