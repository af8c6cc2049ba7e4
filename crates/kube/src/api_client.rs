//! The HTTP client of a cluster. By what it proves who asks goes to a registry of secrets as it is sent, and comes back
//! in no answer; an answer has a limit, and a redirect is none.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{AUTHORIZATION, LOCATION};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_timeout::TimeoutConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::{Connect, HttpConnector};
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ConfigExt as _};
use kube::{Client, Config};
use tower::{BoxError, Layer as _, Service};

use crate::credentials::Credentials;
use crate::refused_answer::{ANSWER_BYTES_MAX, RefusedAnswer};

/// What knows the secrets of this process, and keeps them out of texts of others before these are cut short.
pub trait SecretRegistry: Send + Sync {
    /// Takes a secret that is in use from now on.
    fn remember(&self, secret: &str);
    /// A text, mostly JSON, without the secrets in use. JSON stays JSON.
    fn masked<'t>(&self, text: &'t str) -> Cow<'t, str>;
}

/// A client as `kube` makes it by itself, but for proxies, for which this is not built, and for what proves who asks:
/// of that the configuration has certificates alone.
pub(crate) fn client(
    config: &Config,
    credentials: &Arc<Credentials>,
    registry: &Arc<dyn SecretRegistry>,
) -> Result<Client, kube::Error> {
    if let Some(proxy_url) = &config.proxy_url {
        return Err(kube::Error::ProxyProtocolUnsupported { proxy_url: Box::new(proxy_url.clone()) });
    }
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    let mut connector = TimeoutConnector::new(config.rustls_https_connector_with_connector(connector)?);
    connector.set_connect_timeout(config.connect_timeout);
    connector.set_read_timeout(config.read_timeout);
    connector.set_write_timeout(config.write_timeout);
    let http = legacy::Builder::new(TokioExecutor::new()).build(connector);
    let service = ApiService { http, credentials: Arc::clone(credentials), registry: Arc::clone(registry) };
    let service = config.extra_headers_layer()?.layer(service);
    Ok(Client::new(config.base_uri_layer().layer(service), config.default_namespace.clone()))
}

/// The innermost part: what it is given is what goes out.
#[derive(Clone)]
struct ApiService<C> {
    http: legacy::Client<C, Body>,
    credentials: Arc<Credentials>,
    registry: Arc<dyn SecretRegistry>,
}

impl<C: Connect + Clone + Send + Sync + 'static> Service<Request<Body>> for ApiService<C> {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let ApiService { http, credentials, registry } = self.clone();
        Box::pin(async move {
            if let Some(header) = credentials.header().await? {
                remember(&header, &*registry);
                request.headers_mut().insert(AUTHORIZATION, header);
            }
            taken(http.request(request).await?, &*registry).await
        })
    }
}

/// Remembers by what a request proves who asks: `Bearer TOKEN`, or `Basic` and `USER:PASSWORD` in base64.
fn remember(authorization: &HeaderValue, registry: &dyn SecretRegistry) {
    let Ok(text) = authorization.to_str() else { return };
    let (scheme, secret) = text.split_once(' ').unwrap_or(("", text));
    registry.remember(secret);
    let pair = STANDARD.decode(secret).ok().filter(|_| scheme.eq_ignore_ascii_case("basic"));
    if let Some((_, password)) = pair.as_deref().and_then(|pair| str::from_utf8(pair).ok()?.split_once(':')) {
        registry.remember(password);
    }
}

/// An answer in whole, within its limit and without secrets. One that switches protocols has no body.
async fn taken(answer: Response<Incoming>, registry: &dyn SecretRegistry) -> Result<Response<Body>, BoxError> {
    let (parts, body) = answer.into_parts();
    if parts.status == StatusCode::SWITCHING_PROTOCOLS {
        return Ok(Response::from_parts(parts, Body::empty()));
    }
    if parts.status.is_redirection() {
        let location = parts.headers.get(LOCATION).map(|to| String::from_utf8_lossy(to.as_bytes()));
        let location = location.as_deref().unwrap_or_default().split(['?', '#']).next().unwrap_or_default();
        let location = registry.masked(location).into_owned();
        return Err(Box::new(RefusedAnswer::Redirect { code: parts.status.as_u16(), location }));
    }
    let too_large =
        |error: BoxError| if error.is::<LengthLimitError>() { Box::new(RefusedAnswer::TooLarge) } else { error };
    let bytes = Limited::new(body, ANSWER_BYTES_MAX).collect().await.map_err(too_large)?.to_bytes();
    let text = String::from_utf8_lossy(&bytes);
    Ok(Response::from_parts(parts, Body::from(registry.masked(&text).into_owned().into_bytes())))
}
