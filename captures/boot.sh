#!/bin/sh
# Boots a kernel of Debian in a virtual machine that is built like a storage node, captures it, and writes the capture.
#
#   boot.sh MACHINE linux-image-6.1.0-56-cloud-amd64_6.1.192-2_amd64.deb target/debug/linerate DIR
#
# MACHINE is one of those below. The package comes from `apt-get download`: 5.10 is Debian 11's, 6.1 and 6.12 are Debian
# 12's. Needs qemu-system-x86, busybox-static, xfsprogs, e2fsprogs, cpio and xz. Takes a minute, emulated; no KVM.
set -eu

machine=$1
package=$(realpath "$2")
linerate=$(realpath "$3")
out=$(realpath -m "$4")
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

dpkg-deb -x "$package" "$folder/package"
root=$folder/root
mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev" "$root/modules" "$root/lib64" "$root/etc/sysctl.d" \
    "$root/data0" "$root/data1"
cp /bin/busybox "$root/bin/busybox"
cp "$linerate" "$root/bin/linerate"
strip "$root/bin/linerate"
for library in $(ldd "$linerate" | grep -o '/lib[^ ]*'); do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done
modules="virtio_ring virtio virtio_pci_legacy_dev virtio_pci_modern_dev virtio_pci failover net_failover virtio_net \
nvme-core nvme crc32c-intel crc32c_generic libcrc32c xfs llc stp garp mrp 8021q tls bonding"
for module in $modules; do
    find "$folder/package/lib/modules" \( -name "$module.ko" -o -name "$module.ko.xz" \) -exec cp {} "$root/modules" \;
done
find "$root/modules" -name '*.xz' -exec unxz {} \;

for disk in 0 1; do
    truncate -s 400M "$folder/nvme$disk"
    mkfs.xfs -q -m bigtime=0,inobtcount=0 -i nrext64=0 "$folder/nvme$disk"
done

# What runs in it. The settings are some of what the sources set.
bond='mode=802.3ad miimon=100'
settings=
masks=
engine=
note=
options=noatime
hardware="-m 1024 -smp 2"
drive0='-device nvme,drive=d0,serial=SERIALNUMBER01' drive1='-device nvme,drive=d1,serial=SERIALNUMBER02'
case $machine in
numa-apart)
    note='two NUMA nodes, drives on the second, NICs on the first; a bond that hashes MAC addresses'
    hardware="-m 1024 -smp 4 -object memory-backend-ram,id=m0,size=512M -object memory-backend-ram,id=m1,size=512M
        -numa node,nodeid=0,memdev=m0,cpus=0-1 -numa node,nodeid=1,memdev=m1,cpus=2-3
        -device pxb-pcie,id=far,bus_nr=128,bus=pcie.0,numa_node=1
        -device pxb-pcie,id=near,bus_nr=64,bus=pcie.0,numa_node=0
        -device pcie-root-port,id=slot0,bus=far,chassis=1 -device pcie-root-port,id=slot1,bus=far,chassis=2
        -device pcie-root-port,id=slot2,bus=near,chassis=3 -device pcie-root-port,id=slot3,bus=near,chassis=4"
    drive0="$drive0,bus=slot0" drive1="$drive1,bus=slot1"
    nics=',bus=slot2 ,bus=slot3'
    settings='net.ipv4.tcp_rmem=67108864\ 134217728\ 268435456 net.core.rmem_max=268435456 vm.swappiness=1'
    ;;
many-processors)
    note='64 processors on two NUMA nodes: masks in groups of 32 bits'
    hardware="-m 2048 -smp 64,sockets=2,cores=32 -object memory-backend-ram,id=m0,size=1G
        -object memory-backend-ram,id=m1,size=1G
        -numa node,nodeid=0,memdev=m0,cpus=0-31 -numa node,nodeid=1,memdev=m1,cpus=32-63"
    nics='_ _'
    settings='net.core.somaxconn=65535'
    masks='0 1 ff ffffffff 1,00000000 80000000,00000000 00000001,00000001 ffffffff,ffffffff'
    ;;
misspelt)
    note='settings of the sources as they are written there: misspelt, dead, contradictory; one member carries all'
    bond='mode=active-backup miimon=100'
    nics='_ _'
    settings='net.ipv4.ip_local_port_range=1024\ 65535 net.core.netdev_budget=600 net.ipv4.tcp_low_latency=1
        net.ipv4.tcp_max_syn_backlog=65536 net.core.rmem_default=67108864'
    printf '%s\n' 'net.ipv4.tcp_syn_backlog = 65536' 'fs.xfs.xfsyncd_centisecs = 72000' \
        'kernel.sched_migration_cost_ns = 5000000' 'net.ipv4.tcp_low_latency = 1' > "$root/etc/sysctl.d/90-s3.conf"
    options=wsync
    ;;
own-network)
    note='an S3 server in a network namespace of its own, as in a pod; the host tuned, the server not'
    bond='mode=802.3ad miimon=100 xmit_hash_policy=layer3+4'
    nics='_ _'
    engine=minio
    settings='net.core.somaxconn=65535 net.ipv4.tcp_mtu_probing=1 net.ipv4.tcp_slow_start_after_idle=0
        net.ipv4.tcp_max_syn_backlog=65535 net.ipv4.tcp_keepalive_time=600'
    ;;
*)
    echo "no such machine: $machine" >&2
    exit 2
    ;;
esac

{
    cat <<INIT
#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
hostname storage-17-secret
for module in $modules; do
    [ ! -e /modules/\$module.ko ] || [ \$module = bonding ] || insmod /modules/\$module.ko
done
insmod /modules/bonding.ko max_bonds=1 $bond
sleep 2
ip link set lo up
for nic in eth0 eth1; do
    ip link set \$nic down
    echo +\$nic > /sys/class/net/bond0/bonding/slaves
done
ip address add 10.9.8.7/24 dev bond0
ip link set bond0 up
mount -t xfs -o $options /dev/nvme0n1 /data0
mount -t xfs -o $options /dev/nvme1n1 /data1
INIT
    for engine in $engine; do
        printf '#!/bin/sh\nsleep 1000\n' > "$root/bin/$engine"
        chmod +x "$root/bin/$engine"
        echo "unshare -n /bin/$engine > /dev/null 2>&1 &"
    done
    echo 'sleep 2'
    for setting in $(echo "$settings" | sed 's/\\ /_/g'); do
        echo "sysctl -w '$(echo "$setting" | sed 's/_\([0-9]\)/ \1/g')'"
    done
    cat <<INIT
sleep 2
linerate capture -o /capture --note '$note' > /tmp.log 2>&1 || cat /tmp.log
for mask in $masks; do
    echo "\$mask" > /sys/class/net/eth0/queues/rx-0/rps_cpus
    echo "MASK \$mask \$(cat /sys/class/net/eth0/queues/rx-0/rps_cpus)"
done
echo BEGIN
tar -C /capture -cz . | base64
echo END
poweroff -f
INIT
} > "$root/init"
chmod +x "$root/init"
(cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) > "$folder/initramfs"

set -- $nics
mac=52:54:00:12:34
# shellcheck disable=SC2086
qemu-system-x86_64 -accel tcg -machine q35 -cpu max $hardware -nographic -no-reboot -nic none \
    -drive "file=$folder/nvme0,format=raw,if=none,id=d0" -drive "file=$folder/nvme1,format=raw,if=none,id=d1" \
    $drive0 $drive1 \
    -netdev user,id=n0 -device "virtio-net-pci,netdev=n0,mac=$mac:56,speed=25000,duplex=full${1#_}" \
    -netdev user,id=n1 -device "virtio-net-pci,netdev=n1,mac=$mac:57,speed=25000,duplex=full${2#_}" \
    -kernel "$folder"/package/boot/vmlinuz-* -initrd "$folder/initramfs" \
    -append "console=ttyS0 quiet panic=-1" > "$folder/out" < /dev/null
grep -q '^END' "$folder/out" || { cat "$folder/out" >&2; exit 1; }
tr -d '\r' < "$folder/out" | sed -n 's/^MASK //p'
mkdir -p "$out"
tr -d '\r' < "$folder/out" | sed -n '/^BEGIN$/,/^END$/p' | sed '1d;$d' | base64 -d | tar -C "$out" -xz
