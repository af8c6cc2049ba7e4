# A value to try of each setting of a place: a line with its id and the value.
#
#   awk -v place=PLACE -v device=DEVICE -v round=ROUND -v tried=FILE -f there_and_back_values.awk KNOBS
#
# KNOBS is that of there_and_back.sh, FILE has the ids that are left out. A setting that is not there has no line.

BEGIN { while ((getline id < tried) > 0) left_out[id] = 1 }

$2 == place && !($1 in left_out) {
    path = $3
    sub(/\{[a-z]*\}/, device, path)
    gsub(/\*/, "0", path)
    now = present(path)
    # A list of ports may be empty.
    if (now == "" && path !~ /reserved_ports$/) next
    # Blanks of a value are commas here, but in a list of ports.
    if (round > split(choices(path, now), values, " ")) next
    if (path !~ /reserved_ports$/) gsub(/,/, " ", values[round])
    print $1, values[round]
}

# What a setting is now, the first of several files.
function present(path,    file, line) {
    if (path ~ /^(offload|ring|channels|mtu)$/) return "-"
    file = (path ~ /^(class|block|devices|kernel\/mm)\// ? "/sys/" : "/proc/sys/") path
    line = ""
    getline line < file
    close(file)
    return line
}

# Another in each round.
function choices(path, now,    numbers, count, first) {
    if (path == "offload") return "off on"
    if (path == "ring") return "128 256 64"
    if (path == "channels") return "1 2"
    if (path ~ /tcp_congestion_control$/) return "reno cubic"
    if (path ~ /default_qdisc$/) return "pfifo_fast pfifo"
    if (path ~ /reserved_ports$/) return "9000,10250 22"
    if (path ~ /port_range$/) return "20000,60999 1024,65535"
    if (path ~ /(scaling_governor|energy_perf.*)$/) return "performance powersave"
    if (path ~ /bonding\/mode$/) return "active-backup 802.3ad"
    if (path ~ /xmit_hash_policy$/) return "layer3+4 layer2"
    if (path ~ /lacp_rate$/) return "fast slow"
    # Those that are not chosen.
    if (path ~ /(scheduler|\/enabled|\/defrag)$/) { gsub(/\[[^]]*\]/, "", now); return now }
    if (path ~ /_cpus$/) return "3 1 2"
    if (path ~ /nr_requests$/) return "32 16 64"
    if (path ~ /read_ahead_kb$/) return "256 512"
    if (path ~ /discard_max_bytes$/) return "4194304 1048576"
    # No less than two pages.
    if (path ~ /dirty_(background_)?bytes$/) return "8388608 16777216"
    if (now !~ /^[0-9 \t]+$/) return ""
    count = split(now, numbers)
    if (count == 3) {
        first = numbers[1] "," numbers[2] ","
        return first whole(numbers[3] + 4096) " " first whole(numbers[3] - 4096)
    }
    if (count != 1) return ""
    if (now + 0 == 0) return "1 2 4096"
    if (now + 0 == 1) return "0 2 4096"
    # What has more digits than a number of awk is left as it is.
    return length(now) < 16 ? whole(now + 1) " " whole(now - 1) " " whole(int(now / 2)) : ""
}

function whole(number) { return sprintf("%.0f", number) }
