"""Trains on hosts that slow links join, in dtrain and in PyTorch DistributedDataParallel, in turn, and writes a Markdown
table. Started by scripts/bench_link, which made the hosts: network namespaces, whose names are arguments."""

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
ROUND = 32  # steps between outer updates
# By model: its parameters, and how many steps are made and how many of these are not timed, by contenders that exchange
# gradients in each step and by those with local steps.
MODELS = {
    "wide": (784 * 4096 + 4096 + 4096 * 4096 + 4096 + 4096 * 1200 + 1200 + 1200 * 10 + 10, (24, 4), (96, ROUND)),
    "cnn": (9 * 32 + 32 + 13 * 13 * 32 * 64 + 64 + 64 * 10 + 10, (60, 10), (640, ROUND)),
}
TIMEOUT = 600  # seconds, of one run


def windows(options, local):
    """Steps, and those not timed. After each as many, both programs say where they are."""
    steps, warm_up = MODELS[options.model][2 if local else 1]
    return steps if local else options.steps or steps, warm_up


def dtrain_command(options, directory, *settings, local=False):
    command = [str(options.program), "run", str(HERE / f"{options.model}.yaml"), "--json", "--run-dir", f"{directory}/run"]
    steps, window = windows(options, local)
    fields = [
        "strategy.kind=multi_worker_mirrored",
        f"data.path={options.data}",
        f"data.dataset={options.dataset}",
        f"train.max_steps={steps}",
        f"metrics.every_steps={window}",
        f"network.interface={options.interface}",
        *([f"strategy.local_steps.every={ROUND}"] if local else []),
        *settings,
    ]
    for field in fields:
        command += ["--set", field]
    return command


def ddp_command(options, *extra):
    python = str(options.environments / "torch" / "bin" / "python")
    command = [python, str(HERE / "torch_ddp.py"), f"--model={options.model}", f"--data={options.data}"]
    steps, window = windows(options, local=False)
    return [
        *command,
        f"--batch={BATCH}",
        f"--replicas={len(options.hosts)}",
        f"--steps={steps}",
        f"--window={window}",
        *extra,
    ]


def contenders(options):
    """By name: whether it makes local steps, and its command."""

    def local(compress):
        return True, lambda directory: dtrain_command(options, directory, f"strategy.compress={compress}", local=True)

    bf16 = "strategy.compress=bf16"
    return {
        "dtrain": (False, lambda directory: dtrain_command(options, directory)),
        "PyTorch DDP over gloo": (False, lambda _: ddp_command(options)),
        "dtrain, compress: bf16": (False, lambda directory: dtrain_command(options, directory, bf16)),
        "PyTorch DDP over gloo, bf16 hook": (False, lambda _: ddp_command(options, "--compress=bf16")),
        f"dtrain, {ROUND} local steps": local("none"),
        f"dtrain, {ROUND} local steps, compress: int8": local("int8"),
    }


def environment(options, rank):
    return {
        **os.environ,
        "RANK": str(rank),
        "WORLD_SIZE": str(len(options.hosts)),
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
    host = ["ip", "netns", "exec", options.hosts[rank], *named, "taskset", "-c", str(rank % os.cpu_count())]
    output = subprocess.PIPE if rank == 0 else subprocess.DEVNULL
    return subprocess.Popen([*host, *command], env=environment(options, rank), stdout=output, text=True)


def run(options, local, make_command):
    """Examples per second and megabytes sent per step by the first host."""
    steps, window = windows(options, local)
    with tempfile.TemporaryDirectory() as directory:
        command = make_command(directory)
        processes = [start(options, command, rank) for rank in range(len(options.hosts))]
        marks = []
        try:
            for line in processes[0].stdout:
                event = json.loads(line) if line.startswith("{") else {}
                if event.get("event") != "step" or event["step"] % window != 0:  # dtrain also reports the first one
                    continue
                time = datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00")).timestamp()
                marks.append((event["step"], time, sent_bytes(options)))
            codes = [process.wait(timeout=TIMEOUT) for process in processes]
        finally:
            for process in processes:
                process.kill()
    # DDP with a hook sometimes aborts while it ends, after all steps.
    failed = any(codes) and command[0] == str(options.program)
    if failed or len(marks) != steps // window:
        sys.exit(f"bench_link: {' '.join(command)} ended with {codes} after {len(marks)} of {steps // window} windows")
    (first, begin, before), (last, end, after) = marks[0], marks[-1]
    timed = last - first
    return len(options.hosts) * BATCH * timed / (end - begin), (after - before) / timed / 1e6


def table(options, results):
    of_ddp = statistics.median(speed for speed, _ in results["PyTorch DDP over gloo"])
    parameters, hosts = MODELS[options.model][0], len(options.hosts)
    exact = 2 * (hosts - 1) / hosts * 4 * parameters / 1e6
    lines = [
        f"{parameters:,} parameters, {hosts} hosts x 1 replica on {os.cpu_count()} cores, batch {BATCH} each, which send "
        f"{options.rate} each, {options.round_trip} ms there and back; {options.rounds} rounds in turn, medians (lowest to "
        f"highest). A ring all-reduce sends "
        f"{exact:.2f} MB a step from each host in float32, {exact / 2:.2f} MB in bf16.",
        "",
        "| | examples/s | of DDP | MB sent a step by a host |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, runs in results.items():
        speeds = [speed for speed, _ in runs]
        speed = statistics.median(speeds)
        sent = statistics.median(sent for _, sent in runs)
        lines.append(
            f"| {name} | {speed:.1f} ({min(speeds):.1f} to {max(speeds):.1f}) | {speed / of_ddp:.2f} x | {sent:.3g} |"
        )
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--rate", required=True)
    parser.add_argument("--round-trip", required=True, help="in milliseconds, that the network adds")
    parser.add_argument("--hosts", nargs="+", required=True)
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--steps", type=int, required=True, help="0: as many as the model's")
    parser.add_argument("--leader", required=True, help="address of the first host")
    parser.add_argument("--interface", required=True, help="of the link, on every host")
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--environments", type=pathlib.Path, required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--dataset", required=True)
    options = parser.parse_args()
    results = {name: [] for name in contenders(options)}
    for number in range(options.rounds):
        for name, (local, make_command) in contenders(options).items():
            results[name].append(run(options, local, make_command))
            speed, sent = results[name][-1]
            print(f"round {number + 1}/{options.rounds} {name}: {speed:.1f} examples/s, {sent:.3g} MB", file=sys.stderr)
    print(table(options, results), end="")


if __name__ == "__main__":
    main()
