//! Shares of something, as they read before its name.

use super::grouped;

/// From so many times the whole on, a share is told as a factor.
const TIMES: f64 = 10.0;

/// A share of something to so many decimals of a percent, before its name: `50 % of`, `below 1 % of`, `139 times`.
#[must_use]
pub fn share_in_words(share: f64, decimals: u8) -> String {
    let (percent, least) = (100.0 * share, 0.1_f64.powi(i32::from(decimals)));
    let decimals = usize::from(decimals);
    if share >= TIMES {
        format!("{} times", grouped(share.round() as u64))
    } else if percent > 0.0 && percent < least {
        format!("below {least:.decimals$} % of")
    } else {
        format!("{percent:.decimals$} % of")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage_but_for_what_is_far_below_or_above_the_whole() {
        for (share, whole, tenths) in [
            (0.0, "0 % of", "0.0 % of"),
            (0.000_2, "below 1 % of", "below 0.1 % of"),
            (0.004, "below 1 % of", "0.4 % of"),
            (0.01, "1 % of", "1.0 % of"),
            (0.504, "50 % of", "50.4 % of"),
            (1.07, "107 % of", "107.0 % of"),
            (138.85, "139 times", "139 times"),
            (138_850.0, "138\u{202f}850 times", "138\u{202f}850 times"),
        ] {
            assert_eq!(
                (share_in_words(share, 0).as_str(), share_in_words(share, 1).as_str()),
                (whole, tenths),
                "{share}"
            );
        }
    }
}
