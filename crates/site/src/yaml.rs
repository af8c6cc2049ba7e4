//! YAML as a tree of places: every scalar as it is written, so that a kernel `6.10` stays one.

use saphyr_parser::{Event, Parser, ScalarStyle, ScanError, Span};

use super::error::Mistake;
use super::source_position::{START, SourcePosition};

const FILE_BYTES_MAX: usize = 1 << 20;

/// Deepest nesting; a site needs seven.
const DEPTH_MAX: usize = 16;

/// Most values of a file.
const NODES_MAX: usize = 50_000;

/// A value and where it stands.
#[derive(Debug)]
pub struct YamlNode {
    pub place: SourcePosition,
    pub content: Content,
}

/// What a value is, before anybody says what it means.
#[derive(Debug)]
pub enum Content {
    /// Nothing, `~` or `null`.
    Nothing,
    /// A word, a number or a text, as it is written.
    Scalar(String),
    /// Values in their order.
    List(Vec<YamlNode>),
    /// Keys in their order, each once.
    Mapping(Vec<YamlEntry>),
}

/// A key with its value.
#[derive(Debug)]
pub struct YamlEntry {
    pub key: String,
    /// Where the key stands.
    pub place: SourcePosition,
    pub node: YamlNode,
}

/// A list or a mapping that is being read.
enum OpenCollection {
    List(SourcePosition, Vec<YamlNode>),
    Mapping(SourcePosition, Vec<YamlEntry>, Option<(String, SourcePosition)>),
}

/// The one document of a file that describes `what`, such as a site.
///
/// # Errors
/// The first mistake: behind what is no YAML, nothing can be told.
pub fn parse(text: &str, what: &str) -> Result<YamlNode, Mistake> {
    if text.len() > FILE_BYTES_MAX {
        return Err(Mistake::new(START, "a file of more than 1 MiB", format!("a {what} needs a few KiB")));
    }
    let (mut open, mut root, mut documents, mut nodes) = (Vec::new(), None, 0, 0);
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| unread(text, &error))?;
        let place = place(&span);
        nodes += 1;
        if nodes > NODES_MAX {
            return Err(Mistake::new(place, format!("more than {NODES_MAX} values"), "describe nodes by kind"));
        }
        let node = match event {
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    return Err(Mistake::new(place, "a second document", format!("a file describes one {what}")));
                }
                continue;
            }
            Event::Alias(_) => return Err(Mistake::new(place, "an alias of YAML", "write the value itself")),
            Event::MappingStart(_, tag) | Event::SequenceStart(_, tag) | Event::Scalar(_, _, _, tag)
                if tag.is_some() =>
            {
                return Err(Mistake::new(place, "a tag of YAML", "write the value without it"));
            }
            Event::MappingStart(..) => {
                let place = SourcePosition { width: 1, ..place };
                opened(&mut open, OpenCollection::Mapping(place, Vec::new(), None), place)?;
                continue;
            }
            Event::SequenceStart(..) => {
                let place = SourcePosition { width: 1, ..place };
                opened(&mut open, OpenCollection::List(place, Vec::new()), place)?;
                continue;
            }
            Event::MappingEnd | Event::SequenceEnd => match open.pop() {
                Some(OpenCollection::Mapping(place, entries, _)) => {
                    YamlNode { place, content: Content::Mapping(entries) }
                }
                Some(OpenCollection::List(place, items)) => YamlNode { place, content: Content::List(items) },
                None => continue,
            },
            Event::Scalar(text, style, ..) => scalar(&text, style, place),
            _ => continue,
        };
        match open.last_mut() {
            Some(above) => put(above, node)?,
            None => root = Some(node),
        }
    }
    Ok(root.unwrap_or(YamlNode { place: START, content: Content::Nothing }))
}

/// What words of the reader's mean, and what to do about each.
const FIXES: [(&str, &str); 12] = [
    ("unknown anchor", "write the value itself, without the star; in quotes where it is a text"),
    ("unexpected character", "put the value in quotes"),
    ("yaml whitespace", "write a space after the colon, not a tab"),
    (
        "mapping values are not allowed",
        "indent the keys of a mapping equally, one per line; quote a value that has a \
                                        colon",
    ),
    ("comment intercepting", "the line below continues this value: indent its key like the keys above"),
    (
        "expected '-' indicator",
        "indent the keys of a mapping, or the dashes of a list, equally; a mapping has no \
                                dashes",
    ),
    ("expected key", "indent the keys of a mapping, or the dashes of a list, equally; a mapping has no dashes"),
    ("escape character", "write \\\\ for a backslash, or the text in single quotes"),
    ("quoted scalar", "close the quote that begins here"),
    ("flow", "close each { with }, and each [ with ], before the next key; quote a name that has one"),
    ("simple key", "write a colon and a space after the key, on the same line"),
    ("unprintable", "remove the invisible character"),
];

/// What is no YAML from some place on. The reader stops there, so that it is the only mistake told.
fn unread(text: &str, error: &ScanError) -> Mistake {
    let marker = error.marker();
    let place = SourcePosition { line: marker.line().max(1), column: marker.col() + 1, width: 1 };
    // A tab is found out late, by what it makes of the line before.
    let mut near = text.lines().enumerate().skip(place.line - 1).take(2).filter(|(_, line)| !line.trim().is_empty());
    let indents = |line: &str| line.chars().take_while(|c| c.is_whitespace()).position(|c| c == '\t');
    if let Some((line, column)) = near.find_map(|(i, line)| Some((i + 1, indents(line)? + 1))) {
        let place = SourcePosition { line, column, width: 1 };
        return Mistake::new(place, "a tab before a key", "YAML is indented with spaces: replace the tab");
    }
    let reported = error.info();
    let lower = reported.to_lowercase();
    let fix = FIXES.iter().find(|(words, _)| lower.contains(words)).map(|(_, fix)| *fix);
    let fix = fix.unwrap_or("check the indentation, quotes and brackets of this line and the one before");
    Mistake::new(place, format!("invalid YAML: {reported}"), fix)
}

fn opened(open: &mut Vec<OpenCollection>, what: OpenCollection, place: SourcePosition) -> Result<(), Mistake> {
    if open.len() >= DEPTH_MAX {
        return Err(Mistake::new(
            place,
            format!("nested more than {DEPTH_MAX} deep"),
            "no description needs that many levels: use fewer brackets",
        ));
    }
    open.push(what);
    Ok(())
}

fn scalar(text: &str, style: ScalarStyle, place: SourcePosition) -> YamlNode {
    let plain = style == ScalarStyle::Plain;
    if plain && matches!(text, "" | "~" | "null" | "Null" | "NULL") {
        return YamlNode { place, content: Content::Nothing };
    }
    let width = if plain { text.chars().count() } else { place.width };
    YamlNode { place: SourcePosition { width, ..place }, content: Content::Scalar(text.to_owned()) }
}

/// Puts a node that is whole into what is open around it.
fn put(above: &mut OpenCollection, node: YamlNode) -> Result<(), Mistake> {
    match above {
        OpenCollection::List(_, items) => items.push(node),
        OpenCollection::Mapping(_, entries, key) => match (key.take(), node.content) {
            (Some((key, place)), content) => {
                entries.push(YamlEntry { key, place, node: YamlNode { content, place: node.place } });
            }
            (None, Content::Scalar(name)) => {
                if let Some(first) = entries.iter().find(|entry| entry.key == name) {
                    let advice = format!("the first one is in line {}: remove one of them", first.place.line);
                    return Err(Mistake::new(node.place, format!("key {name:?} a second time"), advice));
                }
                *key = Some((name, node.place));
            }
            (None, _) => return Err(Mistake::new(node.place, "a key that is not a word", "write a name")),
        },
    }
    Ok(())
}

fn place(span: &Span) -> SourcePosition {
    let one_line = span.start.line() == span.end.line();
    let width = if one_line { span.end.index().saturating_sub(span.start.index()) } else { 1 };
    SourcePosition { line: span.start.line().max(1), column: span.start.col() + 1, width: width.max(1) }
}
