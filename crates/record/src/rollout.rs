//! A rollout: the changes of many machines as one, what is planned of each node, and how each says that it stands.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::fleet::NodeRole;
use crate::journal::RolledBackBy;
use crate::knob::{ChangeSet, SettingId, same_in};

/// The version of [`FleetChanges`], [`RolloutPlan`] and [`RolloutReport`] as JSON.
pub const ROLLOUT_SCHEMA: u32 = 1;

/// Most nodes of a rollout: as many as a fleet may have.
pub const ROLLOUT_NODES_MAX: u32 = 1_024;

/// What tells a rollout from all others, and how many nodes it has: `r00f1e2d3c4b5a697n56`.
///
/// It ends the name of each of its applications, so that a node's own journals say which rollout they are of, and of
/// how many nodes all have to be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RolloutName {
    pub token: u64,
    /// Nodes of which a setting is changed.
    pub nodes: u32,
}

/// A text that names no rollout.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the name of a rollout: write it as tune apply --fleet printed it, such as r00f1e2d3c4b5a697n56")]
pub struct RolloutNameError(pub String);

/// Digits of the token.
const TOKEN_DIGITS: usize = 16;

impl FromStr for RolloutName {
    type Err = RolloutNameError;

    fn from_str(text: &str) -> Result<RolloutName, RolloutNameError> {
        let read = || {
            let (token, nodes) = text.strip_prefix('r')?.split_once('n')?;
            let is_hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            let is_token = token.len() == TOKEN_DIGITS && token.chars().all(is_hex);
            let token = is_token.then(|| u64::from_str_radix(token, 16).ok())??;
            let count: u32 = nodes.parse().ok()?;
            let is_count = (1..=ROLLOUT_NODES_MAX).contains(&count) && count.to_string() == nodes;
            is_count.then_some(RolloutName { token, nodes: count })
        };
        read().ok_or_else(|| RolloutNameError(text.chars().take(60).collect()))
    }
}

impl TryFrom<String> for RolloutName {
    type Error = RolloutNameError;

    fn try_from(text: String) -> Result<RolloutName, RolloutNameError> {
        text.parse()
    }
}

impl From<RolloutName> for String {
    fn from(name: RolloutName) -> String {
        name.to_string()
    }
}

impl fmt::Display for RolloutName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{:016x}n{}", self.token, self.nodes)
    }
}

impl RolloutName {
    /// The rollout that an application of changes belongs to, by its name; none where it is of one machine alone.
    #[must_use]
    pub fn of_application(id: &str) -> Option<RolloutName> {
        id.rsplit_once('-')?.1.parse().ok()
    }

    /// The name of an application of it, from one that no other of the machine has.
    #[must_use]
    pub fn application(self, id: &str) -> String {
        format!("{id}-{self}")
    }
}

/// A file of changes of many machines: what `tune diff --fleet` writes and `tune apply --fleet` reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetChanges {
    /// The version of this layout.
    pub schema: u32,
    /// The profile that all follow.
    pub profile: String,
    /// Nodes, in the order of the fleet file; those that are as wanted have no changes.
    pub nodes: Vec<NodeChanges>,
}

/// The changes of one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeChanges {
    /// Its name in the fleet file.
    pub name: String,
    /// What it is for.
    pub role: NodeRole,
    /// Its rack, where the fleet file has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    /// The kind of nodes of a site that it is one of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site_node: Option<String>,
    /// The boot during which it was read, by its id: run-time settings are others after the next.
    pub boot: String,
    /// Its changes, with the values that were there, and the namespaces that they mean.
    pub set: ChangeSet,
    /// Settings that are not as wanted and are left alone, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<(SettingId, String)>,
}

/// What is to be done with the changes of many machines: all choices are made here, and none while it is carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutPlan {
    /// The version of this layout.
    pub schema: u32,
    pub name: RolloutName,
    /// Nodes of which a setting is changed, in the order of the file.
    pub nodes: Vec<RolloutNode>,
    /// Places of nodes, wave after wave: those of a wave are changed at once, and each wave once the one before stands.
    pub waves: Vec<Vec<u32>>,
    /// Knobs of which a change may interrupt a node for a moment; where there is none, nodes are not held apart.
    pub interrupting: Vec<String>,
    /// Nodes of which so many may be interrupted at once.
    pub guards: Vec<RolloutGuard>,
    /// When the first wave is rolled back unless confirmed, in milliseconds from the beginning.
    pub within_ms: u64,
    /// How much later each wave is rolled back than the one before, so that they are not interrupted together.
    pub stagger_ms: u64,
    /// The command that has to succeed behind each wave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// How long it may take, in milliseconds.
    pub check_within_ms: u64,
}

/// A node of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutNode {
    pub name: String,
    /// What it is for.
    pub role: NodeRole,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    /// The machine, as of [`ChangeSet::machine`].
    pub machine: String,
    /// The boot, as of [`NodeChanges::boot`].
    pub boot: String,
    /// Settings that are changed.
    pub changes: u32,
}

/// Nodes of which only so many may be interrupted at once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutGuard {
    /// What they share, for people: `erasure sets of storage`.
    pub what: String,
    pub nodes: Vec<u32>,
    pub at_once: u32,
}

/// How a node stands to a rollout, by its own journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "state")]
pub enum NodeState {
    /// Nothing was changed in its name.
    Untouched,
    /// Changes were made, and wait to be confirmed.
    Pending {
        /// How long until its watch rolls them back.
        left_ms: u64,
        /// Whether every change was made, and can be confirmed.
        is_whole: bool,
    },
    Confirmed,
    /// Each was rolled back.
    Restored,
    /// They were rolled back but for some.
    Left {
        /// How many settings somebody has to look at.
        settings: u32,
    },
    /// The machine has booted since: its run-time settings are those of a boot.
    Rebooted,
}

/// What a node tells of a rollout, from its journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeStatus {
    /// The rollout, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<RolloutName>,
    /// The name of its application there, where one was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<String>,
    #[serde(rename = "standing")]
    pub node_state: NodeState,
    /// When the application was begun, in milliseconds since 1970 by the node's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub began_ms: Option<u64>,
    /// When it was confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_ms: Option<u64>,
    /// When it was rolled back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_ms: Option<u64>,
    /// Whether a watch of it runs; absent where nothing waits, or that cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_watched: Option<bool>,
    /// Changes that were not made, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<(SettingId, String)>,
    /// Settings that were changed, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<NodeSetting>,
    /// What else its journal has of the way there; absent where no application was begun, and where an agent of an
    /// earlier version told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub course: Option<NodeTimeline>,
}

/// When an application went from state to state, as far as its journal says, and why it ended. Instants are in
/// milliseconds since 1970 by the node's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeTimeline {
    /// The wave in which it began, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<u32>,
    /// When the last change was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_ms: Option<u64>,
    /// When it was to be rolled back by itself as it began. From the time since boot, so absent once the machine has
    /// booted again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
    /// How that instant was put off, in order: the last [`EXTENSIONS_MAX`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extended: Vec<NodeExtension>,
    /// When the machine booted last, where that was since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub booted_ms: Option<u64>,
    /// Who rolled it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_by: Option<RolledBackBy>,
    /// Why, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// Most extensions of an application that a node tells of: each `tune confirm --fleet` adds one, and one is enough.
pub const EXTENSIONS_MAX: usize = 16;

/// An instant that was put off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeExtension {
    /// When; absent where the journal does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_ms: Option<u64>,
    /// To when, as of [`NodeTimeline::until_ms`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<u64>,
}

/// How a node's clock stands to the clock of the machine that asked it, when it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeClock {
    /// How far it is ahead, in nanoseconds.
    pub ahead_ns: i64,
    /// The truth lies no farther from that than this, in nanoseconds.
    pub bound_ns: i64,
}

/// A setting that a rollout changed on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSetting {
    pub place: SettingId,
    pub prior: String,
    /// What it was changed to.
    pub new: String,
    /// What it is now; absent where it cannot be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub now: Option<String>,
}

/// What became of a rollout, as a command tells it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RolloutReport {
    /// The version of this layout.
    pub schema: u32,
    /// Which rollout; absent where nodes know none, or several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollout: Option<RolloutName>,
    /// When the nodes were asked last, in milliseconds since 1970 by this machine's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "asked_ms")]
    pub requested_ms: Option<u64>,
    /// Nodes, in the order of the fleet file.
    pub nodes: Vec<NodeReported>,
}

/// What is known of one node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeReported {
    pub name: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<NodeRole>,
    /// Its rack, where the fleet file has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
    /// How it said last that it stands; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "standing")]
    pub node_state: Option<NodeState>,
    /// Why it is not known, or not as it should be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// All that it told, where it was asked for that. Instants are by this machine's clock: those of the node's own,
    /// moved by what is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "told")]
    pub reported: Option<NodeStatus>,
    /// What is known of its clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<NodeClock>,
}

impl NodeReported {
    /// An instant that it told, by its own clock again.
    #[must_use]
    pub fn own_ms(&self, here_ms: u64) -> u64 {
        self.clock.map_or(here_ms, |clock| clock.there_ms(here_ms))
    }

    /// What is known of its way, where it told of that.
    #[must_use]
    pub fn course(&self) -> Option<&NodeTimeline> {
        self.reported.as_ref()?.course.as_ref()
    }
}

impl NodeClock {
    /// An instant of the node's clock, in milliseconds since 1970, by the clock of who asked.
    #[must_use]
    pub fn here_ms(self, there_ms: u64) -> u64 {
        moved(there_ms, -i128::from(self.ahead_ms()))
    }

    /// An instant of the clock of who asked, in milliseconds since 1970, by the node's.
    #[must_use]
    pub fn there_ms(self, here_ms: u64) -> u64 {
        moved(here_ms, i128::from(self.ahead_ms()))
    }

    const fn ahead_ms(self) -> i64 {
        self.ahead_ns / 1_000_000
    }
}

fn moved(ms: u64, by_ms: i128) -> u64 {
    u64::try_from((i128::from(ms) + by_ms).max(0)).unwrap_or(u64::MAX)
}

impl NodeStatus {
    /// How a node stands to a rollout, or to none, of which it tells nothing else.
    #[must_use]
    pub const fn new(rollout: Option<RolloutName>, node_state: NodeState) -> NodeStatus {
        NodeStatus {
            rollout,
            application: None,
            node_state,
            began_ms: None,
            confirmed_ms: None,
            closed_ms: None,
            is_watched: None,
            refused: Vec::new(),
            settings: Vec::new(),
            course: None,
        }
    }

    /// Puts every instant on another clock.
    pub fn put_on(&mut self, clock: impl Fn(u64) -> u64) {
        let mut instants = vec![&mut self.began_ms, &mut self.confirmed_ms, &mut self.closed_ms];
        if let Some(course) = &mut self.course {
            instants.extend([&mut course.made_ms, &mut course.until_ms, &mut course.booted_ms]);
            let extended = course.extended.iter_mut();
            instants.extend(extended.flat_map(|extension| [&mut extension.at_ms, &mut extension.until_ms]));
        }
        for instant in instants {
            *instant = instant.map(&clock);
        }
    }

    /// Settings that are not what the journal of the node says. Blanks between numbers do not count: the kernel writes
    /// tabs.
    #[must_use]
    pub fn others(&self) -> Vec<&NodeSetting> {
        self.settings.iter().filter(|setting| setting.is_other(self.node_state)).collect()
    }
}

impl NodeSetting {
    /// What it has to be where its node stands so.
    #[must_use]
    pub fn expected(&self, node_state: NodeState) -> &str {
        if node_state.is_as_before() { &self.prior } else { &self.new }
    }

    /// Whether it is something else, as far as a node that stands so says what it has to be.
    #[must_use]
    pub fn is_other(&self, node_state: NodeState) -> bool {
        let is_judged = matches!(node_state, NodeState::Confirmed | NodeState::Restored | NodeState::Pending { .. });
        let is_expected = |now: &String| same_in(&self.place.knob, now, self.expected(node_state));
        is_judged && !self.now.as_ref().is_some_and(is_expected)
    }
}

impl NodeState {
    /// Whether no setting is as the rollout wanted it, and none will be: a node that was never touched, was rolled back
    /// whole, or has booted.
    #[must_use]
    pub const fn is_as_before(self) -> bool {
        matches!(self, NodeState::Untouched | NodeState::Restored | NodeState::Rebooted)
    }

    /// Whether it can be confirmed.
    #[must_use]
    pub const fn is_whole(self) -> bool {
        matches!(self, NodeState::Pending { is_whole: true, .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knob::Space;

    #[test]
    fn a_name_is_read_as_it_is_written_and_nothing_else_is_one() {
        let name = RolloutName { token: 0x00f1_e2d3_c4b5_a697, nodes: 56 };
        assert_eq!(name.to_string(), "r00f1e2d3c4b5a697n56");
        assert_eq!("r00f1e2d3c4b5a697n56".parse(), Ok(name));
        assert_eq!(serde_json::to_string(&name).unwrap(), "\"r00f1e2d3c4b5a697n56\"");
        assert_eq!(serde_json::from_str::<RolloutName>("\"r00f1e2d3c4b5a697n56\"").unwrap(), name);
        for text in [
            "",
            "r",
            "r00f1e2d3c4b5a697",
            "r00f1e2d3c4b5a697n",
            "r00f1e2d3c4b5a697n0",
            "r00f1e2d3c4b5a697n1025",
            "r00f1e2d3c4b5a697n056",
            "r00f1e2d3c4b5a697n+5",
            "r00F1e2d3c4b5a697n5",
            "r+0f1e2d3c4b5a697n5",
            "r0f1e2d3c4b5a697n5",
            "r00f1e2d3c4b5a697n5é",
        ] {
            assert!(text.parse::<RolloutName>().is_err(), "{text}");
            assert!(serde_json::from_str::<RolloutName>(&format!("{text:?}")).is_err(), "{text}");
        }
    }

    #[test]
    fn a_value_that_its_kernel_writes_in_other_words_is_no_other() {
        for (knob, new, now, is_other) in [
            ("net.ipv4.ip_local_reserved_ports", "9000,9001", "9000-9001", false),
            ("net.ipv4.ip_local_reserved_ports", "9000,9001", "9000-9002", true),
            ("nic.rps_cpus", "00000000,00000003", "3", false),
            ("net.ipv4.tcp_rmem", "4096 131072 6291456", "4096\t131072\t6291456", false),
            ("net.ipv4.tcp_rmem", "4096 131072 6291456", "4096\t131072\t4194304", true),
        ] {
            let place = SettingId { knob: knob.to_owned(), device: None, space: Space::Host };
            let [prior, new, now] = ["other", new, now].map(str::to_owned);
            let setting = NodeSetting { place, prior, new, now: Some(now) };
            assert_eq!(setting.is_other(NodeState::Confirmed), is_other, "{setting:?}");
        }
    }

    #[test]
    fn an_application_says_which_rollout_it_is_of() {
        let name = RolloutName { token: 7, nodes: 3 };
        let id = name.application("20260102T030405123456Z-4711");
        assert_eq!(RolloutName::of_application(&id), Some(name));
        assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{id}");
        for id in ["20260102T030405123456Z-4711", "20260102T030405123456Z-4711-0000000001", "x", ""] {
            assert_eq!(RolloutName::of_application(id), None, "{id}");
        }
    }

    #[test]
    fn instants_go_to_another_clock_and_back_all_of_them_and_none_below_1970() {
        let clock = NodeClock { ahead_ns: 3_600_000_000_000, bound_ns: 1_000_000 };
        let extension = NodeExtension { at_ms: Some(4_000_003), until_ms: Some(4_000_004) };
        let course = NodeTimeline {
            made_ms: Some(4_000_001),
            until_ms: Some(4_000_002),
            extended: vec![extension],
            booted_ms: Some(4_000_005),
            ..NodeTimeline::default()
        };
        let own = NodeStatus {
            began_ms: Some(4_000_000),
            confirmed_ms: Some(4_000_006),
            closed_ms: Some(4_000_007),
            course: Some(course),
            ..NodeStatus::new(None, NodeState::Confirmed)
        };
        let mut here = own.clone();
        here.put_on(|ms| clock.here_ms(ms));
        let found =
            (here.began_ms, here.closed_ms, here.course.as_ref().and_then(|course| course.extended[0].until_ms));
        assert_eq!(found, (Some(400_000), Some(400_007), Some(400_004)));
        let mut back = here;
        back.put_on(|ms| clock.there_ms(ms));
        assert_eq!(back, own);
        assert_eq!((clock.here_ms(5), clock.there_ms(u64::MAX)), (0, u64::MAX));
        let behind = NodeClock { ahead_ns: -2_000_000, ..clock };
        assert_eq!((behind.here_ms(5), behind.there_ms(1)), (7, 0));
    }

    #[test]
    fn what_an_earlier_version_told_has_no_course() {
        let text = r#"{"rollout":"r0000000000000007n2","standing":{"state":"confirmed"},"began_ms":1}"#;
        let reported: NodeStatus = serde_json::from_str(text).unwrap();
        assert_eq!((reported.began_ms, reported.course.clone()), (Some(1), None));
        assert_eq!(serde_json::to_string(&reported).unwrap(), text);
        let course: NodeTimeline = serde_json::from_str("{}").unwrap();
        assert_eq!(course, NodeTimeline::default());
    }

    #[test]
    fn a_setting_is_another_where_it_is_not_what_its_journal_says() {
        let place = SettingId { knob: "net.ipv4.tcp_rmem".to_owned(), device: None, space: crate::knob::Space::Host };
        let setting = |now: Option<&str>| NodeSetting {
            place: place.clone(),
            prior: "4096\t131072".to_owned(),
            new: "4096 262144".to_owned(),
            now: now.map(str::to_owned),
        };
        let pending = NodeState::Pending { left_ms: 1, is_whole: true };
        for (now, node_state, is_other) in [
            (Some("4096\t262144"), NodeState::Confirmed, false),
            (Some("4096\t262144"), NodeState::Restored, true),
            (Some("4096 131072"), NodeState::Restored, false),
            (Some("4096 131072"), pending, true),
            (None, pending, true),
            (Some("1"), NodeState::Rebooted, false),
            (Some("1"), NodeState::Untouched, false),
            (Some("1"), NodeState::Left { settings: 1 }, false),
        ] {
            let reported = NodeStatus { settings: vec![setting(now)], ..NodeStatus::new(None, node_state) };
            assert_eq!(reported.others().len(), usize::from(is_other), "{now:?} {node_state:?}");
        }
    }

    #[test]
    fn only_what_will_not_change_again_is_as_before() {
        let pending = |is_whole| NodeState::Pending { left_ms: 1, is_whole };
        for (node_state, as_before, whole) in [
            (NodeState::Untouched, true, false),
            (pending(true), false, true),
            (pending(false), false, false),
            (NodeState::Confirmed, false, false),
            (NodeState::Restored, true, false),
            (NodeState::Left { settings: 1 }, false, false),
            (NodeState::Rebooted, true, false),
        ] {
            assert_eq!((node_state.is_as_before(), node_state.is_whole()), (as_before, whole), "{node_state:?}");
            let text = serde_json::to_string(&node_state).unwrap();
            assert_eq!(serde_json::from_str::<NodeState>(&text).unwrap(), node_state, "{text}");
        }
    }
}
