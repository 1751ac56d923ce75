#!/bin/bash
# Jobs on hosts of their own: network namespaces that a bridge joins, each with its address, its name and its sshd.
#   tests/dist/hosts.sh PROGRAM [PART...]     PROGRAM: the dtrain to test; PART: servers, lost_hosts, ..., else all
# DTRAIN_TARBALL is what the part `install` brings to the hosts, else a small one that leads to PROGRAM.
# Needs root, namespaces, ip and sshd, and says so (exit code 77) where something is missing. What it makes lives in a
# temporary folder and in namespaces that end with their last process.
set -uo pipefail
sources=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
program=$(readlink -f -- "${1:?the dtrain to test}")
wanted=("${@:2}")

# shellcheck source=tests/dist/hosts_network.sh
source "$sources/tests/dist/hosts_network.sh"
# shellcheck source=tests/dist/hosts_slurm.sh
source "$sources/tests/dist/hosts_slurm.sh"
# shellcheck source=tests/dist/hosts_doctor.sh
source "$sources/tests/dist/hosts_doctor.sh"
# shellcheck source=tests/dist/hosts_virtual.sh
source "$sources/tests/dist/hosts_virtual.sh"

# Images of MNIST's size; float64, so that 1e-6 is about the algorithm and not about the order of sums.
cat >"$work/job.yaml" <<'SPEC'
name: hosts
strategy: {kind: multi_worker_mirrored, threads_per_replica: 1, timeout_seconds: 6}
network: {rendezvous_timeout_seconds: 30}
data: {dataset: fashion_mnist, train_examples: 2410, test_examples: 500}
batch: {global: 120}
model: {kind: mlp, hidden: [64], dtype: float64}
train: {epochs: 1, optimizer: {kind: sgd, learning_rate: 0.1, momentum: 0.9}}
metrics: {every_steps: 5}
SPEC
[[ -r /usr/share/datasets/fashion-mnist/train-images-idx3-ubyte.gz ]] ||
  sed -i 's/dataset: fashion_mnist,/dataset: synthetic,/' "$work/job.yaml"
endless=(--set train.epochs=100000 --set evaluate.every_epochs=100000)

# The losses of the steps, the epoch and the evaluation of a run.
losses() { grep -E '"event":"(step|epoch|eval)"' "$work/$1/metrics.jsonl" | grep -o '"loss":[0-9.e+-]*' | cut -d: -f2; }
same_losses() { # same_losses RUN: as the reference, within 1e-6
  local wanted found
  wanted=$(losses reference)
  found=$(losses "$1")
  (($(wc -l <<<"$wanted") > 5 && $(wc -l <<<"$wanted") == $(wc -l <<<"$found"))) &&
    paste <(echo "$wanted") <(echo "$found") |
    awk '{ d = $1 - $2; if (d > 1e-6 || d < -1e-6) { print "  losses differ:", $0; bad = 1 } } END { exit bad }'
}
weights() { cat "$work/$1"/checkpoints/step-*/model.safetensors 2>/dev/null | sha256sum; }
# sends_like_a_ring RUN HOSTS: 2 (n - 1) / n times the 50,890 gradients of 8 bytes, whatever the replicas of a host
sends_like_a_ring() {
  grep '"event":"run_end"' "$work/$1/metrics.jsonl" | sed 's/"links".*//' | grep -o '"bytes_sent":[0-9]*' | cut -d: -f2 |
    awk -v n="$2" '{ found = 1; r = $1 / (2 * (n - 1) / n * 50890 * 8); if (r < 0.99 || r > 1.05) { print "  ratio", r; bad = 1 } }
      END { exit bad || !found }'
}
steps_of() { [[ -s $work/$1/metrics.jsonl ]] && grep -q '"event":"step"' "$work/$1/metrics.jsonl"; }
replicas_on() { on "$1" pgrep -c -f "^$program (replica|run)"; }
is_free() { test "$(replicas_on "$1")" == 0; }
nothing_left() {
  for name in "${names[@]}"; do
    until_true 20 is_free "$name" || return 1
  done
}
tf_config() { # tf_config INDEX NAME...
  local index=$1 workers
  shift
  workers=$(printf ', "%s:4000"' "$@")
  echo "TF_CONFIG={\"cluster\": {\"worker\": [${workers:2}]}, \"task\": {\"type\": \"worker\", \"index\": $index}}"
}

# start NAME HOST COMMAND...: in the background, output in NAME.out
start() {
  local name=$1 host=$2
  shift 2
  on "$host" "$@" >"$work/$name.out" 2>&1 </dev/null &
  last=$!
}
# ends STATUS PID
ends() {
  local status=0
  wait "$2" || status=$?
  [[ $status == "$1" ]] || {
    echo "  exit code $status instead of $1"
    return 1
  }
}
new_job() { rm -f "$work"/*.out; }

launch_ssh=("$sources/scripts/launch_ssh" --program "$program" --ssh-config "$work/ssh_config" --directory "$work")
launch_mpirun=("$sources/scripts/launch_mpirun" --program "$program")

# ssh with any number; mpirun with two and TF_CONFIG with three. The parts below start the other number with them.
test_equivalence() { # test_equivalence HOSTS
  local hosts=("${names[@]:0:$1}") replicas=$((2 * $1)) index pids=() name
  local options=(--set "strategy.replicas=$replicas")
  local list
  list=$(IFS=, && echo "${hosts[*]}")

  new_job
  start ssh red "${launch_ssh[@]}" --hosts "$list" "$work/job.yaml" --run-dir "$work/ssh$1" "${options[@]}"
  claim "ssh, $1 hosts: ends well" ends 0 "$last"
  claim "ssh, $1 hosts: equals one process" same_losses "ssh$1"
  for ((index = 1; index < $1; ++index)); do
    claim "ssh, $1 hosts: the metrics have links" grep -q "\"hosts\":\[\"${hosts[index - 1]}\",\"${hosts[index]}\"\]" \
      "$work/ssh$1/metrics.jsonl"
  done
  claim "ssh, $1 hosts: a host sends once what a ring has to" sends_like_a_ring "ssh$1" "$1"
  claim "ssh, $1 hosts: lines name the host" contains "$work/ssh.out" "[green] dtrain: host green, number 2 of $1"

  new_job
  printf '%s slots=2\n' "${hosts[@]}" >"$work/hostfile"
  if (($1 == 2)); then
    start mpirun red "${launch_mpirun[@]}" --hostfile "$work/hostfile" "$work/job.yaml" --run-dir "$work/mpirun$1" \
      "${options[@]}"
    claim "mpirun, $1 hosts: ends well" ends 0 "$last"
    claim "mpirun, $1 hosts: equals one process" same_losses "mpirun$1"
    claim "mpirun, $1 hosts: says so" contains "$work/mpirun.out" "rank 0 of $replicas, 2 on this host (from Open MPI)"
    return
  fi

  index=0
  for name in "${hosts[@]}"; do
    start "tf-$name" "$name" env "$(tf_config "$index" "${hosts[@]}")" DTRAIN_JOB_TOKEN="$token" "$program" run \
      "$work/job.yaml" --run-dir "$work/tf$1" "${options[@]}" --set network.interface=eth0
    pids+=("$last")
    index=$((index + 1))
  done
  for index in "${!pids[@]}"; do
    claim "TF_CONFIG, $1 hosts: ${hosts[index]} ends well" ends 0 "${pids[index]}"
  done
  claim "TF_CONFIG, $1 hosts: equals one process" same_losses "tf$1"
  (($(nproc) < 2)) || claim "TF_CONFIG, $1 hosts: counts the processes of one host" lacks "$work/tf-${hosts[0]}.out" "processes share"
}

# Processes of one host, and ranks that go round the hosts.
test_mpirun_by_hand() {
  new_job
  start alone red mpirun -np 2 "$program" run "$work/job.yaml" --run-dir "$work/alone"
  claim "mpirun by hand: ends well" ends 0 "$last"
  claim "mpirun by hand: equals one process" same_losses alone
  new_job
  start round red env DTRAIN_JOB_TOKEN="$token" MASTER_ADDR=red mpirun --map-by node --hostfile "$work/hostfile" \
    -x DTRAIN_JOB_TOKEN -x MASTER_ADDR "$program" run "$work/job.yaml" --run-dir "$work/round"
  claim "mpirun by node: ends well" ends 0 "$last"
  claim "mpirun by node: equals one process" same_losses round
}

# Debian's installer gives the name of a host a loopback address there.
test_own_name() {
  sed 's/^[0-9.]* red$/127.0.1.1 red/' "$work/hosts" >"$work/hosts_of_red"
  on red mount --bind "$work/hosts_of_red" /etc/hosts
  printf '%s slots=2\n' red green >"$work/hostfile"
  new_job
  start own red "${launch_mpirun[@]}" --hostfile "$work/hostfile" "$work/job.yaml" --run-dir "$work/own" \
    --set network.interface=eth0
  claim "an own name that is loopback: mpirun ends well" ends 0 "$last"
  claim "an own name that is loopback: equals one process" same_losses own
  on red umount /etc/hosts
}

# Pictures with pixels drawn at random, and one that cannot be read: two replicas have the same weights to the last bit
# however they are started. What the sum of two is does not depend on their order.
test_pictures() {
  local class number name
  for class in cat dog; do
    mkdir -p "$work/pictures/$class"
    for number in {1..20}; do
      { printf 'P6 9 7 255\n' && head -c 189 /dev/urandom; } >"$work/pictures/$class/$number.ppm"
    done
  done
  ln -s nowhere "$work/pictures/dog/link.ppm"
  cat >"$work/pictures.yaml" <<'SPEC'
name: pictures
strategy: {kind: multi_worker_mirrored, replicas: 2, threads_per_replica: 1, timeout_seconds: 6}
network: {rendezvous_timeout_seconds: 30}
data:
  dataset: image_folder
  path: pictures
  image: {size: [8, 8]}
  split: {test: 0.3}
  on_bad_example: skip
  augment: [random_resized_crop, flip, mixup]
batch: {global: 8}
model: {kind: mlp, hidden: [8]}
train: {epochs: 2}
SPEC
  new_job
  start pictures red "$program" run "$work/pictures.yaml" --run-dir "$work/pictures-here"
  claim "pictures: a supervisor ends well" ends 0 "$last"
  start pictures red mpirun -np 2 "$program" run "$work/pictures.yaml" --run-dir "$work/pictures-mpirun"
  claim "pictures: mpirun ends well" ends 0 "$last"
  printf '%s slots=1\n' red green >"$work/hostfile"
  start pictures red "${launch_mpirun[@]}" --hostfile "$work/hostfile" "$work/pictures.yaml" \
    --run-dir "$work/pictures-mpirun2"
  claim "pictures: mpirun on two hosts ends well" ends 0 "$last"
  start pictures red "${launch_ssh[@]}" --hosts red,green "$work/pictures.yaml" --run-dir "$work/pictures-ssh"
  claim "pictures: two hosts end well" ends 0 "$last"
  for name in mpirun mpirun2 ssh; do
    claim "pictures: $name has the supervisor's weights" test "$(weights "pictures-$name")" == "$(weights pictures-here)"
    claim "pictures: $name left one out" grep -q '"bad_examples":1' "$work/pictures-$name/metrics.jsonl"
  done
  claim "pictures: there are weights" test "$(weights pictures-here)" != "$(weights nowhere)"
}

test_wrong_spec() {
  new_job
  sed 's/learning_rate: 0.1/learning_rate: 0.2/' "$work/job.yaml" >"$work/other.yaml"
  on green mount --bind "$work/other.yaml" "$work/job.yaml"
  start ssh red "${launch_ssh[@]}" --hosts red,green "$work/job.yaml" --run-dir "$work/wrong" --set strategy.replicas=4
  claim "another spec: refused" ends 2 "$last"
  on green umount "$work/job.yaml"
  for name in red green; do
    claim "another spec: $name says so" grep -q "^\[$name\].*host green .*has another spec than host red.*0.2.*0.1" "$work/ssh.out"
  done
  claim "another spec: no folder is made" test ! -e "$work/wrong"
}

# by_hand NAME HOST INDEX TOKEN OPTIONS...: one host of a job of three
by_hand() {
  start "$1" "$2" env "$(tf_config "$3" "${names[@]}")" DTRAIN_JOB_TOKEN="$4" "$program" run "$work/job.yaml" \
    --run-dir "$work/byhand" --set strategy.replicas=6 "${@:5}"
}

test_refusals() {
  declare -A pid
  new_job
  by_hand red red 0 "$token" --set network.rendezvous_timeout_seconds=6
  pid[red]=$last
  by_hand blue blue 2 "$token" --set network.rendezvous_timeout_seconds=6
  pid[blue]=$last
  for name in red blue; do
    claim "a missing host: $name ends" ends 4 "${pid[$name]}"
    claim "a missing host: $name names it" contains "$work/$name.out" "still missing: ranks 2 to 3 (host green)"
  done

  new_job
  by_hand green green 1 "$token"
  pid[green]=$last
  by_hand blue blue 1 "$token"
  pid[blue]=$last
  by_hand red red 0 "$token"
  pid[red]=$last
  for name in red green blue; do
    claim "a rank twice: $name is refused" ends 2 "${pid[$name]}"
    claim "a rank twice: $name says so" contains "$work/$name.out" "claims ranks 2 to 3, but host green"
  done
}

# Where red listens, besides sshd: "address:port" lines.
listening() { on red ss -Htln | awk '$4 !~ /:22$/ { print $4 }'; }
# connects HOST PORT [SECONDS]: whether HOST can open a connection to PORT of red
connects() { on "$1" timeout "${3:-5}" bash -c "exec 3<>/dev/tcp/10.77.0.1/$2" 2>/dev/null; }

test_strangers() {
  local red green
  new_job
  start red red env "$(tf_config 0 red green)" DTRAIN_JOB_TOKEN="$token" "$program" run "$work/job.yaml" \
    --run-dir "$work/strangers" --set strategy.replicas=4 "${endless[@]}"
  red=$last
  claim "a stranger: red waits" until_true 20 connects blue 4000
  claim "a stranger: without the token it is refused" test "$(
    on blue env "$(tf_config 1 red green)" DTRAIN_JOB_TOKEN="not the token at all" "$program" run "$work/job.yaml" \
      --run-dir "$work/stranger" --set strategy.replicas=4 "${endless[@]}" >"$work/blue.out" 2>&1
    echo $?
  )" == 2
  claim "a stranger: is told why" contains "$work/blue.out" "red:4000 has another job token than this host"
  claim "a stranger: red notes it" contains "$work/red.out" "turned away a connection from 10.77.0.3"
  start green green env "$(tf_config 1 red green)" DTRAIN_JOB_TOKEN="$token" "$program" run "$work/job.yaml" \
    --run-dir "$work/strangers" --set strategy.replicas=4 "${endless[@]}"
  green=$last
  claim "a stranger: the job runs" until_true 20 steps_of strangers
  local ports port
  ports=$(listening | sed 's/.*://')
  claim "a stranger: the job listens" test -n "$ports"
  claim "a stranger: nowhere but on the hosts' network" test -z "$(listening | grep -v '^10\.77\.0\.1:')"
  for port in $ports; do
    claim "a stranger: port $port of red lets a member in" connects green "$port"
    claim "a stranger: port $port of red is closed to it" eval "! connects blue $port 1"
  done

  # The same job goes on: the link is cut.
  local before=$SECONDS
  on green ip link set eth0 down
  claim "a cut link: red ends" ends 4 "$red"
  claim "a cut link: green ends" ends 4 "$green"
  claim "a cut link: within its time" test $((SECONDS - before)) -le 25
  claim "a cut link: red names green" contains "$work/red.out" "host green"
  claim "a cut link: the token is in no log" lacks <(cat "$work"/*.out "$work"/strangers/logs/* "$work"/strangers/*.*) "$token"
  on green ip link set eth0 up
}

# Workers and servers on hosts of their own.
served=(--set strategy.kind=parameter_server --set strategy.staleness_learning_rate=inverse
  --set train.optimizer.momentum=0 --set train.optimizer.learning_rate=0.05 --set train.epochs=5
  --set data.drop_remainder=true)
served_by() { # served_by WORKERS SERVERS
  served_options=("${served[@]}" --set "strategy.workers=$1" --set "strategy.servers=$2")
}
learns() { # learns RUN: ended with a loss well below that of chance, 2.3
  grep '"event":"eval"' "$work/$1/metrics.jsonl" | tail -n 1 | grep -o '"loss":[0-9.e+-]*' | cut -d: -f2 |
    awk '{ found = 1; if ($1 > 1.2) bad = 1 } END { exit bad || !found }'
}
# served_task TYPE INDEX: TF_CONFIG of a cluster whose last server is on the host of the chief
served_task() {
  echo 'TF_CONFIG={"cluster": {"chief": ["red:4000"], "worker": ["green:4000"], "ps": ["blue:4000", "red:4001"]},' \
    "\"task\": {\"type\": \"$1\", \"index\": $2}}"
}

test_servers() {
  local pids=() task type index host
  new_job
  served_by 3 1
  start ssh red "${launch_ssh[@]}" --hosts red,green "$work/job.yaml" --run-dir "$work/served-ssh" "${served_options[@]}"
  claim "servers, ssh: ends well" ends 0 "$last"
  claim "servers, ssh: learns" learns served-ssh

  new_job
  served_by 2 2
  for task in "chief 0 red" "worker 0 green" "ps 0 blue" "ps 1 red"; do
    read -r type index host <<<"$task"
    start "tf-$type-$index" "$host" env "$(served_task "$type" "$index")" DTRAIN_JOB_TOKEN="$token" "$program" run \
      "$work/job.yaml" --run-dir "$work/served-tf" "${served_options[@]}" --set network.interface=eth0
    pids+=("$last")
  done
  for task in "${pids[@]}"; do claim "servers, TF_CONFIG: every task ends well" ends 0 "$task"; done
  claim "servers, TF_CONFIG: learns" learns served-tf

  new_job
  served_by 4 2
  printf '%s slots=2\n' red green blue >"$work/hostfile"
  start mpirun red "${launch_mpirun[@]}" --hostfile "$work/hostfile" "$work/job.yaml" --run-dir "$work/served-mpi" \
    "${served_options[@]}"
  claim "servers, mpirun: ends well" ends 0 "$last"
  claim "servers, mpirun: learns" learns served-mpi
}

# start_served NAME OPTIONS...: workers 0 and 1 on red, 2 and 3 on green, servers on blue, each with a dtrain of its own
start_served() {
  local name=$1 index=0 host
  shift
  new_job
  served_by 4 2
  unset pid
  declare -gA pid
  for host in "${names[@]}"; do
    start "$host" "$host" env DTRAIN_JOB_TOKEN="$token" DTRAIN_HOST_INDEX="$index" "$program" run "$work/hosts.yaml" \
      --run-dir "$work/$name" "${served_options[@]}" "$@"
    pid[$host]=$last
    index=$((index + 1))
  done
}

kill_host() { # kill_host HOST: its dtrain, with which all that it started dies
  kill -KILL "${pid[$1]}"
  on "$1" pkill -KILL -o -f "^$program run"
  wait "${pid[$1]}" 2>/dev/null
}

test_lost_hosts() {
  (cat "$work/job.yaml" && echo 'hosts: [red, green, blue]') >"$work/hosts.yaml"
  start_served lost-worker --set train.epochs=30 --set evaluate.every_epochs=1000
  claim "a killed worker host: the job runs" until_true 20 steps_of lost-worker
  kill_host green
  claim "a killed worker host: red ends well" ends 0 "${pid[red]}"
  claim "a killed worker host: blue ends well" ends 0 "${pid[blue]}"
  for worker in 2 3; do
    claim "a killed worker host: worker $worker is named" grep -q \
      "NOTE: worker $worker is lost, the others go on: host green (process [0-9]*) is gone" "$work/red.out"
  done
  claim "a killed worker host: it costs just its share" learns lost-worker

  start_served lost-server "${endless[@]}"
  claim "a killed server: the job runs" until_true 20 steps_of lost-server
  on blue pkill -KILL -n -f "^$program replica"
  for host in "${names[@]}"; do
    claim "a killed server: $host ends" ends 4 "${pid[$host]}"
    claim "a killed server: $host names it" contains "$work/$host.out" "server 1 on host blue failed first: killed by SIGKILL"
  done

  start_served lost-servers "${endless[@]}"
  claim "a killed server host: the job runs" until_true 20 steps_of lost-servers
  kill_host blue
  for host in red green; do
    claim "a killed server host: $host ends" ends 4 "${pid[$host]}"
    claim "a killed server host: $host names it" contains "$work/$host.out" "with server 0, server 1 is gone"
  done
  claim "lost hosts: nothing is left" nothing_left
}

# Hosts get dtrain from a tarball, each to a disk of its own (/run/data).
make_tarball() { # make_tarball FILE WORD
  mkdir -p "$work/tree/dtrain-$2/bin"
  printf '#!/bin/bash\n# %s\nexec %q "$@"\n' "$2" "$program" >"$work/tree/dtrain-$2/bin/dtrain"
  chmod +x "$work/tree/dtrain-$2/bin/dtrain"
  tar -C "$work/tree" -cJf "$1" "dtrain-$2"
}
installed_on() { # installed_on HOST: how many versions
  on "$1" find /run/data -path '*/bin/dtrain' 2>/dev/null | wc -l
}
test_install() {
  local tarball=${DTRAIN_TARBALL:-$work/first.tar.xz} name
  local install=("$sources/scripts/install_on_hosts" --ssh-config "$work/ssh_config" --hosts "red,green")
  [[ -n ${DTRAIN_TARBALL:-} ]] || make_tarball "$tarball" first
  make_tarball "$work/second.tar.xz" second
  launch=("$sources/scripts/launch_ssh" --install "$tarball" --ssh-config "$work/ssh_config" --directory "$work")
  new_job
  for name in red green; do claim "install: $name has no dtrain" test "$(installed_on "$name")" == 0; done
  start ssh red "${launch[@]}" --hosts red,green "$work/job.yaml" --run-dir "$work/installed" --set strategy.replicas=4
  claim "install, ssh: hosts without dtrain train" ends 0 "$last"
  claim "install, ssh: and equal one process" same_losses installed
  for name in red green; do
    claim "install: $name was brought it" contains "$work/ssh.out" "$name: bringing"
    claim "install: $name has it" test "$(installed_on "$name")" == 1
  done
  new_job
  start mpirun red "$sources/scripts/launch_mpirun" --install "$tarball" --hosts red:2,green:2 "$work/job.yaml" \
    --run-dir "$work/installed-mpirun" --set strategy.replicas=4
  claim "install, mpirun: trains" ends 0 "$last"
  claim "install, mpirun: and equals one process" same_losses installed-mpirun
  claim "install: it is brought once" lacks "$work/mpirun.out" bringing

  # Two versions beside each other; one goes, the other stays.
  start second red "${install[@]}" "$work/second.tar.xz"
  claim "install: a second version" ends 0 "$last"
  claim "install: stays beside the first" test "$(installed_on green)" == 2
  claim "install: and runs" on green "$(sed -n 's/^green //p' "$work/second.out")" --version
  start remove red "${install[@]}" --uninstall "$tarball"
  claim "install: the first is removed" ends 0 "$last"
  claim "install: and the second stays" test "$(on green find /run/data -path '*second*/bin/dtrain' | wc -l)" == 1
  start remove red "${install[@]}" --uninstall "$work/second.tar.xz"
  claim "install: the second is removed" ends 0 "$last"
  for name in red green; do claim "install: nothing is left on $name" on "$name" test ! -e /run/data/dtrain; done

  # What does not arrive whole is not used.
  head -c 100 "$work/second.tar.xz" >"$work/broken.tar.xz"
  start broken red "${install[@]}" "$work/broken.tar.xz"
  claim "install: a broken tarball fails" ends 1 "$last"
  claim "install: and says why" contains "$work/broken.out" "could not be unpacked"
  claim "install: and leaves nothing" test -z "$(on green find /run/data -mindepth 2)"
}

# The environment of the pods of a PyTorchJob, as Kubeflow's operator makes it.
test_pods() {
  local pids=() index=0 host
  new_job
  for host in red green blue; do
    start "pod-$host" "$host" env RANK="$index" WORLD_SIZE=3 MASTER_ADDR=red MASTER_PORT=23456 PYTHONUNBUFFERED=1 \
      PET_NNODES=3 PET_NODE_RANK="$index" PET_NPROC_PER_NODE=1 KUBERNETES_SERVICE_HOST=10.77.0.99 \
      DTRAIN_JOB_TOKEN="$token" "$program" run "$work/job.yaml" --run-dir "$work/pods"
    pids+=("$last")
    index=$((index + 1))
  done
  for index in "${!pids[@]}"; do claim "pods: number $index ends well" ends 0 "${pids[index]}"; done
  claim "pods: equal one process" same_losses pods
  claim "pods: say so" contains "$work/pod-red.out" "rank 0 of 3, 1 on this host (from Kubernetes)"
}

command_lines_with_token() {
  for name in "${names[@]}"; do on "$name" bash -c "grep -laFf '$work/token' /proc/[0-9]*/cmdline" 2>/dev/null; done
}

test_stop() {
  new_job
  start ssh red env DTRAIN_JOB_TOKEN="$token" "${launch_ssh[@]}" --hosts red,green,blue "$work/job.yaml" \
    --run-dir "$work/stop" --set strategy.replicas=6 "${endless[@]}"
  local launcher=$last
  claim "a stop: the job runs" until_true 20 steps_of stop
  claim "the token of ssh is on no command line" test -z "$(command_lines_with_token)"
  local script
  script=$(on red pgrep -o -f scripts/launch_ssh)
  on red kill -INT "$script"
  claim "a stop: ends as one" ends 75 "$launcher"
  claim "a stop: nothing is left" nothing_left
  claim "a stop: the run says so" grep -q '"status":"stopped"' "$work/stop/metrics.jsonl"

  new_job
  start mpirun red env DTRAIN_JOB_TOKEN="$token" "${launch_mpirun[@]}" --hostfile "$work/hostfile" "$work/job.yaml" \
    --run-dir "$work/killed" --set strategy.replicas=6 "${endless[@]}"
  claim "a killed rank: the job runs" until_true 20 steps_of killed
  claim "the token of mpirun is on no command line" test -z "$(command_lines_with_token)"
  on blue pkill -KILL -o -f "^$program run"
  wait "$last"
  claim "a killed rank: mpirun fails" test $? != 0
  claim "a killed rank: nothing is left" nothing_left
}

token=$(head -c 32 /dev/urandom | base64 -w 0)
echo "$token" >"$work/token"
make_network
on red "$program" run "$work/job.yaml" --run-dir "$work/reference" --set strategy.kind=one_device >"$work/reference.out" 2>&1
claim "the reference runs" losses reference >/dev/null
parts=(doctor "equivalence 2" virtual_replicas mpirun_by_hand own_name pictures "equivalence 3" wrong_spec refusals strangers
  stop install pods slurm servers lost_hosts rejoin)
for part in "${parts[@]}"; do
  read -r name argument <<<"$part"
  if ((${#wanted[@]} == 0)) || [[ " ${wanted[*]} " == *" $name "* ]]; then "test_$name" "$argument"; fi
done
echo "$claims claims, $failures failed, $SECONDS s"
((failures == 0))
