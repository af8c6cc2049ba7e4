//! What engines really export, trimmed, and whether the rows of the table find it: by Prometheus's query or off a page.

use linerate_prometheus::exposition::{PageSample, page};
use linerate_prometheus::series_table::{MetricExporter, rows};
use linerate_record::readings::ReadMeasure;

/// A file of `captures/metrics`, whose it is, and which readings have to be in it by which metric and machine.
type Case = (&'static str, MetricExporter, &'static [(ReadMeasure, &'static str, &'static str)]);

const CASES: [Case; 5] = [
    (
        "minio-v3.txt",
        MetricExporter::MinioV3,
        &[
            (ReadMeasure::ClientSent, "minio_api_requests_traffic_sent_bytes", "n1:9000"),
            (ReadMeasure::ClientReceived, "minio_api_requests_traffic_received_bytes", "n1:9000"),
            (ReadMeasure::InFlight, "minio_api_requests_inflight_total", "n1:9000"),
            (ReadMeasure::RequestErrors, "minio_api_requests_errors_total", "n1:9000"),
        ],
    ),
    (
        "minio-v2.txt",
        MetricExporter::MinioV2,
        &[
            (ReadMeasure::ClientSent, "minio_s3_traffic_sent_bytes", "n1:9000"),
            (ReadMeasure::ClientReceived, "minio_s3_traffic_received_bytes", "n1:9000"),
            (ReadMeasure::InFlight, "minio_s3_requests_inflight_total", "n1:9000"),
            (ReadMeasure::Waiting, "minio_s3_requests_waiting_total", "n1:9000"),
            (ReadMeasure::RequestErrors, "minio_s3_requests_errors_total", "n1:9000"),
        ],
    ),
    (
        "ceph-16.2.15.txt",
        MetricExporter::Ceph,
        &[
            (ReadMeasure::ClientSent, "ceph_rgw_get_b", "n1"),
            (ReadMeasure::ClientReceived, "ceph_rgw_put_b", "n1"),
            (ReadMeasure::InFlight, "ceph_rgw_qactive", "n1"),
            (ReadMeasure::RequestErrors, "ceph_rgw_failed_req", "n1"),
        ],
    ),
    (
        "ceph-exporter-20.txt",
        MetricExporter::Ceph,
        &[
            (ReadMeasure::ClientSent, "ceph_rgw_op_get_obj_bytes", "n1"),
            (ReadMeasure::ClientReceived, "ceph_rgw_op_put_obj_bytes", "n1"),
            (ReadMeasure::InFlight, "ceph_rgw_qactive", "n1"),
            (ReadMeasure::RequestErrors, "ceph_rgw_failed_req", "n1"),
        ],
    ),
    (
        "rustfs-1.0.0-rc.3.txt",
        MetricExporter::Rustfs,
        &[
            (ReadMeasure::ClientSent, "rustfs_s3_get_object_size_bytes_sum", "n1:9000"),
            (ReadMeasure::ClientReceived, "rustfs_s3_put_object_size_bytes_sum", "n1:9000"),
        ],
    ),
];

/// The machine of a sample: by its own labels, or by the host of the gateway that it is of.
fn machine<'s>(sample: &'s PageSample<'_>, labels: &[&str], all: &'s [PageSample<'_>]) -> Option<&'s str> {
    let own = labels.iter().find_map(|label| sample.label(label));
    let gateway = || {
        let id = sample.label("instance_id")?;
        let is_gateway =
            |one: &&PageSample<'_>| one.name == "ceph_rgw_metadata" && one.label("instance_id") == Some(id);
        all.iter().find(is_gateway)?.label("hostname")
    };
    own.or_else(gateway)
}

#[test]
fn rows_of_the_table_find_what_engines_export() {
    for (file, exporter, expected) in CASES {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/metrics/").to_owned() + file;
        let text = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let whole = page(&text, |_| true);
        assert_eq!(whole.unreadable, None, "{file}");
        let mut found = Vec::new();
        for row in rows().filter(|row| row.exporter == exporter) {
            let samples: Vec<&PageSample<'_>> = whole.samples.iter().filter(|one| one.name == row.metric).collect();
            let Some(first) = samples.first() else { continue };
            for label in row.expression.split("max by (").skip(1).filter_map(|rest| rest.split(')').next()) {
                let by: Vec<&str> = label.split(", ").collect();
                let reported_apart = |one: &PageSample<'_>| -> Vec<Option<String>> {
                    by.iter().map(|label| one.label(label).map(str::to_owned)).collect()
                };
                let mut kinds: Vec<_> = samples.iter().map(|one| reported_apart(one)).collect();
                kinds.sort();
                kinds.dedup();
                let is_of_gateways = by.contains(&"hostname");
                assert!(
                    is_of_gateways || kinds.len() == samples.len(),
                    "{file}: {} by {by:?} is not apart",
                    row.metric
                );
            }
            found.push((row.of, row.metric, machine(first, row.machine, &whole.samples).unwrap_or("none")));
        }
        let mut expected = expected.to_vec();
        expected.sort();
        found.sort();
        // Of one metric there may be several rows.
        found.dedup();
        assert_eq!(found, expected, "{file}");
    }
}
