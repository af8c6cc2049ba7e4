//! Which part of another tool's record counts: the operations that linerate has, without preparation, and the time in
//! which all threads were at work.

use std::collections::BTreeMap;

use linerate_record::run::Op;

/// Shortest time for which all threads must be at work, so that figures are of it alone.
const AT_WORK_MIN_NS: i64 = 300_000_000;

/// When a thread ended its first request and began its last, and so on for all of one operation. Instants are
/// nanoseconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadSpan {
    /// Begin of its first request.
    pub first_start_ns: i64,
    /// The first end of a request.
    pub first_end_ns: i64,
    /// Begin of its last request.
    pub last_start_ns: i64,
    /// The last end of a request.
    pub last_end_ns: i64,
    /// Its longest request, in nanoseconds.
    pub longest_ns: i64,
    pub requests: u64,
    /// Their body bytes.
    pub bytes: u64,
}

pub type Threads = BTreeMap<String, ThreadSpan>;

impl ThreadSpan {
    #[must_use]
    pub const fn one_request(start_ns: i64, end_ns: i64, bytes: u64) -> Self {
        ThreadSpan {
            first_start_ns: start_ns,
            first_end_ns: end_ns,
            last_start_ns: start_ns,
            last_end_ns: end_ns,
            longest_ns: end_ns - start_ns,
            requests: 1,
            bytes,
        }
    }

    pub fn add(&mut self, start_ns: i64, end_ns: i64, bytes: u64) {
        self.first_start_ns = self.first_start_ns.min(start_ns);
        self.first_end_ns = self.first_end_ns.min(end_ns);
        self.last_start_ns = self.last_start_ns.max(start_ns);
        self.last_end_ns = self.last_end_ns.max(end_ns);
        self.longest_ns = self.longest_ns.max(end_ns - start_ns);
        self.requests += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }
}

/// Body bytes of requests that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodySizes {
    pub requests: u64,
    /// Of all together.
    pub bytes: u64,
    /// Those of the shortest body.
    pub least: u64,
    /// Those of the longest body.
    pub most: u64,
}

impl BodySizes {
    #[must_use]
    pub const fn one_body(bytes: u64) -> Self {
        BodySizes { requests: 1, bytes, least: bytes, most: bytes }
    }

    /// Those of both.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        BodySizes {
            requests: self.requests + other.requests,
            bytes: self.bytes.saturating_add(other.bytes),
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }

    /// Bytes of a body on average, rounded down.
    #[must_use]
    pub fn mean(&self) -> u64 {
        self.bytes / self.requests.max(1)
    }

    #[must_use]
    pub const fn differ(&self) -> bool {
        self.least != self.most
    }
}

/// The part of a record that counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedPart {
    /// Operations measured, with their requests.
    pub ops: Vec<(Op, u64)>,
    /// Operations that are not, with their requests.
    pub left_out: Vec<(String, u64)>,
    /// Threads that drove those measured.
    pub threads: usize,
    /// Requests of those measured, and their body bytes.
    pub requests: u64,
    /// Body bytes of those.
    pub bytes: u64,
    /// The longest of them, in nanoseconds.
    pub longest_ns: i64,
    /// Begin of the first and end of the last of them.
    pub whole_ns: (i64, i64),
    /// Begin and end of what is measured.
    pub measured_ns: (i64, i64),
    /// Whether that is the time in which all threads were at work.
    pub all_at_work: bool,
}

/// What of the threads of each operation counts; `None` where no operation is one of linerate's.
#[must_use]
pub fn counted_part(threads_of: &BTreeMap<String, Threads>) -> Option<CountedPart> {
    let (kept, left_out) = sorted_out(threads_of);
    let mut threads: BTreeMap<&String, (i64, i64)> = BTreeMap::new();
    for (whose, span) in kept.iter().flat_map(|(_, threads)| threads.iter()) {
        let known = threads.entry(whose).or_insert((span.first_end_ns, span.last_start_ns));
        *known = (known.0.min(span.first_end_ns), known.1.max(span.last_start_ns));
    }
    let spans = || kept.iter().flat_map(|(_, threads)| threads.values());
    let whole_ns = (spans().map(|s| s.first_start_ns).min()?, spans().map(|s| s.last_end_ns).max()?);
    let at_work_ns = (threads.values().map(|t| t.0).max()?, threads.values().map(|t| t.1).min()?);
    let all_at_work = at_work_ns.1 - at_work_ns.0 >= AT_WORK_MIN_NS;
    Some(CountedPart {
        ops: kept.iter().map(|(op, threads)| (*op, request_count(threads))).collect(),
        left_out,
        threads: threads.len(),
        requests: spans().map(|s| s.requests).sum(),
        bytes: spans().map(|s| s.bytes).fold(0, u64::saturating_add),
        longest_ns: spans().map(|s| s.longest_ns).max()?,
        whole_ns,
        measured_ns: if all_at_work { at_work_ns } else { whole_ns },
        all_at_work,
    })
}

fn request_count(threads: &Threads) -> u64 {
    threads.values().map(|span| span.requests).sum()
}

/// Operations measured, and others with their requests.
type SortedOut<'a> = (Vec<(Op, &'a Threads)>, Vec<(String, u64)>);

/// The operations measured, and the others with their requests: those that linerate does not have, and preparation,
/// which had ended before anything else began.
fn sorted_out(threads_of: &BTreeMap<String, Threads>) -> SortedOut<'_> {
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    let ended_ns = |threads: &Threads| threads.values().map(|s| s.last_end_ns).max();
    let began_ns = |threads: &Threads| threads.values().map(|s| s.first_start_ns).min();
    for (name, threads) in threads_of {
        let others = threads_of.iter().filter(|(other, _)| *other != name);
        let next_ns = others.filter_map(|(_, threads)| began_ns(threads)).min();
        let prepares = next_ns.zip(ended_ns(threads)).is_some_and(|(next, ended)| ended <= next);
        match name.to_ascii_lowercase().parse::<Op>() {
            Ok(op) if !prepares => kept.push((op, threads)),
            _ => left_out.push((name.clone(), request_count(threads))),
        }
    }
    kept.sort_by_key(|(op, _)| *op);
    (kept, left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Requests of a thread, by begin and end in milliseconds.
    type Requests<'a> = &'a [(i64, i64)];

    /// Threads with these requests, of 10 bytes each.
    fn threads(all: &[Requests<'_>]) -> Threads {
        let of_one = |requests: Requests<'_>| {
            let mut span = ThreadSpan::one_request(requests[0].0 * MS, requests[0].1 * MS, 10);
            requests[1..].iter().for_each(|(start, end)| span.add(start * MS, end * MS, 10));
            span
        };
        (0..).zip(all).map(|(number, requests): (u32, _)| (number.to_string(), of_one(requests))).collect()
    }

    fn part(ops: &[(&str, &[Requests<'_>])]) -> Option<CountedPart> {
        counted_part(&ops.iter().map(|(name, all)| ((*name).to_owned(), threads(all))).collect())
    }

    #[test]
    fn what_counts_is_the_time_in_which_every_thread_was_at_work() {
        let long: &[Requests<'_>] = &[&[(0, 100), (100, 500), (500, 900)], &[(50, 150), (150, 450), (450, 1_000)]];
        let found = part(&[("GET", long)]).unwrap();
        // From the end of the last first request to the begin of the first last one.
        assert_eq!((found.all_at_work, found.measured_ns), (true, (150 * MS, 450 * MS)));
        assert_eq!((found.whole_ns, found.longest_ns), ((0, 1_000 * MS), 550 * MS));
        assert_eq!((found.ops, found.threads, found.requests, found.bytes), (vec![(Op::Get, 6)], 2, 6, 60));
        let short: &[Requests<'_>] = &[&[(0, 100), (100, 500), (500, 900)], &[(50, 150), (150, 449), (449, 1_000)]];
        let found = part(&[("GET", short)]).unwrap();
        assert_eq!((found.all_at_work, found.measured_ns), (false, (0, 1_000 * MS)), "299 ms are too few");
    }

    #[test]
    fn preparation_and_operations_that_linerate_lacks_are_left_out() {
        let before: &[Requests<'_>] = &[&[(0, 10), (10, 100)]];
        let during: &[Requests<'_>] = &[&[(100, 900)]];
        let found = part(&[("GET", during), ("PUT", before), ("SELECT", during)]).unwrap();
        assert_eq!(found.ops, [(Op::Get, 1)]);
        assert_eq!(found.left_out, [("PUT".to_owned(), 2), ("SELECT".to_owned(), 1)]);
        assert_eq!((found.requests, found.whole_ns), (1, (100 * MS, 900 * MS)));
        let both = part(&[("PUT", during), ("GET", during)]).unwrap();
        assert_eq!((both.ops, both.left_out.len()), (vec![(Op::Get, 1), (Op::Put, 1)], 0), "side by side");
        assert_eq!(part(&[("SELECT", during)]), None);
        assert_eq!(part(&[]), None);
    }
}
