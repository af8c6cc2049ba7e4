#!/bin/sh
# Makes the disk of a machine whose first process is Debian's systemd, from unpacked packages: no package is configured.
#
#   root.sh PACKAGES KERNEL FOLDER [PUT...]
#
# PACKAGES is what .ci/unpack has made, KERNEL is what .ci/kernel has made, with `modules` beside it, and FOLDER gets
# `disk` (ext4, for any number of machines: see machine.sh), `initramfs` and the host key `host`. Root logs in with the
# key of FOLDER/client.pub, which is made where it is missing. PUT are files or folders whose content comes to be in the
# root. Nothing is mounted, and root is needed only that files belong to root.
set -eu

packages=$1 kernel=$2 folder=$3
shift 3
root=$folder/root
modules=$(dirname "$kernel")/modules
version=$(ls "$modules")
mkdir -p "$folder"

# Packages have files in /bin and /lib that belong in /usr.
cp -a --reflink=auto "$packages" "$root"
for name in bin sbin lib lib64; do
    [ ! -d "$root/$name" ] || [ -L "$root/$name" ] || {
        mkdir -p "$root/usr/$name"
        cp -a "$root/$name/." "$root/usr/$name/"
        rm -r "${root:?}/$name"
    }
    ln -sfn "usr/$name" "$root/$name"
done
rm -rf "$root/usr/share/doc" "$root/usr/share/man" "$root/usr/share/locale" "$root/usr/share/info" \
    "$root/usr/share/bash-completion" "$root/usr/share/zsh" "$root/usr/lib/udev/hwdb.d" \
    "$root/usr/lib/x86_64-linux-gnu/gconv"
mkdir -p "$root/dev" "$root/proc" "$root/sys" "$root/run" "$root/tmp" "$root/var/lib" "$root/var/log" "$root/var/tmp" \
    "$root/root/.ssh" "$root/etc/ssh" "$root/etc/systemd/network"
chmod 1777 "$root/tmp" "$root/var/tmp"
chmod 700 "$root/root" "$root/root/.ssh"
rm -rf "$root/var/run" "$root/var/lock"
ln -s /run "$root/var/run"
ln -s /run/lock "$root/var/lock"
[ -e "$root/bin/sh" ] || ln -s dash "$root/usr/bin/sh"
ln -sfn mawk "$root/usr/bin/awk"

# A program of the packages, with their libraries, under a name.
inside() {
    name=$1 program=$2
    shift 2
    libraries=$root/usr/lib/x86_64-linux-gnu
    "$root/lib64/ld-linux-x86-64.so.2" --argv0 "$name" --library-path "$libraries:$libraries/systemd" \
        "$root/$program" "$@"
}

# What packages would have done when they were configured: users, a few files, units that are begun.
cp "$root/usr/share/base-passwd/passwd.master" "$root/etc/passwd"
cp "$root/usr/share/base-passwd/group.master" "$root/etc/group"
sed -i 's,^root:[^:]*,root:x,' "$root/etc/passwd"
echo 'messagebus:x:100:107::/nonexistent:/usr/sbin/nologin
sshd:x:101:65534::/run/sshd:/usr/sbin/nologin' >> "$root/etc/passwd"
echo 'messagebus:x:107:' >> "$root/etc/group"
sed 's,:.*,:*:19000:0:99999:7:::,' "$root/etc/passwd" > "$root/etc/shadow"
inside systemd-sysusers usr/bin/systemd-sysusers --root="$root" > "$folder/said" 2>&1
chmod 640 "$root/etc/shadow"
: > "$root/etc/fstab"
printf 'passwd: files\ngroup: files\nshadow: files\nhosts: files\n' > "$root/etc/nsswitch.conf"
echo '127.0.0.1 localhost' > "$root/etc/hosts"
units=$root/etc/systemd/system
mkdir -p "$units/multi-user.target.wants" "$units/sysinit.target.wants" "$units/sockets.target.wants"
ln -sfn /lib/systemd/system/multi-user.target "$units/default.target"
for unit in ssh.service systemd-networkd.service; do
    ln -sfn "/lib/systemd/system/$unit" "$units/multi-user.target.wants/$unit"
done
# Nobody sits at it, and each second of a start is ten, emulated. What is mounted where something looks would be seen.
for unit in modprobe@.service sys-kernel-debug.mount sys-kernel-tracing.mount dev-hugepages.mount dev-mqueue.mount \
    systemd-sysusers.service systemd-logind.service getty.target serial-getty@.service systemd-hwdb-update.service \
    systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-networkd-wait-online.service \
    systemd-journal-flush.service systemd-binfmt.service systemd-firstboot.service \
    proc-sys-fs-binfmt_misc.automount; do
    ln -sfn /dev/null "$units/$unit"
done

[ -e "$folder/client" ] || ssh-keygen -q -t ed25519 -N '' -f "$folder/client"
[ -e "$folder/host" ] || ssh-keygen -q -t ed25519 -N '' -f "$folder/host"
cp "$folder/client.pub" "$root/root/.ssh/authorized_keys"
cp "$folder/host" "$root/etc/ssh/ssh_host_ed25519_key"
cat > "$root/etc/ssh/sshd_config" << 'END'
HostKey /etc/ssh/ssh_host_ed25519_key
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
UseDNS no
END
for put; do
    cp -a "$put/." "$root/"
done

# Modules of the kernel that systemd or the machine may ask for; the others stay outside.
mkdir -p "$root/usr/lib/modules/$version/kernel"
for part in drivers/net drivers/virtio drivers/block drivers/char net fs/overlayfs fs/autofs fs/configfs lib crypto; do
    [ ! -e "$modules/$version/kernel/$part" ] || {
        mkdir -p "$root/usr/lib/modules/$version/kernel/$(dirname "$part")"
        cp -a "$modules/$version/kernel/$part" "$root/usr/lib/modules/$version/kernel/$part"
    }
done
cp "$modules/$version"/modules.builtin* "$modules/$version/modules.order" "$root/usr/lib/modules/$version/"
# systemd and udev read only what kmod's own program has written.
inside depmod usr/bin/kmod -b "$root" "$version"

size=$(du -sm "$root" | cut -f 1)
rm -f "$folder/disk"
truncate -s "$((size + size / 4 + ${SPARE_MIB:-256}))M" "$folder/disk"
mke2fs -q -F -t ext4 -E root_owner=0:0,lazy_itable_init=1,lazy_journal_init=1 -L root -d "$root" "$folder/disk"

# What finds the disk.
first=$folder/first
mkdir -p "$first/bin" "$first/lib" "$first/proc" "$first/sys" "$first/dev" "$first/disk"
cp "$(command -v busybox)" "$first/bin/busybox"
: > "$first/lib/order"
for name in virtio_pci virtio_blk; do
    line=$(sed -n "s,^\(kernel[^:]*/$name\.ko\):\(.*\),\1\2,p" "$root/usr/lib/modules/$version/modules.dep")
    # What it needs is behind it, and is put before it.
    echo "$line" | tr ' ' '\n' | sed '/^$/d' | tac
done | awk '!seen[$0]++' > "$folder/order"
while read -r file; do
    cp "$root/usr/lib/modules/$version/$file" "$first/lib/"
    basename "$file" >> "$first/lib/order"
done < "$folder/order"
cat > "$first/init" << 'END'
#!/bin/busybox sh
busybox=/bin/busybox
$busybox mount -t devtmpfs none /dev
$busybox mount -t proc none /proc
while read -r name; do $busybox insmod "/lib/$name"; done < /lib/order
waited=0
until [ -b /dev/vda ] || [ "$waited" -ge 300 ]; do
    waited=$((waited + 1))
    $busybox sleep 0.1
done
$busybox mount -t ext4 /dev/vda /disk
for folder in dev proc; do $busybox mount --move "/$folder" "/disk/$folder"; done
exec $busybox switch_root /disk /lib/systemd/systemd
END
chmod +x "$first/init"
(cd "$first" && find . | cpio --quiet -o -H newc) > "$folder/initramfs"
rm -r "$first" "$root"
