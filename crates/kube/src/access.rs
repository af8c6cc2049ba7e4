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
use crate::credentials::Credentials;
use crate::error::{ApiRequestKind, KubeError, in_one_line, of_client, of_kubeconfig};
use crate::kubeconfig_files::{self, FileReader};

/// How long reading the system's certificates may take.
const CLIENT_WITHIN: Duration = Duration::from_secs(20);

/// How long a connection to the API server may take.
const CONNECTED_WITHIN: Duration = Duration::from_secs(5);

/// Streams that are begun at once: an API server and a kubelet do work for each.
const STARTS_AT_ONCE: usize = 16;

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
    reader: FileReader,
}

impl Access {
    /// Finds out which cluster a context means. Sends nothing over a network and runs no command. `reader` reads
    /// all files.
    ///
    /// # Errors
    /// [`KubeError`] where there is none such.
    pub fn find(source: &KubeconfigSource, context: Option<&str>, reader: FileReader) -> Result<Access, KubeError> {
        let mut config = match (source, context) {
            (KubeconfigSource::InCluster, None) => {
                Config::incluster().map_err(|error| KubeError::NoKubeconfig(in_one_line(&error.to_string())))?
            }
            (KubeconfigSource::InCluster, Some(name)) => {
                return Err(KubeError::UnknownContext { name: name.to_owned(), known: Vec::new() });
            }
            (KubeconfigSource::Files { paths }, _) => chosen(kubeconfig_files::read(paths, reader)?, context, reader)?,
        };
        config.connect_timeout = Some(CONNECTED_WITHIN);
        config.default_retry = false;
        Ok(Access { context: context.map(str::to_owned), config, reader })
    }

    /// Whether the system's certificates decide whether the API server is trusted.
    #[must_use]
    pub fn trusts_system(&self) -> bool {
        self.config.root_cert.is_none() && !self.config.accept_invalid_certs
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
        let mut config = self.config;
        let credentials = Arc::new(Credentials::take(&mut config.auth_info, self.reader)?);
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
        let (tell, reported_client) = std::sync::mpsc::channel();
        // It may read the system's certificates, which blocks.
        handle.spawn_blocking({
            let (handle, registry) = (handle.clone(), Arc::clone(&registry));
            move || {
                let _entered = handle.enter();
                let _ = tell.send(api_client::client(&config, &credentials, &registry));
            }
        });
        let requested = ApiRequestKind { verb: "get", resource: "pods", namespace: "" };
        let client = reported_client
            .recv_timeout(CLIENT_WITHIN)
            .map_err(|_| {
                let within = CLIENT_WITHIN.as_secs();
                KubeError::Kubeconfig(format!("the system's certificates were not read within {within} s"))
            })?
            .map_err(|error| of_client(&error, requested))?;
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

fn chosen(mut kubeconfig: Kubeconfig, context: Option<&str>, reader: FileReader) -> Result<Config, KubeError> {
    let known = || kubeconfig.contexts.iter().map(|context| context.name.clone()).collect::<Vec<_>>();
    let name = context.map(str::to_owned).or_else(|| kubeconfig.current_context.clone());
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Err(KubeError::Kubeconfig("it has no current context; name one".to_owned()));
    };
    if !known().contains(&name) {
        return Err(KubeError::UnknownContext { name, known: known() });
    }
    kubeconfig_files::inline(&mut kubeconfig, &name, reader)?;
    let options = KubeConfigOptions { context: Some(name), ..KubeConfigOptions::default() };
    // No file is left to be read: nothing of it waits.
    let runtime = runtime::Builder::new_current_thread().build();
    let runtime = runtime.map_err(|error| KubeError::Kubeconfig(format!("failed to start a runtime: {error}")))?;
    runtime
        .block_on(Config::from_custom_kubeconfig(kubeconfig, &options))
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
