//! How long visits of a level last, how many there are, and how many are enough.

/// A visit lasts so long, where there is the time.
pub const VISIT_MS: u64 = 10_000;

/// Most visits of one level: with more time, they last longer.
pub const VISITS_MAX: u64 = 48;

/// Visits of a level from which its interval is a 95 % one, of what visits differ by.
pub const VISITS_ENOUGH: u64 = 6;

/// How long a visit of each of so many levels is measured, of a series that takes so long, in milliseconds, with so
/// much before it that is not: all of the series' time is used, unless a visit would be shorter than its warm-up lets
/// it be.
#[must_use]
pub fn visit_ms(series_ms: u64, levels: usize, warmup_ms: u64) -> u64 {
    let share_ms = series_ms / levels.max(1) as u64;
    let visits = (share_ms / VISIT_MS.saturating_add(warmup_ms)).clamp(1, VISITS_MAX);
    (share_ms / visits).saturating_sub(warmup_ms).max(share_ms.min(VISIT_MS))
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
            let ms = visit_ms(series_s * 1_000, count, 0);
            assert_eq!(
                (ms / 1_000, rounds(series_s * 1_000, count, ms)),
                (visit_s, rounds_of),
                "{series_s} s, {count}"
            );
        }
        // A warm-up comes before each, and is a part of the series' time.
        for (series_s, count, warmup_s, visit_s, rounds_of) in
            [(120, 1, 1, 11, 10), (120, 3, 1, 12, 3), (120, 3, 2, 11, 3), (15, 3, 1, 5, 1), (120, 3, 60, 10, 1)]
        {
            let ms = visit_ms(series_s * 1_000, count, warmup_s * 1_000);
            let rounds = rounds(series_s * 1_000, count, ms + warmup_s * 1_000);
            assert_eq!((ms / 1_000, rounds), (visit_s, rounds_of), "{series_s} s, {count}, {warmup_s} s before");
        }
        // One round there is at the least.
        assert_eq!((rounds(1_000, 4, 10_000), rounds(0, 0, 0)), (1, 1));
    }
}
