use clap::Parser as _;

use linerate_record::sanitize::MASK;

use super::*;
use crate::cli::parse::{self, check_line};

fn args(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn all(line: &str) -> Vec<String> {
    let args = args(line);
    let first = Cli::try_parse_from(&args).expect_err(line);
    error_lines(&args, &first, &check_line)
}

/// Lines of several mistakes, and how what is said of each begins, or what is in it behind a star.
const SEVERAL: &[(&str, &[&str])] = &[
    (
        "linerate bench --paylod unsigned --duration soon",
        &[
            "unexpected argument '--paylod' found; a similar argument exists: '--payload'",
            "invalid value 'soon' for '--dur",
        ],
    ),
    (
        "linerate bench --op get --mix get=1 --verfy --threads 0 --lookup both",
        &[
            "--mix gives the weights of --op mixed",
            "unexpected argument '--verfy' found; a similar argument exists: '--verify'",
            "invalid value '0' for '--threads <N>': 0 is not in 1..=1024",
            "*[possible values: path, host]",
        ],
    ),
    (
        "linerate bench --concurrent 0 --host a:1 --target null --obj.size 3",
        &["invalid concurrency \"0\"", "the argument '--host <HOSTS>' cannot be used with '--target <TARGET>'"],
    ),
    (
        "linerate bench --duration 1s --duration 2s --opp get --bucket A",
        &["*cannot be used multiple times", "unexpected argument '--opp'", "invalid bucket name \"A\""],
    ),
    (
        "linerate bench stray --timeout --quiet --json",
        &[
            "unexpected argument that is not quoted",
            "a value is required for '--timeout <TIMEOUT>'",
            "*cannot be used with '--",
        ],
    ),
    (
        "linerate bench --threads many --get-distrib most --metrics here",
        &[
            "invalid value 'many' for '--threads <N>': write a whole number",
            "invalid value 'most' for '--get-distrib <WEIGHT>': write a number, such as 1.5",
            "invalid value 'here' for '--metrics <ADDRESS>': write an address and a port",
        ],
    ),
    (
        "linerate bench --canary-rate -5 --output",
        &["invalid value '-5' for '--canary-rate <N>': write", "a value is required for '--output"],
    ),
    (
        "linerate bench --md5 --rps-limit 5 --opp get",
        &["\"--md5\" is a flag of warp", "\"--rps-limit\" is a flag of warp", "unexpected argument '--opp'"],
    ),
    (
        "linerate plan no-such-site.yaml --formt json --obj.size big --nodes 9..4",
        &[
            "*no-such-site.yaml",
            "unexpected argument '--formt' found; a similar argument exists: '--format'",
            "invalid value 'big' for '--obj.size <SIZE>'",
            "invalid value '9..4' for '--nodes <FIRST..LAST>': invalid range",
        ],
    ),
    (
        "linerate plan --tolerat drives=1 --mix get",
        &[
            "unexpected argument '--tolerat'",
            "invalid value 'get' for '--mix <OP=WEIGHT,…>'",
            "the following required arguments were not provided: --need <NEED,…>, <SITE>",
        ],
    ),
    (
        "linerate explain --observed gett=1GiB/s --site no-such-site.yaml --error lots --concurrent 0",
        &[
            "invalid value 'gett=1GiB/s' for '--observed <FIGURE,…>': unknown figure \"gett\"",
            "*no-such-site.yaml",
            "invalid value 'lots' for '--error <SHARE>'",
            "invalid value '0' for '--concurrent <N>'",
        ],
    ),
    (
        "linerate explain --formt json --obj.size x",
        &[
            "unexpected argument '--formt'",
            "invalid value 'x' for '--obj.size <SIZE>'",
            "the following required arguments were not provided: <SITE>",
        ],
    ),
    (
        "linerate tune diff --set no.such.knob=1 --profil x --pid 1x",
        &[
            "invalid change \"no.such.knob=1\"",
            "unexpected argument '--profil'",
            "invalid value '1x' for '--pid <PID>'",
        ],
    ),
    (
        "linerate tune apply --confirm soon --foregroun",
        &[
            "invalid value 'soon' for '--confirm <TIME>'",
            "unexpected argument '--foregroun'",
            "the following required arguments were not provided: <FILE>",
        ],
    ),
    (
        "linerate experiment --load get --blocks 1 --with a=--threds --with b=--verify",
        &[
            "invalid value 'get' for '--load <OP:SIZE@N>'",
            "invalid value '1' for '--blocks <N>': 1 is not in 2..=10000",
            "arm \"a\": flags of bench: unexpected argument '--threds'",
        ],
    ),
    (
        "linerate experiment --arm a=true --arm b=true --knob vm.swappiness=1 --settle x",
        &["*cannot be used with", "invalid value 'x' for '--settle <TIME>'"],
    ),
    (
        "linerate experiment --with a=x --blocks 1 -- --paylod unsigned --duraton 1s",
        &[
            "\"a\" has nothing to be compared with",
            "invalid value '1' for '--blocks <N>'",
            "flags of bench: unexpected argument '--paylod'",
            "flags of bench: unexpected argument '--duraton'",
        ],
    ),
    (
        "linerate compare a,a no-such-run --fail-if-slower lots --formt json",
        &[
            "invalid value 'a,a' for '<A>': a is named twice",
            "invalid value 'lots' for '--fail-if-slower <SHARE>'",
            "unexpected argument '--formt'",
        ],
    ),
    (
        "linerate compare --fail-if-slowr 5% , b,b",
        &[
            "unexpected argument '--fail-if-slowr' found; a similar argument exists: '--fail-if-slower'",
            "invalid value ',' for '<A>'",
            "invalid value 'b,b' for '<B>'",
        ],
    ),
    (
        "linerate compare --nothing-like-it 5% , b --format pdf",
        &[
            "unexpected argument '--nothing-like-it' found",
            "invalid value ',' for '<A>'",
            "invalid value 'pdf' for '--format <FORMAT>'",
        ],
    ),
    (
        "linerate report a b c --nope",
        &[
            "unexpected argument that is not quoted, because it may be a key, found (argument 3)",
            "unexpected argument that is not quoted, because it may be a key, found (argument 4)",
            "unexpected argument '--nope'",
            "*a is not a run folder",
        ],
    ),
    ("linerate bench --nope --mix get=1", &["unexpected argument '--nope'", "--mix gives the weights"]),
    ("linerate bench --concurrent 0 --rate x --op", &["invalid concurrency \"0\"", "invalid rate \"x\"", "a value is"]),
    ("linerate bench --host a:99999 --timeout x", &["*a:99999", "invalid value 'x' for '--timeout"]),
    (
        "linerate bench --alias nosuch --op zz --bucket A --nope",
        &["no mc alias \"nosuch\"", "*\"zz\"", "invalid bucket name \"A\"", "unexpected argument '--nope'"],
    ),
    (
        "linerate audit --profile nosuch --root /nonexistent --format pdf",
        &["there is no profile \"nosuch\"", "\"/nonexistent\" is not a captured machine", "invalid value 'pdf'"],
    ),
    ("linerate report a1 stat", &["unexpected argument that is not quoted", "*a1 is not a run folder"]),
    ("linerate knobs --profile nosuch --layer zz", &["there is no profile", "invalid value 'zz'"]),
    ("linerate clean /nonexistent --timeout x", &["*/nonexistent", "invalid value 'x'"]),
    ("linerate report /nonexistent --format pdf", &["*/nonexistent", "invalid value 'pdf'"]),
    ("linerate --foo --bar", &["unexpected argument '--foo'", "unexpected argument '--bar'"]),
    (
        "linerate --foo x bench --bar --threads 0",
        &["unexpected argument '--foo'", "unexpected argument '--bar'", "invalid value '0'"],
    ),
    ("linerate tune --foo --bar", &["unexpected argument '--foo'", "unexpected argument '--bar'"]),
    (
        "linerate experiment --knob x --profile nosuch --zz",
        &["invalid knob \"x\"", "there is no profile \"nosuch\"", "unexpected argument '--zz'"],
    ),
    (
        "linerate experiment --zz -- --secret-key hunter2 --foo --op xx",
        &[
            "unexpected argument '--zz'",
            "nothing to compare",
            "flags of bench: --secret-key would be",
            "flags of bench: unexpected argument '--foo'",
            "flags of bench: --op is set by the experiment",
        ],
    ),
    (
        "linerate bench -op get --nope",
        &["'-op' has one dash, which means other flags: write --op", "unexpected argument '--nope'"],
    ),
    (
        "linerate compare no-such-a no-such-b --formt json",
        &["*no-such-a", "*no-such-b", "unexpected argument '--formt'"],
    ),
];

#[test]
fn all_mistakes_of_a_line_are_told_in_its_order() {
    let is_reported = |reported: &String, expected: &&str| match expected.strip_prefix('*') {
        Some(part) => reported.contains(part) && !reported.contains('\n'),
        None => reported.starts_with(expected) && !reported.contains('\n'),
    };
    let mut wrong = Vec::new();
    for (line, expected) in SEVERAL {
        let reported = all(line);
        if reported.len() != expected.len()
            || !reported.iter().zip(*expected).all(|(reported, expected)| is_reported(reported, expected))
        {
            wrong.push((line, reported));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Lines of one mistake, of which an argument that was taken out could make more.
const SINGLE: &[&str] = &[
    "linerate bench --slo banana --arrivals poisson",
    "linerate bench --rat 5/s --arrivals poisson",
    "linerate bench --hst h:9000 --access-key a --secret-key b",
    "linerate bench --write multpart --part.size 5MiB --op get",
    "linerate bench --abort-iff p99>200ms --canary-rate 5",
    "linerate bench --tlss --insecure",
    "linerate bench --target nul --verify",
    "linerate bench --nonsense value --op get",
    "linerate bench --timeout -5s",
    "linerate bench --op",
    "linerate bench -x",
    "linerate plan --exampel",
    "linerate plan --nothing 3 ../../examples/source-000-56.yaml",
    "linerate plan ../../examples/source-000-56.yaml --need usable=lots --tolerate drives=1",
    "linerate plan --neeed usable=1PB --tolerate drives=1 ../../examples/source-000-56.yaml",
    "linerate explain --site ../../examples/source-000-56.yaml --observed get",
    "linerate explain --site ../../examples/source-000-56.yaml --observd get=1GiB/s",
    "linerate tune log a b",
    "linerate tune",
    "linerate tune dif",
    "linerate tune export --format podd FILE",
    "linerate compare a",
    "linerate compare , README.md",
    "linerate experiment --arm a=true --with b=true",
    "linerate experiment --settle 5 --with a=--verify --with b=--threads=2 --load get:1KiB@1",
    "linerate nonsense",
    "linerate get --host a:1 --nonsense --duration x",
    "linerate bench --md5 --op get",
];

#[test]
fn one_mistake_is_told_as_clap_tells_it() {
    let mut wrong = Vec::new();
    for line in SINGLE {
        let args = args(line);
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let Err(first) = Cli::try_parse_from(&args) else {
            wrong.push((line, "taken".to_owned()));
            continue;
        };
        let expected = warp::explain(&first, &words).unwrap_or_else(|| clap_error_text(&first));
        let reported = all_errors_of(&args, &first, &check_line).to_string();
        if reported != expected {
            wrong.push((line, reported));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn one_mistake_is_told_in_words_of_linerates_own_where_clap_has_none() {
    for (line, expected) in [
        ("linerate help benhc", "unrecognized subcommand"),
        ("linerate help bench foo", "unrecognized subcommand"),
        ("linerate help --foo", ""),
        ("linerate tune help foo", "unrecognized subcommand"),
        ("linerate experiment help foo", "unrecognized subcommand"),
        (
            "linerate knobs rmem e",
            "unexpected argument that is not quoted, because it may be a key, found\n\nUsage: linerate",
        ),
        ("linerate bench --threads many", "invalid value 'many' for '--threads <N>': write a whole number\n"),
        ("linerate bench -op get --bucket xyz", "'-op' has one dash, which means other flags: write --op"),
        (
            "linerate bench --objects 99999999999999999999999",
            "invalid value '99999999999999999999999' for '--objects <N>': write a smaller",
        ),
    ] {
        let args = args(line);
        let first = Cli::try_parse_from(&args).expect_err(line);
        let reported = all_errors_of(&args, &first, &check_line).to_string();
        assert!(reported.starts_with(expected) && !reported.contains(MASK), "{line}: {reported}");
    }
}

#[test]
fn a_line_that_is_too_long_to_be_looked_at_says_so() {
    let args = args(&format!("linerate bench --nonsense {}", "x ".repeat(300)));
    let first = Cli::try_parse_from(&args).unwrap_err();
    assert!(
        all_errors_of(&args, &first, &check_line)
            .to_string()
            .ends_with("only its first mistake is reported: there may be more.")
    );
}

#[test]
fn a_value_with_a_line_break_does_not_cut_what_is_said_of_it() {
    let arguments = |words: &[&str]| -> Vec<OsString> { words.iter().map(OsString::from).collect() };
    let args = arguments(&["linerate", "bench", "--lookup", "p\nq"]);
    let first = Cli::try_parse_from(&args).unwrap_err();
    for text in
        [all_errors_of(&args, &first, &check_line).to_string(), error_lines(&args, &first, &check_line).remove(0)]
    {
        assert!(text.starts_with("invalid value 'p\\u000aq' for '--lookup <LOOKUP>'"), "{text}");
        assert!(text.contains("[possible values: path, host]"), "{text}");
    }
}

#[test]
fn what_is_no_utf8_is_told_by_its_flag() {
    let mut args = args("linerate bench --bucket x --prefix x --threads 0");
    args[3] = std::os::unix::ffi::OsStringExt::from_vec(vec![0xff]);
    let first = Cli::try_parse_from(&args[..4]).unwrap_err();
    let reported = all_errors_of(&args[..4], &first, &check_line).to_string();
    assert_eq!(reported, "the text given for '--bucket <BUCKET>' is not UTF-8: write it in UTF-8");
    args[5] = args[3].clone();
    let reported = error_lines(&args, &Cli::try_parse_from(&args).unwrap_err(), &check_line);
    assert!(reported.len() == 3 && reported[1].contains("'--prefix <PREFIX>' is not UTF-8"), "{reported:#?}");
}

#[test]
fn a_file_of_flags_with_mistakes_does_not_hide_those_of_the_line() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "warp:\n  api: v1\n  benchmark: gett\n  params:\n    concurrent: 0\n").unwrap();
    let line = format!("linerate bench --config {} --bucket A --mix get=1 --verify --rate x", file.path().display());
    let reported = parse::read(args(&line)).unwrap_err().mistakes();
    assert_eq!(reported.len(), 4, "{reported:#?}");
    for (reported, part) in
        reported.iter().zip(["warp.benchmark", "warp.params.concurrent", "invalid rate", "bucket name"])
    {
        assert!(reported.contains(part), "{reported} {part}");
    }
}

#[test]
fn a_file_of_flags_is_read_beside_other_mistakes() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "warp:\n  api: v1\n  benchmark: get\n  params:\n    durration: 1m\n").unwrap();
    let reported = all(&format!("linerate bench --config {} --threads none", file.path().display()));
    assert_eq!(reported.len(), 2, "{reported:#?}");
    assert!(reported[0].contains(":5:5: \"warp.params.durration\": no such key"), "{reported:#?}");
}

#[test]
fn no_line_is_too_odd_or_too_long_to_be_looked_at() {
    let mut command = Cli::command();
    command.build();
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        for arg in verb.get_arguments().filter(|arg| arg.get_long().is_some_and(|long| long != "help")) {
            let takes = arg.get_action().takes_values();
            // Arguments are cut by this: one value each.
            assert!(!takes || arg.get_num_args().is_none_or(|n| n.max_values() == 1), "{}", arg.get_id());
            let long = arg.get_long().unwrap_or_default();
            for line in [format!("--{long}"), format!("--{long}= --{long}x=y - -- --"), format!("--{long} -1 -z --q")] {
                let line = format!("linerate {} --no-such-flag {line}", verb.get_name());
                if let Err(first) = Cli::try_parse_from(args(&line)) {
                    assert!(!error_lines(&args(&line), &first, &check_line).is_empty(), "{line}");
                }
            }
        }
    }
    let long = format!("linerate bench --nonsense {}", "x ".repeat(5000));
    assert_eq!(all(&long).len(), 1);
}

#[test]
fn a_value_that_may_be_a_key_is_not_quoted() {
    for line in [
        "linerate bench --secret-kye QQQQ --threads 0",
        "linerate bench QQQQ --threads 0",
        "linerate plan a QQQQ --why=1",
    ] {
        let reported = all(line);
        assert!(reported.len() > 1 && reported.iter().all(|text| !text.contains("QQQQ")), "{reported:#?}");
    }
}

#[test]
fn flags_are_named_whole() {
    for (text, name, is_named) in [
        ("add --rate or --slo", "--rate", true),
        ("add --rate.", "--rate", true),
        ("--rate-limit", "--rate", false),
        ("--part.size", "--part", false),
        ("--rates", "--rate", false),
    ] {
        assert_eq!(names_flag(text, name), is_named, "{text} {name}");
    }
}
