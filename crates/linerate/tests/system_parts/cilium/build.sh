#!/bin/bash
# Builds Cilium from its Go module, and helm, which renders the module's chart: build.sh FOLDER. FOLDER/module is the
# module, whose chart, custom resources and programs of the datapath are used; FOLDER/bin has what runs. Go has more
# than a thousand processor seconds to compile the first time.
set -euo pipefail
folder=$(realpath -m "$1")
version=1.18.4
helm=v3.19.4
export CGO_ENABLED=0
mkdir -p "$folder/bin"

# A module that replaces others cannot be built by its name: it is built in a copy.
copy_module() {
    local cached
    [ ! -e "$folder/module/go.mod" ] || return 0
    cached=$(cd / && go mod download -json "github.com/cilium/cilium@v$version" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
    rm -rf "$folder/module.part"
    cp -r "$cached" "$folder/module.part"
    chmod -R u+w "$folder/module.part"
    # The module proxy has no such fork. It adds `omitzero` to the converter of resources without types, no more.
    (cd "$folder/module.part" && go mod edit -dropreplace k8s.io/apimachinery)
    mv "$folder/module.part" "$folder/module"
}

# built NAME PACKAGE FLAG…
built() {
    local name=$1 package=$2
    shift 2
    [ ! -x "$folder/bin/$name" ] || return 0
    (cd "$folder/module" && go build -p 2 -mod=mod -buildvcs=false -trimpath "$@" -o "$folder/bin/$name" \
        -ldflags "-s -w -X github.com/cilium/cilium/pkg/version.ciliumVersion=$version" "./$package")
}

copy_module
built cilium-agent daemon
built cilium-operator-generic operator -tags ipam_provider_operator
built cilium-cni plugins/cilium-cni
built cilium-dbg cilium-dbg
built cilium-health-responder cilium-health/responder
[ -x "$folder/bin/helm" ] ||
    (cd / && GOBIN=$folder/bin go install -p 2 -trimpath -ldflags '-s -w' "helm.sh/helm/v3/cmd/helm@$helm")
# What is there is newer than this script then.
touch "$folder/bin/helm"
