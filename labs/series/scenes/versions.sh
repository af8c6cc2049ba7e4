#!/bin/sh
# MinIO on one throttled drive, with versions: writes, markers of deletion, and versions erased for good.
. "$(dirname "$0")/../scenery.sh"
drive drive 6G
minio server --quiet --address 127.0.0.1:9000 /run/drive
fill -versioned -size 196608 -objects 500
throttle drive write_bps 4000000
throttle drive write_iops 120
record -mix put=45,delete=20,erase=35 -size 196608 -objects 500 -in-flight 6
