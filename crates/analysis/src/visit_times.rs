//! How long visits of a level last, how many there are, and how many are enough.

/// A visit lasts so long, where there is the time.
pub const VISIT_MS: u64 = 10_000;

/// Most visits of one level: with more time, they last longer.
pub const VISITS_MAX: u64 = 48;

/// Visits of a level from which its interval is a 95 % one, of what visits differ by.
pub const VISITS_ENOUGH: u64 = 6;

/// How long a visit of each of so many levels lasts, of a series that takes so long, in milliseconds: all of its time
/// is used.
#[must_use]
pub fn visit_ms(series_ms: u64, levels: usize) -> u64 {
    let share_ms = series_ms / levels.max(1) as u64;
    share_ms / (share_ms / VISIT_MS).clamp(1, VISITS_MAX)
}

/// How many rounds a series of so many levels has time for, each visit of which takes `visit_ms`: one at the least.
#[must_use]
pub fn rounds(series_ms: u64, levels: usize, visit_ms: u64) -> u64 {
    let round_ms = visit_ms.saturating_mul(levels as u64).max(1);
    (series_ms.saturating_add(to_spare(round_ms)) / round_ms).max(1)
}

/// By how much the last round may exceed the time: visits last whole intervals, which may be a little longer.
pub(crate) const fn to_spare(round_ms: u64) -> u64 {
    round_ms / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn visits_last_ten_seconds_or_more_and_use_all_the_time() {
        for (series_s, count, visit_s, rounds_of) in [
            (120, 1, 10, 12),
            (120, 3, 10, 4),
            (120, 5, 12, 2),
            (120, 7, 17, 1),
            (120, 16, 7, 1),
            (15, 1, 15, 1),
            (720, 12, 10, 6),
            (86_400, 1, 1_800, 48),
        ] {
            let ms = visit_ms(series_s * 1_000, count);
            assert_eq!(
                (ms / 1_000, rounds(series_s * 1_000, count, ms)),
                (visit_s, rounds_of),
                "{series_s} s, {count}"
            );
        }
        // One round there is at the least.
        assert_eq!((rounds(1_000, 4, 10_000), rounds(0, 0, 0)), (1, 1));
    }
}
