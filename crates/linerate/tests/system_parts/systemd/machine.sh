#!/bin/sh
# Becomes a virtual machine on the disk and the first files of root.sh, emulated, without KVM: what it says comes out
# here. It is on the network by a tap that exists already, in the network namespace in which this is run.
#
#   machine.sh FOLDER KERNEL NUMBER TAP [QEMU...]
#
# FOLDER and KERNEL are those of root.sh. The machine is called nNUMBER, from 1 to 99, and has 10.78.0.NUMBER. Its disk
# is FOLDER/nNUMBER.disk: made where it is missing, and kept, so that a machine whose power was cut boots from what was
# on it. FOLDER/nNUMBER.monitor.in is a pipe on which its monitor reads. QEMU are further arguments. MACHINE_MIB is its
# memory, MACHINE_APPEND are further words for its kernel.
set -eu

folder=$1 kernel=$2 number=$3 tap=$4
shift 4
disk=$folder/n$number.disk

# A machine has a name, an id and an address of its own, put on the disk without mounting it.
if [ ! -e "$disk" ]; then
    own=$folder/n$number.own
    mkdir -p "$own"
    echo "n$number" > "$own/hostname"
    printf '%032x\n' "$((4096 + number))" > "$own/machine-id"
    cat > "$own/10-card.network" << END
[Match]
Name=eth0
[Network]
Address=10.78.0.$number/24
LinkLocalAddressing=no
IPv6AcceptRA=no
LLDP=no
END
    cat > "$own/put" << END
rm /etc/machine-id
rm /etc/hostname
write $own/hostname /etc/hostname
write $own/machine-id /etc/machine-id
write $own/10-card.network /etc/systemd/network/10-card.network
END
    cp --sparse=always "$folder/disk" "$disk.new"
    debugfs -w -f "$own/put" "$disk.new" > "$own/said" 2>&1
    ! grep -q -i 'not allowed\|no space' "$own/said"
    mv "$disk.new" "$disk"
fi

monitor=$folder/n$number.monitor
for way in in out; do
    [ -p "$monitor.$way" ] || mkfifo "$monitor.$way"
done

# Where a program is the same from process to process, what it is translated to is used again.
exec qemu-system-x86_64 -machine q35 -cpu max -accel tcg,thread=multi,tb-size=256 -m "${MACHINE_MIB:-512}" -smp 1 \
    -nographic -no-reboot -serial stdio -chardev "pipe,id=monitor,path=$monitor" -mon monitor \
    -kernel "$kernel" -initrd "$folder/initramfs" \
    -append "console=ttyS0 quiet panic=-1 norandmaps nokaslr mitigations=off net.ifnames=0 nowatchdog rw \
systemd.show_status=0 systemd.default_timeout_start_sec=600 ${MACHINE_APPEND:-}" \
    -drive "file=$disk,if=none,id=disk,format=raw,cache=unsafe" -device virtio-blk-pci,drive=disk,romfile= \
    -netdev "tap,id=card,ifname=$tap,script=no,downscript=no" \
    -device "virtio-net-pci,netdev=card,mac=$(printf '02:00:00:00:4e:%02x' "$number"),romfile=" \
    -device virtio-rng-pci "$@" < /dev/null
