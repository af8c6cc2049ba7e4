//! The model, run forward and backward on sites that are written or drawn.

mod bond_vectors;
mod cases;
mod chance;
mod curve;
mod diagnosis;
mod explain_beside;
mod explain_cases;
mod explain_kinds;
mod explain_loads;
mod explain_nodes;
mod explain_racks;
mod explain_shares;
mod explained_sites;
mod keys_of_inputs;
mod losses;
mod paced;
mod planted;
mod pools;
mod properties;
mod racks;
mod readings_worlds;
mod self_load;
mod self_load_told;
mod sites;
mod unmodelled;
