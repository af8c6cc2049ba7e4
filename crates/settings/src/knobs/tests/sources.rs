//! Every setting that a source names is a row, under that name.

use crate::knobs::{KNOBS, called, find};

/// The documents, and the settings as they write them.
const NAMED: &[(&str, &[&str])] = &[
    (
        "source 000, OS table",
        &[
            "fs.xfs.xfsyncd_centisecs",
            "net.core.busy_read",
            "net.core.busy_poll",
            "kernel.numa_balancing",
            "vm.swappiness",
            "vm.vfs_cache_pressure",
            "vm.dirty_background_ratio",
            "vm.dirty_ratio",
            "vm.max_map_count",
            "kernel.sched_migration_cost_ns",
            "kernel.hung_task_timeout_secs",
            "net.core.netdev_max_backlog",
            "net.core.somaxconn",
            "net.ipv4.tcp_syncookies",
            "net.ipv4.tcp_syn_backlog",
        ],
    ),
    (
        "source 000, hardware and file system",
        &[
            "noatime",
            "inode64",
            "allocsize",
            "logbufs",
            "logbsize",
            "scheduler",
            "fstrim",
            "Linux Kernel version 6.8",
            "CPU NUMA Aware Scheduling",
        ],
    ),
    (
        "source 000, tuned profile",
        &[
            "transparent_hugepage",
            "/sys/kernel/mm/transparent_hugepage/defrag",
            "/sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none",
            "force_latency",
            "governor",
            "energy_perf_bias",
            "min_perf_pct",
            "net.core.netdev_max_backlog",
            "net.ipv4.tcp_syncookies",
            "net.ipv4.tcp_max_syn_backlog",
            "net.core.wmem_max",
            "net.core.rmem_max",
            "net.ipv4.tcp_rmem",
            "net.ipv4.tcp_wmem",
            "net.ipv4.tcp_timestamps",
            "net.ipv4.tcp_sack",
            "net.ipv4.tcp_low_latency",
            "net.ipv4.tcp_adv_win_scale",
            "net.ipv4.tcp_slow_start_after_idle",
            "net.ipv4.tcp_mtu_probing",
            "tcp_base_mss",
            "net.ipv6.conf.*.disable_ipv6",
            "net.ipv4.tcp_fin_timeout",
            "net.ipv4.ip_local_port_range",
            "fs.xfs.xfssyncd_centisecs",
            "net.core.busy_read",
            "net.core.busy_poll",
            "kernel.numa_balancing",
            "vm.swappiness",
            "vm.vfs_cache_pressure",
            "vm.dirty_background_ratio",
            "vm.dirty_ratio",
            "vm.max_map_count",
            "kernel.sched_migration_cost_ns",
            "kernel.hung_task_timeout_secs",
            "nf_conntrack_max",
            "nf_conntrack_buckets",
            "nf_conntrack_tcp_timeout",
            "nf_conntrack_udp_timeout",
            "nf_conntrack_icmp_timeout",
            "cmdline = skew_tick=1",
        ],
    ),
    (
        "source 000, Kubernetes values",
        &[
            "max-mutating-requests-inflight",
            "max-requests-inflight",
            "delete-collection-workers",
            "CPU: 16core",
            "Memory: 24Gi",
            "concurrent-gc-syncs",
            "concurrent-deployment-syncs",
            "concurrent-endpoint-syncs",
            "concurrent-replicaset-syncs",
            "concurrent-rc-sync",
            "concurrent-namespace-syncs",
            "concurrent-service-syncs",
            "concurrent-job-syncs s",
            "qps",
            "burst",
            "ETCD_ELECTION_TIMEOUT",
            "ETCD_HEARTBEAT_INTERVAL",
            "ETCD_QUOTA_BACKEND_BYTES",
            "ETCD_MAX_REQUEST_BYTES",
            "EventPLEG",
            "ExternalTrafficPolicy",
        ],
    ),
    (
        "source 000, CoreDNS",
        &[
            "NodeLocal DNScache",
            "CoreDNS HPA",
            "cache plugin success",
            "cache plugin denial",
            "prefetch",
            "serve_stale",
            "Autopath",
            "EndpointSlice",
        ],
    ),
    (
        "source 000, Cilium values",
        &[
            "routingMode",
            "bpf.datapathMode",
            "bpf.masquerade",
            "enableIPv4BIGTCP",
            "endpointRoutes.enabled",
            "endpointHealthChecking.enabled",
            "healthChecking",
            "kubeProxyReplacement",
            "loadBalancer.acceleration",
            "loadBalancer.mode",
            "localRedirectPolicy",
        ],
    ),
    (
        "source 002, network tuning",
        &[
            "net.core.rmem_max",
            "net.core.wmem_max",
            "net.core.netdev_max_backlog",
            "net.core.optmem_max",
            "net.ipv4.tcp_rmem",
            "net.ipv4.tcp_wmem",
            "net.ipv4.tcp_mtu_probing",
            "net.ipv4.tcp_fin_timeout",
            "net.ipv4.tcp_tw_reuse",
            "net.netfilter.nf_conntrack_max",
            "net.netfilter.nf_conntrack_tcp_timeout_established",
            "net.core.somaxconn",
            "RPS",
            "RFS",
            "XPS",
            "GRO",
            "GSO",
            "TSO",
            "ifconfig <iface> mtu",
            "ip link set mtu",
        ],
    ),
    (
        "source 003, partial parameters",
        &[
            "net.core.netdev_budget",
            "net.core.netdev_max_backlog",
            "net.core.rmem_max",
            "net.ipv4.tcp_rmem",
            "net.core.wmem_max",
            "net.ipv4.tcp_wmem",
            "net.ipv4.tcp_mtu_probing",
            "blockdev --setra",
            "vm.vfs_cache_pressure",
        ],
    ),
    (
        "source 003, full parameters",
        &[
            "fs.file-max",
            "vm.swappiness",
            "vm.vfs_cache_pressure",
            "vm.min_free_kbytes",
            "net.core.rmem_max",
            "net.core.wmem_max",
            "net.core.rmem_default",
            "net.core.wmem_default",
            "net.core.netdev_budget",
            "net.core.optmem_max",
            "net.core.somaxconn",
            "net.core.netdev_max_backlog",
            "net.ipv4.tcp_rmem",
            "net.ipv4.tcp_wmem",
            "net.ipv4.tcp_low_latency",
            "net.ipv4.tcp_adv_win_scale",
            "net.ipv4.tcp_max_syn_backlog",
            "net.ipv4.tcp_max_tw_buckets",
            "net.ipv4.tcp_tw_reuse",
            "net.ipv4.tcp_fin_timeout",
            "net.ipv4.conf.all.send_redirects",
            "net.ipv4.conf.all.accept_redirects",
            "net.ipv4.conf.all.accept_source_route",
            "net.ipv4.tcp_mtu_probing",
        ],
    ),
    ("source 004", &["xmit-hash", "bond.mode"]),
];

#[test]
fn every_setting_that_a_source_names_has_a_row() {
    for (document, names) in NAMED {
        for name in *names {
            assert!(find(name).is_some() || !called(name).is_empty(), "{document}: {name} has no row");
        }
    }
}

#[test]
fn rows_cite_the_document_that_names_them() {
    for (document, names) in NAMED {
        let number = document.split(',').next().expect("a number");
        for name in *names {
            let mut rows = find(name).into_iter().chain(called(name)).peekable();
            assert!(rows.peek().is_some(), "{document}: {name}");
            for row in rows {
                assert!(
                    row.knob.sources.iter().any(|source| source.starts_with(number)),
                    "{} of {document}",
                    row.knob.id
                );
            }
        }
    }
}

#[test]
fn a_name_that_no_source_uses_leads_nowhere() {
    assert!(find("net.ipv4.tcp_syn_backlog").is_none(), "a misspelt name is no id");
    assert!(called("net.ipv4.tcp_synbacklog").is_empty());
    assert_eq!(KNOBS.iter().filter(|row| row.knob.also_called.contains(&row.knob.id)).count(), 0);
}
