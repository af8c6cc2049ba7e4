//! A stream to the agent in a pod. It breaks and is attached again within the agent's lease; who reads it here sees one
//! stream of bytes on a socket, and its end.

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use linerate_fleet::attachment::SentBytes;
use linerate_fleet::node_reach::PodLocation;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::access::KubeCluster;
use crate::error::KubeError;
use crate::exec_attachment::{self, Inbound, Outbound};
use crate::pod_selection;
pub use crate::stream_state::StreamEnd;
use crate::stream_state::StreamState;

/// How long a pod may take to be found, and its agent to be attached, once it is its turn.
pub const STARTED_WITHIN: Duration = Duration::from_secs(20);

/// How long one try to attach again may take.
const TRIED_WITHIN: Duration = Duration::from_secs(5);

/// How long is waited between tries: twice as long each time, up to the last.
const FIRST_REST: Duration = Duration::from_millis(100);
const LAST_REST: Duration = Duration::from_secs(1);

/// How long the polite end of a stream may take.
const CLOSED_WITHIN: Duration = Duration::from_millis(500);

/// A stream. Dropping it ends it.
pub struct PodStream {
    /// What is written here goes to the agent, and what it writes is read here; never waits.
    pub socket: UnixStream,
    shared: Arc<StreamState>,
    /// Dropped with it: the task ends.
    _stop: oneshot::Sender<()>,
}

impl PodStream {
    /// Starts to attach to the agent of a pod. `token` is what only this coordinator knows.
    ///
    /// # Errors
    /// Where this machine has no more descriptors.
    pub fn start(cluster: &Arc<KubeCluster>, place: &PodLocation, token: String) -> std::io::Result<PodStream> {
        let (here, there) = UnixStream::pair()?;
        here.set_nonblocking(true)?;
        there.set_nonblocking(true)?;
        let shared = Arc::new(StreamState::new(Arc::clone(&cluster.registry)));
        // Until it is its turn, nobody there can be heard.
        shared.mend(true);
        let (stop, stopped) = oneshot::channel();
        let (reported, cluster, place) = (Arc::clone(&shared), Arc::clone(cluster), place.clone());
        let handle = cluster.runtime.clone();
        handle.spawn(async move {
            let mut lasting = ResumedStream {
                cluster,
                place,
                token,
                pod: None,
                inbound: Inbound::default(),
                outbound: Outbound {
                    kept: SentBytes::default(),
                    since: Instant::now(),
                    is_begun: false,
                    lease: Duration::ZERO,
                },
            };
            let end = tokio::select! {
                end = lasting.run(there, &reported) => end,
                _ = stopped => StreamEnd::Failed(KubeError::Closed("it was abandoned".to_owned())),
            };
            reported.end(end);
        });
        Ok(PodStream { socket: here, shared, _stop: stop })
    }

    /// How it ended, where it has.
    #[must_use]
    pub fn end(&self) -> Option<StreamEnd> {
        self.shared.ended()
    }

    /// The end of what was written as errors.
    #[must_use]
    pub fn errors(&self) -> String {
        self.shared.said()
    }

    /// Whether it is broken, or nothing is heard on it, and it is being attached again.
    #[must_use]
    pub fn is_mending(&self) -> bool {
        self.shared.is_mending()
    }
}

/// One stream over all its attachments.
struct ResumedStream {
    cluster: Arc<KubeCluster>,
    place: PodLocation,
    token: String,
    /// Which pod it is, once that is known: an agent that was replaced is another one.
    pod: Option<(String, Option<String>)>,
    inbound: Inbound,
    outbound: Outbound,
}

impl ResumedStream {
    async fn run(&mut self, local: UnixStream, shared: &StreamState) -> StreamEnd {
        let local = match tokio::net::UnixStream::from_std(local) {
            Ok(local) => local,
            Err(error) => return StreamEnd::Failed(KubeError::Closed(error.to_string())),
        };
        let slow = KubeError::Slow(STARTED_WITHIN.as_secs());
        let begun = match self.turn().await {
            Ok(_turn) => {
                shared.mend(false);
                timeout(STARTED_WITHIN, self.attach(shared)).await.unwrap_or(Err(slow))
            }
            Err(fault) => Err(fault),
        };
        let mut attached = match begun {
            Ok(begun) => begun,
            Err(fault) => return StreamEnd::Failed(fault),
        };
        loop {
            let broken = attached.pump(&local, &mut self.inbound, &mut self.outbound, shared).await;
            let fault = match broken {
                exec_attachment::StreamBreak::Ended(end) => return end,
                exec_attachment::StreamBreak::Left => {
                    let _ = timeout(CLOSED_WITHIN, attached.close()).await;
                    return StreamEnd::Exited(0);
                }
                exec_attachment::StreamBreak::Broken(fault) => fault,
            };
            shared.mend(true);
            attached = match self.again(fault, shared).await {
                Ok(again) => again,
                Err(fault) => return StreamEnd::Failed(fault),
            };
            shared.mend(false);
        }
    }

    /// Attaches again until the agent's lease has lapsed for certain.
    async fn again(
        &mut self,
        mut fault: KubeError,
        shared: &StreamState,
    ) -> Result<exec_attachment::ExecStream, KubeError> {
        let (until, mut rest) = (Instant::now() + self.outbound.lease, FIRST_REST);
        while Instant::now() < until && fault.is_passing() {
            // Streams that broke at one time do not come back at one time.
            let spread = self.token.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31) + u32::from(byte)) % 100;
            sleep(rest + rest * spread / 100).await;
            rest = (rest * 2).min(LAST_REST);
            let slow = KubeError::Slow(TRIED_WITHIN.as_secs());
            let Ok(turn) = timeout_at(until, self.turn()).await else { break };
            let _turn = turn?;
            fault = match timeout(TRIED_WITHIN, self.attach(shared)).await.unwrap_or(Err(slow)) {
                Ok(again) => return Ok(again),
                Err(fault) => fault,
            };
        }
        Err(fault)
    }

    /// Waits until not too many attach at the same time.
    async fn turn(&self) -> Result<OwnedSemaphorePermit, KubeError> {
        let closed = |_| KubeError::Closed("the thread of the cluster ended".to_owned());
        Arc::clone(&self.cluster.starts).acquire_owned().await.map_err(closed)
    }

    async fn attach(&mut self, shared: &StreamState) -> Result<exec_attachment::ExecStream, KubeError> {
        let (pod, container) = match &self.pod {
            Some(known) => known.clone(),
            None => self.pod.insert(pod_selection::found(&self.cluster, &self.place).await?).clone(),
        };
        let requested = exec_attachment::ExecTarget {
            namespace: &self.place.namespace,
            pod: &pod,
            container: container.as_deref(),
            token: &self.token,
        };
        exec_attachment::attach(&self.cluster.client, requested, &mut self.inbound, &mut self.outbound, shared).await
    }
}
