#!/bin/sh
# Boots a kernel in a virtual machine with this machine's systemd as its first process, which runs booted_cases.sh and
# powers off. What that says comes out here.
#
#   booted.sh KERNEL LINERATE CASES FOLDER
#
# FOLDER is an empty one to build in. Emulated, without KVM. No file system of this machine is seen in there, and no
# unit of it: those below are all there are.
set -eu

kernel=$1 linerate=$2 cases=$3 folder=$4
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
    cp -L "$1" "$root$2"
    { ldd "$1" || true; } | grep -o '/[^ ]*' | while read -r library; do
        mkdir -p "$root$(dirname "$library")"
        [ -e "$root$library" ] || cp -L "$library" "$root$library"
    done
}
put "$(command -v busybox)" /usr/bin/busybox
put /lib/systemd/systemd /usr/lib/systemd/systemd
# From 254 on it is this that begins what units say.
executor=/usr/lib/systemd/systemd-executor
[ ! -e $executor ] || put $executor $executor
put "$(command -v systemctl)" /usr/bin/systemctl
put "$(command -v systemd-run)" /usr/bin/systemd-run
put "$(command -v flock)" /usr/bin/flock
put "$linerate" /usr/bin/linerate
strip "$root/usr/bin/linerate" 2>/dev/null || true
for applet in cat cp date grep head mkdir mount poweroff sed sh sleep tail tr umount unshare; do
    ln -s busybox "$root/usr/bin/$applet"
done
cp "$cases" "$root/cases.sh"
echo 0123456789abcdef0123456789abcdef > "$root/etc/machine-id"
echo 'root:x:0:0:root:/root:/bin/sh' > "$root/etc/passwd"
echo 'root:x:0:' > "$root/etc/group"
echo 'ID=none' > "$root/etc/os-release"

# The targets that transient units wait for or conflict with, and nothing behind them.
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
(cd "$root" && find . | cpio --quiet -o -H newc) > "$folder/initramfs"

exec qemu-system-x86_64 -accel tcg,thread=multi -machine q35 -cpu max -m 512 -smp 2 -nographic -no-reboot -nic none \
    -kernel "$kernel" -initrd "$folder/initramfs" \
    -append "console=ttyS0 quiet panic=-1 systemd.show_status=0 systemd.log_target=null rdinit=/init" < /dev/null
