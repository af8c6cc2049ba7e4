//! What is done: one operation, or a mix of several.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::InvalidLoad;
use crate::op::Op;

/// Largest weight of an operation in a mix.
const WEIGHT_MAX: u32 = 1_000_000;

/// How the name of a mix begins.
const MIXED: &str = "mixed";

/// The operations of a point. As text, the name that points have: `get`, or `mixed get=45,put=15`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Workload {
    /// One only.
    Single(Op),
    /// Drawn at random by weight, in the order of [`Op::ALL`].
    Mixed([u32; Op::COUNT]),
}

impl Workload {
    /// Whether it writes objects.
    #[must_use]
    pub const fn writes(&self) -> bool {
        self.has(Op::Put) || self.has(Op::Multipart)
    }

    /// Whether it reads, heads or lists objects: those have to be there.
    #[must_use]
    pub const fn reads(&self) -> bool {
        self.has(Op::Get) || self.has(Op::Stat) || self.has(Op::List)
    }

    /// Whether it does nothing but delete.
    #[must_use]
    pub const fn deletes_only(&self) -> bool {
        matches!(self, Workload::Single(Op::Delete))
    }

    /// Whether it is a mix.
    #[must_use]
    pub const fn is_mixed(&self) -> bool {
        matches!(self, Workload::Mixed(_))
    }

    /// Whether the workload contains an operation.
    #[must_use]
    pub const fn has(&self, op: Op) -> bool {
        match self {
            Workload::Single(only) => *only as usize == op as usize,
            Workload::Mixed(weights) => weights[op.index()] > 0,
        }
    }

    /// Its operations.
    pub fn ops(&self) -> impl Iterator<Item = Op> + '_ {
        Op::ALL.into_iter().filter(|&op| self.has(op))
    }

    /// Its operation, or that it is a mix.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Workload::Single(op) => op.name(),
            Workload::Mixed(_) => MIXED,
        }
    }
}

impl fmt::Display for Workload {
    /// The name tells the weights that are not zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Workload::Single(op) => op.fmt(f),
            Workload::Mixed(weights) => {
                let parts: Vec<String> = self.ops().map(|op| format!("{op}={}", weights[op.index()])).collect();
                f.pad(&format!("{MIXED} {}", parts.join(",")))
            }
        }
    }
}

impl FromStr for Workload {
    type Err = InvalidLoad;

    /// Reads the name that points have.
    fn from_str(text: &str) -> Result<Self, InvalidLoad> {
        match text.strip_prefix(MIXED).and_then(|rest| rest.strip_prefix(' ')) {
            Some(mix) => parse_mix(mix),
            None => text.parse().map(Workload::Single).map_err(InvalidLoad::of),
        }
    }
}

impl TryFrom<String> for Workload {
    type Error = InvalidLoad;

    fn try_from(text: String) -> Result<Self, InvalidLoad> {
        text.parse()
    }
}

impl From<Workload> for String {
    fn from(workload: Workload) -> String {
        workload.to_string()
    }
}

/// The operation of a workload, or that it is a mix, by its name in a folder: whoever wrote that, and whatever it says.
#[must_use]
pub fn kind_of(name: &str) -> &str {
    name.split(' ').next().unwrap_or_default()
}

/// Reads `--op`: operations parted by commas, each once; `mixed` is the mix of `--mix`.
///
/// # Errors
/// [`InvalidLoad`], quoting what is wrong.
pub fn parse_workloads(ops: &str, mix: &str) -> Result<Vec<Workload>, InvalidLoad> {
    let mut all: Vec<Workload> = Vec::new();
    for word in ops.split(',').map(str::trim).filter(|word| !word.is_empty()) {
        let one = if word.eq_ignore_ascii_case(MIXED) {
            parse_mix(mix)?
        } else {
            word.parse().map_err(InvalidLoad::of).map(Workload::Single)?
        };
        if all.contains(&one) {
            return Err(InvalidLoad(format!("--op {ops:?} names {one} twice, and measures each once: name it once")));
        }
        all.push(one);
    }
    if all.is_empty() {
        return Err(InvalidLoad("--op is empty: name at least one operation, such as get".to_owned()));
    }
    Ok(all)
}

/// Reads `get=45,put=15`.
///
/// # Errors
/// [`InvalidLoad`], quoting what is wrong.
pub fn parse_mix(text: &str) -> Result<Workload, InvalidLoad> {
    let fail = |why: &str| InvalidLoad(format!("invalid mix {text:?}: {why}, such as get=45,stat=30,put=15,delete=10"));
    let mut weights = [0u32; Op::COUNT];
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (op, weight) = part.split_once('=').ok_or_else(|| fail("write OP=WEIGHT pairs"))?;
        let op: Op = op.parse().map_err(InvalidLoad::of)?;
        let weight = weight.trim().parse().ok().filter(|&weight: &u32| weight <= WEIGHT_MAX);
        weights[op.index()] = weight.ok_or_else(|| fail("a weight is a whole number up to 1000000"))?;
    }
    if weights.iter().all(|&weight| weight == 0) {
        return Err(fail("give at least one weight above 0"));
    }
    if weights[Op::Delete.index()] > weights[Op::Put.index()] + weights[Op::Multipart.index()] {
        return Err(fail("delete may not exceed put and multipart, since only objects of the run are deleted"));
    }
    Ok(Workload::Mixed(weights))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_read_by_name_and_never_delete_more_than_they_write() {
        let mix = parse_mix("put=1, get=3").unwrap();
        assert_eq!((mix.to_string().as_str(), &mix), ("mixed get=3,put=1", &Workload::Mixed([3, 1, 0, 0, 0, 0, 0])));
        assert_eq!((mix.kind(), mix.ops().count(), mix.to_string().parse()), ("mixed", 2, Ok(mix.clone())));
        assert_eq!([kind_of(&mix.to_string()), kind_of("get")], ["mixed", "get"]);
        for (text, part) in [
            ("get", "OP=WEIGHT"),
            ("get=0", "above 0"),
            ("get=1,delete=1", "exceed put"),
            ("gte=1", "gte"),
            ("get=-1", "whole"),
        ] {
            let error = parse_mix(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn operations_are_read_in_their_order_and_each_once() {
        let all = parse_workloads("put,get,HEAD,mixed", "get=1").unwrap();
        let names: Vec<String> = all.iter().map(Workload::to_string).collect();
        assert_eq!(names, ["put", "get", "stat", "mixed get=1"]);
        for (ops, twice) in [("put,get, put", "put"), ("stat,HEAD", "stat"), ("mixed,get,mixed", "mixed get=1")] {
            let reported = parse_workloads(ops, "get=1").unwrap_err().to_string();
            assert!(reported.contains(&format!("{ops:?} names {twice} twice")), "{reported}");
        }
        assert!(parse_workloads(" ,", "").unwrap_err().to_string().contains("--op is empty"));
        assert!(parse_workloads("copy", "").unwrap_err().to_string().contains("\"copy\""));
    }
}
