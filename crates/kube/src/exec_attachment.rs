//! One exec over a WebSocket: `linerate agent attach` in a container, what goes to it and what comes of it.
//!
//! Kubernetes' subprotocol has a channel in the first byte of each message: 0 goes in, 1 comes out, 2 are errors, 3 is
//! the status in which all ends, and of v5, 255 closes a channel (KEP-4006).

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{Sink, SinkExt as _, StreamExt as _};
use hyper_util::rt::TokioIo;
use kube::Client;
use kube::api::AttachParams;
use kube::core::{Request, Status};
use linerate_fleet::attachment::{ATTACH_VERSION, Attach, AttachAnswer, AttachRefusal, FirstWord, SentBytes, word};
use linerate_record::units::Bytes;
use tokio::net::UnixStream;
use tokio::time::{Instant, interval, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{self, Message};

use crate::error::{ApiRequestKind, KubeError, in_one_line, of_client, of_status};
use crate::stream_state::{StreamEnd, StreamState};

const STDIN: u8 = 0;
const STDOUT: u8 = 1;
const STDERR: u8 = 2;
const STATUS: u8 = 3;

/// What is started in the container.
const COMMAND: [&str; 3] = ["linerate", "agent", "attach"];

/// With what code `linerate agent attach` ends where its input or output did, and not the agent.
const CUT_OFF: i32 = 3;

/// Largest message of the API server that is taken; those of an exec have 32 KiB at the most.
const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Most bytes that wait until the API server accepts them, in bytes. Answers to its pings are among them.
const WAITING_BYTES_MAX: usize = 1 << 20;

/// Largest piece that is sent: what the API server reads at once.
const PIECE_BYTES: usize = 32 << 10;

/// How often it is looked at whether something came; where nothing did since, it is asked for.
const LOOKED_EACH: Duration = Duration::from_millis(500);
const PINGED_AFTER: Duration = Duration::from_secs(1);

/// After how much silence, though it was asked for, a stream may be broken, and when it counts as such.
const DOUBTED_AFTER: Duration = Duration::from_millis(1_500);
const BROKEN_AFTER: Duration = Duration::from_secs(3);

/// Longest status that is read.
const STATUS_BYTES_MAX: usize = 64 << 10;

type Socket = WebSocketStream<TokioIo<hyper::upgrade::Upgraded>>;

/// Whose agent is meant.
#[derive(Clone, Copy)]
pub(crate) struct ExecTarget<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) pod: &'a str,
    pub(crate) container: Option<&'a str>,
    pub(crate) token: &'a str,
}

/// What came, over all attachments.
#[derive(Default)]
pub(crate) struct Inbound {
    /// So much was taken of the agent.
    taken: u64,
    /// Of it, this was not read here yet.
    unread: VecDeque<u8>,
}

/// What goes, over all attachments.
pub(crate) struct Outbound {
    pub(crate) kept: SentBytes,
    /// When the first stream was begun.
    pub(crate) since: Instant,
    /// Whether there was a stream before.
    pub(crate) is_begun: bool,
    /// For how long the agent goes on without a message, once it has said so.
    pub(crate) lease: Duration,
}

/// Why nothing goes on.
pub(crate) enum StreamBreak {
    Ended(StreamEnd),
    /// Nobody listens here any more.
    Left,
    /// It may come back.
    Broken(KubeError),
}

pub(crate) struct ExecStream {
    to: SplitSink<Socket, Message>,
    from: SplitStream<Socket>,
}

/// What a message means.
enum Received {
    Out(Vec<u8>),
    Status(Vec<u8>),
    Nothing,
}

/// Attaches, and says again what was lost on the way there.
pub(crate) async fn attach(
    client: &Client,
    target: ExecTarget<'_>,
    inbound: &mut Inbound,
    outbound: &mut Outbound,
    shared: &StreamState,
) -> Result<ExecStream, KubeError> {
    let mut attached = connect(client, target).await?;
    let requested = Attach {
        attach: ATTACH_VERSION,
        token: target.token.to_owned(),
        is_again: outbound.is_begun,
        taken: inbound.taken,
    };
    attached.send(&word(&requested)).await?;
    let mut first = FirstWord::default();
    let (answer, behind) = loop {
        match attached.came(shared).await? {
            Received::Out(bytes) => match first.take::<AttachAnswer>(&bytes) {
                Ok(Some(came)) => break came,
                Ok(None) => {}
                Err(_) => {
                    return Err(KubeError::NoAgent(format!(
                        "it wrote {:?}",
                        in_one_line(&shared.masked(&first.rest()))
                    )));
                }
            },
            Received::Status(status) => {
                return Err(match ended(&status, shared) {
                    StreamEnd::Failed(fault) => fault,
                    StreamEnd::Exited(code) => KubeError::NoAgent(last_words(code, shared)),
                });
            }
            Received::Nothing => {}
        }
    };
    let (taken, lease_ms) = match answer {
        AttachAnswer::Taken { taken, lease_ms } => (taken, lease_ms),
        AttachAnswer::Refused(AttachRefusal::NoFitReason { why }) => {
            return Err(KubeError::Refused(AttachRefusal::NoFitReason { why: in_one_line(&shared.masked(&why)) }));
        }
        AttachAnswer::Refused(refusal) => return Err(KubeError::Refused(refusal)),
    };
    outbound.is_begun = true;
    let again = outbound.kept.since(taken).ok_or(KubeError::Refused(AttachRefusal::Lost))?;
    attached.send(&again).await?;
    outbound.lease = Duration::from_millis(lease_ms.min(600_000));
    inbound.take(&behind);
    Ok(attached)
}

async fn connect(client: &Client, target: ExecTarget<'_>) -> Result<ExecStream, KubeError> {
    let params = AttachParams {
        container: target.container.map(str::to_owned),
        stdin: true,
        stdout: true,
        stderr: true,
        ..AttachParams::default()
    };
    let path = format!("/api/v1/namespaces/{}/pods", target.namespace);
    let request = Request::new(path).exec(target.pod, COMMAND, &params);
    let request = request.map_err(|error| KubeError::Kubeconfig(in_one_line(&error.to_string())))?;
    let requested = ApiRequestKind { verb: "create", resource: "pods/exec", namespace: target.namespace };
    let connection = client.connect(request).await.map_err(|error| of_client(&error, requested))?;
    // The same socket with bounds: nothing was read of it yet.
    let io = connection.into_stream().into_inner();
    let (to, from) = WebSocketStream::from_raw_socket(io, Role::Client, Some(socket_limits())).await.split();
    Ok(ExecStream { to, from })
}

fn socket_limits() -> WebSocketConfig {
    WebSocketConfig::default()
        .max_message_size(Some(MESSAGE_BYTES_MAX))
        .max_frame_size(Some(MESSAGE_BYTES_MAX))
        .max_write_buffer_size(WAITING_BYTES_MAX)
}

impl ExecStream {
    async fn send(&mut self, bytes: &[u8]) -> Result<(), KubeError> {
        send(&mut self.to, bytes).await
    }

    async fn came(&mut self, shared: &StreamState) -> Result<Received, KubeError> {
        came(&mut self.from, shared).await
    }

    /// Carries bytes both ways until something ends it.
    pub(crate) async fn pump(
        &mut self,
        local: &UnixStream,
        inbound: &mut Inbound,
        outbound: &mut Outbound,
        shared: &StreamState,
    ) -> StreamBreak {
        let heard = LastMessage::new(Some(Instant::now()));
        let (to, from) = (&mut self.to, &mut self.from);
        tokio::select! {
            broken = bring(from, local, inbound, shared, &heard) => broken,
            broken = carry(to, local, outbound, shared, &heard) => broken,
        }
    }

    /// Says that this was the end.
    pub(crate) async fn close(&mut self) {
        let _ = self.to.close().await;
    }
}

impl Inbound {
    fn take(&mut self, bytes: &[u8]) {
        self.taken += bytes.len() as u64;
        self.unread.extend(bytes);
    }

    /// Hands on what was taken. Nothing of it is lost where this is not waited for to its end.
    async fn hand_on(&mut self, local: &UnixStream) -> std::io::Result<()> {
        while !self.unread.is_empty() {
            local.writable().await?;
            match local.try_write(self.unread.as_slices().0) {
                Ok(count) => drop(self.unread.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// When something came last; none while it is not read because it is not taken here.
type LastMessage = Mutex<Option<Instant>>;

fn hear(heard: &LastMessage, at: Option<Instant>) {
    *heard.lock().unwrap_or_else(PoisonError::into_inner) = at;
}

fn since(heard: &LastMessage) -> Duration {
    heard.lock().unwrap_or_else(PoisonError::into_inner).map_or(Duration::ZERO, |at| at.elapsed())
}

/// What comes, until nothing does.
async fn bring(
    from: &mut SplitStream<Socket>,
    local: &UnixStream,
    inbound: &mut Inbound,
    shared: &StreamState,
    heard: &LastMessage,
) -> StreamBreak {
    loop {
        if !inbound.unread.is_empty() {
            hear(heard, None);
            if inbound.hand_on(local).await.is_err() {
                return StreamBreak::Left;
            }
        }
        hear(heard, Some(Instant::now()));
        let came = came(from, shared).await;
        match came {
            Ok(Received::Out(bytes)) => inbound.take(&bytes),
            Ok(Received::Nothing) => {}
            Ok(Received::Status(status)) => {
                return match ended(&status, shared) {
                    StreamEnd::Failed(fault) if fault.is_passing() => StreamBreak::Broken(fault),
                    StreamEnd::Exited(CUT_OFF) => {
                        StreamBreak::Broken(KubeError::Closed("it was cut off at the node".to_owned()))
                    }
                    end => StreamBreak::Ended(end),
                };
            }
            Err(fault) => return StreamBreak::Broken(fault),
        }
    }
}

/// What goes, and what is asked for where nothing comes.
async fn carry(
    to: &mut SplitSink<Socket, Message>,
    local: &UnixStream,
    outbound: &mut Outbound,
    shared: &StreamState,
    heard: &LastMessage,
) -> StreamBreak {
    let (mut looks, mut piece) = (interval(LOOKED_EACH), vec![0; PIECE_BYTES]);
    loop {
        tokio::select! {
            _ = looks.tick() => {
                // An agent that has taken nothing for so long has ended.
                outbound.kept.forget(outbound.since.elapsed(), outbound.lease * 2);
                let silent = since(heard);
                shared.mend(silent >= DOUBTED_AFTER);
                if silent >= BROKEN_AFTER {
                    return StreamBreak::Broken(KubeError::Closed(format!("no data for {} s", BROKEN_AFTER.as_secs())));
                }
                if silent >= PINGED_AFTER
                    && let Err(fault) = sent(to, Message::Ping(Vec::new().into())).await
                {
                    return StreamBreak::Broken(fault);
                }
            }
            ready = local.readable() => {
                let taken = ready.and_then(|()| local.try_read(&mut piece));
                match taken {
                    Ok(0) => return StreamBreak::Left,
                    Ok(count) => {
                        // SentBytes first: what is not sent to its end is sent again.
                        outbound.kept.push(&piece[..count]);
                        if let Err(fault) = send(to, &piece[..count]).await {
                            return StreamBreak::Broken(fault);
                        }
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                    Err(_) => return StreamBreak::Left,
                }
            }
        }
    }
}

async fn send(to: &mut SplitSink<Socket, Message>, bytes: &[u8]) -> Result<(), KubeError> {
    for piece in bytes.chunks(PIECE_BYTES) {
        let message = [&[STDIN][..], piece].concat();
        sent(to, Message::Binary(message.into())).await?;
    }
    Ok(())
}

/// Sends a message, in time: a stream that takes nothing is broken.
async fn sent<S: Sink<Message, Error = tungstenite::Error> + Unpin>(
    to: &mut S,
    message: Message,
) -> Result<(), KubeError> {
    let slow = || KubeError::Closed(format!("no data was accepted for {} s", BROKEN_AFTER.as_secs()));
    timeout(BROKEN_AFTER, to.send(message)).await.map_err(|_| slow())?.map_err(|error| closed(&error))
}

fn closed(error: &tungstenite::Error) -> KubeError {
    KubeError::Closed(match error {
        tungstenite::Error::WriteBufferFull(_) => format!("{} wait to be accepted", Bytes(WAITING_BYTES_MAX as u64)),
        error => in_one_line(&error.to_string()),
    })
}

async fn came(from: &mut SplitStream<Socket>, shared: &StreamState) -> Result<Received, KubeError> {
    let message = match from.next().await {
        None => return Err(KubeError::Closed("no reason was given".to_owned())),
        Some(Err(error)) => return Err(closed(&error)),
        Some(Ok(message)) => message,
    };
    let bytes = match message {
        Message::Close(frame) => {
            let why = frame
                .map_or_else(|| "no reason was given".to_owned(), |frame| in_one_line(&shared.masked(&frame.reason)));
            return Err(KubeError::Closed(why));
        }
        Message::Binary(bytes) => bytes,
        Message::Text(_) | Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => return Ok(Received::Nothing),
    };
    match bytes.split_first() {
        Some((&STDOUT, rest)) => Ok(Received::Out(rest.to_vec())),
        Some((&STDERR, rest)) => {
            shared.say(rest);
            Ok(Received::Nothing)
        }
        Some((&STATUS, rest)) => {
            let status = String::from_utf8_lossy(&rest[..rest.len().min(STATUS_BYTES_MAX)]);
            Ok(Received::Status(shared.masked(&status).into_owned().into_bytes()))
        }
        _ => Ok(Received::Nothing),
    }
}

/// What the last word of an exec means.
fn ended(status: &[u8], shared: &StreamState) -> StreamEnd {
    let Ok(status) = serde_json::from_slice::<Status>(status) else {
        return StreamEnd::Failed(KubeError::Closed(format!(
            "it ended in {:?}",
            in_one_line(&String::from_utf8_lossy(status))
        )));
    };
    if status.is_success() {
        return StreamEnd::Exited(0);
    }
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let code = causes.filter(|cause| cause.reason == "ExitCode").find_map(|cause| cause.message.parse().ok());
    match code {
        Some(code @ (126 | 127)) => StreamEnd::Failed(KubeError::NoLinerate(last_words(code, shared))),
        Some(code) => StreamEnd::Exited(code),
        None => {
            let requested = ApiRequestKind { verb: "create", resource: "pods/exec", namespace: "" };
            StreamEnd::Failed(of_status(&status, requested))
        }
    }
}

fn last_words(code: i32, shared: &StreamState) -> String {
    let said = shared.said();
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    if last.is_empty() { format!("linerate agent attach ended with code {code}") } else { in_one_line(last) }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncWriteExt as _, duplex};
    use tokio::runtime;

    use super::*;

    #[test]
    fn answers_to_pings_that_nobody_reads_have_a_limit() {
        let runtime = runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (near, mut far) = duplex(64 << 10);
            let (mut to, mut from) =
                WebSocketStream::from_raw_socket(near, Role::Client, Some(socket_limits())).await.split();
            let count = 2 * WAITING_BYTES_MAX / 125;
            let pings = [&[0x89, 125][..], &[b'x'; 125]].concat().repeat(count);
            let flood = tokio::spawn(async move { far.write_all(&pings).await.map(|()| far) });
            for _ in 0..count {
                assert!(matches!(from.next().await, Some(Ok(Message::Ping(_)))));
            }
            let _far = flood.await.unwrap().unwrap();
            let fault = sent(&mut to, Message::Binary(vec![0; 1000].into())).await.unwrap_err();
            assert_eq!(fault, KubeError::Closed("1 MiB wait to be accepted".to_owned()));
        });
    }
}
