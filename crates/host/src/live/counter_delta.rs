//! Counters at two looks, and what they make of the time between. A counter that is lower than before was begun anew or
//! has gone round, and gives no value: what it grew by is unknown.

/// The time between two looks, in seconds; none where none has passed.
pub(super) fn over_s(then_ms: u64, now_ms: u64) -> Option<f64> {
    now_ms.checked_sub(then_ms).filter(|&ms| ms > 0).map(|ms| ms as f64 / 1e3)
}

/// How much a counter grew.
pub(super) fn grown(then: u64, now: u64) -> Option<f64> {
    now.checked_sub(then).map(|by| by as f64)
}

/// How much a counter grew in each second.
pub(super) fn each_s(then: u64, now: u64, over_s: f64) -> Option<f64> {
    grown(then, now).map(|by| by / over_s)
}

/// The share of the time that a counter of milliseconds grew by. The instants of two looks are not those at which the
/// kernel was asked, so that a share may come out slightly above the whole; what is above by far went another way.
pub(super) fn share_of_ms(then_ms: u64, now_ms: u64, over_s: f64) -> Option<f64> {
    each_s(then_ms, now_ms, 1e3 * over_s).map(|share| share.min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lower_than_before_and_a_time_that_has_not_passed_give_nothing() {
        assert_eq!((over_s(1_000, 3_500), over_s(5, 5), over_s(6, 5)), (Some(2.5), None, None));
        assert_eq!(
            (each_s(10, 30, 2.0), each_s(30, 10, 2.0), grown(0, u64::MAX)),
            (Some(10.0), None, Some(2f64.powi(64)))
        );
        assert_eq!(
            (share_of_ms(0, 500, 1.0), share_of_ms(0, 1_010, 1.0), share_of_ms(9, 1, 1.0)),
            (Some(0.5), Some(1.0), None)
        );
    }
}
