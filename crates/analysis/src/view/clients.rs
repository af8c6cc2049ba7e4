//! What each of several clients did at a point.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{ClientCeiling, Estimate, Measure, Point, Series, View};

/// Figures of one of several clients at one point, of the time in which all of them drove load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientFigures {
    pub client: String,
    pub requests: u64,
    pub errors: u64,
    /// Requests per second.
    pub requests_per_s: f64,
    /// Body bytes per second.
    pub bytes_per_s: f64,
    /// Its part of the throughput of all, from 0 to 1, in the series' measure.
    #[serde(default)]
    pub share: f64,
    /// Half the width of the 95 % interval of its throughput, as a share of it; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub half_width_share: Option<f64>,
    /// Median time to first byte, in nanoseconds; of an open loop, from when requests were due.
    pub ttfb_p50_ns: u64,
    /// Median time to last byte, in nanoseconds, from the same instants.
    pub total_p50_ns: u64,
    /// 99th percentile of the time to last byte, in nanoseconds, from the same instants.
    pub total_p99_ns: u64,
    /// Times to first byte from this value on are at least what they say: some requests had none. Absent where
    /// none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttfb_at_least_ns: Option<u64>,
    /// The same of times to last byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_at_least_ns: Option<u64>,
    /// Mean share of their time that its event-loop threads ran, 0 to 1.
    pub busy: Option<f64>,
    /// Mean share of all processors of its machine in use, 0 to 1; absent without readings.
    pub machine_busy: Option<f64>,
    /// Its interface that was nearest to its speed, or that carried most where no speed is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nic: Option<ClientNic>,
    /// TCP segments that its machine sent again, per second; absent without readings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retransmits_per_s: Option<f64>,
    /// Its throughput as a share of what it drove against the null target; absent where that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling_share: Option<f64>,
    /// By what share of the median of all clients it was slower, where that is beyond chance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_peers: Option<f64>,
    /// What of it was full; absent where nothing was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full: Option<ClientFull>,
}

/// An interface of a client, over a point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientNic {
    pub name: String,
    /// What it carried in the busier direction, in bits per second.
    pub bits_per_s: f64,
    /// The same as a share of its speed; absent where that is not known.
    pub utilisation: Option<f64>,
}

/// What of a client was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientFull {
    Threads,
    /// It drove as much as against the null target.
    NullTarget,
    Nic,
}

/// What clients gave each at a point, in the series' measure: bytes or requests per second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientSpread {
    pub lowest: f64,
    pub median: f64,
    pub highest: f64,
}

impl ClientSpread {
    /// That of some rows; `None` of none.
    #[must_use]
    pub fn new(rows: &[ClientFigures], measure: Measure) -> Option<ClientSpread> {
        let mut all: Vec<f64> = rows.iter().map(|row| row.throughput(measure)).collect();
        all.sort_unstable_by(f64::total_cmp);
        let (&lowest, &highest) = all.first().zip(all.last())?;
        let median = 0.5 * (all[(all.len() - 1) / 2] + all[all.len() / 2]);
        Some(ClientSpread { lowest, median, highest })
    }
}

impl ClientFigures {
    /// The throughput that tells the story of a series of this measure.
    #[must_use]
    pub const fn throughput(&self, measure: Measure) -> f64 {
        match measure {
            Measure::Bytes => self.bytes_per_s,
            Measure::Requests => self.requests_per_s,
        }
    }
}

impl View {
    /// What linerate drives against the null target from the clients of a series; absent where that was not measured.
    #[must_use]
    pub fn ceiling_of(&self, series: &Series) -> Option<Cow<'_, ClientCeiling>> {
        ceiling_of(&self.ceilings, series)
    }
}

/// The ceiling of a series: the one that its clients drove, or their part of the one that more of them drove.
pub(crate) fn ceiling_of<'a>(ceilings: &'a [ClientCeiling], series: &Series) -> Option<Cow<'a, ClientCeiling>> {
    let of_series = || ceilings.iter().filter(|c| c.workload == series.workload && c.size == series.size);
    if let Some(own) = of_series().find(|c| c.clients == series.clients) {
        return Some(Cow::Borrowed(own));
    }
    let wanted = series.clients? as usize;
    let more = of_series().filter(|c| c.point.clients.len() >= wanted);
    more.min_by_key(|c| c.point.clients.len()).map(|c| Cow::Owned(first_clients_part(c, wanted)))
}

/// What the first clients of a ceiling drove of it.
fn first_clients_part(ceiling: &ClientCeiling, clients: usize) -> ClientCeiling {
    let client_part = |point: &Point| {
        let (rows, all) = (&point.clients[..clients.min(point.clients.len())], point.clients.len().max(1));
        let sum = |estimate: &Estimate, of: Measure| {
            let mean = rows.iter().map(|row| row.throughput(of)).sum::<f64>();
            // Of a part, the interval of the whole says nothing.
            Estimate { mean, half_width_95: None, ..*estimate }
        };
        Point {
            concurrency: (u64::from(point.concurrency) * rows.len() as u64 / all as u64).max(1) as u32,
            bytes_per_s: sum(&point.bytes_per_s, Measure::Bytes),
            requests_per_s: sum(&point.requests_per_s, Measure::Requests),
            requests: rows.iter().map(|row| row.requests).sum(),
            driven_by: u32::try_from(rows.len()).ok(),
            clients: rows.to_vec(),
            // Nobody asks for it of a part.
            client_spread: None,
            ..point.clone()
        }
    };
    ClientCeiling {
        clients: u32::try_from(clients).ok(),
        point: client_part(&ceiling.point),
        plain: ceiling.plain.as_ref().map(client_part),
        ..ceiling.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_apart_by_what_each_gave_in_the_measure_of_the_series() {
        let row = |bytes_per_s: f64| ClientFigures { bytes_per_s, requests_per_s: 7.0, ..ClientFigures::default() };
        let spread_of_rates = |rates: &[f64]| {
            let spread = ClientSpread::new(&rates.iter().copied().map(row).collect::<Vec<_>>(), Measure::Bytes)?;
            Some((spread.lowest, spread.median, spread.highest))
        };
        assert_eq!(spread_of_rates(&[]), None);
        assert_eq!(spread_of_rates(&[5.0, 1.0, 4.0]), Some((1.0, 4.0, 5.0)));
        assert_eq!(spread_of_rates(&[5.0, 1.0, 4.0, 2.0]), Some((1.0, 3.0, 5.0)));
        assert_eq!(ClientSpread::new(&[row(3.0)], Measure::Requests).unwrap().median, 7.0);
    }
}
