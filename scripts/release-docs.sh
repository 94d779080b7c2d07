#!/usr/bin/env bash
# Writes manual pages and completions into the folder DIR, for packages.
set -euo pipefail

dir=${1:?usage: release-docs.sh DIR}
program=$(mktemp -d)/pghaul
trap 'rm -rf "$(dirname "$program")"' EXIT
go build -o "$program" ./cmd/pghaul
rm -rf "$dir"
mkdir -p "$dir/man" "$dir/completions"
"$program" man "$dir/man"
gzip -9 -n "$dir"/man/*.1 # -n: no time in it, so that the same commit gives the same bytes
"$program" completion bash >"$dir/completions/pghaul.bash"
"$program" completion zsh >"$dir/completions/_pghaul"
"$program" completion fish >"$dir/completions/pghaul.fish"
