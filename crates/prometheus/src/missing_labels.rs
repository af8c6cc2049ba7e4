//! Series that nobody can be told by, because a label that they should have has another name: relabelled or federated
//! ones. They are told with what to map.

use std::collections::BTreeMap;

use crate::api_response::{FoundSeries, Labels};
use crate::name_map::NameMap;
use crate::series_table::{MetricExporter, SourceRow};

/// A label that all series of some metrics lack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MissingLabel {
    /// The first of these metrics, as the server names it.
    pub(crate) metric: String,
    /// How many metrics they are.
    pub(crate) metrics: usize,
    /// Whether a series is of no machine without it.
    pub(crate) is_machine: bool,
}

/// By the label, as exporters name it.
#[derive(Debug, Default)]
pub(crate) struct MissingLabels(BTreeMap<&'static str, MissingLabel>);

impl MissingLabels {
    /// Notes what the series of one row lack. Only node_exporter's always have all their parts.
    pub(crate) fn note(&mut self, row: &SourceRow, names: &NameMap, series: &[FoundSeries]) {
        let lacks = |label: &str| series.iter().all(|one| !has(&one.metric, names.resolve(label)));
        if series.is_empty() {
            return;
        }
        let machine = row.machine.first().filter(|_| row.machine.iter().all(|label| lacks(label)));
        let parts: &[&'static str] = if row.exporter == MetricExporter::Node { row.part } else { &[] };
        let lacking = parts.iter().filter(|label| lacks(label)).map(|label| (label, false));
        for (label, is_machine) in machine.map(|label| (label, true)).into_iter().chain(lacking) {
            let metric = names.resolve(row.metric).to_owned();
            self.0.entry(label).or_insert(MissingLabel { metric, metrics: 0, is_machine }).metrics += 1;
        }
    }

    /// Labels that are lacking.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&'static str, &MissingLabel)> {
        self.0.iter().map(|(label, lacking)| (*label, lacking))
    }
}

fn has(labels: &Labels, name: &str) -> bool {
    labels.get(name).is_some_and(|value| !value.is_empty())
}

/// What to do about one, where a series of its metric has these labels.
pub(crate) fn reported(label: &str, lacking: &MissingLabel, names: &NameMap, labels: Option<&Labels>) -> String {
    let MissingLabel { metric, metrics, is_machine } = lacking;
    let others = match metrics - 1 {
        0 => String::new(),
        1 => " and of 1 other metric".to_owned(),
        others => format!(" and of {others} other metrics"),
    };
    let has: Vec<&str> = labels.into_iter().flat_map(BTreeMap::keys).map(String::as_str).collect();
    let has: Vec<&str> = has.into_iter().filter(|label| *label != "__name__").collect();
    let has = if has.is_empty() { String::new() } else { format!(" (the labels are {})", has.join(", ")) };
    let so = if *is_machine { "so that it is of no machine" } else { "so that its parts are not told apart" };
    format!(
        "no series of {metric}{others} has a label {:?}, {so}{has}: say which one stands for it, --map {label}=NEWNAME",
        names.resolve(label)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series_table::rows;

    fn series(labels: &[&str]) -> FoundSeries {
        let metric = labels.iter().map(|label| ((*label).to_owned(), "x".to_owned())).collect();
        FoundSeries { metric, values: Vec::new() }
    }

    #[test]
    fn a_label_that_all_lack_is_told_once_and_one_that_some_have_not_at_all() {
        let mut found = MissingLabels::default();
        let names = NameMap::default();
        let row = |metric: &str| rows().find(|row| row.metric == metric).unwrap();
        let [received, sent] = ["node_network_receive_bytes_total", "node_network_transmit_bytes_total"].map(row);
        found.note(received, &names, &[series(&["device", "host"]), series(&["device"])]);
        found.note(sent, &names, &[series(&["device", "host"])]);
        found.note(sent, &names, &[series(&["instance"]), series(&["instance", "device"])]);
        let all: Vec<_> = found.all().collect();
        let [(label, lacking)] = all[..] else { panic!("{all:?}") };
        assert_eq!((label, lacking.metrics, lacking.is_machine), ("instance", 2, true));
        let text = reported(label, lacking, &names, Some(&series(&["host", "__name__"]).metric));
        assert!(
            text.contains("and of 1 other metric has a label \"instance\"") && text.contains("(the labels are host)")
        );
        found.note(sent, &names, &[series(&["instance"])]);
        assert_eq!(found.all().map(|(label, _)| label).collect::<Vec<_>>(), ["device", "instance"]);
    }
}
