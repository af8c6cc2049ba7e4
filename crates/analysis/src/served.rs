//! What engines served to clients, by their sockets: readings as an engine's own counters would give them, where
//! nobody asked for these.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::readings::{ReadMeasure, ReadSeries, Readings, SocketGroup, SocketRead};
use linerate_record::units::percent;

/// Sockets that carry less than this share of what links do were not all seen: what they did is no reading then.
const SEEN_LEAST: f64 = 0.6;

/// Series of bytes to and from clients per second, which follow links over the window, of each machine that stores and
/// of which sockets were read; a sentence instead where sockets account for too little of what passed.
#[must_use]
pub fn served(readings: &Readings) -> (Vec<ReadSeries>, Option<String>) {
    let clients: BTreeSet<&str> =
        readings.stated.iter().filter(|of| of.is_client).map(|of| of.machine.as_str()).collect();
    let is_client = |machine: &str| clients.contains(machine);
    let seen: BTreeSet<&str> =
        readings.sockets.iter().filter(|read| !read.remotes.is_empty()).map(|read| read.machine.as_str()).collect();
    let unseen: Vec<&str> = readings
        .stated
        .iter()
        .filter(|of| !of.is_client && !seen.contains(of.machine.as_str()))
        .map(|of| of.machine.as_str())
        .collect();
    let some_seen = !seen.is_empty();
    if let Some(first) = unseen.first().filter(|_| some_seen) {
        let why = format!(
            "sockets of {} nodes ({first} first) were not read: their connections to other nodes cannot be told from \
             clients', and what nodes served to clients is not told by sockets",
            unseen.len()
        );
        return (Vec::new(), Some(why));
    }
    let busiest = busiest(readings);
    let of_link = |of: ReadMeasure, machine: &str| busiest.get(&(of, machine)).copied();
    let (mut series, mut by_sockets, mut by_links) = (Vec::new(), 0.0, 0.0);
    // Of sockets that could not be read, that has been said.
    let is_read = |read: &&SocketRead| !is_client(&read.machine) && read.over_ms > 0 && !read.remotes.is_empty();
    for read in readings.sockets.iter().filter(is_read) {
        let seconds = read.over_ms as f64 / 1e3;
        let all: u64 = read
            .remotes
            .iter()
            .map(|row| row.sent_bytes.saturating_add(row.received_bytes))
            .fold(0, u64::saturating_add);
        by_sockets += all as f64 / seconds;
        let on_link = |of| of_link(of, &read.machine).map_or(0.0, |(mean, _)| mean);
        by_links += on_link(ReadMeasure::LinkSent) + on_link(ReadMeasure::LinkReceived);
        let of_clients = || {
            let is_of_client = |group| matches!(group, SocketGroup::Client | SocketGroup::Translated);
            let is_of_read_client = |machine: &Option<String>| machine.as_deref().is_some_and(is_client);
            read.remotes.iter().filter(move |row| is_of_client(row.group) || is_of_read_client(&row.machine))
        };
        let sent = of_clients().map(|row| row.sent_bytes).fold(0, u64::saturating_add);
        let received = of_clients().map(|row| row.received_bytes).fold(0, u64::saturating_add);
        let ways = [
            (ReadMeasure::ClientSent, sent, ReadMeasure::LinkSent),
            (ReadMeasure::ClientReceived, received, ReadMeasure::LinkReceived),
        ];
        for (of, bytes, link) in ways {
            let rate = bytes as f64 / seconds;
            let values = match of_link(link, &read.machine).filter(|(mean, _)| *mean > 0.0) {
                Some((mean, one)) => one.values.iter().map(|value| value.map(|value| rate * value / mean)).collect(),
                None => vec![Some(rate); readings.steps as usize],
            };
            series.push(ReadSeries { of, machine: read.machine.clone(), part: String::new(), values });
        }
    }
    if by_links > 0.0 && by_sockets < SEEN_LEAST * by_links {
        let share = percent(by_sockets / by_links);
        let why = format!(
            "the engine's sockets account for {share} of what nodes' busiest links carried: connections that live for \
             less than two looks, or other programs; what nodes served to clients is not told by them"
        );
        return (Vec::new(), Some(why));
    }
    (series, None)
}

/// Of each machine and direction, the interface that carried most, with its mean: a bond where there is one, or what is
/// part of none.
fn busiest(readings: &Readings) -> BTreeMap<(ReadMeasure, &str), (f64, &ReadSeries)> {
    let mut busiest: BTreeMap<(ReadMeasure, &str), (f64, &ReadSeries)> = BTreeMap::new();
    let is_link = |one: &&ReadSeries| matches!(one.of, ReadMeasure::LinkSent | ReadMeasure::LinkReceived);
    for one in readings.series.iter().filter(is_link) {
        let mean = mean(one);
        let most = busiest.entry((one.of, &one.machine)).or_insert((mean, one));
        if mean >= most.0 {
            *most = (mean, one);
        }
    }
    busiest
}

fn mean(series: &ReadSeries) -> f64 {
    let values: Vec<f64> = series.values.iter().flatten().copied().collect();
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

#[cfg(test)]
mod tests {
    use linerate_record::readings::{SocketRemote, StatedMachine};

    use super::*;

    fn remote(group: SocketGroup, machine: Option<&str>, sent_bytes: u64) -> SocketRemote {
        SocketRemote {
            address: "10.0.0.9".parse().unwrap(),
            group,
            machine: machine.map(str::to_owned),
            sockets: 1,
            sent_bytes,
            received_bytes: 0,
            sent_segments: 1,
            retransmitted_segments: 0,
            busy_us: 1,
            window_limited_us: 0,
            buffer_limited_us: 0,
            open_us: 1,
            round_trip_us: 1,
            delivery_bytes_per_s: 1,
        }
    }

    fn readings(link: f64) -> Readings {
        let stated =
            |machine: &str, is_client| StatedMachine { machine: machine.to_owned(), is_client, kind: None, rack: None };
        let remotes = vec![
            remote(SocketGroup::Client, None, 1_000),
            remote(SocketGroup::FromPeer, Some("c1"), 500),
            remote(SocketGroup::ToPeer, Some("n2"), 4_000),
        ];
        let series = ReadSeries {
            of: ReadMeasure::LinkSent,
            machine: "n1".to_owned(),
            part: "eth0".to_owned(),
            values: vec![Some(link); 2],
        };
        Readings {
            steps: 2,
            series: vec![series],
            stated: vec![stated("n1", false), stated("c1", true)],
            sockets: vec![SocketRead { machine: "n1".to_owned(), over_ms: 2_000, remotes, ..SocketRead::default() }],
            ..Readings::default()
        }
    }

    #[test]
    fn bytes_of_clients_are_those_of_sockets_of_clients_and_not_of_peers() {
        let (series, why) = served(&readings(3_000.0));
        assert_eq!(why, None);
        assert_eq!((series[0].of, &series[0].values[..]), (ReadMeasure::ClientSent, &[Some(750.0); 2][..]));
        assert_eq!(series.len(), 2);
    }

    #[test]
    fn sockets_that_account_for_little_of_the_links_tell_nothing() {
        let (series, why) = served(&readings(10_000.0));
        assert!(series.is_empty() && why.unwrap().contains("account for 27.5 %"));
    }
}
