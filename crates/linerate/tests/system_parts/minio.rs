//! A single-node MinIO with four folders, built from the Go module proxy; its path is in `MINIO`.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use libtest_mimic::Failed;
use linerate_analysis::view::View;
use tempfile::TempDir;

use super::Namespaces;
use crate::running::{bench_with, eventually, shown, view};

const USER: &str = "linerate-tests";
const PASSWORD: &str = "a-password-for-tests";

/// A running MinIO.
pub(crate) struct Minio {
    command: Command,
    child: Child,
    pub(crate) address: String,
    drives: TempDir,
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
        eventually("MinIO to be ready", || {
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
        let minio = Minio { command, child, address: format!("{host}:{port}"), drives };
        // Its health says "ready" before it is: until then, every call gets a 503, and an unsigned one a 403 from then
        // on.
        if host == "127.0.0.1" {
            eventually("MinIO to be ready", || minio.get("/").is_some_and(|a| a.contains(" 403 ")));
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
        vec![("AWS_ACCESS_KEY_ID", USER.to_owned()), ("AWS_SECRET_ACCESS_KEY", PASSWORD.to_owned())]
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
    pub(crate) fn uploads(&self, bucket: &str) -> String {
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

    /// Reads the metrics once they no longer change: MinIO keeps them for some seconds.
    pub(crate) fn counters(&self, bucket: &str) -> Counters {
        let (mut before, mut same) = (String::new(), 0);
        let mut text = String::new();
        eventually("MinIO's metrics to settle", || {
            let bucket_metrics = self.get("/minio/v2/metrics/bucket").unwrap_or_default();
            text = format!("{bucket_metrics}{}", self.get("/minio/v2/metrics/cluster").unwrap_or_default());
            let told = lines_of(&text, "minio_bucket_traffic") + &lines_of(&text, "minio_s3_requests_total");
            same = if !told.is_empty() && told == before { same + 1 } else { 0 };
            before = told;
            std::thread::sleep(Duration::from_millis(500));
            same >= 12
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

/// By coreutils: curl signs the hash that its caller names.
fn sha256(text: &str) -> String {
    let mut child = Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("coreutils");
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    String::from_utf8_lossy(&output.stdout).split(' ').next().unwrap_or_default().to_owned()
}

fn program() -> std::ffi::OsString {
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
