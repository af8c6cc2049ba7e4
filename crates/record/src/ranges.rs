//! Names with ranges, as people write many at once: `minio-{1...16}`, `node{01...56}`.

/// Why an entry names nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeError {
    /// Braces that hold no `FIRST...LAST`, or one that counts down.
    Malformed,
    /// More names than there may be.
    TooMany,
}

/// How many digits the numbers of a range have at least, by its FIRST and LAST.
type Width = fn(&str, &str) -> usize;

/// Expands each `{FIRST...LAST}` of an entry, the last one fastest; numbers keep the width of `FIRST` where that has
/// leading zeros.
///
/// # Errors
/// [`RangeError`]; nothing beyond `most` names is kept meanwhile.
pub fn expanded(entry: &str, most: usize) -> Result<Vec<String>, RangeError> {
    expanded_in(|first, _| if first.starts_with('0') { first.len() } else { 0 }, entry, most)
}

/// The same with another width of numbers.
///
/// # Errors
/// As [`expanded`].
pub fn expanded_in(width: Width, entry: &str, most: usize) -> Result<Vec<String>, RangeError> {
    let mut names = Vec::new();
    expand(width, entry, most, &mut names)?;
    Ok(names)
}

fn expand(width: Width, entry: &str, most: usize, out: &mut Vec<String>) -> Result<(), RangeError> {
    let Some((before, rest)) = entry.split_once('{') else {
        if out.len() >= most {
            return Err(RangeError::TooMany);
        }
        out.push(entry.to_owned());
        return Ok(());
    };
    let (range, after) = rest.split_once('}').ok_or(RangeError::Malformed)?;
    let (first, last) = range.split_once("...").ok_or(RangeError::Malformed)?;
    let number = |text: &str| text.parse::<u32>().map_err(|_| RangeError::Malformed);
    let (low, high) = (number(first)?, number(last)?);
    if low > high {
        return Err(RangeError::Malformed);
    }
    if (high - low) as usize >= most {
        return Err(RangeError::TooMany);
    }
    let digits = width(first, last);
    (low..=high).try_for_each(|n| expand(width, &format!("{before}{n:0digits$}{after}"), most, out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_names_each_of_its_numbers_in_the_width_of_the_first() {
        for (entry, expected) in [
            ("a", "a"),
            ("n{1...3}", "n1 n2 n3"),
            ("n{08...10}", "n08 n09 n10"),
            ("r{1...2}n{1...2}", "r1n1 r1n2 r2n1 r2n2"),
        ] {
            assert_eq!(expanded(entry, 4).unwrap().join(" "), expected, "{entry}");
        }
    }

    #[test]
    fn what_is_no_range_or_too_many_is_told_apart() {
        for (entry, error) in [
            ("n{1..3}", RangeError::Malformed),
            ("n{3...1}", RangeError::Malformed),
            ("n{1...3", RangeError::Malformed),
            ("n{-1...3}", RangeError::Malformed),
            ("n{1...5}", RangeError::TooMany),
            ("n{1...3}{1...2}", RangeError::TooMany),
            ("n{0...4294967295}", RangeError::TooMany),
        ] {
            assert_eq!(expanded(entry, 4), Err(error), "{entry}");
        }
    }
}
