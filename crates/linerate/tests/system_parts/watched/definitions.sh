#!/bin/bash
# Definitions of resources that are not Kubernetes's own, from the Go modules of those whose they are: definitions.sh
# FOLDER. Nothing is built.
set -euo pipefail
folder=$(realpath -m "$1")
# The newest of each that the proxy has whole.
operator=github.com/prometheus-operator/prometheus-operator@v0.85.0
argocd=github.com/argoproj/argo-cd/v3@v3.0.23
# Where the module is unpacked; outside of any module, so that none is changed.
unpacked() { (cd / && go mod download -json "$1") | sed -n 's/^\t"Dir": "\(.*\)",$/\1/p'; }
mkdir -p "$folder.new"
for kind in podmonitors prometheusrules servicemonitors; do
    cp "$(unpacked "$operator")/example/prometheus-operator-crd/monitoring.coreos.com_$kind.yaml" "$folder.new"
done
cp "$(unpacked "$argocd")/manifests/crds/application-crd.yaml" "$folder.new"
chmod -R u+w "$folder.new"
mv "$folder.new" "$folder"
