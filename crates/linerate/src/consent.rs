//! A target that is not on this machine is loaded only with consent.

use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::net::IpAddr;

use linerate_load::hosts::Host;

use crate::failure::Failure;

/// Whether every host is an address of this machine (of this network namespace). A port that forwards elsewhere cannot
/// be told from a server.
pub(crate) fn on_this_machine(hosts: &[Host]) -> bool {
    let own: Vec<IpAddr> =
        if_addrs::get_if_addrs().map(|all| all.iter().map(if_addrs::Interface::ip).collect()).unwrap_or_default();
    hosts.iter().all(|host| host.address.ip().is_loopback() || own.contains(&host.address.ip()))
}

/// Asks on a terminal, or takes `--yes-load`; refuses otherwise. `load` says in words what will be done.
pub(crate) fn obtain(hosts: &[Host], yes_load: bool, load: &str) -> Result<(), Failure> {
    if yes_load || on_this_machine(hosts) {
        return Ok(());
    }
    let named: Vec<&str> = hosts.iter().take(3).map(|h| h.authority.as_str()).collect();
    let more = hosts.len().saturating_sub(3);
    let others = if more > 0 { format!(" and {more} more") } else { String::new() };
    let what = format!("{}{others} is not this machine, and {load}", named.join(", "));
    if io::stdin().is_terminal() && io::stderr().is_terminal() {
        eprint!("{what}.\nIf others use it, they will notice. Go on? [y/N] ");
        io::stderr().flush().map_err(Failure::Output)?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer).map_err(Failure::Output)?;
        if matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes") {
            return Ok(());
        }
        return Err(Failure::usage("not loaded: consent was not given"));
    }
    Err(Failure::usage(format!("{what}: give --yes-load to consent, and --max-rate to cap it")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(ip: &str) -> Host {
        Host { authority: format!("{ip}:9000"), address: format!("{ip}:9000").parse().unwrap() }
    }

    #[test]
    fn loopback_is_this_machine_and_a_documentation_address_is_not() {
        assert!(on_this_machine(&[host("127.0.0.1"), host("127.9.9.9")]));
        assert!(!on_this_machine(&[host("127.0.0.1"), host("192.0.2.1")]));
    }

    #[test]
    fn without_a_terminal_consent_must_be_given_by_flag() {
        let elsewhere = [host("192.0.2.1"), host("192.0.2.2"), host("192.0.2.3"), host("192.0.2.4")];
        let refused = obtain(&elsewhere, false, "it would be loaded").unwrap_err().to_string();
        assert!(refused.contains("192.0.2.3:9000 and 1 more") && refused.contains("--yes-load"), "{refused}");
        assert!(obtain(&elsewhere, true, "").is_ok());
        assert!(obtain(&[host("127.0.0.1")], false, "").is_ok());
    }
}
