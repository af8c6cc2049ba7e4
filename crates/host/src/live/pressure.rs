//! Pressure, by `/proc/pressure`: `CpuPressure`, `IoPressure`, `MemoryPressure`.
//!
//! - Tells: the share of the time in which at least one task waited (`some`), as node_exporter's
//!   `node_pressure_*_waiting_seconds_total`.
//! - Cannot tell: which task, or how many: one backup that waits for its slow drive all the time is a share of 1. The
//!   kernel counts in its own rhythm of 2 s, so that one look may have what belongs to the next.
//! - Needs no privilege; absent before Linux 4.20, without `CONFIG_PSI`, and on RHEL 8 and 9 until booted with `psi=1`.
//!   Three small files; each second is often enough.

use linerate_record::readings::ReadMeasure;

use super::Reader;
use super::counter_delta::{over_s, share_of_ms};
use crate::pressure::total_us;

const FILES: [(&str, ReadMeasure); 3] = [
    ("proc/pressure/cpu", ReadMeasure::CpuPressure),
    ("proc/pressure/io", ReadMeasure::IoPressure),
    ("proc/pressure/memory", ReadMeasure::MemoryPressure),
];

/// What was read last.
#[derive(Debug, Default)]
pub(super) struct Pressures {
    then: Option<(u64, [Option<u64>; 3])>,
}

pub(super) fn look(state: &mut Pressures, at: &mut Reader<'_>) {
    let now = FILES.map(|(path, _)| total_us(at.root, path, at.pass));
    let Some((then_ms, then)) = state.then.replace((at.now_ms, now)) else { return };
    let Some(over_s) = over_s(then_ms, at.now_ms) else { return };
    for (place, (_, of)) in FILES.into_iter().enumerate() {
        let both = then[place].zip(now[place]);
        at.tell_any(of, "", both.and_then(|(then, now)| share_of_ms(then, now, 1e3 * over_s)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{put, values};
    use super::*;
    use crate::root::Root;

    #[test]
    fn each_is_a_share_of_its_own_and_one_that_is_missing_is_none_of_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        let mut state = Pressures::default();
        let mut totals = |now_ms, cpu: u64, io: Option<u64>, memory: u64| {
            put(&root, "proc/pressure/cpu", &format!("some avg10=0.00 total={cpu}\nfull avg10=0.00 total=0\n"));
            put(&root, "proc/pressure/memory", &format!("some avg10=0.00 total={memory}\n"));
            match io {
                Some(io) => put(&root, "proc/pressure/io", &format!("some avg10=0.00 total={io}\n")),
                None => drop(std::fs::remove_file(folder.path().join("proc/pressure/io"))),
            }
            let found = values(&root, now_ms, |at| look(&mut state, at));
            found.into_iter().map(|(of, _, value)| (of, value)).collect::<Vec<_>>()
        };
        assert_eq!(totals(0, 0, None, 9_000_000), []);
        let found = totals(2_000, 500_000, Some(7), 9_200_000);
        assert_eq!(found, [(ReadMeasure::CpuPressure, 0.25), (ReadMeasure::MemoryPressure, 0.1)]);
        let found = totals(3_000, 499_999, Some(1_000_007), 9_200_000);
        assert_eq!(found, [(ReadMeasure::IoPressure, 1.0), (ReadMeasure::MemoryPressure, 0.0)]);
    }
}
