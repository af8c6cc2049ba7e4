//! What engines tell of their requests. Which versions the names were checked against, and how, is in
//! `docs/method/readings.md`.

use linerate_record::readings::ReadMeasure;

use super::{MetricExporter, PageValue, SeriesNeed, SourceRow};

/// Labels of machines, by exporter. MinIO's metrics of version 2 are of all servers, whichever is scraped; those of
/// version 3 are of the one that is. RustFS sends what it counts to a collector: its own name is in a resource's
/// attribute, which the collector or Prometheus puts into one of these labels.
const fn machine(exporter: MetricExporter) -> &'static [&'static str] {
    match exporter {
        MetricExporter::MinioV2 => &["server", "instance"],
        MetricExporter::Rustfs => &["service_instance_id", "exported_instance", "instance"],
        MetricExporter::Ceph => &["hostname"],
        _ => &["instance", "server"],
    }
}

/// Labels of servers, by exporter: whatever is scraped under how many names and by how many jobs, a server that says
/// who it is counts once.
const fn server(exporter: MetricExporter) -> &'static [&'static str] {
    match exporter {
        MetricExporter::MinioV2 | MetricExporter::MinioV3 => &["server", "instance"],
        _ => machine(exporter),
    }
}

const fn row(
    of: ReadMeasure,
    exporter: MetricExporter,
    metric: &'static str,
    expression: &'static str,
    page: PageValue,
) -> SourceRow {
    let need = if matches!(of, ReadMeasure::RequestErrors) { SeriesNeed::Rare } else { SeriesNeed::Useful };
    let (machine, server) = (machine(exporter), server(exporter));
    SourceRow { of, exporter, metric, expression, machine, part: &[], server, need, page: Some(page) }
}

/// A rate of each server of an engine, from series that these labels tell apart.
macro_rules! served {
    ($of:ident, $exporter:ident, $by:literal, $metric:literal) => {
        row(
            ReadMeasure::$of,
            MetricExporter::$exporter,
            $metric,
            concat!("sum by (server, instance) (max by (", $by, ") (rate(", $metric, "{%S}[%W])))"),
            PageValue::Counter,
        )
    };
}

/// A gauge of each server of an engine, from series that these labels tell apart.
macro_rules! gauge {
    ($of:ident, $exporter:ident, $by:literal, $metric:literal) => {
        row(
            ReadMeasure::$of,
            MetricExporter::$exporter,
            $metric,
            concat!("sum by (server, instance) (max by (", $by, ") (", $metric, "{%S}))"),
            PageValue::Gauge,
        )
    };
}

/// A rate of each server whose metrics come by a collector.
macro_rules! collected {
    ($of:ident, $metric:literal) => {
        row(
            ReadMeasure::$of,
            MetricExporter::Rustfs,
            $metric,
            concat!("max by (service_instance_id, exported_instance, instance) (rate(", $metric, "{%S}[%W]))"),
            PageValue::Counter,
        )
    };
}

/// A rate of each gateway of Ceph, by the host that it is on.
macro_rules! gateway {
    ($of:ident, $metric:literal) => {
        row(
            ReadMeasure::$of,
            MetricExporter::Ceph,
            $metric,
            concat!(
                "sum by (hostname) (max by (instance_id) (rate(",
                $metric,
                "{%S}[%W])) * on (instance_id) group_left (hostname) max by (instance_id, hostname) \
                 (ceph_rgw_metadata{%S}))"
            ),
            PageValue::Counter,
        )
    };
}

/// A rate of each host's gateways, where ceph-exporter, which runs on every host, has them by an `instance_id` that
/// gateways of several hosts share (Rook's before it names their services apart), or no manager says on which host one
/// is.
macro_rules! exported {
    ($of:ident, $before:literal, $metric:literal, $after:literal) => {
        SourceRow {
            machine: &["instance"],
            server: &["instance"],
            page: None,
            ..row(
                ReadMeasure::$of,
                MetricExporter::Ceph,
                $metric,
                concat!("sum by (instance) (max by (instance, instance_id) (", $before, $metric, "{%S}", $after, "))"),
                PageValue::Counter,
            )
        }
    };
}

/// Where Ceph's manager says on which host a gateway is, by its `instance_id`.
pub(crate) const GATEWAYS: &str = "ceph_rgw_metadata";

/// All rows of engines.
pub(super) const ENGINES: &[SourceRow] = &[
    served!(ClientSent, MinioV3, "server, instance, type", "minio_api_requests_traffic_sent_bytes"),
    served!(ClientSent, MinioV2, "server, instance", "minio_s3_traffic_sent_bytes"),
    // A histogram of whole answers of GET: `rustfs_http_server_response_body_bytes_total` has what peers read as well,
    // and `rustfs_api_requests_traffic_sent_bytes` is declared and counts nothing.
    collected!(ClientSent, "rustfs_s3_get_object_size_bytes_sum"),
    gateway!(ClientSent, "ceph_rgw_op_get_obj_bytes"),
    gateway!(ClientSent, "ceph_rgw_get_b"),
    exported!(ClientSent, "rate(", "ceph_rgw_op_get_obj_bytes", "[%W])"),
    served!(ClientReceived, MinioV3, "server, instance, type", "minio_api_requests_traffic_received_bytes"),
    served!(ClientReceived, MinioV2, "server, instance", "minio_s3_traffic_received_bytes"),
    collected!(ClientReceived, "rustfs_s3_put_object_size_bytes_sum"),
    gateway!(ClientReceived, "ceph_rgw_op_put_obj_bytes"),
    gateway!(ClientReceived, "ceph_rgw_put_b"),
    exported!(ClientReceived, "rate(", "ceph_rgw_op_put_obj_bytes", "[%W])"),
    gauge!(InFlight, MinioV3, "server, instance, name", "minio_api_requests_inflight_total"),
    gauge!(InFlight, MinioV2, "server, instance, api", "minio_s3_requests_inflight_total"),
    row(
        ReadMeasure::InFlight,
        MetricExporter::Ceph,
        "ceph_rgw_qactive",
        "sum by (hostname) (max by (instance_id) (ceph_rgw_qactive{%S}) * on (instance_id) group_left (hostname) \
         max by (instance_id, hostname) (ceph_rgw_metadata{%S}))",
        PageValue::Gauge,
    ),
    exported!(InFlight, "", "ceph_rgw_qactive", ""),
    gauge!(Waiting, MinioV3, "server, instance, type", "minio_api_requests_waiting_total"),
    gauge!(Waiting, MinioV2, "server, instance", "minio_s3_requests_waiting_total"),
    served!(RequestErrors, MinioV2, "server, instance, api", "minio_s3_requests_errors_total"),
    served!(RequestErrors, MinioV3, "server, instance, name", "minio_api_requests_errors_total"),
    gateway!(RequestErrors, "ceph_rgw_failed_req"),
];
