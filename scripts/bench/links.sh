# shellcheck shell=bash
# Network namespaces as hosts: 10.231.77.1, 10.231.77.2, ... at a switch, each with an interface link0. The scripts that
# source this file need root; nothing leaves this machine.

# make_hosts COUNT [ROUND_TRIP]: sets `hosts` to their names; they are removed when the script ends. ROUND_TRIP is what the
# network takes there and back, in milliseconds.
make_hosts() {
  local index host
  switch=dtrain-link-$$-switch
  hosts=()
  for ((index = 1; index <= $1; index++)); do hosts+=("dtrain-link-$$-$index"); done
  trap remove_hosts EXIT
  for host in "${hosts[@]}"; do
    ip netns add "$host"
    ip -n "$host" link set lo up
  done
  if [[ ${2:-0} == 0 ]]; then join_by_switch; else join_by_slow_wire "$2"; fi
  for ((index = 1; index <= $1; index++)); do
    ip -n "${hosts[index - 1]}" address add "10.231.77.$index/24" dev link0
    ip -n "${hosts[index - 1]}" link set link0 up
  done
}

join_by_switch() {
  local index=0 host
  ip netns add "$switch"
  ip -n "$switch" link add bridge0 type bridge
  ip -n "$switch" link set bridge0 up
  for host in "${hosts[@]}"; do
    index=$((index + 1))
    ip -n "$host" link add link0 type veth peer name "port$index" netns "$switch"
    ip -n "$switch" link set "port$index" master bridge0 up
  done
}

join_by_slow_wire() { # join_by_slow_wire ROUND_TRIP
  local host said
  coproc wire { exec python3 "${BASH_SOURCE[0]%/*}/slow_wire.py" "$(python3 -c "print($1 / 2)")" "${hosts[@]}"; }
  read -r said <&"${wire[0]}" && [[ $said == ready ]]
  for host in "${hosts[@]}"; do ip -n "$host" link set link0 mtu 9000 txqueuelen 1000; done
}

# limit_links RATE: at which each host sends, in the format of tc
limit_links() {
  local host burst=64kb # sent at once after a pause: little, but what a timer can keep up with
  [[ $1 != *gbit ]] || burst=256kb
  for host in "${hosts[@]}"; do
    ip netns exec "$host" tc qdisc replace dev link0 root tbf rate "$1" burst "$burst" latency 50ms
  done
}

remove_hosts() {
  local host
  for host in "${hosts[@]}" "$switch"; do ip netns delete "$host" 2>/dev/null || true; done
}
