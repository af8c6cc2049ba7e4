//! What `linerate render` says, in lines of a terminal.

use std::fmt::Write as _;
use std::path::Path;

use linerate_record::lines;
use linerate_record::units::bytes_per_s_iec;
use linerate_render::Rendering;
use linerate_render::entry_variant::{Limit, WeighedVariant};

use super::output_folder::WrittenFolder;

/// Most paths that are named.
const LISTED_PATHS_MAX: usize = 10;

/// The variant with its ceilings beside those of the others, and what became of the folder; in lines of at most
/// `columns`, where that is stated.
pub(super) fn render_summary(
    rendering: &Rendering,
    output: &Path,
    written: &WrittenFolder,
    columns: Option<usize>,
) -> String {
    let (choice, mut text) = (&rendering.choice, String::new());
    // Writing to a string does not fail.
    let _ = writeln!(text, "variant {}: {}", choice.variant.name(), choice.variant.summary());
    let _ = writeln!(text, "  why   {}", choice.why);
    let _ = writeln!(text, "\n  {:9}{:4}{:>12}  bottleneck", "variant", "op", "up to");
    for one in &rendering.weighed {
        let mark = if one.variant == choice.variant { "*" } else { " " };
        text.push_str(&rows(mark, one));
    }
    for lost in &rendering.lost {
        let _ = write!(text, "\n  lost  {lost}");
    }
    if !rendering.lost.is_empty() {
        text.push('\n');
    }
    let WrittenFolder { files, changed, removed } = *written;
    let _ = writeln!(
        text,
        "\n{files} files in {}: {changed} written, {} as before, {removed} removed",
        output.display(),
        files - changed
    );
    columns.map_or(text.clone(), |columns| lines::folded(&text, columns))
}

/// A row for GET and one for PUT: names of bottlenecks have up to 44 columns.
fn rows(mark: &str, one: &WeighedVariant) -> String {
    let name = |limit: Limit| limit.bottleneck.map_or("nothing", |resource| resource.name());
    let row = |mark: &str, variant: &str, op: &str, limit: Limit| {
        format!("{mark} {variant:9}{op:4}{:>12}  {}\n", rate(limit), name(limit))
    };
    row(mark, one.variant.name(), "GET", one.get) + &row(" ", "", "PUT", one.put)
}

fn rate(limit: Limit) -> String {
    if limit.bottleneck.is_some() { bytes_per_s_iec(limit.bytes_per_s) } else { "no limit".to_owned() }
}

/// Paths in one line, the first of many.
pub(super) fn path_list(paths: &[String]) -> String {
    lines::listed(paths, LISTED_PATHS_MAX)
}
