"""The rooms of the code view lie on floors: none of them imports from one above."""

from __future__ import annotations

import ast
from pathlib import Path

import treering.views.code

FLOORS = ("parse", "graph", "rounds", "index", "guard", "write")
ROOMS = Path(treering.views.code.__file__).parent


def imported(room: str) -> set[str]:
    """The other rooms that the modules of a room import."""
    names = {
        node.module
        for file in (ROOMS / room).glob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module
    }
    return {name.split(".")[3] for name in names if name.startswith("treering.views.code.")} - {
        room
    }


def test_every_room_is_on_a_floor() -> None:
    assert {path.parent.name for path in ROOMS.glob("*/__init__.py")} == set(FLOORS)


def test_no_room_imports_one_above() -> None:
    for floor, room in enumerate(FLOORS):
        assert imported(room) <= set(FLOORS[:floor])
