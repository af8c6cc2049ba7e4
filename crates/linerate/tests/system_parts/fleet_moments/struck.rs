//! A coordinator, what it says while it works, and what is done to it and to its nodes at a moment.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use libtest_mimic::Failed;
use linerate_record::rollout::RolloutReport;
use rustix::process::{Pid, Signal, kill_process};

use super::drawn::{Aim, Blow, Heals, Moment, Strike, Verb};
use crate::system_parts::fleet_network::CutWay;
use crate::system_parts::fleet_nodes::Nodes;

/// Longer than any verb may take: a node that does not answer is waited for until it must have rolled its changes back,
/// which is two minutes and a quarter, and is then asked to for half a minute, each time for ten seconds.
const LONGEST: Duration = Duration::from_secs(300);

/// How often is looked whether the moment has come, and, behind it, whether something ends.
const LOOK: Duration = Duration::from_millis(3);
const REST: Duration = Duration::from_millis(20);

/// How a verb ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// None where a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) report: Option<RolloutReport>,
    pub(super) said: Vec<String>,
    pub(super) begun: Instant,
}

/// What is said of a phase, and when.
type Said = Vec<(Duration, String)>;

/// A verb that nothing disturbed.
#[derive(Clone, Debug)]
pub(super) struct Undisturbed {
    said: Said,
    took: Duration,
}

/// A verb of a fleet that runs.
pub(super) struct Coordinator {
    child: Child,
    begun: Instant,
    said: Arc<Mutex<Said>>,
    errors: JoinHandle<()>,
    output: JoinHandle<Vec<u8>>,
}

impl Coordinator {
    pub(super) fn start(nodes: &Nodes, words: &[&str]) -> Result<Coordinator, Failed> {
        let mut command = nodes.command(words);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let (begun, said) = (Instant::now(), Arc::<Mutex<Said>>::default());
        let (errors, mut output) = (child.stderr.take().ok_or("piped")?, child.stdout.take().ok_or("piped")?);
        let heard = Arc::clone(&said);
        let errors = thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                heard.lock().unwrap_or_else(PoisonError::into_inner).push((begun.elapsed(), line));
            }
        });
        let output = thread::spawn(move || {
            let mut bytes = Vec::new();
            // What it could not say is no report.
            let _ = output.read_to_end(&mut bytes);
            bytes
        });
        Ok(Coordinator { child, begun, said, errors, output })
    }

    fn said(&self) -> Said {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn signal(&self, signal: Signal) {
        // Its number is no other's before it was waited for.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }

    /// Waits for its end.
    pub(super) fn ended(mut self) -> Result<(Ended, Undisturbed), Failed> {
        let status = loop {
            if let Some(status) = self.child.try_wait()? {
                break status;
            }
            if self.begun.elapsed() > LONGEST {
                self.signal(Signal::KILL);
                self.child.wait()?;
                return Err(format!("it did not end in {LONGEST:?}: {:?}", self.said()).into());
            }
            thread::sleep(LOOK);
        };
        self.heard(status)
    }

    fn heard(self, status: ExitStatus) -> Result<(Ended, Undisturbed), Failed> {
        let took = self.begun.elapsed();
        let output = self.output.join().map_err(|_| "its output was not read")?;
        self.errors.join().map_err(|_| "its errors were not read")?;
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let lines = said.iter().map(|(_, line)| line.clone()).collect();
        let report = serde_json::from_slice(&output).ok();
        Ok((Ended { code: status.code(), report, said: lines, begun: self.begun }, Undisturbed { said, took }))
    }
}

/// The phase that a line begins; none where it is about something else.
fn phase_of(line: &str) -> Option<&'static str> {
    match line {
        "looking at all nodes" => Some("looking"),
        "looking at all nodes again" => Some("looking again"),
        "preparing to confirm" => Some("extending"),
        "confirming" => Some("confirming"),
        _ if line.starts_with("rolling back") => Some("rolling back"),
        _ if line.starts_with("wave ") && line.contains(": applying") => Some("applying"),
        _ if line.starts_with("wave ") && line.contains(": checking") => Some("checking"),
        _ => None,
    }
}

/// The phase that a verb begins with, before it says of any.
const fn first(verb: Verb) -> &'static str {
    match verb {
        Verb::Apply => "looking",
        Verb::Confirm | Verb::Rollback => "asking",
        Verb::Status => "telling",
    }
}

/// The phase in which a coordinator is that has said this.
fn phase(verb: Verb, said: &[(Duration, String)]) -> &'static str {
    said.iter().rev().find_map(|(_, line)| phase_of(line)).unwrap_or_else(|| first(verb))
}

impl Undisturbed {
    fn steps(&self) -> Vec<&(Duration, String)> {
        self.said.iter().filter(|(_, line)| phase_of(line).is_some()).collect()
    }

    /// Whether it went the same way in less time: the less this machine does beside it, the sooner a moment is over.
    pub(super) fn is_sooner_than(&self, other: &Undisturbed) -> bool {
        let lines = |of: &Undisturbed| of.steps().into_iter().map(|(_, line)| line.clone()).collect::<Vec<String>>();
        self.took < other.took && lines(self) == lines(other)
    }
}

/// When a moment is.
#[derive(Debug)]
enum Due {
    /// So long after the verb began.
    At(Duration),
    /// So long after it said a line.
    Behind(String, Duration),
    /// So long after a node had a journal.
    Journal(usize, Duration),
}

fn due(moment: &Moment, undisturbed: &Undisturbed) -> Result<Due, Failed> {
    // More of them early: a phase may be over sooner than it was undisturbed.
    let early = moment.share * moment.share;
    let wanted = match moment.aim {
        Aim::Anywhere => return Ok(Due::At(undisturbed.took.mul_f64(moment.share))),
        Aim::Journal => return Ok(Due::Journal(moment.node, Duration::from_millis((early * 60.0) as u64))),
        Aim::Phase(wanted) => wanted,
    };
    let steps = undisturbed.steps();
    if wanted == first(moment.verb) && !steps.iter().any(|(_, line)| phase_of(line) == Some(wanted)) {
        let until = steps.first().map_or(undisturbed.took, |next| next.0);
        return Ok(Due::At(until.mul_f64(early)));
    }
    let end = |step: usize| steps.get(step + 1).map_or(undisturbed.took, |next| next.0);
    let of_phase: Vec<usize> = (0..steps.len()).filter(|step| phase_of(&steps[*step].1) == Some(wanted)).collect();
    let which = ((moment.which * of_phase.len() as f64) as usize).min(of_phase.len().saturating_sub(1));
    let step = *of_phase.get(which).ok_or_else(|| format!("no {wanted} without being disturbed: {undisturbed:?}"))?;
    Ok(Due::Behind(steps[step].1.clone(), end(step).saturating_sub(steps[step].0).mul_f64(early)))
}

/// Since when the moment is there, if what it waits for has come.
fn came(due: &Due, coordinator: &Coordinator, nodes: &Nodes) -> Option<Instant> {
    match due {
        Due::At(after) => Some(coordinator.begun + *after),
        Due::Behind(wanted, after) => {
            let said = coordinator.said();
            // By when it was heard, which the length of the phase is by too.
            said.iter().find(|(_, line)| line == wanted).map(|(at, _)| coordinator.begun + *at + *after)
        }
        Due::Journal(node, after) => nodes.journal_bytes(*node).map(|_| Instant::now() + *after),
    }
}

/// Something that ends later.
#[derive(Debug)]
pub(super) struct Healing {
    pub(super) at: Instant,
    blow: Blow,
    pub(super) nodes: Vec<usize>,
}

impl Healing {
    /// Ends it; the coordinator is another's.
    pub(super) fn heal(&self, nodes: &Nodes) -> Result<(), Failed> {
        match self.blow {
            Blow::CutTo => nodes.network().heal(&self.nodes, CutWay::To)?,
            Blow::CutFrom => nodes.network().heal(&self.nodes, CutWay::From)?,
            Blow::CutBoth => nodes.network().heal(&self.nodes, CutWay::Both)?,
            Blow::AgentsFrozen | Blow::NodesFrozen => {
                let with_watches = self.blow == Blow::NodesFrozen;
                self.nodes.iter().for_each(|node| _ = nodes.signal(*node, Signal::CONT, with_watches));
            }
            Blow::DisksFull => self.nodes.iter().for_each(|node| nodes.empty(*node)),
            Blow::CoordinatorKilled | Blow::CoordinatorFrozen | Blow::AgentsKilled | Blow::NodesKilled => {}
        }
        Ok(())
    }

    /// Whether a process of a node stands still until then.
    pub(super) const fn holds_processes(&self) -> bool {
        matches!(self.blow, Blow::AgentsFrozen | Blow::NodesFrozen)
    }
}

fn hit(strike: &Strike, nodes: &Nodes, coordinator: Option<&Coordinator>) -> Result<(), Failed> {
    let each = |signal: Signal, with_watches: bool| {
        strike.nodes.iter().for_each(|node| _ = nodes.signal(*node, signal, with_watches));
    };
    match strike.blow {
        Blow::CoordinatorKilled => coordinator.iter().for_each(|one| one.signal(Signal::KILL)),
        Blow::CoordinatorFrozen => coordinator.iter().for_each(|one| one.signal(Signal::STOP)),
        Blow::CutTo => nodes.network().cut(&strike.nodes, CutWay::To)?,
        Blow::CutFrom => nodes.network().cut(&strike.nodes, CutWay::From)?,
        Blow::CutBoth => nodes.network().cut(&strike.nodes, CutWay::Both)?,
        Blow::AgentsKilled => each(Signal::KILL, false),
        Blow::NodesKilled => each(Signal::KILL, true),
        Blow::AgentsFrozen => each(Signal::STOP, false),
        Blow::NodesFrozen => each(Signal::STOP, true),
        Blow::DisksFull => strike.nodes.iter().try_for_each(|node| nodes.fill(*node, strike.left_pages))?,
    }
    Ok(())
}

/// What came of a verb that was disturbed.
#[derive(Debug)]
pub(super) struct Struck {
    pub(super) ended: Ended,
    /// When it was, from the beginning of the verb, and what it was about; none where the verb ended before.
    pub(super) at: Option<(Duration, &'static str)>,
    /// What has not ended yet, the next first.
    pub(super) healings: Vec<Healing>,
    /// Whether the coordinator was killed.
    pub(super) is_killed: bool,
}

/// Runs a verb, and disturbs it. What ends late ends `late` after the verb began.
pub(super) fn struck(
    (nodes, words): (&Nodes, &[&str]),
    moment: &Moment,
    undisturbed: &Undisturbed,
    late: Duration,
) -> Result<Struck, Failed> {
    let (mut healings, mut at, mut is_killed): (Vec<Healing>, _, _) = (Vec::new(), None, false);
    let due = due(moment, undisturbed)?;
    let begins = Instant::now();
    let healing = |strike: &Strike| {
        let at = match strike.heals {
            Heals::AfterMs(after) => Instant::now() + Duration::from_millis(after),
            Heals::PastTheDeadline => begins + late,
        };
        Healing { at, blow: strike.blow, nodes: strike.nodes.clone() }
    };
    let (before, during): (Vec<&Strike>, Vec<&Strike>) = moment.strikes.iter().partition(|strike| strike.is_before);
    for strike in before {
        hit(strike, nodes, None)?;
        healings.push(healing(strike));
    }
    let mut coordinator = Coordinator::start(nodes, words)?;
    let (mut left, mut came_at): (VecDeque<&Strike>, Option<Instant>) = (during.into(), None);
    let status = loop {
        if let Some(status) = coordinator.child.try_wait()? {
            break status;
        }
        if coordinator.begun.elapsed() > LONGEST {
            coordinator.signal(Signal::KILL);
            coordinator.child.wait()?;
            return Err(format!("it did not end in {LONGEST:?}: {:?}", coordinator.said()).into());
        }
        came_at = came_at.or_else(|| came(&due, &coordinator, nodes));
        let is_due = |strike: &&Strike| {
            came_at.is_some_and(|came| Instant::now() >= came + Duration::from_millis(strike.after_ms))
        };
        if left.front().is_some_and(is_due)
            && let Some(strike) = left.pop_front()
        {
            let now = (coordinator.begun.elapsed(), phase(moment.verb, &coordinator.said()));
            hit(strike, nodes, Some(&coordinator))?;
            is_killed |= strike.blow == Blow::CoordinatorKilled;
            at = at.or(Some(now));
            healings.extend(strike.blow.can_end().then(|| healing(strike)));
        }
        let (over, rest): (Vec<Healing>, _) = healings.into_iter().partition(|one| Instant::now() >= one.at);
        healings = rest;
        for one in over {
            one.heal(nodes)?;
            if one.blow == Blow::CoordinatorFrozen {
                coordinator.signal(Signal::CONT);
            }
        }
        thread::sleep(if left.is_empty() { REST } else { LOOK });
    };
    let (ended, _) = coordinator.heard(status)?;
    if is_killed {
        // The last that it said tells more exactly what it was about.
        let said: Said = ended.said.iter().map(|line| (Duration::ZERO, line.clone())).collect();
        at = at.map(|(at, seen)| (at, if moment.strikes.len() == 1 { phase(moment.verb, &said) } else { seen }));
    }
    if at.is_none() && moment.strikes.iter().all(|strike| strike.is_before) {
        at = Some((Duration::ZERO, "before"));
    }
    healings.sort_by_key(|one| one.at);
    Ok(Struck { ended, at, healings, is_killed })
}
