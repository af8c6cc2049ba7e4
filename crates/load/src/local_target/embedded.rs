//! The embedded target: `s3s-fs`, a real S3 server over a folder.

use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rustls::ServerConfig;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::sigv4::Credentials;

/// Serves the folder `root` on `listen` until the process ends, over TLS where `tls` says how; `on_listening` gets the
/// address that was bound.
///
/// # Errors
/// The folder cannot be used, or the address cannot be bound.
pub fn serve(
    root: &Path,
    listen: SocketAddr,
    credentials: &Credentials,
    tls: Option<Arc<ServerConfig>>,
    on_listening: impl FnOnce(SocketAddr),
) -> io::Result<()> {
    let files = FileSystem::new(root).map_err(|e| io::Error::other(format!("{e:?}")))?;
    let mut builder = S3ServiceBuilder::new(files);
    builder.set_auth(SimpleAuth::from_single(credentials.access_key.clone(), credentials.secret_key.reveal()));
    let service = builder.build();
    let acceptor = tls.map(TlsAcceptor::from);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async move {
        let listener = TcpListener::bind(listen).await?;
        on_listening(listener.local_addr()?);
        loop {
            let (socket, _) = match listener.accept().await {
                Ok(accepted) => accepted,
                // Descriptors may be used up for a while; those that serve go on.
                Err(_) => {
                    tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                    continue;
                }
            };
            // Without this, Nagle's algorithm and delayed acknowledgements hold each body back for tens of
            // milliseconds.
            socket.set_nodelay(true)?;
            let service = service.clone();
            let acceptor = acceptor.clone();
            // A connection that broke is the client's finding, not this server's.
            tokio::spawn(async move {
                let http = Builder::new(TokioExecutor::new());
                match acceptor {
                    None => drop(http.serve_connection(TokioIo::new(socket), service).await),
                    Some(acceptor) => {
                        if let Ok(stream) = acceptor.accept(socket).await {
                            drop(http.serve_connection(TokioIo::new(stream), service).await);
                        }
                    }
                }
            });
        }
    })
}
