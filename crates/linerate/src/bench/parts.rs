//! Multipart uploads, as the flags ask for them: held against what S3 takes, before any load.

use linerate_load::multipart::{PART_BYTES_MIN, PARTS_MAX, Parts};
use linerate_load::session::Workload;
use linerate_load::sizes::{PUT_BYTES_MAX, Sizes};
use linerate_record::run::Op;
use linerate_record::units::Bytes;

use crate::cli::{Work, WriteFlag};
use crate::failure::Failure;
use crate::grid::Grid;

/// How objects are cut.
pub(super) const fn parts(work: &Work) -> Parts {
    Parts { bytes: work.part_size.0, concurrent: work.part_concurrent }
}

/// Whether the run uploads in parts.
pub(super) fn wanted(work: &Work, grid: &Grid) -> bool {
    grid.workloads.iter().any(|w| w.workload.has(Op::Multipart)) || (work.write == WriteFlag::Multipart && reads(grid))
}

/// What objects to read, or to delete, are written with.
pub(super) const fn writer(work: &Work) -> Op {
    match work.write {
        WriteFlag::Put => Op::Put,
        WriteFlag::Multipart => Op::Multipart,
    }
}

/// Whether objects are written beforehand.
pub(super) fn reads(grid: &Grid) -> bool {
    let beforehand = [Op::Get, Op::Stat, Op::List];
    let needs = |w: &Workload| *w == Workload::Single(Op::Delete) || beforehand.into_iter().any(|op| w.has(op));
    grid.workloads.iter().any(|w| needs(&w.workload))
}

/// Sizes and parts that S3 would refuse.
pub(super) fn check(work: &Work, grid: &Grid) -> Result<(), Failure> {
    let largest = grid.sizes.iter().map(Sizes::max).max().unwrap_or(0);
    let parts = parts(work);
    if wanted(work, grid) {
        let size = work.part_size;
        if !(PART_BYTES_MIN..=PUT_BYTES_MAX).contains(&parts.bytes) {
            return Err(Failure::usage(format!("--part.size {size} is no size of a part: S3 takes 5 MiB to 5 GiB")));
        }
        if parts.of(largest) > PARTS_MAX {
            let needed = Bytes(largest.div_ceil(PARTS_MAX).next_multiple_of(1 << 20));
            let count = parts.of(largest);
            return Err(Failure::usage(format!(
                "an object of {} would have {count} parts, and S3 takes {PARTS_MAX}: give --part.size {needed} or more",
                Bytes(largest)
            )));
        }
    }
    let puts = grid.workloads.iter().any(|w| w.workload.has(Op::Put))
        || (work.write == WriteFlag::Put && !work.list_existing && reads(grid));
    if puts && largest > PUT_BYTES_MAX {
        return Err(Failure::usage(format!(
            "object size {} exceeds the 5 GiB of one PutObject: use --op multipart, or --write multipart for reading",
            Bytes(largest)
        )));
    }
    Ok(())
}

/// Lengths of the parts of objects of known sizes: their hashes are worth preparing.
pub(super) fn lengths<'a>(work: &'a Work, sizes: &'a [u64]) -> impl Iterator<Item = u64> + 'a {
    let bytes = parts(work).bytes.max(1);
    sizes.iter().flat_map(move |&size| [bytes.min(size), size % bytes])
}
