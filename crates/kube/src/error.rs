//! Why a pod was not reached, each with what to do.

use std::error::Error as _;
use std::io::ErrorKind;

use kube::Error;
use kube::config::KubeconfigError;
use kube::core::Status;
use linerate_fleet::attachment::AttachRefusal;
use linerate_record::fleet::UnreachedNode;
use linerate_record::units::Bytes;

use crate::refused_answer::{ANSWER_BYTES_MAX, RefusedAnswer};

/// Why something of Kubernetes was not to be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KubeError {
    /// There is no kubeconfig, and this is no pod.
    #[error("there is no kubeconfig: {0}")]
    NoKubeconfig(String),
    /// A kubeconfig that cannot be used.
    #[error("the kubeconfig cannot be used: {0}")]
    Kubeconfig(String),
    /// A context that it does not have.
    #[error("the kubeconfig has no context {name:?}")]
    UnknownContext {
        /// As it was asked for.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// The command that should say who the user is failed.
    #[error("the credential command of the kubeconfig failed: {0}")]
    Plugin(String),
    /// The API server does not know who asks.
    #[error("the API server refused the credentials of the kubeconfig: {0}")]
    Unauthorised(String),
    /// It does, and they may not.
    #[error("the API server does not allow {verb} on {resource}{}: {message}", within(namespace))]
    Forbidden {
        verb: String,
        resource: String,
        namespace: String,
        /// As it was told.
        message: String,
    },
    /// No such pod, or no such namespace.
    #[error("there is no such pod: {0}")]
    NoPod(String),
    /// A selector does not select what it should.
    #[error("{selector:?} selects {found} running pods in namespace {namespace}, not {wanted}")]
    Selected { selector: String, namespace: String, found: usize, wanted: usize },
    /// The pod, or the container, does not run.
    #[error("its container is not running: {0}")]
    NotRunning(String),
    /// The pod has no such container, or several.
    #[error("the pod has no such container: {0}")]
    NoContainer(String),
    /// Its image has no linerate.
    #[error("its image has no linerate: {0}")]
    NoLinerate(String),
    /// Nobody listens in the container.
    #[error("no agent listens in its container: {0}")]
    NoAgent(String),
    /// The agent does not take this stream.
    #[error("{0}")]
    Refused(AttachRefusal),
    /// Nothing answers at the address of the API server.
    #[error("the API server cannot be reached: {0}")]
    Unreachable(String),
    /// What answers does not prove who it is.
    #[error("the certificate of the API server is not trusted: {0}")]
    Untrusted(String),
    /// It did not answer in time.
    #[error("the API server did not answer within {0} s")]
    Slow(u64),
    /// It answered with more than so much, which is not taken.
    #[error("the API server answered with more than {0}")]
    TooLarge(String),
    /// It names another address, or what is at this one is no API server.
    #[error("the API server answered {code}, a redirect to {location:?}, which is not followed")]
    Redirect {
        /// HTTP's.
        code: u16,
        location: String,
    },
    /// The stream ended without a word of why.
    #[error("the stream was closed on the way: {0}")]
    Closed(String),
    /// The API server, or a kubelet behind it, failed.
    #[error("the API server answered {code}: {message}")]
    Server {
        /// HTTP's.
        code: u16,
        /// As it was told.
        message: String,
    },
}

/// Longest text of others that is told.
const QUOTED_CHARS_MAX: usize = 400;

/// What others said, in few words and in one line.
pub(crate) fn in_one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(QUOTED_CHARS_MAX)
        .collect::<String>()
        .trim()
        .to_owned()
}

impl KubeError {
    #[must_use]
    pub fn remedy(&self) -> String {
        let text = match self {
            KubeError::NoKubeconfig(_) => "set KUBECONFIG to a file that kubectl works with",
            KubeError::Kubeconfig(_) => "check it with kubectl config view",
            KubeError::UnknownContext { known, .. } if known.is_empty() => {
                return "check it with kubectl config get-contexts; it has no contexts".to_owned();
            }
            KubeError::UnknownContext { known, .. } => return format!("write one of its contexts: {}", listed(known)),
            KubeError::Plugin(_) => {
                "run it by hand to see what it says: kubectl config view --minify has it under exec; it may have to \
                 log in again"
            }
            KubeError::Unauthorised(_) => "log in again, and check with kubectl auth whoami",
            KubeError::Forbidden { verb, resource, namespace, .. } => {
                let pods = "; reaching pods needs get and create on pods/exec, and list on pods for selectors";
                let more = if resource.starts_with("pods") { pods } else { "" };
                return format!("grant {verb} on {resource}{}{more}", within(namespace));
            }
            KubeError::NoPod(_) => {
                "check with kubectl get pods; of three parts, the last is a container: a context needs \
                 kube://CONTEXT/NAMESPACE/POD/"
            }
            KubeError::Selected { .. } => "check with kubectl get pods -l, and name as many nodes as there are pods",
            KubeError::NotRunning(_) => "see kubectl describe pod and kubectl logs --previous",
            KubeError::NoContainer(_) => "name one of the pod's containers: kube://NAMESPACE/POD/CONTAINER",
            KubeError::NoLinerate(_) => {
                "use an image of linerate, as linerate fleet manifest does, with linerate in a folder of its PATH"
            }
            KubeError::NoAgent(_) => {
                "make linerate agent --listen /run/linerate/agent.sock the container's command, as linerate fleet \
                 manifest does"
            }
            KubeError::Refused(AttachRefusal::Busy { .. }) => {
                "wait for it to end, or start clients of your own: fleet up"
            }
            KubeError::Refused(AttachRefusal::Version { .. }) => "use the same version of linerate on both",
            KubeError::Refused(AttachRefusal::NoFitReason { .. }) => {
                "see to it there, or reach the machine by ssh://: changes are made only where their watch outlives the \
                 pod"
            }
            KubeError::Refused(_) => "start again; linerate agent --lease says for how long it waits",
            KubeError::Unreachable(_) => "check the server of the kubeconfig, and the network on the way",
            KubeError::Untrusted(_) => "check certificate-authority-data of the kubeconfig's cluster",
            KubeError::Slow(_) => "check the load of the API server, and proxies on the way",
            KubeError::TooLarge(_) => {
                "check what answers at the server of the kubeconfig; fewer pods fit a narrower selector"
            }
            KubeError::Redirect { .. } => {
                "check the server of the kubeconfig; a page of a login or of a proxy may be in its place"
            }
            KubeError::Closed(_) => "check idle timeouts of proxies and load balancers on the way, and try again",
            KubeError::Server { code: 429, .. } => "try again later: the API server limits requests",
            KubeError::Server { .. } => "see the logs of the API server and of the node's kubelet",
        };
        text.to_owned()
    }

    /// Whether it is the API server's, or of the way to it, and not of what was asked.
    #[must_use]
    pub fn is_of_server(&self) -> bool {
        match self {
            KubeError::Unreachable(_) | KubeError::Slow(_) | KubeError::Closed(_) => true,
            KubeError::Server { code, .. } => *code >= 500 || *code == 429,
            _ => false,
        }
    }

    /// Whether another try may do better: the API server may only be starting anew, and know nothing of rights yet.
    #[must_use]
    pub(crate) fn is_passing(&self) -> bool {
        self.is_of_server() || matches!(self, KubeError::Unauthorised(_) | KubeError::Forbidden { .. })
    }
}

impl From<KubeError> for UnreachedNode {
    fn from(fault: KubeError) -> UnreachedNode {
        UnreachedNode { why: fault.to_string(), remedy: fault.remedy() }
    }
}

/// The namespace of what was asked, where it is in one.
fn within(namespace: &str) -> String {
    if namespace.is_empty() { String::new() } else { format!(" in namespace {namespace}") }
}

/// The first of some names.
fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(8);
    let others = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{others}", names[..names.len() - more].join(", "))
}

/// What was asked of the API server, for what it may refuse.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ApiRequestKind<'a> {
    pub(crate) verb: &'a str,
    pub(crate) resource: &'a str,
    pub(crate) namespace: &'a str,
}

/// What an error of the client means.
pub(crate) fn of_client(error: &Error, requested: ApiRequestKind<'_>) -> KubeError {
    match error {
        Error::Api(status) => of_status(status, requested),
        Error::UpgradeConnection(kube::client::UpgradeConnectionError::ProtocolSwitch(code)) => {
            KubeError::Server { code: code.as_u16(), message: "it does not switch to a WebSocket".to_owned() }
        }
        Error::UpgradeConnection(error) => KubeError::Closed(in_one_line(&error.to_string())),
        Error::ProxyProtocolDisabled { .. } | Error::ProxyProtocolUnsupported { .. } => {
            KubeError::Kubeconfig("its proxy-url has a scheme that linerate does not support".to_owned())
        }
        Error::RustlsTls(error) => KubeError::Kubeconfig(in_one_line(&cause(error))),
        Error::SerdeError(error) => KubeError::Server {
            code: 200,
            message: format!("not a valid API response: {}", in_one_line(&error.to_string())),
        },
        other => of_transport(other),
    }
}

/// What is wrong with a kubeconfig. Its lines are not quoted: they have credentials.
pub(crate) fn of_kubeconfig(error: &KubeconfigError) -> String {
    match error {
        KubeconfigError::Parse(error) => format!("it is no kubeconfig in YAML{}", at(error)),
        error => in_one_line(&error.to_string()),
    }
}

/// Where in a text in YAML something is wrong.
fn at(error: &serde_saphyr::Error) -> String {
    error.location().map_or_else(String::new, |at| format!(": line {}, column {}", at.line(), at.column()))
}

/// What caused an error in the end.
fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    last.to_string()
}

fn of_transport(error: &Error) -> KubeError {
    let mut kind = None;
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        kind = kind.or(cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind));
        match cause.downcast_ref::<RefusedAnswer>() {
            Some(RefusedAnswer::TooLarge) => {
                return KubeError::TooLarge(Bytes(ANSWER_BYTES_MAX as u64).to_string());
            }
            Some(RefusedAnswer::Redirect { code, location }) => {
                return KubeError::Redirect { code: *code, location: in_one_line(location) };
            }
            None => {}
        }
        if let Some(fault) = cause.downcast_ref::<KubeError>() {
            return fault.clone();
        }
        causes.push(cause.to_string());
        next = cause.source();
    }
    let last = causes.last().cloned().unwrap_or_else(|| error.to_string());
    if let Some(cause) = causes.iter().find(|cause| cause.contains("certificate")) {
        return KubeError::Untrusted(in_one_line(cause));
    }
    match kind {
        Some(ErrorKind::ConnectionReset | ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe) => {
            KubeError::Closed(in_one_line(&last))
        }
        _ if causes.iter().any(|cause| cause.contains("closed before message completed")) => {
            KubeError::Closed(in_one_line(&last))
        }
        _ => KubeError::Unreachable(in_one_line(&last)),
    }
}

/// What the API server, or a kubelet behind it, says of a request.
pub(crate) fn of_status(status: &Status, requested: ApiRequestKind<'_>) -> KubeError {
    let message = in_one_line(if status.message.is_empty() { &status.reason } else { &status.message });
    let is_in = |part: &str| message.contains(part);
    match status.code {
        401 => KubeError::Unauthorised(message),
        403 => forbidden(message, requested),
        404 => KubeError::NoPod(message),
        400 if is_in("container name must be specified") || is_in("is not valid for pod") => {
            KubeError::NoContainer(message)
        }
        400 if is_in("does not have a host assigned") => KubeError::NotRunning(message),
        _ if is_in("executable file not found") || (is_in("exec:") && is_in("no such file or directory")) => {
            KubeError::NoLinerate(message)
        }
        _ if is_in("container not found")
            || is_in("stopped container")
            || is_in("CONTAINER_EXITED")
            || is_in("is not running")
            || is_in("not in running state")
            || is_in("current phase is") =>
        {
            KubeError::NotRunning(message)
        }
        code => KubeError::Server { code, message },
    }
}

/// Its words name the verb and the resource: `User "u" cannot create resource "pods/exec" in API group "" …`.
fn forbidden(message: String, requested: ApiRequestKind<'_>) -> KubeError {
    let behind = |begin: &str, end: &str| {
        let rest = message.split_once(begin)?.1;
        Some(rest.split_once(end)?.0.to_owned()).filter(|word| !word.is_empty() && word.len() < 64)
    };
    KubeError::Forbidden {
        verb: behind(" cannot ", " ").unwrap_or_else(|| requested.verb.to_owned()),
        resource: behind(" resource \"", "\"").unwrap_or_else(|| requested.resource.to_owned()),
        namespace: behind(" in the namespace \"", "\"").unwrap_or_else(|| requested.namespace.to_owned()),
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXEC: ApiRequestKind<'_> = ApiRequestKind { verb: "create", resource: "pods/exec", namespace: "ns" };

    fn status(code: u16, message: &str) -> KubeError {
        of_status(&Status { code, message: message.to_owned(), ..Status::default() }, EXEC)
    }

    #[test]
    fn each_refusal_has_words_of_its_own() {
        for (code, message, part) in [
            (401, "Unauthorized", "refused the credentials"),
            (404, "pods \"x\" not found", "no such pod: pods \"x\" not found"),
            (404, "namespaces \"x\" not found", "no such pod: namespaces"),
            (400, "container foo is not valid for pod x", "no such container"),
            (400, "a container name must be specified for pod x, choose one of: [a b]", "choose one of: [a b]"),
            (400, "pod x does not have a host assigned", "its container is not running"),
            (500, "unable to upgrade connection: container not found (\"agent\")", "its container is not running"),
            (500, "cannot exec in a stopped container", "its container is not running"),
            (500, "exec: \"linerate\": executable file not found in $PATH: unknown", "has no linerate"),
            (500, "exec failed: exec: \"linerate\": stat linerate: no such file or directory", "has no linerate"),
            (500, "error dialing backend: dial tcp 10.0.0.1:10250", "answered 500: error dialing backend"),
            (429, "too many requests", "answered 429"),
        ] {
            let fault = status(code, message);
            assert!(fault.to_string().contains(part), "{message}: {fault}");
            assert!(!fault.remedy().is_empty());
        }
        let long = status(500, &"x\n".repeat(10_000)).to_string();
        assert!(long.len() < 500 && !long.contains('\n'), "{long}");
    }

    #[test]
    fn what_is_forbidden_is_named() {
        let fault = status(
            403,
            "pods \"a\" is forbidden: User \"u\" cannot get resource \"pods/exec\" in API group \"\" in the namespace \
             \"b\"",
        );
        let KubeError::Forbidden { verb, resource, namespace, .. } = &fault else { panic!("{fault:?}") };
        assert_eq!((verb.as_str(), resource.as_str(), namespace.as_str()), ("get", "pods/exec", "b"));
        assert!(fault.remedy().contains("grant get on pods/exec in namespace b"));
        let KubeError::Forbidden { verb, .. } = status(403, "no") else { panic!("forbidden") };
        assert_eq!(verb, "create");
    }
}
