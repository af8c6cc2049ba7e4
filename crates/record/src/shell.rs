//! Words of a command line that somebody is told to type, as a shell reads them: whatever stands in them, they remain
//! one word each, of the same bytes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::sanitize::in_line;

#[must_use]
pub fn word(value: impl AsRef<OsStr>) -> String {
    let value = value.as_ref();
    // What cannot be shown as it is, a terminal or a message would change.
    match value.to_str().filter(|text| in_line(text) == *text) {
        Some(text) if !text.is_empty() && text.chars().all(is_plain) => text.to_owned(),
        Some(text) => format!("'{}'", text.replace('\'', r"'\''")),
        None => in_octal(value.as_bytes()),
    }
}

/// A file or folder: never a flag.
#[must_use]
pub fn path(path: &Path) -> String {
    if path.as_os_str().as_bytes().starts_with(b"-") { word(Path::new(".").join(path)) } else { word(path) }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_./:,@%+=".contains(c)
}

/// Dollar-single-quotes of POSIX.1-2024 (2.2.4), which bash, ksh and zsh have had before: three octal digits stand for
/// a byte.
fn in_octal(bytes: &[u8]) -> String {
    let mut quoted = String::from("$'");
    for &byte in bytes {
        match byte {
            b'\'' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..=b'~' => quoted.push(char::from(byte)),
            _ => quoted.push_str(&format!("\\{byte:03o}")),
        }
    }
    quoted + "'"
}

/// Verbs behind whose names words follow that belong to a command whatever they look like: so many.
const VERBS: [(&str, usize); 4] = [("clean", 1), ("report", 1), ("compare", 2), ("experiment", 2)];

/// Flags behind which a value follows.
const VALUED: [&str; 2] = ["--ca-file", "--profile"];

/// What a sentence is made of, where it is parted to lines: its words, and commands of linerate that somebody is told
/// to type. A command is one piece with all its blanks: parted, or with one blank for two, it names something else.
#[must_use]
pub fn pieces(sentence: &str) -> Vec<&str> {
    let (mut found, mut rest) = (Vec::new(), sentence.trim_start());
    while !rest.is_empty() {
        let end = command(rest).unwrap_or_else(|| rest.find(char::is_whitespace).unwrap_or(rest.len()));
        found.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    found
}

/// Where a command ends that a text begins with. One without a word behind its verb is not taken for one.
fn command(text: &str) -> Option<usize> {
    let behind = text.strip_prefix("linerate ")?;
    let (verb, operands) = VERBS.iter().find(|(verb, _)| behind.starts_with(&format!("{verb} ")))?;
    let start = text.len() - behind.len() + verb.len();
    let (mut end, mut words, mut is_value) = (start, 0, false);
    while let Some(behind) = text[end..].strip_prefix(' ') {
        let length = word_length(behind)?;
        let word = &behind[..length];
        let is_argument = word.starts_with(['-', '\'', '$']) || word.contains('/');
        if length == 0 || !(is_argument || is_value || words < *operands) {
            break;
        }
        (end, words, is_value) = (end + 1 + length, words + 1, VALUED.contains(&word));
    }
    (words > 0).then_some(end)
}

/// How long the word is that a text begins with, as a shell reads it; nothing where its quotes are not closed.
fn word_length(text: &str) -> Option<usize> {
    let (mut quote, mut escaped, mut before) = (None, false, ' ');
    for (at, c) in text.char_indices() {
        match quote {
            _ if escaped => escaped = false,
            // Within plain quotes, a backslash is one.
            Some(of_octal) => match c {
                '\'' => quote = None,
                '\\' => escaped = of_octal,
                _ => {}
            },
            None => match c {
                '\\' => escaped = true,
                '\'' if at == 0 || before == '$' || before == '\'' => quote = Some(before == '$'),
                _ if c.is_whitespace() => return Some(at),
                _ => {}
            },
        }
        before = c;
    }
    quote.is_none().then_some(text.len())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_reads_each_word_as_it_was() {
        let words: [&[u8]; 14] = [
            b"runs/1120-0931-get",
            b"my runs/a",
            b"it's",
            b"a\"b",
            b"$HOME `id` $(id)",
            b"a;b&c|d>e<f",
            b"*?[a]{1,2}",
            b"~/a",
            b"a\\b",
            b"a\nb\t'c\\",
            b"\xff\xfe7",
            "gr\u{fc}n \u{202e}txt".as_bytes(),
            b"!!",
            b"",
        ];
        for bytes in words {
            let quoted = word(OsStr::from_bytes(bytes));
            assert!(in_line(&quoted) == quoted, "{quoted:?} stays as it is where it is shown");
            let read = Command::new("bash").args(["-c", &format!("printf %s {quoted}")]).output().unwrap();
            assert_eq!(read.stdout, bytes, "{quoted}: {read:?}");
        }
        for plain in ["runs/1120-0931-get", "/tmp/a_b", "a:b@c%d+e=f,g"] {
            assert_eq!(word(plain), plain);
        }
        assert_eq!(path(Path::new("-x y")), "'./-x y'");
        assert_eq!(path(Path::new("x")), "x");
    }

    #[test]
    fn a_command_in_a_sentence_is_one_piece_of_it() {
        for name in ["a", "a  b", "it's  x", "x y/z", "a\nb  c", "-x  y", "''", "runs/1"] {
            let command = format!("linerate clean {} --profile {} --insecure", path(Path::new(name)), word("prof  x"));
            let sentence = format!("delete them with {command} when the  run's are no longer needed");
            let found = pieces(&sentence);
            assert!(found.contains(&command.as_str()), "{found:?}");
            assert_eq!(found[..3], ["delete", "them", "with"]);
            assert_eq!(found[4..], ["when", "the", "run's", "are", "no", "longer", "needed"]);
        }
        for (sentence, expected) in [
            ("linerate clean r deletes what is below s3://b/p/", "linerate clean r"),
            ("linerate clean r --profile p deletes it", "linerate clean r --profile p"),
            ("linerate experiment run x/y --resume goes on", "linerate experiment run x/y --resume"),
            ("linerate paused after failures", "linerate"),
            ("linerate clean 'not closed", "linerate"),
        ] {
            assert_eq!(pieces(sentence)[0], expected);
        }
    }
}
