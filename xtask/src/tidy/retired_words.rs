//! Words that texts for people no longer use: `docs/glossary.md` has one term for each thing.

use super::{File, Kind};

pub(super) const RULE: &str = "retired-word";

/// A phrase that is not to return.
struct Retired {
    /// In lower case; a space or a letter at an end stands for itself, and no letter may follow or precede.
    phrase: &'static str,
    /// What may follow it all the same.
    but: &'static [&'static str],
    /// Whether it is looked for in pages too: the label of a row is looked for in literals alone.
    in_pages: bool,
    /// The term of the glossary.
    instead: &'static str,
}

const fn phrase(phrase: &'static str, instead: &'static str) -> Retired {
    Retired { phrase, but: &[], in_pages: true, instead }
}

const fn but(phrase: &'static str, but: &'static [&'static str], instead: &'static str) -> Retired {
    Retired { phrase, but, in_pages: true, instead }
}

const fn label(phrase: &'static str, instead: &'static str) -> Retired {
    Retired { phrase, but: &[], in_pages: false, instead }
}

/// What "told" means where it does not mean "reported".
const APART: &[&str] = &[" apart", " from", " to ", " by its", " so ", " otherwise"];

const RETIRED: [Retired; 43] = [
    phrase("held back by", "bottleneck, or limited by"),
    but("bound by", &[" default"], "bottleneck"),
    phrase("bound it", "bottleneck"),
    phrase("who bound", "bottleneck"),
    phrase("what binds", "bottleneck"),
    phrase("that binds", "bottleneck"),
    phrase("would bind", "bottleneck"),
    phrase("share in use", "utilisation"),
    phrase("clients' nics", "clients' links"),
    label("in use|", "utilisation"),
    label("moved|", "amplification"),
    label("   own", "client ceiling"),
    label("   end", "stop reason"),
    label("   given", "assumed"),
    label("   down", "degraded"),
    label("   heal", "rebuild"),
    label("   lose", "failures tolerated"),
    label("   bear", "failures tolerated"),
    phrase("healed onto", "rebuild"),
    phrase("being healed", "rebuild, or degraded"),
    phrase("loses any", "failures tolerated"),
    phrase("bear the loss", "tolerate the failure"),
    phrase("bears the loss", "tolerates the failure"),
    phrase("bear the losses", "tolerate the failures"),
    phrase("bears the losses", "tolerates the failures"),
    phrase("spoil", "exclude"),
    phrase("spoils", "exclude"),
    phrase("spoilt", "excluded"),
    phrase("spoiled", "excluded"),
    label("costs", "slower"),
    but("costs:", &[" see"], "slower"),
    phrase("serious", "critical"),
    phrase("grave", "critical"),
    phrase("gravest", "most severe"),
    but("is told", APART, "reported, shown or says"),
    but("are told", APART, "reported, shown or says"),
    but("was told", APART, "reported, shown or says"),
    but("were told", APART, "reported, shown or says"),
    phrase("told, not tested", "reported"),
    phrase("no knee told", "reported"),
    phrase("taken back", "rolled back"),
    phrase("put back", "restored, or rolled back"),
    phrase("undoing", "rollback"),
];

/// The lines at fault, with the term to use.
pub(super) fn faults(file: &File) -> Vec<(usize, &'static str)> {
    let is_page = file.path == "README.md" || file.path.starts_with("docs/");
    let is_room = file.path.starts_with("crates/") && file.path.contains("/src/");
    match file.kind {
        Kind::Markdown if is_page => of_page(file),
        Kind::Rust if is_room => of_literals(file),
        _ => vec![],
    }
}

/// Names of fields, tests and the like stand in code spans and links, and keep what they are called.
fn of_page(file: &File) -> Vec<(usize, &'static str)> {
    let numbered = (1..).zip(file.text.iter().flat_map(|text| text.lines()));
    let outside = |line: &str| line.split('`').step_by(2).collect::<Vec<_>>().join("`");
    numbered.filter_map(|(number, line)| Some((number, retired(&outside(line), true)?))).collect()
}

/// What a file format calls a field or a value stays as older files have it.
fn of_literals(file: &File) -> Vec<(usize, &'static str)> {
    let Some(source) = file.source.as_ref() else { return vec![] };
    let raw = file.text.iter().flat_map(|text| text.lines());
    let lines = (1..).zip(source.literals.iter().zip(&source.is_test).zip(raw));
    let shown = lines.filter(|(_, ((_, is_test), raw))| {
        !**is_test && !RENAMED.iter().any(|as_named| raw.trim_start().starts_with(as_named))
    });
    shown.filter_map(|(number, ((line, _), _))| Some((number, retired(line, false)?))).collect()
}

/// Attributes that give a field or a value its name in files, or in those of before.
const RENAMED: [&str; 2] = ["#[serde(rename = ", "#[serde(alias = "];

/// The term to use in place of the first retired phrase of a line.
fn retired(line: &str, is_page: bool) -> Option<&'static str> {
    let line = line.to_lowercase();
    let applies = |one: &&Retired| (one.in_pages || !is_page) && has(&line, one, is_page);
    RETIRED.iter().find(applies).map(|one| one.instead)
}

fn has(line: &str, one: &Retired, is_page: bool) -> bool {
    let is_letter = |sign: Option<char>| sign.is_some_and(|sign| sign.is_alphanumeric() || sign == '_');
    let ends_in_letter = is_letter(one.phrase.chars().next_back());
    line.match_indices(one.phrase).any(|(start, _)| {
        let (before, after) = (&line[..start], &line[start + one.phrase.len()..]);
        let is_word = !(is_letter(before.chars().next_back()) || ends_in_letter && is_letter(after.chars().next()));
        let is_apart = one.but.iter().any(|but| after.starts_with(but));
        let is_label = before.ends_with('"') && (!ends_in_letter || after.trim_start().starts_with('"'));
        is_word && !is_apart && (one.in_pages || is_page || is_label)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::file;

    fn judged(path: &str, text: &str) -> Vec<usize> {
        faults(&file(path, text.as_bytes())).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn retired_words_are_refused_in_pages() {
        for (text, is_fault) in [
            ("PUT is held back by drives.", true),
            ("## Who bound it", true),
            ("Spoiled blocks are listed.", true),
            ("A mistake is told.", true),
            ("Changes are taken back.", true),
            ("The two are told apart by their names.", false),
            ("unless told otherwise", false),
            ("A field `spoiled`, as `serious` in JSON.", false),
            ("[`each_fault_is_told_by_its_kind`](x.rs)", false),
            ("bandwidth of its own, in the end", false),
            ("It costs nothing and spoilage is no word here.", false),
        ] {
            let expected = if is_fault { vec![1] } else { vec![] };
            assert_eq!(judged("docs/bench.md", text), expected, "{text}");
            assert_eq!(judged("README.md", text), expected, "{text}");
            assert_eq!(judged("docs/decisions/0001-a.md", text), expected, "{text}");
            assert_eq!(judged("docs/knobs/net.md", text), expected, "{text}");
            assert!(judged("CHANGELOG.md", text).is_empty(), "{text}");
        }
    }

    #[test]
    fn retired_words_are_refused_in_literals_outside_tests() {
        for (line, is_fault) in [
            ("    hanging(\"   heal\", 10, told);", true),
            ("    hanging(\"   healing of\", 10, told);", false),
            ("    format!(\"{n} were spoiled\");", true),
            ("    block.spoiled.len(); // what was spoiled", false),
            ("    Costs => \"costs\",", true),
            ("    format!(\"it costs more\");", false),
            ("    \"In use|when it is full\",", true),
            ("    \"address in use\",", false),
            ("    #[serde(rename = \"serious\")]", false),
            ("    #[serde(alias = \"serious\")]", false),
            ("    let word = \"serious\";", true),
        ] {
            let expected = if is_fault { vec![2] } else { vec![] };
            let text = format!("fn f() {{\n{line}\n}}\n");
            assert_eq!(judged("crates/report/src/a.rs", &text), expected, "{line}");
            assert_eq!(judged("crates/model/src/a.rs", &text), expected, "{line}");
            assert_eq!(judged("crates/settings/src/a.rs", &text), expected, "{line}");
            assert_eq!(judged("crates/worlds/src/a.rs", &text), expected, "{line}");
            assert!(judged("crates/report/tests/a.rs", &text).is_empty(), "{line}");
        }
    }
}
