//! Objects of which every byte is known, written to an engine and read back, in the network of a cluster.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use linerate_load::sigv4::{Canonical, Credentials, Secret, Signer, UNSIGNED_PAYLOAD};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// Ten reads a second, each with a connection of its own: less than half of what shaped links carry.
const EVERY: Duration = Duration::from_millis(100);

/// To a connection, and to each piece of an answer: that of clients which are in no hurry.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Sizes in turn: one that the engine keeps with its description, one of a single block, one of several.
const SIZES: [usize; 3] = [16 << 10, 300 << 10, (2 << 20) + 7];

/// A client of the engine, with its keys.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) network: PathBuf,
    /// Every node, as clients that balance see it.
    pub(crate) nodes: Vec<SocketAddr>,
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) bucket: &'static str,
}

/// A read: when it began, counted from the first; the node that was asked, counted from 0; and what was wrong.
pub(crate) struct Read {
    pub(crate) at: Duration,
    pub(crate) node: usize,
    pub(crate) failed: Option<io::Error>,
}

/// The bytes of an object. None of them is another's.
fn body(number: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(number as u64 + 1);
    let mut bytes = Vec::new();
    while bytes.len() < SIZES[number % SIZES.len()] {
        // Marsaglia's xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(SIZES[number % SIZES.len()]);
    bytes
}

impl Client {
    /// Does something in the network of the client: threads that it begins are in it too.
    fn inside<T: Send>(&self, act: impl FnOnce() -> T + Send) -> io::Result<T> {
        let network = File::open(&self.network)?;
        thread::scope(|scope| {
            let inside = scope.spawn(move || {
                move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
                Ok(act())
            });
            inside.join().map_err(|_| io::Error::other("the client panicked"))?
        })
    }

    /// The body of the answer to a signed request, which has to be whole and a success.
    fn requested(&self, node: usize, method: &str, path: &str, body: &[u8]) -> io::Result<Vec<u8>> {
        let address = self.nodes[node];
        let mut connection = TcpStream::connect_timeout(&address, TIMEOUT)?;
        connection.set_read_timeout(Some(TIMEOUT))?;
        connection.set_write_timeout(Some(TIMEOUT))?;
        connection.write_all(&self.head(address, method, path, body.len()))?;
        connection.write_all(body)?;
        let mut answer = Vec::new();
        connection.read_to_end(&mut answer)?;
        let end = answer.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
        let body = answer.split_off(end.ok_or_else(|| io::Error::other("an answer without an end of its head"))?);
        let head = String::from_utf8_lossy(&answer).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        if !head.starts_with("http/1.1 200 ") || length != Some(body.len()) {
            return Err(io::Error::other(format!("{} bytes after {head}", body.len())));
        }
        Ok(body)
    }

    fn head(&self, address: SocketAddr, method: &str, path: &str, length: usize) -> Vec<u8> {
        let credentials = Credentials {
            access_key: self.user.clone(),
            secret_key: Secret::new(self.password.clone()),
            session_token: None,
            from: std::sync::Arc::default(),
        };
        let mut signer = Signer::s3(credentials, "us-east-1");
        signer.set_time(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs());
        let (host, date) = (address.to_string(), signer.amz_date().to_owned());
        let headers: [(&str, &[u8]); 3] =
            [("host", host.as_bytes()), ("x-amz-content-sha256", UNSIGNED_PAYLOAD), ("x-amz-date", date.as_bytes())];
        let request =
            Canonical { method, path: path.as_bytes(), query: b"", headers: &headers, payload_hash: UNSIGNED_PAYLOAD };
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {host}\r\nx-amz-content-sha256: UNSIGNED-PAYLOAD\r\nx-amz-date: \
             {date}\r\nconnection: close\r\ncontent-length: {length}\r\nauthorization: "
        )
        .into_bytes();
        signer.authorize(&request, &mut Vec::new(), &mut head);
        head.extend_from_slice(b"\r\n\r\n");
        head
    }

    /// Whether a node reaches enough of the others to serve.
    pub(crate) fn serves(&self, node: usize) -> bool {
        self.inside(|| self.requested(node, "GET", "/minio/health/cluster", b"").is_ok()).is_ok_and(|serves| serves)
    }

    pub(crate) fn make_bucket(&self) -> io::Result<()> {
        self.inside(|| self.requested(0, "PUT", &format!("/{}", self.bucket), b""))?.map(drop)
    }

    /// Writes these objects by these nodes in turn.
    pub(crate) fn write(&self, numbers: std::ops::Range<usize>, nodes: &[usize]) -> io::Result<()> {
        self.inside(|| {
            for (number, node) in numbers.zip(nodes.iter().cycle()) {
                self.requested(*node, "PUT", &self.path(number), &body(number))?;
            }
            Ok(())
        })?
    }

    fn path(&self, number: usize) -> String {
        format!("/{}/object-{number}", self.bucket)
    }

    /// Reads an object by a node, and compares every byte.
    fn read(&self, node: usize, number: usize) -> io::Result<()> {
        let found = self.requested(node, "GET", &self.path(number), b"")?;
        if found == body(number) { Ok(()) } else { Err(io::Error::other(format!("object {number} is another"))) }
    }

    /// Reads the first `count` objects by these nodes, each by each of them, and says which were not as written.
    pub(crate) fn lost(&self, count: usize, nodes: &[usize]) -> io::Result<Vec<String>> {
        self.inside(|| {
            let all = (0..count).flat_map(|number| nodes.iter().map(move |&node| (number, node)));
            let wrong = |(number, node)| {
                let error = self.read(node, number).err()?;
                Some(format!("object {number} by node {node}: {error}"))
            };
            all.filter_map(wrong).collect()
        })
    }

    /// Reads the first `count` objects by all nodes in turn, until told that it is enough.
    pub(crate) fn read_until(&self, count: usize, began: Instant, is_enough: &AtomicBool) -> io::Result<Vec<Read>> {
        let reading = |number: usize| {
            let (at, node) = (began.elapsed(), number % self.nodes.len());
            Read { at, node, failed: self.read(node, (number / self.nodes.len()) % count).err() }
        };
        self.inside(|| {
            thread::scope(|scope| {
                let mut reads = Vec::new();
                while !is_enough.load(Ordering::Relaxed) {
                    let number = reads.len();
                    reads.push(scope.spawn(move || reading(number)));
                    thread::sleep(EVERY);
                }
                reads.into_iter().map(|one| one.join().map_err(|_| io::Error::other("a read panicked"))).collect()
            })
        })?
    }
}
