//! The time of a point in which all of its clients drove load.
//!
//! Clients do not begin and end at one instant: they start seconds apart, are put on one clock with an error of
//! milliseconds, end early, die, and merge intervals that the wire had no room for. Load of some is not the load that
//! was asked for, so what counts is the time between the last start and the first end, and of that the intervals in
//! which each client is there. Each client has intervals on a grid of its own; those of all that touch are put
//! together, so that a merged interval of one is held against several of the others.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use linerate_record::run::{Interval, LostClient};

/// Part of an interval that may lie outside of the time of all: what clocks differ by.
const TOLERATED: u64 = 10;

/// A client that leaves less than this part of a point as the time of all does not count: the rest go on without it.
const TIME_LEAST: u64 = 4;

/// What counts of a point.
#[derive(Debug, Default)]
pub(super) struct FullLoad {
    /// The clients that all of it is of.
    pub(super) clients: BTreeSet<u32>,
    /// Stretches of time, in order.
    pub(super) stretches: Vec<CommonInterval>,
}

/// A stretch of time, an interval long as a rule, in which every client is there.
#[derive(Debug)]
pub(super) struct CommonInterval {
    pub(super) from_ms: u64,
    /// Which intervals make it up, as places in what was given.
    pub(super) of: Vec<usize>,
}

/// From when to when a client drove load.
#[derive(Clone, Copy, Debug)]
struct Span {
    from_ms: u64,
    to_ms: u64,
}

impl Span {
    const fn length_ms(self) -> u64 {
        self.to_ms.saturating_sub(self.from_ms)
    }
}

/// What counts of the intervals of one point, which belong to the clients below `requested` where that is known.
/// Clients that were lost may have driven load until then, whatever arrived of it.
pub(super) fn full_load(of_point: &[&Interval], requested: Option<u32>, lost: &[LostClient]) -> FullLoad {
    let is_requested = |i: &&Interval| requested.is_none_or(|requested| i.client < requested) && i.to_ms > i.from_ms;
    let mut spans = BTreeMap::<u32, Span>::new();
    for Interval { client, from_ms, to_ms, .. } in of_point.iter().copied().filter(is_requested) {
        let span = spans.entry(*client).or_insert(Span { from_ms: *from_ms, to_ms: *to_ms });
        *span = Span { from_ms: span.from_ms.min(*from_ms), to_ms: span.to_ms.max(*to_ms) };
    }
    let mut lengths: Vec<u64> = of_point.iter().copied().filter(is_requested).map(Interval::length_ms).collect();
    lengths.sort_unstable();
    let Some(&length_ms) = lengths.get(lengths.len() / 2) else { return FullLoad::default() };
    let requested_of: Vec<(usize, &Interval)> =
        of_point.iter().copied().enumerate().filter(|(_, interval)| is_requested(interval)).collect();
    let (counting, mut left_out) = those_that_count(spans.clone());
    for (client, span) in &mut left_out {
        let until_ms = lost.iter().filter(|lost| lost.client == *client).map(|lost| lost.at_ms).max();
        span.to_ms = span.to_ms.max(until_ms.unwrap_or(0));
    }
    let without = of_spans(&requested_of, length_ms, counting, &left_out);
    // Where the others never drove load alone, as far as is known, the time of all is short, and all there is.
    if without.stretches.is_empty() && !left_out.is_empty() {
        return of_spans(&requested_of, length_ms, spans, &[]);
    }
    without
}

/// What counts of these intervals where these clients count; `left_out` are the others, and when they drove load.
fn of_spans(
    of_point: &[(usize, &Interval)],
    length_ms: u64,
    spans: BTreeMap<u32, Span>,
    left_out: &[(u32, Span)],
) -> FullLoad {
    let Some(all) = common(&spans) else { return FullLoad::default() };
    let slack_ms = length_ms / TOLERATED;
    let begin_ms = spans.values().map(|span| span.from_ms).min().unwrap_or(0);
    let is_inside = |i: &Interval| {
        let overlaps = |(_, span): &(u32, Span)| i.from_ms + slack_ms < span.to_ms && i.to_ms > span.from_ms + slack_ms;
        i.from_ms + slack_ms >= all.from_ms && i.to_ms <= all.to_ms + slack_ms && !left_out.iter().any(overlaps)
    };
    let mut placed = Vec::new();
    for &(at, interval) in of_point.iter().filter(|(_, interval)| is_inside(interval)) {
        let Some(span) = spans.get(&interval.client) else { continue };
        // On its own grid an interval has a place beyond doubt; that grid lies some whole intervals behind the first.
        let own = rounded(interval.from_ms - span.from_ms, length_ms);
        let place = own + rounded(span.from_ms - begin_ms, length_ms);
        placed.push(Placed {
            at,
            client: interval.client,
            place,
            places: rounded(interval.length_ms(), length_ms).max(1),
        });
    }
    placed.sort_by_key(|p| (p.place, p.client));
    let stretches = stretches(&placed, spans.len());
    let from_ms = |place: u64| begin_ms + place * length_ms;
    let stretch = |(place, of)| CommonInterval { from_ms: from_ms(place), of };
    FullLoad { clients: spans.into_keys().collect(), stretches: stretches.into_iter().map(stretch).collect() }
}

/// An interval in its place.
struct Placed {
    at: usize,
    client: u32,
    place: u64,
    places: u64,
}

/// Intervals that touch, put together; of these, the stretches that every client fills.
fn stretches(placed: &[Placed], clients: usize) -> Vec<(u64, Vec<usize>)> {
    let mut found = Vec::new();
    let mut rest = placed;
    while let Some(first) = rest.first() {
        let (mut end, mut taken) = (first.place, 0);
        while let Some(next) = rest.get(taken).filter(|next| taken == 0 || next.place < end) {
            end = end.max(next.place + next.places);
            taken += 1;
        }
        let (of, behind) = rest.split_at(taken);
        let mut filled = BTreeMap::<u32, u64>::new();
        of.iter().for_each(|p| *filled.entry(p.client).or_default() += p.places);
        if filled.len() == clients && filled.values().all(|&places| places == end - first.place) {
            found.push((first.place, of.iter().map(|p| p.at).collect()));
        }
        rest = behind;
    }
    found
}

/// The clients without which too little time would be left, and the time of those that do not count: one that died in
/// the warm-up must not take the whole point with it.
fn those_that_count(mut spans: BTreeMap<u32, Span>) -> (BTreeMap<u32, Span>, Vec<(u32, Span)>) {
    let mut left_out = Vec::new();
    let longest_ms = spans.values().map(|span| span.length_ms()).max().unwrap_or(0);
    while spans.len() > 1 && common(&spans).map_or(0, Span::length_ms) < longest_ms / TIME_LEAST {
        let without = |client: u32| {
            let others = spans.iter().filter(|(other, _)| **other != client).map(|(_, span)| *span);
            common_span(others).map_or(0, Span::length_ms)
        };
        // What bounds the common time is the last to start or the first to end.
        let last = spans.iter().max_by_key(|(_, span)| span.from_ms).map(|(client, _)| *client);
        let first = spans.iter().min_by_key(|(_, span)| span.to_ms).map(|(client, _)| *client);
        let bounding = last.into_iter().chain(first);
        let Some(worst) = bounding.max_by_key(|c| (without(*c), Reverse(spans[c].length_ms()))) else { break };
        left_out.extend(spans.remove(&worst).map(|span| (worst, span)));
    }
    (spans, left_out)
}

fn common(spans: &BTreeMap<u32, Span>) -> Option<Span> {
    common_span(spans.values().copied())
}

/// From the last start to the first end.
fn common_span(spans: impl Iterator<Item = Span>) -> Option<Span> {
    let both = |a: Span, b: Span| Span { from_ms: a.from_ms.max(b.from_ms), to_ms: a.to_ms.min(b.to_ms) };
    spans.reduce(both).filter(|span| span.to_ms > span.from_ms)
}

const fn rounded(ms: u64, length_ms: u64) -> u64 {
    (ms + length_ms / 2) / length_ms
}
