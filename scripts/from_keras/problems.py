"""What keeps a model of Keras from becoming a spec, and what to know about the one it becomes; typed reading of a
configuration that may come from strangers."""

import math
import struct


class Refusal(Exception):
    """Why a file cannot be read at all."""


class Report:
    """Collects all problems, so that they are shown at once, and notes for the spec."""

    def __init__(self):
        self.problems, self.notes = [], []

    def problem(self, place, what, advice=""):
        entry = (printable(place), printable(what), advice)
        if entry not in self.problems:
            self.problems.append(entry)

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def text(self):
        lines = []
        for place, what, advice in self.problems:
            lines.append(f"  {place}: {what}")
            if advice:
                lines.append(f"      {advice}")
        return "\n".join(lines)


def printable(text):
    """The text on one line, without what a terminal or YAML would take for more than text."""
    return "".join(one if one.isprintable() else "?" for one in text)


def shown(value):
    """A value of the file in a message: short, and on one line."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= 1e300


def is_count(value, least=1, most=1_000_000):
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def plain(number):
    """A number of Keras as it was written: 0.001, and not 0.0010000000474974513, which is the float32 next to it."""
    number = float(number)
    short = float(f"{number:.7g}")
    as_float32 = struct.unpack("f", struct.pack("f", short))[0] if abs(short) < 3e38 else math.inf
    return short if as_float32 == number else number


class Fields:
    """A dictionary of the file. Each getter reports a wrong type under the place and returns its default."""

    def __init__(self, values, place, report):
        self.place, self.report = place, report
        if not isinstance(values, dict):
            report.problem(place, f"is {shown(values)} and no set of fields", "the file is damaged")
            values = {}
        self.values = values

    def place_of(self, name):
        return f"{self.place}, {name}"

    def problem(self, name, what, advice=""):
        self.report.problem(self.place_of(name), what, advice)

    def wrong(self, name, expected):
        self.problem(name, f"is {shown(self.values.get(name))} and not {expected}")

    def raw(self, name, default=None):
        return self.values.get(name, default)

    def _get(self, name, default, right, expected):
        value = self.values.get(name, default)
        if value is default or right(value):
            return value
        self.wrong(name, expected)
        return default

    def text(self, name, default):
        return self._get(name, default, lambda value: isinstance(value, str) and len(value) <= 1000, "a text")

    def boolean(self, name, default):
        return self._get(name, default, lambda value: isinstance(value, bool), "true or false")

    def count(self, name, default, least=1, most=1_000_000):
        expected = f"an integer from {least} to {most:,}"
        return self._get(name, default, lambda value: is_count(value, least, most), expected)

    def number(self, name, default, least=-math.inf, most=math.inf):
        expected = "a number" if least == -math.inf else f"a number from {least:g} to {most:g}"
        return self._get(name, default, lambda value: is_number(value) and least <= value <= most, expected)

    def square(self, name, default, most=1024):
        """The side of a square that Keras gives as one number or as two."""
        value = self.values.get(name)
        if value is None:
            return default
        sides = value if isinstance(value, list) else [value, value]
        if len(sides) != 2 or not all(is_count(side, 1, most) for side in sides):
            self.wrong(name, f"a number, or two, from 1 to {most}")
            return default
        if sides[0] != sides[1]:
            self.problem(name, f"is {shown(value)}", "dtrain's kernels, windows and strides are square")
        return sides[0]

    def only(self, name, allowed, advice=""):
        """A field that has a counterpart only with one of these values."""
        value = self.values.get(name, allowed[0])
        if not any(value == one and isinstance(value, bool) == isinstance(one, bool) for one in allowed):
            self.problem(name, f"is {shown(value)}, which has no counterpart", advice)
