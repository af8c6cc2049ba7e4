//! Both ends of a connection over 127.0.0.1, for tests.

use std::net::{TcpListener, TcpStream};

/// Who connected, and who accepted.
pub(crate) fn two_ends() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let near = TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens");
    let (far, _) = listener.accept().expect("somebody connected");
    (near, far)
}
