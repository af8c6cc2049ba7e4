//! Small objects: a ceiling in bytes that is millions of requests per second says little of what a server does.
//!
//! Ceilings count bytes on links, drives and processors, and operations on drives. What a request costs a processor
//! beside its bytes (a connection's turn, signature, look-up, quorum, reply) they do not count.

use linerate_record::finding::Severity;
use linerate_record::plan::{PlanFinding, PlanFindingKind};
use linerate_record::units::{bytes_iec, count};

use super::{Case, finding, lowest};
use crate::work_names::work_name;

/// Requests per second of a core above which processors may bind before any byte does: MinIO took 0.24 ms of a core for
/// a GET of 4 KiB and 0.53 ms for a PUT on the machine of `runs/bench-2026-11-20`, one node with one drive. Where nodes
/// ask each other for shards it is more: half of the PUTs' 1,900 is taken.
const CORE_REQUESTS_PER_S: f64 = 1_000.0;

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    let cores: f64 = case.groups().map(|group| f64::from(group.count) * f64::from(group.cores)).sum();
    for work in case.works {
        let Some(requests_per_s) = lowest(work).and_then(|ceiling| ceiling.limit_requests_per_s) else { continue };
        let of_core = requests_per_s / cores.max(1.0);
        if of_core <= CORE_REQUESTS_PER_S {
            continue;
        }
        let name = work_name(&work.work);
        let claim = format!(
            "{name} of {} at its ceiling is {} requests/s: processors may be the bottleneck before that",
            bytes_iec(work.work.object_bytes as f64),
            count(requests_per_s)
        );
        let evidence = format!(
            "{} requests/s of each core; ceilings count bytes and drive operations, but no processor time per request; \
             MinIO on one node took 0.24 ms for a GET of 4 KiB and 0.53 ms for a PUT",
            count(of_core)
        );
        let remedy = "do not rely on the ceiling in bytes: measure requests/s with bench on one node, and multiply";
        let source = "runs/bench-2026-11-20 (processor time of MinIO by size)";
        out.push(finding(PlanFindingKind::SmallObjects, Severity::Warning, claim, evidence, remedy, source));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings_after;
    use super::*;

    /// 16 nodes of 64 cores: 1,000 requests per second of each are 1.02 million, at 4 KiB 3.9 GiB/s, which two ports of
    /// 100 Gb/s a node exceed many times; drives allow 16 × 12 × 800,000 operations.
    #[test]
    fn millions_of_requests_are_told_and_megabytes_are_not() {
        let reported = |object_bytes: u64| {
            findings_after(PlanFindingKind::SmallObjects, |site| site.data.object_bytes = object_bytes)
        };
        let small = reported(4 << 10);
        assert!(!small.is_empty() && small[0].claim.starts_with("GET of 4.00 KiB"), "{small:?}");
        assert_eq!(reported(1 << 20), []);
        assert_eq!(reported(64 << 20), []);
    }
}
