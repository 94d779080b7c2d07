#!/usr/bin/env bash
# Makes sure that the programs are there which the demo and the tests need: a
# PostgreSQL server (14 or later) with its client, zstd and xxh128sum. What is
# missing is installed with apt-get when there is one and we may use it; elsewhere
# this says what to install.
set -euo pipefail

min_major=14

# bindir prints the folder of the server's programs, the newest major that is good enough.
bindir() {
  local dir major best="" best_major=0
  for dir in "${PGHAUL_PG_BINDIR:-}" "$(dirname "$(readlink -f "$(command -v postgres || echo /nonexistent/postgres)")")" \
    /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin; do
    for program in initdb pg_ctl postgres psql pg_dump pg_restore; do
      [ -x "$dir/$program" ] || continue 2
    done
    major=$("$dir/postgres" --version | sed -n 's/^postgres (PostgreSQL) \([0-9]*\).*/\1/p')
    if [ "${major:-0}" -ge "$min_major" ] && [ "$major" -gt "$best_major" ]; then
      best=$dir best_major=$major
    fi
  done
  [ -n "$best" ] && echo "$best"
}

missing=()
bindir >/dev/null || missing+=(postgresql)
command -v zstd >/dev/null || missing+=(zstd)
command -v xxh128sum >/dev/null || missing+=(xxhash)
[ ${#missing[@]} -eq 0 ] && exit 0

say_and_fail() {
  cat >&2 <<TEXT
$0: missing: ${missing[*]}: $1
hint: install PostgreSQL's server and client, $min_major or later, zstd and xxhash (xxh128sum):
  Debian, Ubuntu   apt-get install postgresql zstd xxhash
  Fedora           dnf install postgresql-server postgresql zstd xxhash
  macOS            brew install postgresql@17 zstd xxhash
or set PGHAUL_PG_BINDIR to the folder of the server's programs.
TEXT
  exit 1
}

command -v apt-get >/dev/null || say_and_fail "there is no apt-get here"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  sudo -n true 2>/dev/null || say_and_fail "neither root nor sudo without a password"
  as_root=(sudo -n)
fi

echo "installing: ${missing[*]}"
# Debian's package would make a cluster and start it; we need the programs alone.
conf=/etc/postgresql-common/createcluster.conf
if [[ " ${missing[*]} " == *" postgresql "* ]] && ! grep -qs '^[[:space:]]*create_main_cluster' "$conf"; then
  "${as_root[@]}" mkdir -p "$(dirname "$conf")"
  echo "create_main_cluster = false" | "${as_root[@]}" tee -a "$conf" >/dev/null
  echo "set create_main_cluster = false in $conf"
fi

install_missing() {
  # confold: the package brings its own createcluster.conf, and must not ask about ours.
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    -o Dpkg::Options::=--force-confold -o DPkg::Lock::Timeout=120 "${missing[@]}"
}
# Where the package lists are empty or too old the first attempt fails.
if ! install_missing; then
  "${as_root[@]}" apt-get update -q
  install_missing || say_and_fail "apt-get install did not work"
fi

bindir >/dev/null || say_and_fail "the distribution's PostgreSQL is older than $min_major"
echo "PostgreSQL's programs are in $(bindir)"
