//! What a difference may cost: the weight of the resource that it relieves × that of how sure it is.
//!
//! Weights order; they are no measurement. Links and drives come first, because every byte crosses them; then what
//! loses packets and connections outright; then what costs processor time; then what costs memory and latency. What
//! relieves nothing weighs nothing.

use linerate_record::finding::Confidence;
use linerate_record::knob::{Scope, Snapshot, Space};

/// By the first word of what a row relieves.
const WEIGHTS: [(&str, f64); 18] = [
    ("links", 1.0),
    ("drives", 1.0),
    ("receiving", 0.8),
    ("accepting", 0.7),
    ("connections", 0.7),
    ("ports", 0.6),
    ("the", 0.6),
    ("files", 0.6),
    ("processes", 0.6),
    ("sending", 0.5),
    ("processor", 0.5),
    ("memory", 0.4),
    ("latency", 0.3),
    ("sockets", 0.2),
    ("Kubernetes", 0.2),
    ("DNS", 0.2),
    ("resolving", 0.2),
    ("nothing", 0.0),
];

/// Of a word that is not in the table.
const OTHERS: f64 = 0.3;

/// The weight of what a row relieves.
pub(super) fn of_relief(relieves: &str) -> f64 {
    let word: &str = relieves.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    WEIGHTS.iter().find(|(own, _)| *own == word).map_or(OTHERS, |(_, weight)| *weight)
}

/// The weight of a confidence.
pub(super) const fn of_confidence(confidence: Confidence) -> f64 {
    match confidence {
        Confidence::Certain => 1.0,
        Confidence::Likely => 0.6,
        Confidence::Possible => 0.3,
    }
}

/// How sure it is that a difference matters: certain where nothing stands between the setting and what it acts on (a
/// device, a mount, the engine's own process or namespace); possible where a source merely has another value, or where
/// every engine on the machine has a network namespace of its own, so that the host's value acts on none; likely
/// otherwise.
pub(super) fn confidence(snapshot: &Snapshot, scope: Scope, space: &Space, is_advised: bool) -> Confidence {
    if !is_advised {
        return Confidence::Possible;
    }
    let elsewhere = !snapshot.engines.is_empty() && snapshot.engines.iter().all(|engine| engine.own_network);
    match (scope, space) {
        (Scope::Device | Scope::Mount | Scope::Process, _) | (_, Space::Pid(_)) => Confidence::Certain,
        (Scope::NetworkNamespace, Space::Host) if elsewhere => Confidence::Possible,
        _ => Confidence::Likely,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::KNOBS;

    #[test]
    fn every_row_relieves_something_that_has_a_weight() {
        for row in KNOBS {
            let word = row.knob.relieves.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
            assert!(WEIGHTS.iter().any(|(own, _)| *own == word), "{}: {:?}", row.knob.id, row.knob.relieves);
        }
    }

    #[test]
    fn links_go_before_memory_and_the_sure_before_the_unsure() {
        assert!(of_relief("links: one member full") > of_relief("memory: send buffers"));
        assert!(of_relief("nothing") < 1e-9);
        let weights = [Confidence::Certain, Confidence::Likely, Confidence::Possible].map(of_confidence);
        assert!(weights[0] > weights[1] && weights[1] > weights[2]);
    }
}
