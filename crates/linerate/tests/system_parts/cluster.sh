#!/bin/sh
# $NODES nodes, a client, $CLIENTS others and the switch between them, each in a network namespace, and a MinIO over the
# nodes' drives.
#
# To be started as the first process of a PID namespace, in a mount namespace of its own, with the path of MinIO in
# $MINIO. Each node has $DRIVES drives in memory, or with $DISK_MIB file systems on block devices of that size, and is
# in the control groups $GROUP/node1 and so on, which are there. Ends with its input, and nothing is left then: the
# kernel kills what is in the PID namespace, and the network namespaces and drives have their names and mounts in this
# mount namespace alone.
set -eu
groups=/sys/fs/cgroup
mount -t tmpfs -o mode=0755 linerate-test /run
mkdir /run/disks
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

# A file system of its own, on a device that lets go of its file when the last mount of it ends; with $LAYERED on a
# device in a file system on another one, which is written without a cache.
disk() {
    if [ -n "$LAYERED" ]; then
        echo "$1 $(mounted "/run/disks/$1" "$DISK_MIB" off "/run/disks/$1.below")"
        mounted "/run/disks/$1.below/disk" $((DISK_MIB * 9 / 10)) on "$2" >/dev/null
    else
        echo "$1 $(mounted "/run/disks/$1" "$DISK_MIB" off "$2")"
    fi
}

# Makes a file of so many MiB a device with a file system, mounts that, and says which device it is.
mounted() {
    truncate -s "${2}M" "$1"
    loop=$(losetup --find --show --direct-io="$3" "$1")
    mkfs.ext4 -q -O ^has_journal -m 0 "$loop"
    mkdir -p "$4"
    mount "$loop" "$4"
    losetup --detach "$loop"
    echo "$loop"
}

join client 10.231.78.250
# More of them, each with a link of its own.
more=1
while [ "$more" -le "${CLIENTS:-0}" ]; do
    join "c$more" "10.231.78.$((200 + more))"
    more=$((more + 1))
done
node=1
while [ "$node" -le "$NODES" ]; do
    join "node$node" "10.231.78.$node"
    drive=1
    while [ "$drive" -le "$DRIVES" ]; do
        mkdir -p "/run/node$node/drive$drive"
        if [ -n "$DISK_MIB" ]; then
            disk "node$node-drive$drive" "/run/node$node/drive$drive"
        else
            mount -t tmpfs -o size=4g linerate-test "/run/node$node/drive$drive"
        fi
        drive=$((drive + 1))
    done
    # A process enters its groups before `ip netns exec` mounts another /sys over them.
    sh -c 'for kind in cpu blkio; do echo 0 >"$1/$kind/$2/node$3/cgroup.procs"; done
        exec ip netns exec "node$3" unshare --mount sh -c "mount --rbind /run/node$3 /mnt &&
            exec \"\$MINIO\" server --quiet --address :9000 \"http://10.231.78.$4\""' \
        sh "$groups" "$GROUP" "$node" "{1...$NODES}:9000/mnt/drive{1...$DRIVES}" </dev/null >/dev/null 2>&1 &
    node=$((node + 1))
done
echo joined
cat >/dev/null
