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
