//! What the next request is: operation, object and range, without a table of objects.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};

use linerate_record::load::Workload;
use linerate_record::rng::nth_bits;
use linerate_record::run::Op;

use crate::confirmed_sample::ConfirmedSample;
use crate::object_id::ObjectId;
use crate::object_size::size_of;
use crate::request_spec::{ByteRange, Subject};
use crate::session::{EndCondition, PointPlan, Session, Source};

/// Most objects of a mixed workload that one thread remembers for deletion. Beyond it the oldest stay until the end.
const DELETABLE_MAX: usize = 4096;

/// The choices of one thread.
pub(crate) struct RequestChoices<'a> {
    plan: &'a PointPlan,
    session: &'a Session,
    draws: u64,
    stream: u64,
    /// Objects that this thread has asked to write: `worker`, `worker + workers`, …
    next_write: u64,
    next_delete: &'a AtomicU64,
    workers: u64,
    /// Written in a mixed workload and not yet deleted.
    deletable: VecDeque<ObjectId>,
    /// Some of what it wrote, deleted since or not.
    confirmed: ConfirmedSample,
}

/// What to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChosenRequest {
    pub(crate) op: Op,
    pub(crate) subject: Subject,
    pub(crate) range: Option<ByteRange>,
}

impl<'a> RequestChoices<'a> {
    /// Of thread `worker` of `workers`; `next_delete` is the next object to delete, of all of them.
    pub(crate) fn new(
        plan: &'a PointPlan,
        session: &'a Session,
        next_delete: &'a AtomicU64,
        worker: u32,
        workers: u32,
    ) -> Self {
        RequestChoices {
            plan,
            session,
            draws: 0,
            stream: nth_bits(session.seed ^ u64::from(plan.write_set), u64::from(worker)),
            next_write: plan.write_first + u64::from(worker),
            next_delete,
            workers: u64::from(workers),
            deletable: VecDeque::with_capacity(DELETABLE_MAX),
            confirmed: ConfirmedSample::new(session.seed ^ u64::from(plan.write_set)),
        }
    }

    /// First number of the write set that no request of this thread has used.
    pub(crate) fn written_until(&self) -> u64 {
        self.next_write
    }

    /// The next request; `None` once there is nothing left to ask for.
    pub(crate) fn next(&mut self) -> Option<ChosenRequest> {
        let op = match self.plan.workload {
            Workload::Single(op) => op,
            Workload::Mixed(weights) => self.draw_op(weights),
        };
        let plain = |subject| ChosenRequest { op, subject, range: None };
        match op {
            // A part is never drawn: it follows from its upload.
            Op::Put | Op::Multipart | Op::Part => self.next_put().map(plain),
            Op::List => Some(plain(Subject::Bucket)),
            Op::Stat => Some(plain(self.draw_object())),
            Op::Get => {
                let subject = self.draw_object();
                Some(ChosenRequest { op, subject, range: self.draw_range(subject.size_bytes()) })
            }
            Op::Delete => match self.plan.workload {
                Workload::Single(_) => self.next_delete().map(plain),
                // Before anything was written there is nothing to delete: write first, so that the shares even out.
                Workload::Mixed(_) => match self.deletable.pop_front() {
                    Some(id) => Some(plain(self.own(id))),
                    None => {
                        let op = if self.plan.workload.has(Op::Put) { Op::Put } else { Op::Multipart };
                        self.next_put().map(|subject| ChosenRequest { op, subject, range: None })
                    }
                },
            },
        }
    }

    /// Notes that the target confirmed an object.
    pub(crate) fn written(&mut self, subject: Subject) {
        let Subject::Own { id, .. } = subject else { return };
        self.confirmed.add(id.seq);
        if matches!(self.plan.workload, Workload::Mixed(_)) && self.deletable.len() < DELETABLE_MAX {
            self.deletable.push_back(id);
        }
    }

    /// Some of the objects that the target confirmed.
    pub(crate) fn confirmed(&self) -> ConfirmedSample {
        self.confirmed.clone()
    }

    fn draw(&mut self) -> u64 {
        self.draws += 1;
        nth_bits(self.stream, self.draws)
    }

    fn draw_op(&mut self, weights: [u32; Op::COUNT]) -> Op {
        let total: u64 = weights.iter().map(|&w| u64::from(w)).sum();
        let mut at = self.draw() % total.max(1);
        for (op, weight) in Op::ALL.into_iter().zip(weights) {
            match at.checked_sub(u64::from(weight)) {
                Some(rest) => at = rest,
                None => return op,
            }
        }
        Op::Get
    }

    fn own(&self, id: ObjectId) -> Subject {
        Subject::Own { id, size_bytes: size_of(&self.plan.sizes, self.session.seed, id) }
    }

    fn next_put(&mut self) -> Option<Subject> {
        let seq = self.next_write;
        if matches!(self.plan.until, EndCondition::Written(count) if seq >= count) {
            return None;
        }
        self.next_write += self.workers;
        Some(self.own(ObjectId { set: self.plan.write_set, seq }))
    }

    fn next_delete(&mut self) -> Option<Subject> {
        let Source::Set { set, count } = self.plan.source else { return None };
        let seq = self.next_delete.fetch_add(1, Ordering::Relaxed);
        (seq < count).then(|| self.own(ObjectId { set, seq }))
    }

    fn draw_object(&mut self) -> Subject {
        let draw = self.draw();
        match &self.plan.source {
            Source::Set { set, count } => self.own(ObjectId { set: *set, seq: draw % (*count).max(1) }),
            Source::Existing(objects) => {
                let index = (draw % objects.len().max(1) as u64) as u32;
                let size_bytes = objects.get(index as usize).map_or(0, |o| o.size_bytes);
                Subject::Existing { index, size_bytes }
            }
        }
    }

    /// A range of the length asked for, at an offset that is a multiple of it; whole where the object is no longer.
    fn draw_range(&mut self, size_bytes: u64) -> Option<ByteRange> {
        let length = self.plan.range_bytes.filter(|&l| l > 0 && l < size_bytes)?;
        let start = (self.draw() % (size_bytes / length)) * length;
        Some(ByteRange { start, length })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::test_session::{plan, session};

    #[test]
    fn threads_share_out_a_set_without_overlap_or_gap() {
        let session = session();
        let plan = PointPlan { until: EndCondition::Written(10), ..plan(Workload::Single(Op::Put)) };
        let (mut seen, none) = (Vec::new(), AtomicU64::new(0));
        for worker in 0..3 {
            let mut choice = RequestChoices::new(&plan, &session, &none, worker, 3);
            while let Some(ChosenRequest { subject: Subject::Own { id, .. }, .. }) = choice.next() {
                seen.push(id.seq);
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn clients_share_out_one_set_by_ranges_of_its_numbers() {
        let session = session();
        let (mut seen, none) = (Vec::new(), AtomicU64::new(0));
        for (first, until) in [(0, 4), (4, 8), (8, 10)] {
            let base = plan(Workload::Single(Op::Put));
            let plan = PointPlan { write_first: first, until: EndCondition::Written(until), ..base };
            for worker in 0..2 {
                let mut choice = RequestChoices::new(&plan, &session, &none, worker, 2);
                seen.extend(std::iter::from_fn(|| choice.next()).map(|chosen| match chosen.subject {
                    Subject::Own { id, .. } => id.seq,
                    other => panic!("{other:?}"),
                }));
            }
        }
        seen.sort_unstable();
        assert_eq!(seen, (0..10).collect::<Vec<_>>());
    }

    #[test]
    fn deletes_take_each_object_once_and_then_end() {
        let session = session();
        let plan = PointPlan { source: Source::Set { set: 3, count: 5 }, ..plan(Workload::Single(Op::Delete)) };
        let shared = AtomicU64::new(0);
        let mut first = RequestChoices::new(&plan, &session, &shared, 0, 2);
        let mut second = RequestChoices::new(&plan, &session, &shared, 1, 2);
        let mut taken: Vec<_> = first.next().into_iter().collect();
        taken.extend(std::iter::from_fn(|| second.next()));
        assert_eq!((taken.len(), first.next()), (5, None));
        let distinct: std::collections::HashSet<_> = taken.iter().map(|c| format!("{:?}", c.subject)).collect();
        assert_eq!(distinct.len(), 5);
        assert!(taken.iter().all(|c| matches!(c.subject, Subject::Own { id: ObjectId { set: 3, .. }, .. })));
    }

    #[test]
    fn a_mix_keeps_its_weights_and_deletes_only_what_it_wrote() {
        let session = session();
        let plan =
            PointPlan { source: Source::Set { set: 0, count: 9 }, ..plan(Workload::Mixed([45, 15, 30, 10, 0, 0, 0])) };
        let none = AtomicU64::new(0);
        let mut choice = RequestChoices::new(&plan, &session, &none, 0, 1);
        let (mut ops, mut written) = (HashMap::new(), std::collections::HashSet::new());
        for _ in 0..20_000 {
            let chosen = choice.next().unwrap();
            *ops.entry(chosen.op).or_insert(0u32) += 1;
            let Subject::Own { id, .. } = chosen.subject else { panic!("a mix has objects of the run only") };
            match chosen.op {
                Op::Put => {
                    assert!(written.insert(id));
                    choice.written(chosen.subject);
                }
                Op::Delete => assert!(written.remove(&id), "{id:?} was deleted and not written, or twice"),
                _ => assert_eq!(id.set, 0),
            }
        }
        for (op, share) in [(Op::Get, 0.45), (Op::Put, 0.15), (Op::Stat, 0.30), (Op::Delete, 0.10)] {
            let got = f64::from(ops[&op]) / 20_000.0;
            assert!((got - share).abs() < 0.015, "{op}: {got}");
        }
    }

    #[test]
    fn ranges_lie_inside_their_object() {
        let session = session();
        let plan = PointPlan { range_bytes: Some(1000), ..plan(Workload::Single(Op::Get)) };
        let none = AtomicU64::new(0);
        let mut choice = RequestChoices::new(&plan, &session, &none, 0, 1);
        let starts: std::collections::HashSet<u64> = (0..200)
            .map(|_| {
                let chosen = choice.next().unwrap();
                let range = chosen.range.unwrap();
                assert!(range.start + range.length <= chosen.subject.size_bytes());
                range.start
            })
            .collect();
        assert_eq!(starts.len(), 4, "an object of 4096 bytes has four whole ranges of 1000");
    }
}
