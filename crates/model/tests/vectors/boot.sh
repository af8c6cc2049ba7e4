#!/bin/sh
# Boots a kernel of Debian in a virtual machine, sends frames over bonds in it (frames.py), and writes down which
# member each took.
#
#   boot.sh linux-image-6.1.0-56-cloud-amd64_6.1.192-2_amd64.deb > kernel_6_1.csv
#
# The package comes from `apt-get download`: 5.10 is Debian 11's, 6.1 and 6.12 are Debian 12's. Needs qemu-system-x86,
# busybox-static, Debian's python3, cpio and xz. Takes half a minute, emulated; so it needs no KVM.
set -eu

package=$(realpath "$1")
here=$(dirname "$(realpath "$0")")
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

dpkg-deb -x "$package" "$folder/package"
root=$folder/root
mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev" "$root/modules" "$root/usr/lib" "$root/lib64"
cp /bin/busybox "$root/bin/busybox"
cp "$(readlink -f /usr/bin/python3)" "$root/bin/python3"
for library in $(ldd /usr/bin/python3 | grep -o '/lib[^ ]*'); do
    mkdir -p "$root$(dirname "$library")"
    cp "$library" "$root$library"
done
version=$(/usr/bin/python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')
tar -C /usr/lib -c --exclude test --exclude '__pycache__' --exclude 'config-*' "$version" | tar -C "$root/usr/lib" -x
cp "$here/frames.py" "$root/frames.py"

for module in llc stp garp mrp 8021q tls bonding dummy; do
    find "$folder/package/lib/modules" \( -name "$module.ko" -o -name "$module.ko.xz" \) -exec cp {} "$root/modules" \;
done
find "$root/modules" -name '*.xz' -exec unxz {} \;

cat > "$root/init" <<'INIT'
#!/bin/busybox sh
/bin/busybox mount -t proc none /proc
/bin/busybox mount -t sysfs none /sys
/bin/busybox mount -t devtmpfs none /dev
echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
for module in llc stp garp mrp 8021q tls; do
    /bin/busybox insmod /modules/$module.ko
done
/bin/busybox insmod /modules/bonding.ko max_bonds=0
/bin/busybox insmod /modules/dummy.ko numdummies=4
/bin/python3 -B /frames.py
/bin/busybox poweroff -f
INIT
chmod +x "$root/init"
(cd "$root" && find . | cpio --quiet -o -H newc | gzip -1) > "$folder/initramfs"

echo "# Written by boot.sh with $(basename "$package"), $(qemu-system-x86_64 --version | sed -n 's/^QEMU emulator //p')"
qemu-system-x86_64 -accel tcg -cpu max -m 768 -nographic -no-reboot \
    -kernel "$folder"/package/boot/vmlinuz-* -initrd "$folder/initramfs" \
    -append "console=ttyS0 quiet panic=-1" > "$folder/out" < /dev/null
grep -q '^DONE' "$folder/out" || { cat "$folder/out" >&2; exit 1; }
tr -d '\r' < "$folder/out" | sed -n 's/^SOCKETS /# 64 connections of one address and port: /p; s/^ROW //p'
