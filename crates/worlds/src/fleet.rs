//! A run of many clients as its folder has it: lines of text, made from the documents of the folder alone.
//!
//! Clients share a target. Each gives what its own link carries, or its part of what the target can, whichever is less;
//! on top of that each varies by itself. What goes wrong with a client is an [`ClientFault`].

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::SeededRng;

/// What a fleet does, and how its folder is written.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// Numbers of clients, a point each: the first clients of the run.
    pub numbers: Vec<u32>,
    /// Times that each point is visited.
    pub visits: u32,
    /// Hosts of the target.
    pub hosts: u32,
    /// What one client's link carries, in bytes per second.
    pub link_bytes_per_s: f64,
    /// What the target gives in all, in bytes per second.
    pub target_bytes_per_s: f64,
    /// Requests in flight of each client.
    pub in_flight: u32,
    /// Bytes of an object.
    pub object_bytes: u64,
    /// Standard deviation of what a client gives from interval to interval, as a share.
    pub scatter: f64,
    /// The same from client to client, all the time.
    pub unlike: f64,
    /// Length of an interval.
    pub interval_ms: u64,
    /// Length of a point.
    pub point_ms: u64,
    /// Warm-up as the end of each point tells it; absent where it is left to be found.
    pub warmup_ms: Option<u64>,
    /// Whether every client has a point against the null target before.
    pub ceilings: bool,
    pub client_faults: Vec<ClientFault>,
    pub seed: u64,
}

/// What goes wrong with one client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClientFault {
    /// It gives less than its peers, all the time.
    Slow {
        client: u32,
        /// What it gives, as a share of what they give.
        share: f64,
    },
    Late {
        client: u32,
        ms: u64,
    },
    /// It gives less at the beginning.
    Ramp {
        client: u32,
        ms: u64,
        /// What it gives then, as a share of what it gives later.
        share: f64,
    },
    Early {
        client: u32,
        ms: u64,
    },
    /// It is gone from some time on, for good.
    Dies {
        client: u32,
        /// In which point, by its place among those measured.
        point: u32,
        /// How far into that.
        at_ms: u64,
    },
    /// Some of its intervals are one.
    Merged {
        client: u32,
        /// The first of them.
        from: u64,
        intervals: u64,
    },
    /// Its link is slower.
    Link {
        client: u32,
        /// Its speed, as a share of the others'.
        share: f64,
    },
}

/// The files of a run folder.
#[derive(Clone, Debug, Default)]
pub struct FleetFolder {
    /// `run.json`.
    pub run: String,
    /// `points.jsonl`.
    pub points: String,
    /// `intervals.jsonl`.
    pub intervals: String,
    /// `readings.jsonl`.
    pub readings: String,
    /// Mean bytes per second of each point while all its clients were there at their level, by its number.
    pub truth: BTreeMap<u32, f64>,
}

/// A point of a fleet.
#[derive(Clone, Copy)]
struct FleetPoint {
    number: u32,
    /// Its place among those measured; none for the null target's.
    place: Option<u32>,
    clients: u32,
    at_ms: u64,
}

/// An interval of one client in a point, by that one's number.
struct ClientInterval {
    point: u32,
    client: u32,
    from_ms: u64,
    to_ms: u64,
}

impl Fleet {
    /// Of links of 1 GB/s and a target that is full with 28 of them, in points of 20 s.
    #[must_use]
    pub fn with_clients(numbers: &[u32], seed: u64) -> Self {
        Fleet {
            numbers: numbers.to_vec(),
            visits: 1,
            hosts: 2,
            link_bytes_per_s: 1e9,
            target_bytes_per_s: 26e9,
            in_flight: 16,
            object_bytes: 4 << 20,
            scatter: 0.05,
            unlike: 0.01,
            interval_ms: 500,
            point_ms: 20_000,
            warmup_ms: Some(1_000),
            ceilings: false,
            client_faults: Vec::new(),
            seed,
        }
    }

    #[must_use]
    pub fn folder(&self) -> FleetFolder {
        let most = self.numbers.iter().copied().max().unwrap_or(1);
        let mut made = FleetFolder { run: self.manifest(most), ..FleetFolder::default() };
        let mut rng = SeededRng::new(self.seed, 14);
        let unlike: Vec<f64> = (0..most).map(|_| (1.0 + self.unlike * rng.normal()).max(0.05)).collect();
        let mut machines = vec![Counters::default(); most as usize];
        let mut at_ms = 500;
        let mut number = 0;
        if self.ceilings {
            let point = FleetPoint { number, place: None, clients: most, at_ms };
            self.point(&mut made, &mut machines, &mut rng, &unlike, point);
            (number, at_ms) = (number + 1, at_ms + self.point_ms + 1_000);
        }
        let mut place = 0;
        for _ in 0..self.visits {
            for &clients in &self.numbers {
                let point = FleetPoint { number, place: Some(place), clients, at_ms };
                self.point(&mut made, &mut machines, &mut rng, &unlike, point);
                (number, place, at_ms) = (number + 1, place + 1, at_ms + self.point_ms + 1_000);
            }
        }
        made
    }

    /// A point, of the null target where it has no place among those measured.
    fn point(
        &self,
        made: &mut FleetFolder,
        machines: &mut [Counters],
        rng: &mut SeededRng,
        unlike: &[f64],
        point: FleetPoint,
    ) {
        let FleetPoint { number, place, clients, at_ms } = point;
        let purpose = if place.is_some() { "measure" } else { "ceiling" };
        let _ = writeln!(
            made.points,
            "{{\"event\":\"begin\",\"point\":{number},\"at_ms\":{at_ms},\"purpose\":\"{purpose}\",\"workload\":\"get\",\
             \"size\":\"{}B\",\"concurrency\":{},\"clients\":{clients}}}",
            self.object_bytes,
            clients * self.in_flight
        );
        let mut truth = 0.0;
        for client in 0..clients {
            truth += self.drive(made, &mut machines[client as usize], rng, unlike[client as usize], point, client);
        }
        made.truth.insert(number, truth);
        let warmup = self.warmup_ms.map_or_else(String::new, |ms| format!(",\"warmup_ms\":{ms}"));
        let _ = writeln!(
            made.points,
            "{{\"event\":\"end\",\"point\":{number},\"at_ms\":{},\"ended\":\"duration\",\"connections\":{}{warmup}}}",
            at_ms + self.point_ms,
            clients * self.in_flight
        );
    }

    /// What one client does in a point; returns what it gives at its level, per second.
    fn drive(
        &self,
        made: &mut FleetFolder,
        machine: &mut Counters,
        rng: &mut SeededRng,
        own: f64,
        point: FleetPoint,
        client: u32,
    ) -> f64 {
        let FleetPoint { number, place, clients, at_ms } = point;
        let level = self.level(place, client, clients, own);
        let (mut from_ms, mut end_ms) = (at_ms, at_ms + self.point_ms);
        let mut ramp = None;
        let mut merged = None;
        for upset in self.client_faults.iter().filter(|_| place.is_some()) {
            match *upset {
                ClientFault::Late { client: of, ms } if of == client => from_ms += ms,
                ClientFault::Early { client: of, ms } if of == client => end_ms -= ms,
                ClientFault::Ramp { client: of, ms, share } if of == client => ramp = Some((ms, share)),
                ClientFault::Merged { client: of, from, intervals } if of == client => merged = Some((from, intervals)),
                ClientFault::Dies { client: of, point: died_at, at_ms: died_ms } if of == client => {
                    match place.cmp(&Some(died_at)) {
                        std::cmp::Ordering::Less => {}
                        std::cmp::Ordering::Equal => end_ms = end_ms.min(at_ms + died_ms),
                        std::cmp::Ordering::Greater => return 0.0,
                    }
                }
                _ => {}
            }
        }
        let begun_ms = from_ms;
        let mut i = 0;
        while from_ms + self.interval_ms <= end_ms {
            let many = merged.filter(|&(from, _)| from == i).map_or(1, |(_, many)| many);
            let to_ms = (from_ms + many * self.interval_ms).min(end_ms);
            let slow = ramp.filter(|&(ms, _)| from_ms < begun_ms + ms).map_or(1.0, |(_, share)| share);
            let seconds = (to_ms - from_ms) as f64 / 1e3;
            let bytes = level * slow * seconds * (1.0 + self.scatter * rng.normal()).max(0.0);
            machine.reads(bytes, to_ms);
            self.interval(made, rng, &ClientInterval { point: number, client, from_ms, to_ms }, bytes);
            if from_ms / 1000 != to_ms / 1000 {
                made.readings.push_str(&machine.reading(client));
            }
            (from_ms, i) = (to_ms, i + many);
        }
        level
    }

    /// What a client gives at its level, per second.
    fn level(&self, place: Option<u32>, client: u32, clients: u32, own: f64) -> f64 {
        let product_over_upsets = |what: fn(&ClientFault, u32) -> Option<f64>| {
            self.client_faults.iter().filter_map(|upset| what(upset, client)).fold(1.0, |all, share| all * share)
        };
        let link = self.link_bytes_per_s
            * product_over_upsets(|upset, client| match *upset {
                ClientFault::Link { client: slowed, share } if slowed == client => Some(share),
                _ => None,
            });
        if place.is_none() {
            return 0.97 * link;
        }
        let slow = product_over_upsets(|upset, client| match *upset {
            ClientFault::Slow { client: slowed, share } if slowed == client => Some(share),
            _ => None,
        });
        (0.95 * link).min(self.target_bytes_per_s / f64::from(clients)) * own * slow
    }

    fn interval(&self, made: &mut FleetFolder, rng: &mut SeededRng, interval: &ClientInterval, bytes: f64) {
        let ClientInterval { point: number, client, from_ms, to_ms } = *interval;
        let of_client = if client == 0 { String::new() } else { format!("\"client\":{client},") };
        let cpu_ns = (bytes / 4.0) as u64;
        let _ = write!(
            made.intervals,
            "{{\"point\":{number},{of_client}\"from_ms\":{from_ms},\"to_ms\":{to_ms},\"client_cpu_ns\":{cpu_ns},\
             \"thread_cpu_ns\":[{0},{0}],\"rows\":[",
            cpu_ns / 2
        );
        let seconds = (to_ms - from_ms) as f64 / 1e3;
        for host in 0..self.hosts {
            let moved = (bytes / f64::from(self.hosts)) as u64;
            let requests = (moved as f64 / self.object_bytes as f64).round().max(1.0) as u64;
            // As Little's law has it.
            let mean_ns = f64::from(self.in_flight) / f64::from(self.hosts) * seconds / requests as f64 * 1e9;
            let mut counts = BTreeMap::new();
            for _ in 0..requests {
                *counts.entry(bucket((mean_ns * (0.2 * rng.normal()).exp()) as u64)).or_insert(0u64) += 1;
            }
            let _ = write!(
                made.intervals,
                "{}{{\"host\":{host},\"op\":\"get\",\"requests\":{requests},\"bytes\":{},\"moved_bytes\":{moved},\
                 \"ttfb\":\"{2}\",\"total\":\"{2}\"}}",
                if host == 0 { "" } else { "," },
                requests * self.object_bytes,
                histogram(&counts)
            );
        }
        made.intervals.push_str("]}\n");
    }

    fn manifest(&self, clients: u32) -> String {
        let hosts: Vec<String> = (1..=self.hosts).map(|n| format!("\"store{n}:9000\"")).collect();
        let hosts = hosts.join(",");
        let client = |n: u32| {
            let share = self.client_faults.iter().find_map(|upset| match *upset {
                ClientFault::Link { client, share } if client == n => Some(share),
                _ => None,
            });
            let speed = (8.0 * self.link_bytes_per_s * share.unwrap_or(1.0)).round() as u64;
            format!(
                "{{\"name\":\"c{n:03}\",\"machine\":{{\"kernel\":\"6.12.0\",\"cpu_model\":\"Generic\",\"cpus\":16,\
                 \"numa_nodes\":1,\"memory_bytes\":68719476736,\"nics\":[\
                 {{\"name\":\"eth0\",\"speed_bits_per_s\":{speed},\
                 \"mtu_bytes\":9000,\"driver\":\"mlx5_core\",\"numa_node\":0}}],\"clocksource\":\"tsc\",\
                 \"virtualized\":false}},\"threads\":2,\"clock\":{{\"offset_ns\":{},\"bound_ns\":80000}}}}",
                i64::from(n) * 1_000
            )
        };
        let clients: Vec<String> = (0..clients).map(client).collect();
        let warmup = self.warmup_ms.map_or_else(|| "null".to_owned(), |ms| ms.to_string());
        format!(
            "{{\"schema\":3,\"id\":\"fleet\",\"linerate_version\":\"0.1.0\",\"started_unix_ms\":1795400000000,\
             \"seed\":7,\"asked\":{{\"points\":[],\"duration_ms\":{},\"warmup_ms\":{warmup},\"precision\":null,\
             \"threads\":2,\
             \"objects\":1000,\"bucket\":\"b\",\"prefix\":\"linerate-fleet/\",\"payload\":\"signed\",\
             \"unique\":\"tail\",\"verify\":false,\"range_bytes\":null,\"max_rate\":null,\
             \"host_select\":\"round-robin\",\"noclear\":false,\
             \"list_existing\":false}},\"target\":{{\"kind\":\"s3\",\"hosts\":[{hosts}],\"server\":\"Store\",\
             \"lookup\":\"path\",\"region\":\"us-east-1\",\"on_this_machine\":false,\"bucket_made\":false}},\
             \"clients\":[{}],\"interval_ms\":{},\"intervals_bytes_max\":268435456}}",
            self.point_ms,
            clients.join(","),
            self.interval_ms
        )
    }
}

/// Counters of a client's machine, since it started.
#[derive(Clone, Debug, Default)]
struct Counters {
    at_ms: u64,
    rx_bytes: f64,
    busy_ms: f64,
}

impl Counters {
    fn reads(&mut self, bytes: f64, at_ms: u64) {
        self.at_ms = at_ms;
        // Framing takes its part.
        self.rx_bytes += 1.02 * bytes;
        self.busy_ms += bytes / 4e6;
    }

    fn reading(&self, client: u32) -> String {
        let Counters { at_ms, rx_bytes, busy_ms } = self;
        let cpu = |n: u32| {
            let user = (busy_ms / 16.0) as u64;
            format!(
                "{{\"cpu\":{n},\"user_ms\":{user},\"system_ms\":0,\"irq_ms\":0,\"softirq_ms\":0,\"steal_ms\":0,\
                 \"iowait_ms\":0,\"idle_ms\":{}}}",
                100_000 + at_ms - user.min(*at_ms)
            )
        };
        let cpus: Vec<String> = (0..16).map(cpu).collect();
        let rx = *rx_bytes as u64;
        let of_client = if client == 0 { String::new() } else { format!("\"client\":{client},") };
        format!(
            "{{{of_client}\"at_ms\":{at_ms},\"unix_ms\":{},\"cpus\":[{}],\"nics\":[{{\"name\":\"eth0\",\
             \"rx_bytes\":{rx},\"tx_bytes\":{},\"rx_packets\":0,\"tx_packets\":0,\"rx_dropped\":0,\"tx_dropped\":0,\
             \"rx_errors\":0,\"tx_errors\":0}}],\"tcp\":{{\"out_segments\":{},\
             \"retransmitted_segments\":{}}},\"disks\":[],\"memory\":{{\
             \"available_bytes\":8589934592,\"cached_bytes\":0,\"dirty_bytes\":0}}}}\n",
            1_795_400_000_000u64 + at_ms,
            cpus.join(","),
            rx / 100,
            rx / 1_000,
            rx / 20_000_000
        )
    }
}

/// The bucket of a value: 64 ns wide up to 16 µs, then 128 to each doubling.
fn bucket(ns: u64) -> u64 {
    let units = ns >> 6;
    if units < 256 {
        return units;
    }
    let group = u64::from(64 - units.leading_zeros()) - 8;
    (group << 7) + (units >> group)
}

/// HdrHistogram V2 in base64, of counts by bucket.
fn histogram(counts: &BTreeMap<u64, u64>) -> String {
    if counts.is_empty() {
        return String::new();
    }
    let (mut coded, mut at) = (Vec::new(), 0);
    for (&index, &count) in counts {
        if index > at {
            leb128(&mut coded, at as i64 - index as i64);
        }
        leb128(&mut coded, count as i64);
        at = index + 1;
    }
    let mut all = Vec::new();
    for word in [0x1C84_9313u32, coded.len() as u32, 0, 2] {
        all.extend(word.to_be_bytes());
    }
    all.extend(64u64.to_be_bytes());
    all.extend(3_600_000_000_000u64.to_be_bytes());
    all.extend(1.0f64.to_be_bytes());
    all.extend(coded);
    base64(&all)
}

/// ZigZag, then seven bits a byte.
fn leb128(to: &mut Vec<u8>, number: i64) {
    let mut coded = ((number << 1) ^ (number >> 63)) as u64;
    while coded >= 0x80 {
        to.push((coded & 0x7F) as u8 | 0x80);
        coded >>= 7;
    }
    to.push(coded as u8);
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let word = three.iter().enumerate().fold(0u32, |word, (i, &byte)| word | u32::from(byte) << (16 - 8 * i));
        for digit in 0..4 {
            let is_there = digit <= three.len();
            text.push(if is_there { char::from(DIGITS[(word >> (18 - 6 * digit) & 63) as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (text, coded) in [("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(text.as_bytes()), coded);
        }
    }

    #[test]
    fn a_fleet_gives_what_its_links_or_its_target_do() {
        let folder = Fleet { unlike: 0.0, ..Fleet::with_clients(&[4, 56], 1) }.folder();
        assert!((folder.truth[&0] / 3.8e9 - 1.0).abs() < 1e-9 && (folder.truth[&1] / 26e9 - 1.0).abs() < 1e-9);
        let lines = |text: &str| text.lines().count();
        assert_eq!((lines(&folder.points), lines(&folder.intervals)), (4, 60 * 40));
        assert_eq!((bucket(63), bucket(64), bucket(16_384), bucket(16_512)), (0, 1, 256, 257));
    }
}
