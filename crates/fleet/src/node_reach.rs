//! How an agent is started: the words of `reach` in `fleet.yaml`.

use core::net::{Ipv6Addr, SocketAddr};
use std::fmt;
use std::str::FromStr;

use crate::ssh_options::{BecomeCommand, CacheFolder};

/// Where an agent runs, and by what it is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeReach {
    /// On this machine, as this user.
    Here,
    /// By the system's OpenSSH.
    Ssh(SshTarget),
    /// In a network namespace of this machine, by its name.
    Netns(String),
    /// In the namespaces of a process of this machine.
    Pid(u32),
    /// In a pod, by the Kubernetes API.
    Kube(PodLocation),
    /// By a command of the user's, which is given to a shell.
    Exec(String),
    /// It is there already, and serves flows at a port for who has its token. No fleet file has that.
    Served(ServedAddress),
}

/// Where a `linerate net serve` listens, and what it is proven by.
#[derive(Clone, PartialEq, Eq)]
pub struct ServedAddress {
    /// Its address and port.
    pub address: SocketAddr,
    /// Its token, as 64 hexadecimal digits. It is shown nowhere.
    pub token: String,
}

impl fmt::Debug for ServedAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServedPlace({})", self.address)
    }
}

/// A container of a pod, by the Kubernetes API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodLocation {
    /// The context of the kubeconfig; its current one where none is given.
    pub context: Option<String>,
    pub namespace: String,
    /// Which pod of it.
    pub pod: PodChoice,
}

/// Which pod of a namespace is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PodChoice {
    Named {
        name: String,
        /// The container; the pod's only or default one where none is given.
        container: Option<String>,
    },
    Selected {
        /// A label selector, as the API takes it.
        selector: String,
        /// Which of the pods that it selects, from 0, and of how many nodes: 0 of 1 has to be the only one.
        number: usize,
        /// How many nodes share the selector.
        of: usize,
    },
}

/// A host and how to log in there. What is not given, OpenSSH's configuration decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshTarget {
    pub user: Option<String>,
    /// Name or address, without brackets.
    pub host: String,
    pub port: Option<u16>,
    /// By what command the agent gets other rights. Not part of the text of a reach.
    pub become_by: Option<BecomeCommand>,
    /// What keeps the program there; the user's cache where none is given. Not part of the text of a reach.
    pub cache: Option<CacheFolder>,
}

/// A `reach` that is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid reach {text:?}: {why}")]
pub struct ReachError {
    pub text: String,
    pub why: &'static str,
}

/// Longest text of a reach.
const TEXT_BYTES_MAX: usize = 4096;

const FORMS: &str = "write here, ssh://[USER@]HOST[:PORT], kube://NAMESPACE/POD, netns://NAME, pid://NUMBER or \
                     exec:COMMAND";
const OF_KUBE: &str = "write kube://NAMESPACE/POD[/CONTAINER], kube://CONTEXT/NAMESPACE/POD/[CONTAINER] or \
                       kube://[CONTEXT/]NAMESPACE/?LABEL=VALUE; with a context, a pod's name ends with a slash";
const OF_SSH: &str = "write ssh://[USER@]HOST[:PORT], such as ssh://admin@node07:22; neither begins with a dash";
const OF_NETNS: &str = "write the name as `ip netns` has it, such as netns://client1; it does not begin with a dash";
const OF_PID: &str = "write the number of a process, such as pid://4711";
const OF_EXEC: &str = "write a command in one line, such as exec:kubectl exec -i pod -- linerate agent";

impl FromStr for NodeReach {
    type Err = ReachError;

    fn from_str(text: &str) -> Result<NodeReach, ReachError> {
        let fail = |why| ReachError { text: text.chars().take(100).collect(), why };
        if text.len() > TEXT_BYTES_MAX {
            return Err(fail("write at most 4,096 bytes"));
        }
        if text == "here" {
            return Ok(NodeReach::Here);
        }
        if let Some(command) = text.strip_prefix("exec:") {
            let command = command.trim();
            let fits = !command.is_empty() && !command.chars().any(char::is_control);
            return fits.then(|| NodeReach::Exec(command.to_owned())).ok_or_else(|| fail(OF_EXEC));
        }
        match text.split_once("://") {
            Some(("ssh", place)) => ssh(place).map(NodeReach::Ssh).ok_or_else(|| fail(OF_SSH)),
            Some(("kube", place)) => kube(place).map(NodeReach::Kube).ok_or_else(|| fail(OF_KUBE)),
            Some(("netns", name)) => {
                let is_file = !matches!(name, "." | "..") && !name.contains('/');
                let fits = is_name(name) && is_file;
                fits.then(|| NodeReach::Netns(name.to_owned())).ok_or_else(|| fail(OF_NETNS))
            }
            Some(("pid", pid)) => match pid.parse() {
                Ok(pid) if (1..=i32::MAX as u32).contains(&pid) && pid.to_string() == text[6..] => {
                    Ok(NodeReach::Pid(pid))
                }
                _ => Err(fail(OF_PID)),
            },
            _ => Err(fail(FORMS)),
        }
    }
}

/// A word that no command takes for a flag, and no shell for more than a word.
fn is_name(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

/// Whether a pod or a node of Kubernetes can have this name (RFC 1123's subdomain). No such name is another reach, such
/// as one of this machine.
#[must_use]
pub fn is_object_name(text: &str) -> bool {
    is_kube_name(text, 253, true)
}

/// A name of Kubernetes: of a namespace or a container (RFC 1123's label), or of a pod with its dots.
fn is_kube_name(text: &str, longest: usize, has_dots: bool) -> bool {
    let is_inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || (has_dots && b == b'.');
    let is_outer = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=longest).contains(&text.len())
        && text.starts_with(is_outer)
        && text.ends_with(is_outer)
        && text.bytes().all(is_inner)
}

/// Contexts have slashes of their own, such as the ARNs of EKS: names are taken from the right.
fn kube(text: &str) -> Option<PodLocation> {
    let (place, selector) = match text.split_once("/?") {
        Some((place, selector)) => (place, Some(selector)),
        None => (text, None),
    };
    let parts: Vec<&str> = place.split('/').collect();
    let (context, namespace, pod) = match (selector, parts.as_slice()) {
        (Some(selector), [context @ .., namespace]) => {
            let selected = PodChoice::Selected { selector: selector.to_owned(), number: 0, of: 1 };
            (context, *namespace, is_selector(selector).then_some(selected)?)
        }
        (None, [namespace, name]) => (&[][..], *namespace, named(name, "")?),
        (None, [namespace, name, container]) if !container.is_empty() => (&[][..], *namespace, named(name, container)?),
        (None, [context @ .., namespace, name, container]) if !context.is_empty() => {
            (context, *namespace, named(name, container)?)
        }
        _ => return None,
    };
    let context = Some(context.join("/")).filter(|_| !context.is_empty());
    let is_context = |text: &String| {
        (1..=253).contains(&text.len()) && !text.starts_with(['-', '/']) && !text.chars().any(char::is_control)
    };
    let fits = is_kube_name(namespace, 63, false) && context.as_ref().is_none_or(is_context);
    fits.then(|| PodLocation { context, namespace: namespace.to_owned(), pod })
}

fn named(name: &str, container: &str) -> Option<PodChoice> {
    let container = Some(container).filter(|container| !container.is_empty());
    let fits = is_object_name(name) && container.is_none_or(|name| is_kube_name(name, 63, false));
    fits.then(|| PodChoice::Named { name: name.to_owned(), container: container.map(str::to_owned) })
}

fn is_selector(text: &str) -> bool {
    let is_part = |b: u8| b.is_ascii_alphanumeric() || b"-_./=!,() ".contains(&b);
    (1..=1024).contains(&text.len()) && text.bytes().all(is_part) && text.starts_with(|c: char| c != ' ')
}

fn ssh(text: &str) -> Option<SshTarget> {
    let text = text.strip_suffix('/').unwrap_or(text);
    let (user, rest) = match text.rsplit_once('@') {
        Some((user, rest)) => (Some(user), rest),
        None => (None, text),
    };
    let (host, port) = match rest.strip_prefix('[') {
        Some(rest) => {
            let (address, port) = rest.split_once(']')?;
            address.parse::<Ipv6Addr>().ok()?;
            (address, if port.is_empty() { None } else { Some(port.strip_prefix(':')?) })
        }
        None => match rest.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (rest, None),
        },
    };
    let is_host = host.contains(':') || is_name(host);
    let port = match port {
        Some(port) => Some(port.parse::<u16>().ok().filter(|port| *port > 0)?),
        None => None,
    };
    (is_host && user.is_none_or(is_name)).then(|| SshTarget {
        user: user.map(str::to_owned),
        host: host.to_owned(),
        port,
        become_by: None,
        cache: None,
    })
}

impl fmt::Display for NodeReach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeReach::Here => f.write_str("here"),
            NodeReach::Ssh(SshTarget { user, host, port, .. }) => {
                f.write_str("ssh://")?;
                user.iter().try_for_each(|user| write!(f, "{user}@"))?;
                if host.contains(':') { write!(f, "[{host}]") } else { f.write_str(host) }?;
                port.iter().try_for_each(|port| write!(f, ":{port}"))
            }
            NodeReach::Kube(PodLocation { context, namespace, pod }) => {
                f.write_str("kube://")?;
                context.iter().try_for_each(|context| write!(f, "{context}/"))?;
                match pod {
                    PodChoice::Named { name, container: Some(container) } => {
                        write!(f, "{namespace}/{name}/{container}")
                    }
                    PodChoice::Named { name, container: None } if context.is_some() => write!(f, "{namespace}/{name}/"),
                    PodChoice::Named { name, container: None } => write!(f, "{namespace}/{name}"),
                    PodChoice::Selected { selector, .. } => write!(f, "{namespace}/?{selector}"),
                }
            }
            NodeReach::Netns(name) => write!(f, "netns://{name}"),
            NodeReach::Pid(pid) => write!(f, "pid://{pid}"),
            NodeReach::Exec(command) => write!(f, "exec:{command}"),
            NodeReach::Served(place) => write!(f, "served:{}", place.address),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_way_reads_and_is_told_as_it_was_written() {
        for text in [
            "here",
            "ssh://node07",
            "ssh://admin@node07:2222",
            "ssh://[fe80::1]:22",
            "ssh://a.b-c_d.example",
            "netns://client1",
            "pid://4711",
            "kube://linerate/pod-0",
            "kube://linerate/pod-0/agent",
            "kube://prod/linerate/pod-0/",
            "kube://prod/linerate/pod-0/agent",
            "kube://arn:aws:eks:eu-central-1:1:cluster/prod/linerate/pod.0/",
            "kube://linerate/?app=minio,tier!=cache",
            "kube://admin@prod/linerate/?app in (a, b)",
            "exec:docker exec -i minio linerate agent",
        ] {
            assert_eq!(text.parse::<NodeReach>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_a_command_would_take_for_a_flag_or_for_more_than_a_name_is_refused() {
        for text in [
            "",
            "node07",
            "ssh://",
            "ssh://-oProxyCommand=id",
            "ssh://-l@node07",
            "ssh://-x@node07",
            "ssh://node07 -l root",
            "ssh://node07;id",
            "ssh://node07:0",
            "ssh://node07:99999",
            "ssh://node07:",
            "ssh://[node07]",
            "ssh://[::1]22",
            "ssh://a@b@c",
            "netns://",
            "netns://-n",
            "netns://..",
            "netns://a/b",
            "pid://0",
            "pid://-1",
            "pid://+1",
            "pid://4294967295",
            "exec:",
            "exec: \t",
            "exec:a\nb",
            "kube://",
            "kube://ns",
            "kube://ns/",
            "kube:///pod",
            "kube://NS/pod",
            "kube://ns/-pod",
            "kube://ns/pod-",
            "kube://-context/ns/pod/",
            "kube://ns/?",
            "kube://ns/?a=b&x=y",
            "kube://ns/pod/con_tainer",
        ] {
            let error = text.parse::<NodeReach>().expect_err(text).to_string();
            assert!(error.contains("write "), "{text}: {error}");
        }
    }

    #[test]
    fn a_place_that_is_served_is_told_without_its_token_and_read_from_no_file() {
        let place = ServedAddress { address: "[::1]:5210".parse().unwrap(), token: "0f".repeat(32) };
        let reach = NodeReach::Served(place);
        assert_eq!(reach.to_string(), "served:[::1]:5210");
        assert!(!format!("{reach:?}").contains("0f0f"), "{reach:?}");
        assert!(reach.to_string().parse::<NodeReach>().is_err());
    }

    #[test]
    fn three_parts_are_a_namespace_a_pod_and_a_container() {
        let place = |text: &str| match text.parse().unwrap() {
            NodeReach::Kube(place) => place,
            other => panic!("{other:?}"),
        };
        let reported = place("kube://a/b/c");
        assert_eq!((reported.context, reported.namespace.as_str()), (None, "a"));
        assert_eq!(reported.pod, PodChoice::Named { name: "b".to_owned(), container: Some("c".to_owned()) });
        let reported = place("kube://x/y/a/b/");
        assert_eq!((reported.context.as_deref(), reported.namespace.as_str()), (Some("x/y"), "a"));
        assert_eq!(reported.pod, PodChoice::Named { name: "b".to_owned(), container: None });
    }

    proptest! {
        #[test]
        fn what_is_read_is_told_and_read_again(
            text in "(here|ssh://|kube://|netns://|pid://|exec:)?[-a-z0-9@:.\\[\\]/? ]{0,20}",
        ) {
            if let Ok(reach) = text.parse::<NodeReach>() {
                prop_assert_eq!(reach.to_string().parse::<NodeReach>(), Ok(reach));
            }
        }
    }
}
