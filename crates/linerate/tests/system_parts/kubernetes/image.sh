#!/bin/bash
# Writes an image of one program and the libraries that it needs, as the archive that `docker save` would write and that
# containerd imports: image.sh NAME PROGRAM ARCHIVE. Like the Dockerfile's, it has no shell and does not run as root.
set -euo pipefail
name=$1 program=$2 archive=$3
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
root=$folder/root
entry=/$(basename "$program")
mkdir -p "$root/tmp" "$root/runs" "$folder/image"
cp "$program" "$root$entry"
# Of a static program, ldd fails, and nothing is needed.
libraries=$(ldd "$program" 2>/dev/null | grep -o '/[^ ]*') || true
for library in $libraries; do
    mkdir -p "$root$(dirname "$library")"
    cp -L "$library" "$root$library"
done
chmod 1777 "$root/tmp"
chown 65532:65532 "$root/runs"
layer=$folder/image/layer.tar
tar -C "$root" --sort=name --mtime=@0 --numeric-owner -cf "$layer" .
digest=$(sha256sum "$layer")
cat >"$folder/image/config.json" <<END
{"architecture": "$(dpkg --print-architecture)", "os": "linux",
 "config": {"Entrypoint": ["$entry"], "User": "65532:65532", "WorkingDir": "/", "Env": ["PATH=/"]},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:${digest%% *}"]}}
END
echo "[{\"Config\": \"config.json\", \"RepoTags\": [\"$name\"], \"Layers\": [\"layer.tar\"]}]" \
    >"$folder/image/manifest.json"
tar -C "$folder/image" -cf "$archive.part" manifest.json config.json layer.tar
mv "$archive.part" "$archive"
