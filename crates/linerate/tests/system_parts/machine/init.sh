#!/bin/busybox sh
# The first process of a machine, in the files that it is begun with: it goes on in the files of the host.
busybox=/bin/busybox
$busybox mount -t proc proc /proc
$busybox mount -t sysfs sysfs /sys
$busybox mount -t devtmpfs devtmpfs /dev
for name in overlay failover net_failover virtio_net; do $busybox insmod "/lib/modules/$name.ko"; done
. /environment
$busybox mount -t virtiofs host /lower
$busybox mount -t tmpfs upper /upper
$busybox mkdir /upper/files /upper/work
$busybox mount -t overlay -o lowerdir=/lower,upperdir=/upper/files,workdir=/upper/work overlay /new
$busybox mount --bind "/lower/$FOLDER/logs" "/new/$FOLDER/logs"
$busybox mkdir -p /new/lib/modules
$busybox mount --bind "/lower/$MACHINE/modules" /new/lib/modules
for folder in proc sys dev; do $busybox mount --move "/$folder" "/new/$folder"; done
[ -e /new/sbin/modprobe ] || $busybox ln -s "$($busybox which busybox || echo /usr/bin/busybox)" /new/sbin/modprobe
exec $busybox switch_root /new "$source/../machine/first.sh" "$NODE"
