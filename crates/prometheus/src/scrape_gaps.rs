//! Times at which nothing was scraped of a machine: what happened then, nobody knows.

use std::collections::BTreeMap;

use linerate_record::readings::ReadMeasure;
use linerate_record::sanitize::named_some;
use linerate_record::units::utc;

/// Series by what they are of, machine and part.
type Found = BTreeMap<(ReadMeasure, String, String), Vec<Option<f64>>>;

/// So many instants without a value are a hole; rates bridge one.
const LEAST: usize = 2;

/// A hole in what is known of a machine, by its first step and the one behind its last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ScrapeGap {
    first: usize,
    end: usize,
}

impl ScrapeGap {
    const fn steps(self) -> usize {
        self.end - self.first
    }

    /// Whether two are the same time, as far as scrapes tell: both are long, and begin and end within a step.
    const fn is_with(self, other: ScrapeGap) -> bool {
        let is_long = self.steps() > LEAST && other.steps() > LEAST;
        is_long && self.first.abs_diff(other.first) <= 1 && self.end.abs_diff(other.end) <= 1
    }
}

/// The longest hole behind the first value that is there.
fn longest(is_there: &[bool]) -> Option<ScrapeGap> {
    let first = is_there.iter().position(|there| *there)?;
    let (mut best, mut begun) = (None::<ScrapeGap>, None);
    for (step, there) in is_there.iter().enumerate().skip(first).chain([(is_there.len(), &true)]) {
        match (there, begun) {
            (false, None) => begun = Some(step),
            (true, Some(first)) => {
                let hole = ScrapeGap { first, end: step };
                best = best.filter(|best| best.steps() >= hole.steps()).or(Some(hole));
                begun = None;
            }
            _ => {}
        }
    }
    best.filter(|hole| hole.steps() >= LEAST)
}

/// What is told of holes: how many machines have one, and where the longest is. `at` says when a step is.
pub(crate) fn reported(found: &Found, steps: usize, at: impl Fn(usize) -> i64) -> Option<String> {
    let mut machines: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
    for ((_, machine, _), values) in found.iter().filter(|((of, ..), _)| ReadMeasure::ALWAYS.contains(of)) {
        let is_there = machines.entry(machine).or_insert_with(|| vec![false; steps]);
        is_there.iter_mut().zip(values).for_each(|(there, value)| *there |= value.is_some());
    }
    let all = machines.len();
    let holes: Vec<(&str, ScrapeGap)> =
        machines.into_iter().filter_map(|(machine, is_there)| Some((machine, longest(&is_there)?))).collect();
    let (machine, hole) = holes.iter().rev().max_by_key(|(_, hole)| hole.steps())?;
    let when = |step: usize| utc(u64::try_from(at(step)).unwrap_or(0));
    let (from, until) = (when(hole.first), hole.end.min(steps) - 1);
    let ended = hole.end >= steps;
    let span = if ended { format!("from {from} on") } else { format!("from {from} to {}", when(until)) };
    // What several have at once is of what they share: no single one of them is to be named for it.
    let others = holes.iter().filter(|(other, of)| other != machine && of.is_with(*hole)).map(|(other, _)| *other);
    let together: Vec<&str> = std::iter::once(*machine).chain(others).collect();
    let has = match holes.len() {
        holes if holes == together.len() => String::new(),
        holes => format!("{holes} of {all} machines were not scraped for a time; for the longest, "),
    };
    let down = if ended { "; if it is down, that may be what holds the others back" } else { "" };
    Some(match together.len() {
        1 => format!("{has}nothing is known of {machine} {span}: look at `up` and at what the machine did then{down}"),
        some if some == all => {
            format!("{has}nothing is known of any machine {span}: Prometheus was away, or its network")
        }
        some => format!(
            "{has}nothing is known of {some} machines at once ({}), {span}: look at what they share, such as a rack's \
             switch or its power, and at `up`",
            named_some(together.into_iter())
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(machines: &[(&str, &str)]) -> Found {
        let values = |text: &str| text.chars().map(|c| (c == 'x').then_some(1.0)).collect();
        let series = |(machine, text): &(&str, &str)| {
            ((ReadMeasure::LinkSent, (*machine).to_owned(), "eth0".to_owned()), values(text))
        };
        machines.iter().map(series).collect()
    }

    #[test]
    fn holes_are_told_by_machine_and_time_and_single_steps_are_none() {
        let reported = |machines: &[(&str, &str)]| reported(&found(machines), 8, |step| 60_000 * step as i64);
        assert_eq!(reported(&[("a", "xxxxxxxx"), ("b", "x.xxx.xx"), ("c", "..xxxxxx")]), None);
        let one = reported(&[("a", "xxxxxxxx"), ("b", "xx...xxx")]).unwrap();
        assert!(
            one.starts_with("nothing is known of b from 1970-01-01 00:02:00 UTC to 1970-01-01 00:04:00 UTC"),
            "{one}"
        );
        let ended = reported(&[("a", "xxxxxxxx"), ("b", "xxxxxx..")]).unwrap();
        assert!(ended.contains("of b from 1970-01-01 00:06:00 UTC on") && ended.contains("if it is down"), "{ended}");
        let both = reported(&[("a", "xx..xxxx"), ("b", "xx...xxx"), ("c", "xxxxxxxx")]).unwrap();
        assert!(both.contains("2 of 3 machines") && both.contains("nothing is known of b from"), "{both}");
        let rack = reported(&[("a", "xxxxxxxx"), ("b", "xx....xx"), ("c", "xxx....x"), ("d", "xxx...xx")]).unwrap();
        assert!(rack.starts_with("nothing is known of 3 machines at once (b, c, d), from"), "{rack}");
        assert!(rack.contains("a rack's switch"), "{rack}");
        let all = reported(&[("a", "x...xxxx"), ("b", "x...xxxx")]).unwrap();
        assert!(all.starts_with("nothing is known of any machine") && all.contains("Prometheus was away"), "{all}");
    }
}
