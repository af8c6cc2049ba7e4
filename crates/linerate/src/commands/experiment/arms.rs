//! What is compared: from flags to arms, the baseline first, each with what puts it in place.

use linerate_host::Root;
use linerate_record::experiment::{ArmSetup, NotTested};
use linerate_record::knob::{Change, SettingId, Space};
use linerate_settings::change_plan::lead_to_same;

use super::flags::{ArmSelectionFlags, ExperimentRunFlags};
use crate::run::catalogue::profile_named;
use crate::run::wanted_changes::{ProfileChanges, at_odds, changes_to_profile, in_order, manual_value};
use crate::terminal::failure::Failure;
use crate::terminal::key_masks;

/// Most arms: a block must end before what it compares has changed by itself.
const ARMS_MAX: usize = 32;

/// What a baseline is called that changes nothing.
pub(super) const UNCHANGED_BASELINE_NAME: &str = "as it is";

/// An arm as it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ArmPlan {
    pub(super) name: String,
    /// Flags of bench that it alone has.
    pub(super) flags: Vec<String>,
    pub(super) means: ArmSetup,
}

/// The arms asked for, and what must be said of them.
#[derive(Debug, Default)]
pub(super) struct ArmList {
    pub(super) arms: Vec<ArmPlan>,
    pub(super) notes: Vec<String>,
    /// Arms that are left out already.
    pub(super) not_tested: Vec<NotTested>,
}

/// Refuses keys in what is kept in the folder, and in the arguments of processes.
pub(super) fn require_no_keys(flags: &ExperimentRunFlags) -> Result<(), Failure> {
    let ExperimentRunFlags { arms, nodes, flags, .. } = flags;
    let after = flags.join(" ");
    let texts =
        [("--arm", &arms.arm), ("--with", &arms.with)].map(|(flag, texts)| texts.iter().map(move |t| (flag, t)));
    let others = arms.restart.iter().map(|text| ("--restart", text)).chain([("what follows --", &after)]);
    let others = others.chain(nodes.health.iter().map(|text| ("--health", text)));
    let holds_key = |(_, text): &(&str, &String)| key_masks::mask_keys(text) != **text;
    match texts.into_iter().flatten().chain(others).find(holds_key) {
        Some((flag, _)) => Err(Failure::usage(format!(
            "{flag} contains a key, which would be in the folder and in the arguments of processes: set \
             AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, name a \
             --profile after --, or take it from a variable ($NAME)"
        ))),
        None => Ok(()),
    }
}

/// Refuses a single arm, and more than one experiment compares.
pub(super) fn require_arm_count(arms: usize) -> Result<(), Failure> {
    match arms {
        0 | 1 => Err(Failure::usage(
            "nothing to compare: give --knob KNOB=VALUE,VALUE, --profile, --with NAME=FLAGS or --arm NAME=COMMAND",
        )),
        2..=ARMS_MAX => Ok(()),
        _ => Err(Failure::usage(format!("{arms} arms are too many for one experiment: compare at most {ARMS_MAX}"))),
    }
}

/// Finds the arms of the flags. Settings are read, none is changed.
pub(super) fn plan_arms(flags: &ArmSelectionFlags, root: &Root) -> Result<ArmList, Failure> {
    let arm_list = if !flags.arm.is_empty() {
        named_arms(&flags.arm, "--arm", |command| {
            Ok((Vec::new(), ArmSetup { command: Some(command.to_owned()), ..ArmSetup::default() }))
        })
    } else if !flags.with.is_empty() {
        named_arms(&flags.with, "--with", |text| Ok((split_words(text)?, ArmSetup::default())))
    } else {
        arms_of_settings(flags, root)
    }?;
    require_arm_count(arm_list.arms.len())?;
    Ok(arm_list)
}

/// Arms of `NAME=…`, the first being the baseline.
fn named_arms(
    given: &[String],
    flag: &str,
    parse_arm: impl Fn(&str) -> Result<(Vec<String>, ArmSetup), Failure>,
) -> Result<ArmList, Failure> {
    let arm = |text: &String| {
        let parts = text.split_once('=').filter(|(name, rest)| !name.trim().is_empty() && !rest.trim().is_empty());
        let (name, rest) = parts.ok_or_else(|| {
            Failure::usage(format!("invalid {flag} {text:?}: write a name, =, and what it stands for"))
        })?;
        let (flags, means) = parse_arm(rest.trim())?;
        Ok(ArmPlan { name: name.trim().to_owned(), flags, means })
    };
    let arms = given.iter().map(arm).collect::<Result<Vec<_>, Failure>>()?;
    if let [only] = arms.as_slice() {
        let name = &only.name;
        return Err(Failure::usage(format!("{name:?} has nothing to be compared with: give {flag} at least twice")));
    }
    Ok(ArmList { arms, ..ArmList::default() })
}

/// Splits flags at blanks; quotes hold together what has some.
pub(super) fn split_words(text: &str) -> Result<Vec<String>, Failure> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for c in text.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    if let Some(open) = quote {
        return Err(Failure::usage(format!("invalid flags {text:?}: {open} is not closed")));
    }
    words.extend(word);
    Ok(words)
}

/// Values of a knob: where it is, and each value with the change that leads to it.
struct KnobValues {
    name: String,
    place: SettingId,
    values: Vec<(String, Option<Change>)>,
}

/// Settings: the baseline has the first value of each knob, and every other arm differs from it in one knob, or is a
/// profile.
fn arms_of_settings(flags: &ArmSelectionFlags, root: &Root) -> Result<ArmList, Failure> {
    let space = flags.space();
    let read = flags.knob.iter().map(|text| knob_values(text, root, &space));
    let (knobs, mut wrong): (Vec<_>, Vec<_>) = read.partition(Result::is_ok);
    wrong.extend(flags.profile.iter().filter_map(|name| profile_named(name).err()).map(Err));
    if !wrong.is_empty() {
        return Err(Failure::combine(wrong.into_iter().map(Result::err)));
    }
    let knobs: Vec<KnobValues> = knobs.into_iter().flatten().collect();
    if let Some((i, twice)) =
        knobs.iter().enumerate().find(|(i, knob)| knobs[..*i].iter().any(|k| k.place == knob.place))
    {
        let (name, again) = (&twice.name, &flags.knob[i]);
        return Err(Failure::usage(format!("{name} is given twice, as {again:?} again: give all its values at once")));
    }
    let base: Vec<Option<Change>> = knobs.iter().map(|knob| knob.values[0].1.clone()).collect();
    let changed = |instead: Option<(usize, &Option<Change>)>| {
        let value_for = |i: usize, change: &Option<Change>| {
            instead.filter(|(other, _)| *other == i).map_or_else(|| change.clone(), |(_, other)| other.clone())
        };
        let mut changes: Vec<Change> = base.iter().enumerate().filter_map(|(i, change)| value_for(i, change)).collect();
        in_order(&mut changes);
        ArmSetup { changes, ..ArmSetup::default() }
    };
    let mut arm_list = ArmList::default();
    let arm = |name, means| ArmPlan { name, flags: Vec::new(), means };
    arm_list.arms.push(arm(baseline_name(&knobs), changed(None)));
    for (i, knob) in knobs.iter().enumerate() {
        for (value, change) in &knob.values[1..] {
            let name = format!("{}={value}", knob.name);
            let is_base = match (change, &base[i]) {
                (Some(change), Some(base)) => lead_to_same(change, base),
                (change, base) => change.is_none() && base.is_none(),
            };
            if is_base {
                return Err(Failure::usage(format!("the baseline already has {name}: give another value")));
            }
            arm_list.arms.push(arm(name, changed(Some((i, change)))));
        }
    }
    for arm in &arm_list.arms {
        let odd = at_odds(arm.means.changes.iter().map(|change| (&change.place, change.new.as_str())));
        if let Some(odd) = odd.first() {
            return Err(Failure::usage(format!("arm {:?}: {odd}", arm.name)));
        }
    }
    for name in &flags.profile {
        let ProfileChanges { changes, left_out, .. } = changes_to_profile(root, &space, name, flags.site.as_deref())?;
        if changes.is_empty() {
            return Err(Failure::usage(format!(
                "profile {name} changes nothing here: see linerate audit --profile {name}"
            )));
        }
        let reported = left_out.iter().map(|(place, why)| format!("profile {name} leaves out {place}: {why}"));
        arm_list.notes.extend(reported);
        arm_list.arms.push(arm(name.clone(), ArmSetup { changes, ..ArmSetup::default() }));
    }
    Ok(arm_list)
}

/// Parts `net.core.rmem_max=212992,4194304`.
pub(super) fn knob_and_values(text: &str) -> Result<(&str, Vec<&str>), Failure> {
    let (name, list) = text.split_once('=').ok_or_else(|| {
        Failure::usage(format!("invalid knob {text:?}: write KNOB=VALUE,VALUE or KNOB@DEVICE=VALUE,VALUE"))
    })?;
    let separator = if list.contains('|') { '|' } else { ',' };
    Ok((name, list.split(separator).map(str::trim).collect()))
}

/// Reads `net.core.rmem_max=212992,4194304`. One value alone is compared with what is there.
fn knob_values(text: &str, root: &Root, space: &Space) -> Result<KnobValues, Failure> {
    let (name, list) = knob_and_values(text)?;
    let mut values = Vec::new();
    let mut place = None;
    for value in list {
        let given = manual_value(root, space, &format!("{name}={value}"), true)?;
        place = Some(given.place);
        values.push((given.value, given.change));
    }
    if values.len() == 1 {
        if values[0].1.is_none() {
            return Err(Failure::usage(format!(
                "{text} is already the current value: give another value to compare it with"
            )));
        }
        values.insert(0, (UNCHANGED_BASELINE_NAME.to_owned(), None));
    }
    let place = place.ok_or_else(|| Failure::usage(format!("invalid knob {text:?}: it has no value")))?;
    Ok(KnobValues { name: name.to_owned(), place, values })
}

fn baseline_name(knobs: &[KnobValues]) -> String {
    match knobs {
        [only] if only.values[0].0 != UNCHANGED_BASELINE_NAME => format!("{}={}", only.name, only.values[0].0),
        all if all.iter().all(|knob| knob.values[0].1.is_none()) => UNCHANGED_BASELINE_NAME.to_owned(),
        _ => "baseline".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_split_at_blanks_and_quotes_hold_them_together() {
        let split = |text| split_words(text).unwrap();
        assert_eq!(split("--host a:9000  --prefix 'x y/'"), ["--host", "a:9000", "--prefix", "x y/"]);
        assert_eq!(split("--prefix=\"it's\" ''"), ["--prefix=it's", ""]);
        assert_eq!(split(" "), [""; 0]);
        assert!(split_words("--prefix 'x").unwrap_err().to_string().contains("' is not closed"));
    }

    #[test]
    fn named_arms_need_a_name_a_meaning_and_a_partner() {
        let arms = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|&text| text.to_owned()).collect();
            let command =
                |text: &str| Ok((Vec::new(), ArmSetup { command: Some(text.to_owned()), ..ArmSetup::default() }));
            named_arms(&given, "--arm", command).map(|arm_list| arm_list.arms)
        };
        let two = arms(&["overlay=a --x=1", "native=b"]).unwrap();
        assert_eq!(two[0].means.command.as_deref(), Some("a --x=1"));
        assert_eq!(two[1].name, "native");
        for (given, reported) in [
            (&["overlay"][..], "write a name, =, and what it stands for"),
            (&["=a", "b=c"], "invalid --arm \"=a\""),
            (&["overlay=a"], "give --arm at least twice"),
        ] {
            assert!(arms(given).unwrap_err().to_string().contains(reported), "{given:?}");
        }
    }
}
