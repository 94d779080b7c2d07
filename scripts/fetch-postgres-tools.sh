#!/usr/bin/env bash
# Fetches pg_dump, pg_restore and psql of newer majors for the tests: scripts/fetch-postgres-tools.sh MAJOR…, 17 and 18.
#
# They come from the Debian releases that have them, whose packages debootstrap resolves and downloads. Nothing is
# installed of them and no chroot is needed: what the programs link to is kept beside them, their own loader included, and
# small scripts start them with it. They land in $PGHAUL_TOOLS_DIR/MAJOR, by default in
# ${XDG_CACHE_HOME:-$HOME/.cache}/pghaul/tools/MAJOR (/var/cache/pghaul/tools for root). Their servers are what
# fetch-postgres.sh fetches. PGHAUL_DEBIAN_MIRROR names the mirror; unset, it is the one of this machine's apt.
# Prints each folder of programs on a line of its own; with --where, the folder of them all.
set -euo pipefail
# shellcheck source=scripts/fetched.sh
. "$(dirname "$0")/fetched.sh"

# known gives the Debian release that has a major.
known() {
  case $1 in
    17) echo trixie ;;
    18) echo sid ;;
    *) say "no Debian release with the programs of PostgreSQL $1 is known"; exit 2 ;;
  esac
}

# bootstrapper makes sure of debootstrap, which only root can run.
bootstrapper() {
  if [ "$(id -u)" -ne 0 ]; then
    say "debootstrap needs root"
    return 1
  fi
  command -v debootstrap >/dev/null && return
  command -v apt-get >/dev/null || { say "debootstrap is needed, and neither it nor apt-get is there"; return 1; }
  say "installing debootstrap"
  DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=120 debootstrap debian-archive-keyring >&2
}

mirror() {
  [ -n "${PGHAUL_DEBIAN_MIRROR:-}" ] && { echo "$PGHAUL_DEBIAN_MIRROR"; return; }
  # Empty elsewhere than on Debian: debootstrap takes its own default then.
  # shellcheck disable=SC2016 # the dollar is apt's
  { apt-get indextargets --format '$(REPO_URI)' 'Origin: Debian' 'Label: Debian' 2>/dev/null || true; } | sed -n '1s,/$,,p'
}

# collect puts the programs of the unpacked packages into a folder, with all that they are linked to.
collect() {
  local from=$1 to=$2 major=$3 programs loader libraries
  programs=$from/usr/lib/postgresql/$major/bin
  loader=$(find "$from" -name 'ld-linux*.so.*' \( -type f -o -type l \) -print -quit)
  libraries=$(find "$from" -name '*.so.*' -printf '%h\n' | sort -u | paste -sd:)
  mkdir -p "$to/bin" "$to/lib" "$to/libexec"
  cp -L "$loader" "$to/lib/loader"
  for program in pg_dump pg_restore psql; do
    cp -L "$programs/$program" "$to/libexec/$program"
    # "libpq.so.5 => /folder/libpq.so.5 (0x…)"; the loader and what the kernel brings are not of this form.
    "$loader" --library-path "$libraries" --list "$programs/$program" | sed -n 's/^\t\([^/ ]*\) => \(\/.*\) (0x[0-9a-f]*)$/\1 \2/p' |
      while read -r name path; do
        case $path in "$from"/*) cp -L "$path" "$to/lib/$name" ;; *) say "$program is linked to $path, which is not a part of the packages"; exit 1 ;; esac
      done
    cat >"$to/bin/$program" <<'SH'
#!/bin/sh
own=$(dirname "$(dirname "$(readlink -f "$0")")")
exec "$own/lib/loader" --library-path "$own/lib" "$own/libexec/${0##*/}" "$@"
SH
  done
  chmod -R a+rX "$to"
  chmod a+x "$to"/bin/* "$to"/libexec/* "$to/lib/loader"
}

fill() {
  local work=$1 major=$2 from
  bootstrapper
  say "fetching the programs of PostgreSQL $major from Debian's $(known "$major")"
  from=$(mirror)
  debootstrap --variant=minbase --download-only --include="postgresql-client-$major" "$(known "$major")" "$work/packages" ${from:+"$from"} >"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; say "debootstrap did not work"; exit 1; }
  for package in "$work"/packages/var/cache/apt/archives/*.deb; do
    dpkg-deb -x "$package" "$work/root"
  done
  collect "$work/root" "$work/done" "$major"
  "$work/done/bin/pg_dump" --version | grep -q "PostgreSQL) $major" || { say "what came is not of PostgreSQL $major"; exit 1; }
  chmod a+rx "$work/done"
}

keep tools "${PGHAUL_TOOLS_DIR:-}" pg_dump "$@"
