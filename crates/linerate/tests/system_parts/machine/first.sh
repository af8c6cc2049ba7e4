#!/bin/bash
# The first process of a machine in the files of its host: first.sh NUMBER. It makes what a namespace has from the one
# around it, and begins the node.
set -euo pipefail
number=$1
exec </dev/null >>"$FOLDER/logs/n$number" 2>&1
mkdir -p /dev/pts /dev/shm "$FOLDER/inside/n$number"
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /dev/shm
mount -t tmpfs -o mode=0755 tmpfs /run
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mount -t tmpfs tmpfs "$FOLDER/inside/n$number"
ip link set lo up
for link in 0 1; do
    ip address add "10.231.8$((link * 2)).$((10 + number))/24" dev "eth$link"
    ip link set "eth$link" up
done
ip route add default via 10.231.80.2
echo 1 >/proc/sys/net/ipv4/ip_forward
# What comes before this in the path of programs is for others too.
cp "$source/../machine/clang.sh" "$FOLDER/inside/programs/clang"
busybox nc -ll -p 7000 -e "$source/../machine/answer.sh" &
"$source/node.sh" "$number" machines &
# Whoever is left to it is reaped while it waits. Its end would be the kernel's.
wait -n
echo "the node ended"
sleep 1
echo o >/proc/sysrq-trigger
sleep infinity
