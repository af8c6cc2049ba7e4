//! The agent's side of a watch: a thread that looks at the machine step by step, and says what it read. It only reads.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use linerate_fleet::bounds::{in_parts, printable};
use linerate_fleet::watching::{SOCKETS_EACH_MS, WatchOrder, WatchSaid, WatchStep};
use linerate_host::live::sockets::{self, SocketWatch, SocketsAsked};
use linerate_host::live::{self, LiveAsked, LiveLook};
use linerate_host::{Root, boot_id};
use linerate_record::readings::{PortRange, ReadMeasure, ReadValue};
use linerate_wire::clock::thread_cpu_ns;

use super::{AgentClock, Happening};

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

/// Begins to watch.
pub(super) fn begin(order: WatchOrder, clock: AgentClock, tell: Sender<Happening>) -> AgentWatch {
    let (end, ended) = channel();
    thread::spawn(move || watch(&order, clock, &ended, &tell));
    AgentWatch { end }
}

/// Looks of sockets, each when it is due.
struct SocketLooks {
    watch: SocketWatch,
    due_ms: u64,
}

fn watch(order: &WatchOrder, clock: AgentClock, ended: &Receiver<()>, tell: &Sender<Happening>) {
    // Nobody may listen any more.
    let say = |said: WatchSaid| drop(tell.send(Happening::Watched(said)));
    let root = Root::live();
    let mut state = live::begin(&root, &LiveAsked { engine_pids: engine_pids(order), ..LiveAsked::default() });
    let mut sockets = order.sockets.then(|| begin_sockets(&root, order, &say));
    let (mut numbers, mut kept, mut step) = (HashMap::new(), Vec::new(), 0);
    let now_ms = || clock.clock.now_ns() / 1_000_000;
    loop {
        match wait_for(order, step, clock, ended) {
            Waited::Due => {}
            Waited::ToEnd => {
                sockets.iter_mut().for_each(|sockets| look_at_sockets(sockets, order, now_ms(), &say));
                break;
            }
            Waited::Alone => return,
        }
        let now_ms = now_ms();
        let mut look = live::look(&root, &mut state, now_ms);
        if let Some(sockets) = sockets.as_mut().filter(|sockets| sockets.due_ms <= now_ms || step == order.steps) {
            look_at_sockets(sockets, order, now_ms, &say);
        }
        if step == 0 {
            let (names, boot) = (names(&mut look), printable(&boot_id(&root)));
            say(WatchSaid::Begun { names, boot, own_drives: state.has_own_drives() });
        }
        let (values, told) = parts(look);
        told.iter().for_each(|what| say(unread(what)));
        kept.extend(values);
        if step > 0 {
            say(WatchSaid::Step(Box::new(in_numbers(step, std::mem::take(&mut kept), &mut numbers))));
        }
        if step == order.steps {
            break;
        }
        step = next_step(order, step, clock);
    }
    if let Some(sockets) = sockets {
        let seen = serde_json::to_string(&sockets::end(sockets.watch)).unwrap_or_default();
        let part = |(text, is_last): (&str, bool)| WatchSaid::Sockets { text: text.to_owned(), is_last };
        in_parts(&seen).map(part).for_each(say);
    }
    say(WatchSaid::Ended { took_us: thread_cpu_ns() / 1_000 });
}

fn look_at_sockets(sockets: &mut SocketLooks, order: &WatchOrder, now_ms: u64, say: &impl Fn(WatchSaid)) {
    let look = sockets::look(&mut sockets.watch, now_ms);
    sockets.due_ms = sockets::due_ms(&sockets.watch, now_ms, SOCKETS_EACH_MS.max(order.step_ms));
    look.unreadable.into_iter().for_each(|what| say(unread(&what.to_string())));
}

/// Processes to take for the engine's; none where they are to be found. A client has no engine, and connects from the
/// network namespace of its agent.
fn engine_pids(order: &WatchOrder) -> Vec<u32> {
    if order.is_client { vec![std::process::id()] } else { Vec::new() }
}

/// Finds the sockets of the engine.
fn begin_sockets(root: &Root, order: &WatchOrder, say: &impl Fn(WatchSaid)) -> SocketLooks {
    let ports = order.ports.iter().map(|(first, last)| PortRange { first: *first, last: *last }).collect();
    let (watch, unreadable) = sockets::begin(root, &SocketsAsked { ports, pids: engine_pids(order) });
    unreadable.into_iter().for_each(|what| say(unread(&what.to_string())));
    SocketLooks { watch, due_ms: 0 }
}

/// What waiting for a step came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waited {
    /// The step is due.
    Due,
    /// The watch is to end, and to say what it saw.
    ToEnd,
    /// Nobody listens any more.
    Alone,
}

/// Waits for a step.
fn wait_for(order: &WatchOrder, step: u32, clock: AgentClock, ended: &Receiver<()>) -> Waited {
    let left_ns = order.due_ns(step).saturating_sub(clock.now_ns());
    let left = Duration::from_nanos(u64::try_from(left_ns).unwrap_or(0));
    match ended.recv_timeout(left) {
        Ok(()) => Waited::ToEnd,
        Err(RecvTimeoutError::Timeout) => Waited::Due,
        Err(RecvTimeoutError::Disconnected) => Waited::Alone,
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
fn parts(look: LiveLook) -> (Vec<ReadValue>, Vec<String>) {
    let told = look.unreadable.iter().map(ToString::to_string).chain(look.remarks).collect();
    (look.values, told)
}

fn unread(what: &str) -> WatchSaid {
    WatchSaid::Unread(printable(what))
}

/// Values by the numbers of their series; the last of each counts.
fn in_numbers(step: u32, values: Vec<ReadValue>, numbers: &mut HashMap<(ReadMeasure, String), u32>) -> WatchStep {
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
    use linerate_fleet::bounds::{PART_BYTES, TEXT_BYTES_MAX};

    use super::*;

    fn value(part: &str, value: f64) -> ReadValue {
        ReadValue { of: ReadMeasure::LinkSent, part: part.to_owned(), value }
    }

    #[test]
    fn a_series_is_named_once_and_its_last_value_counts() {
        let mut numbers = HashMap::new();
        let first = in_numbers(1, vec![value("a", 1.0), value("b", 2.0), value("a", 3.0)], &mut numbers);
        assert_eq!(first.named.len(), 2);
        assert_eq!(first.values, [(0, 3.0), (1, 2.0)]);
        let second = in_numbers(2, vec![value("c", 1_234_567.891), value("b", 0.0)], &mut numbers);
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
    fn all_said(told: &Receiver<Happening>, mut happens: impl FnMut(&WatchSaid)) -> Vec<WatchSaid> {
        let mut said = Vec::new();
        while !matches!(said.last(), Some(WatchSaid::Ended { .. })) {
            let Ok(Happening::Watched(one)) = told.recv_timeout(Duration::from_secs(120)) else { panic!("{said:?}") };
            happens(&one);
            said.push(one);
        }
        said
    }

    fn steps(said: &[WatchSaid]) -> Vec<&WatchStep> {
        let steps = said.iter().filter_map(|said| if let WatchSaid::Step(step) = said { Some(&**step) } else { None });
        steps.collect()
    }

    #[test]
    fn a_watch_reads_this_machine_and_ends() {
        let clock = AgentClock::begin(super::super::unix_ns);
        let (tell, told) = channel();
        let _running = begin(order(clock, 3), clock, tell);
        let said = all_said(&told, |_| {});
        let steps = steps(&said);
        assert!(steps.last().is_some_and(|step| step.step == 3), "{said:?}");
        let named: Vec<ReadMeasure> = steps.iter().flat_map(|step| &step.named).map(|(of, _)| *of).collect();
        assert!(named.contains(&ReadMeasure::CoresBusy) && named.contains(&ReadMeasure::Cores), "{named:?}");
        assert!(said.iter().any(|said| matches!(said, WatchSaid::Sockets { is_last: true, .. })));
    }

    #[test]
    fn a_watch_that_is_to_end_says_what_sockets_did_so_far_and_one_without_a_listener_says_nothing() {
        let clock = AgentClock::begin(super::super::unix_ns);
        let (tell, told) = channel();
        let running = begin(order(clock, 1_000), clock, tell);
        let said = all_said(&told, |one| {
            if matches!(one, WatchSaid::Step(_)) {
                running.end_early();
            }
        });
        assert!((1..=3).contains(&steps(&said).len()), "{said:?}");
        assert!(said.iter().any(|said| matches!(said, WatchSaid::Sockets { is_last: true, .. })));
        let (tell, told) = channel();
        drop(begin(order(clock, 1_000), clock, tell));
        assert!(told.iter().all(|happening| !matches!(happening, Happening::Watched(WatchSaid::Ended { .. }))));
    }
}
