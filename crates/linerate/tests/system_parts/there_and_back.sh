#!/bin/sh
# Changes every setting there and back, many at a time and some alone, and compares everything that can be read before
# and after. A line `CASE ok NAME` or `CASE failed NAME: WHY` each, then `CASE done`.
#
#   there_and_back.sh KNOBS FOLDER NAMESPACE [all]
#
# KNOBS has a line for each setting: its id, its place (`namespace`, `machine`, `disk`, `nic`, `bond`, `cpu`), and its
# file below /proc/sys or /sys, or a dash. FOLDER is an empty one. With `all`, the machine's settings are changed too:
# in a virtual machine.
set -u

knobs=$1 folder=$2 space=$3 reach=${4:-}
LINERATE_STATE=$folder/state
export LINERATE_STATE
changes=$folder/changes.json
failures=0
name=nothing
mkdir "$folder/before" "$folder/between" "$folder/after"

# A shell that is busybox takes its own programs for those of iproute2.
for place in /sbin /bin /usr/sbin /usr/bin; do
    [ ! -x "$place/ip" ] || ip_program=$place/ip
    [ ! -x "$place/tc" ] || tc_program=$place/tc
done
ip() { "$ip_program" "$@"; }
tc() { "$tc_program" "$@"; }
inside() { ip netns exec "$space" "$@"; }
case_ok() { echo "CASE ok $*"; }
case_failed() {
    failures=$((failures + 1))
    echo "CASE failed $*"
}

# Devices of every kind that this kernel has, with addresses, routes, rules, disciplines and settings of their own.
make_namespace() {
    ip netns add "$space"
    ip -n "$space" link set lo up
    # Routes by nexthop objects then name no interface.
    inside sysctl -q -w net/ipv4/nexthop_compat_mode=0
    ip -n "$space" link add lab0 numtxqueues 4 numrxqueues 4 type veth peer name lab1
    ip -n "$space" link add lab2 mtu 1400 type veth peer name lab3
    ip -n "$space" link add br0 type bridge
    ip -n "$space" link set lab2 master br0
    ip -n "$space" link add link lab0 name lab0.7 type vlan id 7 2> /dev/null ||
        ip -n "$space" link add link lab0 name lab0.7 type macvlan mode bridge
    ip -n "$space" link add link lab0.7 name top.9 mtu 1300 type macvlan mode bridge
    for device in lab0 lab1 lab2 lab3 br0 lab0.7 top.9; do
        inside sysctl -q -w "net/ipv6/conf/$device/accept_dad=0" "net/ipv6/conf/$device/accept_ra=0"
        ip -n "$space" link set "$device" up
    done
    number=0
    for device in lab0 br0 lab0.7 top.9; do
        number=$((number + 1))
        ip -n "$space" addr add "10.20.$number.1/24" dev "$device" label "$device:x" 2> /dev/null ||
            ip -n "$space" addr add "10.20.$number.1/24" dev "$device"
        ip -n "$space" addr add "fd00:$number::1/64" dev "$device" nodad
        ip -n "$space" addr add "fd00:$number::2/64" dev "$device" nodad preferred_lft 0
        ip -n "$space" route add "10.30.$number.0/24" via "10.20.$number.9" metric 77 mtu lock 1290
        ip -n "$space" route add "10.31.$number.0/24" dev "$device" table 100
        ip -n "$space" route add "fd01:$number::/64" via "fd00:$number::9" metric 77
        ip -n "$space" route add "fd02:$number::/64" dev "$device" table 100 mtu lock 1280
        ip -n "$space" neigh add "10.20.$number.9" lladdr 02:00:00:00:00:09 nud permanent dev "$device"
    done
    ip -n "$space" route add 10.40.0.0/16 nexthop via 10.20.1.9 weight 2 nexthop via 10.20.2.9
    ip -n "$space" route add fd03::/64 nexthop via fd00:1::9 nexthop via fd00:2::9
    ip -n "$space" rule add from 10.20.1.0/24 table 100
    ip -n "$space" -6 rule add from fd00:1::/64 table 100
    tc -n "$space" qdisc add dev lab0 root handle 1: mq
    tc -n "$space" qdisc add dev lab0 parent 1:2 handle 12: pfifo limit 77
    tc -n "$space" qdisc add dev lab2 root handle 5: pfifo limit 99
    inside sysctl -q -w net/ipv4/conf/lab0/rp_filter=2 net/ipv6/conf/lab0/hop_limit=33 net/ipv6/conf/lab0/mtu=1444 \
        net/ipv6/conf/lab0.7/mtu=1333 net/ipv6/conf/top.9/mtu=1290 net/ipv6/conf/lab2/mtu=1399 \
        net/ipv4/ip_local_reserved_ports=1,3,5,7,9,11,13,15,17,19,21,23,25,9000-9010,30000-32767
    inside sh -c 'cd /sys/class/net/lab0/queues && echo 1 > rx-0/rps_cpus && echo 2 > rx-1/rps_cpus &&
        echo 64 > rx-2/rps_flow_cnt
        [ ! -e tx-0/byte_queue_limits ] || echo 1000 > tx-0/byte_queue_limits/limit_max'
}

. "${0%.sh}_volatile.sh"

# What is in FOLDER/raw, in order, without what changes by itself. Some iproute2 print bytes of nowhere beside some
# devices. From file to file: in a virtual machine, emulated, a pipe takes much longer.
tab=$(printf '\t')
comparable() {
    LC_ALL=C sed -E -e "\\,$volatile,d" -e "/[^ -~$tab]/d" -e '/^.{0,3}$/d' -e 's/[a-z_]*timer *[0-9.]*//g' \
        "$folder/raw" > "$folder/lines"
    LC_ALL=C sort "$folder/lines" > "$1"
}

# Everything that can be read, a line each, in parts: `system` has sysctls, those of the network in the namespace, pages
# and processors; `inner` what sysfs, ip, tc and ethtool tell of interfaces there. `network` and `devices` are the same
# outside, with `all`; `disks` is what sysfs tells of them.
system() {
    {
        inside grep -r -s '' /proc/sys
        grep -r -s '' /sys/kernel/mm/transparent_hugepage
        find /sys/devices/system/cpu -path '*cpufreq*' -type f -exec grep -s -H '' {} +
    } > "$folder/raw" 2> /dev/null
    comparable "$1/system"
}
network() {
    if [ "$reach" = all ]; then
        grep -r -s '' /proc/sys/net
    else
        grep -H '' /proc/sys/net/ipv4/tcp_allowed_congestion_control /proc/sys/net/ipv4/tcp_congestion_control
    fi > "$folder/raw" 2> /dev/null
    comparable "$1/network"
}
inner() {
    {
        inside sh -c "$of_interfaces"
        by_ip -n "$space"
    } > "$folder/raw" 2> /dev/null
    comparable "$1/inner"
}
devices() {
    : > "$folder/raw"
    [ "$reach" != all ] || { sh -c "$of_interfaces" && by_ip; } > "$folder/raw" 2> /dev/null
    comparable "$1/devices"
}
disks() {
    for disk in $disks; do
        grep -r -s '' "/sys/block/$disk/queue/"
    done > "$folder/raw" 2> /dev/null
    comparable "$1/disks"
}
of_interfaces='grep -r -s "" /sys/class/net/*/
    for what in -k -g -l -c; do
        ethtool "$what" "*"
    done
    true'
printf '%s\n' 'link' 'addr' 'neigh show nud permanent' 'maddr' > "$folder/any"
printf '%s\n' 'route show table all' 'rule' > "$folder/family"
by_ip() {
    ip "$@" -d -batch "$folder/any"
    ip "$@" -d -4 -batch "$folder/family"
    ip "$@" -d -6 -batch "$folder/family"
    tc "$@" qdisc
    [ $# = 0 ] || tc "$@" class show dev lab0
}

# What is before a case is what was after the one before it: `known` has the parts that were read. Emulated, reading
# everything takes seconds: there a case is followed by the parts that it is about, the others are `unread` until
# something else is about to alter them, or all ends.
every_part='system network inner devices disks'
known=' '
unread=' '
has() { case $1 in *" $2 "*) ;; *) false ;; esac }
without() {
    rest=' '
    for one in $1; do
        [ "$one" = "$2" ] || rest="$rest$one "
    done
}
before() {
    for part in $every_part; do
        if ! has "$known" "$part"; then
            "$part" "$folder/before"
            known="$known$part "
        fi
    done
    unread=" $every_part "
}
are_as_before() {
    : > "$folder/different"
    for part in "$@"; do
        "$part" "$folder/after"
        without "$unread" "$part"
        unread=$rest
        if ! diff "$folder/before/$part" "$folder/after/$part" >> "$folder/different"; then
            without "$known" "$part"
            known=$rest
        fi
    done
    [ ! -s "$folder/different" ]
}
altering() {
    for gone in "$@"; do
        if has "$known" "$gone" && has "$unread" "$gone"; then
            are_as_before "$gone" ||
                case_failed "$gone beside $name: not as before: $(head -n 12 "$folder/different" | tr '\n' '|')"
        fi
        without "$known" "$gone"
        known=$rest
    done
}

# The parts that a case is about; what it changes can be seen in the first.
parts_of() {
    case $* in
        *--netns*--set=nic.mtu*) parts='inner system' ;;
        *--netns*--set=nic.*) parts=inner ;;
        *--set=nic.mtu*) parts='devices network' ;;
        *--set=nic.* | *--set=bond.*) parts=devices ;;
        *--set=block.*) parts=disks ;;
        *--netns*) parts='system network' ;;
        *--set=net.ipv4.tcp_congestion_control=*) parts='network system' ;;
        *) parts='system network' ;;
    esac
    seen=${parts%% *}
    [ "$reach" = all ] || parts=$every_part
}

# Applies what is asked and rolls it back; the case's name comes first.
back_and_forth() {
    name=$1
    shift
    rm -f "$changes"
    parts_of "$@"
    before
    if ! linerate tune diff "$@" -o "$changes" > "$folder/said" 2>&1; then
        case_failed "$name: $(tr '\n' '|' < "$folder/said")"
        return 1
    fi
    linerate tune apply "$changes" --confirm 900s > "$folder/applied" 2>&1
    # What is changed can be seen by others than linerate.
    "$seen" "$folder/between"
    # What was refused, or changed nothing, does not wait.
    code=0
    if grep -q '^[1-9][0-9]* settings\? changed' "$folder/applied"; then
        linerate tune rollback > "$folder/said" 2>&1
        code=$?
    fi
    # shellcheck disable=SC2086 # words
    if [ "$code" != 0 ]; then
        known=' '
        case_failed "$name: rollback gives $code: $(tr '\n' '|' < "$folder/said")"
    elif ! are_as_before $parts; then
        case_failed "$name: not as before: $(head -n 12 "$folder/different" | tr '\n' '|')"
    elif [ -n "${again:-}" ] && grep -q '^0 settings\? changed' "$folder/applied"; then
        echo "$name: the kernel takes none of these"
    elif ! grep -q '^[1-9][0-9]* settings\? changed' "$folder/applied" ||
        cmp -s "$folder/before/$seen" "$folder/between/$seen"; then
        case_failed "$name: nothing was changed: $(tr '\n' '|' < "$folder/applied")"
    else
        case_ok "$name"
        return 0
    fi
    return 1
}

# Refused by name, with nothing changed.
refused() {
    name=$1 part_told=$2
    shift 2
    [ "$reach" = all ] && parts= || parts=$every_part
    before
    linerate tune diff "$@" > "$folder/said" 2>&1
    code=$?
    # shellcheck disable=SC2086 # words
    if [ "$code" = 2 ] && grep -q "$part_told" "$folder/said" && are_as_before $parts; then
        case_ok "$name"
    else
        case_failed "$name: exit code $code: $(tr '\n' '|' < "$folder/said")"
    fi
}

# Leaves out of the values those that tune diff refuses by name, one after the other: `taken` has the others, a line
# each.
taken() {
    while [ -s "$folder/taken" ]; do
        set --
        while read -r id new; do
            set -- "$@" "--set=$id$at=$new"
        done < "$folder/taken"
        # shellcheck disable=SC2086 # words
        if linerate tune diff $flags "$@" > "$folder/said" 2>&1; then
            # All may be so already.
            ! grep -q '^0 changes' "$folder/said" || : > "$folder/taken"
            grep '^  [a-z]' "$folder/said" > "$folder/asked"
            return
        fi
        echo "left out in round $round: $(tr '\n' ' ' < "$folder/said")"
        bad=$(sed -n 's/.*invalid changes\{0,1\} "\([a-z][a-z0-9_.]*\).*/\1/p' "$folder/said" | head -n 1)
        [ -n "$bad" ] || return
        grep -v "^$bad " "$folder/taken" > "$folder/rest"
        mv "$folder/rest" "$folder/taken"
    done
}

# The settings of KNOBS of a place and perhaps a device, all in one file, with other values for those that the kernel
# did not take in the round before. `flags` is for tune diff, `where` for what is read.
rounds() {
    place=$1 device=$2 where=$3 flags=$4 least=$5 at=${2:+@$2}
    : > "$folder/done"
    for round in 1 2 3; do
        [ "$round" = 1 ] && again= || again=yes
        $where awk -v place="$place" -v device="$device" -v round="$round" -v tried="$folder/done" \
            -f "${0%.sh}_values.awk" "$knobs" > "$folder/taken"
        taken
        set --
        while read -r id new; do
            set -- "$@" "--set=$id$at=$new"
        done < "$folder/taken"
        [ $# != 0 ] || continue
        # shellcheck disable=SC2086 # words
        back_and_forth "settings_of_${place}_${device:-all}_in_round_$round" $flags "$@"
        # Of what was changed it is told what moved with it.
        grep '^  ' "$folder/applied" | grep -v ': moved with it: ' > "$folder/left"
        sed 's/^  /not taken: /' "$folder/left"
        while read -r id new; do
            ! grep -q "^  $id[@ :]" "$folder/asked" || grep -q "^  $id[@ :]" "$folder/left" ||
                echo "$id" >> "$folder/done"
        done < "$folder/taken"
    done
    again=
    count=$(sort -u "$folder/done" | wc -l)
    [ "$count" -ge "$least" ] || case_failed "only $count settings of $place ${device:-} were tried"
    echo "$count settings of $place ${device:-} were changed and are as before"
}

disks=
# A disk of its own, where there is none to spare: a loop device.
make_disk() {
    dd if=/dev/zero of="$folder/disk" bs=1M count=8 2> /dev/null
    loop=$(losetup -f --show "$folder/disk") || return
    disks=${loop##*/}
}

end() {
    linerate tune rollback > /dev/null 2>&1
    ip netns del "$space" 2> /dev/null
    ip netns del "${space}o" 2> /dev/null
    [ -z "${loop:-}" ] || losetup -d "$loop"
    [ -z "${allowed:-}" ] || echo "$allowed" > /proc/sys/net/ipv4/tcp_allowed_congestion_control
}
trap end EXIT
trap 'exit 1' INT TERM HUP

[ -n "${DISKS:-}" ] && disks=$DISKS || make_disk
allowed=$(cat /proc/sys/net/ipv4/tcp_allowed_congestion_control)
make_namespace

rounds namespace '' inside "--netns $space" 25
rounds nic lab0 inside "--netns $space" 5

for mtu in 1280 1299 1400 9000; do
    back_and_forth "an_mtu_of_${mtu}_of_what_others_stand_on" --netns "$space" --set="nic.mtu@lab0=$mtu"
done
back_and_forth an_mtu_of_a_port_of_a_bridge --netns "$space" --set=nic.mtu@lab2=1300
back_and_forth an_mtu_of_what_is_in_the_middle --netns "$space" --set=nic.mtu@lab0.7=1310
# Each moves the next.
back_and_forth mtus_of_all --netns "$space" --set=nic.mtu@lab0=1400 --set=nic.mtu@lab0.7=1350 --set=nic.mtu@top.9=1281
refused an_mtu_that_takes_ipv6_away 'below 1280, lab0 loses' --netns "$space" --set=nic.mtu@lab0=1279
refused an_mtu_that_takes_all_away 'give 68 to' --netns "$space" --set=nic.mtu@lab0=60
refused an_mtu_of_a_bridge 'takes its MTU from its ports' --netns "$space" --set=nic.mtu@br0=1300
altering inner
ip -n "$space" route add fd09::/64 dev lab0.7 mtu 1350
refused an_mtu_that_moves_a_route 'an IPv6 route on lab0.7 has its own MTU, 1350' \
    --netns "$space" --set=nic.mtu@lab0=1300
back_and_forth an_mtu_that_moves_no_route --netns "$space" --set=nic.mtu@lab0=9000
altering inner
ip -n "$space" route del fd09::/64 dev lab0.7
ip -n "$space" -6 nexthop add id 7 dev lab0
ip -n "$space" -6 route add fd0a::/64 nhid 7 mtu 1350
refused an_mtu_that_moves_a_route_by_a_nexthop 'has its own MTU, 1350' --netns "$space" --set=nic.mtu@lab0=1300
altering inner
ip -n "$space" -6 route del fd0a::/64
ip -n "$space" -6 nexthop del id 7
# A bridge is raised with its ports.
ip -n "$space" -6 route add fd0b::/64 dev br0 mtu 5000
refused an_mtu_that_raises_a_bridge_with_a_route 'an IPv6 route on br0 has its own MTU, 5000' \
    --netns "$space" --set=nic.mtu@lab2=9000
altering inner
ip -n "$space" -6 route del fd0b::/64

# Those of another namespace that stand on one of this would be lowered with it, and nobody would raise them again.
ip netns add "${space}o"
for kind in vlan macvlan ipvlan; do
    altering inner
    words="type $kind"
    [ "$kind" != vlan ] || words="$words id 9"
    # shellcheck disable=SC2086 # words
    ip -n "$space" link add link lab1 netns "${space}o" name away0 $words 2> /dev/null || continue
    refused "an_mtu_that_moves_a_${kind}_elsewhere" "$kind away0 (now 1500) in network namespace ${space}o" \
        --netns "$space" --set=nic.mtu@lab1=1400
    ip -n "${space}o" link set away0 mtu 1300
    if [ "$kind" = ipvlan ]; then
        refused an_mtu_that_an_ipvlan_follows_elsewhere 'ipvlan away0 (now 1300)' \
            --netns "$space" --set=nic.mtu@lab1=1400
    else
        back_and_forth "an_mtu_that_moves_no_${kind}_elsewhere" --netns "$space" --set=nic.mtu@lab1=1400
    fi
    ip -n "${space}o" link show away0 | grep -q 'mtu 1300' || case_failed "the MTU of a $kind elsewhere was moved"
    altering inner
    ip -n "${space}o" link del away0
done
ip netns del "${space}o"

# Each scheduler to each other, each with settings of its own that are not what it begins with.
for disk in $disks; do
    schedulers=$(tr -d '[]' < "/sys/block/$disk/queue/scheduler")
    for from in $schedulers; do
        altering disks
        echo "$from" > "/sys/block/$disk/queue/scheduler"
        [ "$from" = none ] || echo 48 > "/sys/block/$disk/queue/nr_requests"
        for file in "/sys/block/$disk/queue/iosched"/*; do
            [ -e "$file" ] || continue
            value=$(cat "$file")
            case $value in
                *[!0-9]* | '') ;;
                0 | 1) echo $((1 - value)) > "$file" 2> /dev/null ;;
                *) echo $((value + 3)) > "$file" 2> /dev/null ;;
            esac
        done
        for to in $schedulers; do
            [ "$from" = "$to" ] ||
                back_and_forth "scheduler_${from}_to_${to}_of_$disk" --set="block.scheduler@$disk=$to"
        done
        [ "$from" = none ] ||
            back_and_forth "depth_under_${from}_of_$disk" --set="block.nr_requests@$disk=32"
    done
    rounds disk "$disk" '' '' 3
done

# What is set becomes allowed to everybody, and is not afterwards.
for control in $(cat /proc/sys/net/ipv4/tcp_available_congestion_control); do
    now=$(cat /proc/sys/net/ipv4/tcp_congestion_control)
    [ "$control" = "$now" ] || {
        altering network system
        echo "$now" > /proc/sys/net/ipv4/tcp_allowed_congestion_control
        back_and_forth "congestion_control_$control" --set="net.ipv4.tcp_congestion_control=$control"
        altering network system
        echo "$allowed" > /proc/sys/net/ipv4/tcp_allowed_congestion_control
    }
done

[ "$reach" != all ] || . "${0%.sh}_machine.sh"
# shellcheck disable=SC2086 # words
altering $every_part
echo "CASE done with $failures failures"
