//! Where clients' links bind: each client keeps its own connections busy, and its link carries its own requests alone.
//!
//! So each client is a closed network by itself: one station, its link, and a delay, what a request spends elsewhere.
//! Of that, what it waits at the servers is by what all clients ask of them together.

use crate::ceilings::ResourceLimit;

/// Halvings after which what a request waits at the servers is known as well as is of use.
const HALVINGS: u32 = 40;
/// A link that is idle for less of the time is full.
const FULL: f64 = 1e-12;

/// What clients share, and how many they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OwnLinks {
    /// Clients, each with a link of its own.
    clients: f64,
    /// The next bottleneck, which all of them share: time that a request takes of it at its ceiling; 0 without such.
    shared_s: f64,
    /// How long a request that is alone is served there.
    served_s: f64,
}

impl OwnLinks {
    /// Of so many clients whose links bind first, and what all of them share, with how many times at its ceiling a
    /// request is served there.
    pub(super) fn new(clients: u32, object_bytes: f64, shared: Option<(&ResourceLimit, f64)>) -> OwnLinks {
        let shared_s = shared.map_or(0.0, |(limit, _)| object_bytes / limit.limit_bytes_per_s);
        let served_s = shared_s * shared.map_or(0.0, |(_, visited)| visited);
        OwnLinks { clients: f64::from(clients.max(1)), shared_s, served_s }
    }

    /// The share of the clients' links that so many requests in flight reach, where one takes `alone_s` if it is alone
    /// and `unit_s` of all links together.
    pub(super) fn share(&self, in_flight: f64, unit_s: f64, alone_s: f64, variability: f64) -> f64 {
        let (each, on_link_s) = (in_flight / self.clients, self.clients * unit_s);
        let elsewhere_s = (alone_s - on_link_s).max(0.0);
        let with = |waited_s: f64| utilisation(each, (elsewhere_s + waited_s) / on_link_s, variability);
        let most = with(0.0);
        if self.served_s <= 0.0 || in_flight <= 1.0 {
            return most;
        }
        // The more the servers do, the longer a request waits there, and the less is asked of them.
        let (mut least, mut most) = (0.0, most);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(least, most);
            let waited_s = self.waited_s(middle, in_flight, unit_s, variability);
            *if with(waited_s) > middle { &mut least } else { &mut most } = middle;
        }
        least
    }

    /// What a request waits for others at the servers while clients' links are so full: the mean by Pollaczek and
    /// Khinchine, of those that come from others.
    fn waited_s(&self, share: f64, in_flight: f64, unit_s: f64, variability: f64) -> f64 {
        let busy = (share * self.shared_s / unit_s).min(1.0) * (in_flight - 1.0) / in_flight;
        self.served_s * (1.0 + variability) / 2.0 * busy / (1.0 - busy)
    }
}

/// Utilisation of a link by requests of one client, each of which spends `elsewhere` times what it takes of the link
/// on other things. Some clients have one more of them than others, where they are no whole number each.
fn utilisation(each: f64, elsewhere: f64, variability: f64) -> f64 {
    let (fewer, part) = (each.floor(), each.fract());
    // Random in all, the link is idle as often as Erlang's B says: all of them are elsewhere. In step, it is not once
    // they are enough.
    let in_step = |each: f64| (each / (1.0 + elsewhere)).min(1.0);
    let (few, more) = random(fewer, elsewhere);
    let random = (1.0 - part) * few + part * more;
    let in_step = (1.0 - part) * in_step(fewer) + part * in_step(fewer + 1.0);
    let variability = variability.clamp(0.0, 1.0);
    variability * random + (1.0 - variability) * in_step
}

/// Utilisation by so many requests, and by one more, if service is exponential: exact, whatever the delay is like.
fn random(requests: f64, elsewhere: f64) -> (f64, f64) {
    let (mut idle, mut done) = (1.0, 0.0);
    while done < requests && idle > FULL {
        done += 1.0;
        idle = elsewhere * idle / (done + elsewhere * idle);
    }
    let next = elsewhere * idle / (requests + 1.0 + elsewhere * idle);
    (1.0 - idle, 1.0 - next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_each_has_its_link_for_itself_and_four_fill_it() {
        // 5.07 ms in all, 3.39 ms of them on a link of 10 Gb/s: 4 MiB.
        let own = OwnLinks::new(40, 4_194_304.0, None);
        let share = |in_flight| own.share(in_flight, 3.39e-3 / 40.0, 5.07e-3, 0.5);
        for (in_flight, least, most) in
            [(1.0, 0.0167, 0.0168), (20.0, 0.334, 0.335), (40.0, 0.668, 0.669), (160.0, 0.99, 1.0), (4e9, 0.999, 1.0)]
        {
            let found = share(in_flight);
            assert!((least..=most).contains(&found), "{in_flight}: {found}");
        }
        assert!((share(60.0) - f64::midpoint(share(40.0), share(80.0))).abs() < 1e-12, "half of them have two");
    }
}
