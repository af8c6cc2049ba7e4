#!/bin/sh
# Ceph's gateway on two OSDs of throttled drives, read while deep scrubs run in ten minutes of every twenty.
# Needs Ceph of Debian 12, unpacked into $SERVERS/ceph: see README.md.
. "$(dirname "$0")/../scenery.sh"
root=$SERVERS/ceph
library=$root/usr/lib/x86_64-linux-gnu
export PATH="$root/usr/bin:$PATH" PYTHONPATH="$root/usr/lib/python3/dist-packages"
export LD_LIBRARY_PATH="$library:$root/lib/x86_64-linux-gnu:$library/ceph"
cluster=/run/cluster
export CEPH_CONF="$cluster/ceph.conf"
ceph() { /usr/bin/python3 "$root/usr/bin/ceph" --connect-timeout 20 "$@"; }

for osd in 0 1; do drive "drive$osd" 6G; done
mkdir -p "$cluster/mon.a" "$cluster/rgw" "$cluster/osd.0" "$cluster/osd.1"
fsid=$(cat /proc/sys/kernel/random/uuid)
# Scrubs are due at once, always, and come when the flag nodeep-scrub is off. An object is read from the drive each
# time: BlueStore keeps none of its data. Manager and authentication are not needed.
cat >"$CEPH_CONF" <<Y
[global]
fsid = $fsid
mon_host = [v2:127.0.0.1:13300,v1:127.0.0.1:16789]
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
run_dir = $cluster
admin_socket = $cluster/\$name.asok
log_file = $cluster/\$name.log
crash_dir = $cluster
keyring = /dev/null
ms_mon_client_mode = crc
osd_class_dir = $library/rados-classes
erasure_code_dir = $library/ceph/erasure-code
plugin_dir = $library/ceph
osd_pool_default_size = 2
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 8
osd_pool_default_pgp_num = 8
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_max_pg_per_osd = 1000
[mon]
mon_data = $cluster/mon.\$id
mon_data_avail_crit = 1
mon_data_avail_warn = 2
mon_cluster_log_file = $cluster/cluster.log
[osd]
osd_data = $cluster/osd.\$id
osd_objectstore = bluestore
bluestore_block_path = /run/drive\$id/block
bluestore_block_size = 5368709120
bluestore_default_buffered_read = false
bluestore_cache_autotune = false
bluestore_cache_size = 67108864
osd_crush_initial_weight = 1
osd_scrub_load_threshold = 1000
osd_scrub_min_interval = 60
osd_scrub_max_interval = 120
osd_deep_scrub_interval = 60
osd_scrub_interval_randomize_ratio = 0
osd_scrub_backoff_ratio = 0
[client.rgw]
rgw_data = $cluster/rgw
rgw_frontends = beast endpoint=127.0.0.1:9000 tcp_nodelay=1
rgw_enable_usage_log = false
rgw_enable_ops_log = false
Y
monmaptool --create --clobber --fsid "$fsid" --addv a '[v2:127.0.0.1:13300,v1:127.0.0.1:16789]' "$cluster/monmap"
ceph-mon --mkfs -i a --monmap "$cluster/monmap"
serve ceph-mon -f -i a
ceph mon stat
ceph osd set nodeep-scrub
ceph osd set noscrub
for osd in 0 1; do
    uuid=$(cat /proc/sys/kernel/random/uuid)
    ceph osd new "$uuid" "$osd"
    ceph-osd -i "$osd" --mkfs --osd-uuid "$uuid"
    serve ceph-osd -f -i "$osd"
done
are_up() { ceph osd stat -f json | grep -q '"num_up_osds":2,'; }
await are_up
serve radosgw -f -n client.rgw
# The gateway makes its pools before it can have users.
await curl -s -o /dev/null http://127.0.0.1:9000/
radosgw-admin user create --uid=series --display-name=series \
    --access-key="$AWS_ACCESS_KEY_ID" --secret-key="$AWS_SECRET_ACCESS_KEY"
fill -size 262144 -objects 4000
for osd in 0 1; do throttle "drive$osd" read_bps 5000000; done
{
    for minute in 8 28 48; do
        until_minute "$minute"
        event deep scrubs may begin
        ceph osd unset nodeep-scrub
        until_minute "$((minute + 10))"
        ceph osd set nodeep-scrub
        event no deep scrub begins any more
    done
} &
record -mix get=100 -size 262144 -objects 4000 -in-flight 8
