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
[ "$TIER" = systemd ] || exec $busybox switch_root /new "$source/../machine/first.sh" "$NODE"

# systemd of the host, with these units and none of the host's: those that transient ones wait for or conflict with.
for folder in /new/usr/lib/systemd/system /new/usr/lib/systemd/system-generators /new/etc/systemd/system; do
    $busybox mount -t tmpfs -o mode=0755 tmpfs "$folder"
done
units=/new/etc/systemd/system
for unit in sysinit basic timers shutdown; do
    printf '[Unit]\nDescription=%s\nDefaultDependencies=no\n' "$unit" >"$units/$unit.target"
done
printf '[Unit]\nDescription=node\nRequires=sysinit.target basic.target timers.target node.service\n' \
    >"$units/default.target"
$busybox cat >"$units/node.service" <<END
[Unit]
Description=containerd, kubelet and what asks the machine
DefaultDependencies=no
[Service]
Environment=FOLDER=$FOLDER GROUP=$GROUP KUBERNETES=$KUBERNETES CILIUM=$CILIUM MACHINE=$MACHINE source=$source PATH=$PATH
ExecStart=$source/../machine/first.sh $NODE
KillMode=process
END
# What says that the host is a container says nothing of the machine.
$busybox rm -f /new/.dockerenv
echo 0123456789abcdef0123456789abcdef >/new/etc/machine-id
$busybox mkdir -p /new/var/lib/linerate
$busybox mount -t tmpfs -o mode=0700 tmpfs /new/var/lib/linerate
exec $busybox switch_root /new /lib/systemd/systemd
