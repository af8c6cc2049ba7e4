//! Steps of the wall clock in a virtual machine: figures, leases and deadlines are by another clock, and the report
//! names the steps.

use libtest_mimic::Failed;

use super::booted::run_by_systemd;
use crate::running::shown;

/// What the script says of one name, by a word.
fn said<'t>(text: &'t str, name: &str, word: &str) -> Vec<&'t str> {
    let begin = format!("CASE {name} {word} ");
    text.lines().filter_map(|line| Some(line.trim_end().split_once(begin.as_str())?.1)).collect()
}

/// A column of the row of figures of a load.
fn figure(text: &str, name: &str, column: &str) -> Result<f64, Failed> {
    let csv = said(text, name, "csv");
    let [head, row, ..] = csv[..] else { return Err(format!("no figures of {name}: {text}").into()) };
    let at = head.split(',').position(|one| one == column).ok_or("a column")?;
    Ok(row.split(',').nth(at).ok_or("a value")?.parse()?)
}

/// Others may have the processors of the machine that emulates this one. A step by an hour in a load of 16 s moves a
/// rate by far more.
const ALIKE: std::ops::RangeInclusive<f64> = 0.1..=10.0;

/// Requests that may be signed just before each of the four steps, and come behind it.
const SKEWED_MOST: f64 = 8.0;

pub(crate) fn stepped() -> Result<(), Failed> {
    let output = run_by_systemd("booted_clock.sh")?;
    let text = shown(&output);
    assert!(output.status.success() && text.contains("CASE done"), "{text}");
    let quiet = |column| figure(&text, "quiet", column);
    assert!(said(&text, "quiet", "found").is_empty(), "{text}");
    for name in ["stepped", "leased"] {
        for column in ["requests_per_s", "total_p50_ns", "measured_ms"] {
            let share = figure(&text, name, column)? / quiet(column)?;
            println!("{name}: {column} is {share:.2} of that without a step");
            assert!(ALIKE.contains(&share), "{name} {column}: {share}\n{text}");
        }
        // No latency is an hour.
        assert!(figure(&text, name, "total_max_ns")? < 60e9, "{name}\n{text}");
        let found = said(&text, name, "found").concat();
        assert!(found.contains("this machine's clock was stepped by"), "{name}: {found}\n{text}");
        assert!(figure(&text, name, "errors")? <= SKEWED_MOST, "{name}\n{text}");
        let reported = said(&text, name, "said").join("\n");
        assert!(!reported.contains("lost") && !reported.contains("lapsed"), "{name}: {reported}");
    }
    let runs = said(&text, "runs", "said").join("\n");
    assert!(["quiet", "stepped", "leased"].iter().all(|name| runs.contains(&format!("./{name} "))), "{text}");
    for by in ["3600", "-3600"] {
        for (what, why) in [
            ("holds", "not cut"),
            ("lapses", "not put off"),
            ("logs", "the journal is read"),
            ("confirms", "confirmed in time"),
            ("rolls back", "by the journal"),
        ] {
            let begin = format!("CASE tune {what} by {by}");
            assert!(text.lines().any(|line| line.trim_end().contains(&begin)), "{begin}, {why}: {text}");
        }
    }
    println!("{}", text.lines().filter(|line| line.contains("CASE tune")).collect::<Vec<_>>().join("\n"));
    Ok(())
}
