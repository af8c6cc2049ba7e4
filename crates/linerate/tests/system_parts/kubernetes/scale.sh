# Sourced by inside.sh: nodes that kwok pretends. Their pods run nothing, but exec into one runs the program on this
# machine: `linerate` is on its PATH. So hundreds of exec streams go through the real API server. An exit code that is
# not 0 is not passed on: kwok tells an internal error then, or nothing.

pretended() {
    local node
    mkdir -p "$here/programs" "$here/exec"
    ln -s "${LINERATE:?names the program}" "$here/programs/linerate"
    # kwok has no stages of its own: without these, no node is ever ready.
    cat "$KUBERNETES/kwok.yaml" - >"$here/kwok.yaml" <<END
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: ClusterExec
metadata: {name: all}
spec: {execs: [{local: {workDir: "$here/exec", envs: [{name: HOME, value: "$here/exec"}]}}]}
END
    begin kwok env PATH="$here/programs:$PATH" kwok --config="$here/kwok.yaml" --kubeconfig=kubeconfig \
        --manage-all-nodes --node-ip="$control" --node-port=10247 --server-address="$control:10247" \
        --cidr=10.232.0.0/16 --node-lease-duration-seconds=20
    local capacity='{cpu: 96, memory: 768Gi, pods: 110}'
    for node in $(seq "$1"); do
        echo "---"
        echo "{apiVersion: v1, kind: Node, metadata: {name: k$node, labels: {kubernetes.io/hostname: k$node}},"
        echo " status: {allocatable: $capacity, capacity: $capacity}}"
    done >"$here/nodes.yaml"
    KUBECONFIG=kubeconfig KUBECACHEDIR=$here kubectl create --filename "$here/nodes.yaml" >/dev/null
    wait_until "a node that kwok pretends" are_ready "$1"
}
