"""Reads the same pictures with dtrain, torchvision and tf.data on the same cores, in turn (--only data), or trains
configs/flowers_mirrored.yaml on them in dtrain and Keras (--only flowers), and writes a Markdown table. Started by
scripts/bench_peers."""

import argparse
import datetime
import os
import pathlib
import statistics
import sys
import tempfile

import run_peers

HERE = pathlib.Path(__file__).resolve().parent
BATCH = 64  # pictures of a step, over all replicas or workers
WINDOW = 20  # steps
WINDOWS = 8  # timed, of each run
WARM_UP = 3  # windows
COPIES = 20  # of each picture that is read, so that an epoch is long


class Contenders:
    """All read `pictures`, in batches of BATCH."""

    def __init__(self, options, pictures):
        self.options = options
        self.pictures = pictures

    def peer(self, name, environment, script, size=128, **variables):
        python = self.options.environments / environment / "bin" / "python"
        command = [str(python), str(HERE / script), "--pictures", str(self.pictures), "--batch", str(BATCH)]
        command += ["--steps", "{steps}", "--window", "{window}", "--size", str(size)]
        return run_peers.Contender(name, 1, command, environment=variables)

    def dtrain(self, name, job, size=128, **fields):
        settings = {
            "data.path": self.pictures,
            "data.image.size": f"[{size}, {size}]",
            "train.max_steps": "{steps}",
            "metrics.every_steps": "{window}",
            **{path.replace("__", "."): value for path, value in fields.items()},
        }
        command = [str(self.options.program), "run", str(job), "--json", "--run-dir", "{directory}/run"]
        for path, value in settings.items():
            command += ["--set", f"{path}={value}"]
        return run_peers.Contender(name, 1, command)

    def readers(self):
        job = HERE / "data.yaml"
        return [
            self.dtrain("dtrain, decoding", job, data__cache="none"),
            self.dtrain("dtrain, decoding at a fraction", job, data__cache="none", data__image__scaled_decoding="true"),
            self.peer("torchvision, 2 workers", "torch", "torchvision_data.py", OMP_NUM_THREADS="1"),
            self.peer("tf.data, 2 threads, no antialiasing", "tensorflow", "tf_data.py"),
            self.dtrain("dtrain, cached", job, data__cache="disk"),
            self.dtrain("dtrain, cached, 256 pixels", job, 256, data__cache="disk"),
        ]

    def networks(self):
        job = HERE.parents[1] / "configs" / "flowers_mirrored.yaml"
        endless = {"train__epochs": 1000000, "evaluate__every_epochs": 1000000, "compare__baseline": "none"}
        return [
            self.dtrain("dtrain, 2 replicas", job, **endless),
            self.peer("Keras MirroredStrategy, 2 replicas", "tensorflow", "tf_flowers.py"),
            self.dtrain("dtrain, one device, one thread", job, **endless, strategy__kind="one_device", strategy__replicas=1,
                        strategy__threads_per_replica=1, batch__per_replica=BATCH),
        ]


def pictures_per_second(contender):
    _, events, _ = run_peers.execute(contender, WINDOW * (WARM_UP + WINDOWS), WINDOW)
    times = [run_peers.time_of(event) for event in events if event["step"] % WINDOW == 0]
    durations = [end - begin for begin, end in zip(times[WARM_UP - 1 :], times[WARM_UP:])]
    return statistics.median(WINDOW * BATCH / duration for duration in durations)


def copy_pictures(source, target):
    for path in sorted(source.glob("*/*.jpg")):
        (target / path.parent.name).mkdir(exist_ok=True)
        content = path.read_bytes()
        for copy in range(COPIES):
            (target / path.parent.name / f"{copy}_{path.name}").write_bytes(content)


def table(names, rates):
    ours = statistics.median(rates[names[0]])
    lines = [
        f"{run_peers.processor()}, {len(os.sched_getaffinity(0))} cores; {run_peers.system()}; "
        f"{datetime.date.today().isoformat()}. Medians (lowest to highest).",
        "",
        f"| who | pictures/s | of {names[0]} |",
        "| --- | ---: | ---: |",
    ]
    for name in names:
        ratio = statistics.median(rates[name]) / ours
        lines.append(f"| {name} | {run_peers.spread(rates[name], '{:,.0f}')} | {ratio:.2f} x |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--environments", type=pathlib.Path, required=True)
    parser.add_argument("--pictures", type=pathlib.Path, required=True)
    parser.add_argument("--only", choices=["data", "flowers"], required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory(prefix="bench-data-") as folder:
        os.environ["XDG_CACHE_HOME"] = str(pathlib.Path(folder) / "cache")
        if options.only == "data":
            pictures = pathlib.Path(folder) / "pictures"
            pictures.mkdir()
            copy_pictures(options.pictures, pictures)
            everyone = Contenders(options, pictures).readers()
        else:
            everyone = Contenders(options, options.pictures.resolve()).networks()
        names = [contender.name for contender in everyone]
        rates = {name: [] for name in names}
        for number in range(options.rounds):
            # Another first one every round, so that nobody always follows the same neighbour.
            first = number % len(everyone)
            for contender in everyone[first:] + everyone[:first]:
                rates[contender.name].append(pictures_per_second(contender))
                print(
                    f"round {number + 1}/{options.rounds} {contender.name}: {rates[contender.name][-1]:,.0f} pictures/s",
                    file=sys.stderr,
                    flush=True,
                )
    text = table(names, rates)
    print(text)
    if options.out:
        options.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
