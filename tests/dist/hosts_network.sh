# shellcheck shell=bash
# Hosts that are network namespaces which a bridge joins, each with its address, its name and its sshd; and claims about what
# happens on them. Sourced by tests/dist/hosts.sh. What it makes lives in $work and in namespaces that end with their last process.

skip() {
  echo "skipped: $*"
  exit 77
}

((EUID == 0)) || skip "namespaces and sshd need root"
for tool in ip unshare nsenter ss sshd ssh ssh-keygen mpirun; do
  command -v "$tool" >/dev/null || skip "there is no $tool (Debian: iproute2, util-linux, openssh-server, openmpi-bin)"
done
unshare --net --uts --mount --pid --fork --mount-proc true 2>/dev/null || skip "namespaces are not to be had here"

names=(red green blue)
work=$(mktemp -d "${TMPDIR:-/tmp}/dtrain-hosts-XXXXXX")
declare -A init # process 1 of each host, and what holds the bridge
clean_up() {
  local pid
  for pid in "${holders[@]}"; do kill -KILL "$pid" 2>/dev/null; done
  wait 2>/dev/null
  rm -rf -- "$work"
}
holders=()
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

claims=0
failures=0
# claim TEXT CONDITION...: counts a failure, with what the last job printed.
claim() {
  local text=$1
  shift
  claims=$((claims + 1))
  if "$@"; then return; fi
  failures=$((failures + 1))
  printf 'FAILED: %s\n  condition: %s\n' "$text" "${*:0:200}"
  for file in "$work"/*.out; do
    [[ ! -s $file ]] || { echo "  ${file##*/}:" && tail -n 15 "$file" | sed 's/^/    /'; }
  done
}

contains() { grep -qF -e "$2" "$1"; }
lacks() { ! contains "$@"; }
# until_true SECONDS COMMAND...
until_true() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@" 2>/dev/null; do
    ((SECONDS <= deadline)) || return 1
    sleep 0.05
  done
}
on() { # on HOST COMMAND...: as if started there
  local host=$1
  shift
  nsenter --target "${init[$host]}" --mount --uts --net --pid -- env -i PATH="$PATH" HOME="$work/home" TMPDIR="$work" \
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_plm_rsh_args="-F $work/ssh_config" \
    OMPI_MCA_orte_keep_fqdn_hostnames=1 "$@"
}
address() { echo "10.77.0.$1"; }

# make_host NUMBER NAME
make_host() {
  local number=$1 name=$2 holder
  ssh-keygen -q -t ed25519 -N '' -C '' -f "$work/key_of_$name"
  echo "$name,$(address "$number") $(cut -d' ' -f1,2 "$work/key_of_$name.pub")" >>"$work/known_hosts"
  cat >"$work/sshd_$name" <<CONFIG
ListenAddress $(address "$number")
HostKey $work/key_of_$name
AuthorizedKeysFile $work/key.pub
StrictModes no
UsePAM no
PasswordAuthentication no
PermitRootLogin prohibit-password
PidFile none
SetEnv XDG_DATA_HOME=/run/data
CONFIG
  # The first process is sshd itself: when it ends, everything of the host does.
  # shellcheck disable=SC2016 # the inner shell expands them
  unshare --net --uts --mount --pid --fork --mount-proc --kill-child bash -c '
    hostname "$1" && mount --bind "$2/hosts" /etc/hosts && mount --bind "$2/shadow" /etc/shadow &&
    mount -t tmpfs tmpfs /run && mkdir /run/sshd && ip link set lo up &&
    until ip -4 -br address show dev eth0 2>/dev/null | grep -q UP.*10; do sleep 0.02; done
    exec "$(command -v sshd)" -D -e -f "$2/sshd_$1"' - "$name" "$work" 2>"$work/sshd_$name.log" >&2 &
  holders+=("$!")
  holder=$!
  until_true 20 pgrep -P "$holder" >/dev/null || skip "no namespaces"
  init[$name]=$(pgrep -P "$holder")
  ip link add "port$number" netns "${init[bridge]}" type veth peer name eth0 netns "${init[$name]}" ||
    skip "no veth pairs"
  nsenter --target "${init[bridge]}" --net bash -c "ip link set port$number master bridge up"
  nsenter --target "${init[$name]}" --net bash -c "ip address add $(address "$number")/24 dev eth0 && ip link set eth0 up"
}

make_network() {
  unshare --net --kill-child --fork sleep infinity &
  holders+=("$!")
  until_true 20 pgrep -P "$!" >/dev/null
  init[bridge]=$(pgrep -P "$!")
  until_true 20 nsenter --target "${init[bridge]}" --net ip link add bridge type bridge 2>/dev/null ||
    skip "no bridges"
  nsenter --target "${init[bridge]}" --net ip link set bridge up
  mkdir "$work/home"
  ssh-keygen -q -t ed25519 -N '' -C '' -f "$work/key"
  printf 'root:*:19000:0:99999:7:::\nsshd:!:19000::::::\n' >"$work/shadow"
  printf '127.0.0.1 localhost\n' >"$work/hosts"
  cat >"$work/ssh_config" <<CONFIG
Host *
  IdentityFile $work/key
  IdentitiesOnly yes
  UserKnownHostsFile $work/known_hosts
  GlobalKnownHostsFile none
  StrictHostKeyChecking yes
  LogLevel ERROR
CONFIG
  local number=0
  for name in "${names[@]}"; do
    number=$((number + 1))
    echo "$(address $number) $name" >>"$work/hosts"
  done
  number=0
  for name in "${names[@]}"; do make_host $((++number)) "$name"; done
  for name in "${names[@]}"; do
    until_true 10 on red ssh -F "$work/ssh_config" "$name" true || {
      cat "$work/sshd_$name.log"
      skip "sshd does not answer"
    }
  done
}
