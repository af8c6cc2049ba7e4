//! Flags of `linerate target`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use linerate_record::load::OwnTarget;

use crate::offered;

#[derive(Args, Debug)]
#[command(after_help = "The server ends when its standard input ends. It prints `listening ADDRESS` first, and \
 with --tls then `ca FILE`.")]
pub(crate) struct TargetFlags {
    /// Which target.
    #[arg(value_parser = offered::own_targets())]
    pub(crate) kind: OwnTarget,
    /// Address to listen on. Port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Folder in which the embedded target creates its own sub-folder, which is removed at the end. [default: a
    /// temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) drive: Option<PathBuf>,
    /// Use TLS, with a certificate created at start for localhost and --listen. The CA certificate for --ca-file is in
    /// a temporary file, which is removed at the end.
    #[arg(long)]
    pub(crate) tls: bool,
    /// Threads of the null target. [default: one per processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
}
