//! What one request is about, before it is bytes.

use linerate_record::run::Op;

use crate::body::BodySpan;
use crate::object_id::ObjectId;

/// What one request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// An object of the run.
    Own { id: ObjectId, size_bytes: u64 },
    /// An object that was there before, by its number in the list.
    Existing { index: u32, size_bytes: u64 },
    /// The bucket, below the run's prefix.
    Bucket,
}

impl Subject {
    pub(crate) const fn size_bytes(self) -> u64 {
        match self {
            Subject::Own { size_bytes, .. } | Subject::Existing { size_bytes, .. } => size_bytes,
            Subject::Bucket => 0,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestSpec {
    pub(crate) op: Op,
    pub(crate) subject: Subject,
    pub(crate) range: Option<ByteRange>,
    /// Number of the host.
    pub(crate) host: u32,
    /// Which call of a multipart upload it is.
    pub(crate) call: Option<UploadCall>,
}

impl RequestSpec {
    /// What a request sends of an object.
    pub(crate) const fn body(&self) -> Option<BodySpan> {
        match (self.op, self.subject) {
            (Op::Put, Subject::Own { id, size_bytes }) => Some(BodySpan::whole(id, size_bytes)),
            (Op::Part, Subject::Own { id, size_bytes }) => match self.range {
                Some(ByteRange { start, length }) => Some(BodySpan { id, size_bytes, start, length }),
                None => None,
            },
            _ => None,
        }
    }

    /// Body bytes that it is about, in either direction.
    pub(crate) fn size_bytes(&self) -> u64 {
        let whole = if self.op == Op::Multipart { 0 } else { self.subject.size_bytes() };
        self.range.map_or(whole, |r| r.length)
    }
}

/// Bytes `start..start + length` of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ByteRange {
    pub(crate) start: u64,
    pub(crate) length: u64,
}

/// A call of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UploadCall {
    /// Its number in the table of its thread.
    pub(crate) upload: u32,
    pub(crate) step: UploadStep,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UploadStep {
    Create,
    /// The part of this number, from 1.
    Part(u32),
    Complete,
    Abort,
}
