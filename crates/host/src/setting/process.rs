//! Limits of a process.

use std::io;

use super::file::{self, Links};
use super::namespace::InNamespace;
use super::value_text::invalid;

/// The hard limit of a name, as `/proc/PID/limits` has it.
pub(super) fn limit(in_namespace: &InNamespace<'_>, name: &str) -> io::Result<String> {
    let pid = in_namespace.pid.ok_or_else(|| invalid("limits belong to a process: name one with --pid"))?;
    let proc = file::folder(&in_namespace.root.0.join("proc"))?;
    let text = file::read(std::os::fd::AsFd::as_fd(&proc), &format!("{pid}/limits"), Links::None)?;
    hard(&text, name).ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
}

/// Soft, hard and unit follow the name, which is filled up with blanks to more than the longest; the unit may be
/// missing.
fn hard(text: &str, name: &str) -> Option<String> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name).filter(|rest| rest.starts_with("  ")))?;
    rest.split_whitespace().nth(1).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hard_limit_is_the_second_column() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max open files            1024                 524288               files     \n\
                    Max nice priority         0                    0                    \n\
                    Max locked memory         8388608              unlimited            bytes     \n";
        let cases = [
            ("Max open files", Some("524288")),
            ("Max nice priority", Some("0")),
            ("Max locked memory", Some("unlimited")),
            ("Max open", None),
            ("Max", None),
        ];
        for (name, expected) in cases {
            assert_eq!(hard(text, name).as_deref(), expected, "{name}");
        }
    }
}
