# Everything that can be read of a machine of machine.sh and is not volatile, a line each, in order: there_and_back.sh
# says what that is. It is read by a shell there, behind there_and_back_volatile.sh.
# shellcheck shell=sh disable=SC2154
raw=$(mktemp)
{
    grep -r -s '' /proc/sys /sys/kernel/mm/transparent_hugepage /sys/class/net/eth0/ /sys/block/vda/queue/
    for what in -k -g -l -c; do
        ethtool "$what" eth0
    done
    ip -d link
    ip -d addr
    for family in -4 -6; do
        ip -d "$family" route show table all
        ip "$family" rule
    done
    tc qdisc
} > "$raw" 2> /dev/null
# At each boot that follows from what memory happens to be free.
volatile="$volatile|vm/user_reserve_kbytes|vm/admin_reserve_kbytes"
LC_ALL=C sed -E -e "\\,$volatile,d" -e '/^.{0,3}$/d' "$raw" | LC_ALL=C sort
rm "$raw"
# What is cut off on the way is not all of it.
echo '~ whole'
