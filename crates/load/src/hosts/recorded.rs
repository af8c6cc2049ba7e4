//! Hosts as run folders name them, and back.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use super::{HOSTS_MAX, Host, HostsError, authority, needs_look_up, resolve};

/// A host that a run folder names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// `name:port`, as requests name it.
    pub authority: String,
    /// Where connections went, where the name alone does not say.
    pub address: Option<SocketAddr>,
}

/// Names of hosts in run folders: `name:port`, followed by the address in brackets where several share a name.
#[must_use]
pub fn labels(hosts: &[Host]) -> Vec<String> {
    let shared = |host: &Host| hosts.iter().filter(|other| other.authority == host.authority).count() > 1;
    let label = |host: &Host| match shared(host) {
        true => host.with_address(),
        false => host.authority.clone(),
    };
    hosts.iter().map(label).collect()
}

impl Recorded {
    /// Whether a name server would have to be asked where it is.
    #[must_use]
    pub fn needs_look_up(&self) -> bool {
        self.address.is_none() && needs_look_up(&self.authority)
    }
}

/// Reads what [`labels`] wrote, or somebody else: by the rules of flags, and nothing else. `file:80` is a host here.
///
/// # Errors
/// [`HostsError`], quoting the name at fault.
pub fn recorded(labels: &[String]) -> Result<Vec<Recorded>, HostsError> {
    if labels.is_empty() {
        return Err(HostsError::Empty(String::new()));
    }
    if labels.len() > HOSTS_MAX {
        return Err(HostsError::TooMany(labels[0].chars().take(300).collect()));
    }
    labels.iter().map(|label| one(label)).collect()
}

fn one(label: &str) -> Result<Recorded, HostsError> {
    let fail = || HostsError::Url(label.chars().take(300).collect());
    let (name, ip) = match label.strip_suffix(')').and_then(|rest| rest.split_once(" (")) {
        Some((name, ip)) => (name, Some(ip.parse::<IpAddr>().map_err(|_| fail())?)),
        None => (label, None),
    };
    // As flags would have made it, with its port: not to be read in another way than it was written.
    if authority(name, false).map_err(|_| fail())? != name {
        return Err(fail());
    }
    let port = || name.rsplit_once(':')?.1.parse::<u16>().ok();
    let address = ip.map(|ip| port().map(|port| SocketAddr::new(ip, port)).ok_or_else(fail)).transpose()?;
    // What is named by its address is there, and nowhere else.
    if let (Ok(named), Some(address)) = (name.parse::<SocketAddr>(), address)
        && named != address
    {
        return Err(fail());
    }
    Ok(Recorded { authority: name.to_owned(), address })
}

/// Finds the address of each: the recorded one, or that of its name.
///
/// # Errors
/// As of [`resolve`].
pub fn resolve_recorded(recorded: &[Recorded], within: Duration) -> Result<Vec<Host>, HostsError> {
    let mut hosts = Vec::with_capacity(recorded.len());
    for Recorded { authority, address } in recorded {
        match *address {
            Some(address) => hosts.push(Host { authority: authority.clone(), address }),
            None => hosts.extend(resolve(std::slice::from_ref(authority), within)?),
        }
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(authority: &str, address: &str) -> Host {
        Host { authority: authority.into(), address: address.parse().unwrap() }
    }

    #[test]
    fn hosts_are_found_again_by_what_a_folder_says_of_them() {
        for hosts in [
            vec![host("127.0.0.1:9000", "127.0.0.1:9000")],
            vec![host("a:9000", "127.0.0.1:9000"), host("a:9000", "[::1]:9000"), host("127.0.0.2:1", "127.0.0.2:1")],
            vec![host("[::1]:9000", "[::1]:9000"), host("[::1]:9000", "[::1]:9000")],
        ] {
            let found = resolve_recorded(&recorded(&labels(&hosts)).unwrap(), Duration::from_secs(60)).unwrap();
            assert_eq!(found, hosts);
        }
    }

    #[test]
    fn what_no_run_writes_is_quoted_and_refused() {
        for label in [
            "",
            "a",
            "http://a:80",
            "a:80\r\nX: y",
            "a:80/x",
            "key:secret@a:80",
            "a:80 (127.0.0.1",
            "a:80 (b)",
            "a:80 (127.0.0.1) (127.0.0.1)",
            "a :80 (127.0.0.1)",
            "127.0.0.1:80 (192.0.2.1)",
            "[::1]:80 (192.0.2.1)",
            "a:0080",
            "a{1...2}:80",
            "a\"b:80",
        ] {
            assert!(recorded(&[label.to_owned()]).is_err(), "{label:?}");
        }
        let long = recorded(&[format!("{}:80", "a".repeat(5_000))]).unwrap_err().to_string();
        assert!(long.len() < 1_000, "{long}");
        assert!(recorded(&[]).is_err());
        assert!(recorded(&vec!["a:80".to_owned(); HOSTS_MAX + 1]).is_err());
    }
}
