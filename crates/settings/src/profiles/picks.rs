//! The picks of every profile.

use super::{Pick, Value};

const fn advised(knob: &'static str) -> Pick {
    Pick { knob, value: Value::Advised }
}

const fn set(knob: &'static str, value: &'static str) -> Pick {
    Pick { knob, value: Value::Literal(value) }
}

pub(super) const S3_STORAGE_NODE: &[Pick] = &[
    advised("vm.swappiness"),
    advised("vm.vfs_cache_pressure"),
    advised("vm.dirty_background_ratio"),
    advised("vm.dirty_ratio"),
    advised("vm.dirty_background_bytes"),
    advised("vm.dirty_bytes"),
    advised("vm.max_map_count"),
    advised("vm.min_free_kbytes"),
    advised("vm.zone_reclaim_mode"),
    advised("vm.transparent_hugepage"),
    advised("vm.transparent_hugepage.defrag"),
    advised("vm.transparent_hugepage.khugepaged.max_ptes_none"),
    advised("cpu.governor"),
    advised("cpu.energy_perf_bias"),
    advised("cpu.energy_performance_preference"),
    advised("cpu.min_perf_pct"),
    advised("cpu.force_latency"),
    advised("kernel.numa_balancing"),
    advised("kernel.sched_migration_cost_ns"),
    advised("kernel.hung_task_timeout_secs"),
    advised("kernel.pid_max"),
    advised("fs.file-max"),
    advised("fs.nr_open"),
    advised("fs.inotify.max_user_watches"),
    advised("fs.inotify.max_user_instances"),
    advised("fs.xfs.xfssyncd_centisecs"),
    advised("xfs.noatime"),
    advised("xfs.inode64"),
    advised("xfs.allocsize"),
    advised("xfs.logbufs"),
    advised("xfs.logbsize"),
    advised("xfs.discard"),
    advised("block.scheduler"),
    advised("block.read_ahead_kb"),
    advised("block.nr_requests"),
    advised("block.rq_affinity"),
    advised("block.discard_max_bytes"),
    advised("block.fstrim_timer"),
    advised("net.core.rmem_max"),
    advised("net.core.wmem_max"),
    advised("net.core.rmem_default"),
    advised("net.core.wmem_default"),
    advised("net.core.optmem_max"),
    advised("net.core.somaxconn"),
    advised("net.core.netdev_max_backlog"),
    advised("net.core.netdev_budget"),
    advised("net.core.netdev_budget_usecs"),
    advised("net.core.busy_read"),
    advised("net.core.busy_poll"),
    advised("net.core.default_qdisc"),
    advised("net.core.rps_sock_flow_entries"),
    advised("net.ipv4.tcp_rmem"),
    advised("net.ipv4.tcp_wmem"),
    advised("net.ipv4.tcp_moderate_rcvbuf"),
    advised("net.ipv4.tcp_mtu_probing"),
    advised("net.ipv4.tcp_base_mss"),
    advised("net.ipv4.tcp_fin_timeout"),
    advised("net.ipv4.tcp_tw_reuse"),
    advised("net.ipv4.tcp_max_tw_buckets"),
    advised("net.ipv4.tcp_max_syn_backlog"),
    advised("net.ipv4.tcp_syncookies"),
    advised("net.ipv4.tcp_timestamps"),
    advised("net.ipv4.tcp_sack"),
    advised("net.ipv4.tcp_window_scaling"),
    advised("net.ipv4.tcp_adv_win_scale"),
    advised("net.ipv4.tcp_slow_start_after_idle"),
    advised("net.ipv4.tcp_notsent_lowat"),
    advised("net.ipv4.tcp_keepalive_time"),
    advised("net.ipv4.ip_local_port_range"),
    advised("net.ipv4.ip_local_reserved_ports"),
    advised("net.ipv4.conf.all.send_redirects"),
    advised("net.ipv4.conf.all.accept_redirects"),
    advised("net.ipv4.conf.all.accept_source_route"),
    advised("net.ipv4.neigh.default.gc_thresh1"),
    advised("net.ipv4.neigh.default.gc_thresh2"),
    advised("net.ipv4.neigh.default.gc_thresh3"),
    advised("nic.mtu"),
    advised("nic.ring.rx"),
    advised("nic.ring.tx"),
    advised("nic.channels"),
    advised("nic.receive_hash"),
    advised("nic.rps_cpus"),
    advised("nic.rps_flow_cnt"),
    advised("nic.tso"),
    advised("nic.gso"),
    advised("nic.gro"),
    advised("nic.lro"),
    advised("nic.rx"),
    advised("nic.tx"),
    advised("nic.interrupts"),
    advised("bond.mode"),
    advised("bond.xmit_hash_policy"),
    advised("bond.lacp_rate"),
    advised("bond.miimon"),
    advised("net.netfilter.nf_conntrack_max"),
    advised("net.netfilter.nf_conntrack_buckets"),
    advised("net.netfilter.nf_conntrack_tcp_timeout_established"),
    advised("net.netfilter.nf_conntrack_tcp_timeout_time_wait"),
    advised("net.netfilter.nf_conntrack_tcp_timeout_close_wait"),
    advised("net.netfilter.nf_conntrack_tcp_timeout_fin_wait"),
    advised("net.netfilter.nf_conntrack_udp_timeout"),
    advised("net.netfilter.nf_conntrack_udp_timeout_stream"),
    advised("net.netfilter.nf_conntrack_icmp_timeout"),
    advised("net.netfilter.nf_conntrack_generic_timeout"),
    advised("boot.skew_tick"),
    advised("boot.iommu"),
    advised("kernel.version"),
    advised("limits.nofile"),
    advised("limits.nproc"),
];

/// What a storage node has beside a client: its file systems and disks, what listens, and what takes a boot.
const STORAGE_ALONE: &[&str] = &[
    "vm.vfs_cache_pressure",
    "kernel.numa_balancing",
    "fs.file-max",
    "fs.nr_open",
    "fs.inotify.max_user_watches",
    "fs.inotify.max_user_instances",
    "fs.xfs.xfssyncd_centisecs",
    "xfs.noatime",
    "xfs.inode64",
    "xfs.allocsize",
    "xfs.logbufs",
    "xfs.logbsize",
    "xfs.discard",
    "block.scheduler",
    "block.read_ahead_kb",
    "block.nr_requests",
    "block.rq_affinity",
    "block.discard_max_bytes",
    "block.fstrim_timer",
    "net.core.somaxconn",
    "net.ipv4.tcp_max_syn_backlog",
    "boot.skew_tick",
    "boot.iommu",
    "kernel.version",
    "limits.nproc",
];

pub(super) const S3_CLIENT_NODE: &[Pick] =
    &without::<{ S3_STORAGE_NODE.len() - STORAGE_ALONE.len() }>(S3_STORAGE_NODE, STORAGE_ALONE);

/// The picks that are not of these knobs, in their order; not built where one of the knobs is none of the picks.
const fn without<const LEFT: usize>(picks: &[Pick], knobs: &[&str]) -> [Pick; LEFT] {
    let mut left = [picks[0]; LEFT];
    let (mut at, mut count) = (0, 0);
    while at < picks.len() {
        if !is_among(picks[at].knob, knobs) {
            left[count] = picks[at];
            count += 1;
        }
        at += 1;
    }
    assert!(count == LEFT, "each knob that is left out is a pick once");
    left
}

const fn is_among(knob: &str, knobs: &[&str]) -> bool {
    let mut at = 0;
    while at < knobs.len() {
        if is_same(knob.as_bytes(), knobs[at].as_bytes()) {
            return true;
        }
        at += 1;
    }
    false
}

/// Comparing texts is no `const fn` of the library.
const fn is_same(one: &[u8], other: &[u8]) -> bool {
    if one.len() != other.len() {
        return false;
    }
    let mut at = 0;
    while at < one.len() {
        if one[at] != other[at] {
            return false;
        }
        at += 1;
    }
    true
}

pub(super) const KUBERNETES_NODE: &[Pick] = &[
    advised("kernel.pid_max"),
    advised("fs.inotify.max_user_watches"),
    advised("fs.inotify.max_user_instances"),
    advised("fs.file-max"),
    advised("fs.nr_open"),
    advised("vm.max_map_count"),
    advised("net.ipv4.ip_local_port_range"),
    advised("net.ipv4.ip_local_reserved_ports"),
    advised("net.ipv4.neigh.default.gc_thresh1"),
    advised("net.ipv4.neigh.default.gc_thresh2"),
    advised("net.ipv4.neigh.default.gc_thresh3"),
    advised("net.ipv4.conf.all.send_redirects"),
    advised("net.ipv4.conf.all.accept_redirects"),
    advised("net.ipv4.conf.all.accept_source_route"),
    advised("net.netfilter.nf_conntrack_max"),
    advised("net.netfilter.nf_conntrack_buckets"),
    advised("net.netfilter.nf_conntrack_tcp_timeout_established"),
    advised("net.netfilter.nf_conntrack_tcp_timeout_time_wait"),
    advised("net.netfilter.nf_conntrack_tcp_timeout_close_wait"),
    advised("net.netfilter.nf_conntrack_tcp_timeout_fin_wait"),
    advised("net.netfilter.nf_conntrack_udp_timeout"),
    advised("net.netfilter.nf_conntrack_udp_timeout_stream"),
    advised("net.netfilter.nf_conntrack_icmp_timeout"),
    advised("net.netfilter.nf_conntrack_generic_timeout"),
    advised("kernel.version"),
    advised("apiserver.max_requests_inflight"),
    advised("apiserver.max_mutating_requests_inflight"),
    advised("apiserver.delete_collection_workers"),
    advised("controller_manager.concurrent_gc_syncs"),
    advised("controller_manager.concurrent_deployment_syncs"),
    advised("controller_manager.concurrent_endpoint_syncs"),
    advised("controller_manager.concurrent_replicaset_syncs"),
    advised("controller_manager.concurrent_rc_syncs"),
    advised("controller_manager.concurrent_namespace_syncs"),
    advised("controller_manager.concurrent_service_syncs"),
    advised("controller_manager.concurrent_job_syncs"),
    advised("controller_manager.qps"),
    advised("controller_manager.burst"),
    advised("kubelet.qps"),
    advised("kubelet.burst"),
    advised("scheduler.qps"),
    advised("scheduler.burst"),
    advised("kubelet.evented_pleg"),
    advised("kubelet.cpu_manager_policy"),
    advised("kubelet.topology_manager_policy"),
    advised("kubelet.allowed_unsafe_sysctls"),
    advised("etcd.heartbeat_interval"),
    advised("etcd.election_timeout"),
    advised("etcd.quota_backend_bytes"),
    advised("etcd.max_request_bytes"),
    advised("dns.cache_success"),
    advised("dns.cache_denial"),
    advised("dns.prefetch"),
    advised("dns.serve_stale"),
    advised("dns.nodelocal"),
    advised("cilium.routing_mode"),
    advised("cilium.datapath_mode"),
    advised("cilium.bpf_masquerade"),
    advised("cilium.ipv4_big_tcp"),
    advised("cilium.endpoint_routes"),
    advised("cilium.endpoint_health_checking"),
    advised("cilium.health_checking"),
    advised("cilium.kube_proxy_replacement"),
    advised("cilium.lb_acceleration"),
    advised("cilium.lb_mode"),
    advised("cilium.local_redirect_policy"),
    advised("cilium.bgp_control_plane"),
    advised("cilium.external_traffic_policy"),
];

pub(super) const SOURCE_000_OS: &[Pick] = &[
    set("fs.xfs.xfssyncd_centisecs", "72000"),
    set("net.core.busy_read", "50"),
    set("net.core.busy_poll", "50"),
    set("kernel.numa_balancing", "1"),
    set("vm.swappiness", "0"),
    set("vm.vfs_cache_pressure", "50"),
    set("vm.dirty_background_ratio", "3"),
    set("vm.dirty_ratio", "10"),
    set("vm.max_map_count", "524288"),
    set("kernel.sched_migration_cost_ns", "5000000"),
    set("kernel.hung_task_timeout_secs", "85"),
    set("net.core.netdev_max_backlog", "250000"),
    set("net.core.somaxconn", "16384"),
    set("net.ipv4.tcp_syncookies", "0"),
    set("net.ipv4.tcp_max_syn_backlog", "16384"),
];

pub(super) const SOURCE_000_TUNED: &[Pick] = &[
    set("vm.transparent_hugepage", "madvise"),
    set("vm.transparent_hugepage.defrag", "defer+madvise"),
    set("vm.transparent_hugepage.khugepaged.max_ptes_none", "0"),
    set("cpu.force_latency", "1"),
    set("cpu.governor", "performance"),
    set("cpu.energy_perf_bias", "0"),
    set("cpu.min_perf_pct", "100"),
    set("net.core.netdev_max_backlog", "250000"),
    set("net.ipv4.tcp_syncookies", "0"),
    set("net.ipv4.tcp_max_syn_backlog", "65535"),
    set("net.core.wmem_max", "4194304"),
    set("net.core.rmem_max", "4194304"),
    set("net.ipv4.tcp_rmem", "4096 87380 4194304"),
    set("net.ipv4.tcp_wmem", "4096 65536 4194304"),
    set("net.ipv4.tcp_timestamps", "0"),
    set("net.ipv4.tcp_sack", "1"),
    set("net.ipv4.tcp_low_latency", "1"),
    set("net.ipv4.tcp_adv_win_scale", "1"),
    set("net.ipv4.tcp_slow_start_after_idle", "0"),
    set("net.ipv4.tcp_mtu_probing", "1"),
    set("net.ipv4.tcp_base_mss", "1280"),
    set("net.ipv6.conf.all.disable_ipv6", "1"),
    set("net.ipv6.conf.default.disable_ipv6", "1"),
    set("net.ipv4.tcp_fin_timeout", "20"),
    set("net.ipv4.ip_local_port_range", "1024 65535"),
    set("fs.xfs.xfssyncd_centisecs", "72000"),
    set("net.core.busy_read", "50"),
    set("net.core.busy_poll", "50"),
    set("kernel.numa_balancing", "1"),
    set("vm.swappiness", "0"),
    set("vm.vfs_cache_pressure", "50"),
    set("vm.dirty_background_ratio", "3"),
    set("vm.dirty_ratio", "10"),
    set("vm.max_map_count", "524288"),
    set("kernel.sched_migration_cost_ns", "5000000"),
    set("kernel.hung_task_timeout_secs", "85"),
    set("net.netfilter.nf_conntrack_max", "800000"),
    set("net.netfilter.nf_conntrack_buckets", "100000"),
    set("boot.skew_tick", "1"),
];

pub(super) const SOURCE_000_KUBERNETES: &[Pick] = &[
    set("apiserver.max_mutating_requests_inflight", "400"),
    set("apiserver.max_requests_inflight", "800"),
    set("apiserver.delete_collection_workers", "200"),
    set("apiserver.cpu", "16"),
    set("apiserver.memory", "24Gi"),
    set("controller_manager.concurrent_gc_syncs", "200"),
    set("controller_manager.concurrent_deployment_syncs", "50"),
    set("controller_manager.concurrent_endpoint_syncs", "50"),
    set("controller_manager.concurrent_replicaset_syncs", "50"),
    set("controller_manager.concurrent_rc_syncs", "50"),
    set("controller_manager.concurrent_namespace_syncs", "50"),
    set("controller_manager.concurrent_service_syncs", "50"),
    set("controller_manager.concurrent_job_syncs", "50"),
    set("controller_manager.qps", "150"),
    set("controller_manager.burst", "300"),
    set("kubelet.qps", "150"),
    set("kubelet.burst", "300"),
    set("scheduler.qps", "150"),
    set("scheduler.burst", "300"),
    set("kubelet.evented_pleg", "false"),
    set("etcd.election_timeout", "2700"),
    set("etcd.heartbeat_interval", "270"),
    set("etcd.quota_backend_bytes", "8589934592"),
];

pub(super) const SOURCE_000_CILIUM: &[Pick] = &[
    set("cilium.routing_mode", "native"),
    set("cilium.datapath_mode", "netkit"),
    set("cilium.bpf_masquerade", "true"),
    set("cilium.ipv4_big_tcp", "true"),
    set("cilium.endpoint_routes", "false"),
    set("cilium.endpoint_health_checking", "false"),
    set("cilium.health_checking", "false"),
    set("cilium.kube_proxy_replacement", "true"),
    set("cilium.lb_acceleration", "best-effort"),
    set("cilium.lb_mode", "snat"),
    set("cilium.local_redirect_policy", "true"),
    set("cilium.external_traffic_policy", "Local"),
];

pub(super) const SOURCE_002_CILIUM: &[Pick] = &[
    set("net.core.rmem_max", "16777216"),
    set("net.core.wmem_max", "16777216"),
    set("net.core.netdev_max_backlog", "16384"),
    set("net.core.optmem_max", "163840"),
    set("net.ipv4.tcp_rmem", "67108864 134217728 268435456"),
    set("net.ipv4.tcp_wmem", "67108864 134217728 268435456"),
    set("net.ipv4.tcp_mtu_probing", "1"),
    set("net.ipv4.tcp_fin_timeout", "30"),
    set("net.ipv4.tcp_tw_reuse", "1"),
    set("net.netfilter.nf_conntrack_max", "655350"),
    set("net.netfilter.nf_conntrack_tcp_timeout_established", "3600"),
    set("net.core.somaxconn", "8192"),
];

pub(super) const SOURCE_003_FULL: &[Pick] = &[
    set("fs.file-max", "4194303"),
    set("vm.swappiness", "1"),
    set("vm.vfs_cache_pressure", "10"),
    set("vm.min_free_kbytes", "1000000"),
    set("net.core.rmem_max", "268435456"),
    set("net.core.wmem_max", "268435456"),
    set("net.core.rmem_default", "67108864"),
    set("net.core.wmem_default", "67108864"),
    set("net.core.netdev_budget", "1200"),
    set("net.core.optmem_max", "134217728"),
    set("net.core.somaxconn", "65535"),
    set("net.core.netdev_max_backlog", "250000"),
    set("net.ipv4.tcp_rmem", "67108864 134217728 268435456"),
    set("net.ipv4.tcp_wmem", "67108864 134217728 268435456"),
    set("net.ipv4.tcp_low_latency", "1"),
    set("net.ipv4.tcp_adv_win_scale", "1"),
    set("net.ipv4.tcp_max_syn_backlog", "30000"),
    set("net.ipv4.tcp_max_tw_buckets", "2000000"),
    set("net.ipv4.tcp_tw_reuse", "1"),
    set("net.ipv4.tcp_fin_timeout", "5"),
    set("net.ipv4.conf.all.send_redirects", "0"),
    set("net.ipv4.conf.all.accept_redirects", "0"),
    set("net.ipv4.conf.all.accept_source_route", "0"),
    set("net.ipv4.tcp_mtu_probing", "1"),
];
