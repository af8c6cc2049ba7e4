#!/bin/sh
# The embedded target of linerate with a tenth of a processor and a tenth of a common process's weight, read while
# this machine does other work: what it does anyway, and bursts of 20 s every four minutes.
. "$(dirname "$0")/../scenery.sh"
echo 100 >"/sys/fs/cgroup/cpu/$GROUP/cpu.shares"
echo 20000 >"/sys/fs/cgroup/cpu/$GROUP/cpu.cfs_period_us"
echo 2000 >"/sys/fs/cgroup/cpu/$GROUP/cpu.cfs_quota_us"
serve "$LINERATE" target embedded --listen 127.0.0.1:9000 --drive "$WORK"
fill -size 32768 -objects 400
{
    for minute in 4 8 12 16 20 24 28 32 36 40 44 48 52 56; do
        until_minute "$minute"
        event a burst of 20 s on "$((minute / 4 % 2 + 1))" processors
        for _ in $(seq $((minute / 4 % 2 + 1))); do
            timeout 20 sh -c 'while :; do :; done' &
        done
    done
} &
record -mix get=100 -size 32768 -objects 400 -in-flight 4
