//! Flags of `linerate target`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use linerate_record::load::OwnTarget;

use crate::terminal::choice_flags;

const TARGET_HELP: &str = "\
Examples:
  linerate target null --listen 127.0.0.1:9000
      then, from another terminal: linerate bench --host 127.0.0.1:9000 --bucket b
  linerate target embedded --drive /mnt/nvme0 --listen 0.0.0.0:9000 --tls

The server ends when its standard input ends. It prints `listening ADDRESS` first, and with --tls then `ca FILE`.";

#[derive(Args, Debug)]
#[command(after_help = TARGET_HELP)]
pub(crate) struct TargetFlags {
    /// Whether it stores objects (embedded) or only answers (null).
    #[arg(value_parser = choice_flags::own_targets())]
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

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::definition::Cli;

    #[test]
    fn examples_of_the_help_parse() {
        let own = TARGET_HELP.lines().filter_map(|line| line.strip_prefix("  linerate "));
        let other = TARGET_HELP.lines().filter_map(|line| Some(line.split_once(": linerate ")?.1));
        let lines: Vec<&str> = own.chain(other).collect();
        for line in &lines {
            let words = ["linerate"].into_iter().chain(line.split_whitespace());
            Cli::try_parse_from(words).unwrap_or_else(|e| panic!("{line}: {e}"));
        }
        assert_eq!(lines.len(), 3);
    }

    #[test]
    fn the_short_help_has_an_example_and_says_what_the_kinds_are() {
        let words: Vec<String> = ["linerate", "target", "-h"].map(str::to_owned).into();
        let brief = crate::cli::short_help::short_help(&words);
        assert!(brief.contains("  linerate target null --listen "), "{brief}");
        assert!(brief.contains("stores objects (embedded) or only answers (null)"), "{brief}");
    }
}
