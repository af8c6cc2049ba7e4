//! Flags with a choice: the words of `record`, with what help and completions say of each.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use linerate_record::load::{Choice, HostSelect, Lookup, OwnTarget, Payload, Spacing, Unique, Write};

/// Reads one of the words of a choice, or another word for it, as other tools have it.
fn choice_parser<T: Choice + Send + Sync>(
    reported: fn(T) -> &'static str,
    alias: fn(T) -> Option<&'static str>,
) -> impl TypedValueParser<Value = T> {
    let offered =
        T::ALL.iter().map(|&value| PossibleValue::new(value.name()).help(reported(value)).aliases(alias(value)));
    PossibleValuesParser::new(offered).try_map(move |word| {
        let found = T::ALL.iter().find(|&&value| value.name() == word || alias(value) == Some(word.as_str()));
        found.copied().ok_or("it is not one of the possible values")
    })
}

/// Reads `--target` and what `linerate target` starts.
pub(crate) fn own_targets() -> impl TypedValueParser<Value = OwnTarget> {
    let reported = |target| match target {
        OwnTarget::Embedded => "A real S3 server on a folder. Keys: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        OwnTarget::Null => "Answers as fast as the kernel allows and stores nothing",
    };
    choice_parser(reported, |_| None)
}

/// Reads `--lookup`.
pub(crate) fn lookups() -> impl TypedValueParser<Value = Lookup> {
    let reported = |lookup| match lookup {
        Lookup::Path => "http://host/bucket/key",
        Lookup::Host => "http://bucket.host/key",
    };
    choice_parser(reported, |_| None)
}

/// Reads `--host-select`, by warp's words too.
pub(crate) fn host_selects() -> impl TypedValueParser<Value = HostSelect> {
    let reported = |select| match select {
        HostSelect::RoundRobin => "Each host in turn",
        HostSelect::LeastOutstanding => "The host with the fewest requests in flight",
    };
    let alias = |select| match select {
        HostSelect::RoundRobin => Some("roundrobin"),
        HostSelect::LeastOutstanding => Some("weighed"),
    };
    choice_parser(reported, alias)
}

/// Reads `--arrivals`.
pub(crate) fn spacings() -> impl TypedValueParser<Value = Spacing> {
    let reported = |spacing| match spacing {
        Spacing::Constant => "Evenly: requests wait only for the target, never because two of them are due together",
        Spacing::Poisson => "At random and independently, as the requests of many users arrive: with bursts",
    };
    choice_parser(reported, |_| None)
}

/// Reads `--payload`.
pub(crate) fn payloads() -> impl TypedValueParser<Value = Payload> {
    let reported = |payload| match payload {
        Payload::Signed => "The signature covers the body's SHA-256, as most clients do over plain HTTP",
        Payload::Unsigned => "UNSIGNED-PAYLOAD, as most clients do over TLS: the target does not hash bodies",
        Payload::Streaming => {
            "STREAMING-AWS4-HMAC-SHA256-PAYLOAD: chunks of 64 KiB, each signed together with the signature before it"
        }
        Payload::StreamingTrailer => {
            "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER: signed chunks, followed by a signed CRC-32C"
        }
        Payload::UnsignedTrailer => {
            "STREAMING-UNSIGNED-PAYLOAD-TRAILER: unsigned chunks, followed by a CRC-32C, as current AWS SDKs send over \
             TLS. AWS accepts it only over TLS"
        }
    };
    choice_parser(reported, |_| None)
}

/// Reads `--write`.
pub(crate) fn writes() -> impl TypedValueParser<Value = Write> {
    let reported = |write| match write {
        Write::Put => "PutObject",
        Write::Multipart => "A multipart upload, with --part.size",
    };
    choice_parser(reported, |_| None)
}

/// Reads `--unique`.
pub(crate) fn uniques() -> impl TypedValueParser<Value = Unique> {
    let reported = |unique| match unique {
        Unique::Tail => "The last 16 bytes",
        Unique::Full => "Every 4 KiB block",
    };
    choice_parser(reported, |_| None)
}
