#!/bin/bash
# In the place of the compiler in a machine: what it would do there in minutes, the same program does outside.
{
    printf '%q ' "$@" && echo
    cd /run/cilium && find state -name '*.h' -print0 | tar --null --files-from=- -cf -
} | busybox nc -w 5 10.231.80.1 7001 | {
    read -r status && read -r said && base64 --decode
    base64 --decode <<<"$said" >&2
    exit "${status:-1}"
}
