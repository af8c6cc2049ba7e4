#!/bin/sh
# Four nodes, a client and the switch between them, each in a network namespace, and a MinIO over the nodes' drives.
#
# To be started as the first process of a PID namespace, in a mount namespace of its own, with the path of MinIO in
# $MINIO. Ends with its input, and nothing is left then: the kernel kills what is in the PID namespace, and the network
# namespaces and drives have their names and mounts in this mount namespace alone.
set -eu
mount -t tmpfs -o mode=0755 linerate-test /run
mkdir /run/drive
ip netns add switch
ip -n switch link add bridge type bridge
ip -n switch link set bridge up

# A namespace with an address, by a cable to a port of the switch. Congestion control is the one that every kernel
# has and that a namespace may always choose.
join() {
    ip netns add "$1"
    ip -n "$1" link set lo up
    ip -n "$1" link add eth0 type veth peer name "to-$1" netns switch
    ip -n "$1" address add "$2/24" dev eth0
    ip -n "$1" link set eth0 up
    ip -n switch link set "to-$1" master bridge up
    ip netns exec "$1" sh -c 'echo reno >/proc/sys/net/ipv4/tcp_congestion_control'
}

join client 10.231.78.10
for node in 1 2 3 4; do
    join "node$node" "10.231.78.$node"
    ip netns exec "node$node" sh -c 'mount -t tmpfs -o size=2g linerate-test /run/drive &&
        exec "$MINIO" server --quiet --address :9000 "http://10.231.78.{1...4}:9000/run/drive"' \
        </dev/null >/dev/null 2>&1 &
done
echo joined
cat >/dev/null
