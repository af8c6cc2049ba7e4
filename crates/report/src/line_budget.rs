//! The lines of an answer, within their number.

use crate::colour::Colour;
use crate::terminal::{TextStyle, hanging_in};

/// Lines of a screen that has more than an answer.
pub(crate) const SCREEN_LINES: usize = 40;

pub(crate) const LINES: usize = 10;

/// Lines that a part of the answer has at the most.
const EACH: usize = 2;

/// A part of an answer.
pub(crate) struct Line {
    pub(crate) ink: Colour,
    pub(crate) lead: String,
    pub(crate) says: String,
    /// Whether it has as many lines as it needs, as far as they go.
    is_whole: bool,
}

pub(crate) fn line(ink: Colour, lead: impl Into<String>, says: impl Into<String>) -> Line {
    Line { ink, lead: lead.into(), says: says.into(), is_whole: false }
}

/// A part that is of no use if it is cut.
pub(crate) fn whole_line(ink: Colour, lead: impl Into<String>, says: impl Into<String>) -> Line {
    Line { is_whole: true, ..line(ink, lead, says) }
}

fn is_answer(line: &Line) -> bool {
    line.lead.contains('▸')
}

/// How many lines a part gets at the most.
fn most(line: &Line) -> usize {
    match (is_answer(line), line.is_whole) {
        (true, _) => EACH + 1,
        (false, true) => LINES,
        (false, false) => EACH,
    }
}

/// Lines that a part takes where it may have as many as it needs.
fn needed(line: &Line, indent: usize, look: TextStyle) -> usize {
    hanging_in(line.ink, &line.lead, indent, &line.says, look).lines().count()
}

/// Whether the answer and those that are of no use if they are cut have all of their lines beside one of each other.
pub(crate) fn fits(lines: &[Line], indent: usize, look: TextStyle) -> bool {
    let clause_count = |line: &Line| {
        let must = is_answer(line) || line.is_whole;
        if must { needed(line, indent, look).min(most(line)) } else { 1 }
    };
    lines.iter().map(clause_count).sum::<usize>() <= LINES
}

/// Lines within their number: each has one, and those that have more to say get what is left, the answer first, and
/// then those that are of no use if they are cut. What they say begins behind `indent` columns.
pub(crate) fn fitted(lines: &[Line], indent: usize, look: TextStyle) -> String {
    if look.whole {
        return lines.iter().map(|line| hanging_in(line.ink, &line.lead, indent, &line.says, look)).collect();
    }
    let lines = &lines[..lines.len().min(LINES)];
    let mut given = vec![1; lines.len()];
    let mut spare = LINES - lines.len();
    let rank = |place: &usize| (!is_answer(&lines[*place]), !lines[*place].is_whole);
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(rank);
    for place in order {
        let line = &lines[place];
        let more = spare.min(needed(line, indent, look).min(most(line)).saturating_sub(1));
        given[place] += more;
        spare -= more;
    }
    lines.iter().zip(given).map(|(line, given)| cut(line, given, indent, look)).collect()
}

/// A sentence in so many lines, with … where more would follow; whole in a file.
pub(crate) fn within(lines: usize, ink: Colour, lead: &str, indent: usize, says: &str, look: TextStyle) -> String {
    if look.whole {
        hanging_in(ink, lead, indent, says, look)
    } else {
        cut(&line(ink, lead, says), lines, indent, look)
    }
}

/// How many rows so many lines hold, with a line that counts the others where there are any.
pub(crate) fn fitting<'r>(rows: impl ExactSizeIterator<Item = &'r String>, lines: usize) -> usize {
    let (mut used, count) = (0, rows.len());
    for (shown, row) in rows.enumerate() {
        used += row.lines().count();
        if used + usize::from(shown + 1 < count) > lines {
            return shown;
        }
    }
    count
}

/// A part in so many lines, with … where more would follow.
fn cut(line: &Line, lines: usize, indent: usize, look: TextStyle) -> String {
    let rendered = |says: &str| hanging_in(line.ink, &line.lead, indent, says, look);
    let fits = |text: &str| text.lines().count() <= lines;
    let whole = rendered(&line.says);
    if fits(&whole) {
        return whole;
    }
    let mut said: Vec<&str> = line.says.split_whitespace().collect();
    while said.len() > 1 && !fits(&rendered(&format!("{} …", said.join(" ")))) {
        said.pop();
    }
    rendered(&format!("{} …", said.join(" ")))
}
