//! Programs as they are called by hand.

use std::process::Command;

/// A program as it is called by hand, without what cargo says of this package: some build scripts would run again for
/// that, and all behind them be built again.
pub(crate) fn by_hand(program: &str) -> Command {
    let mut command = Command::new(program);
    let is_of_package = |name: &str| ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|part| name.starts_with(part));
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in names.filter(|name| is_of_package(name)) {
        command.env_remove(name);
    }
    command
}
