//! Looking names up within a time.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use linerate_record::units::duration_ns;

/// The addresses of a name with its port. The system's own look-up takes as long as its name servers do, so it runs on
/// a thread that is left alone where it takes too long.
///
/// # Errors
/// Those of the look-up, and `TimedOut`.
pub fn addresses(name: impl ToSocketAddrs + Send + 'static, within: Duration) -> io::Result<Vec<SocketAddr>> {
    let (tell, reported) = std::sync::mpsc::channel();
    // Nobody may listen any more.
    std::thread::spawn(move || drop(tell.send(name.to_socket_addrs().map(Iterator::collect))));
    reported.recv_timeout(within).unwrap_or_else(|_| {
        let why = format!("no name server answered: timed out after {}", duration_ns(within.as_nanos() as f64));
        Err(io::Error::new(io::ErrorKind::TimedOut, why))
    })
}

#[cfg(test)]
mod tests {
    use std::vec::IntoIter;

    use super::*;

    /// A name whose servers do not answer.
    struct Silent;

    impl ToSocketAddrs for Silent {
        type Iter = IntoIter<SocketAddr>;

        fn to_socket_addrs(&self) -> io::Result<Self::Iter> {
            loop {
                std::thread::park();
            }
        }
    }

    #[test]
    fn a_name_of_which_no_server_says_anything_is_given_up() {
        let error = addresses(Silent, Duration::from_millis(20)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(error.to_string(), "no name server answered: timed out after 20.0 ms");
        let here = addresses("127.0.0.1:9", Duration::from_secs(60)).unwrap();
        assert_eq!(here, [SocketAddr::from(([127, 0, 0, 1], 9))]);
    }
}
