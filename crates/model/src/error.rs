//! What keeps the model from an answer.

/// Why a site cannot be planned or explained.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ModelError {
    /// A plane names a link that a group does not have.
    #[error(
        "unknown link \"{link}\" of the {plane} plane in group \"{group}\": name one of its NICs or bonds: {known}"
    )]
    UnknownLink {
        /// `public` or `private`.
        plane: &'static str,
        link: String,
        /// The group that lacks it.
        group: String,
        /// What the group has.
        known: String,
    },
    /// A bond names a NIC that its group does not have.
    #[error("unknown NIC \"{nic}\" of bond \"{bond}\" in group \"{group}\": name one of: {known}")]
    UnknownNic {
        nic: String,
        bond: String,
        group: String,
        /// What the group has.
        known: String,
    },
    /// A share outside of 0 to 1.
    #[error("read share {share} is not a share: give one from 0 (all PUT) to 1 (all GET)")]
    ReadShare { share: f64 },
    /// No size of object to plan for.
    #[error("an object of 0 bytes moves no data: give a size such as 4MiB")]
    NoObjectSize,
    /// The engine does not lay data out so.
    #[error(transparent)]
    Layout(#[from] crate::layout::LayoutError),
    /// Nothing limits what was observed.
    #[error("the site describes nothing that limits the observed throughput: describe its drives and links")]
    NoCeiling,
    /// Nothing to explain.
    #[error("no figures given: give some, such as get=152GiB/s,put=81GiB/s")]
    NothingObserved,
    /// Figures that cannot be, each quoted.
    #[error("{}", .0.join("; "))]
    Observed(Vec<String>),
}
