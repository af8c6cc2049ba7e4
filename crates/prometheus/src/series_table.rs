//! Everything that is asked for, a row each: by which name, of which exporter, what it is a reading of, and by which
//! labels a series is of a machine and of a part of it.
//!
//! An expression has `%S` where matchers of `--select` go, and `%W` for the time that a rate is a mean of. The
//! innermost aggregation is always a maximum over what tells parts apart, so that what a pair of Prometheus, or several
//! jobs of one, scrape does not count twice.

mod engines;

use linerate_record::readings::ReadMeasure;
use linerate_record::site::Product;

pub(crate) use engines::GATEWAYS;

/// Who exports a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MetricExporter {
    /// node_exporter on every storage node.
    Node,
    /// The kubelet's cAdvisor.
    Cadvisor,
    /// MinIO's metrics of version 2.
    MinioV2,
    /// MinIO's metrics of version 3.
    MinioV3,
    /// RustFS's, which it sends by OpenTelemetry: by the names that a collector or Prometheus makes of them.
    Rustfs,
    /// Ceph's manager (up to Quincy) or its exporter (from Reef on), and the manager for the hosts of gateways.
    Ceph,
}

impl MetricExporter {
    /// What to scrape for it.
    #[must_use]
    pub const fn scraped(self) -> &'static str {
        match self {
            MetricExporter::Node => "node_exporter on every storage node (port 9100)",
            MetricExporter::Cadvisor => "the kubelet's /metrics/cadvisor of every node",
            MetricExporter::MinioV2 => {
                "MinIO's /minio/v2/metrics/cluster, with a token of `mc admin prometheus generate` or \
                 MINIO_PROMETHEUS_AUTH_TYPE=public"
            }
            MetricExporter::MinioV3 => "MinIO's /minio/metrics/v3/api/requests of every node",
            MetricExporter::Rustfs => "RustFS's metrics, which it sends by OpenTelemetry (RUSTFS_OBS_ENDPOINT)",
            MetricExporter::Ceph => {
                "Ceph's manager, after `ceph mgr module enable prometheus` (port 9283), and from Reef on ceph-exporter \
                 on every host with a gateway (port 9926)"
            }
        }
    }

    /// For how long an exporter may repeat what it read once, in milliseconds, and somewhat more. MinIO's version 2
    /// reads anew after ten seconds, Ceph's manager after `mgr/prometheus/scrape_interval`, fifteen; RustFS sends what
    /// it counts each thirty (`RUSTFS_OBS_METER_INTERVAL`).
    #[must_use]
    pub const fn repeats_ms(self) -> u64 {
        match self {
            MetricExporter::Node | MetricExporter::Cadvisor | MetricExporter::MinioV3 => 0,
            MetricExporter::MinioV2 => 12_000,
            MetricExporter::Ceph => 17_000,
            MetricExporter::Rustfs => 35_000,
        }
    }

    /// Whether a site with this engine has it.
    #[must_use]
    pub fn is_for_product(self, product: Product) -> bool {
        match self {
            MetricExporter::Node | MetricExporter::Cadvisor => true,
            MetricExporter::MinioV2 | MetricExporter::MinioV3 => product == Product::Minio,
            MetricExporter::Rustfs => product == Product::Rustfs,
            MetricExporter::Ceph => product == Product::CephRgw,
        }
    }
}

/// Whether an answer suffers without a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesNeed {
    Needed,
    /// It says more with it.
    Useful,
    /// Where it is not there, nothing is the matter.
    Rare,
}

/// How a metric is read off an exporter's own page, where no Prometheus computes rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageValue {
    /// What it grew by, per second.
    Counter,
    Gauge,
}

/// One thing that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct SourceRow {
    /// What it is a reading of.
    pub of: ReadMeasure,
    pub exporter: MetricExporter,
    /// The metric whose absence is told.
    pub metric: &'static str,
    pub expression: &'static str,
    /// Labels that say of which machine a series is; the first that it has counts.
    pub machine: &'static [&'static str],
    /// Labels that say of which part.
    pub part: &'static [&'static str],
    /// Labels that say of which server of a machine: values of several servers add up, those of one are the same
    /// counter in several scrapes. Empty where a machine has one exporter of it.
    pub server: &'static [&'static str],
    /// Whether it is missed.
    pub need: SeriesNeed,
    /// How it is read off the exporter's own page; engines' alone are.
    pub page: Option<PageValue>,
}

const INSTANCE: &[&str] = &["instance"];
const DEVICE: &[&str] = &["device"];

const fn of_machine(of: ReadMeasure, metric: &'static str, expression: &'static str, need: SeriesNeed) -> SourceRow {
    let exporter = MetricExporter::Node;
    SourceRow { of, exporter, metric, expression, machine: INSTANCE, part: &[], server: &[], need, page: None }
}

const fn of_device(of: ReadMeasure, metric: &'static str, expression: &'static str, need: SeriesNeed) -> SourceRow {
    let exporter = MetricExporter::Node;
    SourceRow { of, exporter, metric, expression, machine: INSTANCE, part: DEVICE, server: &[], need, page: None }
}

/// Interfaces that carry nothing of their own: loopback, and a container's ends of what a link carries already. Their
/// names alone say so: node_exporter exports of no interface whether hardware is behind it, as `--live` reads in sysfs.
/// What is built on a port and called otherwise (a VPN, a bridge of containers) is read, and carries no more than the
/// port.
macro_rules! links {
    ($before:literal, $metric:literal, $after:literal) => {
        concat!(
            $before,
            $metric,
            "{%Sdevice!~\"lo|veth.*|cali.*|lxc.*|docker.*|cni.*|virbr.*|ifb.*|dummy.*|tap.*|flannel.*|cilium_.*|\
             nodelocaldns|kube-ipvs0|tunl.*|gre.*|erspan.*|sit.*|ip6.*\"}",
            $after
        )
    };
}

/// A rate of each interface.
macro_rules! link_rate {
    ($metric:literal) => {
        links!("max by (instance, device) (rate(", $metric, "[%W]))")
    };
}

/// Drives that are devices of their own, by their names, which are all that node_exporter exports of them; which paths
/// of NVMe and which partitions are not, `gather` finds out.
macro_rules! drive_rate {
    ($metric:literal) => {
        concat!(
            "max by (instance, device) (rate(",
            $metric,
            "{%Sdevice!~\"loop.*|ram.*|zram.*|sr.*|fd.*|dm-.*|md.*|nbd.*|bcache.*|drbd.*|zd[0-9].*\"}[%W]))"
        )
    };
}

/// Busy cores of some modes.
macro_rules! cores {
    ($modes:literal) => {
        concat!(
            "sum by (instance) (max by (instance, cpu, mode) (rate(node_cpu_seconds_total{%Smode=~\"",
            $modes,
            "\"}[%W])))"
        )
    };
}

/// A share of time.
macro_rules! pressure {
    ($metric:literal) => {
        concat!("max by (instance) (rate(", $metric, "{%S}[%W]))")
    };
}

/// All of it. Of several rows for one reading, the first that has series counts.
pub fn rows() -> impl Iterator<Item = &'static SourceRow> {
    MACHINES.iter().chain(engines::ENGINES)
}

/// What exporters on machines tell.
const MACHINES: &[SourceRow] = &[
    of_device(
        ReadMeasure::LinkReceived,
        "node_network_receive_bytes_total",
        link_rate!("node_network_receive_bytes_total"),
        SeriesNeed::Needed,
    ),
    of_device(
        ReadMeasure::LinkSent,
        "node_network_transmit_bytes_total",
        link_rate!("node_network_transmit_bytes_total"),
        SeriesNeed::Needed,
    ),
    of_device(
        ReadMeasure::LinkSpeed,
        "node_network_speed_bytes",
        links!("max by (instance, device) (", "node_network_speed_bytes", " > 0)"),
        SeriesNeed::Useful,
    ),
    of_device(
        ReadMeasure::LinkMtu,
        "node_network_mtu_bytes",
        links!("max by (instance, device) (", "node_network_mtu_bytes", ")"),
        SeriesNeed::Useful,
    ),
    of_device(
        ReadMeasure::LinkReceivedDrops,
        "node_network_receive_drop_total",
        link_rate!("node_network_receive_drop_total"),
        SeriesNeed::Useful,
    ),
    of_device(
        ReadMeasure::LinkSentDrops,
        "node_network_transmit_drop_total",
        link_rate!("node_network_transmit_drop_total"),
        SeriesNeed::Useful,
    ),
    of_device(
        ReadMeasure::LinkErrors,
        "node_network_receive_errs_total",
        concat!(link_rate!("node_network_receive_errs_total"), " + ", link_rate!("node_network_transmit_errs_total")),
        SeriesNeed::Useful,
    ),
    of_device(
        ReadMeasure::LinkCarrierChanges,
        "node_network_carrier_changes_total",
        link_rate!("node_network_carrier_changes_total"),
        SeriesNeed::Rare,
    ),
    // By these names with `--collector.netdev.enable-detailed-metrics` alone: without it, they are among the drops.
    // Drivers count one loss under several of them, so that the one that grew most counts.
    of_device(
        ReadMeasure::LinkRingDrops,
        "node_network_receive_missed_errors_total",
        concat!(
            "max by (instance, device) (label_replace(",
            link_rate!("node_network_receive_missed_errors_total"),
            ", \"by\", \"missed\", \"\", \"\") or label_replace(",
            link_rate!("node_network_receive_fifo_errors_total"),
            ", \"by\", \"fifo\", \"\", \"\") or label_replace(",
            link_rate!("node_network_receive_over_errors_total"),
            ", \"by\", \"over\", \"\", \"\"))"
        ),
        SeriesNeed::Rare,
    ),
    of_machine(
        ReadMeasure::Retransmitted,
        "node_netstat_Tcp_RetransSegs",
        "max by (instance) (rate(node_netstat_Tcp_RetransSegs{%S}[%W])) / max by (instance) \
         (rate(node_netstat_Tcp_OutSegs{%S}[%W]))",
        SeriesNeed::Useful,
    ),
    of_machine(
        ReadMeasure::QueueDrops,
        "node_softnet_dropped_total",
        "sum by (instance) (max by (instance, cpu) (rate(node_softnet_dropped_total{%S}[%W])))",
        SeriesNeed::Useful,
    ),
    of_machine(
        ReadMeasure::CoresBusy,
        "node_cpu_seconds_total",
        cores!("user|nice|system|irq|softirq"),
        SeriesNeed::Needed,
    ),
    of_machine(
        ReadMeasure::Cores,
        "node_cpu_seconds_total",
        "count by (instance) (count by (instance, cpu) (node_cpu_seconds_total{%Smode=\"idle\"}))",
        SeriesNeed::Needed,
    ),
    of_machine(
        ReadMeasure::BusiestCore,
        "node_cpu_seconds_total",
        "max by (instance) (1 - sum by (instance, cpu) (max by (instance, cpu, mode) \
         (rate(node_cpu_seconds_total{%Smode=~\"idle|iowait\"}[%W]))))",
        SeriesNeed::Useful,
    ),
    // Of cores that are busy at least half of the time: idle ones are slow by intention. Most virtual machines have no
    // frequencies.
    of_machine(
        ReadMeasure::CoreFrequency,
        "node_cpu_scaling_frequency_hertz",
        "avg by (instance) ((max by (instance, cpu) (node_cpu_scaling_frequency_hertz{%S}) / max by (instance, cpu) \
         (node_cpu_frequency_max_hertz{%S})) and on (instance, cpu) (sum by (instance, cpu) (max by (instance, cpu, \
         mode) (rate(node_cpu_seconds_total{%Smode=~\"idle|iowait\"}[%W]))) <= 0.5))",
        SeriesNeed::Rare,
    ),
    of_machine(ReadMeasure::CoresSoftirq, "node_cpu_seconds_total", cores!("irq|softirq"), SeriesNeed::Useful),
    of_machine(ReadMeasure::CoresStolen, "node_cpu_seconds_total", cores!("steal"), SeriesNeed::Useful),
    of_machine(
        ReadMeasure::CpuPressure,
        "node_pressure_cpu_waiting_seconds_total",
        pressure!("node_pressure_cpu_waiting_seconds_total"),
        SeriesNeed::Useful,
    ),
    of_machine(
        ReadMeasure::IoPressure,
        "node_pressure_io_waiting_seconds_total",
        pressure!("node_pressure_io_waiting_seconds_total"),
        SeriesNeed::Useful,
    ),
    of_machine(
        ReadMeasure::MemoryPressure,
        "node_pressure_memory_waiting_seconds_total",
        pressure!("node_pressure_memory_waiting_seconds_total"),
        SeriesNeed::Useful,
    ),
    of_machine(
        ReadMeasure::MemoryAvailable,
        "node_memory_MemAvailable_bytes",
        "max by (instance) (node_memory_MemAvailable_bytes{%S}) / max by (instance) (node_memory_MemTotal_bytes{%S})",
        SeriesNeed::Useful,
    ),
    of_device(
        ReadMeasure::DriveRead,
        "node_disk_read_bytes_total",
        drive_rate!("node_disk_read_bytes_total"),
        SeriesNeed::Needed,
    ),
    of_device(
        ReadMeasure::DriveWritten,
        "node_disk_written_bytes_total",
        drive_rate!("node_disk_written_bytes_total"),
        SeriesNeed::Needed,
    ),
    of_device(
        ReadMeasure::DriveDiscarded,
        "node_disk_discarded_sectors_total",
        // The kernel's sectors are of 512 bytes, whatever the drive's are.
        concat!(drive_rate!("node_disk_discarded_sectors_total"), " * 512"),
        SeriesNeed::Rare,
    ),
    of_device(
        ReadMeasure::DriveBusy,
        "node_disk_io_time_seconds_total",
        drive_rate!("node_disk_io_time_seconds_total"),
        SeriesNeed::Useful,
    ),
    of_device(
        ReadMeasure::DriveQueue,
        "node_disk_io_time_weighted_seconds_total",
        drive_rate!("node_disk_io_time_weighted_seconds_total"),
        SeriesNeed::Useful,
    ),
    of_device(
        ReadMeasure::DriveLatency,
        "node_disk_read_time_seconds_total",
        concat!(
            "(",
            drive_rate!("node_disk_read_time_seconds_total"),
            " + ",
            drive_rate!("node_disk_write_time_seconds_total"),
            ") / (",
            drive_rate!("node_disk_reads_completed_total"),
            " + ",
            drive_rate!("node_disk_writes_completed_total"),
            ")"
        ),
        SeriesNeed::Useful,
    ),
    SourceRow {
        of: ReadMeasure::Throttled,
        exporter: MetricExporter::Cadvisor,
        metric: "container_cpu_cfs_throttled_periods_total",
        expression: "max by (node, instance, namespace, pod, container) \
                     (rate(container_cpu_cfs_throttled_periods_total{%Scontainer!=\"\"}[%W])) / max by (node, \
                     instance, namespace, pod, container) \
                     (rate(container_cpu_cfs_periods_total{%Scontainer!=\"\"}[%W])) > 0.05",
        machine: &["node", "instance"],
        part: &["namespace", "pod", "container"],
        server: &[],
        need: SeriesNeed::Rare,
        page: None,
    },
];

/// Readings that no row gives, each with the reason: agents take them (`explain --live`).
pub const NOT_EXPORTED: &[(ReadMeasure, &str)] = &[
    (
        ReadMeasure::LinkPaused,
        "node_exporter has pause frames by the ethtool collector alone, which is off unless it is asked for, and under \
         the name that each driver gives them",
    ),
    (ReadMeasure::BusiestThread, "node_exporter and cAdvisor count threads, and not what each of them does"),
    (ReadMeasure::EngineCores, "cAdvisor counts containers, and no label says which of them are the engine's"),
    (
        ReadMeasure::DriveTemperature,
        "node_hwmon_temp_celsius is of a controller (nvme_nvme0), whose number need not be that of its drive (nvme0n1)",
    ),
];

/// Where other names of machines are.
#[derive(Clone, Copy, Debug)]
pub struct NameRow {
    pub expression: &'static str,
    /// The label that series name a machine by.
    pub machine: &'static str,
    pub name: &'static str,
}

pub const NAMES: &[NameRow] = &[
    NameRow {
        expression: "max by (instance, nodename) (last_over_time(node_uname_info{%S}[%W]))",
        machine: "instance",
        name: "nodename",
    },
    NameRow {
        expression: "max by (internal_ip, node) (last_over_time(kube_node_info{%S}[%W]))",
        machine: "internal_ip",
        name: "node",
    },
    NameRow { expression: "max by (pod, node) (last_over_time(kube_pod_info{%S}[%W]))", machine: "pod", name: "node" },
    NameRow {
        expression: "max by (pod_ip, node) (last_over_time(kube_pod_info{%S}[%W]))",
        machine: "pod_ip",
        name: "node",
    },
];

/// What shows how often machines are scraped: the first that is there.
pub const SCRAPED: [&str; 2] =
    ["max(count_over_time(node_uname_info{%S}[%W]))", "max(count_over_time(node_network_receive_bytes_total{%S}[%W]))"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_asks_for_its_metric_by_its_labels_and_within_what_is_selected() {
        for row in rows() {
            let SourceRow { metric, expression, .. } = row;
            assert!(expression.contains(&format!("{metric}{{%S")), "{metric}");
            for label in row.machine.iter().chain(row.part) {
                assert!(expression.contains(label), "{metric}: {label}");
            }
            let (open, close) = (expression.matches('(').count(), expression.matches(')').count());
            assert_eq!(open, close, "{metric}");
            assert_eq!(expression.matches("{%S").count(), expression.matches('{').count(), "{metric}");
            assert!(!expression.contains("job"), "{metric}: jobs that scrape one page have one counter of it");
        }
    }

    #[test]
    fn every_reading_has_a_row_or_a_reason_and_every_engine_has_those_that_it_exports() {
        for of in ReadMeasure::ALL {
            let is_exported = rows().any(|row| row.of == of);
            let why = NOT_EXPORTED.iter().find(|(without, _)| *without == of);
            assert!(is_exported == why.is_none(), "{of:?} has a row or a reason, and not both");
        }
        for (product, exports) in
            [(Product::Minio, true), (Product::Rustfs, true), (Product::CephRgw, true), (Product::Garage, false)]
        {
            let has = rows().any(|row| row.of == ReadMeasure::ClientSent && row.exporter.is_for_product(product));
            assert_eq!(has, exports, "{product:?}");
        }
    }
}
