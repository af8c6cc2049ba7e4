//! What flags of `net` do not go together, beyond what the parser knows.

use super::super::stream_search::is_search;
use super::{NetFlags, OpChoice};

impl NetFlags {
    /// What does not go together.
    ///
    /// # Errors
    /// Why, with what to do about it.
    pub(crate) fn check_combinations(&self) -> Result<(), String> {
        let op = self.chosen_op();
        let request_flags =
            [("--request-size", self.request_size.is_some()), ("--answer-size", self.answer_size.is_some())];
        if let Some((flag, _)) = request_flags.iter().find(|(_, given)| *given && op != OpChoice::Request) {
            return Err(format!("{flag} is of requests: give --op request, or leave it out"));
        }
        let datagram_flags = [("--datagram-size", self.datagram_size.is_some()), ("--gso", self.gso.is_some())];
        if let Some((flag, _)) = datagram_flags.iter().find(|(_, given)| *given && op != OpChoice::Udp) {
            return Err(format!("{flag} is of datagrams: give --op udp, or leave it out"));
        }
        if self.plane.is_some() && self.into.is_none() && self.site.is_none() {
            return Err("--plane is of a site: give --into or --site with its file, or leave it out".to_owned());
        }
        let stream_flags = [("--zerocopy", self.zerocopy), ("--read", self.read)];
        if let Some((flag, _)) = stream_flags.iter().find(|(_, given)| *given && op != OpChoice::Stream) {
            return Err(format!("{flag} is of streams: give --op stream, or leave it out"));
        }
        if is_search(self.chosen_streams()) {
            if self.chosen_streams().len() > 1 {
                return Err("--streams search finds the numbers by itself: leave the others out".to_owned());
            }
            if self.visits < 2 {
                return Err("--streams search goes by what visits differ: give --visits 2, or more".to_owned());
            }
            if self.bisection {
                return Err(
                    "--streams search is of pairs, and --bisection of racks: give numbers of streams".to_owned()
                );
            }
            if matches!(op, OpChoice::Udp | OpChoice::Mtu) {
                return Err("--streams search looks at what more streams give: leave it out, or give --op stream, \
                            request or connect"
                    .to_owned());
            }
        }
        if self.bisection && op != OpChoice::Stream {
            return Err("--bisection fills uplinks: give --op stream, or leave it out".to_owned());
        }
        match op {
            OpChoice::Udp if self.max_rate.is_none() => {
                Err("--op udp sends at the rate that is asked for: give --max-rate, such as --max-rate 500Mb/s"
                    .to_owned())
            }
            OpChoice::Request | OpChoice::Connect | OpChoice::Mtu if self.max_rate.is_some() => {
                Err("--max-rate caps bytes: leave it out, or give --op stream or --op udp".to_owned())
            }
            OpChoice::Connect | OpChoice::Udp | OpChoice::Mtu if self.members => {
                Err("--members chooses the ports of streams: leave it out, or give --op stream or --op request"
                    .to_owned())
            }
            _ => Ok(()),
        }
    }
}
