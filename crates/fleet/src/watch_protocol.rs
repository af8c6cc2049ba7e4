//! What an agent is to read of its machine step by step, what it says of that, and whether that can be.

use linerate_record::readings::ReadMeasure;
use serde::{Deserialize, Serialize};

use crate::message_limits::{PART_BYTES, checked_text};

/// How often sockets are looked at, where that takes little of a core, in milliseconds.
pub const SOCKETS_EACH_MS: u64 = 2_000;

/// Most steps of one watch.
pub const WATCH_STEPS_MAX: u32 = 3_600;

/// Most series of one machine: a large one has some three hundred.
pub const WATCH_SERIES_MAX: usize = 4_000;

/// Most ranges of ports.
pub const WATCH_PORTS_MAX: usize = 64;

/// Most sentences on what could not be read.
const REMARKS_MAX: u32 = 200;

/// Most names of one machine.
const NAMES_MAX: usize = 64;

/// Most bytes of what one agent says of sockets: twice 65,536 hashes of 17 digits, and four thousand remotes.
const SOCKETS_BYTES_MAX: usize = 6 << 20;

/// How long an agent may be silent about its machine beyond what its next step takes.
const SILENT_NS: i64 = 30_000_000_000;

/// What to read, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchOrder {
    /// When it begins, in nanoseconds since the Unix epoch by the agent's clock. Step `n` is read `n` steps later.
    pub begin_ns: i64,
    pub step_ms: u64,
    /// How many there are.
    pub steps: u32,
    /// Ranges of ports of the engine, both ends in; where there are none, those on which its processes listen.
    pub ports: Vec<(u16, u16)>,
    /// Whether sockets are looked at.
    pub sockets: bool,
    /// Whether the machine loads the cluster, and has no engine of its own.
    pub is_client: bool,
}

impl WatchOrder {
    /// When a step is due, in nanoseconds since the Unix epoch by the agent's clock.
    #[must_use]
    pub fn due_ns(&self, step: u32) -> i64 {
        self.begin_ns.saturating_add(self.step_ns().saturating_mul(i64::from(step)))
    }

    fn step_ns(&self) -> i64 {
        i64::try_from(self.step_ms).unwrap_or(i64::MAX).saturating_mul(1_000_000)
    }
}

/// What an agent says of its machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchMessage {
    Begun {
        /// Names of the machine besides that of the fleet's file: its host name.
        names: Vec<String>,
        /// What this boot of its kernel is known by: nodes that are namespaces or containers of one machine have the
        /// same. Empty where it cannot be read.
        boot: String,
        /// Whether it tells of the drives that its engine serves from, and of no others.
        own_drives: bool,
    },
    /// What it read in one step.
    Step(Box<WatchStep>),
    /// What it cannot read, and why.
    Unread(String),
    /// A part of what sockets did, in order.
    Sockets {
        /// Of JSON of `SocketsSeen`.
        text: String,
        /// Whether nothing follows.
        is_last: bool,
    },
    /// All steps are over.
    Ended {
        /// Processor time that all of it took, in microseconds.
        took_us: u64,
    },
}

/// What was read in a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchStep {
    /// Which, from 1 on.
    pub step: u32,
    /// Series that come for the first time; they are numbered from 0 in the order in which they come.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<(ReadMeasure, String)>,
    /// Numbers of series, each with its value.
    pub values: Vec<(u32, f64)>,
}

/// How far an agent is with its watch.
#[derive(Clone, Debug)]
pub(crate) struct WatchedAgent {
    order: WatchOrder,
    /// What is thought of its clock.
    offset_ns: i64,
    is_begun: bool,
    is_over: bool,
    step: u32,
    series: usize,
    remarks: u32,
    sockets_bytes: usize,
    /// Whether all of what sockets did has come.
    has_sockets: bool,
    /// When it last said something of it, by the coordinator's clock.
    heard_ns: i64,
}

impl WatchedAgent {
    pub(crate) fn new(order: WatchOrder, offset_ns: i64, now_ns: i64) -> WatchedAgent {
        let begin_ns = order.begin_ns.saturating_sub(offset_ns);
        WatchedAgent {
            order,
            offset_ns,
            is_begun: false,
            is_over: false,
            step: 0,
            series: 0,
            remarks: 0,
            sockets_bytes: 0,
            has_sockets: false,
            heard_ns: now_ns.max(begin_ns),
        }
    }

    /// Whether more of it is to come: how much is bounded, and for how long it may be silent.
    pub(crate) const fn goes_on(&self) -> bool {
        !self.is_over
    }

    /// Checks what it says, which came at `now_ns`.
    ///
    /// # Errors
    /// What of it cannot be.
    pub(crate) fn take(&mut self, said: &WatchMessage, now_ns: i64) -> Result<(), String> {
        if self.is_over {
            return Err("readings behind their end".to_owned());
        }
        self.heard_ns = self.heard_ns.max(now_ns);
        match said {
            WatchMessage::Begun { names, boot, .. } => {
                if std::mem::replace(&mut self.is_begun, true) || names.len() > NAMES_MAX {
                    return Err("a second begin of readings, or too many names".to_owned());
                }
                names.iter().chain([boot]).try_for_each(|name| checked_text(name))
            }
            WatchMessage::Step(step) => self.step(step, now_ns),
            WatchMessage::Unread(what) => {
                self.remarks += 1;
                if self.remarks > REMARKS_MAX {
                    return Err(format!("more than {REMARKS_MAX} remarks on readings"));
                }
                checked_text(what)
            }
            WatchMessage::Sockets { text, is_last } => {
                if self.has_sockets || (text.is_empty() && !is_last) {
                    return Err("sockets behind their end, or nothing of them".to_owned());
                }
                self.has_sockets = *is_last;
                self.sockets_bytes += text.len();
                if text.len() > PART_BYTES || self.sockets_bytes > SOCKETS_BYTES_MAX {
                    return Err(format!("more than {SOCKETS_BYTES_MAX} bytes of sockets"));
                }
                Ok(())
            }
            WatchMessage::Ended { .. } => {
                self.is_over = true;
                Ok(())
            }
        }
    }

    fn step(&mut self, step: &WatchStep, now_ns: i64) -> Result<(), String> {
        let number = step.step;
        if !self.is_begun || number <= self.step || number > self.order.steps {
            return Err(format!("step {number} behind step {}, of {}", self.step, self.order.steps));
        }
        // Two seconds for what is thought wrong of its clock.
        if self.order.due_ns(number).saturating_sub(self.offset_ns) > now_ns.saturating_add(2_000_000_000) {
            return Err(format!("step {number} before its time"));
        }
        self.step = number;
        self.series += step.named.len();
        if self.series > WATCH_SERIES_MAX || step.values.len() > WATCH_SERIES_MAX {
            return Err(format!("more than {WATCH_SERIES_MAX} series"));
        }
        step.named.iter().try_for_each(|(_, part)| checked_text(part))?;
        let wrong = step.values.iter().find(|(of, value)| *of as usize >= self.series || !is_sound(*value));
        wrong.map_or(Ok(()), |(of, value)| Err(format!("a value of {value} of series {of}")))
    }

    /// Why it is not waited for any longer.
    pub(crate) fn overdue(&self, now_ns: i64) -> Option<String> {
        let is_late = now_ns.saturating_sub(self.heard_ns) > self.order.step_ns().saturating_add(SILENT_NS);
        (!self.is_over && is_late).then(|| format!("no reading for {} s", SILENT_NS / 1_000_000_000))
    }
}

/// Bytes a second of the fastest links and drives of a machine are below, and so is everything else.
fn is_sound(value: f64) -> bool {
    (0.0..=1e15).contains(&value)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn order() -> WatchOrder {
        WatchOrder {
            begin_ns: 100 * SECOND,
            step_ms: 1_000,
            steps: 10,
            ports: Vec::new(),
            sockets: false,
            is_client: false,
        }
    }

    fn begun() -> WatchedAgent {
        let mut agent = WatchedAgent::new(order(), 0, 100 * SECOND);
        assert_eq!(
            agent.take(
                &WatchMessage::Begun { names: vec!["n1".to_owned()], boot: String::new(), own_drives: false },
                100 * SECOND
            ),
            Ok(())
        );
        agent
    }

    fn step(number: u32, named: &[&str], values: &[(u32, f64)]) -> WatchMessage {
        let named = named.iter().map(|part| (ReadMeasure::LinkSent, (*part).to_owned())).collect();
        WatchMessage::Step(Box::new(WatchStep { step: number, named, values: values.to_vec() }))
    }

    #[test]
    fn what_an_agent_cannot_have_read_is_refused() {
        let mut agent = begun();
        assert_eq!(agent.take(&step(1, &["eth0"], &[(0, 5.0)]), 101 * SECOND), Ok(()));
        for (said, at_s, part) in [
            (step(1, &[], &[]), 102, "step 1 behind step 1"),
            (step(11, &[], &[]), 120, "step 11 behind"),
            (step(9, &[], &[]), 102, "before its time"),
            (step(2, &["a\u{1b}"], &[]), 102, "control characters"),
            (step(2, &[], &[(1, 1.0)]), 102, "of series 1"),
            (step(2, &[], &[(0, -1.0)]), 102, "a value of -1"),
            (step(2, &[], &[(0, f64::INFINITY)]), 102, "a value of inf"),
            (step(2, &["x"; WATCH_SERIES_MAX + 1], &[]), 102, "series"),
            (WatchMessage::Begun { names: Vec::new(), boot: String::new(), own_drives: false }, 102, "second begin"),
            (WatchMessage::Unread("x".repeat(513)), 102, "too long"),
            (WatchMessage::Sockets { text: String::new(), is_last: false }, 102, "nothing of them"),
            (WatchMessage::Sockets { text: "x".repeat(PART_BYTES + 1), is_last: true }, 102, "bytes of sockets"),
        ] {
            let why = agent.clone().take(&said, at_s * SECOND).unwrap_err();
            assert!(why.contains(part), "{part}: {why}");
        }
        let last = WatchMessage::Sockets { text: String::new(), is_last: true };
        assert_eq!(agent.take(&last, 111 * SECOND), Ok(()));
        assert!(agent.take(&last, 111 * SECOND).is_err());
        assert_eq!(agent.take(&WatchMessage::Ended { took_us: 1 }, 111 * SECOND), Ok(()));
        assert!(agent.take(&step(2, &[], &[]), 111 * SECOND).is_err());
    }

    #[test]
    fn steps_are_counted_by_the_agents_clock_and_silence_is_bounded() {
        let mut ahead =
            WatchedAgent::new(WatchOrder { begin_ns: 5_000 * SECOND, ..order() }, 4_900 * SECOND, 99 * SECOND);
        ahead
            .take(&WatchMessage::Begun { names: Vec::new(), boot: String::new(), own_drives: false }, 100 * SECOND)
            .unwrap();
        assert_eq!(ahead.take(&step(1, &[], &[]), 101 * SECOND), Ok(()));
        assert_eq!(ahead.overdue(132 * SECOND), None);
        assert!(ahead.overdue(133 * SECOND).unwrap().contains("no reading for 30 s"));
        ahead.take(&WatchMessage::Ended { took_us: 1 }, 133 * SECOND).unwrap();
        assert_eq!(ahead.overdue(1_000 * SECOND), None);
    }
}
