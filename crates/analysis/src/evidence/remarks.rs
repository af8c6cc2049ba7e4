//! What is told of a run beside its figures: refusals, which are errors, and what a report has words for.

use std::collections::BTreeMap;

use linerate_record::finding::FindingKind;
use linerate_record::load::Workload;
use linerate_record::run::{MaybeKnown, PointSizes, TargetKind};
use linerate_record::units::Bytes;

/// Why a run can be none of a site.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SiteMismatch {
    /// It loaded a target of linerate's own.
    #[error(
        "it loaded linerate's own {kind} target, which is not part of {site}: name a run that used --host with the \
             site's hosts"
    )]
    OwnTarget {
        kind: TargetKind,
        /// Name of the site.
        site: String,
    },
    /// It loaded more hosts than the site has nodes.
    #[error(
        "it loaded {hosts} hosts, and {site} has {nodes} nodes: it is a run of another target, or the site describes \
         too few"
    )]
    MoreHosts {
        /// Hosts of the run.
        hosts: usize,
        /// Nodes of the site.
        nodes: u32,
        /// Name of the site.
        site: String,
    },
    /// The clients of the site run on all of its nodes, and one machine drove the load.
    #[error(
        "it was loaded from one machine, and the clients of {site} run on its {nodes} nodes: load from there with \
         linerate bench --fleet, import a measurement of warp from there, give the total with --observed, or describe \
         clients on separate machines"
    )]
    OneMachine {
        /// Nodes of the site.
        nodes: u32,
        /// Name of the site.
        site: String,
    },
}

/// Why a run is no evidence of a site.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoEvidence {
    /// It can be none of the site.
    #[error(transparent)]
    SiteMismatch(#[from] SiteMismatch),
    /// It has no GET or PUT that can be taken.
    #[error(
        "no GET or PUT{} that can be used: it measured {}, and explain needs a GET or PUT of one size, of 64 KiB or \
         more; name a run that measured one, or give --observed",
        size.map_or_else(String::new, |size| format!(" of {size}")),
        if measured.is_empty() { "nothing".to_owned() } else { measured.join(", ") }
    )]
    Nothing {
        /// The size that was named.
        size: Option<Bytes>,
        /// What it measured, one by one.
        measured: Vec<String>,
    },
    /// It has some, and none is evidence.
    #[error("{}", .0.iter().map(OmittedFigure::to_string).collect::<Vec<_>>().join("; "))]
    OmittedFigure(Vec<OmittedFigure>),
}

/// A figure that is no evidence.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{workload} of {size}: {why}")]
pub struct OmittedFigure {
    /// `get` or `put`.
    pub workload: MaybeKnown<Workload>,
    /// Object size, as asked.
    pub size: MaybeKnown<PointSizes>,
    /// The best that was measured of it; none of what moves no bytes.
    pub bytes_per_s: Option<f64>,
    /// Half the width of its interval of 95 %, as a share of it; none if there is no interval.
    pub half_width_share: Option<f64>,
    pub why: NotEvidenceReason,
}

/// Why a figure says nothing of what holds a site back.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NotEvidenceReason {
    /// Too many requests failed.
    #[error("{:.1} % of its requests failed", share * 100.0)]
    Failed {
        /// Share of them, from 0 to 1.
        share: f64,
    },
    /// A critical finding says that it should not be used.
    #[error("the run has the critical finding {name}: {claim}: measure again without that")]
    Critical {
        /// The finding's kind, as JSON has it: `bytes-unaccounted`.
        name: String,
        /// What the finding claims.
        claim: String,
    },
    /// linerate was the limit.
    #[error("linerate itself was the limit, not the site: use more client machines or --threads")]
    Client,
    /// Client and target shared processors.
    #[error("client and target shared the processors of one machine, which were the limit")]
    SharedMachine,
    /// One client's NIC was the limit, and the site has several clients.
    #[error("the NIC of one client was the limit, but the site has several clients: load from all of them")]
    Nic,
    /// Other programs had this machine's processors.
    #[error(
        "other programs disturbed it: measure again when they have ended, or judge it nevertheless with \
         --allow-disturbed"
    )]
    Disturbed,
    /// A cap was the limit.
    #[error("--max-rate was the limit, not the site")]
    RateCap,
    /// The rate that was asked for was the limit.
    #[error("--rate or the search of --slo asked for no more")]
    RequestedRate,
    #[error("linerate paused after failures, and loaded the site less during that time")]
    Backoff,
    /// More in flight may give more.
    #[error("it was still rising at the highest concurrency: measure with more requests in flight")]
    StillRising,
    /// The best is known to no better than so much of it.
    #[error("it is known to no better than ± {:.0} %: measure again, for longer", half_width_share * 100.0)]
    Unsteady {
        /// Half the width of its interval of 95 %, as a share of it.
        half_width_share: f64,
    },
    /// What may give the best was not measured.
    #[error("it does not rise and level off: also measure the concurrencies that may be the best")]
    Uneven,
    #[error("an open loop measures the requested rate, not the maximum")]
    OpenLoop,
    #[error("only a GET or a PUT alone is compared with a ceiling")]
    OtherOperation,
    #[error("it is reported in requests per second: a ceiling is one of bytes")]
    InRequests,
    /// The figures that are used are of another size.
    #[error("the figures used are of objects of {used}: judge it with --obj.size")]
    OtherSize {
        /// The size of those.
        used: Bytes,
    },
    #[error("another number of clients gave more")]
    FewerClients,
    #[error("its objects have several sizes: a ceiling is one of a single size")]
    SeveralSizes,
    #[error("no request succeeded")]
    NothingMoved,
}

impl NotEvidenceReason {
    /// By a critical finding.
    pub(super) fn critical(kind: FindingKind, claim: &str) -> NotEvidenceReason {
        let name = serde_json::to_value(kind).ok().and_then(|kind| kind.as_str().map(str::to_owned));
        NotEvidenceReason::Critical { name: name.unwrap_or_default(), claim: claim.to_owned() }
    }
}

/// What figures of a run rest on.
#[derive(Clone, Debug, PartialEq)]
pub enum Caveat {
    /// The target had an address of the machine that loaded it.
    ThisMachine,
    /// Clients of the site run on its nodes, and the run is taken to be one of all of them.
    OnAllNodes {
        /// Nodes of the site.
        nodes: u32,
        /// Name of the site.
        site: String,
    },
    /// Clients ask nodes themselves, and not all were loaded.
    FewerHosts {
        /// Hosts of the run.
        hosts: usize,
        /// Nodes of the site.
        nodes: u32,
        /// Name of the site.
        site: String,
    },
    /// Other programs disturbed what was measured, and it is used on request.
    Disturbed {
        /// `get` or `put`.
        workload: MaybeKnown<Workload>,
        /// Object size, as requested.
        size: MaybeKnown<PointSizes>,
    },
    /// A figure is used with its wide interval.
    WideInterval {
        /// `get` or `put`.
        workload: MaybeKnown<Workload>,
        /// Object size, as requested.
        size: MaybeKnown<PointSizes>,
        /// Half the width of its interval of 95 %, as a share of it.
        half_width_share: f64,
    },
    /// A figure has no interval, and is taken to have a wide error.
    NoInterval {
        /// `get` or `put`.
        workload: MaybeKnown<Workload>,
        /// Object size, as asked.
        size: MaybeKnown<PointSizes>,
        /// The relative standard error that it is taken to have.
        error_share: f64,
    },
}

/// What a run says by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunRemark {
    Failures {
        /// `get` or `put`.
        workload: MaybeKnown<Workload>,
        /// Requests that ended, well or not.
        requests: u64,
        failed: u64,
        /// The same by kind.
        kinds: BTreeMap<String, u64>,
        /// The host with most of them, of several.
        most: Option<(String, u64)>,
    },
    /// A host's median latency is far above that of the others.
    Late {
        /// `get` or `put`.
        workload: MaybeKnown<Workload>,
        /// `host:port`.
        host: String,
        /// Its median time to last byte.
        p50_ns: u64,
        /// The median of those of all hosts.
        median_ns: u64,
    },
}
