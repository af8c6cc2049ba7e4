//! A server that answers as engines' metrics do, and as what stands before them does: what becomes of each page.

use std::io::{Read as _, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use linerate_prometheus::PrometheusAccess;
use linerate_prometheus::metrics_pages::{KnownMachine, PageReadings, PagesRequest, PagesUrl, look, readings};
use linerate_prometheus::name_map::NameMap;
use linerate_record::readings::{ReadMeasure, ReadSeries};
use linerate_record::site::Product;
use linerate_wire::tls::{TlsClient, Trust};

/// Heads of requests that were made.
type Requests = Arc<Mutex<Vec<String>>>;

/// A server that answers each request, by its head and its number, until the other side has enough.
fn serving(answer: impl Fn(&str, u64, &mut dyn Write) + Send + Sync + 'static) -> (String, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("its address").to_string();
    let (requests, answer) = (Requests::default(), Arc::new(answer));
    let kept = Arc::clone(&requests);
    thread::spawn(move || {
        for (number, stream) in (0..).zip(listener.incoming()) {
            let Ok(mut stream) = stream else { return };
            let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
            thread::spawn(move || {
                let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
                while !request.ends_with(b"\r\n\r\n") {
                    match stream.read(&mut buffer) {
                        Ok(0) | Err(_) => return,
                        Ok(read) => request.extend_from_slice(&buffer[..read]),
                    }
                }
                let request = String::from_utf8_lossy(&request).into_owned();
                kept.lock().expect("no test has failed with it").push(request.clone());
                answer(&request, number, &mut stream);
            });
        }
    });
    (address, requests)
}

fn reply(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// Two seconds at URLs, with secrets: of nodes `n1` and `n2`.
fn looked(urls: &[String], steps: u32) -> PageReadings {
    let pages = |url: &String| PagesUrl::read(url).and_then(|url| url.pages(&["n1", "n2"])).expect("a URL of pages");
    let targets = urls.iter().flat_map(pages).collect();
    let requested = PagesRequest {
        targets,
        access: PrometheusAccess::Bearer("hunter2-hunter2".to_owned()),
        headers: vec![("X-Tenant".to_owned(), "a-secret-tenant".to_owned())],
        tls: TlsClient::new(Trust::Anything).expect("no settings"),
        names: NameMap::default(),
        product: Product::Minio,
        step_ms: 1_000,
        steps,
    };
    let looked = look(&requested, Instant::now(), &Arc::new(AtomicBool::new(false)));
    let machines = ["n1", "n2"].map(|name| KnownMachine { name: name.to_owned(), names: Vec::new() });
    readings(&looked, &machines, Product::Minio, &NameMap::default())
}

fn find_series<'r>(readings: &'r PageReadings, of: ReadMeasure, machine: &str) -> Option<&'r ReadSeries> {
    readings.series.iter().find(|series| series.of == of && series.machine == machine)
}

fn healthy(sent: u64) -> String {
    format!(
        "minio_api_requests_traffic_sent_bytes{{server=\"10.0.0.9:9000\",type=\"s3\"}} {sent}\n\
         minio_api_requests_inflight_total{{name=\"GetObject\",server=\"10.0.0.9:9000\",type=\"s3\"}} 3\n\
         minio_api_requests_inflight_total{{name=\"PutObject\",server=\"10.0.0.9:9000\",type=\"s3\"}} 2\n"
    )
}

#[test]
fn pages_of_nodes_become_readings_of_these_nodes() {
    let begun = Instant::now();
    let (address, requests) = serving(move |_, _, out| {
        let sent = u64::try_from(begun.elapsed().as_millis()).unwrap_or(0) * 1_000;
        let _ = out.write_all(reply("200 OK", &healthy(sent)).as_bytes());
    });
    let found = looked(&[format!("http://{address}/{{name}}/minio/metrics/v3/api/requests")], 3);
    for node in ["n1", "n2"] {
        let sent = find_series(&found, ReadMeasure::ClientSent, node).unwrap_or_else(|| panic!("{found:?}"));
        let rates: Vec<f64> = sent.values.iter().flatten().copied().collect();
        assert!(rates.len() >= 2 && rates.iter().all(|rate| (100e3..10e6).contains(rate)), "{rates:?}");
        assert_eq!(find_series(&found, ReadMeasure::InFlight, node).unwrap().values[0], Some(5.0));
    }
    assert!(found.warnings.is_empty() && found.remarks.is_empty(), "{found:?}");
    assert_eq!(found.absent.iter().map(|absent| absent.of).collect::<Vec<_>>(), [ReadMeasure::ClientReceived]);
    for request in requests.lock().unwrap().iter() {
        assert!(request.starts_with("GET /n") && request.contains("\r\nAuthorization: Bearer hunter2-hunter2\r\n"));
        assert!(request.contains("\r\nX-Tenant: a-secret-tenant\r\n"), "{request}");
    }
}

#[test]
fn a_page_that_is_none_is_told_with_its_reason_and_the_rest_goes_on() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    let moved = format!("HTTP/1.1 302 Found\r\nLocation: http://{}/x?token=y\r\nContent-Length: 0\r\n\r\n", {
        elsewhere.set_nonblocking(true).unwrap();
        elsewhere.local_addr().unwrap()
    });
    let denied = "{\"Code\":\"AccessDenied\",\"Message\":\"hunter2-hunter2 is no token\"}";
    for (answer, part) in [
        (reply("403 Forbidden", denied), "answered 403: {\"Code\":\"AccessDenied\",\"Message\":\"***"),
        (reply("404 Not Found", ""), "check the path"),
        (moved, "is not followed"),
        (reply("500 Internal Server Error", "boom"), "answered 500: boom"),
        ("SSH-2.0-OpenSSH_9.2\r\n".to_owned(), "does not answer in HTTP"),
        (reply("200 OK", "<html>hunter2-hunter2\nlogin\n"), "no metric of requests is there"),
        (reply("200 OK", ""), "no metric of requests is there"),
    ] {
        let begun = Instant::now();
        let (address, _) = serving(move |request, _, out| {
            let sent = u64::try_from(begun.elapsed().as_millis()).unwrap_or(0);
            let good = reply("200 OK", &healthy(sent));
            let _ = out.write_all(if request.starts_with("GET /n1") { &good } else { &answer }.as_bytes());
        });
        let found = looked(&[format!("http://{address}/{{name}}/metrics")], 2);
        assert!(
            find_series(&found, ReadMeasure::ClientSent, "n1").is_some()
                && found.series.iter().all(|s| s.machine == "n1")
        );
        let [warning] = &found.warnings[..] else { panic!("{part}: {found:?}") };
        assert!(warning.contains("of 1 of 2 pages were not read (n2)") && warning.contains(part), "{part}: {warning}");
        assert!(warning.ends_with("/n2/metrics)"), "the reason is before the address: {warning}");
        let all = format!("{found:?}");
        assert!(!all.contains("hunter2") && !all.contains("token=y"), "{all}");
    }
    assert!(elsewhere.accept().is_err(), "a redirection is not followed");
}

#[test]
fn a_body_without_end_a_line_of_ten_megabytes_and_silence_are_given_up() {
    let ended = Arc::new(AtomicBool::new(false));
    let reported = Arc::clone(&ended);
    let (address, _) = serving(move |request, number, out| {
        if request.starts_with("GET /n2") {
            let _ = out.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
            while out.write_all(&[b'a'; 65_536]).is_ok() {}
            reported.store(true, Ordering::Relaxed);
        } else if request.contains("silent") {
            thread::sleep(Duration::from_secs(30));
        } else {
            let long = format!("minio_x{{a=\"{}\"}} 1\n", "x".repeat(10 << 20));
            let _ = out.write_all(reply("200 OK", &(long + &healthy(number * 100))).as_bytes());
        }
    });
    let urls = [format!("http://{address}/{{name}}/metrics"), format!("http://{address}/silent")];
    let found = looked(&urls, 2);
    assert!(ended.load(Ordering::Relaxed));
    let all = format!("{:?}", (&found.warnings, &found.remarks));
    assert!(
        find_series(&found, ReadMeasure::InFlight, "n1").is_some() && all.contains("a line cannot be read"),
        "{all}"
    );
    assert!(all.contains("n2") && all.len() < 3_000, "{all}");
}

#[test]
fn looks_end_with_their_window_or_when_they_are_told_to() {
    let (address, _) = serving(|_, _, out| {
        let _ = out.write_all(reply("200 OK", &healthy(1)).as_bytes());
    });
    let targets = PagesUrl::read(&format!("http://{address}/metrics")).unwrap().pages(&[]).unwrap();
    let (access, headers) = (PrometheusAccess::Open, Vec::new());
    let tls = TlsClient::new(Trust::Anything).expect("no settings");
    let (names, product) = (NameMap::default(), Product::Minio);
    let requested = PagesRequest { targets, access, headers, tls, names, product, step_ms: 1_000, steps: 3_600 };
    let is_over = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&is_over);
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        raised.store(true, Ordering::Relaxed);
    });
    // An hour of looks were due.
    assert_eq!(look(&requested, Instant::now(), &is_over)[0].pages, 1);
}

#[test]
fn metrics_of_a_machine_that_no_node_is_are_a_warning() {
    let (address, _) = serving(|_, number, out| {
        let page_text = |host: u32| {
            format!(
                "minio_api_requests_inflight_total{{name=\"GetObject\",server=\"h{host}:9000\",type=\"s3\"}} {number}\n"
            )
        };
        let _ = out.write_all(reply("200 OK", &(1..=20).map(page_text).collect::<String>()).as_bytes());
    });
    let found = looked(&[format!("http://{address}/metrics")], 2);
    let [warning] = &found.warnings[..] else { panic!("{found:?}") };
    assert!(
        warning.contains("the fleet has no node")
            && warning.ends_with("h1, h10, h11, h12, h13, h14, h15, h16 and 12 more"),
        "{warning}"
    );
}
