# shellcheck shell=bash
# Functions for the scripts that source this file: messages, locks, interruptible commands, builds.
# Everything it prints goes to stderr: stdout belongs to the program that a script runs.

# Set by the script that sources this file.
: "${root:?}"

if [[ -z ${XDG_CACHE_HOME:-} && -z ${HOME:-} ]]; then
  echo "dtrain: neither HOME nor XDG_CACHE_HOME is set: there is no place to keep LibTorch" >&2
  exit 1
fi
dtrain_cache=${XDG_CACHE_HOME:-$HOME/.cache}/dtrain

# Uses dtrain's own compiler cache unless the user has set one up, so that its size limit does not empty another cache.
# Paths are relative to the checkout, so that a second clone finds what the first one compiled.
if [[ -z ${CCACHE_DIR:-} ]]; then
  export CCACHE_DIR=$dtrain_cache/ccache CCACHE_MAXSIZE=${CCACHE_MAXSIZE:-3G}
fi
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
# A cache that cannot be written, as that of an administrator, would fail every compilation.
if [[ -z ${CCACHE_READONLY:-} ]] && { ! mkdir -p "$CCACHE_DIR" 2>/dev/null || [[ ! -w $CCACHE_DIR ]]; }; then
  export CCACHE_DISABLE=1
fi

say() { printf 'dtrain: %s\n' "$*" >&2; }

die() {
  say "$*"
  exit 1
}

# clean_up: what a script removes when it is stopped by a signal; setup defines its own.
clean_up() { :; }

# Waits for the lock FILE, and after two seconds prints which process holds it. The lock is held until release_lock or
# the end of the process.
hold_lock() { # hold_lock FILE DOING
  exec {lock_fd}>>"$1"
  if ! flock -w 2 "$lock_fd"; then
    say "waiting for process $(cat "$1"), which is $2"
    flock "$lock_fd"
  fi
  echo $$ >"$1"
}

release_lock() { exec {lock_fd}>&-; }

# Ends the command that run or run_logged is running, and then ends this script with the same signal.
stopped() { # stopped SIGNAL
  trap '' INT TERM HUP
  kill -TERM "$child" 2>/dev/null || true
  wait "$child" 2>/dev/null || true
  clean_up
  say "stopped; run the same command again to continue"
  trap - EXIT "$1"
  kill -"$1" $$
}

trap_signals() {
  trap 'stopped INT' INT
  trap 'stopped TERM' TERM
  trap 'stopped HUP' HUP
}

# Runs a command with its stdout on stderr. During a plain foreground command this shell could not handle signals.
run() { # run COMMAND...
  local status=0
  (trap - INT && exec "$@" </dev/null >&2) &
  child=$!
  trap_signals
  wait "$child" || status=$?
  trap - INT TERM HUP
  return $status
}

# Runs a command with its output in the file LOG; a failure shows the end of it. Lines like "[3/120] ..." become one line
# of progress. With --own-progress, for a command that draws a bar, its stdout goes to the terminal, if there is one.
run_logged() { # run_logged [--own-progress] LABEL LOG COMMAND...
  local own=false line output status=0 shown=$SECONDS
  if [[ $1 == --own-progress ]]; then
    shift
    if [[ -t 2 ]]; then own=true; fi
  fi
  local label=$1 log=$2
  shift 2
  say "$label"
  if $own; then
    exec {output}< <(trap - INT && exec "$@" </dev/null 2>&1 >/dev/stderr)
  else
    exec {output}< <(trap - INT && exec "$@" </dev/null 2>&1)
  fi
  child=$!
  trap_signals
  while IFS= read -r line <&"$output"; do
    printf '%s\n' "$line" >>"$log"
    [[ $line =~ ^\[[0-9]+/[0-9]+\] ]] || continue
    if [[ -t 2 ]]; then
      printf '\r\033[Kdtrain: %s' "${BASH_REMATCH[0]}" >&2
    elif ((SECONDS - shown >= 20)); then
      shown=$SECONDS
      say "${BASH_REMATCH[0]}"
    fi
  done
  wait "$child" || status=$?
  trap - INT TERM HUP
  exec {output}<&-
  if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
  if ((status != 0)); then
    say "failed; the end of $log:"
    tail -n 40 "$log" >&2
  fi
  return $status
}

control_groups=/sys/fs/cgroup

# How many compilers to run at once: one per core, as long as each has the 1.5 GiB that a file with LibTorch's headers
# needs.
parallel_jobs() {
  local cores memory file limit
  cores=$(nproc)
  memory=$(awk '/^MemAvailable:/ {print int($2 / 1024)}' /proc/meminfo)
  for file in memory.max memory/memory.limit_in_bytes; do # of control groups of version 2 and 1
    limit=$(cat "$control_groups/$file" 2>/dev/null) || continue
    if [[ $limit != max ]] && ((limit / 1048576 < memory)); then memory=$((limit / 1048576)); fi
  done
  local jobs=$((memory / 1536))
  if ((jobs > cores)); then jobs=$cores; fi
  echo $((jobs > 1 ? jobs : 1))
}

# cached TREE VARIABLE: prints the variable's value in CMake's cache in the build folder TREE, or nothing.
cached() { sed -n "s|^$2:[A-Z]*=||p" "$1/CMakeCache.txt" 2>/dev/null || true; }

# Whether TREE was configured for this very checkout and its LibTorch is still there.
configured() { # configured TREE
  [[ -e $1/build.ninja && $(readlink -m -- "$(cached "$1" CMAKE_HOME_DIRECTORY)") == "$root" &&
    -e $(cached "$1" LIBTORCH_CPU_LIBRARY) ]]
}

# Creates the build folder build/PRESET if it does not exist. The caller must hold its lock.
configure() { # configure PRESET
  local tree=$root/build/$1 log=$root/build/$1.log
  : >"$log"
  configured "$tree" && return
  rm -rf "$tree"
  run_logged "configuring ($1)" "$log" cmake -S "$root" --preset "$1"
}

# Builds the targets in build/PRESET. The caller must hold the folder's lock.
build() { # build PRESET TARGET...
  local preset=$1 tree=$root/build/$1 log=$root/build/$1.log jobs
  shift
  configure "$preset" || return
  jobs=$(parallel_jobs)
  run_logged "building ($preset, $jobs at once; the first time takes some minutes)" "$log" \
    ninja -C "$tree" -j "$jobs" "$@"
}
