#!/bin/sh
# What the first process of the virtual machine of booted.sh runs for lab_booted.rs: a lab whose limits are held by
# version 2 of control groups, whose links have two ports, and whose packets are late. This machine's kernel may have
# none of it. Says a CASE for each.
set -u
export PATH=/usr/bin:/bin HOME=/tmp
for module in veth bridge sch_tbf sch_netem sch_ingress cls_bpf loop ext4 xfs; do
    modprobe "$module" || echo "no module $module"
done
modprobe bonding max_bonds=0 || echo "no module bonding"
echo '+cpu +io' > /sys/fs/cgroup/cgroup.subtree_control

# A shell of busybox has applets of these names, which know no namespaces: here, and where a lab has a shell start
# something.
ln -sf dash /usr/bin/sh
ip() {
    /usr/bin/ip "$@"
}
tc() {
    /usr/bin/tc "$@"
}
failures=0
# A case, and a command that ends well if it is fine.
check() {
    name=$1
    shift
    if "$@"; then
        echo "CASE ok $name"
    else
        failures=$((failures + 1))
        echo "CASE failed $name: $*"
    fi
}
# Within a minute and a half.
eventually() {
    for _ in $(seq 1 90); do
        "$@" && return
        sleep 1
    done
    return 1
}
lab() {
    verb=$1
    shift
    linerate lab "$verb" --name v2 --state /tmp/labs "$@" > /tmp/said 2>&1 || {
        cat /tmp/said
        return 1
    }
}
traces() {
    ls /run/netns 2>/dev/null
    cut -d ' ' -f 5 /proc/self/mountinfo | sort
    cat /sys/block/loop*/loop/backing_file 2>/dev/null
    ls -d /sys/fs/cgroup/linerate* 2>/dev/null
    ls /sys/class/net
}
group=/sys/fs/cgroup/linerate-v2/node1
has() {
    grep -q "$1" "$2"
}
seconds() {
    cut -d . -f 1 /proc/uptime
}
node1() {
    ip netns exec v2-node1 "$@"
}

traces > /tmp/before
check is_made lab up --nodes 2 --drives 1 --drive-size 320MiB --link 100Mb/s --ports 2 --cores 1
check cores_are_held has '^50000 50000$' $group/cpu.max

both_ports_carry() {
    node1 cat /proc/net/bonding/eth0 > /tmp/bond
    ports=$(sed -n '/Active Aggregator/,/Actor Key/s/.*Number of ports: //p' /tmp/bond)
    [ "$ports" = 2 ] && node1 ping -c 1 -W 1 10.231.1.2 > /dev/null
}
check both_ports_of_a_link_are_one_aggregator eventually both_ports_carry
tc -n v2-node1 qdisc show dev eth0p1 > /tmp/queue
check each_port_is_shaped has 'tbf.*rate 50Mbit' /tmp/queue
check the_site_has_the_bond has 'bonds:' /tmp/labs/v2/site.yaml

check a_quota_is_planted lab fault 'node1 cpu=20%'
check a_quota_is_held has '^10000 50000$' $group/cpu.max
lab exec node1 -- timeout 2 sh -c 'while :; do :; done'
is_throttled() {
    [ "$(sed -n 's/nr_throttled //p' $group/cpu.stat)" -gt 2 ]
}
check a_quota_throttles is_throttled

check a_drive_is_made_slow lab fault 'node1 drive1=5MB/s'
begun=$(seconds)
lab exec node1 -- dd if=/dev/zero of=/tmp/labs/v2/drives/drive1/file bs=1M count=25 oflag=direct
took=$(($(seconds) - begun))
# 26 MB at 5 MB/s: no machine is faster than that limit.
check a_drive_is_slow [ $took -ge 4 ]

check packets_are_made_late lab fault 'node1 delay=300ms'
# In ms, of what was answered; two machines emulated on one processor need some by themselves.
round_trip() {
    node1 ping -c 2 -W 5 10.231.1.2 | sed -n 's/.*time=\([0-9]*\)\..*/\1/p' | sort -n | head -n 1
}
check packets_are_late [ "$(round_trip)" -ge 300 ]

check a_machine_is_frozen lab fault 'node1 freeze'
check a_machine_stands_still eventually has '^frozen 1$' $group/cgroup.events
check all_is_lifted lab heal
check a_machine_goes_on eventually has '^frozen 0$' $group/cgroup.events
check cores_are_as_before has '^50000 50000$' $group/cpu.max
is_unlimited() {
    ! grep -q wbps=5 $group/io.max
}
check a_drive_is_as_before is_unlimited

check is_removed lab down
traces > /tmp/after
check nothing_is_left cmp /tmp/before /tmp/after
diff /tmp/before /tmp/after
echo "CASE done with $failures failures"
