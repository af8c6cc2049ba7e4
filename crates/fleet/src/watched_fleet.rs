//! What agents read of many machines, put together step by step as the readings of one window.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::readings::{OtherName, READINGS_SCHEMA, ReadMeasure, ReadSeries, Readings};

use crate::watch_protocol::WatchMessage;

/// What is read seldom, since reading it takes locks or calls of firmware, stays for so long until it is read again.
const STAYS_MS: u64 = 15_000;

/// A machine of which readings come.
#[derive(Clone, Debug, Default)]
pub struct WatchedMachine {
    /// As the fleet names it.
    name: String,
    names: BTreeSet<String>,
    boot: String,
    series: Vec<ReadSeries>,
    /// The last step that came.
    step: u32,
    remarks: Vec<String>,
    own_drives: bool,
    sockets: String,
    took_us: Option<u64>,
}

/// All machines of a window.
#[derive(Clone, Debug)]
pub struct WatchedFleet {
    begin_unix_ms: i64,
    step_ms: u64,
    steps: u32,
    /// The last step of any machine.
    step: u32,
    machines: Vec<WatchedMachine>,
}

/// What was read up to some instant, to be shown while it goes on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PartialReadings {
    /// Machines that are there and count.
    pub machines: u32,
    /// Bytes per second that all of them sent in their last step, by all interfaces that a plane may be on.
    pub sent_bytes_per_s: f64,
    pub received_bytes_per_s: f64,
}

impl WatchedFleet {
    /// A window of so many steps, by machines with these names.
    #[must_use]
    pub fn new(begin_unix_ms: i64, step_ms: u64, steps: u32, names: &[&str]) -> WatchedFleet {
        let machine = |name: &&str| WatchedMachine { name: (*name).to_owned(), ..WatchedMachine::default() };
        let machines = names.iter().map(machine).collect();
        WatchedFleet { begin_unix_ms, step_ms, steps, step: 0, machines }
    }

    /// Takes what one machine's agent said, after it was checked. What sockets did, where that is whole now.
    pub fn take(&mut self, machine: usize, said: WatchMessage) -> Option<String> {
        let steps = self.steps as usize;
        let watched_machine = self.machines.get_mut(machine)?;
        match said {
            WatchMessage::Begun { names, boot, own_drives } => {
                watched_machine.names.extend(names);
                (watched_machine.boot, watched_machine.own_drives) = (boot, own_drives);
            }
            WatchMessage::Step(step) => {
                watched_machine.step = step.step;
                self.step = self.step.max(step.step);
                let name = watched_machine.name.clone();
                let begun = step.named.into_iter().map(|(measure, part)| ReadSeries {
                    of: measure,
                    machine: name.clone(),
                    part,
                    values: vec![None; steps],
                });
                watched_machine.series.extend(begun);
                let place = (step.step as usize).saturating_sub(1);
                for (series, value) in step.values {
                    let cell =
                        watched_machine.series.get_mut(series as usize).and_then(|series| series.values.get_mut(place));
                    cell.into_iter().for_each(|cell| *cell = Some(value));
                }
            }
            WatchMessage::Unread(what) => watched_machine.remarks.push(what),
            WatchMessage::Sockets { text, is_last } => {
                watched_machine.sockets.push_str(&text);
                return is_last.then(|| std::mem::take(&mut watched_machine.sockets));
            }
            WatchMessage::Ended { took_us } => watched_machine.took_us = Some(took_us),
        }
        None
    }

    /// A remark on a machine that no agent made.
    pub fn remark(&mut self, machine: usize, what: String) {
        self.machines.get_mut(machine).into_iter().for_each(|of| of.remarks.push(what.clone()));
    }

    /// Whether all that is awaited of a machine has come.
    #[must_use]
    pub fn is_over(&self, machine: usize) -> bool {
        self.machines.get(machine).is_none_or(|of| of.took_us.is_some())
    }

    /// The last step of any machine.
    #[must_use]
    pub const fn step(&self) -> u32 {
        self.step
    }

    /// How far it is. Machines and bytes are those of machines that count, by their places.
    #[must_use]
    pub fn so_far(&self, counts: impl Fn(usize) -> bool) -> PartialReadings {
        let mut far = PartialReadings::default();
        for (place, machine) in self.machines.iter().enumerate().filter(|(_, machine)| machine.step > 0) {
            if !counts(place) {
                continue;
            }
            far.machines += 1;
            let place = machine.step as usize - 1;
            let sum = |of: ReadMeasure| -> f64 {
                let series = machine.series.iter().filter(|series| series.of == of && is_carrier(&series.part));
                series.filter_map(|series| series.values.get(place).copied().flatten()).sum()
            };
            far.sent_bytes_per_s += sum(ReadMeasure::LinkSent);
            far.received_bytes_per_s += sum(ReadMeasure::LinkReceived);
        }
        far
    }

    /// The readings of the steps that have come, with a sentence for each that could not be read.
    #[must_use]
    pub fn readings(mut self) -> Readings {
        let shared = self.leave_out_shared();
        let steps = self.machines.iter().map(|machine| machine.step).max().unwrap_or(0);
        let mut readings = Readings {
            schema: READINGS_SCHEMA,
            source: "live".to_owned(),
            // The first step is over one step's length behind the begin.
            begin_unix_ms: self.begin_unix_ms.saturating_add(i64::try_from(self.step_ms).unwrap_or(0)),
            step_ms: self.step_ms,
            steps,
            interval_ms: self.step_ms,
            rate_over_ms: self.step_ms,
            ..Readings::default()
        };
        readings.remarks.extend(shared);
        let mut said: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
        let stays = usize::try_from(STAYS_MS / self.step_ms.max(1)).unwrap_or(usize::MAX);
        for machine in self.machines {
            let other = |name: String| OtherName { machine: machine.name.clone(), name };
            readings.names.extend(machine.names.into_iter().filter(|name| *name != machine.name).map(other));
            for what in machine.remarks {
                // Numbers of processes and the like make no remark another.
                let key: String = what.chars().filter(|c| !c.is_ascii_digit()).collect();
                said.entry(key).or_insert_with(|| (what, Vec::new())).1.push(machine.name.clone());
            }
            let whole = machine.series.into_iter().map(|mut series| {
                series.values.truncate(steps as usize);
                if is_seldom(series.of) {
                    stay(&mut series.values, stays);
                }
                series
            });
            readings.series.extend(whole);
        }
        readings.remarks.extend(said.into_values().map(|(what, names)| format!("{}: {what}", some(names))));
        readings
    }
}

/// Names, of which the first are told.
fn some(mut names: Vec<String>) -> String {
    const REPORTED: usize = 3;
    names.dedup();
    let more = names.len().saturating_sub(REPORTED);
    names.truncate(REPORTED);
    if more > 0 { format!("{} and {more} more", names.join(", ")) } else { names.join(", ") }
}

impl WatchedFleet {
    /// Leaves out what is of a whole machine where several of the fleet are namespaces or containers of it: its
    /// processors and its memory are no node's own, and a drive is only where one node's engine alone serves from it.
    /// A sentence for each such machine.
    fn leave_out_shared(&mut self) -> Vec<String> {
        let mut by_boot: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (place, machine) in self.machines.iter().enumerate().filter(|(_, machine)| !machine.boot.is_empty()) {
            by_boot.entry(machine.boot.clone()).or_default().push(place);
        }
        by_boot.retain(|_, places| places.len() > 1);
        let mut remarks = Vec::new();
        for places in by_boot.values() {
            let mut tellers: BTreeMap<String, usize> = BTreeMap::new();
            for place in places.iter().filter(|place| self.machines[**place].own_drives) {
                let reported = self.machines[*place].series.iter().filter(|series| is_of_drive(series.of));
                let drives: BTreeSet<&String> = reported.map(|series| &series.part).collect();
                drives.into_iter().for_each(|drive| *tellers.entry(drive.clone()).or_default() += 1);
            }
            for place in places {
                let machine = &mut self.machines[*place];
                machine.series.retain(|series| match is_of_drive(series.of) {
                    true => machine.own_drives && tellers.get(&series.part) == Some(&1),
                    false => !is_of_machine(series.of),
                });
            }
            let first: Vec<&str> = places.iter().take(3).map(|place| self.machines[*place].name.as_str()).collect();
            let more = if places.len() > first.len() { ", …" } else { "" };
            remarks.push(format!(
                "{} of the fleet ({}{more}) are on one machine: its processors, its memory and drives that they \
                 share are no node's own, and are not judged",
                places.len(),
                first.join(", ")
            ));
        }
        remarks
    }
}

/// What is read of a machine as a whole, whatever network namespace its reader is in, drives left aside.
const fn is_of_machine(of: ReadMeasure) -> bool {
    use ReadMeasure as M;
    matches!(
        of,
        M::CoresBusy
            | M::Cores
            | M::BusiestCore
            | M::CoresSoftirq
            | M::CoresStolen
            | M::CoreFrequency
            | M::QueueDrops
            | M::CpuPressure
            | M::IoPressure
            | M::MemoryPressure
            | M::MemoryAvailable
    )
}

/// What is read of a drive.
const fn is_of_drive(of: ReadMeasure) -> bool {
    use ReadMeasure as M;
    matches!(
        of,
        M::DriveRead
            | M::DriveWritten
            | M::DriveBusy
            | M::DriveQueue
            | M::DriveLatency
            | M::DriveDiscarded
            | M::DriveTemperature
    )
}

/// What is read less often than each second.
const fn is_seldom(of: ReadMeasure) -> bool {
    matches!(
        of,
        ReadMeasure::LinkSpeed
            | ReadMeasure::LinkPaused
            | ReadMeasure::LinkRingDrops
            | ReadMeasure::CoreFrequency
            | ReadMeasure::BusiestThread
            | ReadMeasure::DriveTemperature
    )
}

/// Interfaces that stand on no other: what a bond carries is counted at its members too, and the progress of a watch
/// needs no more than one of them.
fn is_carrier(part: &str) -> bool {
    !part.starts_with("bond") && !part.contains('.') && !part.starts_with("br")
}

/// Puts a value on the steps behind it, as far as it stays, and the first one on those before it.
fn stay(values: &mut [Option<f64>], stays: usize) {
    let first = values.iter().position(Option::is_some);
    if let Some(first) = first.filter(|first| *first <= stays) {
        let value = values[first];
        values[..first].fill(value);
    }
    let mut last: Option<(usize, f64)> = None;
    for (place, cell) in values.iter_mut().enumerate() {
        match *cell {
            Some(value) => last = Some((place, value)),
            None => *cell = last.filter(|(at, _)| place - at < stays).map(|(_, value)| value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch_protocol::WatchStep;

    fn step(number: u32, named: &[(ReadMeasure, &str)], values: &[(u32, f64)]) -> WatchMessage {
        let named = named.iter().map(|(of, part)| (*of, (*part).to_owned())).collect();
        WatchMessage::Step(Box::new(WatchStep { step: number, named, values: values.to_vec() }))
    }

    fn begun(names: &[&str], boot: &str, own_drives: bool) -> WatchMessage {
        let names = names.iter().map(ToString::to_string).collect();
        WatchMessage::Begun { names, boot: boot.to_owned(), own_drives }
    }

    #[test]
    fn steps_of_machines_become_series_of_one_window() {
        let mut fleet = WatchedFleet::new(10_000, 1_000, 60, &["n1", "n2"]);
        fleet.take(0, begun(&["host1", "node1"], "b1", false));
        fleet.take(0, step(1, &[(ReadMeasure::LinkSent, "eth0")], &[(0, 5.0)]));
        fleet.take(0, step(3, &[(ReadMeasure::LinkSpeed, "eth0")], &[(0, 7.0), (1, 100.0)]));
        fleet.take(1, step(2, &[(ReadMeasure::LinkSent, "eth0")], &[(0, 1.0)]));
        let far = fleet.so_far(|_| true);
        assert_eq!((fleet.step(), far.machines, far.sent_bytes_per_s), (3, 2, 8.0));
        fleet.take(1, WatchMessage::Unread("no sockets".to_owned()));
        assert!(!fleet.is_over(0));
        fleet.take(0, WatchMessage::Ended { took_us: 5 });
        assert!(fleet.is_over(0));
        let readings = fleet.readings();
        assert_eq!(readings.check(), Ok(()));
        assert_eq!((readings.begin_unix_ms, readings.steps), (11_000, 3));
        let values: Vec<&[Option<f64>]> = readings.series.iter().map(|series| &series.values[..]).collect();
        assert_eq!(values[0], [Some(5.0), None, Some(7.0)]);
        assert_eq!(values[1], [Some(100.0); 3], "a speed stays");
        assert_eq!(values[2], [None, Some(1.0), None]);
        let names: Vec<&str> = readings.names.iter().map(|of| of.name.as_str()).collect();
        assert_eq!((names, &readings.remarks[..]), (vec!["host1", "node1"], &["n2: no sockets".to_owned()][..]));
    }

    #[test]
    fn what_is_read_seldom_stays_for_a_while_and_no_longer() {
        let mut values = vec![None; 12];
        (values[2], values[3]) = (Some(1.0), Some(2.0));
        stay(&mut values, 4);
        let expected: Vec<Option<f64>> =
            [1, 1, 1, 2, 2, 2, 2, 0, 0, 0, 0, 0].map(|of| Some(f64::from(of)).filter(|of| *of > 0.0)).to_vec();
        assert_eq!(values, expected);
    }

    #[test]
    fn what_several_nodes_have_of_one_machine_is_no_nodes_own() {
        let mut fleet = WatchedFleet::new(0, 1_000, 5, &["n1", "n2", "n3", "n4"]);
        let fleet_of = [("a", true), ("a", true), ("a", false), ("b", false)];
        for (place, (boot, own_drives)) in fleet_of.into_iter().enumerate() {
            fleet.take(place, begun(&[], boot, own_drives));
            let own = format!("loop{place}");
            let named = [
                (ReadMeasure::CoresBusy, ""),
                (ReadMeasure::LinkSent, "eth0"),
                (ReadMeasure::DriveBusy, "sda"),
                (ReadMeasure::DriveBusy, own.as_str()),
            ];
            fleet.take(place, step(1, &named, &[(0, 1.0), (1, 2.0), (2, 0.5), (3, 0.5)]));
        }
        let readings = fleet.readings();
        let machines_with = |of: ReadMeasure| -> Vec<String> {
            let reported = readings.series.iter().filter(|series| series.of == of);
            reported.map(|series| format!("{} {}", series.machine, series.part)).collect()
        };
        assert_eq!((machines_with(ReadMeasure::CoresBusy).len(), machines_with(ReadMeasure::LinkSent).len()), (1, 4));
        assert_eq!(machines_with(ReadMeasure::DriveBusy), ["n1 loop0", "n2 loop1", "n4 sda", "n4 loop3"]);
        assert!(
            readings.remarks[0].starts_with("3 of the fleet (n1, n2, n3) are on one machine"),
            "{:?}",
            readings.remarks
        );
    }

    #[test]
    fn parts_of_what_sockets_did_are_whole_with_the_last() {
        let mut fleet = WatchedFleet::new(0, 1_000, 5, &["n1"]);
        let part = |text: &str, is_last| WatchMessage::Sockets { text: text.to_owned(), is_last };
        assert_eq!(fleet.take(0, part("{\"a\"", false)), None);
        assert_eq!(fleet.take(0, part(":1}", true)), Some("{\"a\":1}".to_owned()));
    }
}
