//! One request to the API server, and its answer.

use std::sync::Arc;
use std::time::Duration;

use http::Request;
use kube::Client;
use serde_json::Value;

use crate::access::KubeCluster;
use crate::fault::{Asked, KubeFault, of_client};

/// How long one answer of the API server may take.
pub(crate) const ANSWERED_WITHIN: Duration = Duration::from_secs(20);

/// A request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) body: Option<&'a Value>,
    /// For what may be refused.
    pub(crate) asked: Asked<'a>,
}

/// Asks. A patch is an apply on the server's side.
pub(crate) async fn ask(client: &Client, question: Question<'_>) -> Result<Value, KubeFault> {
    let Question { method, path, body, asked } = question;
    let kind = if method == "PATCH" { "application/apply-patch+yaml" } else { "application/json" };
    let body = body.map_or_else(Vec::new, |body| body.to_string().into_bytes());
    let request = Request::builder().method(method).uri(path).header("content-type", kind).body(body);
    let request = request.map_err(|error| KubeFault::Kubeconfig(error.to_string()))?;
    client.request::<Value>(request).await.map_err(|error| of_client(&error, asked))
}

impl KubeCluster {
    /// One request, and its answer.
    pub(crate) fn ask(
        self: &Arc<Self>,
        method: &str,
        path: &str,
        body: Option<&Value>,
        asked: Asked<'_>,
    ) -> Result<Value, KubeFault> {
        let (client, body) = (self.client.clone(), body.cloned());
        let [method, path] = [method, path].map(str::to_owned);
        let [verb, resource, namespace] = [asked.verb, asked.resource, asked.namespace].map(str::to_owned);
        self.wait(ANSWERED_WITHIN, async move {
            let asked = Asked { verb: &verb, resource: &resource, namespace: &namespace };
            ask(&client, Question { method: &method, path: &path, body: body.as_ref(), asked }).await
        })
    }
}
