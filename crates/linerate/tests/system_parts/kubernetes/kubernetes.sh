#!/bin/bash
# A real Kubernetes on this machine, of what `make kubernetes` has built, in namespaces of its own: nothing of it is in
# the machine's network, its files are in memory, and all of it ends with one process. Needs root.
#
#   kubernetes.sh up FOLDER api           etcd, API server, controllers and scheduler, in the background, for HOURS (2)
#   kubernetes.sh up FOLDER nodes N       the same with N nodes, each with containerd, kubelet, kube-proxy: n1, n2, …
#   kubernetes.sh up FOLDER cilium N      nodes whose network is Cilium's, with a router (FRR) and a client behind it
#   kubernetes.sh up FOLDER machines N    the same with nodes that are virtual machines with a kernel of their own
#   kubernetes.sh up FOLDER systemd N     nodes that are virtual machines with systemd as their first process, without
#                                         Cilium: their pods are in the network of the node
#   kubernetes.sh up FOLDER scale N       the same with N nodes that kwok pretends; exec into their pods runs here
#   kubernetes.sh hold FOLDER TIER [N]    `up` in the foreground: says "ready", and ends with its standard input
#   kubernetes.sh in FOLDER COMMAND …     a command in its network, with KUBECONFIG set and kubectl on its PATH
#   kubernetes.sh on FOLDER NODE COMMAND … a command in the network of a node, or of router or client: `on FOLDER 1 ss`
#   kubernetes.sh at FOLDER NODE COMMAND … a command among the processes and files of a node: `at FOLDER 1 ls /var/lib`
#   kubernetes.sh restart-api FOLDER [S]  kills the API server, and begins it again S (0) seconds later
#   kubernetes.sh crash FOLDER NODE       kills all processes of a node at once: `crash FOLDER 1`
#   kubernetes.sh boot FOLDER NODE        begins it again, with the disk that it had
#   kubernetes.sh cut FOLDER NODE         takes its link down; `heal` brings it up
#   kubernetes.sh image NAME FILE ARCHIVE writes an image of one program and the libraries that it needs
#   kubernetes.sh load FOLDER NODE ARCHIVE gives an image to a node
#   kubernetes.sh cilium FOLDER VALUES …  gives tier cilium the chart with these files of values, and again with others
#   kubernetes.sh router FOLDER COMMAND … what the router says: `router FOLDER 'show ip route'`
#   kubernetes.sh agent FOLDER NODE …     cilium-dbg of a node: `agent FOLDER 1 status`
#   kubernetes.sh down FOLDER             ends it, and removes what is left of it and of others that were killed
#
# KUBERNETES is the folder that was built, and CILIUM that of `make cilium`. Of the program LINERATE, `up` makes the
# image linerate.local/linerate:test; tier cilium has linerate.local/answer:test. With DRIVES, each node has so many
# drives with XFS, at /var/lib/drives/1 and so on, made by the package that XFS names; with NAMES, pods ask that address
# for names.
set -euo pipefail
source=$(dirname "$(realpath "$0")")
KUBERNETES=$(realpath -m "${KUBERNETES:-$source/../../../../../target/servers/kubernetes}")
CILIUM=$(realpath -m "${CILIUM:-$source/../../../../../target/servers/cilium}")
MACHINE=$(realpath -m "${MACHINE:-$source/../../../../../target/servers/machine}")
export KUBERNETES CILIUM MACHINE
export PATH=$KUBERNETES/bin:$PATH

hierarchies=/sys/fs/cgroup
prefix=linerate-kubernetes-

refuse() {
    echo "kubernetes.sh: $*" >&2
    exit 2
}

# When a process began, if it still runs: its number alone may have become another's.
began() {
    sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '$1 != "Z" { print $20 }'
}

# The number of the process that a file of the folder names, where it still runs.
running() {
    local number start
    read -r number start 2>/dev/null <"$1/$2" && [ -n "$start" ] && [ "$(began "$number")" = "$start" ] &&
        echo "$number"
}

# Ends that process, and waits until it has.
end() {
    local number tries=0
    number=$(running "$1" "$2") || return 0
    kill "-$3" "$number"
    while running "$1" "$2" >/dev/null; do
        [ $((tries += 1)) -lt 300 ] || refuse "process $number does not end"
        sleep 0.1
    done
}

first_process() {
    running "$1" first || refuse "no Kubernetes runs in $1: begin one by \`kubernetes.sh up $1 nodes 2\`"
}

# One in every hierarchy, since kubelets want that; a new set of processors has none.
make_groups() {
    local kind setting
    for kind in "$hierarchies"/*/; do
        mkdir -p "$kind$1"
        for setting in cpuset.cpus cpuset.mems; do
            [ ! -e "$kind$setting" ] || cat "$kind$setting" >"$kind$1/$setting"
        done
    done
}

# Groups whose holder ends or has ended, however it did: a holder that is killed cannot remove its own. What was killed
# just now may take a moment to leave them.
sweep_groups() {
    local group number left users
    for _ in $(seq 100); do
        left=
        for group in "$hierarchies"/*/"$prefix"*; do
            number=${group##*-}
            [ -d "$group" ] || continue
            [ "$number" != $$ ] && [ -n "$(began "$number")" ] && continue
            find "$group" -depth -type d -exec rmdir {} + 2>/dev/null || left=$group
        done
        [ -n "$left" ] || return 0
        sleep 0.1
    done
    users=$(find "$left" -name cgroup.procs -exec cat {} + 2>/dev/null | tr '\n' ' ')
    echo "kubernetes.sh: $left is still in use, by processes ${users:-that are not told}" >&2
}

# What a tier needs, before anything is made.
check() {
    local tier=${1:-} count=${2:-}
    [[ $tier =~ ^(api|nodes|cilium|machines|systemd|scale)$ ]] ||
        refuse "no tier ${tier:-is named}: api, nodes, cilium, machines, systemd or scale"
    [ "$(id -u)" = 0 ] || refuse "namespaces and control groups need root"
    [ -d "$hierarchies/memory" ] || refuse "$hierarchies is not of version 1: kubelets that share a machine need that"
    [ -x "$KUBERNETES/bin/kubelet" ] || refuse "$KUBERNETES has no components: make kubernetes"
    [ "$tier" != api ] || return 0
    [[ $count =~ ^[1-9][0-9]?$ || ($tier = scale && $count =~ ^[1-9][0-9]{2}$) ]] ||
        refuse "$tier needs a number of nodes from 1 to 99 (scale: 999), not \"$count\""
    [ -x "${LINERATE:-}" ] || refuse "LINERATE=${LINERATE:-} is no program: cargo build -p linerate"
    LINERATE=$(realpath "$LINERATE")
    export LINERATE
    [ -z "${DRIVES:-}" ] || [ -x "${XFS:-}/sbin/mkfs.xfs" ] || refuse "XFS=${XFS:-} has no sbin/mkfs.xfs"
    if [ "$tier" = machines ] || [ "$tier" = systemd ]; then
        [ -e "$MACHINE/vmlinuz" ] || refuse "$MACHINE has no kernel for a virtual machine: make machine"
        [ -x /usr/lib/qemu/virtiofsd ] || refuse "no virtiofsd of qemu is installed: apt-get install qemu-system-x86"
    fi
    if [ "$tier" = cilium ] || [ "$tier" = machines ]; then
        [ -x "$CILIUM/bin/helm" ] && [ -x "$CILIUM/answer" ] || refuse "$CILIUM has no Cilium: make cilium"
    fi
    if [ "$tier" = scale ]; then
        [ -x "$KUBERNETES/bin/kwok" ] || refuse "$KUBERNETES has no kwok: make kubernetes-scale"
    else
        [ -x "$KUBERNETES/debian/usr/sbin/runc" ] || refuse "$KUBERNETES has no packages of Debian: make kubernetes"
    fi
}

hold() {
    local folder=$1
    check "${@:2}"
    # Nodes have others in their place.
    [[ $folder/ != /run/* && $folder/ != /var/l* ]] || refuse "$folder is not to be seen from nodes: take another"
    ! running "$folder" holder >/dev/null || refuse "a Kubernetes runs in $folder already: kubernetes.sh down $folder"
    sweep_groups
    mkdir -p "$folder"/{inside,logs,pki}
    echo "$$ $(began $$)" >"$folder/holder"
    export FOLDER=$folder GROUP=$prefix$$
    trap 'end_held' EXIT
    trap 'exit 143' TERM INT HUP
    make_groups "$GROUP"
    unshare --mount --propagation private --net --uts --ipc --pid --fork --kill-child --mount-proc \
        "$source/inside.sh" up "${@:2}" <&0 3>&2 2>"$folder/logs/unshare" &
    unshared=$!
    local first=
    while [ -z "$first" ] && [ -d "/proc/$unshared" ]; do
        first=$(tr -d ' ' <"/proc/$unshared/task/$unshared/children") || true
    done
    echo "$first $(began "$first")" >"$folder/first"
    wait "$unshared"
}

# The kernel kills everything in the namespace of processes with its first.
end_held() {
    local status=$?
    trap '' TERM INT HUP
    end "$FOLDER" first KILL
    wait "${unshared:-}" 2>/dev/null || true
    sweep_groups
    rm -rf "${FOLDER:?}"/{first,holder,inside,kubeconfig,pki,stay}
    exit "$status"
}

up() {
    local folder=$1 log=$1/logs/hold
    check "${@:2}"
    mkdir -p "$folder/logs"
    : >"$log"
    [ -e "$folder/stay" ] || mkfifo "$folder/stay"
    # A pipe that it holds open itself: its input ends with its hours.
    SECONDS_MAX=$((${HOURS:-2} * 3600)) setsid "$0" hold "$@" <>"$folder/stay" >"$log" 2>&1 &
    until grep -qx ready "$log"; do
        kill -0 $! 2>/dev/null || { cat "$log" >&2; exit 1; }
        sleep 0.2
    done
    echo "KUBECONFIG=$folder/kubeconfig, in its network alone: $0 in $folder kubectl get nodes"
}

down() {
    local folder=$1
    end "$folder" holder TERM
    # Where somebody has killed the holder alone.
    end "$folder" first KILL
    sweep_groups
    rm -rf "${folder:?}"/{first,holder,inside,kubeconfig,logs,pki,stay}
    rmdir "$folder" 2>/dev/null || true
}

# In its network, and with all else of this machine.
run_in() {
    local first
    first=$(first_process "$1")
    export KUBECONFIG=$1/kubeconfig KUBECACHEDIR=$1/inside
    exec nsenter --target "$first" --net -- "${@:2}"
}

run_on() {
    local first name=$2
    [[ ! $name =~ ^[0-9] ]] || name=n$name
    first=$(first_process "$1")
    if [[ $name =~ ^n[0-9] ]] && [[ $(cat "/proc/$first/root/$1/inside/tier") =~ ^(machines|systemd)$ ]]; then
        inside "$1" of-machine "${name#n}" "${@:3}"
    fi
    exec nsenter --net="/proc/$first/root/run/netns/$name" -- "${@:3}"
}

inside() {
    local first
    first=$(first_process "$1")
    FOLDER=$1 exec nsenter --target "$first" --mount --net --uts --ipc --pid -- "$source/inside.sh" "${@:2}"
}

give_cilium() {
    local files=() file
    for file in "${@:2}"; do files+=("$(realpath "$file")"); done
    inside "$1" cilium "${files[@]}"
}

main() {
    local command=${1:-} folder
    case $command in
    up | hold | down | in | on | at | restart-api | crash | boot | cut | heal | load | cilium | router | agent)
        [ $# -ge 2 ] || refuse "$command needs a folder"
        folder=$(realpath -m "$2")
        shift 2
        case $command in
        up | hold | down) "$command" "$folder" "$@" ;;
        in) run_in "$folder" "$@" ;;
        on) run_on "$folder" "$@" ;;
        cilium) give_cilium "$folder" "$@" ;;
        load) inside "$folder" load "${1:-}" "$(realpath "${2:?names the archive}")" ;;
        *) inside "$folder" "$command" "$@" ;;
        esac
        ;;
    image)
        [ $# = 4 ] || refuse "image needs a name, a program and the archive to write"
        "$source/image.sh" "${@:2}"
        ;;
    *)
        sed -n '2,/^set /s/^# \{0,1\}//p' "$0"
        [ -n "$command" ] && exit 2
        ;;
    esac
}

main "$@"
