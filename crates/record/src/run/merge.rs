//! Several intervals as one: those of one client follow each other, those of several clients are at the same time.

use super::interval::{Interval, OpenInterval, summed};
use crate::histogram::{DecodeError, add_encoded};

/// Intervals of one client that follow each other, as one. It begins with the first and lasts as long as all of them.
///
/// # Errors
/// [`DecodeError`] where a histogram is damaged.
pub fn in_sequence(own: &[&Interval]) -> Result<Interval, DecodeError> {
    let from_ms = own.first().map_or(0, |first| first.from_ms);
    let client = own.first().map_or(0, |first| first.client);
    Ok(Interval { client, ..side_by_side(from_ms, own)? })
}

/// Intervals of one point from `from_ms` on, as one of client 0: those of each client follow each other, and the
/// clients are at the same time. It lasts as long as those of the client with the most.
///
/// # Errors
/// [`DecodeError`] where a histogram is damaged.
pub fn side_by_side(from_ms: u64, of_all: &[&Interval]) -> Result<Interval, DecodeError> {
    let mut of_all = of_all.to_vec();
    of_all.sort_by_key(|interval| (interval.client, interval.from_ms));
    let of_each: Vec<&[&Interval]> = of_all.chunk_by(|a, b| a.client == b.client).collect();
    let length_ms = |own: &[&Interval]| own.iter().map(|interval| interval.length_ms()).sum::<u64>();
    let sum = Interval {
        point: of_all.first().map_or(0, |first| first.point),
        client: 0,
        from_ms,
        to_ms: from_ms + of_each.iter().map(|own| length_ms(own)).max().unwrap_or(0),
        warmup: false,
        client_cpu_ns: of_all.iter().map(|interval| interval.client_cpu_ns).sum(),
        thread_cpu_ns: of_each.iter().flat_map(|own| threads(own)).collect(),
        // Known of one client, the one beside the target, it is known.
        target_cpu_ns: of_each.iter().filter_map(|own| target(own)).reduce(|a, b| a + b),
        waiting_for_cap: of_each.iter().map(|own| most_waiting(own)).fold(0, u32::saturating_add),
        rested_ns: of_all.iter().map(|interval| interval.rested_ns).sum(),
        paused_ns: of_all.iter().map(|interval| interval.paused_ns).sum(),
        open: open(&of_each)?,
        rows: summed(of_all.iter().flat_map(|interval| &interval.rows), add_encoded)?,
    };
    Ok(sum.encoded())
}

/// Of each thread of a client its time in all of the client's intervals.
fn threads(own: &[&Interval]) -> Vec<u64> {
    let threads = own.iter().map(|interval| interval.thread_cpu_ns.len()).max().unwrap_or(0);
    (0..threads).map(|thread| own.iter().filter_map(|interval| interval.thread_cpu_ns.get(thread)).sum()).collect()
}

/// What the target took in all of a client's intervals; unknown where it is of one of them.
fn target(own: &[&Interval]) -> Option<u64> {
    own.iter().map(|interval| interval.target_cpu_ns).sum()
}

/// The most requests of a client that waited at one time.
fn most_waiting(own: &[&Interval]) -> u32 {
    own.iter().map(|interval| interval.waiting_for_cap).max().unwrap_or(0)
}

fn open(of_each: &[&[&Interval]]) -> Result<Option<OpenInterval<crate::histogram::Latencies>>, DecodeError> {
    let mut sum = None;
    for own in of_each {
        for (behind, one) in own.iter().filter_map(|interval| interval.open.as_ref()).rev().enumerate() {
            // What waits is that of the last: those before have handed it on.
            let one = if behind == 0 { one.clone() } else { one.handed_on() };
            sum.get_or_insert_with(OpenInterval::none).add(&one, add_encoded)?;
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::encode;
    use crate::run::{IntervalRow, Op, merged};

    /// An interval of 100 ms of a client with two requests, of which so many waited for a cap.
    fn interval(client: u32, from_ms: u64, waiting_for_cap: u32) -> Interval {
        let mut row = IntervalRow::counting(0, Op::Get);
        for n in 0..2 {
            row.requests += 1;
            row.total.saturating_record(1_000 + n);
        }
        let mut open = OpenInterval::none();
        (open.due, open.backlog, open.in_flight) = (3, 4, 5);
        Interval {
            client,
            from_ms,
            to_ms: from_ms + 100,
            thread_cpu_ns: vec![10, 20],
            target_cpu_ns: (client == 0).then_some(7),
            waiting_for_cap,
            open: Some(open.map(|latencies| encode(&latencies))),
            rows: vec![row.encoded()],
            ..Interval::default()
        }
    }

    #[test]
    fn counts_add_up_and_what_waits_is_that_of_the_last_of_each_client() {
        let of_both = [interval(0, 0, 2), interval(1, 10, 6), interval(0, 100, 3), interval(1, 110, 1)];
        let all = side_by_side(10, &of_both.iter().collect::<Vec<_>>()).expect("histograms are whole");
        assert_eq!((all.from_ms, all.to_ms, all.client), (10, 210, 0));
        assert_eq!(all.thread_cpu_ns, [20, 40, 20, 40], "threads of both clients, each in both of its intervals");
        assert_eq!(all.target_cpu_ns, Some(14), "known of the client beside the target");
        assert_eq!(all.waiting_for_cap, 3 + 6, "the most of each client at one time");
        let open = all.open.expect("an open loop");
        assert_eq!((open.due, open.backlog, open.in_flight), (12, 8, 10));
        assert_eq!((all.rows[0].requests, merged(&all.rows).expect("whole").len()), (8, 8));
    }

    #[test]
    fn in_a_row_the_target_is_known_where_it_is_known_of_all() {
        let (first, mut second) = (interval(0, 0, 0), interval(0, 100, 0));
        let joined = |second: &Interval| in_sequence(&[&first, second]).expect("histograms are whole");
        assert_eq!((joined(&second).target_cpu_ns, joined(&second).to_ms), (Some(14), 200));
        second.target_cpu_ns = None;
        assert_eq!(joined(&second).target_cpu_ns, None);
    }

    #[test]
    fn in_a_row_the_client_stays_and_alone_it_is_the_sum() {
        let own = [interval(3, 40, 1), interval(3, 140, 1)];
        let joined = in_sequence(&own.iter().collect::<Vec<_>>()).expect("histograms are whole");
        assert_eq!((joined.client, joined.from_ms, joined.to_ms), (3, 40, 240));
    }
}
