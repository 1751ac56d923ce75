#!/bin/bash
# The launchers, over stand-ins for ssh, mpirun and srun. On hosts: tests/dist/hosts.sh.
# shellcheck source=tests/scripts/harness.sh
source "$(dirname "${BASH_SOURCE[0]}")/harness.sh"

ssh_script=$sources/scripts/launch_ssh
mpirun_script=$sources/scripts/launch_mpirun
slurm_script=$sources/scripts/slurm.sbatch

mkdir "$work/bin"
# ssh that runs what the host would: no host is needed, and its name is seen in FAKE_HOST.
cat >"$work/bin/ssh" <<'FAKE'
#!/bin/bash
while [[ $1 != -- ]]; do shift; done
if [[ $2 == unreachable ]]; then # found out once the other host can be stopped in order
  until [[ -e $WORK/waiting-a ]]; do sleep 0.01; done
  exit 255
fi
echo "$2" >>"$WORK/hosts"
for fd in /proc/$$/fd/[1-9]*; do # an end of another host's pipe
  [[ $(readlink "$fd") != *.in ]] || echo "$2" >>"$WORK/inherits"
done
printf %s "${GREETING:-}" # of a shell's start-up files
if [[ -n ${LOSES_DATA:-} ]]; then exec < <(head -c 100); fi
remote=(env --default-signal=INT,TERM,HUP -u DTRAIN_JOB_TOKEN -u HANDED_ON "FAKE_HOST=$2" bash -c "${*:3}")
if [[ $2 == cut ]] && mkdir "$WORK/is-cut" 2>/dev/null; then # the connection, once dtrain runs
  { cat <&0 & until [[ -e $WORK/waiting-cut ]]; do sleep 0.01; done; kill -KILL $!; } | "${remote[@]}"
  exit 255
fi
exec "${remote[@]}"
FAKE
cat >"$work/bin/mpirun" <<'FAKE'
#!/bin/bash
[[ $1 != --version ]] || { echo "mpirun (Open MPI) 4.1.4"; exit; }
printf '%s\n' "$@" >"$WORK/mpirun"
echo "$MASTER_ADDR ${#DTRAIN_JOB_TOKEN}"
FAKE
cat >"$work/bin/srun" <<'FAKE'
#!/bin/bash
printf '%s\n' "$@" >"$WORK/srun"
echo "${#DTRAIN_JOB_TOKEN}"
FAKE
# dtrain that says what it got. Its last argument may be "wait": until it is stopped; or "lose": the hosts are lost as
# their names say, except the first one, which ends when three have come back.
cat >"$work/dtrain" <<'FAKE'
#!/bin/bash
echo "out $FAKE_HOST $DTRAIN_HOST_INDEX ${#DTRAIN_JOB_TOKEN} $PWD ${HANDED_ON-none} $*"
echo "err $FAKE_HOST" >&2
trap 'echo "stopped $FAKE_HOST"; exit 75' TERM
fate=${!#}
if [[ $fate == lose ]] && mkdir "$WORK/begun-$FAKE_HOST" 2>/dev/null; then
  case $FAKE_HOST in
    a) until [[ -e $WORK/back-killed && -e $WORK/back-lost && -e $WORK/back-cut ]]; do sleep 0.05; done && exit 3 ;;
    killed) kill -KILL $$ ;;
    lost) exit 4 ;;
    broken) exit 2 ;;
    cut) fate=wait ;;
  esac
elif [[ $fate == lose ]]; then
  touch "$WORK/back-$FAKE_HOST"
fi
if [[ $fate == wait ]]; then
  touch "$WORK/waiting-$FAKE_HOST"
  while :; do sleep 0.05; done
fi
[[ $fate != fail-"$FAKE_HOST" ]] || exit 4
FAKE
chmod +x "$work/bin/"* "$work/dtrain"
touch "$work/job.yaml"
export WORK=$work PATH=$work/bin:$PATH
ssh=(timeout 60 "$ssh_script" --program "$work/dtrain" --directory "$work")

# shellcheck disable=SC2016 # meant as they stand
for bad in 'a;id' '-oProxyCommand=id' '$(id)' 'a b' $'a\nb' '.a' ''; do
  capture "${ssh[@]}" --hosts "good,$bad,more" "$work/job.yaml"
  claim "ssh: the host '$bad' is refused" test "$status" == 2
  claim "ssh: and nothing was started for '$bad'" test ! -e "$work/hosts"
  capture "$mpirun_script" --hosts "good:1,$bad:2" "$work/job.yaml"
  claim "mpirun: the host '$bad' is refused" test "$status" == 2
done

capture env HANDED_ON='a b' "${ssh[@]}" --env HANDED_ON --hosts a,b.c "$work/job.yaml" --set 'name=x y' "it's"
claim "ssh: ends well" test "$status" == 0
claim "ssh: the first host" contains "$out" \
  "[a] out a 0 44 $work a b run $work/job.yaml --set hosts=[a,b.c] --set name=x y it's"
claim "ssh: the second" contains "$out" "[b.c] out b.c 1 44"
claim "ssh: what goes to stderr stays there" contains "$err" "[b.c] err b.c"
capture env -u HANDED_ON "${ssh[@]}" --env HANDED_ON --hosts a,b "$work/job.yaml"
claim "ssh: a variable that is not set here is not set there" contains "$out" "44 $work none run"
capture env HANDED_ON= "${ssh[@]}" --env HANDED_ON --hosts a,b "$work/job.yaml"
claim "ssh: and one that is empty is empty" contains "$out" "44 $work  run"
capture "${ssh[@]}" --hosts a,b "$work/job.yaml" fail-b
claim "ssh: a failure's exit code is passed on" test "$status" == 4
capture "${ssh[@]}" --hosts a,unreachable "$work/job.yaml" wait
claim "ssh: a host that cannot be reached stops the others" test "$status" == 255
claim "ssh: and is named" contains "$err" "unreachable: ssh could not connect"
claim "ssh: the other was stopped" contains "$out" "[a] stopped a"

rm -f "$work"/waiting-*
"${ssh[@]}" --hosts a,b "$work/job.yaml" wait >"$work/stop.out" 2>&1 &
launcher=$!
for host in a b; do claim "ssh: $host runs" until_exists "$work/waiting-$host"; done
kill -TERM "$launcher"
wait "$launcher"
claim "ssh: a signal ends it as one" test $? == 75
out=$(<"$work/stop.out")
for host in a b; do claim "ssh: and stops $host" contains "$out" "[$host] stopped $host"; done

capture "${ssh[@]}" --rejoin --hosts a,killed,lost,cut,broken "$work/job.yaml" lose
claim "rejoin: the first host's end is that of the script" test "$status" == 3
claim "rejoin: a killed host" contains "$err" "host killed: ssh or dtrain was killed by SIGKILL; trying again in 5 s"
claim "rejoin: one that lost others" contains "$err" "host lost: dtrain lost a replica or another host; trying again"
claim "rejoin: one whose connection is lost" contains "$err" "host cut: the connection was lost"
claim "rejoin: where dtrain was killed, not stopped" test "${out#*stopped cut}" == "$out"
claim "rejoin: what another try does not mend" contains "$err" "host broken: exit code 2, which another"
claim "rejoin: and is not tried" test ! -e "$work/back-broken"
for host in killed lost cut; do claim "rejoin: $host keeps its number" contains "$out" "[$host] out $host "; done
claim "rejoin: no ssh has the pipe of another host" test ! -e "$work/inherits"

rm -r "$work"/begun-* "$work"/back-*
"${ssh[@]}" --rejoin --hosts a,killed "$work/job.yaml" lose >"$work/stop.out" 2>&1 &
launcher=$!
until_waits() { until grep -q "trying again" "$work/stop.out" && [[ -e $work/begun-a ]]; do sleep 0.02; done; }
claim "rejoin: a host waits for its next start" until_waits
kill -TERM "$launcher"
wait "$launcher"
claim "rejoin: a signal ends this as one" test $? == 75
claim "rejoin: and stops the first host" contains "$(<"$work/stop.out")" "[a] stopped a"
claim "rejoin: and the other is not started again" test ! -e "$work/back-killed"

# A killed one cannot remove its folder.
export TMPDIR=$work/temporary
mkdir "$TMPDIR"
rm -f "$work"/waiting-*
"$ssh_script" --program "$work/dtrain" --directory "$work" --hosts a "$work/job.yaml" wait >/dev/null 2>&1 &
launcher=$!
claim "ssh: a runs" until_exists "$work/waiting-a"
left=$(echo "$TMPDIR"/dtrain-launch-*)
mkdir "$TMPDIR/dtrain-launch-recent" "$TMPDIR/dtrain-launch-AAAAAA"
touch -d '3 minutes ago' "$left" "$TMPDIR/dtrain-launch-AAAAAA"
capture "${ssh[@]}" --hosts b "$work/job.yaml"
claim "ssh: the folder of one that runs stays" test -d "$left"
claim "ssh: one that nobody has goes" test ! -e "$TMPDIR/dtrain-launch-AAAAAA"
kill -KILL "$launcher"
wait "$launcher" 2>/dev/null
# What it has started ends by itself, since it sees that launch_ssh is gone.
until_unlocked() { for _ in {1..600}; do flock -n "$left" true && return; sleep 0.05; done; false; }
claim "ssh: its processes end" until_unlocked
claim "ssh: a killed one leaves its folder" test -d "$left"
touch -d '3 minutes ago' "$left"
capture "${ssh[@]}" --hosts b "$work/job.yaml"
claim "ssh: the next one removes it" test ! -e "$left"
claim "ssh: and no new one" test -d "$TMPDIR/dtrain-launch-recent"
unset TMPDIR

rm -f "$work/hosts"
capture "${ssh[@]}" --hosts a,b_1 --dry-run "$work/job.yaml"
claim "ssh: a dry run says what" contains "$out" "-- b_1 bash -s"
claim "ssh: a dry run does nothing" test ! -e "$work/hosts"

capture "$mpirun_script" --program /p/dtrain --hosts a:2,b:2 "$work/job.yaml" --quiet
claim "mpirun: rank 0's host and a token are handed on" test "$out" == "a 44"
claim "mpirun: the token is on no command line" test "$(grep -c -- '^[A-Za-z0-9+/]\{43\}=$' "$work/mpirun")" == 0
claim "mpirun: gets the hosts" grep -qx 'a:2,b:2' "$work/mpirun"
printf '# comment\n\n  c.d slots=2 # more\ne slots=2\n' >"$work/hostfile"
capture "$mpirun_script" --hostfile "$work/hostfile" "$work/job.yaml"
claim "mpirun: the first host of a file" test "$out" == "c.d 44"
printf '# nobody\n\n' >"$work/hostfile"
capture "$mpirun_script" --hostfile "$work/hostfile" "$work/job.yaml"
claim "mpirun: a file without hosts is refused" test "$status" == 2
claim "mpirun: and named" contains "$err" "'$work/hostfile' names no host"
rm "$work/mpirun"
capture "$mpirun_script" --hosts a_1:2 --dry-run "$work/job.yaml"
claim "mpirun: a dry run of a host with an underscore" test "$status" == 0
claim "mpirun: a dry run does nothing" test ! -e "$work/mpirun"

unset SLURM_CPUS_PER_TASK
capture env DTRAIN_PROGRAM=/p/dtrain "$slurm_script" "$work/job.yaml" --quiet
claim "slurm: a token is handed on" test "$out" == 44
claim "slurm: starts dtrain" grep -qx /p/dtrain "$work/srun"
claim "slurm: leaves a task's cores to Slurm" test "$(grep -c cpus-per-task "$work/srun")" == 0
capture env DTRAIN_PROGRAM=/p/dtrain SLURM_CPUS_PER_TASK=4 "$slurm_script" "$work/job.yaml"
claim "slurm: a task gets the cores that were asked for" grep -qx -- --cpus-per-task=4 "$work/srun"
rm "$work/srun"
capture env DTRAIN_PROGRAM=/p/dtrain "$slurm_script" --dry-run "$work/job.yaml"
claim "slurm: a dry run does nothing" test ! -e "$work/srun"

# dtrain comes along.
export XDG_DATA_HOME=$work/data
mkdir -p "$work/tree/dtrain-1/bin"
cp "$work/dtrain" "$work/tree/dtrain-1/bin/"
tar -C "$work/tree" -cf "$work/dtrain-1.tar" dtrain-1
installs=("$sources/scripts/install_on_hosts" --hosts "a,b")
mkdir -p "$work"/data/dtrain/.incoming-{killed,recent}/tree
touch -d "2 days ago" "$work/data/dtrain/.incoming-killed"
capture env LOSES_DATA=1 "${installs[@]}" "$work/dtrain-1.tar"
claim "install: what is not what was sent is refused" test "$status" == 1
claim "install: and the reason given" contains "$err" "SHA-256 differs"
claim "install: and nothing is left of it, nor of a killed one" test "$(ls -A "$work/data/dtrain")" == .incoming-recent
rm -r "$work/data/dtrain/.incoming-recent"
capture "$ssh_script" --install "$work/dtrain-1.tar" --directory "$work" --hosts a,b "$work/job.yaml"
claim "install: ssh runs what it has brought" test "$status" == 0
claim "install: on every host" contains "$out" "[b] out b 1 44"
claim "install: which it says" contains "$err" "a: bringing dtrain-1.tar"
capture "$mpirun_script" --install "$work/dtrain-1.tar" --hosts a:2,b:2 "$work/job.yaml"
claim "install: mpirun runs it" grep -qx "$work/data/dtrain/dtrain-1-[0-9a-f]\{12\}/bin/dtrain" "$work/mpirun"
claim "install: and brings it once" test "${err#*bringing}" == "$err"
capture "$ssh_script" --install "$work/nothing.tar" --hosts a,b "$work/job.yaml"
claim "install: there must be a tarball" contains "$err" "nothing.tar' cannot be read"
claim "install: else nothing is started" test "$status" == 2
for state in "is there" "is brought"; do
  capture env GREETING="welcome to /bin/dtrain" "${installs[@]}" "$work/dtrain-1.tar"
  claim "install: what $state is named, whatever a host's shell says before" \
    test "$(grep -cx "[ab] $work/data/dtrain/dtrain-1-[0-9a-f]\{12\}/bin/dtrain" <<<"$out")" == 2
  capture "${installs[@]}" --uninstall "$work/dtrain-1.tar"
  claim "install: it can be removed" test "$status" == 0
  claim "install: and leaves nothing" test ! -e "$work/data/dtrain"
done

for script in "$ssh_script" "$mpirun_script" "$slurm_script"; do
  capture "$script" --help
  claim "${script##*/}: help" contains "$out" "--dry-run"
  capture "$script"
  claim "${script##*/}: no spec" test "$status" == 2
done
finish
