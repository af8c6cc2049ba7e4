#!/bin/sh
# What systemd runs in the virtual machine of booted.sh: a line `CASE ok NAME` or `CASE failed NAME: WHY` each, then
# `CASE done`.

settings='vm.swappiness=11 net.core.somaxconn=4097 net.core.rmem_max=300001 net.core.netdev_budget=301
    net.ipv4.tcp_fin_timeout=61 net.ipv4.tcp_keepalive_time=7201 net.ipv4.tcp_max_syn_backlog=1025
    net.ipv4.tcp_slow_start_after_idle=0 net.ipv4.tcp_sack=0 fs.inotify.max_user_instances=129
    kernel.hung_task_timeout_secs=121 vm.min_free_kbytes=2049 vm.dirty_bytes=104857600 vm.vfs_cache_pressure=101'
# What the kernel moves with vm.dirty_bytes.
twins='vm.dirty_ratio'

path() {
    echo "/proc/sys/$1" | sed 's,\.,/,g'
}

paths=$(for setting in $settings $twins; do path "${setting%%=*}"; done)

bytes() {
    # shellcheck disable=SC2086 # one word per file is meant
    cat $paths
}

# What an application and what follows it take on this machine, by the first of them: the time for which one waits
# counts from before it, so every time here is longer by this much.
spare_ms=0

# Whether what is asked becomes so within so many seconds, and twice what is spare.
becomes() {
    end=$(($(uptime_s) + $1 + 2 * spare_ms / 1000))
    shift
    until "$@"; do
        [ "$(uptime_s)" -le "$end" ] || return
        sleep 0.2
    done
}
uptime_s() {
    read -r now _ < /proc/uptime
    echo "${now%%.*}"
}
uptime_ms() {
    read -r now _ < /proc/uptime
    echo "${now%%.*}${now#*.}0"
}

# So many seconds and what is spare: for --confirm, and for sleep.
longer() { echo "$(($1 * 1000 + spare_ms))ms"; }
sleep_longer() { sleep "$((($1 * 1000 + spare_ms) / 1000 + 1))"; }

is_as_before() { [ "$(bytes)" = "$before" ]; }
is_changed() { [ "$(bytes)" = "$after" ]; }
units() { systemctl list-units --all --plain --no-legend 'linerate-*'; }
has_no_unit() { [ -z "$(units)" ]; }
apply() { linerate tune apply /tmp/changes.json --confirm "$(longer "$1")" > /tmp/said 2>&1; }
lapsed() { linerate tune log | tail -n 1 | grep -q 'not confirmed in time'; }
# The watch has ended its work: everything is as before, it is in the journal, and no unit is left.
is_rolled_back() { is_as_before && lapsed && has_no_unit; }

fail() {
    why="$*; said: $(tr '\n' '|' < /tmp/said); units: $(units | tr '\n' '|')"
    why="$why; log: $(linerate tune log | tail -n 2 | tr '\n' '|'); is: $(bytes | tr '\n' ' ')"
    return 1
}

# Runs a case, and makes it that the next begins with nothing changed.
run() {
    : > /tmp/said
    why=
    begun=$(uptime_s)
    if "$1" && { is_as_before || fail 'not as before'; } && { has_no_unit || fail 'a unit is left'; }; then
        echo "CASE ok $1 ($(($(uptime_s) - begun)) s)"
    else
        echo "CASE failed $1: $why"
        linerate tune rollback > /dev/null 2>&1
        systemctl stop 'linerate-*' > /dev/null 2>&1
    fi
}

a_timer_of_systemd_watches_and_restores() {
    apply 4 || fail 'not applied' || return
    is_changed || fail 'not changed' || return
    systemctl list-timers --all --no-legend | grep -q 'linerate-tune-' || fail 'no timer is listed' || return
    units | grep -q 'linerate-tune-.*\.timer *loaded *active *waiting' || fail 'no timer waits' || return
    ! grep -l -a 'tune.watch' /proc/[0-9]*/cmdline > /dev/null || fail 'a process watches too' || return
    becomes 12 is_rolled_back || fail 'not rolled back in time'
}

what_is_confirmed_stays() {
    apply 3 || fail 'not applied' || return
    linerate tune confirm > /tmp/said 2>&1 || fail 'not confirmed' || return
    has_no_unit || fail 'the timer is left' || return
    sleep_longer 3
    is_changed || fail 'it did not stay' || return
    linerate tune rollback --kept > /tmp/said 2>&1 || fail 'not rolled back'
}

what_is_rolled_back_needs_no_timer() {
    apply 60 && is_changed || fail 'not applied' || return
    linerate tune rollback > /tmp/said 2>&1 || fail 'not rolled back'
}

# The session of whoever applied it: a service whose whole cgroup is killed at once by the kernel.
the_session_is_killed() {
    systemd-run --quiet --collect --unit session sh -c \
        "linerate tune apply /tmp/changes.json --confirm $(longer 4); sleep 1000"
    becomes 5 is_changed || fail 'not applied' || return
    echo 1 > /sys/fs/cgroup/system.slice/session.service/cgroup.kill
    is_changed || fail 'rolled back too soon' || return
    becomes 5 has_no_session || fail 'the session lives' || return
    becomes 12 is_rolled_back || fail 'not rolled back in time'
}

has_no_session() { ! systemctl is-active --quiet session.service; }

# Killed as soon as its first change is seen. A kill that comes when all is changed is no such case: once more then.
linerate_is_killed_midway() {
    attempt=0
    while [ $((attempt += 1)) -le 20 ]; do
        linerate tune apply /tmp/changes.json --confirm "$(longer 4)" > /tmp/said 2>&1 &
        while [ "$(cat /proc/sys/vm/swappiness)" != 11 ] && [ -d "/proc/$!" ]; do :; done
        kill -9 $!
        wait $! 2> /dev/null
        is_changed || break
        linerate tune rollback > /tmp/said 2>&1 || fail 'not rolled back' || return
    done
    [ "$attempt" -le 20 ] || fail 'each kill came too late' || return
    ! is_as_before || fail 'killed too soon' || return
    becomes 12 is_rolled_back || fail 'not rolled back in time'
}

systemd_is_executed_anew_and_the_clock_set() {
    apply 4 || fail 'not applied' || return
    systemctl daemon-reexec
    date -s '2031-01-01 00:00:00' > /dev/null
    is_changed || fail 'rolled back too soon' || return
    becomes 12 is_rolled_back || fail 'not rolled back in time'
}

another_target_is_isolated() {
    apply 4 || fail 'not applied' || return
    systemctl isolate rescue.target
    becomes 12 is_rolled_back || fail 'not rolled back in time'
}

# The watch waits for the lock, and is killed there.
the_watch_is_killed() {
    apply 3 || fail 'not applied' || return
    flock /var/lib/linerate/tune/lock sleep $((5 + 2 * spare_ms / 1000)) &
    becomes 5 service_runs || fail 'no watch runs' || return
    systemctl kill -s KILL 'linerate-tune-*.service' || fail 'not killed' || return
    is_changed || fail 'rolled back too soon' || return
    becomes 20 is_rolled_back || fail 'not rolled back'
}
service_runs() { units | grep -q '\.service *loaded *active *running'; }

# What only this mount namespace has, systemd cannot start.
a_program_that_systemd_does_not_see_changes_nothing() {
    unshare -m sh -c 'mount -t tmpfs none /mnt && cp /usr/bin/linerate /mnt && exec /mnt/linerate tune apply \
        /tmp/changes.json --confirm 4s' > /tmp/said 2>&1
    code=$?
    is_as_before || fail 'it was applied' || return
    [ "$code" = 1 ] && grep -q '/mnt/linerate' /tmp/said || fail "exit code $code"
}

journals_that_systemd_does_not_see_change_nothing() {
    unshare -m sh -c 'mount -t tmpfs -o mode=700 none /mnt && LINERATE_STATE=/mnt exec linerate tune apply \
        /tmp/changes.json --confirm 4s' > /tmp/said 2>&1
    code=$?
    is_as_before || fail 'it was applied' || return
    [ "$code" = 1 ] && grep -q '/mnt/tune' /tmp/said || fail "exit code $code"
}

a_journal_on_a_full_disk_leaves_no_timer() {
    mount -t tmpfs -o size=4k,mode=700 none /mnt
    LINERATE_STATE=/mnt linerate tune apply /tmp/changes.json --confirm 60s > /tmp/said 2>&1
    code=$?
    umount /mnt
    [ "$code" = 1 ] && grep -q 'No space left' /tmp/said || fail "exit code $code"
}

a_folder_of_an_odd_name_is_named_as_it_is() {
    odd='/var/lib/odd  ._-+:,=@~ é'
    LINERATE_STATE="$odd\$HOME" linerate tune apply /tmp/changes.json > /tmp/said 2>&1
    code=$?
    is_as_before || fail 'it was applied' || return
    [ "$code" = 1 ] && grep -q 'use a folder' /tmp/said || fail "exit code $code" || return
    LINERATE_STATE=$odd linerate tune apply /tmp/changes.json --confirm "$(longer 4)" > /tmp/said 2>&1 ||
        fail 'not applied' || return
    systemctl daemon-reexec
    becomes 12 is_as_before || fail 'not rolled back in time' || return
    LINERATE_STATE=$odd linerate tune log > /tmp/said
    grep -q 'not confirmed in time' /tmp/said || fail 'not in the journal' || return
    becomes 3 has_no_unit || fail 'a unit is left'
}

# As a container has it: a root folder of its own. Like a pod of `fleet up --change` it sees the machine's processes and
# has all rights, but for what is said to `unshare`.
begin_pod() {
    mkdir -p /tmp/pod
    # shellcheck disable=SC2086,SC2016 # one word per flag is meant, and the shell that is begun expands them
    unshare -m $1 sh -c 'mount -t tmpfs none /tmp/pod && cd /tmp/pod && mkdir usr lib lib64 proc run &&
        mount --bind /usr usr && mount --bind /usr/lib lib && mount --bind /usr/lib64 lib64 &&
        mount -t proc none proc && exec chroot . /usr/bin/linerate agent --listen /run/agent/agent.sock --lease 30s \
        --allow change --on-host' > /tmp/pod.log 2>&1 &
    pod=$!
    becomes 120 grep -q "$2" /tmp/pod.log || fail "the pod said: $(tr '\n' '|' < /tmp/pod.log)"
}

# The first process of it, and what that has begun.
end_pod() {
    # shellcheck disable=SC2046 # one word per process is meant
    kill -9 $(cat "/proc/$pod/task/$pod/children") "$pod"
    wait "$pod" 2> /dev/null
    return 0
}

# An exec stream to it, without Kubernetes: the first word of each end is not of the messages. Exec joins the pod's
# mounts, which `chroot` leaves as they are.
write_reach() {
    cat > /tmp/reach.sh << 'END'
word='{"attach":1,"token":"'$$'","is_again":false,"taken":0}'
{ printf "\\$(printf %o "${#word}")\\0\\0\\0%s" "$word" && exec cat; } |
    nsenter -t "$(cat /tmp/pod.number)" -m linerate agent attach --socket /tmp/pod/run/agent/agent.sock |
    { dd bs=1 count=42 of=/dev/null 2> /dev/null && exec cat; }
END
    echo "$pod" > /tmp/pod.number
    printf 'nodes:\n  - {name: a, role: storage, reach: "exec:sh /tmp/reach.sh"}\n' > /tmp/fleet.yaml
}
on_fleet() { linerate tune "$@" --fleet /tmp/fleet.yaml --yes-exec > /tmp/said 2>&1; }
has_no_agent() { [ -z "$(systemctl list-units --all --plain --no-legend 'linerate-agent-*')" ]; }

# Begins a pod, has it change the machine, and kills it.
a_pod_changes_and_is_killed() {
    begin_pod '' "systemd starts an agent" || return
    write_reach
    rm -f /tmp/fleet.json
    # shellcheck disable=SC2086 # one word per flag is meant
    on_fleet diff $diff -o /tmp/fleet.json || fail 'no file of changes' || return
    on_fleet apply /tmp/fleet.json --confirm "$(longer 60)" || fail 'not applied' || return
    is_changed || fail 'not changed' || return
    becomes 10 has_no_agent || fail 'an agent is left' || return
    end_pod
    units | grep -q 'linerate-tune-.*\.timer *loaded *active *waiting' || fail 'no timer waits' || return
    is_changed || fail 'rolled back with the pod' || return
}

what_a_pod_that_is_killed_has_changed_lapses() {
    a_pod_changes_and_is_killed || { end_pod; return 1; }
    becomes 90 is_rolled_back || fail 'not rolled back in time'
}

what_a_pod_that_is_killed_has_changed_is_confirmed_by_the_next() {
    a_pod_changes_and_is_killed || { end_pod; return 1; }
    begin_pod '' "systemd starts an agent" || { end_pod; return 1; }
    write_reach
    on_fleet confirm || fail 'not confirmed' || { end_pod; return 1; }
    end_pod
    becomes 10 has_no_unit || fail 'a unit is left' || return
    is_changed || fail 'it did not stay' || return
    linerate tune rollback --kept > /tmp/said 2>&1 || fail 'not rolled back'
}

# As root in another container that sees the pod's folder would be.
whoever_is_not_in_a_pod_has_no_agent_of_it() {
    begin_pod '' "systemd starts an agent" || { end_pod; return 1; }
    word='{"attach":1,"token":"t","is_again":false,"taken":0}'
    # shellcheck disable=SC2059 # the octal number is the format
    { printf "\\$(printf %o "${#word}")\\0\\0\\0%s" "$word" && sleep 5; } |
        linerate agent attach --socket "/proc/$pod/root/run/agent/agent.sock" 2>&1 | tr -d '\000' > /tmp/said
    grep -q 'no process of its pod' /tmp/said || fail 'not refused' || { end_pod; return 1; }
    has_no_agent || fail 'an agent is there' || { end_pod; return 1; }
    end_pod
}

a_pod_that_does_not_see_the_machine_says_so() {
    begin_pod '-p -f' 'hostPID: true' && end_pod
}

a_pod_whose_machine_runs_no_program_of_its_own_says_so() {
    mount -t tmpfs -o noexec,mode=700 none /var/lib/linerate
    begin_pod '' 'mounted noexec'
    code=$?
    end_pod
    umount /var/lib/linerate
    return "$code"
}

before=$(bytes)
diff=
for setting in $settings; do
    diff="$diff --set $setting"
done
# shellcheck disable=SC2086 # one word per flag is meant
linerate tune diff $diff -o /tmp/changes.json > /tmp/said 2>&1 || echo "CASE failed diff: $(cat /tmp/said)"
# What all of them are when they are made.
begun_ms=$(uptime_ms)
linerate tune apply /tmp/changes.json --confirm 100s > /tmp/said 2>&1 || echo "CASE failed first: $(cat /tmp/said)"
spare_ms=$((2 * ($(uptime_ms) - begun_ms)))
after=$(bytes)
linerate tune rollback > /dev/null

for name in a_timer_of_systemd_watches_and_restores what_is_confirmed_stays what_is_rolled_back_needs_no_timer \
    the_session_is_killed linerate_is_killed_midway systemd_is_executed_anew_and_the_clock_set \
    another_target_is_isolated the_watch_is_killed a_program_that_systemd_does_not_see_changes_nothing \
    journals_that_systemd_does_not_see_change_nothing a_journal_on_a_full_disk_leaves_no_timer \
    a_folder_of_an_odd_name_is_named_as_it_is what_a_pod_that_is_killed_has_changed_lapses \
    what_a_pod_that_is_killed_has_changed_is_confirmed_by_the_next whoever_is_not_in_a_pod_has_no_agent_of_it \
    a_pod_that_does_not_see_the_machine_says_so a_pod_whose_machine_runs_no_program_of_its_own_says_so; do
    run "$name"
done
echo "CASE done on $(systemctl --version | sed -n 1p) after $(uptime_s) s, with $spare_ms ms to spare"
