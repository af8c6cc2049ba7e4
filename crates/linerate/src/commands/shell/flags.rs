//! Flags of `linerate completions` and `linerate man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

#[derive(Args, Debug)]
#[command(after_help = "For bash: linerate completions bash > /etc/bash_completion.d/linerate, or\n  \
                        source <(linerate completions bash)")]
pub(crate) struct CompletionsFlags {
    /// Shell to write completions for.
    #[arg(value_enum, value_name = "SHELL")]
    pub(super) shell: Shell,
}

#[derive(Args, Debug)]
#[command(after_help = "To read one: linerate man -o pages && man pages/linerate-bench.1")]
pub(crate) struct ManFlags {
    /// Folder for one page per command, created if it does not exist. [default: the page of linerate itself, to
    /// standard output]
    #[arg(long, short, value_name = "DIR")]
    pub(super) output: Option<PathBuf>,
}
