#!/bin/sh
# Boots a kernel in a virtual machine with this machine's systemd as its first process, which runs booted_cases.sh and
# powers off. What that says comes out here.
#
#   booted.sh KERNEL LINERATE CASES FOLDER [MODULES MORE]
#
# FOLDER is an empty one to build in. Emulated, without KVM. No file system of this machine is seen in there, and no
# unit of it: those below are all there are. With MODULES, the kernel's (`lib/modules/VERSION`), a shell is the first
# process instead, and there are iproute2, ethtool, a disk, a card with two queues, two more with one, and the files of
# MORE in /more; that one needs root. A file `programs` in MORE names further programs, and `modules` further modules.
set -eu

kernel=$1 linerate=$2 cases=$3 folder=$4 modules=${5:-} more=${6:-}
root=$folder/root
mkdir -p "$root/usr/bin" "$root/usr/lib/systemd/system" "$root/usr/lib64" "$root/etc" "$root/var/lib" "$root/proc" \
    "$root/sys" "$root/dev" "$root/mnt" "$root/run" "$root/tmp" "$root/root"
for name in bin lib lib64; do
    ln -s "usr/$name" "$root/$name"
done
ln -s usr/bin "$root/sbin"
ln -s bin "$root/usr/sbin"
ln -s ../run "$root/var/run"

# A program and the libraries that it is linked with.
put() {
    rm -f "$root$2"
    cp -L "$1" "$root$2"
    { ldd "$1" || true; } | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        [ -e "$root$library" ] || cp -L "$library" "$root$library"
    done
}
put "$(command -v busybox)" /usr/bin/busybox
put "$linerate" /usr/bin/linerate
strip "$root/usr/bin/linerate" 2>/dev/null || true
for applet in cat chroot cp date dd grep head mkdir mount nsenter poweroff rm sed sh sleep tail tr umount unshare; do
    ln -s busybox "$root/usr/bin/$applet"
done
cp "$cases" "$root/cases.sh"

echo 0123456789abcdef0123456789abcdef > "$root/etc/machine-id"
echo 'root:x:0:0:root:/root:/bin/sh' > "$root/etc/passwd"
echo 'root:x:0:' > "$root/etc/group"
echo 'ID=none' > "$root/etc/os-release"

# This machine's systemd, the targets that transient units wait for or conflict with, and nothing behind them.
put_systemd() {
    put /lib/systemd/systemd /usr/lib/systemd/systemd
    # From 254 on it is this that begins what units say.
    executor=/usr/lib/systemd/systemd-executor
    [ ! -e $executor ] || put $executor $executor
    for program in systemctl systemd-run flock; do
        put "$(command -v "$program")" "/usr/bin/$program"
    done
    for unit in sysinit basic timers shutdown rescue; do
        printf '[Unit]\nDescription=%s\nDefaultDependencies=no\nAllowIsolate=yes\n' "$unit" \
            > "$root/usr/lib/systemd/system/$unit.target"
    done
    cat > "$root/usr/lib/systemd/system/default.target" <<'UNIT'
[Unit]
Description=default
Requires=sysinit.target basic.target timers.target
Wants=cases.service
DefaultDependencies=no
UNIT
    cat > "$root/usr/lib/systemd/system/cases.service" <<'UNIT'
[Unit]
Description=cases
IgnoreOnIsolate=yes
DefaultDependencies=no
[Service]
Type=oneshot
TimeoutStartSec=infinity
ExecStart=/bin/sh /cases.sh
ExecStopPost=/bin/poweroff -f
StandardInput=null
StandardOutput=file:/dev/console
StandardError=file:/dev/console
UNIT
    ln -s usr/lib/systemd/systemd "$root/init"
}

# Names in a file of MORE, if it is there.
listed() {
    cat "$more/$1" 2>/dev/null || true
}

# Modules by their names, those that they need, and a shell as the first process.
put_modules() {
    version=$(basename "$modules")
    mkdir -p "$folder/all/lib/modules" "$root/lib/modules/$version"
    ln -s "$modules" "$folder/all/lib/modules/$version"
    busybox depmod -n -b "$folder/all" "$version" > "$folder/modules.dep"
    for name in veth 8021q macvlan ipvlan bridge bonding sch_tbf tcp_diag bfq kyber-iosched tcp_bbr \
        sch_ingress cls_u32 act_skbedit act_mirred nf_conntrack br_netfilter virtio_pci virtio_net virtio_blk \
        $(listed modules); do
        sed -n "s,^\(.*/$name\.ko\):\(.*\),\1\2,p" "$folder/modules.dep"
    done | tr ' ' '\n' | sed '/^$/d' | sort -u | while read -r file; do
        mkdir -p "$root/lib/modules/$version/$(dirname "$file")"
        cp "$modules/$file" "$root/lib/modules/$version/$file"
    done
    cp "$modules/modules.builtin" "$root/lib/modules/$version"
    busybox depmod -b "$root" "$version"
    cp -r "$more" "$root/more"
    for applet in awk cmp cut depmod diff echo find ls mknod modprobe mv ping seq sort sysctl taskset tee timeout uniq \
        wc xargs; do
        ln -s busybox "$root/usr/bin/$applet"
    done
    for program in ip tc ethtool $(listed programs); do
        put "$(command -v "$program")" "/usr/bin/$program"
    done
    # One processor runs what is run: a second costs more, emulated, in what they tell each other than it does.
    cat > "$root/init" <<'INIT'
#!/bin/sh
mount -t devtmpfs none /dev
mount -t proc none /proc
mount -t sysfs none /sys
mount -t cgroup2 none /sys/fs/cgroup
mount -t tmpfs none /run
exec > /dev/console 2>&1 < /dev/null
taskset 1 sh /cases.sh
poweroff -f
INIT
    chmod +x "$root/init"
}

if [ -z "$modules" ]; then
    put_systemd
else
    put_modules
fi
(cd "$root" && find . | cpio --quiet -o -H newc) > "$folder/initramfs"

# Where a program is the same from process to process, what it is translated to is used again: without `norandmaps`
# linerate begins anew each time, and takes four times as long.
set -- -accel tcg,thread=multi,tb-size=256 -machine q35 -m 1024 -smp 2 -nographic -no-reboot -kernel "$kernel" \
    -initrd "$folder/initramfs" -append "console=ttyS0 quiet panic=-1 norandmaps mitigations=off \
systemd.show_status=0 systemd.log_target=null rdinit=/init"
if [ -z "$modules" ]; then
    exec qemu-system-x86_64 -cpu max -nic none "$@" < /dev/null
fi
# Of a card with several queues the other end is in a network namespace of its own. Nothing is heard on the others.
truncate -s 64M "$folder/disk"
exec unshare --net qemu-system-x86_64 -cpu qemu64 "$@" \
    -netdev tap,id=card,ifname=card0,queues=2,script=no,downscript=no \
    -device virtio-net-pci,netdev=card,mq=on,vectors=6,romfile= \
    -netdev hubport,hubid=1,id=one -device virtio-net-pci,netdev=one,romfile= \
    -netdev hubport,hubid=2,id=other -device virtio-net-pci,netdev=other,romfile= \
    -drive "file=$folder/disk,if=none,id=disk,format=raw" \
    -device virtio-blk-pci,drive=disk,num-queues=2 < /dev/null
