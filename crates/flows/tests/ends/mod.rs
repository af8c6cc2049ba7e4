//! Machines of a run at 127.0.0.1.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::mpsc::{Receiver, channel};

use linerate_flows::{AcceptedFlow, FlowListener, FlowToken};

pub(crate) const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub(crate) const MS: u64 = 1_000_000;

/// A machine of a run, which is this one.
pub(crate) struct End {
    pub(crate) token: FlowToken,
    pub(crate) listener: FlowListener,
    pub(crate) accepted: Receiver<AcceptedFlow>,
}

impl End {
    /// Of the machine of this number.
    pub(crate) fn with(own: u32, token: u8) -> End {
        let (tell, accepted) = channel();
        let token = FlowToken::new([token; 32]);
        let listener = FlowListener::begin(Some(HERE), 0, own, token.clone(), tell).expect("a port");
        End { token, listener, accepted }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        SocketAddr::new(HERE, self.listener.port())
    }
}
