//! What a node that is reached by SSH may have of its own: a command that gives its agent other rights, and a folder
//! for the program. Both stand in a script there without quotes, so they hold nothing that a shell reads as more than
//! words.

use std::fmt;
use std::str::FromStr;

/// Longest text of either.
const TEXT_BYTES_MAX: usize = 1024;

/// A command through which an agent is started, such as `sudo -n`; its words with one space between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BecomeCommand(String);

/// A folder there that keeps the program, in place of the user's cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheFolder(String);

/// What is no command, or no folder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid {what} {text:?}: {fix}")]
pub struct SshOptionError {
    pub text: String,
    /// What it is not.
    pub what: &'static str,
    pub fix: &'static str,
}

const OF_BECOME: &str = "write a command such as sudo -n or /usr/bin/doas -n: words of letters, digits and -_./=:@%+,, \
                         and no dash first";
const OF_CACHE: &str =
    "write a folder by its whole path, such as /var/tmp/me: letters, digits, -, _, . and /, without ..";

impl BecomeCommand {
    /// The program that gives the rights, by its name.
    pub fn program(&self) -> &str {
        self.0.split(' ').next().unwrap_or_default()
    }
}

fn is_within(text: &str, also: &[u8]) -> bool {
    (1..=TEXT_BYTES_MAX).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || also.contains(&b))
}

fn refused(text: &str, what: &'static str, fix: &'static str) -> SshOptionError {
    SshOptionError { text: text.chars().take(100).collect(), what, fix }
}

impl FromStr for BecomeCommand {
    type Err = SshOptionError;

    fn from_str(text: &str) -> Result<BecomeCommand, SshOptionError> {
        let words: Vec<&str> = text.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
        let joined = words.join(" ");
        // With an equals sign the first would be a variable.
        let is_program = |word: &&str| {
            word.starts_with(|c: char| c.is_ascii_alphanumeric() || "/_".contains(c)) && !word.contains('=')
        };
        let fits = words.first().is_some_and(is_program) && is_within(&joined, b" -_./=:@%+,");
        if fits { Ok(BecomeCommand(joined)) } else { Err(refused(text, "become", OF_BECOME)) }
    }
}

impl FromStr for CacheFolder {
    type Err = SshOptionError;

    fn from_str(text: &str) -> Result<CacheFolder, SshOptionError> {
        let path = text.trim_end_matches('/');
        let fits = is_within(path, b"-_./") && path.starts_with('/') && path.split('/').all(|part| part != "..");
        if fits { Ok(CacheFolder(path.to_owned())) } else { Err(refused(text, "cache", OF_CACHE)) }
    }
}

impl fmt::Display for BecomeCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for CacheFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_words_that_no_shell_reads_as_more() {
        for (text, reported) in [
            ("sudo -n", "sudo -n"),
            ("  sudo \t -n -u minio-user ", "sudo -n -u minio-user"),
            ("/usr/local/bin/doas -n", "/usr/local/bin/doas -n"),
            ("sudo -n --prompt=x", "sudo -n --prompt=x"),
        ] {
            assert_eq!(text.parse::<BecomeCommand>().unwrap().to_string(), reported);
        }
        assert_eq!("sudo -n".parse::<BecomeCommand>().unwrap().program(), "sudo");
        for text in [
            "",
            " ",
            "-n",
            "-n sudo",
            "--",
            "A=b sudo",
            "sudo -n; id",
            "sudo -n | sh",
            "sudo $(id)",
            "sudo `id`",
            "sudo 'a'",
            "sudo \"a\"",
            "sudo \\a",
            "sudo\nid",
            "sudo >x",
            "~/sudo",
            "sudo *",
            "süd",
        ] {
            let error = text.parse::<BecomeCommand>().expect_err(text).to_string();
            assert!(error.contains("invalid become") && error.contains("such as sudo -n"), "{text}: {error}");
        }
    }

    #[test]
    fn a_cache_is_a_folder_by_its_whole_path() {
        for (text, reported) in [("/var/tmp/me", "/var/tmp/me"), ("/a.b_c-d/", "/a.b_c-d")] {
            assert_eq!(text.parse::<CacheFolder>().unwrap().to_string(), reported);
        }
        for text in ["", "/", "var", "~/x", "-x", "/a/../b", "/a b", "/a;id", "/$HOME", "/a\"", "/a'", "/a\n"] {
            let error = text.parse::<CacheFolder>().expect_err(text).to_string();
            assert!(error.contains("invalid cache") && error.contains("by its whole path"), "{text}: {error}");
        }
    }
}
