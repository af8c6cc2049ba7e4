//! What both ends of `linerate net serve` have: its port, and the token without which it takes nobody.

pub(crate) mod flags;

use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use linerate_flows::FlowToken;

use crate::credentials::key_permissions;
use crate::files::limited_read;
use crate::run::random_bytes::random_bytes;
use crate::terminal::failure::Failure;
use crate::terminal::key_masks::{self, NET_TOKEN_VARIABLE};

/// Where it listens unless flags say otherwise: near the port of iperf3, and not its own.
pub(crate) const PORT: u16 = 5210;

/// Largest file of a token.
const FILE_BYTES_MAX: u64 = 4096;

/// A place as it was typed: an address with a port, or with the usual one.
pub(crate) fn parse_place(text: &str) -> Option<SocketAddr> {
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let with_port = text.parse().or_else(|_| bare.parse().map(|address: IpAddr| SocketAddr::new(address, PORT)));
    with_port.ok().map(canonical_address)
}

/// A place whose address of IPv4 is none of IPv6, as interfaces have it.
fn canonical_address(place: SocketAddr) -> SocketAddr {
    let address = place.ip().to_canonical();
    if address == place.ip() { place } else { SocketAddr::new(address, place.port()) }
}

/// Whether one machine has an address, and by itself: that of a link is another one's behind each interface.
pub(crate) fn is_of_single_machine(address: IpAddr) -> bool {
    let is_of_a_link = matches!(address, IpAddr::V6(address) if address.is_unicast_link_local());
    !(is_of_a_link || address.is_unspecified() || address.is_multicast())
}

/// One that nobody else knows: from now on, it is in no message and no folder.
pub(crate) fn random_token() -> Result<FlowToken, Failure> {
    let token = random_bytes().map(FlowToken::new)?;
    key_masks::remember_secret(&token.to_hex());
    Ok(token)
}

/// The token of a file.
pub(crate) fn read_token_file(path: &Path) -> Result<FlowToken, Failure> {
    let text = limited_read::read_text(path, FILE_BYTES_MAX).map_err(|source| Failure::File {
        what: "read",
        path: path.to_owned(),
        source,
    })?;
    let token = parse_token(&text).ok_or_else(|| {
        Failure::usage(format!(
            "no token in {}: write 64 hexadecimal digits into it, such as those of openssl rand -hex 32",
            path.display()
        ))
    })?;
    key_permissions::warn_if_readable(path);
    Ok(token)
}

/// The token that whoever comes was told: in a file, or in the environment.
pub(crate) fn find_token(file: Option<&Path>) -> Result<FlowToken, Failure> {
    if let Some(path) = file {
        return read_token_file(path);
    }
    let text = std::env::var(NET_TOKEN_VARIABLE).map_err(|_| {
        Failure::usage(format!(
            "no token: set {NET_TOKEN_VARIABLE} to the one that linerate net serve printed on the other machine, or \
             give --token-file"
        ))
    })?;
    parse_token(&text).ok_or_else(|| {
        Failure::usage(format!(
            "{NET_TOKEN_VARIABLE} is no token: copy all 64 hexadecimal digits that linerate net serve printed"
        ))
    })
}

/// From now on, it is in no message and no folder.
fn parse_token(text: &str) -> Option<FlowToken> {
    let token = FlowToken::from_hex(text.trim())?;
    key_masks::remember_secret(text.trim());
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
        assert_eq!(read_token_file(file.path()).unwrap().to_hex(), token);
        assert_eq!(find_token(Some(file.path())).unwrap().to_hex(), token);
        for text in ["", "c0ffee", &token.replace('c', "x")] {
            std::fs::write(file.path(), text).unwrap();
            let why = read_token_file(file.path()).unwrap_err();
            assert!(why.to_string().contains("openssl rand -hex 32"), "{text:?}: {why}");
            assert_eq!(why.code(), crate::terminal::failure::code::USAGE);
        }
        let why = read_token_file(Path::new("no-such-file")).unwrap_err();
        assert_eq!(why.code(), crate::terminal::failure::code::MACHINE, "{why}");
    }

    #[test]
    fn a_token_that_is_drawn_is_another_each_time() {
        assert_ne!(random_token().unwrap(), random_token().unwrap());
    }
}
