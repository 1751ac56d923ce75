"""Loads the TorchScript models that formats.py has had exported; see scripts/check_formats."""
import json
import pathlib
import sys

import numpy
import torch


def main():
    folder = pathlib.Path(sys.argv[1])
    test = numpy.load(folder / "test.npz")
    images, labels = torch.from_numpy(test["images"])[:, None], torch.from_numpy(test["labels"]).long()
    for file in sorted(folder.glob("*.torchscript")):
        own = json.loads(file.with_suffix(".json").read_text())
        model = torch.jit.load(file)
        for mode in ("evaluating", "training"):  # the same in both
            with torch.no_grad():
                logits = model.train(mode == "training")(images).double()
            loss = torch.nn.functional.cross_entropy(logits, labels).item()
            confusion = torch.bincount(labels * 10 + logits.argmax(1), minlength=100).view(10, 10)
            same = abs(loss - own["loss"]) < 1e-5 and confusion.tolist() == own["confusion"]
            print("ok     " if same else "FAILED ", f"{file.stem}: PyTorch's loss {loss:.7f} and every prediction are dtrain's",
                  f"({mode})", flush=True)
            if not same:
                sys.exit(1)


main()
