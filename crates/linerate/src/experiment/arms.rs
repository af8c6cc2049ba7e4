//! What is compared: from flags to arms, the baseline first, each with what puts it in place.

use linerate_host::Root;
use linerate_record::experiment::{Means, NotTested};
use linerate_record::knob::{Change, SettingPlace, Space};
use linerate_settings::changes::lead_to_same;

use super::flags::{ArmFlags, ConductFlags};
use crate::catalogue::profile_named;
use crate::changes::{ProfileChanges, at_odds, by_hand, in_order, to_profile};
use crate::failure::Failure;
use crate::masks;

/// Most arms: a block must end before what it compares has changed by itself.
const ARMS_MAX: usize = 32;

/// What a baseline is called that changes nothing.
pub(super) const AS_IS: &str = "as it is";

/// An arm as it was asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Planned {
    pub(super) name: String,
    /// Flags of bench that it alone has.
    pub(super) flags: Vec<String>,
    pub(super) means: Means,
}

/// The arms asked for, and what must be said of them.
#[derive(Debug, Default)]
pub(super) struct Lineup {
    /// The baseline first.
    pub(super) arms: Vec<Planned>,
    pub(super) notes: Vec<String>,
    /// Arms that are left out already.
    pub(super) not_tested: Vec<NotTested>,
}

/// Refuses keys in what is kept in the folder, and in the arguments of processes.
pub(super) fn require_no_keys(flags: &ConductFlags) -> Result<(), Failure> {
    let ConductFlags { arms, nodes, flags, .. } = flags;
    let after = flags.join(" ");
    let texts =
        [("--arm", &arms.arm), ("--with", &arms.with)].map(|(flag, texts)| texts.iter().map(move |t| (flag, t)));
    let others = arms.restart.iter().map(|text| ("--restart", text)).chain([("what follows --", &after)]);
    let others = others.chain(nodes.health.iter().map(|text| ("--health", text)));
    let holds_key = |(_, text): &(&str, &String)| masks::without_keys(text) != **text;
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
pub(super) fn require_count(arms: usize) -> Result<(), Failure> {
    match arms {
        0 | 1 => Err(Failure::usage(
            "nothing to compare: give --knob KNOB=VALUE,VALUE, --profile, --with NAME=FLAGS or --arm NAME=COMMAND",
        )),
        2..=ARMS_MAX => Ok(()),
        _ => Err(Failure::usage(format!("{arms} arms are too many for one experiment: compare at most {ARMS_MAX}"))),
    }
}

/// Finds the arms of the flags. Settings are read, none is changed.
pub(super) fn line_up(flags: &ArmFlags, root: &Root) -> Result<Lineup, Failure> {
    let lineup = if !flags.arm.is_empty() {
        named(&flags.arm, "--arm", |command| {
            Ok((Vec::new(), Means { command: Some(command.to_owned()), ..Means::default() }))
        })
    } else if !flags.with.is_empty() {
        named(&flags.with, "--with", |text| Ok((words(text)?, Means::default())))
    } else {
        of_settings(flags, root)
    }?;
    require_count(lineup.arms.len())?;
    Ok(lineup)
}

/// Arms of `NAME=…`, the first being the baseline.
fn named(
    given: &[String],
    flag: &str,
    stands_for: impl Fn(&str) -> Result<(Vec<String>, Means), Failure>,
) -> Result<Lineup, Failure> {
    let arm = |text: &String| {
        let parts = text.split_once('=').filter(|(name, rest)| !name.trim().is_empty() && !rest.trim().is_empty());
        let (name, rest) = parts.ok_or_else(|| {
            Failure::usage(format!("invalid {flag} {text:?}: write a name, =, and what it stands for"))
        })?;
        let (flags, means) = stands_for(rest.trim())?;
        Ok(Planned { name: name.trim().to_owned(), flags, means })
    };
    let arms = given.iter().map(arm).collect::<Result<Vec<_>, Failure>>()?;
    if let [only] = arms.as_slice() {
        let name = &only.name;
        return Err(Failure::usage(format!("{name:?} has nothing to be compared with: give {flag} at least twice")));
    }
    Ok(Lineup { arms, ..Lineup::default() })
}

/// Splits flags at blanks; quotes hold together what has some.
pub(super) fn words(text: &str) -> Result<Vec<String>, Failure> {
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
struct Values {
    name: String,
    place: SettingPlace,
    values: Vec<(String, Option<Change>)>,
}

/// Settings: the baseline has the first value of each knob, and every other arm differs from it in one knob, or is a
/// profile.
fn of_settings(flags: &ArmFlags, root: &Root) -> Result<Lineup, Failure> {
    let space = flags.space();
    let read = flags.knob.iter().map(|text| values(text, root, &space));
    let (knobs, mut wrong): (Vec<_>, Vec<_>) = read.partition(Result::is_ok);
    wrong.extend(flags.profile.iter().filter_map(|name| profile_named(name).err()).map(Err));
    if !wrong.is_empty() {
        return Err(Failure::all_of(wrong.into_iter().map(Result::err)));
    }
    let knobs: Vec<Values> = knobs.into_iter().flatten().collect();
    if let Some((i, twice)) =
        knobs.iter().enumerate().find(|(i, knob)| knobs[..*i].iter().any(|k| k.place == knob.place))
    {
        let (name, again) = (&twice.name, &flags.knob[i]);
        return Err(Failure::usage(format!("{name} is given twice, as {again:?} again: give all its values at once")));
    }
    let base: Vec<Option<Change>> = knobs.iter().map(|knob| knob.values[0].1.clone()).collect();
    let changed = |instead: Option<(usize, &Option<Change>)>| {
        let of = |i: usize, change: &Option<Change>| {
            instead.filter(|(other, _)| *other == i).map_or_else(|| change.clone(), |(_, other)| other.clone())
        };
        let mut changes: Vec<Change> = base.iter().enumerate().filter_map(|(i, change)| of(i, change)).collect();
        in_order(&mut changes);
        Means { changes, ..Means::default() }
    };
    let mut lineup = Lineup::default();
    let arm = |name, means| Planned { name, flags: Vec::new(), means };
    lineup.arms.push(arm(baseline_name(&knobs), changed(None)));
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
            lineup.arms.push(arm(name, changed(Some((i, change)))));
        }
    }
    for arm in &lineup.arms {
        let odd = at_odds(arm.means.changes.iter().map(|change| (&change.place, change.new.as_str())));
        if let Some(odd) = odd.first() {
            return Err(Failure::usage(format!("arm {:?}: {odd}", arm.name)));
        }
    }
    for name in &flags.profile {
        let ProfileChanges { changes, left_out, .. } = to_profile(root, &space, name, flags.site.as_deref())?;
        if changes.is_empty() {
            return Err(Failure::usage(format!(
                "profile {name} changes nothing here: see linerate audit --profile {name}"
            )));
        }
        let reported = left_out.iter().map(|(place, why)| format!("profile {name} leaves out {place}: {why}"));
        lineup.notes.extend(reported);
        lineup.arms.push(arm(name.clone(), Means { changes, ..Means::default() }));
    }
    Ok(lineup)
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
fn values(text: &str, root: &Root, space: &Space) -> Result<Values, Failure> {
    let (name, list) = knob_and_values(text)?;
    let mut values = Vec::new();
    let mut place = None;
    for value in list {
        let given = by_hand(root, space, &format!("{name}={value}"), true)?;
        place = Some(given.place);
        values.push((given.value, given.change));
    }
    if values.len() == 1 {
        if values[0].1.is_none() {
            return Err(Failure::usage(format!(
                "{text} is already the current value: give another value to compare it with"
            )));
        }
        values.insert(0, (AS_IS.to_owned(), None));
    }
    let place = place.ok_or_else(|| Failure::usage(format!("invalid knob {text:?}: it has no value")))?;
    Ok(Values { name: name.to_owned(), place, values })
}

fn baseline_name(knobs: &[Values]) -> String {
    match knobs {
        [only] if only.values[0].0 != AS_IS => format!("{}={}", only.name, only.values[0].0),
        all if all.iter().all(|knob| knob.values[0].1.is_none()) => AS_IS.to_owned(),
        _ => "baseline".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_split_at_blanks_and_quotes_hold_them_together() {
        let split = |text| words(text).unwrap();
        assert_eq!(split("--host a:9000  --prefix 'x y/'"), ["--host", "a:9000", "--prefix", "x y/"]);
        assert_eq!(split("--prefix=\"it's\" ''"), ["--prefix=it's", ""]);
        assert_eq!(split(" "), [""; 0]);
        assert!(words("--prefix 'x").unwrap_err().to_string().contains("' is not closed"));
    }

    #[test]
    fn named_arms_need_a_name_a_meaning_and_a_partner() {
        let arms = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|&text| text.to_owned()).collect();
            let command = |text: &str| Ok((Vec::new(), Means { command: Some(text.to_owned()), ..Means::default() }));
            named(&given, "--arm", command).map(|lineup| lineup.arms)
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
