#!/usr/bin/env bash
# Compares the micro-benchmarks of this tree with those of another commit, in turns, by benchstat: scripts/microbench.sh [COMMIT [COUNT]]
set -euo pipefail
cd "$(dirname "$0")/.."
base=${1:-HEAD} count=${2:-6}
packages=(format internal/pipeline internal/pg internal/flow internal/convert internal/progress)

work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" || :; rm -rf "$work"' EXIT
git worktree add --quiet --detach "$work/base" "$base"

build() { # FOLDER SIDE: test binaries of the packages that are there
  for p in "${packages[@]}"; do
    [ -d "$1/$p" ] || { echo "$2 has no $p" >&2; continue; }
    (cd "$1/$p" && go test -c -o "$work/$2.${p//\//.}" .)
  done
}
build "$work/base" base
build . tree

for i in $(seq "$count"); do
  for side in base tree; do
    for p in "${packages[@]}"; do
      bin="$work/$side.${p//\//.}"
      if [ -x "$bin" ]; then
        echo "round $i: $side $p" >&2
        (cd "$p" && "$bin" -test.run '^$' -test.bench . -test.benchtime 0.2s) >>"$work/$side.txt"
      fi
    done
  done
done
go run golang.org/x/perf/cmd/benchstat@latest base="$work/base.txt" tree="$work/tree.txt"
