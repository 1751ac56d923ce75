"""How fast steps are on the plugin for processors, against JAX with the same models, batch, optimizer and cores."""
import dataclasses
import os
import pathlib
import shutil
import statistics
import sys

BENCH = pathlib.Path(__file__).resolve().parents[1] / "bench"
sys.path.insert(0, str(BENCH))
import run_peers  # noqa: E402

ROUNDS = 3
STEPS_OF_WINDOW = {"mlp": 200, "cnn": 10}  # a step with convolutions takes JAX 40 ms and more
LEAST = 0.9  # times as fast as JAX


@dataclasses.dataclass
class Speed:
    model: str
    devices: int
    ours: list
    theirs: list

    @property
    def ratio(self):
        return statistics.median(ours / theirs for ours, theirs in zip(self.ours, self.theirs))

    def found(self):
        def numbers(rates):
            return f"{statistics.median(rates):,.0f} ({min(rates):,.0f} to {max(rates):,.0f})"

        return (f"{numbers(self.ours)} and {numbers(self.theirs)} examples/s: {self.ratio:.2f} times as fast as JAX")


def contenders(options, devices):
    """dtrain and JAX on as many cores as devices, each with the same number of threads."""
    cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[:devices]))
    settings = {"strategy.kind": "tpu", "strategy.replicas": devices, "strategy.plugin": options.plugin,
                "strategy.threads_per_replica": "auto", "data.path": options.data, "data.dataset": options.dataset,
                "train.max_steps": "{steps}", "metrics.every_steps": "{window}"}
    command = [shutil.which("taskset"), "-c", cores, str(options.program), "run", str(BENCH / "{model}.yaml"), "--json",
               "--run-dir", "{directory}/run"]
    for path, value in settings.items():
        command += ["--set", f"{path}={value}"]
    # XLA's threads: with fewer, its all-reduce waits for ever.
    threads = {"NPROC": str(4 * devices)} if devices > 1 else {}
    flags = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}", **threads}
    ours = run_peers.Contender("dtrain", devices, command, environment=flags)
    jax = [str(options.jax), str(BENCH / "jax_scan.py"), "--model={model}", f"--data={options.data}", "--batch={batch}",
           "--steps={steps}", "--window={window}", f"--replicas={devices}"]
    return ours, run_peers.Contender("JAX", devices, jax, environment=threads)


def measure(options):
    """Yields each. In turn, so that what else the machine does is the same for both."""
    for devices in (1, 2):
        if len(os.sched_getaffinity(0)) < devices:
            continue
        ours, theirs = contenders(options, devices)
        for model in ("mlp", "cnn"):
            speed = Speed(model, devices, [], [])
            for number in range(ROUNDS):
                pair = [(ours, speed.ours), (theirs, speed.theirs)]
                for contender, rates in pair if number % 2 == 0 else reversed(pair):
                    rates.append(run_peers.throughput(contender, model, STEPS_OF_WINDOW[model])[0])
            yield speed
