"""Searches with Optuna what tests/app/experiments/tpe_test.cpp searches, and compares the medians that it prints
(lines "branin TPE RANDOM" on the standard input) with Optuna's; see scripts/check_tune."""
import csv
import math
import os
import statistics
import sys

import optuna

GRID = os.path.join(os.path.dirname(__file__), "../../tests/golden/tune/grid.csv")
TRIALS, SEEDS = 40, 20


def branin(trial):
    x, y = trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)
    curve = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return curve**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


SCALE = [1, 1.2, 3, 3.2]
WIDTH = [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
MIDDLE = [[0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886], [0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991],
          [0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650], [0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381]]


def hartmann6(trial):
    x = [trial.suggest_float(name, 0, 1) for name in "abcdef"]
    return -sum(scale * math.exp(-sum(w * (v - m)**2 for w, v, m in zip(widths, x, middles)))
                for scale, widths, middles in zip(SCALE, WIDTH, MIDDLE))


def recorded_grid():
    with open(GRID, encoding="ascii") as file:
        losses = {tuple(row[:-1]): float(row[-1]) for row in csv.reader(file)}

    def grid(trial):
        return losses[str(trial.suggest_int("rate", 0, 9)), str(trial.suggest_int("units", 0, 4)),
                      str(trial.suggest_int("batch", 0, 2)), trial.suggest_categorical("optimizer", ["sgd", "adam"])]
    return grid


def median_of_bests(function, sampler):
    bests = []
    for seed in range(SEEDS):
        study = optuna.create_study(sampler=sampler(seed))
        study.optimize(function, n_trials=TRIALS)
        bests.append(study.best_value)
    return statistics.median(bests)


def main():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    functions = {"branin": branin, "hartmann6": hartmann6, "grid": recorded_grid()}
    worse = False
    print(f"median of the best of {TRIALS} trials over {SEEDS} seeds, lower is better; Optuna {optuna.__version__}")
    for line in sys.stdin:
        words = line.split()
        if len(words) != 3 or words[0] not in functions:
            continue
        function = functions.pop(words[0])
        optunas = median_of_bests(function, lambda seed: optuna.samplers.TPESampler(seed=seed))
        is_worse = float(words[1]) > optunas
        worse |= is_worse
        print(f"{'FAILED ' if is_worse else 'ok     '} {words[0]}: dtrain {float(words[1]):.6g}, "
              f"Optuna {optunas:.6g}, at random {float(words[2]):.6g}")
    if functions:
        sys.exit(f"the tests printed nothing of {', '.join(functions)}")
    sys.exit(worse)


if __name__ == "__main__":
    main()
