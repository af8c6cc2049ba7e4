//! What stands below the flags in help, in lines of a terminal: examples, exit codes and what is good to know.
//!
//! Its texts are written for a hundred columns. clap would break their lines once more where a terminal is narrower, in
//! the middle of sentences and of tables; here sentences flow, and rows keep their columns.

use linerate_record::lines::wrapped;

/// Where the rest of a command goes on.
const CONTINUATION_INDENT: usize = 6;

/// A text in lines of so many columns; unchanged where it fits.
pub(crate) fn laid(text: &str, width: usize) -> String {
    if text.lines().all(|line| line.chars().count() <= width) {
        return text.to_owned();
    }
    let mut lines: Vec<String> = Vec::new();
    // The sentences of a paragraph, or a row with what goes on below it.
    let mut flow: Option<Block> = None;
    for line in text.lines() {
        let next = Block::new(line);
        match &mut flow {
            Some(flow) if flow.continues_with(&next) => {
                flow.words.push(' ');
                flow.words.push_str(&next.words);
            }
            _ => lines.extend(flow.replace(next).map(|flow| flow.laid(width))),
        }
    }
    lines.extend(flow.map(|flow| flow.laid(width)));
    lines.join("\n")
}

/// What is laid out together.
struct Block {
    /// What stands before its words: blanks, or the first column of a row.
    lead: String,
    words: String,
    is_command: bool,
}

impl Block {
    fn new(line: &str) -> Block {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        let is_command = indent == 2 && ["linerate ", "AWS_"].iter().any(|begin| words.starts_with(begin));
        // An item of a list, as of a YAML file: it begins a line of its own, and goes on to the right of its dash.
        if words.starts_with("- ") {
            let at = indent + "- ".len();
            return Block { lead: line[..at].to_owned(), words: line[at..].to_owned(), is_command: false };
        }
        // A row has two columns, with two blanks or more between them.
        let row = words.find("  ").filter(|_| indent == 2 && !is_command);
        let text_at = row.map_or(indent, |end| line.len() - words[end..].trim_start().len());
        Block { lead: line[..text_at].to_owned(), words: line[text_at..].to_owned(), is_command }
    }

    /// Whether a line goes on with it.
    fn continues_with(&self, next: &Block) -> bool {
        let is_heading = self.words.ends_with(':') && self.lead.is_empty();
        let is_blank = |lead: &str| lead.chars().all(|c| c == ' ');
        let is_alongside = next.lead.len() == self.lead.len() && is_blank(&next.lead);
        let is_labelled = next.words.split(' ').next().is_some_and(|word| word.ends_with(':'));
        is_alongside
            && !is_heading
            && !is_labelled
            && !self.is_command
            && !next.is_command
            && !self.words.is_empty()
            && !next.words.is_empty()
    }

    fn laid(self, width: usize) -> String {
        if self.is_command {
            return self.command(width);
        }
        format!("{}{}", self.lead, wrapped(&self.words, width, self.lead.len()))
    }

    /// A command in lines as a shell takes them.
    fn command(&self, width: usize) -> String {
        let whole = format!("{}{}", self.lead, self.words);
        if whole.chars().count() <= width {
            return whole;
        }
        let parts = command_words(&self.words);
        let mut lines = vec![self.lead.clone()];
        for (n, part) in parts.iter().enumerate() {
            // Behind all but the last there is room for what says that it goes on.
            let more = if n + 1 < parts.len() { " \\".len() } else { 0 };
            let fits = |line: &&mut String| line.chars().count() + 1 + part.chars().count() + more <= width;
            match lines.last_mut() {
                Some(line) if n == 0 => line.push_str(part),
                last => match last.filter(fits) {
                    Some(line) => *line = format!("{line} {part}"),
                    None => lines.push(format!("{:CONTINUATION_INDENT$}{part}", "")),
                },
            }
        }
        lines.join(" \\\n")
    }
}

/// The words of a command, each flag with its value. Blanks between quotes part nothing.
fn command_words(command: &str) -> Vec<String> {
    let (mut parts, mut is_quoted) = (Vec::<String>::new(), false);
    for word in command.split(' ') {
        let last = parts.last_mut();
        let is_value = |last: &str| last.starts_with('-') && !last.contains(' ') && !word.starts_with('-');
        match last {
            Some(last) if is_quoted || is_value(last) => *last = format!("{last} {word}"),
            _ => parts.push(word.to_owned()),
        }
        is_quoted ^= word.matches('\'').count() % 2 == 1;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
It changes what the site says, one thing or two at a time, and holds ceilings against it.
What fits is printed with its weight.

Examples:
  linerate bench
      measures the embedded target: no server, no credentials, nothing left behind
  linerate explain site.yaml --observed get=152GiB/s,put=81GiB/s --concurrent 1120

Exit codes:
  0    done
  3    the target could not be reached, refused the calls before the load, or kept it
  130  interrupted";

    #[test]
    fn items_of_a_list_stay_apart() {
        let text = "A file:\n\n  nodes:\n    - {name: a, role: storage}\n    - {name: b, role: client, reach: here}";
        let narrow = "\
A file:

  nodes:
    - {name: a, role: storage}
    - {name: b, role: client,
      reach: here}";
        assert_eq!(laid(text, 32), narrow);
    }

    #[test]
    fn words_of_a_command_are_parted_as_a_shell_does() {
        let command =
            "linerate experiment --knob net.a='1 2 3' --tls a b --restart 'systemctl restart minio' -- --verify";
        let expected =
            ["linerate", "experiment", "--knob net.a='1 2 3'", "--tls a", "b", "--restart 'systemctl restart minio'"];
        assert_eq!(command_words(command)[..6], expected);
        assert_eq!(command_words(command)[6..], ["--", "--verify"]);
        for width in 20..120 {
            let laid = laid(&format!("  {command}"), width);
            assert_eq!(laid.replace(" \\\n     ", "").trim_start(), command, "{width}");
        }
    }

    #[test]
    fn sentences_flow_and_rows_and_commands_keep_their_columns() {
        assert_eq!(laid(TEXT, 90), TEXT, "what fits is as it is");
        let narrow = "\
It changes what the site says, one thing or two at a time,
and holds ceilings against it. What fits is printed with its
weight.

Examples:
  linerate bench
      measures the embedded target: no server, no
      credentials, nothing left behind
  linerate explain site.yaml \\
      --observed get=152GiB/s,put=81GiB/s --concurrent 1120

Exit codes:
  0    done
  3    the target could not be reached, refused the calls
       before the load, or kept it
  130  interrupted";
        assert_eq!(laid(TEXT, 60), narrow);
    }
}
