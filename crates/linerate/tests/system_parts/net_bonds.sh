#!/bin/sh
# What the first process of the virtual machine of booted.sh runs for net_bonds.rs: two nodes in network namespaces, two
# or three cables between them that are a bond at both ends. Says what linerate net says of each way of a bond.
set -u
export PATH=/usr/bin:/bin HOME=/tmp
for module in veth bonding tcp_diag sch_ingress cls_u32 act_skbedit act_mirred; do
    modprobe "$module" max_bonds=0 2>/dev/null || modprobe "$module" || echo "no module $module"
done

# A shell of busybox has applets of these names, which know no namespaces.
ip() {
    /usr/bin/ip "$@"
}
tc() {
    /usr/bin/tc "$@"
}
# A bond of all cables at one end: its namespace, address, members and the rest.
bond() {
    space=$1 address=$2 members=$3
    shift 3
    ip -n "$space" link add bond0 type bond miimon 100 "$@"
    for member in $(echo a0 a1 a2 | cut -d ' ' -f "1-$members"); do
        ip -n "$space" link set "$member" master bond0
        ip -n "$space" link set "$member" up
    done
    ip -n "$space" link set lo up
    ip -n "$space" link set bond0 up
    ip -n "$space" addr add "$address/24" dev bond0
}
nodes() {
    members=$1
    shift
    ip netns add node1
    ip netns add node2
    for member in $(echo a0 a1 a2 | cut -d ' ' -f "1-$members"); do
        ip link add "$member" netns node1 type veth peer name "$member" netns node2
    done
    bond node1 10.231.79.1 "$members" "$@"
    bond node2 10.231.79.2 "$members" "$@"
    # LACP agrees on its groups meanwhile.
    sleep 10
}
gone() {
    ip netns del node1
    ip netns del node2
    rm -rf /tmp/run
}
streams=160
measure() {
    linerate net --fleet /tmp/fleet.yaml --interface bond0 --members --streams "$streams" --max-rate 32Mb/s \
        --warmup 500ms --duration 1s --json -o /tmp/run "$@" > /tmp/said 2> /tmp/why || cat /tmp/why
}
# The same again where a visit was lost: a machine that others fill has too little time for it.
surely() {
    for _ in 1 2 3; do
        rm -rf /tmp/run
        measure "$@"
        case $(cat /tmp/run/visits.jsonl) in
        *'"error":'*) ;;
        *) return ;;
        esac
    done
}
say() {
    printf 'SAID %s ' "$1"
    tr -d '\n' < /tmp/said
    echo
}

mkdir -p /run/netns
cat > /tmp/fleet.yaml <<FLEET
nodes:
  - {name: node1, role: storage, reach: 'netns://node1'}
  - {name: node2, role: client, reach: 'netns://node2'}
FLEET

# Both ways, each by each member: 160 streams a visit.
nodes 2 mode 802.3ad lacp_rate fast xmit_hash_policy layer3+4
surely --visits 2
say lacp-2-layer3+4
gone

nodes 2 mode 802.3ad lacp_rate fast xmit_hash_policy layer2+3
surely --visits 2
say lacp-2-layer2+3
gone

nodes 3 mode balance-xor xmit_hash_policy layer3+4
surely --visits 2
say xor-3-layer3+4
gone

nodes 2 mode balance-xor xmit_hash_policy layer2
surely --visits 2
say xor-2-layer2
gone

nodes 2 mode balance-xor xmit_hash_policy encap2+3
surely --visits 2
say xor-2-encap2+3
gone

nodes 2 mode balance-xor xmit_hash_policy vlan+srcmac
surely --visits 2
say xor-2-vlan+srcmac
gone

# The kernel draws a hash of each socket: which member a stream takes is told by nobody, and what members carried is.
nodes 2 mode 802.3ad lacp_rate fast xmit_hash_policy encap3+4
surely --visits 1
say lacp-2-encap3+4
gone

nodes 2 mode active-backup
surely --visits 2
say backup-2
gone

# Behind the bond's back, a filter of node1 leads one source port of 32 from each member to the other, once.
astray() {
    tc -n node1 qdisc add dev "$1" clsact
    tc -n node1 filter add dev "$1" egress protocol ip u32 match ip protocol 6 0xff match ip sport 21 0x1f \
        match mark 0 0xffffffff action skbedit mark 7 pipe action mirred egress redirect dev "$2"
}
nodes 2 mode 802.3ad lacp_rate fast xmit_hash_policy layer3+4
astray a0 a1
astray a1 a0
# Of 16 ports in 32 that follow each other, one is led astray in every other visit.
streams=16
surely --visits 4
say lacp-2-layer3+4-astray
sed 's/^/VISIT /' /tmp/run/visits.jsonl
streams=160
gone

# A member is lost in the middle, and comes back.
nodes 3 mode 802.3ad lacp_rate fast xmit_hash_policy layer3+4
measure --visits 3 &
going=$!
until_visits() {
    while kill -0 "$going" 2> /dev/null && [ "$(cat /tmp/run/visits.jsonl 2> /dev/null | wc -l)" -lt "$1" ]; do
        sleep 1
    done
}
until_visits 3
ip -n node1 link set a1 down
until_visits 9
ip -n node1 link set a1 up
wait "$going"
say lacp-3-layer3+4-lost
gone
read -r up _ < /proc/uptime
echo "the machine was up for $up s"
