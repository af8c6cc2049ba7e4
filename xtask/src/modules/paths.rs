//! The paths of a crate that one file names: of `use`, of code, of macros and of attributes, but for tests.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Meta, UseTree, Visibility};

/// A path that a file names, from the root of the crate, and the line on which it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    pub(super) line: usize,
    pub(super) path: Vec<String>,
}

/// What one file names.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct File {
    /// Paths that begin with `crate`, `self` or `super`; of the root, all.
    pub(super) named: Vec<Named>,
    /// What it offers of others under a name of its own: `pub use`.
    pub(super) offered: Vec<(String, Named)>,
    /// Modules below this one that are there for tests alone.
    pub(super) of_tests: Vec<Vec<String>>,
}

/// Reads the text of a module, by its path in the crate.
pub(super) fn read(module: &[String], text: &str) -> Result<File, syn::Error> {
    let file = syn::parse_file(text)?;
    let mut reader = Reader { module: module.to_vec(), found: File::default() };
    if !is_for_tests(&file.attrs) {
        reader.visit_file(&file);
    }
    Ok(reader.found)
}

/// Whether it is compiled for tests alone.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let text = list.tokens.to_string().replace(' ', "");
            text == "test" || text.starts_with("all(test,")
        }
        _ => false,
    })
}

struct Reader {
    /// The module that is being read: the file's own, or one written within it.
    module: Vec<String>,
    found: File,
}

impl Reader {
    /// Notes a path as it is written.
    fn name(&mut self, written: &[(String, usize)]) {
        self.found.named.extend(self.absolute(written));
    }

    /// A path from the root; nothing where it does not say from where it leads.
    fn absolute(&self, written: &[(String, usize)]) -> Option<Named> {
        let (_, line) = written.first()?;
        let mut base = self.module.clone();
        let mut rest = written;
        match rest[0].0.as_str() {
            "crate" => (base, rest) = (Vec::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {}
            // The root's own modules need no word before them.
            _ if base.is_empty() => {}
            _ => return None,
        }
        while rest.first().is_some_and(|(word, _)| word == "super") {
            base.pop();
            rest = &rest[1..];
        }
        base.extend(rest.iter().map(|(word, _)| word.clone()).filter(|word| word != "self"));
        Some(Named { line: *line, path: base })
    }

    /// Every path of a `use`, and the name that each has here.
    fn used(tree: &UseTree, before: &mut Vec<(String, usize)>, all: &mut Vec<(String, Vec<(String, usize)>)>) {
        let word = |ident: &syn::Ident| (ident.to_string(), ident.span().start().line);
        match tree {
            UseTree::Path(path) => {
                before.push(word(&path.ident));
                Self::used(&path.tree, before, all);
                before.pop();
            }
            UseTree::Name(name) => {
                let own = if name.ident == "self" { before.last().cloned() } else { Some(word(&name.ident)) };
                let whole = before.iter().cloned().chain([word(&name.ident)]).collect();
                all.push((own.map(|(name, _)| name).unwrap_or_default(), whole));
            }
            UseTree::Rename(rename) => {
                let whole = before.iter().cloned().chain([word(&rename.ident)]).collect();
                all.push((rename.rename.to_string(), whole));
            }
            UseTree::Glob(_) => all.push(("*".to_owned(), before.clone())),
            UseTree::Group(group) => group.items.iter().for_each(|tree| Self::used(tree, before, all)),
        }
    }

    /// Paths in tokens that nobody has parsed: `crate::a::b`, and in attributes `"crate::a::b"`.
    fn tokens(&mut self, tokens: TokenStream, has_texts: bool) {
        let mut written: Vec<(String, usize)> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(word) => {
                    if colons != 2 {
                        self.end(&mut written);
                    }
                    if !written.is_empty() || ["crate", "super"].contains(&word.to_string().as_str()) {
                        written.push((word.to_string(), word.span().start().line));
                    }
                    colons = 0;
                }
                TokenTree::Punct(sign) if sign.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => {
                    self.end(&mut written);
                    self.tokens(group.stream(), has_texts);
                }
                TokenTree::Literal(literal) if has_texts => {
                    self.end(&mut written);
                    let text = literal.to_string();
                    let (text, line) = (text.trim_matches('"'), literal.span().start().line);
                    if text.starts_with("crate::") || text.starts_with("super::") {
                        self.name(&text.split("::").map(|word| (word.to_owned(), line)).collect::<Vec<_>>());
                    }
                }
                _ => self.end(&mut written),
            }
        }
        self.end(&mut written);
    }

    fn end(&mut self, written: &mut Vec<(String, usize)>) {
        if !written.is_empty() {
            self.name(&std::mem::take(written));
        }
    }
}

impl<'a> Visit<'a> for Reader {
    fn visit_item(&mut self, item: &'a Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        } else if let Item::Mod(module) = item
            && module.content.is_none()
        {
            let path = self.module.iter().cloned().chain([module.ident.to_string()]).collect();
            self.found.of_tests.push(path);
        }
    }

    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if item.content.is_some() {
            self.module.push(item.ident.to_string());
            visit::visit_item_mod(self, item);
            self.module.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        let mut all = Vec::new();
        Self::used(&item.tree, &mut Vec::new(), &mut all);
        for (name, written) in all {
            match self.absolute(&written) {
                Some(named) if !matches!(item.vis, Visibility::Inherited) => self.found.offered.push((name, named)),
                named => self.found.named.extend(named),
            }
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let word = |segment: &syn::PathSegment| (segment.ident.to_string(), segment.ident.span().start().line);
        if path.leading_colon.is_none() {
            self.name(&path.segments.iter().map(word).collect::<Vec<_>>());
        }
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &'a Visibility) {}

    fn visit_macro(&mut self, called: &'a syn::Macro) {
        self.visit_path(&called.path);
        self.tokens(called.tokens.clone(), false);
    }

    fn visit_attribute(&mut self, attribute: &'a Attribute) {
        match &attribute.meta {
            Meta::List(list) => self.tokens(list.tokens.clone(), true),
            _ => visit::visit_attribute(self, attribute),
        }
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
