//! A reply to LIST, held against what was asked while it comes: nothing is kept of it but the element at hand, and
//! nothing is allocated once buffers have grown.

use std::cmp::Ordering;

use crate::request::LIST_KEYS_MAX;
use crate::request_failure::RequestFailure;
use crate::xml;

/// Elements within elements that are followed: what S3 sends has four.
const DEPTH_MAX: usize = 16;

/// Longest tag, and longest text of an element that is looked at: a key of 1,024 bytes, all of them escaped.
const PIECE_BYTES_MAX: usize = 8 << 10;

/// What the listings of a thread are held against.
#[derive(Debug, Default)]
pub(crate) struct ExpectedListing {
    pub(crate) bucket: String,
    pub(crate) prefix: String,
    /// Objects that are known to be below the prefix.
    pub(crate) objects: u64,
    /// Objects that can be there.
    pub(crate) most: u64,
}

/// An element whose text is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Text {
    #[default]
    Unread,
    Name,
    Prefix,
    Key,
    KeyCount,
    IsTruncated,
    Token,
}

/// What was seen of a listing so far.
#[derive(Debug, Default)]
pub(crate) struct ListReply {
    /// A tag that has begun; empty where none has.
    tag: Vec<u8>,
    in_tag: bool,
    /// Text of the element at hand, where it is looked at.
    text: Vec<u8>,
    at: Text,
    /// The elements that are open, each by a hash of its name.
    path: [u32; DEPTH_MAX],
    depth: usize,
    closed: bool,
    in_entry: bool,
    /// The key of the entry before, and whether the entry at hand has one.
    key: Vec<u8>,
    has_key: bool,
    keys: u64,
    key_count: Option<u64>,
    truncated: bool,
    has_token: bool,
    wrong: Option<&'static str>,
}

const NOT_WHOLE: &str = "is not a complete document";

impl ListReply {
    pub(crate) fn begin(&mut self) {
        let (mut tag, mut text, mut key) =
            (std::mem::take(&mut self.tag), std::mem::take(&mut self.text), std::mem::take(&mut self.key));
        tag.clear();
        text.clear();
        key.clear();
        *self = ListReply { tag, text, key, ..ListReply::default() };
    }

    /// Takes the next bytes, wherever they are cut.
    pub(crate) fn take(&mut self, mut bytes: &[u8], expected: &ExpectedListing) {
        while !bytes.is_empty() && self.wrong.is_none() {
            let end = if self.in_tag { b'>' } else { b'<' };
            let found = bytes.iter().position(|&b| b == end);
            let (piece, rest) = found.map_or((bytes, &bytes[bytes.len()..]), |i| (&bytes[..i], &bytes[i + 1..]));
            if self.in_tag {
                self.take_of_tag(piece, found.is_some(), expected);
            } else {
                self.take_text(piece);
                self.in_tag = found.is_some();
            }
            bytes = rest;
        }
    }

    fn take_text(&mut self, piece: &[u8]) {
        // Blanks, or a mark of the order of bytes.
        let says_nothing = |&b: &u8| b.is_ascii_whitespace() || b"\xef\xbb\xbf".contains(&b);
        if self.depth == 0 && !piece.iter().all(says_nothing) {
            self.wrong = Some(NOT_WHOLE);
        }
        if self.at != Text::Unread {
            self.text.extend_from_slice(piece);
            if self.text.len() > PIECE_BYTES_MAX {
                self.wrong = Some("contains an unterminated text");
            }
        }
    }

    /// Takes a piece of a tag; `ended` where a `>` follows it.
    fn take_of_tag(&mut self, piece: &[u8], ended: bool, expected: &ExpectedListing) {
        if self.tag.is_empty() && ended && !has_end_of_its_own(piece) {
            self.in_tag = false;
            self.element(piece, expected);
            return;
        }
        self.tag.extend_from_slice(piece);
        if self.tag.len() > PIECE_BYTES_MAX {
            self.wrong = Some("contains an unterminated tag");
        } else if ended && is_within(&self.tag) {
            self.tag.push(b'>');
        } else if ended {
            self.in_tag = false;
            let mut tag = std::mem::take(&mut self.tag);
            self.element(&tag, expected);
            tag.clear();
            self.tag = tag;
        }
    }

    /// What stands between `<` and `>`.
    fn element(&mut self, tag: &[u8], expected: &ExpectedListing) {
        if let Some(text) = tag.strip_prefix(b"![CDATA[") {
            // As if it were written without.
            for (i, piece) in text[..text.len() - 2].split(|&b| b == b'&').enumerate() {
                self.take_text(if i == 0 { b"" } else { b"&amp;" });
                self.take_text(piece);
            }
        } else if tag.starts_with(b"?") || tag.starts_with(b"!--") {
            // A declaration or a comment.
        } else if tag.starts_with(b"!") {
            self.wrong = Some(NOT_WHOLE);
        } else if let Some(name) = tag.strip_prefix(b"/") {
            self.ended(name.trim_ascii_end(), expected);
        } else {
            let empty = tag.ends_with(b"/");
            let name = tag.split(|b| b.is_ascii_whitespace() || *b == b'/').next().unwrap_or_default();
            self.started(name);
            if empty && self.wrong.is_none() {
                self.ended(name, expected);
            }
        }
    }

    fn started(&mut self, name: &[u8]) {
        if self.closed || self.depth == DEPTH_MAX || name.is_empty() {
            self.wrong = Some(NOT_WHOLE);
            return;
        }
        self.text.clear();
        self.at = match (self.depth, local(name)) {
            (1, b"Name") => Text::Name,
            (1, b"Prefix") => Text::Prefix,
            (1, b"KeyCount") => Text::KeyCount,
            (1, b"IsTruncated") => Text::IsTruncated,
            (1, b"NextContinuationToken") => Text::Token,
            (2, b"Key") if self.in_entry => Text::Key,
            _ => Text::Unread,
        };
        if self.depth == 0 && local(name) != b"ListBucketResult" {
            self.wrong = Some(NOT_WHOLE);
        }
        if self.depth == 1 {
            (self.in_entry, self.has_key) = (local(name) == b"Contents", false);
        }
        self.path[self.depth] = hash(name);
        self.depth += 1;
    }

    fn ended(&mut self, name: &[u8], expected: &ExpectedListing) {
        if self.depth == 0 || self.path[self.depth - 1] != hash(name) {
            self.wrong = Some(NOT_WHOLE);
            return;
        }
        self.depth -= 1;
        self.closed = self.depth == 0;
        let at = std::mem::take(&mut self.at);
        if at != Text::Unread {
            self.wrong = self.said(at, expected).err();
        }
        if self.depth == 1 && self.in_entry {
            self.in_entry = false;
            if !self.has_key {
                self.wrong = Some("shows an object without a key");
            }
        }
    }

    /// What an element says.
    fn said(&mut self, at: Text, expected: &ExpectedListing) -> Result<(), &'static str> {
        unescape(&mut self.text).ok_or(NOT_WHOLE)?;
        let text = self.text.as_slice();
        match at {
            Text::Name if text != expected.bucket.as_bytes() => return Err("lists another bucket"),
            Text::Prefix if text != expected.prefix.as_bytes() => return Err("lists another prefix"),
            Text::KeyCount => {
                let number = std::str::from_utf8(text.trim_ascii()).ok().and_then(|text| text.parse().ok());
                self.key_count = Some(number.ok_or("counts its keys in words")?);
            }
            Text::IsTruncated => self.truncated = xml::boolean(text).ok_or("goes on, or not, in words")?,
            Text::Token => self.has_token = !text.is_empty(),
            Text::Key => {
                self.keys += 1;
                self.has_key = true;
                if !text.starts_with(expected.prefix.as_bytes()) {
                    return Err("shows a key outside its prefix");
                }
                match text.cmp(&self.key) {
                    Ordering::Greater => {}
                    Ordering::Equal => return Err("shows a key twice"),
                    Ordering::Less => return Err("shows its keys in no order"),
                }
                std::mem::swap(&mut self.text, &mut self.key);
            }
            Text::Unread | Text::Name | Text::Prefix => {}
        }
        Ok(())
    }

    /// Holds the whole against what was asked. A page may be short where it says that it goes on, and not empty.
    pub(super) fn judge(&self, expected: &ExpectedListing) -> Result<(), RequestFailure> {
        let least = if self.truncated { expected.objects.min(1) } else { expected.objects.min(LIST_KEYS_MAX) };
        let wrong = match self.wrong {
            Some(wrong) => wrong,
            None if !self.closed || self.in_tag => NOT_WHOLE,
            None if self.truncated && !self.has_token => "continues, but does not say where",
            None if self.key_count.is_some_and(|count| count != self.keys) => {
                "shows another number of keys than it states"
            }
            None if self.keys > LIST_KEYS_MAX => "shows more keys than were asked for",
            None if self.keys > expected.most => "shows objects that the run did not write",
            None if self.keys < least => "lacks objects that were written",
            None => return Ok(()),
        };
        Err(RequestFailure::Listing(wrong))
    }
}

/// Whether what begins so may hold a `>` of its own.
fn has_end_of_its_own(tag: &[u8]) -> bool {
    matches!(tag.first(), Some(b'!' | b'?'))
}

/// Whether a comment, a section or a declaration goes on behind the `>` that was found.
fn is_within(tag: &[u8]) -> bool {
    if tag.starts_with(b"!--") {
        tag.len() < 5 || !tag.ends_with(b"--")
    } else if tag.starts_with(b"![CDATA[") {
        !tag.ends_with(b"]]")
    } else {
        tag.starts_with(b"?") && !tag.ends_with(b"?")
    }
}

fn local(name: &[u8]) -> &[u8] {
    name.iter().rposition(|&b| b == b':').map_or(name, |colon| &name[colon + 1..])
}

/// FNV-1a.
fn hash(name: &[u8]) -> u32 {
    name.iter().fold(0x811C_9DC5, |hash, &b| (hash ^ u32::from(b)).wrapping_mul(0x0100_0193))
}

/// Puts characters in place of their references, which are never shorter; `None` where one is none of XML's own.
fn unescape(text: &mut Vec<u8>) -> Option<()> {
    let Some(mut to) = text.iter().position(|&b| b == b'&') else { return Some(()) };
    let mut from = to;
    while from < text.len() {
        if text[from] != b'&' {
            text[to] = text[from];
            (to, from) = (to + 1, from + 1);
            continue;
        }
        let length = text[from..].iter().position(|&b| b == b';')?;
        let c = character(&text[from + 1..from + length])?;
        to += c.encode_utf8(&mut text[to..]).len();
        from += length + 1;
    }
    text.truncate(to);
    Some(())
}

fn character(reference: &[u8]) -> Option<char> {
    let number = |digits: &[u8], radix| u32::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok();
    Some(match reference {
        b"amp" => '&',
        b"lt" => '<',
        b"gt" => '>',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x', digits @ ..] => char::from_u32(number(digits, 16)?)?,
        [b'#', digits @ ..] => char::from_u32(number(digits, 10)?)?,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn expected(objects: u64) -> ExpectedListing {
        ExpectedListing { bucket: "bucket".into(), prefix: "a&b/".into(), objects, most: objects.max(4) + 1 }
    }

    /// A listing that comes in two parts.
    fn judged(text: &[u8], cut: usize, objects: u64) -> Result<(), String> {
        let (mut listed, expected) = (ListReply::default(), expected(objects));
        listed.take(b"<ListBucketResult><Contents><Key>left over", &expected);
        listed.begin();
        listed.take(&text[..cut], &expected);
        listed.take(&text[cut..], &expected);
        listed.judge(&expected).map_err(|why| why.to_string())
    }

    #[test]
    fn a_listing_of_what_was_asked_is_one_wherever_it_is_cut() {
        let text = b"\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- <Error> a > b -->
            <ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>bucket</Name>
            <Prefix>a&amp;b/</Prefix><KeyCount>3</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>false</IsTruncated>
            <Contents><Key>a&#x26;b/1</Key><Size>1</Size><Owner><ID>x</ID><DisplayName/></Owner></Contents>
            <Contents><ETag>&quot;e&quot;</ETag><Key><![CDATA[a&b/2<>]]></Key></Contents >
            <s:Contents xmlns:s='u'><s:Key>a&#38;b/3</s:Key></s:Contents>
            <CommonPrefixes><Prefix>other/</Prefix></CommonPrefixes></ListBucketResult>\n";
        for cut in 0..=text.len() {
            assert_eq!(judged(text, cut, 3), Ok(()), "cut at {cut}");
        }
        for cut in 0..text.len() - 1 {
            assert!(judged(&text[..cut], cut / 2, 0).is_err(), "the first {cut} bytes");
        }
    }

    #[test]
    fn a_listing_of_something_else_is_told_by_what_is_wrong() {
        let entries = |n: u64| {
            let entry = |i| format!("<Contents><Key>a&amp;b/{i:04}</Key></Contents>");
            (0..n).map(entry).collect::<String>()
        };
        let goes_on = "<IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>";
        let deep = "<a>".repeat(100);
        let many = entries(1001);
        for (inner, objects, wrong) in [
            ("", 0, ""),
            ("", 1, "lacks objects"),
            (entries(4).as_str(), 4, ""),
            (entries(5).as_str(), 4, ""),
            (entries(6).as_str(), 4, "did not write"),
            (entries(4).as_str(), 5, "lacks objects"),
            (entries(1000).as_str(), 2000, ""),
            (many.as_str(), 2000, "more keys"),
            (&format!("{}{goes_on}", entries(1)), 2000, ""),
            (goes_on, 2000, "lacks objects"),
            (&format!("{}<IsTruncated>true</IsTruncated>", entries(1)), 2000, "does not say where"),
            ("<Name>bucket</Name><Prefix>a&amp;b/</Prefix>", 0, ""),
            ("<Name>other</Name>", 0, "another bucket"),
            ("<Name/>", 0, "another bucket"),
            ("<Prefix>a&amp;b</Prefix>", 0, "another prefix"),
            ("<Prefix/>", 0, "another prefix"),
            ("<Contents><Key>b/1</Key></Contents>", 0, "outside its prefix"),
            ("<Contents><Key>a&amp;b/1</Key></Contents><Contents><Key>a&#38;b/1</Key></Contents>", 0, "twice"),
            (&format!("{0}{0}", entries(2)), 4, "in no order"),
            ("<Contents><Key>a&amp;b/2</Key></Contents><Contents><Key>a&amp;b/1</Key></Contents>", 2, "in no order"),
            ("<IsTruncated>False</IsTruncated>", 0, "in words"),
            ("<Contents><Size>1</Size></Contents>", 0, "without a key"),
            ("<Contents><Owner><Key>a&amp;b/1</Key></Owner></Contents>", 0, "without a key"),
            ("<KeyCount>1</KeyCount>", 0, "another number"),
            ("<KeyCount>one</KeyCount>", 0, "in words"),
            ("<Contents><Key>&bomb;</Key></Contents>", 0, "complete document"),
            ("<Contents><Key>a</Kez></Contents>", 0, "complete document"),
            ("</ListBucketResult><ListBucketResult>", 0, "complete document"),
            ("<!DOCTYPE x>", 0, "complete document"),
            (&deep, 0, "complete document"),
            (&format!("<Name>{}", "x".repeat(9000)), 0, "unterminated text"),
            (&format!("<x {}", "x".repeat(9000)), 0, "unterminated tag"),
        ] {
            let text = format!("<ListBucketResult>{inner}</ListBucketResult>");
            let reported = judged(text.as_bytes(), text.len() / 2, objects).err().unwrap_or_default();
            assert!(reported.contains(wrong) && reported.is_empty() == wrong.is_empty(), "{inner:.80}: {reported}");
        }
        for text in ["", "OK", "<html/>", "x<ListBucketResult/>", "<ListBucketResult/>x", "<ListBucketResult>"] {
            assert!(judged(text.as_bytes(), 0, 0).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic_and_never_show_objects(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let whole = [b"<ListBucketResult><Contents><Key>", &body[..], b"</Key></Contents>"].concat();
            prop_assert!(judged(&whole, body.len(), 2).is_err());
        }
    }
}
