//! Which cluster is meant, who asks it, and by which commands that is found out.

use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use kube::Client;
use kube::config::{AuthInfo, Config, KubeConfigOptions, Kubeconfig};
use tokio::runtime::{self, Handle};
use tokio::sync::{Semaphore, oneshot};

use crate::api_client::{self, SecretRegistry};
use crate::error::{ApiRequestKind, KubeError, in_one_line, of_client, of_kubeconfig};

/// How long finding out who asks may take: a command of the kubeconfig may ask somebody else.
const CLIENT_WITHIN: Duration = Duration::from_secs(20);

/// How long a connection to the API server may take.
const CONNECTED_WITHIN: Duration = Duration::from_secs(5);

/// Streams that are begun at once: an API server and a kubelet do work for each.
const STARTS_AT_ONCE: usize = 16;

/// Largest file read as a kubeconfig.
const KUBECONFIG_BYTES_MAX: u64 = 16 << 20;

/// Where it is said which clusters there are.
#[derive(Clone, Debug)]
pub enum KubeconfigSource {
    /// Files of the user's.
    Files {
        /// Each is looked for; the first to name something wins, as kubectl has it.
        paths: Vec<PathBuf>,
    },
    /// This is a pod: its service account.
    InCluster,
}

/// A cluster that is meant, before anything was asked or run.
#[derive(Clone, Debug)]
pub struct Access {
    /// The context that was chosen, where there are such.
    pub context: Option<String>,
    config: Config,
}

impl Access {
    /// Finds out which cluster a context means. Nothing is asked over a network, and no command runs.
    ///
    /// # Errors
    /// [`KubeError`] where there is none such.
    pub fn find(source: &KubeconfigSource, context: Option<&str>) -> Result<Access, KubeError> {
        let mut config = match (source, context) {
            (KubeconfigSource::InCluster, None) => {
                Config::incluster().map_err(|error| KubeError::NoKubeconfig(in_one_line(&error.to_string())))?
            }
            (KubeconfigSource::InCluster, Some(name)) => {
                return Err(KubeError::UnknownContext { name: name.to_owned(), known: Vec::new() });
            }
            (KubeconfigSource::Files { paths }, _) => chosen(&read(paths)?, context)?,
        };
        config.connect_timeout = Some(CONNECTED_WITHIN);
        config.default_retry = false;
        Ok(Access { context: context.map(str::to_owned), config })
    }

    /// The command that the kubeconfig has run to find out who the user is, as it would be typed.
    #[must_use]
    pub fn command(&self) -> Option<String> {
        command(&self.config.auth_info)
    }

    /// Connects, as soon as something is asked. A command of the kubeconfig runs now. By what a request proves who asks
    /// goes to `registry` before it is sent, wherever it is from.
    ///
    /// # Errors
    /// [`KubeError`] where it does not say who the user is, or the kubeconfig cannot be used.
    pub fn connect(self, registry: Arc<dyn SecretRegistry>) -> Result<Arc<KubeCluster>, KubeError> {
        let failed = |error: std::io::Error| KubeError::Kubeconfig(format!("failed to start a thread: {error}"));
        let runtime = runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let name = "kube".to_owned();
        let runs = move || {
            // Its end is that of the cluster.
            let _ = runtime.block_on(stopped);
            runtime.shutdown_background();
        };
        thread::Builder::new().name(name).spawn(runs).map_err(failed)?;
        let config = self.config;
        let program = program(&config.auth_info).unwrap_or_default();
        let (tell, reported_client) = std::sync::mpsc::channel();
        // It may run a command, which blocks.
        handle.spawn_blocking({
            let (handle, registry) = (handle.clone(), Arc::clone(&registry));
            move || {
                let _entered = handle.enter();
                let _ = tell.send(api_client::client(&config, &registry));
            }
        });
        let requested = ApiRequestKind { verb: "get", resource: "pods", namespace: "" };
        let client = reported_client
            .recv_timeout(CLIENT_WITHIN)
            .map_err(|_| KubeError::Plugin(format!("{program}: it did not end within {} s", CLIENT_WITHIN.as_secs())))?
            .map_err(|error| match of_client(&error, requested) {
                KubeError::Plugin(why) => KubeError::Plugin(format!("{program}: {why}")),
                fault => fault,
            })?;
        Ok(Arc::new(KubeCluster {
            client,
            registry,
            runtime: handle,
            starts: Arc::new(Semaphore::new(STARTS_AT_ONCE)),
            _stop: stop,
        }))
    }
}

/// A cluster, with the thread that asks it.
pub struct KubeCluster {
    pub(crate) client: Client,
    pub(crate) registry: Arc<dyn SecretRegistry>,
    pub(crate) runtime: Handle,
    pub(crate) starts: Arc<Semaphore>,
    /// Dropped with it: the thread ends.
    _stop: oneshot::Sender<()>,
}

impl KubeCluster {
    /// Does something on the cluster's thread, and waits for it.
    pub(crate) fn wait<T: Send + 'static>(
        &self,
        within: Duration,
        work: impl Future<Output = Result<T, KubeError>> + Send + 'static,
    ) -> Result<T, KubeError> {
        let (tell, result) = std::sync::mpsc::channel();
        self.runtime.spawn(async move {
            let slow = KubeError::Slow(within.as_secs());
            let done = tokio::time::timeout(within, work).await.unwrap_or(Err(slow));
            let _ = tell.send(done);
        });
        result.recv().unwrap_or_else(|_| Err(KubeError::Closed("its thread ended".to_owned())))
    }
}

fn read(paths: &[PathBuf]) -> Result<Kubeconfig, KubeError> {
    let shown = || paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
    let mut merged: Option<Kubeconfig> = None;
    for path in paths {
        let Ok(found) = std::fs::metadata(path) else { continue };
        if found.len() > KUBECONFIG_BYTES_MAX {
            return Err(KubeError::Kubeconfig(format!("{} is larger than 16 MiB", path.display())));
        }
        let failed = |error: kube::config::KubeconfigError| {
            KubeError::Kubeconfig(format!("{}: {}", path.display(), of_kubeconfig(&error)))
        };
        let read = Kubeconfig::read_from(path).map_err(failed)?;
        merged = Some(match merged {
            Some(merged) => merged.merge(read).map_err(failed)?,
            None => read,
        });
    }
    merged.ok_or_else(|| KubeError::NoKubeconfig(format!("none of {} is there", shown())))
}

fn chosen(kubeconfig: &Kubeconfig, context: Option<&str>) -> Result<Config, KubeError> {
    let known = || kubeconfig.contexts.iter().map(|context| context.name.clone()).collect::<Vec<_>>();
    let name = context.or(kubeconfig.current_context.as_deref()).filter(|name| !name.is_empty());
    let Some(name) = name else {
        return Err(KubeError::Kubeconfig("it has no current context; name one".to_owned()));
    };
    if !known().iter().any(|known| known == name) {
        return Err(KubeError::UnknownContext { name: name.to_owned(), known: known() });
    }
    let options = KubeConfigOptions { context: Some(name.to_owned()), ..KubeConfigOptions::default() };
    // Files of certificates alone are read meanwhile: nothing of it waits.
    let runtime = runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| KubeError::Kubeconfig(format!("failed to start a runtime: {error}")))?;
    runtime
        .block_on(Config::from_custom_kubeconfig(kubeconfig.clone(), &options))
        .map_err(|error| KubeError::Kubeconfig(of_kubeconfig(&error)))
}

fn command(user: &AuthInfo) -> Option<String> {
    if let Some(exec) = &user.exec {
        let words = exec.command.iter().chain(exec.args.iter().flatten());
        return Some(words.map(String::as_str).collect::<Vec<_>>().join(" "));
    }
    let provider = user.auth_provider.as_ref()?;
    let words = ["cmd-path", "cmd-args"].into_iter().filter_map(|key| provider.config.get(key));
    Some(words.map(String::as_str).collect::<Vec<_>>().join(" ")).filter(|words| !words.is_empty())
}

/// The program of that command alone: its arguments may have secrets.
fn program(user: &AuthInfo) -> Option<String> {
    let in_exec = user.exec.as_ref().and_then(|exec| exec.command.clone());
    in_exec.or_else(|| user.auth_provider.as_ref()?.config.get("cmd-path").cloned())
}
