//! Who serves a target, by the name that it has in its answers.

/// What a server calls itself in its `Server` header, and where that does not decide what it is. Gateways that are
/// built from MinIO answer by its handlers: that of JuiceFS (juicedata/minio, `cmd/gateway-main.go`) has its header
/// without a version, a deployment id, and its errors and health pages. No sign in an answer of S3 is known that tells
/// them apart.
pub(crate) fn server(named: &str) -> String {
    match named {
        "MinIO" => "MinIO by its header".to_owned(),
        named => named.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_calls_itself_minio_may_be_a_gateway_that_is_built_from_it() {
        assert_eq!(server("MinIO"), "MinIO by its header");
        // A version is said by old releases of MinIO alone (until 2019).
        for named in ["MinIO/RELEASE.2019-10-12T01-39-57Z", "Garage", "linerate null target"] {
            assert_eq!(server(named), named);
        }
    }
}
