# What changes by itself, or with every process and packet, as a pattern: sourced by what compares everything that can
# be read of a machine before and after.
# shellcheck shell=sh disable=SC2034
volatile='kernel/random/|fs/dentry-state|fs/inode-|fs/file-nr|fs/aio-nr|ns_last_pid|kernel/pty/nr|vm/stat_refresh'
volatile="$volatile|nf_conntrack_count|kernel/tainted|stable_secret|/inflight|byte_queue_limits/limit:"
volatile="$volatile|byte_queue_limits/stall|carrier_|_timer:|/pages_collapsed|/full_scans|/uevent:"
volatile="$volatile|scaling_cur_freq|route/flush|/statistics/|/brforward|vm/drop_caches|vm/compact_memory"
volatile="$volatile|kernel/seccomp/|kernel/core_pipe|kernel/keys/|kernel/usermodehelper|khugepaged/.*stat|/stats/"
