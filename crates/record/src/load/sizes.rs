//! Object sizes: fixed, random, log-normal or weighted.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, UnitError};

/// Largest object that S3 knows: 5 TiB.
pub const OBJECT_BYTES_MAX: u64 = 5 << 40;

/// Largest object that one `PutObject` may carry, and largest part: 5 GiB.
pub const PUT_BYTES_MAX: u64 = 5 << 30;

/// Widest log-normal distribution: at 3, one object in six is twenty times the median, or more.
const SIGMA_MAX: f64 = 3.0;

/// Most buckets of a weighted distribution.
const BUCKETS_MAX: usize = 1024;

/// How large objects are: as text, what the user wrote. Two spellings of the same sizes are equal.
#[derive(Clone, Debug, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sizes {
    text: String,
    distribution: SizeDistribution,
}

impl PartialEq for Sizes {
    fn eq(&self, other: &Self) -> bool {
        self.distribution.canonical() == other.distribution.canonical()
    }
}

/// What sizes are drawn by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SizeDistribution {
    Fixed(u64),
    /// Evenly between two, both included.
    Uniform {
        min: u64,
        max: u64,
    },
    /// Sizes whose logarithms are normal, cut at 1 byte and [`PUT_BYTES_MAX`].
    LogNormal {
        /// As many are smaller as are larger.
        median: u64,
        /// Standard deviation of the natural logarithm, in millionths.
        sigma_e6: u32,
    },
    /// Sizes with the sum of weights up to and including each.
    Weighted(Vec<(u64, u64)>),
}

impl SizeDistribution {
    /// The one form of all that draw alike: weighted sizes by their size, each once, of least weights. As it is
    /// written, a distribution decides which object has which size.
    fn canonical(&self) -> Cow<'_, Self> {
        let SizeDistribution::Weighted(buckets) = self else { return Cow::Borrowed(self) };
        let (mut weights, mut before) = (BTreeMap::<u64, u64>::new(), 0);
        for (size, sum) in buckets {
            *weights.entry(*size).or_default() += sum - before;
            before = *sum;
        }
        let divisor = weights.values().copied().fold(0, greatest_common_divisor).max(1);
        let mut sum = 0;
        let mut summed: Vec<(u64, u64)> = Vec::with_capacity(weights.len());
        for (size, weight) in weights {
            sum += weight / divisor;
            summed.push((size, sum));
        }
        Cow::Owned(match summed[..] {
            [(size, _)] => SizeDistribution::Fixed(size),
            _ => SizeDistribution::Weighted(summed),
        })
    }
}

fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Sizes that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SizesError {
    /// One part is no size.
    #[error("{0}")]
    Unit(#[from] UnitError),
    /// A range that is none.
    #[error("invalid size range {0:?}: write random:MIN-MAX with MIN below MAX, such as random:4KiB-1MiB")]
    Range(String),
    /// A log-normal distribution that is none.
    #[error(
        "invalid log-normal sizes {0:?}: write lognormal:MEDIAN/SIGMA with a median up to 5GiB and sigma, the standard \
         deviation of the natural logarithm, above 0 and up to 3, such as lognormal:256KiB/1.5"
    )]
    LogNormal(String),
    /// Buckets that are none.
    #[error("invalid size buckets {0:?}: write SIZE:WEIGHT pairs with a weight above 0, such as 4096:10740,8192:1685")]
    Buckets(String),
    /// Larger than an object may be.
    #[error("object size {0} exceeds the 5 TiB of an S3 object: use a smaller --obj.size")]
    TooLarge(Bytes),
    /// A list, where one is expected.
    #[error("several sizes in {0:?}: write one, or one distribution")]
    Several(String),
    /// Nothing at all.
    #[error("--obj.size is empty: name at least one size, such as 4MiB")]
    Empty,
}

/// Reads `--obj.size`: a comma list of sizes, `random:MIN-MAX` and `lognormal:MEDIAN/SIGMA`, one entry of the grid
/// each, or one distribution of `SIZE:WEIGHT` buckets.
///
/// # Errors
/// [`SizesError`], quoting the part that could not be read.
pub fn parse_list(text: &str) -> Result<Vec<Sizes>, SizesError> {
    let parts: Vec<&str> = text.split(',').map(str::trim).filter(|p| !p.is_empty()).collect();
    if parts.is_empty() {
        return Err(SizesError::Empty);
    }
    let bucketed = |p: &&&str| p.contains(':') && !p.starts_with("random:") && !p.starts_with("lognormal:");
    match parts.iter().filter(bucketed).count() {
        0 => parts.into_iter().map(str::parse).collect(),
        n if n == parts.len() => Ok(vec![weighted(text, &parts)?]),
        _ => Err(SizesError::Buckets(text.to_owned())),
    }
}

fn weighted(text: &str, parts: &[&str]) -> Result<Sizes, SizesError> {
    let fail = || SizesError::Buckets(text.to_owned());
    let (mut sum, mut buckets) = (0u64, Vec::with_capacity(parts.len()));
    for part in parts {
        let (size, weight) = part.split_once(':').ok_or_else(fail)?;
        let weight: u64 = weight.trim().parse().map_err(|_| fail())?;
        sum = sum.checked_add(weight).ok_or_else(fail)?;
        if weight > 0 {
            buckets.push((checked(size.parse::<Bytes>()?)?, sum));
        }
    }
    if buckets.is_empty() || buckets.len() > BUCKETS_MAX {
        return Err(fail());
    }
    Ok(Sizes { text: parts.join(","), distribution: SizeDistribution::Weighted(buckets) })
}

fn checked(bytes: Bytes) -> Result<u64, SizesError> {
    if bytes.0 > OBJECT_BYTES_MAX { Err(SizesError::TooLarge(bytes)) } else { Ok(bytes.0) }
}

/// Reads `MEDIAN/SIGMA`.
fn log_normal(text: &str) -> Option<SizeDistribution> {
    let (median, sigma) = text.split_once('/')?;
    let median = median.parse::<Bytes>().ok()?.0;
    let sigma: f64 = sigma.trim().parse().ok()?;
    let sigma_e6 = (sigma * 1e6).round() as u32;
    let possible = (1..=PUT_BYTES_MAX).contains(&median) && sigma_e6 > 0 && sigma <= SIGMA_MAX;
    possible.then_some(SizeDistribution::LogNormal { median, sigma_e6 })
}

/// The size that lies so many standard deviations above the median.
#[must_use]
pub fn log_normal_at(median: u64, sigma_e6: u32, deviations: f64) -> u64 {
    let size = median as f64 * (deviations * f64::from(sigma_e6) / 1e6).exp();
    (size.round() as u64).clamp(1, PUT_BYTES_MAX)
}

impl FromStr for Sizes {
    type Err = SizesError;

    fn from_str(text: &str) -> Result<Self, SizesError> {
        if let Some(of) = text.strip_prefix("lognormal:") {
            let distribution = log_normal(of).ok_or_else(|| SizesError::LogNormal(text.to_owned()))?;
            return Ok(Sizes { text: text.to_owned(), distribution });
        }
        let Some(range) = text.strip_prefix("random:") else {
            let bytes = checked(text.parse::<Bytes>()?)?;
            return Ok(Sizes { text: text.to_owned(), distribution: SizeDistribution::Fixed(bytes) });
        };
        let (min, max) = range.split_once('-').ok_or_else(|| SizesError::Range(text.to_owned()))?;
        let (min, max) = (checked(min.parse::<Bytes>()?)?, checked(max.parse::<Bytes>()?)?);
        if min >= max {
            return Err(SizesError::Range(text.to_owned()));
        }
        Ok(Sizes { text: text.to_owned(), distribution: SizeDistribution::Uniform { min, max } })
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl TryFrom<String> for Sizes {
    type Error = SizesError;

    /// Reads what one size of a list says of itself.
    fn try_from(text: String) -> Result<Self, SizesError> {
        let mut all = parse_list(&text)?;
        if all.len() == 1 { Ok(all.remove(0)) } else { Err(SizesError::Several(text)) }
    }
}

impl From<Sizes> for String {
    fn from(sizes: Sizes) -> String {
        sizes.text
    }
}

impl Sizes {
    /// What they are drawn by.
    #[must_use]
    pub const fn distribution(&self) -> &SizeDistribution {
        &self.distribution
    }

    /// The largest size there can be.
    #[must_use]
    pub fn max(&self) -> u64 {
        match &self.distribution {
            SizeDistribution::Fixed(size) => *size,
            SizeDistribution::Uniform { max, .. } => *max,
            SizeDistribution::LogNormal { .. } => PUT_BYTES_MAX,
            SizeDistribution::Weighted(buckets) => buckets.iter().map(|b| b.0).max().unwrap_or(0),
        }
    }

    /// What all but one object in a thousand stay below.
    #[must_use]
    pub fn usual_max(&self) -> u64 {
        match &self.distribution {
            SizeDistribution::LogNormal { median, sigma_e6 } => log_normal_at(*median, *sigma_e6, 3.09),
            _ => self.max(),
        }
    }

    #[must_use]
    pub fn mean(&self) -> f64 {
        match &self.distribution {
            SizeDistribution::Fixed(size) => *size as f64,
            SizeDistribution::Uniform { min, max } => (*min as f64 + *max as f64) / 2.0,
            // The density times the size, added up over slices: a closed form would leave out that sizes are cut.
            SizeDistribution::LogNormal { median, sigma_e6 } => {
                let slices = (-800..=800).map(|i| f64::from(i) / 100.0);
                let weighed = slices.map(|z| {
                    let weight = (-z * z / 2.0).exp();
                    (weight, weight * log_normal_at(*median, *sigma_e6, z) as f64)
                });
                let (weights, sum) = weighed.fold((0.0, 0.0), |(w, s), (weight, part)| (w + weight, s + part));
                sum / weights
            }
            SizeDistribution::Weighted(buckets) => {
                let mut before = 0;
                let weigh = |&(size, sum): &(u64, u64)| {
                    let weight = sum - std::mem::replace(&mut before, sum);
                    size as f64 * weight as f64
                };
                buckets.iter().map(weigh).sum::<f64>() / buckets.last().map_or(1, |b| b.1) as f64
            }
        }
    }

    /// The sizes, where there are few enough to name.
    #[must_use]
    pub fn each(&self) -> Vec<u64> {
        match &self.distribution {
            SizeDistribution::Fixed(size) => vec![*size],
            SizeDistribution::Uniform { .. } | SizeDistribution::LogNormal { .. } => Vec::new(),
            SizeDistribution::Weighted(buckets) => buckets.iter().map(|b| b.0).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_makes_a_grid_and_buckets_make_one_distribution() {
        assert_eq!(parse_list("64KiB, 4MiB").unwrap().len(), 2);
        assert_eq!(parse_list("4096:10740,8192:1685").unwrap().len(), 1);
        assert_eq!(parse_list("random:1KiB-2KiB,1MiB,lognormal:64KiB/1.5").unwrap().len(), 3);
    }

    #[test]
    fn mistakes_are_quoted_with_their_fix() {
        for (text, part) in [
            ("", "empty"),
            ("4XB", "4XB"),
            ("random:9KiB-1KiB", "MIN below MAX"),
            ("random:9KiB", "random:9KiB"),
            ("4096:0", "weight above 0"),
            ("4096:1,64KiB", "SIZE:WEIGHT"),
            ("4096:-1", "4096:-1"),
            ("6TiB", "5 TiB"),
            ("lognormal:256KiB", "lognormal:256KiB/1.5"),
            ("lognormal:0/1", "lognormal:256KiB/1.5"),
            ("lognormal:1KiB/0", "above 0"),
            ("lognormal:1KiB/nan", "above 0"),
            ("lognormal:1KiB/3.5", "up to 3"),
            ("lognormal:6GiB/1", "up to 5GiB"),
        ] {
            let error = parse_list(text).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn sizes_are_equal_however_they_are_spelt() {
        for (one, other, are_equal) in [
            ("1MiB", "1024KiB", true),
            ("1MiB", "1048576", true),
            ("4096", "4KiB", true),
            ("random:1-1MiB", "random:1B-1024KiB", true),
            ("lognormal:64KiB/1.5", "lognormal:65536/1.50", true),
            ("1MiB", "1MB", false),
            ("1MiB", "random:1-1MiB", false),
            ("4096:1,8192:1", "4KiB:2,8KiB:2", true),
            ("4096:1,8192:3", "8KiB:3,4KiB:1", true),
            ("4096:1,8192:3,4KiB:2", "4096:1,8192:1", true),
            ("4096:7", "4KiB", true),
            ("4096:1,8192:0", "4KiB", true),
            ("4096:1,8192:3", "4096:3,8192:1", false),
            ("4096:1,8192:1", "4096:1,8193:1", false),
        ] {
            let [one_read, other_read] = [one, other].map(|text| Sizes::try_from(text.to_owned()).unwrap());
            assert_eq!(one_read == other_read, are_equal, "{one} {other}");
        }
    }

    #[test]
    fn sizes_are_as_text_what_the_user_wrote() {
        for text in ["4MiB", "random:1KiB-2KiB", "lognormal:64KiB/1.5", "4096:3,8192:1"] {
            let sizes = Sizes::try_from(text.to_owned()).unwrap();
            assert_eq!(String::from(sizes.clone()), text);
            assert_eq!(sizes.to_string(), text);
        }
        assert!(Sizes::try_from("1KiB,2KiB".to_owned()).unwrap_err().to_string().contains("several sizes"));
    }
}
