//! What is wrong with a file, said with the line that it is in.

use std::fmt;

use linerate_record::sanitize::masked;

use super::key_path::paths;
use super::source_position::SourcePosition;

/// Most mistakes that are told at once.
const SHOWN_MAX: usize = 10;

/// Most that are kept, for a list of what is wrong elsewhere as well.
const KEPT_MAX: usize = 1000;

/// Longest piece of a line that is quoted, in characters.
const QUOTED_MAX: usize = 100;

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    pub place: SourcePosition,
    /// What is wrong, quoting the input.
    pub what: String,
    /// What to write instead; beside the mark.
    pub advice: String,
}

impl Mistake {
    /// A mistake at a place.
    #[must_use]
    pub fn new(place: SourcePosition, what: impl Into<String>, advice: impl Into<String>) -> Mistake {
        Mistake { place, what: what.into(), advice: advice.into() }
    }
}

/// Why a description of a cluster could not be read: every mistake with its place, the line, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteError {
    kept: Vec<MistakeDisplay>,
    /// Mistakes beyond those kept.
    more: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct MistakeDisplay {
    /// `site.yaml:14:7: unknown bond mode "lacp" (nodes.bonds.mode)`.
    head: String,
    line: usize,
    quoted: String,
    /// Characters before the mark.
    before: usize,
    marked: usize,
    advice: String,
}

impl SiteError {
    /// The mistakes of a file, in its order, with the lines that they are in.
    #[must_use]
    pub fn new(file_name: &str, text: &str, mut mistakes: Vec<Mistake>) -> SiteError {
        mistakes.sort_by_key(|mistake| mistake.place);
        mistakes.dedup();
        let more = mistakes.len().saturating_sub(KEPT_MAX);
        mistakes.truncate(KEPT_MAX);
        let places: Vec<SourcePosition> = mistakes.iter().map(|mistake| mistake.place).collect();
        let reported = mistakes.into_iter().zip(paths(text, &places));
        SiteError { kept: reported.map(|(mistake, path)| shown(file_name, text, mistake, &path)).collect(), more }
    }

    /// Each mistake by itself, for a list of what is wrong elsewhere as well.
    #[must_use]
    pub fn each(&self) -> Vec<String> {
        self.kept.iter().map(MistakeDisplay::to_string).collect()
    }

    /// How many mistakes there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.kept.len() + self.more
    }
}

fn shown(file_name: &str, text: &str, mistake: Mistake, path: &str) -> MistakeDisplay {
    let SourcePosition { line, column, width } = mistake.place;
    let path = if path.is_empty() { String::new() } else { format!(" ({path})") };
    let head = format!("{file_name}:{line}:{column}: {}{path}", mistake.what);
    // Credentials of an address are shown to nobody. They stand behind the begin of their value, where the mark is.
    let whole = masked(text.lines().nth(line - 1).unwrap_or_default());
    // Of a long line, what is around the mark.
    let from = column.saturating_sub(QUOTED_MAX / 2);
    let quoted: String =
        whole.chars().skip(from).take(QUOTED_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let (before, length) = (column - 1 - from, quoted.chars().count());
    let marked = width.min(length.saturating_sub(before)).max(1);
    MistakeDisplay { head, line, quoted: quoted.trim_end().to_owned(), before, marked, advice: mistake.advice }
}

impl fmt::Display for MistakeDisplay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MistakeDisplay { head, line, quoted, before, marked, advice } = self;
        let margin = " ".repeat(line.to_string().len());
        let (indent, mark) = (" ".repeat(*before), "^".repeat(*marked));
        write!(f, "{head}\n  {line} | {quoted}\n  {margin} | {indent}{mark} {advice}")
    }
}

impl fmt::Display for SiteError {
    /// The whole message but for the `error: ` in front of its first line; further mistakes have theirs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, shown) in self.kept.iter().take(SHOWN_MAX).enumerate() {
            if i > 0 {
                write!(f, "\nerror: ")?;
            }
            write!(f, "{shown}")?;
        }
        let more = self.count().saturating_sub(SHOWN_MAX);
        if more > 0 {
            write!(f, "\nand {more} more")?;
        }
        Ok(())
    }
}

impl std::error::Error for SiteError {}
