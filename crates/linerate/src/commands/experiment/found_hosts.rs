//! Where the hosts of an experiment were found when it began, and whether they still are there.

use std::net::SocketAddr;

use linerate_load::hosts::{Host, HostsError, Recorded};
use linerate_record::load::{Load, Server};

use crate::run::consent;
use crate::terminal::failure::Failure;
use crate::terminal::progress::print_error;

/// Hosts that were looked up again.
pub(super) struct HostsNow {
    /// Where each is loaded: where it was before, if its name still leads there too.
    pub(super) hosts: Vec<Host>,
    /// Those that are elsewhere by now, in a sentence each.
    pub(super) moved: Vec<String>,
}

/// The hosts of these loads with their addresses, as an experiment records them: those whose names do not say where
/// they are.
pub(super) fn named_addresses<'l>(loads: impl Iterator<Item = &'l Load>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for load in loads {
        let Server::Hosts { addresses, .. } = &load.endpoint.server else { continue };
        let is_name = |host: &&String| {
            host.split_once(' ').is_some_and(|(authority, _)| authority.parse::<SocketAddr>().is_err())
        };
        all.extend(addresses.iter().filter(is_name).cloned());
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// Compares where hosts were found now with where they were before. Of a name with several addresses of which one is
/// loaded, that one may be another each time it is looked up; `look_up_all` tells whether it still has the one before.
///
/// # Errors
/// As of `look_up_all`.
pub(super) fn compare(
    found: &[Host],
    before: &[Recorded],
    every_address: bool,
    look_up_all: impl Fn(&str) -> Result<Vec<Host>, HostsError>,
) -> Result<HostsNow, HostsError> {
    let mut now = HostsNow { hosts: Vec::with_capacity(found.len()), moved: Vec::new() };
    for host in found {
        let name = &host.authority;
        let then = addresses(before.iter().filter(|host| host.authority == *name).filter_map(|host| host.address));
        let current = addresses(found.iter().filter(|host| host.authority == *name).map(|host| host.address));
        let is_there = if every_address { then == current } else { then.contains(&host.address) };
        if then.is_empty() || is_there {
            now.hosts.push(host.clone());
            continue;
        }
        let still = if every_address { Vec::new() } else { look_up_all(name)? };
        match still.into_iter().find(|host| then.contains(&host.address)) {
            Some(there) => now.hosts.push(there),
            None => {
                let (then, current) = (in_words(&then), in_words(&current));
                let moved = format!("{name} was at {then} when the experiment began, and is at {current} now");
                if !now.moved.contains(&moved) {
                    now.moved.push(moved);
                }
                now.hosts.push(host.clone());
            }
        }
    }
    Ok(now)
}

/// Refuses to go on where hosts are elsewhere, unless somebody consents to load them there; says so in any case.
pub(super) fn require_consent(moved: &[String], yes_load: bool) -> Result<(), Failure> {
    if moved.is_empty() {
        return Ok(());
    }
    let reported = moved.join("; ");
    if yes_load {
        print_error(&format!("warning: {reported}: blocks from here on are of other hosts"));
        return Ok(());
    }
    let fix = "begin a new experiment, or give --yes-load to continue this one there";
    consent::ask_or_refuse(&reported, "Blocks from here on would be of other hosts.", fix)
}

fn addresses(all: impl Iterator<Item = SocketAddr>) -> Vec<SocketAddr> {
    let mut all: Vec<SocketAddr> = all.collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn in_words(all: &[SocketAddr]) -> String {
    all.iter().map(|address| address.ip().to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use linerate_load::hosts;

    use super::*;

    fn host(authority: &str, address: &str) -> Host {
        Host { authority: authority.to_owned(), address: address.parse().unwrap() }
    }

    #[test]
    fn a_name_that_leads_elsewhere_is_told_and_one_that_still_leads_there_too_is_loaded_there() {
        let before = ["a:9 (192.0.2.1)", "b:9 (192.0.2.5)", "b:9 (192.0.2.6)"].map(str::to_owned);
        let before = hosts::recorded(&before).unwrap();
        let all_of_a = || vec![host("a:9", "192.0.2.7:9"), host("a:9", "192.0.2.1:9")];
        let (is_a, is_moved) = (host("a:9", "192.0.2.1:9"), host("a:9", "192.0.2.7:9"));
        let b = |last: u8| host("b:9", &format!("192.0.2.{last}:9"));
        let moved_a = "a:9 was at 192.0.2.1 when the experiment began, and is at 192.0.2.7 now";
        let moved_b = "b:9 was at 192.0.2.5, 192.0.2.6 when the experiment began, and is at 192.0.2.5 now";
        let check = |found: Vec<Host>, every_address: bool, all: Vec<Host>, loaded: Vec<Host>, moved: &[&str]| {
            let what = format!("{found:?}");
            let now = compare(&found, &before, every_address, |_| Ok(all.clone())).unwrap();
            let sentences: Vec<&str> = now.moved.iter().map(String::as_str).collect();
            assert_eq!((now.hosts, sentences), (loaded, moved.to_vec()), "{what}");
        };
        check(vec![is_a.clone()], false, vec![], vec![is_a.clone()], &[]);
        check(vec![is_moved.clone()], false, all_of_a(), vec![is_a], &[]);
        check(vec![is_moved.clone()], false, vec![is_moved.clone()], vec![is_moved], &[moved_a]);
        check(vec![b(6), b(5)], true, vec![], vec![b(6), b(5)], &[]);
        check(vec![b(5)], true, vec![], vec![b(5)], &[moved_b]);
        check(vec![b(6)], false, vec![], vec![b(6)], &[]);
        check(vec![host("c:9", "192.0.2.9:9")], false, vec![], vec![host("c:9", "192.0.2.9:9")], &[]);
    }

    #[test]
    fn hosts_that_are_elsewhere_are_loaded_with_consent_alone() {
        assert!(require_consent(&[], false).is_ok());
        let moved = ["a:9 was at 192.0.2.1 when the experiment began, and is at 192.0.2.7 now".to_owned()];
        let refused = require_consent(&moved, false).unwrap_err().to_string();
        assert!(refused.contains(&moved[0]) && refused.contains("--yes-load"), "{refused}");
        assert!(require_consent(&moved, true).is_ok());
    }
}
