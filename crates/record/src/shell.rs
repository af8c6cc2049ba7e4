//! Words of a command line that somebody is told to type, as a shell reads them: whatever stands in them, they remain
//! one word each, of the same bytes.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use crate::shown::in_line;

/// A value.
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
}
