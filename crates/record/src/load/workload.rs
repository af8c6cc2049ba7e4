//! What is done: one operation, or a mix of several.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::InvalidLoad;
use crate::maybe_known::MaybeKnown;
use crate::op::Op;

/// Largest weight of an operation in a mix.
const WEIGHT_MAX: u64 = 1_000_000;

/// How the name of a mix begins.
const MIXED: &str = "mixed";

/// The operations of a point. As text, the name that points have: `get`, or `mixed get=45,put=15`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Workload {
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

    /// Whether it does nothing but read, head or list.
    #[must_use]
    pub const fn is_read_only(&self) -> bool {
        matches!(self, Workload::Single(Op::Get | Op::Stat | Op::List))
    }

    /// Whether it does nothing but delete.
    #[must_use]
    pub const fn is_delete_only(&self) -> bool {
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
            None => text.parse().map(Workload::Single).map_err(InvalidLoad::from_error),
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

impl MaybeKnown<Workload> {
    /// The operation of a workload, or that it is a mix: whoever wrote the folder, and whatever it says.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            MaybeKnown::Known(workload) => workload.kind(),
            MaybeKnown::Other(name) => name.split(' ').next().unwrap_or_default(),
        }
    }

    /// Whether it is this operation, and no mix.
    #[must_use]
    pub fn is_only(&self, op: Op) -> bool {
        self.is(&Workload::Single(op))
    }
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
            word.parse().map_err(InvalidLoad::from_error).map(Workload::Single)?
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

/// The whole numbers by which equal mixes are equal: percent where each share is one, else the smallest.
#[must_use]
pub fn proportion<const N: usize>(weights: [u64; N]) -> [u64; N] {
    let divisor = weights.into_iter().fold(0, greatest_common_divisor).max(1);
    let smallest = weights.map(|weight| weight / divisor);
    let all = smallest.into_iter().fold(0, u64::saturating_add).max(1);
    if 100 % all == 0 { smallest.map(|weight| weight * (100 / all)) } else { smallest }
}

const fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// Reads `get=45,put=15`. Mixes of the same shares are the same, by [`proportion`].
///
/// # Errors
/// [`InvalidLoad`], quoting what is wrong.
pub fn parse_mix(text: &str) -> Result<Workload, InvalidLoad> {
    let fail = |why: &str| InvalidLoad(format!("invalid mix {text:?}: {why}, such as get=45,stat=30,put=15,delete=10"));
    let mut weights = [0; Op::COUNT];
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (op, weight) = part.split_once('=').ok_or_else(|| fail("write OP=WEIGHT pairs"))?;
        let op: Op = op.parse().map_err(InvalidLoad::from_error)?;
        let weight = weight.trim().parse().ok().filter(|&weight: &u64| weight <= WEIGHT_MAX);
        weights[op.index()] = weight.ok_or_else(|| fail("a weight is a whole number up to 1000000"))?;
    }
    if weights.iter().all(|&weight| weight == 0) {
        return Err(fail("give at least one weight above 0"));
    }
    if weights[Op::Delete.index()] > weights[Op::Put.index()] + weights[Op::Multipart.index()] {
        return Err(fail("delete may not exceed put and multipart, since only objects of the run are deleted"));
    }
    Ok(Workload::Mixed(proportion(weights).map(|weight| weight as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_read_by_name_and_never_delete_more_than_they_write() {
        let mix = parse_mix("put=1, get=3").unwrap();
        assert_eq!(
            (mix.to_string().as_str(), &mix),
            ("mixed get=75,put=25", &Workload::Mixed([75, 25, 0, 0, 0, 0, 0]))
        );
        assert_eq!((mix.kind(), mix.ops().count(), mix.to_string().parse()), ("mixed", 2, Ok(mix.clone())));
        for (name, kind) in
            [("mixed get=75,put=25", "mixed"), ("get", "get"), ("mixed get=1,delete=2", "mixed"), ("", "")]
        {
            assert_eq!(MaybeKnown::<Workload>::read(name).kind(), kind, "{name}");
        }
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
    fn mixes_of_the_same_shares_are_the_same_in_whichever_numbers() {
        for (given, name) in [
            (
                &["get=45,stat=30,put=15,delete=10", "get=9,stat=6,put=3,delete=2"][..],
                "get=45,put=15,stat=30,delete=10",
            ),
            (&["get=2,put=1", "get=200000,put=100000"], "get=2,put=1"),
            (&["get=1", "get=1000000"], "get=100"),
            (&["get=33,put=67", "put=670,get=330"], "get=33,put=67"),
            (&["get=1000000,put=999999"], "get=1000000,put=999999"),
        ] {
            for text in given {
                assert_eq!(parse_mix(text).unwrap().to_string(), format!("mixed {name}"), "{text}");
                let before: MaybeKnown<Workload> = MaybeKnown::read(&format!("mixed {text}"));
                assert_eq!((before.to_string(), before.known().is_some()), (format!("mixed {name}"), true));
            }
        }
        assert_eq!(MaybeKnown::<Workload>::read("mixed of something").to_string(), "mixed of something");
    }

    #[test]
    fn operations_are_read_in_their_order_and_each_once() {
        let all = parse_workloads("put,get,HEAD,mixed", "get=1").unwrap();
        let names: Vec<String> = all.iter().map(Workload::to_string).collect();
        assert_eq!(names, ["put", "get", "stat", "mixed get=100"]);
        for (ops, twice) in [("put,get, put", "put"), ("stat,HEAD", "stat"), ("mixed,get,mixed", "mixed get=100")] {
            let reported = parse_workloads(ops, "get=1").unwrap_err().to_string();
            assert!(reported.contains(&format!("{ops:?} names {twice} twice")), "{reported}");
        }
        assert!(parse_workloads(" ,", "").unwrap_err().to_string().contains("--op is empty"));
        assert!(parse_workloads("copy", "").unwrap_err().to_string().contains("\"copy\""));
    }
}
