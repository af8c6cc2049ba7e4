//! The readings that agents take, on the reference page of `explain`.

use std::fs;

use linerate_host::live::ABOUT;

use super::{docs, escaped};

const BEGIN: &str = "<!-- readings of agents -->\n";
const END: &str = "<!-- end of readings -->\n";

fn table() -> String {
    let mut text = "| reading | tells | cannot tell | needs | at most each |\n|---|---|---|---|---|\n".to_owned();
    for about in ABOUT {
        let least = linerate_record::units::duration_ns(about.least_ms as f64 * 1e6);
        let cells = [about.name, about.tells, about.cannot, about.needs, &least].map(escaped);
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

/// `REGENERATE=1 cargo test -p linerate --lib pages` writes it anew.
#[test]
fn the_page_has_each_reading_of_agents_with_what_it_cannot_tell() {
    let path = docs().join("reference/explain.md");
    let page = fs::read_to_string(&path).expect("the page of explain");
    let (before, rest) = page.split_once(BEGIN).expect("a mark before the table");
    let made = format!("{before}{BEGIN}{}{END}{}", table(), rest.split_once(END).expect("a mark behind it").1);
    if std::env::var_os("REGENERATE").is_some() {
        fs::write(&path, &made).expect("the page can be written");
    }
    let is_new = std::env::var_os("REGENERATE").is_some() || made == page;
    assert!(is_new, "{} is stale: REGENERATE=1 cargo test -p linerate --lib pages", path.display());
    assert!(ABOUT.len() > 10 && page.contains("sock_diag"), "readings are lacking");
}
