"""Pictures in odd kinds of TIFF, GIF and BMP files, as Pillow and ImageMagick write them. Used by pictures.py."""

import itertools
import subprocess

import numpy
import PIL.Image

ORIENTATION, ROWS_PER_STRIP = 0x0112, 278

# ImageMagick's options by the file that they make, from colours with opacity (a), without (c), or greys (g).
MAGICK = {
    **{
        f"{source}-{packing}-{order}.tif": (source, ["-compress", packing, "-endian", order])
        for source, packing, order in itertools.product("acg", ("None", "LZW", "Zip", "RLE"), ("LSB", "MSB"))
    },
    **{
        f"deep-{source}-{order}.tif": (source, ["-depth", "16", "-endian", order, "-compress", "Zip"])
        for source, order in itertools.product("acg", ("LSB", "MSB"))
    },
    **{f"grey-{bits}.tif": ("g", ["-depth", str(bits), "-compress", "LZW"]) for bits in (2, 4)},
    **{f"palette-{colours}.tif": ("c", ["-type", "Palette", "-colors", str(colours)]) for colours in (2, 16, 200)},
    **{f"fax-{kind}.tif": ("g", ["-monochrome", "-compress", kind]) for kind in ("Fax", "Group4", "None", "LZW")},
    "white-is-zero.tif": ("g", ["-define", "quantum:polarity=min-is-white", "-compress", "LZW"]),
    "black-is-zero-1.tif": ("g", ["-monochrome", "-define", "quantum:polarity=min-is-black", "-compress", "Group4"]),
    "backwards-1.tif": ("g", ["-monochrome", "-define", "tiff:fill-order=lsb", "-compress", "Group4"]),
    "planes.tif": ("c", ["-interlace", "plane", "-compress", "LZW"]),
    "planes-deep.tif": ("c", ["-interlace", "plane", "-depth", "16", "-compress", "Zip"]),
    "tiles.tif": ("c", ["-define", "tiff:tile-geometry=48x16", "-compress", "LZW"]),
    "tiles-layered.tif": ("a", ["-define", "tiff:tile-geometry=16x32", "-compress", "Zip"]),
    "strips.tif": ("c", ["-define", "tiff:rows-per-strip=7", "-compress", "RLE"]),
    "premultiplied.tif": ("a", ["-define", "tiff:alpha=associated", "-compress", "LZW"]),
    "jpeg.tif": ("c", ["-compress", "JPEG", "-quality", "90"]),
    "jpeg-halved.tif": ("c", ["-compress", "JPEG", "-quality", "80", "-sampling-factor", "2x2"]),
    "jpeg-grey.tif": ("g", ["-compress", "JPEG", "-quality", "90"]),
    "jpeg-tiles.tif": ("c", ["-define", "tiff:tile-geometry=32x32", "-compress", "JPEG"]),
    "big.tif": ("c", ["-compress", "LZW"]),
    "plain.gif": ("c", ["-colors", "100"]),
    "old.gif": ("c", ["-colors", "8"]),
    "interlaced.gif": ("c", ["-interlace", "GIF"]),
    "transparent.gif": ("a", ["-colors", "40"]),
    "grey.gif": ("g", []),
    "plain.bmp": ("c", []),
    "layered.bmp": ("a", []),
    "three.bmp": ("c", []),
    "two.bmp": ("c", []),
    "grey.bmp": ("g", []),
    "one-bit.bmp": ("g", ["-monochrome"]),
    "four-bits.bmp": ("c", ["-type", "Palette", "-colors", "14"]),
    "palette.bmp": ("c", ["-type", "Palette", "-colors", "180"]),
    "runs.bmp": ("g", ["-type", "Palette", "-colors", "30", "-compress", "RLE"]),
    **{f"{kind}.bmp": ("c", ["-define", f"bmp:subtype={kind}"]) for kind in ("RGB555", "RGB565")},
}
CODERS = {"big.tif": "TIFF64", "old.gif": "GIF87", "three.bmp": "BMP3", "two.bmp": "BMP2"}


def sources(side):
    """Colours with opacity: shapes and noise."""
    ramp = numpy.linspace(0, 255, side)
    across, down = numpy.meshgrid(ramp, ramp)
    layers = [across, down, 255 - (across + down) / 2, (across * 3) % 256]
    noise = numpy.random.default_rng(2).normal(0, 12, (side, side, 4))
    return numpy.clip(numpy.stack(layers, 2) + noise, 0, 255).astype(numpy.uint8)


def write_by_pillow(folder, pixels):
    folder.mkdir(parents=True)
    colours, layered = PIL.Image.fromarray(pixels[..., :3]), PIL.Image.fromarray(pixels)
    grey = colours.convert("L")
    deep = PIL.Image.fromarray(pixels[..., 0].astype(numpy.uint16) * 256 + pixels[..., 1])
    modes = {
        "1": grey.convert("1"),
        "L": grey,
        "LA": layered.convert("LA"),
        "P": colours.quantize(99),
        "RGB": colours,
        "RGBA": layered,
        "I16": deep,
    }
    for (mode, picture), packing in itertools.product(modes.items(), ("raw", "tiff_lzw", "tiff_deflate", "packbits")):
        picture.save(folder / f"{mode}-{packing}.tif", compression=packing)
    for packing in ("group3", "group4", "tiff_ccitt"):
        modes["1"].save(folder / f"{packing}.tif", compression=packing)
    for mode in ("L", "RGB"):
        modes[mode].save(folder / f"jpeg-{mode}.tif", compression="jpeg", quality=90)
    colours.save(folder / "strips.tif", compression="tiff_lzw", tiffinfo={ROWS_PER_STRIP: 5})
    colours.save(folder / "big.tif", big_tiff=True)
    colours.save(folder / "pages.tif", save_all=True, append_images=[grey, layered])
    for orientation in range(1, 9):
        colours.save(folder / f"turned-{orientation}.tif", compression="tiff_lzw", tiffinfo={ORIENTATION: orientation})
    for count, interlace in itertools.product((2, 7, 60, 256), (0, 1)):
        colours.quantize(count).save(folder / f"{count}-{interlace}.gif", interlace=interlace)
    colours.quantize(50).save(folder / "hole.gif", transparency=7)
    grey.save(folder / "grey.gif")
    frames = [layered.rotate(90 * turn) for turn in (1, 2)]
    layered.save(folder / "frames.gif", save_all=True, append_images=frames, disposal=2)
    for mode in ("1", "L", "P", "RGB", "RGBA"):
        modes[mode].save(folder / f"{mode}.bmp")


def write_by_magick(folder, pixels):
    folder.mkdir(parents=True)
    own = folder.parent.parent / "magick"
    own.mkdir()
    layered = PIL.Image.fromarray(pixels)
    layered.save(own / "a.png")
    layered.convert("RGB").save(own / "c.png")
    layered.convert("L").save(own / "g.png")
    for name, (source, options) in MAGICK.items():
        coder = CODERS.get(name, name.rsplit(".", 1)[1].replace("tif", "TIFF").upper())
        subprocess.run(["convert", own / f"{source}.png", *options, f"{coder}:{folder / name}"], check=True)


def open_deep(picture):
    """Of 16 bits the upper 8, which Pillow's convert() does not keep in all versions."""
    return PIL.Image.fromarray((numpy.asarray(picture).astype(numpy.uint32) >> 8).astype(numpy.uint8))


def write_formats(folder, side):
    pixels = sources(side)
    write_by_pillow(folder / "pillow", pixels)
    write_by_magick(folder / "magick", pixels)
