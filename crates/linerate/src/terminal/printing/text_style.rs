//! How text looks: on a terminal with colours and as wide as that is, elsewhere plain.

use std::io::IsTerminal as _;

use linerate_report::terminal::TextStyle;

/// How text should look on standard output.
pub(crate) fn text_style() -> TextStyle {
    text_style_for_file(false)
}

/// Columns of the terminal that standard output is; none elsewhere, where a line may be as long as it is.
pub(crate) fn columns() -> Option<usize> {
    std::io::stdout().is_terminal().then(|| text_style().width)
}

/// Whether standard output is a file: what goes through a pipe may be for a screen.
fn is_file() -> bool {
    let kind = rustix::fs::fstat(std::io::stdout()).map(|found| rustix::fs::FileType::from_raw_mode(found.st_mode));
    kind.is_ok_and(|kind| kind == rustix::fs::FileType::RegularFile)
}

/// How text should look in a file, or on standard output.
pub(crate) fn text_style_for_file(to_file: bool) -> TextStyle {
    let terminal = !to_file && std::io::stdout().is_terminal();
    let columns = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(100, |size| usize::from(size.ws_col));
    let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let width = if terminal { columns.clamp(60, 160) } else { 100 };
    TextStyle { color: terminal && !plain, width, whole: to_file || is_file() }
}
