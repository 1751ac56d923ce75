#!/usr/bin/env python3
"""Holds the rooms of lib/ to CMakeLists.txt: all share one include path, so the compiler would let any room use any other.

Every #include of another room has to be of one that the room's LINK line names, directly or through others, no room or
file may outgrow its bounds, and no two headers may define a type of one name: in one program the functions of one would
be called with the other, which the linker does not notice. Prints each violation; exits with 1 if there is one.
"""
import pathlib
import re
import sys

MAX_PARTS = 25  # of a room; a header and its source are one
MAX_ROOM_LINES = 2600
MAX_FILE_LINES = 500
LOADED = {"cuda": {"device"}, "pjrt": {"core", "device"}}  # libraries of their own, loaded, and the rooms they may use


def linked_rooms(cmake):
    """{room: rooms that its LINK line names}"""
    rooms = {}
    for name, rest in re.findall(r"^dtrain_room\((\w+) ([^)]*)\)", cmake, re.MULTILINE):
        rooms[name] = re.findall(r"dtrain_(\w+)", rest.split("PRIVATE")[0])
    return rooms


def closure(rooms, name):
    reached, todo = set(), [name]
    while todo:
        for other in rooms[todo.pop()]:
            if other not in reached:
                reached.add(other)
                todo.append(other)
    return reached


def double_types(root):
    defined = {}
    for path in sorted((root / "lib").rglob("*.h")):
        where = path.relative_to(root)
        for name in re.findall(r"^(?:struct|class|enum class) (\w+)[^;{()]*\{", path.read_text(), re.MULTILINE):
            if name in defined:
                yield f"{where}: {name} is also a type of {defined[name]}"
            defined[name] = where


def problems_of(root):
    rooms = linked_rooms((root / "CMakeLists.txt").read_text())
    for name, links in rooms.items():
        for other in set(links) - rooms.keys():
            yield f"CMakeLists.txt: room {name} links dtrain_{other}, which is no room"
    rooms = {name: [other for other in links if other in rooms] for name, links in rooms.items()}
    allowed = {name: closure(rooms, name) | {name} for name in rooms}
    allowed.update({name: used | {name} for name, used in LOADED.items()})
    for name in sorted(rooms):
        if name in closure(rooms, name):
            yield f"CMakeLists.txt: room {name} uses itself through others"
    yield from double_types(root)
    for folder in sorted(path for path in (root / "lib").iterdir() if path.is_dir()):
        if folder.name not in allowed:
            yield f"lib/{folder.name}: no dtrain_room() in CMakeLists.txt"
            continue
        parts, lines = set(), 0
        for path in sorted(folder.rglob("*")):
            if path.suffix not in (".h", ".cpp"):
                continue
            text = path.read_text()
            parts.add(path.with_suffix(""))
            lines += text.count("\n")
            where = path.relative_to(root)
            if text.count("\n") > MAX_FILE_LINES:
                yield f"{where}: more than {MAX_FILE_LINES} lines"
            for used in re.findall(r'#include "(\w+)/', text):
                if used not in allowed[folder.name]:
                    yield f"{where}: uses room {used}, which the LINK line of {folder.name} does not reach"
        if len(parts) > MAX_PARTS:
            yield f"lib/{folder.name}: {len(parts)} parts, more than {MAX_PARTS}"
        if lines > MAX_ROOM_LINES:
            yield f"lib/{folder.name}: {lines} lines, more than {MAX_ROOM_LINES}"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    found = list(problems_of(root))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
