#!/usr/bin/env bash
# Everything that must pass before a change goes in: what `make test` and CI run.
set -euo pipefail

step() { printf '\n== %s\n' "$*"; }
tree() { git status --porcelain 2>/dev/null || true; }

# The tree is compared with itself, so that it works beside changes not yet committed.
before=$(tree)

step gofmt
unformatted=$(gofmt -l $(git ls-files --cached --others --exclude-standard '*.go'))
if [ -n "$unformatted" ]; then
  printf 'not formatted (gofmt -w):\n%s\n' "$unformatted" >&2
  exit 1
fi

step go vet
go vet ./...

step go build
go build ./...

step lint
make lint

step servers of the oldest and the newest major
if command -v npm >/dev/null && ./scripts/fetch-postgres.sh 10 18; then
  export PGHAUL_MATRIX=ends
else
  unset PGHAUL_MATRIX
  printf '\n****\n**** NOT TESTED: rows between servers of other majors. npm, or what it fetches, is not there.\n****\n' >&2
fi

step go test -race
cc=$(go env CC)
if ! command -v "${cc%% *}" >/dev/null; then
  echo "the race detector needs cgo, and there is no C compiler ($cc): install gcc" >&2
  exit 1
fi
CGO_ENABLED=1 go test -race -timeout 18m ./...

step fuzz
./scripts/fuzz.sh

step generate
go generate ./...
if [ "$(tree)" != "$before" ]; then
  echo "the checks changed the tree: generated files are not committed, or a test writes into it" >&2
  diff <(echo "$before") <(tree) >&2 || true
  [ -n "$before" ] || git --no-pager diff >&2
  exit 1
fi

[ -d "${PGHAUL_DATASETS:-../shared/datasets}" ] || printf '\n**** NOT TESTED: pagila, chinook and northwind; PGHAUL_DATASETS names no folder that holds them\n' >&2
command -v pgbouncer >/dev/null || [ -x /usr/sbin/pgbouncer ] || printf '\n**** NOT TESTED: connection poolers: there is no pgbouncer (apt-get install pgbouncer)\n' >&2
[ -n "${PGHAUL_MATRIX:-}" ] || printf '\n**** NOT TESTED: rows between servers of other majors (see above)\n' >&2
step ok
