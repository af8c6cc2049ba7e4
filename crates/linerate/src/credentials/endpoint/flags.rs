//! Flags of what is loaded.

use std::path::PathBuf;

use clap::Args;
use linerate_record::load::{Choice as _, HostSelect, Lookup, OwnTarget};
use linerate_record::units::Bytes;

use crate::terminal::choice_flags;

/// The bucket, where none is named.
pub(crate) const BUCKET: &str = "linerate-bench";

#[derive(Args, Debug)]
#[command(next_help_heading = "Target")]
pub(crate) struct TargetChoice {
    /// Hosts of the S3 target: `host:port`, a comma list, `minio-{1...16}:9000`, `http://host:port`,
    /// `https://host:port` or `file:PATH` with one host per line. The default port is 80, or 443 with TLS. If a name
    /// has several addresses, the first one that accepts a connection is used. [env: WARP_HOST, AWS_ENDPOINT_URL_S3,
    /// AWS_ENDPOINT_URL]
    #[arg(long, value_name = "HOSTS")]
    pub(crate) host: Option<String>,
    /// Load every address of each host name, as separate hosts. Requests and TLS still use the name.
    #[arg(long)]
    pub(crate) resolve_host: bool,
    /// Use TLS for hosts that are given without https://, and for linerate's own target. [env: WARP_TLS]
    #[arg(long)]
    pub(crate) tls: bool,
    /// Certificates to trust in addition to the system's (which SSL_CERT_FILE and SSL_CERT_DIR replace): a PEM file
    /// with one or more certificates, of CAs or of servers. A certificate without CA:TRUE is trusted only for itself.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Accept any certificate, whatever its issuer and name. The report says so.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Local addresses to connect from, in turn; an interface stands for its first address. With one per NIC, replies
    /// of the target arrive on all NICs. The routes decide which interface sends the requests. [default: the route's]
    #[arg(long, value_name = "ADDR|INTERFACE,…")]
    pub(crate) source: Option<String>,
    /// Host, keys and lookup of an alias of mc, and optionally bucket and prefix: `MC_HOST_<NAME>`, or config.json in
    /// MC_CONFIG_DIR or ~/.mc.
    #[arg(long, value_name = "NAME[/BUCKET[/PREFIX]]", conflicts_with_all = ["host", "target", "drive"])]
    pub(crate) alias: Option<String>,
    /// One of linerate's own targets, regardless of the environment: `embedded`, a real S3 server (s3s-fs) in a
    /// separate process on this machine, or `null`, which stores nothing and shows the client ceiling. [default:
    /// embedded if no host is given]
    #[arg(long, value_parser = choice_flags::own_targets(), conflicts_with = "host")]
    pub(crate) target: Option<OwnTarget>,
    /// Folder in which the embedded target stores its objects, in a sub-folder that it creates and removes. [default: a
    /// temporary folder]
    #[arg(long, value_name = "DIR", conflicts_with = "host")]
    pub(crate) drive: Option<PathBuf>,
    /// Process on this machine whose processor time counts as the target's.
    #[arg(long, value_name = "PID")]
    pub(crate) target_pid: Option<u32>,
    /// Memory of each host of the target, such as 64GiB: shows whether reads can have come from its page cache.
    /// [default: this machine's memory if the target is on it]
    #[arg(long, value_name = "SIZE")]
    pub(crate) target_memory: Option<Bytes>,
    /// Load a target that is not on this machine without asking. An uncapped sweep can disturb production: see
    /// --max-rate.
    #[arg(long)]
    pub(crate) yes_load: bool,
    /// Bucket. If it does not exist, it is created, and removed again at the end.
    #[arg(long, default_value = BUCKET)]
    pub(crate) bucket: String,
    /// Prefix of every key that is written, before the run's own linerate-RUN-xxxxxxxx/; with --list-existing, prefix
    /// of the objects to read.
    #[arg(long, default_value = "")]
    pub(crate) prefix: String,
    /// Whether the bucket is in the path or in the host name.
    #[arg(long, value_parser = choice_flags::lookups(), default_value = Lookup::Path.name())]
    pub(crate) lookup: Lookup,
    /// How requests are distributed over several hosts.
    #[arg(long, value_parser = choice_flags::host_selects(), default_value = HostSelect::RoundRobin.name())]
    pub(crate) host_select: HostSelect,
}
