#!/bin/sh
# Installs zinc to the folder ZINC_BIN for the steps that follow: the release ZINC_VERSION, or with "source" the
# action's own source, which requires Go.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
if [ "${ZINC_VERSION:-}" = source ]; then
	mkdir -p "$ZINC_BIN"
	(cd "$root" && CGO_ENABLED=0 go build -trimpath -o "$ZINC_BIN/" ./cmd/zinc)
else
	sh "$root/install.sh"
fi
if [ -n "${GITHUB_PATH:-}" ]; then
	echo "$ZINC_BIN" >>"$GITHUB_PATH"
fi
