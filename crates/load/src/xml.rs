//! Documents of XML, as S3 answers with them: their root, and what their elements say, by local names, whatever
//! namespace they stand in.

use quick_xml::events::Event;

/// Elements within elements that are followed: what S3 sends has five.
const DEPTH_MAX: usize = 16;

/// Most that is looked at of a refusal.
const REFUSAL_BYTES_MAX: usize = 4096;

/// The local name of the first element, or of a document type, of bytes that begin a document; `None` where they begin
/// none, or end before the name does. Allocates nothing: it is asked of replies in the wire loop.
#[must_use]
pub fn root(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    loop {
        rest = rest.trim_ascii_start().strip_prefix(b"<")?;
        rest = if rest.starts_with(b"?") {
            after(rest, b"?>")?
        } else if rest.starts_with(b"!--") {
            after(&rest[3..], b"-->")?
        } else {
            let end = rest.iter().position(|b| b.is_ascii_whitespace() || matches!(b, b'>' | b'/'))?;
            let local = rest[..end].iter().rposition(|&b| b == b':').map_or(0, |colon| colon + 1);
            return Some(&rest[local..end]);
        };
    }
}

/// What a boolean of XML says (XML Schema, 3.2.2); `None` where it is none.
#[must_use]
pub fn boolean(text: &[u8]) -> Option<bool> {
    match text.trim_ascii() {
        b"true" | b"1" => Some(true),
        b"false" | b"0" => Some(false),
        _ => None,
    }
}

fn after<'a>(bytes: &'a [u8], end: &[u8]) -> Option<&'a [u8]> {
    let at = bytes.windows(end.len()).position(|window| window == end)?;
    Some(&bytes[at + end.len()..])
}

/// S3's error code in the first part of an error document: the text of its `Code`, where the root is an `Error`.
#[must_use]
pub fn error_code(body: &[u8]) -> Option<String> {
    if root(body)? != b"Error" {
        return None;
    }
    let mut found = None;
    // A document that is cut off, or no good further on, has told its code by then.
    let _ = elements(begin(body), |parent, name, text| {
        if found.is_none() && name == "Code" && parent == Some("Error") {
            found = Some(std::mem::take(text));
        }
        Ok(())
    });
    let code = found?;
    let plain = !code.is_empty() && code.len() <= 64 && code.bytes().all(|b| b.is_ascii_alphanumeric());
    plain.then_some(code)
}

/// The first part of a refusal, as text.
fn begin(body: &[u8]) -> &str {
    let part = &body[..body.len().min(REFUSAL_BYTES_MAX)];
    match std::str::from_utf8(part) {
        Ok(text) => text,
        Err(error) => std::str::from_utf8(&part[..error.valid_up_to()]).unwrap_or_default(),
    }
}

/// Calls `on_end` at the end of each element of a whole document whose root is one of `roots`: with its parent's name,
/// its own, and the text since its last child.
///
/// # Errors
/// Why it is no such document, or what `on_end` says.
pub fn walk(
    body: &[u8],
    roots: &[&str],
    on_end: impl FnMut(Option<&str>, &str, &mut String) -> Result<(), String>,
) -> Result<(), String> {
    let text = std::str::from_utf8(body).map_err(|e| e.to_string())?;
    let found = root(body).map(String::from_utf8_lossy);
    if !found.as_deref().is_some_and(|found| roots.contains(&found)) {
        let found = found.map_or_else(|| "no XML".to_owned(), |name| format!("{:.40?}", name));
        return Err(format!("it is {found} and no {}", roots[0]));
    }
    if elements(text, on_end)? { Ok(()) } else { Err(format!("its {} does not end", roots[0])) }
}

/// Goes through the elements; tells whether the root is closed.
fn elements(
    text: &str,
    mut on_end: impl FnMut(Option<&str>, &str, &mut String) -> Result<(), String>,
) -> Result<bool, String> {
    let mut reader = quick_xml::Reader::from_str(text);
    let (mut path, mut text, mut closed) = (Vec::<String>::new(), String::new(), false);
    loop {
        match reader.read_event().map_err(|e| e.to_string())? {
            Event::Start(_) | Event::Empty(_) if closed => return Err("something follows its root".into()),
            Event::Start(start) => {
                path.push(start.local_name().as_ref().to_owned());
                text.clear();
                if path.len() > DEPTH_MAX {
                    return Err(format!("its elements lie more than {DEPTH_MAX} deep"));
                }
            }
            Event::Empty(empty) => {
                text.clear();
                on_end(path.last().map(String::as_str), empty.local_name().as_ref(), &mut text)?;
                closed = path.is_empty();
            }
            Event::Text(piece) => text.push_str(&piece.xml10_content()),
            Event::CData(piece) => text.push_str(&piece.xml10_content()),
            Event::GeneralRef(reference) => text.push_str(&resolve(&reference)?),
            Event::End(end) => {
                let parent = path.len().checked_sub(2).map(|i| path[i].as_str());
                on_end(parent, end.local_name().as_ref(), &mut text)?;
                path.pop();
                text.clear();
                closed = path.is_empty();
            }
            Event::Eof => return Ok(closed),
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
    fn roots_are_known_by_their_local_names() {
        for (text, name) in [
            ("<Error/>", Some("Error")),
            ("\u{feff}\n <?xml version=\"1.0\"?>\n<!-- <Other> -->\r\n<s3:Error xmlns:s3='u'>", Some("Error")),
            ("<DeleteResult xmlns=\"u\"/>", Some("DeleteResult")),
            ("<!DOCTYPE html><html>", Some("!DOCTYPE")),
            ("<Erro", None),
            ("<?xml", None),
            ("<!-- <Error> ", None),
            ("no document <Error>", None),
            ("{\"Error\": 1}", None),
            ("", None),
        ] {
            assert_eq!(root(text.as_bytes()).map(String::from_utf8_lossy).as_deref(), name, "{text}");
        }
    }

    #[test]
    fn codes_are_read_in_any_namespace_and_of_errors_only() {
        for (text, code) in [
            ("<Error><Code>SlowDown</Code></Error>", Some("SlowDown")),
            ("<Error xmlns=\"u\"><Message>x</Message><Code>A1</Code></Error>", Some("A1")),
            ("<a:Error xmlns:a=\"u\"><a:Code>B</a:Code></a:Error>", Some("B")),
            ("<Error><Code><![CDATA[C]]></Code></Error>", Some("C")),
            ("<Error><Code>Cut</Code><Mess", Some("Cut")),
            ("<Error><Code>Cut", None),
            ("<Error><Detail><Code>Inner</Code></Detail></Error>", None),
            ("<Error><Code>a b</Code></Error>", None),
            ("<Error><Code></Code></Error>", None),
            ("<html><Code>SlowDown</Code></html>", None),
            ("<Code>SlowDown</Code>", None),
        ] {
            assert_eq!(error_code(text.as_bytes()).as_deref(), code, "{text}");
        }
    }

    #[test]
    fn documents_that_are_not_the_one_awaited_are_refused() {
        let walked = |text: &str| walk(text.as_bytes(), &["R"], |_, _, _| Ok(()));
        for text in ["<R/>", "<a:R xmlns:a='u'><b/></a:R>", "<?xml version='1.0'?><R>t</R>\n<!-- end -->"] {
            assert_eq!(walked(text), Ok(()), "{text}");
        }
        let deep = format!("<R>{}", "<a>".repeat(100));
        for (text, why) in [
            ("", "no XML"),
            ("<html><R/></html>", "html"),
            ("<!DOCTYPE html><R/>", "!DOCTYPE"),
            ("<R>", "does not end"),
            ("<R><a></R>", ""),
            ("<R/><R/>", "something follows"),
            (deep.as_str(), "deep"),
            ("<R>&other;</R>", "unknown entity"),
        ] {
            assert!(walked(text).expect_err(text).contains(why), "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = root(&body);
            let _ = error_code(&[b"<Error>", &body[..]].concat());
            let _ = walk(&[b"<R>", &body[..]].concat(), &["R"], |_, _, _| Ok(()));
        }
    }
}
