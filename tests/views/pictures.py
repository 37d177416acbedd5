"""What the views of a space hold, so that two ways to the same rows can be compared."""

from __future__ import annotations

from typing import Any

from treering import Memory
from treering.views.contract import View

NUMBERS = {
    "statement": {"id"},  # given anew when a row is made anew
    "code_change": {"id"},
    "vector": {"id"},
    "fragment": {"terms"},
}

BESIDE = {
    "vector": "SELECT v.fragment, d.data FROM vector v LEFT JOIN vector_data d ON d.id = v.id",
    "fragment": "SELECT v.id, t.data FROM fragment v LEFT JOIN term_list t ON t.id = v.terms",
}


def views(memory: Memory) -> list[View]:
    return list(memory._views._views)


def view(memory: Memory, name: str) -> View:
    [found] = [view for view in views(memory) if view.name == name]
    return found


def rows(memory: Memory, table: str) -> list[tuple[Any, ...]]:
    """The rows of a table that belong to the space, but for what numbers them."""
    with memory._space.read() as reader:
        [names] = [each.columns for each in reader.tables() if each.name == table]
        kept = [name for name in names if name not in NUMBERS.get(table, ())]
        found = reader.rows(f"SELECT {', '.join(kept)} FROM {table} WHERE space = ?", (reader.id,))
        return sorted((tuple(row) for row in found), key=repr)


def content(memory: Memory, table: str) -> list[tuple[Any, ...]]:
    """The rows of a table, and what they refer to that holds nothing but their content."""
    if table not in BESIDE:
        return rows(memory, table)
    with memory._space.read() as reader:
        beside = reader.rows(f"{BESIDE[table]} WHERE v.space = ?", (reader.id,))
        return [*rows(memory, table), *sorted(tuple(row) for row in beside)]


def picture(memory: Memory, name: str) -> Any:
    """What a view holds. A tree is drawn, and memos are listed: their numbers are given anew."""
    if name == "tree":
        return [line.partition("#")[0].split("]", 1)[-1] for line in memory.tree.draw().split("\n")]
    if name == "memo":
        return [(m.topic, m.summary, m.entry_ids) for m in memory.memos.list()]
    return {table: content(memory, table) for table in view(memory, name).tables}
