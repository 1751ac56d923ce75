# shellcheck shell=bash disable=SC2154 # what tests/dist/hosts.sh defines
# Jobs with virtual replicas: the bytes do not depend on where and how many replicas there are. Sourced by
# tests/dist/hosts.sh.

test_virtual_replicas() {
  local options=(--set strategy.virtual_replicas=8 --set model.dtype=float32 --set train.epochs=2) hosts
  new_job
  start one red "$program" run "$work/job.yaml" --run-dir "$work/virtual1" "${options[@]}" \
    --set strategy.kind=one_device
  claim "virtual replicas, one replica: ends well" ends 0 "$last"
  for hosts in 2 3; do
    new_job
    start many red "${launch_ssh[@]}" --hosts "$(IFS=, && echo "${names[*]:0:$hosts}")" "$work/job.yaml" \
      --run-dir "$work/virtual$hosts" "${options[@]}" --set "strategy.replicas=$((2 * hosts))"
    claim "virtual replicas, $hosts hosts: ends well" ends 0 "$last"
    claim "virtual replicas, $hosts hosts: the same bytes" test "$(weights "virtual$hosts")" = "$(weights virtual1)"
  done
  claim "virtual replicas: there are weights" test -s "$(echo "$work"/virtual1/checkpoints/step-*/model.safetensors)"
}

last_weights() { # last_weights RUN: which step, and what
  (cd "$work/$1/checkpoints" && sha256sum "$(printf '%s\n' step-*/model.safetensors | sort -V | tail -n 1)")
}

# Connections of launch_ssh are lost: blue notices at once; green, whose sshd stands still, does not. The job goes on
# when both hosts are back, because it needs as many replicas as there are.
test_rejoin() {
  local options=(--set strategy.virtual_replicas=12 --set model.dtype=float32 --set train.epochs=40
    --set evaluate.every_epochs=1000 --set checkpoint.every_steps=50) old launcher
  new_job
  start ssh red "${launch_ssh[@]}" --rejoin --hosts red,green,blue "$work/job.yaml" --run-dir "$work/rejoin" \
    "${options[@]}" --set strategy.replicas=6 --set restarts.min_replicas=6
  launcher=$last
  claim "rejoin: the job runs" until_true 20 steps_of rejoin
  old=$(on green pgrep -o -f "^$program run")
  on green pkill -STOP -f root@notty
  on red pkill -KILL -f -- '-- green bash -s'
  on blue pkill -KILL -f root@notty
  claim "rejoin: blue's dtrain ends" until_true 20 is_free blue
  claim "rejoin: green's lives" on green kill -0 "$old"
  start one red "$program" run "$work/job.yaml" --run-dir "$work/undisturbed" "${options[@]}" \
    --set strategy.kind=one_device
  claim "rejoin: an undisturbed run ends well" ends 0 "$last"
  claim "rejoin: the job ends well" ends 0 "$launcher"
  on green pkill -CONT -f root@notty
  claim "rejoin: green is tried again" contains "$work/ssh.out" "host green: ssh or dtrain was killed by SIGKILL"
  claim "rejoin: blue is tried again" contains "$work/ssh.out" "host blue: the connection was lost"
  claim "rejoin: green's old dtrain is ended" contains "$work/ssh.out" "[green] launch_ssh: ending the dtrain"
  claim "rejoin: the weights of an undisturbed run" test "$(last_weights rejoin)" = "$(last_weights undisturbed)"
  claim "rejoin: nothing is left" nothing_left
}
