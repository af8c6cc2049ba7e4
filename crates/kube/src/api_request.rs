//! One request to the API server, and its answer.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use kube::Client;
use serde_json::Value;

use crate::access::KubeCluster;
use crate::error::{ApiRequestKind, KubeError, of_client};

/// How long one answer of the API server may take.
pub(crate) const ANSWERED_WITHIN: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, Debug)]
pub(crate) struct ApiRequest<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) body: Option<&'a Value>,
    /// For what may be refused.
    pub(crate) requested: ApiRequestKind<'a>,
}

/// Asks. A patch is an apply on the server's side.
pub(crate) async fn ask(client: &Client, question: ApiRequest<'_>) -> Result<Value, KubeError> {
    let ApiRequest { method, path, body, requested } = question;
    let kind = if method == "PATCH" { "application/apply-patch+yaml" } else { "application/json" };
    let body = body.map_or_else(Vec::new, |body| body.to_string().into_bytes());
    let request = Request::builder().method(method).uri(path).header("content-type", kind).body(body);
    let request = request.map_err(|error| KubeError::Kubeconfig(error.to_string()))?;
    client.request::<Value>(request).await.map_err(|error| of_client(&error, requested))
}

impl KubeCluster {
    /// One request, and its answer.
    pub(crate) fn ask(
        self: &Arc<Self>,
        method: &str,
        path: &str,
        body: Option<&Value>,
        requested: ApiRequestKind<'_>,
    ) -> Result<Value, KubeError> {
        let (client, body) = (self.client.clone(), body.cloned());
        let [method, path] = [method, path].map(str::to_owned);
        let [verb, resource, namespace] = [requested.verb, requested.resource, requested.namespace].map(str::to_owned);
        self.wait(ANSWERED_WITHIN, async move {
            let requested = ApiRequestKind { verb: &verb, resource: &resource, namespace: &namespace };
            ask(&client, ApiRequest { method: &method, path: &path, body: body.as_ref(), requested }).await
        })
    }
}
