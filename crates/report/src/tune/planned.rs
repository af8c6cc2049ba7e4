//! Changes as they are planned: whole, or those that weigh most on one screen.

use std::fmt::Write as _;

use linerate_record::knob::{Change, ChangeSet, SettingId};
use linerate_record::lines::{folded, listed, wrapped};

use super::counted;
use crate::colour::Colour;
use crate::line_budget::{fitting, within};
use crate::terminal::TextStyle;

/// Lines of a screen, and of each change on it.
const LINES: usize = 25;
const EACH: usize = 2;

/// Lines of the verdict.
const VERDICT: usize = 3;

/// Devices that are named where several have the same change.
const NAMED: usize = 3;

/// Interfaces whose MTU moves with a change: their names, what it is and what it will be.
pub type Followers = Vec<(String, u32, u32)>;

/// Changes, and what differs and is left alone.
#[derive(Clone, Copy, Debug)]
pub struct PlannedChanges<'c> {
    pub set: &'c ChangeSet,
    /// What moves with each change.
    pub followers: &'c [Followers],
    /// How much each change weighs, from 0 to 1.
    pub weights: &'c [f64],
    /// Settings that are left alone, with the reason.
    pub left_out: &'c [(SettingId, String)],
}

/// Changes as they are planned, and `end` behind them: all of them with reasons and risks. On a terminal, which has
/// `columns`, those that weigh most and the number of the others where all are more than a screen, unless `all` of
/// them are wanted.
#[must_use]
pub fn planned(changes: PlannedChanges<'_>, end: &str, all: bool, columns: Option<usize>) -> String {
    let whole = whole(changes, columns) + end;
    match columns {
        Some(width) if !all && count(&whole) > LINES => first_screen(changes, end, width),
        _ => whole,
    }
}

fn count(text: &str) -> usize {
    text.lines().count()
}

fn left_alone(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 setting differs and is not changed by linerate".to_owned()),
        n => Some(format!("{n} settings differ and are not changed by linerate")),
    }
}

fn whole(changes: PlannedChanges<'_>, columns: Option<usize>) -> String {
    let line = |lead: &str, text: &str, indent: usize| {
        let text = columns.map_or_else(|| text.to_owned(), |columns| wrapped(text, columns, indent));
        format!("{lead:<indent$}{text}\n")
    };
    let mut text = format!("{} for {}\n", counted(changes.set.changes.len(), "change"), changes.set.profile);
    for (n, change) in changes.set.changes.iter().enumerate() {
        let (place, prior, new) = (&change.place, &change.prior, &change.new);
        let head = format!("  {place}: {prior:?} → {new:?} ({}, {})\n", change.scope, change.takes_effect);
        text.push_str(&columns.map_or_else(|| head.clone(), |columns| folded(&head, columns)));
        for (name, own, then) in changes.followers.get(n).into_iter().flatten() {
            let _ = writeln!(text, "      changes with it: the MTU of {name}, {own} → {then}");
        }
        text.push_str(&line("      why", &change.why, 12));
        text.push_str(&line("      risk", &change.risk, 12));
    }
    left_alone(changes.left_out.len()).into_iter().for_each(|title| text.push_str(&format!("{title}\n")));
    for (place, why) in changes.left_out {
        let lines = line("", &format!("{place}: {why}"), 6);
        text.push_str(&format!("  {}", lines.trim_start()));
    }
    text
}

/// The same change of one device or of several.
struct AlikeChanges<'c> {
    first: &'c Change,
    devices: Vec<&'c str>,
    /// Interfaces whose MTU moves with them.
    followers: usize,
    weight: f64,
}

impl AlikeChanges<'_> {
    fn sentence(&self) -> String {
        let Change { place, prior, new, why, .. } = self.first;
        let device = (!self.devices.is_empty()).then(|| listed(&self.devices, NAMED));
        let place = SettingId { device, ..place.clone() };
        let with = match self.followers {
            0 => String::new(),
            n => format!(" (with it the MTU of {})", counted(n, "interface")),
        };
        format!("{place}: {prior:?} → {new:?}{with}: {why}")
    }
}

/// Whether changes are the same but for their devices.
fn is_alike(one: &Change, other: &Change) -> bool {
    let (place, others) = (&one.place, &other.place);
    (&place.knob, &place.space, &one.prior, &one.new) == (&others.knob, &others.space, &other.prior, &other.new)
}

/// Rows of changes, the weightiest first.
fn alike(changes: PlannedChanges<'_>) -> Vec<AlikeChanges<'_>> {
    let mut rows: Vec<AlikeChanges<'_>> = Vec::new();
    for (n, change) in changes.set.changes.iter().enumerate() {
        let followers = changes.followers.get(n).map_or(0, Vec::len);
        let device = change.place.device.as_deref();
        match rows.iter_mut().find(|row| device.is_some() && is_alike(row.first, change)) {
            Some(row) => {
                row.devices.extend(device);
                row.followers += followers;
            }
            None => rows.push(AlikeChanges {
                first: change,
                devices: device.into_iter().collect(),
                followers,
                weight: changes.weights.get(n).copied().unwrap_or(0.0),
            }),
        }
    }
    rows.sort_by(|one, other| other.weight.total_cmp(&one.weight));
    rows
}

fn first_screen(changes: PlannedChanges<'_>, end: &str, width: usize) -> String {
    let look = TextStyle { color: false, width, whole: false };
    let within = |lead: &str, sentence: &str, lines| within(lines, Colour::Dim, lead, 3, sentence, look);
    let left = left_alone(changes.left_out.len()).map(|left| format!("; {left}")).unwrap_or_default();
    let verdict = format!(
        "{} for {}{left}; those that weigh most come first, and --all has each with its reason and risk",
        counted(changes.set.changes.len(), "change"),
        changes.set.profile
    );
    let mut text = within(" ▸", &verdict, VERDICT);
    let alike = alike(changes);
    let rows: Vec<String> = alike.iter().map(|row| within(" ·", &row.sentence(), EACH)).collect();
    let shown = fitting(rows.iter(), LINES.saturating_sub(count(end) + count(&text)));
    text.push_str(&rows[..shown].concat());
    let unshown: usize = alike[shown..].iter().map(|row| row.devices.len().max(1)).sum();
    if unshown > 0 {
        text.push_str(&within(" …", &format!("and {unshown} more: --all"), 1));
    }
    text + end
}

#[cfg(test)]
mod tests {
    use linerate_record::knob::{Scope, Space, TakesEffect};

    use super::*;

    fn place(knob: &str, device: Option<&str>) -> SettingId {
        SettingId { knob: knob.to_owned(), device: device.map(str::to_owned), space: Space::Host }
    }

    fn change(knob: &str, device: Option<&str>) -> Change {
        Change {
            place: place(knob, device),
            prior: "60".to_owned(),
            new: "1".to_owned(),
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            why: String::new(),
            risk: String::new(),
        }
    }

    fn set(changes: Vec<Change>) -> ChangeSet {
        let (machine, profile) = (String::new(), "values by hand".to_owned());
        ChangeSet { schema: 2, machine, profile, changes, spaces: Vec::new() }
    }

    fn text(set: &ChangeSet, left_out: &[(SettingId, String)], columns: Option<usize>) -> String {
        planned(PlannedChanges { set, followers: &[], weights: &[], left_out }, "", true, columns)
    }

    #[test]
    fn one_change_is_in_the_singular_and_sentences_fit_their_columns() {
        let left_out = [(place("b", None), "no".to_owned())];
        let one = text(&set(vec![change("a", None)]), &left_out, None);
        assert!(one.starts_with("1 change for values by hand\n"), "{one}");
        assert!(one.contains("1 setting differs and is not changed by linerate\n  b: no\n"), "{one}");
        assert!(text(&set(Vec::new()), &[], None).starts_with("0 changes for values by hand\n"));
        let mut long = change("a", None);
        (long.why, long.risk) = ("a reason of many words ".repeat(9), "a risk of many words ".repeat(9));
        let left_out = [(place("b", None), "left alone for many reasons ".repeat(9))];
        let narrow = text(&set(vec![long]), &left_out, Some(80));
        assert!(narrow.lines().count() > 8 && narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    }

    #[test]
    fn a_screen_has_the_verdict_and_what_weighs_most_and_says_how_many_others_there_are() {
        let mut changes: Vec<Change> = (0..40)
            .map(|n| Change { why: "a reason of many words ".repeat(9), ..change(&format!("knob{n}"), None) })
            .collect();
        changes.extend((0..8).map(|n| change("nic.rps_cpus", Some(&format!("eth{n}")))));
        let weights: Vec<f64> = (0..48).map(|n| if n >= 40 { 0.8 } else { f64::from(n) / 100.0 }).collect();
        let mut followers: Vec<Followers> = vec![Vec::new(); 48];
        followers[47] = vec![("bond0".to_owned(), 1_500, 9_000)];
        let (set, left_out) = (set(changes), [(place("b", None), "no".to_owned())]);
        let of = PlannedChanges { set: &set, followers: &followers, weights: &weights, left_out: &left_out };
        let brief = planned(of, "nothing is written\n", false, Some(80));
        let lines: Vec<&str> = brief.lines().collect();
        assert!(lines.len() <= LINES && lines.len() > LINES - 3, "{}: {brief}", lines.len());
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{brief}");
        assert!(lines[0].starts_with(" ▸ 48 changes for values by hand; 1 setting differs"), "{brief}");
        let same = "nic.rps_cpus of eth0, eth1, eth2 and 5 more: \"60\" → \"1\" (with it the MTU of 1 interface): ";
        let at = |part: &str| brief.split_whitespace().collect::<Vec<_>>().join(" ").find(part.trim());
        assert!(at(same) < at("knob39: ") && at("knob39: ") < at("knob38: ") && at(same).is_some(), "{brief}");
        let shown = brief.matches(" · knob").count();
        assert!(shown > 5 && brief.ends_with(&format!(" … and {} more: --all\nnothing is written\n", 40 - shown)));
        // Whole where all is wanted, where it is no terminal, and where all fits one.
        for (all, columns) in [(true, Some(80)), (false, None)] {
            let all = planned(of, "nothing is written\n", all, columns);
            assert!(all.contains("knob0: ") && all.matches("      risk").count() == 48, "{all}");
        }
        let few = ChangeSet { changes: set.changes[40..43].to_vec(), ..set.clone() };
        let few = planned(PlannedChanges { set: &few, ..of }, "", false, Some(80));
        assert!(few.starts_with("3 changes for ") && few.contains("      risk"), "{few}");
    }
}
