# Sourced by inside.sh: Cilium, of the chart in its module.

# What needs an image runs as processes: of the chart's objects, all others are applied.
without_images() {
    awk 'BEGIN { RS = "(^|\n)---\n"; ORS = "" }
        /(^|\n)kind: / && !/(^|\n)kind: (DaemonSet|Deployment|Job)(\n|$)/ { print "---\n" $0 "\n" }'
}

# cilium VALUES…: with these files of values, of which the last decides. Agents that run begin again.
cilium() {
    local version values=() file had
    had=$(echo "$here"/operato[r])
    for file in "$@"; do values+=(--values "$file"); done
    version=$(ask /version | sed -n 's/.*"gitVersion": "\(.*\)".*/\1/p')
    "$CILIUM/bin/helm" template cilium "$CILIUM/module/install/kubernetes/cilium" --namespace kube-system \
        --kube-version "$version" "${values[@]}" >"$here/chart.yaml"
    without_images <"$here/chart.yaml" >"$here/chart-without-images.yaml"
    KUBECONFIG=kubeconfig KUBECACHEDIR=$here kubectl apply --filename "$here/chart-without-images.yaml" >/dev/null
    operator
    [ ! -d "$had" ] || end_agents
    await_agents
}

# With the chart's configuration; of its leader there is one.
operator() {
    local environment=(CILIUM_K8S_NAMESPACE=kube-system K8S_NODE_NAME=n1
        KUBERNETES_SERVICE_HOST="$control" KUBERNETES_SERVICE_PORT=6443)
    [ ! -e "$here/cilium-operator.pid" ] || finish cilium-operator
    rm -rf "$here/operator"
    env "${environment[@]}" "$CILIUM/bin/cilium-dbg" build-config --k8s-kubeconfig-path="$FOLDER/kubeconfig" \
        --dest "$here/operator" >>"$FOLDER/logs/cilium-operator" 2>&1
    begin cilium-operator env "${environment[@]}" "$CILIUM/bin/cilium-operator-generic" \
        --config-dir="$here/operator" --k8s-kubeconfig-path="$FOLDER/kubeconfig"
}

end_agents() {
    local node
    for node in $(ask_nodes); do
        # shellcheck disable=SC2016 # the shell there expands it
        in_node "$node" sh -c 'kill "$(cat /run/agent)" && rm /run/agent'
    done
}

# Until every one says that all is well.
await_agents() {
    local node
    for node in $(ask_nodes); do
        wait_until "the agent of n$node" is_well "$node"
    done
}

is_well() {
    in_node "$1" sh -c "[ -e /run/agent ] && $CILIUM/bin/cilium-dbg status --brief" | grep -qx OK
}

# Numbers of the nodes.
ask_nodes() {
    ip netns list | sed -n 's/^n\([0-9]*\).*/\1/p' | sort -n
}
