//! Bounds of what every message has: texts, and long answers in parts.

/// Bytes of a long answer in one message: its escapes fit, whatever it holds.
pub const PART_BYTES: usize = 128 << 10;

/// Longest text of an agent that is no answer: a version, a reason, the name of an interface.
pub const TEXT_BYTES_MAX: usize = 512;

/// A long text in pieces that each fit a message, and whether nothing follows. An empty text is one piece.
pub fn in_parts(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut end = text.len().min(PART_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let (part, behind) = text.split_at(end);
        rest = Some(behind).filter(|behind| !behind.is_empty());
        Some((part, rest.is_none()))
    })
}

/// A text as it may cross to the coordinator: without control characters, and no longer than [`TEXT_BYTES_MAX`].
#[must_use]
pub fn printable(text: &str) -> String {
    let mut kept = String::new();
    for character in text.chars().filter(|character| !character.is_control()) {
        if kept.len() + character.len_utf8() > TEXT_BYTES_MAX {
            break;
        }
        kept.push(character);
    }
    kept
}

/// Refuses a text that is longer than [`TEXT_BYTES_MAX`] or has control characters.
///
/// # Errors
/// Why, in words for a person.
pub(crate) fn checked_text(text: &str) -> Result<(), String> {
    if text.len() > TEXT_BYTES_MAX {
        return Err(format!("a text of {} bytes is too long: at most {TEXT_BYTES_MAX} are allowed", text.len()));
    }
    if text.chars().any(char::is_control) {
        return Err(format!("a text with control characters: {text:?}"));
    }
    Ok(())
}
