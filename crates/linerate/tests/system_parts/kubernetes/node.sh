#!/bin/bash
# The first process of a node, in namespaces of its own; its network is that of the caller: node.sh NUMBER TIER. The
# node's disk is $FOLDER/inside/nNUMBER, and survives the node.
set -euo pipefail
number=$1 name=n$1 tier=$2 here=$FOLDER/inside disk=$FOLDER/inside/n$1
address=10.231.80.$((10 + number))
debian=$KUBERNETES/debian
# Where programs are that join pods to the network.
plugins=$debian/usr/lib/cni
logs=$FOLDER/logs/$name
hostname "$name"
root_group=/$GROUP/$name

# Kubelet wants a group of its own in every hierarchy, and what the last boot left in them is none of its pods.
make_groups() {
    local kind setting
    for kind in /sys/fs/cgroup/*/; do
        [ ! -d "$kind$GROUP/$name" ] || find "$kind$GROUP/$name" -depth -type d -exec rmdir {} +
        mkdir -p "$kind$GROUP/$name"
        for setting in "$kind$GROUP"/cpuset.{cpus,mems}; do
            # A new set has no processors and no memory.
            [ ! -e "$setting" ] || cat "$setting" >"$kind$GROUP/$name/${setting##*/}"
        done
    done
}

# A view of /sys with the node's own network, and the machine's control groups.
show_sys() {
    mount --rbind /sys/fs/cgroup "$disk/groups"
    mount -t sysfs sysfs /sys
    mount --rbind "$disk/groups" /sys/fs/cgroup
}

# A kubelet sets these for the whole machine. It gets to see files that hold what it wants already.
keep_setting() {
    local file=$disk/settings/${1##*/}
    echo "$2" >"$file"
    mount --bind "$file" "/proc/sys/$1"
}

make_disk() {
    mkdir -p "$disk"/{groups,lib,log,run,cni,settings}
    # Of the last boot.
    rm -rf "${disk:?}"/run/*
    show_sys
    keep_setting vm/overcommit_memory 1
    keep_setting vm/panic_on_oom 0
    keep_setting kernel/panic 10
    keep_setting kernel/panic_on_oops 1
    keep_setting kernel/keys/root_maxkeys 1000000
    keep_setting kernel/keys/root_maxbytes 25000000
    mount --bind "$disk/lib" /var/lib
    mount --bind "$disk/log" /var/log
    mount --bind "$disk/run" /run
    # Volumes that are mounted on the node show in its pods.
    mount --make-rshared /
}

# The machine's own part: volumes are of folders, and a pod that finds one empty would write to the system's disk. What
# a kernel holds of the last boot is let go of a moment after its processes have ended.
mount_drives() {
    local image folder tries
    for image in "$disk"/drives/*.img; do
        [ -e "$image" ] || continue
        folder=/var/lib/drives/$(basename "$image" .img) tries=0
        mkdir -p "$folder"
        until mount -o loop,noatime "$image" "$folder"; do
            [ $((tries += 1)) -lt 100 ] || exit 1
            sleep 0.1
        done
    done 2>>"$logs.drives"
}

# Debian's packages are unpacked, not installed: programs by PATH, and nft's libraries beside it.
make_path() {
    mkdir -p /run/bin
    printf '#!/bin/sh\nexec env LD_LIBRARY_PATH=%s %s "$@"\n' \
        "$debian/usr/lib/$(uname -m)-linux-gnu" "$debian/usr/sbin/nft" >/run/bin/nft
    chmod +x /run/bin/nft
    PATH=/run/bin:$debian/usr/bin:$debian/usr/sbin:$PATH
}

# Pods have addresses of the node's own range, and the node routes: no traffic between pods is masqueraded. Congestion
# control is the one that every kernel has and that a namespace may always choose, whatever the machine's is.
write_network() {
    cat >"$disk/cni/pods.conflist" <<END
{"cniVersion": "1.0.0", "name": "pods", "plugins": [{"type": "bridge", "bridge": "pods", "isGateway": true,
 "hairpinMode": true, "ipam": {"type": "host-local", "dataDir": "/run/addresses",
 "ranges": [[{"subnet": "10.232.$number.0/24"}]], "routes": [{"dst": "0.0.0.0/0"}]}},
 {"type": "tuning", "sysctl": {"net.ipv4.tcp_congestion_control": "reno"}}]}
END
}

# Machines without CAP_SYS_RESOURCE cannot lower a process's score for the OOM killer: containers fail to start there
# unless scores are bounded by the runtime's own. Ports below 1024 are as in containerd 2, where no pod needs rights for
# them: the program of an image that is made here has no capabilities of its file's.
containerd() {
    cat >"$disk/containerd.toml" <<END
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[plugins."io.containerd.internal.v1.opt"]
  path = "/var/lib/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.k8s.io/pause:3.10"
  restrict_oom_score_adj = true
  enable_unprivileged_ports = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$plugins"
    conf_dir = "$disk/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
END
    command containerd --config "$disk/containerd.toml" >>"$logs.containerd" 2>&1 &
    until ctr version >/dev/null 2>&1; do
        kill -0 $! || exit 1
        sleep 0.1
    done
    # What the disk of the last boot has is there.
    [ -e "$disk/imported" ] && return
    for image in "$FOLDER"/inside/images/*.tar; do
        ctr --namespace k8s.io images import "$image"
    done
    touch "$disk/imported"
}

# Whoever is in the cluster's network may do what they like with a kubelet.
kubelet() {
    cat >"$disk/kubelet.yaml" <<END
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $address
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
cgroupDriver: cgroupfs
cgroupRoot: $root_group
clusterDomain: cluster.local
$(sed 's/..*/clusterDNS: [&]/' "$here/names")
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%, nodefs.inodesFree: 1%}
failCgroupV1: false
failSwapOn: false
imageGCHighThresholdPercent: 100
imageGCLowThresholdPercent: 99
makeIPTablesUtilChains: false
nodeStatusUpdateFrequency: 4s
resolvConf: ""
serializeImagePulls: false
END
    command kubelet --config="$disk/kubelet.yaml" --kubeconfig="$FOLDER/pki/$name.kubeconfig" \
        --hostname-override="$name" --node-ip="$address" --root-dir=/var/lib/kubelet \
        --cert-dir=/var/lib/kubelet/pki --volume-plugin-dir=/var/lib/kubelet/volumeplugins \
        >>"$logs.kubelet" 2>&1 &
}

# Limits of connections are the whole machine's: it leaves them. What a pod of another node sends to a node's port is
# from outside: by the range of all pods, it would be taken for a pod of this node, and answered past it.
proxy() {
    kube-proxy --kubeconfig="$FOLDER/kubeconfig" --proxy-mode=nftables \
        --hostname-override="$name" --detect-local-mode=BridgeInterface --pod-bridge-interface=pods \
        --conntrack-max-per-core=0 \
        --conntrack-tcp-timeout-established=0s --conntrack-tcp-timeout-close-wait=0s >>"$logs.kube-proxy" 2>&1 &
}

source=$(dirname "$(realpath "$0")")
[[ $tier != machines && $tier != systemd ]] || . "$source/../machine/node.sh"
make_groups
make_disk
mount_drives
make_path
if [[ $tier != nodes && $tier != systemd ]]; then
    . "$source/../cilium/node.sh"
    make_room
    write_cilium_network
else
    write_network
fi
containerd
kubelet
case $tier in
nodes) proxy ;;
# Pods there are in the network of their node.
systemd) ;;
*) agent & ;;
esac
# The node ends with the first of them that does, and the kernel ends the others.
wait -n
