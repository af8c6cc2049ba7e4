//! What a difference may cost: the weight of the resource that it relieves × that of how sure it is.
//!
//! Weights order; they are no measurement. Links and drives come first, because every byte crosses them; then what
//! loses packets and connections outright; then what costs processor time; then what costs memory and latency. What
//! relieves nothing weighs nothing.

use linerate_record::finding::Confidence;
use linerate_record::knob::{RelievedResource, Scope, Snapshot, Space};

/// The weight of what a row relieves, from 0 to 1.
#[must_use]
pub const fn relief_weight(relief: RelievedResource) -> f64 {
    match relief {
        RelievedResource::Links | RelievedResource::Drives => 1.0,
        RelievedResource::Receiving => 0.8,
        RelievedResource::Accepting | RelievedResource::Connections => 0.7,
        RelievedResource::Ports | RelievedResource::Engine | RelievedResource::Files | RelievedResource::Processes => {
            0.6
        }
        RelievedResource::Sending | RelievedResource::Processors => 0.5,
        RelievedResource::Memory => 0.4,
        RelievedResource::Latency => 0.3,
        RelievedResource::Sockets | RelievedResource::Kubernetes | RelievedResource::Dns => 0.2,
        RelievedResource::Nothing => 0.0,
    }
}

/// The weight of a confidence.
pub(super) const fn confidence_weight(confidence: Confidence) -> f64 {
    match confidence {
        Confidence::Certain => 1.0,
        Confidence::Likely => 0.6,
        Confidence::Possible => 0.3,
    }
}

/// How sure it is that a difference matters: certain where nothing stands between the setting and what it acts on (a
/// device, a mount, the engine's own process or namespace); possible where a source merely has another value, where
/// what it follows from is not to be believed, or where every engine on the machine has a network namespace of its own,
/// so that the host's value acts on none; likely otherwise.
pub(super) fn confidence(snapshot: &Snapshot, scope: Scope, space: &Space, is_sure: bool) -> Confidence {
    if !is_sure {
        return Confidence::Possible;
    }
    let reaches_no_engine = !snapshot.engines.is_empty() && snapshot.engines.iter().all(|engine| engine.own_network);
    match (scope, space) {
        (Scope::Device | Scope::Mount | Scope::Process, _) | (_, Space::Pid(_)) => Confidence::Certain,
        (Scope::NetworkNamespace, Space::Host) if reaches_no_engine => Confidence::Possible,
        _ => Confidence::Likely,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::KNOBS;

    #[test]
    fn what_relieves_nothing_says_so_first_and_nothing_else_does() {
        for row in KNOBS {
            let is_nothing = row.knob.relief == RelievedResource::Nothing;
            assert_eq!(is_nothing, row.knob.relieves.starts_with("nothing"), "{}", row.knob.id);
        }
    }

    #[test]
    fn links_go_before_memory_and_the_sure_before_the_unsure() {
        assert!(relief_weight(RelievedResource::Links) > relief_weight(RelievedResource::Memory));
        assert!(relief_weight(RelievedResource::Nothing) < 1e-9);
        let weights = [Confidence::Certain, Confidence::Likely, Confidence::Possible].map(confidence_weight);
        assert!(weights[0] > weights[1] && weights[1] > weights[2]);
    }
}
