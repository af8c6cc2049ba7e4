//! How many nodes are changed at once, as words: `1,5,25%`.

use std::fmt;
use std::str::FromStr;

use linerate_record::rollout::ROLLOUT_NODES_MAX;

/// How many nodes a wave has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaveSize {
    Nodes(u32),
    /// A share of all nodes, in percent, rounded up.
    Percent(u32),
}

/// Sizes of waves, in order; the last one holds for all that follow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaveSizes(Vec<WaveSize>);

/// Words that are no sizes of waves.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid waves {text:?}: {why}")]
pub struct WaveError {
    text: String,
    why: &'static str,
}

/// Most sizes that are stated: more say nothing that the last would not.
const SIZES_MAX: usize = 32;

impl WaveSizes {
    /// One node, then a quarter of all, again and again.
    #[must_use]
    pub fn usual() -> WaveSizes {
        WaveSizes(vec![WaveSize::Nodes(1), WaveSize::Percent(25)])
    }

    #[must_use]
    pub fn at_once() -> WaveSizes {
        WaveSizes(vec![WaveSize::Percent(100)])
    }

    /// How many nodes the wave of a number, from 0, has of so many; at least one.
    #[must_use]
    pub fn wave_size(&self, wave: usize, nodes: usize) -> usize {
        match self.0.get(wave).or(self.0.last()) {
            Some(WaveSize::Nodes(count)) => (*count as usize).max(1),
            Some(WaveSize::Percent(share)) => (nodes * *share as usize).div_ceil(100).max(1),
            None => 1,
        }
    }
}

impl FromStr for WaveSizes {
    type Err = WaveError;

    fn from_str(text: &str) -> Result<WaveSizes, WaveError> {
        let fail = |why| WaveError { text: text.chars().take(100).collect(), why };
        let one = |word: &str| {
            let digits = word.strip_suffix('%').unwrap_or(word);
            let is_number = (1..=4).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
            let number: u32 = is_number.then(|| digits.parse().ok())??;
            match word.ends_with('%') {
                true => (1..=100).contains(&number).then_some(WaveSize::Percent(number)),
                false => (1..=ROLLOUT_NODES_MAX).contains(&number).then_some(WaveSize::Nodes(number)),
            }
        };
        let sizes: Option<Vec<WaveSize>> = text.split(',').map(|word| one(word.trim())).collect();
        match sizes {
            None => Err(fail("write numbers of nodes and shares of all, such as 1,5,25%; the last one is repeated")),
            Some(sizes) if sizes.len() > SIZES_MAX => Err(fail("write at most 32 sizes: the last one is repeated")),
            Some(sizes) => Ok(WaveSizes(sizes)),
        }
    }
}

impl fmt::Display for WaveSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, size) in self.0.iter().enumerate() {
            let comma = if place > 0 { "," } else { "" };
            match size {
                WaveSize::Nodes(count) => write!(f, "{comma}{count}")?,
                WaveSize::Percent(share) => write!(f, "{comma}{share}%")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_as_they_are_written_and_the_last_is_repeated() {
        let sizes: WaveSizes = "1,5,25%".parse().unwrap();
        assert_eq!(sizes.to_string(), "1,5,25%");
        let wave_sizes: Vec<usize> = (0..5).map(|wave| sizes.wave_size(wave, 56)).collect();
        assert_eq!(wave_sizes, [1, 5, 14, 14, 14]);
        assert_eq!(sizes.wave_size(2, 3), 1, "a share is rounded up");
        assert_eq!((WaveSizes::at_once().wave_size(0, 7), WaveSizes::usual().wave_size(1, 4)), (7, 1));
        assert_eq!("10 , 100%".parse::<WaveSizes>().unwrap().to_string(), "10,100%");
    }

    #[test]
    fn what_is_no_size_is_refused() {
        let long = ["1"; 33].join(",");
        for text in ["", ",", "0", "0%", "101%", "1025", "-1", "+1", "1.5", "half", "5 %", "1,,2", "99999", &long] {
            let error = text.parse::<WaveSizes>().unwrap_err().to_string();
            assert!(error.contains("write "), "{text}: {error}");
        }
    }
}
