#!/bin/bash
# The first process of a machine in the files of its host, or what systemd starts there: first.sh NUMBER. It makes what
# a namespace has from the one around it, and begins the node.
set -euo pipefail
number=$1
exec </dev/null >>"$FOLDER/logs/n$number" 2>&1
mkdir -p /dev/pts /dev/shm "$FOLDER/inside/n$number"
tier=machines links="0 1" gateway=10.231.80.2
if [ -d /run/systemd/system ]; then
    # It has made these before.
    tier=systemd links=0 gateway=10.231.80.1
else
    mount -t devpts devpts /dev/pts
    mount -t tmpfs tmpfs /dev/shm
    mount -t tmpfs -o mode=0755 tmpfs /run
    mount -t cgroup2 cgroup2 /sys/fs/cgroup
fi
mount -t tmpfs tmpfs "$FOLDER/inside/n$number"
ip link set lo up
for link in $links; do
    ip address add "10.231.8$((link * 2)).$((10 + number))/24" dev "eth$link"
    ip link set "eth$link" up
done
ip route add default via "$gateway"
echo 1 >/proc/sys/net/ipv4/ip_forward
# What comes before this in the path of programs is for others too.
[ "$tier" = systemd ] || cp "$source/../machine/clang.sh" "$FOLDER/inside/programs/clang"
busybox nc -ll -p 7000 -e "$source/../machine/answer.sh" &
# What a node mounts in the place of the machine's folders is not for systemd, which has its own there.
if [ "$tier" = systemd ]; then
    unshare --mount --propagation private "$source/node.sh" "$number" systemd &
else
    "$source/node.sh" "$number" machines &
fi
# Whoever is left to it is reaped while it waits. Its end would be the kernel's.
wait -n
echo "the node ended"
sleep 1
echo o >/proc/sysrq-trigger
sleep infinity
