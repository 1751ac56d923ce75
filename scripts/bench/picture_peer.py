"""What the peers' readers of pictures share: options, the files, and the loop that reports."""

import argparse
import pathlib

import peer


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--pictures", type=pathlib.Path, required=True, help="folder with CLASS/*.jpg")
    parser.add_argument("--size", type=int, required=True, help="pixels of a side")
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--window", type=int, required=True, help="report every so many steps")
    return parser.parse_args()


def files_and_labels(folder):
    classes = sorted(path.name for path in folder.iterdir())
    found = [(str(path), classes.index(path.parent.name)) for path in sorted(folder.glob("*/*.jpg"))]
    return [path for path, _ in found], [label for _, label in found]


def read_all(batches, options):
    """Takes as many batches as asked for, and reports after each window."""
    for step, (pictures, _) in enumerate(batches, start=1):
        if step % options.window == 0:
            peer.report(step, pictures.shape[0])
        if step == options.steps:
            return
