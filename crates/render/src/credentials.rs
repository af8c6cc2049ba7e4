//! The engine's first credentials, which are in none of the files.

use linerate_record::site::{Product, Site};

use crate::engine::secret_name;
use crate::yaml::{file, map, set};

/// A name and a password that somebody has drawn.
#[derive(Clone)]
pub struct FirstCredentials {
    /// The first user, or access key.
    pub user: String,
    /// Its password, or secret key.
    pub password: String,
}

/// The Secret that the engine's pods refer to; none of a site without a Kubernetes or with an engine that is not
/// rendered.
#[must_use]
pub fn credentials(site: &Site, drawn: &FirstCredentials) -> Option<String> {
    let engine = match site.engine.product {
        Product::Minio => "minio",
        Product::Rustfs => "rustfs",
        Product::CephRgw | Product::Garage => return None,
    };
    let namespace = site.kubernetes.as_ref()?.namespace.as_str();
    let secret = map([
        set("apiVersion", "v1"),
        set("kind", "Secret"),
        set("metadata", map([set("name", secret_name(engine)), set("namespace", namespace)])),
        set("type", "Opaque"),
        set("stringData", map([set("user", drawn.user.as_str()), set("password", drawn.password.as_str())])),
    ]);
    let head = "The engine's first credentials, drawn once by linerate render --init-secrets. Apply it, keep it safe, \
                and keep it out of Git.";
    Some(file(head, &[secret]))
}

/// The key of the Secret that has the token.
pub(crate) const TOKEN_KEY: &str = "token";

/// The Secret by which Prometheus reads the engine's metrics.
pub(crate) fn metrics_secret_name(engine: &str) -> String {
    format!("{engine}-metrics")
}

/// The Secret with the token that MinIO takes of who reads its metrics, behind that of its credentials; none where
/// nothing reads them.
#[must_use]
pub fn metrics_token(site: &Site, token: &str) -> Option<String> {
    let kubernetes = site.kubernetes.as_ref().filter(|kubernetes| kubernetes.observation.is_some())?;
    if site.engine.product != Product::Minio {
        return None;
    }
    let secret = map([
        set("apiVersion", "v1"),
        set("kind", "Secret"),
        set(
            "metadata",
            map([set("name", metrics_secret_name("minio")), set("namespace", kubernetes.namespace.as_str())]),
        ),
        set("type", "Opaque"),
        set("stringData", map([set(TOKEN_KEY, token)])),
    ]);
    let head = "The token by which Prometheus reads the engine's metrics, signed with these credentials: with others, \
                mc admin prometheus generate makes one.";
    Some(file(head, &[secret]))
}
