//! Containers out of their processor quota: which of them are the engine's, by their names. What another container of a
//! node lacks, such as a proxy or a shipper of logs, is no limit of the engine's.

use linerate_record::diagnosis::Cause;
use linerate_record::readings::ReadMeasure;
use linerate_record::units::percent;

use super::readings_grid::Grid;
use super::sentences;
use super::suspects::ScoredCause;

/// From such a share of its periods on, a container out of its quota is a cause.
const THROTTLED: f64 = 0.1;

/// Of many, those that are out of it most.
const MOST: usize = 8;

/// Words of engines in names of containers and of their pods: MinIO, RustFS, Garage, and Ceph's daemons.
const ENGINES: [&str; 8] = ["minio", "rustfs", "garage", "ceph", "radosgw", "rgw", "osd", "mds"];

/// Words of what runs beside an engine, in its pod or in one of its own.
const ALONGSIDE: [&str; 18] = [
    "proxy",
    "envoy",
    "istio",
    "linkerd",
    "sidecar",
    "exporter",
    "metrics",
    "monitor",
    "prometheus",
    "telegraf",
    "fluent",
    "promtail",
    "filebeat",
    "vector",
    "log",
    "agent",
    "reloader",
    "console",
];

/// Whether a name has a word, between what is no letter: `osd` is one of `rook-ceph-osd-0`, and `log` none of
/// `catalog`.
fn has_word(name: &str, word: &str, is_begin_enough: bool) -> bool {
    let matches_word = |part: &str| if is_begin_enough { part.starts_with(word) } else { part == word };
    name.split(|c: char| !c.is_ascii_alphabetic()).any(|part| matches_word(&part.to_ascii_lowercase()))
}

/// The word of an engine in a name.
#[must_use]
pub fn engine_word(name: &str) -> Option<&'static str> {
    ENGINES.into_iter().find(|word| has_word(name, word, false))
}

/// Whether a container is the engine's. `part` is its namespace, its pod and its own name; a part without them is a
/// control group that an agent found above the engine's own process.
fn is_engine(part: &str) -> bool {
    let Some((pod, container)) = part.rsplit_once('/') else { return true };
    let is_alongside = ALONGSIDE.into_iter().any(|word| has_word(container, word, true));
    !is_alongside && (engine_word(container).is_some() || engine_word(pod).is_some())
}

/// Each container that is out of its quota, with its node's place, its name and the share of its periods.
fn out_of_quota<'g>(grid: &'g Grid<'_>) -> Vec<(usize, &'g str, f64)> {
    // Where it has no value, it was not out of its quota.
    let judged = grid.is_busy.iter().filter(|busy| **busy).count().max(1) as f64;
    let of_node = |node: usize| {
        let parts = grid.parts(ReadMeasure::Throttled, node).iter();
        parts.map(move |(part, values)| (node, *part, grid.busy(values).iter().sum::<f64>() / judged))
    };
    let mut found: Vec<(usize, &str, f64)> =
        (0..grid.nodes.len()).flat_map(of_node).filter(|(.., share)| *share >= THROTTLED).collect();
    found.sort_by(|a, b| b.2.total_cmp(&a.2));
    found
}

/// Those of the engine: no comparison is needed to see that they hold it back. Whether readings are an agent's, who
/// looks at the engine's processes alone.
pub(super) fn throttled(grid: &Grid<'_>) -> Vec<ScoredCause> {
    let of_engine = out_of_quota(grid).into_iter().filter(|(_, part, _)| is_live(grid) || is_engine(part));
    let suspect = |(node, part, share): (usize, &str, f64)| {
        let name = &grid.nodes[node].name;
        let claim = sentences::throttled(part, name, share);
        ScoredCause::new(Cause::Quota, Some(name.clone()), part, claim, 5.0 + 5.0 * share.min(1.0))
    };
    of_engine.map(suspect).take(MOST).collect()
}

/// Those of others, each told with its name.
pub(super) fn of_others(grid: &Grid<'_>) -> Vec<String> {
    let others = out_of_quota(grid).into_iter().filter(|(_, part, _)| !is_live(grid) && !is_engine(part));
    let reported = |(node, part, share): (usize, &str, f64)| {
        format!(
            "{part} on {} is out of its processor quota in {} of its periods, and is no container of the engine by its \
             name: it counts for none of it; where requests pass through it, raise resources.limits.cpu",
            grid.nodes[node].name,
            percent(share)
        )
    };
    others.map(reported).take(MOST).collect()
}

fn is_live(grid: &Grid<'_>) -> bool {
    grid.readings.source == "live"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engines_container_is_told_by_its_name_or_by_that_of_its_pod() {
        for (part, expected) in [
            ("s3/minio-0/minio", true),
            ("s3/store-0/rustfs", true),
            ("garage/node-1/garage", true),
            ("rook-ceph/rook-ceph-osd-3-7d9/osd", true),
            ("rook-ceph/rook-ceph-rgw-a/rgw", true),
            ("s3/minio-0/server", true),
            ("pod-3/minio", true),
            ("minio-pod-3/server", true),
            ("minio.service", true),
            ("cri-containerd-0123.scope", true),
            ("s3/minio-0/istio-proxy", false),
            ("s3/minio-0/linkerd-proxy", false),
            ("s3/minio-0/sidecar", false),
            ("s3/minio-0/minio-exporter", false),
            ("s3/minio-0/fluent-bit", false),
            ("s3/minio-0/log-shipper", false),
            ("s3/minio-0/metrics", false),
            ("monitoring/node-exporter-x/node-exporter", false),
            ("etl/job-7/worker", false),
            ("etl/catalog-1/catalog", false),
            ("pod-3/worker", false),
        ] {
            assert_eq!(is_engine(part), expected, "{part}");
        }
        assert_eq!([engine_word("s3/minio-0"), engine_word("etl/jobs")], [Some("minio"), None]);
    }
}
