# The two commands of the README are `make demo` and `make test`; the others are for those who work on linerate.

CARGO ?= cargo
MINIO_VERSION = v0.0.0-20260212201848-7aac2a2c5b7c
SERVERS = $(CURDIR)/target/servers

.PHONY: demo test test-system servers bench soak lint

# The main job, on the embedded S3 target: about a minute after the build.
demo:
	$(CARGO) build --release -p linerate
	target/release/linerate bench --target embedded --duration 1500ms

# No root, and nothing on the machine is changed.
test:
	$(CARGO) test --workspace

# Root: installs Debian packages that are missing, builds MinIO, makes network namespaces.
test-system: servers
	MINIO=$(SERVERS)/minio $(CARGO) test -p linerate --test system -- --test-threads 1

servers: $(SERVERS)/minio
	.ci/install

$(SERVERS)/minio:
	mkdir -p $(SERVERS)
	GOBIN=$(SERVERS) go install github.com/minio/minio@$(MINIO_VERSION)

# Client processor time against a bare epoll loop, wrk and (with WARP=/path) warp: half an hour.
bench: servers
	MINIO=$(SERVERS)/minio $(CARGO) xtask bench

# A steady load against MinIO for SOAK_MINUTES: memory stays level, and counts are the server's.
SOAK_MINUTES ?= 60
soak: servers
	MINIO=$(SERVERS)/minio $(CARGO) xtask soak --minutes $(SOAK_MINUTES)

lint:
	$(CARGO) fmt --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) xtask arrows
	$(CARGO) xtask tidy
