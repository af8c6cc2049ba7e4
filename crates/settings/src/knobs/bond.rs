//! Bonds.
pub(crate) mod bond_lacp_rate;
pub(crate) mod bond_miimon;
pub(crate) mod bond_mode;
pub(crate) mod bond_xmit_hash_policy;
