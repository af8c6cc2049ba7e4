#!/bin/bash
# Builds kwok, which pretends nodes, and takes its stages from its sources: build-kwok.sh FOLDER.
set -euo pipefail
folder=$(realpath -m "$1")
version=v0.8.0
cd /
GOBIN=$folder/bin CGO_ENABLED=0 go install -p 2 -trimpath -ldflags '-s -w' "sigs.k8s.io/kwok/cmd/kwok@$version"
stages=$(go env GOMODCACHE)/sigs.k8s.io/kwok@$version/kustomize/stage
# Not pod-complete: what a Job begins runs until it is deleted.
for stage in node/fast/node-initialize node/heartbeat-with-lease/node-heartbeat-with-lease pod/fast/pod-ready \
    pod/fast/pod-delete; do
    echo ---
    cat "$stages/$stage.yaml"
done >"$folder/kwok.yaml"
