# The image of linerate: one static binary, no shell, no root. `make dist` first; then, for one architecture or both:
#   docker build -t linerate .
#   docker buildx build --platform linux/amd64,linux/arm64 -t linerate .
# Run folders go to /runs: docker run --rm -v "$PWD/runs:/runs" linerate bench --host …
# In a pod it is the agent that linerate fleet up starts; exec finds it by PATH. Nothing of it is written to but /run.
# For TLS, mount a bundle of roots at /etc/ssl/certs/ca-certificates.crt: there is none in an empty image.
FROM scratch
ARG TARGETARCH=amd64
COPY --chown=65532:65532 dist/rootfs/ /
COPY dist/linerate-${TARGETARCH} /linerate
ENV PATH=/
USER 65532:65532
WORKDIR /
ENTRYPOINT ["/linerate"]
CMD ["--help"]
