//! Sends of a stream of which the kernel makes no copy (`MSG_ZEROCOPY`), and what it says of them: that it is done with
//! one, and whether it copied it all the same (Documentation/networking/msg_zerocopy.rst of the kernel).
//!
//! Until then, and longer where a socket is closed with unsent bytes, the kernel reads the program's own memory. So
//! what is sent is never changed and never freed: all streams send the same bytes, which live as long as the program.

use std::net::TcpStream;
use std::sync::OnceLock;

use linerate_record::net::NetZeroCopy;
use linerate_record::rng::noise;
use linerate_wire::sys::{enable_zerocopy, next_done_sends, send_zerocopy};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use crate::segmentation_offload::number;

/// Most bytes of one send: all that lasts.
const LASTING_BYTES: usize = 1 << 20;

/// Most sends of a stream with which the kernel is not done. It bounds them too, by `net.core.optmem_max`.
const UNDONE_MOST: u64 = 1_024;

/// From so many on, what the kernel says of them is read: it puts words of sends that follow each other into one.
const READ_FROM: u64 = 32;

static LASTING: OnceLock<Vec<u8>> = OnceLock::new();

/// Sends without a copy of one stream.
pub(super) struct ZeroCopySends {
    body: &'static [u8],
    counted: NetZeroCopy,
    /// Sends with which the kernel is not done, as far as it was read.
    undone: u64,
}

impl ZeroCopySends {
    /// Of a stream on which nothing was sent.
    pub(super) fn begun(stream: &TcpStream) -> ZeroCopySends {
        let refused = enable_zerocopy(stream).err().map(|error| number(&error));
        let counted = NetZeroCopy { refused, ..NetZeroCopy::default() };
        ZeroCopySends { body: LASTING.get_or_init(|| noise(LASTING_BYTES)), counted, undone: 0 }
    }

    /// Sends so many bytes at the most, and waits for nothing; how many were taken.
    ///
    /// # Errors
    /// That of the system: `EAGAIN` where the stream has no room, or the kernel has to be done with others first, of
    /// which the socket tells as of any change.
    pub(super) fn send(&mut self, stream: &TcpStream, bytes: usize) -> Result<usize, Errno> {
        let body = self.body;
        let bytes = &body[..bytes.min(body.len())];
        if self.counted.refused.is_some() {
            return copied(stream, bytes);
        }
        if self.undone >= READ_FROM {
            self.read(stream);
        }
        if self.undone >= UNDONE_MOST {
            return Err(Errno::AGAIN);
        }
        match send_zerocopy(stream, bytes).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO)) {
            Ok(count) => {
                self.counted.sends += 1;
                self.undone += 1;
                Ok(count)
            }
            Err(Errno::NOBUFS) => self.beyond_room(stream, bytes),
            Err(errno) => Err(errno),
        }
    }

    /// The kernel may keep no more memory where it is. Once it is done with other sends it may again; where there are
    /// none, it never may keep so much.
    fn beyond_room(&mut self, stream: &TcpStream, bytes: &[u8]) -> Result<usize, Errno> {
        self.read(stream);
        if self.undone > 0 {
            return Err(Errno::AGAIN);
        }
        let count = copied(stream, bytes)?;
        self.counted.sends += 1;
        self.counted.unkept += 1;
        Ok(count)
    }

    /// Reads all that the kernel says of sends by now: each word is of one or more.
    pub(super) fn read(&mut self, stream: &TcpStream) {
        while self.undone > 0 {
            let Ok(done) = next_done_sends(stream) else { return };
            let sends = done.sends.min(self.undone);
            self.undone -= sends;
            self.counted.noted += sends;
            self.counted.copied += if done.were_copied { sends } else { 0 };
        }
    }

    /// What was counted so far.
    pub(super) const fn counted(&self) -> NetZeroCopy {
        self.counted
    }
}

fn copied(stream: &TcpStream, bytes: &[u8]) -> Result<usize, Errno> {
    send(stream, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::thread::sleep;
    use std::time::Duration;

    use super::*;
    use crate::test_ends::two_ends;

    #[test]
    fn sends_are_bounded_until_the_kernel_is_done_with_them_and_each_is_counted_once() {
        let (near, mut far) = two_ends();
        let mut zerocopy_sends = ZeroCopySends::begun(&near);
        assert_eq!(zerocopy_sends.counted(), NetZeroCopy::default());
        // Nobody reads: the kernel has room for so much, and is done with none of what it could not hand on.
        let mut sent = Vec::new();
        while let Ok(count) = zerocopy_sends.send(&near, 1 << 16) {
            sent.push(count as u64);
            assert!(zerocopy_sends.undone <= UNDONE_MOST && sent.len() < 100_000);
        }
        let bytes: u64 = sent.iter().sum();
        let mut came = vec![0; usize::try_from(bytes).unwrap()];
        far.read_exact(&mut came).unwrap();
        assert!(came[..sent[0] as usize] == noise(LASTING_BYTES)[..sent[0] as usize], "other bytes than the body's");
        for _ in 0..400 {
            zerocopy_sends.read(&near);
            if zerocopy_sends.undone == 0 {
                break;
            }
            sleep(Duration::from_millis(5));
        }
        let counts = zerocopy_sends.counted();
        assert_eq!((counts.sends, counts.refused, zerocopy_sends.undone), (sent.len() as u64, None, 0), "{counts:?}");
        assert_eq!(counts.noted + counts.unkept, counts.sends, "{counts:?}");
        // What stays on one machine is always copied.
        assert_eq!((counts.check(), counts.copied_share()), (Ok(()), Some(1.0)), "{counts:?}");
        assert!(zerocopy_sends.send(&near, 1 << 16).is_ok(), "there is room again");
    }

    #[test]
    fn no_send_is_longer_than_what_lasts() {
        let (near, _far) = two_ends();
        let mut zerocopy_sends = ZeroCopySends::begun(&near);
        assert!(zerocopy_sends.send(&near, 16 << 20).is_ok_and(|count| count <= LASTING_BYTES));
    }
}
