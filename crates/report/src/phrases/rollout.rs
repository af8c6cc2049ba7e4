//! How nodes stand to a rollout, in words for people.

use linerate_record::rollout::NodeState;

use crate::colour::Colour;

/// A state of nodes, for people; those that somebody has to look at come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RolloutState {
    NotKnown,
    NotRestored,
    Partial,
    Pending,
    Confirmed,
    AsBefore,
}

pub(crate) const STATES: [RolloutState; 6] = [
    RolloutState::NotKnown,
    RolloutState::NotRestored,
    RolloutState::Partial,
    RolloutState::Pending,
    RolloutState::Confirmed,
    RolloutState::AsBefore,
];

impl RolloutState {
    pub(crate) const fn from_node_state(node_state: Option<NodeState>) -> RolloutState {
        match node_state {
            None => RolloutState::NotKnown,
            Some(NodeState::Left { .. }) => RolloutState::NotRestored,
            Some(NodeState::Pending { is_whole: false, .. }) => RolloutState::Partial,
            Some(NodeState::Pending { .. }) => RolloutState::Pending,
            Some(NodeState::Confirmed) => RolloutState::Confirmed,
            Some(NodeState::Untouched | NodeState::Restored | NodeState::Rebooted) => RolloutState::AsBefore,
        }
    }

    pub(crate) const fn name(self) -> &'static str {
        match self {
            RolloutState::NotKnown => "not known",
            RolloutState::NotRestored => "not restored",
            RolloutState::Partial => "partly changed",
            RolloutState::Pending => "pending",
            RolloutState::Confirmed => "confirmed",
            RolloutState::AsBefore => "as before",
        }
    }

    pub(crate) const fn ink(self) -> Colour {
        match self {
            RolloutState::NotKnown | RolloutState::NotRestored => Colour::Red,
            RolloutState::Partial | RolloutState::Pending => Colour::Yellow,
            RolloutState::Confirmed => Colour::Green,
            RolloutState::AsBefore => Colour::Dim,
        }
    }
}

/// How many nodes are in which state: `54 confirmed, 1 as before, 1 not known`.
pub(crate) fn counts(standings: impl Iterator<Item = Option<NodeState>>) -> String {
    let states: Vec<RolloutState> = standings.map(RolloutState::from_node_state).collect();
    let count = |state: RolloutState| states.iter().filter(|one| **one == state).count();
    let all = STATES.iter().rev().filter(|state| count(**state) > 0);
    let words: Vec<String> = all.map(|state| format!("{} {}", count(*state), state.name())).collect();
    if words.is_empty() { "no nodes".to_owned() } else { words.join(", ") }
}
