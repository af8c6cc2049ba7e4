//! Cluster DNS.

use linerate_record::knob::{Domain, Knob, Layer, Locator, RelievedResource, Scope, TakesEffect, domain};

use crate::knobs::{Advise, KnobRow};

/// What all rows have in common.
const BASE: Knob = Knob { layer: Layer::Dns, scope: Scope::Cluster, takes_effect: TakesEffect::Restart, ..Knob::NONE };

/// In the order in which pages and listings have them.
pub(in crate::knobs) const ROWS: &[KnobRow] = &[
    KnobRow {
        knob: Knob {
            id: "dns.cache_success",
            locator: Locator::Component { component: "coredns", key: "cache.success" },
            // CoreDNS, plugin/cache: a capacity.
            takes: domain::number(0, domain::INT_MAX),
            default: "9984 entries",
            summary: "Number of positive answers that CoreDNS caches.",
            why: "Source 000 recommends more, without a value. Its 12000 services, each with up to five search names, \
                do not fit into 9984 entries; an entry takes about 1 KiB.",
            relief: RelievedResource::Dns,
            relieves: "DNS: number and latency of queries",
            risk: "Memory: 30 MiB.",
            sources: &["source 000, CoreDNS", "CoreDNS, plugin/cache"],
            also_called: &["cache plugin success"],
            ..BASE
        },
        advise: Advise::Constant("30000", "enough for the names of thousands of services and of S3 virtual hosts"),
    },
    KnobRow {
        knob: Knob {
            id: "dns.cache_denial",
            locator: Locator::Component { component: "coredns", key: "cache.denial" },
            // CoreDNS, plugin/cache: a capacity.
            takes: domain::number(0, domain::INT_MAX),
            default: "9984 entries",
            summary: "Number of negative answers that CoreDNS caches.",
            why: "With ndots:5, four of five queries for an external name get a negative answer, so negative answers \
                need as many entries as positive ones.",
            relief: RelievedResource::Dns,
            relieves: "DNS: number and latency of queries",
            risk: "Memory: 30 MiB.",
            sources: &["source 000, CoreDNS", "CoreDNS, plugin/cache"],
            also_called: &["cache plugin denial"],
            ..BASE
        },
        advise: Advise::Constant("30000", "each search name that does not exist is a negative answer"),
    },
    KnobRow {
        knob: Knob {
            id: "dns.prefetch",
            locator: Locator::Component { component: "coredns", key: "cache.prefetch" },
            // CoreDNS, plugin/cache: prefetch.
            takes: Domain::Text("AMOUNT DURATION PERCENTAGE such as 10 1m 10%, or off"),
            default: "off",
            summary: "Renewal of frequently queried names shortly before they expire.",
            why: "Source 000 recommends it, without a value. The advice is the example of the plugin: names with ten \
                queries in a minute, at 10 % of the remaining time.",
            relief: RelievedResource::Dns,
            relieves: "DNS: number and latency of queries",
            risk: "A few more upstream queries.",
            sources: &["source 000, CoreDNS", "CoreDNS, plugin/cache"],
            also_called: &["prefetch"],
            ..BASE
        },
        advise: Advise::Constant("10 1m 10%", "names in use are renewed before they expire"),
    },
    KnobRow {
        knob: Knob {
            id: "dns.serve_stale",
            locator: Locator::Component { component: "coredns", key: "cache.serve_stale" },
            // CoreDNS, plugin/cache: serve_stale.
            takes: Domain::Text("DURATION MODE such as 1h immediate, or off"),
            default: "off",
            summary: "Use of expired answers while the upstream does not respond.",
            why: "Source 000 recommends it, without a value. The advice is to serve them immediately, for at most an \
                hour.",
            relief: RelievedResource::Dns,
            relieves: "DNS: number and latency of queries",
            risk: "Addresses of services that moved may be up to an hour old: unsuitable for zones whose records \
                change.",
            sources: &["source 000, CoreDNS", "CoreDNS, plugin/cache"],
            also_called: &["serve_stale"],
            ..BASE
        },
        advise: Advise::Constant("1h immediate", "clients keep working while the upstream does not respond"),
    },
    KnobRow {
        knob: Knob {
            id: "dns.autopath",
            locator: Locator::Component { component: "coredns", key: "autopath" },
            // CoreDNS, plugin/autopath.
            takes: Domain::Words(&["off", "on", "@kubernetes"]),
            default: "off",
            summary: "Whether CoreDNS follows a pod's search path itself, within one query.",
            why: "Source 000 recommends it. It requires `pods verified`, which makes every CoreDNS watch all pods \
                (40000 in that cluster), and NodeLocal DNS hides the pod's address that it needs. A trailing dot in \
                the endpoint's name, or ndots:1 for the engine's clients, achieves the same at no cost.",
            relief: RelievedResource::Dns,
            relieves: "DNS: number and latency of queries",
            risk: "Memory for all pods; wrong answers behind NodeLocal DNS.",
            sources: &["source 000, CoreDNS", "CoreDNS, plugin/autopath"],
            also_called: &["Autopath"],
            ..BASE
        },
        advise: Advise::Nothing,
    },
    KnobRow {
        knob: Knob {
            id: "dns.nodelocal",
            locator: Locator::Component { component: "cluster", key: "nodelocaldns" },
            // linerate's own words for whether there is one.
            takes: Domain::Words(&["off", "enabled"]),
            default: "off",
            summary: "A DNS cache on each node.",
            why: "Source 000 uses it, with Cilium's localRedirectPolicy in front: UDP queries stay on the node, and \
                queries that leave it use TCP.",
            relief: RelievedResource::Dns,
            relieves: "DNS: number and latency of queries",
            risk: "A node whose cache fails has no DNS.",
            sources: &["source 000, CoreDNS", "Kubernetes, NodeLocal DNSCache"],
            also_called: &["NodeLocal DNScache", "nodelocaldns"],
            ..BASE
        },
        advise: Advise::Constant("enabled", "each node has a cache that bypasses connection tracking"),
    },
    KnobRow {
        knob: Knob {
            id: "dns.hpa",
            locator: Locator::Component { component: "coredns", key: "autoscaling" },
            // linerate's own words for whether there is one.
            takes: Domain::Words(&["off", "on"]),
            default: "a fixed number of replicas",
            summary: "Whether the number of CoreDNS replicas follows the load.",
            why: "Source 000 mentions HPA with resource limits. In its test with NodeLocal DNS, 1110 queries per \
                second remain for CoreDNS, which two replicas can handle. Nothing is advised.",
            relief: RelievedResource::Dns,
            relieves: "DNS: number and latency of queries",
            risk: "A replica that is removed loses its cache.",
            sources: &["source 000, CoreDNS", "Kubernetes, DNS horizontal autoscaling"],
            also_called: &["CoreDNS HPA"],
            ..BASE
        },
        advise: Advise::Nothing,
    },
    KnobRow {
        knob: Knob {
            id: "dns.endpoint_slices",
            locator: Locator::Component { component: "coredns", key: "EndpointSlice" },
            // linerate's own words: CoreDNS watches them or not.
            takes: Domain::Words(&["used", "not used"]),
            default: "used since CoreDNS 1.7 and Kubernetes 1.21",
            summary: "Whether services are watched as EndpointSlices.",
            why: "Source 000 recommends it; every supported version does it already. There is nothing to set.",
            relief: RelievedResource::Dns,
            relieves: "DNS: number and latency of queries",
            risk: "None.",
            sources: &["source 000, CoreDNS", "CoreDNS, plugin/kubernetes"],
            also_called: &["EndpointSlice"],
            ..BASE
        },
        advise: Advise::Nothing,
    },
];
