# shellcheck shell=bash disable=SC2154 # what tests/dist/hosts.sh defines
# `dtrain doctor` between hosts. Sourced by tests/dist/hosts.sh.

test_doctor() {
  new_job
  start doctor red "$program" doctor --hosts red,green --ssh-config "$work/ssh_config"
  claim "doctor: two good hosts are well" ends 0 "$last"
  for line in "red: ssh" "green: ssh" "green: same program" "red: all-reduce between hosts"; do
    claim "doctor: says OK of $line" grep -q "^OK  *$line " "$work/doctor.out"
  done
  claim "doctor: measures the link" grep -q '^OK  *link red - green .*us round trip.*GB/s' "$work/doctor.out"
  claim "doctor: measures" grep -q 'GB/s bus bandwidth' "$work/doctor.out"

  # The third host sends so slowly that megabytes would take minutes.
  if on blue tc qdisc add dev eth0 root tbf rate 5mbit burst 32kb latency 400ms 2>/dev/null; then
    start doctor red "$program" doctor --hosts red,green,blue --ssh-config "$work/ssh_config"
    claim "doctor: slow links are something to do" ends 2 "$last"
    claim "doctor: measures slow links" grep -q '^OK  *red: all-reduce between hosts .* [0-9]*.0 KiB' "$work/doctor.out"
    claim "doctor: a fast link is well" grep -q '^OK  *link red - green ' "$work/doctor.out"
    claim "doctor: a slow link is named" grep -q '^TO DO  *link red - blue ' "$work/doctor.out"
    claim "doctor: and the other" grep -q '^TO DO  *link green - blue ' "$work/doctor.out"
    on blue tc qdisc del dev eth0 root
  fi

  # A program that differs, and nobody at the third host's address.
  cp "$program" "$work/other-dtrain" && printf 'x' >>"$work/other-dtrain"
  on green mount --bind "$work/other-dtrain" "$program"
  start doctor red "$program" doctor --json --hosts red,green --ssh-config "$work/ssh_config"
  claim "doctor: another program is found" ends 2 "$last"
  claim "doctor: and named" grep -q '"host":"green","check":"same program","ok":false' "$work/doctor.out"
  on green umount "$program"
  start doctor red "$program" doctor --hosts red,nowhere --ssh-config "$work/ssh_config"
  claim "doctor: a host that cannot be reached is found" ends 2 "$last"
  claim "doctor: with what to do" contains "$work/doctor.out" "ssh -o BatchMode=yes nowhere true"
}
