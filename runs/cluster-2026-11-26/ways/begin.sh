#!/bin/bash
# Two nodes with Cilium, an S3 server on each, and links of 200 Mb/s: begin.sh, with LINERATE, KUBERNETES and CILIUM
# set, and CLUSTER, a folder. From the root of the repository, as root.
set -euo pipefail
ways=$(dirname "$(realpath "$0")")
kubernetes=crates/linerate/tests/system_parts/kubernetes/kubernetes.sh
"$LINERATE" render crates/linerate/tests/cluster_parts/sites/client.yaml -o "$CLUSTER/rendered" --variant client
"$kubernetes" up "$CLUSTER" cilium 2
"$ways/arm.sh" snat --begin
"$kubernetes" in "$CLUSTER" kubectl wait --for=condition=Ready node --all --timeout=200s
"$kubernetes" image linerate.local/linerate:test "$LINERATE" "$CLUSTER/linerate.tar"
for node in 1 2; do "$kubernetes" load "$CLUSTER" "$node" "$CLUSTER/linerate.tar"; done
"$kubernetes" in "$CLUSTER" kubectl apply --filename "$ways/target.yaml"
"$kubernetes" in "$CLUSTER" kubectl rollout status daemonset/target --namespace compared --timeout=200s
for node in 1 2; do
    pod=$("$kubernetes" in "$CLUSTER" kubectl get pods --namespace compared \
        --field-selector="spec.nodeName=n$node" --output 'jsonpath={.items[0].metadata.name}')
    "$kubernetes" in "$CLUSTER" kubectl label pod --namespace compared "$pod" "node=n$node"
    "$kubernetes" in "$CLUSTER" kubectl apply --filename - <<END
{apiVersion: v1, kind: Service, metadata: {name: on-n$node, namespace: compared}, spec: {type: NodePort,
 externalTrafficPolicy: Cluster, selector: {node: n$node}, ports: [{port: 9000, nodePort: 3100$node}]}}
END
done
# As fast as a wire of 200 Mb/s: tbf counts 14 bytes beside each IP packet and a wire 38.
shape="root tbf rate $((200000000 * 1514 / 1538))bit burst 256kb latency 50ms"
for node in 1 2; do
    # shellcheck disable=SC2086 # each word is one
    "$kubernetes" on "$CLUSTER" "$node" tc qdisc replace dev eth0 $shape
    # shellcheck disable=SC2086 # each word is one
    "$kubernetes" in "$CLUSTER" tc qdisc replace dev "to-n$node" $shape
done
# Where nothing else was chosen, the machine's own is in use.
reno='echo reno >/proc/sys/net/ipv4/tcp_congestion_control'
for space in 1 2 client; do "$kubernetes" on "$CLUSTER" "$space" sh -c "$reno"; done
for server in $(pgrep --full '^/linerate target null'); do nsenter --target "$server" --net sh -c "$reno"; done
