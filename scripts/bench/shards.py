"""Packs pictures into archives, and reads them with webdataset, which knows nothing of dtrain. Started by
scripts/check_pictures."""

import json
import os
import pathlib
import subprocess
import sys

import webdataset

JOB = """
data: {{dataset: image_folder, path: {path}, split: {{test: 0.3}}, image: {{size: [8, 8]}}}}
batch: {{per_replica: 1}}
model: {{kind: mlp, hidden: []}}
"""


def packed_alike(program, pictures, folder):
    """Whether webdataset finds every picture once, with its bytes and its class."""
    job, out = folder / "pack.yaml", folder / "shards"
    job.write_text(JOB.format(path=pictures))
    told = subprocess.run(
        [program, "data", "pack", job, "--out", out, "--shard-size", "2MB", "--json"],
        env={**os.environ, "XDG_CACHE_HOME": str(folder / "pack-cache")},
        check=True,
        capture_output=True,
        text=True,
    )
    parts = json.loads(told.stdout)["parts"]
    classes = json.loads((out / "shards.json").read_text())["classes"]
    found, shards = [], 0
    for part, counts in parts.items():
        paths = sorted(str(path) for path in (out / part).glob("*.tar"))
        shards += len(paths)
        samples = list(webdataset.WebDataset(paths, shardshuffle=False))
        if len(samples) != counts["pictures"] or len(paths) != counts["shards"]:
            print(f"  {part}: {len(samples)} pictures in {len(paths)} archives, where data pack says {counts}")
        for sample in samples:
            (content,) = (bytes for name, bytes in sample.items() if name != "cls" and not name.startswith("__"))
            found.append((classes[int(sample["cls"])], content))
    there = [(path.parent.name, path.read_bytes()) for path in pictures.glob("*/*")]
    alike = sorted(found) == sorted(there)
    print(f"{'ok    ' if alike else 'FAILED'} {len(found)} pictures in {shards} archives, read by webdataset")
    return alike


if __name__ == "__main__":
    sys.exit(0 if packed_alike(sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])) else 1)
