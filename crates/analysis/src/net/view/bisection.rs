//! What racks carry together, all at once, beside what their machines reach within them.

use serde::{Deserialize, Serialize};

use super::{NetInterval, NetRatio};

/// All racks with one number of streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetBisection {
    /// Streams of each pair.
    pub streams: u32,
    /// How it came out.
    pub outcome: NetBisectionOutcome,
    /// What all racks that count send across racks, each with all of its machines; absent where none counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across_per_s: Option<NetInterval>,
    /// What the same machines send within their racks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_per_s: Option<NetInterval>,
    /// The first by the second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<NetRatio>,
    /// The second by the first: 2 where racks carry half of what their machines can send.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oversubscription: Option<NetInterval>,
    /// What the site states of that; absent where no site was given, or it states nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stated: Option<f64>,
    /// Why nothing, or not all, can be said; empty where all can.
    pub lacking: String,
    /// It in a sentence.
    pub said: String,
    /// Each rack, by its name.
    pub racks: Vec<NetRackFigures>,
    /// Each way in which racks were halved.
    pub splits: Vec<NetSplitFigures>,
}

/// Whether racks carry less than their machines can send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetBisectionOutcome {
    /// They do, by a tenth or more and beyond chance.
    Oversubscribed,
    /// They do not, or by less than a tenth.
    Whole,
    /// It cannot be told.
    Untold,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetRackFigures {
    pub name: String,
    pub machines: u32,
    pub sends: NetRackSide,
    pub receives: NetRackSide,
}

/// What a rack sends, or receives: the sum over its machines, in visits in which all of them have figures. Each figure
/// is absent where there is no such visit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetRackSide {
    /// With machines of other racks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub across_per_s: Option<NetInterval>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within_per_s: Option<NetInterval>,
    /// The first by the second; its verdict counts all racks and both sides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio: Option<NetRatio>,
}

/// One way in which racks were halved: a round across.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetSplitFigures {
    pub round: u32,
    /// Racks of the half that the first rack is in, by their places among `racks`.
    pub first: Vec<u32>,
    /// Pairs that go at the same time.
    pub pairs: u32,
    /// What that half sends to the other one: the sum of the visits in which all pairs have figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub there_per_s: Option<NetInterval>,
    /// What the other half sends to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_per_s: Option<NetInterval>,
}

impl NetBisection {
    /// What a rack sends or receives that gives least by what its machines reach: the rack's place, whether it sends,
    /// and its side.
    #[must_use]
    pub fn least(&self) -> Option<(usize, bool, &NetRackSide)> {
        let racks = self.racks.iter().enumerate();
        let all = racks.flat_map(|(place, rack)| [(place, true, &rack.sends), (place, false, &rack.receives)]);
        let known = all.filter_map(|of| Some((of, of.2.ratio?.ratio.mean)));
        known.min_by(|a, b| a.1.total_cmp(&b.1)).map(|(of, _)| of)
    }
}
