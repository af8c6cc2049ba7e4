//! What clients in Kubernetes are made of, as YAML that says of each setting why it is there.
//!
//! Nothing here reads a clock, a file or a network: the same wishes give the same text. What `linerate fleet up`
//! applies is this text.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Where an agent in a pod listens.
pub const SOCKET: &str = "/run/linerate/agent.sock";

/// The label that says of which `fleet up` an object is.
pub const INSTANCE_LABEL: &str = "app.kubernetes.io/instance";

/// The label that says whose it is.
pub const MANAGER_LABEL: &str = "app.kubernetes.io/managed-by";

pub const MANAGER: &str = "linerate";

/// The label that tells clients from readers of storage nodes.
pub const COMPONENT_LABEL: &str = "app.kubernetes.io/component";

/// Its value for what changes storage nodes, which ends the name of its namespace too.
pub const CHANGE: &str = "change";

/// Most clients of a fleet.
pub const CLIENTS_MAX: u32 = 1_000;

/// Longest time that clients may last: after it, they end by themselves.
pub const DEADLINE_S_MAX: u64 = 7 * 24 * 3600;

/// The lowest port that a program without rights may listen on, in the network of a host too.
pub const SERVICE_PORT_LEAST: u16 = 1_024;

/// Longest name of a node, or of a host, in a fleet's file.
const FLEET_NAME_MOST: usize = 63;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientManifest {
    /// Tells this fleet from others: part of every name, and a label of every object.
    pub instance: String,
    /// The namespace of clients. That of readers of storage nodes is named after it.
    pub namespace: String,
    /// Whether the namespaces are to be made.
    pub makes_namespaces: bool,
    /// The image of linerate.
    pub image: String,
    pub clients: u32,
    /// What each client's agent accepts, as `linerate agent --allow` has it.
    pub allow: String,
    /// Processors that each client is promised, as Kubernetes writes them: `2`, `500m`.
    pub cpu: String,
    /// Memory that each client is promised: `1Gi`.
    pub memory: String,
    /// After how many seconds clients end by themselves.
    pub deadline_s: u64,
    /// For how many seconds an agent goes on while its coordinator cannot be heard.
    pub lease_s: u64,
    /// The label of storage nodes, on which no client is put; with what value, or with any.
    pub storage_label: Option<(String, Option<String>)>,
    /// Storage nodes by their names (`kubernetes.io/hostname`), on which no client is put either.
    pub storage_hosts: Vec<String>,
    /// Whether storage nodes are read in full, and until which instant (RFC 3339).
    pub storage_until: Option<String>,
    /// Clients in the network of a host, each on another host that has clients; 0 for none.
    pub host_clients: u32,
    /// The port at which clients take flows, if a Service is to be in front of each.
    pub service_port: Option<u16>,
    /// Whether it is of the pods through which storage nodes are changed, and of nothing else. They serve as long as
    /// readers of storage nodes would.
    pub changes: bool,
}

/// A wish that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what} {value:?}: {fix}")]
pub struct ManifestError {
    pub what: &'static str,
    /// As it was wished for.
    pub value: String,
    pub fix: &'static str,
}

impl ClientManifest {
    /// The name of all that belongs to the clients.
    #[must_use]
    pub fn name(&self) -> String {
        format!("linerate-{}", self.instance)
    }

    /// The component that is on storage nodes, as their readers or as what changes them.
    #[must_use]
    pub const fn on_storage(&self) -> &'static str {
        if self.changes { CHANGE } else { "storage" }
    }

    /// The namespace of what is on storage nodes: privileged pods are allowed there and nowhere else.
    #[must_use]
    pub fn storage_namespace(&self) -> String {
        format!("{}-{}", self.namespace, self.on_storage())
    }

    /// The namespace of clients in the network of hosts: pods with that are allowed there and nowhere else.
    #[must_use]
    pub fn host_namespace(&self) -> String {
        format!("{}-host", self.namespace)
    }

    /// All namespaces of it.
    #[must_use]
    pub fn namespaces(&self) -> Vec<String> {
        if self.changes {
            return vec![self.storage_namespace()];
        }
        let storage = self.storage_until.is_some().then(|| self.storage_namespace());
        let host = (self.host_clients > 0).then(|| self.host_namespace());
        [self.namespace.clone()].into_iter().chain(storage).chain(host).collect()
    }

    /// Whether the fleet's file is to say where its clients are.
    #[must_use]
    pub const fn is_placed(&self) -> bool {
        self.host_clients > 0 || self.service_port.is_some()
    }

    /// The name of what ends the readers of storage nodes in time.
    #[must_use]
    pub fn expiry(&self) -> String {
        format!("{}-expiry", self.name())
    }

    /// The selector of the pods of a component.
    #[must_use]
    pub fn selector(&self, component: &str) -> String {
        format!("{INSTANCE_LABEL}={},{COMPONENT_LABEL}={component}", self.instance)
    }

    /// Whether all of it can be.
    ///
    /// # Errors
    /// [`ManifestError`] for the first that cannot.
    pub fn checked(&self) -> Result<(), ManifestError> {
        let wrong = |what, value: &str, fix| Err(ManifestError { what, value: value.to_owned(), fix });
        let is_label = |text: &str, longest: usize| {
            let is_outer = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
            (1..=longest).contains(&text.len())
                && text.starts_with(is_outer)
                && text.ends_with(is_outer)
                && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        };
        // A Job's name is part of its pods' names, which are labels: 63 letters with index and a random end.
        if !is_label(&self.instance, 32) {
            return wrong("instance", &self.instance, "write up to 32 lowercase letters, digits and dashes");
        }
        if !is_label(&self.namespace, 55) {
            return wrong("namespace", &self.namespace, "write up to 55 lowercase letters, digits and dashes");
        }
        let is_word = |text: &str| !text.is_empty() && text.len() <= 512 && text.bytes().all(|b| b.is_ascii_graphic());
        if !is_word(&self.image) || self.image.starts_with('-') {
            return wrong(
                "image",
                &self.image,
                "write it as a registry has it, such as registry.example/linerate:0.1.0",
            );
        }
        if !self.changes && !(1..=CLIENTS_MAX).contains(&self.clients) {
            return wrong("number of clients", &self.clients.to_string(), "write 1 to 1000");
        }
        if self.host_clients > self.clients {
            return wrong(
                "number of clients of hosts",
                &self.host_clients.to_string(),
                "write as many as there are hosts with clients, or fewer",
            );
        }
        if let Some(port) = self.service_port.filter(|port| *port < SERVICE_PORT_LEAST) {
            return wrong(
                "port of Services",
                &port.to_string(),
                "write 1024 to 65535, since clients have no right to lower ones",
            );
        }
        if !(60..=DEADLINE_S_MAX).contains(&self.deadline_s) {
            return wrong("deadline", &format!("{} s", self.deadline_s), "write 1m to 168h");
        }
        if !is_quantity(&self.cpu) {
            return wrong("processors", &self.cpu, "write a quantity of Kubernetes, such as 2 or 500m");
        }
        // Thousandths of bytes are none.
        if !is_quantity(&self.memory) || self.memory.ends_with('m') {
            return wrong("memory", &self.memory, "write a quantity of Kubernetes, such as 512Mi or 1Gi");
        }
        if let Some((key, value)) = &self.storage_label {
            let is_part = |text: &str| {
                text.len() <= 253 && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_./".contains(&b))
            };
            if key.is_empty() || !is_part(key) || !value.as_deref().is_none_or(is_part) {
                return wrong("label of storage nodes", key, "write LABEL or LABEL=VALUE");
            }
        }
        if (self.changes || self.storage_until.is_some()) && self.storage_label.is_none() {
            return wrong("label of storage nodes", "", "say which nodes store: LABEL or LABEL=VALUE");
        }
        Ok(())
    }
}

/// A number above 0 with a unit of Kubernetes.
fn is_quantity(text: &str) -> bool {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    number.parse::<f64>().is_ok_and(|number| number > 0.0 && number.is_finite())
        && ["", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"].contains(&unit)
}

/// Rights that reaching pods takes, as the documents name them: verbs on a resource of the core API.
pub const RIGHTS: [(&str, &[&str]); 2] = [("pods/exec", &["get", "create"]), ("pods", &["list"])];

const HEAD: &str = "\
# Clients of linerate, by linerate fleet manifest. They open no port and send no requests to the API server; a
# coordinator reaches them by exec, with the rights of the Role below. The fleet.yaml that reaches them is at the end.
";

const STORAGE_HEAD: &str = "
# PRIVILEGED: the following amounts to root on each storage node. Reading a node in full requires this: its settings in
# the host's namespaces, and those of the storage servers' processes. It only reads, changes nothing, and serves no
# coordinator from the instant of --until on.
";

const HOST_HEAD: &str = "
# Clients in the network of their hosts, which Kubernetes allows in a namespace of privileged pods only. They have no
# other right of the host, and open the port at which they take flows of a run with its token.
";

const CHANGE_HEAD: &str = "\
# PRIVILEGED: what follows is root on each storage node, by linerate fleet manifest --change. It is for linerate tune
# --fleet, and for nothing else: the machine's own systemd starts what changes its settings, with the journal and the
# watch on the machine, so that a change that nobody confirms is rolled back though the pod is gone. Nothing of it is in
# the manifest of clients. It serves no coordinator from the instant of --until on.
";

/// All objects, as YAML.
#[must_use]
pub fn render(wishes: &ClientManifest) -> String {
    if wishes.changes {
        return of_changes(wishes);
    }
    let (namespace, component) = (&wishes.namespace, "client");
    let mut text = HEAD.to_owned();
    if wishes.makes_namespaces {
        text.push_str(&filled(include_str!("manifest/namespace.yaml"), wishes, namespace, component));
    }
    text.push_str(&filled(include_str!("manifest/accounts.yaml"), wishes, namespace, component));
    text.push_str(&filled(include_str!("manifest/clients.yaml"), wishes, namespace, component));
    for index in 0..wishes.service_port.map_or(0, |_| wishes.clients) {
        let service = include_str!("manifest/service.yaml").replace("@INDEX@", &index.to_string());
        text.push_str(&filled(&service, wishes, namespace, component));
    }
    if wishes.host_clients > 0 {
        let (namespace, component) = (&wishes.host_namespace(), "host-client");
        text.push_str(HOST_HEAD);
        if wishes.makes_namespaces {
            text.push_str(&filled(include_str!("manifest/storage_namespace.yaml"), wishes, namespace, component));
        }
        text.push_str(&filled(include_str!("manifest/host_clients.yaml"), wishes, namespace, component));
    }
    if wishes.storage_until.is_some() {
        let (namespace, component) = (&wishes.storage_namespace(), wishes.on_storage());
        text.push_str(STORAGE_HEAD);
        if wishes.makes_namespaces {
            text.push_str(&filled(include_str!("manifest/storage_namespace.yaml"), wishes, namespace, component));
        }
        text.push_str(&filled(include_str!("manifest/expiry.yaml"), wishes, namespace, component));
        text.push_str(&filled(include_str!("manifest/storage.yaml"), wishes, namespace, component));
    }
    text.push_str("\n# fleet.yaml:\n#\n");
    if wishes.is_placed() {
        text.push_str(
            "# linerate fleet up writes one that says of each client on which host it is, in whose network, and\n",
        );
        text.push_str("# by which address of a Service, as is known once it runs.\n#\n");
    }
    for line in fleet(wishes, None, &[]).lines() {
        let _ = writeln!(text, "# {line}");
    }
    text
}

/// The same of what changes storage nodes.
fn of_changes(wishes: &ClientManifest) -> String {
    let (namespace, component) = (&wishes.storage_namespace(), wishes.on_storage());
    let mut text = CHANGE_HEAD.to_owned();
    if wishes.makes_namespaces {
        text.push_str(&filled(include_str!("manifest/storage_namespace.yaml"), wishes, namespace, component));
    }
    text.push_str(&filled(include_str!("manifest/expiry.yaml"), wishes, namespace, component));
    text.push_str(&filled(include_str!("manifest/change.yaml"), wishes, namespace, component));
    text.push_str("\n# fleet.yaml, with an entry for each node that has the label:\n#\n");
    let example = [StoragePod { node: "NODE".to_owned(), pod: String::new() }];
    for line in changing_fleet(wishes, None, &example).lines() {
        let _ = writeln!(text, "# {line}");
    }
    text
}

/// A text of the user's, in quotes: those of JSON are YAML's.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// An object with its values in place of its marks. A mark that is a line of its own may become several.
fn filled(object: &str, wishes: &ClientManifest, namespace: &str, component: &str) -> String {
    let instance = quoted(&wishes.instance);
    let labels = [
        "app.kubernetes.io/name: linerate".to_owned(),
        format!("{MANAGER_LABEL}: {MANAGER}"),
        format!("{INSTANCE_LABEL}: {instance}"),
        format!("{COMPONENT_LABEL}: {component}"),
    ];
    let mut rules = Vec::new();
    for (resource, verbs) in RIGHTS {
        rules.push("  - apiGroups: [\"\"]".to_owned());
        rules.push(format!("    resources: [{resource}]"));
        rules.push(format!("    verbs: [{}]", verbs.join(", ")));
    }
    let values = [
        ("@NAME@", wishes.name()),
        ("@NAMESPACE@", quoted(namespace)),
        ("@CLIENTS_NAMESPACE@", quoted(&wishes.namespace)),
        ("@INSTANCE@", instance),
        ("@HOST_CLIENTS@", wishes.host_clients.to_string()),
        ("@PORT@", wishes.service_port.unwrap_or_default().to_string()),
        ("@CLIENTS@", wishes.clients.to_string()),
        ("@BACKOFF@", wishes.clients.saturating_mul(2).max(6).to_string()),
        ("@DEADLINE@", wishes.deadline_s.to_string()),
        ("@LEASE@", wishes.lease_s.to_string()),
        ("@IMAGE@", quoted(&wishes.image)),
        ("@ALLOW@", wishes.allow.clone()),
        ("@CPU@", quoted(&wishes.cpu)),
        ("@MEMORY@", quoted(&wishes.memory)),
        ("@SOCKET@", SOCKET.to_owned()),
        ("@STORES@", expression(wishes, ["In", "Exists"])),
        ("@UNTIL@", quoted(wishes.storage_until.as_deref().unwrap_or_default())),
    ];
    let mut text = String::new();
    for line in object.lines() {
        let indent = " ".repeat(line.len() - line.trim_start().len());
        match line.trim() {
            "@LABELS@" => labels.iter().for_each(|label| text.push_str(&format!("{indent}{label}\n"))),
            "@RULES@" => rules.iter().for_each(|rule| text.push_str(&format!("{rule}\n"))),
            "@AWAY@" => text.push_str(&away(wishes)),
            _ => {
                let line = values.iter().fold(line.to_owned(), |line, (mark, value)| line.replace(mark, value));
                text.push_str(&format!("{line}\n"));
            }
        }
    }
    text
}

/// Nodes with the label of storage nodes, or without.
fn expression(wishes: &ClientManifest, [with_value, without_value]: [&str; 2]) -> String {
    match &wishes.storage_label {
        Some((key, Some(value))) => {
            format!("{{key: {}, operator: {with_value}, values: [{}]}}", quoted(key), quoted(value))
        }
        Some((key, None)) => format!("{{key: {}, operator: {without_value}}}", quoted(key)),
        None => String::new(),
    }
}

/// Keeps clients off storage nodes, where it is known which those are.
fn away(wishes: &ClientManifest) -> String {
    let hosts: Vec<String> = wishes.storage_hosts.iter().map(|host| quoted(host)).collect();
    let of_label = wishes.storage_label.as_ref().map(|_| expression(wishes, ["NotIn", "DoesNotExist"]));
    let of_hosts = (!hosts.is_empty())
        .then(|| format!("{{key: kubernetes.io/hostname, operator: NotIn, values: [{}]}}", hosts.join(", ")));
    let expressions: Vec<String> = of_label.into_iter().chain(of_hosts).collect();
    if expressions.is_empty() {
        return String::new();
    }
    let lines: String = expressions.iter().map(|one| format!("                  - {one}\n")).collect();
    format!(
        "      # A client on a storage node would use processors and links of the system under test.
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
              - matchExpressions:
{lines}"
    )
}

/// The label of a pod of an indexed Job that says which it is.
pub const INDEX_LABEL: &str = "batch.kubernetes.io/job-completion-index";

/// What of a selector names the node that a pod is on, behind its labels: pods of a `DaemonSet` have no label for it.
pub(crate) const ON_NODE: &str = ",spec.nodeName=";

/// A `fleet.yaml` that reaches nodes to change them by whatever pod is on each: one that was deleted has another name
/// when it is there again.
fn changing_fleet(wishes: &ClientManifest, context: Option<&str>, nodes: &[StoragePod]) -> String {
    let place = context.map_or_else(String::new, |context| format!("{context}/"));
    let (instance, namespace) = (&wishes.instance, wishes.storage_namespace());
    let mut text = format!("# linerate fleet down --instance {instance} removes what this reaches.\nnodes:\n");
    let names = host_names(nodes.iter().map(|pod| &pod.node).collect());
    let selector = wishes.selector(wishes.on_storage());
    for StoragePod { node, .. } in nodes {
        let name = names.get(node).unwrap_or(node);
        let reach = format!("kube://{place}{namespace}/?{selector}{ON_NODE}{node}");
        let _ = writeln!(text, "  - {{name: '{name}', role: storage, reach: '{reach}'}}");
    }
    text
}

/// A `fleet.yaml` that reaches the clients by their numbers, and storage nodes by the pods on them.
#[must_use]
pub fn fleet(wishes: &ClientManifest, context: Option<&str>, storage: &[StoragePod]) -> String {
    if wishes.changes {
        return changing_fleet(wishes, context, storage);
    }
    let place = context.map_or_else(String::new, |context| format!("{context}/"));
    let range = match wishes.clients {
        1 => "0".to_owned(),
        clients => format!("{{0...{}}}", clients - 1),
    };
    let ClientManifest { instance, namespace, .. } = wishes;
    let mut text = format!(
        "# linerate fleet down --instance {instance} removes what this reaches.
nodes:
  - name: 'client{range}'
    role: client
    reach: 'kube://{place}{namespace}/?{INSTANCE_LABEL}={instance},{INDEX_LABEL}={range}'
"
    );
    let (namespace, end) = (wishes.storage_namespace(), if context.is_some() { "/" } else { "" });
    let names = host_names(storage.iter().map(|pod| &pod.node).collect());
    for StoragePod { node, pod } in storage {
        let reach = format!("kube://{place}{namespace}/{pod}{end}");
        let name = names.get(node).unwrap_or(node);
        let _ = writeln!(text, "  - {{name: {name}, role: storage, reach: '{reach}'}}");
    }
    text
}

/// A client that is there: on which host, in whose network, and by which address of a Service.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlacedClient {
    /// The name of the node.
    pub node: String,
    /// Whether it is in the node's own network.
    pub is_host: bool,
    pub index: u32,
    /// The address of the Service in front of it.
    pub service: Option<IpAddr>,
}

/// A `fleet.yaml` that says of each client where it is, by which its classes of pairs are told apart.
#[must_use]
pub fn placed_fleet(wishes: &ClientManifest, context: Option<&str>, clients: &[PlacedClient]) -> String {
    let place = context.map_or_else(String::new, |context| format!("{context}/"));
    let ClientManifest { instance, .. } = wishes;
    let mut text = format!("# linerate fleet down --instance {instance} removes what this reaches.\nnodes:\n");
    let mut clients = clients.to_vec();
    clients.sort();
    let hosts = host_names(clients.iter().map(|client| &client.node).collect());
    let mut before: Option<&PlacedClient> = None;
    let mut number = 0;
    for client in &clients {
        let is_next = before.is_some_and(|before| (&before.node, before.is_host) == (&client.node, client.is_host));
        number = if is_next { number + 1 } else { 0 };
        before = Some(client);
        let PlacedClient { is_host, index, service, .. } = client;
        let node = hosts.get(&client.node).unwrap_or(&client.node);
        let (namespace, network) =
            if *is_host { (wishes.host_namespace(), "host") } else { (wishes.namespace.clone(), "pod") };
        let reach = format!("kube://{place}{namespace}/?{INSTANCE_LABEL}={instance},{INDEX_LABEL}={index}");
        let _ = writeln!(
            text,
            "  - name: '{node}-{network}{number}'\n    role: client\n    host: '{node}'\n    network: {network}\n    \
             reach: '{reach}'"
        );
        if let (Some(address), Some(port)) = (service, wishes.service_port) {
            let _ = writeln!(text, "    service: '{}'", SocketAddr::new(*address, port));
        }
    }
    text
}

/// What a fleet's file calls each node, so that the names of clients on it fit: its own name, or of a longer one the
/// first of its labels, or as much as fits, with a number where another node has that.
fn host_names(mut nodes: Vec<&String>) -> BTreeMap<String, String> {
    // With a network and a number behind it, such as -host999.
    let most = FLEET_NAME_MOST - "-host".len() - CLIENTS_MAX.to_string().len();
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    // Those that fit keep theirs.
    nodes.sort_by_key(|node| (node.len() > most, *node));
    nodes.dedup();
    for node in nodes {
        let mut name = node.as_str();
        while name.len() > most {
            let Some((front, _)) = name.rsplit_once('.') else { break };
            name = front;
        }
        let cut = |to: usize| name.get(..to).unwrap_or(name);
        let is_free = |name: &String| names.values().all(|other| other != name);
        let numbered = |number: u32| {
            let end = format!("-{number}");
            format!("{}{end}", cut(most - end.len()))
        };
        let mut tried = std::iter::once(cut(most).to_owned()).chain((2..=CLIENTS_MAX + 1).map(numbered));
        let free = tried.find(is_free).unwrap_or_else(|| node.clone());
        names.insert(node.clone(), free);
    }
    names
}

/// What is on a storage node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoragePod {
    /// The name of the node.
    pub node: String,
    /// The name of the pod on it.
    pub pod: String,
}

#[cfg(test)]
mod tests;
