"""A folder with one of each: texts short and long, code, tables, chats, what cannot be read."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from treering import Memory

LONG_CHARS = 570_000

_ITS_OWN = ("id", "added")
"""What is an entry's own, whoever adds it and whenever."""


def prose(chars: int, seed: int = 1) -> str:
    """So many characters in words, sentences and paragraphs."""
    rng = random.Random(seed)
    words: list[str] = []
    size = 0
    while size < chars:
        word = f"{rng.getrandbits(18):x}" + rng.choice(["", "", "", "", ".", ".\n\n"])
        words.append(word)
        size += len(word) + 1
    return " ".join(words)[:chars]


def write_folder(folder: Path) -> Path:
    """Fill a new folder, and return it."""
    (folder / "below").mkdir(parents=True)
    (folder / "novel.txt").write_text(prose(LONG_CHARS), "utf-8")
    (folder / "note 2024-05-03.md").write_text("# Boiler\n\nIt is 13 years old.\n", "utf-8")
    (folder / "below" / "tool.py").write_text("def boil(kettle):\n    return kettle.on()\n")
    (folder / "people.csv").write_text("name,town\nAna,Porto\nBen,Lyon\n")
    turns = [{"role": "user", "name": "Ana", "content": text} for text in ("ok", "ok", "So be it")]
    turns += [{"role": "user", "content": f"Turn {number} of many."} for number in range(300)]
    (folder / "chat.jsonl").write_text("".join(f"{json.dumps(turn)}\n" for turn in turns))
    (folder / "picture.bin").write_bytes(b"\x89\0\0\1")
    (folder / "empty.txt").write_text("")
    for number in range(20):
        (folder / "below" / f"{number:02}.txt").write_text(prose(900, seed=number + 2), "utf-8")
    return folder


def journal(memory: Memory) -> list[dict[str, Any]]:
    """The lines of an export in their order, without what is each entry's own."""
    return list(_lines(memory))


def _lines(memory: Memory) -> Iterator[dict[str, Any]]:
    for line in memory.export():
        fields = json.loads(line)
        yield {key: value for key, value in fields.items() if key not in _ITS_OWN}


def is_whole(memory: Memory) -> bool:
    """Whether each fragment is there and embedded, and no problem is in the file."""
    stats = memory.stats()
    return stats.embedded == stats.fragments > 0 and not stats.pending and memory.check() == []
