# Sourced by inside.sh: nodes that are virtual machines with a kernel of their own, for what this machine's kernel has
# not. Emulated, without KVM. A machine sees this one's files, read-only and beneath files in its memory, so that its
# node is the same programs by the same paths; its cards are on the links that another node would have.

# wired NAMESPACE LINK: the link of a node goes on to the card of its machine.
wired() {
    ip -n "$1" tuntap add "card-$2" mode tap
    ip -n "$1" link add "wire-$2" type bridge
    for link in "$2" "card-$2"; do ip -n "$1" link set "$link" master "wire-$2" up; done
    ip -n "$1" link set "wire-$2" up
}

# What a machine begins with: a shell, the modules that it needs to see files, and where they are.
write_first_files() {
    local root=$here/first-files version name
    version=$(ls "$MACHINE/modules")
    [ ! -e "$here/initramfs" ] || return 0
    mkdir -p "$root"/{bin,proc,sys,dev,lower,upper,new} "$root/lib/modules/$version"
    cp "$(command -v busybox)" "$root/bin/busybox"
    for name in overlay failover net_failover virtio_net; do
        find "$MACHINE/modules/$version" -name "$name.ko" -exec cp {} "$root/lib/modules" \;
    done
    cp "$source/../machine/init.sh" "$root/init"
    declare -p FOLDER GROUP KUBERNETES CILIUM MACHINE PATH source | sed 's/^declare -[-x]* /export /' \
        >"$root/environment"
    (cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) >"$here/initramfs"
}

# Agents compile their datapath when they begin. Emulated, one program of it takes a minute, and they do not wait for
# several: each is compiled out here, by the same compiler.
begin_compiler() {
    [ -e "$here/compiler.pid" ] || begin compiler busybox nc -ll -p 7001 -e \
        unshare --mount --propagation private "$source/../machine/compile.sh" "$here/programs/clang"
}

# Two processes: one shows it files, and ends with the other. A kernel that waits for a processor would miss its timer
# and give up: it is not to look. Where programs are at the same addresses from process to
# process, what they are translated to is used again.
boot_machine() {
    local node=$1 socket=$here/n$1.socket link links="0 1" tier
    local cards=()
    tier=$(cat "$here/tier")
    write_first_files
    if [ "$tier" = systemd ]; then links=0; else begin_compiler; fi
    rm -f "$socket"
    # shellcheck disable=SC2016 # the shell that is begun expands them
    begin "n$node.files" unshare --mount --propagation private sh -c '
        mount --bind "$1" "$1" && mount -o remount,bind,ro / && shift && exec "$@"' sh "$FOLDER/logs" \
        /usr/lib/qemu/virtiofsd --socket-path="$socket" -o source=/ -o sandbox=chroot -o cache=always
    wait_until "the files of n$node" test -S "$socket"
    for link in $links; do
        cards+=(-netdev "tap,id=eth$link,ifname=card-eth$link,script=no,downscript=no"
            -device "virtio-net-pci,netdev=eth$link,mac=02:00:00:00:0$link:0$node,romfile=")
    done
    begin "n$node" nsenter --net="/run/netns/n$node" qemu-system-x86_64 -machine q35,memory-backend=memory \
        -object "memory-backend-memfd,id=memory,size=${MACHINE_MEMORY:-3G},share=on" -m "${MACHINE_MEMORY:-3G}" \
        -accel tcg,thread=single,tb-size=512 -cpu max,cx16=off -smp 1 -nographic -no-reboot \
        -kernel "$MACHINE/vmlinuz" -initrd "$here/initramfs" \
        -append "console=ttyS0 quiet panic=-1 norandmaps nokaslr mitigations=off net.ifnames=0 nowatchdog \
no_timer_check systemd.show_status=0 NODE=$node TIER=$tier" \
        -chardev "socket,id=files,path=$socket" -device vhost-user-fs-pci,chardev=files,tag=host "${cards[@]}"
}

# What is emulated takes minutes for what others do in seconds, and each look is at the cost of what it looks at.
be_patient() {
    patience=1500 rest=2
}

# in_machine NUMBER COMMAND…: what it says, both outputs alike, and how it ends.
in_machine() {
    local node=$1 said status
    shift
    said=$({ printf '%q ' "$@"; echo; } | busybox nc -w 5 "10.231.80.$((10 + node))" 7000) || return 1
    status=${said##*$'\n'}
    said=${said%"$status"}
    printf '%s' "${said%$'\n'}"
    return "${status:-1}"
}
