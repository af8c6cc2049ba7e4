#!/bin/sh
# The embedded target on a small XFS behind a slow device: writes are buffered, little may be dirty, and a neighbour
# on the same drive flushes 12 MiB every seven minutes.
. "$(dirname "$0")/../scenery.sh"
drive drive 512M
device drive >"$WORK/ruled"
serve "$LINERATE" target embedded --listen 127.0.0.1:9000 --drive /run/drive
fill -size 131072 -objects 300
sync -f /run/drive
echo "$(device drive) 1700000" >/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device
echo 1 >"/sys/class/bdi/$(device drive)/strict_limit"
echo $((6 << 20)) >"/sys/class/bdi/$(device drive)/max_bytes"
{
    for minute in 7 14 21 28 35 42 49 56; do
        until_minute "$minute"
        event the neighbour flushes 12 MiB
        dd if=/dev/zero of=/run/drive/neighbour bs=1M count=12 conv=fsync 2>/dev/null
        event the neighbour is done
    done
} &
record -mix put=100 -size 131072 -objects 300 -in-flight 4
