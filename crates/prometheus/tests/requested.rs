//! A server that answers as Prometheus does, and as what stands before one does: what becomes of each answer.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use linerate_prometheus::address::PrometheusAddress;
use linerate_prometheus::name_map::{NameMap, pair};
use linerate_prometheus::{
    ANSWERS_IN_ALL, GatheredWindow, PrometheusAccess, PrometheusError, PrometheusRequest, PrometheusServer, gather,
};
use linerate_record::readings::{ReadMeasure, Readings};
use linerate_record::site::Product;
use linerate_wire::deadline::CancelToken;
use linerate_wire::tls::{TlsClient, Trust};

/// Requests that were made: heads with their forms.
type Requests = Arc<Mutex<Vec<String>>>;

/// A server that answers each request by what it asks; whole replies, heads and bodies.
fn serving(answer: impl Fn(&str) -> String + Send + 'static) -> (PrometheusAddress, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = PrometheusAddress::read(&format!("http://{}/prom", listener.local_addr().expect("its address")))
        .expect("an address");
    let requests = Requests::default();
    let kept = Arc::clone(&requests);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let request = read_request(&mut stream);
            let answer = answer(&request);
            // Whoever has an answer finds the request among those that were made.
            kept.lock().expect("no test has failed with it").push(request);
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    (address, requests)
}

/// A head with its form.
fn read_request(stream: &mut TcpStream) -> String {
    let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let text = String::from_utf8_lossy(&request).into_owned();
        let body = text.split_once("\r\n\r\n").map(|(head, body)| {
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            (length.and_then(|length| length.parse::<usize>().ok()).unwrap_or(0), body.len())
        });
        if body.is_some_and(|(wanted, have)| have >= wanted) {
            return text;
        }
        match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return text,
            Ok(read) => request.extend_from_slice(&buffer[..read]),
        }
    }
}

fn reply(status: &str, kind: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

fn json(body: &str) -> String {
    reply("200 OK", "application/json", body)
}

fn matrix(series: &str) -> String {
    json(&format!("{{\"status\":\"success\",\"data\":{{\"resultType\":\"matrix\",\"result\":[{series}]}}}}"))
}

const WINDOW: GatheredWindow = GatheredWindow { from_unix_ms: 1_000_000_000, to_unix_ms: 1_000_060_000, step_ms: None };

fn requested(
    address: PrometheusAddress,
    access: PrometheusAccess,
    names: &NameMap,
) -> Result<Readings, PrometheusError> {
    requested_for(address, access, names, Product::Minio)
}

fn requested_for(
    address: PrometheusAddress,
    access: PrometheusAccess,
    names: &NameMap,
    product: Product,
) -> Result<Readings, PrometheusError> {
    let (headers, timeout) = (vec![("X-Tenant".to_owned(), "a-secret-tenant".to_owned())], Duration::from_secs(2));
    let (tls, cancel) = (TlsClient::new(Trust::Anything).expect("no settings"), CancelToken::Nothing);
    let requested = PrometheusRequest { address, access, headers, tls, timeout, cancel };
    gather(&mut PrometheusServer::new(requested)?, WINDOW, names, product, |_| {})
}

fn bearer() -> PrometheusAccess {
    PrometheusAccess::Bearer("hunter2-hunter2".to_owned())
}

/// Says of a query what a healthy server would: scrapes 5 s apart, and one machine that sends.
fn healthy(request: &str) -> String {
    if request.contains("count_over_time") {
        matrix("{\"metric\":{},\"values\":[[1000060,\"12\"]]}")
    } else if request.contains("node_network_transmit_bytes_total") {
        matrix(
            "{\"metric\":{\"instance\":\"10.0.0.1:9100\",\"device\":\"eth0\"},\"values\":[[1000055,\"1250000.25\"],\
             [1000060,\"NaN\"]]}",
        )
    } else if request.contains("node_uname_info") {
        matrix("{\"metric\":{\"instance\":\"10.0.0.1:9100\",\"nodename\":\"storage-1\"},\"values\":[[1000060,\"1\"]]}")
    } else {
        matrix("")
    }
}

#[test]
fn readings_have_what_was_found_and_tell_what_was_not() {
    let (address, requests) = serving(healthy);
    let readings = requested(address, bearer(), &NameMap::default()).unwrap();
    assert_eq!((readings.interval_ms, readings.step_ms), (5000, 5000));
    let [series] = &readings.series[..] else { panic!("{:?}", readings.series) };
    assert_eq!((series.of, series.machine.as_str(), series.part.as_str()), (ReadMeasure::LinkSent, "10.0.0.1", "eth0"));
    let there: Vec<f64> = series.values.iter().flatten().copied().collect();
    assert_eq!(there, [1_250_000.0]);
    assert_eq!(readings.names[0].name, "storage-1");
    let needed: Vec<&str> =
        readings.absent.iter().filter(|absent| absent.is_needed).map(|absent| absent.metric.as_str()).collect();
    assert!(needed.contains(&"node_network_receive_bytes_total") && needed.contains(&"node_cpu_seconds_total"));
    assert_eq!(readings.check(), Ok(()));
    for request in requests.lock().unwrap().iter() {
        assert!(request.starts_with("POST /prom/api/v1/query_range HTTP/1.1\r\n"), "{request}");
        assert!(request.contains("\r\nAuthorization: Bearer hunter2-hunter2\r\n"), "{request}");
        assert!(request.contains("\r\nX-Tenant: a-secret-tenant\r\n"), "{request}");
    }
}

#[test]
fn names_are_those_of_a_federated_server() {
    let (address, requests) = serving(healthy);
    let names = NameMap::new([pair("device=interface").unwrap()], &["cluster=\"a\"".to_owned()]);
    assert!(requested(address, PrometheusAccess::Open, &names).is_ok());
    let all = requests.lock().unwrap().join("\n");
    assert!(all.contains("interface%21~") && !all.contains("device%21~") && all.contains("cluster%3D%22a%22"), "{all}");
}

/// As one that relabelled the address away: what has no machine is asked for once as it is.
fn relabelled(request: &str) -> String {
    if request.contains("topk") {
        matrix(
            "{\"metric\":{\"__name__\":\"x\",\"kubernetes_node\":\"s1\",\"job\":\"node\"},\
             \"values\":[[1000060,\"1\"]]}",
        )
    } else if request.contains("count_over_time") {
        healthy(request)
    } else {
        matrix("{\"metric\":{\"device\":\"eth0\"},\"values\":[[1000055,\"1250000.25\"]]}")
    }
}

#[test]
fn a_relabelled_server_is_told_with_what_to_map_and_one_with_nothing_is_an_error() {
    let (address, _) = serving(relabelled);
    let fault = requested(address, PrometheusAccess::Open, &NameMap::default()).unwrap_err().to_string();
    assert!(fault.contains("has a label \"instance\"") && fault.contains("--map instance=NEWNAME"), "{fault}");
    assert!(fault.contains("(the labels are job, kubernetes_node)"), "{fault}");

    let empty = |request: &str| if request.contains("count_over_time") { healthy(request) } else { matrix("") };
    let (address, _) = serving(empty);
    let fault = requested(address, PrometheusAccess::Open, &NameMap::default()).unwrap_err();
    assert!(
        matches!(fault, PrometheusError::Nothing { .. }) && fault.to_string().contains("--from and --to"),
        "{fault}"
    );

    // Parts alone that are not told apart leave readings.
    let (address, _) = serving(|request| match request.contains("node_network_transmit_bytes_total") {
        true => matrix("{\"metric\":{\"instance\":\"10.0.0.1:9100\",\"nic\":\"eth0\"},\"values\":[[1000055,\"1\"]]}"),
        false => healthy(request),
    });
    let readings = requested(address, PrometheusAccess::Open, &NameMap::default()).unwrap();
    let [warning] = &readings.warnings[..] else { panic!("{:?}", readings.warnings) };
    assert!(warning.contains("node_network_transmit_bytes_total has a label \"device\""), "{warning}");
}

#[test]
fn what_is_no_answer_is_quoted_with_its_remedy_and_no_secret() {
    let html = "<html><title>Sign in hunter2-hunter2</title></html>";
    let moved = "HTTP/1.1 302 Found\r\nLocation: https://sso/login?token=x\r\nContent-Length: 0\r\n\r\n".to_owned();
    let refused = "{\"status\":\"error\",\"errorType\":\"unavailable\",\"error\":\"TSDB not ready\"}";
    let cases = [
        (reply("401 Unauthorized", "text/plain", "bad hunter2-hunter2, a-secret-tenant"), "--bearer-file"),
        (reply("403 Forbidden", "text/plain", ""), "answered 403"),
        (reply("404 Not Found", "text/plain", "404 page not found"), "no Prometheus's API"),
        (moved, "points to \"https://sso/login\""),
        (reply("200 OK", "text/html", html), "answered with text/html, not with JSON"),
        (json("{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[]}}"), "another kind of result"),
        (reply("503 Service Unavailable", "application/json", refused), "TSDB not ready"),
        (reply("500 Internal Server Error", "text/plain", "boom"), "answered 500"),
        ("SSH-2.0-OpenSSH_9.2\r\n".to_owned(), "does not answer in HTTP"),
    ];
    for (answer, part) in cases {
        let (address, _) = serving({
            let answer = answer.clone();
            move |_| answer.clone()
        });
        let fault = requested(address, bearer(), &NameMap::default()).unwrap_err().to_string();
        assert!(fault.contains(part), "{answer}: {fault}");
        assert!(!fault.contains("hunter2") && !fault.contains("a-secret-tenant"), "{fault}");
    }
}

#[test]
fn one_query_that_is_refused_leaves_the_others() {
    let (address, _) = serving(|request| {
        if request.contains("node_disk_read_time_seconds_total") {
            let body = "{\"status\":\"error\",\"errorType\":\"execution\",\"error\":\"many-to-many matching\"}";
            reply("422 Unprocessable Entity", "application/json", body)
        } else {
            healthy(request)
        }
    });
    let readings = requested(address, PrometheusAccess::Open, &NameMap::default()).unwrap();
    assert!(readings.remarks.iter().any(|remark| remark.contains("many-to-many")), "{:?}", readings.remarks);
    assert_eq!(readings.series.len(), 1);
}

#[test]
fn what_is_too_much_at_once_is_asked_for_in_parts() {
    let (address, requests) = serving(|request| {
        let is_whole = request.contains("start=1000020.000") && request.contains("end=1000060.000");
        if is_whole && request.contains("node_network_transmit_bytes_total") && !request.contains("count_over_time") {
            let body = "{\"status\":\"error\",\"errorType\":\"execution\",\"error\":\"query processing would load too \
                        many samples into memory\"}";
            reply("422 Unprocessable Entity", "application/json", body)
        } else {
            healthy(request)
        }
    });
    let readings = requested(address, PrometheusAccess::Open, &NameMap::default()).unwrap();
    assert_eq!(readings.series.len(), 1, "{:?}", readings.remarks);
    let sent = "node_network_transmit_bytes_total%7B";
    let parts = requests.lock().unwrap().iter().filter(|request| request.contains(sent)).count();
    assert!(parts >= 3, "{parts}");
}

#[test]
fn a_proxy_that_lets_nothing_but_get_through_is_asked_so() {
    let (address, requests) = serving(|request| {
        if request.starts_with("POST") { reply("405 Method Not Allowed", "text/plain", "") } else { healthy(request) }
    });
    assert_eq!(requested(address, PrometheusAccess::Open, &NameMap::default()).unwrap().series.len(), 1);
    let posts = requests.lock().unwrap().iter().filter(|request| request.starts_with("POST")).count();
    assert_eq!(posts, 1);
}

#[test]
fn a_server_that_does_not_answer_is_given_up_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = PrometheusAddress::read(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let fault = requested(address, PrometheusAccess::Open, &NameMap::default()).unwrap_err();
    assert!(matches!(fault, PrometheusError::Late { limit_s: 2, .. }), "{fault}");
    drop(listener);
    let nobody = PrometheusAddress::read("http://127.0.0.1:9").unwrap();
    let fault = requested(nobody, PrometheusAccess::Open, &NameMap::default()).unwrap_err().to_string();
    assert!(fault.contains("failed to reach http://127.0.0.1:9"), "{fault}");
}

/// Sends an answer that never ends, a byte at a time, until whoever waits for it has gone.
fn trickle(stream: &mut TcpStream) {
    let begins = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n{";
    let (mut sent, mut buffer) = (stream.write_all(begins), [0; 64]);
    stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a socket has a timeout");
    for _ in 0..1_000_000 {
        // A read that times out is the pause between two bytes.
        if sent.is_err() || matches!(stream.read(&mut buffer), Ok(0)) {
            return;
        }
        sent = stream.write_all(b" ");
    }
}

#[test]
fn answers_that_trickle_end_the_reading_once_all_of_them_have_taken_their_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = PrometheusAddress::read(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
    let trickled = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&trickled);
    thread::spawn(move || {
        let mut rows = 0;
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let request = read_request(&mut stream);
            let is_of_scrapes = request.contains("count_over_time");
            rows += usize::from(!is_of_scrapes && span_s(&request) > 25.0);
            // One row of three is answered: no other bound on late answers is met first.
            if is_of_scrapes || rows % 3 == 1 {
                let _ = stream.write_all(healthy(&request).as_bytes());
            } else {
                count.fetch_add(1, Ordering::Relaxed);
                trickle(&mut stream);
            }
        }
    });
    let (access, timeout) = (PrometheusAccess::Open, Duration::from_secs(1));
    let (headers, tls, cancel) =
        (Vec::new(), TlsClient::new(Trust::Anything).expect("no settings"), CancelToken::Nothing);
    let request = PrometheusRequest { address, access, headers, tls, timeout, cancel };
    let mut server = PrometheusServer::new(request).unwrap();
    let fault = gather(&mut server, WINDOW, &NameMap::default(), Product::Minio, |_| {}).unwrap_err();
    assert!(matches!(fault, PrometheusError::Overdue { limit_s: 10, .. }), "{fault}");
    assert!(fault.to_string().contains("within 10 s, ten times --timeout"), "{fault}");
    assert!(trickled.load(Ordering::Relaxed) <= ANSWERS_IN_ALL as usize, "{trickled:?}");
}

#[test]
fn values_that_cannot_be_are_left_out_and_what_is_gathered_can_be_read_again() {
    let (address, _) = serving(|request| {
        if request.contains("node_network_transmit_bytes_total") && !request.contains("count_over_time") {
            matrix(
                "{\"metric\":{\"instance\":\"10.0.0.1:9100\",\"device\":\"eth0\"},\"values\":[[1000050,\"-5\"],\
                 [1000055,\"1e308\"],[1000060,\"7\"]]}",
            )
        } else {
            healthy(request)
        }
    });
    let readings = requested(address, PrometheusAccess::Open, &NameMap::default()).unwrap();
    assert_eq!(readings.check(), Ok(()));
    let there: Vec<f64> = readings.series[0].values.iter().flatten().copied().collect();
    assert_eq!(there, [7.0]);
    let reported = |remark: &String| remark.starts_with("2 values of \"sent on\" of 10.0.0.1 cannot be");
    assert!(readings.remarks.iter().any(reported), "{:?}", readings.remarks);
}

#[test]
fn queries_that_are_all_refused_are_a_fault_with_the_servers_reason() {
    for status in ["400 Bad Request", "500 Internal Server Error"] {
        let (address, _) = serving(move |request| {
            if request.contains("count_over_time") {
                healthy(request)
            } else {
                reply(status, "application/json", "{\"status\":\"error\",\"errorType\":\"x\",\"error\":\"no tenant\"}")
            }
        });
        let fault = requested(address, PrometheusAccess::Open, &NameMap::default()).unwrap_err().to_string();
        assert!(fault.contains("refused all") && fault.contains("x: no tenant"), "{fault}");
    }
}

#[test]
fn a_late_answer_is_halved_at_most_twice() {
    let (address, requests) = serving(|request| {
        if request.contains("count_over_time") {
            healthy(request)
        } else {
            reply("504 Gateway Timeout", "text/plain", "upstream")
        }
    });
    assert!(requested(address, PrometheusAccess::Open, &NameMap::default()).is_err());
    let first = requests.lock().unwrap().iter().filter(|request| !request.contains("count_over_time")).count();
    assert_eq!(first, 3, "the whole, a half and a quarter");
}

#[test]
fn what_is_too_much_together_is_one_error_with_what_to_do() {
    let (address, _) = serving(|request| {
        if request.contains("count_over_time") {
            return healthy(request);
        }
        let one = |n: u32| {
            format!("{{\"metric\":{{\"instance\":\"h{n}:9100\",\"device\":\"eth0\"}},\"values\":[[1000060,\"1\"]]}}")
        };
        matrix(&(0..90_000).map(one).collect::<Vec<_>>().join(","))
    });
    let fault = requested(address, PrometheusAccess::Open, &NameMap::default()).unwrap_err();
    assert!(matches!(fault, PrometheusError::TooMuch { .. }), "{fault}");
    let fault = fault.to_string();
    assert!(fault.contains("200000 series together") && fault.contains("--select"), "{fault}");
}

/// As a healthy one, but one query of a metric gets this status so many times first.
fn busy_for(metric: &'static str, status: &'static str, times: usize) -> (PrometheusAddress, Requests) {
    let requested = AtomicUsize::new(0);
    serving(move |request| {
        let is_it = request.contains(metric) && !request.contains("count_over_time");
        if is_it && requested.fetch_add(1, Ordering::Relaxed) < times {
            let retry = format!("{status}\r\nRetry-After: 0");
            return reply(&retry, "text/plain", "too many requests");
        }
        healthy(request)
    })
}

const SENT: &str = "node_network_transmit_bytes_total%7B";

#[test]
fn a_server_that_has_too_much_to_do_is_asked_three_times() {
    for status in ["503 Service Unavailable", "429 Too Many Requests", "502 Bad Gateway"] {
        let (address, requests) = busy_for(SENT, status, 2);
        let readings = requested(address, PrometheusAccess::Open, &NameMap::default()).unwrap();
        assert_eq!((readings.series.len(), readings.warnings.len()), (1, 0), "{status}: {:?}", readings.warnings);
        let tries = requests.lock().unwrap().iter().filter(|request| request.contains(SENT)).count();
        assert_eq!(tries, 3, "{status}");
    }
}

/// What tells a query of interrupts from others of the same metric.
const CORES: &str = "%22irq%7Csoftirq%22";

const TIMED_OUT: &str = "{\"status\":\"error\",\"errorType\":\"timeout\",\"error\":\"query timed out\"}";

/// A number of a form.
fn number(request: &str, name: &str) -> f64 {
    let value = request.split_once(name).and_then(|(_, rest)| rest.split('&').next());
    value.and_then(|value| value.parse().ok()).unwrap_or_else(|| panic!("{name} in {request}"))
}

/// From the first to the last instant that a request is of, in seconds.
fn span_s(request: &str) -> f64 {
    number(request, "&end=") - number(request, "&start=")
}

#[test]
fn a_query_that_took_the_server_too_long_is_asked_for_in_parts_and_not_as_it_was() {
    let (address, requests) = serving(|request| {
        let is_it = request.contains(CORES) && !request.contains("count_over_time");
        if is_it { reply("503 Service Unavailable", "application/json", TIMED_OUT) } else { healthy(request) }
    });
    let readings = requested(address, PrometheusAccess::Open, &NameMap::default()).unwrap();
    assert_eq!((readings.series.len(), readings.warnings.len()), (1, 1), "{:?}", readings.warnings);
    let requests = requests.lock().unwrap();
    let spans: Vec<f64> = requests.iter().filter(|request| request.contains(CORES)).map(|one| span_s(one)).collect();
    assert_eq!(spans, [40.0, 15.0, 5.0], "the whole, a half, a quarter, each once");
}

#[test]
fn a_server_that_is_late_with_a_whole_window_is_asked_for_parts_from_then_on() {
    let (address, requests) = serving(|request| {
        let is_long = !request.contains("count_over_time") && span_s(request) > 25.0;
        if is_long { reply("504 Gateway Timeout", "text/plain", "late") } else { healthy(request) }
    });
    let readings = requested(address, PrometheusAccess::Open, &NameMap::default()).unwrap();
    assert_eq!((readings.series.len(), readings.warnings.len()), (1, 0), "{:?}", readings.warnings);
    let requests = requests.lock().unwrap();
    let is_long = |request: &&String| !request.contains("count_over_time") && span_s(request) > 25.0;
    assert_eq!(requests.iter().filter(is_long).count(), 1, "the first alone");
}

#[test]
fn one_query_without_an_answer_is_told_and_the_rest_is_read() {
    for (metric, status) in [(CORES, "503 Service Unavailable"), (CORES, "504 Gateway Timeout")] {
        let (address, requests) = busy_for(metric, status, usize::MAX);
        let readings = requested(address, PrometheusAccess::Open, &NameMap::default()).unwrap();
        assert_eq!(readings.series.len(), 1, "{status}");
        let [warning] = &readings.warnings[..] else { panic!("{status}: {:?}", readings.warnings) };
        assert!(warning.contains("node_cpu_seconds_total") && warning.contains(&status[..3]), "{warning}");
        let tries = requests.lock().unwrap().iter().filter(|request| request.contains(metric)).count();
        assert!((2..=6).contains(&tries), "{status}: {tries}");
    }
}

#[test]
fn a_server_that_answers_nothing_any_more_is_given_up() {
    let (address, requests) = busy_for("node_", "503 Service Unavailable", usize::MAX);
    let fault = requested(address, PrometheusAccess::Open, &NameMap::default()).unwrap_err();
    assert!(matches!(fault, PrometheusError::Status { status: 503, .. }), "{fault}");
    let tried = requests.lock().unwrap().iter().filter(|request| !request.contains("count_over_time")).count();
    assert_eq!(tried, 9, "three tries of three queries");
}

/// One series, of the last two instants.
fn series(labels: &str, value: u32) -> String {
    format!("{{\"metric\":{{{labels}}},\"values\":[[1000055,\"{value}\"],[1000060,\"{value}\"]]}}")
}

/// Readings of what a server says of one metric; of all others it has nothing.
fn readings_of(metric: &'static str, series: &[String]) -> Readings {
    let answer = series.join(",");
    let (address, _) = serving(move |request| {
        if request.contains("count_over_time") {
            healthy(request)
        } else {
            matrix(if request.contains(metric) { &answer } else { "" })
        }
    });
    requested(address, bearer(), &NameMap::default()).unwrap_or_else(|error| panic!("{metric}: {error}"))
}

/// Machines, parts and last values of a measure.
fn last_values(readings: &Readings, of: ReadMeasure) -> Vec<(&str, &str, f64)> {
    let all = readings.series.iter().filter(|one| one.of == of);
    all.filter_map(|one| Some((one.machine.as_str(), one.part.as_str(), (*one.values.last()?)?))).collect()
}

#[test]
fn a_server_counts_once_however_many_scrapes_have_it_and_servers_of_a_machine_add_up() {
    let labels_of = |server: &str, instance: &str| format!("\"server\":\"{server}\",\"instance\":\"{instance}\"");
    let (sent, inflight) = ("minio_s3_traffic_sent_bytes", "minio_s3_requests_inflight_total");
    for (metric, measure, labels, expected) in [
        // The cluster's page, scraped of each server.
        (sent, ReadMeasure::ClientSent, [("n1:9000", "n1:9000"), ("n1:9000", "n2:9000")], &[("n1", "", 7.0)][..]),
        (inflight, ReadMeasure::InFlight, [("n1:9000", "n1:9000"), ("n1:9000", "n2:9000")], &[("n1", "", 7.0)]),
        (sent, ReadMeasure::ClientSent, [("n1:9000", "lb:9000"), ("n1:9001", "lb:9000")], &[("n1", "", 14.0)]),
        // Engines of one node call themselves by an address that all machines have.
        (
            sent,
            ReadMeasure::ClientSent,
            [("127.0.0.1:9000", "n1:9000"), ("127.0.0.1:9000", "n2:9000")],
            &[("n1", "", 7.0), ("n2", "", 7.0)],
        ),
        (
            sent,
            ReadMeasure::ClientSent,
            [("localhost:9000", "n1:9000"), ("[::]:9000", "n2:9000")],
            &[("n1", "", 7.0), ("n2", "", 7.0)],
        ),
        (
            "minio_api_requests_traffic_sent_bytes",
            ReadMeasure::ClientSent,
            [("n1:9000", "10.0.0.1:9000"), ("n1:9000", "10.0.0.1:9443")],
            &[("10.0.0.1", "", 7.0)],
        ),
    ] {
        let both = labels.map(|(server, instance)| series(&labels_of(server, instance), 7));
        assert_eq!(last_values(&readings_of(metric, &both), measure), expected, "{metric} {labels:?}");
    }
}

#[test]
fn a_path_or_partition_counts_where_its_drive_does_not() {
    let labels_of = |device: &str| format!("\"instance\":\"n1:9100\",\"device\":\"{device}\"");
    let found = |drive: u32| -> Vec<String> {
        let all = [
            series(&labels_of("nvme0n1"), drive),
            series(&labels_of("nvme0c3n1"), 9),
            series(&labels_of("nvme1c3n1"), 5),
            series(&labels_of("nvme0n1p1"), drive),
            series(&labels_of("xvda1"), 3),
        ];
        let readings = readings_of("node_disk_read_bytes_total", &all);
        last_values(&readings, ReadMeasure::DriveRead)
            .iter()
            .map(|(_, part, value)| format!("{part} {value}"))
            .collect()
    };
    assert_eq!(found(9), ["nvme0n1 9", "nvme1c3n1 5", "xvda1 3"]);
    // Before Linux 6.2.
    assert_eq!(found(0), ["nvme0c3n1 9", "nvme0n1 0", "nvme0n1p1 0", "nvme1c3n1 5", "xvda1 3"]);
}

/// As one whose gateways share an `instance_id`: what joins them is refused.
fn refusing_joins(request: &str) -> String {
    if request.contains("group_left") {
        let why = "found duplicate series for the match group {instance_id=\\\"a\\\"} on the right hand-side";
        let body = format!("{{\"status\":\"error\",\"errorType\":\"execution\",\"error\":\"{why}\"}}");
        return reply("422 Unprocessable Entity", "application/json", &body);
    }
    if request.contains("ceph_rgw_op_get_obj_bytes") {
        let series_of = |instance: &str| series(&format!("\"instance\":\"{instance}\""), 7);
        return matrix(&[series_of("n1:9926"), series_of("n2:9926")].join(","));
    }
    healthy(request)
}

#[test]
fn what_is_refused_is_read_otherwise_or_told_and_is_not_said_to_lack() {
    let (address, _) = serving(refusing_joins);
    let readings = requested_for(address, bearer(), &NameMap::default(), Product::CephRgw).unwrap();
    let sent = last_values(&readings, ReadMeasure::ClientSent);
    assert_eq!(sent, [("n1", "", 7.0), ("n2", "", 7.0)], "by the host of each exporter");
    let warning = readings.warnings.iter().find(|one| one.contains("refused")).expect("it is told");
    assert!(warning.contains("ceph_rgw_op_put_obj_bytes") && warning.contains("duplicate series"), "{warning}");
    let is_lacking = |of: ReadMeasure| readings.absent.iter().any(|absent| absent.of == of);
    assert!(!is_lacking(ReadMeasure::ClientSent) && !is_lacking(ReadMeasure::ClientReceived), "{:?}", readings.absent);
}
