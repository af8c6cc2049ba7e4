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
