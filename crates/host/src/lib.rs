//! Reads one Linux machine, changes its settings and changes them back. Holds no opinion: never knows what a good value
//! is.
//!
//! A machine is a [`Root`]: `/`, or a folder into which the same files were captured. What cannot be read is a value
//! too: every function gives what it found and a list of [`Unreadable`]; none fails as a whole and none panics on
//! content that no kernel writes.

pub mod apply;
mod apply_context;
pub mod bonds;
mod boot;
pub mod capture;
mod clock;
pub mod container;
mod cpu;
mod discovery;
mod disk;
mod error;
pub mod fingerprint;
mod firmware;
mod interface_drivers;
pub mod journal;
mod lines;
pub mod live;
mod lock;
mod machine;
mod memory;
mod nic;
pub mod owner;
pub mod path_trust;
mod pending;
mod pressure;
mod process;
pub mod qdisc_counters;
mod reading;
mod root;
mod serving;
pub mod setting;
mod snapshot;
pub mod systemd_unit;
mod tcp;
pub mod watch;

pub use boot::boot_id;
pub use discovery::node_facts;
pub use firmware::firmware;
pub use interface_drivers::machine;
pub use reading::reading;
pub use root::{Root, Unreadable};
pub use serving::{Serving, serving};
pub use snapshot::{SnapshotRequest, snapshot};
