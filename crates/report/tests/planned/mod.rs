//! A plan and an explanation made by hand: figures are plausible, and none of them is the model's.

use linerate_record::explanation::{
    DescribedCeiling, Deviation, DistinguishingReading, EXPLANATION_SCHEMA, Explanation, ExplanationVerdict,
    FigureAgainstCeiling, HighestPrediction, Hypothesis, Kind, NodeFigures, Observations, Observed, Quantity, Remedy,
    RemedyGain, Residual,
};
use linerate_record::finding::Severity;
use linerate_record::plan::{
    Ceiling, Curve, CurvePoint, FailureScope, Goal, Input, LayoutChoice, LayoutPlan, PLAN_SCHEMA, Plan, PlanFinding,
    PlanFindingKind, PoolLayout, Rebuild, RejectedSize, Resource, ScalePoint, Scaling, ScalingBend, Sizing, Spread,
    Tolerance, Work, WorkPlan,
};
use linerate_record::site::{
    Bond, BondMode, Clients, ClientsOn, Data, Drives, Encapsulation, Engine, Entry, Fabric, Goals, IpVersion, Nic,
    NodeGroup, Pcie, Plane, Planes, Product, Protection, Site, SwitchHash, Tolerates, TransmitHash, VARIABILITY,
};
use linerate_record::units::Unit;

/// What a site's file may hold, and no page may take as markup.
pub(crate) const HOSTILE: &str = "</script><b onclick=\"alert('x')\">&{{view}}\x1b[2J";

const GIB: f64 = 1_073_741_824.0;

/// 56 nodes with two bonds, GET, PUT and a mix, with everything that a plan can hold.
pub(crate) fn plan() -> Plan {
    let works = [(1.0, 1.0), (0.0, 0.62), (0.7, 0.85)];
    Plan {
        schema: PLAN_SCHEMA,
        site: site(),
        works: works.into_iter().map(|(read_share, scale)| work(read_share, scale)).collect(),
        layout: layout(),
        rebuild: vec![rebuild(FailureScope::Drive, 15.36e12, 1.0e9), rebuild(FailureScope::Node, 122.88e12, 0.49e9)],
        findings: findings(),
        scaling: Some(scaling(64)),
        sizing: Some(Sizing {
            need: "get=1TiB/s,usable=30PB".to_owned(),
            nodes: Some(377),
            drives: 3016,
            ports: 1508,
            usable_bytes: 33_000_000_000_000_000,
            data_shards: 10,
            parity_shards: 4,
            tolerates: Some(Tolerates { drives: 2, nodes: 1 }),
            intolerant: Some(RejectedSize {
                nodes: 371,
                data_shards: 1,
                parity_shards: 1,
                tolerates: Tolerates { drives: 1, nodes: 0 },
            }),
            why: "GET decides; 30 PB alone needs 343 nodes".to_owned(),
        }),
    }
}

/// A plan with next to nothing in it.
pub(crate) fn bare() -> Plan {
    let mut plan = plan();
    plan.works.truncate(1);
    plan.works[0].ceilings.clear();
    plan.works[0].spread.clear();
    (plan.works[0].degraded_bytes_per_s, plan.works[0].rebuilding_bytes_per_s) = (None, None);
    plan.rebuild.clear();
    (plan.works[0].curve, plan.works[0].goal) = (None, None);
    plan.layout.alternatives.clear();
    (plan.scaling, plan.sizing) = (None, None);
    plan.findings.clear();
    plan.site.assumed.clear();
    plan
}

/// The curve over so many nodes: grows, and bends at 4 and 16.
pub(crate) fn scaling(nodes: u32) -> Scaling {
    let point = |nodes: u32| ScalePoint {
        nodes,
        limits_bytes_per_s: if nodes < 2 {
            vec![]
        } else {
            [2.7, 1.7, 2.3].map(|each| each * f64::from(nodes) * GIB).into()
        },
        bottlenecks: if nodes < 2 {
            vec![]
        } else {
            vec![Resource::PublicEgress, Resource::PrivateIngress, Resource::DriveBandwidth]
        },
        set_drives: if nodes < 4 { 8 } else { 14 },
        parity_shards: if nodes < 4 { 3 } else { 4 },
        usable_bytes: u64::from(nodes) * 87_770_000_000_000,
    };
    let bend = |nodes, why: &str| ScalingBend { nodes, why: why.to_owned() };
    Scaling {
        points: (1..=nodes).map(point).collect(),
        bends: vec![
            bend(4, "sets of 14 in place of 8"),
            bend(9, "PUT: the bottleneck is the private link instead of drives"),
        ],
    }
}

fn site() -> Site {
    let plane = |link: &str| Plane {
        link: link.to_owned(),
        mtu_bytes: 1500,
        encapsulation: if link == "bond0" { Encapsulation::Vxlan } else { Encapsulation::None },
        timestamps: true,
        ip: IpVersion::V4,
    };
    let engine = Engine {
        product: Product::Minio,
        protection: Protection::Sets { set_drives: None, parity: None },
        tls: true,
        internal_tls: true,
        encryption: false,
        versioned: false,
        local_shards: false,
    };
    let assumed = [
        ("groups.storage.drives.0.read", "a usual NVMe drive of its kind"),
        ("groups.storage.memory-bandwidth", HOSTILE),
    ];
    Site {
        name: "fifty-six <nodes>".to_owned(),
        groups: vec![group()],
        planes: Planes { public: plane("bond0"), private: Some(plane("bond1")) },
        fabric: Fabric {
            rack_uplink_bits_per_s: Some(800e9),
            oversubscription: None,
            spines: 4,
            path_hash: SwitchHash::L4,
        },
        clients: Clients {
            on: ClientsOn::Machines,
            per_core_bytes_per_s: None,
            count: 7,
            racks: 1,
            ports: 2,
            speed_bits_per_s: 100e9,
            bond: Some(BondMode::Lacp),
            transmit_hash: TransmitHash::Layer34,
            mtu_bytes: 1500,
            connections: 20,
        },
        kubernetes: None,
        engine,
        entry: Entry::ClientSide,
        data: Data {
            stored_bytes: 0,
            growth_per_year: 0.3,
            retention_years: 5.0,
            object_bytes: 64 << 20,
            variability: VARIABILITY,
        },
        goals: Goals { get_bytes_per_s: Some(200.0 * GIB), ..Goals::default() },
        assumed: assumed.map(|(path, reason)| (path.to_owned(), reason.to_owned())).into(),
    }
}

fn group() -> NodeGroup {
    let nic = |name: &str| Nic {
        name: name.to_owned(),
        ports: 2,
        speed_bits_per_s: 25e9,
        lanes: 8,
        generation: 3,
        numa_node: Some(0),
    };
    let bond = |name: &str, nic: &str| Bond {
        name: name.to_owned(),
        nics: vec![nic.to_owned()],
        mode: BondMode::Lacp,
        transmit_hash: TransmitHash::Layer2,
        switch_hash: SwitchHash::L4,
    };
    NodeGroup {
        name: "storage".to_owned(),
        count: 56,
        racks: 7,
        sockets: 2,
        cores: 64,
        kernel: None,
        memory_bytes: 512 << 30,
        memory_bytes_per_s: 400e9,
        pcie: Pcie { generation: 4, lanes_per_socket: 64 },
        drives: vec![Drives {
            count: 8,
            capacity_bytes: 15_360_000_000_000,
            read_bytes_per_s: 6.5e9,
            write_bytes_per_s: 2.5e9,
            read_iops: 900e3,
            write_iops: 150e3,
            lanes: 4,
            generation: 4,
            numa_node: None,
        }],
        nics: vec![nic("ens1"), nic("ens2")],
        bonds: vec![bond("bond0", "ens1"), bond("bond1", "ens2")],
    }
}

fn work(read_share: f64, scale: f64) -> WorkPlan {
    let ceiling = |resource: Resource, gib: f64, demand, capacity, assumed| Ceiling {
        resource,
        group: Some("storage".to_owned()),
        limit_bytes_per_s: gib * scale * GIB,
        limit_requests_per_s: None,
        headroom_bytes_per_s: gib * scale * GIB - 307.1 * scale * GIB,
        utilisation_share: 307.1 / gib,
        demand,
        capacity,
        unit: resource.unit(),
        formula: "nodes × each / demand".to_owned(),
        inputs: vec![
            input("nodes", "56", Some("groups.storage.count"), false),
            input("each", "47.1 Gb/s", None, false),
            input("drive read", "6.50 GB/s", Some("groups.storage.drives.0.read"), assumed),
            input("passes", "2", None, assumed),
        ],
        source: "framing: IEEE 802.3".to_owned(),
    };
    use Resource as R;
    WorkPlan {
        work: Work { object_bytes: 64 << 20, read_share },
        ceilings: vec![
            ceiling(R::PublicEgress, 307.1, 1.0, 5.888e9, false),
            ceiling(R::PrivateIngress, 312.6, 0.982, 5.888e9, false),
            ceiling(R::Cpu, 811.4, 4.1, 64e9, true),
            ceiling(R::ClientIngress, 1012.0, 1.0, 24.1e9, false),
            ceiling(R::DriveBandwidth, 2712.0, 1.0, 52e9, true),
            ceiling(R::Memory, 3120.0, 6.0, 400e9, true),
            ceiling(R::PcieSocket, 4411.0, 2.0, 252e9, false),
            ceiling(R::DriveOperations, 91_000.0, 28.0, 7.2e6, true),
        ],
        spread: vec![Spread {
            resource: R::PublicEgress,
            group: Some("storage".to_owned()),
            members: 2,
            counted_members: Some(1),
            flows: 140,
            share_p5: 0.5,
            share_p50: 0.5,
            share_p95: 0.5,
            flows_to_fill: None,
            why: "layer2 sends everything to one router by one member".to_owned(),
        }],
        degraded_bytes_per_s: Some(250.0 * scale * GIB),
        rebuilding_bytes_per_s: Some(200.0 * scale * GIB),
        curve: Some(curve(307.1 * scale * GIB)),
        goal: (read_share >= 1.0).then(|| Goal {
            bytes_per_s: 200.0 * GIB,
            ceiling_share: 200.0 / (307.1 * scale),
            within_reach: true,
            in_flight: Some(103),
            within_clients_reach: Some(true),
        }),
    }
}

fn curve(ceiling_bytes_per_s: f64) -> Curve {
    let at = |in_flight: u64| {
        let share = in_flight as f64 / (in_flight as f64 + 55.0);
        let bytes_per_s = share * ceiling_bytes_per_s;
        CurvePoint { in_flight, bytes_per_s, share, latency_ns: in_flight as f64 * 6.7e16 / bytes_per_s }
    };
    Curve {
        variability: 0.5,
        alone_ns: 11.7e6,
        alone_by: Resource::Cpu,
        stations: 56,
        knee: at(495),
        knee_in_flight_each: Some(71),
        clients: Some(at(140)),
        points: [1, 4, 16, 64, 256, 1024].map(at).to_vec(),
    }
}

fn rebuild(lost: FailureScope, restored_bytes: f64, alone_bytes_per_s: f64) -> Rebuild {
    Rebuild {
        lost,
        restored_bytes,
        taken_full: lost == FailureScope::Node,
        read_bytes_per_byte: 10.0,
        bottleneck: Resource::PrivateIngress,
        alone_bytes_per_s,
        alone_s: restored_bytes / alone_bytes_per_s,
        share: 0.25,
        share_assumed: true,
        shared_s: 4.0 * restored_bytes / alone_bytes_per_s,
        why: "rebuilt onto what replaces it".to_owned(),
        source: "an assumption".to_owned(),
    }
}

fn input(name: &str, value: &str, path: Option<&str>, assumed: bool) -> Input {
    Input { name: name.to_owned(), value: value.to_owned(), path: path.map(str::to_owned), assumed }
}

fn layout() -> LayoutPlan {
    let choice = |set_drives: u32, parity_shards: u32, score, chosen, why: &str| LayoutChoice {
        set_drives,
        parity_shards,
        usable_share: f64::from(set_drives - parity_shards) / f64::from(set_drives),
        write_cost: f64::from(set_drives) / f64::from(set_drives - parity_shards),
        nodes_lost: parity_shards,
        score,
        chosen,
        why: why.to_owned(),
    };
    LayoutPlan {
        set_drives: 14,
        data_shards: 10,
        parity_shards: 4,
        sets: 32,
        pools: vec![PoolLayout {
            groups: vec!["storage".to_owned()],
            set_drives: 14,
            data_shards: 10,
            parity_shards: 4,
            sets: 32,
        }],
        raw_bytes: 6_881_280_000_000_000,
        usable_bytes: 4_915_200_000_000_000,
        usable_share: 10.0 / 14.0,
        goal_within_reach: None,
        years_to_full: Some(3.25),
        read_tolerance: Tolerance { drives: 4, nodes: 4, racks: 0 },
        write_tolerance: Tolerance { drives: 4, nodes: 4, racks: 1 },
        inline_bytes: 1_310_720,
        why: "14 is the largest divisor of 56 nodes up to 16".to_owned(),
        alternatives: vec![
            choice(14, 4, 0.84, true, "what MinIO chooses"),
            choice(14, 3, 0.81, false, "one node less may fail"),
            choice(8, 4, 0.6, false, "half of the drives is parity"),
        ],
    }
}

fn findings() -> Vec<PlanFinding> {
    let finding = |kind, severity, claim: &str| PlanFinding {
        kind,
        severity,
        claim: claim.to_owned(),
        evidence: "figures that it rests on".to_owned(),
        remedy: "what to do".to_owned(),
        source: "where the rule comes from".to_owned(),
        goal: None,
    };
    vec![
        finding(PlanFindingKind::BondHash, Severity::Critical, "bond0 cannot spread this traffic under layer2"),
        finding(PlanFindingKind::OldKernel, Severity::Warning, HOSTILE),
        finding(PlanFindingKind::RestsOnAssumed, Severity::Note, "PUT rests on assumed values"),
    ]
}

/// Two hypotheses that fit GET and none that fits PUT, with figures of six nodes.
pub(crate) fn explanation() -> Explanation {
    let nodes = (1..=6).map(|n| Quantity::NodeGet { node: format!("node{n}") });
    let mut figures = vec![observed(Quantity::Get, 152.0), observed(Quantity::Put, 81.0)];
    figures[1].error_share = Some(0.05);
    figures.extend(nodes.map(|node| observed(node, 2.71)));
    let put = residual(&Quantity::Put, 81.0, 111.2, false);
    let one = hypothesis(
        "bond-members-in-use=bond0: 1 of 2",
        "one of two members of bond0 carries the traffic",
        0.45,
        &figures,
        153.6,
    );
    let two = hypothesis("plane-shared", HOSTILE, 0.40, &figures, 150.1);
    let three = hypothesis("bond-mode", "bond0 runs as active-backup", 0.05, &figures, 153.6);
    let expects = [
        (one.id.clone(), "all bytes on one member of each node".to_owned()),
        (two.id.clone(), "bytes evenly on both members".to_owned()),
        (three.id.clone(), "all bytes on one member of each node".to_owned()),
    ];
    Explanation {
        schema: EXPLANATION_SCHEMA,
        observations: Observations { figures, error_share: 0.02, nodes_alone: false },
        curve_error_share: None,
        of_run: vec!["12 of 4 000 requests of GET failed (503: 12): look there first".to_owned()],
        left_out: vec![],
        of_nodes: vec!["node4 gives 50 % of the median of the nodes for GET (± 2 %)".to_owned()],
        described: vec![standing(Quantity::Get, 152.0, 304.0, None), standing(Quantity::Put, 81.0, 75.8, Some(2.3))],
        node_figures: Some(NodeFigures { figures: 6, least_bytes_per_s: 2.71 * GIB, most_bytes_per_s: 2.71 * GIB }),
        kinds: vec![Kind { survivors: vec![0, 2], weight: 0.5 }, Kind { survivors: vec![1], weight: 0.4 }],
        families: vec![],
        none_of_these: 0.1,
        verdict: ExplanationVerdict { outweighed: false, not_separated: vec![0, 1], whole: vec![], advised: Some(0) },
        survivors: vec![Hypothesis { indistinguishable: vec![three.id.clone()], ..one }, two, three],
        unexplained: vec![put],
        separator: Some(DistinguishingReading {
            reading: "bytes per bond member, per node".to_owned(),
            bits: 0.84,
            minutes: 2.0,
            how: "/sys/class/net/*/statistics/tx_bytes of the members of bond0, before and after".to_owned(),
            expects: expects.into(),
        }),
        considered: 1204,
        caveats: vec!["the NICs of the site are assumed".to_owned(), HOSTILE.to_owned()],
    }
}

fn standing(what: Quantity, observed: f64, ceiling: f64, above_sigmas: Option<f64>) -> FigureAgainstCeiling {
    let most =
        above_sigmas.map(|_| HighestPrediction { ceiling_bytes_per_s: 90.0 * GIB, id: "layout(12+2)".to_owned() });
    let verb = if what == Quantity::Get { "GET" } else { "PUT" };
    FigureAgainstCeiling {
        what,
        observed_bytes_per_s: observed * GIB,
        ceiling_bytes_per_s: ceiling * GIB,
        share: observed / ceiling,
        above_sigmas,
        bottleneck: "public link, sending".to_owned(),
        needed: 99.0e9 * observed / ceiling / 8.0,
        there: 99.0e9 / 8.0,
        unit: Unit::BytesPerS,
        needs: format!(
            "{verb} needs {:.1} Gb/s out of each node; that link carries 99 Gb/s",
            99.0 * observed / ceiling
        ),
        claim: format!("it needs {:.1} Gb/s out of each node; that link carries 99 Gb/s", 99.0 * observed / ceiling),
        ceilings: vec![
            described(Resource::PublicEgress, ceiling),
            described(Resource::DriveBandwidth, 2.0 * ceiling),
            described(Resource::Memory, 40.0 * ceiling),
        ],
        goal_bytes_per_s: Some(0.9 * ceiling * GIB),
        most,
    }
}

fn described(resource: Resource, ceiling: f64) -> DescribedCeiling {
    DescribedCeiling { resource, group: None, limit_bytes_per_s: ceiling * GIB }
}

fn observed(what: Quantity, gib: f64) -> Observed {
    Observed { what, bytes_per_s: gib * GIB, error_share: None, in_flight: None }
}

fn residual(what: &Quantity, observed: f64, predicted: f64, explained: bool) -> Residual {
    Residual {
        what: what.clone(),
        observed_bytes_per_s: observed * GIB,
        predicted_bytes_per_s: predicted * GIB,
        least_bytes_per_s: None,
        instead_bytes_per_s: None,
        instead_least_bytes_per_s: None,
        residual_share: observed / predicted - 1.0,
        above_sigmas: None,
        bottleneck: "public link, sending".to_owned(),
        explained,
    }
}

fn hypothesis(id: &str, claim: &str, weight: f64, figures: &[Observed], get: f64) -> Hypothesis {
    let residual_of = |figure: &Observed| match &figure.what {
        Quantity::Put => residual(&Quantity::Put, 81.0, 111.2, false),
        Quantity::Get => residual(&Quantity::Get, 152.0, get, true),
        node => residual(node, 2.71, get / 56.0, true),
    };
    let deviation = Deviation {
        id: id.split('=').next().unwrap_or(id).to_owned(),
        value: "bond0".to_owned(),
        claim: claim.to_owned(),
        cost: 2.0,
        shown_by: "tx_bytes of the members".to_owned(),
        contradicts: if id == "plane-shared" { vec!["planes.private.link: bond1".to_owned()] } else { vec![] },
    };
    Hypothesis {
        id: id.to_owned(),
        deviations: vec![deviation],
        residuals: figures.iter().map(residual_of).collect(),
        weight,
        indistinguishable: vec![],
        remedy: Remedy {
            change: "set xmit_hash_policy=layer3+4 on bond0".to_owned(),
            gives: "GET up to 304 GiB/s".to_owned(),
            risks: "fragments of one flow may arrive out of order".to_owned(),
            gains: vec![RemedyGain {
                what: Quantity::Get,
                from_bytes_per_s: 152.0 * GIB,
                from_least_bytes_per_s: None,
                is_predicted: false,
                to_bytes_per_s: 304.0 * GIB,
                in_flight: None,
                bottleneck: "public NIC out".to_owned(),
            }],
            condition: None,
            is_known: true,
        },
    }
}
