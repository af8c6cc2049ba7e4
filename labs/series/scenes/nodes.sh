#!/bin/sh
# Four nodes of MinIO on shaped links, written while one of them is restarted every ten minutes.
. "$(dirname "$0")/../scenery.sh"
mkdir /run/drive
ip link add bridge type bridge
ip link set bridge up
ip address add 10.231.79.10/24 dev bridge

# A node's link is a cable to a port of the bridge; both of its ends are shaped, and so both directions.
join() {
    ip netns add "node$1"
    ip -n "node$1" link set lo up
    ip -n "node$1" link add eth0 type veth peer name "to-node$1" netns 1
    ip -n "node$1" address add "10.231.79.$1/24" dev eth0
    ip -n "node$1" link set eth0 up
    ip link set "to-node$1" master bridge up
    tc -n "node$1" qdisc add dev eth0 root tbf rate 24mbit burst 64kb latency 200ms
    tc qdisc add dev "to-node$1" root tbf rate 24mbit burst 64kb latency 200ms
    mount -t tmpfs -o size=1g linerate-series "/run/drive$1"
}

# Starts a node on its drive; its process becomes MinIO's.
start() {
    MINIO_ROOT_USER=$AWS_ACCESS_KEY_ID MINIO_ROOT_PASSWORD=$AWS_SECRET_ACCESS_KEY ip netns exec "node$1" sh -c '
        mount --bind "/run/drive$1" /run/drive
        echo $$ >"/run/node$1.pid"
        exec "$SERVERS/minio" server --quiet --address :9000 "http://10.231.79.{1...4}:9000/run/drive"' \
        start "$1" </dev/null >>"$OUT/$SCENE.log" 2>&1 &
}

has_ended() { ! kill -0 "$(cat "/run/node$1.pid")" 2>/dev/null; }

for node in 1 2 3 4; do
    mkdir "/run/drive$node"
    join "$node"
done
for node in 1 2 3 4; do start "$node"; done
hosts=10.231.79.1:9000,10.231.79.2:9000,10.231.79.3:9000,10.231.79.4:9000
fill -hosts "$hosts" -size 1048576 -objects 200
{
    for minute in 10 20 30 40 50; do
        until_minute "$minute"
        node=$((minute / 10 % 4 + 1))
        event node "$node" is told to end
        kill "$(cat "/run/node$node.pid")"
        await has_ended "$node"
        event node "$node" has ended
        sleep 8
        start "$node"
        event node "$node" is started
    done
} &
record -hosts "$hosts" -mix put=100 -size 1048576 -objects 200 -in-flight 4
