"""What the checks of scripts/bench/run_gpu.py are made with: commands with time limits, rates of contenders that run in
turn, and the report. It is written anew after every row, so that an end at any moment costs only what was running."""

import concurrent.futures
import contextlib
import dataclasses
import datetime
import functools
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
WINDOWS = 8  # timed, of each run
WARM_UP = 2  # windows
BAD_USAGE = 2  # dtrain's exit code for a job that it does not take


class Failed(Exception):
    """A run that did not do what it should; the text says why."""


class TooSlow(Failed):
    """A run that exceeded a limit of its own."""


class TimeOver(Failed):
    """A run for which the time of its check, or of all checks, did not suffice."""


@dataclasses.dataclass
class Row:
    check: str
    name: str
    result: str
    target: str = ""
    reached: bool | None = None  # none: it says nothing about dtrain


@dataclasses.dataclass
class Contender:
    run: object  # (check, steps, window, limit) -> events
    is_ours: bool
    window: int  # steps; reported together, and timed together
    limit: float  # seconds, of one run


@dataclasses.dataclass
class Cell:
    """Contenders with the same work, and which of them should be how many times as fast as which other."""

    name: str
    batch: int
    contenders: dict
    targets: list  # of (contender, other contender, least ratio)
    rates: dict = dataclasses.field(default_factory=dict)  # examples/s by contender, one of each round
    failures: dict = dataclasses.field(default_factory=dict)  # by contender


def time_of(event):
    return datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00")).timestamp()


def value_of(outcome):
    """What a function returned that Check.at_once has run; what it failed with fails here."""
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def last(events, kind, run="distributed"):
    """The last event of its kind in an outcome of Check.at_once."""
    found = [event for event in value_of(events) if event.get("event") == kind and event.get("run", run) == run]
    if not found:
        raise Failed(f"no {kind} event")
    return found[-1]


def rate_of(events, window, batch):
    """Examples/s in the windows between `step` events: the mean of the middle half of their durations. (Times are in
    milliseconds, too coarse for a median of windows of a tenth of a second.)"""
    times = [time_of(event) for event in events if event.get("event") == "step" and event["step"] % window == 0]
    durations = sorted(end - begin for begin, end in zip(times[WARM_UP - 1 :], times[WARM_UP:]))
    if len(durations) < WINDOWS // 2:
        raise Failed("too few windows were timed")
    middle = durations[len(durations) // 4 : -(len(durations) // 4)]
    return window * batch / statistics.mean(middle)


def end_group(process):
    """Ends a command with everything that it has started, and waits for it."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


class Bench:
    """Rows, rates, and the time that is left for all checks."""

    def __init__(self, options):
        self.options = options
        self.started = time.monotonic() - options.spent
        self.end = self.started + 60 * options.minutes
        self.rows = []
        self.cells = {}
        self.too_slow = {}  # contenders that are left out from now on, with the reason
        self.facts = {"date": datetime.date.today().isoformat()}
        self.lock = threading.Lock()
        self.running = set()  # processes, each with a group of its own
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, self.stop)

    def stop(self, number, _):
        """A signal ends everything that was started; what is done is in the report."""
        for process in list(self.running):
            end_group(process)
        os._exit(128 + number)

    def check(self, name, body, limit, if_time):
        """Runs one check. Whatever goes wrong in it costs nothing else. If `if_time`, lack of time is no failure."""
        until = min(self.end, time.monotonic() + min(limit, self.options.check_limit))
        check = Check(self, name, until, if_time)
        if time.monotonic() >= self.end:
            return check.row(body.__doc__, "not run: the time was over", reached=None if if_time else False)
        try:
            body(check)
        except Exception as failure:  # anything, not only Failed
            text = str(failure) if isinstance(failure, Failed) else repr(failure)
            check.row(body.__doc__, text, reached=False)

    def add(self, row):
        with self.lock:
            names = [old.name for old in self.rows]
            if row.name in names:  # from an earlier round
                self.rows[names.index(row.name)] = row
            else:
                self.rows.append(row)
            self.write()
        at = time.monotonic() - self.started
        aim = f" (target: {row.target})" if row.target else ""
        print(f"[{at:5.1f} s] {row.name}: {row.result}{aim} {mark_of(row)}", file=sys.stderr, flush=True)

    def write(self):
        seconds = round(time.monotonic() - self.started)
        replace(self.options.out, markdown(self.facts, self.rows, seconds))
        if self.options.json:
            rates = {name: cell.rates for name, cell in self.cells.items()}
            rows = [dataclasses.asdict(row) for row in self.rows]
            report = {**self.facts, "seconds": seconds, "rows": rows, "examples_per_second": rates}
            replace(self.options.json, json.dumps(report, indent=1))


class Check:
    """One check, which ends before `until`, of the monotonic clock."""

    def __init__(self, bench, name, until, if_time):
        self.bench, self.name, self.until, self.if_time = bench, name, until, if_time
        self.options = bench.options

    def row(self, name, result, target="", reached=None):
        self.bench.add(Row(self.name, name, result, target, reached))

    def left(self):
        """The seconds that this check still has."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeOver("no time was left")
        return left

    def run(self, command, limit=None, environment=None):
        """The events that a command prints: every line of JSON is one."""
        limit = min(limit or self.options.run_limit, self.options.run_limit)
        left = self.left()
        process = self.start(command, environment)
        try:
            output, errors = process.communicate(timeout=min(limit, left))
        except subprocess.TimeoutExpired:
            if limit <= left:
                raise TooSlow(f"took more than {limit:g} s") from None
            raise TimeOver(f"no time was left after {left:.0f} s of it") from None
        finally:
            self.end(process)
        if process.returncode != 0:
            refused = "refused" if process.returncode == BAD_USAGE else f"ended with {process.returncode}"
            raise Failed(f"{refused}: {(output[-300:] + errors[-700:]).strip()}")
        return [json.loads(line) for line in output.splitlines() if line.startswith("{")]

    def start(self, command, environment=None):
        process = subprocess.Popen(
            [str(part) for part in command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env={**os.environ, **(environment or {})},
        )
        self.bench.running.add(process)
        return process

    def end(self, process):
        end_group(process)
        self.bench.running.discard(process)

    def dtrain_command(self, folder, config, settings):
        command = [self.options.program, "run", HERE / config, "--json", "--overwrite", "--run-dir", f"{folder}/run"]
        every = {"data.path": self.options.data, "strategy.devices": "cuda:0", **settings}
        if every.get("data.dataset") == "synthetic":
            del every["data.path"]
        for path, value in every.items():
            command += ["--set", f"{path}={value}"]
        return command

    def dtrain(self, config, settings, limit=None):
        with tempfile.TemporaryDirectory(prefix="check-gpu-") as folder:
            return self.run(self.dtrain_command(folder, config, settings), limit)

    def jobs_at_once(self, config, jobs):
        """The outcomes of jobs that run at once: the settings of each by its name."""
        return self.at_once({name: functools.partial(self.dtrain, config, of_job) for name, of_job in jobs.items()})

    def python(self, script, model, batch, steps, window, *more, limit=None, environment=None):
        command = [self.options.python, HERE / script, f"--model={model}", f"--data={self.options.data}"]
        command += [f"--batch={batch}", f"--steps={steps}", f"--window={window}", *more]
        return self.run(command, limit, environment)

    @contextlib.contextmanager
    def row_of(self, name, target):
        """Yields what adds the row, (result, reached) -> None. If what is done meanwhile fails, the row says so."""
        try:
            yield lambda result, reached: self.row(name, result, target, reached)
        except Failed as failure:
            self.row(name, str(failure), target, False)

    @contextlib.contextmanager
    def started(self, command, kind):
        """A command that runs and has printed an event of a kind. It ends with the check at the latest."""
        left = self.left()
        job = self.start(command)
        timer = threading.Timer(left, end_group, [job])
        timer.start()
        try:
            for line in job.stdout:
                if line.startswith("{") and json.loads(line).get("event") == kind:
                    break
            else:
                raise Failed(f"ended with {job.wait()} before its first {kind}: {job.stderr.read()[-700:].strip()}")
            yield job
        finally:
            timer.cancel()
            self.end(job)

    @staticmethod
    def at_once(works):
        """The outcomes of functions that run at once, by name; of one that fails, its failure."""

        def outcome(work):
            try:
                return work()
            except Exception as failure:  # raised where the outcome is used
                return failure

        with concurrent.futures.ThreadPoolExecutor(len(works)) as pool:
            return dict(zip(works, pool.map(outcome, works.values())))

    def measure(self, cell, number, only=None):
        """One round: each contender in turn, another one first in every round. Rows are added, or replaced."""
        names = [name for name in cell.contenders if only is None or name in only]
        first = number % len(names)
        for name in names[first:] + names[:first]:
            if name in self.bench.too_slow:
                cell.failures.setdefault(name, TooSlow(self.bench.too_slow[name]))
                continue
            contender = cell.contenders[name]
            try:
                steps = contender.window * (WARM_UP + WINDOWS)
                events = contender.run(self, steps, contender.window, contender.limit)
                cell.rates.setdefault(name, []).append(rate_of(events, contender.window, cell.batch))
            except Failed as failure:
                cell.failures[name] = failure
                if isinstance(failure, TooSlow):
                    self.bench.too_slow[name] = f"{failure} in {cell.name}"
        for ours, theirs, target in cell.targets:
            if {ours, theirs} <= {*cell.rates, *cell.failures} and {ours, theirs} & set(names):
                self.compare(cell, ours, theirs, target)

    def is_at_fault(self, cell, name):
        """A peer that fails says nothing about dtrain."""
        if isinstance(cell.failures[name], TimeOver):
            return not self.if_time
        return cell.contenders[name].is_ours

    def compare(self, cell, ours, theirs, target):
        name = f"{cell.name}: {ours} against {theirs}"
        missing = [one for one in (ours, theirs) if one not in cell.rates]
        if missing:
            words = "; ".join(f"{one} {cell.failures[one]}" for one in missing)
            at_fault = any(self.is_at_fault(cell, one) for one in missing)
            return self.row(name, f"not measured: {words}", f">= {target} x", False if at_fault else None)
        our_rates, their_rates = cell.rates[ours], cell.rates[theirs]
        ratio = statistics.median(our_rates) / statistics.median(their_rates)
        text = f"{statistics.median(our_rates):,.0f} against {statistics.median(their_rates):,.0f} examples/s"
        text += f": {ratio:.2f} x"
        pairs = [a / b for a, b in zip(our_rates, their_rates)]
        if len(pairs) > 1:
            text += f" ({min(pairs):.2f} to {max(pairs):.2f})"
        return self.row(name, text, f">= {target} x", ratio >= target)


def mark_of(row):
    return "" if row.reached is None else "yes" if row.reached else "**no**"


def markdown(facts, rows, seconds):
    lines = [f"# dtrain on a GPU, {facts['date']}", ""]
    lines += [f"- {name}: {value}" for name, value in facts.items() if name != "date"]
    how = "Rates are means of the middle half of a run's windows, and medians over rounds in turn (lowest to highest ratio)."
    lines += ["", how, ""]
    lines += ["| check | result | target | reached |", "| --- | --- | --- | --- |"]
    for row in rows:
        cells = [str(cell).replace("|", "/") for cell in (row.name, row.result, row.target, mark_of(row))]
        lines.append("| " + " | ".join(" ".join(cell.split()) for cell in cells) + " |")
    return "\n".join([*lines, "", f"{seconds} s in all.", ""])


def replace(path, text):
    """Writes a file that is whole at every moment."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text)
    partial.rename(path)
