# What there_and_back.sh changes in a virtual machine alone: settings of the machine, a card with queues, bonds.
# shellcheck shell=sh disable=SC2154

rounds machine '' '' '' 30
rounds cpu cpu0 '' '' 0

# The card that has two queues, and those that have one.
members=
for device in /sys/class/net/*; do
    if [ -e "$device/queues/tx-1" ]; then
        card=${device##*/}
    elif [ -e "$device/device" ]; then
        members="$members ${device##*/}"
    fi
done
altering network devices
sysctl -q -w net/ipv6/conf/default/accept_dad=0 net/ipv6/conf/default/accept_ra=0
sysctl -q -w "net/ipv6/conf/$card/accept_dad=0" "net/ipv6/conf/$card/accept_ra=0"
queues=/sys/class/net/$card/queues
ip link set "$card" up
ip addr add 10.60.0.1/24 dev "$card"
ip addr add fd06::1/64 dev "$card" nodad
ip route add 10.61.0.0/24 via 10.60.0.9 metric 77 mtu lock 1290
echo 1444 > "/proc/sys/net/ipv6/conf/$card/mtu"

# A second channel has a discipline of its own only where it is used.
ethtool -L "$card" combined 2
tc qdisc replace dev "$card" root handle 1: mq
tc qdisc add dev "$card" parent 1:1 handle 11: pfifo limit 77
refused channels_with_a_discipline_on_a_queue 'disappears with its queue' --set="nic.channels@$card=1"
altering devices
tc qdisc del dev "$card" root
for setting in rx-0/rps_cpus=2 rx-1/rps_cpus=1 rx-1/rps_flow_cnt=64 tx-0/xps_cpus=1 tx-1/xps_cpus=3 \
    tx-1/byte_queue_limits/limit_max=7777; do
    echo "${setting#*=}" > "$queues/${setting%=*}"
done
back_and_forth channels_with_settings_of_their_own --set="nic.channels@$card=1"
for side in rx tx; do
    back_and_forth "a_ring_of_${side}_with_settings_of_queues" --set="nic.ring.$side@$card=128"
done
back_and_forth rings_and_channels_at_once --set="nic.ring.rx@$card=64" --set="nic.ring.tx@$card=64" \
    --set="nic.channels@$card=1"
for mtu in 1280 1400; do
    back_and_forth "an_mtu_of_${mtu}_of_a_card" --set="nic.mtu@$card=$mtu"
done
refused an_mtu_of_a_card_that_takes_ipv6_away "below 1280, $card loses" --set="nic.mtu@$card=1200"
rounds nic "$card" '' '' 8

# A bond with members, whose MTU is its own; and one without, whose mode can be changed.
altering network devices
ip link add bond0 type bond mode active-backup miimon 100 updelay 200 downdelay 400
for member in $members; do
    ip link set "$member" master bond0
    ip link set "$member" up
done
ip link set bond0 up
ip addr add 10.50.0.1/24 dev bond0
ip addr add fd05::1/64 dev bond0 nodad
echo 1433 > /proc/sys/net/ipv6/conf/bond0/mtu
ip link add link bond0 name bond0.7 mtu 1450 type vlan id 7
ip link set bond0.7 up
ip addr add fd07::1/64 dev bond0.7 nodad
# A link counts after a delay.
sleep 2
back_and_forth an_mtu_of_a_bond --set=nic.mtu@bond0=1400
for member in $members; do
    back_and_forth "an_mtu_of_a_member_of_a_bond_$member" --set="nic.mtu@$member=1400"
done
refused an_mtu_of_a_bond_that_takes_ipv6_away 'below 1280, bond0 loses' --set=nic.mtu@bond0=1200
back_and_forth miimon_of_a_bond_with_delays --set=bond.miimon@bond0=50
rounds bond bond0 '' '' 2
rounds nic bond0 '' '' 3
altering network devices
ip link add bond1 type bond mode active-backup arp_interval 100 arp_ip_target 10.50.0.9 arp_validate all
ip link add bond2 type bond mode 802.3ad miimon 100 lacp_rate fast xmit_hash_policy layer3+4
ip link add bond3 type bond mode balance-alb miimon 100 tlb_dynamic_lb 0
back_and_forth a_mode_that_ends_arp --set=bond.mode@bond1=802.3ad
back_and_forth a_watch_of_links_that_ends_arp --set=bond.miimon@bond1=100
back_and_forth a_mode_that_has_no_lacp --set=bond.mode@bond2=balance-xor
back_and_forth a_mode_without_balance_of_its_own --set=bond.mode@bond3=802.3ad
rounds bond bond2 '' '' 3
