//! A target that is not on this machine is loaded only with consent.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use linerate_load::hosts::{self, Host, Recorded};

use crate::terminal::failure::Failure;
use crate::terminal::printing;

/// Whether every host is an address of this machine (of this network namespace). A port that forwards elsewhere cannot
/// be told from a server.
pub(crate) fn are_local(hosts: &[Host]) -> bool {
    let own: Vec<IpAddr> =
        if_addrs::get_if_addrs().map(|all| all.iter().map(if_addrs::Interface::ip).collect()).unwrap_or_default();
    hosts.iter().all(|host| host.address.ip().is_loopback() || own.contains(&host.address.ip()))
}

/// Asks on a terminal, or takes `--yes-load`; refuses otherwise. `load` says in words what will be done.
pub(crate) fn require(hosts: &[Host], yes_load: bool, load: &str) -> Result<(), Failure> {
    if yes_load || are_local(hosts) {
        return Ok(());
    }
    let what = format!(
        "{} is not this machine, and {load}",
        first_three(&hosts.iter().map(host_with_address).collect::<Vec<_>>())
    );
    ask_or_refuse(&what, "Other users of it will be affected.", "give --yes-load to consent, and --max-rate to cap it")
}

/// The same where clients load: what is this machine for one that is elsewhere is another.
pub(crate) fn require_for_clients(hosts: &[Host], yes_load: bool, are_here: bool, load: &str) -> Result<(), Failure> {
    if yes_load || (are_here && are_local(hosts)) {
        return Ok(());
    }
    let named = first_three(&hosts.iter().map(host_with_address).collect::<Vec<_>>());
    let what = format!("{named} may not be this machine for the clients of the fleet file, and {load}");
    ask_or_refuse(&what, "Other users of it will be affected.", "give --yes-load to consent, and --max-rate to cap it")
}

/// What a run will want consent for, as far as it is known before a name is looked up; none where none is wanted.
pub(crate) fn expected_consent(authorities: &[String], yes_load: bool) -> Option<String> {
    let is_here = |name: &str| {
        let host = |address| Host { authority: name.to_owned(), address };
        name.parse().map_or(true, |address| are_local(&[host(address)]))
    };
    let unknown: Vec<String> = authorities.iter().filter(|name| hosts::needs_look_up(name)).cloned().collect();
    let elsewhere: Vec<String> = authorities.iter().filter(|name| !is_here(name)).cloned().collect();
    let (names, is_not) = match (unknown.is_empty(), elsewhere.is_empty()) {
        _ if yes_load => return None,
        (true, true) => return None,
        (_, false) => (elsewhere, "is not this machine"),
        (false, true) => (unknown, "may not be this machine"),
    };
    Some(format!("{} {is_not}: the run asks on a terminal, and needs --yes-load elsewhere", first_three(&names)))
}

/// Asks as [`require`] before a name is looked up, where the hosts are such as somebody else may have named: a name
/// server is told of no name, and by that of whoever reads its folder, without consent.
pub(crate) fn require_by_name(authorities: &[String], yes_load: bool, load: &str) -> Result<(), Failure> {
    let unknown: Vec<String> = authorities.iter().filter(|name| hosts::needs_look_up(name)).cloned().collect();
    if yes_load || unknown.is_empty() {
        return Ok(());
    }
    let what = format!("{} is not known to be this machine, and {load}", first_three(&unknown));
    ask_or_refuse(&what, "Its name was not looked up yet.", "give --yes-load to consent, and --max-rate to cap it")
}

/// Finds the hosts of a run that is to be cleaned, but for those among the consented after asking, unless they are this
/// machine: requests signed with the user's keys, and the session token among them, go there. No name is looked up
/// before, and none at all whose address is among the consented: it may no longer resolve, or lead elsewhere by now.
pub(crate) fn cleanup_hosts(
    recorded: &[Recorded],
    consented: &[Recorded],
    yes_load: bool,
    place: &str,
    dry_run: bool,
    within: Duration,
) -> Result<Vec<Host>, Failure> {
    let loaded = |host: &Recorded| consented.iter().find(|known| known.authority == host.authority);
    let foreign = recorded.iter().filter(|host| !yes_load && loaded(host).is_none());
    let (unknown, known): (Vec<_>, Vec<_>) = foreign.cloned().partition(Recorded::needs_look_up);
    let known = hosts::resolve_recorded(&known, within)?;
    let elsewhere = known.iter().filter(|host| !are_local(std::slice::from_ref(host))).map(host_with_address);
    let all: Vec<String> = unknown.iter().map(|host| host.authority.clone()).chain(elsewhere).collect();
    if !all.is_empty() {
        let is_not = if unknown.is_empty() { "is not" } else { "is not known to be" };
        let action = if dry_run { "listed" } else { "deleted" };
        let what = format!(
            "{} {is_not} this machine, and what is below {place} would be {action} with your keys",
            first_three(&all)
        );
        ask_or_refuse(&what, "Hosts, bucket and prefix come from run.json.", "give --yes-load to consent")?;
    }
    let with_known_address = |host: &Recorded| {
        let address = host.address.or_else(|| loaded(host)?.address);
        Recorded { authority: host.authority.clone(), address }
    };
    let located: Vec<Recorded> = recorded.iter().map(with_known_address).collect();
    Ok(hosts::resolve_recorded(&located, within)?)
}

/// A host, with its address where its name does not say it.
fn host_with_address(host: &Host) -> String {
    match host.authority.parse::<SocketAddr>() {
        Ok(_) => host.authority.clone(),
        Err(_) => format!("{} ({})", host.authority, host.address.ip()),
    }
}

fn first_three(names: &[String]) -> String {
    let more = names.len().saturating_sub(3);
    let others = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{others}", names[..names.len() - more].join(", "))
}

/// Asks on a terminal; where there is none, refuses and names the flag that consents. `caution` is what to think
/// of first.
pub(crate) fn ask_or_refuse(what: &str, caution: &str, fix: &str) -> Result<(), Failure> {
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        printing::prompt(&format!("{what}.\n{caution} Continue? [y/N] "))?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer).map_err(Failure::Output)?;
        if matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
            return Ok(());
        }
        return Err(Failure::usage("nothing was done: consent was not given"));
    }
    Err(Failure::usage(format!("{what}: {fix}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(ip: &str) -> Host {
        Host { authority: format!("{ip}:9000"), address: format!("{ip}:9000").parse().unwrap() }
    }

    #[test]
    fn loopback_is_this_machine_and_a_documentation_address_is_not() {
        assert!(are_local(&[host("127.0.0.1"), host("127.9.9.9")]));
        assert!(!are_local(&[host("127.0.0.1"), host("192.0.2.1")]));
    }

    #[test]
    fn without_a_terminal_consent_must_be_given_by_flag() {
        let elsewhere = [host("192.0.2.1"), host("192.0.2.2"), host("192.0.2.3"), host("192.0.2.4")];
        let refused = require(&elsewhere, false, "it would be loaded").unwrap_err().to_string();
        assert!(refused.contains("192.0.2.3:9000 and 1 more") && refused.contains("--yes-load"), "{refused}");
        assert!(require(&elsewhere, true, "").is_ok());
        assert!(require(&[host("127.0.0.1")], false, "").is_ok());
    }

    #[test]
    fn consent_that_will_be_wanted_is_foretold_without_a_look_up() {
        for (authorities, yes_load, reported) in [
            (&["127.0.0.1:1", "localhost:1"][..], false, None),
            (&["192.0.2.1:1", "a.invalid:1"], false, Some("192.0.2.1:1 is not this machine: the run asks")),
            (&["a.invalid:1", "[::1]:1"], false, Some("a.invalid:1 may not be this machine: the run asks")),
            (&["192.0.2.1:1", "a.invalid:1"], true, None),
        ] {
            let names: Vec<String> = authorities.iter().map(|name| (*name).to_owned()).collect();
            let said = expected_consent(&names, yes_load);
            assert_eq!(said.is_some(), reported.is_some(), "{authorities:?}: {said:?}");
            assert!(said.unwrap_or_default().contains(reported.unwrap_or_default()), "{authorities:?}");
        }
    }

    #[test]
    fn no_name_of_a_folder_is_looked_up_before_consent() {
        // `.invalid` is in no name server (RFC 2606): who looks it up, fails with that.
        let recorded = |labels: &[&str]| hosts::recorded(&labels.iter().map(|l| (*l).to_owned()).collect::<Vec<_>>());
        let clean = |labels: &[&str], consented: &[&str], yes_load| {
            let consented = if consented.is_empty() { Vec::new() } else { recorded(consented).unwrap() };
            cleanup_hosts(&recorded(labels).unwrap(), &consented, yes_load, "s3://b/p/", false, Duration::from_secs(60))
        };
        for (labels, part) in [
            (&["a.invalid:9000"][..], "a.invalid:9000 is not known to be this machine"),
            (&["127.0.0.1:1", "a.invalid:9000", "192.0.2.1:1"], "a.invalid:9000, 192.0.2.1:1 is not known to be"),
            (&["minio.invalid:9000 (192.0.2.1)"], "minio.invalid:9000 (192.0.2.1) is not this machine"),
        ] {
            let refused = clean(labels, &[], false).unwrap_err().to_string();
            for part in [part, "s3://b/p/", "--yes-load"] {
                assert!(refused.contains(part), "{part}: {refused}");
            }
        }
        let looked_up = [clean(&["a.invalid:9000"], &[], true), clean(&["a.invalid:9000"], &["a.invalid:9000"], false)];
        for result in looked_up {
            assert!(result.unwrap_err().to_string().contains("resolve"));
        }
        let known = clean(&["a.invalid:9000"], &["a.invalid:9000 (192.0.2.1)"], false).unwrap();
        assert_eq!(known[0].with_address(), "a.invalid:9000 (192.0.2.1)", "where it was loaded it is cleaned");
        for labels in [&["127.0.0.1:1"][..], &["localhost:1"], &["a.invalid:1 (127.0.0.1)"]] {
            assert_eq!(clean(labels, &[], false).unwrap().len(), 1);
        }
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let refused = require_by_name(&names(&["127.0.0.1:1", "a.invalid:1"]), false, "it would be loaded");
        assert!(refused.unwrap_err().to_string().contains("a.invalid:1 is not known"));
        assert!(require_by_name(&names(&["127.0.0.1:1", "localhost:1"]), false, "").is_ok());
        assert!(require_by_name(&names(&["a.invalid:1"]), true, "").is_ok());
    }
}
