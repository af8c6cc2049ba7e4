//! What a bucket lists: objects, versions of objects, uploads that were begun; a page of XML each.

use quick_xml::events::Event;

use crate::session::Existing;

/// One page of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T, Next> {
    /// What it lists.
    pub entries: Vec<T>,
    /// Where the next page begins; absent on the last.
    pub next: Option<Next>,
}

/// Where the next page of versions or uploads begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marker {
    /// Key.
    pub key: String,
    /// Version or upload; may be empty.
    pub id: String,
}

/// A version of an object, a delete marker, or an upload that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identified {
    /// Key.
    pub key: String,
    /// Version or upload.
    pub id: String,
}

/// A page of `ListObjectsV2`.
///
/// # Errors
/// What about it is no such page.
pub fn objects(body: &[u8]) -> Result<Page<Existing, String>, String> {
    let mut entries = Vec::new();
    let (mut key, mut size_bytes, mut truncated, mut token) = (None::<String>, 0u64, false, None);
    walk(body, |parent, name, text| {
        match (parent, name) {
            (Some("Contents"), "Key") => key = Some(std::mem::take(text)),
            (Some("Contents"), "Size") => {
                size_bytes = text.trim().parse().map_err(|_| format!("size {text:?} is no number"))?;
            }
            (_, "Contents") => {
                let key = key.take().ok_or("an object without a key")?;
                entries.push(Existing { key, size_bytes });
            }
            (_, "IsTruncated") => truncated = text.trim() == "true",
            (_, "NextContinuationToken") => token = Some(std::mem::take(text)),
            _ => {}
        }
        Ok(())
    })?;
    Ok(Page { entries, next: if truncated { token } else { None } })
}

/// A page of `ListObjectVersions`: versions and delete markers.
///
/// # Errors
/// What about it is no such page.
pub fn versions(body: &[u8]) -> Result<Page<Identified, Marker>, String> {
    identified(body, &["Version", "DeleteMarker"], "VersionId", "NextVersionIdMarker")
}

/// A page of `ListMultipartUploads`.
///
/// # Errors
/// What about it is no such page.
pub fn uploads(body: &[u8]) -> Result<Page<Identified, Marker>, String> {
    identified(body, &["Upload"], "UploadId", "NextUploadIdMarker")
}

fn identified(body: &[u8], entry: &[&str], id_name: &str, marker: &str) -> Result<Page<Identified, Marker>, String> {
    let mut entries = Vec::new();
    let (mut key, mut id, mut truncated, mut next) = (None::<String>, None::<String>, false, Marker::default());
    walk(body, |parent, name, text| {
        let inside = parent.is_some_and(|parent| entry.contains(&parent));
        match name {
            "Key" if inside => key = Some(std::mem::take(text)),
            _ if inside && name == id_name => id = Some(std::mem::take(text)),
            _ if entry.contains(&name) => {
                let (Some(key), Some(id)) = (key.take(), id.take()) else {
                    return Err(format!("an entry {name} without Key or {id_name}"));
                };
                entries.push(Identified { key, id });
            }
            "IsTruncated" => truncated = text.trim() == "true",
            "NextKeyMarker" => next.key = std::mem::take(text),
            _ if name == marker => next.id = std::mem::take(text),
            _ => {}
        }
        Ok(())
    })?;
    let next = (truncated && next != Marker::default()).then_some(next);
    Ok(Page { entries, next })
}

/// Calls `on_end` at the end of each element: with its parent's name, its own, and the text since its last child.
fn walk(
    body: &[u8],
    mut on_end: impl FnMut(Option<&str>, &str, &mut String) -> Result<(), String>,
) -> Result<(), String> {
    let mut reader = quick_xml::Reader::from_str(std::str::from_utf8(body).map_err(|e| e.to_string())?);
    let (mut path, mut text) = (Vec::<String>::new(), String::new());
    loop {
        match reader.read_event().map_err(|e| e.to_string())? {
            Event::Start(start) => {
                path.push(start.local_name().as_ref().to_owned());
                text.clear();
            }
            Event::Text(piece) => text.push_str(&piece.xml10_content()),
            Event::GeneralRef(reference) => text.push_str(&resolve(&reference)?),
            Event::End(end) => {
                let parent = path.len().checked_sub(2).map(|i| path[i].as_str());
                on_end(parent, end.local_name().as_ref(), &mut text)?;
                path.pop();
                text.clear();
            }
            Event::Eof => return Ok(()),
            _ => {}
        }
    }
}

fn resolve(reference: &quick_xml::events::BytesRef<'_>) -> Result<String, String> {
    if let Some(c) = reference.resolve_char_ref().map_err(|e| e.to_string())? {
        return Ok(c.to_string());
    }
    let name: &str = reference;
    match quick_xml::escape::resolve_predefined_entity(name) {
        Some(text) => Ok(text.to_owned()),
        None => Err(format!("unknown entity &{name};")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_page_gives_keys_sizes_and_the_next_token() {
        let body = br#"<?xml version="1.0" encoding="UTF-8"?>
            <ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name>
            <IsTruncated>true</IsTruncated>
            <Contents><Key>a &amp; b/&#x41;&#10;</Key><Owner><ID>x</ID></Owner><Size>42</Size></Contents>
            <Contents><Size>7</Size><Key>c</Key></Contents><NextContinuationToken>t&lt;1</NextContinuationToken>
            </ListBucketResult>"#;
        let page = objects(body).unwrap();
        assert_eq!(page.next.as_deref(), Some("t<1"));
        let got: Vec<_> = page.entries.iter().map(|o| (o.key.as_str(), o.size_bytes)).collect();
        assert_eq!(got, [("a & b/A\n", 42), ("c", 7)]);
    }

    #[test]
    fn pages_that_are_none_are_refused() {
        for body in
            ["<a><b></a>", "<Contents><Size>1</Size></Contents>", "<Contents><Size>x</Size></Contents>", "<a>&z;</a>"]
        {
            assert!(objects(body.as_bytes()).is_err(), "{body}");
        }
        assert!(versions(b"<DeleteMarker><Key>a</Key></DeleteMarker>").is_err());
        assert!(uploads(b"<Upload><UploadId>a</UploadId></Upload>").is_err());
    }

    #[test]
    fn versions_are_told_with_delete_markers_and_uploads_with_their_ids() {
        let body = b"<ListVersionsResult><KeyMarker/><IsTruncated>true</IsTruncated><NextKeyMarker>k</NextKeyMarker>
            <NextVersionIdMarker>v</NextVersionIdMarker>
            <Version><Key>a</Key><VersionId>null</VersionId><Owner><ID>o</ID></Owner></Version>
            <DeleteMarker><VersionId>2</VersionId><Key>b&gt;</Key></DeleteMarker></ListVersionsResult>";
        let page = versions(body).unwrap();
        let got: Vec<_> = page.entries.iter().map(|v| (v.key.as_str(), v.id.as_str())).collect();
        assert_eq!(got, [("a", "null"), ("b>", "2")]);
        assert_eq!(page.next, Some(Marker { key: "k".into(), id: "v".into() }));
        let body = b"<R><Upload><Key>a/b</Key><UploadId>u</UploadId></Upload><IsTruncated>false</IsTruncated>
            <NextKeyMarker>k</NextKeyMarker></R>";
        let page = uploads(body).unwrap();
        assert_eq!(page.entries, [Identified { key: "a/b".into(), id: "u".into() }]);
        assert_eq!(page.next, None);
    }

    proptest! {
        #[test]
        fn arbitrary_pages_never_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = objects(&body);
            let _ = versions(&body);
            let _ = uploads(&body);
        }
    }
}
