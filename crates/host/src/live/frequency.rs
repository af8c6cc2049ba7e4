//! The frequency of cores that are busy, by `/sys/devices/system/cpu/cpu*/cpufreq`: `CoreFrequency`.
//!
//! - Tells: the mean, over cores that were busy at least half of the time before, of `scaling_cur_freq` as a share of
//!   `cpuinfo_max_freq`. The latter is what one core reaches alone: with all cores busy, a sound machine is below.
//! - Cannot tell: idle cores, which are slow by intention; why it is low (heat, a limit of power, a governor); machines
//!   without cpufreq, such as most virtual ones, of which nothing is said. Drivers without counters of cycles report
//!   what was asked of the hardware, not what it gave.
//! - Needs no privilege. At most each 5 s and of at most 64 cores: on x86 before Linux 5.18 each file interrupts its
//!   core and sleeps for 10 ms where nobody has read it in the second before (`aperfmperf.c: arch_freq_get_on_cpu`), so
//!   a round begins with no further core after 50 ms. It is read beside the looks.

use std::time::{Duration, Instant};

use linerate_record::readings::ReadMeasure;

use super::Reader;
use super::background::BackgroundRead;
use crate::root::{Root, text};

pub(super) const LEAST_MS: u64 = 5_000;
const MOST_CORES: usize = 64;
const ROUND: Duration = Duration::from_millis(50);
/// From which share of the time on a core counts as busy.
const BUSY: f64 = 0.5;

/// What is being read.
#[derive(Debug, Default)]
pub(super) struct Frequency {
    aside: BackgroundRead<Option<f64>>,
}

/// With how busy each core was since the look before.
pub(super) fn look(state: &mut Frequency, busy: &[(u32, f64)], at: &mut Reader<'_>) {
    let cores = busiest(busy);
    let found = match cores.is_empty() {
        true => state.aside.found(),
        false => state.aside.turn(at.root, at.now_ms, LEAST_MS, move |root| share(root, &cores)),
    };
    at.tell_any(ReadMeasure::CoreFrequency, "", found.flatten());
}

fn busiest(busy: &[(u32, f64)]) -> Vec<u32> {
    let mut cores: Vec<(u32, f64)> = busy.iter().copied().filter(|(_, share)| *share >= BUSY).collect();
    cores.sort_by(|(one, a), (other, b)| b.total_cmp(a).then_with(|| one.cmp(other)));
    cores.iter().take(MOST_CORES).map(|(cpu, _)| *cpu).collect()
}

fn share(root: &Root, cores: &[u32]) -> Option<f64> {
    let (began, mut bytes) = (Instant::now(), Vec::new());
    let mut of_core = |cpu: u32| {
        let folder = format!("sys/devices/system/cpu/cpu{cpu}/cpufreq");
        let mut khz = |file: &str| parse_khz(&text(root, &format!("{folder}/{file}"), &mut bytes).ok()?);
        // Where there is no cpufreq, this asks for one file a core.
        let most = khz("cpuinfo_max_freq")?;
        Some((khz("scaling_cur_freq")? / most).min(1.0))
    };
    let shares = cores.iter().take_while(|_| began.elapsed() < ROUND).map(|cpu| of_core(*cpu));
    let (sum, count) = shares.flatten().fold((0.0, 0_u32), |(sum, count), share| (sum + share, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// A number above 0; drivers write `<unknown>` too.
fn parse_khz(text: &str) -> Option<f64> {
    text.trim().parse::<u64>().ok().filter(|khz| *khz > 0).map(|khz| khz as f64)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{put, values};
    use super::*;

    #[test]
    fn busy_cores_are_read_the_busiest_first_and_idle_ones_not() {
        assert_eq!(busiest(&[(0, 0.4), (1, 0.5), (2, 1.0), (3, 0.7)]), [2, 3, 1]);
        let many: Vec<(u32, f64)> = (0..200).map(|cpu| (cpu, 1.0)).collect();
        assert_eq!(busiest(&many).len(), MOST_CORES);
    }

    #[test]
    fn the_frequency_is_a_share_of_the_most() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        for (cpu, now, most) in [(0, "2000000\n", "4000000"), (1, "3000000", "4000000"), (2, "<unknown>", "4000000")] {
            put(&root, &format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"), now);
            put(&root, &format!("sys/devices/system/cpu/cpu{cpu}/cpufreq/cpuinfo_max_freq"), most);
        }
        assert_eq!(share(&root, &[0, 1, 2, 3]), Some(0.625));
        assert_eq!(share(&root, &[2, 3]), None);
        assert_eq!((parse_khz("0"), parse_khz("-1"), parse_khz("")), (None, None, None));

        let mut state = Frequency::default();
        let values_at =
            |busy: &[(u32, f64)], now_ms, state: &mut Frequency| values(&root, now_ms, |at| look(state, busy, at));
        assert_eq!(values_at(&[(0, 0.1)], 0, &mut state), []);
        assert_eq!(values_at(&[(0, 0.9)], 1_000, &mut state), [(ReadMeasure::CoreFrequency, String::new(), 0.5)]);
        assert_eq!(values_at(&[(0, 0.9)], 2_000, &mut state), []);
        assert_eq!(values_at(&[(1, 0.9)], 6_000, &mut state), [(ReadMeasure::CoreFrequency, String::new(), 0.75)]);
    }
}
