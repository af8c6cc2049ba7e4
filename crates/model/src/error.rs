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
        /// What was named.
        link: String,
        /// The group that lacks it.
        group: String,
        /// What the group has.
        known: String,
    },
    /// A bond names a NIC that its group does not have.
    #[error("unknown NIC \"{nic}\" of bond \"{bond}\" in group \"{group}\": name one of: {known}")]
    UnknownNic {
        /// What was named.
        nic: String,
        /// The bond.
        bond: String,
        /// The group.
        group: String,
        /// What the group has.
        known: String,
    },
    /// A share outside of 0 to 1.
    #[error("read share {share} is not a share: give one from 0 (all PUT) to 1 (all GET)")]
    ReadShare {
        /// What was given.
        share: f64,
    },
    /// No size of object to plan for.
    #[error("an object of 0 bytes moves no data: give a size such as 4MiB")]
    NoObjectSize,
    /// The engine does not lay data out so.
    #[error(transparent)]
    Layout(#[from] crate::layout::LayoutError),
    /// Nothing limits what was observed.
    #[error("the site has nothing that limits what was observed: describe its drives and links")]
    NoCeiling,
    /// Nothing to explain.
    #[error("nothing was observed: give figures such as get=152GiB/s,put=81GiB/s")]
    NothingObserved,
    /// A throughput that is none.
    #[error("an observed throughput of {bytes_per_s} B/s is none: give one above 0, such as 152GiB/s")]
    ObservedFigure {
        /// What was given.
        bytes_per_s: f64,
    },
    /// A measuring error that is none.
    #[error("a measuring error of {share} is out of range: give a share from 0.0005 to 0.3, such as 0.02 for 2 %")]
    ObservedError {
        /// What was given.
        share: f64,
    },
}
