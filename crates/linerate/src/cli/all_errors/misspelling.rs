//! Whether an unknown flag is a known one, misspelt. clap suggests what is far from it too: `--op` for `--nope`.

use strsim::levenshtein;

/// Shortest part of a name that is taken for it.
const PART_CHARS_MIN: usize = 3;

/// Whether a third of the letters at the most are others, or only the end of the name is missing.
pub(super) fn is_misspelt(word: &str, name: &str) -> bool {
    let is_part = word.len() >= PART_CHARS_MIN && name.starts_with(word);
    let letters = word.chars().count().max(name.chars().count());
    is_part || levenshtein(word, name) <= letters / 3
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
