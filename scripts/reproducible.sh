#!/usr/bin/env bash
# Builds the release binary twice, from two folders and without the build cache's answers, and demands the same bytes and no dynamic linking.
set -euo pipefail

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
flags=(-trimpath -buildvcs=false -ldflags "-s -w -X main.version=0.0.0-reproducible")

for side in one another-folder; do
  mkdir -p "$work/$side"
  git ls-files -z | xargs -0 cp --parents -t "$work/$side"
  (cd "$work/$side" && CGO_ENABLED=0 GOCACHE="$work/cache-$side" go build "${flags[@]}" -o "$work/pghaul-$side" ./cmd/pghaul)
done
cmp "$work/pghaul-one" "$work/pghaul-another-folder"
if file -b "$work/pghaul-one" 2>/dev/null | grep -q 'dynamically linked'; then
  echo "the binary is linked dynamically" >&2
  exit 1
fi
sha256sum "$work/pghaul-one" | sed "s, .*, the same bytes from both folders,"
