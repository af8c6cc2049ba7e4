//! What `linerate render` writes, on a real Kubernetes: with a real Cilium and a real router, and with a real MinIO on
//! drives with XFS: `make test-cluster`, as root. What is missing skips by name, unless `LINERATE_NO_SKIP` says that
//! nothing may.

mod cluster_parts;
#[expect(dead_code, reason = "other tests use the rest")]
mod running;

use std::time::Instant;

use cluster_parts::{end, has_links, hosted, links, machines, minio, missing_for_cilium, reach};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let arguments = Arguments::from_args();
    let (of_cilium, of_minio) = (missing_for_cilium(), minio::missing_for_minio());
    let of_systemd = hosted::missing();
    let of_variants =
        reach::CHECKS.into_iter().chain(links::CHECKS).chain(machines::CHECKS).map(|(name, kind, check)| {
            let mut absent: Vec<String> = of_cilium.iter().map(ToString::to_string).collect();
            if absent.is_empty() && kind == machines::NEEDED {
                absent.extend(machines::missing());
            } else if absent.is_empty() && !kind.is_empty() && !has_links(kind) {
                absent.push(format!("{kind} in the kernel"));
            }
            trial(name, &absent, check)
        });
    let of_engine = minio::CHECKS.into_iter().map(|(name, check)| {
        let absent: Vec<String> = of_minio.iter().map(ToString::to_string).collect();
        trial(name, &absent, check)
    });
    let of_hosts = hosted::CHECKS.into_iter().map(|(name, check)| trial(name, &of_systemd, check));
    let conclusion = libtest_mimic::run(&arguments, of_engine.chain(of_hosts).chain(of_variants).collect());
    end();
    conclusion.exit();
}

fn trial(name: &'static str, absent: &[String], check: fn() -> Result<(), Failed>) -> Trial {
    let no_skip = std::env::var_os("LINERATE_NO_SKIP").is_some();
    let reported = if absent.is_empty() { name.to_owned() } else { format!("{name} (needs {})", absent.join(", ")) };
    let timed = move || {
        let began = Instant::now();
        let outcome = check();
        println!("{:6.1} s {name}", began.elapsed().as_secs_f64());
        outcome
    };
    Trial::test(reported, timed).with_ignored_flag(!absent.is_empty() && !no_skip)
}
