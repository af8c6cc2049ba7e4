//! Fenced blocks of a page, and the commands in them.

pub(crate) struct Block<'a> {
    /// What stands behind the opening fence: `sh`, `text`, `yaml`.
    pub(crate) language: &'a str,
    /// The comment on the line before it: `printed` of a text that the block before prints, or why it is not typed.
    pub(crate) note: Option<&'a str>,
    pub(crate) text: &'a str,
}

/// Every fenced block of a page, in its order.
pub(crate) fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut found = Vec::new();
    let mut rest = page;
    while let Some((before, opened)) = rest.split_once("```") {
        let Some((language, opened)) = opened.split_once('\n') else { break };
        let Some((text, after)) = opened.split_once("```") else { break };
        let line = before.trim_end_matches('\n').rsplit('\n').next().unwrap_or_default();
        let note = line.strip_prefix("<!-- ").and_then(|line| line.strip_suffix(" -->"));
        found.push(Block { language, note, text });
        rest = after;
    }
    found
}

/// The commands of a block, each on a line of its own: lines that end in a backslash go on with the next, and what only
/// explains is left out.
pub(crate) fn commands(text: &str) -> Vec<String> {
    let joined = text.replace("\\\n", " ");
    let lines = joined.lines().map(|line| line.split(" # ").next().unwrap_or_default().trim());
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_owned).collect()
}
