//! TLS with servers that are as they should be and with those that are not: every fault is counted as one kind, told
//! before a load in one sentence, and none hangs.

mod driving;
mod serving;

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use linerate_load::bucket::Bucket;
use linerate_load::clock::Clock;
use linerate_load::hosts::Host;
use linerate_load::point::{Drive, drive};
use linerate_load::session::{Lookup, Plan, Session, Source, Until};
use linerate_load::tls::{Tls, Trust};
use linerate_record::run::{Ended, Op};
use serving::{Manner, Served, serve};

fn session(served: &Served, trust: Trust, lookup: Lookup) -> Session {
    let address: SocketAddr = served.address;
    let hosts = vec![Host { authority: format!("localhost:{}", address.port()), address }];
    Session {
        tls: Some(Tls::new(trust, &hosts, lookup, "bucket").expect("localhost is a name")),
        hosts,
        lookup,
        ..driving::session(address, Duration::from_secs(20), &driving::bodies())
    }
}

/// Requests of a host that serves, of which most resume sessions.
const ENOUGH: u64 = 12;

/// Successes, and failures by kind, of GETs or PUTs: until there are enough of either, half a minute at the most.
fn driven(session: &Session, op: Op, size: &str) -> (u64, Vec<String>) {
    let plan = Plan {
        sizes: size.parse().expect("a size"),
        source: Source::Set { set: 0, count: 1000 },
        until: Until::Intervals(300),
        interval_ns: 100_000_000,
        ..driving::plan(op, 0)
    };
    let interrupted = AtomicBool::new(false);
    let with = Drive { session, clock: Clock::start(), interrupted: &interrupted, target_pid: None };
    let (mut requests, mut kinds) = (0, Vec::new());
    drive(&with, &plan, |figures| {
        for row in figures.rows {
            requests += row.requests;
            kinds.extend(row.errors.into_keys());
        }
        let enough = requests >= ENOUGH || !kinds.is_empty();
        if enough { ControlFlow::Break(Ended::Precise) } else { ControlFlow::Continue(()) }
    })
    .expect("it drives");
    kinds.sort();
    kinds.dedup();
    (requests, kinds)
}

#[test]
fn every_fault_is_one_kind_and_one_sentence() {
    for (manner, kind, sentence) in [
        (Manner::Expired, "tls: certificate expired", "is this machine's clock right?"),
        (Manner::NotYetValid, "tls: certificate not yet valid", "is this machine's clock right?"),
        (Manner::OtherName, "tls: name mismatch", "name the host as its certificate does"),
        (Manner::OtherIssuer, "tls: unknown issuer", "--ca-file"),
        (Manner::IssuerRemade, "tls: bad signature", "is --ca-file the newest?"),
        (Manner::AuthorityItself, "tls: certificate is an authority's own", "that very certificate with --ca-file"),
        (Manner::SelfSignedExpired, "tls: certificate expired", "is this machine's clock right?"),
        (Manner::SelfSignedOtherName, "tls: name mismatch", "name the host as its certificate does"),
        (Manner::PlainHttp, "tls: the peer does not speak TLS", "plain HTTP is http://"),
        (Manner::Closes, "tls: closed during the handshake", "plain HTTP is http://"),
        (Manner::ClosesAfterHello, "tls: closed during the handshake", "plain HTTP is http://"),
        (Manner::WantsClientCertificate, "tls: refused by the peer: it wants a client certificate", "CertificateReq"),
        (Manner::NoHttp11, "tls: refused by the peer: no HTTP/1.1", "NoApplicationProtocol"),
        (Manner::GarbageAfterwards, "tls: damaged record", "failed to speak TLS with localhost:"),
    ] {
        let served = serve(manner);
        let session = session(&served, Trust::Roots(served.roots.clone()), Lookup::Path);
        let (requests, kinds) = driven(&session, Op::Get, "4096");
        assert_eq!((requests, kinds), (0, vec![kind.to_owned()]), "{manner:?}");
        let told = Bucket::connect(&session, 0).and_then(|mut bucket| bucket.exists()).expect_err("it fails too");
        assert!(told.to_string().contains(sentence), "{manner:?}: {told}");
    }
}

#[test]
fn a_server_that_never_answers_is_a_timeout() {
    let served = serve(Manner::Silent);
    let session =
        Session { timeout_ns: 100_000_000, ..session(&served, Trust::Roots(served.roots.clone()), Lookup::Path) };
    assert_eq!(driven(&session, Op::Get, "4096"), (0, vec!["timeout".to_owned()]));
    let told = Bucket::connect(&session, 0).err().expect("it fails too").to_string();
    assert!(told.contains("the TLS handshake at localhost:") && told.contains("timed out after 100 ms"), "{told}");
}

#[test]
fn certificates_that_are_not_verified_may_be_anything() {
    for manner in [Manner::Expired, Manner::OtherName, Manner::OtherIssuer, Manner::AuthorityItself] {
        let served = serve(manner);
        let (requests, kinds) = driven(&session(&served, Trust::Anything, Lookup::Path), Op::Get, "4096");
        assert!(requests > 0 && kinds.is_empty(), "{manner:?}: {kinds:?}");
    }
}

#[test]
fn a_certificate_that_is_its_own_issuer_is_believed_where_it_was_given() {
    let (served, another) = (serve(Manner::SelfSigned), serve(Manner::SelfSigned));
    let (requests, kinds) =
        driven(&session(&served, Trust::Roots(served.roots.clone()), Lookup::Path), Op::Get, "4096");
    assert!(requests > 0 && kinds.is_empty(), "{kinds:?}");
    let session = session(&served, Trust::Roots(another.roots.clone()), Lookup::Path);
    assert_eq!(driven(&session, Op::Get, "4096"), (0, vec!["tls: certificate is an authority's own".to_owned()]));
}

#[test]
fn both_versions_are_spoken_and_told() {
    for (manner, version) in [(Manner::Good, "TLSv1.3"), (Manner::Tls12, "TLSv1.2")] {
        let served = serve(manner);
        let session = session(&served, Trust::Roots(served.roots.clone()), Lookup::Path);
        for (op, size) in [(Op::Get, "300000"), (Op::Put, "300000"), (Op::Get, "0"), (Op::Put, "1")] {
            let (requests, kinds) = driven(&session, op, size);
            assert!(requests > 0 && kinds.is_empty(), "{version} {op} {size}: {kinds:?}");
        }
        let negotiated = Bucket::connect(&session, 0).unwrap().negotiated().unwrap();
        assert_eq!(negotiated.version, version);
        assert!(negotiated.cipher.starts_with("TLS_") && !negotiated.cipher.contains("TLS13"), "{negotiated:?}");
    }
}

#[test]
fn a_host_is_named_as_requests_name_it_and_sessions_are_resumed() {
    for (lookup, name) in [(Lookup::Path, "localhost"), (Lookup::VirtualHost, "bucket.localhost")] {
        let served = serve(Manner::Good);
        let session = session(&served, Trust::Roots(served.roots.clone()), lookup);
        let (requests, kinds) = driven(&session, Op::Get, "4096");
        assert!(requests >= ENOUGH && kinds.is_empty(), "{requests} {kinds:?}");
        let seen = served.seen();
        assert!(seen.iter().all(|one| one.name.as_deref() == Some(name)), "{seen:?}");
        // This server closes after each reply, so that each request shakes hands: after the first ones, with a ticket.
        let resumed = seen.iter().filter(|one| one.resumed).count();
        assert!(resumed * 2 > seen.len(), "{resumed} of {} resumed", seen.len());
    }
}

#[test]
fn a_body_that_ends_with_the_connection_is_whole_only_if_tls_says_so() {
    for (manner, whole) in [(Manner::EndsProperly, true), (Manner::CutOff, false)] {
        let served = serve(manner);
        let session = session(&served, Trust::Roots(served.roots.clone()), Lookup::Path);
        let (requests, kinds) = driven(&session, Op::Get, "4096");
        assert_eq!((requests > 0, kinds.is_empty()), (whole, whole), "{manner:?}: {kinds:?}");
    }
}
