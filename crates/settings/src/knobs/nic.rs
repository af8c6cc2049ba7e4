//! Interfaces: sizes, queues, offloads, interrupts.
pub(crate) mod nic_channels;
pub(crate) mod nic_gro;
pub(crate) mod nic_gro_flush_timeout;
pub(crate) mod nic_gso;
pub(crate) mod nic_interrupts;
pub(crate) mod nic_lro;
pub(crate) mod nic_mtu;
pub(crate) mod nic_receive_hash;
pub(crate) mod nic_ring_rx;
pub(crate) mod nic_ring_tx;
pub(crate) mod nic_rps_cpus;
pub(crate) mod nic_rps_flow_cnt;
pub(crate) mod nic_rx;
pub(crate) mod nic_tso;
pub(crate) mod nic_tx;
pub(crate) mod nic_xps_cpus;
