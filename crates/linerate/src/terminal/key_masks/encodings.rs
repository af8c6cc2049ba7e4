//! What a key looks like in a text: as it is, and as what writes addresses, JSON, markup, scripts and headers puts it.
//!
//! Escapes are taken out of the text, which is then searched again: so it does not matter which signs are escaped, and
//! how. What changes every sign (base64, hexadecimal digits) is looked for beside the key itself.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// How often escapes are taken out: a link in JSON in a page has three kinds, one in the other.
const LAYERS_MAX: usize = 4;

/// One text that is looked for.
struct EncodedKey {
    text: Vec<u8>,
    /// It may be a word of its own accord: parts of other words and of paths are not the key.
    value_only: bool,
    /// In base64, signs at either end hold bits of the key and of what stands beside it.
    shared_ends: (bool, bool),
}

/// Finds keys in texts, in one pass for each layer of escapes.
pub(super) struct Finder {
    forms: Vec<EncodedKey>,
    search: AhoCorasick,
    quotes: bool,
}

impl Finder {
    /// Of names of keys and of secrets that are in use, in every form, and of others, as they are but for escapes.
    pub(super) fn new<'k>(
        names: impl IntoIterator<Item = &'k String>,
        secrets: impl IntoIterator<Item = &'k String>,
        others: impl IntoIterator<Item = &'k String>,
    ) -> Result<Self, BuildError> {
        let mut forms = Vec::new();
        names.into_iter().for_each(|name| forms.extend(all_forms(name, true)));
        secrets.into_iter().for_each(|secret| forms.extend(all_forms(secret, is_word(secret))));
        others.into_iter().for_each(|key| forms.extend(unencoded_forms(key)));
        let quotes = forms.iter().any(|form| form.text.contains(&b'\'') || form.text.contains(&b'"'));
        // A table of all states would be faster to search, and takes a second and 100 MB to make of a session token.
        let kind = Some(AhoCorasickKind::ContiguousNFA);
        let search = AhoCorasick::builder().kind(kind).build(forms.iter().map(|form| &form.text))?;
        Ok(Finder { forms, search, quotes })
    }

    /// Where in a text keys stand, in order and apart from each other.
    pub(super) fn find(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = self.find_ranges(text.as_bytes());
        let mut layers: Vec<Unescaped> = Vec::new();
        while layers.len() < LAYERS_MAX
            && let Some(layer) = {
                // What doubles quotes is the outermost.
                let quotes = self.quotes && layers.is_empty();
                without_escapes(layers.last().map_or(text.as_bytes(), |layer| &layer.bytes), quotes)
            }
        {
            let inside = self.find_ranges(&layer.bytes);
            layers.push(layer);
            let outside = |range| layers.iter().rev().fold(range, |range, layer| layer.before(&range));
            found.extend(inside.into_iter().map(outside));
        }
        merged(found)
    }

    fn find_ranges(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let found = self.search.find_overlapping_iter(bytes);
        found.filter_map(|hit| self.forms[hit.pattern().as_usize()].range_in(bytes, hit.range())).collect()
    }
}

/// Whether a secret is letters alone, as `minioadmin` is: then paths and names of users hold it by chance.
fn is_word(secret: &str) -> bool {
    secret.bytes().all(|b| b.is_ascii_lowercase())
}

/// Whether what was found is a value: neither a part of a longer word, nor of a path. What follows `//` is a user.
fn is_value(bytes: &[u8], found: &Range<usize>) -> bool {
    let in_word = |b: &u8| b.is_ascii_alphanumeric() || b"_-".contains(b);
    let before = &bytes[..found.start];
    let is_after_word = match before {
        [.., b'/', b'/'] => false,
        [.., b'/'] => true,
        [.., b] => in_word(b),
        [] => false,
    };
    let is_before_word = match &bytes[found.end..] {
        [b'.', b, ..] => in_word(b),
        [b, ..] => in_word(b),
        [] => false,
    };
    !is_after_word && !is_before_word
}

/// Ranges in order, those that meet as one.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut all: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match all.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => all.push(range),
        }
    }
    all
}

fn plain_form(text: &[u8]) -> EncodedKey {
    EncodedKey { text: text.to_vec(), value_only: false, shared_ends: (false, false) }
}

/// A key as it is.
fn unencoded_forms(key: &str) -> Vec<EncodedKey> {
    // A command line is parted at such a sign, and padding is often left out.
    let bare = key.trim_end_matches('=');
    let bare = Some(bare).filter(|bare| bare.len() < key.len() && super::is_long_enough(bare));
    let mut forms: Vec<EncodedKey> = [key].into_iter().chain(bare).map(|key| plain_form(key.as_bytes())).collect();
    // A key may hold what looks like an escape: it is taken out of the text, and so out of the key.
    let mut bytes = key.as_bytes().to_vec();
    while let Some(layer) = without_escapes(&bytes, true).filter(|layer| layer.bytes.len() >= super::KEY_CHARS_MIN) {
        bytes = layer.bytes;
        forms.push(plain_form(&bytes));
    }
    forms
}

/// All that a key may be in a text without escapes. What encodes it is in no word by chance.
fn all_forms(key: &str, value_only: bool) -> Vec<EncodedKey> {
    let mut forms = unencoded_forms(key);
    forms.iter_mut().for_each(|form| form.value_only = value_only);
    if key.contains(' ') {
        forms.push(plain_form(key.replace(' ', "+").as_bytes()));
    }
    // As names of hosts are told. A key of letters alone is a word by then.
    if key.bytes().any(|b| b.is_ascii_uppercase()) && !key.bytes().all(|b| b.is_ascii_alphabetic()) {
        forms.extend(unencoded_forms(&key.to_ascii_lowercase()));
    }
    let hex: String = key.bytes().map(|b| format!("{b:02x}")).collect();
    forms.extend([plain_form(hex.as_bytes()), plain_form(hex.to_ascii_uppercase().as_bytes())]);
    for behind in 0..3 {
        forms.extend(base64_forms(key.as_bytes(), behind));
    }
    forms
}

/// What a key is in base64, in both alphabets, behind so many bytes of a group of three: what holds no bit of another.
fn base64_forms(key: &[u8], behind: usize) -> [EncodedKey; 2] {
    let all = [&[0, 0][..behind], key].concat();
    let (first, last) = ((8 * behind).div_ceil(6), 8 * all.len() / 6);
    let shared_ends = (behind > 0, all.len() % 3 > 0);
    [STANDARD_NO_PAD, URL_SAFE_NO_PAD].map(|alphabet| EncodedKey {
        text: alphabet.encode(&all).as_bytes()[first..last].to_vec(),
        value_only: false,
        shared_ends,
    })
}

impl EncodedKey {
    /// Where the key stands, if what was found is one.
    fn range_in(&self, bytes: &[u8], found: Range<usize>) -> Option<Range<usize>> {
        (!self.value_only || is_value(bytes, &found)).then(|| self.with_shared_ends(bytes, found))
    }

    /// What was found with the signs beside it that hold a part of the key, and the padding.
    fn with_shared_ends(&self, bytes: &[u8], mut found: Range<usize>) -> Range<usize> {
        let is_sign = |at: usize| bytes.get(at).is_some_and(|b| b.is_ascii_alphanumeric() || b"+/-_".contains(b));
        if self.shared_ends.0 && found.start > 0 && is_sign(found.start - 1) {
            found.start -= 1;
        }
        if self.shared_ends.1 && is_sign(found.end) {
            found.end += 1;
            found.end += bytes[found.end..].iter().take(2).take_while(|b| **b == b'=').count();
        }
        found
    }
}

/// A text without one layer of escapes.
struct Unescaped {
    bytes: Vec<u8>,
    /// Where each escape stood, and what is there now.
    escapes: Vec<Escape>,
}

struct Escape {
    before: Range<usize>,
    now: Range<usize>,
}

impl Unescaped {
    /// Where what is here now stood.
    fn before(&self, now: &Range<usize>) -> Range<usize> {
        let place = |at: usize| {
            let escape = &self.escapes[..self.escapes.partition_point(|escape| escape.now.start <= at)];
            match escape.last() {
                Some(escape) if at < escape.now.end => escape.before.clone(),
                Some(escape) => {
                    let begin = escape.before.end + (at - escape.now.end);
                    begin..begin + 1
                }
                None => at..at + 1,
            }
        };
        place(now.start).start..place(now.end - 1).end
    }
}

/// A text without its escapes; nothing where it has none.
fn without_escapes(text: &[u8], quotes: bool) -> Option<Unescaped> {
    let begins = |b: &u8| matches!(b, b'%' | b'\\' | b'&') || quotes && matches!(b, b'\'' | b'"');
    let (mut layer, mut at) = (Unescaped { bytes: Vec::new(), escapes: Vec::new() }, 0);
    while let Some(next) = text[at..].iter().position(begins) {
        layer.bytes.extend_from_slice(&text[at..at + next]);
        at += next;
        let Some((stands_for, length)) = leading_escape(&text[at..], quotes) else {
            layer.bytes.push(text[at]);
            at += 1;
            continue;
        };
        let begin = layer.bytes.len();
        match stands_for {
            Unit::Byte(byte) => layer.bytes.push(byte),
            Unit::Char(c) => layer.bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        layer.escapes.push(Escape { before: at..at + length, now: begin..layer.bytes.len() });
        at += length;
    }
    layer.bytes.extend_from_slice(&text[at..]);
    (!layer.escapes.is_empty()).then_some(layer)
}

enum Unit {
    Byte(u8),
    Char(char),
}

/// The escape that a text begins with: what it stands for, and how long it is.
fn leading_escape(text: &[u8], quotes: bool) -> Option<(Unit, usize)> {
    match *text {
        [b'%', a, b, ..] | [b'\\', b'x', a, b, ..] => {
            let byte = u8::try_from(code_point(&[a, b], 16)?).ok()?;
            Some((Unit::Byte(byte), if text[0] == b'%' { 3 } else { 4 }))
        }
        // Rust's, in messages that quote.
        [b'\\', b'u', b'{', ref rest @ ..] => {
            let length = rest.iter().take(7).position(|b| *b == b'}')?;
            Some((Unit::Char(char::from_u32(code_point(&rest[..length], 16)?)?), 4 + length))
        }
        [b'\\', b'u', ref rest @ ..] => json_unit(rest),
        [b'\\', c, ..] if c.is_ascii_graphic() && !c.is_ascii_alphanumeric() => Some((Unit::Byte(c), 2)),
        [b'&', ref rest @ ..] => {
            let length = rest.iter().take(10).position(|b| *b == b';')?;
            Some((Unit::Char(markup_character(&rest[..length])?), length + 2))
        }
        // Of shells, within quotes of this kind; of YAML and CSV, which double them.
        [b'\'', b'\\', b'\'', b'\'', ..] => Some((Unit::Byte(b'\''), 4)),
        [b'\'', b'"', b'\'', b'"', b'\'', ..] => Some((Unit::Byte(b'\''), 5)),
        [a @ (b'\'' | b'"'), b, ..] if quotes && a == b => Some((Unit::Byte(a), 2)),
        _ => None,
    }
}

/// A sign of JSON behind its `\u`: beyond U+FFFF in two halves.
fn json_unit(rest: &[u8]) -> Option<(Unit, usize)> {
    let half = |at: usize| u16::try_from(code_point(rest.get(at..at + 4)?, 16)?).ok();
    let first = half(0)?;
    let second = rest.get(4..6).filter(|begin| begin == b"\\u").and_then(|_| half(6));
    let mut read = char::decode_utf16([first].into_iter().chain(second));
    let c = read.next()?.ok()?;
    Some((Unit::Char(c), if c.len_utf16() == 2 { 12 } else { 6 }))
}

/// A sign of HTML or XML, by what stands between `&` and `;`.
fn markup_character(name: &[u8]) -> Option<char> {
    match name {
        b"amp" => Some('&'),
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        [b'#', b'x' | b'X', digits @ ..] => char::from_u32(code_point(digits, 16)?),
        [b'#', digits @ ..] => char::from_u32(code_point(digits, 10)?),
        _ => None,
    }
}

fn code_point(digits: &[u8], radix: u32) -> Option<u32> {
    let is_number = !digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit);
    u32::from_str_radix(std::str::from_utf8(digits).ok().filter(|_| is_number)?, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(keys: &[&str], text: &str) -> String {
        let keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
        let mut text = text.to_owned();
        for range in Finder::new([], &keys, []).unwrap().find(&text).into_iter().rev() {
            text.replace_range(range, "***");
        }
        text
    }

    #[test]
    fn escapes_are_masked_whole_whatever_stands_beside_them() {
        for (key, text, expected) in [
            ("abc/defgh", "x%2fabc%2fdefgh%2f", "x%2f***%2f"),
            ("/abcdefg/", "\"\\/abcdefg\\/\"", "\"***\""),
            ("/abcdefg/", "%252Fabcdefg%252f;", "***;"),
            ("a%2Fb/cdef", "a%2Fb%2Fcdef a%252Fb%2Fcdef", "*** ***"),
            (
                "it's \"mine\"",
                "'it'\\''s \"mine\"' 'it''s \"mine\"' \"it's \"\"mine\"\"\" it+s",
                "'***' '***' \"***\" it+s",
            ),
            ("it's \"mine\"", "\"it\\'s \\\"mine\\\"\" 'it'\"'\"'s \"mine\"' it%27s+%22mine%22", "\"***\" '***' ***"),
            ("back\\slash", "back\\slash \"back\\\\slash\" back%5Cslash", "*** \"***\" ***"),
            (
                "schlüssel",
                "schl%C3%BCssel schl\\u00fcssel schl\\u{fc}ssel schl&#252;ssel schlüssel",
                "*** *** *** *** ***",
            ),
            ("🔑🔑🔑🔑🔑🔑🔑🔑", &("\\ud83d\\udd11".repeat(8) + "\\ud83d"), "***\\ud83d"),
            (
                "abcdefgh",
                "%% \\ & %6 %zz \\u12 \\u{zz} &#; &nbsp; \\ud83d abcdefg",
                "%% \\ & %6 %zz \\u12 \\u{zz} &#; &nbsp; \\ud83d abcdefg",
            ),
        ] {
            assert_eq!(masked(&[key], text), expected, "{key} in {text}");
        }
    }

    #[test]
    fn names_of_keys_and_secrets_of_letters_alone_are_masked_as_values_and_not_within_paths_and_words() {
        let name = "minioadmin".to_owned();
        for (text, expected) in [
            ("/home/minioadmin/w/zz: no such file", "/home/minioadmin/w/zz: no such file"),
            ("/minioadmin/w/zz", "/minioadmin/w/zz"),
            ("minioadmin2, my-minioadmin and minioadmin.example", "minioadmin2, my-minioadmin and minioadmin.example"),
            ("the key minioadmin. Or 'minioadmin'", "the key ***. Or '***'"),
            ("Credential=minioadmin/20261129/us-east-1", "Credential=***/20261129/us-east-1"),
            ("http://minioadmin:minioadmin@host", "http://***:***@host"),
            ("%22minioadmin%22 bWluaW9hZG1pbg==", "%22***%22 ***"),
        ] {
            for finder in [Finder::new([&name], [], []), Finder::new([], [&name], [])] {
                let mut shown = text.to_owned();
                finder.unwrap().find(text).into_iter().rev().for_each(|range| shown.replace_range(range, "***"));
                assert_eq!(shown, expected, "{text}");
            }
        }
        assert_eq!(masked(&["Abcdefgh1"], "/x/Abcdefgh1/y"), "/x/***/y");
    }

    #[test]
    fn keys_that_overlap_are_masked_as_one() {
        assert_eq!(masked(&["abcdefg1", "defg1jkl", "abcdefg1X"], "-abcdefg1jkl-abcdefg1X-"), "-***-***-");
    }

    #[test]
    fn base64_is_found_behind_and_before_any_bytes_and_masked_with_all_that_holds_a_bit_of_the_key() {
        let key = "k?y>0~~\u{7f}9";
        for before in ["", "a", "ab", "abc", "user:"] {
            for after in ["", "\n", "z:", "zzz"] {
                for alphabet in [base64::engine::general_purpose::STANDARD, base64::engine::general_purpose::URL_SAFE] {
                    let all = format!("{before}{key}{after}");
                    let text = alphabet.encode(&all);
                    let shown = masked(&[key], &format!("Basic {text}, more"));
                    let (begin, end) = (before.len() * 8 / 6, ((before.len() + key.len()) * 8).div_ceil(6));
                    let rest = if after.is_empty() { "" } else { &text[end..] };
                    assert_eq!(shown, format!("Basic {}***{rest}, more", &text[..begin]), "{all:?}");
                }
            }
        }
    }

    #[test]
    fn a_finder_of_no_key_finds_nothing() {
        assert_eq!(masked(&[], "abc %2f"), "abc %2f");
    }

    /// What escapes are made of.
    const ESCAPE_CHARACTERS: &str = "[%\\\\&;#xu{}'\"a-fA-F0-9é🔑]{0,60}";

    proptest::proptest! {
        #[test]
        fn arbitrary_text_is_searched_without_a_panic_and_cut_between_signs(text in ESCAPE_CHARACTERS) {
            let keys = ["abcdefa8".to_owned(), "\\'\"%é0000".to_owned()];
            for range in Finder::new([], &keys, []).unwrap().find(&text) {
                proptest::prop_assert!(text.is_char_boundary(range.start) && text.is_char_boundary(range.end));
            }
            let hidden = format!("{text}%61b\\u0063def&#97;8{text}");
            proptest::prop_assert!(!Finder::new([], &keys, []).unwrap().find(&hidden).is_empty());
        }
    }
}
