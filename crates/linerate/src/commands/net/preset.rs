//! Tests of the sources by their names: `--preset` stands for flags.

use clap::ValueEnum;

/// Tests by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NetPreset {
    /// The four tests of source 002, one after another, a run folder each
    #[value(name = "source-002")]
    Source002,
    /// Its test A: one stream for 5 s, one way
    #[value(name = "source-002-a")]
    Source002A,
    /// Its test B: datagrams at 20 Gb/s for 10 s, one way
    #[value(name = "source-002-b")]
    Source002B,
    /// Its test C: one stream each way at the same time for 5 s
    #[value(name = "source-002-c")]
    Source002C,
    /// Its test D: several streams for 10 s, one way: 2 as its command says, and 30 as its heading does
    #[value(name = "source-002-d")]
    Source002D,
    /// What it repeats with other settings: 8 streams for 10 s, one way
    #[value(name = "source-002-settings")]
    Source002Settings,
    /// 1, 2, 4, 8, 16 and 20 streams for 30 s each, one way, 4 KiB at once, five times
    #[value(name = "source-004")]
    Source004,
}

/// One run of a preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NetTest {
    /// As `--preset` names it.
    pub(crate) name: &'static str,
    /// Its run folder within that of all tests of a preset.
    pub(crate) folder: &'static str,
    /// Flags with their values; a switch has an empty one.
    flags: &'static [(&'static str, &'static str)],
}

/// iperf3 omits nothing of its begin unless it is told to, gives the kernel 128 KiB at once, reads what arrives, and is
/// run three times.
const TESTS_002: [NetTest; 4] = [
    NetTest {
        name: "source-002-a",
        folder: "a",
        flags: &[
            ("one-way", ""),
            ("streams", "1"),
            ("duration", "5s"),
            ("warmup", "0s"),
            ("visits", "3"),
            ("send-size", "128KiB"),
            ("read", ""),
        ],
    },
    NetTest {
        name: "source-002-b",
        folder: "b",
        flags: &[
            ("op", "udp"),
            ("max-rate", "20Gb/s"),
            // iperf3 gives the kernel each datagram by itself.
            ("gso", "off"),
            ("one-way", ""),
            ("streams", "1"),
            ("duration", "10s"),
            ("warmup", "0s"),
            ("visits", "3"),
        ],
    },
    NetTest {
        name: "source-002-c",
        folder: "c",
        flags: &[
            ("both-ways", ""),
            ("streams", "1"),
            ("duration", "5s"),
            ("warmup", "0s"),
            ("visits", "3"),
            ("send-size", "128KiB"),
            ("read", ""),
        ],
    },
    NetTest {
        name: "source-002-d",
        folder: "d",
        flags: &[
            ("one-way", ""),
            ("streams", "2,30"),
            ("duration", "10s"),
            ("warmup", "0s"),
            ("visits", "3"),
            ("send-size", "128KiB"),
            ("read", ""),
        ],
    },
];

/// `-t 10 -P 8`, which it runs three times with each setting.
const TESTS_002_SETTINGS: [NetTest; 1] = [NetTest {
    name: "source-002-settings",
    folder: "settings",
    flags: &[
        ("one-way", ""),
        ("streams", "8"),
        ("duration", "10s"),
        ("warmup", "0s"),
        ("visits", "3"),
        ("send-size", "128KiB"),
        ("read", ""),
    ],
}];

/// What its `netperf.yml` says: `messagesize`, `duration`, `samples` and each `parallelism`.
const TESTS_004: [NetTest; 1] = [NetTest {
    name: "source-004",
    folder: "004",
    flags: &[
        ("one-way", ""),
        ("streams", "1,2,4,8,16,20"),
        ("duration", "30s"),
        ("warmup", "0s"),
        ("visits", "5"),
        ("send-size", "4KiB"),
        ("read", ""),
    ],
}];

impl NetPreset {
    /// Its runs, in turn.
    pub(crate) fn tests(self) -> &'static [NetTest] {
        match self {
            NetPreset::Source002 => &TESTS_002,
            NetPreset::Source002A => &TESTS_002[..1],
            NetPreset::Source002B => &TESTS_002[1..2],
            NetPreset::Source002C => &TESTS_002[2..3],
            NetPreset::Source002D => &TESTS_002[3..],
            NetPreset::Source002Settings => &TESTS_002_SETTINGS,
            NetPreset::Source004 => &TESTS_004,
        }
    }
}

impl NetTest {
    /// Its flags as words of a command line, but for those that give way to what was given; and what is said of them.
    pub(crate) fn words(&self, gives_way: impl Fn(&str) -> bool) -> (Vec<String>, String) {
        let (away, kept): (Vec<_>, Vec<_>) = self.flags.iter().partition(|(name, _)| gives_way(name));
        let word = |joint: &str, (name, value): &(&str, &str)| {
            if value.is_empty() { format!("--{name}") } else { format!("--{name}{joint}{value}") }
        };
        let said: Vec<String> = kept.iter().map(|flag| word(" ", flag)).collect();
        let instead: Vec<String> = away.iter().map(|flag| word(" ", flag)).collect();
        let said = if said.is_empty() { "nothing".to_owned() } else { said.join(" ") };
        let instead = match instead.as_slice() {
            [] => String::new(),
            instead => format!("; what was given wins over {}", instead.join(" ")),
        };
        (kept.iter().map(|flag| word("=", flag)).collect(), format!("{} stands for {said}{instead}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_words_and_says_what_gave_way() {
        let [a, ..] = TESTS_002;
        let (words, said) = a.words(|name| name == "duration");
        assert_eq!(words, ["--one-way", "--streams=1", "--warmup=0s", "--visits=3", "--send-size=128KiB", "--read"]);
        let kept = "--one-way --streams 1 --warmup 0s --visits 3 --send-size 128KiB --read";
        assert_eq!(said, format!("source-002-a stands for {kept}; what was given wins over --duration 5s"));
        assert_eq!(a.words(|_| true).0, Vec::<String>::new());
        assert!(a.words(|_| true).1.starts_with("source-002-a stands for nothing; "));
    }

    #[test]
    fn tests_are_named_as_the_presets_that_are_one_of_them() {
        for preset in NetPreset::value_variants() {
            let tests = preset.tests();
            let name = preset.to_possible_value().unwrap();
            let is_whole = tests.len() > 1 && tests.iter().all(|test| test.name.starts_with(name.get_name()));
            assert!(is_whole || tests.iter().map(|test| test.name).eq([name.get_name()]), "{preset:?}");
        }
    }
}
