"""What scripts/check_tpu checks: trainings on a plugin for processors against mirrored, failures, compiling for TPUs.

Prints and writes a report; exits with 1 if anything is not as it should be.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import platform
import re
import signal
import subprocess
import sys
import time

import speed

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = "--xla_force_host_platform_device_count={}"
DATA = "{dataset: mnist, fallback: fashion_mnist, train_examples: TRAIN, test_examples: 500}"
EVERY_LAYER = """  kind: layers
  layers:
    - {kind: conv2d, filters: 8, kernel_size: 3, activation: relu, name: first}
    - {kind: batch_norm}
    - {kind: relu, name: kept}
    - {kind: conv2d, filters: 8, kernel_size: 3, padding: same}
    - {kind: add, with: kept}
    - {kind: relu6}
    - {kind: max_pool2d, pool_size: 2}
    - {kind: conv2d, filters: 16, kernel_size: 3, groups: 8}
    - {kind: gelu}
    - {kind: avg_pool2d, pool_size: 2}
    - {kind: layer_norm}
    - {kind: group_norm, groups: 4}
    - {kind: adaptive_avg_pool2d, output_size: 3}
    - {kind: tanh}
    - {kind: flatten}
    - {kind: dense, units: 32, activation: sigmoid}
    - {kind: dense, units: 10}
"""
# Whose steps draw numbers and have statistics that move.
DRAWING = """  kind: layers
  layers:
    - {kind: flatten}
    - {kind: dense, units: 64}
    - {kind: batch_norm}
    - {kind: relu}
    - {kind: dropout, rate: 0.5}
    - {kind: dense, units: 10}
"""
# A deeper one is no measure: from such weights mirrored itself is not the same in float32 and float64 after ten steps.
RESIDUAL = """  kind: layers
  layers:
    - {kind: conv2d, filters: 8, kernel_size: 3, padding: same}
    - {kind: batch_norm}
    - {kind: relu, name: first}
    - {kind: conv2d, filters: 8, kernel_size: 3, padding: same}
    - {kind: batch_norm}
    - {kind: relu}
    - {kind: conv2d, filters: 8, kernel_size: 3, padding: same}
    - {kind: batch_norm, name: second}
    - {kind: add, with: first}
    - {kind: relu, name: third}
    - {kind: conv2d, filters: 16, kernel_size: 1, stride: 2, name: short, from: third}
    - {kind: conv2d, filters: 16, kernel_size: 3, stride: 2, padding: same, from: third}
    - {kind: batch_norm}
    - {kind: add, with: short}
    - {kind: relu}
    - {kind: global_avg_pool2d}
    - {kind: dense, units: 10}
"""
# name: (model, training examples of an epoch, batch of a replica, optimizer, tolerance of the losses of 50 steps)
MODELS = {
    # Not Adam, whose first updates have one size however small a gradient is: a ReLU that a rounding moves to the
    # other side of 0 then shows in the fourth digit.
    "MLP": ("  kind: mlp\n  hidden: [256, 128]\n", 3000, 64, "{kind: sgd, learning_rate: 0.05, momentum: 0.9}", 1e-5),
    # With 0.05 its losses rise and fall, and mirrored differs by 1e-4 from itself in float64.
    "CNN": ("  kind: cnn\n", 1500, 16, "{kind: sgd, learning_rate: 0.02, momentum: 0.9}", 1e-4),
    "every layer": (EVERY_LAYER, 1500, 16, "{kind: sgd, learning_rate: 0.02, momentum: 0.9}", 1e-3),
    "residual": (RESIDUAL, 1500, 16, "{kind: sgd, learning_rate: 0.003, momentum: 0.9, weight_decay: 5.0e-4}", 1e-3),
}


# Whose convolutions libtpu takes long for, some of them minutes.
SLOW = ("cats_vs_dogs_transfer", "cifar10", "flowers", "flowers_mirrored", "mnist_99", "mnist_batch_norm",
        "mnist_resnet", "mnist_tutorial")


class Check:
    def __init__(self, options):
        self.options = options
        self.lines = []
        self.failed = 0
        self.runs = 0
        self.started = time.time()

    def say(self, line=""):
        print(line, flush=True)
        self.lines.append(line)

    def claim(self, what, holds, found):
        self.failed += not holds
        self.say(f"| {what} | {found} | {'yes' if holds else '**no**'} |")

    def attempt(self, what, body):
        """`body` returns whether it holds, and what was found."""
        try:
            self.claim(what, *body())
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            self.claim(what, False, str(error).strip().replace("\n", " ").replace("|", "/")[-300:])

    def table(self, title, what="claim"):
        self.say(f"\n## {title}\n\n| {what} | found | holds |\n| --- | --- | --- |")

    def spec(self, model, examples, batch, optimizer, more=""):
        path = self.options.folder / f"job{self.runs}.yaml"
        path.write_text(f"name: check\nseed: 7\ndata: {DATA.replace('TRAIN', str(examples))}\n"
                        f"batch: {{per_replica: {batch}}}\nmodel:\n{model}"
                        f"train:\n  max_steps: 50\n  epochs: 1000\n  optimizer: {optimizer}\n"
                        f"metrics: {{every_steps: 1, skip_steps: 0}}\nevaluate: {{every_epochs: 1}}\n{more}")
        return path

    def dtrain(self, *arguments, devices=4, variables=None, limit=300):
        environment = {**os.environ, "XLA_FLAGS": FLAGS.format(devices), **(variables or {})}
        return subprocess.run([str(self.options.program), *map(str, arguments)], env=environment, text=True,
                              capture_output=True, timeout=limit, check=False)

    def train(self, spec, *settings, devices=4, resume=None, run=None):
        """Trains, and returns the run's folder, its losses by step, and the seconds that it took."""
        self.runs += 1
        folder = run or self.options.folder / f"run{self.runs}"
        arguments = ["run", spec, "--run-dir", folder, "--quiet"] + (["--resume"] if resume else [])
        for setting in settings:
            arguments += ["--set", setting]
        start = time.time()
        done = self.dtrain(*arguments, devices=devices)
        if done.returncode != 0:
            raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-2000:]}")
        return folder, self.losses(folder), time.time() - start

    def events(self, folder, kind):
        lines = (folder / "metrics.jsonl").read_text().splitlines()
        return [event for event in map(json.loads, lines) if event["event"] == kind]

    def losses(self, folder):
        return {event["step"]: event["loss"] for event in self.events(folder, "step")}

    def on_plugin(self, devices):
        return ["strategy.kind=tpu", f"strategy.replicas={devices}", f"strategy.plugin={self.options.plugin}"]

    @staticmethod
    def mirrored(replicas):
        return ["strategy.kind=mirrored", f"strategy.replicas={replicas}", "strategy.threads_per_replica=1"]


def difference(one, other):
    if one.keys() != other.keys():
        return float("inf")
    return max(abs(one[step] - other[step]) / max(1.0, abs(other[step])) for step in one)


def compare_trainings(check, names):
    check.table("50 steps against mirrored", "model, devices: the largest difference of a loss (relative above 1)")
    for name in names:
        model, examples, batch, optimizer, tolerance = MODELS[name]

        def compare(devices, job=(model, examples + 3, batch, optimizer), tolerance=tolerance):
            # The devices' copies of the variables are compared bit for bit after each ten steps; the last batch of an
            # epoch is smaller, and not as large for each device.
            spec = check.spec(*job, "checks: {every_steps: 10}\n")
            _, ours, took = check.train(spec, *check.on_plugin(devices), devices=devices)
            _, theirs, _ = check.train(spec, *check.mirrored(devices))
            worst = difference(ours, theirs)
            return (worst <= tolerance and len(ours) == 50,
                    f"{worst:.2g} over {len(ours)} steps, copies equal to the bit, {took:.1f} s")

        for devices in (1, 2, 4):
            check.attempt(f"{name}, {devices}: at most {tolerance:g}",
                          lambda devices=devices, compare=compare: compare(devices))
        check.attempt(f"{name}, 2, as for GPUs (train.step: xla): at most {tolerance:g}",
                      lambda name=name: compare_form_of_gpus(check, name))
    check.attempt("MLP, 2, examples that stay on the devices or are sent: equal", lambda: compare_places(check))
    check.attempt("two phases, windows of 10 steps in calls of 1, 4 or as many: equal",
                  lambda: compare_calls(check))


def compare_form_of_gpus(check, name):
    """Loops of a fixed length and other operations; some calls are not full."""
    model, examples, batch, optimizer, tolerance = MODELS[name]
    spec = check.spec(model, examples + 3, batch, optimizer)
    windows = ["metrics.every_steps=8"]
    by_xla = ["strategy.kind=mirrored", "strategy.replicas=2", "train.step=xla", "strategy.steps_per_execution=3",
              f"strategy.plugin={check.options.plugin}"]
    _, ours, took = check.train(spec, *by_xla, *windows, devices=2)
    _, theirs, _ = check.train(spec, *check.mirrored(2), *windows)
    worst = difference(ours, theirs)
    return worst <= tolerance and len(ours) > 5, f"{worst:.2g} over {len(ours)} windows, {took:.1f} s"


def compare_places(check):
    # A part of the stored examples is not trained on.
    spec = check.spec(*MODELS["MLP"][:4])
    losses = [check.train(spec, *check.on_plugin(2), f"cuda.data={place}", "data.split.validation=0.1", devices=2)[1]
              for place in ("resident", "uploaded")]
    worst = difference(*losses)
    return worst == 0, f"{worst:.2g} over {len(losses[0])} steps"


def compare_calls(check):
    """However many steps are a call. Phases, checks and checkpoints begin where steps wait, and the last batch of an
    epoch of 24 steps is smaller."""
    spec = check.options.folder / "calls.yaml"
    spec.write_text(f"name: calls\nseed: 7\ndata: {DATA.replace('TRAIN', '3003')}\nbatch: {{per_replica: 64}}\n"
                    f"model:\n{DRAWING}"
                    "train: {optimizer: {kind: adam}, ema: {decay: 0.9}}\n"
                    "phases:\n"
                    "  - {steps: 35, trainable: head, learning_rate: 1.0e-2}\n"
                    "  - {steps: 40, trainable: all, learning_rate: 1.0e-3}\n"
                    "metrics: {every_steps: 10, skip_steps: 3}\nevaluate: {every_epochs: 1}\n"
                    "checks: {every_steps: 13}\ncheckpoint: {every_steps: 16, keep: 1}\n")
    found = []
    for settings in (["strategy.steps_per_execution=1"], ["strategy.steps_per_execution=4"], [],
                     ["callbacks.terminate_on_nan=true"]):
        folder, losses, _ = check.train(spec, *check.on_plugin(2), *settings, devices=2)
        evaluated = {("evaluation", event["step"]): event["loss"] for event in check.events(folder, "eval")}
        found.append(losses | evaluated)
    worst = max(difference(found[0], other) for other in found[1:])
    return worst == 0 and len(found[0]) > 10, f"{worst:.2g} over {len(found[0])} windows and evaluations"


def exchange_checkpoints(check, names):
    check.table("A checkpoint goes on under the other strategy",
                "model: the largest difference of the losses of the next 5 steps, from the same run without a change")
    for name in names:
        model, examples, batch, optimizer, tolerance = MODELS[name]
        spec = check.spec(model, examples, batch, optimizer, "checkpoint: {every_steps: 25, keep: 3}\n")

        def exchange(first, second, spec=spec, tolerance=tolerance):
            def train(settings, steps, **more):
                folder, losses, _ = check.train(spec, *settings, f"train.max_steps={steps}", devices=2, **more)
                late = {step: loss for step, loss in losses.items() if step > 25}
                return folder, late | {"evaluation": check.events(folder, "eval")[-1]["loss"]}

            _, whole = train(first, 30)
            folder, _ = train(first, 25)
            _, resumed = train(second, 30, resume=True, run=folder)
            worst = difference(resumed, whole)
            return worst <= tolerance and 30 in resumed, f"{worst:.2g}"

        in_calls = [*check.on_plugin(2), "metrics.every_steps=25"]
        for first, second, title in ((check.mirrored(2), check.on_plugin(2), "mirrored, then tpu"),
                                     (check.on_plugin(2), check.mirrored(2), "tpu, then mirrored"),
                                     (in_calls, in_calls, "tpu, then tpu, calls of many steps")):
            check.attempt(f"{name}, {title}: at most {tolerance:g}",
                          lambda first=first, second=second, exchange=exchange: exchange(first, second))


def reach_accuracy(check):
    check.table("Accuracy on MNIST, two devices", "model")

    def reach(model, epochs, goal):
        spec = check.options.folder / "accuracy.yaml"
        spec.write_text(f"name: accuracy\nseed: 1\n"
                        f"data: {{dataset: {check.options.dataset}, path: {check.options.data}}}\n"
                        f"batch: {{per_replica: 64}}\nmodel:\n{model}"
                        f"train: {{epochs: {epochs}, optimizer: {{kind: adam, learning_rate: 2.0e-3}}}}\n")
        folder, _, took = check.train(spec, *check.on_plugin(2), devices=2)
        accuracy = check.events(folder, "eval")[-1]["accuracy"]
        dataset = check.events(folder, "run_start")[0]["dataset"]
        return accuracy >= (goal if dataset == "mnist" else 0.8), f"{accuracy:.4f} on {dataset}, {took:.1f} s"

    for name, epochs, goal in (("MLP", 3, 0.97), ("CNN", 2, 0.98)):
        check.attempt(f"{name}: at least {goal} after {epochs} epochs",
                      lambda name=name, epochs=epochs, goal=goal: reach(MODELS[name][0], epochs, goal))


def fail(check):
    check.table("Failures", "what is wrong")
    spec = check.spec(*MODELS["MLP"][:4])

    def failing(title, code, words, *settings, variables=None, devices=2):
        done = check.dtrain("run", spec, "--run-dir", check.options.folder / "failing", "--overwrite", "--quiet",
                            *[word for setting in settings for word in ("--set", setting)], variables=variables,
                            devices=devices)
        last = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else ""
        check.claim(f"{title}: exit code {code}", done.returncode == code and words in done.stderr,
                    f"{done.returncode}: {last[:160]}".replace("|", "/"))

    tpu = "strategy.kind=tpu"
    failing("a plugin that is not there", 2, "cannot be loaded", tpu, "strategy.plugin=/no/such/plugin.so")
    failing("a file that is no plugin", 2, "is no plugin", tpu,
            f"strategy.plugin={check.options.program.parent}/libdtrain_pjrt.so")
    failing("libtpu without a TPU", 2, "jellyfish", tpu, f"strategy.plugin={check.options.libtpu}")
    failing("more replicas than devices", 2, "strategy.replicas is 4", *check.on_plugin(4))
    failing("no TPU, and none is named", 2, "tpu cannot be used", tpu)
    folder, _, _ = check.train(spec, tpu, "strategy.fallback=true", "strategy.replicas=2")
    start = check.events(folder, "run_start")[0]
    check.claim("the same with strategy.fallback: mirrored trains", start["strategy"] == "mirrored" and
                "strategy_fallback" in start, start.get("strategy_fallback", "not announced"))
    diverge(check)
    kill(check)


def diverge(check):
    """The losses are read at the end of a window, and the same step is named."""
    spec = check.spec(*MODELS["MLP"][:4])
    found = []
    for settings in (check.on_plugin(2), check.mirrored(2)):
        done = check.dtrain("run", spec, "--run-dir", check.options.folder / "diverging", "--overwrite", "--quiet",
                            *[word for setting in settings for word in ("--set", setting)],
                            "--set", "train.optimizer.learning_rate=1000", "--set", "metrics.every_steps=10",
                            devices=2)
        step = re.search(r"the loss is not finite by step \d+", done.stderr)
        found.append((done.returncode, step and step[0]))
    check.claim("training diverges: exit code 6, at the step that mirrored names",
                found[0] == found[1] and found[0][0] == 6, f"{found[0][0]}: {found[0][1]}; {found[1][1]}")


def kill(check):
    spec = check.spec(*MODELS["MLP"][:4])
    folder = check.options.folder / "killed"
    command = [str(check.options.program), "run", str(spec), "--run-dir", str(folder), "--quiet"]
    for setting in [*check.on_plugin(2), "train.max_steps=none"]:
        command += ["--set", setting]
    environment = dict(os.environ, XLA_FLAGS=FLAGS.format(2))
    job = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    children = []
    for _ in range(300):
        time.sleep(0.1)
        found = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(job.pid)], capture_output=True, text=True,
                               check=False)
        children = [int(line.split()[0]) for line in found.stdout.splitlines() if " replica " in line]
        metrics = folder / "metrics.jsonl"
        if children and metrics.exists() and '"step"' in metrics.read_text():
            break
    os.kill(children[0], signal.SIGKILL)
    _, errors = job.communicate(timeout=60)
    check.claim("the process that trains is killed: exit code 4", job.returncode == 4,
                f"{job.returncode}: {errors.strip().splitlines()[-1][:160]}".replace("|", "/"))


def shipped_jobs():
    return sorted((ROOT / "configs").glob("*.yaml"))


def without_sections(text, *sections):
    for section in sections:
        text = re.sub(rf"^{section}:.*\n(?:^[ #-].*\n)*", "", text, flags=re.MULTILINE)
    return text


def two_at_once(check, jobs, body):
    """Claims what `body` finds for each of the jobs. Two at once, because compilers do not always use all cores."""
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for job, found in [(job, pool.submit(body, job)) for job in jobs]:
            check.attempt(job.stem, found.result)


def make_tables(check):
    """Those that shipped jobs train on."""
    tables = check.options.folder / "tables"
    if not tables.exists():
        subprocess.run([ROOT / "scripts/make_table", tables], stdout=subprocess.DEVNULL, check=True)


def job_for_devices(check, config):
    """The text of a shipped job without a strategy and without what tpu does not take: the same update in one pass, in
    float32, in the layout that the compiler chooses."""
    table = re.search(r"^  path: \S*/(\w+\.csv)", config.read_text(), re.MULTILINE)
    path = check.options.folder / "tables" / table[1] if table else None
    plan = check.dtrain("plan", config, "--json", *(["--set", f"data.path={path}"] if table else []))
    if plan.returncode != 0:
        raise RuntimeError(plan.stderr)
    text = without_sections(json.loads(plan.stdout)["spec"], "strategy", "cuda", "hosts", "compare", "network")
    names = "channels_last|precision|step|dtype|accumulate_steps|tensorboard_histograms|start_step"
    return re.sub(rf"^ +({names}):.*\n", "", text, flags=re.MULTILINE)


def train_shipped(check):
    check.table("The shipped jobs, two devices, 5 steps with batches of 16, against mirrored: at most 1e-4",
                "job: the largest difference of a loss (relative above 1)")
    make_tables(check)

    def train(config):
        text = without_sections(job_for_devices(check, config), "checkpoint", "callbacks", "metrics")
        # Dropout draws other numbers, and with large steps mirrored differs from itself in float64.
        text = re.sub(r"^( +dropout):.*", r"\1: 0", text, flags=re.MULTILINE)
        spec = check.options.folder / f"shipped-{config.stem}.yaml"
        spec.write_text(text + "metrics: {every_steps: 1, skip_steps: 0}\n")
        settings = ["batch.per_replica=16", "train.max_steps=5"]
        if "piecewise" not in text:  # which begins with it
            settings.append("train.optimizer.learning_rate=1e-3")
        if "dataset: csv" not in text:
            settings += ["data.train_examples=200", "data.test_examples=50"]
        folder = check.options.folder / config.stem
        _, ours, took = check.train(spec, *check.on_plugin(2), *settings, devices=2, run=folder / "tpu")
        _, theirs, _ = check.train(spec, *check.mirrored(2), *settings, run=folder / "mirrored")
        worst = difference(ours, theirs)
        return worst <= 1e-4 and len(ours) == 5, f"{worst:.2g} over {len(ours)} steps, {took:.1f} s"

    two_at_once(check, shipped_jobs(), train)


def compile_ahead(check):
    check.table("Compiled by libtpu for v5e 2x2, four devices (float32)", "job")
    variables = {"TPU_LIBRARY_PATH": str(check.options.libtpu)}
    make_tables(check)

    def compile_job(config):
        quick = config.stem in SLOW
        spec = check.options.folder / f"ahead-{config.stem}.yaml"
        strategy = f"strategy: {{kind: tpu, quick_compile: {str(quick).lower()}}}\n"
        spec.write_text(job_for_devices(check, config) + strategy)
        done = check.dtrain("plan", spec, "--compile-for", "v5e:2x2", "--json", variables=variables, limit=300)
        made = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        found = "; ".join(f"{each['program']} {each['seconds']:.1f} s, {each['executable_bytes'] / 2**20:.1f} MiB"
                          for each in made)
        return (done.returncode == 0 and len(made) >= 2,
                found + ", with quick_compile" * quick if found
                else done.stderr.strip().replace("\n", " ").replace("|", "/")[-200:])

    two_at_once(check, shipped_jobs(), compile_job)


def kernels_of_a_step(folder):
    """What XLA's report of a training step lists in the body of its loop, or in all of it if it has none."""
    reports = list(folder.glob("*training_step*thunk_sequence_after_thunk_passes.txt"))
    lines = max(reports, key=lambda path: path.stat().st_mtime).read_text().splitlines()
    body = next((i for i, line in enumerate(lines) if line.strip() == "body:"), 0)
    return sum(bool(re.match(r" *\d+: k(?!CommandBuffer|While|Copy)", line)) for line in lines[body:])


def compile_for_gpus(check):
    check.table("Compiled by XLA for an H200, one device (train.step: xla)", "job")
    make_tables(check)

    def compile_job(config):
        spec = check.options.folder / f"gpu-{config.stem}.yaml"
        spec.write_text(job_for_devices(check, config))
        reports = check.options.folder / f"xla-{config.stem}"
        variables = {"XLA_FLAGS": f"--xla_dump_to={reports} --xla_dump_hlo_as_text"}
        done = check.dtrain("plan", spec, "--set", "train.step=xla", "--set", f"strategy.plugin={check.options.xla}",
                            "--compile-for", "h200:1", "--json", variables=variables, limit=300)
        made = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        if done.returncode != 0 or len(made) < 2:
            return False, done.stderr.strip().replace("\n", " ").replace("|", "/")[-200:]
        seconds = sum(each["seconds"] for each in made)
        return True, f"{kernels_of_a_step(reports)} kernels and library calls a step, {seconds:.1f} s in all"

    two_at_once(check, shipped_jobs(), compile_job)


def compare_speed(check):
    check.table(f"Speed against JAX, batches of 64, Adam, a core for each device, {speed.ROUNDS} rounds",
                "model, devices: medians of dtrain and JAX")
    for each in speed.measure(check.options):
        check.claim(f"{each.model}, {each.devices}: at least {speed.LEAST}", each.ratio >= speed.LEAST, each.found())


PARTS = {
    "trainings": lambda check: compare_trainings(check, ["MLP"] if check.options.quick else MODELS),
    "shipped": train_shipped,
    "checkpoints": lambda check: exchange_checkpoints(check, ["MLP"] if check.options.quick else ["MLP", "residual"]),
    "failures": fail,
    "accuracy": reach_accuracy,
    "speed": compare_speed,
    "compiling": compile_ahead,
    "gpus": compile_for_gpus,
}
QUICK = ("trainings", "checkpoints", "failures")


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "plugin", "libtpu", "xla", "jax", "data", "folder", "report"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--dataset", required=True)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=PARTS)
    check = Check(parser.parse_args())
    quick = check.options.quick
    version = check.dtrain("--version").stdout.strip()
    check.say(f"# The strategy tpu, without a TPU\n\n{version}, {platform.processor() or platform.machine()}, "
              f"{os.cpu_count()} cores, {time.strftime('%Y-%m-%d')}. The devices are those of a plugin for processors.")
    for name, part in PARTS.items():
        if check.options.only in (None, name) and (name in QUICK or not quick):
            part(check)
    took = time.time() - check.started
    check.say(f"\n{'All of it holds' if check.failed == 0 else f'{check.failed} do not hold'}, in {took:.0f} s.")
    check.options.report.parent.mkdir(parents=True, exist_ok=True)
    check.options.report.write_text("\n".join(check.lines) + "\n")
    sys.exit(check.failed > 0)


if __name__ == "__main__":
    main()
