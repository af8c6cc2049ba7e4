//! Lines of files of sysctls that a later file outdoes: somebody wrote them, and they have no effect.

use linerate_record::audit::{AuditCheck, AuditFinding};
use linerate_record::finding::{Confidence, Severity};
use linerate_record::knob::{Configured, Snapshot, same_in};
use linerate_record::site::Site;

use super::finding;

pub(super) fn check(snapshot: &Snapshot, _site: &Site) -> Vec<AuditFinding> {
    let lines = &snapshot.configured;
    let is_last = |at: usize| lines.iter().skip(at + 1).all(|line| line.name != lines[at].name);
    let winners = lines.iter().enumerate().filter(|(at, line)| line.is_there && is_last(*at));
    winners.filter_map(|(at, winner)| outdone(winner, &lines[..at])).collect()
}

/// What a line outdoes of those before it. That files of this machine outdo those of its distribution is as it should
/// be.
fn outdone(winner: &Configured, before: &[Configured]) -> Option<AuditFinding> {
    let is_own = |line: &&Configured| !line.file.starts_with("usr/lib/");
    let is_other = |line: &&Configured| line.name == winner.name && !same_in(&line.name, &line.value, &winner.value);
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

#[cfg(test)]
mod tests {
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
