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
    for file in sorted(folder.glob("*.softmax.pt")):
        name = file.name.removesuffix(".softmax.pt")
        own = torch.tensor(json.loads((folder / f"{name}.json").read_text())["probabilities"])
        about = {"dtrain.json": ""}
        model = torch.jit.load(file, _extra_files=about)
        with torch.no_grad():
            same = torch.allclose(model(images[:len(own)]).double(), own.double(), atol=1e-5)
        same = same and json.loads(json.loads(about["dtrain.json"])["classes"])[9] == "Ankle boot"
        print("ok     " if same else "FAILED ", f"{name}: PyTorch's probabilities are dtrain's, and it knows the classes",
              flush=True)
        if not same:
            sys.exit(1)
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
