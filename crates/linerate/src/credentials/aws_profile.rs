//! AWS's shared files: `~/.aws/credentials` and `~/.aws/config`, of which one profile is read.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use crate::credentials::key_permissions;
use crate::files::limited_read;
use crate::terminal::failure::Failure;
use crate::terminal::key_masks;

/// Largest file: one with thousands of profiles.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// What a profile says, by AWS's names: `aws_access_key_id`, `region`, ….
pub(crate) type Settings = BTreeMap<String, String>;

/// The profile that the flag or `AWS_PROFILE` names.
fn profile_flag_or_env(flag: Option<&String>) -> Option<String> {
    flag.cloned().or_else(|| env::var("AWS_PROFILE").ok().filter(|v| !v.is_empty()))
}

/// Where a setting of the profile stands, in words.
pub(crate) fn setting_location(setting: &str, flag: Option<&String>) -> String {
    format!("{setting} of profile {:?}", profile_flag_or_env(flag).as_deref().unwrap_or("default"))
}

/// The settings of the profile named by the flag, `AWS_PROFILE`, or `default`. Empty where there are no such files; an
/// error where a profile that was asked for is in neither.
pub(crate) fn read(flag: Option<&String>) -> Result<Settings, Failure> {
    Ok(read_settings(flag)?.0)
}

/// The same for its keys: a file that holds them and is not for its owner alone is told.
pub(crate) fn read_keys(flag: Option<&String>) -> Result<Settings, Failure> {
    let (settings, holders) = read_settings(flag)?;
    holders.iter().for_each(|path| key_permissions::warn_if_readable(path));
    Ok(settings)
}

/// Settings whose values are secret.
const SECRET: [&str; 2] = ["aws_secret_access_key", "aws_session_token"];

/// The settings, and the files that say a secret of the profile.
fn read_settings(flag: Option<&String>) -> Result<(Settings, Vec<PathBuf>), Failure> {
    let requested = profile_flag_or_env(flag);
    let name = requested.clone().unwrap_or_else(|| "default".to_owned());
    let (mut found, mut settings, mut names) = (false, Settings::new(), Vec::new());
    let (mut files, mut holders) = (Vec::new(), Vec::new());
    for path in paths() {
        let text = match limited_read::read_text(&path, FILE_BYTES_MAX) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(source) => return Err(Failure::File { what: "read", path, source }),
        };
        key_masks::remember_secrets_of_file(&text);
        files.push(path.display().to_string());
        for (section, values) in sections(&text) {
            let section = section.strip_prefix("profile ").map_or(section.as_str(), str::trim).to_owned();
            if section == name {
                found = true;
                if SECRET.iter().any(|name| values.contains_key(*name)) {
                    holders.push(path.clone());
                }
                settings.extend(values);
            }
            names.push(section);
        }
    }
    if found || requested.is_none() {
        return Ok((settings, holders));
    }
    names.sort();
    names.dedup();
    let (names, others): (Vec<String>, Vec<String>) = names.into_iter().partition(|name| is_quotable_name(name));
    let there = match (names.is_empty(), others.len()) {
        (true, 0) => "none".to_owned(),
        (true, n) => format!("{n}, in brackets in {}", files.join(" and ")),
        (false, 0) => names.join(", "),
        (false, n) => format!("{} and {n} more, in brackets in {}", names.join(", "), files.join(" and ")),
    };
    Err(Failure::usage(format!("no profile {name:?} in AWS's shared files: profiles there: {there}")))
}

/// Whether the name of a profile may be told: a key that was put in its place is longer, or has other signs.
fn is_quotable_name(name: &str) -> bool {
    name.len() < 16 && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_".contains(&b))
}

/// Where the files are. What that of credentials says goes before what the other says, and it is read after it.
pub(crate) fn paths() -> impl Iterator<Item = PathBuf> {
    let places = [("AWS_CONFIG_FILE", "config"), ("AWS_SHARED_CREDENTIALS_FILE", "credentials")];
    places.into_iter().filter_map(|(variable, file)| {
        let named = env::var_os(variable).filter(|p| !p.is_empty()).map(PathBuf::from);
        named.or_else(|| env::home_dir().map(|home| home.join(".aws").join(file)))
    })
}

/// Sections with their settings. Indented lines belong to nested settings, which nothing here reads.
pub(crate) fn sections(text: &str) -> Vec<(String, Settings)> {
    let mut all: Vec<(String, Settings)> = Vec::new();
    for line in text.lines() {
        let bare = line.trim();
        if bare.is_empty() || bare.starts_with(['#', ';']) {
            continue;
        }
        if let Some(name) = bare.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            all.push((name.0.trim().to_owned(), Settings::new()));
        } else if let (Some((_, settings)), Some((key, value))) = (all.last_mut(), bare.split_once('='))
            && !line.starts_with([' ', '\t'])
        {
            // A comment behind a value begins with a blank: keys may hold the sign itself.
            let value = value.split(" #").next().unwrap_or_default().split(" ;").next().unwrap_or_default();
            settings.insert(key.trim().to_ascii_lowercase(), value.trim().to_owned());
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_hold_their_settings_and_no_comment_or_nested_line() {
        let text = "# c\n[default]\naws_access_key_id = AK # mine\nAWS_SECRET_ACCESS_KEY=a#b;c=\n s3 =\n  x = 1\n; c\n\
                    [profile two]\nregion = eu-1\nno setting\n";
        let expected = [
            ("default", vec![("aws_access_key_id", "AK"), ("aws_secret_access_key", "a#b;c=")]),
            ("profile two", vec![("region", "eu-1")]),
        ];
        let read = sections(text);
        assert_eq!(read.len(), expected.len());
        for ((name, settings), (expected_name, pairs)) in read.iter().zip(expected) {
            assert_eq!(name, expected_name);
            let read: Vec<_> = settings.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
            assert_eq!(read, pairs);
        }
        assert!(sections("key = outside of a section\n]x[\n").is_empty());
    }
}
