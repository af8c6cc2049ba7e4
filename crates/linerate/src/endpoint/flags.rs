//! Flags of what is loaded.

use std::path::PathBuf;

use clap::Args;
use linerate_record::load::{Choice as _, HostSelect, Lookup, OwnTarget};
use linerate_record::units::Bytes;

use crate::offered;

/// The bucket, where none is named.
pub(crate) const BUCKET: &str = "linerate-bench";

#[derive(Args, Debug)]
#[command(next_help_heading = "Target")]
pub(crate) struct TargetChoice {
    /// Hosts of the S3 target: `host:port`, a comma list, `minio-{1...16}:9000`, `http://host:port`,
    /// `https://host:port` or `file:PATH` with one a line. The port is 80, or 443 with TLS, where none is given; of a
    /// name with several addresses, the first that takes a connection is loaded.
    /// [env: WARP_HOST, AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL]
    #[arg(long, value_name = "HOSTS")]
    pub(crate) host: Option<String>,
    /// Load every address of each host name, as hosts of their own; the name stays in requests and in TLS.
    #[arg(long)]
    pub(crate) resolve_host: bool,
    /// Speak TLS with hosts that are named without https://, or with linerate's own target. [env: WARP_TLS]
    #[arg(long)]
    pub(crate) tls: bool,
    /// Certificates to believe beside the system's (which SSL_CERT_FILE and SSL_CERT_DIR replace): a PEM file with one
    /// or more, of authorities or of servers themselves. One that is no authority's (CA:TRUE) stands for itself alone.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Believe any certificate, whoever issued it and for whatever name. The report says so.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Local addresses, or interfaces for their first address, that connections are made from in turn: one per NIC, so
    /// that all are used where the target's replies go back to where requests came from. Which interface requests leave
    /// by is for the routes to say. [default: the route's]
    #[arg(long, value_name = "ADDR|INTERFACE,…")]
    pub(crate) source: Option<String>,
    /// Host, keys and lookup of an alias of mc, and bucket and prefix where named: `MC_HOST_<NAME>`, or config.json in
    /// MC_CONFIG_DIR or ~/.mc.
    #[arg(long, value_name = "NAME[/BUCKET[/PREFIX]]", conflicts_with_all = ["host", "target", "drive"])]
    pub(crate) alias: Option<String>,
    /// A target of linerate's own, whatever the environment names: `embedded`, a real S3 server (s3s-fs) in a process
    /// of its own on this machine, or `null`, which stores nothing and shows the client ceiling. [default: embedded
    /// where no host is named]
    #[arg(long, value_parser = offered::own_targets(), conflicts_with = "host")]
    pub(crate) target: Option<OwnTarget>,
    /// Folder in which the embedded target keeps its objects, in a sub-folder that it makes and removes. [default: a
    /// temporary folder]
    #[arg(long, value_name = "DIR", conflicts_with = "host")]
    pub(crate) drive: Option<PathBuf>,
    /// Process on this machine whose processor time is that of the target.
    #[arg(long, value_name = "PID")]
    pub(crate) target_pid: Option<u32>,
    /// Memory of each host of the target, such as 64GiB: says whether what is read can have come from its page cache.
    /// [default: this machine's where the target is on it]
    #[arg(long, value_name = "SIZE")]
    pub(crate) target_memory: Option<Bytes>,
    /// Load a target that is not on this machine without asking. An unbounded sweep can hurt production: see
    /// --max-rate.
    #[arg(long)]
    pub(crate) yes_load: bool,
    /// Bucket. Made where it does not exist, and then removed again at the end.
    #[arg(long, default_value = BUCKET)]
    pub(crate) bucket: String,
    /// What every key written begins with, before the run's own linerate-RUN-xxxxxxxx/; with --list-existing, what
    /// those of the objects to read begin with.
    #[arg(long, default_value = "")]
    pub(crate) prefix: String,
    /// Whether the bucket is named in the path or in the host name.
    #[arg(long, value_parser = offered::lookups(), default_value = Lookup::Path.name())]
    pub(crate) lookup: Lookup,
    /// How requests are shared over several hosts.
    #[arg(long, value_parser = offered::host_selects(), default_value = HostSelect::RoundRobin.name())]
    pub(crate) host_select: HostSelect,
}
