"""Large inputs: constant memory, and nothing that takes the square of the length."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import Open
from tests.embedders import HashingEmbedder
from treering.arrays import Floats
from treering.ingest import items
from treering.split.stream import MAX_ENTRY_CHARS, pieces, read_text
from treering.views import follow

MB = 1 << 20


class Constant(HashingEmbedder):
    """Embeds at no cost: what is measured here is not the embedder."""

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        return np.ones((len(texts), self.dimension), dtype=np.float32)


def peak(work: Callable[[], object]) -> int:
    """The most bytes that Python objects took while working."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def said(count: int) -> Iterator[dict[str, str]]:
    # Numbers in words: what is kept at hand of each new word, up to a bound, is not counted here.
    names = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    numbers = (" ".join(names[int(digit)] for digit in str(n)) for n in range(count))
    return (
        {"role": "user", "content": f"Message number {number}: {'word ' * 12}"}
        for number in numbers
    )


def test_a_chat_of_any_length_is_taken_in_as_a_stream(
    open_memory: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What grows is the receipt's ids and the marks of what was said: some bytes a message."""
    monkeypatch.setattr(items, "READ_AHEAD_ITEMS", 100)
    monkeypatch.setattr(follow, "BATCH_ENTRIES", 64)
    few, many = 600, 1_800  # both are more than views read at once
    small = open_memory(tmp_path / "small.db", embedder=Constant(dimension=4))
    large = open_memory(tmp_path / "large.db", embedder=Constant(dimension=4))
    base = peak(lambda: small.add(said(few)))
    growth = peak(lambda: large.add(said(many))) - base
    assert growth / (many - few) < 500
    assert large.stats().fragments == many


def test_a_file_of_any_length_is_taken_in_as_a_stream(open_memory: Open, tmp_path: Path) -> None:
    memory = open_memory(embedder=Constant(dimension=4))
    peaks = []
    for size in (2 * MB, 4 * MB):
        file = tmp_path / f"{size}.txt"
        line = "It was a dark and stormy night; the rain fell in torrents.\n"
        file.write_text(line * (size // len(line)), "utf-8")
        peaks.append(peak(partial(memory.add, file)))
    assert peaks[1] - peaks[0] < MB  # half of what the second one is longer by
    assert peaks[0] < 40 * MB


def test_a_line_of_50_mb_is_cut_in_constant_memory(tmp_path: Path) -> None:
    file = tmp_path / "line.txt"
    with file.open("wb") as stream:
        for _ in range(50):
            stream.write(b"x" * MB)
    lengths: list[int] = []
    used = peak(lambda: lengths.extend(len(piece) for piece in pieces(read_text(file))))
    assert sum(lengths) == 50 * MB
    assert max(lengths) == MAX_ENTRY_CHARS
    assert used < 8 * MB


def test_a_long_line_is_remembered_as_a_whole(open_memory: Open, tmp_path: Path) -> None:
    file = tmp_path / "line.txt"
    file.write_text("x" * (2 * MB) + " porto", "utf-8")
    memory = open_memory(embedder=Constant(dimension=4))
    memory.add(file)
    assert sum(len(entry.text) for entry in memory.entries()) == 2 * MB + 6
    assert memory.search("porto", k=1, mode="lexical")[0].text.endswith("porto")
    assert memory.context("porto", mode="lexical", budget=500).passages


@pytest.mark.parametrize(
    "text",
    [
        " " * 300_000 + "porto",
        "\n" * 300_000 + "porto",
        "." * 300_000 + "porto",
        '."' * 150_000 + "porto",
        "\n \n" * 100_000 + "porto",
        "a'" * 150_000 + " porto",
        "aB" * 150_000 + " porto",
        "\u0301" * 300_000 + " porto",
        "[1] " * 75_000 + "porto",
    ],
    ids=["spaces", "lines", "dots", "quotes", "paragraphs", "apostrophes", "humps", "marks", "[1]"],
)
@pytest.mark.timeout(30)  # the square of the length would take hours
def test_no_text_takes_the_square_of_its_length(open_memory: Open, text: str) -> None:
    memory = open_memory(embedder=Constant(dimension=4))
    memory.add(text)
    assert memory.search("porto", k=1, mode="lexical")[0].text.endswith("porto")
    assert memory.context("porto", mode="lexical", budget=300).tokens <= 300


def test_search_holds_little_beyond_the_texts(open_memory: Open) -> None:
    memory = open_memory(embedder=Constant(dimension=64))
    count = 4_000
    memory.add(said(count))
    used = peak(lambda: memory.search("message", k=3))
    assert used / count < 2_048
