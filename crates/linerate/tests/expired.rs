//! A certificate that expires while a load runs: open connections go on, new ones are refused and counted by their
//! reason, and what could not be deleted for it is said.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use linerate_record::finding::FindingKind;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::{TempDir, tempdir};

use crate::running::{ACCESS_KEY, SECRET_KEY, Served, bench, linerate, objects, points, shown, view};

/// After so many reads the certificate is one that expires within two seconds.
const READS: u64 = 20;

/// Speaks TLS in front of a target. Its threads end with the process.
struct Front {
    port: u16,
    place: TempDir,
}

impl Front {
    fn ca(&self) -> PathBuf {
        self.place.path().join("ca.pem")
    }
}

/// What the connections of a front share.
struct Shared {
    target: String,
    keeps_connections: bool,
    issuer: CertifiedIssuer<'static, KeyPair>,
    reads: AtomicU64,
    config: Mutex<Arc<ServerConfig>>,
}

impl Shared {
    /// How TLS is spoken with a certificate that is good for so long. No session is resumed: a certificate is looked at
    /// in full handshakes alone.
    fn config(issuer: &CertifiedIssuer<'static, KeyPair>, good_for: Duration) -> Arc<ServerConfig> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later");
        let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("an address");
        params.not_after = date_time_ymd(1970, 1, 1) + Duration::from_secs((now + good_for).as_secs());
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, issuer).expect("it is signed").der().clone();
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&rustls::version::TLS13]);
        let builder = builder.expect("TLS 1.3").with_no_client_auth();
        let mut config = builder.with_single_cert(vec![certificate], key).expect("a certificate with its key");
        config.send_tls13_tickets = 0;
        Arc::new(config)
    }

    /// Hands on what one connection carries.
    fn relay(&self, socket: TcpStream) -> io::Result<()> {
        let config = Arc::clone(&self.config.lock().expect("nobody panicked"));
        let mut client = StreamOwned::new(ServerConnection::new(config).map_err(io::Error::other)?, socket);
        loop {
            let head = read_head(&mut client)?;
            if head.starts_with("GET") && self.reads.fetch_add(1, Ordering::Relaxed) == READS {
                *self.config.lock().expect("nobody panicked") = Shared::config(&self.issuer, Duration::from_secs(1));
            }
            let mut target = TcpStream::connect(&self.target)?;
            target.write_all(with_line(&head, "Connection: close").as_bytes())?;
            io::copy(&mut Read::by_ref(&mut client).take(length(&head).unwrap_or(0)), &mut target)?;
            let reply = read_head(&mut target)?;
            let kept: String = reply.split_inclusive("\r\n").filter(|line| !is_named(line, "connection:")).collect();
            let ends = !self.keeps_connections || length(&reply).is_none() && !reply.contains(" 204 ");
            let sent = if ends { with_line(&kept, "Connection: close") } else { kept };
            client.write_all(sent.as_bytes())?;
            if !head.starts_with("HEAD") {
                io::copy(&mut target, &mut client)?;
            }
            client.flush()?;
            if ends {
                client.conn.send_close_notify();
                client.flush()?;
                client.sock.shutdown(std::net::Shutdown::Write)?;
                return client.read_to_end(&mut Vec::new()).map(|_| ());
            }
        }
    }
}

fn front(target: &Served, keeps_connections: bool) -> Front {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate().expect("a key")).expect("it is signed");
    let front = tempdir().expect("a folder");
    std::fs::write(front.path().join("ca.pem"), issuer.pem()).expect("a file");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let front = Front { port: listener.local_addr().expect("it is bound").port(), place: front };
    let config = Mutex::new(Shared::config(&issuer, Duration::from_secs(86_400)));
    let (target, reads) = (target.address.clone(), AtomicU64::new(0));
    let shared = Arc::new(Shared { target, keeps_connections, issuer, reads, config });
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let shared = Arc::clone(&shared);
            // What goes wrong is for the client to tell.
            std::thread::spawn(move || drop(shared.relay(socket)));
        }
    });
    front
}

fn read_head(stream: &mut impl Read) -> io::Result<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

fn is_named(line: &str, name: &str) -> bool {
    line.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name))
}

fn length(head: &str) -> Option<u64> {
    let name = "content-length:";
    head.lines().find(|line| is_named(line, name)).and_then(|line| line[name.len()..].trim().parse().ok())
}

/// A head with one line more.
fn with_line(head: &str, line: &str) -> String {
    format!("{}{line}\r\n\r\n", head.strip_suffix("\r\n").unwrap_or(head))
}

/// Loads a target through a front whose certificate expires midway, and clears what is left. `judge` sees the run and
/// what was printed.
fn expired_midway(keeps_connections: bool, judge: impl Fn(&linerate_analysis::view::View, &std::process::Output)) {
    let (drive, out) = (tempdir().expect("a folder"), tempdir().expect("a folder"));
    let target = Served::embedded(drive.path());
    let front = front(&target, keeps_connections);
    let folder = out.path().join("run");
    let flags = format!(
        "--host https://127.0.0.1:{} --ca-file {} --op get --obj.size 4KiB --objects 8 --concurrent 2 --warmup 100ms \
         --duration 6s --no-ceiling",
        front.port,
        front.ca().display()
    );
    let output = bench(&folder, &flags);
    let view = view(&folder);
    judge(&view, &output);
    let left = view.findings.iter().find(|found| found.kind == FindingKind::LeftBehind).expect("objects are left");
    assert!(left.evidence.contains("certificate expired"), "{left:?}");
    assert_eq!(objects(&target).len(), 8, "{}", shown(&output));
    let mut clean = linerate();
    clean.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    let cleaned = clean.args(["clean", "--insecure"]).arg(&folder).output().expect("it runs");
    assert!(cleaned.status.success(), "{}", shown(&cleaned));
    assert_eq!(objects(&target), Vec::<String>::new());
}

#[test]
fn failed_handshakes_with_a_certificate_that_expired_midway_are_named_as_such() {
    expired_midway(false, |view, output| {
        let point = points(view)[0];
        assert!(point.requests > 0 && point.errors.contains_key("tls: certificate expired"), "{:?}", point.errors);
        assert_eq!(point.errors.len(), 1, "{:?}", point.errors);
        let found = |kind| view.findings.iter().find(|found| found.kind == kind).expect("a finding");
        let (failed, lost) = (found(FindingKind::RequestErrors), found(FindingKind::TargetLost));
        assert!(failed.remedy.contains("openssl s_client"), "{failed:?}");
        assert!(lost.claim.contains("tls: certificate expired") && lost.remedy.contains("openssl"), "{lost:?}");
        assert_eq!(output.status.code(), Some(4), "{}", shown(output));
    });
}

#[test]
fn open_connections_outlive_the_certificate_that_they_began_with() {
    expired_midway(true, |view, output| {
        let point = points(view)[0];
        assert!(point.requests > 0 && point.error_count() == 0, "{:?}", point.errors);
        assert!(shown(output).contains("certificate expired"), "{}", shown(output));
    });
}
