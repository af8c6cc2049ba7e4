//! What both ends of `linerate net serve` have: its port, and the token without which it takes nobody.

pub(crate) mod flags;

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use linerate_flows::FlowToken;

use crate::draws::random;
use crate::failure::Failure;
use crate::{bounded, exposed, masks};

/// Where it listens unless flags say otherwise: near the port of iperf3, and not its own.
pub(crate) const PORT: u16 = 5210;

/// Variable of the environment with the token, for who comes: an argument could be read by every user.
pub(crate) const VARIABLE: &str = "LINERATE_NET_TOKEN";

/// Largest file of a token.
const FILE_BYTES_MAX: u64 = 4096;

/// A place as it was typed: an address with a port, or with the usual one.
pub(crate) fn place_of(text: &str) -> Option<SocketAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let with_port = text.parse().or_else(|_| bare.parse().map(|address: IpAddr| SocketAddr::new(address, PORT)));
    with_port.ok().map(of_one_kind)
}

/// A place whose address of IPv4 is none of IPv6, as interfaces have it.
fn of_one_kind(place: SocketAddr) -> SocketAddr {
    let address = place.ip().to_canonical();
    if address == place.ip() { place } else { SocketAddr::new(address, place.port()) }
}

/// Whether one machine has an address, and by itself: that of a link is another one's behind each interface.
pub(crate) fn of_one_machine(address: IpAddr) -> bool {
    let is_of_a_link = matches!(address, IpAddr::V6(address) if address.is_unicast_link_local());
    !(is_of_a_link || address.is_unspecified() || address.is_multicast())
}

/// A new token.
pub(crate) fn drawn() -> Result<FlowToken, Failure> {
    random().map(FlowToken::new)
}

/// The token of a file.
pub(crate) fn of_file(path: &Path) -> Result<FlowToken, Failure> {
    let text = bounded::text(path, FILE_BYTES_MAX).map_err(|source| Failure::File {
        what: "read",
        path: path.to_owned(),
        source,
    })?;
    let token = read(&text).ok_or_else(|| {
        Failure::usage(format!(
            "no token in {}: write 64 hexadecimal digits into it, such as those of openssl rand -hex 32",
            path.display()
        ))
    })?;
    exposed::tell(path);
    Ok(token)
}

/// The token that whoever comes was told: in a file, or in the environment.
pub(crate) fn told(file: Option<&Path>) -> Result<FlowToken, Failure> {
    if let Some(path) = file {
        return of_file(path);
    }
    let text = std::env::var(VARIABLE).map_err(|_| {
        Failure::usage(format!(
            "no token: set {VARIABLE} to the one that linerate net serve printed on the other machine, or give \
             --token-file"
        ))
    })?;
    read(&text).ok_or_else(|| {
        Failure::usage(format!(
            "{VARIABLE} is no token: copy all 64 hexadecimal digits that linerate net serve printed"
        ))
    })
}

/// From now on, it is in no message and no folder.
fn read(text: &str) -> Option<FlowToken> {
    let token = FlowToken::from_hex(text.trim())?;
    masks::keep_secret(text.trim());
    Some(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_token_or_says_what_to_write() {
        let file = tempfile::NamedTempFile::new().unwrap();
        // Of nobody else: a secret that is in use is masked in what other tests of this process say.
        let token = "c0ffee0123456789".repeat(4);
        std::fs::write(file.path(), format!(" {token}\n")).unwrap();
        assert_eq!(of_file(file.path()).unwrap().to_hex(), token);
        assert_eq!(told(Some(file.path())).unwrap().to_hex(), token);
        for text in ["", "c0ffee", &token.replace('c', "x")] {
            std::fs::write(file.path(), text).unwrap();
            let why = of_file(file.path()).unwrap_err();
            assert!(why.to_string().contains("openssl rand -hex 32"), "{text:?}: {why}");
            assert_eq!(why.code(), crate::failure::code::USAGE);
        }
        let why = of_file(Path::new("no-such-file")).unwrap_err();
        assert_eq!(why.code(), crate::failure::code::MACHINE, "{why}");
    }

    #[test]
    fn a_token_that_is_drawn_is_another_each_time() {
        assert_ne!(drawn().unwrap(), drawn().unwrap());
    }
}
