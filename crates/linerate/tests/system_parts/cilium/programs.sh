# Sourced by inside.sh: programs of Debian's packages, which are unpacked and not installed, as Cilium and FRR call
# them. Each finds its own libraries; were they named to the agent, all that it begins would have them too.

# program NAME FILE
program() {
    local library=$packages/usr/lib/$(uname -m)-linux-gnu
    # Programs that are several go by the name that they are called by.
    printf '#!/bin/bash\nLD_LIBRARY_PATH=%s XTABLES_LIBDIR=%s exec -a %s %s "$@"\n' \
        "$packages/usr/lib/llvm-19/lib:$library:$library/frr:$packages/lib/$(uname -m)-linux-gnu" "$library/xtables" \
        "$1" "$packages/$2" >"$here/programs/$1"
    chmod +x "$here/programs/$1"
}

programs() {
    local name
    packages=$CILIUM/debian
    mkdir -p "$here/programs"
    # The compiler of the datapath is the version that Cilium's own image has.
    for name in clang llc; do program "$name" "usr/lib/llvm-19/bin/$name"; done
    for name in bpftool ipset; do program "$name" "usr/sbin/$name"; done
    for name in ip{,6}tables{,-save,-restore}; do program "$name" usr/sbin/xtables-nft-multi; done
    for name in zebra bgpd; do program "$name" "usr/lib/frr/$name"; done
    program vtysh usr/bin/vtysh
    # A kernel without modules has what it has.
    printf '#!/bin/sh\n' >"$here/programs/modprobe"
    chmod +x "$here/programs/modprobe"
}
