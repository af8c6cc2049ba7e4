//! Answers of an API server that are not taken.

/// Largest answer of the API server, in bytes: a list of 5,000 pods, at 13 KiB each.
pub(crate) const ANSWER_BYTES_MAX: usize = 64 << 20;

/// Why an answer is not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RefusedAnswer {
    /// More than [`ANSWER_BYTES_MAX`].
    #[error("the answer is too large")]
    TooLarge,
    #[error("a redirect")]
    Redirect {
        code: u16,
        /// Where to, without a query.
        location: String,
    },
}
