//! What findings call works.

use linerate_record::plan::Work;

/// GET, PUT or a mix.
pub(crate) fn work_name(work: &Work) -> String {
    match work.read_share {
        share if share >= 1.0 => "GET".to_owned(),
        share if share <= 0.0 => "PUT".to_owned(),
        share => format!("a mix with {:.0} % read", share * 100.0),
    }
}
