//! Text in lines of a width, for the catalogue's pages and for a terminal alike.

/// Words in lines of at most `width` columns, all but the first indented. No line begins with what Markdown would take
/// for a list or a heading.
#[must_use]
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    let mut column = indent;
    for word in pieces(text) {
        let length = word.chars().count();
        if column > indent && column + 1 + length > width {
            lines.push(String::new());
            column = indent;
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
                column += 1;
            }
            line.push_str(&word);
            column += length;
        }
    }
    lines.join(&format!("\n{:indent$}", ""))
}

/// Names in one line, of many the first: `a, b, c and 4 more`.
#[must_use]
pub fn listed<S: AsRef<str>>(names: &[S], most: usize) -> String {
    let shown = names.iter().take(most).map(AsRef::as_ref).collect::<Vec<&str>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Each line that is longer than `columns` parted at blanks, what follows four columns further in than it begins.
/// Nothing else of it changes: what is quoted keeps its blanks.
#[must_use]
pub fn folded(text: &str, columns: usize) -> String {
    text.split_inclusive('\n').map(|line| folded_line(line, columns)).collect()
}

fn folded_line(line: &str, columns: usize) -> String {
    let inner = line.trim_start();
    let begins = line.len() - inner.len();
    let mut text = line[..begins].to_owned();
    let mut column = begins;
    for (i, word) in inner.split(' ').enumerate() {
        let length = word.trim_end_matches('\n').chars().count();
        if i > 0 && length > 0 && column + 1 + length > columns {
            text.push_str(&format!("\n{:1$}", "", begins + 4));
            column = begins + 4;
        } else if i > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text
}

/// Words, those that Markdown would mistake glued to the one before.
fn pieces(text: &str) -> Vec<String> {
    let is_mistaken = |word: &str| {
        let numbered =
            word.strip_suffix(['.', ')']).is_some_and(|n| !n.is_empty() && n.chars().all(|c| c.is_ascii_digit()));
        numbered || matches!(word, "-" | "+" | "*" | "=") || word.starts_with('#')
    };
    let mut pieces: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match pieces.last_mut() {
            Some(last) if is_mistaken(word) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => pieces.push(word.to_owned()),
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_names_the_first_are_listed() {
        for (names, expected) in [
            (&[][..], ""),
            (&["a"], "a"),
            (&["a", "b"], "a, b"),
            (&["a", "b", "c"], "a, b and 1 more"),
            (&["a", "b", "c", "d"], "a, b and 2 more"),
        ] {
            assert_eq!(listed(names, 2), expected);
        }
    }

    #[test]
    fn a_line_that_is_too_long_goes_on_further_in_and_others_are_as_they_were() {
        for (text, expected) in [
            ("  short \"a  b\"\n", "  short \"a  b\"\n"),
            ("  a: \"12345\" → \"67890\" (now)\n", "  a: \"12345\" →\n      \"67890\"\n      (now)\n"),
            ("word-that-is-longer-than-it\nnext", "word-that-is-longer-than-it\nnext"),
            ("", ""),
        ] {
            assert_eq!(folded(text, 16), expected, "{text:?}");
        }
    }

    #[test]
    fn lines_fit_and_none_begins_a_list() {
        let text = wrapped(&"of 64 sockets at 1. Then - as ever - 2) others ".repeat(20), 40, 3);
        assert!(text.lines().count() > 10);
        for line in text.lines() {
            assert!(line.chars().count() <= 40, "{line:?}");
            let first = line.split_whitespace().next().unwrap_or_default();
            assert!(!["-", "1.", "2)"].contains(&first), "{line:?}");
        }
        assert!(text.lines().skip(1).all(|line| line.starts_with("   ")), "{text}");
    }
}
