//! The lines of an answer, within their number.

use crate::ink::Ink;
use crate::terminal::{TextStyle, hanging_in};

/// Lines that answer.
pub(crate) const LINES: usize = 10;

/// Lines that a part of the answer has at the most.
const EACH: usize = 2;

/// A part of an answer.
pub(crate) struct Line {
    pub(crate) ink: Ink,
    pub(crate) lead: String,
    pub(crate) says: String,
}

pub(crate) fn line(ink: Ink, lead: impl Into<String>, says: impl Into<String>) -> Line {
    Line { ink, lead: lead.into(), says: says.into() }
}

/// Lines within their number: each has one, and those that have more to say get what is left, the answer first. What
/// they say begins behind `indent` columns.
pub(crate) fn fitted(lines: &[Line], indent: usize, look: TextStyle) -> String {
    let lines = &lines[..lines.len().min(LINES)];
    let whole = |line: &Line| hanging_in(line.ink, &line.lead, indent, &line.says, look).lines().count();
    let mut given = vec![1; lines.len()];
    let mut spare = LINES - lines.len();
    let is_answer = |place: &usize| lines[*place].lead.contains('▸');
    let order = (0..lines.len()).filter(is_answer).chain((0..lines.len()).filter(|place| !is_answer(place)));
    for place in order {
        let most = if is_answer(&place) { EACH + 1 } else { EACH };
        let more = spare.min(whole(&lines[place]).min(most).saturating_sub(1));
        given[place] += more;
        spare -= more;
    }
    lines.iter().zip(given).map(|(line, given)| cut(line, given, indent, look)).collect()
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
