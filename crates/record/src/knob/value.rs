//! Whether two texts of a setting mean the same: one rule for who audits, who changes and who looks afterwards.

use std::borrow::Cow;

use super::Locator;

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

/// Refuses what cannot be a value of the setting at a locator, by what it is now and what it can be: a word where there
/// are numbers, another count of them, none of its choices. What the kernel takes beyond that, only it knows.
///
/// # Errors
/// The reason, with what to give.
pub fn fits(locator: &Locator, now: &str, choices: &[String], new: &str) -> Result<(), String> {
    let file = match locator {
        Locator::Sysctl { name } => name,
        Locator::Sysfs { path } => path,
        _ => return Ok(()),
    };
    let new = new.trim();
    if !choices.is_empty() {
        let is_one = choices.iter().any(|choice| choice == new);
        return if is_one { Ok(()) } else { Err(format!("{new:?} is none of {}", choices.join(", "))) };
    }
    let is_each = |text: &str, is_part: fn(&str) -> bool| text.split_whitespace().all(is_part);
    match kind(file) {
        Kind::Masks if !is_each(new, is_mask) => Err(format!("{new:?} is no mask of processors: give one such as ff")),
        Kind::Ports if ports(new).is_none() => {
            Err(format!("{new:?} is no list of ports: give one such as 9000,30000-30100"))
        }
        Kind::Masks | Kind::Ports => Ok(()),
        Kind::Words => {
            let is_number = |word: &str| word.parse::<i128>().is_ok();
            let numbers = now.split_whitespace().count();
            if numbers == 0 || !is_each(now, is_number) {
                return Ok(());
            }
            if is_each(new, is_number) && new.split_whitespace().count() == numbers {
                return Ok(());
            }
            let what = if numbers == 1 { "a whole number".to_owned() } else { format!("{numbers} whole numbers") };
            Err(format!("{new:?} is not {what}: give {what}, as in {:?}", plain(now, Cow::Borrowed)))
        }
    }
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
    use super::*;

    const RPS: Locator = Locator::Sysfs { path: "class/net/{nic}/queues/rx-*/rps_cpus" };
    const PORTS: Locator = Locator::Sysctl { name: "net.ipv4.ip_local_reserved_ports" };
    const RMEM: Locator = Locator::Sysctl { name: "net.ipv4.tcp_rmem" };

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

    #[test]
    fn what_cannot_be_a_value_is_told_by_what_is_there() {
        let scheduler = Locator::Sysfs { path: "block/{disk}/queue/scheduler" };
        let choices = ["none".to_owned(), "mq-deadline".to_owned()];
        let swappiness = Locator::Sysctl { name: "vm.swappiness" };
        let qdisc = Locator::Sysctl { name: "net.core.default_qdisc" };
        for (locator, now, choices, new, why) in [
            (swappiness, "60", &[][..], "10", ""),
            (swappiness, "60", &[], " -1 ", ""),
            (swappiness, "60", &[], "banana", "\"banana\" is not a whole number"),
            (swappiness, "60", &[], "1 2", "not a whole number"),
            (swappiness, "60", &[], "", "not a whole number"),
            (RMEM, "4096\t131072\t6291456", &[], "4096 131072 33554432", ""),
            (RMEM, "4096\t131072\t6291456", &[], "33554432", "3 whole numbers, as in \"4096 131072 6291456\""),
            (qdisc, "pfifo_fast", &[], "fq", ""),
            (qdisc, "", &[], "fq", ""),
            (scheduler, "none", &choices, "mq-deadline", ""),
            (scheduler, "none", &choices, "bfq", "\"bfq\" is none of none, mq-deadline"),
            (RPS, "0", &[], "ffffffff,00000003", ""),
            (RPS, "0", &[], "rx-0=3 rx-1=c", ""),
            (RPS, "0", &[], "all", "no mask of processors"),
            (PORTS, "", &[], "9000,30000-30100", ""),
            (PORTS, "80", &[], "http", "no list of ports"),
            (Locator::Mtu, "1500", &[], "banana", ""),
        ] {
            let told = fits(&locator, now, choices, new).err().unwrap_or_default();
            assert!(told.contains(why) && told.is_empty() == why.is_empty(), "{now:?} {new:?}: {told}");
        }
    }
}
