//! What is said about load: what an agent is to drive, what it tells meanwhile and after it, and what of that cannot
//! be.
//!
//! Counts go out while a point is driven ([`Pulse`]), what takes more room follows within what is allowed
//! ([`crate::outgoing_queue`]), and the last word on a point is how it ended ([`DrivenEnd`]).

use std::collections::BTreeMap;
use std::fmt;

use linerate_record::histogram::{EncodedHistogram, add_encoded, empty};
use linerate_record::load::levels::RATE_MAX;
use linerate_record::load::{ErrorLimit, Load, OBJECTS_MAX, Sizes, Spacing, Workload};
use linerate_record::plausibility::{COUNT_MAX, COUNT_OF_CLIENT_MAX, TIME_MS_MAX, interval_problem, reading_problem};
use linerate_record::reading::Reading;
use linerate_record::run::{CLIENTS_MAX, InFlightRow, Interval, IntervalRow, Op, OpenInterval, OutsideRow, StopReason};
use linerate_record::units::Rate;
use serde::{Deserialize, Serialize};

/// Most bytes of certificates that an agent is sent: with all else they have to fit a message.
pub const CA_BYTES_MAX: usize = 256 << 10;

/// Most kinds of errors that are told apart in one row, or of one point.
pub const KINDS_MAX: usize = 64;

/// Longest name of a kind of errors.
pub(crate) const KIND_BYTES_MAX: usize = 512;

/// Most uploads that are named at the end of a point; of others it is said how many there are.
pub const LEFT_UPLOADS_MAX: usize = 1_000;

/// Longest text of a histogram.
const HISTOGRAM_BYTES_MAX: usize = 64 << 10;

/// Longest name of a program, network interface or disk in a reading.
const NAME_BYTES_MAX: usize = 256;

/// Most processors, network interfaces, disks or programs in a reading.
const DEVICES_MAX: usize = 10_000;

/// Keys of S3, on their way to an agent. They are shown nowhere.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadKeys {
    pub access_key: String,
    pub secret_key: String,
    /// Session token of temporary credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_token: Option<String>,
}

impl fmt::Debug for LoadKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(keys)")
    }
}

/// What an agent needs to load a target: once, before any point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadOrder {
    /// The load as it was described. Its hosts are looked up by the agent, whose network may have other names.
    pub load: Load,
    /// The hosts with their addresses, as run folders name them, where the coordinator looked up every address of each
    /// name: all clients then load the same. Empty where the agent looks them up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// Certificates to believe beside the agent's own, as PEM; none for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_pem: Option<String>,
    /// Prefix of every key that the run writes.
    pub run_prefix: String,
    /// Seed of sizes, bodies and choices: the same for all agents of a run.
    pub seed: u64,
    /// Who signs; none for nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<LoadKeys>,
    /// How long the run will take at the most, in milliseconds: a long one is read less often.
    pub expected_ms: u64,
    /// The objects that were there before, where those are read: each agent lists them itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub existing: Option<ListedObjects>,
}

/// Objects as a coordinator listed them: all clients have to read the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListedObjects {
    /// So many are listed at the most, the first in the order of the target.
    pub most: u64,
    /// How many there are.
    pub count: u64,
    /// SHA-256 of their keys and sizes.
    pub sha256: String,
}

/// Who is loaded in a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PointTarget {
    /// The hosts of the load.
    Hosts,
    /// A null target that the agent starts beside itself.
    Null {
        /// Whether over TLS.
        tls: bool,
    },
}

/// When a point ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OrderUntil {
    /// After so many intervals.
    Intervals(u64),
    /// After objects of the write set below this number were asked for, once each.
    Written(u64),
}

/// An agent's share of an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RateOrder {
    /// Requests per second of all agents together.
    pub per_s: f64,
    /// How they are spaced.
    pub spacing: Spacing,
    /// Number of the point in the run, from which random instants follow.
    pub point: u32,
    /// This agent's number among those that share the rate.
    pub client: u32,
    /// How many share it.
    pub clients: u32,
}

/// One point of one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointOrder {
    /// Counts the points of the conversation, from 1.
    pub point: u32,
    pub target: PointTarget,
    pub workload: Workload,
    pub sizes: Sizes,
    /// Requests that this agent keeps in flight.
    pub concurrency: u32,
    /// Event-loop threads; as many as there are processors where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Failed requests from which the point ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_limit: Option<ErrorLimit>,
    /// The schedule of an open loop, of which this agent has a share; none for a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<RateOrder>,
    /// This agent's share of a cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_rate: Option<Rate>,
    /// Set that is written to.
    pub write_set: u32,
    /// First number of it.
    pub write_first: u64,
    /// Set that is read.
    pub read_set: u32,
    /// Objects in it; in a point of deletes, the number below which this agent deletes.
    pub read_count: u64,
    /// First number of it that this agent deletes, in a point of deletes.
    #[serde(default)]
    pub delete_first: u64,
    /// Objects of the run that a listing must show.
    pub listed: u64,
    /// Objects that a listing may show.
    pub listed_most: u64,
    /// Whether bodies that are read are compared.
    pub verify: bool,
    pub until: OrderUntil,
    /// Length of an interval, in nanoseconds.
    pub interval_ns: u64,
    /// Whether intervals are wanted whole, and not their counts alone.
    pub is_recorded: bool,
}

/// What one operation did in an interval, without latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PulseRow {
    pub op: Op,
    pub requests: u64,
    /// Their body bytes.
    pub bytes: u64,
    /// Body bytes that moved.
    pub moved_bytes: i64,
    pub failed: u64,
}

/// Counts of one interval, or of several where the stream was slow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulse {
    pub point: u32,
    /// Number of the first interval, from 0.
    pub first: u64,
    pub count: u64,
    /// How long they were together, in milliseconds.
    pub length_ms: u64,
    /// One per operation.
    pub rows: Vec<PulseRow>,
}

impl Pulse {
    /// The counts of one interval.
    #[must_use]
    pub fn from_interval<H>(point: u32, number: u64, interval: &Interval<H>) -> Pulse {
        let mut rows = BTreeMap::new();
        for row in &interval.rows {
            let sum = rows.entry(row.op).or_insert(PulseRow { op: row.op, ..NOTHING });
            sum.add(&PulseRow {
                op: row.op,
                requests: row.requests,
                bytes: row.bytes,
                moved_bytes: row.moved_bytes,
                failed: row.errors.values().sum(),
            });
        }
        let length_ms = interval.length_ms();
        Pulse { point, first: number, count: 1, length_ms, rows: rows.into_values().collect() }
    }

    pub fn add(&mut self, next: &Pulse) {
        self.count += next.count;
        self.length_ms += next.length_ms;
        for row in &next.rows {
            match self.rows.iter_mut().find(|own| own.op == row.op) {
                Some(own) => own.add(row),
                None => self.rows.push(*row),
            }
        }
    }
}

const NOTHING: PulseRow = PulseRow { op: Op::Get, requests: 0, bytes: 0, moved_bytes: 0, failed: 0 };

impl PulseRow {
    fn add(&mut self, other: &PulseRow) {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.moved_bytes += other.moved_bytes;
        self.failed += other.failed;
    }
}

/// An interval, or some of its rows where all do not fit a message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalPart {
    pub point: u32,
    /// Whether no more rows follow of it.
    pub is_last: bool,
    /// The interval by the agent's own clock; of parts behind the first, only the rows count.
    pub interval: Interval,
}

/// An upload that may be left at the target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftUpload {
    /// Set of its object.
    pub set: u32,
    pub seq: u64,
    pub size_bytes: u64,
    /// Its id, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload_id: Option<String>,
}

/// How a point of one agent ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DrivenEnd {
    pub point: u32,
    pub ended: StopReason,
    /// Numbers of the write set below this may exist at the target.
    pub written_until: u64,
    /// Objects that the target said it stored.
    pub stored: u64,
    /// Objects that the target said it deleted.
    pub deleted: u64,
    pub connections: u64,
    /// Writes that the target may store yet.
    pub unended_writes: u64,
    /// Uploads that may be left.
    pub unfinished: Vec<LeftUpload>,
    pub requests: u64,
    /// Their body bytes.
    pub bytes: u64,
    /// Requests that failed, by kind.
    pub errors: BTreeMap<String, u64>,
    /// Intervals that were put together with the one before, because the stream was slow.
    pub merged: u64,
    /// Requests that are in no interval: of a point whose intervals are not recorded, all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "beside")]
    pub alongside: Vec<OutsideRow>,
    /// Requests that were in flight when its last interval ended and did not end well while they were waited for;
    /// absent where its intervals are not recorded, and from versions that did not wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<Vec<InFlightRow>>,
}

/// What an agent tells of load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoadMessage {
    /// What was sent is understood, and the hosts are found.
    Loaded {
        /// What the agent's clock says where instants of intervals and readings are 0.
        zero_ns: i64,
        /// Event-loop threads that it drives load with.
        threads: u32,
    },
    /// The point can begin.
    Ready {
        point: u32,
    },
    Pulse(Pulse),
    Interval(Box<IntervalPart>),
    /// Counters of its machine, by its own clock.
    Reading(Box<Reading>),
    /// The requests that were in flight at the end of a point have ended, or are given up. The load goes on, uncounted,
    /// until [`crate::protocol::ToAgent::Finish`], for others may wait for theirs.
    InFlightEnded {
        point: u32,
    },
    /// A point has ended.
    End(Box<DrivenEnd>),
    /// It cannot go on.
    Failed {
        why: String,
    },
}

/// A text that an agent sends along.
pub(crate) fn is_plain(text: &str, most: usize) -> bool {
    text.len() <= most && !text.chars().any(char::is_control)
}

/// Refuses kinds of errors that are too many, or no words.
pub(crate) fn check_kinds(kinds: &BTreeMap<String, u64>) -> Result<(), String> {
    if kinds.len() > KINDS_MAX {
        return Err(format!("{} kinds of errors, but at most {KINDS_MAX} are allowed", kinds.len()));
    }
    match kinds.iter().find(|(kind, count)| !is_plain(kind, KIND_BYTES_MAX) || **count > COUNT_MAX) {
        Some((kind, count)) => Err(format!("{count} errors of kind {:?}", kind.chars().take(80).collect::<String>())),
        None => Ok(()),
    }
}

/// What cannot be of a pulse.
pub(crate) fn check_pulse(pulse: &Pulse, workload: &Workload) -> Result<(), String> {
    if pulse.count == 0 || pulse.rows.len() > Op::COUNT || pulse.length_ms > TIME_MS_MAX {
        return Err("counts of zero intervals".to_owned());
    }
    for row in &pulse.rows {
        check_op(row.op, workload)?;
        let counts = [row.requests, row.bytes, row.failed, row.moved_bytes.unsigned_abs()];
        check_counts(&counts)?;
    }
    Ok(())
}

pub(crate) fn check_op(op: Op, workload: &Workload) -> Result<(), String> {
    let is_requested = workload.has(op) || (op == Op::Part && workload.has(Op::Multipart));
    if is_requested { Ok(()) } else { Err(format!("unexpected requests of {op}")) }
}

fn check_counts(counts: &[u64]) -> Result<(), String> {
    match counts.iter().find(|count| **count > COUNT_MAX) {
        Some(count) => Err(format!("a count of {count}")),
        None => Ok(()),
    }
}

/// The same of counts that a point's are summed of over all clients.
pub(crate) fn check_sums(counts: &[u64]) -> Result<(), String> {
    match counts.iter().find(|count| **count > COUNT_OF_CLIENT_MAX) {
        Some(count) => Err(format!("a count of {count}")),
        None => Ok(()),
    }
}

/// What cannot be of an interval, or of a part of one.
pub(crate) fn check_interval(interval: &Interval, order: &PointOrder, hosts: u32) -> Result<(), String> {
    let rows = &interval.rows;
    if let Some(why) = interval_problem(interval) {
        return Err(format!("an interval that cannot be: {why}"));
    }
    if interval.point != 0 || interval.client != 0 || interval.warmup || interval.open.is_some() != order.rate.is_some()
    {
        return Err("an interval that is not its own".to_owned());
    }
    if interval.thread_cpu_ns.len() > 1_024 || rows.len() > hosts as usize * Op::COUNT {
        return Err(format!("an interval of {} rows and {} threads", rows.len(), interval.thread_cpu_ns.len()));
    }
    interval.open.iter().try_for_each(check_open)?;
    rows.iter().try_for_each(|row| check_row(row, order, hosts))
}

/// What cannot be of what an open loop tells of an interval.
fn check_open(open: &OpenInterval) -> Result<(), String> {
    // Who starts late, and what waits, is a count of its own, with no other to hold it against.
    std::iter::once(&open.late).chain(&open.ages).try_for_each(|histogram| check_histogram(histogram, COUNT_MAX))
}

fn check_row(row: &IntervalRow, order: &PointOrder, hosts: u32) -> Result<(), String> {
    if row.host >= hosts {
        return Err(format!("requests to host {} of {hosts}", row.host));
    }
    check_op(row.op, &order.workload)?;
    check_kinds(&row.errors)?;
    check_kinds(&row.retries)?;
    let intended = || row.ttfb_intended.iter().chain(&row.total_intended);
    if order.rate.is_none() && intended().next().is_some() {
        return Err("unexpected latencies of an open loop".to_owned());
    }
    let mut all = [&row.ttfb, &row.total].into_iter().chain(intended());
    all.try_for_each(|histogram| check_histogram(histogram, row.requests))
}

pub(crate) fn check_histogram(encoded: &EncodedHistogram, requests: u64) -> Result<(), String> {
    if encoded.0.len() > HISTOGRAM_BYTES_MAX {
        return Err(format!("a histogram of {} bytes", encoded.0.len()));
    }
    let mut decoded = empty();
    add_encoded(&mut decoded, encoded).map_err(|_| "an invalid histogram".to_owned())?;
    match decoded.len() {
        count if count > requests => Err(format!("{count} latencies of {requests} requests")),
        _ => Ok(()),
    }
}

/// What cannot be of a reading.
pub(crate) fn check_reading(reading: &Reading) -> Result<(), String> {
    let programs = reading.look.as_ref().map_or(&[][..], |look| &look.programs);
    let lists = [reading.cpus.len(), reading.nics.len(), reading.disks.len(), programs.len()];
    if let Some(most) = lists.into_iter().find(|count| *count > DEVICES_MAX) {
        return Err(format!("a reading of {most} devices"));
    }
    let names = reading.nics.iter().map(|nic| &nic.name).chain(reading.disks.iter().map(|disk| &disk.name));
    let mut names = names.chain(programs.iter().map(|program| &program.name));
    if names.any(|name| !is_plain(name, NAME_BYTES_MAX)) || reading.client != 0 {
        return Err("an invalid reading".to_owned());
    }
    match reading_problem(reading) {
        Some(why) => Err(format!("a reading that cannot be: {why}")),
        None => Ok(()),
    }
}

/// What is wrong with what an agent needs to load a target, whoever gave it: it lists no more than a user may ask for.
///
/// # Errors
/// Why, in words for a person.
pub fn check_load(order: &LoadOrder) -> Result<(), String> {
    match order.existing.as_ref().map(|listed| listed.most.max(listed.count)) {
        Some(most) if most > OBJECTS_MAX => {
            Err(format!("{most} objects to list, but at most {OBJECTS_MAX} are allowed"))
        }
        _ => Ok(()),
    }
}

/// What is wrong with an order, whoever gave it.
///
/// # Errors
/// Why, in words for a person.
pub fn check_order(order: &PointOrder) -> Result<(), String> {
    let threads = order.threads.unwrap_or(1);
    let is_sound = (1..=65_536).contains(&order.concurrency)
        && (1..=1_024).contains(&threads)
        && (1_000_000..=86_400_000_000_000).contains(&order.interval_ns)
        && order.write_first < 1 << 40
        && order.read_count < 1 << 40
        && order.delete_first <= order.read_count
        && order.rate.is_none_or(|rate| is_rate(&rate));
    if is_sound { Ok(()) } else { Err("a point that cannot be driven".to_owned()) }
}

fn is_rate(rate: &RateOrder) -> bool {
    rate.per_s > 0.0 && rate.per_s <= RATE_MAX && rate.client < rate.clients && rate.clients as usize <= CLIENTS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ToAgent;

    #[test]
    fn no_more_objects_are_listed_than_a_user_may_ask_for() {
        let existing = |most: u64, count: u64| Some(ListedObjects { most, count, sha256: String::new() });
        for (existing, is_sound) in [
            (None, true),
            (existing(OBJECTS_MAX, 9), true),
            (existing(OBJECTS_MAX + 1, 9), false),
            (existing(u64::MAX, 9), false),
            (existing(9, u64::MAX), false),
        ] {
            let checked = check_load(&LoadOrder { existing: existing.clone(), ..load_order(None) });
            assert_eq!(checked.is_ok(), is_sound, "{existing:?}: {checked:?}");
        }
    }

    fn load_order(keys: Option<LoadKeys>) -> LoadOrder {
        LoadOrder {
            load: crate::driven_load::tests::load(),
            addresses: Vec::new(),
            ca_pem: None,
            run_prefix: "p/".to_owned(),
            seed: 1,
            keys,
            expected_ms: 1,
            existing: None,
        }
    }

    #[test]
    fn keys_are_shown_by_no_message() {
        let keys = LoadKeys {
            access_key: "AKID".to_owned(),
            secret_key: "very-secret".to_owned(),
            session_token: Some("token-of-it".to_owned()),
        };
        let order = load_order(Some(keys));
        let shown = format!("{:?}", ToAgent::Load(Box::new(order.clone())));
        assert!(!shown.contains("very-secret") && !shown.contains("token-of-it") && !shown.contains("AKID"), "{shown}");
        let text = serde_json::to_string(&order).unwrap();
        assert_eq!(serde_json::from_str::<LoadOrder>(&text).unwrap(), order, "it goes out whole");
    }
}
