#!/bin/sh
# Three machines whose first process is Debian's systemd, reached by SSH and changed as one: applied, confirmed, lapsed,
# rolled back, and everything that can happen to them meanwhile. After each scene everything that can be read of each is
# compared with before. A line `CASE ok NAME` or `CASE failed NAME: WHY` each, then `CASE done`.
#
#   scenes.sh PACKAGES KERNEL LINERATE FOLDER [SCENE...]
#
# PACKAGES and KERNEL are those of root.sh, FOLDER is an empty one. Root: the machines are in a network namespace of
# their own, with nobody else.
set -u

packages=$1 kernel=$2 linerate=$3 folder=$4
shift 4
here=$(dirname "$0")
space=lrbf$$
all='1 2 3'
failures=0

end() {
    for number in $all; do
        [ ! -e "$folder/n$number.pid" ] || kill -KILL "$(cat "$folder/n$number.pid")" 2> /dev/null
    done
    ip netns del "$space" 2> /dev/null
}
trap end EXIT
trap 'exit 1' INT TERM HUP

uptime_s() {
    read -r now _ < /proc/uptime
    echo "${now%%.*}"
}
# Whether what is asked becomes so within so many seconds.
becomes() {
    until_s=$(($(uptime_s) + $1))
    shift
    until "$@"; do
        [ "$(uptime_s)" -le "$until_s" ] || return
        sleep 1
    done
}
inside() { ip netns exec "$space" "$@"; }
tapped() { inside ip link set "tap$1" "$2"; }

# The machines, and the way to them.
make_network() {
    ip netns add "$space"
    inside ip link set lo up
    inside ip link add lan type bridge
    inside ip addr add 10.78.0.254/24 dev lan
    inside ip link set lan up
    for number in $all; do
        inside ip tuntap add "tap$number" mode tap
        inside ip link set "tap$number" master lan up
    done
}
# What is begun becomes the machine, and its id is the machine's: no shell stands between.
boot() {
    ip netns exec "$space" sh "$here/machine.sh" "$folder" "$kernel" "$1" "tap$1" >> "$folder/n$1.log" 2>&1 &
    echo $! > "$folder/n$1.pid"
}
# One that has ended and that nobody has waited for yet has no arguments.
is_running() { [ -n "$(tr -d '\0' < "/proc/$(cat "$folder/n$1.pid")/cmdline" 2> /dev/null)" ]; }
cut_power() {
    kill -KILL "$(cat "$folder/n$1.pid")"
    wait "$(cat "$folder/n$1.pid")" 2> /dev/null
}
# Nobody may read it any more.
say() { timeout --foreground 5 sh -c 'echo "$1" > "$2"' sh "$2" "$folder/n$1.monitor.in"; }
make_way() {
    mkdir -p "$folder/bin" "$folder/values"
    cat > "$folder/ssh_config" << END
Host *
  IdentityFile $folder/client
  IdentitiesOnly yes
  UserKnownHostsFile $folder/known
  GlobalKnownHostsFile /dev/null
END
    printf '#!/bin/sh\nexec %s -F %s "$@"\n' "$(command -v ssh)" "$folder/ssh_config" > "$folder/bin/ssh"
    chmod +x "$folder/bin/ssh"
    echo 'nodes:' > "$folder/fleet.yaml"
    for number in $all; do
        echo "10.78.0.$number $(cat "$folder/host.pub")" >> "$folder/known"
        echo "  - {name: n$number, role: client, reach: 'ssh://root@10.78.0.$number'}" >> "$folder/fleet.yaml"
    done
    # What a scene does behind a wave, as sh; a coordinator that is to be killed there waits for it.
    printf '#!/bin/sh\n[ ! -e "%s/behind.$LINERATE_WAVE" ] || . "%s/behind.$LINERATE_WAVE"\n' "$folder" "$folder" \
        > "$folder/check.sh"
}

# on NUMBER COMMAND...: in a machine.
on() {
    number_on=$1
    shift
    inside timeout --foreground 120 "$folder/bin/ssh" -o BatchMode=yes -o ConnectTimeout=5 \
        "root@10.78.0.$number_on" "$@"
}
is_up() { [ "$(on "$1" 'timeout 100 systemctl is-system-running --wait' < /dev/null 2> /dev/null)" = running ]; }
# The coordinator; what it says is in FOLDER/said, and its exit code in `code`.
coordinate() {
    exec ip netns exec "$space" env PATH="$folder/bin:$PATH" LINERATE_STATE="$folder/state" \
        "$folder/linerate" "$@" --fleet "$folder/fleet.yaml"
}
fleet() {
    (coordinate "$@") > "$folder/said" 2>&1 < /dev/null
    code=$?
    { echo "\$ $*" && cat "$folder/said" && echo "($code)"; } | tee -a "$folder/said-of-scene" >> "$folder/all-said"
    return "$code"
}
apply() {
    fleet tune apply "$folder/changes.json" --wave 1,2 --confirm "$1s" --check "sh $folder/check.sh" \
        --check-within 15s
    code=$?
    name_rollout
    return "$code"
}
name_rollout() { rollout=$(sed -n 's/^ rollout *//p' "$folder/said" | head -n 1); }

# Of every kind: of the network and of the machine, two that the kernel moves together, a disk, a card. A file of
# changes is of one boot of each machine.
make_changes() {
    fleet tune diff -o "$folder/changes.json" --set vm.swappiness=11 --set vm.vfs_cache_pressure=101 \
        --set vm.dirty_bytes=104857600 --set fs.inotify.max_user_instances=129 --set net.core.somaxconn=5000 \
        --set net.core.rmem_max=3000001 --set net.core.netdev_budget=301 --set net.ipv4.tcp_fin_timeout=61 \
        --set net.ipv4.tcp_keepalive_time=7201 --set 'net.ipv4.tcp_rmem=4096 131072 7000000' \
        --set nic.mtu@eth0=1400 --set nic.tso@eth0=off --set block.read_ahead_kb@vda=256 \
        --set block.nr_requests@vda=64
}

# Everything that can be read of each, under a name; and whether it is the same under two.
values() {
    for readings in 1 2 3 4 5; do
        read_values "$1" && return
    done
    fail "not read, $readings times"
}
read_values() {
    reading=
    for number in $all; do
        cat "$here/../there_and_back_volatile.sh" "$here/values.sh" | on "$number" sh -s \
            > "$folder/values/$1.$number" 2> /dev/null &
        reading="$reading $!"
    done
    # shellcheck disable=SC2086 # words
    wait $reading
    for number in $all; do
        [ "$(wc -l < "$folder/values/$1.$number")" -gt 500 ] || return
        [ "$(tail -n 1 "$folder/values/$1.$number")" = '~ whole' ] || return
    done
}
are_same() {
    : > "$folder/different"
    for number in $all; do
        diff "$folder/values/$1.$number" "$folder/values/$2.$number" >> "$folder/different" ||
            echo "of n$number" >> "$folder/different"
    done
    [ ! -s "$folder/different" ]
}
are_as_before() {
    values now || return
    are_same before now || fail "not as before: $(head -n 12 "$folder/different" | tr '\n' '|')"
}
are_changed() {
    values now || return
    are_same after now || fail "not as confirmed: $(head -n 12 "$folder/different" | tr '\n' '|')"
}
# One setting of one machine, that every rollout changes: for waiting.
is_changed() { [ "$(on "$1" cat /proc/sys/vm/swappiness < /dev/null 2> /dev/null)" = 11 ]; }
is_unchanged() { [ "$(on "$1" cat /proc/sys/vm/swappiness < /dev/null 2> /dev/null)" = 60 ]; }
has_no_unit() { [ -z "$(on "$1" systemctl list-units --all --plain --no-legend "'linerate-*'" < /dev/null)" ]; }
waits() { on "$1" systemctl list-timers --no-legend < /dev/null | grep -q 'linerate-tune-.*\.timer'; }
lapsed() { on "$1" "$kept tune log" < /dev/null | grep -q "$rollout.*not confirmed in time"; }
is_rolled_back() { is_unchanged "$1" && has_no_unit "$1"; }

# states STATE-OF-n1 STATE-OF-n2 STATE-OF-n3: whether status says so. A machine that is slow to answer is not known, and
# asked again; everything else that is not so is false. One that was never asked to change anything does not know the
# rollout, and is as before.
states() {
    asked=0
    while [ "$((asked += 1))" -le 5 ]; do
        fleet tune status
        number=0
        is_so=yes
        for state; do
            number=$((number + 1))
            told=$(sed -nE "s/^ n$number +(as before|pending|partly changed|confirmed|not restored|not known).*/\1/p" \
                "$folder/said")
            [ -n "$told" ] || ! grep -q 'never began it\|do not know it' "$folder/said" || told='as before'
            case $told in
                "$state") ;;
                'not known') is_so=no ;;
                *) fail "status says \"$told\" of n$number that is $state" || return ;;
            esac
        done
        [ "$is_so" != yes ] || return 0
    done
    fail 'status does not reach the machines'
}

fail() {
    why="$*; it said: $(tr '\n' '|' < "$folder/said")"
    return 1
}

# Runs a scene, and makes it that the next begins with nothing changed. Emulated, and beside others, a machine may not
# answer in time: then nothing was shown, but that all is as before all the same, and it is run again.
run() {
    tried=0
    while [ "$((tried += 1))" -le 3 ]; do
        rm -f "$folder"/behind.* "$folder/reached"
        : > "$folder/said"
        : > "$folder/said-of-scene"
        why=
        begun=$(uptime_s)
        if "$1" && are_as_before; then
            echo "CASE ok $1 ($(($(uptime_s) - begun)) s)"
            return
        fi
        echo "$1, for the ${tried}. time: $why"
        recover || break
        grep -q 'did not answer in time' "$folder/said-of-scene" && make_changes || break
    done
    failures=$((failures + 1))
    echo "CASE failed $1: $why"
}
recover() {
    for number in $all; do
        tapped "$number" up
        if is_running "$number"; then
            say "$number" cont
        else
            echo "n$number has ended: $(tail -n 1 "$folder/n$number.log")"
            boot "$number"
        fi
        becomes 900 is_up "$number" || fail "n$number does not come back" || return
    done
    for tries in 1 2 3; do
        fleet tune rollback --kept
        # There may be nothing to roll back.
        [ "$code" != 0 ] && [ "$code" != 2 ] || break
        sleep 5
    done
    for number in $all; do
        becomes 300 is_rolled_back "$number" || fail "n$number is not rolled back after $tries tries" || return
    done
    are_as_before
}

what_is_confirmed_stays() {
    apply "$((60 + 4 * taken))" || fail 'not applied' || return
    states pending pending pending || return
    for number in $all; do
        waits "$number" || fail "no timer on n$number" || return
    done
    fleet tune confirm || fail 'not confirmed' || return
    states confirmed confirmed confirmed || return
    for number in $all; do
        has_no_unit "$number" || fail "a unit is left on n$number" || return
    done
    are_changed || return
    fleet tune rollback --kept || fail 'not rolled back' || return
    states 'as before' 'as before' 'as before'
}

what_is_rolled_back_needs_no_timer() {
    apply "$((60 + 4 * taken))" || fail 'not applied' || return
    are_changed || return
    fleet tune rollback || fail 'not rolled back' || return
    for number in $all; do
        has_no_unit "$number" || fail "a unit is left on n$number" || return
    done
    states 'as before' 'as before' 'as before'
}

# The check behind the last wave says that it is reached, and takes longer than the coordinator lives.
the_coordinator_is_killed() {
    short=$((40 + 3 * taken))
    echo ": > '$folder/reached'; sleep 5" > "$folder/behind.2"
    coordinate tune apply "$folder/changes.json" --wave 1,2 --confirm "${short}s" --check "sh $folder/check.sh" \
        --check-within 15s > "$folder/said" 2>&1 < /dev/null &
    coordinator=$!
    becomes "$short" test -e "$folder/reached"
    name=$(cat "/proc/$coordinator/comm")
    kill -KILL "$coordinator"
    wait "$coordinator" 2> /dev/null
    name_rollout
    [ "$name" = linerate ] || fail "$name was killed instead" || return
    [ -e "$folder/reached" ] || fail 'the last wave was not reached' || return
    for number in $all; do
        is_changed "$number" && waits "$number" || fail "n$number has no change or no timer" || return
    done
    for number in $all; do
        becomes "$((short + 60))" is_rolled_back "$number" || fail "n$number does not lapse" || return
        lapsed "$number" || fail "n$number has no journal of it" || return
    done
    states 'as before' 'as before' 'as before'
}

# Cut off behind the first wave, in which it was: the others are rolled back, and it lapses while nobody reaches it.
the_network_is_cut() {
    short=$((40 + 3 * taken))
    echo "ip link set tap1 down && : > '$folder/reached'" > "$folder/behind.1"
    begun_s=$(uptime_s)
    ! apply "$short" || fail 'applied without n1' || return
    [ -e "$folder/reached" ] || fail 'the first wave was not reached' || return
    states 'not known' 'as before' 'as before' || return
    # What is left of its time, and what its own way back takes.
    until [ "$(uptime_s)" -gt "$((begun_s + short + taken + 20))" ]; do sleep 1; done
    tapped 1 up
    becomes 60 lapsed 1 || fail 'n1 did not lapse by itself' || return
    states 'as before' 'as before' 'as before'
}

an_agent_is_killed() {
    # The pattern does not find who looks for it.
    echo "'$folder/bin/ssh' root@10.78.0.1 'kill -KILL \$(pgrep -f \"[f]d/9 agent\")' < /dev/null &&
        : > '$folder/reached'" > "$folder/behind.1"
    ! apply "$((60 + 4 * taken))" || fail 'applied without the agent of n1' || return
    [ -e "$folder/reached" ] || fail 'no agent was killed' || return
    states 'as before' 'as before' 'as before'
}

# Stopped for longer than all the others wait: nothing is confirmed without it, and they lapse. Its own clock stands
# meanwhile, and so does its timer.
a_machine_is_frozen() {
    short=$((40 + 3 * taken))
    apply "$short" || fail 'not applied' || return
    say 2 stop
    ! fleet tune confirm || fail 'confirmed without n2' || return
    states pending 'not known' pending || return
    for number in 1 3; do
        becomes "$((short + 60))" is_rolled_back "$number" || fail "n$number does not lapse" || return
        lapsed "$number" || fail "n$number has no journal of it" || return
    done
    states 'as before' 'not known' 'as before' || return
    say 2 cont
    becomes "$((short + 200))" is_rolled_back 2 || fail 'n2 does not lapse' || return
    lapsed 2 || fail 'n2 has no journal of it' || return
    states 'as before' 'as before' 'as before'
}

# What it boots with is what it booted with before, and the others can no more be confirmed.
a_machine_loses_its_power() {
    apply "$((700 + 6 * taken))" || fail 'not applied' || return
    cut_power 3
    states pending pending 'not known' || return
    boot 3
    becomes 600 is_up 3 || fail 'n3 does not boot' || return
    states pending pending 'as before' || return
    grep -q 'boot' "$folder/said" || fail 'nothing of a boot is said' || return
    ! fleet tune confirm || fail 'confirmed without n3' || return
    fleet tune rollback || fail 'not rolled back' || return
    states 'as before' 'as before' 'as before' || return
    # What was made for another boot is refused, and is made anew.
    ! apply "$((60 + 4 * taken))" && grep -q 'rebooted since' "$folder/said" || fail 'applied after a boot' || return
    becomes 60 is_rolled_back 1 && becomes 60 is_rolled_back 2 || fail 'not rolled back' || return
    make_changes || fail 'no changes of the new boot'
}

scenes=${*:-what_is_confirmed_stays what_is_rolled_back_needs_no_timer the_coordinator_is_killed the_network_is_cut
    an_agent_is_killed a_machine_is_frozen a_machine_loses_its_power}

# The program is in the machines, where it is looked for by its sum, already: emulated, sending it takes a minute.
cp -L "$linerate" "$folder/linerate"
strip "$folder/linerate" 2> /dev/null || true
sum=$(sha256sum < "$folder/linerate")
agents=root/.cache/linerate/agents
mkdir -p "$folder/put/$agents"
cp "$folder/linerate" "$folder/put/$agents/${sum%% *}"
chmod -R go= "$folder/put/root"
kept=/$agents/${sum%% *}
sh "$here/root.sh" "$packages" "$kernel" "$folder" "$folder/put" || exit 1
make_network
make_way
begun_s=$(uptime_s)
for number in $all; do boot "$number"; done
for number in $all; do
    becomes 900 is_up "$number" || {
        echo "CASE failed boot: n$number: $(tail -n 5 "$folder/n$number.log" | tr '\n' '|')"
        exit 1
    }
done
echo "the machines boot in $(($(uptime_s) - begun_s)) s"

# What all scenes need, for which a machine may be slow as well.
prepared() {
    for tries in 1 2 3 4 5; do
        begun_s=$(uptime_s)
        "$@" && return
        [ "$1" != apply ] || recover || break
    done
    echo "CASE failed $*, in $tries tries: $(tr '\n' '|' < "$folder/said")"
    exit 1
}
prepared fleet fleet check
prepared values before
prepared make_changes
# What an application takes on this machine: every time here is longer by a multiple of it.
prepared apply 900
taken=$(($(uptime_s) - begun_s + 1))
prepared values after
for number in $all; do
    ! cmp -s "$folder/values/before.$number" "$folder/values/after.$number" || echo "CASE failed n$number: not changed"
done
prepared fleet tune rollback
echo "an application takes $taken s"

for scene in $scenes; do
    run "$scene"
done
echo "CASE done with $failures failures"
