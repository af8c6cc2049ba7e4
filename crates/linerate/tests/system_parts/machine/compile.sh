#!/bin/bash
# Compiles for the agent of a machine, with what it has written: compile.sh CLANG, in mounts of its own, whose paths are
# the machine's. It reads the compiler's words in a line and the agent's headers as an archive, and writes three lines:
# status, what the compiler said, and the program.
set -euo pipefail
clang=$1
read -r words
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /var/lib
mkdir -p /run/cilium /var/lib/cilium/bpf
mount --bind "$CILIUM/module/bpf" /var/lib/cilium/bpf
tar -C /run/cilium -xf -
eval "set -- $words"
status=0
"$clang" "$@" >/run/program 2>/run/said || status=$?
echo "$status"
base64 --wrap=0 /run/said && echo
base64 --wrap=0 /run/program && echo
