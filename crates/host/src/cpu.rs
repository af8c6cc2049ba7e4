//! `/proc/stat`: what each processor spent its time on.

use crate::lines::{LineFault, number, number_if_any, some_rows};
use crate::root::Parsed;
use linerate_record::reading::CpuTimes;

/// The unit of `/proc/stat` is `USER_HZ`, 100 per second on every architecture that Linux runs storage on, whatever the
/// kernel's own HZ is.
const MS_PER_TICK: u64 = 10;

/// One row per processor that is online, in the kernel's order. The line of their sum is left out.
pub(crate) fn parse_stat(text: &str) -> Parsed<Vec<CpuTimes>> {
    some_rows(text, "no line of a processor", cpu_line)
}

fn cpu_line(line: &str) -> Result<Option<CpuTimes>, LineFault> {
    let mut columns = line.split_whitespace();
    let Some(cpu) = columns.next().and_then(|label| label.strip_prefix("cpu")).filter(|cpu| !cpu.is_empty()) else {
        return Ok(None);
    };
    let cpu = cpu.parse().map_err(|_| "the processor has no number")?;
    let (user, nice) = (number(columns.next())?, number(columns.next())?);
    let (system, idle) = (number(columns.next())?, number(columns.next())?);
    // Columns came with time: iowait, irq and softirq in 2.6, steal in 2.6.11. The guest columns after them are
    // already part of user and nice.
    let iowait = number_if_any(columns.next())?;
    let irq = number_if_any(columns.next())?;
    let softirq = number_if_any(columns.next())?;
    let steal = number_if_any(columns.next())?;
    Ok(Some(CpuTimes {
        cpu,
        user_ms: ms(user.saturating_add(nice)),
        system_ms: ms(system),
        irq_ms: ms(irq),
        softirq_ms: ms(softirq),
        steal_ms: ms(steal),
        iowait_ms: ms(iowait),
        idle_ms: ms(idle),
    }))
}

fn ms(ticks: u64) -> u64 {
    ticks.saturating_mul(MS_PER_TICK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two sockets with 64 processors each; processor 57 is offline, and the text was cut inside the line of 127.
    const TWO_SOCKETS: &str = include_str!("../tests/data/stat_two_sockets_truncated.txt");

    #[test]
    fn every_processor_gives_its_times_in_milliseconds() {
        let full = CpuTimes {
            cpu: 3,
            user_ms: 110,
            system_ms: 20,
            idle_ms: 30,
            iowait_ms: 40,
            irq_ms: 50,
            softirq_ms: 60,
            steal_ms: 70,
        };
        let old = CpuTimes { iowait_ms: 0, irq_ms: 0, softirq_ms: 0, steal_ms: 0, ..full };
        let cases = [
            ("cpu  9 9 9 9\ncpu3 10 1 2 3 4 5 6 7 8 1\nintr 5", full),
            ("cpu3 10 1 2 3 4 5 6 7", full),
            ("cpu3 10 1 2 3", old),
            ("cpu3 10 1 2 3 4 5 6", CpuTimes { steal_ms: 0, ..full }),
            ("cpu3 10 1 2 3 4 5 6 7 8 1 0 0 0 more", full),
            ("cpu3 18446744073709551615 1 2 3", CpuTimes { user_ms: u64::MAX, ..old }),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_stat(text), (vec![expected], None), "{text:?}");
        }
    }

    #[test]
    fn a_line_that_no_kernel_writes_is_left_out_and_told() {
        let cases = [
            ("cpu0 1 2 3\ncpu1 1 2 3 4", "line 1 \"cpu0 1 2 3\": a column is missing"),
            (
                "cpu1 1 2 3 4\ncpu2 1 2 3 -4",
                "line 2 \"cpu2 1 2 3 -4\": a column is not a whole number from 0 to 2^64 - 1",
            ),
            ("cpux 1 2 3 4\ncpu1 1 2 3 4", "line 1 \"cpux 1 2 3 4\": the processor has no number"),
        ];
        for (text, fault) in cases {
            let (cpus, reported) = parse_stat(text);
            assert_eq!(cpus.iter().map(|times| times.cpu).collect::<Vec<_>>(), [1], "{text:?}");
            assert_eq!(reported.as_deref(), Some(fault), "{text:?}");
        }
        assert_eq!(parse_stat("").1.as_deref(), Some("no line of a processor"));
    }

    #[test]
    fn a_large_machine_with_an_offline_processor_and_a_cut_text_keeps_the_rest() {
        let (cpus, reported) = parse_stat(TWO_SOCKETS);
        assert_eq!(cpus.len(), 126);
        assert!(cpus.iter().all(|times| times.cpu != 57 && times.idle_ms > 0 && times.softirq_ms > 0));
        assert_eq!(cpus[125].cpu, 126);
        assert_eq!(reported.as_deref(), Some("line 128 \"cpu127 418\": a column is missing"));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(cpu[0-9]{0,12}( -?[0-9]{1,24}){0,12}\n){0,4}|(?s).*") {
            parse_stat(&text);
        }
    }
}
