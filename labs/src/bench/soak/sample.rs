//! One look at linerate and at the server: memory, descriptors, threads, and what each has counted so far.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::{Value, json};

use super::super::Failure;
use super::super::programs::output;
use super::super::servers::MinIo;
use super::super::store::SCRATCH_BUCKET;
use crate::process::status_field;

/// Operations of the load, and what MinIO calls them.
pub(super) const OPS: [(&str, &str); 4] =
    [("get", "getobject"), ("stat", "headobject"), ("put", "putobject"), ("delete", "deleteobject")];

/// What was counted since the beginning.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counts {
    /// In the order of [`OPS`].
    pub(super) requests: [u64; 4],
    /// Bodies that the server sent.
    pub(super) read_bytes: u64,
    /// Bodies that the server received.
    pub(super) written_bytes: u64,
    /// Requests that failed; of the client only.
    pub(super) errors: u64,
}

/// Client and server at one time.
#[derive(Clone, Debug, Default)]
pub(super) struct Sample {
    /// Since linerate was started.
    pub(super) at_s: f64,
    pub(super) rss_bytes: u64,
    pub(super) descriptors: u64,
    pub(super) threads: u64,
    pub(super) server_rss_bytes: u64,
    pub(super) client: Counts,
    /// Up to half a minute old.
    pub(super) server: Counts,
}

impl Sample {
    pub(super) fn take(began: Instant, pid: u32, minio: &MinIo, folder: &mut RunFolder) -> Result<Sample, Failure> {
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let server_status = fs::read_to_string(format!("/proc/{}/status", minio.pid))?;
        Ok(Sample {
            at_s: began.elapsed().as_secs_f64(),
            rss_bytes: status_field(&status, "VmRSS").unwrap_or(0) << 10,
            descriptors: fs::read_dir(format!("/proc/{pid}/fd"))?.count() as u64,
            threads: status_field(&status, "Threads").unwrap_or(0),
            server_rss_bytes: status_field(&server_status, "VmRSS").unwrap_or(0) << 10,
            client: folder.counts()?,
            server: Counts::of_server(minio)?,
        })
    }

    pub(super) fn say(&self) -> String {
        let (rss, requests) = (self.rss_bytes as f64 / f64::from(1 << 20), self.client.requests.iter().sum::<u64>());
        let errors = self.client.errors;
        format!("{rss:.1} MiB resident, {} descriptors, {requests} requests, {errors} errors", self.descriptors)
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "at_s": (self.at_s * 1e3).round() / 1e3,
            "rss_bytes": self.rss_bytes,
            "descriptors": self.descriptors,
            "threads": self.threads,
            "server_rss_bytes": self.server_rss_bytes,
            "client": self.client.to_json(),
            "server": self.server.to_json(),
        })
    }
}

impl Counts {
    pub(super) fn of_server(minio: &MinIo) -> Result<Counts, Failure> {
        let metrics = |of: &str| {
            let address = format!("http://{}/minio/v2/metrics/{of}", minio.addr);
            output("curl", &["-sS", "--fail", "--max-time", "20", "--noproxy", "*", &address])
        };
        Ok(Counts::parse(&format!("{}\n{}", metrics("cluster")?, metrics("bucket")?)))
    }

    /// A counter that is not there yet has counted nothing.
    fn parse(metrics: &str) -> Counts {
        let value = |name: &str, label: &str| {
            let line = metrics.lines().find(|line| line.starts_with(name) && line.contains(label));
            line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).map_or(0, |value| value as u64)
        };
        let bucket = format!("bucket=\"{SCRATCH_BUCKET}\"");
        Counts {
            requests: OPS.map(|(_, api)| value("minio_s3_requests_total{", &format!("api=\"{api}\""))),
            read_bytes: value("minio_bucket_traffic_sent_bytes{", &bucket),
            written_bytes: value("minio_bucket_traffic_received_bytes{", &bucket),
            errors: 0,
        }
    }

    /// Adds what a line of `intervals.jsonl` tells.
    fn add(&mut self, interval: &Value) {
        for row in interval["rows"].as_array().into_iter().flatten() {
            let number = |key: &str| row[key].as_u64().unwrap_or(0);
            let op = row["op"].as_str().unwrap_or_default();
            if let Some(index) = OPS.iter().position(|(name, _)| *name == op) {
                self.requests[index] += number("requests");
            }
            match op {
                "get" => self.read_bytes += number("bytes"),
                "put" => self.written_bytes += number("bytes"),
                _ => {}
            }
            let errors = row["errors"].as_object().into_iter().flatten();
            self.errors += errors.filter_map(|(_, number)| number.as_u64()).sum::<u64>();
        }
    }

    fn to_json(&self) -> Value {
        let requests: serde_json::Map<String, Value> =
            OPS.iter().zip(self.requests).map(|((op, _), requests)| ((*op).to_owned(), requests.into())).collect();
        json!({
            "requests": requests,
            "read_bytes": self.read_bytes,
            "written_bytes": self.written_bytes,
            "errors": self.errors,
        })
    }
}

/// A run folder that is being written: each line is read once.
pub(super) struct RunFolder {
    intervals: PathBuf,
    read_bytes: u64,
    counts: Counts,
}

impl RunFolder {
    pub(super) fn new(folder: &Path) -> RunFolder {
        RunFolder { intervals: folder.join("intervals.jsonl"), read_bytes: 0, counts: Counts::default() }
    }

    /// What its whole lines tell; nothing, before there is one.
    pub(super) fn counts(&mut self) -> Result<Counts, Failure> {
        if let Ok(mut file) = File::open(&self.intervals) {
            let mut text = String::new();
            file.seek(SeekFrom::Start(self.read_bytes))?;
            file.read_to_string(&mut text)?;
            for line in text.split_inclusive('\n').filter(|line| line.ends_with('\n')) {
                self.counts.add(&serde_json::from_str(line)?);
                self.read_bytes += line.len() as u64;
            }
        }
        Ok(self.counts.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_those_of_the_bucket_and_the_operations() {
        let metrics = "# TYPE minio_s3_requests_total counter
            minio_s3_requests_total{api=\"deleteobject\",server=\"s\"} 108
            minio_s3_requests_total{api=\"getobject\",server=\"s\"} 1.5e+06
            minio_s3_requests_ttfb_seconds_distribution{api=\"putobject\",le=\"+Inf\",server=\"s\"} 9
            minio_bucket_traffic_received_bytes{bucket=\"other\",server=\"s\"} 1
            minio_bucket_traffic_received_bytes{bucket=\"bench-scratch\",server=\"s\"} 2.5e+07";
        let metrics: String = metrics.lines().map(|line| line.trim_start().to_owned() + "\n").collect();
        let counts = Counts::parse(&metrics);
        assert_eq!(counts.requests, [1_500_000, 0, 0, 108]);
        assert_eq!((counts.written_bytes, counts.read_bytes), (25_000_000, 0));
    }

    #[test]
    fn rows_of_an_interval_are_added_with_their_errors() {
        let line = r#"{"rows":[{"op":"get","requests":3,"bytes":30,"errors":{"timeout":2}},
            {"op":"put","requests":1,"bytes":7},{"op":"list","requests":9,"bytes":9}]}"#;
        let mut counts = Counts::default();
        counts.add(&serde_json::from_str(line).unwrap());
        counts.add(&serde_json::from_str(line).unwrap());
        assert_eq!(counts, Counts { requests: [6, 0, 2, 0], read_bytes: 60, written_bytes: 14, errors: 4 });
    }
}
