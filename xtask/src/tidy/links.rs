//! Links of Markdown to files of the repository: each leads to one that git knows or would add, not to what it ignores.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

pub(super) const RULE: &str = "link";
pub(super) const WHAT_TO_DO: &str = "link to a file or folder that is in git, relative to the page";

/// The lines of a page with a link that leads nowhere. `paths` are those of the repository's files.
pub(super) fn lines_at_fault(page: &str, text: &str, paths: &BTreeSet<String>) -> Vec<usize> {
    let folder = Path::new(page).parent().unwrap_or(Path::new(""));
    let is_at_fault = |line: &str| targets(line).any(|target| !leads(folder, target, paths));
    text.lines().enumerate().filter(|(_, line)| is_at_fault(line)).map(|(index, _)| index + 1).collect()
}

/// Targets of the links of a line that are within the repository, without their anchors.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let ends = line.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    let is_path = |target: &&str| !target.contains("://") && !target.starts_with('#') && !target.contains(' ');
    ends.filter(is_path).map(|target| target.split('#').next().unwrap_or(target))
}

fn leads(folder: &Path, target: &str, paths: &BTreeSet<String>) -> bool {
    let mut full = PathBuf::new();
    for part in folder.join(target).components() {
        match part {
            Component::ParentDir if !full.pop() => return false,
            Component::Normal(name) => full.push(name),
            _ => {}
        }
    }
    let full = full.to_string_lossy().into_owned();
    let folder = format!("{full}/");
    full.is_empty()
        || paths.contains(&full)
        || paths.range(folder.clone()..).next().is_some_and(|p| p.starts_with(&folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_a_file_or_folder_of_the_repository() {
        let paths = ["README.md", "docs/a.md", "docs/method/b.md", "runs/c/summary.md"].map(str::to_owned).into();
        for (line, holds) in [
            ("see [b](method/b.md) and [readme](../README.md)", true),
            ("see [runs](../runs/c/summary.md) or [all](../runs/)", true),
            ("a part: [b](method/b.md#what), [here](#there), [web](https://example.com/x.md)", true),
            ("see [b](method/c.md)", false),
            ("see [b](a.md), [c](../runs/d/summary.md)", false),
            ("see [outside](../../README.md)", false),
            ("an index a[b](c d) is no link", true),
        ] {
            let faults = lines_at_fault("docs/page.md", &format!("# Title\n{line}\n"), &paths);
            assert_eq!(faults, if holds { vec![] } else { vec![2] }, "{line}");
        }
    }
}
