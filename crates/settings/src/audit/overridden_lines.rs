//! Lines of files of sysctls that a later file outdoes: somebody wrote them, and they have no effect.

use linerate_record::audit::{AuditCheck, AuditFinding};
use linerate_record::finding::{Confidence, Severity};
use linerate_record::knob::{Configured, SettingId, Snapshot, Space, same_in};
use linerate_record::site::Site;

use super::finding;
use crate::knobs::facts;

pub(super) fn check(snapshot: &Snapshot, _site: &Site) -> Vec<AuditFinding> {
    let lines = &snapshot.configured;
    let is_last = |at: usize| lines.iter().skip(at + 1).all(|line| line.name != lines[at].name);
    let winners = lines.iter().enumerate().filter(|(at, line)| line.is_there && is_last(*at));
    winners.filter_map(|(at, winner)| outdone(snapshot, winner, &lines[..at])).collect()
}

/// What a line outdoes of those before it. That files of this machine outdo those of its distribution is as it should
/// be. What the kernel has goes before what the files would do: not everything reads etc/sysctl.conf, and values are
/// set after the boot.
fn outdone(snapshot: &Snapshot, winner: &Configured, before: &[Configured]) -> Option<AuditFinding> {
    let is_own = |line: &&Configured| !line.file.starts_with("usr/lib/");
    let is_same = |one: &str, other: &str| same_in(&winner.name, &as_read(one), &as_read(other));
    let is_other = |line: &&Configured| line.name == winner.name && !is_same(&line.value, &winner.value);
    let place = SettingId { knob: winner.name.clone(), device: None, space: Space::Host };
    let running = facts::text(snapshot, &place);
    let has_effect = |line: &&Configured| running.is_some_and(|running| is_same(&line.value, running));
    if before.iter().filter(is_other).any(|line| has_effect(&line)) {
        return None;
    }
    let losers: Vec<&Configured> = before.iter().filter(is_other).filter(is_own).collect();
    let first = losers.first()?;
    let lost: Vec<String> = losers.iter().map(|line| format!("{} in {}", line.value, line.file)).collect();
    Some(finding(
        AuditCheck::Contradiction,
        Severity::Warning,
        Confidence::Likely,
        format!("{} in {} has no effect: {} sets it later", winner.name, first.file, winner.file),
        format!("{} in {} overrides {}", winner.value, winner.file, lost.join(", ")),
        "keep one of them: files are applied in the order of their names, whatever their folders".to_owned(),
    ))
}

/// A value as the kernel reads it: of numbers what follows is left, as a comment is, and bases and signs are those of C
/// (`kernel/sysctl.c`, `proc_get_long`).
fn as_read(value: &str) -> String {
    let numbers: Vec<i64> = value.split_whitespace().map_while(number).collect();
    let rest = value.split_whitespace().nth(numbers.len());
    if numbers.is_empty() || rest.is_some_and(|word| !word.starts_with('#')) {
        return value.to_owned();
    }
    numbers.iter().map(i64::to_string).collect::<Vec<_>>().join(" ")
}

fn number(word: &str) -> Option<i64> {
    let word = word.strip_prefix('+').unwrap_or(word);
    let hexadecimal = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    hexadecimal.map_or_else(|| word.parse().ok(), |digits| i64::from_str_radix(digits, 16).ok())
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
        for (unlinked, found) in [("10", 0), ("1", 1)] {
            snapshot.configured = vec![line("etc/sysctl.d/90-s3.conf", if found == 0 { "1" } else { "7" })];
            snapshot.configured.push(line("etc/sysctl.conf", unlinked));
            assert_eq!(check(&snapshot, &site()).len(), found, "{unlinked}");
        }
    }

    #[test]
    fn values_are_compared_as_the_kernel_reads_them() {
        for (one, other, is_same) in [
            ("10", "10 # keep programs in memory", true),
            ("0x10", "16", true),
            ("+10", "10", true),
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
