//! Max-min fair rates: what flows get that share links, as TCP connections of like round trips roughly do.
//!
//! Progressive filling (Bertsekas and Gallager, *Data Networks*, 6.5.2): all rates rise together; a flow stops where
//! one of its links is full or its own cap is reached. Nobody can then have more without someone with no more than
//! that having less.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A flow over links.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// The links it passes, by their places in the list of links, none of them twice.
    pub links: Vec<u32>,
    /// The most that it asks for; infinite where it takes what it gets. In the links' unit.
    pub cap: f64,
}

/// A level at which something happens, ordered by it and then by a number.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Event {
    level: f64,
    link: u32,
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.level.total_cmp(&other.level).then(self.link.cmp(&other.link))
    }
}

/// A link that fills.
#[derive(Clone, Copy, Debug, Default)]
struct FillingLink {
    /// What flows that have stopped leave of it.
    left: f64,
    /// Flows that still rise.
    rising: u32,
}

impl FillingLink {
    /// The level of all rising flows at which it is full.
    fn full_at(self) -> f64 {
        (self.left / f64::from(self.rising)).max(0.0)
    }
}

/// The state of filling.
struct State<'a> {
    flows: &'a [Flow],
    links: Vec<FillingLink>,
    rates: Vec<f64>,
    stopped: Vec<bool>,
}

impl State<'_> {
    fn stop(&mut self, flow: u32, rate: f64) {
        let place = flow as usize;
        if std::mem::replace(&mut self.stopped[place], true) {
            return;
        }
        self.rates[place] = rate;
        for &link in &self.flows[place].links {
            let link = &mut self.links[link as usize];
            link.left -= rate;
            link.rising -= 1;
        }
    }
}

/// For each link the flows over it: where each link's begin, and the flows one after the other.
fn members(links: usize, flows: &[Flow]) -> (Vec<u32>, Vec<u32>) {
    let mut starts = vec![0_u32; links + 1];
    for link in flows.iter().flat_map(|flow| &flow.links) {
        starts[*link as usize + 1] += 1;
    }
    for place in 0..links {
        starts[place + 1] += starts[place];
    }
    let mut next = starts.clone();
    let mut list = vec![0_u32; starts[links] as usize];
    for (flow, number) in flows.iter().zip(0_u32..) {
        for link in &flow.links {
            let place = &mut next[*link as usize];
            list[*place as usize] = number;
            *place += 1;
        }
    }
    (starts, list)
}

/// The rate of each flow, where `links` are what each link carries at most. A flow over no link gets its cap.
///
/// Takes O((flows + links) · log) where flows pass few links.
///
/// # Panics
///
/// Where a flow names a link that is not there.
#[must_use]
pub fn max_min(links: &[f64], flows: &[Flow]) -> Vec<f64> {
    let (starts, over) = members(links.len(), flows);
    let filling = |place: usize| FillingLink { left: links[place], rising: starts[place + 1] - starts[place] };
    let mut state = State {
        flows,
        links: (0..links.len()).map(filling).collect(),
        rates: vec![0.0; flows.len()],
        stopped: vec![false; flows.len()],
    };
    let mut by_cap: Vec<u32> = (0_u32..).take(flows.len()).collect();
    by_cap.sort_unstable_by(|&a, &b| flows[a as usize].cap.total_cmp(&flows[b as usize].cap));
    let mut by_cap = by_cap.into_iter().peekable();
    let used = (0_u32..).zip(&state.links).filter(|(_, filling)| filling.rising > 0);
    let mut events: BinaryHeap<Reverse<Event>> =
        used.map(|(link, filling)| Reverse(Event { level: filling.full_at(), link })).collect();

    while let Some(Reverse(event)) = events.pop() {
        // Flows that ask for less than this level stop first; the link then fills later than was thought.
        while let Some(flow) = by_cap.next_if(|&flow| flows[flow as usize].cap <= event.level) {
            state.stop(flow, flows[flow as usize].cap.max(0.0));
        }
        let filling = state.links[event.link as usize];
        if filling.rising == 0 {
            continue;
        }
        let level = filling.full_at();
        if level > event.level {
            events.push(Reverse(Event { level, link: event.link }));
            continue;
        }
        let place = event.link as usize;
        for &flow in &over[starts[place] as usize..starts[place + 1] as usize] {
            state.stop(flow, level);
        }
    }
    for flow in by_cap {
        state.stop(flow, flows[flow as usize].cap.max(0.0));
    }
    state.rates
}

#[cfg(test)]
mod tests {
    use proptest::collection::{btree_set, vec};
    use proptest::prelude::*;

    use super::*;

    fn flow(links: &[u32], cap: f64) -> Flow {
        Flow { links: links.to_vec(), cap }
    }

    /// A name, links, flows over them, and their rates.
    type Network = (&'static str, &'static [f64], Vec<Flow>, &'static [f64]);

    #[test]
    fn textbook_networks_get_their_textbook_rates() {
        const FREE: f64 = f64::INFINITY;
        let cases: [Network; 6] = [
            ("one link, three flows", &[9.0], vec![flow(&[0], FREE); 3], &[3.0, 3.0, 3.0]),
            ("a modest flow leaves the rest", &[9.0], vec![flow(&[0], 1.0), flow(&[0], FREE)], &[1.0, 8.0]),
            (
                "a long flow and two short ones",
                &[1.0, 2.0],
                vec![flow(&[0, 1], FREE), flow(&[0], FREE), flow(&[1], FREE)],
                &[0.5, 0.5, 1.5],
            ),
            ("caps below the link", &[9.0], vec![flow(&[0], 2.0), flow(&[0], 3.0)], &[2.0, 3.0]),
            ("a link that is down", &[0.0, 5.0], vec![flow(&[0, 1], FREE), flow(&[1], FREE)], &[0.0, 5.0]),
            ("no link", &[], vec![flow(&[], 4.0)], &[4.0]),
        ];
        for (name, links, flows, expected) in cases {
            assert_eq!(max_min(links, &flows), expected, "{name}");
        }
    }

    /// Links of 0 to 100, and flows over one to four of them, some with caps.
    fn networks() -> impl Strategy<Value = (Vec<f64>, Vec<Flow>)> {
        vec(prop_oneof![9 => 0.1..100.0_f64, 1 => Just(0.0)], 1..12).prop_flat_map(|links| {
            let count = links.len();
            let path = btree_set(0..count as u32, 1..=count.min(4));
            let cap = prop_oneof![Just(f64::INFINITY), 0.01..50.0_f64];
            let flow = (path, cap).prop_map(|(links, cap)| Flow { links: links.into_iter().collect(), cap });
            (Just(links), vec(flow, 1..40))
        })
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * (1.0 + a.abs().max(b.abs()))
    }

    fn loads(links: &[f64], flows: &[Flow], rates: &[f64]) -> Vec<f64> {
        let mut loads = vec![0.0; links.len()];
        for (flow, rate) in flows.iter().zip(rates) {
            for &link in &flow.links {
                loads[link as usize] += rate;
            }
        }
        loads
    }

    proptest! {
        #[test]
        fn no_link_carries_more_than_it_can_and_no_flow_gets_more_than_it_asks((links, flows) in networks()) {
            let rates = max_min(&links, &flows);
            for (load, limit) in loads(&links, &flows, &rates).iter().zip(&links) {
                prop_assert!(*load <= limit + 1e-9 * (1.0 + limit), "{load} of {limit}");
            }
            for (rate, flow) in rates.iter().zip(&flows) {
                prop_assert!(*rate >= 0.0 && *rate <= flow.cap, "{rate} of {flow:?}");
            }
        }

        /// Each flow has its cap, or a full link on which nobody has more than it: raising it would lower such a one.
        #[test]
        fn no_flow_can_have_more_without_one_that_has_no_more_having_less((links, flows) in networks()) {
            let rates = max_min(&links, &flows);
            let loads = loads(&links, &flows, &rates);
            for (flow, &rate) in flows.iter().zip(&rates) {
                let is_held_by = |&link: &u32| {
                    let most = flows.iter().zip(&rates).filter(|(other, _)| other.links.contains(&link));
                    let most = most.map(|(_, rate)| *rate).fold(0.0, f64::max);
                    close(loads[link as usize], links[link as usize]) && (most <= rate || close(most, rate))
                };
                prop_assert!(close(rate, flow.cap) || flow.links.iter().any(is_held_by), "{flow:?} has {rate}");
            }
        }

        #[test]
        fn the_order_of_flows_does_not_matter((links, flows) in networks(), seed: u64) {
            let rates = max_min(&links, &flows);
            let mut order: Vec<usize> = (0..flows.len()).collect();
            order.sort_by_key(|&place| linerate_record::rng::mixed(seed ^ place as u64));
            let shuffled: Vec<Flow> = order.iter().map(|&place| flows[place].clone()).collect();
            for (rate, &place) in max_min(&links, &shuffled).iter().zip(&order) {
                prop_assert!(close(*rate, rates[place]), "{rate} and {}", rates[place]);
            }
        }

        #[test]
        fn faster_links_and_higher_caps_scale_rates((links, flows) in networks(), factor in 0.1..10.0_f64) {
            let rates = max_min(&links, &flows);
            let links: Vec<f64> = links.iter().map(|link| link * factor).collect();
            let scaled: Vec<Flow> =
                flows.iter().map(|flow| Flow { links: flow.links.clone(), cap: flow.cap * factor }).collect();
            for (rate, before) in max_min(&links, &scaled).iter().zip(&rates) {
                prop_assert!(close(*rate, before * factor), "{rate} and {before} times {factor}");
            }
        }
    }
}
