//! A server that speaks as much of Kubernetes' API as reaching pods takes, over TLS, and misbehaves as it is told.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, Issuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;
use tungstenite::handshake::derive_accept_key;
use tungstenite::protocol::Role;
use tungstenite::{Message, WebSocket};

type Tls = StreamOwned<ServerConnection, TcpStream>;

/// A request whose head was read.
pub(crate) struct Call {
    /// `GET`.
    pub(crate) method: String,
    pub(crate) path: String,
    /// Lower-case names.
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    tls: Tls,
}

/// A server. It ends with the test's process.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    folder: TempDir,
    authority_pem: String,
}

impl Server {
    /// Starts one that has each request answered by this.
    pub(crate) fn start(answer: impl Fn(Call) + Send + Sync + 'static) -> Server {
        let (authority_pem, config) = identity();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a server for tests");
        let address = listener.local_addr().expect("a server for tests");
        let answer = Arc::new(answer);
        thread::spawn(move || {
            for tcp in listener.incoming() {
                let (answer, config) = (Arc::clone(&answer), Arc::clone(&config));
                thread::spawn(move || {
                    let Ok(tcp) = tcp else { return };
                    let connection = ServerConnection::new(config).expect("a server for tests");
                    // A request after the other, as long as they are answered at once.
                    if let Some(call) = Call::read(StreamOwned::new(connection, tcp)) {
                        answer(call);
                    }
                });
            }
        });
        Server { address, folder: tempfile::tempdir().expect("a server for tests"), authority_pem }
    }

    /// A kubeconfig that leads to it, with a context `test`. `user` is what it says of the user, as YAML.
    pub(crate) fn kubeconfig(&self, user: &str) -> PathBuf {
        self.kubeconfig_for(&format!("https://{}", self.address), &self.authority_pem, user)
    }

    /// The same with another address or authority.
    pub(crate) fn kubeconfig_for(&self, server: &str, authority_pem: &str, user: &str) -> PathBuf {
        let authority = self.folder.path().join("ca.pem");
        fs::write(&authority, authority_pem).expect("a server for tests");
        let path = self.folder.path().join("kubeconfig");
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
             clusters: [{{name: c, cluster: {{server: '{server}', certificate-authority: '{}'}}}}]\n\
             users: [{{name: u, user: {user}}}]\n\
             contexts: [{{name: test, context: {{cluster: c, user: u}}}}]\n",
            authority.display()
        );
        fs::write(&path, text).expect("a server for tests");
        path
    }
}

/// An authority of its own, as PEM.
pub(crate) fn authority() -> (String, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().expect("a server for tests");
    let mut params = CertificateParams::new(Vec::new()).expect("a server for tests");
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).expect("a server for tests");
    (certificate.pem(), Issuer::new(params, key))
}

fn identity() -> (String, Arc<ServerConfig>) {
    let (authority_pem, issuer) = authority();
    let key = KeyPair::generate().expect("a server for tests");
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("a server for tests");
    let certificate = params.signed_by(&key, &issuer).expect("a server for tests");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("a server for tests");
    let private = PrivateKeyDer::try_from(key.serialize_der()).expect("a server for tests");
    let config = config.with_no_client_auth().with_single_cert(vec![certificate.der().clone()], private);
    (authority_pem, Arc::new(config.expect("a server for tests")))
}

impl Call {
    fn read(tls: Tls) -> Option<Call> {
        let mut reader = BufReader::with_capacity(1, tls);
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut words = line.split(' ').map(str::to_owned);
        let (method, path) = (words.next()?, words.next()?);
        let mut headers = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.push((name.to_lowercase(), value.to_owned()));
        }
        let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, n)| n.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        Some(Call { method, path, headers, body, tls: reader.into_inner() })
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// Answers with a document.
    pub(crate) fn json(mut self, code: u16, document: &str) {
        let head = format!(
            "HTTP/1.1 {code} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            document.len()
        );
        let _ = self.tls.write_all(head.as_bytes()).and_then(|()| self.tls.write_all(document.as_bytes()));
        let _ = self.tls.flush();
        self.tls.conn.send_close_notify();
        let _ = self.tls.flush();
    }

    /// Answers with an address.
    pub(crate) fn redirect(mut self, location: &str) {
        let head = format!("HTTP/1.1 302 X\r\nlocation: {location}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        let _ = self.tls.write_all(head.as_bytes()).and_then(|()| self.tls.flush());
    }

    /// Answers with a document that does not end, until nobody takes it.
    pub(crate) fn endless(mut self, code: u16) {
        let head = format!("HTTP/1.1 {code} X\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n[");
        let mut sent = self.tls.write_all(head.as_bytes());
        let piece = b"0,".repeat(32 << 10);
        while sent.is_ok() {
            sent = self.tls.write_all(&piece);
        }
    }

    /// Refuses, as the API server does.
    pub(crate) fn refuse(self, code: u16, reason: &str, message: &str) {
        let message = message.replace('"', "\\\"");
        self.json(
            code,
            &format!(
                r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure","message":"{message}",
                "reason":"{reason}","code":{code}}}"#
            ),
        );
    }

    /// Says nothing, for so long.
    pub(crate) fn freeze(self, within: Duration) {
        thread::sleep(within);
        drop(self);
    }

    /// Begins an exec in this version of the subprotocol.
    pub(crate) fn exec(mut self, protocol: &str) -> Exec {
        let accept = derive_accept_key(self.header("sec-websocket-key").as_bytes());
        let head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
             sec-websocket-accept: {accept}\r\nsec-websocket-protocol: {protocol}\r\n\r\n"
        );
        let _ = self.tls.write_all(head.as_bytes()).and_then(|()| self.tls.flush());
        let _ = self.tls.sock.set_read_timeout(Some(Duration::from_millis(20)));
        Exec { socket: WebSocket::from_raw_socket(self.tls, Role::Server, None), pings: 0, is_over: false }
    }
}

/// The server's side of an exec.
pub(crate) struct Exec {
    pub(crate) socket: WebSocket<Tls>,
    pub(crate) pings: u32,
    pub(crate) is_over: bool,
}

impl Exec {
    /// Writes to a channel.
    pub(crate) fn send(&mut self, channel: u8, bytes: &[u8]) {
        for piece in bytes.chunks(32 << 10) {
            let message = Message::Binary([&[channel][..], piece].concat().into());
            let until = Instant::now() + Duration::from_secs(5);
            let mut sent = self.socket.send(message);
            while matches!(&sent, Err(tungstenite::Error::Io(error)) if waits(error)) && Instant::now() < until {
                sent = self.socket.flush();
            }
            self.is_over |= sent.is_err();
        }
    }

    /// What came on standard input within a moment; nothing where nothing did.
    pub(crate) fn received(&mut self) -> Vec<u8> {
        match self.socket.read() {
            Ok(Message::Binary(bytes)) if bytes.first() == Some(&0) => return bytes[1..].to_vec(),
            Ok(Message::Ping(_)) => self.pings += 1,
            Ok(Message::Close(_)) => self.is_over = true,
            Ok(_) => {}
            Err(tungstenite::Error::Io(error)) if waits(&error) => {}
            Err(_) => self.is_over = true,
        }
        Vec::new()
    }

    /// Ends it as a process that ended with a code.
    pub(crate) fn ended(&mut self, code: i32) {
        let status = if code == 0 {
            r#"{"metadata":{},"status":"Success"}"#.to_owned()
        } else {
            format!(
                r#"{{"metadata":{{}},"status":"Failure","message":"command terminated with non-zero exit code",
                "reason":"NonZeroExitCode","details":{{"causes":[{{"reason":"ExitCode","message":"{code}"}}]}}}}"#
            )
        };
        self.failed(&status);
    }

    /// Ends it with a status.
    pub(crate) fn failed(&mut self, status: &str) {
        self.send(3, status.as_bytes());
        // What is unread when a socket is closed takes what was written with it.
        let until = Instant::now() + Duration::from_secs(5);
        while !self.is_over && Instant::now() < until {
            self.received();
        }
    }
}

fn waits(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
