#!/bin/sh
# MinIO on four throttled drives, read while it heals: one drive is emptied at minute 20. Its scanner never rests.
. "$(dirname "$0")/../scenery.sh"
for number in 1 2 3 4; do drive "drive$number" 3G; done
# MinIO reads through the page cache, which would come to hold all objects: a fifth of them at most.
memory 700M
MINIO_SCANNER_SPEED=fastest minio server --quiet --address 127.0.0.1:9000 \
    /run/drive1 /run/drive2 /run/drive3 /run/drive4
# What an object has on a drive is 256 KiB: 128 KiB or less would lie in its metadata.
fill -size 524288 -objects 3000
for number in 1 2 3 4; do
    throttle "drive$number" read_bps 1300000
    throttle "drive$number" write_bps 1300000
done
{
    until_minute 20
    event drive 3 is emptied
    find /run/drive3 -mindepth 1 -delete || event drive 3 was not empty at once
    is_healing=false
    for _ in $(seq 720); do
        sleep 5
        if [ -f /run/drive3/.minio.sys/buckets/.healing.bin ]; then
            $is_healing || event drive 3 begins to heal
            is_healing=true
        elif $is_healing; then
            event drive 3 is healed
            is_healing=false
        fi
    done
} &
record -mix get=100 -size 524288 -objects 3000 -in-flight 4
