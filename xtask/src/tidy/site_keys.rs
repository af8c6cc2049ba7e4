//! A site's key that code names is a constant of `record::site::key`: typed twice, it could be changed once.

use super::{File, Rule};

/// Where the constants are.
const CONSTANTS: &str = "crates/record/src/site/key.rs";

/// Keys of a site's file that have keys below them. Those below `nodes` hold the name of a kind of nodes.
const SECTIONS: [&str; 8] = ["clients", "data", "engine", "entry", "fabric", "goals", "kubernetes", "planes"];

pub(super) const RULE: Rule =
    Rule { name: "site-key", what_to_do: "name the site's key by a constant of record::site::key", lines_at_fault };

fn lines_at_fault(file: &File) -> Vec<usize> {
    let Some(source) = file.source.as_ref().filter(|_| file.path != CONSTANTS) else { return vec![] };
    let lines = (1..).zip(source.literals.iter().zip(&source.is_test));
    let at_fault = lines.filter(|(_, (line, is_test))| !**is_test && line.split('"').any(is_path));
    at_fault.map(|(number, _)| number).collect()
}

fn is_path(text: &str) -> bool {
    let is_name = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    text.split_once('.').is_some_and(|(section, rest)| SECTIONS.contains(&section) && rest.split('.').all(is_name))
}

#[cfg(test)]
mod tests {
    use super::super::judged;
    use super::*;

    #[test]
    fn keys_are_refused_in_code_but_where_the_constants_are() {
        let text =
            "const A: &str = \"engine.tls\";\n// \"engine.tls\"\nconst B: &str = \"kubernetes.dns.cluster_ip\";\n";
        assert_eq!(judged(&[RULE], "site-key", "crates/model/src/a.rs", text), [1, 3]);
        for (path, text) in [
            (CONSTANTS, text),
            ("crates/model/tests/a.rs", text),
            ("crates/model/src/a.rs", "#[cfg(test)]\nmod tests {\n    const A: &str = \"engine.tls\";\n}\n"),
            (
                "crates/model/src/a.rs",
                "a(\"engine\", \"engine.tls of the site\", \"net.core.rmem_max\", \"engine.\")\n",
            ),
        ] {
            assert!(judged(&[RULE], "site-key", path, text).is_empty(), "{path} {text}");
        }
    }
}
