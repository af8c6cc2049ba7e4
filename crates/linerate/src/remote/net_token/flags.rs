//! Flags of `linerate net serve`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use linerate_record::units::parse_duration;

use super::{PORT, is_of_single_machine, parse_place};
use crate::remote::link_rates;

const AFTER_HELP: &str = "\
It takes and sends flows of linerate net HOST on another machine, and does nothing else: it reads no setting, loads no
target and changes nothing. Whoever comes has to have the token, which never crosses the network; all that both say is
under TLS. One is served at a time. Flows have ports of their own, and prove a token of their run.

Examples:
  linerate net serve
  linerate net serve --listen 10.2.0.1:5210 --max-rate 1Gb/s --for 10m
  linerate net serve --token-file token

Exit codes:
  0    its time is over, or Ctrl-C ended it
  1    this machine failed: a port that is taken, a file, a thread
  2    bad usage
  130  a second Ctrl-C ended it at once";

#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct ServeFlags {
    /// Address and port to listen on, such as 10.2.0.1:5210; port 0 takes a free one. With an address, flows are taken
    /// at it alone. [default: all addresses, port 5210]
    #[arg(long, value_name = "ADDRESS", value_parser = place)]
    pub(crate) listen: Option<SocketAddr>,
    /// File with the token, 64 hexadecimal digits. [default: one is drawn, and printed once]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// End after this time, from 10s to 24h.
    #[arg(long = "for", value_name = "TIME", value_parser = lasting, default_value = "1h")]
    pub(crate) lasting: Duration,
    /// Refuse flows that may take more of the link one way, and requests and connections, which nothing caps: 1Gb/s or
    /// 100MiB/s. [default: none]
    #[arg(long, value_name = "RATE", value_parser = link_rates::parse_rate)]
    pub(crate) max_rate: Option<f64>,
    /// Do not say who comes and goes.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// An address with a port, or with the usual one.
fn place(text: &str) -> Result<SocketAddr, String> {
    let is_listened_at = |place: &SocketAddr| place.ip().is_unspecified() || is_of_single_machine(place.ip());
    let place = parse_place(text).filter(is_listened_at);
    place.ok_or_else(|| format!("no address of this machine in {text:?}: write 10.2.0.1:{PORT}, or [fd00::1]:{PORT}"))
}

fn lasting(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    let fits = (Duration::from_secs(10)..=Duration::from_secs(24 * 3600)).contains(&time);
    fits.then_some(time).ok_or_else(|| format!("{text:?} is not from 10s to 24h"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_address_with_a_port_or_with_the_usual_one() {
        for (text, expected) in [
            ("10.2.0.1:99", "10.2.0.1:99"),
            ("10.2.0.1", "10.2.0.1:5210"),
            ("[fd00::1]:99", "[fd00::1]:99"),
            ("[fd00::1]", "[fd00::1]:5210"),
            ("fd00::1", "[fd00::1]:5210"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("0.0.0.0:99", "0.0.0.0:99"),
            ("[::ffff:10.2.0.1]:99", "10.2.0.1:99"),
        ] {
            assert_eq!(place(text).map(|place| place.to_string()), Ok(expected.to_owned()), "{text}");
        }
        for text in ["", "db2", "10.2.0.1:", "10.2.0.1:99999", ":5210", "fe80::1", "[fe80::1%1]:99", "224.0.0.1"] {
            assert!(place(text).unwrap_err().contains("write 10.2.0.1:5210"), "{text}");
        }
    }

    #[test]
    fn it_lasts_from_ten_seconds_to_a_day() {
        assert_eq!(lasting("10s"), Ok(Duration::from_secs(10)));
        for text in ["9s", "25h", "0s"] {
            assert!(lasting(text).unwrap_err().contains("10s to 24h"), "{text}");
        }
    }
}
