# What scenes are made of; sourced by each. Everything lives in the namespaces that stage made, and goes with them.
set -eu
mount -t tmpfs -o mode=0755 linerate-series /run
ip link set lo up

# A drive of XFS on a file that has no name any more: drive NAME SIZE. It is mounted at /run/NAME.
drive() {
    truncate -s "$2" "$WORK/$1.img"
    LD_LIBRARY_PATH=$SERVERS/xfs/usr/lib/x86_64-linux-gnu "$SERVERS/xfs/sbin/mkfs.xfs" -q "$WORK/$1.img"
    mkdir "/run/$1"
    mount -o loop "$WORK/$1.img" "/run/$1"
    rm "$WORK/$1.img"
}

# The numbers of a drive's device.
device() {
    mountpoint -d "/run/$1"
}

# What the servers may do with a drive directly: throttle NAME read_bps|write_bps|read_iops|write_iops RATE.
throttle() {
    echo "$(device "$1") $3" >"/sys/fs/cgroup/blkio/$GROUP/blkio.throttle.$2_device"
}

# Starts a server in the scene's groups. Its input never ends.
serve() {
    [ -p "$WORK/never" ] || mkfifo "$WORK/never"
    sh -c 'for controller in blkio cpu memory; do echo 0 >"/sys/fs/cgroup/$controller/$GROUP/cgroup.procs"; done
        exec "$@"' serve "$@" <>"$WORK/never" >>"$OUT/$SCENE.log" 2>&1 &
}

# What the servers have of memory, with the page cache of what they read: memory BYTES.
memory() {
    echo "$1" >"/sys/fs/cgroup/memory/$GROUP/memory.limit_in_bytes"
}

minio() {
    MINIO_ROOT_USER=$AWS_ACCESS_KEY_ID MINIO_ROOT_PASSWORD=$AWS_SECRET_ACCESS_KEY serve "$SERVERS/minio" "$@"
}

# Waits until a command succeeds, two minutes at most: await COMMAND…
await() {
    for _ in $(seq 240); do
        "$@" && return
        sleep 0.5
    done
    echo "in vain for two minutes: $*" >&2
    return 1
}

fill() {
    "$SERVERS/series" fill "$@"
}

# Records, and says what of.
record() {
    echo "series record $* -duration ${SECONDS_LONG}s" >"$OUT/$SCENE.command"
    "$SERVERS/series" record "$@" -duration "${SECONDS_LONG}s" -out "$OUT/$SCENE"
}

# Waits until the given minute of the recording, of 60 whatever its length: until_minute MINUTE.
until_minute() {
    await [ -f "$OUT/$SCENE.started" ]
    left=$(($(cat "$OUT/$SCENE.started") + $1 * SECONDS_LONG / 60 - $(date +%s)))
    [ "$left" -le 0 ] || sleep "$left"
}

# Notes the second of the recording and what happens then.
event() {
    [ -f "$OUT/$SCENE.events.csv" ] || echo second,event >"$OUT/$SCENE.events.csv"
    echo "$(($(date +%s) - $(cat "$OUT/$SCENE.started"))),$*" >>"$OUT/$SCENE.events.csv"
}
