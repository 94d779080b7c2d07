# shellcheck shell=bash
# Keeps what fetch-postgres.sh and fetch-postgres-tools.sh fetch; they source it. A script has two functions of its own:
#   known MAJOR        exits with a word about it when there is nothing of that major
#   fill WORK MAJOR    fetches it into WORK/done, and may do what it likes in the folder WORK

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# keep NAME DIR PROGRAM MAJOR… | --where
# sees to it that DIR/MAJOR/bin/PROGRAM is there and prints its folder, for each major; DIR is by default ${XDG_CACHE_HOME:-$HOME/.cache}/pghaul/NAME, and for
# root /var/cache/pghaul/NAME, because the servers run as the user postgres, who may not enter root's home. --where prints DIR.
keep() {
  local name=$1 root=$2 program=$3 cache=${XDG_CACHE_HOME:-${HOME:-}/.cache} major
  shift 3
  [ $# -gt 0 ] || { say "usage: ${0##*/} MAJOR… | --where"; exit 2; }
  if [ "$(id -u)" -eq 0 ] && [ -z "${XDG_CACHE_HOME:-}" ]; then
    cache=/var/cache
  fi
  root=${root:-$cache/pghaul/$name}
  if [ "$1" = --where ]; then
    echo "$root"
    return
  fi
  mkdir -p "$root"
  [ "$(id -u)" -ne 0 ] || chmod a+rx "$root"
  for major in "$@"; do
    known "$major" >/dev/null
    [ -x "$root/$major/bin/$program" ] || place "$root" "$major"
    echo "$root/$major/bin"
  done
}

# place fetches a major beside its place and moves it there when whole: two runs at a time do not meet, and a killed one leaves nothing that looks done.
place() {
  work=$(mktemp -d "$1/.fetch-$2-XXXXXX")
  trap 'rm -rf "$work"' EXIT
  fill "$work" "$2"
  [ -d "$1/$2" ] || mv "$work/done" "$1/$2"
  rm -rf "$work"
  trap - EXIT
}
