//! What `linerate render` says.

use std::fmt::Write as _;
use std::path::Path;

use linerate_record::lines;
use linerate_record::units::bytes_per_s_iec;
use linerate_render::Rendering;
use linerate_render::entry_variant::{Limit, WeighedVariant};

use super::output_folder::WrittenFolder;

/// Most paths that are named.
const LISTED_PATHS_MAX: usize = 10;

/// The variant with its ceilings beside those of the others, and what became of the folder.
pub(super) fn render_summary(rendering: &Rendering, output: &Path, written: &WrittenFolder) -> String {
    let (choice, mut text) = (&rendering.choice, String::new());
    // Writing to a string does not fail.
    let _ = writeln!(text, "variant {}: {}", choice.variant.name(), choice.variant.summary());
    let _ = writeln!(text, "  why   {}", choice.why);
    let _ =
        writeln!(text, "\n  {:9}{:>12}  {:30}{:>12}  bottleneck", "variant", "GET up to", "bottleneck", "PUT up to");
    for one in &rendering.weighed {
        let mark = if one.variant == choice.variant { "*" } else { " " };
        let _ = writeln!(text, "{mark} {}", row(one));
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
    text
}

fn row(one: &WeighedVariant) -> String {
    let (get, put) = (rate(one.get), rate(one.put));
    let name = |limit: Limit| limit.bottleneck.map_or("nothing", |resource| resource.name());
    format!("{:9}{get:>12}  {:30}{put:>12}  {}", one.variant.name(), name(one.get), name(one.put))
}

fn rate(limit: Limit) -> String {
    if limit.bottleneck.is_some() { bytes_per_s_iec(limit.bytes_per_s) } else { "no limit".to_owned() }
}

/// Paths in one line, the first of many.
pub(super) fn path_list(paths: &[String]) -> String {
    lines::listed(paths, LISTED_PATHS_MAX)
}
