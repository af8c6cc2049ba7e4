//! What is said about changes of a node's settings: which are wanted, that they be made, put off, kept or rolled back,
//! and how the node stands by its journal; and what of that cannot be.
//!
//! An order is one JSON in parts, since changes of a large machine do not fit a message, and so is its answer. One
//! order is done at a time.

use std::collections::VecDeque;

use linerate_record::knob::{ChangeSet, SettingId, Space};
use linerate_record::rollout::{EXTENSIONS_MAX, NodeSetting, NodeState, NodeStatus, RolloutName};
use serde::{Deserialize, Serialize};

use crate::message_limits::{TEXT_BYTES_MAX, checked_text, in_parts};
use crate::protocol::{ANSWER_BYTES_MAX, FrameError, ToAgent, frame};

/// Longest order: what a coordinator may have waiting in a stream, escapes included, is less than twice this.
pub const CHANGE_ORDER_BYTES_MAX: usize = 2 << 20;

/// Longest text of a change: a list of processors of a large machine, a reason, what the kernel says.
const LONG_TEXT_BYTES_MAX: usize = 16 << 10;

/// Most changes, or settings left alone, of one node: as a file of changes may have.
const CHANGES_MAX: usize = 20_000;

/// Longest file of a site that goes with an order.
pub const SITE_TEXT_BYTES_MAX: usize = 1 << 20;

/// Longest time to confirm, in milliseconds: a week.
const WITHIN_MS_MAX: u64 = 7 * 86_400_000;

/// How long a node may take over an order: systemd tries a watch for ten seconds and more, and a watch that another
/// application left may have the lock for as long.
const CHANGED_WITHIN_NS: i64 = 120_000_000_000;

/// The same of one that changes nothing.
const QUERIED_WITHIN_NS: i64 = 20_000_000_000;

/// What a node is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeOrder {
    /// Say which changes lead to what is wanted. Nothing is changed.
    Diff(Box<DiffOrder>),
    /// Say how it stands to a rollout that is about to begin; refuse where it would refuse to make these changes, as
    /// far as it can tell before it begins. Nothing is changed.
    Look(Box<ApplyOrder>),
    /// Make changes, which a watch of its own rolls back unless they are confirmed.
    Apply(Box<ApplyOrder>),
    /// Say how it stands. Nothing is changed.
    #[serde(rename = "tell")]
    QueryStatus {
        /// To which rollout; to its newest where none is named.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rollout: Option<RolloutName>,
        /// Whether every setting is told too, as it is now.
        settings: bool,
    },
    /// Say how it stands to the rollout that it keeps, of several the one that was confirmed last, and how every
    /// setting of it is now. Nothing is changed.
    #[serde(rename = "tell-kept")]
    QueryKept,
    /// Put off the instant at which it rolls its changes back.
    Extend {
        rollout: RolloutName,
        /// To so many milliseconds from now.
        within_ms: u64,
    },
    Confirm {
        rollout: RolloutName,
    },
    /// Roll its changes back, and refuse from now on to make them.
    #[serde(rename = "take-back")]
    Rollback {
        rollout: RolloutName,
        /// Whether values that somebody else has set since are overwritten too.
        force: bool,
        /// Why, for its journal, where something failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
}

impl ChangeOrder {
    /// The rollout that it is about, where it names one.
    #[must_use]
    pub fn rollout(&self) -> Option<RolloutName> {
        match self {
            ChangeOrder::Diff(_) | ChangeOrder::QueryKept => None,
            ChangeOrder::Look(apply) | ChangeOrder::Apply(apply) => Some(apply.rollout),
            ChangeOrder::QueryStatus { rollout, .. } => *rollout,
            ChangeOrder::Extend { rollout, .. }
            | ChangeOrder::Confirm { rollout }
            | ChangeOrder::Rollback { rollout, .. } => Some(*rollout),
        }
    }

    const fn changes_nothing(&self) -> bool {
        match self {
            ChangeOrder::Diff(_) | ChangeOrder::Look(_) | ChangeOrder::QueryStatus { .. } | ChangeOrder::QueryKept => {
                true
            }
            ChangeOrder::Apply(_)
            | ChangeOrder::Extend { .. }
            | ChangeOrder::Confirm { .. }
            | ChangeOrder::Rollback { .. } => false,
        }
    }
}

/// What is wanted of a node's settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffOrder {
    /// A profile, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Values by hand, as `KNOB=VALUE` or `KNOB@DEVICE=VALUE`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// The network namespace that is meant, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub netns: Option<String>,
    /// The text of a site file from which values of the profile follow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
}

/// Changes to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplyOrder {
    pub rollout: RolloutName,
    /// When they are rolled back unless confirmed, in milliseconds from now.
    pub within_ms: u64,
    /// The boot in which they were planned, by its id.
    pub boot: String,
    /// The wave that it is in, from 1, for its journal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<u32>,
    pub set: ChangeSet,
}

/// What a node says about changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeAnswer {
    /// Which changes lead to what is wanted.
    Planned(Box<NodePlanned>),
    /// How it stands after what it was to do, which it did.
    #[serde(rename = "told")]
    Reported(Box<NodeStatus>),
    /// It could not do that.
    Failed {
        why: String,
        /// How it stands, where it can tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[serde(rename = "told")]
        reported: Option<Box<NodeStatus>>,
    },
}

/// Changes that lead to what is wanted of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodePlanned {
    /// Its boot, by its id.
    pub boot: String,
    pub set: ChangeSet,
    /// What is not as wanted and is left alone, with the reason.
    pub left_out: Vec<(SettingId, String)>,
}

/// An order as it goes out.
///
/// # Errors
/// [`FrameError::Length`] where it is longer than orders may be.
pub fn ordered(order: &ChangeOrder) -> Result<Vec<u8>, FrameError> {
    let json = serde_json::to_string(order).map_err(|error| FrameError::Content(error.to_string()))?;
    if json.len() > CHANGE_ORDER_BYTES_MAX {
        return Err(FrameError::Length(u32::try_from(json.len()).unwrap_or(u32::MAX)));
    }
    let mut bytes = Vec::new();
    for (text, is_last) in in_parts(&json) {
        bytes.extend(frame(&ToAgent::Change { text: text.to_owned(), is_last })?);
    }
    Ok(bytes)
}

/// Parts of one text, put together within a bound.
#[derive(Clone, Debug, Default)]
pub(crate) struct JoinedParts(String);

impl JoinedParts {
    /// Takes a part; the whole once it was the last.
    pub(crate) fn take(&mut self, text: &str, is_last: bool, most: usize) -> Result<Option<String>, String> {
        if self.0.len() + text.len() > most {
            self.0 = String::new();
            return Err(format!("a text of more than {most} bytes"));
        }
        self.0.push_str(text);
        Ok(is_last.then(|| std::mem::take(&mut self.0)))
    }
}

/// An order out of JSON, for who is to do it.
///
/// # Errors
/// Why, in words for a person.
pub(crate) fn parse_order(json: &str) -> Result<ChangeOrder, String> {
    let order: ChangeOrder = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let is_long = |within_ms: u64| within_ms > WITHIN_MS_MAX;
    match &order {
        ChangeOrder::Diff(wanted) => {
            let site = wanted.site.as_ref().map_or(0, String::len);
            if wanted.set.len() > CHANGES_MAX || site > SITE_TEXT_BYTES_MAX {
                return Err(format!("{} values, and a site of {site} bytes", wanted.set.len()));
            }
            wanted.profile.iter().chain(&wanted.netns).try_for_each(|text| checked_text(text))?;
            wanted.set.iter().try_for_each(|text| checked_long(text))
        }
        ChangeOrder::Look(apply) | ChangeOrder::Apply(apply) if is_long(apply.within_ms) => {
            Err("a time without end".to_owned())
        }
        ChangeOrder::Look(apply) | ChangeOrder::Apply(apply) => {
            checked_text(&apply.boot).and_then(|()| checked_set(&apply.set))
        }
        ChangeOrder::Extend { within_ms, .. } if is_long(*within_ms) => Err("a time without end".to_owned()),
        ChangeOrder::Rollback { why, .. } => why.iter().try_for_each(|why| checked_long(why)),
        _ => Ok(()),
    }
    .map(|()| order)
}

fn checked_long(text: &str) -> Result<(), String> {
    if text.len() > LONG_TEXT_BYTES_MAX {
        return Err(format!("a text of {} bytes is too long: at most {LONG_TEXT_BYTES_MAX} are allowed", text.len()));
    }
    // Values of sysctls with several numbers have tabs.
    match text.chars().any(|c| c.is_control() && c != '\t') {
        true => Err(format!("a text with control characters: {:?}", text.chars().take(60).collect::<String>())),
        false => Ok(()),
    }
}

fn checked_place(place: &SettingId) -> Result<(), String> {
    let space = if let Space::Netns(name) = &place.space { Some(name) } else { None };
    let mut texts = place.device.iter().chain(space).chain(std::iter::once(&place.knob));
    texts.try_for_each(|text| checked_text(text))
}

fn checked_set(set: &ChangeSet) -> Result<(), String> {
    if set.changes.len() > CHANGES_MAX || set.spaces.len() > CHANGES_MAX {
        return Err(format!("{} changes in {} namespaces", set.changes.len(), set.spaces.len()));
    }
    [&set.machine, &set.profile].into_iter().try_for_each(|text| checked_text(text))?;
    set.spaces.iter().try_for_each(|space| checked_text(&space.boot))?;
    set.changes.iter().try_for_each(|change| {
        checked_place(&change.place)?;
        [&change.prior, &change.new, &change.why, &change.risk].into_iter().try_for_each(|text| checked_long(text))
    })
}

fn checked_reasons(all: &[(SettingId, String)]) -> Result<(), String> {
    if all.len() > CHANGES_MAX {
        return Err(format!("{} settings", all.len()));
    }
    all.iter().try_for_each(|(place, why)| checked_place(place).and_then(|()| checked_long(why)))
}

fn checked_reported(reported: &NodeStatus) -> Result<(), String> {
    reported.application.iter().try_for_each(|id| checked_text(id))?;
    checked_reasons(&reported.refused)?;
    if let Some(course) = &reported.course {
        course.why.iter().try_for_each(|why| checked_long(why))?;
        if course.extended.len() > EXTENSIONS_MAX {
            return Err(format!("an end that was put off {} times", course.extended.len()));
        }
    }
    if reported.settings.len() > CHANGES_MAX {
        return Err(format!("{} settings", reported.settings.len()));
    }
    let is_named = reported.application.as_deref().map(RolloutName::of_application);
    match is_named {
        // Whoever confirms waits for as long as that.
        _ if matches!(reported.node_state, NodeState::Pending { left_ms, .. } if left_ms > WITHIN_MS_MAX) => {
            return Err("a time without end".to_owned());
        }
        Some(named) if named != reported.rollout => return Err("an application of another rollout".to_owned()),
        None if reported.node_state != NodeState::Untouched => return Err("a standing of no application".to_owned()),
        _ => {}
    }
    reported.settings.iter().try_for_each(|NodeSetting { place, prior, new, now }| {
        checked_place(place)?;
        [prior, new].into_iter().chain(now).try_for_each(|text| checked_long(text))
    })
}

/// What is asked of a node, as far as its answer has to fit it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RequestedChange {
    is_diff: bool,
    rollout: Option<RolloutName>,
    by_ns: i64,
}

/// What one node was told about changes, and what it said.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangingAgent {
    requested: Option<RequestedChange>,
    parts: JoinedParts,
    news: VecDeque<ChangeAnswer>,
}

impl ChangingAgent {
    pub(crate) fn asks(&mut self, order: &ChangeOrder, now_ns: i64) {
        let rollout = order.rollout();
        let within_ns = if order.changes_nothing() { QUERIED_WITHIN_NS } else { CHANGED_WITHIN_NS };
        let by_ns = now_ns.saturating_add(within_ns);
        self.requested = Some(RequestedChange { is_diff: matches!(order, ChangeOrder::Diff(_)), rollout, by_ns });
    }

    /// Takes a part of what it says.
    pub(crate) fn take(&mut self, text: &str, is_last: bool) -> Result<(), String> {
        let Some(requested) = self.requested else {
            return Err("it said something of changes that was not asked".to_owned());
        };
        let Some(json) = self.parts.take(text, is_last, ANSWER_BYTES_MAX)? else { return Ok(()) };
        let answer: ChangeAnswer =
            serde_json::from_str(&json).map_err(|error| format!("what it says of changes cannot be read: {error}"))?;
        match &answer {
            ChangeAnswer::Planned(planned) if requested.is_diff => {
                checked_text(&planned.boot)?;
                checked_set(&planned.set)?;
                checked_reasons(&planned.left_out)?;
            }
            ChangeAnswer::Reported(reported) if !requested.is_diff => fits(reported, requested)?,
            ChangeAnswer::Failed { why, reported } => {
                checked_long(why)?;
                reported.iter().try_for_each(|reported| fits(reported, requested))?;
            }
            _ => return Err("an answer to another question".to_owned()),
        }
        self.requested = None;
        self.news.push_back(answer);
        Ok(())
    }

    /// Why nothing more is to be waited for.
    pub(crate) fn overdue(&self, now_ns: i64) -> Option<String> {
        let is_late = self.requested.is_some_and(|requested| now_ns > requested.by_ns);
        is_late.then(|| "it did not say in time what became of its changes".to_owned())
    }

    pub(crate) fn next(&mut self) -> Option<ChangeAnswer> {
        self.news.pop_front()
    }
}

fn fits(reported: &NodeStatus, requested: RequestedChange) -> Result<(), String> {
    checked_reported(reported)?;
    match (requested.rollout, reported.rollout) {
        (Some(requested), Some(reported)) if requested != reported => Err("a standing to another rollout".to_owned()),
        _ => Ok(()),
    }
}

/// A reason as it may cross to the coordinator: in one line, and of bounded length.
#[must_use]
pub fn reason(why: &str) -> String {
    let lines: Vec<&str> = why.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut kept: String = lines.join("; ").chars().filter(|c| !c.is_control()).collect();
    let most = 4 * TEXT_BYTES_MAX;
    if kept.len() > most {
        let end = (0..=most).rev().find(|end| kept.is_char_boundary(*end)).unwrap_or(0);
        kept.truncate(end);
        kept.push('…');
    }
    kept
}

#[cfg(test)]
mod tests;
