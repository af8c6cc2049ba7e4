# Sourced by inside.sh: the switch of a rack, which is FRR, and a client. The client has one link to the router, and
# one to the segment that the second link of each node is in.

# Ports count for the choice of a next hop, as in a switch.
make_router() {
    local node
    ip netns add router
    ip netns add client
    ip link add outside type bridge
    ip link set outside up
    ip link add to-router type veth peer name eth0 netns router
    ip link set to-router master switch up
    ip -n router link add eth1 type veth peer name eth0 netns client
    ip link add to-client type veth peer name eth1 netns client
    ip link set to-client master outside up
    for node in $(seq "$1"); do
        ip link add "out-n$node" type veth peer name eth1 netns "n$node"
        ip link set "out-n$node" master outside up
        if has_machines; then
            wired "n$node" eth1
        else
            addressed "n$node" eth1 "10.231.82.$((10 + node))"
        fi
        # Of what is for a node that is cut off, others would take their part: programs on their links do not look whose
        # packet it is.
        ip link set "to-n$node" type bridge_slave flood off
        ip link set "out-n$node" type bridge_slave flood off
    done
    addressed router eth0 "$router"
    addressed router eth1 10.231.81.1
    addressed client eth0 10.231.81.2
    addressed client eth1 10.231.82.2
    ip -n client route add default via 10.231.81.1
    ip route add 10.232.0.0/16 via "$router"
    for node in $(seq "$1"); do as_wires "to-n$node" "out-n$node"; done
    # Packets of a client have whole checksums then, as from a wire: XDP passes them on as they are.
    nsenter --net=/run/netns/client ethtool -K eth0 tx off >/dev/null
    nsenter --net=/run/netns/client ethtool -K eth1 tx off >/dev/null
    nsenter --net=/run/netns/router sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward
        echo 1 >/proc/sys/net/ipv4/fib_multipath_hash_policy'
}

# What XDP sends by a virtual link is taken at the other end only where that collects packets.
as_wires() {
    local link
    for link in "$@"; do ethtool -K "$link" gro on; done
}

# addressed NAMESPACE LINK ADDRESS
addressed() {
    ip -n "$1" link set lo up
    ip -n "$1" address add "$3/24" dev "$2"
    ip -n "$1" link set "$2" up
}

# It asks nothing of a node but its address and autonomous system, and waits as long as the node's timers say.
write_router() {
    mkdir -p "$here"/router/{etc/frr,etc/pam.d,run/frr,tmp}
    : >"$here/router/zebra.conf"
    cat >"$here/router/bgpd.conf" <<CONFIGURATION
frr defaults datacenter
router bgp 65000
 bgp router-id $router
 no bgp ebgp-requires-policy
 bgp bestpath as-path multipath-relax
 neighbor nodes peer-group
 neighbor nodes remote-as 65001
 bgp listen range 10.231.80.0/24 peer-group nodes
 address-family ipv4 unicast
  maximum-paths 64
 exit-address-family
CONFIGURATION
    # FRR gives up its rights to a user and a group that its package makes, and its shell asks PAM.
    { cat /etc/passwd && echo 'frr:x:0:0::/:/bin/sh'; } >"$here/router/etc/passwd"
    { cat /etc/group && printf 'frr:x:0:\nfrrvty:x:0:\n'; } >"$here/router/etc/group"
    cp /etc/ld.so.cache /etc/nsswitch.conf "$here/router/etc"
    printf 'auth sufficient pam_permit.so\naccount sufficient pam_permit.so\n' >"$here/router/etc/pam.d/frr"
    echo 'service integrated-vtysh-config' >"$here/router/etc/frr/vtysh.conf"
}

# begin_router NAME: a part of FRR, with folders of its own in the places where it writes.
begin_router() {
    # shellcheck disable=SC2016 # the shell that is begun expands them
    begin "router-$1" nsenter --net=/run/netns/router unshare --mount --propagation private sh -c '
        cd "$1" && mount --bind run /run && mount --bind tmp /var/tmp && mount --bind etc /etc && shift && exec "$@"' \
        sh "$here/router" "$here/programs/$1" --config_file "$here/router/$1.conf" --socket /run/frr/zserv.api \
        --pid_file "/run/frr/$1.pid" --vty_socket /run/frr --vty_addr 127.0.0.1
}

begin_routing() {
    write_router
    begin_router zebra
    wait_until "the router's table" test -S "$here/router/run/frr/zserv.api"
    begin_router bgpd
}

# What a command of the router's shell says.
ask_router() {
    local words=() command
    for command in "$@"; do words+=(--command "$command"); done
    nsenter --target "$(cat "$here/router-bgpd.pid")" --mount --net -- \
        "$here/programs/vtysh" --vty_socket /run/frr "${words[@]}"
}
