//! Which load is none: so many of its requests failed that what it measured is something else.

use linerate_analysis::view::{Point, too_many_failed};

/// Why a cell's point spoils its block, where what failed was no load; `None` where it does not.
#[must_use]
pub fn of_point(point: &Point) -> Option<String> {
    let (failed, all) = (point.error_count(), point.error_count() + point.requests);
    let kinds = || point.errors.iter().map(|(kind, n)| format!("{n} × {kind}")).collect::<Vec<_>>().join(", ");
    too_many_failed(failed, all).then(|| format!("{failed} of {all} requests failed: {}", kinds()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_in_a_hundred_that_fails_spoils_a_cell() {
        for (failed, all, expected) in
            [(0, 0, false), (0, 1000, false), (9, 1000, false), (10, 1000, true), (1, 1, true), (1, 101, false)]
        {
            assert_eq!(too_many_failed(failed, all), expected, "{failed} of {all}");
        }
    }
}
