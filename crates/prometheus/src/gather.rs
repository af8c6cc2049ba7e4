//! Asks for everything in the table over a window, and makes readings of the answers.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::device_name::{is_partition, nvme_head_of_path};
use linerate_record::readings::{
    AbsentReading, ImpossibleValues, OtherName, READINGS_SCHEMA, ReadMeasure, ReadSeries, Readings, VALUES_MAX,
    is_reading,
};
use linerate_record::sanitize::named_some;
use linerate_record::site::Product;

use crate::api_response::{FoundSeries, Labels, Matrix, WARNINGS_MAX, matrix};
use crate::error::PrometheusError;
use crate::failed_queries::FailedQueries;
use crate::http_call::PrometheusServer;
use crate::machine_labels::{host_without_port, naming_label};
use crate::missing_labels::{self, MissingLabels};
use crate::name_map::NameMap;
use crate::scrape_gaps;
use crate::series_table::{NAMES, NameRow, SCRAPED, SeriesNeed, SourceRow, rows};

/// Instants of a window, unless the step is given: columns that a page has room for.
const STEPS: u64 = 240;

/// Points of a series in one answer: Prometheus itself gives up to 11,000.
const POINTS_MAX: u64 = 10_000;

/// A rate is a mean over so many scrapes, so that one that is late or lost leaves no hole.
const SCRAPES: u64 = 4;

/// How far apart scrapes are taken to be where nothing shows it.
const INTERVAL_MS: u64 = 60_000;

/// Over how much of the window the distance of scrapes is looked at, at a time.
const LOOK_MS: u64 = 600_000;

/// The same, so short that some have no hole in them.
const SHORT_LOOK_MS: u64 = 150_000;

/// What scrapes by a short look are of those by a long one at least, where none is lacking: a look has one more or
/// less.
const LIKE_THE_LONG: f64 = 0.9;

/// Most series of all answers together: 484 machines with 60 each have 29,000.
const SERIES_MAX: usize = 200_000;

/// How often a window is halved because its answer is late: a server that is slow with a quarter is slow with all.
const HALVED_MOST: u32 = 2;

/// From when to when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatheredWindow {
    /// Milliseconds since 1970.
    pub from_unix_ms: i64,
    /// Behind `from_unix_ms`.
    pub to_unix_ms: i64,
    /// Between instants, where it is stated.
    pub step_ms: Option<u64>,
}

impl GatheredWindow {
    fn length_ms(&self) -> u64 {
        u64::try_from(self.to_unix_ms - self.from_unix_ms).unwrap_or(0).max(1)
    }
}

/// Instants that are asked for.
#[derive(Clone, Copy, Debug, Default)]
struct Instants {
    begin_unix_ms: i64,
    step_ms: u64,
    steps: u64,
}

impl Instants {
    fn at(&self, step: u64) -> i64 {
        self.begin_unix_ms + i64::try_from(step * self.step_ms).unwrap_or(i64::MAX / 2)
    }

    /// The step of an instant.
    fn step_at(&self, unix_s: f64) -> Option<usize> {
        let behind = unix_s * 1000.0 - self.begin_unix_ms as f64;
        let step = (behind / self.step_ms as f64).round();
        (step >= 0.0 && step < self.steps as f64).then_some(step as usize)
    }
}

/// Readings of a window, of all machines that the names select. `tell` hears what is being asked for.
///
/// # Errors
/// Where the server cannot be asked, or has nothing of any machine in that window.
pub fn gather(
    server: &mut PrometheusServer,
    window: GatheredWindow,
    names: &NameMap,
    product: Product,
    mut tell: impl FnMut(&str),
) -> Result<Readings, PrometheusError> {
    let mut remarks = Vec::new();
    let interval_ms = interval(server, window, names)?.unwrap_or_else(|| {
        let assumed = format!("how often machines are scraped does not show: {} s is assumed", INTERVAL_MS / 1000);
        remarks.push(assumed);
        INTERVAL_MS
    });
    let instants = instants(window, interval_ms);
    let over_ms = (SCRAPES * interval_ms).max(instants.step_ms);
    let mut gathered = Gathered { instants, over_ms, remarks, ..Gathered::default() };
    ask_rows(server, names, product, &mut gathered, &mut tell)?;
    gathered.leave_out_parts_of_drives();
    let answered = gathered.answered;
    let mut warnings = relabelled(server, window, names, &gathered.unlabelled)?;
    if gathered.found.is_empty() {
        return Err(gathered.unread.first().cloned().unwrap_or_else(|| nothing(answered, names, warnings)));
    }
    let names = other_names(server, window, names, &mut gathered)?;
    warnings.extend(gathered.refused.take());
    warnings.extend(gathered.unread.reported());
    warnings.extend(scrape_gaps::reported(&gathered.found, instants.steps as usize, |step| instants.at(step as u64)));
    gathered.remarks.extend(gathered.left_out.remarks());
    let mut absent = std::mem::take(&mut gathered.absent);
    absent.retain(|absent| !gathered.has(absent.of));
    absent.extend(nothing_exported(product));
    let mut series: Vec<ReadSeries> = Vec::with_capacity(gathered.found.len());
    for ((of, machine, part), values) in gathered.found {
        series.push(ReadSeries { of, machine, part, values });
    }
    Ok(Readings {
        schema: READINGS_SCHEMA,
        source: "prometheus".to_owned(),
        begin_unix_ms: instants.begin_unix_ms,
        step_ms: instants.step_ms,
        steps: u32::try_from(instants.steps).unwrap_or(u32::MAX),
        interval_ms,
        rate_over_ms: over_ms,
        series,
        names,
        absent,
        remarks: gathered.remarks,
        warnings,
        stated: Vec::new(),
        sockets: Vec::new(),
    })
}

/// Asks for every row that the engine has. A query that is refused is one that this version of an exporter or of
/// Prometheus does not allow, and leaves the others; so does one of which no answer comes, unless nothing was answered
/// yet: a server that is late with the first is late with all.
fn ask_rows(
    server: &mut PrometheusServer,
    names: &NameMap,
    product: Product,
    gathered: &mut Gathered,
    tell: &mut impl FnMut(&str),
) -> Result<(), PrometheusError> {
    let (instants, mut refused, mut late) = (gathered.instants, Vec::new(), u64::MAX);
    for row in rows().filter(|row| row.exporter.is_for_product(product)) {
        if gathered.has(row.of) {
            continue;
        }
        tell(row.metric);
        let query = names.expression(row.expression, &format!("{}ms", gathered.over_ms));
        match over_steps(server, &instants, (0, instants.steps), &query, HALVED_MOST, &mut late) {
            Ok(matrix) => {
                gathered.answered += 1;
                gathered.unread.answered();
                gathered.take(row, names, matrix)?;
            }
            Err(fault) if fault.is_of_load() || fault.is_passing() && gathered.answered > 0 => {
                // Several rows are of one metric: which of its readings is lacking is to be known.
                gathered.unread.note(&format!("{} ({})", row.of.name(), names.resolve(row.metric)), fault)?;
                continue;
            }
            Err(PrometheusError::Query { query, kind, message }) => {
                gathered.remarks.push(format!("{}: {kind}: {message}", row.metric));
                refused.push((row, query, kind, message));
                continue;
            }
            Err(fault) => return Err(fault),
        }
        if !gathered.has(row.of) && row.need != SeriesNeed::Rare {
            gathered.absent.push(absent_row(row, names));
        }
    }
    // What is refused is not lacking: nothing more is to be scraped for it.
    refused.retain(|(row, ..)| row.need != SeriesNeed::Rare && !gathered.has(row.of));
    gathered.absent.retain(|absent| !refused.iter().any(|(row, ..)| row.of == absent.of));
    if let Some((_, _, kind, message)) = refused.first().filter(|_| gathered.answered > 0) {
        let metrics = named_some(refused.iter().map(|(row, ..)| names.resolve(row.metric)));
        gathered.refused =
            Some(format!("Prometheus refused to read {metrics}, which need not be lacking: {kind}: {message}"));
    }
    let count = refused.len();
    match refused.into_iter().next().filter(|_| gathered.answered == 0) {
        Some((_, query, kind, message)) => Err(PrometheusError::AllRefused { count, query, kind, message }),
        None => Ok(()),
    }
}

/// What Garage does not export.
fn nothing_exported(product: Product) -> Option<AbsentReading> {
    (product == Product::Garage).then(|| AbsentReading {
        of: ReadMeasure::ClientSent,
        metric: "none".to_owned(),
        from: "Garage exports no bytes per client or request: links show what nodes carry".to_owned(),
        is_needed: false,
    })
}

fn absent_row(row: &SourceRow, names: &NameMap) -> AbsentReading {
    AbsentReading {
        of: row.of,
        metric: names.resolve(row.metric).to_owned(),
        from: row.exporter.scraped().to_owned(),
        is_needed: row.need == SeriesNeed::Needed,
    }
}

/// Labels that have another name here, with what to map, and the labels that there are.
fn relabelled(
    server: &mut PrometheusServer,
    window: GatheredWindow,
    names: &NameMap,
    unlabelled: &MissingLabels,
) -> Result<Vec<String>, PrometheusError> {
    let at_end = Instants { begin_unix_ms: window.to_unix_ms, step_ms: 1000, steps: 1 };
    let mut reported = Vec::new();
    for (label, lacking) in unlabelled.all() {
        let query = names.expression(&format!("topk(1, {}{{%S}})", lacking.metric), "");
        let one = match ask(server, &at_end, (0, 1), &query) {
            Ok(found) => found.series.into_iter().next(),
            Err(fault) if fault.is_passing() => None,
            Err(PrometheusError::Query { .. }) => None,
            Err(fault) => return Err(fault),
        };
        reported.push(missing_labels::reported(label, lacking, names, one.as_ref().map(|one| &one.metric)));
    }
    Ok(reported)
}

/// Why nothing at all was found.
fn nothing(queries: usize, names: &NameMap, relabelled: Vec<String>) -> PrometheusError {
    let why = match relabelled.into_iter().next() {
        Some(first) => first,
        None if names.is_selecting() => "check --select, and whether --from and --to hold what was scraped".to_owned(),
        None => "check whether --from and --to hold what was scraped, that node_exporter is, and names that are \
                 relabelled, with --map"
            .to_owned(),
    };
    PrometheusError::Nothing { queries, why }
}

/// How far apart scrapes are: the least of what the window shows. A long look is exact, and a short one finds a time
/// without holes.
fn interval(
    server: &mut PrometheusServer,
    window: GatheredWindow,
    names: &NameMap,
) -> Result<Option<u64>, PrometheusError> {
    for template in SCRAPED {
        let mut by_look = |look_ms, least| scraped_each(server, window, look_ms, template, names, least);
        let (long, short) = (by_look(LOOK_MS, 2.0)?, by_look(SHORT_LOOK_MS, 4.0)?);
        let without_holes = short.filter(|short| long.is_none_or(|long| *short < LIKE_THE_LONG * long));
        if let Some(interval) = without_holes.or(long) {
            // Scrapes are whole seconds apart, if they are not far below one.
            return Ok(Some(((interval / 1000.0).round().max(1.0) * 1000.0) as u64));
        }
    }
    Ok(None)
}

/// Milliseconds between scrapes by the most that a look of this length holds, if these are not fewer than `least`.
fn scraped_each(
    server: &mut PrometheusServer,
    window: GatheredWindow,
    look_ms: u64,
    template: &str,
    names: &NameMap,
    least: f64,
) -> Result<Option<f64>, PrometheusError> {
    let look_ms = window.length_ms().min(look_ms);
    let steps = window.length_ms().div_ceil(look_ms).min(STEPS);
    let step_ms = window.length_ms() / steps;
    let begin_unix_ms = window.to_unix_ms - i64::try_from((steps - 1) * step_ms).unwrap_or(0);
    let query = names.expression(template, &format!("{look_ms}ms"));
    let found = ask(server, &Instants { begin_unix_ms, step_ms, steps }, (0, steps), &query)?;
    let most = found.series.iter().flat_map(|series| &series.values).map(|(_, value)| value.0).fold(0.0, f64::max);
    Ok((most >= least).then_some(look_ms as f64 / most))
}

/// Instants of a window: no closer than scrapes, and no rate of them reaches before the window where that is long
/// enough.
fn instants(window: GatheredWindow, interval_ms: u64) -> Instants {
    let length_ms = window.length_ms();
    let coarse_ms = length_ms.div_ceil(STEPS).div_ceil(interval_ms) * interval_ms;
    let step_ms = window.step_ms.unwrap_or(coarse_ms).max(interval_ms);
    let over_ms = (SCRAPES * interval_ms).max(step_ms);
    let skipped_ms = if length_ms >= 3 * over_ms { over_ms } else { 0 };
    let steps = ((length_ms - skipped_ms) / step_ms + 1).min(u64::from(linerate_record::readings::STEPS_MAX));
    let begin_unix_ms = window.to_unix_ms - i64::try_from((steps - 1) * step_ms).unwrap_or(0);
    Instants { begin_unix_ms, step_ms, steps }
}

/// An answer over some steps: in parts, where the whole is too much. Where it is late, parts are halved so often. From
/// `late` steps on, an answer was late of which the parts were not: as many are not asked for again.
fn over_steps(
    server: &mut PrometheusServer,
    instants: &Instants,
    (first, end): (u64, u64),
    query: &str,
    mut halved: u32,
    late: &mut u64,
) -> Result<Matrix, PrometheusError> {
    let (steps, mut is_late) = (end - first, false);
    let is_known = steps >= (*late).max(2) && halved > 0;
    let whole = if is_known || steps > POINTS_MAX { None } else { Some(ask(server, instants, (first, end), query)) };
    match whole {
        Some(Ok(found)) => return Ok(found),
        Some(Err(fault)) if steps < 2 => return Err(fault),
        Some(Err(fault)) if fault.is_of_time() && halved > 0 => (halved, is_late) = (halved - 1, true),
        Some(Err(fault)) if !fault.is_of_size() => return Err(fault),
        None if is_known => halved -= 1,
        Some(Err(_)) | None => {}
    }
    let middle = first + steps / 2;
    let mut found = over_steps(server, instants, (first, middle), query, halved, late)?;
    let more = over_steps(server, instants, (middle, end), query, halved, late)?;
    if is_late {
        *late = steps.min(*late);
    }
    found.series.extend(more.series);
    found.warnings.extend(more.warnings);
    found.warnings.truncate(WARNINGS_MAX + 1);
    Ok(found)
}

fn ask(
    server: &mut PrometheusServer,
    instants: &Instants,
    (first, end): (u64, u64),
    query: &str,
) -> Result<Matrix, PrometheusError> {
    let seconds = |unix_ms: i64| format!("{}.{:03}", unix_ms.div_euclid(1000), unix_ms.rem_euclid(1000));
    let (start, stop) = (seconds(instants.at(first)), seconds(instants.at(end.max(1) - 1)));
    let step = format!("{}.{:03}", instants.step_ms / 1000, instants.step_ms % 1000);
    let form = [("query", query), ("start", &start), ("end", &stop), ("step", &step)];
    let answer = server.ask("/api/v1/query_range", &form, query)?;
    let url = format!("{}/api/v1/query_range", server.url());
    let mut found = matrix(&answer, &url, query).map_err(|fault| fault.quoted(|text| server.without_secrets(text)))?;
    found.warnings = found.warnings.iter().map(|text| server.without_secrets(text)).collect();
    Ok(found)
}

/// A measure, its machine and the part of that.
type SeriesKey = (ReadMeasure, String, String);

/// What is there so far.
#[derive(Default)]
struct Gathered {
    instants: Instants,
    /// Over how long each rate is a mean.
    over_ms: u64,
    /// Queries that were answered.
    answered: usize,
    unread: FailedQueries,
    /// What was refused, and is read by no other query.
    refused: Option<String>,
    absent: Vec<AbsentReading>,
    found: BTreeMap<SeriesKey, Vec<Option<f64>>>,
    remarks: Vec<String>,
    /// Warnings of the server's that are among the remarks.
    warned: BTreeSet<String>,
    left_out: ImpossibleValues,
    unlabelled: MissingLabels,
}

impl Gathered {
    fn has(&self, of: ReadMeasure) -> bool {
        self.found.range((of, String::new(), String::new())..).next().is_some_and(|((found, ..), _)| *found == of)
    }

    /// Takes a warning of the server's, if it is not known and there are not too many.
    fn warn(&mut self, warning: String) {
        if self.warned.len() > WARNINGS_MAX || self.warned.contains(&warning) {
            return;
        }
        self.remarks.push(match self.warned.len() {
            WARNINGS_MAX => format!("Prometheus warns of more: {WARNINGS_MAX} of its warnings are kept"),
            _ => format!("Prometheus warns: {warning}"),
        });
        self.warned.insert(warning);
    }

    fn take(&mut self, row: &SourceRow, names: &NameMap, matrix: Matrix) -> Result<(), PrometheusError> {
        for warning in matrix.warnings {
            self.warn(warning);
        }
        self.unlabelled.note(row, names, &matrix.series);
        let mut servers: BTreeMap<(SeriesKey, String), Vec<Option<f64>>> = BTreeMap::new();
        for FoundSeries { metric, values } in matrix.series {
            let label = |label: &str| label_value(&metric, names.resolve(label));
            let Some(machine) = naming_label(row.machine, label) else { continue };
            let server = naming_label(row.server, label).unwrap_or_default();
            // A label that is missing keeps its place: else nobody could tell a pod from a container.
            let parts: Vec<&str> = row.part.iter().map(|part| label(part).unwrap_or_default()).collect();
            let key = (row.of, host_without_port(machine).to_owned(), parts.join("/"));
            let steps = self.instants.steps as usize;
            self.bounded(servers.len())?;
            let kept = servers.entry((key, server.to_owned())).or_insert_with(|| vec![None; steps]);
            for (at, value) in values {
                let Some(place) = self.instants.step_at(at).and_then(|step| kept.get_mut(step)) else { continue };
                // What is nothing by nothing is no value.
                if !value.0.is_finite() {
                    continue;
                }
                if !is_reading(value.0) {
                    self.left_out.add(row.of, host_without_port(machine));
                    continue;
                }
                let value = rounded(value.0);
                *place = Some(place.map_or(value, |before| before.max(value)));
            }
        }
        servers.retain(|_, values| values.iter().any(Option::is_some));
        for ((key, _), values) in servers {
            let kept = self.found.entry(key).or_insert_with(|| vec![None; values.len()]);
            for (cell, value) in kept.iter_mut().zip(values) {
                *cell = cell.map_or(value, |before| Some(rounded(before + value.unwrap_or(0.0))));
            }
        }
        Ok(())
    }

    /// Leaves out partitions of drives, and the paths of NVMe drives, where the drives count themselves, as those of
    /// NVMe do since Linux 6.2: both show the same bytes.
    fn leave_out_parts_of_drives(&mut self) {
        use ReadMeasure::{DriveBusy, DriveDiscarded, DriveLatency, DriveQueue, DriveRead, DriveWritten};
        let counts = |(of, _, _): &SeriesKey, values: &[Option<f64>]| {
            matches!(of, DriveRead | DriveWritten | DriveBusy) && values.iter().flatten().any(|value| *value > 0.0)
        };
        let counting = self.found.iter().filter(|(key, values)| counts(key, values));
        let mut wholes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for ((_, machine, part), _) in counting {
            wholes.entry(machine.clone()).or_default().insert(part.clone());
        }
        self.found.retain(|(of, machine, part), _| {
            let is_of_drive =
                matches!(of, DriveRead | DriveWritten | DriveBusy | DriveDiscarded | DriveLatency | DriveQueue);
            let Some(wholes) = wholes.get(machine).filter(|_| is_of_drive) else { return true };
            let is_path = nvme_head_of_path(part).is_some_and(|head| wholes.contains(&head));
            !is_path && !wholes.iter().any(|whole| is_partition(part, whole))
        });
    }

    /// Refuses to keep more than the largest cluster has, which would take all memory in time.
    fn bounded(&self, more: usize) -> Result<(), PrometheusError> {
        let series = self.found.len() + more;
        if series >= SERIES_MAX {
            return Err(PrometheusError::TooMuch { most: format!("{SERIES_MAX} series") });
        }
        if series as u64 * self.instants.steps >= VALUES_MAX {
            return Err(PrometheusError::TooMuch { most: format!("{} million values", VALUES_MAX / 1_000_000) });
        }
        Ok(())
    }
}

/// To six digits: more than any counter is worth, and a file of a third of the size.
pub(crate) fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

fn label_value<'l>(labels: &'l Labels, name: &str) -> Option<&'l str> {
    labels.get(name).map(String::as_str).filter(|value| !value.is_empty())
}

/// Other names of the machines that have series.
fn other_names(
    server: &mut PrometheusServer,
    window: GatheredWindow,
    names: &NameMap,
    gathered: &mut Gathered,
) -> Result<Vec<OtherName>, PrometheusError> {
    // A pod's name is the first label of its address.
    let mut machines: BTreeMap<&str, &str> = BTreeMap::new();
    for (_, machine, _) in gathered.found.keys() {
        machines.entry(machine.split('.').next().unwrap_or(machine)).or_insert(machine);
    }
    machines.extend(gathered.found.keys().map(|(_, machine, _)| (machine.as_str(), machine.as_str())));
    let at_end = Instants { begin_unix_ms: window.to_unix_ms, step_ms: 1000, steps: 1 };
    let mut others = Vec::new();
    for row in NAMES {
        let NameRow { expression, machine, name } = row;
        let query = names.expression(expression, &format!("{}ms", window.length_ms().max(LOOK_MS)));
        let found = match ask(server, &at_end, (0, 1), &query) {
            Ok(found) => {
                gathered.unread.answered();
                found
            }
            // That nodes have other names is as good as unknown then, which has to be known.
            Err(fault) if fault.is_passing() => {
                gathered.unread.note(&format!("other names of machines ({name})"), fault)?;
                continue;
            }
            Err(PrometheusError::Query { .. } | PrometheusError::TooLarge { .. }) => continue,
            Err(fault) => return Err(fault),
        };
        for FoundSeries { metric, .. } in found.series {
            let machine_host = label_value(&metric, names.resolve(machine)).map(host_without_port);
            let (Some(of), Some(other)) = (machine_host, label_value(&metric, names.resolve(name))) else { continue };
            if let Some(known) = machines.get(of) {
                others.push(OtherName { machine: (*known).to_owned(), name: other.to_owned() });
            }
        }
    }
    others.sort();
    others.dedup();
    Ok(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_of_a_server_are_kept_once_and_not_without_end() {
        let mut gathered = Gathered::default();
        for number in (0..10).chain(0..1_000_000) {
            gathered.warn(format!("warning {number}"));
        }
        assert_eq!(gathered.remarks.len(), WARNINGS_MAX + 1);
        assert_eq!(gathered.remarks[WARNINGS_MAX], "Prometheus warns of more: 100 of its warnings are kept");
    }

    #[test]
    fn instants_are_no_closer_than_scrapes_and_end_with_the_window() {
        let window = |length_ms: i64, step_ms| GatheredWindow { from_unix_ms: 0, to_unix_ms: length_ms, step_ms };
        for (window, interval_ms, step_ms, steps) in [
            (window(20_000, None), 1000, 1000, 17),
            (window(3_600_000, None), 15_000, 15_000, 237),
            (window(86_400_000, None), 15_000, 360_000, 240),
            (window(60_000, None), 30_000, 30_000, 3),
            (window(3_600_000, Some(60_000)), 15_000, 60_000, 60),
            (window(3_600_000, Some(1)), 15_000, 15_000, 237),
        ] {
            let found = instants(window, interval_ms);
            assert_eq!((found.step_ms, found.steps), (step_ms, steps), "{window:?}");
            assert_eq!(found.at(found.steps - 1), window.to_unix_ms);
        }
    }

    #[test]
    fn values_keep_six_digits() {
        assert_eq!(rounded(123_456_789.0), 123_457_000.0);
        assert_eq!(rounded(0.0), 0.0);
        assert_eq!(rounded(-1.5), -1.5);
    }
}
