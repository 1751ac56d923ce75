"""Trains a model of 25 million parameters on two hosts that a slow link joins, in dtrain and in PyTorch
DistributedDataParallel, in turn, and writes a Markdown table. Started by scripts/bench_link, which made the hosts: network
namespaces, whose names are arguments."""

import argparse
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BATCH = 64  # examples per replica
STEPS = 24
WARM_UP = 4  # steps that are not timed
PARAMETERS = 784 * 4096 + 4096 + 4096 * 4096 + 4096 + 4096 * 1200 + 1200 + 1200 * 10 + 10
TIMEOUT = 300  # seconds, of one run


def dtrain_command(options, directory, *settings):
    command = [str(options.program), "run", str(HERE / "wide.yaml"), "--json", "--run-dir", f"{directory}/run"]
    fields = [
        f"data.path={options.data}",
        f"data.dataset={options.dataset}",
        f"train.max_steps={STEPS}",
        "metrics.every_steps=1",
        f"network.interface={options.interface}",
        *settings,
    ]
    for field in fields:
        command += ["--set", field]
    return command


def ddp_command(options, *extra):
    python = str(options.environments / "torch" / "bin" / "python")
    command = [python, str(HERE / "torch_ddp.py"), "--model=wide", f"--data={options.data}", f"--batch={BATCH}"]
    return [*command, "--replicas=2", f"--steps={STEPS}", "--window=1", *extra]


def contenders(options):
    return {
        "dtrain": lambda directory: dtrain_command(options, directory),
        "PyTorch DDP over gloo": lambda _: ddp_command(options),
        "dtrain, compress: bf16": lambda directory: dtrain_command(options, directory, "strategy.compress=bf16"),
        "PyTorch DDP over gloo, bf16 hook": lambda _: ddp_command(options, "--compress=bf16"),
    }


def environment(options, rank):
    return {
        **os.environ,
        "RANK": str(rank),
        "WORLD_SIZE": "2",
        "LOCAL_RANK": "0",
        "LOCAL_WORLD_SIZE": "1",
        "MASTER_ADDR": options.leader,
        "MASTER_PORT": "29571",
        "GLOO_SOCKET_IFNAME": options.interface,
        "OMP_NUM_THREADS": "1",
    }


def sent_bytes(options):
    command = ["ip", "netns", "exec", options.hosts[0], "cat", f"/sys/class/net/{options.interface}/statistics/tx_bytes"]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def start(options, command, rank):
    # A name and a core for each host, as if they were two machines.
    named = ["unshare", "--uts", "bash", "-c", 'hostname "$0" && exec "$@"', options.hosts[rank]]
    host = ["ip", "netns", "exec", options.hosts[rank], *named, "taskset", "-c", str(rank)]
    output = subprocess.PIPE if rank == 0 else subprocess.DEVNULL
    return subprocess.Popen([*host, *command], env=environment(options, rank), stdout=output, text=True)


def run(options, make_command):
    """Examples per second and megabytes sent per step by the first host."""
    with tempfile.TemporaryDirectory() as directory:
        command = make_command(directory)
        processes = [start(options, command, rank) for rank in range(2)]
        marks = []
        try:
            for line in processes[0].stdout:
                event = json.loads(line) if line.startswith("{") else {}
                if event.get("event") != "step":
                    continue
                time = datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00")).timestamp()
                marks.append((event["step"], time, sent_bytes(options)))
            codes = [process.wait(timeout=TIMEOUT) for process in processes]
        finally:
            for process in processes:
                process.kill()
    if any(codes) or len(marks) != STEPS:
        sys.exit(f"bench_link: {' '.join(command)} ended with {codes} after {len(marks)} steps")
    (first, begin, before), (last, end, after) = marks[WARM_UP - 1], marks[-1]
    steps = last - first
    return 2 * BATCH * steps / (end - begin), (after - before) / steps / 1e6


def table(options, results):
    of_ddp = statistics.median(speed for speed, _ in results["PyTorch DDP over gloo"])
    exact = 4 * PARAMETERS / 1e6  # a ring of two sends 2 (n - 1) / n = 1 times the gradients
    lines = [
        f"{PARAMETERS:,} parameters, 2 hosts x 1 replica of one core, batch {BATCH} each, link of {options.rate}; "
        f"{options.rounds} rounds in turn, medians (lowest to highest). A ring all-reduce of two hosts sends "
        f"{exact:.1f} MB a step from each in float32, {exact / 2:.1f} MB in bf16.",
        "",
        "| | examples/s | of DDP | MB sent a step by a host |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, runs in results.items():
        speeds = [speed for speed, _ in runs]
        speed = statistics.median(speeds)
        sent = statistics.median(sent for _, sent in runs)
        lines.append(
            f"| {name} | {speed:.1f} ({min(speeds):.1f} to {max(speeds):.1f}) | {speed / of_ddp:.2f} x | {sent:.1f} |"
        )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--rate", required=True)
    parser.add_argument("--hosts", nargs=2, required=True)
    parser.add_argument("--leader", required=True, help="address of the first host")
    parser.add_argument("--interface", required=True, help="of the link, on both hosts")
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--environments", type=pathlib.Path, required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--dataset", required=True)
    options = parser.parse_args()
    results = {name: [] for name in contenders(options)}
    for number in range(options.rounds):
        for name, make_command in contenders(options).items():
            results[name].append(run(options, make_command))
            speed, sent = results[name][-1]
            print(f"round {number + 1}/{options.rounds} {name}: {speed:.1f} examples/s, {sent:.1f} MB", file=sys.stderr)
    print(table(options, results), end="")


if __name__ == "__main__":
    main()
