//! Streams to agents in pods, against a server that misbehaves in each way: each its own words, in time, and no byte
//! lost or doubled.

use std::collections::HashMap;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use linerate_fleet::attachment::{Attach, AttachAnswer, AttachRefusal, FirstWord, SentBytes, word};
use linerate_fleet::node_reach::{NodeReach, PodLocation};
use linerate_kube::access::{Access, KubeconfigSource};
use linerate_kube::error::KubeError;
use linerate_kube::stream::{PodStream, StreamEnd};

use crate::server::{Call, Exec, Server, authority};
use crate::{no_secrets, read_file};

const V5: &str = "v5.channel.k8s.io";
const V4: &str = "v4.channel.k8s.io";
const USER: &str = "{token: t}";

fn place(reach: &str) -> PodLocation {
    match reach.parse() {
        Ok(NodeReach::Kube(place)) => place,
        other => panic!("{other:?}"),
    }
}

/// Longer than anything takes that ends at all, on any machine.
const END: Duration = Duration::from_secs(180);

fn open_stream(kubeconfig: std::path::PathBuf, reach: &str) -> Result<PodStream, KubeError> {
    let place = place(reach);
    let source = KubeconfigSource::Files { paths: vec![kubeconfig] };
    let cluster = Access::find(&source, place.context.as_deref(), read_file)?.connect(no_secrets())?;
    Ok(PodStream::start(&cluster, &place, "token".to_owned()).expect("the server of the test answers"))
}

fn stream(server: &Server) -> PodStream {
    open_stream(server.kubeconfig(USER), "kube://ns/pod/c").expect("the server of the test answers")
}

fn end(stream: &PodStream) -> StreamEnd {
    let until = Instant::now() + END;
    loop {
        match stream.end() {
            Some(end) => return end,
            None if Instant::now() > until => panic!("no end within {END:?}"),
            None => thread::sleep(Duration::from_millis(10)),
        }
    }
}

fn fault(server: &Server, reach: &str) -> KubeError {
    let stream = match open_stream(server.kubeconfig(USER), reach) {
        Ok(stream) => stream,
        Err(fault) => return fault,
    };
    match end(&stream) {
        StreamEnd::Failed(fault) => fault,
        other => panic!("{other:?}"),
    }
}

/// An agent that says again what it was told, over all streams of a token.
#[derive(Default)]
struct Echo {
    taken: u64,
    kept: SentBytes,
    /// Taken, and not said yet.
    unstated: Vec<u8>,
}

#[derive(Default)]
struct Echoes(Mutex<HashMap<String, Echo>>);

impl Echoes {
    /// Serves a stream until it ends, or so many bytes were taken or said on it.
    fn serve(&self, exec: &mut Exec, lease_ms: u64, most: usize) {
        let mut first = FirstWord::default();
        let (requested, mut came) = loop {
            if let Some(came) = first.take::<Attach>(&exec.received()).expect("the server of the test answers") {
                break came;
            }
            if exec.is_over {
                return;
            }
        };
        let mut all = self.0.lock().expect("the server of the test answers");
        let echo = all.entry(requested.token).or_default();
        let again = echo.kept.since(requested.taken).expect("the server of the test answers");
        exec.send(1, &[word(&AttachAnswer::Taken { taken: echo.taken, lease_ms }), again].concat());
        let mut moved = 0;
        while !exec.is_over && moved < most {
            echo.taken += came.len() as u64;
            echo.unstated.extend(&came);
            let said = std::mem::take(&mut echo.unstated);
            // What is kept first and lost on the way goes again.
            echo.kept.push(&said);
            exec.send(1, &said);
            moved += came.len() + said.len();
            came = exec.received();
        }
        // What was read and is not counted was lost, as on a way that broke.
    }
}

/// Says all this to an agent that says it again, and takes that.
fn echoed(stream: &PodStream, bytes: &[u8]) -> Vec<u8> {
    let (mut sent, mut back, until) = (0, Vec::new(), Instant::now() + END);
    let mut piece = vec![0; 64 << 10];
    while back.len() < bytes.len() {
        assert!(Instant::now() < until, "{sent} sent and {} back: {:?}", back.len(), stream.end());
        match (&stream.socket).write(&bytes[sent..]) {
            Ok(count) => sent += count,
            Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock),
        }
        match (&stream.socket).read(&mut piece) {
            Ok(0) => panic!("it ended: {:?}", stream.end()),
            Ok(count) => back.extend(&piece[..count]),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::WouldBlock);
                thread::sleep(Duration::from_millis(1));
            }
        }
    }
    back
}

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

#[test]
fn bytes_go_there_and_back_in_both_versions_of_the_protocol() {
    for protocol in [V5, V4] {
        let echoes = Echoes::default();
        let server = Server::start(move |call| {
            assert!(call.method == "GET" && call.body.is_empty());
            let expected = "/api/v1/namespaces/ns/pods/pod/exec?&stdin=true&stdout=true&stderr=true&container=c&\
                            command=linerate&command=agent&command=attach";
            for part in expected.split(['?', '&']) {
                assert!(call.path.contains(part), "{part}: {}", call.path);
            }
            assert_eq!(call.header("authorization"), "Bearer t");
            assert!(call.header("sec-websocket-protocol").starts_with(V5));
            echoes.serve(&mut call.exec(protocol), 2_000, usize::MAX);
        });
        let stream = stream(&server);
        let said = bytes(3 << 20);
        assert!(echoed(&stream, &said) == said, "{protocol}");
        assert_eq!(stream.end(), None);
    }
}

#[test]
fn a_stream_that_breaks_again_and_again_loses_nothing_and_doubles_nothing() {
    let (echoes, streams) = (Echoes::default(), Arc::new(AtomicU32::new(0)));
    let counted = Arc::clone(&streams);
    let server = Server::start(move |call| {
        let number = counted.fetch_add(1, Ordering::Relaxed);
        match number % 5 {
            // As an API server that starts anew: not there, without rights, behind a node that cannot be reached.
            1 => call.refuse(503, "ServiceUnavailable", "the server is starting"),
            2 if number > 5 => call.refuse(403, "Forbidden", "pods \"pod\" is forbidden: RBAC: not found"),
            3 => drop(call),
            _ => {
                let mut exec = call.exec(V5);
                echoes.serve(&mut exec, 20_000, 300_000 + number as usize);
                match number % 3 {
                    0 => exec.ended(3),
                    1 => drop(exec.socket.close(None)),
                    _ => {}
                }
            }
        }
    });
    let stream = stream(&server);
    let said = bytes(2 << 20);
    assert!(echoed(&stream, &said) == said);
    assert!(streams.load(Ordering::Relaxed) > 5);
}

#[test]
fn a_stream_that_freezes_is_asked_and_then_attached_again() {
    let (echoes, streams, pings) = (Echoes::default(), Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (counted, pinged) = (Arc::clone(&streams), Arc::clone(&pings));
    let server = Server::start(move |call| {
        let is_first = counted.fetch_add(1, Ordering::Relaxed) == 0;
        let mut exec = call.exec(V5);
        echoes.serve(&mut exec, 20_000, if is_first { 1 } else { usize::MAX });
        pinged.fetch_add(exec.pings, Ordering::Relaxed);
        // Nothing is read or answered any more, and nothing is closed.
        thread::sleep(Duration::from_secs(10));
    });
    let stream = stream(&server);
    assert_eq!(echoed(&stream, b"a"), b"a");
    let (mut was_mending, until) = (false, Instant::now() + END);
    while streams.load(Ordering::Relaxed) < 2 && Instant::now() < until {
        was_mending |= stream.is_mending();
        thread::sleep(Duration::from_millis(10));
    }
    assert!(was_mending, "it is doubted before it is broken");
    assert_eq!(echoed(&stream, b"b"), b"b");
    // A quiet stream is asked, and goes on.
    thread::sleep(Duration::from_secs(5));
    assert_eq!(echoed(&stream, b"c"), b"c");
    assert_eq!(streams.load(Ordering::Relaxed), 2);
    drop(stream);
    let until = Instant::now() + END;
    while pings.load(Ordering::Relaxed) == 0 && Instant::now() < until {
        thread::sleep(Duration::from_millis(50));
    }
    assert!(pings.load(Ordering::Relaxed) >= 3, "{pings:?}");
}

#[test]
fn a_stream_that_does_not_come_back_within_the_lease_ends() {
    let streams = AtomicU32::new(0);
    let echoes = Echoes::default();
    let server = Server::start(move |call| {
        if streams.fetch_add(1, Ordering::Relaxed) > 0 {
            return call.refuse(500, "InternalError", "error dialing backend: no route to host");
        }
        echoes.serve(&mut call.exec(V5), 2_000, 1);
    });
    let stream = stream(&server);
    assert_eq!(echoed(&stream, b"a"), b"a");
    let StreamEnd::Failed(fault) = end(&stream) else { panic!("it failed") };
    assert!(fault.to_string().contains("error dialing backend"), "{fault}");
}

/// A server's answer, and parts of the words and of the remedy that it leads to.
type Refusal = (fn(Call), &'static str, &'static str);

fn each_has_its_words(cases: &[Refusal]) {
    for (answer, words, remedy) in cases {
        let server = Server::start(*answer);
        let fault = fault(&server, "kube://ns/pod/c");
        assert!(fault.to_string().contains(words), "{words}: {fault}");
        assert!(fault.remedy().contains(remedy), "{remedy}: {}", fault.remedy());
    }
}

#[test]
fn each_refusal_has_words_and_a_remedy_of_its_own() {
    each_has_its_words(&[
        (|call| call.refuse(401, "Unauthorized", "Unauthorized"), "refused the credentials", "log in again"),
        (
            |call| {
                let why = "pods \"pod\" is forbidden: User \"u\" cannot create resource \"pods/exec\" in API group \
                           \"\" in the namespace \"ns\"";
                call.refuse(403, "Forbidden", why);
            },
            "does not allow create on pods/exec in namespace ns",
            "grant create on pods/exec",
        ),
        (|call| call.refuse(404, "NotFound", "pods \"pod\" not found"), "no such pod", "kubectl get pods"),
        (
            |call| call.refuse(400, "BadRequest", "container c is not valid for pod pod"),
            "no such container",
            "name one of the pod's containers",
        ),
        (|call| call.refuse(400, "BadRequest", "pod pod does not have a host assigned"), "is not running", "describe"),
        (|call| call.json(200, "{}"), "does not switch to a WebSocket", "logs of the API server"),
        (
            |call| call.redirect("https://login.example/a?token=x"),
            "answered 302, a redirect to \"https://login.example/a\", which is not followed",
            "server of the kubeconfig",
        ),
        (|call| call.json(404, "<html>nginx</html>"), "no such pod", "kubectl get pods"),
    ]);
}

#[test]
fn each_end_of_a_command_has_words_and_a_remedy_of_its_own() {
    each_has_its_words(&[
        (drop, "closed on the way", "idle timeouts"),
        (
            |call| {
                let why = r#"exec failed: exec: \"linerate\": executable file not found in $PATH: unknown"#;
                let status = format!(r#"{{"status":"Failure","code":500,"reason":"InternalError","message":"{why}"}}"#);
                call.exec(V5).failed(&status);
            },
            "its image has no linerate",
            "use an image of linerate",
        ),
        (
            |call| {
                let mut exec = call.exec(V4);
                exec.send(2, b"sh: linerate: not found\n");
                exec.ended(127);
            },
            "its image has no linerate: sh: linerate: not found",
            "use an image",
        ),
        (
            |call| {
                let mut exec = call.exec(V5);
                exec.send(2, b"error: no agent listens on /run/linerate/agent.sock\n");
                exec.ended(1);
            },
            "no agent listens in its container: error: no agent listens on /run",
            "the container's command",
        ),
        (
            |call| {
                let mut exec = call.exec(V5);
                exec.send(1, b"Welcome to this image!\nWho are you?\n");
                exec.ended(0);
            },
            "it wrote \"Welcome to this image",
            "the container's command",
        ),
        (
            |call| {
                let mut exec = call.exec(V5);
                while exec.received().is_empty() && !exec.is_over {}
                exec.send(1, &word(&AttachAnswer::Refused(AttachRefusal::Busy { for_s: 7 })));
                exec.ended(0);
            },
            "another coordinator has been using this agent for 7 s",
            "wait for it to end",
        ),
    ]);
}

#[test]
fn a_pod_through_which_its_machine_cannot_be_changed_is_told_in_its_own_words_in_one_line() {
    let server = Server::start(|call| {
        let mut exec = call.exec(V5);
        while exec.received().is_empty() && !exec.is_over {}
        let why = format!("systemd does not run\nits machine{}", "!".repeat(1_000));
        exec.send(1, &word(&AttachAnswer::Refused(AttachRefusal::NoFitReason { why })));
        exec.ended(0);
    });
    let fault = fault(&server, "kube://ns/pod/c");
    let reported = fault.to_string();
    assert!(reported.starts_with("systemd does not run its machine!") && reported.len() == 400, "{reported}");
    assert!(fault.remedy().contains("reach the machine by ssh://"), "{}", fault.remedy());
}

#[test]
fn a_server_that_says_nothing_is_not_waited_for_longer_than_its_time() {
    // Both at once: each takes its time.
    thread::scope(|scope| {
        for begins_exec in [false, true] {
            scope.spawn(move || {
                let server = Server::start(move |call| {
                    if begins_exec {
                        let _exec = call.exec(V5);
                        thread::sleep(Duration::from_secs(30));
                    } else {
                        call.freeze(Duration::from_secs(30));
                    }
                });
                assert_eq!(fault(&server, "kube://ns/pod"), KubeError::Slow(20));
            });
        }
    });
}

#[test]
fn many_streams_wait_for_their_turn_and_not_for_their_time() {
    let server = Server::start(move |call| {
        // Three turns of sixteen take longer together than one stream may.
        thread::sleep(Duration::from_secs(8));
        // Each of an agent of its own.
        Echoes::default().serve(&mut call.exec(V5), 2_000, usize::MAX);
    });
    let source = KubeconfigSource::Files { paths: vec![server.kubeconfig(USER)] };
    let cluster = Access::find(&source, None, read_file).unwrap().connect(no_secrets()).unwrap();
    let start = |n| PodStream::start(&cluster, &place("kube://ns/pod/c"), format!("token {n}")).unwrap();
    let streams: Vec<PodStream> = (0..40).map(start).collect();
    for stream in &streams {
        assert_eq!(echoed(stream, b"said"), b"said");
    }
}

#[test]
fn a_flood_of_errors_and_messages_too_long_cost_no_memory_and_are_told() {
    let server = Server::start(|call| {
        let mut exec = call.exec(V5);
        for _ in 0..200 {
            exec.send(2, &[b'x'; 64 << 10]);
        }
        exec.send(2, b"\nthe last of it\n");
        exec.ended(1);
    });
    let stream = stream(&server);
    let StreamEnd::Failed(fault) = end(&stream) else { panic!("it failed") };
    assert!(fault.to_string().contains("the last of it") && stream.errors().len() <= 4096, "{fault}");
    let server = Server::start(|call| {
        let mut exec = call.exec(V5);
        let _ = exec.socket.send(tungstenite::Message::Binary(vec![1; 9 << 20].into()));
        thread::sleep(Duration::from_secs(1));
    });
    let fault = self::fault(&server, "kube://ns/pod");
    assert!(fault.to_string().contains("closed on the way") && fault.to_string().contains("too long"), "{fault}");
}

#[test]
fn an_answer_without_an_end_is_given_up_at_its_limit() {
    for code in [200, 500] {
        let server = Server::start(move |call| call.endless(code));
        assert_eq!(fault(&server, "kube://ns/?app=x"), KubeError::TooLarge("64 MiB".to_owned()), "{code}");
    }
}

#[test]
fn a_kubeconfig_that_leads_nowhere_says_which_part_of_it_does_not() {
    let server = Server::start(|call| call.refuse(404, "NotFound", "pods \"pod\" not found"));
    let absent = std::path::PathBuf::from("/nowhere/kubeconfig");
    let refused = |kubeconfig, reach: &str| match open_stream(kubeconfig, reach) {
        Err(fault) => fault.to_string() + " / " + &fault.remedy(),
        Ok(stream) => match end(&stream) {
            StreamEnd::Failed(fault) => fault.to_string() + " / " + &fault.remedy(),
            other => panic!("{other:?}"),
        },
    };
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let own = server.kubeconfig(USER);
    let cases = [
        (refused(absent, "kube://ns/pod"), "there is no kubeconfig: none of /nowhere/kubeconfig"),
        (refused(own, "kube://prod/ns/pod/"), "no context \"prod\" / write one of its contexts: test"),
        (
            refused(server.kubeconfig_for(&format!("https://{closed}"), &authority().0, USER), "kube://ns/pod"),
            "cannot be reached",
        ),
        (
            refused(
                server.kubeconfig_for(&format!("https://{}", server.address), &authority().0, USER),
                "kube://ns/pod",
            ),
            "certificate of the API server is not trusted",
        ),
        (
            refused(
                server.kubeconfig(
                    "{exec: {apiVersion: client.authentication.k8s.io/v1, command: 'false', \
            interactiveMode: Never}}",
                ),
                "kube://ns/pod",
            ),
            "the credential command of the kubeconfig failed",
        ),
    ];
    for (reported, part) in cases {
        assert!(reported.contains(part), "{part}: {reported}");
    }
    let kubeconfig = server.kubeconfig("{exec: {command: aws, args: [eks, get-token]}}");
    let access = Access::find(&KubeconfigSource::Files { paths: vec![kubeconfig] }, None, read_file).unwrap();
    assert_eq!(access.command().as_deref(), Some("aws eks get-token"));
}

#[test]
fn a_selector_means_running_pods_in_order_and_as_many_as_there_are_nodes() {
    let server = Server::start(|call| {
        if call.path.contains("/exec") {
            let requested = format!("asked for {}", call.path.split('?').next().unwrap());
            return call.refuse(404, "NotFound", &requested);
        }
        assert!(call.path.starts_with("/api/v1/namespaces/ns/pods?"), "{}", call.path);
        assert!(call.path.contains("labelSelector=app%3Dx"), "{}", call.path);
        let pod =
            |name: &str, phase: &str| format!(r#"{{"metadata":{{"name":"{name}"}},"status":{{"phase":"{phase}"}}}}"#);
        let pods = [pod("x-10", "Running"), pod("x-9", "Running"), pod("x-0", "Succeeded"), pod("x-1", "Running")];
        call.json(
            200,
            &format!(r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{}},"items":[{}]}}"#, pods.join(",")),
        );
    });
    let nodes = |count: usize| {
        let text = format!("nodes: [{{name: 'n{{1...{count}}}', role: client, reach: 'kube://ns/?app=x'}}]");
        linerate_fleet::description::read(&text, "f").unwrap()
    };
    for (node, pod) in nodes(3).iter().zip(["x-1", "x-9", "x-10"]) {
        let NodeReach::Kube(place) = &node.reach else { panic!("a pod") };
        let source = KubeconfigSource::Files { paths: vec![server.kubeconfig(USER)] };
        let cluster = Access::find(&source, None, read_file).unwrap().connect(no_secrets()).unwrap();
        let stream = PodStream::start(&cluster, place, "t".to_owned()).unwrap();
        let StreamEnd::Failed(fault) = end(&stream) else { panic!("it failed") };
        assert!(fault.to_string().ends_with(&format!("/pods/{pod}/exec")), "{pod}: {fault}");
    }
    let fault = fault(&server, "kube://ns/?app=x");
    assert!(fault.to_string().contains("\"app=x\" selects 3 running pods in namespace ns, not 1"), "{fault}");
}

#[test]
fn a_pod_with_the_labels_of_a_fleet_that_no_job_made_is_not_asked() {
    let owner = |version: &str, kind: &str, uid: &str, is_controller: bool| {
        format!(
            r#"[{{"apiVersion":"{version}","kind":"{kind}","name":"o","uid":"{uid}","controller":{is_controller}}}]"#
        )
    };
    let (job, set) = (owner("batch/v1", "Job", "1", true), owner("apps/v1", "DaemonSet", "1", true));
    let index = "app.kubernetes.io/instance=a1,batch.kubernetes.io/job-completion-index=0";
    let change = "app.kubernetes.io/instance=a1,app.kubernetes.io/component=change,spec.nodeName=n1";
    let refused = "selects x-0 in namespace ns, which no Job and no DaemonSet made";
    for (selector, owners, part) in [
        (index, vec![job.clone()], "/pods/x-0/exec"),
        (change, vec![set.clone()], "/pods/x-0/exec"),
        (index, vec!["[]".to_owned()], refused),
        (change, vec!["[]".to_owned()], refused),
        (index, vec![owner("batch/v1", "Job", "1", false)], refused),
        (index, vec![owner("apps/v1", "ReplicaSet", "1", true)], refused),
        (index, vec![owner("example.com/v1", "Job", "1", true)], refused),
        // The one that is named is the one to look at, and not how many there are.
        (index, vec![job.clone(), "[]".to_owned()], "selects x-1 in namespace ns, which no Job"),
        (index, vec![job.clone(), owner("batch/v1", "Job", "2", true)], "selects x-0 of Job o and x-1 of Job o"),
        (index, vec![job.clone(), job], "selects 2 running pods in namespace ns, not 1"),
        ("app=x", vec!["[]".to_owned()], "/pods/x-0/exec"),
    ] {
        let server = Server::start(move |call| {
            if call.path.contains("/exec") {
                let requested = format!("asked for {}", call.path.split('?').next().unwrap());
                return call.refuse(404, "NotFound", &requested);
            }
            let pod = |(number, owners): (usize, &String)| {
                let metadata = format!(r#"{{"name":"x-{number}","ownerReferences":{owners}}}"#);
                format!(r#"{{"metadata":{metadata},"status":{{"phase":"Running"}}}}"#)
            };
            let pods: Vec<String> = owners.iter().enumerate().map(pod).collect();
            let items = pods.join(",");
            call.json(200, &format!(r#"{{"kind":"PodList","apiVersion":"v1","metadata":{{}},"items":[{items}]}}"#));
        });
        let fault = fault(&server, &format!("kube://ns/?{selector}"));
        assert!(fault.to_string().contains(part), "{selector}: {part}: {fault}");
    }
}
