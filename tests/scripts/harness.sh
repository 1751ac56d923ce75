# shellcheck shell=bash
# What the tests of the scripts share (sourced): claims, a temporary folder, the count of failures.
set -uo pipefail
# shellcheck disable=SC2034
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
claims=0
failures=0

# capture COMMAND...: runs it; leaves $status, $out and $err.
capture() {
  status=0
  "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
  out=$(<"$work/out")
  err=$(<"$work/err")
}

# claim TEXT CONDITION...: counts a failure, with what was last captured, when the command CONDITION fails.
claim() {
  local text=$1
  shift
  claims=$((claims + 1))
  if "$@"; then return; fi
  failures=$((failures + 1))
  printf 'FAILED: %s\n  condition: %s\n  status %s\n  stdout: %s\n  stderr: %s\n' \
    "$text" "$*" "${status:-}" "${out:-}" "${err:-}"
}

contains() { [[ $1 == *"$2"* ]]; }

# until_gone PID: waits for that process to end (one that nobody has waited for counts), ten seconds at most.
until_gone() {
  local deadline=$((SECONDS + 10))
  while alive "$1" && ((SECONDS <= deadline)); do sleep 0.02; done
  ! alive "$1"
}

alive() { grep -q '^State:[^Z]*$' "/proc/$1/status" 2>/dev/null; }

# until_exists FILE: waits for another process to make it, half a minute at most.
until_exists() {
  local deadline=$((SECONDS + 30))
  until [[ -e $1 ]] || ((SECONDS > deadline)); do sleep 0.02; done
  [[ -e $1 ]]
}

# bare_system SUITE: a bare Debian or Ubuntu in $work/SUITE. Downloads it once, into the cache folder; needs
# scripts/common.sh.
bare_system() {
  # shellcheck disable=SC2154 # it comes from common.sh
  local bare=$dtrain_cache/bare-$1
  ((EUID == 0)) || die "a bare $1 needs root, to enter it"
  command -v debootstrap >/dev/null || die "a bare $1 needs debootstrap (Debian: debootstrap)"
  if [[ ! -e $bare.tar ]]; then
    local from=()
    # As debootstrap's rules say for all of Ubuntu's suites: it may be too old to know a new one.
    case $1 in jammy | noble) from=(http://archive.ubuntu.com/ubuntu gutsy) ;; esac
    run_logged "fetching a bare $1" "$work/debootstrap.log" debootstrap --variant=minbase \
      --components="main${from:+,universe}" "$1" "$bare" "${from[@]}" || exit
    tar -C "$bare" -cf "$bare.partial" . && mv "$bare.partial" "$bare.tar" && rm -rf "$bare"
  fi
  mkdir -p "$work/$1"
  tar -C "$work/$1" -xf "$bare.tar"
}

finish() {
  echo "$claims claims, $failures failed"
  ((failures == 0))
}
