//! Which request a thread starts, when, and at which host.

use linerate_record::load::HostSelect;
use linerate_record::run::Op;
use linerate_wire::open_loop::OpenLoopThread;
use linerate_wire::rate_limit::RateReservation;

use super::Worker;
use crate::connection::Exchange;
use crate::request_choice::ChosenRequest;
use crate::request_spec::{RequestSpec, Subject};
use crate::retry::FirstAttempt;

/// What is chosen to be started next. It waits for its turn where there is a cap.
pub(super) struct NextRequest {
    what: What,
    turn: RateReservation,
    chosen_ns: u64,
}

impl NextRequest {
    /// When its turn comes.
    pub(super) const fn at_ns(&self) -> u64 {
        self.turn.at_ns
    }

    /// The request that is made again by it, and when that began.
    pub(super) fn again(&self) -> Option<(RequestSpec, FirstAttempt)> {
        if let What::Again(request_spec, since) = self.what { Some((request_spec, since)) } else { None }
    }

    /// For how long the cap has held it back.
    fn capped_ns(&self, now_ns: u64) -> u64 {
        if self.turn.at_ns > self.chosen_ns { now_ns.saturating_sub(self.chosen_ns) } else { 0 }
    }
}

enum What {
    /// A request that failed: it kept its slot.
    Again(RequestSpec, FirstAttempt),
    /// A call of an upload that is under way.
    Call(RequestSpec),
    /// The first of an object, or of a listing.
    First(ChosenRequest),
}

impl What {
    /// Body bytes that a cap counts.
    fn bytes(&self) -> u64 {
        match *self {
            What::Again(request_spec, _) | What::Call(request_spec) => request_spec.size_bytes(),
            What::First(ChosenRequest { op, subject, range }) => {
                RequestSpec { op, subject, range, host: 0, call: None }.size_bytes()
            }
        }
    }

    const fn keeps_its_slot(&self) -> bool {
        matches!(self, What::Again(..))
    }
}

impl Worker<'_> {
    /// When the next request may start: now, or an instant to come; `None` while there is none.
    pub(super) fn next_at_ns(&self) -> Option<u64> {
        let has_slot = self.open_slots > 0;
        match &self.next {
            Some(next) => Some(next.turn.at_ns),
            None if !self.retries.is_empty() || (has_slot && self.uploads.is_ready()) => Some(0),
            None if has_slot && !self.exhausted => Some(self.open_loop.as_ref().map_or(0, OpenLoopThread::due_at_ns)),
            None => None,
        }
    }

    /// Whether what is to be started next is made again, in the slot that it kept.
    pub(super) fn next_keeps_its_slot(&self) -> bool {
        self.next.as_ref().is_some_and(|next| next.what.keeps_its_slot())
    }

    pub(super) fn start_open_slots(&mut self, now_ns: u64) {
        if !self.starts() {
            return;
        }
        self.count_rest(now_ns);
        while self.backoffs.resume_at_ns() <= now_ns
            && let Some(next) = self.take_next(now_ns)
        {
            let capped_ns = next.capped_ns(now_ns);
            self.capped_ns += capped_ns;
            self.start(next.what, capped_ns, now_ns);
        }
        if let Some(next) = self.next.as_ref().filter(|next| next.turn.at_ns > now_ns) {
            self.waiting_for_cap = self.waiting_for_cap.max(self.open_slots + u32::from(next.what.keeps_its_slot()));
        }
    }

    /// What is to be started now.
    fn take_next(&mut self, now_ns: u64) -> Option<NextRequest> {
        if self.next.is_none() {
            let what = self.choose(now_ns)?;
            let turn = self.given.plan.cap.as_ref().map_or(RateReservation::FREE, |cap| cap.take(now_ns, what.bytes()));
            self.next = Some(NextRequest { what, turn, chosen_ns: now_ns });
        }
        self.next.take_if(|next| next.turn.at_ns <= now_ns)
    }

    fn choose(&mut self, now_ns: u64) -> Option<What> {
        if let Some((request_spec, since)) = self.retries.next() {
            return Some(What::Again(request_spec, since));
        }
        if self.open_slots == 0 {
            return None;
        }
        // An upload under way goes first: what it asks for was due with its object.
        if let Some(request_spec) = self.uploads.next() {
            return Some(What::Call(request_spec));
        }
        let is_due = self.open_loop.as_ref().is_none_or(|open_loop| open_loop.due_at_ns() <= now_ns);
        if self.exhausted || !is_due {
            return None;
        }
        let chosen = self.choice.next();
        self.exhausted = chosen.is_none();
        chosen.map(What::First)
    }

    /// Leaves to others what was to be started and is not, now that the point is over.
    pub(super) fn cancel_reservation(&mut self) {
        if let (Some(next), Some(cap)) = (self.next.take(), &self.given.plan.cap) {
            cap.cancel(next.turn);
        }
    }

    /// For how long the cap has held back what this thread would have started.
    pub(super) fn capped_ns(&self, now_ns: u64) -> u64 {
        self.capped_ns + self.next.as_ref().map_or(0, |next| next.capped_ns(now_ns))
    }

    /// Starts what waited for its turn under the cap for `capped_ns`, which is in no latency.
    fn start(&mut self, what: What, capped_ns: u64, now_ns: u64) {
        match what {
            What::Again(request_spec, since) => {
                let since = since.less(capped_ns);
                let host = self.pick_host(now_ns);
                self.send(host, RequestSpec { host: host as u32, ..request_spec }, since, now_ns);
            }
            What::Call(request_spec) => {
                request_spec.call.into_iter().for_each(|call| self.uploads.started(call, self.capped_ns));
                let since = self.starting(now_ns, None);
                self.start_in_slot(request_spec, since, now_ns);
            }
            What::First(chosen) => self.start_first(chosen, now_ns),
        }
    }

    fn start_first(&mut self, ChosenRequest { op, subject, range }: ChosenRequest, now_ns: u64) {
        let host = self.pick_host(now_ns) as u32;
        let (mut now_ns, mut intended_ns) = (now_ns, None);
        if let Some(open_loop) = &mut self.open_loop {
            // Of several that are due together, each starts a little later than the one before.
            now_ns = self.given.clock.now_ns();
            intended_ns = Some(open_loop.start(now_ns, self.backoffs.resume_at_ns()));
        }
        let since = self.starting(now_ns, intended_ns);
        let request_spec = match (op, subject) {
            (Op::Multipart, Subject::Own { id, size_bytes }) => self.uploads.begin(id, size_bytes, host, since),
            _ => RequestSpec { op, subject, range, host, call: None },
        };
        self.start_in_slot(request_spec, since, now_ns);
    }

    /// Takes a slot for a request.
    fn start_in_slot(&mut self, request_spec: RequestSpec, since: FirstAttempt, now_ns: u64) {
        self.open_slots -= 1;
        self.in_flight += 1;
        self.send(request_spec.host as usize, request_spec, since, now_ns);
    }

    /// Sends a request on a connection that is idle, or on a new one.
    fn send(&mut self, host: usize, request_spec: RequestSpec, since: FirstAttempt, now_ns: u64) {
        let exchange = Exchange::new(request_spec, self.given.plan.verify, since, now_ns);
        self.outstanding[host] += 1;
        if let Some(place) = self.idle[host].pop() {
            if let Some(connection) = self.places.get_mut(place) {
                connection.take_up(exchange);
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
        let mut ready = (0..hosts).map(|i| (turn + i) % hosts).filter(|&h| self.backoffs.is_ready(h, now_ns));
        let host = match self.given.session.host_select {
            HostSelect::RoundRobin => ready.next(),
            HostSelect::LeastOutstanding => ready.min_by_key(|&h| self.outstanding[h]),
        };
        let host = host.unwrap_or(turn);
        self.next_host = (host + 1) % hosts;
        host
    }
}
