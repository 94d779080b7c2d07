#!/usr/bin/env bash
# Runs every fuzzer of the module for a number of inputs (FUZZTIME, 20000x), one
# after the other. By count and not by time, so that a slow machine tests as much.
set -euo pipefail
fuzztime=${FUZZTIME:-20000x}
log=$(mktemp)
trap 'rm -f "$log"' EXIT

for package in $(go list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' ./...); do
  names=$(go test -list '^Fuzz' "$package")
  for fuzzer in $(grep '^Fuzz' <<<"$names" || true); do
    echo "fuzz ${package##*pghaul/} $fuzzer $fuzztime"
    go test -run '^$' -fuzz "^$fuzzer\$" -fuzztime "$fuzztime" -fuzzminimizetime 20x -parallel 2 -timeout 10m "$package" >"$log" 2>&1 || {
      cat "$log"
      exit 1
    }
  done
done
