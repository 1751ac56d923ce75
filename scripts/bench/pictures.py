"""Compares the decoded and scaled pixels in dtrain's cache with Pillow's and torchvision's, also of pictures that are
turned by their metadata or transparent, and of odd kinds of TIFF, GIF and BMP. Started by scripts/check_pictures."""

import collections
import os
import pathlib
import shutil
import subprocess
import sys

import numpy
import PIL.Image
import PIL.ImageOps
import PIL.PngImagePlugin
import torch
from picture_formats import open_deep, write_formats
from torchvision.transforms.v2 import functional

HEADER = 4096  # bytes of a file of the cache before the pixels
CHECKSUM = 8  # bytes for each picture after them
JOB = """
data:
  {{dataset: image_folder, path: {path}, split: {{test: 0.5}},
  image: {{size: {size}, fit: {fit}, scaled_decoding: {scaled}}}}}
batch: {{per_replica: 1}}
model: {{kind: mlp, hidden: []}}
train: {{max_steps: 0}}
checkpoint: {{final: false}}
"""


def pixels_of(program, pictures, folder, size, fit="stretch", scaled="false"):
    """All pictures by class and name as dtrain decodes them, [n, 3, height, width]."""
    job, cache = folder / "job.yaml", folder / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    job.write_text(JOB.format(path=pictures, size=size, fit=fit, scaled=scaled))
    subprocess.run(
        [program, "run", job, "--run-dir", folder / f"run-{len(list(folder.iterdir()))}"],
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        check=True,
        capture_output=True,
    )
    (file,) = (cache / "dtrain" / "data").glob("*.images")
    pixels = 3 * size[0] * size[1]
    count = (file.stat().st_size - HEADER) // (pixels + CHECKSUM)
    return numpy.fromfile(file, numpy.uint8, offset=HEADER, count=count * pixels).reshape(-1, 3, *size)


def open_picture(path):
    picture = PIL.ImageOps.exif_transpose(PIL.Image.open(path))
    if picture.mode.startswith("I;16"):
        picture = open_deep(picture)
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        picture = PIL.Image.alpha_composite(PIL.Image.new("RGBA", picture.size, "white"), picture)
    return torch.from_numpy(numpy.asarray(picture.convert("RGB")).copy()).permute(2, 0, 1)


def write_odd_pictures(folder, side):
    """Noise in every orientation and kind of opacity, with and without gamma."""
    (folder / "turned").mkdir(parents=True)
    (folder / "transparent").mkdir()
    noise = numpy.random.default_rng(1).integers(0, 256, (side, side, 4), dtype=numpy.uint8)
    for orientation in range(1, 9):
        exif = PIL.Image.Exif()
        exif[0x0112] = orientation
        colours = PIL.Image.fromarray(noise[..., :3])
        for ending, options in (("jpg", {"quality": 95}), ("png", {}), ("webp", {"lossless": True})):
            colours.save(folder / "turned" / f"{orientation}.{ending}", exif=exif, **options)
    for gamma in (None, 100000, 55556):
        chunks = PIL.PngImagePlugin.PngInfo()
        if gamma:
            chunks.add(b"gAMA", gamma.to_bytes(4, "big"))
        place = folder / "transparent"
        PIL.Image.fromarray(noise).save(place / f"colour-{gamma}.png", pnginfo=chunks)
        PIL.Image.fromarray(noise[..., :2]).save(place / f"grey-{gamma}.png", pnginfo=chunks)
        palette = PIL.Image.fromarray(noise[..., :3]).quantize(64)
        palette.save(place / f"palette-{gamma}.png", pnginfo=chunks, transparency=bytes(range(0, 256, 4)))
        PIL.Image.fromarray(noise[..., :3]).save(place / f"opaque-{gamma}.png", pnginfo=chunks)
    PIL.Image.fromarray(noise).save(folder / "transparent" / "colour.webp", lossless=True, exact=True)


def scaled_by_torchvision(path, size, fit):
    picture = open_picture(path)
    if fit == "stretch":
        return functional.resize(picture, list(size), antialias=True)
    _, height, width = picture.shape
    factor = max(size[0] / height, size[1] / width)
    sides = [max(size[0], round(height * factor)), max(size[1], round(width * factor))]
    covering = functional.resize(picture, sides, antialias=True)
    top, left = (sides[0] - size[0]) // 2, (sides[1] - size[1]) // 2  # center_crop() rounds half a pixel to even
    return covering[:, top : top + size[0], left : left + size[1]]


def report(name, ours, theirs, most_on_average, most):
    pairs = zip(ours, theirs, strict=True)
    differences = [numpy.abs(one.astype(int) - other.numpy().astype(int)) for one, other in pairs]
    average = numpy.mean([difference.mean() for difference in differences])
    largest = max(difference.max() for difference in differences)
    passed = average <= most_on_average and largest <= most
    print(
        f"{'ok    ' if passed else 'FAILED'} {name}: {len(ours)} pictures, {average:.4f} levels of 255 on average, "
        f"at most {largest} (targets: {most_on_average}, {most})"
    )
    return passed


def main():
    program, pictures, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    paths = sorted(pictures.glob("*/*.jpg"), key=lambda path: (path.parent.name, path.name))
    results = []

    odd, side = folder / "odd", 64
    write_odd_pictures(odd, side)
    theirs = [open_picture(path) for path in sorted(odd.glob("*/*"), key=lambda path: (path.parent.name, path.name))]
    ours = pixels_of(program, odd, folder, [side, side])
    results.append(report("turned and transparent, against Pillow", ours, theirs, 0, 0))

    formats = folder / "formats"
    write_formats(formats, side)
    names = sorted(formats.glob("*/*"), key=lambda path: (path.parent.name, path.name))
    theirs = [open_picture(path) for path in names]
    ours = pixels_of(program, formats, folder, [side, side])
    results.append(report("TIFF, GIF and BMP, against Pillow", ours, theirs, 0, 0))
    for name, one, other in zip(names, ours, theirs, strict=True):
        if not numpy.array_equal(one, other.numpy()):
            print(f"  {name.parent.name}/{name.name} differs")

    # Those of the most frequent size are compared without scaling.
    sizes = {path: PIL.Image.open(path).size for path in paths}
    width, height = collections.Counter(sizes.values()).most_common(1)[0][0]
    same = [path for path in paths if sizes[path] == (width, height)]
    chosen = folder / "chosen"
    for index, path in enumerate(same):
        (chosen / f"class{index % 2}").mkdir(parents=True, exist_ok=True)
        shutil.copy(path, chosen / f"class{index % 2}" / path.name)
    decoded = pixels_of(program, chosen, folder, [height, width])
    theirs = [open_picture(path) for path in sorted(chosen.glob("*/*.jpg"))]
    results.append(report("decoded, against Pillow", decoded, theirs, 1, 255))

    for fit in ("stretch", "crop"):
        size = [128, 128]
        ours = pixels_of(program, pictures, folder, size, fit)
        theirs = [scaled_by_torchvision(path, size, fit) for path in paths]
        results.append(report(f"decoded and scaled ({fit}), against Pillow and torchvision", ours, theirs, 1, 255))
        if fit == "stretch":
            fast = pixels_of(program, pictures, folder, size, fit, "true")
            results.append(report("with scaled_decoding, against the same", fast, theirs, 5, 255))
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
