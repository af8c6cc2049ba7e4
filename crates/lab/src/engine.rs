//! S3 engines that a lab runs: how each is started over a lab's nodes, and how it says that it serves.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use linerate_wire::deadline::{CancelToken, Deadline, WaitEnd};
use linerate_wire::http_call::{self, CallError, HttpAnswer, HttpPeer, HttpRequest};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::garage;
use crate::keys::LabKeys;
use crate::names::{Machine, PORT, nodes};
use crate::namespaces;
use crate::spec::{LabSpec, NodeSpec, Plane};

/// What an engine that answers at all answers in.
const ANSWER_MAX: Duration = Duration::from_secs(2);

/// Pages of health are a few words, and refusals a few hundred bytes.
const ANSWER_BYTES_MAX: usize = 1 << 20;

/// An engine, and the program of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineSpec {
    pub product: LabEngine,
    pub binary: PathBuf,
    /// Shards of parity, or copies beyond the first; the engine's own choice if absent.
    pub parity: Option<u32>,
}

/// Engines that a lab can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LabEngine {
    Minio,
    Garage,
}

/// What an engine is started with on a node.
#[derive(Debug)]
pub struct EngineProcess {
    pub arguments: Vec<String>,
    pub environment: Vec<(&'static str, String)>,
    /// What it reads besides, and where that is.
    pub file: Option<(PathBuf, String)>,
}

/// Where an engine's files are, in the folder of its lab.
#[derive(Clone, Copy, Debug)]
pub struct EngineFolders<'a> {
    /// Where each node has its own drives.
    pub drives: &'a Path,
    /// Where files are that an engine reads.
    pub files: &'a Path,
}

impl EngineSpec {
    /// What a node is started with. Of Garage, the secret key is that by which nodes know each other.
    #[must_use]
    pub fn process(&self, spec: &LabSpec, node: Machine, folders: EngineFolders, keys: &LabKeys) -> EngineProcess {
        match self.product {
            LabEngine::Minio => {
                let mut arguments = ["server", "--quiet", "--address", ":9000"].map(str::to_owned).to_vec();
                arguments.extend(minio_pools(spec, folders.drives));
                let mut environment = vec![
                    ("MINIO_ROOT_USER", keys.access_key.clone()),
                    ("MINIO_ROOT_PASSWORD", keys.secret_key.clone()),
                    ("MINIO_BROWSER", "off".to_owned()),
                    ("MINIO_UPDATE", "off".to_owned()),
                    ("MINIO_PROMETHEUS_AUTH_TYPE", "public".to_owned()),
                ];
                environment.extend(self.parity.map(|n| ("MINIO_STORAGE_CLASS_STANDARD", format!("EC:{n}"))));
                EngineProcess { arguments, environment, file: None }
            }
            LabEngine::Garage => {
                let file = garage::config_file(folders.files, node);
                let arguments = ["-c".to_owned(), file.display().to_string(), "server".to_owned()].to_vec();
                let config = garage::config(spec, node, folders.drives, self.copies(spec), &keys.secret_key);
                EngineProcess { arguments, environment: Vec::new(), file: Some((file, config)) }
            }
        }
    }

    /// Copies of an engine that keeps them: not more than there are nodes.
    #[must_use]
    pub fn copies(&self, spec: &LabSpec) -> u32 {
        let usual = 3.min(spec.nodes.len() as u32);
        self.parity.map_or(usual, |parity| parity + 1)
    }

    /// The port and the path that answer 200 as soon as a node serves over all that it needs.
    const fn health(&self) -> (u16, &'static str) {
        match self.product {
            LabEngine::Minio => (PORT, "/minio/health/cluster"),
            LabEngine::Garage => (garage::ADMIN_PORT, "/health"),
        }
    }

    /// Which node does not serve yet, as somebody in this namespace sees it, and what it answers.
    ///
    /// # Errors
    /// [`LabError::Unsupported`] where the namespace cannot be entered.
    pub fn first_not_serving(&self, namespace: &str, spec: &LabSpec) -> Result<Option<String>, LabError> {
        let nodes: Vec<Machine> = nodes(spec).collect();
        let (port, path) = self.health();
        // A node that is healthy may still refuse requests: MinIO answers 503 until it has read users and buckets.
        let pages: [Page; 2] = [(port, path, |status| status == 200), (PORT, "/", |status| status < 500)];
        in_namespace(namespace, move || {
            nodes.iter().find_map(|node| pages.iter().find_map(|page| why_not_serving(*node, *page)))
        })
    }
}

/// A port, a path, and which status codes say that the node serves.
type Page = (u16, &'static str, fn(u16) -> bool);

/// What a node answers instead.
fn why_not_serving(node: Machine, page: Page) -> Option<String> {
    let (port, path, _) = page;
    why_refused(node, page, get(node.address(Plane::Public), port, path))
}

/// What such an answer says, if it is not that the node serves.
fn why_refused(node: Machine, (_, path, is_serving): Page, answered: Result<HttpAnswer, CallError>) -> Option<String> {
    match answered {
        Ok(answer) if is_serving(answer.status) => None,
        Ok(answer) => Some(format!("{node} answers {:?} to GET {path}", answer.first_line())),
        Err(error) if matches!(error.wait_end(), Some(WaitEnd::Late(_))) => {
            Some(format!("{node} has not answered for {} s", ANSWER_MAX.as_secs()))
        }
        Err(error) => Some(format!("{node}: {error}")),
    }
}

/// Nodes of the same kind and number of drives, one after another, are a pool.
fn minio_pools(spec: &LabSpec, drives: &Path) -> Vec<String> {
    let plane = if spec.private.is_some() { Plane::Private } else { Plane::Public };
    let mut pools = Vec::new();
    let mut first = 0;
    while let Some(node) = spec.nodes.get(first) {
        let is_alike = |other: &&NodeSpec| other.kind == node.kind && other.drives.len() == node.drives.len();
        let count = spec.nodes[first..].iter().take_while(is_alike).count();
        let [a, b, c, from] = Machine::Node(first as u32 + 1).address(plane).octets();
        let to = usize::from(from) + count - 1;
        let folder = drives.display();
        pools.push(format!("http://{a}.{b}.{c}.{{{from}...{to}}}:{PORT}{folder}/drive{{1...{}}}", node.drives.len()));
        first += count;
    }
    pools
}

/// What something comes to in a network namespace, which a thread of its own enters.
fn in_namespace<T: Send + 'static>(name: &str, work: impl FnOnce() -> T + Send + 'static) -> Result<T, LabError> {
    let path = namespaces::path(name);
    let file = std::fs::File::open(&path).map_err(LabError::file("open", path))?;
    let thread = std::thread::spawn(move || {
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
        Ok::<T, rustix::io::Errno>(work())
    });
    let failed = |why: String| LabError::Unsupported { what: "a look from a namespace".to_owned(), why };
    let done = thread.join().map_err(|_| failed("a thread panicked".to_owned()))?;
    done.map_err(|error| failed(error.to_string()))
}

/// What a server answers to GET.
fn get(address: Ipv4Addr, port: u16, path: &str) -> Result<HttpAnswer, CallError> {
    let head = format!("GET {path} HTTP/1.0\r\nHost: {address}:{port}\r\n\r\n");
    let request = HttpRequest { head: head.as_bytes(), body: b"", is_head: false, answer_bytes_max: ANSWER_BYTES_MAX };
    let peer = HttpPeer { address: SocketAddr::from((address, port)), source: None, tls: None };
    http_call::call(peer, &request, ANSWER_MAX, &Deadline::new(ANSWER_MAX, &CancelToken::Nothing))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    use super::*;
    use crate::spec::PlaneSpec;
    use crate::spec::tests::uniform;

    #[test]
    fn a_node_serves_by_its_status_code_and_else_its_answer_is_quoted() {
        for (answer, why) in [
            ("HTTP/1.0 403 Forbidden\r\n\r\n<Error/>", None),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", None),
            (
                "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n",
                Some("node1 answers \"HTTP/1.1 503 Service Unavailable\" to GET /"),
            ),
            ("SSH-2.0-OpenSSH\r\n", Some("node1: the reply is not HTTP/1.x")),
        ] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let port = listener.local_addr().unwrap().port();
            let serving = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let expected = format!("GET / HTTP/1.0\r\nHost: 127.0.0.1:{port}\r\n\r\n");
                let mut request = vec![0; expected.len()];
                stream.read_exact(&mut request).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
                assert_eq!(request, expected.as_bytes());
            });
            let page: Page = (port, "/", |status| status < 500);
            let found = why_refused(Machine::Node(1), page, get(Ipv4Addr::LOCALHOST, port, "/"));
            assert_eq!(found.as_deref(), why, "{answer:?}");
            serving.join().unwrap();
        }
        let late = CallError::Broken(WaitEnd::Late(ANSWER_MAX).into());
        let found = why_refused(Machine::Node(1), (PORT, "/", |_| true), Err(late));
        assert_eq!(found.as_deref(), Some("node1 has not answered for 2 s"));
    }

    #[test]
    fn nodes_of_one_kind_are_a_pool_on_the_plane_among_nodes() {
        let mut spec = uniform(6, 2);
        spec.nodes[4..].iter_mut().for_each(|node| {
            node.kind = "large".to_owned();
            node.drives.truncate(1);
        });
        let drives = Path::new("/labs/lab/drives");
        let pools = minio_pools(&spec, drives);
        let [first, second] = &pools[..] else { panic!("{pools:?}") };
        assert_eq!(first, "http://10.231.1.{1...4}:9000/labs/lab/drives/drive{1...2}");
        assert_eq!(second, "http://10.231.1.{5...6}:9000/labs/lab/drives/drive{1...1}");
        spec.private = Some(PlaneSpec { mtu_bytes: 1500, vxlan: false });
        assert!(minio_pools(&spec, drives)[0].starts_with("http://10.232.1.{1...4}"));
    }
}
