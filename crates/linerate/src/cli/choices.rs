//! What flags with a choice may say, and who gave a flag.

use std::collections::BTreeMap;

use clap::ValueEnum;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetKind {
    /// A real S3 server over a folder. Keys: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.
    Embedded,
    /// Answers as fast as the kernel allows and stores nothing.
    Null,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LookupFlag {
    /// http://host/bucket/key
    Path,
    /// http://bucket.host/key
    Host,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HostSelectFlag {
    /// Each host in turn.
    #[value(alias = "roundrobin")]
    RoundRobin,
    /// The host with the fewest requests in flight.
    #[value(alias = "weighed")]
    LeastOutstanding,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArrivalsFlag {
    /// Evenly: what waits does so for the target's sake, and never because two requests fell due together.
    Constant,
    /// At random and independently of each other, as the requests of many users come: bursts are part of it.
    Poisson,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PayloadFlag {
    /// The signature covers the body's SHA-256, as most clients do over plain HTTP.
    Signed,
    /// UNSIGNED-PAYLOAD, as most clients do over TLS: the target does not hash bodies.
    Unsigned,
    /// STREAMING-AWS4-HMAC-SHA256-PAYLOAD: chunks of 64 KiB, each with a signature over the one before.
    Streaming,
    /// STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER: signed chunks, and a signed CRC-32C behind them.
    StreamingTrailer,
    /// STREAMING-UNSIGNED-PAYLOAD-TRAILER: plain chunks, and a CRC-32C behind them, as current AWS SDKs do over TLS.
    /// AWS itself takes it over TLS only.
    UnsignedTrailer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WriteFlag {
    /// PutObject.
    Put,
    /// A multipart upload, with --part.size.
    Multipart,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum UniqueFlag {
    /// The last 16 bytes.
    Tail,
    /// Every 4 KiB block.
    Full,
}

/// Who gave a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// It stands on the command line.
    Typed,
    /// A file of flags has it.
    InFile,
}

/// Flags that were given, by their ids, and who gave each.
#[derive(Clone, Debug, Default)]
pub(crate) struct GivenFlags(pub(crate) BTreeMap<String, Given>);

impl GivenFlags {
    pub(crate) fn get(&self, id: &str) -> Option<Given> {
        self.0.get(id).copied()
    }
}
