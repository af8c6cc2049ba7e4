//! Records of fields between tabs. A field that begins with a quote ends with one, and may have tabs and line breaks in
//! it, as in CSV; but for the column that its writer leaves as it is.

use std::io::{self, BufRead, Error, ErrorKind, Read as _};

/// Longest record, in bytes.
const RECORD_BYTES_MAX: u64 = 1 << 20;

/// One record at a time.
pub(super) struct TabRecords<R> {
    input: R,
    /// Lines that were read.
    lines: u64,
    /// What of the record was read of the input.
    raw: Vec<u8>,
    /// The fields of the record, one behind the other, and where each ends.
    text: String,
    ends: Vec<usize>,
}

impl<R: BufRead> TabRecords<R> {
    pub(super) const fn new(input: R) -> Self {
        TabRecords { input, lines: 0, raw: Vec::new(), text: String::new(), ends: Vec::new() }
    }

    /// The number of the line with which the next record begins.
    pub(super) const fn next_line(&self) -> u64 {
        self.lines + 1
    }

    /// How many fields the record has.
    pub(super) const fn len(&self) -> usize {
        self.ends.len()
    }

    pub(super) fn field(&self, at: usize) -> Option<&str> {
        let end = *self.ends.get(at)?;
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.text.get(begin..end)
    }

    /// Reads the next record, whose column `as_it_is` has no quoting; false at the end. Empty lines are none.
    ///
    /// # Errors
    /// Where it cannot be read, is too long, is not UTF-8, or ends within quotes.
    pub(super) fn read(&mut self, as_it_is: Option<usize>) -> io::Result<bool> {
        self.raw.clear();
        self.text.clear();
        self.ends.clear();
        while self.raw.is_empty() {
            if !self.line()? {
                return Ok(false);
            }
        }
        let (mut at, mut field) = (0, Vec::new());
        loop {
            let is_quoted = self.raw.get(at) == Some(&b'"') && as_it_is != Some(self.ends.len());
            field.clear();
            if is_quoted {
                at = self.quoted(at + 1, &mut field)?;
            }
            let length = self.raw[at..].iter().position(|byte| *byte == b'\t').unwrap_or(self.raw.len() - at);
            field.extend_from_slice(&self.raw[at..at + length]);
            self.text.push_str(std::str::from_utf8(&field).map_err(Error::other)?);
            self.ends.push(self.text.len());
            at += length + 1;
            if at > self.raw.len() {
                return Ok(true);
            }
        }
    }

    /// Takes a field behind its first quote, and returns where it ends. Two quotes in it are one.
    fn quoted(&mut self, mut at: usize, field: &mut Vec<u8>) -> io::Result<usize> {
        loop {
            match (self.raw.get(at), self.raw.get(at + 1)) {
                (Some(b'"'), Some(b'"')) => at += 1,
                (Some(b'"'), _) => return Ok(at + 1),
                (Some(_), _) => {}
                (None, _) => {
                    self.raw.push(b'\n');
                    if !self.line()? {
                        return Err(Error::new(ErrorKind::UnexpectedEof, "a quote does not end"));
                    }
                }
            }
            field.push(self.raw[at]);
            at += 1;
        }
    }

    /// Adds a line to what was read, without its end; false where there is none.
    fn line(&mut self) -> io::Result<bool> {
        let room = RECORD_BYTES_MAX - (self.raw.len() as u64).min(RECORD_BYTES_MAX);
        let n = (&mut self.input).take(room).read_until(b'\n', &mut self.raw)?;
        if n as u64 == room {
            return Err(Error::other("a record is longer than 1 MiB: it is not warp's"));
        }
        self.lines += u64::from(n > 0);
        for end in [b'\n', b'\r'] {
            if self.raw.last() == Some(&end) {
                self.raw.pop();
            }
        }
        Ok(n > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(text: &str, as_it_is: Option<usize>) -> io::Result<Vec<Vec<String>>> {
        let (mut reader, mut all) = (TabRecords::new(text.as_bytes()), Vec::new());
        while reader.read(as_it_is)? {
            all.push((0..reader.len()).map(|at| reader.field(at).unwrap().to_owned()).collect());
        }
        Ok(all)
    }

    #[test]
    fn quotes_hold_fields_together_but_in_the_column_that_has_none() {
        for (text, as_it_is, expected) in [
            ("a\tb\n\nc\t\n", None, &[&["a", "b"][..], &["c", ""]][..]),
            ("a\t\"b\"\"\tc\nd\"\te\r\nf", None, &[&["a", "b\"\tc\nd", "e"], &["f"]]),
            ("a\t\"b\nc\t\"d\n", Some(1), &[&["a", "\"b"], &["c", "\"d"]]),
            ("\"\"\tb\"c\n", None, &[&["", "b\"c"]]),
        ] {
            assert_eq!(records(text, as_it_is).unwrap(), expected, "{text:?}");
        }
    }

    #[test]
    fn what_is_no_record_is_refused() {
        for text in ["a\t\"b\nc", &"x".repeat(RECORD_BYTES_MAX as usize)] {
            assert!(records(text, None).is_err());
        }
        assert!(TabRecords::new(&b"\xff\n"[..]).read(None).is_err());
    }
}
