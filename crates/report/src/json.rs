//! A view as JSON.

use linerate_analysis::view::View;

/// The view as pretty JSON, with a line feed at its end. Reading it back gives an equal view.
///
/// # Panics
/// Never: a view has text keys only, which is all that JSON asks.
#[must_use]
pub fn json(view: &View) -> String {
    let mut text = serde_json::to_string_pretty(view).expect("a view has text keys only");
    text.push('\n');
    text
}
