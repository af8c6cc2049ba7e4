//! How much of a flow has to wait in its buffer before its thread is woken (`SO_RCVLOWAT`). To wake a thread up is what
//! receiving costs most, and the sender's processor pays a part of it where both are on one machine, or interrupts are.

use std::os::fd::AsFd;

use linerate_wire::sys::set_receive_low_water;
use rustix::net::sockopt::socket_recv_buffer_size;

use super::TAKEN_BYTES;

/// The part of a buffer that may wait in it: it is less than the window by a 64th of the buffer, and so a 32nd of what
/// flows whose limit is the window get, at the most.
const PART: usize = 64;

/// How much of one flow is awaited.
#[derive(Debug, Default)]
pub(super) struct ReceiveWatermark {
    /// Its level, once that is another one than the kernel's own.
    bytes: usize,
    /// What is to come before its buffer is looked at again.
    left_bytes: usize,
}

impl ReceiveWatermark {
    /// So much came. Kernels let the buffer of a flow grow with what it brings, so that it is looked at once in as much
    /// as it holds.
    pub(super) fn came(&mut self, stream: impl AsFd, bytes: usize) {
        self.left_bytes = self.left_bytes.saturating_sub(bytes);
        if self.left_bytes > 0 {
            return;
        }
        // Without a level, a flow is told of each packet, as ever.
        let Ok(buffer_bytes) = socket_recv_buffer_size(&stream) else { return };
        self.left_bytes = buffer_bytes;
        let level = (buffer_bytes / PART).clamp(1, TAKEN_BYTES);
        if level != self.bytes && set_receive_low_water(stream, level as u32).is_ok() {
            self.bytes = level;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::TcpStream;
    use std::time::Duration;

    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    use super::*;
    use crate::test_ends::two_ends;

    /// Whether a thread that waits for it so long is woken.
    fn is_reported(stream: &TcpStream, within: Duration) -> bool {
        let timeout = Timespec { tv_sec: 0, tv_nsec: i64::from(within.subsec_nanos()) };
        poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&timeout)).unwrap() == 1
    }

    #[test]
    fn a_thread_is_woken_once_a_64th_of_the_buffer_waits() {
        let (mut near, mut far) = two_ends();
        let mut awaited = ReceiveWatermark::default();
        near.write_all(&[1]).unwrap();
        assert!(is_reported(&far, Duration::from_millis(900)), "each byte is told before anything came");
        far.read_exact(&mut [0]).unwrap();
        awaited.came(&far, 1);
        let level = socket_recv_buffer_size(&far).unwrap() / PART;
        assert!(level > 1 && awaited.bytes == level, "{awaited:?}");
        near.write_all(&vec![2; level - 1]).unwrap();
        assert!(!is_reported(&far, Duration::from_millis(200)), "a byte is lacking");
        near.write_all(&[3]).unwrap();
        assert!(is_reported(&far, Duration::from_millis(900)));
        // The end is told, whatever waits.
        far.read_exact(&mut vec![0; level]).unwrap();
        drop(near);
        assert!(is_reported(&far, Duration::from_millis(900)));
    }

    #[test]
    fn the_level_follows_a_buffer_that_grows_once_in_as_much_as_it_holds() {
        let (near, far) = two_ends();
        let mut awaited = ReceiveWatermark::default();
        awaited.came(&far, 1);
        let before = awaited.bytes;
        rustix::net::sockopt::set_socket_recv_buffer_size(&far, 1 << 20).unwrap();
        awaited.came(&far, PART * before - 1);
        assert_eq!(awaited.bytes, before);
        awaited.came(&far, 1);
        assert_eq!(awaited.bytes, socket_recv_buffer_size(&far).unwrap() / PART);
        assert!(awaited.bytes > before);
        drop(near);
    }
}
