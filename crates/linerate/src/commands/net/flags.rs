//! Flags of `linerate net`.

mod combinations;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use ipnet::IpNet;
use linerate_record::net::{NET_DATAGRAM_BYTES, NET_REQUEST_BYTES_MAX, NetClass, NetGso, NetOffloads, NetOp, NetWay};
use linerate_record::units::{Bytes, parse_duration};

use super::host_pair::RemoteHost;
use super::preset::NetPreset;
use super::stream_search::{self, StreamsWish};
use crate::files::site_update::SitePlane;
use crate::remote::link_rates;
use crate::remote::net_token::flags::ServeFlags;
use crate::remote::node_access::flags::ReachFlags;

const HELP: &str = "\
With HOST, this machine and the one on which linerate net serve waits send to each other, each in turn. With --fleet,
every machine of the fleet sends to every other in rounds, in each of which a machine sends to one other and receives
from one other. Rounds and numbers of streams are interleaved and repeated, so that a pair has a mean with an interval,
and a pair or a machine is called slow only where that is beyond chance. The receiver counts; the sender's kernel says
what limited its flows.

Examples:
  linerate net db2 --token-file token --yes-load
  linerate net --fleet fleet.yaml --yes-load
  linerate net --fleet fleet.yaml --network 10.2.0.0/16 --streams 1,4,16 --duration 5s --visits 5 --yes-load
  linerate net --fleet fleet.yaml --streams search --yes-load
  linerate net --fleet fleet.yaml --incast --max-rate 1Gb/s --yes-load
  linerate net --fleet fleet.yaml --bisection --visits 5 --into site.yaml --yes-load
  linerate net --fleet fleet.yaml --op request --request-size 4KiB --answer-size 64 --yes-load
  linerate net --fleet fleet.yaml --op udp --max-rate 500Mb/s --yes-load
  linerate net --fleet fleet.yaml --interface bond0 --members --streams 8 --yes-load
  linerate net --fleet fleet.yaml --preset source-004 --duration 5s --yes-load
  linerate net --fleet fleet.yaml --op mtu --yes-load
  linerate net --fleet pods.yaml --port 5301 --compare other/pod-pod=other/host-host --yes-load
  linerate net --fleet fleet.yaml --dry-run
  linerate report runs/1120-0931-net --format html

Exit codes:
  0    measured
  1    this machine failed: a file, a process, a thread
  2    bad usage, or consent is missing
  3    fewer than two machines were reached (HOST may refuse the token), no pair has figures, or machines were not
       reached or lost: the others were measured
  130  interrupted; the run folder has the visits that had ended";

#[derive(Args, Debug)]
#[command(after_help = HELP, args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct NetFlags {
    #[command(subcommand)]
    pub(crate) verb: Option<NetVerb>,
    /// The machine on which linerate net serve waits, and its port if that is not 5210: HOST or HOST:PORT. Its token is
    /// in LINERATE_NET_TOKEN.
    #[arg(value_name = "HOST", value_parser = RemoteHost::parsed)]
    #[arg(conflicts_with_all = ["fleet", "ReachFlags", "yes_exec"])]
    pub(crate) host: Option<RemoteHost>,
    /// File with the token of HOST. [default: LINERATE_NET_TOKEN in the environment]
    #[arg(long, value_name = "FILE", conflicts_with = "fleet")]
    pub(crate) token_file: Option<PathBuf>,
    /// Fleet file with the machines, whatever their role.
    #[arg(long, value_name = "FLEET", required_unless_present = "host")]
    pub(crate) fleet: Option<PathBuf>,
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
    #[arg(long, value_name = "OP", value_enum, default_value_t = OpChoice::Stream)]
    op: OpChoice,
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
    /// Whether datagrams of --op udp go through kernels several at once (GSO and GRO). [default: auto]
    #[arg(long, value_name = "WHEN", value_enum)]
    gso: Option<GsoChoice>,
    /// Let kernels send streams without a copy (MSG_ZEROCOPY), 1MiB at once at most; the report says what they copied.
    #[arg(long)]
    zerocopy: bool,
    /// Copy what streams bring out of receivers' kernels, as programs do, up to --send-size at once, 1MiB at most.
    /// Without it, they discard it.
    #[arg(long)]
    read: bool,
    /// Streams of each pair, in turn, 1 to 256; search for 1, 2, 4 …, until more give no more. [default: 1,8;
    /// of --op mtu 1]
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = stream_search::parse_streams)]
    streams: Option<Vec<StreamsWish>>,
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
    /// Half of the racks and the other half send to each other, all machines at once, and then machines within their
    /// racks: what uplinks carry together. Racks are those of the fleet file.
    #[arg(long)]
    #[arg(conflicts_with_all = ["one_way", "both_ways", "incast", "members", "compare", "second_network", "host"])]
    bisection: bool,
    /// Measure so many of the rounds, chosen at random. [default: all up to 16, else 16; where the
    /// fleet file says on which hosts machines are, 64]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=2046))]
    pub(crate) rounds: Option<u32>,
    /// Choose source ports so that the streams of a visit leave by one member of the sender's bond, each in turn.
    #[arg(long)]
    pub(crate) members: bool,
    /// Network of the addresses to send to, such as 10.2.0.0/16; of several, the first in which a machine has one.
    /// [default: the only one that all machines are in]
    #[arg(long, value_name = "CIDR,…", value_delimiter = ',', value_parser = network)]
    pub(crate) network: Vec<IpNet>,
    /// Measure pairs at the receivers' addresses in this network too, in turn.
    #[arg(long, value_name = "CIDR", value_parser = network)]
    pub(crate) second_network: Option<IpNet>,
    /// Hold a class of pairs against another: other/pod-pod=other/host-host. A class is same or other (host), then host
    /// or pod of the sender and of the receiver, then /service or /second for pairs by that way.
    #[arg(long, value_name = "CLASS=CLASS", value_parser = parse_comparison)]
    pub(crate) compare: Option<ClassComparison>,
    /// What is around packets of the first class between hosts, and of the second if they go to pods in the same
    /// network. [default: as segments tell]
    #[arg(long, value_name = "KIND", value_enum, requires = "compare")]
    pub(crate) overlay: Option<Overlay>,
    /// Interface whose address to send to on each machine, such as bond0.
    #[arg(long, value_name = "NAME")]
    pub(crate) interface: Option<String>,
    /// Port at which machines take flows of this run. [default: any that is free]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Cap on each pair: 1Gb/s or 100MiB/s; of --op udp, its rate. [default: none]
    #[arg(long, value_name = "RATE", value_parser = link_rates::parse_rate)]
    pub(crate) max_rate: Option<f64>,
    /// What a sender gives the kernel at once, 1KiB to 16MiB.
    #[arg(long, value_name = "SIZE", value_parser = send_size, default_value = "1MiB")]
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
    /// Site file into which the MTU and the IP version of the links are written as they were read, and how
    /// oversubscribed racks are, as it was measured.
    #[arg(long, value_name = "FILE")]
    pub(crate) into: Option<PathBuf>,
    /// Site file: what its S3 traffic gets of the bonds of its nodes, by the model, is reported beside what is
    /// measured. [default: that of --into]
    #[arg(long, value_name = "FILE")]
    pub(crate) site: Option<PathBuf>,
    /// Plane of that site that was measured. [default: the only one; with --site alone, both]
    #[arg(long, value_name = "PLANE", value_enum)]
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

#[derive(Subcommand, Debug)]
pub(crate) enum NetVerb {
    /// Wait for one other machine to measure the link to this one.
    Serve(ServeFlags),
}

/// What each stream does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OpChoice {
    /// Send as much as it can over TCP
    Stream,
    /// Send a request, wait for its answer, and send the next
    Request,
    /// Connect, prove the run's token, close, and connect again
    Connect,
    /// Send datagrams at its part of --max-rate
    Udp,
    /// Search how long packets may be that nobody may fragment
    Mtu,
}

/// When datagrams go through kernels several at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum GsoChoice {
    /// From a rate on at which 8 of them or more are due within 100 µs, so many at once
    Auto,
    /// Always as many at once as a kernel takes
    On,
    /// Never: each by itself
    Off,
}

/// A class of pairs and the one that it is held against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClassComparison(pub(crate) (NetClass, NetClass));

/// What is around packets between hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Overlay {
    /// Nothing
    None,
    /// VXLAN between addresses of IPv4: 50 bytes
    Vxlan,
    /// Geneve without options between addresses of IPv4: 50 bytes
    Geneve,
    /// VXLAN between addresses of IPv6: 70 bytes
    #[value(name = "vxlan-v6")]
    VxlanV6,
    /// Geneve without options between addresses of IPv6: 70 bytes
    #[value(name = "geneve-v6")]
    GeneveV6,
}

impl Overlay {
    /// How many bytes it takes of each packet.
    pub(crate) const fn bytes(self) -> u32 {
        match self {
            Overlay::None => 0,
            Overlay::Vxlan | Overlay::Geneve => 50,
            Overlay::VxlanV6 | Overlay::GeneveV6 => 70,
        }
    }
}

/// Numbers of streams unless flags say otherwise: one and several. To find a path's MTU, one is enough.
const STREAMS: [StreamsWish; 2] = [StreamsWish::Number(1), StreamsWish::Number(8)];
const STREAMS_OF_PATH_MTU: [StreamsWish; 1] = [StreamsWish::Number(1)];

/// Payload that fits an MTU of 1500 bytes, beside the headers of UDP and of IPv4 or IPv6.
const DATAGRAM_V4_BYTES: u32 = 1_472;
const DATAGRAM_V6_BYTES: u32 = 1_452;

impl NetFlags {
    /// What each stream does, once it is known by which version of IP.
    pub(crate) fn op(&self, is_v6: bool) -> NetOp {
        let bytes = |size: Option<Bytes>, usual| size.map_or(usual, |Bytes(size)| u32::try_from(size).unwrap_or(usual));
        match self.chosen_op() {
            OpChoice::Stream => NetOp::Stream,
            OpChoice::Request => {
                NetOp::Request { request_bytes: bytes(self.request_size, 1), answer_bytes: bytes(self.answer_size, 1) }
            }
            OpChoice::Connect => NetOp::Connect,
            OpChoice::Udp => {
                let usual = if is_v6 { DATAGRAM_V6_BYTES } else { DATAGRAM_V4_BYTES };
                NetOp::Udp { datagram_bytes: bytes(self.datagram_size, usual) }
            }
            OpChoice::Mtu => NetOp::Mtu,
        }
    }

    /// What flows ask of kernels.
    pub(crate) fn offloads(&self) -> NetOffloads {
        let gso = match (self.chosen_op(), self.gso) {
            (OpChoice::Udp, None | Some(GsoChoice::Auto)) => NetGso::Auto,
            (OpChoice::Udp, Some(GsoChoice::On)) => NetGso::On,
            _ => NetGso::Off,
        };
        NetOffloads { gso, zerocopy: self.zerocopy, reads: self.read }
    }

    const fn chosen_op(&self) -> OpChoice {
        if self.udp { OpChoice::Udp } else { self.op }
    }

    /// Numbers of streams, or a search for them.
    pub(crate) fn chosen_streams(&self) -> &[StreamsWish] {
        let usual: &[StreamsWish] = if self.chosen_op() == OpChoice::Mtu { &STREAMS_OF_PATH_MTU } else { &STREAMS };
        self.streams.as_deref().unwrap_or(usual)
    }

    /// Numbers of streams, each once; of a search, those of its first step.
    pub(crate) fn stream_counts(&self) -> Vec<u32> {
        stream_search::stream_counts_of(self.chosen_streams())
    }

    /// Which way flows go.
    pub(crate) const fn way(&self, nodes: usize) -> NetWay {
        if self.bisection {
            NetWay::Bisection
        } else if self.incast {
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
    duration_from(text, Duration::from_millis(100))
}

fn warm_up(text: &str) -> Result<Duration, String> {
    duration_from(text, Duration::ZERO)
}

fn duration_from(text: &str, least: Duration) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    let most = Duration::from_secs(3600);
    if (least..=most).contains(&time) { Ok(time) } else { Err(format!("{text:?} is not from {least:?} to 1h")) }
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

fn parse_comparison(text: &str) -> Result<ClassComparison, String> {
    let such = "such as other/pod-pod=other/host-host";
    let (class, base) =
        text.split_once('=').ok_or_else(|| format!("no two classes in {text:?}: write both, {such}"))?;
    let read = |text: &str| text.parse::<NetClass>().map_err(|error| error.to_string());
    let (class, base) = (read(class)?, read(base)?);
    if class == base {
        Err(format!("the same class twice in {text:?}: write two, {such}"))
    } else if class.is_same != base.is_same {
        Err(format!("pairs on one host and on two in {text:?}, which have no hosts in common: write two, {such}"))
    } else {
        Ok(ClassComparison((class, base)))
    }
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
pub(super) mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    pub(in crate::commands::net) struct Line {
        #[command(flatten)]
        pub(in crate::commands::net) net: NetFlags,
    }

    fn read(flags: &str) -> Result<NetFlags, String> {
        let words = ["net", "--fleet", "f"].into_iter().chain(flags.split_whitespace());
        Line::try_parse_from(words).map(|line| line.net).map_err(|error| error.to_string())
    }

    #[test]
    fn what_a_stream_does_is_read_and_what_does_not_go_together_is_refused() {
        let op = |flags: &str, is_v6| {
            let read = read(flags).unwrap();
            read.check_combinations().unwrap();
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
            ("--streams search", &[1, 2][..]),
        ] {
            assert_eq!(read(flags).unwrap().stream_counts(), streams, "{flags}");
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
            ("--gso on", "give --op udp"),
            ("--op mtu --gso off", "give --op udp"),
            ("--op request --zerocopy", "--zerocopy is of streams: give --op stream"),
            ("-u --max-rate 1Gb/s --read", "--read is of streams: give --op stream"),
            ("--op connect --bisection", "give --op stream"),
            ("--streams 1,search", "leave the others out"),
            ("--plane public", "give --into or --site"),
            ("--streams search --visits 1", "give --visits 2, or more"),
            ("--streams search --bisection", "give numbers of streams"),
            ("--op mtu --streams search", "give --op stream, request or connect"),
        ];
        for (flags, part) in refused {
            let why = read(flags).unwrap().check_combinations().unwrap_err();
            assert!(why.contains(part), "{flags}: {why}");
        }
        for flags in ["--op udp --datagram-size 31B", "--op request --request-size 17MiB", "--op udp --streams 257"] {
            assert!(read(flags).is_err(), "{flags}");
        }
        for other in ["--incast", "--one-way", "--both-ways", "--members"] {
            assert!(read(&format!("--bisection {other}")).is_err_and(|why| why.contains("cannot be used")), "{other}");
        }
    }

    #[test]
    fn what_kernels_are_asked_for_is_of_the_op() {
        for (flags, gso, zerocopy, reads) in [
            ("", NetGso::Off, false, false),
            ("--zerocopy", NetGso::Off, true, false),
            ("--read", NetGso::Off, false, true),
            ("--op mtu", NetGso::Off, false, false),
            ("-u --max-rate 1Mb/s", NetGso::Auto, false, false),
            ("-u --max-rate 1Mb/s --gso auto", NetGso::Auto, false, false),
            ("-u --max-rate 1Mb/s --gso on", NetGso::On, false, false),
            ("-u --max-rate 1Mb/s --gso off", NetGso::Off, false, false),
        ] {
            let read = read(flags).unwrap();
            assert_eq!(read.check_combinations(), Ok(()), "{flags}");
            assert_eq!(read.offloads(), NetOffloads { gso, zerocopy, reads }, "{flags}");
            assert!(read.offloads().applies_to(read.op(false)), "{flags}");
        }
    }

    #[test]
    fn one_machine_is_named_in_place_of_a_fleet_and_one_waits_for_it() {
        let line = |line: &str| {
            let words = ["net"].into_iter().chain(line.split_whitespace());
            Line::try_parse_from(words).map(|line| line.net).map_err(|error| error.to_string())
        };
        let two = line("db2:99 --token-file t --op connect").unwrap();
        assert_eq!((two.host.map(|host| host.authority), two.fleet), (Some("db2:99".to_owned()), None));
        assert!(two.verb.is_none());
        let serve = line("serve --listen 10.0.0.1 --for 5m").unwrap();
        assert!(matches!(serve.verb, Some(NetVerb::Serve(serve)) if serve.lasting.as_secs() == 300));
        for (wrong, part) in [
            ("", "--fleet <FLEET>"),
            ("db2 --fleet f", "cannot be used with"),
            ("--fleet f --token-file t", "cannot be used with"),
            ("db2 --become sudo", "cannot be used with"),
            ("db2 db3", "cannot be used with"),
            ("serve --fleet f", "unexpected argument"),
        ] {
            let why = line(wrong).unwrap_err();
            assert!(why.contains(part), "{wrong}: {why}");
        }
    }

    #[test]
    fn times_and_sizes_have_bounds() {
        assert!(duration("50ms").is_err() && duration("2h").is_err() && warm_up("0s").is_ok());
        assert!(send_size("17MiB").is_err() && send_size("64KiB").is_ok());
    }

    #[test]
    fn two_classes_are_compared_and_an_overlay_is_of_the_first() {
        let read = |flags: &str| read(flags).map(|flags| (flags.compare.unwrap().0, flags.overlay.map(Overlay::bytes)));
        let class = |text: &str| text.parse::<NetClass>().unwrap();
        let (class, base) = (class("other/pod-pod/service"), class("other/pod-pod"));
        assert_eq!(read("--compare other/pod-pod/service=other/pod-pod"), Ok(((class, base), None)));
        let overlays = [("vxlan", 50), ("geneve", 50), ("vxlan-v6", 70), ("geneve-v6", 70), ("none", 0)];
        for (overlay, bytes) in overlays {
            let compare_flags = read(&format!("--compare other/pod-pod=other/host-host --overlay {overlay}")).unwrap();
            assert_eq!(compare_flags.1, Some(bytes), "{overlay}");
        }
        for (flags, part) in [
            ("--compare other/pod-pod", "no two classes in"),
            ("--compare other/pod-pod=pods", "such as other/pod-pod"),
            ("--compare other/pod-pod=other/pod-pod", "the same class twice"),
            ("--compare same/pod-pod=other/pod-pod", "no hosts in common"),
            ("--overlay vxlan", "--compare"),
        ] {
            let why = read(flags).unwrap_err();
            assert!(why.contains(part), "{flags}: {why}");
        }
        let networks = self::read("--network 10.1.0.0/16,10.2.0.0/16").unwrap().network;
        assert_eq!(networks.len(), 2);
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
