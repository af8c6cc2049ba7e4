//! Queries of which no answer came, after all that was tried: what they are of is not read, and the rest goes on. A
//! server that answers nothing any more is a fault.

use linerate_record::sanitize::named_some;

use crate::error::PrometheusError;

/// So many in a row, and nobody answers.
const ROW_MOST: usize = 3;

/// So many of all, each of which may have taken as long as an answer may, and what is left says too little.
const ALL_MOST: usize = 8;

/// What was not read.
#[derive(Debug, Default)]
pub(crate) struct FailedQueries {
    metrics: Vec<String>,
    first: Option<PrometheusError>,
    in_a_row: usize,
}

impl FailedQueries {
    /// Notes that a metric was not read, unless that is one too many.
    pub(crate) fn note(&mut self, metric: &str, fault: PrometheusError) -> Result<(), PrometheusError> {
        self.in_a_row += 1;
        if self.in_a_row >= ROW_MOST || self.metrics.len() >= ALL_MOST {
            return Err(fault);
        }
        self.metrics.push(metric.to_owned());
        self.first.get_or_insert(fault);
        Ok(())
    }

    pub(crate) fn answered(&mut self) {
        self.in_a_row = 0;
    }

    pub(crate) fn first(&self) -> Option<&PrometheusError> {
        self.first.as_ref()
    }

    /// What has to be known before an answer without these is believed.
    pub(crate) fn reported(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let metrics = named_some(self.metrics.iter().map(String::as_str));
        let were = if self.metrics.len() == 1 { "1 query was" } else { "some queries were" };
        Some(format!("{were} not answered, and {metrics} not read: {first}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn busy() -> PrometheusError {
        let (url, query, why) = ("http://prom".to_owned(), "up".to_owned(), String::new());
        PrometheusError::Status { url, status: 503, query, why }
    }

    #[test]
    fn some_answers_may_be_missing_and_not_many_in_a_row_or_in_all() {
        let mut unread = FailedQueries::default();
        assert_eq!((unread.reported(), unread.first()), (None, None));
        for _ in 0..ROW_MOST - 1 {
            assert_eq!(unread.note("a", busy()), Ok(()));
        }
        assert_eq!(unread.note("b", busy()), Err(busy()));
        let mut unread = FailedQueries::default();
        for metric in 0..ALL_MOST {
            assert_eq!(unread.note(&format!("m{metric}"), busy()), Ok(()));
            unread.answered();
        }
        assert_eq!(unread.note("more", busy()), Err(busy()));
        let reported = unread.reported().unwrap();
        assert!(
            reported.starts_with("some queries were not answered, and m0") && reported.contains("answered 503"),
            "{reported}"
        );
    }
}
