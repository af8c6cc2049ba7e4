//! Lists of a file of readings that somebody else may have written, refused while they are read: a short file has
//! millions of empty texts.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};

use super::{ReadSeries, VALUES_MAX};

/// Longest list of anything but values: all series of the largest cluster are 200,000.
const LIST_MAX: usize = 1_000_000;

/// A list of at most [`LIST_MAX`].
pub(super) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    from.deserialize_seq(BoundedList { weight: |_| 0, kind: PhantomData })
}

/// Series of at most [`VALUES_MAX`] values.
pub(super) fn series<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<ReadSeries>, D::Error> {
    from.deserialize_seq(BoundedList { weight: |one: &ReadSeries| one.values.len() as u64, kind: PhantomData })
}

struct BoundedList<T> {
    /// Values of one.
    weight: fn(&T) -> u64,
    kind: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for BoundedList<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<T>, A::Error> {
        let (mut list, mut values) = (Vec::new(), 0);
        while let Some(one) = from.next_element()? {
            values += (self.weight)(&one);
            list.push(one);
            if list.len() > LIST_MAX {
                return Err(A::Error::custom(format_args!("a list of more than {LIST_MAX} entries")));
            }
            if values > VALUES_MAX {
                return Err(A::Error::custom(format_args!("more than the {VALUES_MAX} values of the largest cluster")));
            }
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Readings;

    #[test]
    fn a_list_of_millions_of_empty_entries_is_refused_while_it_is_read() {
        for (field, entry) in [("remarks", "\"\""), ("warnings", "\"\""), ("names", r#"{"machine":"","name":""}"#)] {
            let mut text = serde_json::to_string(&Readings::default()).unwrap();
            text = text.replace(&format!("\"{field}\":[],"), "").replace(&format!(",\"{field}\":[]"), "");
            text.pop();
            // Not ended: what is refused at its end would be refused for another reason.
            let text = format!("{text},\"{field}\":[{}", format!("{entry},").repeat(1_000_001));
            let error = serde_json::from_str::<Readings>(&text).unwrap_err().to_string();
            assert!(error.contains("more than 1000000 entries"), "{field}: {error}");
        }
        let whole = Readings { remarks: vec![String::new(); 3], ..Readings::default() };
        assert_eq!(serde_json::from_str::<Readings>(&serde_json::to_string(&whole).unwrap()).unwrap(), whole);
    }
}
