# shellcheck shell=bash disable=SC2154 # what tests/dist/hosts.sh defines
# A cluster of Slurm on the hosts, and jobs that it starts there. Sourced by tests/dist/hosts.sh.

# Nobody but the hosts reaches the daemons, so that they need no key in common (auth/none).
start_slurm() {
  local name number=0
  cat >"$work/slurm.conf" <<CONFIG
ClusterName=hosts
SlurmctldHost=${names[0]}
SlurmUser=root
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
StateSaveLocation=$work/slurmctld
SlurmdSpoolDir=$work/slurmd.%n
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.%n.pid
KillWait=10
PartitionName=all Nodes=$(IFS=, && echo "${names[*]}") Default=YES State=UP
CONFIG
  for name in "${names[@]}"; do
    number=$((number + 1))
    echo "NodeName=$name NodeAddr=$(address $number) CPUs=4 State=UNKNOWN" >>"$work/slurm.conf"
  done
  mkdir "$work/slurmctld"
  on "${names[0]}" env SLURM_CONF="$work/slurm.conf" slurmctld -D >"$work/slurmctld.log" 2>&1 &
  for name in "${names[@]}"; do
    on "$name" env SLURM_CONF="$work/slurm.conf" slurmd -D -N "$name" >"$work/slurmd.$name.log" 2>&1 &
  done
  until_true 20 slurm_is_up
}
in_slurm() { on red env SLURM_CONF="$work/slurm.conf" DTRAIN_JOB_TOKEN="$token" "$@"; }
slurm_is_up() { test "$(in_slurm sinfo --noheader --Node --states=idle --format=%N | wc -l)" == ${#names[@]}; }

test_slurm() {
  local daemon job options=(--set strategy.replicas=6)
  for daemon in slurmctld slurmd srun sbatch scancel; do
    command -v "$daemon" >/dev/null || {
      echo "skipped: Slurm (Debian: slurmctld, slurmd, slurm-client)"
      return
    }
  done
  claim "Slurm runs" start_slurm

  new_job
  start srun red env SLURM_CONF="$work/slurm.conf" DTRAIN_JOB_TOKEN="$token" srun --nodes=2 --ntasks-per-node=2 \
    --chdir="$work" "$program" run "$work/job.yaml" --run-dir "$work/srun" --set strategy.replicas=4
  claim "srun: ends well" ends 0 "$last"
  claim "srun: equals one process" same_losses srun
  claim "srun: says so" contains "$work/srun.out" "rank 0 of 4, 2 on this host (from Slurm)"

  new_job
  start sbatch red env SLURM_CONF="$work/slurm.conf" DTRAIN_PROGRAM="$program" sbatch --wait --nodes=3 \
    --chdir="$work" --output="$work/log.out" "$sources/scripts/slurm.sbatch" "$work/job.yaml" --run-dir "$work/sbatch" \
    "${options[@]}"
  claim "sbatch: ends well" ends 0 "$last"
  claim "sbatch: equals one process" same_losses sbatch
  claim "sbatch: lines name the rank" contains "$work/log.out" "0: END distributed: completed"

  new_job
  start srun red env SLURM_CONF="$work/slurm.conf" DTRAIN_JOB_TOKEN="$token" srun --nodes=3 --ntasks-per-node=2 \
    --chdir="$work" "$program" run "$work/job.yaml" --run-dir "$work/other" --set "hosts=[red, green]"
  claim "srun, a spec of two hosts: refused" ends 2 "$last"
  claim "srun, a spec of two hosts: says what contradicts what" contains "$work/srun.out" \
    "the spec lists 2 hosts (red, green), but Slurm started 6 processes"

  new_job
  start cancelled red env SLURM_CONF="$work/slurm.conf" DTRAIN_JOB_TOKEN="$token" DTRAIN_PROGRAM="$program" sbatch \
    --parsable --wait --nodes=3 --chdir="$work" --output="$work/log.out" "$sources/scripts/slurm.sbatch" \
    "$work/job.yaml" --run-dir "$work/cancelled" "${options[@]}" "${endless[@]}"
  claim "scancel: the job runs" until_true 20 steps_of cancelled
  claim "scancel: the token is on no command line" test -z "$(command_lines_with_token)"
  job=$(cat "$work/cancelled.out")
  claim "scancel: takes the job" in_slurm scancel "$job"
  wait "$last"
  claim "scancel: nothing is left" nothing_left
  claim "scancel: the run says so" grep -q '"status":"stopped"' "$work/cancelled/metrics.jsonl"

  new_job
  start killed red env SLURM_CONF="$work/slurm.conf" DTRAIN_JOB_TOKEN="$token" srun --kill-on-bad-exit=1 --nodes=3 \
    --ntasks-per-node=2 --chdir="$work" "$program" run "$work/job.yaml" --run-dir "$work/lost" "${options[@]}" "${endless[@]}"
  claim "srun, a killed rank: the job runs" until_true 20 steps_of lost
  on blue pkill -KILL -o -f "^$program run"
  wait "$last"
  claim "srun, a killed rank: srun fails" test $? != 0
  claim "srun, a killed rank: nothing is left" nothing_left
}
