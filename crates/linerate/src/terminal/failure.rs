//! Everything that can end a command other than well, and the exit code of each.

use std::path::PathBuf;
use std::process::ExitCode;

use linerate_load::bucket::BucketError;
use linerate_load::hosts::HostsError;
use linerate_load::naming::NameError;
use linerate_load::point::PointError;
use linerate_load::tls::TlsError;
use linerate_prometheus::PrometheusError;
use linerate_record::sanitize::clause;
use linerate_record::units::{Bytes, grouped};
use linerate_site::SiteError;

use crate::terminal::key_masks;

/// Exit codes, as `linerate --help` documents them.
pub(crate) mod code {
    /// Something on this machine failed: a file, a process, a thread.
    pub(crate) const MACHINE: u8 = 1;
    /// Bad usage. clap's own errors use it too.
    pub(crate) const USAGE: u8 = 2;
    /// The target could not be reached, refused the calls before the load, or kept what was to be deleted.
    pub(crate) const TARGET: u8 = 3;
    /// The load ran, and one percent or more of a point's requests failed.
    pub(crate) const REQUESTS: u8 = 4;
    /// A threshold that the user set was missed.
    pub(crate) const MISSED: u8 = 5;
    /// `tune` did not change or restore every setting.
    pub(crate) const UNCHANGED: u8 = 6;
    /// `experiment analyze` found an association, which is no effect.
    pub(crate) const NO_EFFECT: u8 = 7;
    /// Other load on this machine left points of a run without an answer.
    pub(crate) const DISTURBED: u8 = 8;
    /// Ctrl-C or SIGTERM; what was measured is in the run folder.
    pub(crate) const INTERRUPTED: u8 = 130;
}

/// Why a command ended other than well.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Usage(String),
    /// Several of the kind of [`Failure::Usage`]. Further lines of one stand below its first.
    #[error("{} mistakes\n  {}", .0.len(), first_mistakes(.0))]
    Mistakes(Vec<String>),
    /// What is wrong with a site file.
    #[error(transparent)]
    Site(SiteError),
    #[error(transparent)]
    Hosts(#[from] HostsError),
    #[error(transparent)]
    Name(NameError),
    #[error(transparent)]
    Bucket(#[from] BucketError),
    #[error(transparent)]
    Tls(#[from] TlsError),
    #[error(transparent)]
    Point(#[from] PointError),
    /// A Prometheus that cannot be asked, or that refuses.
    #[error(transparent)]
    Prometheus(#[from] PrometheusError),
    #[error("failed to {what} {}: {source}", path.display())]
    File { what: &'static str, path: PathBuf, source: std::io::Error },
    #[error(
        "failed to write to {}: the disk is full, {free} of {size} are free for this user, and {needed} were to be \
         written",
        path.display()
    )]
    DiskFull { path: PathBuf, free: Bytes, size: Bytes, needed: Bytes },
    #[error("{} is not a run folder that this linerate can read: {why}", path.display())]
    NotARun { path: PathBuf, why: String },
    #[error("failed to start the {kind} target: {why}")]
    Child { kind: &'static str, why: String },
    #[error("failed to write {} objects of {size} beforehand: {kinds}{remedy}", grouped(*count))]
    Prepare { count: u64, size: String, kinds: String, remedy: String },
    #[error("failed to watch for Ctrl-C: {0}")]
    Signals(std::io::Error),
    #[error("failed to write to standard output: {0}")]
    Output(std::io::Error),
    #[error(
        "{} below {place} could not be deleted: {}; then clean again",
        grouped(*left as u64),
        deletion_remedy(why.as_deref())
    )]
    Left { left: usize, place: String, why: Option<String> },
    #[error(
        "it is not known whether {} below {place} were deleted: listings show again what they no longer showed; wait a \
         minute, then clean again",
        grouped(*left as u64)
    )]
    Unsettled { left: usize, place: String },
    #[error("it is not known what remains below {place}: {why}; clean again, or check the target")]
    Ended { place: String, why: String },
    #[error(
        "{}: the bucket keeps versions, and they could not be listed, so that nothing was deleted that would only be \
         hidden; clean again with keys that may list them (s3:ListBucketVersions)",
        versions_hidden_text(*left, place)
    )]
    HiddenVersions { left: usize, place: String },
    #[error(
        "it is not known what remains below {place}: neither versions nor whether the bucket keeps them could be seen; \
         clean again with keys that may list versions (s3:ListBucketVersions), or that may see whether the bucket \
         keeps them (s3:GetBucketVersioning)"
    )]
    Unseen { place: String },
    #[error("{0}")]
    Load(String),
    #[error("{0}")]
    Command(String),
    #[error("{why}")]
    Tune { why: String, code: u8 },
    /// An arm of an experiment that did not come to be in place on all nodes. Each of them is as before.
    #[error("{0}")]
    NotInPlace(String),
    /// All was done that was asked for, and what came of it is no success.
    #[error("{why}")]
    Outcome { why: String, code: u8 },
    #[error("interrupted before the first point; nothing was measured")]
    Interrupted,
}

/// What the target said of a deletion, or what to look at where it said that all was well.
/// What is known where versions could not be listed: objects that a listing of objects shows.
fn versions_hidden_text(left: usize, place: &str) -> String {
    match left {
        0 => format!("it is not known what remains below {place}"),
        1 => format!("1 object below {place} was not deleted, and it is not known what else remains"),
        left => format!(
            "{} objects below {place} were not deleted, and it is not known what else remains",
            grouped(left as u64)
        ),
    }
}

fn deletion_remedy(why: Option<&str>) -> &str {
    why.map(clause)
        .unwrap_or("a listing still shows them, though the target confirmed their deletion; check the target")
}

/// A name is quoted up to some length, at which a key in it would no longer be known as one.
impl From<NameError> for Failure {
    fn from(error: NameError) -> Self {
        let masked = |name: String| key_masks::mask_keys(&name);
        Failure::Name(match error {
            NameError::Bucket(name) => NameError::Bucket(masked(name)),
            NameError::OldBucket(name) => NameError::OldBucket(masked(name)),
            NameError::HostBucket(name) => NameError::HostBucket(masked(name)),
            NameError::Prefix(name) => NameError::Prefix(masked(name)),
            NameError::Region(name) => NameError::Region(masked(name)),
        })
    }
}

/// Most mistakes that are reported at once; a table of a thousand lines may have one in each.
const MISTAKES_SHOWN_MAX: usize = 10;

/// The first mistakes, each with its further lines below it, and how many others there are.
fn first_mistakes(mistakes: &[String]) -> String {
    let shown = mistakes[..mistakes.len().min(MISTAKES_SHOWN_MAX)].join("\n");
    let more = mistakes.len().saturating_sub(MISTAKES_SHOWN_MAX);
    let more = if more > 0 { format!("\nand {more} more") } else { String::new() };
    format!("{shown}{more}").replace('\n', "\n  ")
}

impl Failure {
    pub(crate) fn usage(text: impl ToString) -> Self {
        Failure::Usage(text.to_string())
    }

    /// One mistake, or several.
    pub(crate) fn from_errors(mut mistakes: Vec<String>) -> Self {
        match mistakes.len() {
            1 => Failure::Usage(mistakes.remove(0)),
            _ => Failure::Mistakes(mistakes),
        }
    }

    /// Failures of checks that do not depend on each other: all mistakes at once, with files that cannot be read beside
    /// them; else the first failure that is none.
    pub(crate) fn combine(failures: impl IntoIterator<Item = Option<Failure>>) -> Self {
        let mut all: Vec<Failure> = failures.into_iter().flatten().collect();
        let is_listed = |failure: &Failure| [code::USAGE, code::MACHINE].contains(&failure.code());
        let first = all.iter().position(|failure| !is_listed(failure));
        let without_mistakes = || all.iter().all(|failure| failure.code() != code::USAGE);
        if let Some(place) = first.or_else(|| (all.len() == 1 || without_mistakes()).then_some(0)) {
            return all.swap_remove(place);
        }
        Failure::Mistakes(all.into_iter().flat_map(Failure::mistakes).collect())
    }

    /// What is wrong, one by one.
    pub(crate) fn mistakes(self) -> Vec<String> {
        match self {
            Failure::Mistakes(mistakes) => mistakes,
            Failure::Site(error) => error.each(),
            other => vec![other.to_string()],
        }
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::Usage(_) | Failure::Mistakes(_) | Failure::Site(_) | Failure::NotARun { .. } => code::USAGE,
            Failure::Name(_) | Failure::Tls(_) => code::USAGE,
            Failure::Hosts(HostsError::Resolve { .. }) => code::TARGET,
            Failure::Hosts(_) => code::USAGE,
            Failure::Bucket(BucketError::Stopped) => code::INTERRUPTED,
            Failure::Prometheus(PrometheusError::Stopped) => code::INTERRUPTED,
            Failure::Bucket(_)
            | Failure::Prometheus(_)
            | Failure::Prepare { .. }
            | Failure::Left { .. }
            | Failure::Unsettled { .. }
            | Failure::Ended { .. }
            | Failure::HiddenVersions { .. }
            | Failure::Unseen { .. }
            | Failure::Load(_) => code::TARGET,
            Failure::Point(_)
            | Failure::File { .. }
            | Failure::DiskFull { .. }
            | Failure::Child { .. }
            | Failure::Signals(_)
            | Failure::Command(_)
            | Failure::Output(_) => code::MACHINE,
            Failure::NotInPlace(_) => code::UNCHANGED,
            Failure::Tune { code, .. } | Failure::Outcome { code, .. } => *code,
            Failure::Interrupted => code::INTERRUPTED,
        }
    }
}

#[cfg(test)]
mod tests {
    use linerate_site::SiteFile;

    use super::*;

    #[test]
    fn of_many_mistakes_the_first_ten_are_shown_and_the_others_counted() {
        let mistakes = |count: usize| Failure::from_errors((1..=count).map(|n| format!("nodes.csv:{n}: x")).collect());
        let message = mistakes(112).to_string();
        assert!(message.starts_with("112 mistakes\n  nodes.csv:1: x\n") && message.lines().count() == 12, "{message}");
        assert!(message.ends_with("\n  nodes.csv:10: x\n  and 102 more"), "{message}");
        assert!(!mistakes(10).to_string().contains("more"));
    }

    #[test]
    fn a_file_that_cannot_be_read_hides_no_mistake_and_is_told_beside_it() {
        let file = || {
            let source = std::io::Error::from(std::io::ErrorKind::NotFound);
            Failure::File { what: "read", path: PathBuf::from("nodes.csv"), source }
        };
        let both = Failure::combine([Some(Failure::usage("a site without nodes")), None, Some(file())]);
        let message = both.to_string();
        assert!(
            message.contains("2 mistakes") && message.contains("without nodes") && message.contains("nodes.csv"),
            "{message}"
        );
        assert_eq!(both.code(), code::USAGE);
        // A site file may have several mistakes, each of several lines.
        let site = SiteFile::new("site.yaml", "name: x\nengine: {product: minix}\nnodes: {count: x}\n");
        let site = Failure::Site(site.read().unwrap_err());
        let lines = site.to_string().matches("site.yaml:").count();
        let both = Failure::combine([Some(site), Some(Failure::usage("nodes.csv:2: no figure"))]);
        let message = both.to_string();
        assert!(lines > 1 && message.starts_with(&format!("{} mistakes\n  site.yaml:", lines + 1)), "{message}");
        assert!(!message.contains("error:") && message.lines().skip(1).all(|line| line.starts_with("  ")), "{message}");
        assert_eq!(Failure::combine([None, Some(file()), Some(file())]).code(), code::MACHINE);
        assert_eq!(Failure::combine([Some(Failure::usage("x")), Some(Failure::Interrupted)]).code(), code::INTERRUPTED);
    }
}
