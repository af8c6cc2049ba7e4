//! Which request a thread starts, when, and at which host.

use linerate_record::load::HostSelect;
use linerate_record::run::Op;
use linerate_wire::arrivals::OpenLoopThread;

use super::Worker;
use crate::ask::{Ask, Subject};
use crate::choice::Chosen;
use crate::connection::Exchange;
use crate::retry::Since;

impl Worker<'_> {
    /// When the next request may start, or is due: now, or an instant to come.
    pub(super) fn due_at_ns(&self) -> u64 {
        self.open_loop.as_ref().map_or_else(|| self.pace.free_at_ns(), OpenLoopThread::due_at_ns)
    }

    pub(super) fn start_open_slots(&mut self, now_ns: u64) {
        if !self.counts() {
            return;
        }
        self.count_rest(now_ns);
        while self.rests.resume_at_ns() <= now_ns
            && let Some((ask, since)) = self.retries.next()
        {
            let host = self.pick_host(now_ns);
            self.send(host, Ask { host: host as u32, ..ask }, since, now_ns);
        }
        // An upload under way goes first: what it asks for was due with its object.
        while self.open_slots > 0
            && self.rests.resume_at_ns().max(self.pace.free_at_ns()) <= now_ns
            && let Some(ask) = self.uploads.next()
        {
            self.start(ask, Since::starting(now_ns, None), now_ns);
        }
        while self.open_slots > 0
            && !self.exhausted
            && self.rests.resume_at_ns() <= now_ns
            && self.due_at_ns() <= now_ns
        {
            self.start_one(now_ns);
        }
        if self.open_loop.is_none() && self.pace.free_at_ns() > now_ns && self.has_work() {
            self.held_back = self.held_back.max(self.open_slots);
        }
    }

    fn start_one(&mut self, now_ns: u64) {
        let host = self.pick_host(now_ns) as u32;
        let Some(Chosen { op, subject, range }) = self.choice.next() else {
            self.exhausted = true;
            return;
        };
        let (mut now_ns, mut intended_ns) = (now_ns, None);
        if let Some(open_loop) = &mut self.open_loop {
            // Of several that are due together, each starts a little later than the one before.
            now_ns = self.given.clock.now_ns();
            intended_ns = Some(open_loop.start(now_ns, self.rests.resume_at_ns()));
        }
        let since = Since::starting(now_ns, intended_ns);
        let ask = match (op, subject) {
            (Op::Multipart, Subject::Own { id, size_bytes }) => self.uploads.begin(id, size_bytes, host, since),
            _ => Ask { op, subject, range, host, call: None },
        };
        self.start(ask, since, now_ns);
    }

    /// Takes a slot for a request.
    fn start(&mut self, ask: Ask, since: Since, now_ns: u64) {
        self.pace.spend(now_ns, ask.size_bytes());
        self.open_slots -= 1;
        self.in_flight += 1;
        self.send(ask.host as usize, ask, since, now_ns);
    }

    /// Sends a request on a connection that is idle, or on a new one.
    fn send(&mut self, host: usize, ask: Ask, since: Since, now_ns: u64) {
        let exchange = Exchange::new(ask, self.given.plan.verify, since, now_ns);
        self.outstanding[host] += 1;
        if let Some(place) = self.idle[host].pop() {
            if let Some(connection) = self.places.get_mut(place) {
                connection.exchange = exchange;
            }
            self.begin(place);
        } else {
            self.open(host, exchange);
        }
    }

    /// The host of the next request, resting ones passed over. At least one is ready.
    fn pick_host(&mut self, now_ns: u64) -> usize {
        let hosts = self.outstanding.len();
        let turn = self.next_host;
        let mut ready = (0..hosts).map(|i| (turn + i) % hosts).filter(|&h| self.rests.is_ready(h, now_ns));
        let host = match self.given.session.host_select {
            HostSelect::RoundRobin => ready.next(),
            HostSelect::LeastOutstanding => ready.min_by_key(|&h| self.outstanding[h]),
        };
        let host = host.unwrap_or(turn);
        self.next_host = (host + 1) % hosts;
        host
    }
}
