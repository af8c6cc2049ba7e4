# Sourced by inside.sh: keys, and the components that make a control plane.

# Keys and certificates are worth nothing after a day: each Kubernetes makes its own.
authority() {
    printf '[req]\ndistinguished_name = name\n[name]\n' >pki/config
    openssl req -config pki/config -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 2 \
        -subj /CN=linerate-kubernetes -addext basicConstraints=critical,CA:TRUE \
        -addext keyUsage=critical,keyCertSign,digitalSignature -keyout pki/ca.key -out pki/ca.crt 2>/dev/null
    openssl ecparam -name prime256v1 -genkey -noout -out pki/accounts.key
}

# signed NAME SUBJECT NAMES: a key, and a certificate of the authority for a server or a client.
signed() {
    openssl req -config pki/config -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -noenc -days 2 \
        -CA pki/ca.crt -CAkey pki/ca.key -subj "$2" -addext "subjectAltName=$3" \
        -addext keyUsage=digitalSignature -addext extendedKeyUsage=clientAuth,serverAuth \
        -keyout "pki/$1.key" -out "pki/$1.crt" 2>/dev/null
}

# A kubeconfig for the owner of a certificate.
configured() {
    cat >"pki/$1.kubeconfig" <<END
apiVersion: v1
kind: Config
clusters: [{name: linerate, cluster: {server: "https://$control:6443", certificate-authority: $FOLDER/pki/ca.crt}}]
users: [{name: $1, user: {client-certificate: $FOLDER/pki/$1.crt, client-key: $FOLDER/pki/$1.key}}]
contexts: [{name: linerate, context: {cluster: linerate, user: $1}}]
current-context: linerate
END
}

# A path of the API.
ask() {
    curl --silent --fail --max-time 5 --cacert pki/ca.crt --cert pki/admin.crt --key pki/admin.key \
        "https://$control:6443$1"
}

# Nodes that are gone are noticed in seconds, and their pods evicted.
api_server() {
    begin kube-apiserver kube-apiserver --etcd-servers=http://127.0.0.1:2379 \
        --bind-address="$control" --advertise-address="$control" --secure-port=6443 \
        --service-cluster-ip-range=10.233.0.0/16 --authorization-mode=Node,RBAC --allow-privileged=true \
        --client-ca-file=pki/ca.crt --tls-cert-file=pki/server.crt --tls-private-key-file=pki/server.key \
        --service-account-issuer=https://kubernetes.default.svc --service-account-key-file=pki/accounts.key \
        --service-account-signing-key-file=pki/accounts.key --kubelet-client-certificate=pki/admin.crt \
        --kubelet-client-key=pki/admin.key --kubelet-preferred-address-types=InternalIP \
        --default-not-ready-toleration-seconds=5 --default-unreachable-toleration-seconds=5 --cert-dir="$here"
    wait_until "the API server" ask /readyz
}

# After how long a node that says nothing is gone.
grace=10s

# Leaders are elected among several: there is one of each. Limits of calls per second would delay hundreds of pods.
control_plane() {
    local alone="--bind-address=127.0.0.1 --leader-elect=false --kube-api-qps=2000 --kube-api-burst=4000"
    authority
    signed server /CN=kube-apiserver \
        "DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local,IP:$control,IP:10.233.0.1"
    signed admin /O=system:masters/CN=admin DNS:admin
    configured admin
    cp pki/admin.kubeconfig kubeconfig
    begin etcd etcd --data-dir="$here/etcd"
    api_server
    # shellcheck disable=SC2086 # each word is one
    begin kube-controller-manager kube-controller-manager --kubeconfig=kubeconfig $alone \
        --root-ca-file=pki/ca.crt --service-account-private-key-file=pki/accounts.key \
        --cluster-signing-cert-file=pki/ca.crt --cluster-signing-key-file=pki/ca.key --cert-dir="$here" \
        --flex-volume-plugin-dir="$here/flexvolumes" --node-monitor-grace-period="$grace" --node-monitor-period=2s
    # shellcheck disable=SC2086 # each word is one
    begin kube-scheduler kube-scheduler --kubeconfig=kubeconfig $alone --cert-dir="$here"
    # Without it, no pod of the namespace is admitted.
    wait_until "the service account of pods" ask /api/v1/namespaces/default/serviceaccounts/default
}
