#!/usr/bin/env python3
"""Holds the wings and rooms of lib/ to CMakeLists.txt, which says who may use whom.

Every #include of another room has to be of one that the room's LINK line names, directly or through others. A room may
link rooms of its own wing and of the wings that dtrain_wing() names. No room or file may outgrow its bounds, and no two
headers may define a type of one name: in one program the functions of one would be called with the other, which the
linker does not notice. Prints each violation; exits with 1 if there is one.
"""
import pathlib
import re
import sys

MAX_PARTS = 25  # of a room; a header and its source are one
MAX_ROOM_LINES = 2600
MAX_FILE_LINES = 500
MAX_WINGS = 8
LOADED = {"cuda": {"device"}, "pjrt": {"core", "device"}}  # libraries of their own, loaded, and the rooms they may use


def declared(cmake):
    """({wing: wings that it uses}, {room: its wing}, {room: rooms that its LINK line names})"""
    wings, wing_of, rooms, wing = {}, {}, {}, None
    for kind, name, rest in re.findall(r"^dtrain_(wing|room)\((\w+)([^)]*)\)", cmake, re.MULTILINE):
        if kind == "wing":
            wing = name
            wings[wing] = re.findall(r"\w+", rest.partition("USES")[2])
        else:
            wing_of[name] = wing
            rooms[name] = re.findall(r"dtrain_(\w+)", rest.split("PRIVATE")[0])
    return wings, wing_of, rooms


def closure(uses, name):
    """All that `name` uses, directly or through others."""
    reached, todo = set(), [name]
    while todo:
        for other in uses.get(todo.pop(), []):
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


def problems_of_declarations(wings, wing_of, rooms):
    if len(wings) > MAX_WINGS:
        yield f"CMakeLists.txt: {len(wings)} wings, more than {MAX_WINGS}"
    for wing, used in wings.items():
        for other in set(used) - wings.keys():
            yield f"CMakeLists.txt: wing {wing} uses {other}, which is no wing"
        if wing in closure(wings, wing):
            yield f"CMakeLists.txt: wing {wing} uses itself through others"
    for room, links in rooms.items():
        for other in links:
            if other not in rooms:
                yield f"CMakeLists.txt: room {room} links dtrain_{other}, which is no room"
            elif wing_of[other] not in closure(wings, wing_of[room]) | {wing_of[room]}:
                yield f"CMakeLists.txt: room {room} links dtrain_{other}, and wing {wing_of[room]} does not use {wing_of[other]}"
        if room in closure(rooms, room):
            yield f"CMakeLists.txt: room {room} uses itself through others"


def problems_of_room(folder, root, allowed):
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
            if used not in allowed:
                yield f"{where}: uses room {used}, which the LINK line of {folder.name} does not reach"
    if len(parts) > MAX_PARTS:
        yield f"{folder.relative_to(root)}: {len(parts)} parts, more than {MAX_PARTS}"
    if lines > MAX_ROOM_LINES:
        yield f"{folder.relative_to(root)}: {lines} lines, more than {MAX_ROOM_LINES}"


def problems_of(root):
    wings, wing_of, rooms = declared((root / "CMakeLists.txt").read_text())
    yield from problems_of_declarations(wings, wing_of, rooms)
    rooms = {name: [other for other in links if other in rooms] for name, links in rooms.items()}
    allowed = {name: closure(rooms, name) | {name} for name in rooms}
    allowed.update({name: used | {name} for name, used in LOADED.items()})
    wing_of.update({name: "base" for name in LOADED})
    yield from double_types(root)
    for folder in sorted(path for path in (root / "lib").glob("*/*") if path.is_dir()):
        if wing_of.get(folder.name) != folder.parent.name:
            yield f"{folder.relative_to(root)}: CMakeLists.txt has no room {folder.name} in wing {folder.parent.name}"
        else:
            yield from problems_of_room(folder, root, allowed[folder.name])
    for path in sorted(path for path in (root / "lib").glob("*") if path.is_file() or path.name not in wings):
        yield f"{path.relative_to(root)}: lies in no wing"
    for folder in sorted(path for wing in wings for path in (root / "tests" / wing).glob("*")):
        if wing_of.get(folder.name) != folder.parent.name:
            yield f"{folder.relative_to(root)}: tests lie in tests/WING/ROOM, and this is no room of that wing"


def main():
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parents[2]
    found = list(problems_of(root))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
