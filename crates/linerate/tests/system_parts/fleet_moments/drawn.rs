//! What happens at a moment, all of it from one number.

use linerate_worlds::SeededRng;
use serde::Serialize;

/// A verb that is disturbed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verb {
    Apply,
    Confirm,
    Rollback,
    Status,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Aim {
    /// Anywhere in the time that it takes undisturbed.
    Anywhere,
    /// Within a phase of it, which may be the one that it begins with.
    Phase(&'static str),
    /// Behind the first journal that a node has.
    Journal,
}

/// Phases by what a coordinator says, and one that each verb begins with. Each is aimed at by a moment of [`AIMS`]:
/// what is met by chance alone is not met in every run.
pub(super) const PHASES: [&str; 9] = [
    "looking",
    "applying",
    "checking",
    "looking again",
    "asking",
    "extending",
    "confirming",
    "rolling back",
    "telling",
];

/// Verbs and aims: moments go through them in turn.
pub(super) const AIMS: [(Verb, Aim); 12] = [
    (Verb::Apply, Aim::Anywhere),
    (Verb::Confirm, Aim::Phase("asking")),
    (Verb::Rollback, Aim::Anywhere),
    (Verb::Status, Aim::Phase("telling")),
    (Verb::Apply, Aim::Phase("looking")),
    (Verb::Apply, Aim::Journal),
    (Verb::Apply, Aim::Phase("applying")),
    (Verb::Apply, Aim::Phase("checking")),
    (Verb::Apply, Aim::Phase("looking again")),
    (Verb::Confirm, Aim::Phase("extending")),
    (Verb::Confirm, Aim::Phase("confirming")),
    (Verb::Rollback, Aim::Phase("rolling back")),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Blow {
    CoordinatorKilled,
    /// SIGSTOP, and SIGCONT later.
    CoordinatorFrozen,
    /// What is said to nodes is lost.
    CutTo,
    /// What they say is.
    CutFrom,
    CutBoth,
    AgentsKilled,
    /// Their watches too: what waits there is rolled back by nobody.
    NodesKilled,
    AgentsFrozen,
    NodesFrozen,
    /// The disks of their journals.
    DisksFull,
}

/// All of them, and none for two at once. Their number and that of aims have no divisor in common, so that 132 moments
/// have each with each.
const BLOWS: [Option<Blow>; 11] = [
    Some(Blow::CoordinatorKilled),
    Some(Blow::CoordinatorFrozen),
    Some(Blow::CutTo),
    Some(Blow::CutFrom),
    Some(Blow::CutBoth),
    Some(Blow::AgentsKilled),
    Some(Blow::NodesKilled),
    Some(Blow::AgentsFrozen),
    Some(Blow::NodesFrozen),
    Some(Blow::DisksFull),
    None,
];

/// When what can end ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Heals {
    AfterMs(u64),
    /// Behind the instant at which nodes roll their changes back by themselves.
    PastTheDeadline,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Strike {
    pub(super) blow: Blow,
    pub(super) nodes: Vec<usize>,
    /// Pages that a full disk has left.
    pub(super) left_pages: u64,
    /// Before the verb begins.
    pub(super) is_before: bool,
    /// How long after the moment.
    pub(super) after_ms: u64,
    pub(super) heals: Heals,
}

/// What was done before the verb.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Prelude {
    Nothing,
    Applied,
    Confirmed,
}

/// What is done after it, from another machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Ending {
    /// Nothing: nodes are left alone.
    Lapse,
    Confirm,
    Rollback,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Moment {
    pub(super) seed: u64,
    pub(super) verb: Verb,
    pub(super) aim: Aim,
    pub(super) prelude: Prelude,
    pub(super) strikes: Vec<Strike>,
    pub(super) ending: Ending,
    /// Of phases that a verb goes through several times, which, from 0 up to 1.
    #[serde(skip)]
    pub(super) which: f64,
    /// Where in the verb or the phase, from 0 up to 1.
    #[serde(skip)]
    pub(super) share: f64,
    /// The node whose journal is waited for.
    #[serde(skip)]
    pub(super) node: usize,
    /// How much is left of the last page of a journal on a disk that is full from then on: less or more than the next
    /// lines need, which are of 50, 40 and 170 bytes.
    pub(super) gap_bytes: Option<u64>,
}

impl Verb {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Verb::Apply => "apply",
            Verb::Confirm => "confirm",
            Verb::Rollback => "rollback",
            Verb::Status => "status",
        }
    }
}

impl Blow {
    /// Whether it is to the coordinator.
    pub(super) const fn is_of_the_coordinator(self) -> bool {
        matches!(self, Blow::CoordinatorKilled | Blow::CoordinatorFrozen)
    }

    /// Whether it ends some time.
    pub(super) const fn can_end(self) -> bool {
        !matches!(self, Blow::CoordinatorKilled | Blow::AgentsKilled | Blow::NodesKilled)
    }
}

impl Moment {
    /// The moment of a number, for so many nodes.
    pub(super) fn draw(seed: u64, count: usize) -> Moment {
        let mut rng = SeededRng::new(seed, 0x7011);
        let (verb, aim) = AIMS[(seed % AIMS.len() as u64) as usize];
        let blows = match BLOWS[(seed % BLOWS.len() as u64) as usize] {
            Some(blow) => vec![blow],
            None => vec![any(&mut rng), any(&mut rng)],
        };
        let mut strikes: Vec<Strike> = blows.into_iter().map(|blow| strike(blow, verb, count, &mut rng)).collect();
        if let Some(second) = strikes.get_mut(1) {
            second.after_ms = rng.between(0.0, 1_500.0) as u64;
        }
        let prelude = match verb {
            Verb::Apply => Prelude::Nothing,
            Verb::Confirm => Prelude::Applied,
            Verb::Rollback if rng.happens(0.5) => Prelude::Applied,
            Verb::Rollback => Prelude::Confirmed,
            Verb::Status => [Prelude::Nothing, Prelude::Applied, Prelude::Confirmed][below(&mut rng, 3)],
        };
        // What was being confirmed lapses two minutes later.
        let (lapse, confirm) = match verb {
            Verb::Apply => (0.6, 0.2),
            Verb::Confirm => (0.15, 0.45),
            Verb::Rollback | Verb::Status => (0.4, 0.1),
        };
        let drawn = rng.unit();
        let ending = match drawn {
            _ if drawn < lapse => Ending::Lapse,
            _ if drawn < lapse + confirm => Ending::Confirm,
            _ => Ending::Rollback,
        };
        let (which, share, node) = (rng.unit(), rng.unit(), below(&mut rng, count));
        let is_gap = verb != Verb::Apply && strikes.iter().any(|strike| strike.blow == Blow::DisksFull);
        let gap_bytes = is_gap.then(|| below(&mut rng, 200) as u64);
        Moment { seed, verb, aim, prelude, strikes, ending, which, share, node, gap_bytes }
    }
}

fn strike(blow: Blow, verb: Verb, count: usize, rng: &mut SeededRng) -> Strike {
    let victims = match rng.unit() {
        _ if blow.is_of_the_coordinator() => 0,
        drawn if drawn < 0.5 => 1,
        drawn if drawn < 0.85 => 2 + below(rng, 4),
        _ => count,
    };
    let mut all: Vec<usize> = (0..count).collect();
    let drawn = (0..victims.min(count)).map(|_| all.swap_remove(below(rng, all.len())));
    let mut nodes: Vec<usize> = drawn.collect();
    nodes.sort_unstable();
    let late = match verb {
        Verb::Apply => 0.5,
        Verb::Confirm => 0.12,
        Verb::Rollback | Verb::Status => 0.3,
    };
    let is_late = rng.happens(late);
    let early_ms = rng.factor(300.0, 12_000.0) as u64;
    Strike {
        blow,
        nodes,
        left_pages: if verb == Verb::Apply { below(rng, 4) as u64 } else { 0 },
        is_before: blow == Blow::DisksFull && rng.happens(0.3),
        after_ms: 0,
        heals: if is_late { Heals::PastTheDeadline } else { Heals::AfterMs(early_ms) },
    }
}

fn any(rng: &mut SeededRng) -> Blow {
    let all: Vec<Blow> = BLOWS.into_iter().flatten().collect();
    all[below(rng, all.len())]
}

fn below(rng: &mut SeededRng, count: usize) -> usize {
    ((rng.unit() * count as f64) as usize).min(count.saturating_sub(1))
}
