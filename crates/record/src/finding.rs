//! A finding: a claim with its evidence, confidence and remedy.

use serde::{Deserialize, Serialize};

/// How much a finding should worry its reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; changes nothing about how far the figures can be trusted.
    Note,
    /// The figures stand, but something limits what they say.
    Warning,
    /// Some figures should not be used. Folders and JSON of before have an older word for it.
    #[serde(alias = "serious")]
    Critical,
}

/// How sure linerate is of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Consistent with the evidence, and so are other explanations.
    Possible,
    /// The best of the explanations looked at.
    Likely,
    /// Read directly from a counter or a reply.
    Certain,
}

/// What a finding is about: one variant per check, so that a script can match on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FindingKind {
    /// linerate's own threads bound a point.
    ClientBound,
    /// One of several clients did not drive load as long as the others.
    ClientMissing,
    /// One of several clients died or could not be reached any more while a point was driven.
    ClientLost,
    /// Some of several clients drove load with another version of linerate.
    ClientVersion,
    /// Some of several clients were slower than the others, beyond chance.
    ClientSlow,
    /// Some of several clients could drive no more themselves, while others could.
    ClientAtCeiling,
    /// Intervals of a client were put together, because its stream took them too slowly.
    IntervalsMerged,
    /// A NIC of this machine ran close to its link speed.
    NicBound,
    /// Throughput still grew at the highest concurrency tried.
    StillRising,
    RequestErrors,
    /// For a while, requests failed and none succeeded.
    TargetLost,
    /// Requests that were given up had waited for longer than any that ended took.
    NeverAnswered,
    /// Requests fell due faster than they were answered, or waited for a slot.
    FellBehind,
    /// Latencies of an open loop missed the bounds of `--slo`.
    SloMissed,
    /// They kept them, by too few requests or too unevenly to show that the bounds hold.
    SloInDoubt,
    /// A rate is shown to miss a bound of `--slo`, and a higher one to hold it.
    SloContradicted,
    /// The canary exceeded a bound of `--abort-if`.
    CanaryTripped,
    /// linerate started requests late that were due.
    LateStarts,
    /// The target does not show what it said that it stored or deleted.
    NotStored,
    /// A body differed from what was written.
    WrongBody,
    /// A point ended before its time.
    EndedEarly,
    /// Throughput was still changing when a point ended.
    NotSteady,
    /// Not every request in flight ended once while a point was measured.
    TooShort,
    /// A reading of this machine could not be had.
    Unreadable,
    /// Packets were dropped or segments retransmitted while measuring.
    PacketLoss,
    /// Other programs, a quota or heat took this machine's processors while measuring.
    Disturbed,
    /// The hypervisor took processor time away while measuring.
    StolenTime,
    /// Objects of this run remain at the target.
    LeftBehind,
    /// `--max-rate` bound a point, so that it says nothing about the target.
    RateCapped,
    /// The target's certificate was not verified.
    Unverified,
    /// A folder was cut off in the middle of a run.
    Incomplete,
    /// Throughput × latency is not what was kept in flight.
    LittlesLaw,
    /// More bytes were counted than this machine's interfaces carried.
    BytesUnaccounted,
    /// This machine's interfaces carried much more than bodies.
    WireOverhead,
    /// The wall clock of this machine was stepped, or runs free.
    ClockStep,
    /// linerate stood still: stopped, frozen, or asleep with this machine.
    Stopped,
    /// One event-loop thread was full while others had time.
    ThreadFull,
    /// Interrupts filled one processor of this machine while others idled.
    InterruptsOnOneProcessor,
    /// This machine spent much of its time in software interrupts.
    SoftirqLoad,
    /// One member of a bond of this machine was full while another idled.
    BondMemberFull,
    /// What was read came from the target's memory, or may have.
    PageCache,
    /// A host of the target differed from the others.
    UnevenHosts,
    /// Latencies are of two kinds.
    BimodalLatency,
    /// Throughput moved between two levels.
    ThroughputLevels,
    /// Throughput rose or fell all through a point.
    Drift,
    /// A mean rests on a few stalls.
    FewStalls,
    /// Throughput over concurrency does not rise and level off.
    UnevenCurve,
    /// The target turned requests away as too many.
    Throttled,
    /// linerate rested after connections that failed, or paused because the target asked for it.
    RestedAfterFailures,
    /// Another tool measured; what it did not record is absent.
    Imported,
}

/// A claim about a run, with what it rests on and what to do about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    pub kind: FindingKind,
    /// How much it matters.
    pub severity: Severity,
    /// How sure it is.
    pub confidence: Confidence,
    /// The points it is about, by number; empty where it is about the whole run.
    #[serde(default)]
    pub points: Vec<u32>,
    /// One sentence, without a full stop.
    pub claim: String,
    /// The readings that the claim rests on.
    pub evidence: String,
    /// What to do, or an empty string where nothing needs doing.
    pub remedy: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severities_have_the_words_of_reports_and_those_of_before_are_read() {
        for (severity, word) in
            [(Severity::Note, "note"), (Severity::Warning, "warning"), (Severity::Critical, "critical")]
        {
            assert_eq!(serde_json::to_value(severity).unwrap(), word);
            assert_eq!(serde_json::from_value::<Severity>(word.into()).unwrap(), severity);
        }
        assert_eq!(serde_json::from_str::<Severity>("\"serious\"").unwrap(), Severity::Critical);
    }
}
