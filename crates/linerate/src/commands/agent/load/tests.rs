//! An agent on pipes, its coordinator at their other ends, and a null target that it loads.

use std::io::{PipeWriter, Read as _, Write as _, pipe};
use std::net::SocketAddr;

use linerate_fleet::conversation::{AgentError, Conversation, LoadEvent};
use linerate_fleet::lease::{EndReason, LAPSES_AFTER};
use linerate_fleet::load_protocol::{ListedObjects, OrderUntil, Pulse};
use linerate_fleet::protocol::{AgentHello, PROTOCOL, ToAgent};
use linerate_load::local_target::null;
use linerate_record::fleet::Allowed;
use linerate_record::load::{Load, Workload};
use linerate_record::machine::Machine;
use linerate_record::run::Op;
use serde_json::json;

use super::super::{AgentContext, serve, unix_ns};
use super::*;

/// A clock that is five seconds behind the machine's.
fn clock_five_s_behind() -> i64 {
    unix_ns() - 5_000_000_000
}

fn null_target() -> SocketAddr {
    let (event_sender, address) = channel();
    thread::spawn(move || {
        null::serve(([127, 0, 0, 1], 0).into(), 1, None, |address| event_sender.send(address).unwrap())
    });
    address.recv().unwrap()
}

fn load(address: SocketAddr) -> Load {
    let load = json!({
        "endpoint": {
            "server": { "hosts": { "authorities": [address.to_string()], "every_address": false } },
            "anonymous": true, "region": "us-east-1", "bucket": "bucket", "prefix": "", "lookup": "path",
            "host_select": "round-robin",
        },
        "work": [{ "workload": "get", "sizes": ["1KiB"] }],
        "objects": { "write": "put", "list_existing": false, "noclear": false },
        "bodies": {
            "payload": "unsigned", "unique": "tail", "part_bytes": 16 << 20, "part_concurrent": 1, "verify": false,
        },
        "levels": { "given": [1] },
        "time": { "duration_ns": 1_000_000_000_u64, "warmup_ns": null, "precision": null },
        "stops": { "timeout_ns": 5_000_000_000_u64, "retries": 0 },
    });
    serde_json::from_value(load).unwrap()
}

fn point(intervals: u64) -> PointOrder {
    PointOrder {
        point: 1,
        target: PointTarget::Hosts,
        workload: Workload::Single(Op::Get),
        sizes: "1KiB".parse().unwrap(),
        concurrency: 2,
        threads: Some(1),
        error_limit: None,
        rate: None,
        max_rate: None,
        write_set: 0,
        write_first: 0,
        read_set: 0,
        read_count: 100,
        delete_first: 0,
        listed: 0,
        listed_most: u64::MAX,
        verify: false,
        until: OrderUntil::Intervals(intervals),
        interval_ns: 100_000_000,
        is_recorded: true,
    }
}

fn order(address: SocketAddr) -> LoadOrder {
    LoadOrder {
        load: load(address),
        addresses: Vec::new(),
        ca_pem: None,
        run_prefix: "run/".to_owned(),
        seed: 1,
        keys: None,
        expected_ms: 1_000,
        existing: None,
    }
}

struct Coordinator {
    conversation: Conversation,
    to: PipeWriter,
    received: Receiver<Vec<u8>>,
    news: Vec<LoadEvent>,
    /// Whether nobody else has requests in flight when its own have ended.
    finishes: bool,
    /// What else happens to the agent.
    event_sender: Sender<AgentEvent>,
    ended: JoinHandle<EndReason>,
}

impl Coordinator {
    fn begin() -> Coordinator {
        let ((input, mut to), (mut from, output)) = (pipe().unwrap(), pipe().unwrap());
        let (event_sender, event_receiver) = channel();
        let hello = AgentHello {
            protocol: PROTOCOL,
            linerate: "0.1.0".to_owned(),
            token: String::new(),
            allowed: Allowed::Load,
            pid: 1,
            is_root: false,
            machine: Machine::default(),
        };
        let ground = AgentContext {
            clock_ns: clock_five_s_behind,
            read: |_| Err("not read".to_owned()),
            lease: LAPSES_AFTER,
            root: None,
            served: None,
        };
        let agent_sender = event_sender.clone();
        let ended = thread::spawn(move || serve(hello, input, output, agent_sender, event_receiver, ground));
        let (bytes, received) = channel();
        thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut piece) {
                if bytes.send(piece[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        let (conversation, first) = Conversation::stay("t".to_owned(), unix_ns(), 5_000_000_000, LAPSES_AFTER);
        to.write_all(&first).unwrap();
        Coordinator { conversation, to, received, news: Vec::new(), finishes: true, event_sender, ended }
    }

    /// Tells it that nobody waits for requests of a point any more.
    fn finish(&mut self, point: u32) {
        self.to.write_all(&frame(&ToAgent::Finish { point }).unwrap()).unwrap();
    }

    /// Goes on until something holds.
    fn until(&mut self, what: &str, holds: impl Fn(&Coordinator) -> bool) {
        let until = Instant::now() + Duration::from_secs(120);
        while !holds(self) {
            assert!(Instant::now() < until, "{what}: {:?}", self.news);
            if let Ok(bytes) = self.received.recv_timeout(Duration::from_millis(20)) {
                self.conversation.take(&bytes, unix_ns()).unwrap();
            }
            self.to.write_all(&self.conversation.due(unix_ns()).unwrap()).unwrap();
            let news: Vec<LoadEvent> = std::iter::from_fn(|| self.conversation.news()).collect();
            if news.contains(&LoadEvent::InFlightEnded) && self.finishes {
                self.finish(1);
            }
            self.news.extend(news);
        }
    }

    /// Has it ready for a point, and tells it to begin in 300 ms; when that is.
    fn prepare_point(&mut self, address: SocketAddr, intervals: u64) -> i64 {
        self.until("it is met", |own| own.conversation.met(unix_ns()).is_some());
        let bytes = self.conversation.load(order(address), unix_ns()).unwrap();
        self.to.write_all(&bytes).unwrap();
        self.until("it has loaded", |own| own.news.iter().any(|news| matches!(news, LoadEvent::Loaded { .. })));
        let bytes = self.conversation.point(point(intervals), unix_ns()).unwrap();
        self.to.write_all(&bytes).unwrap();
        self.until("it is ready", |own| own.news.contains(&LoadEvent::Ready));
        let offset_ns = self.conversation.met(unix_ns()).unwrap().1.offset_ns;
        let at_ns = unix_ns() + 300_000_000;
        let bytes = self.conversation.start(at_ns, offset_ns);
        self.to.write_all(&bytes).unwrap();
        at_ns + offset_ns
    }
}

#[test]
fn an_agent_begins_when_it_is_told_and_tells_every_request_that_it_made() {
    let mut coordinator = Coordinator::begin();
    let at_ns = coordinator.prepare_point(null_target(), 10);
    coordinator.until("it ends", |own| own.news.iter().any(|news| matches!(news, LoadEvent::End(_))));
    let (mut intervals, mut pulses, mut ends, mut readings, mut zero) = (Vec::new(), Vec::new(), Vec::new(), 0, 0);
    for news in std::mem::take(&mut coordinator.news) {
        match news {
            LoadEvent::Interval(interval) => intervals.push(*interval),
            LoadEvent::Pulse(pulse) => pulses.push(pulse),
            LoadEvent::End(end) => ends.push(end),
            LoadEvent::Reading(_) => readings += 1,
            LoadEvent::Loaded { zero_ns, .. } => zero = zero_ns,
            LoadEvent::Ready | LoadEvent::InFlightEnded => {}
        }
    }
    assert!(readings > 0);
    assert_eq!(intervals.len(), 10);
    assert!(intervals.windows(2).all(|two| two[0].to_ms == two[1].from_ms), "{intervals:?}");
    // By its own clock, which is behind: not at once, but 0.3 s later, as requested.
    let begun_ns = zero + intervals[0].from_ms as i64 * 1_000_000;
    let late_ns = begun_ns - at_ns;
    assert!((-2_000_000..60_000_000_000).contains(&late_ns), "{late_ns} ns late");
    let end = &ends[0];
    let interval_requests: u64 = intervals.iter().flat_map(|i| &i.rows).map(|row| row.requests).sum();
    let pulse_requests: u64 = pulses.iter().flat_map(|pulse| &pulse.rows).map(|row| row.requests).sum();
    assert!(interval_requests > 100, "{interval_requests}");
    assert_eq!((pulse_requests, end.requests), (interval_requests, interval_requests));
    assert_eq!((end.ended, end.errors.len()), (StopReason::Duration, 0));
    assert_eq!(pulses.iter().map(|pulse: &Pulse| pulse.count).sum::<u64>(), 10);
    drop(coordinator.to);
    assert_eq!(coordinator.ended.join().unwrap(), EndReason::EndOfInput);
}

#[test]
fn a_point_ends_when_it_is_told_to_and_says_why() {
    let mut coordinator = Coordinator::begin();
    coordinator.prepare_point(null_target(), 600);
    coordinator.until("it drives", |own| own.news.iter().any(|news| matches!(news, LoadEvent::Pulse(_))));
    let stop = ToAgent::Stop { reason: StopReason::Precise };
    coordinator.to.write_all(&frame(&stop).unwrap()).unwrap();
    coordinator.until("it ends", |own| own.news.iter().any(|news| matches!(news, LoadEvent::End(_))));
    let ended = coordinator.news.iter().find_map(|news| match news {
        LoadEvent::End(end) => Some(end.ended),
        _ => None,
    });
    assert_eq!(ended, Some(StopReason::Precise));
}

/// An agent whose point is over and whose own requests have ended, while another's have not.
fn holding() -> Coordinator {
    let mut coordinator = Coordinator::begin();
    coordinator.finishes = false;
    coordinator.prepare_point(null_target(), 3);
    coordinator.until("its requests have ended", |own| own.news.contains(&LoadEvent::InFlightEnded));
    coordinator
}

/// How its point ended, and how many requests were answered behind it.
fn ended(coordinator: &mut Coordinator) -> (StopReason, u64) {
    coordinator.until("it ends", |own| own.news.iter().any(|news| matches!(news, LoadEvent::End(_))));
    let end = coordinator.news.iter().find_map(|news| if let LoadEvent::End(end) = news { Some(end) } else { None });
    let end = end.expect("it has ended");
    (end.ended, end.alongside.iter().map(|row| row.answered).sum())
}

#[test]
fn the_load_of_an_agent_goes_on_while_others_wait_for_their_requests() {
    let mut coordinator = holding();
    let read = |own: &Coordinator| own.news.iter().filter(|news| matches!(news, LoadEvent::Reading(_))).count();
    let before = read(&coordinator);
    coordinator.finish(7);
    coordinator.until("time goes by", |own| read(own) > before);
    assert!(!coordinator.news.iter().any(|news| matches!(news, LoadEvent::End(_))), "another point was finished");
    coordinator.finish(1);
    let (why, answered) = ended(&mut coordinator);
    // Two were in flight.
    assert!(why == StopReason::Duration && answered > 50, "{why:?}, {answered}");
}

#[test]
fn a_load_that_goes_on_for_others_is_stopped_as_any_other() {
    for reason in [StopReason::Canary, StopReason::Interrupted] {
        let mut coordinator = holding();
        coordinator.to.write_all(&frame(&ToAgent::Stop { reason }).unwrap()).unwrap();
        assert_eq!(ended(&mut coordinator).0, reason);
    }
    let coordinator = holding();
    let Coordinator { to, ended, .. } = coordinator;
    // Its coordinator dies.
    drop(to);
    assert_eq!(ended.join().unwrap(), EndReason::EndOfInput);
}

#[test]
fn an_agent_that_a_signal_ends_tells_all_that_it_counted() {
    let mut coordinator = Coordinator::begin();
    coordinator.prepare_point(null_target(), 600);
    let driven = |own: &Coordinator| own.news.iter().filter(|news| matches!(news, LoadEvent::Pulse(_))).count() >= 4;
    coordinator.until("it drives", driven);
    coordinator.event_sender.send(AgentEvent::Signalled).unwrap();
    let Coordinator { mut conversation, received, mut news, ended, to, .. } = coordinator;
    assert_eq!(ended.join().unwrap(), EndReason::Signalled);
    let fault = received.iter().find_map(|bytes| conversation.take(&bytes, unix_ns()).err());
    assert_eq!(fault, Some(AgentError::Signalled));
    drop(to);
    news.extend(std::iter::from_fn(|| conversation.news()));
    let (mut requests, mut ends) = (0, Vec::new());
    for news in news {
        match news {
            LoadEvent::Interval(interval) => requests += interval.rows.iter().map(|row| row.requests).sum::<u64>(),
            LoadEvent::End(end) => ends.push((end.ended, end.requests)),
            _ => {}
        }
    }
    assert!(requests > 100, "{requests}");
    assert_eq!(ends, [(StopReason::Interrupted, requests)]);
}

#[test]
fn a_load_ends_with_the_input_and_with_the_lease_in_time() {
    for is_silent in [false, true] {
        let mut coordinator = Coordinator::begin();
        coordinator.prepare_point(null_target(), 600);
        coordinator.until("it drives", |own| own.news.iter().any(|news| matches!(news, LoadEvent::Pulse(_))));
        let Coordinator { to, ended, .. } = coordinator;
        let kept = Some(to).filter(|_| is_silent);
        let reason = ended.join().unwrap();
        drop(kept);
        let expected = if is_silent { EndReason::Lapsed } else { EndReason::EndOfInput };
        assert_eq!(reason, expected);
    }
}

/// What an agent says that is ordered to list the objects that were there before.
fn listing_answer(existing: ListedObjects) -> String {
    let mut coordinator = Coordinator::begin();
    coordinator.until("it is met", |own| own.conversation.met(unix_ns()).is_some());
    let order = LoadOrder { existing: Some(existing), ..order(null_target()) };
    let Coordinator { mut conversation, mut to, received, ended, .. } = coordinator;
    to.write_all(&conversation.load(order, unix_ns()).unwrap()).unwrap();
    // Nothing renews its lease, so that this ends.
    let fault = received.iter().find_map(|bytes| conversation.take(&bytes, unix_ns()).err());
    let Some(AgentError::Failed(why)) = fault else { panic!("{fault:?}") };
    drop(to);
    ended.join().unwrap();
    why
}

#[test]
fn an_agent_that_lists_other_objects_than_its_coordinator_does_not_load() {
    let why = listing_answer(ListedObjects { most: 10, count: 10, sha256: "0".repeat(64) });
    assert!(why.contains("it lists other objects than the coordinator") && why.ends_with("nobody writes"), "{why}");
}

#[test]
fn an_agent_lists_no_more_objects_than_a_user_may_ask_for() {
    let why = listing_answer(ListedObjects { most: (1 << 32) + 1, count: 10, sha256: "0".repeat(64) });
    assert!(why.contains("4294967297 objects to list, but at most 4294967296 are allowed"), "{why}");
}
