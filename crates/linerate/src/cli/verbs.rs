//! The table of verbs: each with its page, its exit codes, its check and what it does.

use std::process::ExitCode;

use clap::CommandFactory as _;

use crate::cli::definition::{Cli, Verb};
use crate::commands::agent::flags::AgentFlags;
use crate::commands::audit::flags::AuditFlags;
use crate::commands::bench::flags::{BenchFlags, BenchParser};
use crate::commands::capture::flags::CaptureFlags;
use crate::commands::clean::flags::CleanFlags;
use crate::commands::compare::flags::CompareFlags;
use crate::commands::discover::flags::DiscoverFlags;
use crate::commands::doctor::flags::DoctorFlags;
use crate::commands::experiment::flags::ExperimentFlags;
use crate::commands::explain::flags::ExplainFlags;
use crate::commands::fleet::flags::FleetFlags;
use crate::commands::import::flags::ImportFlags;
use crate::commands::knobs::flags::KnobsFlags;
use crate::commands::lab::flags::LabFlags;
use crate::commands::net::flags::{NetFlags, NetVerb};
use crate::commands::plan::flags::PlanFlags;
use crate::commands::render::flags::RenderFlags;
use crate::commands::report::flags::ReportFlags;
use crate::commands::runs::flags::RunsFlags;
use crate::commands::shell::flags::{CompletionsFlags, ManFlags};
use crate::commands::target::flags::TargetFlags;
use crate::commands::tune::flags::TuneFlags;
use crate::commands::{
    agent, audit, bench, capture, clean, compare, discover, doctor, experiment, explain, fleet, import, knobs, lab,
    net, plan, render, report, runs, shell, target, tune,
};
use crate::terminal::failure::Failure;

/// What a verb finds wrong with its flags, as far as that can be said without doing what they request.
pub(crate) fn check(verb: Verb, read: BenchParser) -> Result<(), Failure> {
    check_row(verb, read)
}

/// Does what the flags of a verb request.
pub(crate) fn run(verb: Verb, read: BenchParser) -> Result<ExitCode, Failure> {
    run_row(verb, read)
}

/// Makes `check_row` and `run_row` from a row for each variant of [`Verb`]. A variant without a row does not compile,
/// nor does a row that lacks something. Both functions of a row also get what reads flags of bench.
macro_rules! verbs {
    ($($verb:ident($flags:ty) {
        page: $page:literal, exit_codes: $exit_codes:expr,
        check: $check:expr,
        run: $run:expr,
    })+) => {
        fn check_row(verb: Verb, read: BenchParser) -> Result<(), Failure> {
            match verb {
                $(Verb::$verb(mut flags) => {
                    let check: fn(&mut $flags, BenchParser) -> Result<(), Failure> = $check;
                    check(&mut flags, read)
                })+
            }
        }

        fn run_row(verb: Verb, read: BenchParser) -> Result<ExitCode, Failure> {
            match verb {
                $(Verb::$verb(mut flags) => {
                    let run: fn(&mut $flags, BenchParser) -> Result<ExitCode, Failure> = $run;
                    run(&mut flags, read)
                })+
            }
        }

        /// The page of each verb, `docs/PAGE.md`, and its exit codes.
        #[cfg(test)]
        const PAGES: &[(&str, &[u8])] = &[$(($page, &$exit_codes)),+];
    };
}

verbs! {
    Bench(BenchFlags) {
        page: "bench", exit_codes: [0, 1, 2, 3, 4, 5, 8, 130],
        check: |flags, _| bench::resolve::check_with_alias(flags),
        run: |flags, _| bench::resolve::with_alias(flags).and_then(|()| bench::run(flags)),
    }
    Report(ReportFlags) {
        page: "report", exit_codes: [0, 1, 2, 5],
        check: |flags, _| report::check(flags),
        run: |flags, _| report::run(flags),
    }
    Runs(RunsFlags) {
        page: "runs", exit_codes: [0, 2],
        // Its only flag is the folder, which `run` lists.
        check: |_, _| Ok(()),
        run: |flags, _| runs::run(flags),
    }
    Compare(CompareFlags) {
        page: "compare", exit_codes: [0, 1, 2, 5],
        check: |flags, _| compare::check(flags),
        run: |flags, _| compare::run(flags),
    }
    Plan(PlanFlags) {
        page: "plan", exit_codes: [0, 1, 2],
        check: |flags, _| plan::check(flags),
        run: |flags, _| plan::run(flags),
    }
    Render(RenderFlags) {
        page: "render", exit_codes: [0, 1, 2, 3, 5, 130],
        check: |flags, _| render::check(flags),
        run: |flags, _| render::run(flags),
    }
    Explain(ExplainFlags) {
        page: "explain", exit_codes: [0, 1, 2, 3, 130],
        check: |flags, _| explain::check(flags),
        run: |flags, _| explain::run(flags),
    }
    Experiment(ExperimentFlags) {
        page: "experiment", exit_codes: [0, 1, 2, 3, 6, 7, 8, 130],
        check: |flags, read| experiment::check(flags, read),
        run: |flags, read| experiment::run(flags, read),
    }
    Clean(CleanFlags) {
        page: "clean", exit_codes: [0, 1, 2, 3, 130],
        check: |flags, _| clean::check(flags),
        run: |flags, _| clean::run(flags),
    }
    Target(TargetFlags) {
        page: "target", exit_codes: [0, 1, 2],
        // Any combination of its flags is valid. `run` looks for keys, once.
        check: |_, _| Ok(()),
        run: |flags, _| target::run(flags),
    }
    Import(ImportFlags) {
        page: "import", exit_codes: [0, 1, 2],
        // Only reading the file shows what is wrong with it, and it may have gigabytes.
        check: |_, _| Ok(()),
        run: |flags, _| import::run(flags),
    }
    Audit(AuditFlags) {
        page: "audit", exit_codes: [0, 1, 2, 3, 5],
        check: |flags, _| audit::check(flags),
        run: |flags, _| audit::run(flags),
    }
    Doctor(DoctorFlags) {
        page: "doctor", exit_codes: [0, 1, 2, 3, 5, 130],
        check: |flags, _| doctor::check(flags),
        run: |flags, _| doctor::run(flags),
    }
    Discover(DiscoverFlags) {
        page: "discover", exit_codes: [0, 1, 2, 3, 5, 130],
        check: |flags, _| discover::check(flags),
        run: |flags, _| discover::run(flags),
    }
    Capture(CaptureFlags) {
        page: "capture", exit_codes: [0, 1, 2],
        // Any combination of its flags is valid. `run` looks at the folder before it reads the machine.
        check: |_, _| Ok(()),
        run: |flags, _| capture::run(flags),
    }
    Knobs(KnobsFlags) {
        page: "knobs", exit_codes: [0, 1, 2],
        check: |flags, _| knobs::check(flags),
        run: |flags, _| knobs::run(flags),
    }
    Tune(TuneFlags) {
        page: "tune", exit_codes: [0, 1, 2, 3, 6, 130],
        check: |flags, _| tune::check(flags),
        run: |flags, _| tune::run(flags),
    }
    Fleet(FleetFlags) {
        page: "fleet", exit_codes: [0, 1, 2, 3, 130],
        check: |flags, _| fleet::check(flags),
        run: |flags, _| fleet::run(flags),
    }
    Net(NetFlags) {
        page: "net", exit_codes: [0, 1, 2, 3, 130],
        // `run` checks combinations of flags for each test of a preset, with the name of the test.
        check: |_, _| Ok(()),
        run: |flags, _| match &flags.verb {
            Some(NetVerb::Serve(serve)) => agent::net_server::run(serve),
            None => net::run(flags),
        },
    }
    Lab(LabFlags) {
        page: "lab", exit_codes: [0, 1, 2, 3, 130],
        check: |flags, _| lab::check(flags),
        run: |flags, _| lab::run(flags),
    }
    Agent(AgentFlags) {
        page: "agent", exit_codes: [0, 1, 2, 3, 130],
        check: |flags, _| flags.check(),
        run: |flags, _| agent::run(flags),
    }
    Completions(CompletionsFlags) {
        page: "completions", exit_codes: [0, 2],
        // clap knows the shells.
        check: |_, _| Ok(()),
        run: |flags, _| shell::completions(flags, Cli::command()),
    }
    Man(ManFlags) {
        page: "man", exit_codes: [0, 1, 2],
        // Its only flag is the folder, which `run` creates.
        check: |_, _| Ok(()),
        run: |flags, _| shell::man(flags, Cli::command()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use clap::Command;

    use super::*;

    /// The codes in the help of a command and of those below it: their lines have an indent of two.
    fn codes_of_help(command: &Command) -> BTreeSet<u8> {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        let rows = text.lines().skip_while(|line| *line != "Exit codes:").skip(1).take_while(|line| !line.is_empty());
        let own = rows.filter_map(|line| line.strip_prefix("  ")?.split(' ').next()?.parse().ok());
        own.chain(command.get_subcommands().flat_map(codes_of_help)).collect()
    }

    /// The codes of a text of pages: a table, or a list such as `0 done; 2 bad usage`.
    fn codes_of_text(text: &str) -> BTreeSet<u8> {
        let (rows, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.starts_with("| "));
        let of_table = rows.iter().filter_map(|row| row.split(' ').nth(1)?.parse().ok());
        let list = lines.join(" ");
        let of_list = list.split(';').filter_map(|item| item.split_whitespace().next()?.parse().ok());
        of_table.chain(of_list).collect()
    }

    /// What a page says of exit codes, up to its link to the page of all.
    fn section_on_codes(page: &str) -> &str {
        let (_, section) = page.split_once("## Errors and exit codes\n").unwrap_or_default();
        section.split("[exit-codes.md]").next().unwrap_or_default()
    }

    #[test]
    fn every_verb_has_a_page_and_its_help_and_page_have_its_exit_codes() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let read = |page: &str| {
            fs::read_to_string(docs.join(format!("{page}.md"))).unwrap_or_else(|error| panic!("{page}: {error}"))
        };
        let table = read("exit-codes");
        let all_codes = codes_of_text(table.split_once("\n\n`").expect("text below the table").0);
        let command = Cli::command();
        let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
        assert_eq!(PAGES.iter().map(|(page, _)| *page).collect::<Vec<_>>(), names);
        for ((page, exit_codes), verb) in PAGES.iter().zip(command.get_subcommands()) {
            let exit_codes: BTreeSet<u8> = exit_codes.iter().copied().collect();
            let of_help = codes_of_help(verb);
            // The short ones have codes only on their pages.
            let is_short = ["target", "completions", "man"].contains(page);
            assert!(of_help == exit_codes || of_help.is_empty() && is_short, "{page}: {of_help:?} in its help");
            assert_eq!(codes_of_text(section_on_codes(&read(page))), exit_codes, "{page}: on its page");
            assert!(exit_codes.is_subset(&all_codes), "{page}: {exit_codes:?} of {all_codes:?}");
        }
    }
}
