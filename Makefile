# The two commands of the README are `make demo` and `make test`; the others are for those who work on linerate.

CARGO ?= cargo
# Where the program stands already, as in `.ci/run`, it is called by its path.
XTASK ?= $(CARGO) xtask
MINIO_VERSION = v0.0.0-20260212201848-7aac2a2c5b7c
SERVERS = $(CURDIR)/target/servers

VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
ARCHITECTURES ?= amd64 arm64
TRIPLE_amd64 = x86_64-unknown-linux-musl
TRIPLE_arm64 = aarch64-unknown-linux-musl
TRIPLES = $(foreach architecture,$(ARCHITECTURES),$(TRIPLE_$(architecture)))
ZIG = $(CURDIR)/target/zig/bin

.PHONY: demo test test-timed test-system test-gate gate-fetched test-all fetched test-machines test-cluster servers watched kubernetes kubernetes-scale cilium machine bench soak scale streams placed series shapes live-cost rollouts sites worlds corpus test-series fuzz lint clippy tidy dist test-dist

# The main job, on the embedded S3 target: about a minute and a half after the build, which leaves Kubernetes out.
demo:
	$(CARGO) build --profile demo -p linerate --no-default-features
	target/demo/linerate bench --target embedded --time 18s

# No root, and nothing on the machine is changed. TESTS='--exact NAME' runs one. What runs them is built with them: by
# itself it asks for fewer features of what they share, and analysis, model and all below them would be built once more.
TESTS ?=
test:
	$(CARGO) build --workspace --tests --bin xtask
	$(or $(CARGO_TARGET_DIR),target)/debug/xtask tests $(TESTS)

# Tests that measure time, and those that hold themselves to times or take long, one at a time, on a machine that does
# nothing else.
test-timed:
	$(CARGO) build --workspace --tests --bin xtask
	LINERATE_TIMED=1 $(or $(CARGO_TARGET_DIR),target)/debug/xtask tests $(TESTS)

# Root: installs Debian packages that are missing, builds MinIO, makes network namespaces, boots a virtual machine.
# What `linerate tune export` prints is read by udev, TuneD and the types of Kubernetes; a Kubernetes runs in namespaces.
UNPACKED = $(addprefix $(SERVERS)/,debian logins prometheus)
FETCHED = servers $(SERVERS)/vmlinuz $(SERVERS)/pod $(UNPACKED)
# LATER= builds nothing of Kubernetes, for tests that do not need it.
LATER ?= kubernetes watched
# Whoever has built them may name the programs themselves, where cargo is busy with something else. Both are built with
# the features of the whole workspace, so that neither builds what they share once more.
SYSTEM ?= $(CARGO) test --workspace --test system --
CLUSTER ?= $(CARGO) test --workspace --test cluster --
SYSTEM_PATHS = MINIO=$(SERVERS)/minio KERNEL=$(SERVERS)/vmlinuz POD=$(SERVERS)/pod KUBERNETES=$(KUBERNETES) \
	DEFINITIONS=$(SERVERS)/definitions \
	LOGINS=$(SERVERS)/logins PROMETHEUS=$(SERVERS)/prometheus \
	TUNED=$(SERVERS)/debian/usr/lib/python3/dist-packages \
	PATH="$$PATH:$(SERVERS)/debian/bin"
test-system: $(FETCHED) $(LATER)
	$(SYSTEM_PATHS) $(SYSTEM) --test-threads 1 $(TESTS)

# One system test for each part of linerate, for `.ci/run`: of those that measure no time, and need no Kubernetes.
GATE_FETCHED = servers $(SERVERS)/prometheus
GATE_TESTS = agent_as_process_1_takes_what_ended_processes_leave \
	experiment_tells_what_does_not_reach \
	fleet_by_ssh_the_program_is_put_there_verified_and_removed \
	fleet_in_namespaces_by_name_and_by_process \
	lab_faults_hold_and_are_lifted \
	live_links_are_those_of_the_namespace_of_who_looks \
	minio_bytes_and_requests_equal_the_servers_metrics \
	namespaces_the_server_behind_an_address_is_found \
	net_names_an_mtu_black_hole_with_its_side \
	prometheus_reads_all_rules_and_expressions_that_are_rendered \
	read_only_a_whole_watch_runs_under_the_seccomp_profile \
	scopes_of_every_network_setting_are_as_said \
	sockets_of_an_engine_in_another_namespace_are_read \
	tune_fleet_there_and_back_over_16_namespaces \
	tune_in_a_namespace_and_back_byte_for_byte
test-gate: $(GATE_FETCHED)
	status=0; for name in $(GATE_TESTS); do \
		$(SYSTEM_PATHS) $(SYSTEM) --test-threads 1 --exact $$name || status=1; \
	done; exit $$status

# All that the gate leaves out, part by part, by `.ci/parts.tsv`: parts that passed since the last change are left out.
# PARTS='NAME NAME' runs these; the counts are in runs/test-all-DATE.
PARTS ?=
test-all:
	$(XTASK) parts run $(PARTS)

servers: $(SERVERS)/minio
	.ci/install

$(SERVERS)/minio:
	mkdir -p $(SERVERS)
	GOBIN=$(SERVERS) go install github.com/minio/minio@$(MINIO_VERSION)

$(SERVERS)/vmlinuz:
	.ci/kernel $@ || echo 'no kernel of Debian: what boots one is skipped'

$(SERVERS)/debian:
	.ci/unpack $@ udev tuned || echo 'no packages of Debian: what udev and TuneD read is skipped'

# What scrapes a cluster, reads its rules, and what it scrapes.
$(SERVERS)/prometheus:
	.ci/unpack $@ prometheus prometheus-node-exporter || echo 'no packages of Debian: what needs Prometheus is skipped'

# What other users may log in to, and get rights by.
$(SERVERS)/logins:
	.ci/unpack $@ csh fish libpcre2-32-0 sudo tcsh || echo 'no packages of Debian: what needs other shells is skipped'

# Definitions of Prometheus Operator's and Argo CD's resources, which rendered monitors and alerts are held against.
WATCHED_SOURCE = crates/linerate/tests/system_parts/watched
watched: $(SERVERS)/definitions

$(SERVERS)/definitions: $(WATCHED_SOURCE)/definitions.sh
	rm -rf $@ $@.new
	$< $@ || echo 'no definitions of others: what the API server holds against them is skipped'

POD_SOURCE = crates/linerate/tests/system_parts/pod
$(SERVERS)/pod: $(POD_SOURCE)/main.go $(POD_SOURCE)/go.mod $(POD_SOURCE)/go.sum
	go build -C $(POD_SOURCE) -o $@ .

# A Kubernetes with real nodes, brought up by hand: crates/linerate/tests/system_parts/kubernetes/kubernetes.sh.
KUBERNETES = $(SERVERS)/kubernetes
KUBERNETES_SOURCE = crates/linerate/tests/system_parts/kubernetes
KUBERNETES_PARTS = $(addprefix $(KUBERNETES_SOURCE)/,components/main.go components/go.mod components/go.sum build.sh)
kubernetes: servers $(KUBERNETES)/bin/kubelet $(KUBERNETES)/debian $(KUBERNETES)/pause

# All that system tests take from others, but for what is compiled for long.
fetched: $(FETCHED) $(KUBERNETES)/debian
gate-fetched: $(GATE_FETCHED)

# Nodes that are pretended, for hundreds of pods.
kubernetes-scale: kubernetes $(KUBERNETES)/bin/kwok

$(KUBERNETES)/bin/kubelet: $(KUBERNETES_PARTS)
	$(KUBERNETES_SOURCE)/build.sh $(KUBERNETES)/bin

$(KUBERNETES)/bin/kwok:
	$(KUBERNETES_SOURCE)/build-kwok.sh $(KUBERNETES)

$(KUBERNETES)/pause: $(KUBERNETES_SOURCE)/pause.c
	mkdir -p $(KUBERNETES)
	$(CC) -O2 -static -s -o $@ $<

$(KUBERNETES)/debian:
	.ci/unpack $@ containerd runc containernetworking-plugins nftables libnftables1 libjansson4 \
	    libnftnl11 libxtables12 libmnl0 || echo 'no packages of Debian: what needs a Kubernetes is skipped'

# A Cilium for such a Kubernetes, and a router: the compiler of its datapath, and FRR.
CILIUM = $(SERVERS)/cilium
CILIUM_SOURCE = crates/linerate/tests/system_parts/cilium
cilium: $(CILIUM)/bin/helm $(CILIUM)/debian $(CILIUM)/answer

$(CILIUM)/bin/helm: $(CILIUM_SOURCE)/build.sh
	$(CILIUM_SOURCE)/build.sh $(CILIUM)

$(CILIUM)/answer: $(CILIUM_SOURCE)/answer.c
	mkdir -p $(CILIUM)
	$(CC) -O2 -static -s -o $@ $<

$(CILIUM)/debian:
	.ci/unpack $@ clang-19 llvm-19 libllvm19 libclang-cpp19 libclang-common-19-dev libclang1-19 \
	    llvm-19-linker-tools bpftool ipset iptables libipset13 libip4tc2 libip6tc2 libxtables12 libnftnl11 libmnl0 \
	    libnetfilter-conntrack3 libnfnetlink0 frr libyang2 libc-ares2 libjson-c5 libreadline8 libcap2 libpam0g \
	    libssh-gcrypt-4 || echo 'no packages of Debian: what needs a Cilium is skipped'

# A kernel that has Geneve and netkit, for nodes that are virtual machines.
MACHINE = $(SERVERS)/machine
machine: servers $(MACHINE)/vmlinuz

$(MACHINE)/vmlinuz:
	.ci/kernel $@ linux-image-6.12-cloud-amd64 || echo 'no kernel of Debian: what needs one is skipped'

# A Debian whose first process is systemd, with sshd, for machines of system_parts/systemd: everything that it needs.
SYSTEMD_PACKAGES = systemd systemd-sysv libsystemd-shared libsystemd0 udev libudev1 dbus dbus-bin dbus-daemon \
    dbus-system-bus-common libdbus-1-3 libapparmor1 libaudit1 libcap-ng0 libexpat1 kmod libkmod2 openssh-server \
    openssh-client libwrap0 libnsl2 libtirpc3 libgssapi-krb5-2 libk5crypto3 libkrb5-3 libkrb5support0 libkeyutils1 \
    libcom-err2 libcap2 libacl1 libattr1 libargon2-1 libblkid1 libmount1 libsmartcols1 libfdisk1 libcryptsetup12 \
    libdevmapper1.02.1 libgcrypt20 libgpg-error0 libip4tc2 liblz4-1 liblzma5 libzstd1 libbz2-1.0 libpam0g \
    libseccomp2 libselinux1 libpcre2-8-0 libssl3 libcrypt1 libjson-c5 libuuid1 libc6 libgcc-s1 iproute2 ethtool \
    libbpf1 libelf1 libmnl0 libtinfo6 libxtables12 zlib1g libcap2-bin libdb5.3 mount util-linux util-linux-extra \
    dash bash coreutils grep sed findutils mawk procps libproc2-0 libncursesw6 libgmp10 hostname login base-passwd \
    base-files
$(SERVERS)/systemd:
	.ci/unpack $@ $(SYSTEMD_PACKAGES) || echo 'no packages of Debian: what boots systemd is skipped'

# Root: three emulated machines with that systemd and sshd, changed as one while they are cut off, frozen and reset; and
# a lab in another one, under version 2 of control groups.
test-machines: servers $(SERVERS)/vmlinuz $(SERVERS)/systemd
	status=0; for name in booted_fleet booted_lab; do \
		KERNEL=$(SERVERS)/vmlinuz SYSTEMD=$(SERVERS)/systemd $(SYSTEM) --test-threads 1 --nocapture $$name || status=1; \
	done; exit $$status

# CoreDNS, by which pods find each other.
DNS_SOURCE = crates/linerate/tests/system_parts/dns
$(SERVERS)/coredns: $(addprefix $(DNS_SOURCE)/,main.go go.mod go.sum)
	CGO_ENABLED=0 go build -C $(DNS_SOURCE) -p 2 -trimpath -ldflags '-s -w' -o $@ .

# Root: what `linerate render` writes, on a real Kubernetes: with that Cilium and that router, and with MinIO on XFS.
test-cluster: kubernetes cilium machine $(SERVERS)/minio $(SERVERS)/xfs $(SERVERS)/coredns
	KUBERNETES=$(KUBERNETES) CILIUM=$(CILIUM) MACHINE=$(MACHINE) \
	MINIO=$(SERVERS)/minio XFS=$(SERVERS)/xfs COREDNS=$(SERVERS)/coredns \
	$(CLUSTER) --test-threads 1 --nocapture $(TESTS)

# Client processor time against a bare epoll loop, wrk and (with WARP=/path) warp, and of links against iperf3: half an
# hour.
bench: servers
	MINIO=$(SERVERS)/minio $(CARGO) labs bench
	$(CARGO) build --release -p linerate
	$(CARGO) labs links

# A steady load against MinIO for SOAK_MINUTES: memory stays level, and counts are the server's.
SOAK_MINUTES ?= 60
soak: servers
	MINIO=$(SERVERS)/minio $(CARGO) labs soak --minutes $(SOAK_MINUTES)

# A coordinator and agents that are pretended: its processor time and its memory, while they load for SCALE_MINUTES.
SCALE_AGENTS ?= 1000
SCALE_MINUTES ?= 5
scale:
	$(CARGO) labs scale --agents $(SCALE_AGENTS) --minutes $(SCALE_MINUTES)

# Root: STREAMS exec streams through a real API server with pretended nodes, for STREAMS_SECONDS, into
# runs/streams-DATE: what they cost it and the coordinator. Ten minutes.
STREAMS ?= 500
STREAMS_SECONDS ?= 300
streams: kubernetes-scale
	$(CARGO) build --release -p linerate -p labs
	KUBERNETES=$(KUBERNETES) $(CURDIR)/target/release/labs streams --agents $(STREAMS) --seconds $(STREAMS_SECONDS) \
	    --out runs/streams-$$(date -u +%F)

# Root: what render writes for 484 nodes, placed by a real scheduler on pretended nodes, into runs/placed-DATE.
placed: kubernetes-scale
	$(CARGO) build -p linerate
	KUBERNETES=$(KUBERNETES) $(CARGO) labs placed --out runs/placed-$$(date -u +%F)

# Root, Debian 12: series of real servers in trouble, all scenes at once, into runs/series-DATE: SERIES_SECONDS.
SERIES_SECONDS ?= 3600
SERIES_SCENES ?= heal versions scrub foreign nodes writeback
SERIES = labs/series
series: $(SERVERS)/minio $(SERVERS)/xfs $(SERVERS)/ceph
	$(CARGO) build -p linerate
	go build -C $(SERIES) -o $(SERVERS)/series .
	rm -rf target/series
	staged=; for scene in $(SERIES_SCENES); do \
	    $(SERIES)/stage $$scene target/series $(SERIES_SECONDS) & staged="$$staged $$!"; \
	done; for one in $$staged; do wait $$one || exit 1; done
	$(SERVERS)/series publish -from target/series -to runs/series-$$(date -u +%F)

# Every estimator and every verdict in every world, as tables: about a quarter of an hour.
WORLDS_RUNS ?= 1000
worlds:
	$(CARGO) labs worlds runs/worlds-$$(date -u +%F) $(WORLDS_RUNS)

# Root: real clusters in which something is planted and measured, for `explain` to learn from and be held against: those
# that are not in runs/corpus yet, begun within CORPUS_MINUTES. Six hours for all.
CORPUS_MINUTES ?= 60
corpus: servers
	$(CARGO) build --release -p linerate
	MINIO=$(SERVERS)/minio $(CARGO) labs corpus record --minutes $(CORPUS_MINUTES)

# Root: MinIO in namespaces, six shapes as described and eight causes planted, each SHAPES_VISITS times, into
# runs/shapes-DATE: an hour and a half.
SHAPES_VISITS ?= 3
SHAPES = $(CURDIR)/runs/shapes-$(shell date -u +%F)
shapes: servers
	mkdir -p $(SHAPES)
	MINIO=$(SERVERS)/minio LINERATE_NO_SKIP=1 LINERATE_SHAPES=$(SHAPES_VISITS) LINERATE_SHAPES_OUT=$(SHAPES) \
	$(SYSTEM) --test-threads 1 cluster_

# Root: what a watch costs a node with 10,000 connections, LIVE_COST_VISITS times, into runs/live-cost-DATE, by the
# program as it is released, whose share of a core is held to a bound.
LIVE_COST_VISITS ?= 3
LIVE_COST = $(CURDIR)/runs/live-cost-$(shell date -u +%F)
live-cost:
	mkdir -p $(LIVE_COST)
	for visit in $$(seq $(LIVE_COST_VISITS)); do \
	    LINERATE_NO_SKIP=1 LINERATE_LIVE_COST_OUT=$(LIVE_COST)/visit-$$visit.json \
	    $(CARGO) test --release --workspace --test system -- --exact live_at_ten_thousand_sockets_costs_little || exit 1; \
	done

# Root: tune --fleet on namespaced machines, disturbed at ROLLOUT_MOMENTS random moments, into runs/rollouts-DATE: 25
# minutes, mostly waiting. ROLLOUT_SEED=SEED ROLLOUT_MOMENTS=1 does the moment of that seed again.
ROLLOUT_MOMENTS ?= 300
ROLLOUT_NODES ?= 16
ROLLOUT_FLEETS ?= 10
ROLLOUT_SEED ?=
ROLLOUTS = $(CURDIR)/runs/rollouts-$(shell date -u +%F)
rollouts:
	LINERATE_NO_SKIP=1 LINERATE_ROLLOUT_OUT=$(ROLLOUTS) LINERATE_ROLLOUT_SEED=$(ROLLOUT_SEED) \
	LINERATE_ROLLOUT_MOMENTS=$(ROLLOUT_MOMENTS) LINERATE_ROLLOUT_NODES=$(ROLLOUT_NODES) \
	LINERATE_ROLLOUT_FLEETS=$(ROLLOUT_FLEETS) \
	$(SYSTEM) --exact tune_fleet_at_random_moments_is_in_no_state_that_no_report_tells

# A thousand sites with a planted cause, and as many times three of six hundred with one that linerate does not know, of
# which CI draws a quarter: into runs/sites-DATE, minutes.
SITES = $(CURDIR)/runs/sites-$(shell date -u +%F)
sites:
	mkdir -p $(SITES)
	LINERATE_ALL_SITES=1 $(CARGO) test --workspace --test all -- --nocapture planted:: unmodelled:: \
	    > $(SITES)/told.txt; status=$$?; cat $(SITES)/told.txt; exit $$status

test-series:
	cd $(SERIES) && test -z "$$(gofmt -l .)" && go vet ./... && go test -v ./...

$(SERVERS)/xfs:
	.ci/unpack $@ xfsprogs libinih1 liburcu8

$(SERVERS)/ceph:
	$(SERIES)/unpack-ceph $@

# What others send, made up by libFuzzer: each target for FUZZ_SECONDS. Needs a C++ compiler.
FUZZ_SECONDS ?= 20
fuzz:
	$(XTASK) fuzz --seconds $(FUZZ_SECONDS)

# Static binaries in dist/, with their parts (CycloneDX), checksums, manual pages and completions. Zig, from PyPI, is
# the C compiler and linker for both architectures; ARCHITECTURES=amd64 builds one.
dist: $(ZIG)/cargo-zigbuild
	rustup target add $(TRIPLES)
	PATH=$(ZIG):$$PATH $(CARGO) zigbuild --locked --profile dist -p linerate $(TRIPLES:%=--target %)
	.ci/pack $(VERSION) $(foreach architecture,$(ARCHITECTURES),$(architecture)=$(TRIPLE_$(architecture)))

# Root: measures with the binary for this machine, alone in an empty root.
test-dist: dist
	LINERATE_DIST=1 $(SYSTEM) released

$(ZIG)/cargo-zigbuild:
	python3 -m venv $(CURDIR)/target/zig
	$(ZIG)/pip install --quiet --require-hashes --only-binary :all: --requirement .ci/zig-requirements.txt

# Before a change is proposed.
lint: tidy clippy

clippy:
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) clippy --workspace --test system --test cluster -- -D warnings

tidy:
	$(CARGO) fmt --check
	git ls-files '*.sh' | xargs -n 1 bash -n
	rustfmt --check --edition 2024 fuzz/targets/*.rs
	$(XTASK) arrows
	$(XTASK) tidy
	$(XTASK) knobs --check
