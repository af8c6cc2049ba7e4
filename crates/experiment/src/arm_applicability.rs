//! Whether an arm can be tested: by how far its changes reach, which whoever puts them in place has seen.

use linerate_record::experiment::NotTested;
use linerate_record::knob::{Change, SettingId, TakesEffect};

/// How far a change that is in place reaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArmReach {
    /// The server, or the machine that all are on.
    Server,
    Client,
    Nowhere(String),
}

/// What is said of an arm before it is measured.
#[derive(Debug, Default, PartialEq)]
pub struct ReachVerdict {
    /// Why it cannot be tested; absent where it can.
    pub not_tested: Option<NotTested>,
    /// What must be said of it where it can.
    pub notes: Vec<String>,
}

/// No arm but the baseline can be tested.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("nothing is tested: {}", whys(.0))]
pub struct NoTestableArm(pub Vec<NotTested>);

fn whys(left_out: &[NotTested]) -> String {
    let whys: Vec<String> = left_out.iter().map(|left_out| format!("{}: {}", left_out.arm, left_out.why)).collect();
    whys.join("; ")
}

/// Why a change acts on nobody, whoever it reaches.
#[must_use]
pub fn never_acts(change: &Change) -> Option<String> {
    let place = &change.place;
    match change.takes_effect {
        TakesEffect::Never => Some(format!("{place} does nothing on this kernel: see linerate knobs {}", place.knob)),
        TakesEffect::Reboot => Some(format!("{place} acts when the machine boots, which an experiment does not do")),
        _ => None,
    }
}

/// The first change that processes read when they start: it needs a restart.
pub fn read_at_start<'c>(changes: impl IntoIterator<Item = &'c Change>) -> Option<&'c Change> {
    changes.into_iter().find(|change| change.takes_effect == TakesEffect::Restart)
}

/// What must be said of settings that sockets take when they are made, where nothing restarts the target: bench makes
/// new ones for every cell, and a server's listen for longer.
pub fn of_sockets<'c>(changes: impl IntoIterator<Item = &'c Change>) -> Option<String> {
    let is_of_sockets =
        |change: &&Change| matches!(change.takes_effect, TakesEffect::NewSocket | TakesEffect::NewNamespace);
    let of_sockets = changes.into_iter().filter(is_of_sockets);
    let mut places: Vec<String> = of_sockets.map(|change| change.place.to_string()).collect();
    places.sort();
    places.dedup();
    let apply = if places.len() == 1 { "applies" } else { "apply" };
    (!places.is_empty()).then(|| {
        format!(
            "{} {apply} only to new sockets: the client's are new in each cell, but a server's listening sockets keep \
             their old values unless --restart restarts it",
            places.join(", ")
        )
    })
}

/// Judges an arm by the changes in which it differs from the baseline: where none of them reaches anybody, it would
/// measure nothing but itself.
#[must_use]
pub fn judge(
    arm: &str,
    baseline: &[(SettingId, ArmReach)],
    reached: &[(SettingId, ArmReach)],
    differ: &[SettingId],
) -> ReachVerdict {
    let reach_of =
        |place: &SettingId| reached.iter().chain(baseline).find(|(at, _)| at == place).map(|(_, reach)| reach);
    let mut verdict = ReachVerdict::default();
    let mut unreached = Vec::new();
    for place in differ {
        match reach_of(place) {
            Some(ArmReach::Nowhere(why)) => unreached.push(why.clone()),
            Some(ArmReach::Client) => verdict.notes.push(format!("{arm}: {place} acts on the client's machine alone")),
            Some(ArmReach::Server) | None => {}
        }
    }
    if !unreached.is_empty() && unreached.len() == differ.len() {
        unreached.dedup();
        let why = unreached.join("; ");
        return ReachVerdict { not_tested: Some(NotTested { arm: arm.to_owned(), why }), notes: Vec::new() };
    }
    verdict.notes.extend(unreached.into_iter().map(|why| format!("{arm}: {why}")));
    verdict
}

#[cfg(test)]
mod tests {
    use linerate_record::knob::{Scope, Space};

    use super::*;

    fn place(knob: &str) -> SettingId {
        SettingId { knob: knob.to_owned(), device: None, space: Space::Host }
    }

    #[test]
    fn an_arm_is_left_out_where_nothing_of_what_it_changes_reaches_anybody() {
        let nowhere = || ArmReach::Nowhere("it is elsewhere".to_owned());
        let (a, b) = (place("net.ipv4.tcp_rmem"), place("net.ipv4.tcp_wmem"));
        let left_out = judge("larger", &[], &[(a.clone(), nowhere()), (b.clone(), nowhere())], &[a.clone(), b.clone()]);
        let left_out = left_out.not_tested.unwrap();
        assert_eq!(left_out.why, "it is elsewhere");
        let both = NoTestableArm(vec![left_out, NotTested { arm: "other".to_owned(), why: "so is it".to_owned() }]);
        assert_eq!(both.to_string(), "nothing is tested: larger: it is elsewhere; other: so is it");
        let partly =
            judge("larger", &[], &[(a.clone(), nowhere()), (b.clone(), ArmReach::Server)], &[a.clone(), b.clone()]);
        assert_eq!((partly.not_tested, partly.notes), (None, vec!["larger: it is elsewhere".to_owned()]));
        let of_baseline = judge("as it is", &[(a.clone(), nowhere())], &[], std::slice::from_ref(&a));
        assert!(of_baseline.not_tested.is_some(), "what the baseline changes alone differs too");
        let by_client = judge("larger", &[], &[(a.clone(), ArmReach::Client)], &[a]);
        assert!(by_client.not_tested.is_none() && by_client.notes[0].contains("client's machine alone"));
    }

    #[test]
    fn when_a_change_acts_says_what_it_needs() {
        let change = |knob: &str, takes_effect| Change {
            place: place(knob),
            prior: "1".to_owned(),
            new: "2".to_owned(),
            scope: Scope::Host,
            takes_effect,
            why: String::new(),
            risk: String::new(),
        };
        let all = [
            change("a", TakesEffect::AtOnce),
            change("c", TakesEffect::NewSocket),
            change("b", TakesEffect::NewNamespace),
            change("d", TakesEffect::Restart),
            change("e", TakesEffect::Reboot),
            change("f", TakesEffect::Never),
        ];
        let never: Vec<bool> = all.iter().map(|change| never_acts(change).is_some()).collect();
        assert_eq!(never, [false, false, false, false, true, true]);
        assert_eq!(read_at_start(&all).map(|change| change.place.knob.as_str()), Some("d"));
        assert_eq!(read_at_start(&all[..3]), None);
        assert!(of_sockets(&all).is_some_and(|reported| reported.starts_with("b, c apply only to new sockets")));
        assert_eq!(of_sockets(&all[..1]), None);
    }
}
