//! A MinIO of four nodes with one drive each, whose links are shaped: a cluster on one machine.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use libtest_mimic::Failed;
use linerate_analysis::view::View;

use super::minio::{keys, program};
use super::wrapped;
use crate::running::{bench_command, eventually_within, shown, view};

/// Nodes of the cluster, numbered from 1.
pub(crate) const NODES: u32 = 4;

/// Every node, as linerate takes hosts.
pub(crate) const ALL_HOSTS: &str = "10.231.78.{1...4}:9000";

/// The cluster; gone with the value, and with the process too, however it ends.
pub(crate) struct Cluster {
    /// `unshare`, around the script.
    child: Child,
}

impl Cluster {
    /// Makes it, with links that are not shaped, and waits until every node serves.
    pub(crate) fn start() -> Self {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]);
        command.args(["sh", "-c", include_str!("cluster.sh")]);
        command.env("MINIO", program()).env("MINIO_CI_CD", "1").env("MINIO_BROWSER", "off").env("MINIO_UPDATE", "off");
        command.env("MINIO_ROOT_USER", &keys()[0].1).env("MINIO_ROOT_PASSWORD", &keys()[1].1);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("unshare runs");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
        let cluster = Cluster { child };
        assert_eq!(line.trim(), "joined", "the script of the cluster failed");
        let serves = |node: u32| {
            let answers = |path: &str, status: &str| {
                let mut curl = Command::new("curl");
                curl.args(["--silent", "--include", "--max-time", "2", &format!("http://{}{path}", host(node))]);
                cluster.in_client(&curl).output().is_ok_and(|o| shown(&o).contains(status))
            };
            // Until a node is ready, every call gets a 503, and an unsigned one a 403 from then on; its health is that
            // of the drives which it reaches.
            answers("/", " 403 ") && answers("/minio/health/cluster", " 200 ")
        };
        eventually_within(Duration::from_secs(90), "every node to serve", || (1..=NODES).all(&serves));
        cluster
    }

    /// Shapes the links of all nodes, in both directions.
    pub(crate) fn shape_all(&self, rate_bits_per_s: u64) {
        (1..=NODES).for_each(|node| self.shape(node, rate_bits_per_s));
    }

    /// Shapes the link of one node: what it sends at its end, and what it receives at the switch's.
    pub(crate) fn shape(&self, node: u32, rate_bits_per_s: u64) {
        for (space, device) in [(format!("node{node}"), "eth0".to_owned()), ("switch".into(), format!("to-node{node}"))]
        {
            // A bucket of 10 ms at 200 Mb/s: what a sender on a busy machine misses while it waits for a processor.
            let bucket = format!("root tbf rate {rate_bits_per_s}bit burst 256kb latency 50ms");
            let mut tc = Command::new("tc");
            tc.args(["-n", &space, "qdisc", "replace", "dev", &device]).args(bucket.split(' '));
            let output = wrapped(self.inside(), &tc).output().expect("nsenter runs");
            assert!(output.status.success(), "{tc:?}: {}", shown(&output));
        }
    }

    /// A bench in the client's namespace, which must end well within two minutes.
    pub(crate) fn bench(&self, folder: &Path, flags: &str) -> Result<View, Failed> {
        let mut limited = Command::new("timeout");
        limited.arg("120");
        let limited = wrapped(limited, &bench_command(folder, &format!("{flags} --yes-load --no-ceiling"), &keys()));
        let output: Output = self.in_client(&limited).output()?;
        if output.status.success() { Ok(view(folder)) } else { Err(format!("{flags}: {}", shown(&output)).into()) }
    }

    fn in_client(&self, inner: &Command) -> Command {
        let mut outer = self.inside();
        outer.args(["ip", "netns", "exec", "client"]);
        wrapped(outer, inner)
    }

    /// A command that sees the network namespaces by their names; the program comes next.
    fn inside(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.child.id().to_string(), "--mount"]).stdin(Stdio::null());
        command
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Where a node serves.
pub(crate) fn host(node: u32) -> String {
    format!("10.231.78.{node}:9000")
}
