//! What one load has otherwise than another: the fields that differ, by their names, and no other.
//!
//! An arm of an experiment is the baseline's load with a patch. As JSON a patch has the shape of a [`Load`], with the
//! fields that it sets alone; `null` stands for a field that the load does not have.

use serde::{Deserialize, Deserializer, Serialize};

use super::{
    BodyOptions, CanaryRules, Endpoint, ErrorLimit, HostSelect, Levels, Load, Lookup, Objects, Payload, Precision,
    Server, StopConditions, Time, TlsTrust, Unique, WarmUp, WorkloadSizes, Write,
};
use crate::is_default;
use crate::units::Rate;

/// What stands behind a field that a load does not have.
const NONE: &str = " none";

/// Defines the patch of a structure: of a `part`, which is a structure itself, its patch; of another field its value.
/// The structure is taken apart by its fields, so that one that is not listed does not compile.
macro_rules! patch {
    (
        $(#[$doc:meta])* $patch:ident of $of:ident
        { $($part:ident: $of_part:ident,)* } { $($field:ident: $type:ty,)+ }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub struct $patch {
            $(
                #[doc = concat!("What differs in `", stringify!($part), "`.")]
                #[serde(default, skip_serializing_if = "is_default")]
                pub $part: $of_part,
            )*
            $(
                #[doc = concat!("`", stringify!($field), "`, where it differs.")]
                #[serde(default, deserialize_with = "stated", skip_serializing_if = "Option::is_none")]
                pub $field: Option<$type>,
            )+
        }

        impl $patch {
            /// What leads from one to another.
            #[must_use]
            pub fn between(from: &$of, to: &$of) -> Self {
                let $of { $($part,)* $($field),+ } = to;
                $patch {
                    $($part: $of_part::between(&from.$part, $part),)*
                    $($field: (from.$field != *$field).then(|| $field.clone()),)+
                }
            }

            /// What sets every field.
            fn whole(of: &$of) -> Self {
                let $of { $($part,)* $($field),+ } = of;
                $patch { $($part: $of_part::whole($part),)* $($field: Some($field.clone()),)+ }
            }

            fn put_into(self, of: &mut $of) {
                $(self.$part.put_into(&mut of.$part);)*
                $(self.$field.into_iter().for_each(|value| of.$field = value);)+
            }

            /// Its fields, each with its name and its value in words.
            fn fields(&self) -> Vec<(String, String)> {
                let mut fields = Vec::new();
                $(
                    let part = stringify!($part);
                    let within = self.$part.fields().into_iter();
                    fields.extend(within.map(|(name, value)| (format!("{part}.{name}"), value)));
                )*
                $(fields.extend(self.$field.iter().map(|value| (stringify!($field).to_owned(), in_words(value))));)+
                fields
            }
        }
    };
}

patch! {
    /// What one load has otherwise than another.
    LoadPatch of Load
    {
        endpoint: EndpointPatch,
        objects: ObjectsPatch,
        bodies: BodiesPatch,
        time: TimePatch,
        stops: StopsPatch,
    }
    {
        work: Vec<WorkloadSizes>,
        levels: Levels,
        max_rate: Option<Rate>,
        threads: Option<u32>,
    }
}

patch! {
    /// What differs in where requests go.
    EndpointPatch of Endpoint
    {}
    {
        server: Server,
        tls: Option<TlsTrust>,
        anonymous: bool,
        region: String,
        bucket: String,
        prefix: String,
        lookup: Lookup,
        host_select: HostSelect,
        source: Option<String>,
        pid: Option<u32>,
        memory_bytes: Option<u64>,
    }
}

patch! {
    /// What differs in the objects.
    ObjectsPatch of Objects
    {}
    {
        count: Option<u64>,
        write: Write,
        list_existing: bool,
        noclear: bool,
    }
}

patch! {
    /// What differs in the bodies.
    BodiesPatch of BodyOptions
    {}
    {
        payload: Payload,
        unique: Unique,
        part_bytes: u64,
        part_concurrent: u32,
        range_bytes: Option<u64>,
        verify: bool,
    }
}

patch! {
    /// What differs in how long points run.
    TimePatch of Time
    {}
    {
        duration_ns: u64,
        series_ns: Option<u64>,
        warmup_ns: WarmUp,
        precision: Precision,
    }
}

patch! {
    /// What differs in what ends it.
    StopsPatch of StopConditions
    {}
    {
        timeout_ns: u64,
        retries: u32,
        error_limit: Option<ErrorLimit>,
        canary: Option<CanaryRules>,
    }
}

impl LoadPatch {
    /// Whether it sets nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        is_default(self)
    }

    /// What each field that it sets is set to: `bodies.payload unsigned`.
    #[must_use]
    pub fn in_words(&self) -> Vec<String> {
        self.fields().into_iter().map(|(name, value)| format!("{name} {value}")).collect()
    }
}

impl Load {
    /// The load with the fields of a patch.
    #[must_use]
    pub fn with(&self, patch: &LoadPatch) -> Load {
        let mut load = self.clone();
        patch.clone().put_into(&mut load);
        load
    }

    /// Each field that it has: `bodies.payload unsigned`.
    #[must_use]
    pub fn in_words(&self) -> Vec<String> {
        LoadPatch::whole(self).in_words().into_iter().filter(|words| !words.ends_with(NONE)).collect()
    }
}

/// What sets loads apart that are one with a patch each, in words: of a patch what it sets, and of one that sets
/// nothing what the others set otherwise.
#[must_use]
pub fn differences(base: &Load, patches: &[&LoadPatch]) -> Vec<Vec<String>> {
    let mut of_base: Vec<String> = Vec::new();
    for words in patches.iter().flat_map(|patch| LoadPatch::between(&base.with(patch), base).in_words()) {
        if !of_base.contains(&words) {
            of_base.push(words);
        }
    }
    patches.iter().map(|patch| if patch.is_empty() { of_base.clone() } else { patch.in_words() }).collect()
}

/// A value as it stands in JSON, a text without its quotes.
fn in_words<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value).unwrap_or_default() {
        serde_json::Value::String(text) => text,
        serde_json::Value::Null => NONE.trim_start().to_owned(),
        other => other.to_string(),
    }
}

/// A field that is there, `null` included.
fn stated<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}
