//! Keys in command lines, in the environment and in files of keys, found before anything of these is told: whether or
//! not what stands around them is spelled rightly.

use linerate_record::sanitize::{is_load, stands_for_another};

/// Variables that hold names of keys.
const NAME_VARIABLES: [&str; 2] = ["WARP_ACCESS_KEY", "AWS_ACCESS_KEY_ID"];

/// Holds the token of `net`: an argument could be read by every user.
pub(crate) const NET_TOKEN_VARIABLE: &str = "LINERATE_NET_TOKEN";

/// Variables that hold secrets.
const SECRET_VARIABLES: [&str; 5] = [
    "WARP_SECRET_KEY",
    "AWS_SECRET_ACCESS_KEY",
    "WARP_SESSION_TOKEN",
    "AWS_SESSION_TOKEN",
    // Of `net`, before it is read: no folder is named after it.
    NET_TOKEN_VARIABLE,
];

/// What names of keys hold, without the signs that part words; the longest of those that begin alike goes first.
const NAMES: [&str; 9] = [
    "secretaccesskey",
    "secretkey",
    "secret",
    "accesskeyid",
    "accesskey",
    "sessiontoken",
    "securitytoken",
    "token",
    "password",
];

/// A flag whose value is the name of a file to make, which is said.
const FILE_TO_MAKE: &str = "initsecrets";

/// Whether a flag, a query's part or a line of this name has a key, or proves that one has it.
fn is_key_name(name: &str) -> bool {
    let name = normalised_name(name);
    // A file that has a key is no key.
    name != FILE_TO_MAKE
        && !name.ends_with("file")
        && NAMES.iter().chain(&["signature", "credential"]).any(|part| name.contains(part))
}

fn normalised_name(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Shortest part of a key that is looked for.
const PART_CHARS_MIN: usize = 4;

/// Parts of keys that stand in words: what reads a list quotes its entries, and what reads lines quotes them.
pub(super) fn parts_in_words(keys: &[String], words: &[String]) -> Vec<String> {
    let in_words = keys.iter().filter(|key| super::is_long_enough(key) && words.iter().any(|word| word.contains(*key)));
    let parts = in_words.flat_map(|key| key.split(|c: char| c.is_control() || " ,;:=|@/".contains(c)));
    parts.filter(|part| part.chars().count() >= PART_CHARS_MIN).map(str::to_owned).collect()
}

/// Keys, and what may be one.
#[derive(Default)]
pub(super) struct GivenKeys {
    pub(super) keys: Vec<String>,
    pub(super) secrets: Vec<String>,
    pub(super) possible: Vec<String>,
}

/// The keys of the environment, those of every alias of mc among them, whichever is loaded.
pub(super) fn keys_of_environment() -> GivenKeys {
    let environment_values = |names: &[&str]| names.iter().filter_map(|name| std::env::var(name).ok()).collect();
    let mut given = GivenKeys {
        keys: environment_values(&NAME_VARIABLES),
        secrets: environment_values(&SECRET_VARIABLES),
        possible: Vec::new(),
    };
    let aliases = std::env::vars_os().filter(|(name, _)| name.as_encoded_bytes().starts_with(b"MC_HOST_"));
    for (_, value) in aliases {
        given.add_alias(&value.to_string_lossy());
    }
    given
}

impl GivenKeys {
    /// Adds the keys of an alias of mc, `https://ACCESS_KEY:SECRET_KEY[:TOKEN]@HOST`. What has no host behind its keys
    /// may have a secret at any place where one could stand.
    fn add_alias(&mut self, value: &str) {
        let in_address = keys_in_address(value);
        let rest = value.split_once("://").map_or(value, |(_, rest)| rest);
        match rest.rsplit_once('@').map(|(keys, _)| keys.split_once(':').unwrap_or((keys, ""))) {
            Some((access_key, secrets)) => {
                self.keys.push(access_key.to_owned());
                self.secrets.extend([secrets].into_iter().chain(secrets.splitn(2, ':')).map(str::to_owned));
            }
            // An address of IPv6 has colons of its own.
            None if !rest.contains('[') => self.secrets.extend(in_address.iter().cloned()),
            None => {}
        }
        self.possible.extend(in_address);
    }
}

/// The keys of a command line: what follows or is part of a flag that takes one, and what addresses hold.
pub(super) fn keys_of_words(words: &[String]) -> GivenKeys {
    let mut given = GivenKeys::default();
    for (i, word) in words.iter().enumerate() {
        let (name, value) =
            word.split_once(['=', ':']).map_or((word.as_str(), None), |(name, value)| (name, Some(value)));
        if is_name(name) && is_key_name(name) {
            let next = words.get(i + 1).filter(|next| word.starts_with('-') && !next.starts_with('-'));
            given.keys.extend(value.map(str::to_owned).or(next.cloned()).filter(|key| !stands_for_another(key)));
        }
        if word.starts_with('-') {
            given.possible.extend(value_behind_flag(word));
        }
        given.possible.extend(keys_in_address(word));
    }
    given
}

/// Whether this may be a name before a value: of a flag, a variable, a line.
fn is_name(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

/// What stands directly behind a flag's name: `--secretkeyVALUE`.
fn value_behind_flag(word: &str) -> Option<String> {
    let bare = normalised_name(word);
    let end = NAMES.iter().find_map(|name| Some(bare.find(name)? + name.len()))?;
    // The place in the word, whatever parts the words of the name.
    let mut signs = word.char_indices().filter(|(_, c)| c.is_ascii_alphanumeric());
    let value = word[signs.nth(end - 1)?.0 + 1..].trim_start_matches(['-', '_', '.', '=', ':']);
    (!value.is_empty()).then(|| value.to_owned())
}

/// Keys in addresses, which a word or a list may hold: before the `@` of a host, and in a query.
fn keys_in_address(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    match rest.rsplit_once('@') {
        Some((user, host)) if is_user(text, user, host) => {
            let user = user.rsplit_once('=').filter(|(name, _)| is_name(name)).map_or(user, |(_, user)| user);
            found.push(user.to_owned());
            found.extend(user.split_once(':').map(|(_, secret)| secret.to_owned()));
            found.extend(user.split(':').map(str::to_owned));
        }
        // What stands behind a colon and is no port may be a key, for want of the sign behind it.
        Some(_) => {}
        None if text.contains("://") => {
            let behind = rest.split_once(':').map(|(_, port)| port).filter(|port| !begins_with_port(port));
            found.extend(behind.map(str::to_owned));
        }
        None => {}
    }
    for pair in text.split(['?', '&', ';']).skip(1) {
        let Some((_, value)) = pair.split_once('=').filter(|(name, _)| is_key_name(name)) else { continue };
        found.push(value.to_owned());
        // `X-Amz-Credential=KEY/20240101/REGION/s3/aws4_request`
        let is_date = |text: &str| text.get(..8).is_some_and(is_figure);
        let scope = |sign: &str| value.match_indices(sign).find(|(at, _)| is_date(&value[at + sign.len()..]));
        found.extend(["/", "%2F", "%2f"].into_iter().filter_map(scope).map(|(at, _)| value[..at].to_owned()));
    }
    found.retain(|key| !is_figure(key) && !stands_for_another(key));
    found
}

/// Whether keys may stand before the `@`: a load (`get:4MiB@16`), a setting of a device and the path of a bucket have
/// it too.
fn is_user(text: &str, user: &str, host: &str) -> bool {
    let is_host = host.starts_with(|c: char| c.is_ascii_lowercase() || "[*{".contains(c)) || host.contains(['.', ':']);
    match text.split_once("://") {
        Some((scheme, _)) => !scheme.ends_with("s3"),
        None => {
            let bare = user.rsplit_once('=').map_or(user, |(_, user)| user);
            is_host && !is_load(bare) && (user.contains(':') || looks_like_key(user))
        }
    }
}

/// Whether what stands behind a colon is a port, with a path or nothing behind it.
fn begins_with_port(text: &str) -> bool {
    let port = text.split('/').next().unwrap_or_default();
    port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0)
}

/// A port, a length: digits and what parts them.
fn is_figure(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || b"/-.]".contains(&b))
}

/// What may be keys in a file of keys, whatever its form: what follows the name of one, and what looks like one.
pub(super) fn keys_of_file(text: &str) -> Vec<String> {
    let (mut found, mut expected) = (Vec::new(), false);
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])) {
        if std::mem::take(&mut expected) && !line.contains([':', '=']) {
            found.push(unquoted(line).to_owned());
        }
        let mut rest = line;
        while let Some(begin) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
            rest = &rest[begin..];
            let name =
                &rest[..rest.find(|c: char| !c.is_ascii_alphanumeric() && !"-_.".contains(c)).unwrap_or(rest.len())];
            rest = &rest[name.len()..];
            if is_key_name(name) {
                found.extend(value_behind_flag(name));
                let values = values(rest);
                expected = values.is_empty();
                found.extend(values);
            }
        }
        found.extend(
            line.split([' ', '\t', '"', '\'', ',', ':', '[', ']', '{', '}'])
                .filter(|w| looks_like_key(w))
                .map(str::to_owned),
        );
        found
            .extend(line.split(' ').filter(|word| word.contains('@')).flat_map(|word| keys_in_address(unquoted(word))));
    }
    found.retain(|value| !stands_for_another(value));
    found
}

/// What follows the name of a key in its line: the string, or the rest of the line and its words.
fn values(rest: &str) -> Vec<String> {
    let rest = rest.trim_start_matches(['"', '\'']).trim_start();
    let rest = rest.strip_prefix([':', '=']).unwrap_or(rest).trim();
    if let Some(quote) = rest.chars().next().filter(|c| "\"'".contains(*c)) {
        let end = rest[1..].find(quote).unwrap_or(rest.len() - 1);
        return vec![rest[1..][..end].to_owned()];
    }
    let rest = [" #", " ;"].iter().fold(rest, |rest, begin| rest.split(begin).next().unwrap_or_default()).trim();
    let first = rest.split([' ', '\t', ',', '}']).next().unwrap_or_default();
    // What a mistaken colon ends: `secret-key KEY: 1`.
    let words = [rest, first, first.trim_end_matches(':')];
    words.iter().filter(|word| !word.is_empty()).map(|word| (*word).to_owned()).collect()
}

fn unquoted(text: &str) -> &str {
    text.trim_matches(['"', '\'', ',', '-', ' '])
}

/// Whether a word has the form of keys that are made by a machine: AWS's identifiers, and base64 of random bytes with
/// large and small letters and digits. Names of hosts, durations, sizes and paths with a dot have not.
fn looks_like_key(word: &str) -> bool {
    let is_id = ["AKIA", "ASIA"].iter().any(|begin| word.starts_with(begin));
    let has = |kind: fn(&u8) -> bool| word.as_bytes().iter().any(kind);
    let is_mixed = has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit);
    word.len() >= 16
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=-_".contains(&b))
        && !word.starts_with(['/', '-'])
        && (is_id || is_mixed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_flags_are_found_however_they_are_spelled() {
        for (line, expected) in [
            ("--secret-key VALUE", Some("VALUE")),
            ("--secret-keyVALUE", Some("VALUE")),
            ("-secretVALUE", Some("VALUE")),
            ("--aws_secret_access_keyVALUE", Some("VALUE")),
            ("--ssecretVALUE", Some("VALUE")),
            ("--SecretKey:VALUE", Some("VALUE")),
            ("SECRET_KEY=VALUE", Some("VALUE")),
            ("https://AK:VALUE@h", Some("VALUE")),
            ("--host=AK:VALUE@h:1", Some("VALUE")),
            ("http://h/?Signature=VALUE", Some("VALUE")),
            ("http://h:VALUE", Some("VALUE")),
            ("--secret-key $VALUE", None),
            ("--secret-key --VALUE", None),
            ("--init-secrets VALUE", None),
            ("secret VALUE", None),
            ("http://h:9000 h:9000 get:4MiB VALUE", None),
            ("--load get:4MiB@VALUE.x --load=get:4MiB@VALUE:x", None),
            ("http://h:9000/ VALUE", None),
        ] {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let given = keys_of_words(&words);
            let found: Vec<&String> = given.keys.iter().chain(&given.possible).collect();
            assert_eq!(found.iter().any(|key| *key == "VALUE"), expected.is_some(), "{line}: {found:?}");
        }
    }

    #[test]
    fn a_port_with_a_path_behind_it_is_no_key() {
        let possible = |word: &str| keys_of_words(&[word.to_owned()]).possible;
        for word in ["http://127.0.0.1:18090/prom", "--prometheus=http://prom:9090/a/b", "https://h:9000"] {
            assert!(possible(word).is_empty(), "{word}: {:?}", possible(word));
        }
        assert_eq!(possible("https://AK:99000/secret"), ["99000/secret"]);
        assert_eq!(possible("https://AK:9secret/key"), ["9secret/key"]);
    }

    #[test]
    fn the_secrets_of_every_alias_in_the_environment_are_secrets_and_its_host_is_none() {
        for (value, secrets) in [
            ("https://ACCESS-KEY:SECRET-KEY@s3.example.com", &["SECRET-KEY", "SECRET-KEY"][..]),
            ("http://ACCESS-KEY:SECRET-KEY:TO:KEN@h:9000", &["SECRET-KEY:TO:KEN", "SECRET-KEY", "TO:KEN"]),
            ("https://ACCESS-KEY:SECRET-KEY", &["SECRET-KEY"]),
            ("h:SECRET-KEY@h", &["SECRET-KEY", "SECRET-KEY"]),
            ("https://play.example:9000/", &[]),
            ("http://[::1]:9000", &[]),
        ] {
            let mut given = GivenKeys::default();
            given.add_alias(value);
            assert_eq!(given.secrets, secrets, "{value}");
        }
    }

    #[test]
    fn what_may_be_a_key_in_a_file_is_found_and_hosts_sizes_and_names_are_not() {
        for (text, expected) in [
            ("aws_secret_access_key = a b # c", vec!["a b", "a"]),
            ("secret-key:\n  VALUE\n  other: 1", vec!["VALUE"]),
            ("secret-key: ${VARIABLE}", vec![]),
            ("{\"accessKey\":\"A\",\"secretKey\": \"S\",\"api\":\"s3v4\",\"path\":\"auto\"}", vec!["A", "S"]),
            ("# aws_secret_access_key = a", vec![]),
            (
                "QQQQkey/Of+the/tests0123 and AKIAIOSFODNN7EXAMPLE",
                vec!["QQQQkey/Of+the/tests0123", "AKIAIOSFODNN7EXAMPLE"],
            ),
            ("host: Minio-{1...16}.Example.com:9000, obj.size: 128MiB, ca-file: /etc/Minio2024/Root2024", vec![]),
            (
                "region: eu-central-1\n[profile production-2024]\nrole_arn = arn:aws:iam::123456789012:role/reader",
                vec![],
            ),
        ] {
            let mut found = keys_of_file(text);
            found.dedup();
            assert_eq!(found, expected, "{text}");
        }
    }
}
