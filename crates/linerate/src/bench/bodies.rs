//! What is written: bodies as the flags ask for them.

use linerate_load::body::{Bodies, Unique};
use linerate_load::sizes::{PUT_BYTES_MAX, Sizes};
use linerate_record::run::Op;
use linerate_record::units::bytes_iec;

use super::parts;
use crate::cli::{BenchFlags, PayloadFlag, UniqueFlag, Work, WriteFlag};
use crate::failure::Failure;
use crate::grid::Grid;

/// Longest body with words of its own all over that is hashed whole before it is sent: some tenths of a second, in
/// which a thread does nothing else.
const HASHED_BYTES_MAX: u64 = 256 << 20;

/// Such bodies are short, or it is an error.
pub(super) fn check(work: &Work, grid: &Grid) -> Result<(), Failure> {
    if work.unique != UniqueFlag::Full || work.payload != PayloadFlag::Signed {
        return Ok(());
    }
    let whole = grid.sizes.iter().map(Sizes::max).max().unwrap_or(0);
    let puts = grid.workloads.iter().any(|w| w.workload.has(Op::Put));
    let puts = puts || (work.write == WriteFlag::Put && parts::reads(grid));
    let longest = if puts { whole } else { whole.min(parts::parts(work).bytes) };
    if longest <= HASHED_BYTES_MAX {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "--unique full with --payload signed hashes a body of {} before it is sent, at most {}: give --payload \
         streaming, which is signed chunk by chunk, or smaller sizes or parts",
        bytes_iec(longest as f64),
        bytes_iec(HASHED_BYTES_MAX as f64)
    )))
}

/// What is written, with what is worth hashing before the load.
pub(super) fn of(flags: &BenchFlags, grid: &Grid, seed: u64) -> Bodies {
    let unique = match flags.work.unique {
        UniqueFlag::Tail => Unique::Tail,
        UniqueFlag::Full => Unique::Full,
    };
    // Only bodies that are hashed as a whole are worth hashing beforehand.
    if flags.work.payload != PayloadFlag::Signed {
        return Bodies::new(seed, unique, &[], None);
    }
    let mut named: Vec<u64> = grid.all_sizes().flat_map(Sizes::each).collect();
    let mut others = grid.sizes.iter().filter(|s| s.each().is_empty()).map(Sizes::usual_max).max();
    if parts::wanted(&flags.work, grid) {
        let of_parts: Vec<u64> = parts::lengths(&flags.work, &named).collect();
        let largest = parts::parts(&flags.work).bytes;
        // A size that no PUT takes is sent in parts only.
        named.retain(|&size| size <= PUT_BYTES_MAX);
        named.extend(of_parts);
        named.push(largest.min(grid.sizes.iter().map(Sizes::max).max().unwrap_or(0)));
        others = others.map(|most| most.min(PUT_BYTES_MAX));
    }
    Bodies::new(seed, unique, &named, others)
}
