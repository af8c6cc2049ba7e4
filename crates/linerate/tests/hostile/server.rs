//! A small S3 that keeps keys and sizes, and misbehaves where a test says so: a thread per connection.

use std::collections::BTreeMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub(crate) struct ReceivedRequest {
    pub(crate) method: String,
    pub(crate) key: String,
    pub(crate) query: String,
    pub(crate) body: Vec<u8>,
}

impl ReceivedRequest {
    pub(crate) fn lists(&self) -> bool {
        self.query.contains("list-type=2")
    }

    /// Whether it lists to see whether the bucket is there.
    pub(crate) fn looks(&self) -> bool {
        self.lists() && self.query.contains("max-keys=1&")
    }

    pub(crate) fn deletes_many(&self) -> bool {
        self.method == "POST" && self.query.starts_with("delete")
    }

    /// A parameter of the query.
    fn parameter(&self, name: &str) -> Option<String> {
        let found = self.query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))?;
        Some(found.replace("%2F", "/"))
    }
}

/// What is said in place of what S3 would say.
pub(crate) enum Said {
    Answer(Vec<u8>),
    /// What S3 would say, as soon as this holds, or after a minute.
    When(fn() -> bool),
    /// Nothing, for longer than any test waits.
    Nothing,
}

/// How it misbehaves; `None` where it does not.
pub(crate) type Manner = fn(&ReceivedRequest, &mut BTreeMap<String, u64>) -> Option<Said>;

/// The server; it ends with the process.
pub(crate) struct Hostile {
    pub(crate) address: String,
    manner: Arc<Mutex<Manner>>,
    pub(crate) objects: Arc<Mutex<BTreeMap<String, u64>>>,
}

pub(crate) fn well(_: &ReceivedRequest, _: &mut BTreeMap<String, u64>) -> Option<Said> {
    None
}

impl Hostile {
    pub(crate) fn serve(manner: Manner) -> Self {
        Self::serve_stored(manner, Arc::default())
    }

    /// Another host of the same target.
    pub(crate) fn other_host(&self, manner: Manner) -> Self {
        Self::serve_stored(manner, Arc::clone(&self.objects))
    }

    fn serve_stored(manner: Manner, objects: Arc<Mutex<BTreeMap<String, u64>>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound").to_string();
        let hostile = Hostile { address, manner: Arc::new(Mutex::new(manner)), objects };
        let (manner, objects) = (Arc::clone(&hostile.manner), Arc::clone(&hostile.objects));
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (manner, objects) = (Arc::clone(&manner), Arc::clone(&objects));
                std::thread::spawn(move || connection(stream, &manner, &objects));
            }
        });
        hostile
    }

    pub(crate) fn behave(&self, manner: Manner) {
        *self.manner.lock().expect("nobody panicked") = manner;
    }

    pub(crate) fn count(&self) -> usize {
        self.objects.lock().expect("nobody panicked").len()
    }
}

fn connection(stream: TcpStream, manner: &Mutex<Manner>, objects: &Mutex<BTreeMap<String, u64>>) {
    let _ = stream.set_nodelay(true);
    let mut stream = BufReader::new(stream);
    while let Ok(Some(requested)) = read(&mut stream) {
        let said = {
            let manner = *manner.lock().expect("nobody panicked");
            let mut objects = objects.lock().expect("nobody panicked");
            manner(&requested, &mut objects).unwrap_or_else(|| Said::Answer(answer(&requested, &mut objects)))
        };
        let bytes = match said {
            Said::Answer(bytes) => bytes,
            Said::When(holds) => {
                let end = Instant::now() + Duration::from_secs(60);
                while !holds() && Instant::now() < end {
                    std::thread::sleep(Duration::from_millis(10));
                }
                answer(&requested, &mut objects.lock().expect("nobody panicked"))
            }
            Said::Nothing => {
                // Until whoever asked has gone, a minute at the most.
                let _ = stream.get_ref().set_read_timeout(Some(Duration::from_secs(60)));
                let _ = stream.read(&mut [0]);
                return;
            }
        };
        if stream.get_mut().write_all(&bytes).is_err() {
            return;
        }
    }
}

fn read(stream: &mut BufReader<TcpStream>) -> io::Result<Option<ReceivedRequest>> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut length = 0;
    loop {
        let mut header = String::new();
        if stream.read_line(&mut header)? == 0 {
            return Ok(None);
        }
        match header.trim().split_once(':') {
            None => break,
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().unwrap_or(0);
            }
            Some(_) => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body)?;
    let mut words = line.split(' ');
    let (method, target) = (words.next().unwrap_or_default().to_owned(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let key = path.trim_start_matches('/').split_once('/').map_or("", |(_, key)| key);
    Ok(Some(ReceivedRequest { method, key: key.to_owned(), query: query.to_owned(), body }))
}

pub(crate) fn reply(status: &str, body: &str) -> Vec<u8> {
    let head = format!("HTTP/1.1 {status}\r\nServer: hostile\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body.as_bytes()].concat()
}

/// What S3 would say.
fn answer(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Vec<u8> {
    match requested.method.as_str() {
        "GET" if requested.lists() => reply("200 OK", &listing(requested, objects)),
        "GET" if requested.query.contains("uploads") => reply("200 OK", "<ListMultipartUploadsResult/>"),
        "GET" if requested.key.is_empty() && requested.query == "versioning=" => {
            reply("200 OK", "<VersioningConfiguration/>")
        }
        "GET" if requested.key.is_empty() => reply("501 Not Implemented", "<Error><Code>NotImplemented</Code></Error>"),
        "POST" => {
            let text = String::from_utf8_lossy(&requested.body);
            for key in text.split("<Key>").skip(1).filter_map(|rest| rest.split("</Key>").next()) {
                objects.remove(key);
            }
            reply("200 OK", "<DeleteResult/>")
        }
        "PUT" => {
            objects.insert(requested.key.clone(), requested.body.len() as u64);
            reply("200 OK", "")
        }
        "DELETE" => {
            objects.remove(&requested.key);
            b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()
        }
        method => match objects.get(&requested.key) {
            Some(size) if method == "HEAD" => format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n").into_bytes(),
            Some(size) => reply("200 OK", &"x".repeat(*size as usize)),
            None => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
        },
    }
}

pub(crate) fn listing(requested: &ReceivedRequest, objects: &BTreeMap<String, u64>) -> String {
    let (prefix, after) =
        (requested.parameter("prefix").unwrap_or_default(), requested.parameter("continuation-token"));
    let most = requested.parameter("max-keys").and_then(|text| text.parse().ok()).unwrap_or(1000);
    let all = objects.iter().filter(|(key, _)| key.starts_with(&prefix));
    let mut left = all.filter(|(key, _)| after.as_ref().is_none_or(|after| *key > after)).peekable();
    let (mut text, mut last) = (String::from("<ListBucketResult>"), String::new());
    for (key, size) in left.by_ref().take(most) {
        text += &format!("<Contents><Key>{key}</Key><Size>{size}</Size></Contents>");
        last.clone_from(key);
    }
    if left.peek().is_some() {
        text += &format!("<IsTruncated>true</IsTruncated><NextContinuationToken>{last}</NextContinuationToken>");
    }
    text + "</ListBucketResult>"
}
