//! What a run says of a site beside its figures, in sentences of an explanation.

use linerate_analysis::evidence::{Caveat, OmittedFigure, RunRemark};
use linerate_record::explanation::LeftOutFigure;
use linerate_record::run::failure_kind;
use linerate_record::units::{duration_ns, grouped};

use crate::phrases::{percent, series_label};

/// What figures of a run rest on.
#[must_use]
pub fn caveat(caveat: &Caveat) -> String {
    match caveat {
        Caveat::ThisMachine => "the target had an address of the machine that loaded it: unless that forwards to the \
                                site, the load did not cross the site's links"
            .to_owned(),
        Caveat::OnAllNodes { nodes, site } => {
            format!("clients of {site} run on its {nodes} nodes: the load is assumed to have come from all of them")
        }
        Caveat::FewerHosts { hosts, nodes, site } => {
            let hosts = if *hosts == 1 { "1 host".to_owned() } else { format!("{hosts} hosts") };
            format!(
                "the run loaded {hosts}, and {site} has {nodes} nodes that clients ask themselves: unless a host \
                 represents several nodes, the figures cover a part of the site but are compared with all of it"
            )
        }
        Caveat::Disturbed { workload, size } => format!(
            "other programs disturbed {}, which is used on request: the site may be faster than it",
            series_label(workload, size)
        ),
        Caveat::WideInterval { workload, size, half_width_share } => format!(
            "{} is known to ± {} only: it rules out little; measure it again, for longer",
            series_label(workload, size),
            percent(*half_width_share)
        ),
        Caveat::NoInterval { workload, size, error_share } => format!(
            "no measuring error of {} is known, since the run has no confidence interval of it: a standard error of \
             {} is assumed; measure for longer, or state one by --error",
            series_label(workload, size),
            percent(*error_share)
        ),
    }
}

/// A figure that is not used, as an explanation has it.
#[must_use]
pub fn left_out(omitted: &OmittedFigure) -> LeftOutFigure {
    LeftOutFigure {
        figure: series_label(&omitted.workload, &omitted.size),
        bytes_per_s: omitted.bytes_per_s,
        half_width_share: omitted.half_width_share,
        why: omitted.why.to_string(),
    }
}

/// What a run says by itself.
#[must_use]
pub fn remark(remark: &RunRemark) -> String {
    match remark {
        RunRemark::Failures { workload, requests, failed, kinds, most } => {
            let at = most
                .as_ref()
                .map_or_else(String::new, |(host, count)| format!(", {} of them at {host}", grouped(*count)));
            format!(
                "of {} requests of {}, attempts failed {} times ({}){at}: look there first, because failed attempts \
                 take time from the others",
                grouped(*requests),
                workload.to_string().to_uppercase(),
                grouped(*failed),
                failure_kind::counts(kinds)
            )
        }
        RunRemark::Late { workload, host, p50_ns, median_ns } => format!(
            "{} of {host} takes {:.1} times as long as at half of the hosts ({}, not {}): look there first",
            workload.to_string().to_uppercase(),
            *p50_ns as f64 / *median_ns as f64,
            duration_ns(*p50_ns as f64),
            duration_ns(*median_ns as f64)
        ),
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::run::MaybeKnown;

    use super::*;

    #[test]
    fn errors_and_late_hosts_of_a_run_are_told_with_their_figures() {
        let failures = |most| RunRemark::Failures {
            workload: MaybeKnown::read("get"),
            requests: 1001,
            failed: 3,
            kinds: [("503".to_owned(), 2), ("reset".to_owned(), 1)].into(),
            most,
        };
        let of_one = remark(&failures(None));
        assert!(
            of_one.starts_with("of 1001 requests of GET, attempts failed 3 times (503: 2, reset: 1): "),
            "{of_one}"
        );
        let of_two = remark(&failures(Some(("n2:9000".to_owned(), 3))));
        assert!(of_two.contains("(503: 2, reset: 1), 3 of them at n2:9000: look there first"), "{of_two}");
        let late =
            RunRemark::Late { workload: MaybeKnown::read("put"), host: "n3".to_owned(), p50_ns: 290, median_ns: 110 };
        let late = remark(&late);
        assert!(late.starts_with("PUT of n3 takes 2.6 times as long as at half of the hosts (290 ns, not "), "{late}");
    }

    #[test]
    fn what_figures_of_a_run_rest_on_says_what_was_taken() {
        let site = || "four".to_owned();
        let no_interval =
            Caveat::NoInterval { workload: MaybeKnown::read("get"), size: MaybeKnown::read("4MiB"), error_share: 0.1 };
        for (of, expected) in [
            (Caveat::ThisMachine, "unless that forwards to the site"),
            (
                Caveat::OnAllNodes { nodes: 4, site: site() },
                "clients of four run on its 4 nodes: the load is assumed to have come from all of them",
            ),
            (Caveat::FewerHosts { hosts: 1, nodes: 4, site: site() }, "the run loaded 1 host, and four has 4 nodes"),
            (Caveat::FewerHosts { hosts: 3, nodes: 4, site: site() }, "the run loaded 3 hosts, and four has 4 nodes"),
            (
                Caveat::Disturbed { workload: MaybeKnown::read("get"), size: MaybeKnown::read("4MiB") },
                "other programs disturbed GET 4 MiB, which is used on request",
            ),
            (
                Caveat::WideInterval {
                    workload: MaybeKnown::read("put"),
                    size: MaybeKnown::read("4MiB"),
                    half_width_share: 0.39,
                },
                "PUT 4 MiB is known to ± 39 % only",
            ),
            (
                no_interval,
                "no measuring error of GET 4 MiB is known, since the run has no confidence interval of it: a \
                           standard error of 10 % is assumed",
            ),
        ] {
            assert!(caveat(&of).contains(expected), "{}", caveat(&of));
        }
    }
}
