#!/bin/sh
# What the first process of the virtual machine of booted.sh runs for watched_bond.rs: a node and a client in network
# namespaces, two cables between them that are a bond at both ends, and a load. Says what explain --live says of it, for
# a bond that hashes addresses and for one that hashes ports.
set -u
export PATH=/usr/bin:/bin
for module in veth bonding sch_tbf tcp_diag; do
    modprobe "$module" max_bonds=0 2>/dev/null || modprobe "$module" || echo "no module $module"
done
export HOME=/tmp AWS_ACCESS_KEY_ID=key AWS_SECRET_ACCESS_KEY=secret-of-a-test

# A shell of busybox has applets of these names, which know no namespaces.
ip() {
    /usr/bin/ip "$@"
}
tc() {
    /usr/bin/tc "$@"
}
# Ends of a cable in both namespaces, which sends 40 Mb/s.
cable() {
    ip link add "$1" netns node type veth peer name "$1" netns client
    tc -n node qdisc add dev "$1" root tbf rate 40mbit burst 64kb latency 50ms
}
# A bond of both cables at one end.
bond() {
    ip -n "$1" link add bond0 type bond mode balance-xor miimon 100 xmit_hash_policy "$2"
    for member in a0 a1; do
        ip -n "$1" link set "$member" master bond0
        ip -n "$1" link set "$member" up
    done
    ip -n "$1" link set lo up
    ip -n "$1" link set bond0 up
    ip -n "$1" addr add "$3/24" dev bond0
}

mkdir -p /run/netns
cat > /tmp/fleet.yaml <<FLEET
nodes:
  - {name: node1, role: storage, reach: 'netns://node'}
  - {name: client, role: client, reach: 'netns://client'}
FLEET
for policy in layer2 layer3+4; do
    ip netns add node
    ip netns add client
    cable a0
    cable a1
    bond node "$policy" 10.231.79.1
    bond client "$policy" 10.231.79.2
    sleep 1
    mknod /tmp/hold p
    sleep 300 > /tmp/hold &
    hold=$!
    ip netns exec node linerate target null --listen 10.231.79.1:3900 --threads 1 < /tmp/hold > /tmp/target 2>&1 &
    tries=0
    until grep -q listening /tmp/target 2>/dev/null || [ $tries -gt 60 ]; do
        tries=$((tries + 1))
        sleep 1
    done
    ip netns exec client linerate bench --host 10.231.79.1:3900 --bucket bucket --op get --obj.size 256KiB --objects 4 \
        --concurrent 12 --warmup 0s --duration 45s --yes-load --no-ceiling -o /tmp/run \
        > /tmp/bench 2>&1 &
    load=$!
    sleep 12
    linerate explain /more/site.yaml --live --fleet /tmp/fleet.yaml --for 15s --engine-port 3900 --json \
        > /tmp/said 2> /tmp/why || cat /tmp/why
    printf 'SAID %s ' "$policy"
    tr -d '\n' < /tmp/said
    echo
    kill "$load" "$hold" 2>/dev/null
    wait
    tail -3 /tmp/bench
    rm -rf /tmp/run /tmp/hold /tmp/target
    ip netns del node
    ip netns del client
done
read -r up _ < /proc/uptime
echo "the machine was up for $up s"
