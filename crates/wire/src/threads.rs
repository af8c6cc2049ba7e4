//! Event-loop threads: started together, led from one more, and waited for.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Threads that did not come to their end.
#[derive(Debug, thiserror::Error)]
pub enum ThreadsError {
    /// One could not be started.
    #[error("failed to start a thread: {0}")]
    Start(io::Error),
    #[error("a thread panicked")]
    Panicked,
}

/// Runs `work` on a thread for each of `given`, called `NAME-0`, `NAME-1` and so on, and `lead` on this one meanwhile.
/// Returns what each thread made. Where one cannot be started, `stop` is set, by which those before it are to end.
///
/// # Errors
/// [`ThreadsError`].
pub fn run<G: Send, E: Send>(
    name: &str,
    given: Vec<G>,
    stop: &AtomicBool,
    work: impl Fn(G) -> E + Sync,
    lead: impl FnOnce(),
) -> Result<Vec<E>, ThreadsError> {
    let work = &work;
    thread::scope(|scope| {
        let mut threads = Vec::with_capacity(given.len());
        for (number, given) in given.into_iter().enumerate() {
            let named = thread::Builder::new().name(format!("{name}-{number}"));
            match named.spawn_scoped(scope, move || work(given)) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    return Err(ThreadsError::Start(error));
                }
            }
        }
        lead();
        // All are waited for before any is judged: a panic that nobody took would go on here.
        let ends: Vec<_> = threads.into_iter().map(thread::ScopedJoinHandle::join).collect();
        ends.into_iter().map(|end| end.map_err(|_| ThreadsError::Panicked)).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn each_thread_has_its_name_and_its_part_and_is_led_meanwhile() {
        let (tell, reported) = channel();
        let given: Vec<_> = (0..3).map(|number| (number, tell.clone())).collect();
        drop(tell);
        let work = |(number, tell): (usize, std::sync::mpsc::Sender<usize>)| {
            tell.send(number).unwrap();
            (thread::current().name().unwrap().to_owned(), number)
        };
        let mut seen = Vec::new();
        // It ends when all threads have hung up.
        let ends = run("load", given, &AtomicBool::new(false), work, || seen.extend(reported.iter())).unwrap();
        assert_eq!(ends, [("load-0".to_owned(), 0), ("load-1".to_owned(), 1), ("load-2".to_owned(), 2)]);
        seen.sort_unstable();
        assert_eq!(seen, [0, 1, 2]);
    }

    #[test]
    fn a_thread_that_panics_is_told_and_the_others_end() {
        let stop = AtomicBool::new(false);
        let work = |panics: bool| assert!(!panics, "as the test sets it up");
        let reported = run("load", vec![true, false, true], &stop, work, || {});
        assert!(matches!(reported, Err(ThreadsError::Panicked)), "{reported:?}");
    }
}
