# shellcheck shell=bash
# Network namespaces as hosts: 10.231.77.1, 10.231.77.2, ... at a switch, each with an interface link0. The scripts that
# source this file need root; nothing leaves this machine.

# make_hosts COUNT: sets `hosts` to their names; they are removed when the script ends
make_hosts() {
  local index host
  switch=dtrain-link-$$-switch
  hosts=()
  for ((index = 1; index <= $1; index++)); do hosts+=("dtrain-link-$$-$index"); done
  trap remove_hosts EXIT
  ip netns add "$switch"
  ip -n "$switch" link add bridge0 type bridge
  ip -n "$switch" link set bridge0 up
  for ((index = 1; index <= $1; index++)); do
    host=${hosts[index - 1]}
    ip netns add "$host"
    ip -n "$host" link add link0 type veth peer name "port$index" netns "$switch"
    ip -n "$switch" link set "port$index" master bridge0 up
    ip -n "$host" address add "10.231.77.$index/24" dev link0
    ip -n "$host" link set lo up
    ip -n "$host" link set link0 up
  done
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
