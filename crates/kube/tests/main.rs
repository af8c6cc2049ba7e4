//! Pods found and reached, against an API server that is simulated.

mod exec;
mod server;
mod up;

use std::borrow::Cow;
use std::sync::Arc;

use linerate_kube::api_client::SecretRegistry;

/// Knows no secrets.
struct NoSecrets;

impl SecretRegistry for NoSecrets {
    fn remember(&self, _: &str) {}

    fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        Cow::Borrowed(text)
    }
}

/// Reads a file of the tests, which ends.
fn read_file(path: &std::path::Path, _: u64) -> std::io::Result<Vec<u8>> {
    std::fs::read(path)
}

fn no_secrets() -> Arc<dyn SecretRegistry> {
    Arc::new(NoSecrets)
}
