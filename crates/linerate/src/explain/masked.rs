//! Readings without what identifies machines: the same name by the same, in an order that keeps racks together.

use std::collections::BTreeMap;

use linerate_record::readings::{OtherName, ReadSeries, Readings};

/// Digits as numbers: `n2` before `n10`, as people count.
fn by_number(name: &str) -> (String, Vec<u64>) {
    let (mut text, mut numbers, mut digits) = (String::new(), Vec::new(), String::new());
    for c in name.chars().chain(['\0']) {
        if c.is_ascii_digit() {
            digits.push(c);
            continue;
        }
        if !digits.is_empty() {
            numbers.push(digits.parse().unwrap_or(u64::MAX));
            digits.clear();
            text.push('#');
        }
        text.push(c);
    }
    (text, numbers)
}

/// The readings with `machine-1`, `pod-1` and so on in place of names and addresses. Interfaces and drives keep theirs;
/// remarks, which may quote anything, are left out.
pub(super) fn masked(readings: &Readings) -> Readings {
    let mut names: Vec<&str> = readings.machines().into_iter().collect();
    names.sort_by_key(|name| by_number(name));
    let machines: BTreeMap<&str, String> =
        names.into_iter().enumerate().map(|(place, name)| (name, format!("machine-{}", place + 1))).collect();
    let mut pods: BTreeMap<&str, String> = BTreeMap::new();
    let mut series = Vec::with_capacity(readings.series.len());
    for one in &readings.series {
        // Of a container: its namespace and its pod before its name, which says what it is.
        let part = match one.part.rsplit_once('/') {
            Some((pod, container)) => {
                let count = pods.len() + 1;
                format!("{}/{container}", pods.entry(pod).or_insert_with(|| format!("pod-{count}")))
            }
            None => one.part.clone(),
        };
        let machine = machines.get(one.machine.as_str()).cloned().unwrap_or_default();
        series.push(ReadSeries { of: one.of, machine, part, values: one.values.clone() });
    }
    series.sort_by(|a, b| (a.of, &a.machine, &a.part).cmp(&(b.of, &b.machine, &b.part)));
    // Two machines that are one are still known as one.
    let mut others: BTreeMap<&str, String> = BTreeMap::new();
    let mut kept = Vec::new();
    for OtherName { machine, name } in &readings.names {
        let count = others.len() + 1;
        let other = others.entry(name).or_insert_with(|| format!("host-{count}")).clone();
        kept.extend(machines.get(machine.as_str()).map(|machine| OtherName { machine: machine.clone(), name: other }));
    }
    Readings { series, names: kept, remarks: Vec::new(), ..readings.clone() }
}

#[cfg(test)]
mod tests {
    use linerate_record::readings::ReadMeasure;

    use super::*;

    #[test]
    fn no_name_is_left_and_the_same_stands_for_the_same() {
        let one = |of, machine: &str, part: &str| ReadSeries {
            of,
            machine: machine.to_owned(),
            part: part.to_owned(),
            values: vec![Some(1.0)],
        };
        let readings = Readings {
            series: vec![
                one(ReadMeasure::LinkSent, "secret10", "bond0"),
                one(ReadMeasure::LinkSent, "secret9", "bond0"),
                one(ReadMeasure::Throttled, "secret9", "tenant/secret-pod/minio"),
            ],
            names: vec![OtherName { machine: "secret9".to_owned(), name: "secret-nine".to_owned() }],
            remarks: vec!["secret".to_owned()],
            ..Readings::default()
        };
        let masked = masked(&readings);
        let text = serde_json::to_string(&masked).unwrap();
        assert!(!text.contains("secret") && !text.contains("tenant"), "{text}");
        let found: Vec<(&str, &str)> =
            masked.series.iter().map(|one| (one.machine.as_str(), one.part.as_str())).collect();
        assert_eq!(found, [("machine-1", "bond0"), ("machine-2", "bond0"), ("machine-1", "pod-1/minio")]);
        assert_eq!(masked.names[0].machine, "machine-1");
    }
}
