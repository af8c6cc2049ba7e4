//! Readings: what was read of the machines of a cluster over a window of time, from whatever source. This is the file
//! of `linerate explain --record`, which `--replay` judges again.

mod bounded_list;
mod impossible;
mod measure;
mod sockets;
mod value;
mod window;

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

pub use impossible::{ImpossibleValues, is_reading};
pub use measure::ReadMeasure;
pub use sockets::{
    ADDRESSES_MAX, HASHES_MAX, OpenedBy, PORTS_MAX, PortRange, REMOTES_MAX, RemoteSums, SocketGroup, SocketRead,
    SocketRemote, SocketsSeen, pair_hash,
};
pub use value::ReadValue;

/// The version of [`Readings`] as JSON.
pub const READINGS_SCHEMA: u32 = 1;

/// Most instants of a window.
pub const STEPS_MAX: u32 = 10_000;

/// Longest time between two instants: a week.
pub const STEP_MS_MAX: u64 = 604_800_000;

/// What no reading of a machine is above.
const VALUE_MAX: f64 = 1e15;

/// Most values of all series together: 484 machines with 60 series each at 480 instants have 14 million.
pub const VALUES_MAX: u64 = 64_000_000;

/// Longest name of a rack, in bytes, as a fleet file has it.
const RACK_BYTES_MAX: usize = 63;

/// Whether a name is an id that software draws for itself, as a pod and an instance of a service have it, and so names
/// no machine: 8, 4, 4, 4 and 12 hexadecimal digits.
#[must_use]
pub fn is_drawn_id(name: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    let mut parts = name.split('-');
    let is_part = |length| {
        parts.next().is_some_and(|part: &str| part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    lengths.into_iter().all(is_part) && name.len() == 36
}

/// What was read over a window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Readings {
    /// [`READINGS_SCHEMA`].
    pub schema: u32,
    /// What they were read from: `prometheus`, or `live` of what agents read.
    pub source: String,
    /// The first instant, in milliseconds since 1970.
    pub begin_unix_ms: i64,
    pub step_ms: u64,
    /// How many instants there are.
    pub steps: u32,
    /// Between two looks at a machine: of Prometheus, its scrapes. What is shorter is averaged away.
    pub interval_ms: u64,
    /// Over how long each rate is a mean.
    pub rate_over_ms: u64,
    /// Every series, by what is read, of which machine and which part of it.
    #[serde(deserialize_with = "bounded_list::series")]
    pub series: Vec<ReadSeries>,
    /// Other names of machines, as the source has them: an address and a host's name, a pod and its node.
    #[serde(deserialize_with = "bounded_list::list")]
    pub names: Vec<OtherName>,
    /// Readings that the source has not, and where they would come from.
    #[serde(deserialize_with = "bounded_list::list")]
    pub absent: Vec<AbsentReading>,
    /// What was remarkable about reading, in sentences: warnings of the source, series that were left out.
    #[serde(deserialize_with = "bounded_list::list")]
    pub remarks: Vec<String>,
    /// What whoever reads the answer has to know first: nodes that were not read, a window that was cut.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounded_list::list")]
    pub warnings: Vec<String>,
    /// What machines are, where somebody stated it.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounded_list::list")]
    pub stated: Vec<StatedMachine>,
    /// What the engine's sockets did over the window, of each machine of which it was read.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "bounded_list::list")]
    pub sockets: Vec<SocketRead>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReadSeries {
    pub of: ReadMeasure,
    /// Of which machine, as the source names it.
    pub machine: String,
    /// Of which part of it: an interface, a drive, a pod; empty where it is of the machine as a whole.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part: String,
    /// A value an instant, in the measure's unit; absent where nothing was read.
    #[serde(deserialize_with = "bounded_list::list")]
    pub values: Vec<Option<f64>>,
}

/// Another name of a machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct OtherName {
    /// As series have it.
    pub machine: String,
    pub name: String,
}

/// What a machine is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatedMachine {
    /// As series have it.
    pub machine: String,
    /// Whether it loads the cluster; else it stores.
    pub is_client: bool,
    /// The kind of nodes of the site that it is one of, where that is stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The rack that it is in, where that is stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rack: Option<String>,
}

/// A reading that the source does not have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbsentReading {
    pub of: ReadMeasure,
    /// By which name it was asked for: `node_network_receive_bytes_total`.
    pub metric: String,
    /// What exports it, and what is to be done for that.
    pub from: String,
    /// Whether the answer suffers by it; else it is one of several of which one is enough.
    pub is_needed: bool,
}

impl Readings {
    /// The instant of a step, in milliseconds since 1970.
    #[must_use]
    pub fn at_unix_ms(&self, step: usize) -> i64 {
        self.begin_unix_ms.saturating_add(i64::try_from(self.step_ms).unwrap_or(0).saturating_mul(step as i64))
    }

    /// Machines that have series, in order.
    #[must_use]
    pub fn machines(&self) -> BTreeSet<&str> {
        self.series.iter().map(|series| series.machine.as_str()).collect()
    }

    /// What cannot be read as readings: files may be somebody else's.
    ///
    /// # Errors
    /// What is wrong, quoted, and what to do.
    pub fn check(&self) -> Result<(), String> {
        if self.schema != READINGS_SCHEMA {
            return Err(format!(
                "readings of schema {}, and this linerate reads schema {READINGS_SCHEMA}: record them anew",
                self.schema
            ));
        }
        if self.steps == 0 || self.steps > STEPS_MAX || !(1..=STEP_MS_MAX).contains(&self.step_ms) {
            return Err(format!("{} instants, {} ms apart, are no window", self.steps, self.step_ms));
        }
        let values = self.series.iter().map(|series| series.values.len() as u64).sum::<u64>();
        if values > VALUES_MAX {
            return Err(format!("{values} values are more than the {VALUES_MAX} of the largest cluster"));
        }
        let wrong = self.series.iter().find(|series| series.values.len() != self.steps as usize);
        if let Some(series) = wrong {
            let (machine, values) = (&series.machine, series.values.len());
            return Err(format!("{values} values of machine {machine:?}, and {} instants", self.steps));
        }
        let cannot_be = |of: &&ReadSeries| of.values.iter().flatten().any(|value| !is_reading(*value));
        if let Some(series) = self.series.iter().find(cannot_be) {
            return Err(format!("a value of machine {:?} is no reading", series.machine));
        }
        let is_rack = |rack: &str| (1..=RACK_BYTES_MAX).contains(&rack.len()) && !rack.contains(char::is_control);
        let no_rack = |of: &&StatedMachine| of.rack.as_deref().is_some_and(|rack| !is_rack(rack));
        if let Some(of) = self.stated.iter().find(no_rack) {
            let rack: String = of.rack.iter().flat_map(|rack| rack.chars()).take(RACK_BYTES_MAX).collect();
            return Err(format!(
                "the rack {rack:?} of machine {:?} is no name: write 1 to {RACK_BYTES_MAX} bytes without control \
                 characters",
                of.machine
            ));
        }
        self.sockets
            .iter()
            .try_for_each(|read| read.check().map_err(|why| format!("sockets of machine {:?}: {why}", read.machine)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(values: Vec<Option<f64>>) -> Readings {
        let series =
            ReadSeries { of: ReadMeasure::LinkSent, machine: "n1".to_owned(), part: "eth0".to_owned(), values };
        Readings { schema: READINGS_SCHEMA, step_ms: 1000, steps: 2, series: vec![series], ..Readings::default() }
    }

    #[test]
    fn an_id_that_software_drew_is_no_name() {
        const ID: &str = "5e1c2a9e-6f0b-4f7e-9d55-0a1b2c3d4e5f";
        assert!(is_drawn_id(ID) && is_drawn_id(&ID.to_uppercase()));
        for name in ["", "n1", "minio-0", "10.0.0.1", &ID[1..], &format!("{ID}-1"), &ID.replace('5', "g")] {
            assert!(!is_drawn_id(name), "{name}");
        }
    }

    #[test]
    fn readings_that_cannot_be_are_refused_with_the_reason() {
        assert_eq!(one(vec![Some(1.0), None]).check(), Ok(()));
        for (readings, part) in [
            (Readings { schema: 9, ..one(vec![None; 2]) }, "schema 9"),
            (Readings { steps: 0, ..one(vec![]) }, "no window"),
            (one(vec![None]), "1 values of machine \"n1\""),
            (one(vec![None, Some(f64::INFINITY)]), "no reading"),
            (one(vec![None, Some(-1.0)]), "no reading"),
            (Readings { step_ms: 1 << 63, ..one(vec![None; 2]) }, "no window"),
        ] {
            let why = readings.check().unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }

    fn in_rack(rack: &str) -> Readings {
        let (machine, rack) = ("n1".to_owned(), Some(rack.to_owned()));
        Readings { stated: vec![StatedMachine { machine, is_client: false, kind: None, rack }], ..one(vec![None; 2]) }
    }

    #[test]
    fn racks_have_names_that_can_be() {
        assert_eq!(in_rack("r1").check(), Ok(()));
        for rack in ["", "r\u{1b}[2J", &"r".repeat(64)] {
            let why = in_rack(rack).check().unwrap_err();
            assert!(why.contains("of machine \"n1\" is no name") && why.len() < 200, "{why}");
        }
    }

    #[test]
    fn readings_come_back_from_json_as_they_were() {
        let readings = Readings { stated: in_rack("r1").stated, ..one(vec![Some(1.25e9), None]) };
        let text = serde_json::to_string(&readings).unwrap();
        assert_eq!(serde_json::from_str::<Readings>(&text).unwrap(), readings, "{text}");
    }
}
