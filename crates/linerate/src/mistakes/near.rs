//! Whether an unknown flag is a known one, misspelt. clap suggests what is far from it too: `--op` for `--nope`.

/// Shortest part of a name that is taken for it.
const PART_LEAST: usize = 3;

/// Whether a third of the letters at the most are others, or only the end of the name is missing.
pub(super) fn is_misspelt(word: &str, name: &str) -> bool {
    let is_part = word.len() >= PART_LEAST && name.starts_with(word);
    let letters = word.chars().count().max(name.chars().count());
    is_part || distance(word, name) <= letters / 3
}

/// Letters that are added, left out or others (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, of_a) in a.chars().enumerate() {
        let mut before = std::mem::replace(&mut row[0], i + 1);
        for (j, of_b) in b.iter().enumerate() {
            let other = before + usize::from(of_a != *of_b);
            before = row[j + 1];
            row[j + 1] = other.min(before + 1).min(row[j] + 1);
        }
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_misspelt_and_another_word_is_not() {
        for (word, name, expected) in [
            ("opp", "op", true),
            ("hst", "host", true),
            ("paylod", "payload", true),
            ("exampel", "example", true),
            ("prec", "precision", true),
            ("nope", "op", false),
            ("note", "mix", false),
            ("", "op", false),
        ] {
            assert_eq!(is_misspelt(word, name), expected, "{word} {name}");
        }
    }
}
