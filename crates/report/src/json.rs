//! A view, and whatever else is shown as JSON.

use std::io::{Result, Write};

use linerate_analysis::view::View;
use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// The view as pretty JSON, with a line feed at its end. Reading it back gives an equal view.
///
/// # Panics
/// Never: a view has text keys only, which is all that JSON asks.
#[must_use]
pub fn json(view: &View) -> String {
    pretty(view).expect("a view has text keys only")
}

/// A value as pretty JSON, with a line feed at its end.
///
/// # Errors
/// Where a key is no text.
pub(crate) fn pretty(value: &impl Serialize) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut bytes, Figures(PrettyFormatter::new())))?;
    bytes.push(b'\n');
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A figure without the sign of zero: the sum of nothing is -0.0 in Rust, and nobody means it.
pub(crate) fn unsigned_zero(value: f64) -> f64 {
    value + 0.0
}

/// Pretty JSON in which no zero has a sign.
struct Figures(PrettyFormatter<'static>);

impl Formatter for Figures {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> Result<()> {
        self.0.write_f64(writer, unsigned_zero(value))
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.0.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn json_is_as_serde_writes_it_but_for_the_sign_of_zero() {
        let all =
            BTreeMap::from([("a", vec![Some(-0.5), None, Some(1e300)]), ("b", Vec::new()), ("c", vec![Some(0.0)])]);
        assert_eq!(pretty(&all).unwrap(), serde_json::to_string_pretty(&all).unwrap() + "\n");
        let nothing: f64 = Vec::<f64>::new().iter().sum();
        assert!(nothing.is_sign_negative(), "this is why");
        assert_eq!(pretty(&[nothing, -0.0]).unwrap(), "[\n  0.0,\n  0.0\n]\n");
    }
}
