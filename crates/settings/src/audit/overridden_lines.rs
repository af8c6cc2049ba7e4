//! Lines of files of sysctls that a later file outdoes: somebody wrote them, and they have no effect.

use linerate_record::audit::{AuditCheck, AuditFinding};
use linerate_record::finding::{Confidence, Severity};
use linerate_record::knob::{Configured, SettingId, Snapshot, Space, same_in};
use linerate_record::site::Site;

use super::finding;
use crate::knobs::facts;

/// What `sysctl --system` reads after all other files, and systemd-sysctl, which sets sysctls at boot, does not. Where
/// a link brings it in among the others, its lines are listed by the link.
const UNLINKED: &str = "etc/sysctl.conf";

pub(super) fn check(snapshot: &Snapshot, _site: &Site) -> Vec<AuditFinding> {
    let is_read = |line: &&Configured| line.file != UNLINKED || has_effect(snapshot, line);
    let lines: Vec<&Configured> = snapshot.configured.iter().filter(is_read).collect();
    let is_last = |at: usize| lines.iter().skip(at + 1).all(|line| line.name != lines[at].name);
    let winners = lines.iter().enumerate().filter(|(at, line)| line.is_there && is_last(*at));
    winners.filter_map(|(at, winner)| outdone(snapshot, winner, &lines[..at])).collect()
}

/// Whether the kernel has the value of a line.
fn has_effect(snapshot: &Snapshot, line: &Configured) -> bool {
    let place = SettingId { knob: line.name.clone(), device: None, space: Space::Host };
    facts::text(snapshot, &place).is_some_and(|running| is_same(&line.name, &line.value, running))
}

/// Whether two values of a sysctl are one to the kernel.
fn is_same(name: &str, one: &str, other: &str) -> bool {
    same_in(name, &as_read(one), &as_read(other))
}

/// What a line outdoes of those before it. That files of this machine outdo those of its distribution is as it should
/// be. What the kernel has goes before what the files would do: values are set after the boot.
fn outdone(snapshot: &Snapshot, winner: &Configured, before: &[&Configured]) -> Option<AuditFinding> {
    let is_own = |line: &&Configured| !line.file.starts_with("usr/lib/");
    let is_other = |line: &&Configured| line.name == winner.name && !is_same(&winner.name, &line.value, &winner.value);
    let others = || before.iter().copied().filter(is_other);
    if others().any(|line| has_effect(snapshot, line)) {
        return None;
    }
    let losers: Vec<&Configured> = others().filter(is_own).collect();
    let first = losers.first()?;
    let lost: Vec<String> = losers.iter().map(|line| format!("{} in {}", line.value, line.file)).collect();
    Some(finding(
        AuditCheck::Contradiction,
        Severity::Warning,
        Confidence::Likely,
        format!("{} in {} has no effect: {} sets it later", winner.name, first.file, winner.file),
        format!("{} in {} overrides {}", winner.value, winner.file, lost.join(", ")),
        if winner.file == UNLINKED {
            "keep one of them: `sysctl --system` reads etc/sysctl.conf after all other files"
        } else {
            "keep one of them: files are applied in the order of their names, whatever their folders"
        },
    ))
}

/// A value as the kernel reads it: of numbers what follows is left, as a comment is, and bases are those of C. A number
/// with a plus, or with 8 or 9 behind a 0, it refuses (`kernel/sysctl.c`, `proc_get_long`).
fn as_read(value: &str) -> String {
    let numbers: Vec<i64> = value.split_whitespace().map_while(number).collect();
    let rest = value.split_whitespace().nth(numbers.len());
    if numbers.is_empty() || rest.is_some_and(|word| !word.starts_with('#')) {
        return value.to_owned();
    }
    numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(" ")
}

fn number(word: &str) -> Option<i64> {
    let (sign, digits) = word.strip_prefix('-').map_or((1, word), |digits| (-1, digits));
    let hexadecimal = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let octal = || digits.strip_prefix('0').filter(|rest| !rest.is_empty());
    let (base, digits) = match (hexadecimal, octal()) {
        (Some(digits), _) => (16, digits),
        (None, Some(digits)) => (8, digits),
        (None, None) => (10, digits),
    };
    let is_plain = digits.chars().all(|digit| digit.is_digit(base));
    is_plain.then(|| i64::from_str_radix(digits, base).ok()).flatten().map(|number| sign * number)
}

#[cfg(test)]
mod tests {
    use linerate_record::knob::Setting;

    use super::*;
    use crate::knobs::fixtures::{machine, site};

    fn evidence_of(lines: &[(&str, &str)]) -> Vec<String> {
        let mut snapshot = machine();
        let line = |(file, value): &(&str, &str)| Configured {
            file: (*file).to_owned(),
            name: "vm.swappiness".to_owned(),
            value: (*value).to_owned(),
            is_there: true,
        };
        snapshot.configured = lines.iter().map(line).collect();
        check(&snapshot, &site()).into_iter().map(|finding| finding.evidence).collect()
    }

    #[test]
    fn a_line_whose_value_the_kernel_has_is_not_said_to_have_no_effect() {
        let mut snapshot = machine();
        let place = SettingId { knob: "vm.swappiness".to_owned(), device: None, space: Space::Host };
        snapshot.settings.retain(|setting| setting.place != place);
        snapshot.settings.push(Setting { place, value: Some("1".to_owned()), choices: Vec::new(), missing: None });
        let line = |file: &str, value: &str| Configured {
            file: file.to_owned(),
            name: "vm.swappiness".to_owned(),
            value: value.to_owned(),
            is_there: true,
        };
        for (running, own, unlinked, found) in
            [("1", "1", "10", 0), ("1", "7", "1", 1), ("60", "1", "10", 0), ("8", "1", "010", 1)]
        {
            snapshot.settings.last_mut().unwrap().value = Some(running.to_owned());
            snapshot.configured = vec![line("etc/sysctl.d/90-s3.conf", own), line("etc/sysctl.conf", unlinked)];
            let found_now = check(&snapshot, &site());
            assert_eq!(found_now.len(), found, "{running} {own} {unlinked}");
            assert!(found_now.iter().all(|one| !one.remedy.contains("order of their names")), "{found_now:?}");
        }
    }

    #[test]
    fn values_are_compared_as_the_kernel_reads_them() {
        for (one, other, is_same) in [
            ("10", "10 # keep programs in memory", true),
            ("0x10", "16", true),
            ("+10", "10", false),
            ("010", "8", true),
            ("010", "10", false),
            ("-010", "-8", true),
            ("00", "0", true),
            ("08", "8", false),
            ("4096  87380 16777216", "4096 87380\t16777216 # three", true),
            ("10", "11 # ten", false),
            ("cubic", "cubic # text has no comment", false),
            ("10 kB", "10", false),
        ] {
            assert_eq!(as_read(one) == as_read(other), is_same, "{one} {other}");
        }
    }

    #[test]
    fn the_file_that_wins_is_told_and_those_that_lose() {
        let (early, late, shipped) =
            ("etc/sysctl.d/10-own.conf", "etc/sysctl.d/90-s3.conf", "usr/lib/sysctl.d/50-x.conf");
        assert_eq!(evidence_of(&[(early, "1"), (late, "10")]), [format!("10 in {late} overrides 1 in {early}")]);
        assert_eq!(evidence_of(&[(early, "1"), (shipped, "60")]), [format!("60 in {shipped} overrides 1 in {early}")]);
        assert_eq!(evidence_of(&[(early, "10"), (late, "10")]), [""; 0], "they agree");
        assert_eq!(evidence_of(&[(shipped, "60"), (late, "10")]), [""; 0], "what is shipped may be outdone");
        assert_eq!(evidence_of(&[(late, "10")]), [""; 0]);
    }
}
