//! Answers of Prometheus's API, read without a copy of each value.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

use crate::error::PrometheusError;
use crate::http_call::{HttpResponse, beginning};

/// Most series of an answer: 484 machines with 60 drives and interfaces each.
const SERIES_MAX: usize = 100_000;

/// Most different warnings of a server that are kept. Of one answer one more is: that there are more is said.
pub(crate) const WARNINGS_MAX: usize = 100;

/// Labels of a series.
pub(crate) type Labels = BTreeMap<String, String>;

/// One series of an answer.
#[derive(Debug, Deserialize)]
pub(crate) struct FoundSeries {
    pub(crate) metric: Labels,
    #[serde(default)]
    pub(crate) values: Vec<(f64, SampleValue)>,
}

/// A value, which JSON has as text: `NaN` and `+Inf` are values too.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct SampleValue(pub(crate) f64);

impl<'de> Deserialize<'de> for SampleValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = SampleValue;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a value as text")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<SampleValue, E> {
                text.parse().map(SampleValue).map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Read)
    }
}

#[derive(Deserialize)]
struct ApiResponse<'a> {
    #[serde(borrow)]
    status: Cow<'a, str>,
    data: Option<Data>,
    #[serde(rename = "errorType", default)]
    error_type: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    warnings: Vec<String>,
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "resultType")]
    result_type: String,
    result: Vec<FoundSeries>,
}

/// What was found, and what Prometheus warns of.
pub(crate) struct Matrix {
    pub(crate) series: Vec<FoundSeries>,
    pub(crate) warnings: Vec<String>,
}

/// Reads an answer to a range query.
pub(crate) fn matrix(answer: &HttpResponse, url: &str, query: &str) -> Result<Matrix, PrometheusError> {
    let not_json = |what: &str| PrometheusError::NotJson {
        url: url.to_owned(),
        kind: if what.is_empty() { beginning(answer.kind.as_bytes()) } else { what.to_owned() },
        beginning: beginning(&answer.body),
    };
    let whole: ApiResponse<'_> = serde_json::from_slice(&answer.body).map_err(|error| {
        let is_json = answer.kind.contains("json") && error.classify() == serde_json::error::Category::Data;
        not_json(if is_json { "JSON of another form" } else { "" })
    })?;
    if whole.status != "success" {
        let (kind, message) = (beginning(whole.error_type.as_bytes()), beginning(whole.error.as_bytes()));
        return Err(PrometheusError::Query { query: query.to_owned(), kind, message });
    }
    let data = whole.data.filter(|data| data.result_type == "matrix");
    let data = data.ok_or_else(|| not_json("another kind of result"))?;
    if data.result.len() > SERIES_MAX {
        return Err(PrometheusError::TooLarge { query: query.to_owned(), most: format!("{SERIES_MAX} series") });
    }
    let mut warnings: Vec<String> = Vec::new();
    for warning in whole.warnings.iter().map(|text| beginning(text.as_bytes())) {
        if warnings.len() <= WARNINGS_MAX && !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    Ok(Matrix { series: data.result, warnings })
}
