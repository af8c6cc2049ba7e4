//! What kernels took off the program's hands.

use serde::{Deserialize, Serialize};

/// What a pair's kernels did of what flows asked of them, over all visits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetOffloadFigures {
    /// Datagrams of a send at the mean, which the sender's kernel cut apart (GSO): 1 where it refused that. Absent
    /// where each was to be sent by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams_per_send: Option<f64>,
    /// Datagrams of a read at the mean, which the receiver's kernel had joined (GRO). Absent where each was to be read
    /// by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams_per_read: Option<f64>,
    /// Sends without a copy, warm-ups included; absent where nobody asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncopied_sends: Option<u64>,
    /// Share of those of which it is known that were copied all the same; absent where it is known of none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied_share: Option<f64>,
}
