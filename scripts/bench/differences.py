"""What checks against other programs share: a command's output, and differences with their limits."""

import subprocess
import sys

import numpy


class Failures:
    count = 0


def report(what, difference, most):
    passed = difference <= most
    Failures.count += not passed
    print(f"{'ok    ' if passed else 'FAILED'} {what}: {difference:.1e} (at most {most:.0e})", flush=True)


def difference(ours, theirs):
    """The largest difference, as a part of the largest number."""
    theirs = numpy.asarray(theirs, numpy.float64)
    ours = numpy.asarray(ours, numpy.float64).reshape(theirs.shape)
    return float(numpy.abs(ours - theirs).max() / max(numpy.abs(theirs).max(), 1e-30))


def command(*arguments):
    done = subprocess.run([str(one) for one in arguments], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))}\n{done.stdout}{done.stderr}")
    return done.stdout
