#!/bin/sh
# What systemd runs in the virtual machine of booted.sh to set its clock while a load runs, an agent holds its lease and
# a change waits to be confirmed. Lines `CASE NAME WHAT` for the test to judge, and at the end `CASE done`.
#
# Linux sets no clock to before the machine's begin (`timekeeping_inject_offset` and `do_settimeofday64`): 1970 is as
# early as there is.

export AWS_ACCESS_KEY_ID=AKtestaccesskey0001 AWS_SECRET_ACCESS_KEY=secret-of-the-tests-5f3a9
cd /tmp || exit
mkdir drive

step() { date -s "@$(($(date +%s) + $1))" > /dev/null; }
# An hour ahead, an hour behind, to 1970 and back again, once the load NAME is measured: what is written beforehand is
# signed a moment before it comes, which takes long here.
steps() {
    tries=0
    until [ -s "$1/intervals.jsonl" ] || [ $((tries += 1)) -gt 600 ]; do sleep 0.2; done
    for by in 3600 -7200; do
        sleep 3
        step $by
    done
    sleep 3
    now=$(date +%s)
    date -s @1000 > /dev/null
    sleep 2
    date -s "@$now" > /dev/null
}

mkfifo open
sleep 1000 > open &
linerate target embedded --drive drive < open > listening &
until grep -q listening listening; do sleep 0.2; done
address=$(sed -n 's/^listening //p' listening)
load='--op get --obj.size 4KiB --objects 16 --concurrent 1 --warmup 500ms --no-ceiling --duration 16s'

# A load of NAME with further flags: its code, its row of figures, and what is found of clocks and leases.
bench() {
    name=$1
    shift
    # shellcheck disable=SC2086 # one word per flag is meant
    linerate bench --host "$address" $load "$@" -o "$name" > "$name.txt" 2>&1
    echo "CASE $name code $?"
    linerate report "$name" -f csv | sed -n "s/^/CASE $name csv /p"
    linerate report "$name" --why | sed -n "s/^ *\(.*clock was stepped.*\)/CASE $name found \1/p"
    sed -n "s/^/CASE $name said /p" "$name.txt"
}
printf 'nodes:\n  - {name: a, role: client, reach: "exec:exec linerate agent --allow load"}\n' > fleet.yaml
bench quiet
for name in stepped leased; do
    steps $name &
    stepping=$!
    if [ $name = leased ]; then
        bench $name --fleet fleet.yaml --yes-exec --yes-load
    else
        bench $name
    fi
    wait $stepping
done
linerate runs . | sed -n 's/^/CASE runs said /p'

# Neither cut nor put off, whichever way the clock is set, and what is confirmed stays.
is_changed() { [ "$(cat /proc/sys/vm/swappiness)" = 11 ]; }
linerate tune diff --set vm.swappiness=11 -o changes.json > tune.txt 2>&1
for by in 3600 -3600; do
    linerate tune apply changes.json --confirm 30s >> tune.txt 2>&1
    step $by
    sleep 5
    is_changed && echo "CASE tune holds by $by"
    seconds=5
    while is_changed && [ "$seconds" -lt 90 ]; do
        sleep 1
        seconds=$((seconds + 1))
    done
    is_changed || echo "CASE tune lapses by $by in $seconds s"
    linerate tune log | tail -n 1 | grep -q 'not confirmed in time' && echo "CASE tune logs by $by"
    linerate tune apply changes.json --confirm 60s >> tune.txt 2>&1
    step $by
    linerate tune confirm >> tune.txt 2>&1 && echo "CASE tune confirms by $by"
    linerate tune rollback --kept >> tune.txt 2>&1
    is_changed || echo "CASE tune rolls back by $by"
done
sed -n 's/^/CASE tune said /p' tune.txt
echo 'CASE done'
