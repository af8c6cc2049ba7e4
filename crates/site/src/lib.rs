//! The language of `site.yaml`: what people write of a cluster, held against a table of keys, read and made whole.
//!
//! `keys` is the table; the schema and the reference are rendered from it. A [`Site`] comes out, or every mistake
//! with its place. Trees of YAML and mistakes with their places are for other files of a cluster too.

mod consistency;
mod defaults;
mod edit;
pub mod error;
mod key_path;
mod keys;
mod parse;
mod reference;
mod schema;
pub mod source_position;
#[cfg(test)]
mod tests;
mod value;
mod word_lists;
pub mod yaml;

use std::collections::BTreeMap;

use linerate_record::site::Site;

use error::Mistake;
use source_position::{START, SourcePosition};

pub use edit::written;
pub use error::SiteError;
pub use reference::reference;
pub use schema::schema;
pub use value::text::is_machine;
pub use value::{is_name, quoted};
pub use word_lists::nearest;

/// Reads what a person wrote. `file_name` is what messages call the file.
///
/// # Errors
/// [`SiteError`] with every mistake that was found, its line and what to write instead.
pub fn read(text: &str, file_name: &str) -> Result<Site, SiteError> {
    let refused = |mistakes| SiteError::new(file_name, text, mistakes);
    let root = yaml::parse(text, "site").map_err(|mistake| refused(vec![mistake]))?;
    let (map, reading) = parse::read(&root, keys::SITE);
    let Some(map) = map else { return Err(refused(reading.mistakes)) };
    let (site, mut faults) = defaults::site(&map, reading.assumed);
    faults.extend(consistency::faults(&site));
    if faults.is_empty() {
        return Ok(site);
    }
    let mistake = |fault: defaults::InconsistentValue| {
        Mistake::new(place(&reading.places, &fault.path), fault.what, fault.advice)
    };
    Err(refused(faults.into_iter().map(mistake).collect()))
}

/// A file that was read, for what turns out to be wrong with it later.
#[derive(Clone, Debug)]
pub struct SiteFile {
    name: String,
    text: String,
}

impl SiteFile {
    /// The file of a text. `name` is what messages call it.
    #[must_use]
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> SiteFile {
        SiteFile { name: name.into(), text: text.into() }
    }

    /// Reads it.
    ///
    /// # Errors
    /// As [`read`].
    pub fn read(&self) -> Result<Site, SiteError> {
        read(&self.text, &self.name)
    }

    /// Whether a person has written a key, such as `engine.set_drives`.
    #[must_use]
    pub fn states(&self, path: &str) -> bool {
        self.places().contains_key(path)
    }

    /// A mistake at a key, told as those that reading finds: with its line, and what to write instead. A key that
    /// nobody wrote stands where what it would be in does. Of nodes, the path has the group's name:
    /// `nodes.storage.count`.
    #[must_use]
    pub fn mistake(&self, path: &str, what: impl Into<String>, advice: impl Into<String>) -> SiteError {
        let mistake = Mistake::new(place(&self.places(), path), what, advice);
        SiteError::new(&self.name, &self.text, vec![mistake])
    }

    /// Several mistakes, each at its key: path, what is wrong, and what to write instead.
    #[must_use]
    pub fn mistakes(&self, faults: impl IntoIterator<Item = (String, String, String)>) -> SiteError {
        let places = self.places();
        let mistake =
            |(path, what, advice): (String, String, String)| Mistake::new(place(&places, &path), what, advice);
        SiteError::new(&self.name, &self.text, faults.into_iter().map(mistake).collect())
    }

    /// The file as it was read.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    fn places(&self) -> BTreeMap<String, SourcePosition> {
        yaml::parse(&self.text, "site").map(|root| parse::read(&root, keys::SITE).1.places).unwrap_or_default()
    }
}

/// Where the value of a path stands, or what is nearest around it.
fn place(places: &BTreeMap<String, SourcePosition>, mut path: &str) -> SourcePosition {
    loop {
        match (places.get(path), path.rsplit_once('.')) {
            (Some(place), _) => return *place,
            (None, Some((above, _))) => path = above,
            (None, None) => return START,
        }
    }
}

/// A site with every key and its meaning, to begin with.
#[must_use]
pub fn example() -> &'static str {
    include_str!("example.yaml")
}
