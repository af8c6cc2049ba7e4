//! Object sizes: fixed, random, log-normal or weighted, and a function of the object, so that no table of them is kept.

use std::fmt;
use std::str::FromStr;

use linerate_record::units::Bytes;

use crate::object::{ObjectId, mix};

/// Largest object that S3 knows: 5 TiB.
pub const OBJECT_BYTES_MAX: u64 = 5 << 40;

/// Largest object that one `PutObject` may carry, and largest part: 5 GiB.
pub const PUT_BYTES_MAX: u64 = 5 << 30;

/// Widest log-normal distribution: at 3, one object in six is twenty times the median, or more.
const SIGMA_MAX: f64 = 3.0;

/// Most buckets of a weighted distribution.
const BUCKETS_MAX: usize = 1024;

/// How large objects are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    text: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Fixed(u64),
    Uniform {
        min: u64,
        max: u64,
    },
    /// Sizes whose logarithms are normal, cut at 1 byte and [`PUT_BYTES_MAX`].
    LogNormal {
        median: u64,
        /// Standard deviation of the natural logarithm, in millionths.
        sigma_e6: u32,
    },
    /// Sizes with the sum of weights up to and including each.
    Weighted(Vec<(u64, u64)>),
}

/// Sizes that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SizesError {
    /// One part is no size.
    #[error("{0}")]
    Unit(#[from] linerate_record::units::UnitError),
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
    Ok(Sizes { text: parts.join(","), kind: Kind::Weighted(buckets) })
}

fn checked(bytes: Bytes) -> Result<u64, SizesError> {
    if bytes.0 > OBJECT_BYTES_MAX { Err(SizesError::TooLarge(bytes)) } else { Ok(bytes.0) }
}

/// Reads `MEDIAN/SIGMA`.
fn log_normal(law: &str) -> Option<Kind> {
    let (median, sigma) = law.split_once('/')?;
    let median = median.parse::<Bytes>().ok()?.0;
    let sigma: f64 = sigma.trim().parse().ok()?;
    let sigma_e6 = (sigma * 1e6).round() as u32;
    let possible = (1..=PUT_BYTES_MAX).contains(&median) && sigma_e6 > 0 && sigma <= SIGMA_MAX;
    possible.then_some(Kind::LogNormal { median, sigma_e6 })
}

/// The size that lies so many standard deviations above the median.
fn log_normal_at(median: u64, sigma_e6: u32, deviations: f64) -> u64 {
    let size = median as f64 * (deviations * f64::from(sigma_e6) / 1e6).exp();
    (size.round() as u64).clamp(1, PUT_BYTES_MAX)
}

impl FromStr for Sizes {
    type Err = SizesError;

    fn from_str(text: &str) -> Result<Self, SizesError> {
        if let Some(law) = text.strip_prefix("lognormal:") {
            let kind = log_normal(law).ok_or_else(|| SizesError::LogNormal(text.to_owned()))?;
            return Ok(Sizes { text: text.to_owned(), kind });
        }
        let Some(range) = text.strip_prefix("random:") else {
            let bytes = checked(text.parse::<Bytes>()?)?;
            return Ok(Sizes { text: text.to_owned(), kind: Kind::Fixed(bytes) });
        };
        let (min, max) = range.split_once('-').ok_or_else(|| SizesError::Range(text.to_owned()))?;
        let (min, max) = (checked(min.parse::<Bytes>()?)?, checked(max.parse::<Bytes>()?)?);
        if min >= max {
            return Err(SizesError::Range(text.to_owned()));
        }
        Ok(Sizes { text: text.to_owned(), kind: Kind::Uniform { min, max } })
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

impl Sizes {
    /// The size of one object: always the same for the same seed and object.
    #[must_use]
    pub fn of(&self, seed: u64, id: ObjectId) -> u64 {
        match &self.kind {
            Kind::Fixed(size) => *size,
            Kind::Uniform { min, max } => min + below(draw(seed, id), max - min + 1),
            Kind::LogNormal { median, sigma_e6 } => log_normal_at(*median, *sigma_e6, normal(draw(seed, id))),
            Kind::Weighted(buckets) => {
                let total = buckets.last().map_or(1, |b| b.1);
                let at = below(draw(seed, id), total);
                let chosen = buckets.partition_point(|&(_, sum)| sum <= at);
                buckets[chosen].0
            }
        }
    }

    /// The largest size there can be.
    #[must_use]
    pub fn max(&self) -> u64 {
        match &self.kind {
            Kind::Fixed(size) => *size,
            Kind::Uniform { max, .. } => *max,
            Kind::LogNormal { .. } => PUT_BYTES_MAX,
            Kind::Weighted(buckets) => buckets.iter().map(|b| b.0).max().unwrap_or(0),
        }
    }

    /// What all but one object in a thousand stay below.
    #[must_use]
    pub fn usual_max(&self) -> u64 {
        match &self.kind {
            Kind::LogNormal { median, sigma_e6 } => log_normal_at(*median, *sigma_e6, 3.09),
            _ => self.max(),
        }
    }

    /// The mean size.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match &self.kind {
            Kind::Fixed(size) => *size as f64,
            Kind::Uniform { min, max } => (*min as f64 + *max as f64) / 2.0,
            // The density times the size, added up over slices: a closed form would leave out that sizes are cut.
            Kind::LogNormal { median, sigma_e6 } => {
                let slices = (-800..=800).map(|i| f64::from(i) / 100.0);
                let weighed = slices.map(|z| {
                    let weight = (-z * z / 2.0).exp();
                    (weight, weight * log_normal_at(*median, *sigma_e6, z) as f64)
                });
                let (weights, sum) = weighed.fold((0.0, 0.0), |(w, s), (weight, part)| (w + weight, s + part));
                sum / weights
            }
            Kind::Weighted(buckets) => {
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
        match &self.kind {
            Kind::Fixed(size) => vec![*size],
            Kind::Uniform { .. } | Kind::LogNormal { .. } => Vec::new(),
            Kind::Weighted(buckets) => buckets.iter().map(|b| b.0).collect(),
        }
    }
}

/// A draw of its own per object; the constant keeps it apart from the draws that make bodies.
fn draw(seed: u64, id: ObjectId) -> u64 {
    mix(seed ^ 0x5135_5A1E_D15B_0C4E, id.number())
}

/// A draw as a standard normal deviate (Box and Muller).
fn normal(draw: u64) -> f64 {
    // 53 bits are what a float holds; half of one keeps the logarithm finite.
    let unit = |bits: u64| ((bits >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let (radius, turn) = (unit(draw), unit(mix(draw, 1)));
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * turn).cos()
}

/// A draw scaled to `0..n` (Lemire's multiplication; its bias is below 2⁻³¹ for every size there is).
fn below(draw: u64, n: u64) -> u64 {
    u64::try_from((u128::from(draw) * u128::from(n)) >> 64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes_of(text: &str, n: u64) -> Vec<u64> {
        let sizes = &parse_list(text).unwrap()[0];
        (0..n).map(|seq| sizes.of(42, ObjectId { set: 1, seq })).collect()
    }

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
    fn buckets_come_in_proportion_to_their_weights() {
        let drawn = sizes_of("4096:3,8192:1,1MiB:0", 40_000);
        let small = drawn.iter().filter(|&&s| s == 4096).count();
        assert!((29_500..30_500).contains(&small), "{small} of 40000");
        assert!(drawn.iter().all(|&s| s == 4096 || s == 8192));
    }

    #[test]
    fn random_sizes_cover_their_range_evenly_and_are_the_same_again() {
        let drawn = sizes_of("random:100-199", 50_000);
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&100), Some(&199)));
        let mean = drawn.iter().sum::<u64>() as f64 / 50_000.0;
        assert!((mean - 149.5).abs() < 0.6, "{mean}");
        assert_eq!(drawn, sizes_of("random:100-199", 50_000));
        assert_eq!(parse_list("4096:3,8192:1").unwrap()[0].mean(), 5120.0);
    }

    #[test]
    fn log_normal_sizes_have_the_quantiles_and_the_mean_of_their_law() {
        const N: u64 = 100_000;
        let mut drawn = sizes_of("lognormal:256KiB/1.5", N);
        assert_eq!(drawn, sizes_of("lognormal:256KiB/1.5", N), "the same again");
        let law = &parse_list("lognormal:256KiB/1.5").unwrap()[0];
        let (sum, below) = (drawn.iter().sum::<u64>() as f64, drawn.iter().filter(|&&s| s < law.usual_max()).count());
        drawn.sort_unstable();
        // Standard deviations of the logarithm at quantiles, after a table of the normal distribution.
        for (quantile, deviations) in
            [(0.01, -2.326), (0.1587, -1.0), (0.5, 0.0), (0.8413, 1.0), (0.99, 2.326), (0.999, 3.090)]
        {
            let expected = f64::ln(f64::from(256 << 10)) + 1.5 * deviations;
            let got = (drawn[(quantile * N as f64) as usize] as f64).ln();
            // Four standard errors of a quantile: √(p (1 − p) / n) over the density there.
            let density = (-deviations * deviations / 2.0_f64).exp() / std::f64::consts::TAU.sqrt() / 1.5;
            let error = (quantile * (1.0 - quantile) / N as f64).sqrt() / density;
            assert!((got - expected).abs() < 4.0 * error, "{quantile}: {got} is not {expected} ± {error}");
        }
        let closed = f64::from(256 << 10) * (1.5_f64 * 1.5 / 2.0).exp();
        assert!((law.mean() / closed - 1.0).abs() < 1e-3, "{} is not {closed}", law.mean());
        assert!((sum / N as f64 / closed - 1.0).abs() < 0.05, "{} is not {closed}", sum / N as f64);
        assert!((99_850..99_950).contains(&below), "{below} of 100000 are usual");
    }

    #[test]
    fn log_normal_sizes_are_cut_at_one_byte_and_one_put() {
        let small = sizes_of("lognormal:2/3", 10_000);
        assert!(small.contains(&1) && !small.contains(&0));
        let large = sizes_of("lognormal:5GiB/3", 1_000);
        assert_eq!(large.iter().max(), Some(&PUT_BYTES_MAX));
        let mean = parse_list("lognormal:5GiB/3").unwrap()[0].mean();
        assert!(mean < PUT_BYTES_MAX as f64 && mean > 0.5 * PUT_BYTES_MAX as f64, "{mean}");
    }
}
