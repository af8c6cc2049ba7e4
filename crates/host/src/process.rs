//! `/proc/PID/stat`: what a process is, since when, and the processor time that it took.

use std::io;

use crate::clock;
use crate::root::{Root, text};

/// What the line says, as far as somebody asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    /// Its number in the PID namespace of the `/proc` that was read.
    pub(crate) pid: u32,
    /// Its program's name, of 15 characters at most.
    pub(crate) name: String,
    /// Whether it has ended, and only waits for its parent to ask how.
    pub(crate) has_ended: bool,
    /// Whether it is stopped, by a signal or by a debugger.
    pub(crate) is_stopped: bool,
    pub(crate) parent: u32,
    /// Processor time of all its threads, in clock ticks of 10 ms.
    pub(crate) ticks: u64,
    /// The same of its children that have ended and were waited for.
    pub(crate) children_ticks: u64,
    /// When it started, in clock ticks since the machine booted.
    pub(crate) started_ticks: u64,
}

/// Reads the line of a process: a number, or `self`.
pub(crate) fn process_stat(root: &Root, process: &str, bytes: &mut Vec<u8>) -> io::Result<ProcessStat> {
    let line = text(root, &format!("proc/{process}/stat"), bytes)?;
    let stat = parse_process_stat(&line).ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidData, format!("proc/{process}/stat is not the status of a process"))
    })?;
    if !root.is_live() {
        return Ok(stat);
    }
    // The kernel tells it on the clock of who reads (`fs/proc/array.c`); it is compared with what others have read.
    let started_ticks = stat.started_ticks.saturating_add_signed(-clock::shift_ms() / MS_PER_TICK);
    Ok(ProcessStat { started_ticks, ..stat })
}

/// A clock tick of `/proc`.
const MS_PER_TICK: i64 = 10;

/// The fields of `proc_pid_stat(5)`. The second, the program's name, may hold blanks and parentheses, but no other
/// field does.
fn parse_process_stat(line: &str) -> Option<ProcessStat> {
    let pid = line.split(' ').next()?.parse().ok()?;
    let (before, fields) = line.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // The first of these is field 3.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let both = |one: usize, other: usize| Some(number(one)?.saturating_add(number(other)?));
    // Children's times are signed, and the kernel has no reason to write one below 0.
    Some(ProcessStat {
        pid,
        name: before.split_once('(')?.1.to_owned(),
        has_ended: matches!(*fields.first()?, "Z" | "X" | "x"),
        is_stopped: matches!(*fields.first()?, "T" | "t"),
        parent: u32::try_from(number(4)?).ok()?,
        ticks: both(14, 15)?,
        children_ticks: both(16, 17)?,
        started_ticks: number(22)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TAIL: &str = "1 2 3 0 -1 4194304 9 0 0 0 100 20 3 4 20 0 1 0 4711 0 0";

    #[test]
    fn a_line_is_understood_whatever_the_program_is_called() {
        let expected = |name: &str| ProcessStat {
            pid: 42,
            name: name.to_owned(),
            has_ended: false,
            is_stopped: false,
            parent: 1,
            ticks: 120,
            children_ticks: 7,
            started_ticks: 4711,
        };
        for name in ["minio", "a b", ") R 1 1", "((", ""] {
            assert_eq!(parse_process_stat(&format!("42 ({name}) S {TAIL}\n")), Some(expected(name)), "{name:?}");
            let zombie = parse_process_stat(&format!("42 ({name}) Z {TAIL}\n")).unwrap();
            assert!(zombie.has_ended && !zombie.is_stopped, "{name:?}");
            let stopped = parse_process_stat(&format!("42 ({name}) T {TAIL}\n")).unwrap();
            assert!(stopped.is_stopped && !stopped.has_ended, "{name:?}");
        }
        for line in ["", "42", "42 (x) S 1 2 3", "x (x) S 1 2 3 0 -1 4194304 9 0 0 0 100 20 3 4 20 0 1 0 4711"] {
            assert_eq!(parse_process_stat(line), None, "{line:?}");
        }
    }

    #[test]
    fn this_process_is_read() {
        let read = process_stat(&Root::live(), "self", &mut Vec::new()).unwrap();
        assert_eq!((read.pid, read.has_ended), (std::process::id(), false));
        assert!(process_stat(&Root::live(), "0", &mut Vec::new()).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9]{0,3} \\([a-z )]{0,5}\\)( [SZ0-9-]{1,22}){0,24}|(?s).*") {
            parse_process_stat(&text);
        }
    }
}
