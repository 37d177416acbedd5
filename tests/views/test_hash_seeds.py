"""What a memory writes does not depend on the seed by which Python hashes texts.

Every Python that starts has another seed, and with it another order of sets. The programs of other
tests are forked of one process (``tests/programs.py``), which has one seed for all of them.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from tests.embedders import HashingEmbedder
from tests.programs import ROOT, TIMEOUT_S
from treering import Memory

SEEDS: Final = ("1", "2")

START: Final = """
import dataclasses, json, sys
from pathlib import Path
from tests.embedders import HashingEmbedder
from treering import Memory

memory = Memory.open(sys.argv[1], embedder=HashingEmbedder())
"""

WRITE: Final = f"""{START}
memory.import_(Path("export.jsonl"))
memory.code.index(Path("shop"))
memory.tree.draw()
memory.settle()
memory.close()
"""

ASK: Final = f"""{START}
def plain(records):
    return [dataclasses.asdict(record) for record in records]

stats = memory.stats()
print(json.dumps({{
    "to be done": [stats.pending, stats.outdated],
    "hits": plain(memory.search("Where does Ines live?", k=9)),
    "all levels": plain(memory.search("Who moved to Porto?", k=9, level="all")),
    "context": str(memory.context("What happens while the server is busy?")),
    "brief": str(memory.brief()),
    "facts": plain(memory.facts.all()),
    "memos": plain(memory.memos.list()),
    "tree": memory.tree.draw(),
    "code": plain(memory.code.search("retry while the server is busy")),
}}, default=str, sort_keys=True))
memory.close()
"""


def python(code: str, *arguments: str, seed: str, folder: Path) -> str:
    """What a new Python prints, which hashes texts by a seed."""
    environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=environment,
        text=True,
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def tables(file: Path) -> dict[str, list[dict[str, Any]]]:
    """All rows of a file, by table."""
    with closing(sqlite3.connect(file)) as connection:
        named = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {name: list(rows(connection, name)) for (name,) in named.fetchall()}


def rows(connection: sqlite3.Connection, table: str) -> Iterator[dict[str, Any]]:
    cursor = connection.execute(f"SELECT * FROM {table}")
    columns = [str(column[0]) for column in cursor.description]
    for values in cursor:
        row = dict(zip(columns, values, strict=True))
        if table == "tree":
            # Threads make the summaries, and each transaction stores those that are done by then.
            # The revision counts these transactions, and their number depends on time.
            del row["revision"]
        yield row


@pytest.fixture
def written(full_file: Path, tmp_path: Path, no_llm: None) -> list[Path]:
    """Files that two Pythons have made of the same, each with a seed of its own."""
    source = shutil.copyfile(full_file, tmp_path / "source.db")
    with Memory.open(source, embedder=HashingEmbedder()) as memory:
        (tmp_path / "export.jsonl").write_text("\n".join(memory.export()), "utf-8")
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "cart.py").write_text("import tax\n\ndef total(cart):\n    return tax.add(sum(cart))\n")
    (shop / "tax.py").write_text("RATE = 0.2\n\ndef add(price):\n    return price * (1 + RATE)\n")
    for seed in SEEDS:
        python(WRITE, f"{seed}.db", seed=seed, folder=tmp_path)
    return [tmp_path / f"{seed}.db" for seed in SEEDS]


def test_two_seeds_write_the_same_and_each_reads_what_the_other_wrote(
    written: list[Path], tmp_path: Path
) -> None:
    first, second = map(tables, written)
    assert first.keys() == second.keys()
    for name in first.keys() - {"secret"}:  # a random key
        assert first[name] == second[name], name
    assert {"statement", "node", "block_postings", "code_file"} <= {n for n in first if first[n]}
    own, *others = (
        python(ASK, file.name, seed=seed, folder=tmp_path)
        for file, seed in ((written[0], "1"), (written[0], "2"), (written[1], "1"))
    )
    assert others == [own, own]
