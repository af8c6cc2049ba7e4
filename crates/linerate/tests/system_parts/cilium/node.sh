# Sourced by node.sh of the Kubernetes: a node whose network is Cilium's, with its agent as a process. The chart has the
# agent in a pod, of an image that cannot be had without a registry.

# Agents attach programs to the root of a hierarchy of version 2, and pin maps in a file system: nodes that share a
# kernel have one of each for themselves. What the node begins is in its part of the hierarchy.
make_room() {
    local group=${groups:-/sys/fs/cgroup/unified/$GROUP/$name}
    echo 0 >"$group/cgroup.procs"
    mkdir -p /run/cilium/cgroupv2 /run/netns /var/lib/cilium/{bpf,clustermesh}
    mount --bind "$group" /run/cilium/cgroupv2
    mount -t bpf bpf /sys/fs/bpf
    mount --bind "$CILIUM/module/bpf" /var/lib/cilium/bpf
    # An agent sets these for the whole machine.
    keep_setting kernel/unprivileged_bpf_disabled 1
    keep_setting kernel/timer_migration 0
}

# Of Cilium, and of Debian what each pod has first. An agent writes the configuration when it is ready.
write_cilium_network() {
    plugins=/run/plugins
    mkdir -p "$plugins"
    ln -sf "$CILIUM/bin/cilium-cni" "$debian/usr/lib/cni/loopback" "$plugins"
}

# Whether the API server has the chart's configuration.
configured() {
    curl --silent --fail --output /dev/null --cacert "$FOLDER/pki/ca.crt" --cert "$FOLDER/pki/admin.crt" \
        --key "$FOLDER/pki/admin.key" https://10.231.80.1:6443/api/v1/namespaces/kube-system/configmaps/cilium-config
}

# With the configuration that the chart has made, as its init container reads it; begun again when it ends. Before the
# chart is applied there is none, and what reads it would go on without.
agent() {
    local options=(--k8s-kubeconfig-path="$FOLDER/kubeconfig")
    # The chart's paths are those of its container.
    local paths=(--procfs=/proc --write-cni-conf-when-ready="$disk/cni/05-cilium.conflist")
    export PATH=$here/programs:$CILIUM/bin:$PATH K8S_NODE_NAME=$name CILIUM_K8S_NAMESPACE=kube-system
    export KUBERNETES_SERVICE_HOST=10.231.80.1 KUBERNETES_SERVICE_PORT=6443
    export CILIUM_CLUSTERMESH_CONFIG=/var/lib/cilium/clustermesh/
    # Beside the network's configuration, a file moved there would be one event, which containerd does not heed.
    export TMPDIR=/run
    until configured; do sleep 0.5; done
    while :; do
        rm -rf /run/cilium-configuration
        if cilium-dbg build-config "${options[@]}" --dest /run/cilium-configuration; then
            cilium-agent --config-dir=/run/cilium-configuration "${options[@]}" "${paths[@]}" &
            echo $! >/run/agent
            wait $! || echo "the agent ended: $?"
        fi
        sleep 0.5
    done >>"$logs.cilium" 2>&1
}
