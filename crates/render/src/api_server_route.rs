//! The way to the API server: a balancer of the site's own, or HAProxy on every machine.

use linerate_record::site::{ControlPlane, Kubernetes, Prefix, key};

/// Where HAProxy of each machine listens.
pub(crate) const LOCAL: &str = "127.0.0.1";

/// Where every machine reaches an API server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ApiServerWay<'s> {
    pub(crate) host: &'s str,
    pub(crate) port: u32,
    /// The control plane of HAProxy on each machine; absent where the site has a balancer of its own.
    pub(crate) proxied: Option<&'s ControlPlane>,
}

/// The way that a site states; none where it states none.
pub(crate) fn way(kubernetes: &Kubernetes) -> Option<ApiServerWay<'_>> {
    if let Some(host) = &kubernetes.api_server {
        return Some(ApiServerWay { host, port: kubernetes.api_port, proxied: None });
    }
    let plane = kubernetes.control_plane.as_ref()?;
    Some(ApiServerWay { host: LOCAL, port: plane.port, proxied: Some(plane) })
}

impl ApiServerWay<'_> {
    /// Where it is told whether HAProxy reaches an API server.
    pub(crate) fn health_port(&self) -> u32 {
        self.port + 1
    }

    /// What the site states of the host, and of the port.
    pub(crate) fn keys(&self) -> (&'static str, &'static str) {
        match self.proxied {
            Some(_) => ("kubernetes.control_plane: HAProxy of the machine itself", key::KUBERNETES_CONTROL_PLANE_PORT),
            None => (key::KUBERNETES_API_SERVER, key::KUBERNETES_API_PORT),
        }
    }
}

/// The address of the service of DNS; none where nothing says it.
pub(crate) fn dns_address(kubernetes: &Kubernetes) -> Option<String> {
    /// `cmd/kubeadm/app/constants`, GetDNSIP: the tenth address of services.
    const TENTH: u32 = 10;
    let stated = kubernetes.dns.as_ref().and_then(|dns| dns.cluster_ip.clone());
    stated.or_else(|| {
        let Prefix { first, .. } = kubernetes.control_plane.as_ref()?.service_cidr;
        let address = Prefix { first: first.checked_add(TENTH)?, length: 32 }.to_string();
        address.strip_suffix("/32").map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kubernetes(more: &str) -> Kubernetes {
        let text = format!(
            "nodes: {{count: 4, drives: {{count: 2, capacity: 8TB}}, nics: {{speed: 25Gb/s}}}}\nengine: \
             minio\nkubernetes: {{{more}}}\n"
        );
        linerate_site::read(&text, "s").unwrap().kubernetes.unwrap()
    }

    const PLANE: &str = "control_plane: {version: 1.34.4, hosts: 10.0.0.11, service_cidr: 10.97.0.0/16}";

    #[test]
    fn a_balancer_of_the_site_goes_before_haproxy() {
        let own = kubernetes(&format!("api_server: api.example.com, {PLANE}"));
        let way = super::way(&own).unwrap();
        assert_eq!((way.host, way.port, way.proxied.is_some()), ("api.example.com", 6443, false));
        let proxied = kubernetes(PLANE);
        let way = super::way(&proxied).unwrap();
        assert!(way.host == LOCAL && way.proxied.is_some());
        assert_eq!((way.port, way.health_port()), (7443, 7444));
        assert_eq!(super::way(&kubernetes("node_mask: 24")), None);
    }

    #[test]
    fn dns_is_at_the_tenth_address_unless_it_is_stated() {
        let dns = "dns: {image: 'coredns:1', cache_image: 'node-cache:1'";
        for (text, address) in [
            (format!("{PLANE}, {dns}}}"), Some("10.97.0.10")),
            (format!("{PLANE}, {dns}, cluster_ip: 10.97.0.53}}"), Some("10.97.0.53")),
            (format!("{dns}, cluster_ip: 10.1.0.10}}"), Some("10.1.0.10")),
            (format!("{dns}}}"), None),
        ] {
            assert_eq!(dns_address(&kubernetes(&text)).as_deref(), address, "{text}");
        }
    }
}
