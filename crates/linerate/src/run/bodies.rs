//! What is written: bodies as the load asks for them.

use linerate_load::body;
use linerate_record::load::sizes::PUT_BYTES_MAX;
use linerate_record::load::{Load, Payload, Sizes};

/// What is written, with what is worth hashing before the load.
pub(crate) fn for_load(load: &Load, seed: u64) -> body::Bodies {
    let (unique, payload) = (load.bodies.unique, load.bodies.payload);
    // Only bodies that are hashed as a whole are worth hashing beforehand.
    if payload != Payload::Signed {
        return body::Bodies::new(seed, unique, &[], None);
    }
    let mut named: Vec<u64> = load.sizes().flat_map(Sizes::each).collect();
    named.sort_unstable();
    named.dedup();
    let mut others = load.sizes().filter(|sizes| sizes.each().is_empty()).map(Sizes::usual_max).max();
    if load.has_parts() {
        let part_sizes: Vec<u64> = part_lengths(load.bodies.part_bytes, &named).collect();
        // A size that no PUT takes is sent in parts only.
        named.retain(|&size| size <= PUT_BYTES_MAX);
        named.extend(part_sizes);
        named.push(load.bodies.part_bytes.min(load.largest_bytes()));
        others = others.map(|most| most.min(PUT_BYTES_MAX));
    }
    body::Bodies::new(seed, unique, &named, others)
}

/// Lengths of the parts of objects of known sizes: their hashes are worth preparing.
fn part_lengths(part_bytes: u64, sizes: &[u64]) -> impl Iterator<Item = u64> + '_ {
    let bytes = part_bytes.max(1);
    sizes.iter().flat_map(move |&size| [bytes.min(size), size % bytes])
}
