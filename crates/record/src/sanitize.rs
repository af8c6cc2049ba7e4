//! Text that others wrote, as people are shown it: without what drives a terminal, and without keys.

use std::borrow::Cow;

use crate::lines::listed;
use crate::op::Op;

/// Text of several lines in which nothing drives a terminal, turns the order of signs around or stands there unseen:
/// each such character as `\u001b`, which a JSON string reads as itself again. Line feeds and tabs stay.
#[must_use]
pub fn in_text(text: &str) -> Cow<'_, str> {
    without(text, |c| drives(c) && !matches!(c, '\n' | '\t'))
}

/// The same of text that must stay within its line.
#[must_use]
pub fn in_line(text: &str) -> Cow<'_, str> {
    without(text, drives)
}

/// Controls (C0, delete, C1), the two separators that some take for ends of lines, and what is not seen.
fn drives(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || is_unseen(c)
}

/// What sets the direction of text, joins, varies or tags what stands beside it, or fills a place with nothing: general
/// category Cf and the property `Default_Ignorable_Code_Point` of Unicode 16.0 (`extracted/DerivedGeneralCategory.txt`,
/// `DerivedCoreProperties.txt`). Two names that look the same are not, by one of these.
const fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
        | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{110bd}' | '\u{110cd}'
        | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

fn without(text: &str, hidden: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            // As JSON writes it: beyond U+FFFF in two halves.
            c if hidden(c) => {
                for half in c.encode_utf16(&mut [0; 2]) {
                    shown.push_str(&format!("\\u{half:04x}"));
                }
            }
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Names that are told of a list, and signs that are told of each.
const NAMED_MOST: usize = 8;
const NAME_CHARS_MAX: usize = 200;

/// A name of others as far as it is told: none of them is read further, and a label may have 60,000 signs.
#[must_use]
pub fn short(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(NAME_CHARS_MAX) {
        Some((end, _)) => Cow::Owned(format!("{}…", &name[..end])),
        None => Cow::Borrowed(name),
    }
}

/// The first names of a list, and how many there are besides.
#[must_use]
pub fn named_some<'n>(names: impl Iterator<Item = &'n str>) -> String {
    listed(&names.map(short).collect::<Vec<_>>(), NAMED_MOST)
}

/// What stands where a key stood.
pub const MASK: &str = "***";

/// What parts a text into words, of which each is looked at.
const BETWEEN: [char; 11] = [' ', '\t', '\n', '\r', '"', '\'', '`', '<', '>', '(', ')'];

/// Text of others as a part of a sentence that goes on behind it: without the point or semicolon that it ends with.
#[must_use]
pub fn clause(text: &str) -> &str {
    text.trim_end().trim_end_matches(['.', ':', ';', ',']).trim_end()
}

/// Text without what looks like a key by where it stands: before the `@` of a host (`https://KEY:SECRET@host`), or as
/// the value of what is called a key, a signature or a credential, in a query, a flag, YAML, JSON or AWS's files.
#[must_use]
pub fn masked(text: &str) -> Cow<'_, str> {
    if !text.contains(['@', '=', ':']) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    // Whether the next word is the value of a key, and whether a sentence may go on in its place.
    let (mut is_value, mut may_go_on) = (false, false);
    let mut rest = text;
    while !rest.is_empty() {
        let between = rest.len() - rest.trim_start_matches(BETWEEN).len();
        let (gap, behind) = rest.split_at(between);
        // The value of a key stands in the key's line.
        is_value &= !gap.contains('\n');
        let named = out.rsplit(BETWEEN).find(|word| !word.is_empty()).unwrap_or_default().to_owned();
        out.push_str(gap);
        let (word, behind) = behind.split_at(behind.find(BETWEEN).unwrap_or(behind.len()));
        rest = behind;
        if word.is_empty() || matches!(word, "=" | ":") {
            is_value |= match word {
                "=" => names_a_key(&named),
                // What is in brackets before a colon is a remark: `http 403 (InvalidAccessKeyId): the keys are …`.
                ":" => !gap.contains(')') && is_key_of_a_file(&named),
                _ => false,
            };
            if word == ":" {
                may_go_on = gap.contains(['"', '\'', '`']);
            }
            out.push_str(word);
            continue;
        }
        let goes_on = std::mem::take(&mut may_go_on) && !gap.contains(['"', '\'', '`']) && is_sentence(word, behind);
        if std::mem::take(&mut is_value) && word != MASK && !goes_on {
            out.push_str(MASK);
            continue;
        }
        is_value =
            word.strip_suffix('=').is_some_and(names_a_key) || word.strip_suffix(':').is_some_and(is_key_of_a_file);
        out.push_str(&without_values(&without_user(word)));
    }
    if out == text { Cow::Borrowed(text) } else { Cow::Owned(out) }
}

/// Whether a word begins words that say something of a key whose name was quoted: `"warp.remote.secretkey": no such
/// key`. A key alone, or one with any other sign than small letters or longer than seven, does not.
fn is_sentence(word: &str, behind: &str) -> bool {
    let is_small = |word: &str| (1..8).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_lowercase());
    let next = behind.strip_prefix(' ').and_then(|behind| behind.split(BETWEEN).next()).unwrap_or_default();
    is_small(word) && is_small(next.trim_end_matches([',', '.', ':', ';']))
}

/// A word without what stands before the `@` of a host.
fn without_user(word: &str) -> Cow<'_, str> {
    let Some((before, host)) = word.rsplit_once('@') else { return Cow::Borrowed(word) };
    // `get:4MiB@16` is a load.
    let is_host = host.starts_with(|c: char| c.is_ascii_lowercase() || "[*{".contains(c)) || host.contains(['.', ':']);
    // How the form itself is told.
    if before.ends_with("ACCESS_KEY:SECRET_KEY") {
        return Cow::Borrowed(word);
    }
    let begin = match before.find("://") {
        // A bucket's keys may hold the sign.
        Some(at) if before[..at].ends_with("s3") => return Cow::Borrowed(word),
        // A user alone is no key, and SSH takes no password here.
        Some(at) if before[..at].ends_with("ssh") && !before[at + 3..].contains(':') => return Cow::Borrowed(word),
        Some(at) => at + 3,
        None if is_host && before.contains(':') => {
            before[..before.find(':').unwrap_or(0)].rfind('=').map_or(0, |at| at + 1)
        }
        None => return Cow::Borrowed(word),
    };
    if before[begin..].split(':').all(stands_for_another) || is_load(&before[begin..]) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("{}{MASK}@{host}", &before[..begin]))
}

/// Whether this is an operation and a size, which stand before the `@` of a load: `get:4MiB`.
#[must_use]
pub fn is_load(text: &str) -> bool {
    let Some((op, size)) = text.split_once(':') else { return false };
    let unit = size.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let is_size = unit.len() < size.len() && unit.len() <= 3 && unit.bytes().all(|b| b.is_ascii_alphabetic());
    is_size && (op.parse::<Op>().is_ok() || op.eq_ignore_ascii_case("mixed"))
}

/// A word without the values of `name=value` whose name is a key's.
fn without_values(word: &str) -> Cow<'_, str> {
    if !word.contains('=') {
        return Cow::Borrowed(word);
    }
    let mut out = String::with_capacity(word.len());
    for piece in word.split_inclusive(['?', '&', ';']) {
        let (pair, end) = piece.split_at(piece.trim_end_matches(['?', '&', ';']).len());
        match pair.split_once('=') {
            Some((name, value)) if names_a_key(name) && !stands_for_another(value) => {
                out.push_str(&format!("{name}={MASK}"));
            }
            _ => out.push_str(pair),
        }
        out.push_str(end);
    }
    Cow::Owned(out)
}

/// Whether a value is a variable of a shell, or how examples leave one out.
#[must_use]
pub fn stands_for_another(value: &str) -> bool {
    let name = value.strip_prefix('$').map(|name| name.trim_start_matches('{').trim_end_matches('}'));
    let is_variable = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    value.is_empty() || value.starts_with('…') || name.is_some_and(is_variable)
}

/// A name without what it is spelled with.
fn bare(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Whether the value of a flag, a query's part or a variable of this name is a key, or proves that one has it.
fn names_a_key(name: &str) -> bool {
    let name = bare(name);
    let parts = ["secret", "accesskey", "sessiontoken", "securitytoken", "password", "signature", "credential"];
    // Of repositories: others have tokens by which lists go on.
    let whole = ["token", "accesstoken", "authtoken", "jobtoken", "oauthtoken", "privatetoken"];
    parts.iter().any(|part| name.contains(part)) || whole.contains(&&*name)
}

/// The same of what stands before a colon, as sentences have many.
fn is_key_of_a_file(name: &str) -> bool {
    let name = bare(name);
    // `InvalidAccessKeyId: The AWS Access Key Id …` is what S3 says of one.
    let is_of_an_error = ["invalid", "nosuch", "unknown", "missing"].iter().any(|begin| name.contains(begin));
    let ends = ["secretkey", "accesskey", "accesskeyid", "sessiontoken", "password"];
    !is_of_an_error && ends.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_drives_a_terminal_is_shown_and_not_done() {
        for (text, expected) in [
            ("plain, ünïcode ✓ עברית", "plain, ünïcode ✓ עברית"),
            ("a\x1b[2J\x07b", "a\\u001b[2J\\u0007b"),
            ("a\rb\x08\x7f", "a\\u000db\\u0008\\u007f"),
            ("\u{9b}31m\u{85}", "\\u009b31m\\u0085"),
            ("a\u{202e}b\u{2066}c\u{200f}d\u{61c}", "a\\u202eb\\u2066c\\u200fd\\u061c"),
            ("a\u{2028}b", "a\\u2028b"),
            ("a\u{ad}b\u{200b}c\u{2060}\u{2064}d\u{feff}", "a\\u00adb\\u200bc\\u2060\\u2064d\\ufeff"),
            ("\u{180e}\u{fff9}\u{fffb}\u{fe0f}\u{3164}", "\\u180e\\ufff9\\ufffb\\ufe0f\\u3164"),
            ("a\u{e0001}\u{e0041}\u{e007f}", "a\\udb40\\udc01\\udb40\\udc41\\udb40\\udc7f"),
        ] {
            assert_eq!((in_text(text).as_ref(), in_line(text).as_ref()), (expected, expected), "{text:?}");
        }
        assert_eq!((in_text("a\n\tb").as_ref(), in_line("a\n\tb").as_ref()), ("a\n\tb", "a\\u000a\\u0009b"));
        let value = "\u{9b}\\\u{202e}\x1b\u{e0041}\u{200d}";
        let json = serde_json::to_string(value).unwrap();
        assert_eq!(serde_json::from_str::<String>(&in_text(&json)).unwrap(), value);
    }

    #[test]
    fn of_many_names_the_first_are_told_and_of_a_long_one_its_begin() {
        let names: Vec<String> = (1..=9).map(|name| format!("n{name}")).collect();
        let some = |most: usize| named_some(names[..most].iter().map(String::as_str));
        assert_eq!((some(2).as_str(), some(8).ends_with("n8")), ("n1, n2", true));
        assert!(some(9).ends_with("n8 and 1 more"), "{}", some(9));
        assert_eq!((short("é"), short(&"é".repeat(60_000)).chars().count()), ("é".into(), 201));
    }

    #[test]
    fn what_is_unseen_is_what_unicode_says_is() {
        let reported = regex::Regex::new(r"^[\p{Cf}\p{Default_Ignorable_Code_Point}]$").unwrap();
        for c in '\0'..=char::MAX {
            assert_eq!(is_unseen(c), reported.is_match(c.encode_utf8(&mut [0; 4])), "{:x}", u32::from(c));
        }
    }

    #[test]
    fn keys_are_masked_wherever_they_may_stand() {
        for text in [
            "invalid host \"https://AK:QQQQ@h:9000\": write host:port",
            "https://AK:QQ/QQ+=@h",
            "https://AK:QQ@QQ@h",
            "https://QQQQ@h",
            "https://$:QQQQ@h",
            "https://$USER:QQQQ@h",
            "--secret-key=$QQQQ/+",
            "http://a,https://AK:QQQQ@b",
            "ssh://admin:QQQQ@h",
            "AK:QQQQ@h:9000",
            "get:4QQQQ@h",
            "https://get:QQQQ@h",
            "--host=AK:QQQQ@[::1]:9000",
            "MC_HOST_mine=https://AK:QQQQ@h",
            "http://h/b/k?X-Amz-Credential=AK%2FQQQQ&X-Amz-Signature=QQQQ&X-Amz-Security-Token=QQQQ",
            "--secret-key=QQQQ",
            "--secretKey QQ --secret_key=QQQQ",
            "aws_secret_access_key = QQQQ",
            "AWS_SECRET_ACCESS_KEY=QQQQ linerate",
            "{\"secretKey\": \"QQQQ\", \"accessKey\":\"QQQQ\"}",
            "secret-key: 'QQQQ'",
            "secret_key=\"QQQQ\"",
            "\"secret-key\": QQQQ",
            "\"secret-key\": QQQQ at line 3",
            "\"secret-key\": \"QQQQ\" is no value",
            "F.yml:4:5: \"warp.remote.secretkey\": QQQQ is no value",
            "(see secret_key: QQQQ)",
            "'access-key' : 'QQQQ'",
            "password: QQQQ and more of it",
            "{\"InvalidAccessKeyId\": {\"secretKey\": \"QQQQ\"}}",
        ] {
            let shown = masked(text);
            assert!(!shown.contains("QQQQ") && shown.contains(MASK), "{text}: {shown}");
            assert_eq!(masked(&shown), shown, "{text}");
        }
    }

    #[test]
    fn what_is_no_key_stays() {
        for text in [
            "MC_HOST_mine is not of the form https://ACCESS_KEY:SECRET_KEY@HOST:PORT",
            "invalid host \"a:99999\": write host:port",
            "an access key without its secret key: set AWS_SECRET_ACCESS_KEY",
            "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give --anonymous",
            "invalid value 'get:4MiB@16' for '--load <OP:SIZE@N>'",
            "invalid value 'get:4MiB@x' for '--load <OP:SIZE@N>', or --load=put:64KiB@n",
            "a value is required for '--secret-key <KEY>' but none was supplied",
            "nothing is left below s3://bucket/of:me@example.com/linerate-x/",
            "net.core.rmem_max@eth0=4096 of ens1f0@if7: 3",
            "write ssh://[USER@]HOST[:PORT], such as ssh://admin@node07:22",
            "AWS_ACCESS_KEY_ID=… AWS_SECRET_ACCESS_KEY=… linerate bench --host h",
            "GET /b?list-type=2&prefix=a failed: http 403",
            "listing s3://b/ failed: http 403 (InvalidAccessKeyId): the target knows no such key",
            "InvalidAccessKeyId: The AWS Access Key Id you provided does not exist in our records.",
            "Code: InvalidAccessKeyId, NoSuchAccessKey: it is gone",
            "F.yml:4:5: \"warp.remote.secretkey\": no such key: keys are those of warp's benchmark files",
            "F.yml:4:5: \"warp.remote.accesskey\": it cannot be read",
            "n1@h, user@h and f@x:3:4",
            "mc alias set it http://$KEY:$SECRET@h --secret-key=$SECRET; TOKEN=$T ./run",
        ] {
            assert_eq!(masked(text), text);
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_is_shown_without_a_panic_and_masked_once(text in "[ -~\u{1b}\u{202e}\n\"'@:=/?&é]{0,80}") {
            let shown = in_line(&masked(&text)).into_owned();
            prop_assert!(!shown.chars().any(drives));
            let user = format!("https://{}:QQQQ@h", text.replace(BETWEEN, "").replace("://", ""));
            prop_assert!(!masked(&user).contains("QQQQ"), "{}", user);
        }
    }
}
