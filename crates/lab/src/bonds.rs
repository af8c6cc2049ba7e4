//! Links of several ports: a bond of the kernel at both ends.

use std::path::Path;

use linerate_record::site::{BondMode, SwitchHash, TransmitHash};
use serde::{Deserialize, Serialize};

use crate::error::LabError;

/// Most ports of a link.
pub const PORTS_MAX: u32 = 8;

/// There where the kernel has bonds: to ask for one would load the module, which makes one of its own.
const MODULE: &str = "/sys/module/bonding";

/// How both ends share a link's packets among its ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BondSpec {
    pub ports: u32,
    pub mode: BondMode,
    /// How the node chooses a port for what it sends.
    pub transmit_hash: TransmitHash,
    /// How the switch chooses one for what the node receives.
    pub switch_hash: SwitchHash,
}

impl BondSpec {
    /// LACP over so many ports, by addresses and ports of connections.
    #[must_use]
    pub const fn lacp(ports: u32) -> BondSpec {
        BondSpec { ports, mode: BondMode::Lacp, transmit_hash: TransmitHash::Layer34, switch_hash: SwitchHash::L4 }
    }

    /// Whether a lab can have it: in other modes a switch has no bond of its own at its end.
    #[must_use]
    pub const fn is_supported(&self) -> bool {
        self.ports <= PORTS_MAX && matches!(self.mode, BondMode::Lacp | BondMode::BalanceXor | BondMode::BalanceRr)
    }

    /// The ends of its cables: the interface of the link with the number of each.
    pub fn members(&self, link: &str) -> impl Iterator<Item = String> + use<> {
        let link = link.to_owned();
        (1..=self.ports).map(move |port| format!("{link}p{port}"))
    }

    /// What the node's end is made with, as `ip link add NAME` takes it.
    #[must_use]
    pub fn node_end(&self) -> String {
        self.end(self.transmit_hash.name())
    }

    /// The same of the switch's end.
    #[must_use]
    pub fn switch_end(&self) -> String {
        self.end(match self.switch_hash {
            SwitchHash::L2 => "layer2",
            SwitchHash::L3 => "layer2+3",
            SwitchHash::L4 => "layer3+4",
        })
    }

    fn end(&self, hash: &str) -> String {
        let mode = self.mode.name();
        match self.mode {
            BondMode::BalanceRr => format!("type bond miimon 100 mode {mode}"),
            BondMode::Lacp => format!("type bond miimon 100 mode {mode} lacp_rate fast xmit_hash_policy {hash}"),
            _ => format!("type bond miimon 100 mode {mode} xmit_hash_policy {hash}"),
        }
    }

    /// How it is used, as a site file says it.
    #[must_use]
    pub fn site_keys(&self) -> String {
        let switch_hash = match self.switch_hash {
            SwitchHash::L2 => "l2",
            SwitchHash::L3 => "l3",
            SwitchHash::L4 => "l4",
        };
        let (mode, transmit_hash) = (self.mode.name(), self.transmit_hash.name());
        format!("mode: {mode}, transmit_hash: {transmit_hash}, switch_hash: {switch_hash}")
    }
}

/// Whether the kernel has them.
#[must_use]
pub fn are_here() -> bool {
    Path::new(MODULE).exists()
}

/// # Errors
/// [`LabError::Unsupported`] where the kernel has no bonds.
pub fn check_here() -> Result<(), LabError> {
    if are_here() {
        return Ok(());
    }
    let why = "the kernel has no module bonding: modprobe bonding max_bonds=0, where it is to be had".to_owned();
    Err(LabError::Unsupported { what: "bonds".to_owned(), why })
}
