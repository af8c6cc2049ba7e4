//! What kernels save `linerate net` on 127.0.0.1: datagrams that go at once (GSO, GRO) beside single ones, of both
//! ends; and sends without a copy (`MSG_ZEROCOPY`), which the loopback copies all the same. There is no bound: it is
//! stated.

use std::error::Error;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use serde_json::json;

use super::{Cost, ENDS, Options, cost, in_turn, mean, measured, of_all};

/// What datagrams are sent at: one thread of a slow machine sends it in single ones.
const RATE: &str = "1Gb/s";

/// A run, and what kernels did in it.
#[derive(Clone, Copy, Debug)]
struct DatagramCosts {
    cost: Cost,
    per_send: f64,
    per_read: f64,
    lost_share: f64,
}

#[derive(Clone, Copy, Debug)]
struct SendCosts {
    cost: Cost,
    copied_share: f64,
}

/// Measures; two tables. In each of two runs, the first is that with the kernel's help.
pub(super) fn run(options: &Options, fleet: &Path, lines: &mut File) -> Result<String, Box<dyn Error>> {
    let (mut datagrams, mut sends) = (Vec::new(), Vec::new());
    for round in 0..options.rounds {
        let run_with = |gso: &'static str| move || of_datagrams(options, fleet, gso);
        let [at_once, single] = in_turn(round, [&run_with("on"), &run_with("off")])?;
        for (client, costs) in [("linerate udp at once", at_once), ("linerate udp single", single)] {
            let mut line = costs.cost.as_json(client, round, 1);
            line["datagrams_per_send"] = json!(costs.per_send);
            line["datagrams_per_read"] = json!(costs.per_read);
            line["lost_share"] = json!(costs.lost_share);
            writeln!(lines, "{line}")?;
        }
        let [sender, receiver, _] = at_once.cost.by(single.cost);
        println!("round {round}, UDP at once: sender {sender:.3}, receiver {receiver:.3} of single datagrams'");
        datagrams.push([at_once, single]);
        let run_with = |flags: &'static [&'static str]| move || of_sends(options, fleet, flags);
        let [uncopied, copied] = in_turn(round, [&run_with(&["--zerocopy"]), &run_with(&[])])?;
        for (client, costs) in [("linerate without a copy", uncopied), ("linerate with a copy", copied)] {
            let mut line = costs.cost.as_json(client, round, 1);
            line["copied_share"] = json!(costs.copied_share);
            writeln!(lines, "{line}")?;
        }
        println!("round {round}, without a copy: the kernel copied {:.1} %", 100.0 * uncopied.copied_share);
        sends.push([uncopied, copied]);
    }
    Ok(format!("{}\n{}", table_of_datagrams(&datagrams), table_of_sends(&sends)))
}

fn of_datagrams(options: &Options, fleet: &Path, gso: &str) -> Result<DatagramCosts, Box<dyn Error>> {
    let view = measured(options, fleet, 1, &["--op", "udp", "--max-rate", RATE, "--gso", gso])?;
    // Where each went by itself, nothing is said of it.
    let at_once = |field: &str| mean(&view, &|pair| pair["offloads"][field].as_f64().or(Some(1.0)));
    Ok(DatagramCosts {
        cost: cost(&view)?,
        per_send: at_once("datagrams_per_send")?,
        per_read: at_once("datagrams_per_read")?,
        lost_share: mean(&view, &|pair| pair["datagrams"]["lost_share"].as_f64())?,
    })
}

fn of_sends(options: &Options, fleet: &Path, flags: &[&str]) -> Result<SendCosts, Box<dyn Error>> {
    let view = measured(options, fleet, 1, flags)?;
    // What is asked to be copied is.
    let copied = |pair: &serde_json::Value| pair["offloads"]["copied_share"].as_f64().or(Some(1.0));
    Ok(SendCosts { cost: cost(&view)?, copied_share: mean(&view, &copied)? })
}

/// The middle of values.
fn middle(values: impl Iterator<Item = f64>) -> f64 {
    let values: Vec<f64> = values.collect();
    crate::median::median(&values).unwrap_or(f64::NAN)
}

/// Both ends, with what each costs and the ratio.
fn rows(what: &str, runs: &[[Cost; 2]]) -> String {
    let ratios: Vec<[f64; 3]> = runs.iter().map(|[one, other]| one.by(*other)).collect();
    let row = |end: usize| {
        let (least, median, greatest) = of_all(&ratios, end);
        let cost_at_end = |cost: &Cost| cost.of_ends()[end];
        let [one, other] = [0, 1].map(|place| middle(runs.iter().map(|run| cost_at_end(&run[place]))));
        let name = ENDS[end];
        format!("| {what} | {name} | {one:.3} | {other:.3} | {median:.3} ({least:.3} to {greatest:.3}) |\n")
    };
    [0, 1].map(row).concat()
}

fn table_of_datagrams(runs: &[[DatagramCosts; 2]]) -> String {
    let at = |extract: fn(&DatagramCosts) -> f64, place: usize| middle(runs.iter().map(|run| extract(&run[place])));
    let what = format!("{RATE}, {:.1} a send and {:.1} a read", at(|of| of.per_send, 0), at(|of| of.per_read, 0));
    let costs: Vec<[Cost; 2]> = runs.iter().map(|run| run.map(|of| of.cost)).collect();
    format!(
        "| datagrams at once | end | s/GiB at once | s/GiB of single ones | ratio: median (least to most) |\n\
         |---|---|---|---|---|\n{}\nLost at the median: {:.3} % at once, {:.3} % of single ones.\n",
        rows(&what, &costs),
        100.0 * at(|of| of.lost_share, 0),
        100.0 * at(|of| of.lost_share, 1),
    )
}

fn table_of_sends(runs: &[[SendCosts; 2]]) -> String {
    let costs: Vec<[Cost; 2]> = runs.iter().map(|run| run.map(|of| of.cost)).collect();
    let copied = middle(runs.iter().map(|[uncopied, _]| uncopied.copied_share));
    format!(
        "| sends without a copy | end | s/GiB without | s/GiB with a copy | ratio: median (least to most) |\n\
         |---|---|---|---|---|\n{}\nThe kernel copied {:.1} % of them: loopback and veth always do.\n",
        rows("TCP, 1 stream", &costs),
        100.0 * copied,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(sender_s_per_gib: f64, receiver_s_per_gib: f64) -> Cost {
        Cost { sender_s_per_gib, receiver_s_per_gib, bytes_per_s: 125e6 }
    }

    #[test]
    fn what_goes_at_once_stands_beside_what_goes_singly_by_the_middle_of_rounds() {
        let single = DatagramCosts { cost: cost(4.0, 2.0), per_send: 1.0, per_read: 1.0, lost_share: 0.01 };
        let pair_of_runs = |sender, receiver| {
            let at_once =
                DatagramCosts { cost: cost(sender, receiver), per_send: 44.0, per_read: 22.0, lost_share: 0.0 };
            [at_once, single]
        };
        let text = table_of_datagrams(&[pair_of_runs(1.0, 0.5), pair_of_runs(0.8, 1.0), pair_of_runs(2.0, 0.2)]);
        for part in [
            "| 1Gb/s, 44.0 a send and 22.0 a read | sender | 1.000 | 4.000 | 0.250 (0.200 to 0.500) |",
            "| receiver | 0.500 | 2.000 | 0.250 (0.100 to 0.500) |",
            "0.000 % at once, 1.000 % of single ones",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn what_was_copied_all_the_same_is_stated() {
        let pair_of_runs = |copied_share| {
            [SendCosts { cost: cost(1.2, 0.3), copied_share }, SendCosts { cost: cost(1.0, 0.3), copied_share: 1.0 }]
        };
        let text = table_of_sends(&[pair_of_runs(1.0), pair_of_runs(1.0), pair_of_runs(0.5)]);
        assert!(text.contains("| TCP, 1 stream | sender | 1.200 | 1.000 | 1.200 (1.200 to 1.200) |"), "{text}");
        assert!(text.contains("The kernel copied 100.0 % of them"), "{text}");
    }
}
