"""What the views of a space hold, so that two ways to the same rows can be compared."""

from __future__ import annotations

from typing import Any

from treering import Memory
from treering.views.contract import View

NUMBERS = {
    "statement": {"id"},  # given anew when a row is made anew
    "code_change": {"id"},
    "vector": {"id"},
}


def views(memory: Memory) -> list[View]:
    return list(memory._views._views)


def view(memory: Memory, name: str) -> View:
    [found] = [view for view in views(memory) if view.name == name]
    return found


def rows(memory: Memory, table: str) -> list[tuple[Any, ...]]:
    """The rows of a table that belong to the space, but for what numbers them."""
    with memory._space.read() as reader:
        names = [str(row[1]) for row in reader.rows(f"PRAGMA table_info({table})")]
        kept = [name for name in names if name not in NUMBERS.get(table, ())]
        found = reader.rows(f"SELECT {', '.join(kept)} FROM {table} WHERE space = ?", (reader.id,))
        return sorted((tuple(row) for row in found), key=repr)


def picture(memory: Memory, name: str) -> Any:
    """What a view holds. A tree is drawn, and memos are listed: their numbers are given anew."""
    if name == "tree":
        return [line.partition("#")[0].split("]", 1)[-1] for line in memory.tree.draw().split("\n")]
    if name == "memo":
        return [(m.topic, m.summary, m.entry_ids) for m in memory.memos.list()]
    return {table: rows(memory, table) for table in view(memory, name).tables}
