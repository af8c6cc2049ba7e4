//! Whether two texts of a setting mean the same: one rule for who audits, who changes and who looks afterwards.

use std::borrow::Cow;

use super::{Domain, Knob, Locator};

/// Bits of a group of a mask: the kernel prints 32 in 8 digits, and a comma after each group but the last
/// (`lib/vsprintf.c: bitmap_string`).
const GROUP_DIGITS: usize = 8;

/// What kind of value a setting has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Words or numbers, whatever stands between them.
    Words,
    /// Processors as bits, in hexadecimal groups, whatever zeros stand before them: one mask, or several, each by the
    /// name of its queue (`rx-0=3 rx-1=c`).
    Masks,
    /// Ports, in whatever order, one by one or as ranges.
    Ports,
}

/// Whether two texts of the setting at a locator mean the same.
#[must_use]
pub fn same(locator: &Locator, one: &str, other: &str) -> bool {
    match locator {
        Locator::Sysctl { name } => same_in(name, one, other),
        Locator::Sysfs { path } => same_in(path, one, other),
        _ => same_in("", one, other),
    }
}

/// The same by the name of a sysctl, or by a path below `sys`.
#[must_use]
pub fn same_in(file: &str, one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    match kind(file) {
        Kind::Masks => plain(one, mask) == plain(other, mask),
        Kind::Ports => ports(one).is_some_and(|ports_of_one| ports(other).is_some_and(|of| of == ports_of_one)),
        Kind::Words => plain(one, Cow::Borrowed) == plain(other, Cow::Borrowed),
    }
}

/// What is seen of a setting on a machine, where its value is to be another.
#[derive(Clone, Copy, Debug, Default)]
pub struct CurrentText<'s> {
    /// What it is now, where that can be read.
    pub now: Option<&'s str>,
    /// What it can be, as in [`super::Setting::choices`].
    pub choices: &'s [String],
    /// How many processors the machine can have, where it says so.
    pub processors: Option<u32>,
}

/// Refuses what cannot be a value of a knob, by its domain and by what is seen of it on a machine. What is there now
/// always can be.
///
/// # Errors
/// The reason, with what to give.
pub fn fits(knob: &Knob, seen: &CurrentText<'_>, new: &str) -> Result<(), String> {
    if seen.now.is_some_and(|now| same(&knob.locator, now, new)) {
        return Ok(());
    }
    let new = new.trim();
    match knob.takes {
        Domain::Words(words) => word(words, seen.choices, new),
        Domain::WordsOrNumber { words, least, most } => {
            if whole(new).is_some_and(|number| (least..=most).contains(&number)) {
                return Ok(());
            }
            word(words, seen.choices, new).map_err(|why| format!("{why}, or {least} to {most}"))
        }
        Domain::Number { least, most } => {
            // Of rings and queues of an interface the largest is told.
            let offered = seen.choices.first().and_then(|largest| largest.parse().ok());
            let most = offered.map_or(most, |offered: i128| offered.min(most));
            let one = |text: &str| within(new, text, 1, least, most);
            parts_by_queue(&knob.locator, new).map_or_else(|| one(new), |parts| parts.into_iter().try_for_each(one))
        }
        Domain::Rising { count, least, most } => {
            within(new, new, count, least, most)?;
            let numbers: Vec<i128> = new.split_whitespace().filter_map(whole).collect();
            let rises = numbers.is_sorted();
            if rises { Ok(()) } else { Err(format!("{new:?} does not rise: give the least first")) }
        }
        Domain::Processors => processors(seen, new),
        Domain::Ports if ports(new).is_none() => Err(format!("{new:?} is not a list of ports: give {}", knob.takes)),
        Domain::Text(_) if !seen.choices.is_empty() => word(&[], seen.choices, new),
        Domain::Text(what) if new.is_empty() => Err(format!("{new:?} cannot be: give {what}")),
        Domain::Ports | Domain::Text(_) => Ok(()),
    }
}

/// Refuses what is none of the words that a setting can be: those that the kernel lists, else those of its domain.
fn word(words: &[&str], choices: &[String], new: &str) -> Result<(), String> {
    if choices.iter().any(|choice| choice == new) || (choices.is_empty() && words.contains(&new)) {
        return Ok(());
    }
    let there = if choices.is_empty() { words.join(", ") } else { choices.join(", ") };
    Err(format!("{new:?} is not one of {there}"))
}

/// The parts of a value that says it for each queue of an interface: `rx-0=3 rx-1=c`. None where it says one for all.
fn parts_by_queue<'t>(locator: &Locator, text: &'t str) -> Option<Vec<&'t str>> {
    let is_of_queues = matches!(locator, Locator::Sysfs { path } if path.contains('*'));
    let parts = text.split_whitespace().map(|part| part.split_once('=').map(|(_, value)| value));
    parts.collect::<Option<Vec<&str>>>().filter(|parts| is_of_queues && !parts.is_empty())
}

/// A whole number as the kernel prints it. With zeros before it, it would read it as octal (`kernel/sysctl.c:
/// strtoul_lenient`).
fn whole(text: &str) -> Option<i128> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_plain = digits == "0" || !digits.starts_with(['0', '+']);
    text.parse().ok().filter(|_| is_plain)
}

/// Refuses another count of numbers, and numbers beyond the bounds.
fn within(new: &str, text: &str, count: usize, least: i128, most: i128) -> Result<(), String> {
    let parts: Vec<&str> = text.split_whitespace().collect();
    let numbers: Option<Vec<i128>> = parts.iter().map(|part| whole(part)).collect();
    let each = if count > 1 { " each" } else { "" };
    match numbers {
        Some(numbers) if numbers.len() == count => {
            let is_within = numbers.iter().all(|number| (least..=most).contains(number));
            if is_within { Ok(()) } else { Err(format!("{new:?} cannot be: give {least} to {most}{each}")) }
        }
        _ => {
            let what = if count == 1 { "a whole number".to_owned() } else { format!("{count} whole numbers") };
            Err(format!("{new:?} is not {what}: give {what}, {least} to {most}{each}"))
        }
    }
}

/// Refuses what is no mask, and one with processors that the machine cannot have: the kernel does not take those
/// (`lib/bitmap-str.c: bitmap_parse`).
fn processors(seen: &CurrentText<'_>, new: &str) -> Result<(), String> {
    if new.is_empty() || !new.split_whitespace().all(is_mask) {
        return Err(format!("{new:?} is not a mask of processors: give one such as ff"));
    }
    // A file shows a digit for each four that there can be.
    let shown = || {
        let (_, groups) = groups(seen.now?.split_whitespace().next()?);
        u32::try_from(groups.iter().map(|group| 4 * group.len()).sum::<usize>()).ok().filter(|bits| *bits > 0)
    };
    let Some(most) = seen.processors.or_else(shown) else { return Ok(()) };
    let widest = new.split_whitespace().map(bits).max().unwrap_or(0);
    if widest <= most {
        return Ok(());
    }
    Err(format!("{new:?} has processor {}, and this machine has 0 to {}: leave it out", widest - 1, most - 1))
}

/// How many processors a mask names or leaves out, from the first to the last that it names.
fn bits(word: &str) -> u32 {
    let digits = mask(word);
    let digits = digits.rsplit('=').next().unwrap_or("0");
    let first = digits.chars().next().and_then(|digit| digit.to_digit(16)).unwrap_or(0);
    4 * (digits.len() as u32 - 1) + (u32::BITS - first.leading_zeros())
}

fn kind(file: &str) -> Kind {
    match file.rsplit(['/', '.']).next() {
        Some("rps_cpus" | "xps_cpus" | "xps_rxqs") => Kind::Masks,
        Some("ip_local_reserved_ports") => Kind::Ports,
        _ => Kind::Words,
    }
}

fn plain<'t>(text: &'t str, word_as: impl Fn(&'t str) -> Cow<'t, str>) -> String {
    text.split_whitespace().map(word_as).collect::<Vec<_>>().join(" ")
}

/// The name of a mask's queue, where it has one, and its groups.
fn groups(word: &str) -> (&str, Vec<&str>) {
    let (name, bits) = word.split_once('=').unwrap_or(("", word));
    (name, bits.split(',').collect())
}

fn is_mask(word: &str) -> bool {
    let (_, groups) = groups(word);
    let is_group = |group: &&str| !group.is_empty() && group.chars().all(|digit| digit.is_ascii_hexdigit());
    groups.iter().all(is_group) && groups.iter().skip(1).all(|group| group.len() <= GROUP_DIGITS)
}

/// A mask without what may stand before or between its digits. What is no mask stays as it is.
fn mask(word: &str) -> Cow<'_, str> {
    if !is_mask(word) {
        return Cow::Borrowed(word);
    }
    let (name, groups) = groups(word);
    let digits: String = groups.iter().map(|group| format!("{group:0>GROUP_DIGITS$}")).collect();
    let digits = digits.trim_start_matches('0').to_ascii_lowercase();
    Cow::Owned(format!("{name}={}", if digits.is_empty() { "0" } else { &digits }))
}

/// How the kernel shows a mask that was written to a file which shows `now`: in groups for all processors that it may
/// have. `None` where the file shows no groups, or where the mask has bits that they do not hold.
#[must_use]
pub fn as_grouped(now: &str, new: &str) -> Option<String> {
    let now = now.trim();
    if !now.contains(',') || !is_mask(now) || !is_mask(new) {
        return None;
    }
    let digits = mask(new);
    let digits = digits.trim_start_matches('=');
    let places = now.chars().filter(|digit| *digit != ',').count();
    let padded = format!("{digits:0>places$}");
    let mut left = padded.chars();
    let shown = now.chars().map(|digit| if digit == ',' { Some(',') } else { left.next() });
    shown.collect::<Option<String>>().filter(|_| padded.len() == places)
}

/// The ports of a list such as `22,80-90`, as ranges that neither meet nor overlap; none where it is no such list.
fn ports(text: &str) -> Option<Vec<(u16, u16)>> {
    let mut ranges = Vec::new();
    for part in text.split([',', ' ', '\t']).filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u16, u16) = (first.parse().ok()?, last.parse().ok()?);
        if first > last {
            return None;
        }
        ranges.push((first, last));
    }
    ranges.sort_unstable();
    let mut joined: Vec<(u16, u16)> = Vec::new();
    for (first, last) in ranges {
        match joined.last_mut() {
            Some(before) if u32::from(first) <= u32::from(before.1) + 1 => before.1 = before.1.max(last),
            _ => joined.push((first, last)),
        }
    }
    Some(joined)
}

#[cfg(test)]
mod tests {
    use super::super::domain::{INT_MAX, number};
    use super::super::{Layer, Scope, TakesEffect};
    use super::*;

    const RPS: Locator = Locator::Sysfs { path: "class/net/{nic}/queues/rx-*/rps_cpus" };
    const PORTS: Locator = Locator::Sysctl { name: "net.ipv4.ip_local_reserved_ports" };
    const RMEM: Locator = Locator::Sysctl { name: "net.ipv4.tcp_rmem" };

    /// What a kernel with 64 processors showed of masks that were written to it (`captures/boot.sh many-processors`).
    #[test]
    fn masks_are_grouped_as_a_kernel_with_64_processors_does() {
        let seen = include_str!("../../../../captures/many-processors-6.1.masks");
        let pairs: Vec<(&str, &str)> = seen.lines().filter_map(|line| line.split_once(' ')).collect();
        assert_eq!(pairs.len(), 8);
        for (written, shown) in pairs {
            assert_eq!(as_grouped("00000000,00000000", written).as_deref(), Some(shown), "{written}");
            assert!(same(&RPS, written, shown), "{written}");
        }
        assert_eq!(as_grouped("3,ffffffff", "1,0").as_deref(), Some("1,00000000"), "34 processors");
        for (now, new) in [("ff", "1"), ("0,00000000", "1,00000000,00000000"), ("0,00000000", "x"), ("1 2", "1")] {
            assert_eq!(as_grouped(now, new), None, "{now} {new}");
        }
    }

    #[test]
    fn texts_mean_the_same_by_the_kind_of_the_setting() {
        let cases = [
            (RMEM, "4096\t131072\t6291456", "4096 131072  6291456", true),
            (RMEM, "4096 131072 6291456", "4096 131072 4194304", false),
            (RMEM, "1 2", "12", false),
            (RMEM, "", "0", false),
            // The kernel reads it as octal.
            (RMEM, "010", "10", false),
            (Locator::Mtu, "1500", "1500 ", true),
            (RPS, "00000000,0000000f", "f", true),
            (RPS, "00000000,00000000", "0", true),
            (RPS, "00", "0", true),
            (RPS, "ffffffff,ffffffff", "ffffffffffffffff", true),
            (RPS, "3,00000000", "300000000", true),
            (RPS, "3,0", "3,00000000", true),
            (RPS, "3,0", "30", false),
            (RPS, "0F", "f", true),
            (RPS, "00000001,00000000", "1", false),
            (RPS, "rx-0=00000000,00000003 rx-1=0", "rx-0=3 rx-1=00000000,00000000", true),
            (RPS, "rx-0=3 rx-1=0", "rx-0=0 rx-1=3", false),
            (RPS, "", "0", false),
            (RPS, "none", "0", false),
            (PORTS, "12,34", "1,234", false),
            (PORTS, "1234", "12,34", false),
            (PORTS, "9000,9001,80", "80,9000-9001", true),
            (PORTS, "1-3,2-5", "1-5", true),
            (PORTS, "65535,0", "0,65535", true),
            (PORTS, "", "0", false),
            (PORTS, "", " ", true),
            (PORTS, "5-3", "3-5", false),
            (PORTS, "99999", "34463", false),
            (Locator::Sysctl { name: "net.core.default_qdisc" }, "a,b", "ab", false),
        ];
        for (locator, one, other, expected) in cases {
            assert_eq!(same(&locator, one, other), expected, "{locator:?}: {one:?} {other:?}");
            assert_eq!(same(&locator, other, one), expected, "{locator:?}: {other:?} {one:?}");
        }
        assert!(same_in("class/net/eth0/queues/tx-3/xps_cpus", "00000000,00000001", "1"));
        assert!(same_in("net/ipv4/ip_local_reserved_ports", "1,2", "1-2"));
    }

    const SWAPPINESS: Domain = number(0, 200);
    const BUFFERS: Domain = Domain::Rising { count: 3, least: 1, most: INT_MAX };
    const SCHEDULER: Domain = Domain::Words(&["none", "mq-deadline", "bfq"]);

    /// What is said of a value; nothing where it fits.
    fn refusal(locator: Locator, takes: Domain, seen: &CurrentText<'_>, new: &str) -> String {
        let knob = Knob { locator, takes, ..KNOB };
        fits(&knob, seen, new).err().unwrap_or_default()
    }

    const KNOB: Knob = Knob {
        id: "x",
        layer: Layer::Vm,
        locator: Locator::Mtu,
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        takes: SWAPPINESS,
        default: "",
        summary: "",
        why: "",
        relief: crate::knob::RelievedResource::Nothing,
        relieves: "",
        risk: "",
        sources: &[],
        since: None,
        until: None,
        also_called: &[],
        owned_by: None,
    };

    #[test]
    fn a_value_outside_of_the_domain_is_quoted_with_what_to_give() {
        let words_or_number = Domain::WordsOrNumber { words: &["absent"], least: 2, most: 8 };
        for (takes, new, why) in [
            (SWAPPINESS, "10", ""),
            (SWAPPINESS, " 200 ", ""),
            (SWAPPINESS, "500", "\"500\" cannot be: give 0 to 200"),
            (SWAPPINESS, " -1 ", "\"-1\" cannot be: give 0 to 200"),
            (SWAPPINESS, "99999999999999999999999999999999999999999", "not a whole number"),
            (SWAPPINESS, "banana", "\"banana\" is not a whole number: give a whole number, 0 to 200"),
            (SWAPPINESS, "1 2", "not a whole number"),
            (SWAPPINESS, "", "not a whole number"),
            (SWAPPINESS, "010", "not a whole number"),
            (SWAPPINESS, "+1", "not a whole number"),
            (SWAPPINESS, "rx-0=5", "not a whole number"),
            (number(-31, 31), "-1", ""),
            (BUFFERS, "4096 131072 33554432", ""),
            (BUFFERS, "4096\t4096 4096", ""),
            (BUFFERS, "6291456 131072 4096", "\"6291456 131072 4096\" does not rise: give the least first"),
            (BUFFERS, "0 131072 6291456", "\"0 131072 6291456\" cannot be: give 1 to 2147483647 each"),
            (BUFFERS, "33554432", "\"33554432\" is not 3 whole numbers: give 3 whole numbers, 1 to 2147483647 each"),
            (SCHEDULER, "bfq", ""),
            (SCHEDULER, "BFQ", "\"BFQ\" is not one of none, mq-deadline, bfq"),
            (SCHEDULER, "", "\"\" is not one of"),
            (words_or_number, "8", ""),
            (words_or_number, "absent", ""),
            (words_or_number, "9", "\"9\" is not one of absent, or 2 to 8"),
            (Domain::Ports, "9000,30000-30100", ""),
            (Domain::Ports, "", ""),
            (Domain::Ports, "http", "is not a list of ports"),
            (Domain::Text("a version"), "6.12", ""),
            (Domain::Text("a version"), " ", "\"\" cannot be: give a version"),
            (Domain::Processors, "ffffffff,00000003", ""),
            (Domain::Processors, "all", "\"all\" is not a mask of processors: give one such as ff"),
            (Domain::Processors, "", "not a mask of processors"),
            (Domain::Processors, " ", "not a mask of processors"),
        ] {
            let reported = refusal(Locator::Mtu, takes, &CurrentText::default(), new);
            assert!(reported.contains(why) && reported.is_empty() == why.is_empty(), "{takes}: {new:?}: {reported}");
        }
    }

    #[test]
    fn a_machine_narrows_what_a_setting_takes_and_what_is_there_always_fits() {
        let flows = Locator::Sysfs { path: "class/net/{nic}/queues/rx-*/rps_flow_cnt" };
        let offered = ["none".to_owned(), "adios".to_owned()];
        let largest = ["511".to_owned()];
        let seen = |now, choices, processors| CurrentText { now: Some(now), choices, processors };
        for (locator, takes, seen, new, why) in [
            (Locator::Mtu, SCHEDULER, seen("none", &offered[..], None), "adios", ""),
            (Locator::Mtu, SCHEDULER, seen("none", &offered, None), "bfq", "\"bfq\" is not one of none, adios"),
            (Locator::Mtu, SCHEDULER, seen("made-elsewhere", &[], None), "made-elsewhere", ""),
            (Locator::Mtu, SWAPPINESS, seen("500", &[], None), "500", ""),
            (Locator::Mtu, number(1, INT_MAX), seen("256", &largest, None), "512", "\"512\" cannot be: give 1 to 511"),
            (flows, SWAPPINESS, seen("0", &[], None), "rx-0=1 rx-1=200", ""),
            (flows, SWAPPINESS, seen("0", &[], None), "rx-0=1 rx-1=201", "\"rx-0=1 rx-1=201\" cannot be"),
            (RPS, Domain::Processors, seen("0", &[], Some(2)), "3", ""),
            (RPS, Domain::Processors, seen("3", &[], Some(2)), "0", ""),
            (
                RPS,
                Domain::Processors,
                seen("0", &[], Some(2)),
                "4",
                "\"4\" has processor 2, and this machine has 0 to 1",
            ),
            (RPS, Domain::Processors, seen("0", &[], Some(2)), "rx-0=1 rx-1=1,00000000", "has processor 32"),
            (RPS, Domain::Processors, seen("00000000,00000000", &[], None), "80000000,00000000", ""),
            (RPS, Domain::Processors, seen("00000000,00000000", &[], None), "1,00000000,00000000", "has processor 64"),
            (RPS, Domain::Processors, seen("rx-0=0 rx-1=3", &[], None), "10", "has processor 4"),
        ] {
            let reported = refusal(locator, takes, &seen, new);
            assert!(reported.contains(why) && reported.is_empty() == why.is_empty(), "{takes}: {new:?}: {reported}");
        }
    }
}
