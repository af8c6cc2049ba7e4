//! Flags of `linerate net`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use ipnet::IpNet;
use linerate_record::net::{NET_DATAGRAM_BYTES, NET_REQUEST_BYTES_MAX, NET_STREAMS_MAX, NetOp, NetWay};
use linerate_record::units::{BitRate, ByteRate, Bytes, bits_meant, parse_duration};

use super::preset::NetPreset;
use crate::observed::SitePlane;
use crate::reaching::flags::ReachFlags;

const HELP: &str = "\
Every machine of the fleet sends to every other in rounds, in each of which a machine sends to one other and receives
from one other. Rounds and numbers of streams are interleaved and repeated, so that a pair has a mean with an interval,
and a pair or a machine is called slow only where that is beyond chance. The receiver counts; the sender's kernel says
what limited its flows.

Examples:
  linerate net --fleet fleet.yaml --yes-load
  linerate net --fleet fleet.yaml --network 10.2.0.0/16 --streams 1,4,16 --duration 5s --visits 5 --yes-load
  linerate net --fleet fleet.yaml --incast --max-rate 1Gb/s --yes-load
  linerate net --fleet fleet.yaml --op request --request-size 4KiB --answer-size 64 --yes-load
  linerate net --fleet fleet.yaml --op udp --max-rate 500Mb/s --yes-load
  linerate net --fleet fleet.yaml --interface bond0 --members --streams 8 --yes-load
  linerate net --fleet fleet.yaml --preset source-004 --duration 5s --yes-load
  linerate net --fleet fleet.yaml --op mtu --yes-load
  linerate net --fleet fleet.yaml --dry-run
  linerate report runs/1120-0931-net --format html

Exit codes:
  0    measured
  1    this machine failed: a file, a process, a thread
  2    bad usage, or consent is missing
  3    fewer than two machines were reached, no pair has figures, or machines were not reached or lost: the others
       were measured
  130  interrupted; the run folder has the visits that had ended";

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct NetFlags {
    /// Fleet file with the machines, whatever their role.
    #[arg(long, value_name = "FLEET")]
    pub(crate) fleet: PathBuf,
    #[command(flatten)]
    pub(crate) reach: ReachFlags,
    /// Consent to running the commands in the fleet file.
    #[arg(long)]
    pub(crate) yes_exec: bool,
    /// Consent to filling the links of machines other than this one.
    #[arg(long)]
    pub(crate) yes_load: bool,
    /// Flags of a test of the sources by its name; --dry-run shows them. A flag that is given wins.
    #[arg(long, value_name = "NAME", value_enum)]
    pub(crate) preset: Option<NetPreset>,
    /// What each stream does.
    #[arg(long, value_name = "OP", value_enum, default_value_t = OpWish::Stream)]
    op: OpWish,
    /// The same as --op udp.
    #[arg(long, short, conflicts_with = "op")]
    udp: bool,
    /// Length of a request of --op request, up to 16MiB. [default: 1B]
    #[arg(long, value_name = "SIZE", value_parser = request_size)]
    request_size: Option<Bytes>,
    /// Length of its answer, up to 16MiB. [default: 1B]
    #[arg(long, value_name = "SIZE", value_parser = request_size)]
    answer_size: Option<Bytes>,
    /// Payload of a datagram of --op udp, 32B to 65507B. [default: 1472B, by IPv6 1452B, which fit an MTU of 1500]
    #[arg(long, value_name = "SIZE", value_parser = datagram_size)]
    datagram_size: Option<Bytes>,
    /// Streams of each pair, in turn, 1 to 256. [default: 1,8; of --op mtu 1]
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(NET_STREAMS_MAX)))]
    streams: Option<Vec<u32>>,
    /// How long a pair is measured each time, 100ms to 1h.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "2s")]
    pub(crate) duration: Duration,
    /// How long flows go before that, up to 1h: congestion windows grow meanwhile.
    #[arg(long, value_name = "TIME", value_parser = warm_up, default_value = "500ms")]
    pub(crate) warmup: Duration,
    /// How often each pair is measured with each number of streams.
    #[arg(long, value_name = "N", default_value = "3", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) visits: u32,
    /// A machine sends or receives in a round, but never both: full duplex is not used.
    #[arg(long, conflicts_with_all = ["both_ways", "incast"])]
    one_way: bool,
    /// Two machines send to each other at the same time.
    #[arg(long, conflicts_with = "incast")]
    both_ways: bool,
    /// All other machines send to one, each machine in turn.
    #[arg(long)]
    incast: bool,
    /// Measure so many of the rounds, chosen at random. [default: all up to 16, else 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2046))]
    pub(crate) rounds: Option<u32>,
    /// Choose source ports so that the streams of a visit leave by one member of the sender's bond, each in turn.
    #[arg(long)]
    pub(crate) members: bool,
    /// Network of the addresses to send to, such as 10.2.0.0/16. [default: the only one that all machines are in]
    #[arg(long, value_name = "CIDR", value_parser = network)]
    pub(crate) network: Option<IpNet>,
    /// Interface whose address to send to on each machine, such as bond0.
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Option<String>,
    /// Port at which machines take flows of this run. [default: any that is free]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Cap on each pair: 1Gb/s or 100MiB/s; of --op udp, its rate. [default: none]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) max_rate: Option<f64>,
    /// What a sender gives the kernel at once, 1KiB to 16MiB.
    #[arg(long, value_name = "SIZE", value_parser = send_size, default_value = "256KiB")]
    pub(crate) send_size: Bytes,
    /// Threads that send, and threads that receive, on each machine. [default: its processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) threads: Option<u32>,
    /// Seed of the order of rounds, to repeat it. [default: drawn]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Run folder, which must not exist yet. [default: runs/DATE-TIME-net]
    #[arg(long, short, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Site file into which the MTU and the IP version of the links are written as they were read.
    #[arg(long, value_name = "FILE")]
    pub(crate) into: Option<PathBuf>,
    /// Plane of that site that was measured. [default: the only one]
    #[arg(long, value_name = "PLANE", value_enum, requires = "into")]
    pub(crate) plane: Option<SitePlane>,
    /// Print the report as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show a row for each machine and pair.
    #[arg(long, conflicts_with = "json")]
    pub(crate) all: bool,
    /// Print only errors.
    #[arg(long, short, conflicts_with_all = ["json", "all"])]
    pub(crate) quiet: bool,
    /// Address that serves OpenMetrics at /metrics during the run, such as 127.0.0.1:9091; port 0 takes a free port.
    /// Anyone who can reach the address can read them.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Reach no machine: show the rounds, how long they take and how much may be sent.
    #[arg(long, conflicts_with = "json")]
    pub(crate) dry_run: bool,
    /// The tests of the preset, in turn, as the reader of the command line reads each; none without one.
    #[arg(skip)]
    pub(crate) tests: Vec<NetFlags>,
    /// What the preset stands for, in words; empty without one.
    #[arg(skip)]
    pub(crate) stands_for: String,
}

/// What each stream does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OpWish {
    /// Send as much as it can over TCP
    Stream,
    /// Send a request, wait for its answer, and send the next
    Request,
    /// Connect, prove the run's token, close, and connect again
    Connect,
    /// Send datagrams one by one at its part of --max-rate
    Udp,
    /// Search how long packets may be that nobody may fragment
    Mtu,
}

/// Numbers of streams unless flags say otherwise: one and several. To find a path's MTU, one is enough.
const STREAMS: [u32; 2] = [1, 8];
const STREAMS_OF_PATHS: [u32; 1] = [1];

/// Payload that fits an MTU of 1500 bytes, beside the headers of UDP and of IPv4 or IPv6.
const DATAGRAM_V4_BYTES: u32 = 1_472;
const DATAGRAM_V6_BYTES: u32 = 1_452;

impl NetFlags {
    /// What each stream does, once it is known by which version of IP.
    pub(crate) fn op(&self, is_v6: bool) -> NetOp {
        let bytes = |size: Option<Bytes>, usual| size.map_or(usual, |Bytes(size)| u32::try_from(size).unwrap_or(usual));
        match self.wished() {
            OpWish::Stream => NetOp::Stream,
            OpWish::Request => {
                NetOp::Request { request_bytes: bytes(self.request_size, 1), answer_bytes: bytes(self.answer_size, 1) }
            }
            OpWish::Connect => NetOp::Connect,
            OpWish::Udp => {
                let usual = if is_v6 { DATAGRAM_V6_BYTES } else { DATAGRAM_V4_BYTES };
                NetOp::Udp { datagram_bytes: bytes(self.datagram_size, usual) }
            }
            OpWish::Mtu => NetOp::Mtu,
        }
    }

    const fn wished(&self) -> OpWish {
        if self.udp { OpWish::Udp } else { self.op }
    }

    /// What does not go together.
    ///
    /// # Errors
    /// Why, with what to do about it.
    pub(crate) fn check_op(&self) -> Result<(), String> {
        let op = self.wished();
        let of_requests =
            [("--request-size", self.request_size.is_some()), ("--answer-size", self.answer_size.is_some())];
        if let Some((flag, _)) = of_requests.iter().find(|(_, given)| *given && op != OpWish::Request) {
            return Err(format!("{flag} is of requests: give --op request, or leave it out"));
        }
        if self.datagram_size.is_some() && op != OpWish::Udp {
            return Err("--datagram-size is of datagrams: give --op udp, or leave it out".to_owned());
        }
        match op {
            OpWish::Udp if self.max_rate.is_none() => {
                Err("--op udp sends at the rate that is asked for: give --max-rate, such as --max-rate 500Mb/s"
                    .to_owned())
            }
            OpWish::Request | OpWish::Connect | OpWish::Mtu if self.max_rate.is_some() => {
                Err("--max-rate caps bytes: leave it out, or give --op stream or --op udp".to_owned())
            }
            OpWish::Connect | OpWish::Udp | OpWish::Mtu if self.members => {
                Err("--members chooses the ports of streams: leave it out, or give --op stream or --op request"
                    .to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Numbers of streams, each once.
    pub(crate) fn numbers_of_streams(&self) -> Vec<u32> {
        let usual: &[u32] = if self.wished() == OpWish::Mtu { &STREAMS_OF_PATHS } else { &STREAMS };
        let wished = self.streams.as_deref().unwrap_or(usual);
        let mut numbers: Vec<u32> = Vec::new();
        wished.iter().for_each(|number| numbers.extend((!numbers.contains(number)).then_some(*number)));
        numbers
    }

    /// Which way flows go.
    pub(crate) const fn way(&self, nodes: usize) -> NetWay {
        if self.incast {
            NetWay::Incast
        } else if self.both_ways {
            NetWay::BothWays
        // Of two machines, a ring is both ways at once.
        } else if self.one_way || nodes == 2 {
            NetWay::OneWay
        } else {
            NetWay::Ring
        }
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    within(text, Duration::from_millis(100))
}

fn warm_up(text: &str) -> Result<Duration, String> {
    within(text, Duration::ZERO)
}

fn within(text: &str, least: Duration) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    let most = Duration::from_secs(3600);
    if (least..=most).contains(&time) { Ok(time) } else { Err(format!("{text:?} is not from {least:?} to 1h")) }
}

/// A rate as links are sold, or as bytes are counted.
fn rate(text: &str) -> Result<f64, String> {
    let of_bits = text.parse::<BitRate>().map(|BitRate(bits_per_s)| bits_per_s / 8.0);
    let bytes_per_s = of_bits.or_else(|_| text.parse::<ByteRate>().map(|ByteRate(rate)| rate));
    match bytes_per_s {
        Ok(rate) if (1e3..=1e13).contains(&rate) => Ok(rate),
        Ok(_) => Err(format!("{text:?} is not from 8kb/s to 80Tb/s, which are 1kB/s to 10TB/s")),
        Err(_) => match bits_meant(text) {
            Some(meant) => Err(format!("no rate in {text:?}: write {meant}")),
            None => Err(format!("no rate in {text:?}: write 1Gb/s, or 100MiB/s")),
        },
    }
}

/// A length that one byte or more has.
fn bytes_from(text: &str, least: u32, most: u32) -> Result<Bytes, String> {
    let Bytes(bytes) = text.parse::<Bytes>().map_err(|error| error.to_string())?;
    if (u64::from(least)..=u64::from(most)).contains(&bytes) {
        Ok(Bytes(bytes))
    } else {
        Err(format!("{text:?} is not from {least}B to {}", Bytes(u64::from(most)).to_string().replace(' ', "")))
    }
}

fn request_size(text: &str) -> Result<Bytes, String> {
    bytes_from(text, 1, NET_REQUEST_BYTES_MAX)
}

fn datagram_size(text: &str) -> Result<Bytes, String> {
    bytes_from(text, *NET_DATAGRAM_BYTES.start(), *NET_DATAGRAM_BYTES.end())
}

/// A network, by an address and the length of its prefix.
fn network(text: &str) -> Result<IpNet, String> {
    let address = text.split('/').next().unwrap_or(text).parse::<IpAddr>();
    let (usual_bits, most_bits) = if matches!(address, Ok(IpAddr::V6(_))) { (64, 128) } else { (24, 32) };
    text.parse::<IpNet>().map_err(|_| match address {
        Ok(address) => {
            let such = IpNet::new(address, usual_bits).map_or_else(|_| String::new(), |net| net.trunc().to_string());
            format!("no network in {text:?}: write its prefix of 0 to {most_bits} bits too, such as {such}")
        }
        Err(_) => format!("no network in {text:?}: write one such as 10.2.0.0/16"),
    })
}

fn send_size(text: &str) -> Result<Bytes, String> {
    let Bytes(bytes) = text.parse::<Bytes>().map_err(|error| error.to_string())?;
    if (1 << 10..=16 << 20).contains(&bytes) {
        Ok(Bytes(bytes))
    } else {
        Err(format!("{text:?} is not from 1KiB to 16MiB"))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        net: NetFlags,
    }

    fn read(flags: &str) -> Result<NetFlags, String> {
        let words = ["net", "--fleet", "f"].into_iter().chain(flags.split_whitespace());
        Line::try_parse_from(words).map(|line| line.net).map_err(|error| error.to_string())
    }

    #[test]
    fn what_a_stream_does_is_read_and_what_does_not_go_together_is_refused() {
        let op = |flags: &str, is_v6| {
            let read = read(flags).unwrap();
            read.check_op().unwrap();
            read.op(is_v6)
        };
        assert_eq!(op("", false), NetOp::Stream);
        assert_eq!(op("--op request", false), NetOp::Request { request_bytes: 1, answer_bytes: 1 });
        let sizes = "--op request --request-size 16MiB --answer-size 64";
        assert_eq!(op(sizes, true), NetOp::Request { request_bytes: 16 << 20, answer_bytes: 64 });
        assert_eq!(op("--op connect", false), NetOp::Connect);
        for flags in ["--op udp --max-rate 1Mb/s", "--udp --max-rate 1Mb/s", "-u --max-rate 1Mb/s"] {
            assert_eq!(op(flags, false), NetOp::Udp { datagram_bytes: 1_472 }, "{flags}");
            assert_eq!(op(flags, true), NetOp::Udp { datagram_bytes: 1_452 }, "{flags}");
        }
        assert_eq!((op("--op mtu", false), op("--op mtu", true)), (NetOp::Mtu, NetOp::Mtu));
        for (flags, streams) in [
            ("", &[1, 8][..]),
            ("--op mtu", &[1][..]),
            ("--op mtu --streams 4,2,4", &[4, 2][..]),
            ("--streams 3", &[3][..]),
        ] {
            assert_eq!(read(flags).unwrap().numbers_of_streams(), streams, "{flags}");
        }
        let refused = [
            ("-u", "give --max-rate"),
            ("--op mtu --max-rate 1Gb/s", "leave it out"),
            ("--op mtu --datagram-size 99", "give --op udp"),
            ("--request-size 2", "give --op request"),
            ("--op connect --answer-size 2", "give --op request"),
            ("--op request --datagram-size 99", "give --op udp"),
            ("--op request --max-rate 1Gb/s", "leave it out"),
            ("--op connect --max-rate 1Gb/s", "leave it out"),
            ("--op connect --members", "give --op stream"),
            ("--op udp --max-rate 1Gb/s --members", "give --op stream"),
        ];
        for (flags, part) in refused {
            let why = read(flags).unwrap().check_op().unwrap_err();
            assert!(why.contains(part), "{flags}: {why}");
        }
        for flags in ["--op udp --datagram-size 31B", "--op request --request-size 17MiB", "--op udp --streams 257"] {
            assert!(read(flags).is_err(), "{flags}");
        }
    }

    #[test]
    fn rates_are_of_bits_and_of_bytes() {
        assert_eq!((rate("1Gb/s"), rate("100MiB/s")), (Ok(125e6), Ok(104_857_600.0)));
        for (text, why) in [
            ("100M", "no rate in \"100M\": write 100Mb/s"),
            ("1g", "no rate in \"1g\": write 1Gb/s"),
            ("100Mbit", "no rate in \"100Mbit\": write 100Mb/s"),
            ("fast", "no rate in \"fast\": write 1Gb/s, or 100MiB/s"),
            ("1b/s", "is not from 8kb/s to 80Tb/s, which are 1kB/s"),
            ("", "no rate"),
        ] {
            let error = rate(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert!(duration("50ms").is_err() && duration("2h").is_err() && warm_up("0s").is_ok());
        assert!(send_size("17MiB").is_err() && send_size("64KiB").is_ok());
    }

    #[test]
    fn a_network_has_a_prefix() {
        for (text, why) in [
            ("10.77.0.0", "write its prefix of 0 to 32 bits too, such as 10.77.0.0/24"),
            ("10.77.3.9/33", "0 to 32 bits too, such as 10.77.3.0/24"),
            ("fd00::1", "0 to 128 bits too, such as fd00::/64"),
            ("private", "no network in \"private\": write one such as 10.2.0.0/16"),
        ] {
            let error = network(text).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert_eq!(network("10.2.0.0/16"), Ok("10.2.0.0/16".parse().unwrap()));
    }
}
