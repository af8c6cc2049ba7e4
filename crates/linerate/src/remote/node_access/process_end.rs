//! What ended a process, by its status and by what it said, and what to do about it.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use linerate_fleet::node_reach::NodeReach;
use rustix::process::Signal;

/// A shell ends with this number and that of the signal that ended its command.
const SIGNAL_EXIT_OFFSET: i32 = 128;

/// What clap says of flags and verbs that another version does not have.
const OTHER_VERSION_MESSAGES: [&str; 2] = ["unexpected argument", "unrecognized subcommand"];

/// The signal that ended a process, or, by the word of a shell or of OpenSSH, a command of it.
pub(super) fn signal_of_status(status: ExitStatus) -> Option<i32> {
    let by_shell = status.code().map(|code| code - SIGNAL_EXIT_OFFSET).filter(|signal| (1..=64).contains(signal));
    status.signal().or(by_shell)
}

/// How a process ended, where that was not as it should.
pub(super) fn status_text(status: ExitStatus) -> Option<String> {
    match (status.success(), signal_of_status(status).filter(|_| status.code().is_some())) {
        (true, _) => None,
        (false, Some(signal)) => Some(format!("{status}: signal {signal} ended it")),
        (false, None) => Some(status.to_string()),
    }
}

/// What to do about a signal that ended an agent.
pub(super) fn remedy_of_signal(signal: i32, is_pod: bool) -> &'static str {
    let is = |all: &[Signal]| all.iter().any(|one| one.as_raw() == signal);
    if is(&[Signal::KILL]) {
        return if is_pod {
            "see kubectl describe pod: with OOMKilled, raise its memory limit; otherwise somebody killed it"
        } else {
            "look for \"Out of memory\" in dmesg there: the kernel kills a program if memory is short, as a cgroup's \
             limit does; otherwise somebody killed it"
        };
    }
    if is(&[Signal::SEGV, Signal::ABORT, Signal::BUS, Signal::ILL, Signal::FPE, Signal::SYS, Signal::TRAP]) {
        return "it crashed: report this with what it printed, and check that its program is for this machine";
    }
    if is(&[Signal::XCPU, Signal::XFSZ]) {
        return "a limit of its user ended it: raise it there (ulimit -a)";
    }
    if is(&[Signal::PIPE]) {
        return "what takes its output ended before it: check the command of its reach";
    }
    "find out what sent it this signal there, and try again"
}

/// What to do about a process that ended with this status, and said this last, where these tell.
pub(super) fn end_remedy(status: Option<ExitStatus>, last: &str, reach: &NodeReach) -> Option<&'static str> {
    let Some(status) = status else {
        return Some("it closed its output and still runs: check what the command of its reach does with it");
    };
    if let Some(signal) = signal_of_status(status) {
        return Some(remedy_of_signal(signal, matches!(reach, NodeReach::Kube(_))));
    }
    if OTHER_VERSION_MESSAGES.iter().any(|part| last.contains(part)) {
        return Some("use the same version of linerate on both");
    }
    let is_exec = matches!(reach, NodeReach::Exec(_));
    match status.code()? {
        126 => Some("make its program executable there, on a file system that is not mounted noexec"),
        127 => Some("correct the path: there is no such program where its reach starts it"),
        255 if is_exec => Some(
            "run the command of its reach by hand, and read its errors: ssh ends with 255 if its connection is lost \
             or refused, or if its program is killed",
        ),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exited(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    #[test]
    fn each_end_of_an_agent_has_a_remedy_that_fits_it() {
        let exec = NodeReach::Exec("linerate agent".to_owned());
        let cases = [
            (Some(ExitStatus::from_raw(9)), "", "Out of memory"),
            (Some(exited(137)), "", "Out of memory"),
            (Some(ExitStatus::from_raw(11)), "", "it crashed"),
            (Some(exited(139)), "", "it crashed"),
            (Some(exited(143)), "", "what sent it this signal"),
            (Some(exited(130)), "", "what sent it this signal"),
            (Some(ExitStatus::from_raw(13)), "", "takes its output"),
            (Some(exited(153)), "", "ulimit"),
            (Some(exited(126)), "sh: 1: ./linerate: Permission denied", "executable"),
            (Some(exited(127)), "sh: 1: linerate: not found", "correct the path"),
            (Some(exited(2)), "error: unexpected argument '--allow' found", "same version"),
            (Some(exited(255)), "", "its connection is lost"),
            (None, "", "still runs"),
        ];
        for (status, last, part) in cases {
            let found = end_remedy(status, last, &exec).unwrap_or_default();
            assert!(found.contains(part), "{status:?} {last}: {found}");
        }
        for status in [exited(0), exited(1), exited(2)] {
            assert_eq!(end_remedy(Some(status), "", &exec), None, "{status}");
        }
        assert!(end_remedy(Some(exited(137)), "", &NodeReach::Here).is_some_and(|text| text.contains("dmesg")));
        assert_eq!(end_remedy(Some(exited(255)), "", &NodeReach::Here), None);
        assert!(remedy_of_signal(9, true).contains("OOMKilled"));
    }

    #[test]
    fn a_status_is_told_with_the_signal_that_it_stands_for() {
        assert_eq!(status_text(exited(0)), None);
        assert_eq!(status_text(exited(1)).as_deref(), Some("exit status: 1"));
        assert_eq!(status_text(exited(137)).as_deref(), Some("exit status: 137: signal 9 ended it"));
        assert_eq!(status_text(ExitStatus::from_raw(9)).as_deref(), Some("signal: 9 (SIGKILL)"));
    }
}
