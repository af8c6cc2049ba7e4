//! TLS with servers that are as they should be and with those that are not: every fault is counted as one kind, told
//! before a load in one sentence, and none hangs.

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use linerate_load::bucket::{Bucket, BucketError};
use linerate_load::hosts::Host;
use linerate_load::listing::KeyVersion;
use linerate_load::object_id::ObjectId;
use linerate_load::point::{PointDriver, drive};
use linerate_load::session::{EndCondition, PointPlan, Session, Source};
use linerate_load::tls::Tls;
use linerate_record::load::Lookup;
use linerate_record::run::{Op, StopReason};
use linerate_wire::clock::Clock;
use linerate_wire::tls::Trust;

use crate::driving;
use crate::serving::{Manner, Served, serve};

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

/// Longer than anything takes that ends at all, on any machine.
const END: Duration = Duration::from_secs(180);

/// Requests of a host that serves, of which most resume sessions.
const ENOUGH: u64 = 12;

/// Successes, and failures by kind, of GETs or PUTs: until there are enough of either, half a minute at the most.
fn driven(session: &Session, op: Op, size: &str) -> (u64, Vec<String>) {
    let plan = PointPlan {
        sizes: size.parse().expect("a size"),
        source: Source::Set { set: 0, count: 1000 },
        until: EndCondition::Intervals(300),
        interval_ns: 100_000_000,
        ..driving::plan(op, 0)
    };
    let interrupted = AtomicBool::new(false);
    let with = PointDriver::new(session, Clock::start(), &interrupted);
    let (mut requests, mut kinds) = (0, Vec::new());
    drive(&with, &plan, |figures| {
        for row in figures.rows {
            requests += row.requests;
            kinds.extend(row.errors.into_keys());
        }
        let enough = requests >= ENOUGH || !kinds.is_empty();
        if enough { ControlFlow::Break(StopReason::Precise) } else { ControlFlow::Continue(()) }
    })
    .expect("it drives");
    kinds.sort();
    kinds.dedup();
    (requests, kinds)
}

/// A fault, the kind that it is counted as, and a part of what is told of it.
const FAULTS: &[(Manner, &str, &str)] = &[
    (Manner::Expired, "tls: certificate expired", "check this machine's clock"),
    (Manner::NotYetValid, "tls: certificate not yet valid", "check this machine's clock"),
    (Manner::OtherName, "tls: name mismatch", "use the host name in its certificate"),
    (Manner::OtherIssuer, "tls: unknown issuer", "--ca-file"),
    (Manner::IssuerRemade, "tls: bad signature", "check that --ca-file is up to date"),
    (Manner::IssuerOfAnotherKind, "tls: bad signature", "another key signed it (bad signature); its issuer has the"),
    (
        Manner::IssuerWithShortKey,
        "tls: unsupported size of the issuer's RSA key",
        "the RSA key of its certificate's issuer has 1024 bits, but 2048 to 8192 are required; have it issued by",
    ),
    (
        Manner::ShortKey,
        "tls: unsupported size of RSA key",
        "the RSA key of its certificate has 1024 bits, but 2048 to 8192 are required; install a certificate",
    ),
    (
        Manner::KeyOfAnother,
        "tls: key of another certificate",
        "its signing key does not belong to its certificate; install the private key",
    ),
    (
        Manner::ForClients,
        "tls: certificate not for servers",
        "its extended key usage has no serverAuth; have it issued with serverAuth",
    ),
    (
        Manner::IssuedByLeaf,
        "tls: issuer is not a CA",
        "was issued by a certificate that is not marked as a CA (CA:TRUE); give the server's certificate with",
    ),
    (Manner::IssuedByVersion1, "tls: issuer is not a CA", "not marked as a CA (CA:TRUE); give the server's"),
    (Manner::AuthorityItself, "tls: certificate is an authority's own", "give this certificate with --ca-file"),
    (Manner::SelfSignedExpired, "tls: certificate expired", "check this machine's clock"),
    (Manner::SelfSignedOtherName, "tls: name mismatch", "use the host name in its certificate"),
    (Manner::OtherCommonNameGiven, "tls: name mismatch", "not valid for localhost: it is for elsewhere; use the"),
    (Manner::LeafGivenExpired, "tls: certificate expired", "its certificate expired on 2020-01-01T00:00:00Z, and"),
    (
        Manner::CommonName,
        "tls: certificate without subjectAltName",
        "no subjectAltName: it has \"localhost\" only as its common name, which does not count; install a certificate \
         with subjectAltName on the server, give this one with --ca-file",
    ),
    (
        Manner::Version1,
        "tls: certificate without subjectAltName",
        "its certificate is of X.509 version 1 or 2, which has no subjectAltName; install a",
    ),
    (Manner::PlainHttp, "tls: the peer does not speak TLS", "plain HTTP is http://"),
    (Manner::Closes, "tls: closed during the handshake", "plain HTTP is http://"),
    (Manner::ClosesAfterHello, "tls: closed during the handshake", "plain HTTP is http://"),
    (Manner::WantsClientCertificate, "tls: refused by the peer: it wants a client certificate", "certificate required"),
    (Manner::NoHttp11, "tls: refused by the peer: no HTTP/1.1", "no application protocol"),
    (Manner::GarbageAfterwards, "tls: damaged record", "failed to speak TLS with localhost:"),
];

#[test]
fn every_fault_is_one_kind_and_one_sentence() {
    for &(manner, kind, sentence) in FAULTS {
        let served = serve(manner);
        let session = session(&served, Trust::Roots(served.roots.clone()), Lookup::Path);
        let (requests, kinds) = driven(&session, Op::Get, "4096");
        assert_eq!((requests, kinds), (0, vec![kind.to_owned()]), "{manner:?}");
        let reported = Bucket::connect(&session, 0).and_then(|mut bucket| bucket.exists()).expect_err("it fails too");
        let reported = reported.to_string();
        assert!(reported.contains(sentence), "{manner:?}: {reported}");
        // A message is for people: no names of types, no seconds since 1970.
        let is_of_source = |word: &str| word.contains('{') || word.chars().skip(1).any(char::is_uppercase);
        let known = [
            "TLS",
            "CA",
            "HTTP",
            "HTTP/1.1",
            "X.509",
            "subjectAltName",
            "CA:TRUE",
            "RSA",
            "ECDSA",
            "serverAuth",
            "https://",
            "2020",
            "Z",
        ];
        let odd = reported.split_whitespace().find(|word| {
            is_of_source(word)
                && !known.iter().any(|known| word.trim_matches(['(', ')', ';', ':', ',']).contains(known))
        });
        assert_eq!(odd, None, "{manner:?}: {reported}");
    }
}

#[test]
fn a_server_that_never_answers_is_a_timeout() {
    let served = serve(Manner::Silent);
    let session =
        Session { timeout_ns: 100_000_000, ..session(&served, Trust::Roots(served.roots.clone()), Lookup::Path) };
    assert_eq!(driven(&session, Op::Get, "4096"), (0, vec!["timeout".to_owned()]));
    let reported = Bucket::connect(&session, 0).err().expect("it fails too").to_string();
    assert!(
        reported.contains("the TLS handshake at localhost:") && reported.contains("timed out after 100 ms"),
        "{reported}"
    );
}

/// A call, whose result is of no interest.
type Called = fn(&mut Bucket<'_>) -> Result<(), BucketError>;

#[test]
fn every_call_ends_by_its_limit_whether_or_not_hands_are_shaken() {
    let calls: [(&str, Called); 9] = [
        ("exists", |b| b.exists().map(drop)),
        ("create", |b| b.create().map(drop)),
        ("remove", |b| b.remove().map(drop)),
        ("list", |b| b.list("run/", 10).map(drop)),
        ("versions", |b| b.versions(None).map(drop)),
        ("uploads", |b| b.uploads().map(drop)),
        ("delete", |b| b.delete(&[(ObjectId { set: 1, seq: 1 }, 1)])),
        ("abort", |b| b.abort_upload(&KeyVersion { key: "run/a".into(), id: "u".into() })),
        ("sweep", |b| b.sweep_up(false, &mut |_| Ok(())).map(drop)),
    ];
    for manner in [Manner::Silent, Manner::Mute] {
        let served = serve(manner);
        let session =
            Session { timeout_ns: 500_000_000, ..session(&served, Trust::Roots(served.roots.clone()), Lookup::Path) };
        std::thread::scope(|scope| {
            for (what, call) in calls {
                let session = &session;
                scope.spawn(move || {
                    let result = Bucket::connect(session, 0).and_then(|mut bucket| call(&mut bucket));
                    let reported = result.expect_err(what).to_string();
                    assert!(reported.contains("timed out after 500 ms"), "{manner:?}, {what}: {reported}");
                });
            }
            for op in [Op::Get, Op::Put, Op::Stat, Op::List, Op::Delete, Op::Multipart] {
                let session = &session;
                scope.spawn(move || {
                    // More than sockets take, so that a body is never sent to its end.
                    let reported = driven(session, op, if op == Op::Put { "100MiB" } else { "4096" });
                    assert_eq!(reported, (0, vec!["timeout".to_owned()]), "{manner:?}, {op}");
                });
            }
        });
    }
}

#[test]
fn certificates_that_are_not_verified_may_be_anything() {
    for manner in [
        Manner::Expired,
        Manner::OtherName,
        Manner::OtherIssuer,
        Manner::AuthorityItself,
        Manner::CommonName,
        Manner::Version1,
    ] {
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
    let expected = "tls: another certificate of a trusted name";
    assert_eq!(driven(&session, Op::Get, "4096"), (0, vec![expected.to_owned()]));
}

/// A server of a certificate that was given, made anew: the name is the same, the key is another.
#[test]
fn another_certificate_of_the_name_of_the_one_that_was_given_is_told_as_such() {
    for manner in
        [Manner::SelfSigned, Manner::SelfSignedLeaf, Manner::LeafGiven, Manner::CommonNameGiven, Manner::Version1Given]
    {
        let (served, another) = (serve(manner), serve(manner));
        let session = session(&served, Trust::Roots(another.roots.clone()), Lookup::Path);
        let reported = Bucket::connect(&session, 0).and_then(|mut bucket| bucket.exists()).expect_err("it fails");
        let reported = reported.to_string();
        let parts = ["another than the one of the same name that is trusted: it has another key", "with --ca-file"];
        assert!(parts.iter().all(|part| reported.contains(part)), "{manner:?}: {reported}");
    }
}

#[test]
fn a_certificate_of_the_system_with_the_name_of_the_servers_by_chance_is_not_held_against_it() {
    for manner in [Manner::SelfSigned, Manner::SelfSignedLeaf] {
        let (served, another) = (serve(manner), serve(manner));
        let trust = Trust::WithSystem { given: Vec::new(), system: another.roots.clone() };
        let session = session(&served, trust, Lookup::Path);
        let reported = Bucket::connect(&session, 0).and_then(|mut bucket| bucket.exists()).expect_err("it fails");
        let reported = reported.to_string();
        assert!(!reported.contains("the same name"), "{manner:?}: {reported}");
    }
}

#[test]
fn a_certificate_that_was_given_is_believed_whoever_issued_it_and_in_whatever_form() {
    for manner in [Manner::LeafGiven, Manner::CommonNameGiven, Manner::Version1Given] {
        let served = serve(manner);
        let believing = session(&served, Trust::Roots(served.roots.clone()), Lookup::Path);
        let (requests, kinds) = driven(&believing, Op::Get, "4096");
        assert!(requests > 0 && kinds.is_empty(), "{manner:?}: {kinds:?}");
        // Another server's of the same name and the same authority's kind is not.
        let another = serve(manner);
        let (requests, kinds) =
            driven(&session(&served, Trust::Roots(another.roots.clone()), Lookup::Path), Op::Get, "4096");
        assert!(requests == 0 && !kinds.is_empty(), "{manner:?}");
    }
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
    for (lookup, name) in [(Lookup::Path, "localhost"), (Lookup::Host, "bucket.localhost")] {
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

#[test]
fn the_word_of_tls_is_an_end_whether_or_not_that_of_tcp_follows() {
    for (manner, kinds_expected) in [
        (Manner::EndsWithoutFin, &[][..]),
        (Manner::EndsKept, &[]),
        (Manner::EndsEarly, &["closed before the whole reply"]),
    ] {
        let served = serve(manner);
        let session = session(&served, Trust::Roots(served.roots.clone()), Lookup::Path);
        let (requests, kinds) = driven(&session, Op::Get, "4096");
        assert_eq!(kinds, kinds_expected, "{manner:?}");
        assert_eq!(requests > 0, kinds_expected.is_empty(), "{manner:?}");
    }
}

#[test]
fn the_end_of_each_connection_is_told_in_either_version() {
    for manner in [Manner::Good, Manner::Tls12] {
        let served = serve(manner);
        let session = session(&served, Trust::Roots(served.roots.clone()), Lookup::Path);
        let (requests, kinds) = driven(&session, Op::Get, "4096");
        assert!(requests > 0 && kinds.is_empty(), "{manner:?}: {kinds:?}");
        // Its answer is no listing, and of no interest.
        drop(Bucket::connect(&session, 0).unwrap().exists());
        let begin = Instant::now();
        loop {
            let seen = served.look();
            assert!(seen.iter().all(|reported_end| *reported_end != Some(false)), "{manner:?}: {seen:?}");
            // A request that is given up at the end of the run is none of those that ended.
            if seen.iter().flatten().count() as u64 > requests {
                break;
            }
            assert!(begin.elapsed() < END, "{manner:?}: {seen:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
