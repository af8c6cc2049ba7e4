//! What is asked of a soak.

use std::path::PathBuf;
use std::time::Duration;

use super::super::Failure;
use super::super::options::number;

pub(super) const USAGE: &str =
    "usage: cargo labs soak [--minutes N] [--rate N] [--every S] [--out DIR] [--data DIR] [--linerate PATH]
  --minutes N      how long (60)
  --rate N         requests per second (300)
  --every S        seconds from sample to sample (10)
  --out DIR        where results go (runs/soak-<date>)
  --data DIR       where MinIO's folders go (/dev/shm where it has room, else the temporary folder)
  --linerate PATH  a linerate that is built already (cargo builds one)
MINIO=path names the server, else it is sought on PATH and in target/servers.";

pub(super) struct Options {
    pub(super) minutes: u64,
    pub(super) rate_per_s: u64,
    pub(super) every: Duration,
    pub(super) out: Option<PathBuf>,
    pub(super) data: Option<PathBuf>,
    pub(super) linerate: Option<PathBuf>,
}

impl Options {
    pub(super) fn parse(args: &[String]) -> Result<Options, Failure> {
        let every = Duration::from_secs(10);
        let mut options = Options { minutes: 60, rate_per_s: 300, every, out: None, data: None, linerate: None };
        let mut args = args.iter();
        while let Some(flag) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{flag} lacks its value\n{USAGE}"));
            match flag.as_str() {
                "--minutes" => options.minutes = number(flag, value()?, 1..=1440)?,
                "--rate" => options.rate_per_s = number(flag, value()?, 1..=100_000)?,
                "--every" => options.every = Duration::from_secs(number(flag, value()?, 1..=60)?),
                "--out" => options.out = Some(value()?.into()),
                "--data" => options.data = Some(value()?.into()),
                "--linerate" => options.linerate = Some(value()?.into()),
                _ => return Err(format!("unknown argument {flag:?}\n{USAGE}").into()),
            }
        }
        Ok(options)
    }

    pub(super) fn duration(&self) -> Duration {
        Duration::from_secs(self.minutes * 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_quoted() {
        for (args, quoted) in [("--minutes 0", "\"0\""), ("--fast", "--fast"), ("--out", "--out")] {
            let args: Vec<String> = args.split(' ').map(String::from).collect();
            let error = Options::parse(&args).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(error.contains(quoted), "{args:?}: {error}");
        }
        assert_eq!(Options::parse(&[]).unwrap().duration(), Duration::from_secs(3600));
    }
}
