//! A Rust file as lines of code: what is no code blanked, what is test code marked. Made for text that rustfmt has
//! formatted; no parser of Rust.

/// The lines of one Rust file.
pub(crate) struct Source {
    /// The lines with comments and the contents of literals replaced by spaces.
    pub(crate) code: Vec<String>,
    /// The lines with everything but literals, which keep their quotes, replaced by spaces.
    pub(crate) literals: Vec<String>,
    /// Whether each line is test code.
    pub(crate) is_test: Vec<bool>,
}

/// Reads the text of the Rust file at `path`, relative to the repository.
pub(crate) fn read(path: &str, text: &str) -> Source {
    let blanked = blank(text);
    let code: Vec<String> = blanked.lines().map(str::to_owned).collect();
    let literals = literals(text).lines().map(str::to_owned).collect();
    let is_test = if is_test_file(path) { vec![true; code.len()] } else { test_lines(&code) };
    Source { code, literals, is_test }
}

impl Source {
    /// The numbers, counted from 1, of lines outside tests that satisfy `at_fault`.
    pub(crate) fn lines_outside_tests(&self, at_fault: impl Fn(&str) -> bool) -> Vec<usize> {
        let lines = self.code.iter().zip(&self.is_test).enumerate();
        lines.filter(|(_, (line, is_test))| !**is_test && at_fault(line)).map(|(index, _)| index + 1).collect()
    }
}

/// Whether `word` stands in `line` as a whole: not as a part of a longer identifier.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// Whether a file, by its path in the repository, is there for tests alone.
pub(crate) fn is_test_file(path: &str) -> bool {
    let mut folders: Vec<&str> = path.split('/').collect();
    let name = folders.pop();
    name == Some("tests.rs") || folders.iter().any(|folder| ["tests", "benches"].contains(folder))
}

/// Marks what `#[cfg(test)]` stands before, to the closing brace or the semicolon of the item.
fn test_lines(code: &[String]) -> Vec<bool> {
    let mut marks = vec![false; code.len()];
    let mut index = 0;
    while index < code.len() {
        let line = code[index].trim_start();
        if line.starts_with("#![cfg(test)]") {
            return vec![true; code.len()];
        }
        if line.starts_with("#[cfg(test)]") || line.starts_with("#[cfg(all(test,") {
            let end = item_end(code, index);
            marks[index..=end].fill(true);
            index = end;
        }
        index += 1;
    }
    marks
}

/// The line on which the item that starts at line `start` ends.
fn item_end(code: &[String], start: usize) -> usize {
    let mut depth = 0_usize;
    for (index, line) in code.iter().enumerate().skip(start) {
        for character in line.chars() {
            match character {
                '{' => depth += 1,
                '}' if depth <= 1 => return index,
                '}' => depth -= 1,
                ';' if depth == 0 => return index,
                _ => {}
            }
        }
    }
    code.len() - 1
}

/// The text with comments and the contents of literals replaced by spaces; line breaks stay where they are.
fn blank(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut blanked = String::with_capacity(text.len());
    let mut at = 0;
    while at < characters.len() {
        let end = end_of_no_code(&characters, at);
        if end > at {
            blanked.extend(characters[at..end].iter().map(|&character| if character == '\n' { '\n' } else { ' ' }));
            at = end;
        } else {
            blanked.push(characters[at]);
            at += 1;
        }
    }
    blanked
}

/// The text with what is not in a literal replaced by spaces; line breaks stay where they are.
fn literals(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let mut kept = String::with_capacity(text.len());
    let mut at = 0;
    while at < characters.len() {
        let end = end_of_no_code(&characters, at).max(at + 1);
        let is_literal = end > at + 1 && characters[at] != '/';
        kept.extend(characters[at..end].iter().map(|&sign| if is_literal || sign == '\n' { sign } else { ' ' }));
        at = end;
    }
    kept
}

/// Where the comment or literal that starts at `at` ends; `at` itself where none starts there.
fn end_of_no_code(text: &[char], at: usize) -> usize {
    let follows = |mark: &str| text[at..].iter().copied().take(mark.chars().count()).eq(mark.chars());
    let in_word = at > 0 && (text[at - 1].is_alphanumeric() || text[at - 1] == '_');
    match text[at] {
        '/' if follows("//") => find(text, at, &['\n']).unwrap_or(text.len()),
        '/' if follows("/*") => end_of_block_comment(text, at),
        '"' => end_of_string(text, at + 1, '"'),
        'r' if !in_word || matches!(text[at - 1], 'b' | 'c') => end_of_raw_string(text, at).unwrap_or(at),
        '\'' if text.get(at + 1) == Some(&'\\') => end_of_string(text, at + 1, '\''),
        // A character and not a lifetime: `'x'` and not `'x`.
        '\'' if text.get(at + 2) == Some(&'\'') => at + 3,
        _ => at,
    }
}

fn find(text: &[char], from: usize, mark: &[char]) -> Option<usize> {
    (from..text.len()).find(|&at| text[at..].starts_with(mark))
}

fn end_of_block_comment(text: &[char], start: usize) -> usize {
    let (mut at, mut depth) = (start, 0_usize);
    while at < text.len() {
        if text[at..].starts_with(&['/', '*']) {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with(&['*', '/']) {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

fn end_of_string(text: &[char], from: usize, quote: char) -> usize {
    let mut at = from;
    while at < text.len() && text[at] != quote {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    text.len().min(at + 1)
}

fn end_of_raw_string(text: &[char], start: usize) -> Option<usize> {
    let hashes = text[start + 1..].iter().take_while(|&&character| character == '#').count();
    if text.get(start + 1 + hashes) != Some(&'"') {
        return None;
    }
    let mut close = vec!['"'];
    close.resize(1 + hashes, '#');
    Some(find(text, start + 2 + hashes, &close).map_or(text.len(), |end| end + close.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_code_is_not() {
        let cases = [
            ("a // b\nc", "a     \nc"),
            ("a /* b /* c */ d */ e", "a                   e"),
            ("f(\"x\\\"y\") + g", "f(      ) + g"),
            ("f(r#\"x\"y\"#) + g", "f(        ) + g"),
            ("br\"x\" + g", "b     + g"),
            ("for r in var\"\"", "for r in var  "),
            ("'a' 'b 'static '\\'' '\"'", "    'b 'static         "),
            ("\"a\nb\" c", "  \n   c"),
            ("r#type", "r#type"),
            ("\"open", "     "),
            ("'\\", "  "),
            ("/* open", "       "),
        ];
        for (text, expected) in cases {
            assert_eq!(blank(text), expected, "{text:?}");
        }
    }

    #[test]
    fn literals_are_kept_and_code_and_comments_are_not() {
        let cases = [
            ("a \"b\" // \"c\"\nd", "  \"b\"       \n "),
            ("f(\"x\\\"y\") + g", "  \"x\\\"y\"     "),
            ("\"a\nb\" /* c */", "\"a\nb\"        "),
            ("r#\"x\"# y", "r#\"x\"#  "),
        ];
        for (text, expected) in cases {
            assert_eq!(literals(text), expected, "{text:?}");
        }
    }

    #[test]
    fn what_cfg_test_stands_before_is_test_code() {
        let module =
            "fn a() {\n    b();\n}\n#[cfg(test)]\nmod tests {\n    fn c() {\n        d(\"}\");\n    }\n}\nfn e() {}\n";
        let item = "#[cfg(test)]\nuse a::b;\nfn c() {}\n";
        let other = "#[cfg(testing)]\nmod a {\n}\n";
        let cases = [
            ("src/a.rs", module, vec![4, 5, 6, 7, 8, 9]),
            ("src/a.rs", item, vec![1, 2]),
            ("src/a.rs", other, vec![]),
            ("src/a.rs", "#![cfg(test)]\nfn a() {}\n", vec![1, 2]),
            ("src/a.rs", "#[cfg(test)]\nmod tests {\n", vec![1, 2]),
            ("src/a/tests.rs", "fn a() {}\n", vec![1]),
            ("tests/a.rs", "fn a() {}\n", vec![1]),
            ("src/contests/a.rs", "fn a() {}\n", vec![]),
        ];
        for (path, text, expected) in cases {
            let is_test = read(path, text).is_test;
            let marked: Vec<usize> = (1..=is_test.len()).filter(|line| is_test[line - 1]).collect();
            assert_eq!(marked, expected, "{path}: {text}");
        }
    }

    #[test]
    fn a_word_is_found_as_a_whole_only() {
        let cases = [("unsafe {", true), ("(unsafe)", true), ("unsafe_code", false), ("not_unsafe unsafe", true)];
        for (line, expected) in cases {
            assert_eq!(has_word(line, "unsafe"), expected, "{line:?}");
        }
    }
}
