#!/bin/bash
# What runs in the namespaces of a Kubernetes: `inside.sh up TIER [N]` is their first process, other commands enter
# them. See kubernetes.sh. State is in $FOLDER: `inside` is in memory and gone with the namespaces, and what others read
# lies beside it.
set -eEuo pipefail
trap 'echo "$0, line $LINENO: $BASH_COMMAND failed: see $FOLDER/logs" >&2' ERR
# What `unshare` says of its own is not for the caller.
[ "$1" != up ] || exec 2>&3 3>&-
source=$(dirname "$(realpath "$0")")
cd "$FOLDER"
here=$FOLDER/inside
control=10.231.80.1 router=10.231.80.2
. "$source/control.sh"
. "$source/../cilium/programs.sh"
. "$source/../cilium/router.sh"
. "$source/../cilium/cilium.sh"
. "$source/../machine/machine.sh"

# For so many seconds, with so many between two looks.
patience=60 rest=0.1

wait_until() {
    local what=$1 began=$SECONDS
    shift
    until "$@" >/dev/null 2>&1; do
        [ $((SECONDS - began)) -lt "$patience" ] || {
            echo "$what did not come in $patience s: see $FOLDER/logs" >&2
            return 1
        }
        sleep "$rest"
    done
}

# A process in the background, under a name; what it says goes to its log.
begin() {
    local name=$1
    shift
    "$@" >>"$FOLDER/logs/$name" 2>&1 </dev/null &
    echo $! >"$here/$name.pid"
    # The shell need not tell how it ended.
    disown $!
}

# Ends one by name. Whoever adopts it may take its time to reap it: dead is enough.
finish() {
    local number tries=0
    number=$(cat "$here/$1.pid")
    kill -KILL "$number"
    while grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$number/status" && [ $((tries += 1)) -lt 100 ]; do
        sleep 0.05
    done
}

# A switch with the control plane on it; each node is a port of it. Pods of other nodes are reached through a gateway,
# so that a node needs no more than its default route. All names are in this mount namespace alone.
make_network() {
    local node gateway=$2
    mount -t tmpfs -o mode=0755 linerate-kubernetes /run
    ip link set lo up
    ip link add switch type bridge
    ip address add "$control/24" dev switch
    ip link set switch up
    echo 1 >/proc/sys/net/ipv4/ip_forward
    for node in $(seq "$1"); do
        ip netns add "n$node"
        ip link add "to-n$node" type veth peer name eth0 netns "n$node"
        ip link set "to-n$node" master switch up
        ip -n "n$node" link set lo up
        # A machine has addresses of its own.
        ! has_machines || { wired "n$node" eth0 && continue; }
        ip -n "n$node" address add "10.231.80.$((10 + node))/24" dev eth0
        ip -n "n$node" link set eth0 up
        ip -n "n$node" route add default via "$gateway"
        nsenter --net="/run/netns/n$node" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
    done
}

# The control plane's namespace is the gateway. Services are where a node's kube-proxy is.
make_routes() {
    local node
    for node in $(seq "$1"); do
        ip route add "10.232.$node.0/24" via "10.231.80.$((10 + node))"
    done
    ip route add 10.233.0.0/16 via 10.231.80.11
}

# `ip netns exec` would hide the control groups.
boot() {
    ! has_machines || { boot_machine "$1" && return; }
    begin "n$1" nsenter --net="/run/netns/n$1" \
        unshare --mount --propagation private --uts --ipc --pid --fork --kill-child --mount-proc \
        "$source/node.sh" "$1" "$(cat "$here/tier")"
}

# in_node NUMBER COMMAND…: among its processes and files. Its namespaces are those of the first process there, a child
# of `unshare`.
in_node() {
    local above first
    if has_machines; then
        in_machine "$@"
        return
    fi
    above=$(cat "$here/n$1.pid")
    first=$(tr -d ' ' <"/proc/$above/task/$above/children")
    nsenter --target "$first" --mount --uts --ipc --net --pid -- "${@:2}"
}

are_ready() {
    [ "$(ask /api/v1/nodes | grep -o KubeletReady | wc -l)" = "$1" ]
}

# A node is ready when its network is: one of Cilium's is not yet.
are_known() {
    [ "$(ask /api/v1/nodes | grep -o KubeletNotReady | wc -l)" = "$1" ]
}

# A file for each drive, which takes the memory that is written.
make_drives() {
    local drive folder=$here/n$1/drives
    mkdir -p "$folder"
    for drive in $(seq "$DRIVES"); do
        truncate --size 2G "$folder/$drive.img"
        LD_LIBRARY_PATH=$XFS/usr/lib/$(uname -m)-linux-gnu "$XFS/sbin/mkfs.xfs" -q "$folder/$drive.img"
    done
}

nodes() {
    local node
    mkdir -p "$here/images"
    [ -z "${DRIVES:-}" ] || for node in $(seq "$1"); do make_drives "$node"; done
    echo "${NAMES:-}" >"$here/names"
    for node in $(seq "$1"); do
        signed "n$node" "/O=system:nodes/CN=system:node:n$node" "DNS:n$node"
        configured "n$node"
    done
    "$source/image.sh" registry.k8s.io/pause:3.10 "$KUBERNETES/pause" "$here/images/pause.tar"
    if [[ ! $(cat "$here/tier") =~ ^(nodes|systemd)$ ]]; then
        "$source/image.sh" linerate.local/answer:test "$CILIUM/answer" "$here/images/answer.tar"
    else
        "$source/image.sh" linerate.local/linerate:test "${LINERATE:?names the program}" "$here/images/linerate.tar"
    fi
    for node in $(seq "$1"); do
        boot "$node"
    done
    wait_until "a node's kubelet" "$2" "$1"
}

up() {
    local tier=$1 count=${2:-0} stay
    # Until the input ends, or the time is over: either way the kernel ends all that runs here with this process.
    trap exit TERM
    { timeout "${SECONDS_MAX:-3600}" cat >/dev/null || true; kill -TERM 1; } <&0 &
    stay=$!
    mount -t tmpfs -o mode=0755 linerate-kubernetes "$here"
    echo "$GROUP" >"$here/group"
    echo "$tier" >"$here/tier"
    hostname linerate-kubernetes
    case $tier in
    nodes) make_network "$count" "$control" && make_routes "$count" ;;
    systemd) make_network "$count" "$control" ;;
    cilium | machines) make_network "$count" "$router" && make_router "$count" ;;
    *) make_network 0 "$control" ;;
    esac
    # One program speaks for all of them.
    [ "$tier" != scale ] || grace=60s
    ! has_machines || { grace=300s && be_patient; }
    control_plane
    case $tier in
    api) ;;
    nodes | systemd) nodes "$count" are_ready ;;
    cilium | machines) programs && begin_routing && nodes "$count" are_known ;;
    scale) . "$source/scale.sh" && pretended "$count" ;;
    esac
    echo ready
    # While it waits, and only then, it reaps what is left to it.
    wait "$stay" || true
}

has_machines() {
    [[ $(cat "$here/tier" 2>/dev/null) =~ ^(machines|systemd)$ ]]
}

node_of() {
    [[ ${1:-} =~ ^[0-9]+$ && -e /run/netns/n$1 ]] || { echo "no node ${1:-}: give its number" >&2; exit 2; }
}

# All links of a node, to an end.
links() {
    local link
    for link in "to-n$1" "out-n$1"; do
        ! ip link show "$link" >/dev/null 2>&1 || ip link set "$link" "$2"
    done
}

[ "$1" = up ] || GROUP=$(cat "$here/group")
export GROUP
! has_machines || be_patient
case $1 in
up) up "${@:2}" ;;
restart-api)
    finish kube-apiserver
    sleep "${2:-0}"
    api_server
    ;;
crash) node_of "$2" && finish "n$2" ;;
boot) node_of "$2" && boot "$2" ;;
cut) node_of "$2" && links "$2" down ;;
heal) node_of "$2" && links "$2" up ;;
at) node_of "$2" && in_node "$2" "${@:3}" ;;
load)
    node_of "$2"
    in_node "$2" "$KUBERNETES/debian/usr/bin/ctr" --namespace k8s.io images import "$3"
    ;;
cilium) cilium "${@:2}" ;;
router) ask_router "${@:2}" ;;
# In a machine, whose links are not those of a namespace.
of-machine) node_of "$2" && in_machine "${@:2}" ;;
agent) node_of "$2" && in_node "$2" "$CILIUM/bin/cilium-dbg" "${@:3}" ;;
esac
