//! The agent's side of a watch: a thread that looks at the machine step by step, and says what it read. It only reads.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use linerate_fleet::message_limits::{in_parts, printable};
use linerate_fleet::watch_protocol::{SOCKETS_EACH_MS, WatchMessage, WatchOrder, WatchStep};
use linerate_host::live::sockets::{self, SocketWatch, SocketsRequest};
use linerate_host::live::{self, LiveLook, LiveRequest};
use linerate_host::{Root, boot_id};
use linerate_record::readings::{PortRange, ReadMeasure, ReadValue};
use linerate_wire::clock::thread_cpu_ns;

use super::{AgentClock, AgentEvent};

/// A watch under way; dropping it ends it.
pub(super) struct AgentWatch {
    end: Sender<()>,
}

impl AgentWatch {
    /// Ends it at the next instant at which it waits; what sockets did until then is said.
    pub(super) fn end_early(&self) {
        // It may be over.
        let _ = self.end.send(());
    }
}

pub(super) fn begin(order: WatchOrder, clock: AgentClock, event_sender: Sender<AgentEvent>) -> AgentWatch {
    let (end, ended) = channel();
    thread::spawn(move || watch(&order, clock, &ended, &event_sender));
    AgentWatch { end }
}

/// Looks of sockets, each when it is due.
struct SocketSampler {
    watch: SocketWatch,
    due_ms: u64,
}

fn watch(order: &WatchOrder, clock: AgentClock, ended: &Receiver<()>, event_sender: &Sender<AgentEvent>) {
    // Nobody may listen any more.
    let say = |said: WatchMessage| drop(event_sender.send(AgentEvent::Watched(said)));
    let root = Root::live();
    let mut state = live::begin(&root, &LiveRequest { engine_pids: engine_pids(order), ..LiveRequest::default() });
    let mut sockets = order.sockets.then(|| start_socket_sampler(&root, order, &say));
    let (mut numbers, mut kept, mut step) = (HashMap::new(), Vec::new(), 0);
    let now_ms = || clock.clock.now_ns() / 1_000_000;
    loop {
        match wait_for(order, step, clock, ended) {
            StepWait::Due => {}
            StepWait::ToEnd => {
                sockets.iter_mut().for_each(|sockets| sample_sockets(sockets, order, now_ms(), &say));
                break;
            }
            StepWait::Alone => return,
        }
        let now_ms = now_ms();
        let mut look = live::look(&root, &mut state, now_ms);
        if let Some(sockets) = sockets.as_mut().filter(|sockets| sockets.due_ms <= now_ms || step == order.steps) {
            sample_sockets(sockets, order, now_ms, &say);
        }
        if step == 0 {
            let (names, boot) = (names(&mut look), printable(&boot_id(&root)));
            say(WatchMessage::Begun { names, boot, own_drives: state.has_own_drives() });
        }
        let (values, reported) = split_look(look);
        reported.iter().for_each(|what| say(unread_message(what)));
        kept.extend(values);
        if step > 0 {
            say(WatchMessage::Step(Box::new(to_watch_step(step, std::mem::take(&mut kept), &mut numbers))));
        }
        if step == order.steps {
            break;
        }
        step = next_step(order, step, clock);
    }
    if let Some(sockets) = sockets {
        let seen = serde_json::to_string(&sockets::end(sockets.watch)).unwrap_or_default();
        let part = |(text, is_last): (&str, bool)| WatchMessage::Sockets { text: text.to_owned(), is_last };
        in_parts(&seen).map(part).for_each(say);
    }
    say(WatchMessage::Ended { took_us: thread_cpu_ns() / 1_000 });
}

fn sample_sockets(sockets: &mut SocketSampler, order: &WatchOrder, now_ms: u64, say: &impl Fn(WatchMessage)) {
    let look = sockets::look(&mut sockets.watch, now_ms);
    sockets.due_ms = sockets::due_ms(&sockets.watch, now_ms, SOCKETS_EACH_MS.max(order.step_ms));
    look.unreadable.into_iter().for_each(|what| say(unread_message(&what.to_string())));
}

/// Processes to take for the engine's; none where they are to be found. A client has no engine, and connects from the
/// network namespace of its agent.
fn engine_pids(order: &WatchOrder) -> Vec<u32> {
    if order.is_client { vec![std::process::id()] } else { Vec::new() }
}

/// Finds the sockets of the engine.
fn start_socket_sampler(root: &Root, order: &WatchOrder, say: &impl Fn(WatchMessage)) -> SocketSampler {
    let ports = order.ports.iter().map(|(first, last)| PortRange { first: *first, last: *last }).collect();
    let (watch, unreadable) = sockets::begin(root, &SocketsRequest { ports, pids: engine_pids(order) });
    unreadable.into_iter().for_each(|what| say(unread_message(&what.to_string())));
    SocketSampler { watch, due_ms: 0 }
}

/// What waiting for a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StepWait {
    /// The step is due.
    Due,
    /// The watch is to end, and to say what it saw.
    ToEnd,
    /// Nobody listens any more.
    Alone,
}

/// Waits for a step.
fn wait_for(order: &WatchOrder, step: u32, clock: AgentClock, ended: &Receiver<()>) -> StepWait {
    let left_ns = order.due_ns(step).saturating_sub(clock.now_ns());
    let left = Duration::from_nanos(u64::try_from(left_ns).unwrap_or(0));
    match ended.recv_timeout(left) {
        Ok(()) => StepWait::ToEnd,
        Err(RecvTimeoutError::Timeout) => StepWait::Due,
        Err(RecvTimeoutError::Disconnected) => StepWait::Alone,
    }
}

/// The step after one: of those that have passed meanwhile, the last.
fn next_step(order: &WatchOrder, step: u32, clock: AgentClock) -> u32 {
    let is_past = |step: u32| order.due_ns(step) < clock.now_ns();
    let mut next = step + 1;
    while next < order.steps && is_past(next + 1) {
        next += 1;
    }
    next
}

/// Names of the machine, out of what a look gives.
fn names(look: &mut LiveLook) -> Vec<String> {
    let names = std::mem::take(&mut look.names).into_iter().filter(|name| name.part.is_empty());
    names.map(|name| printable(&name.name)).collect()
}

/// What a look gives, and what it tells.
fn split_look(look: LiveLook) -> (Vec<ReadValue>, Vec<String>) {
    let reported = look.unreadable.iter().map(ToString::to_string).chain(look.remarks).collect();
    (look.values, reported)
}

fn unread_message(what: &str) -> WatchMessage {
    WatchMessage::Unread(printable(what))
}

/// Values by the numbers of their series; the last of each counts.
fn to_watch_step(step: u32, values: Vec<ReadValue>, numbers: &mut HashMap<(ReadMeasure, String), u32>) -> WatchStep {
    let mut said = WatchStep { step, ..WatchStep::default() };
    let mut places: HashMap<u32, usize> = HashMap::new();
    for ReadValue { of, part, value } in values {
        let part = printable(&part);
        let next = numbers.len() as u32;
        let number = *numbers.entry((of, part.clone())).or_insert_with(|| {
            said.named.push((of, part));
            next
        });
        let value = rounded(value);
        match places.get(&number) {
            Some(&place) => said.values[place].1 = value,
            None => {
                places.insert(number, said.values.len());
                said.values.push((number, value));
            }
        }
    }
    said
}

/// Six digits that count: what is read is no more exact, and fewer digits cross to the coordinator.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use linerate_fleet::message_limits::{PART_BYTES, TEXT_BYTES_MAX};

    use super::*;

    fn value(part: &str, value: f64) -> ReadValue {
        ReadValue { of: ReadMeasure::LinkSent, part: part.to_owned(), value }
    }

    #[test]
    fn a_series_is_named_once_and_its_last_value_counts() {
        let mut numbers = HashMap::new();
        let first = to_watch_step(1, vec![value("a", 1.0), value("b", 2.0), value("a", 3.0)], &mut numbers);
        assert_eq!(first.named.len(), 2);
        assert_eq!(first.values, [(0, 3.0), (1, 2.0)]);
        let second = to_watch_step(2, vec![value("c", 1_234_567.891), value("b", 0.0)], &mut numbers);
        assert_eq!(second.named, [(ReadMeasure::LinkSent, "c".to_owned())]);
        assert_eq!(second.values, [(2, 1_234_570.0), (1, 0.0)]);
    }

    #[test]
    fn long_texts_go_in_parts_and_short_ones_without_control_characters() {
        let long = "x".repeat(PART_BYTES * 2);
        let lasts: Vec<bool> = in_parts(&long).map(|(_, is_last)| is_last).collect();
        assert_eq!(lasts, [false, true]);
        assert_eq!(printable("a\u{1b}[2Jb"), "a[2Jb");
        assert_eq!(printable(&"é".repeat(400)).len(), TEXT_BYTES_MAX);
    }

    fn order(clock: AgentClock, steps: u32) -> WatchOrder {
        let begin_ns = clock.now_ns();
        WatchOrder { begin_ns, step_ms: 300, steps, ports: vec![(9, 9)], sockets: true, is_client: true }
    }

    /// All that is said of a watch, which `happens` sees as it comes.
    fn collect_messages(reported: &Receiver<AgentEvent>, mut happens: impl FnMut(&WatchMessage)) -> Vec<WatchMessage> {
        let mut said = Vec::new();
        while !matches!(said.last(), Some(WatchMessage::Ended { .. })) {
            let Ok(AgentEvent::Watched(one)) = reported.recv_timeout(Duration::from_secs(120)) else {
                panic!("{said:?}")
            };
            happens(&one);
            said.push(one);
        }
        said
    }

    fn steps(said: &[WatchMessage]) -> Vec<&WatchStep> {
        let steps =
            said.iter().filter_map(|said| if let WatchMessage::Step(step) = said { Some(&**step) } else { None });
        steps.collect()
    }

    #[test]
    fn a_watch_reads_this_machine_and_ends() {
        let clock = AgentClock::begin(super::super::unix_ns);
        let (event_sender, reported) = channel();
        let _running = begin(order(clock, 3), clock, event_sender);
        let said = collect_messages(&reported, |_| {});
        let steps = steps(&said);
        assert!(steps.last().is_some_and(|step| step.step == 3), "{said:?}");
        let named: Vec<ReadMeasure> = steps.iter().flat_map(|step| &step.named).map(|(of, _)| *of).collect();
        assert!(named.contains(&ReadMeasure::CoresBusy) && named.contains(&ReadMeasure::Cores), "{named:?}");
        assert!(said.iter().any(|said| matches!(said, WatchMessage::Sockets { is_last: true, .. })));
    }

    #[test]
    fn a_watch_that_is_to_end_says_what_sockets_did_so_far_and_one_without_a_listener_says_nothing() {
        let clock = AgentClock::begin(super::super::unix_ns);
        let (event_sender, reported) = channel();
        let running = begin(order(clock, 1_000), clock, event_sender);
        let said = collect_messages(&reported, |one| {
            if matches!(one, WatchMessage::Step(_)) {
                running.end_early();
            }
        });
        assert!((1..=3).contains(&steps(&said).len()), "{said:?}");
        assert!(said.iter().any(|said| matches!(said, WatchMessage::Sockets { is_last: true, .. })));
        let (event_sender, reported) = channel();
        drop(begin(order(clock, 1_000), clock, event_sender));
        assert!(reported.iter().all(|event| !matches!(event, AgentEvent::Watched(WatchMessage::Ended { .. }))));
    }
}
