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

/// A mask without what may stand before or between its digits. What is no mask stays as it is.
fn mask(word: &str) -> Cow<'_, str> {
    let (name, bits) = word.split_once('=').unwrap_or(("", word));
    let groups: Vec<&str> = bits.split(',').collect();
    let is_group = |group: &&str| !group.is_empty() && group.chars().all(|digit| digit.is_ascii_hexdigit());
    let is_mask = groups.iter().all(is_group) && groups.iter().skip(1).all(|group| group.len() <= GROUP_DIGITS);
    if !is_mask {
        return Cow::Borrowed(word);
    }
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
}
