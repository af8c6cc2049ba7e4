//! A command line of warp as linerate has it: what means the same stands in it, and the rest is told beside it.

use clap::CommandFactory as _;

use super::{counterpart, operation};
use crate::cli::Cli;

/// What a flag becomes, of its value.
type Turned = fn(&str) -> String;

/// Flags of warp that are others here.
const BECOMES: [(&str, Turned); 6] = [
    ("rps-limit", |per_s| format!("--max-rate {per_s}/s")),
    ("disable-sha256-payload", |_| "--payload unsigned".to_owned()),
    ("checksum", |_| "--payload unsigned-trailer".to_owned()),
    ("benchdata", |path| format!("--output {path}")),
    ("analyze.skip", |time| format!("--warmup {time}")),
    ("stress", |_| "--quiet".to_owned()),
];

/// Flags whose values are not told.
const SECRET: [&str; 3] = ["access-key", "secret-key", "session-token"];

/// The whole command line, and a line for each flag that is not in it. `words` are all that was typed.
pub(super) fn translated(words: &[String]) -> String {
    let typed: Vec<&String> = words.iter().skip(1).collect();
    let is_op = |word: &&&String| operation(word).is_ok();
    let op = typed.iter().take(2).find(is_op).map(|word| operation(word).unwrap_or_default());
    let (mut line, mut left) = (vec!["linerate bench".to_owned()], Vec::new());
    line.extend(op.map(|op| format!("--op {op}")));
    let mut rest = typed.into_iter().peekable();
    while let Some(word) = rest.next() {
        let Some(flag) = word.strip_prefix("--") else { continue };
        let (name, inline) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value)));
        let next = inline.map(str::to_owned).or_else(|| rest.next_if(|next| !next.starts_with('-')).cloned());
        let value = next.unwrap_or_default();
        if let Some((_, turned)) = BECOMES.iter().find(|(known, _)| *known == name) {
            line.push(turned(&quoted(&value)));
        } else if let Some(takes_value) = takes_value(name) {
            let shown = if SECRET.contains(&name) { "…".to_owned() } else { quoted(&value) };
            line.push(if takes_value { format!("--{name} {shown}") } else { format!("--{name}") });
        } else if let Some(other) = counterpart(name) {
            left.push(format!("  --{name}: {}", other.fix()));
        } else {
            left.push("  a flag that neither warp nor linerate has is left out".to_owned());
        }
    }
    left.dedup();
    std::iter::once(format!("  {}", line.join(" "))).chain(left).collect::<Vec<_>>().join("\n")
}

/// Whether bench has a flag, and whether that takes a value.
fn takes_value(name: &str) -> Option<bool> {
    let mut command = Cli::command();
    command.build();
    let bench = command.find_subcommand("bench")?;
    let is_called =
        |arg: &&clap::Arg| arg.get_long() == Some(name) || arg.get_all_aliases().unwrap_or_default().contains(&name);
    bench.get_arguments().find(is_called).map(|arg| arg.get_action().takes_values())
}

/// A value as a shell takes it.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,@%+=".contains(c);
    if !value.is_empty() && value.chars().all(is_plain) { value.to_owned() } else { format!("'{value}'") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_command_line_of_warp_becomes_one_of_linerate() {
        let of = |line: &str| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            translated(&words)
        };
        let line = "linerate put --host minio-{1...4}:9000 --access-key AK --secret-key=SK --tls --concurrent 4 \
                    --rps-limit 500 --md5 --autoterm --disable-sha256-payload stray";
        let lines = of(line);
        let mut lines = lines.lines();
        assert_eq!(
            lines.next(),
            Some(
                "  linerate bench --op put --host 'minio-{1...4}:9000' --access-key … --secret-key … --tls \
                 --concurrent 4 --max-rate 500/s --payload unsigned"
            )
        );
        assert!(lines.next().is_some_and(|l| l.starts_with("  --md5: bodies are guarded")));
        assert!(lines.next().is_some_and(|l| l.starts_with("  --autoterm: a point ends")));
        assert_eq!(lines.next(), None);
        assert_eq!(of("linerate bench --op get --no-color").lines().next(), Some("  linerate bench --op get"));
        assert!(!of("linerate get --secert-key QQQQ").contains("QQQQ"));
    }
}
