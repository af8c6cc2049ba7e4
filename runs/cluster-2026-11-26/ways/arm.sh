#!/bin/bash
# Cilium with the rendered values and those of an arm: arm.sh snat|dsr|vxlan [--begin]. Ends when both ways answer.
set -euo pipefail
ways=$(dirname "$(realpath "$0")")
kubernetes=crates/linerate/tests/system_parts/kubernetes/kubernetes.sh
"$kubernetes" cilium "$CLUSTER" "$CLUSTER/rendered/cilium/values.yaml" \
    crates/linerate/tests/cluster_parts/overlay.yaml "$ways/$1.yaml"
[ "${2:-}" != --begin ] || exit 0
pod=$("$kubernetes" in "$CLUSTER" kubectl get pods --namespace compared --field-selector=spec.nodeName=n2 \
    --output 'jsonpath={.items[0].status.podIP}')
answers() {
    "$kubernetes" on "$CLUSTER" "$1" curl --silent --fail --max-time 2 --output /dev/null "http://$2/bench/key"
}
answered=0
for _ in $(seq 100); do
    if answers client 10.231.80.11:31002 && answers client 10.231.80.12:31001 && answers 1 "$pod:9000"; then
        [ $((answered += 1)) -lt 3 ] || exit 0
    else
        answered=0
    fi
    sleep 0.2
done
echo "no answers with $1" >&2
exit 1
