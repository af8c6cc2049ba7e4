//! The model, run forward and backward on sites that are written or drawn.

mod bond_vectors;
mod cases;
mod chance;
mod curve;
mod diagnosis;
mod explain_alongside;
mod explain_cases;
mod explain_kinds;
mod explain_loads;
mod explain_nodes;
mod explain_racks;
mod explain_shares;
mod explained_sites;
#[path = "explained_sites/gateways.rs"]
mod gateways;
mod keys_of_inputs;
mod losses;
#[path = "explained_sites/one_port.rs"]
mod one_port;
mod paced;
mod planted;
mod pools;
mod properties;
#[path = "explained_sites/published.rs"]
mod published;
mod racks;
#[path = "explained_sites/random.rs"]
mod random;
mod readings_worlds;
mod self_load;
mod self_load_reported;
mod sites;
mod unmodelled;
