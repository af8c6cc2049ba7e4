#!/bin/sh
# What the first process of the virtual machine of booted.sh runs for there_and_back.sh: modules of Debian's kernel,
# then that.
for module in veth 8021q macvlan ipvlan bridge bfq kyber-iosched tcp_bbr nf_conntrack br_netfilter virtio_pci \
    virtio_net virtio_blk; do
    modprobe "$module" || echo "no module $module"
done
# None by itself: those that there are shall be as they are made.
modprobe bonding max_bonds=0 || echo "no module bonding"
mkdir -p /tmp/work
DISKS=vda sh /more/there_and_back.sh /more/knobs /tmp/work lab all
read -r up _ < /proc/uptime
echo "the machine was up for $up s"
