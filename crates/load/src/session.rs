//! What is the same for every request of a run, and what differs from point to point.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use linerate_record::load::{ErrorLimit, HostSelect, Lookup, Payload, Sizes, Workload};
use linerate_wire::open_loop::Arrivals;
use linerate_wire::rate_limit::RateLimit;

use crate::body::Bodies;
use crate::hosts::Host;
use crate::multipart::Parts;
use crate::sigv4::Credentials;
use crate::tls::Tls;

/// What is the same for every request of a run.
#[derive(Clone)]
pub struct Session {
    pub hosts: Vec<Host>,
    /// How TLS is spoken with the hosts; `None` is plain HTTP.
    pub tls: Option<Tls>,
    /// Local addresses that connections are made from in turn; where there are none, the route gives one.
    pub sources: Vec<IpAddr>,
    /// How the bucket is named.
    pub lookup: Lookup,
    pub bucket: String,
    /// Prefix of every key that the run writes: the user's prefix and the run's own folder, ending in `/`.
    pub run_prefix: String,
    /// Who signs; `None` sends unsigned requests, for public buckets.
    pub credentials: Option<Credentials>,
    pub region: String,
    /// How bodies are sent.
    pub payload: Payload,
    /// Bodies to write and to compare with.
    pub bodies: Arc<Bodies>,
    /// Which host gets the next request.
    pub host_select: HostSelect,
    /// Longest time for one request, in nanoseconds.
    pub timeout_ns: u64,
    /// Seed of sizes and choices.
    pub seed: u64,
}

impl Session {
    /// The local address of connection number `turn` to an address: those of its family take turns.
    pub(crate) fn source(&self, address: SocketAddr, turn: u64) -> Option<IpAddr> {
        let fits = |source: &&IpAddr| source.is_ipv4() == address.is_ipv4();
        let count = self.sources.iter().filter(fits).count() as u64;
        self.sources.iter().filter(fits).nth(turn.checked_rem(count)? as usize).copied()
    }
}

/// An object that was at the target before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Existing {
    pub key: String,
    pub size_bytes: u64,
}

/// Which objects are read.
#[derive(Clone, Debug)]
pub enum Source {
    /// Objects `0..count` of a set that the run wrote.
    Set {
        set: u32,
        /// How many it holds.
        count: u64,
    },
    /// Objects that were there before.
    Existing(Arc<Vec<Existing>>),
}

/// When a point ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndCondition {
    /// After so many intervals.
    Intervals(u64),
    /// After objects of the write set below this number were asked for, once each.
    Written(u64),
}

/// One point, as the wire loop drives it.
#[derive(Clone, Debug)]
pub struct PointPlan {
    pub workload: Workload,
    /// Sizes of objects written.
    pub sizes: Sizes,
    /// Requests kept in flight; in an open loop, the most.
    pub concurrency: u32,
    /// The open loop's schedule; `None` for a closed loop, in which a request follows as soon as one ends.
    pub arrivals: Option<Arrivals>,
    /// Times that a failed request is made again.
    pub retries: u32,
    /// Failed requests from which the point ends.
    pub error_limit: Option<ErrorLimit>,
    /// Event-loop threads; no more than `concurrency` are started.
    pub threads: u32,
    /// Set that is written to.
    pub write_set: u32,
    /// First number of the set that is written: several clients may write parts of one set.
    pub write_first: u64,
    /// What is read, headed and deleted.
    pub source: Source,
    /// First number of the source that a point of deletes deletes: several clients may delete parts of one set.
    pub delete_first: u64,
    /// Objects of the run that a listing must show, a page of them at the most; none where the target keeps nothing,
    /// or where it is not known.
    pub listed: u64,
    /// Objects that a listing may show, all that the run wrote; `u64::MAX` where that is not known.
    pub listed_most: u64,
    /// How objects are cut for multipart uploads.
    pub parts: Parts,
    /// Length of a range to read in place of a whole object.
    pub range_bytes: Option<u64>,
    /// Whether bodies read are compared with what was written.
    pub verify: bool,
    pub until: EndCondition,
    /// Cap on all threads of a closed loop together, and on all points that share it.
    pub cap: Option<Arc<RateLimit>>,
    /// Length of an interval in nanoseconds.
    pub interval_ns: u64,
}
