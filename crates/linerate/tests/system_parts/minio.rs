//! A single-node MinIO with four folders, built from the Go module proxy; its path is in `MINIO`.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use libtest_mimic::Failed;
use linerate_analysis::view::View;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use tempfile::TempDir;

use super::Namespaces;
use crate::running::{bench_with, eventually_within, shown, view};

/// How long it may take to begin, and to tell what it did: both are its own, and not what is tested.
const LONG_TIMEOUT: Duration = Duration::from_secs(120);

const USER: &str = "linerate-tests";
const PASSWORD: &str = "a-password-for-tests";

/// A running MinIO.
pub(crate) struct Minio {
    command: Command,
    child: Child,
    pub(crate) address: String,
    drives: TempDir,
    /// Certificate of the authority that vouches for it, where it speaks TLS.
    pub(crate) ca: Option<PathBuf>,
    /// Where it has its key from.
    certificates: Option<TempDir>,
}

/// What MinIO's own metrics say.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) gets: u64,
    pub(crate) puts: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) received_bytes: u64,
}

impl Minio {
    pub(crate) fn start(environment: &[(&str, &str)]) -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port");
        Self::launch(Command::new(program()), "127.0.0.1", free.port(), environment)
    }

    /// Over TLS, as `localhost` and 127.0.0.1.
    pub(crate) fn start_tls() -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port");
        let certificates = tempfile::tempdir().expect("a folder");
        let ca = write_identity(certificates.path());
        let mut command = Command::new(program());
        command.arg("--certs-dir").arg(certificates.path());
        let mut minio = Self::launch(command, "127.0.0.1", free.port(), &[]);
        eventually_within(LONG_TIMEOUT, "MinIO to be ready", || {
            let mut curl = Command::new("curl");
            curl.args(["--silent", "--include", "--cacert"]).arg(&ca);
            curl.arg(format!("https://{}/", minio.address)).output().is_ok_and(|o| shown(&o).contains(" 403 "))
        });
        minio.ca = Some(ca);
        minio.certificates = Some(certificates);
        minio
    }

    /// On every address of this machine, 127.0.0.2 among them.
    pub(crate) fn start_everywhere() -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port");
        Self::launch(Command::new(program()), "", free.port(), &[])
    }

    /// In the server's namespace.
    pub(crate) fn start_in(spaces: &Namespaces) -> Self {
        let mut command = spaces.in_server();
        command.arg(program());
        let minio = Self::launch(command, &spaces.server_address, 9000, &[]);
        eventually_within(LONG_TIMEOUT, "MinIO to be ready", || {
            let mut curl = spaces.in_server();
            curl.args(["curl", "--silent", "--include", &format!("http://{}/", minio.address)]);
            curl.output().is_ok_and(|o| shown(&o).contains(" 403 "))
        });
        minio
    }

    fn launch(mut command: Command, bind: &str, port: u16, environment: &[(&str, &str)]) -> Self {
        let drives = tempfile::tempdir().expect("a folder");
        command.args(["server", "--quiet", "--address", &format!("{bind}:{port}")]);
        for drive in 1..=4 {
            let folder = drives.path().join(format!("d{drive}"));
            std::fs::create_dir(&folder).expect("a folder");
            command.arg(folder);
        }
        // Four folders of one drive are fine for a test, and refused otherwise.
        command.env("MINIO_CI_CD", "1").env("MINIO_PROMETHEUS_AUTH_TYPE", "public");
        command.env("MINIO_ROOT_USER", USER).env("MINIO_ROOT_PASSWORD", PASSWORD).envs(environment.iter().copied());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("MinIO starts");
        let host = if bind.is_empty() { "127.0.0.1" } else { bind };
        let address = format!("{host}:{port}");
        let minio = Minio { command, child, address, drives, ca: None, certificates: None };
        // Its health says "ready" before it is: until then, every call gets a 503, and an unsigned one a 403 from then
        // on.
        if host == "127.0.0.1" {
            let ready = |answer: String| answer.contains(" 403 ") || answer.contains("HTTPS server");
            eventually_within(LONG_TIMEOUT, "MinIO to be ready", || minio.get("/").is_some_and(ready));
        }
        minio
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills the server; its drives stay.
    pub(crate) fn stop(&mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it ends");
    }

    /// Starts it again, at the same address.
    pub(crate) fn go_on(&mut self) {
        self.child = self.command.spawn().expect("MinIO starts");
    }

    pub(crate) fn keys(&self) -> Vec<(&'static str, String)> {
        keys()
    }

    /// A bench that must end well.
    pub(crate) fn bench(&self, folder: &Path, flags: &str) -> Result<View, Failed> {
        let output = bench_with(folder, flags, &self.keys());
        if output.status.success() { Ok(view(folder)) } else { Err(format!("{flags}: {}", shown(&output)).into()) }
    }

    /// Folders of objects in a bucket, as one drive has them.
    pub(crate) fn objects(&self, bucket: &str) -> Vec<String> {
        let files = crate::running::files_below(&self.drives.path().join("d1").join(bucket));
        files.into_iter().filter(|f| f.ends_with("xl.meta")).collect()
    }

    /// Files of multipart uploads that are neither completed nor aborted, as one drive has them.
    pub(crate) fn uploads(&self) -> Vec<String> {
        crate::running::files_below(&self.drives.path().join("d1/.minio.sys/multipart"))
    }

    /// Sends a body in a plain chunk with a CRC-32C behind it; returns whether it was taken.
    pub(crate) fn put_with_trailer(&self, path: &str, body: &str, checksum: &str) -> bool {
        let chunks = format!("{:x}\r\n{body}\r\n0\r\nx-amz-checksum-crc32c:{checksum}\r\n\r\n", body.len());
        let mut command = Command::new("curl");
        command.args(["--silent", "--fail-with-body", "--aws-sigv4", "aws:amz:us-east-1:s3", "--user"]);
        command.args([&format!("{USER}:{PASSWORD}"), "-X", "PUT", "--data-binary", &chunks]);
        for header in [
            "x-amz-content-sha256: STREAMING-UNSIGNED-PAYLOAD-TRAILER",
            &format!("x-amz-decoded-content-length: {}", body.len()),
            "x-amz-trailer: x-amz-checksum-crc32c",
            "Content-Encoding: aws-chunked",
            "Content-Type: application/octet-stream",
        ] {
            command.args(["-H", header]);
        }
        command.arg(format!("http://{}/{path}", self.address)).output().expect("curl runs").status.success()
    }

    pub(crate) fn has_bucket(&self, bucket: &str) -> bool {
        self.drives.path().join("d1").join(bucket).exists()
    }

    pub(crate) fn make_bucket(&self, bucket: &str) {
        self.curl(&["-X", "PUT", &format!("http://{}/{bucket}", self.address)], "s3");
    }

    pub(crate) fn make_versioned_bucket(&self, bucket: &str) {
        self.make_bucket(bucket);
        self.put(
            &format!("{bucket}?versioning="),
            "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>",
        );
    }

    /// Begins a multipart upload and leaves it.
    pub(crate) fn begin_upload(&self, path: &str) {
        self.curl(&["-X", "POST", &format!("http://{}/{path}?uploads=", self.address)], "s3");
    }

    /// Unfinished uploads of a bucket, as XML.
    pub(crate) fn listed_uploads(&self, bucket: &str) -> String {
        self.curl(&[&format!("http://{}/{bucket}?uploads=", self.address)], "s3")
    }

    /// A bucket that anyone may list and read, with so many objects of 1000 bytes.
    pub(crate) fn make_public_bucket(&self, bucket: &str, objects: u32) {
        self.make_bucket(bucket);
        let policy = format!(
            r#"{{"Version":"2012-10-17","Statement":[{{"Effect":"Allow","Principal":{{"AWS":["*"]}},
            "Action":["s3:GetObject","s3:ListBucket"],
            "Resource":["arn:aws:s3:::{bucket}","arn:aws:s3:::{bucket}/*"]}}]}}"#
        );
        self.put(&format!("{bucket}?policy="), &policy);
        for i in 0..objects {
            self.put(&format!("{bucket}/o{i}"), &"x".repeat(1_000));
        }
    }

    pub(crate) fn put(&self, path: &str, body: &str) {
        let hash = format!("x-amz-content-sha256: {}", sha256(body));
        self.curl(&["-X", "PUT", "-H", &hash, "-d", body, &format!("http://{}/{path}", self.address)], "s3");
    }

    /// Temporary credentials: access key, secret key and session token.
    pub(crate) fn assume_role(&self) -> (String, String, String) {
        let ask = "Action=AssumeRole&Version=2011-06-15&DurationSeconds=3600";
        let answer = self.curl(&["-X", "POST", "-d", ask, &format!("http://{}/", self.address)], "sts");
        let field = |name: &str| {
            let (_, rest) = answer.split_once(&format!("<{name}>")).expect("a field");
            rest.split_once("</").expect("its end").0.to_owned()
        };
        (field("AccessKeyId"), field("SecretAccessKey"), field("SessionToken"))
    }

    /// A signed call by another implementation of SigV4: curl's.
    fn curl(&self, arguments: &[&str], service: &str) -> String {
        let sign = format!("aws:amz:us-east-1:{service}");
        let user = format!("{USER}:{PASSWORD}");
        let mut command = Command::new("curl");
        command.args(["--silent", "--show-error", "--fail-with-body", "--aws-sigv4", &sign, "--user", &user]);
        let output = command.args(arguments).output().expect("curl runs");
        assert!(output.status.success(), "curl {arguments:?}: {}", shown(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Reads the metrics once they no longer change: MinIO keeps them for ten seconds.
    pub(crate) fn counters(&self, bucket: &str) -> Counters {
        let (mut before, mut same) = (String::new(), 0);
        let mut text = String::new();
        // Twelve seconds without a change: MinIO keeps them for ten. Of an answer that did not come in time, nothing
        // follows.
        eventually_within(LONG_TIMEOUT, "MinIO's metrics to settle", || {
            let bucket_metrics = self.get("/minio/v2/metrics/bucket").unwrap_or_default();
            text = format!("{bucket_metrics}{}", self.get("/minio/v2/metrics/cluster").unwrap_or_default());
            let reported = lines_of(&text, "minio_bucket_traffic") + &lines_of(&text, "minio_s3_requests_total");
            same = if !reported.is_empty() && reported == before { same + 1 } else { 0 };
            before = reported;
            std::thread::sleep(Duration::from_millis(500));
            same >= 24
        });
        let value = |name: &str, label: &str| {
            let line = text.lines().find(|l| l.starts_with(name) && l.contains(label));
            line.and_then(|l| l.rsplit(' ').next()).and_then(|v| v.parse::<f64>().ok()).map_or(0, |v| v as u64)
        };
        let of_bucket = format!("bucket=\"{bucket}\"");
        Counters {
            gets: value("minio_s3_requests_total", "api=\"getobject\""),
            puts: value("minio_s3_requests_total", "api=\"putobject\""),
            sent_bytes: value("minio_bucket_traffic_sent_bytes", &of_bucket),
            received_bytes: value("minio_bucket_traffic_received_bytes", &of_bucket),
        }
    }

    fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.address).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }
}

/// Makes an authority and a certificate as MinIO reads it; returns the file with the authority's.
fn write_identity(folder: &Path) -> PathBuf {
    let mut authority = CertificateParams::default();
    authority.distinguished_name.push(DnType::CommonName, "an authority for tests");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    let authority =
        CertifiedIssuer::self_signed(authority, KeyPair::generate().expect("a key")).expect("a certificate");
    let own = CertificateParams::new(vec!["localhost".into(), "127.0.0.1".into()]).expect("names");
    let key = KeyPair::generate().expect("a key");
    let certificate = own.signed_by(&key, &authority).expect("a certificate");
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("the folder takes it");
        folder.join(name)
    };
    write("public.crt", &certificate.pem());
    write("private.key", &key.serialize_pem());
    // Beside the folder's own files: MinIO would read others as its own.
    std::fs::create_dir(folder.join("ca")).expect("a folder");
    write("ca/authority.pem", &authority.pem())
}

/// By coreutils: curl signs the hash that its caller names.
fn sha256(text: &str) -> String {
    let mut child = Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("coreutils");
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8_lossy(&output.stdout).split(' ').next().unwrap_or_default().to_owned()
}

/// The keys of every MinIO of the tests, as a client takes them.
pub(super) fn keys() -> Vec<(&'static str, String)> {
    vec![("AWS_ACCESS_KEY_ID", USER.to_owned()), ("AWS_SECRET_ACCESS_KEY", PASSWORD.to_owned())]
}

pub(super) fn program() -> std::ffi::OsString {
    std::env::var_os("MINIO").expect("MINIO names the server's binary")
}

fn lines_of(text: &str, name: &str) -> String {
    text.lines().filter(|l| l.starts_with(name)).collect::<Vec<_>>().join("\n")
}

impl Drop for Minio {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
