"""Taking in much at once: how long that takes, and how long others wait for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from pydoc_data.topics import topics
from tempfile import TemporaryDirectory

from treering.arrays import Floats
from treering.embed.contract import Embedder
from treering.ingest import exchange
from treering.llm.settings import NONE
from treering.memory import Memory
from treering_bench.perf.bystander import waits
from treering_bench.perf.texts import RandomVectors, turns
from treering_bench.perf.timing import (
    LIMIT,
    OURS,
    Timing,
    compared,
    in_turn,
    seconds_of,
)
from treering_bench.perf.world import BATCH, BareFile, source_of

Content = str | list[dict[str, str]]

TURN_CHARS = 100  # of a text, for each that ``n`` counts: 1,000,000 are a text of 100 MB
BOOK_MOST = 5_000  # a text of 500 kB, which takes the model half a minute
MESSAGE_CHARS = 300


class LargeInputs:
    """Takes in exports and texts of a size, in a fresh file, while another process writes to it."""

    def __init__(self, vectors: RandomVectors) -> None:
        self._vectors = vectors

    def export(self, n: int) -> list[Timing]:
        """``import_`` of an export of ``n`` lines, seconds a line and what a writer waits."""
        return self._timed("import", n, lambda memory: memory.import_(_lines(n)))

    def text(self, n: int) -> list[Timing]:
        """``add`` of one text, seconds for 100 characters of it and what a writer waits."""
        content = "\n".join(turn["content"] for turn in turns(0, n))[: n * TURN_CHARS]
        return self._timed("text", n, lambda memory: memory.add(content, source="book"))

    def _timed(self, operation: str, n: int, take_in: Callable[[Memory], object]) -> list[Timing]:
        with TemporaryDirectory(prefix="treering-perf-") as folder:
            path = Path(folder) / "memory.db"
            with Memory.open(path, embedder=self._vectors, llm=NONE) as memory:
                ours: list[float] = []

                def work() -> None:
                    ours.append(seconds_of(lambda: take_in(memory)))

                waited = waits(f"{operation}-wait", n, path, self._vectors, work, ("writer",))
                fragments = memory.stats().fragments
            limit = self._bare(Path(folder) / "bare.db", n, fragments)
        return [*compared(operation, n, {LIMIT: [limit / n], OURS: [ours[0] / n]}), *waited]

    def _bare(self, path: Path, n: int, fragments: int) -> float:
        """The seconds of storing as many texts and vectors in SQLite, of as many characters."""
        content = "n" * max(1, n * TURN_CHARS // fragments)
        seconds = 0.0
        with closing(BareFile(path)) as bare:
            for start in range(0, fragments, BATCH):
                texts = [content] * min(BATCH, fragments - start)
                vectors = self._vectors.embed(texts)
                seconds += seconds_of(lambda: bare.add(texts, vectors))  # noqa: B023
        return seconds


class Books:
    """Long texts and messages with the bundled model."""

    def __init__(self, model: Embedder) -> None:
        self._model = model

    def __call__(self, n: int) -> list[Timing]:
        """Taking in a text of ``n`` × 100 characters, against embedding its fragments alone."""
        if n > BOOK_MOST:
            return []
        content = " ".join(topics.values())[: n * TURN_CHARS]
        chunks = [content[at : at + MESSAGE_CHARS] for at in range(0, len(content), MESSAGE_CHARS)]
        messages = [{"role": "user", "name": "Ana", "content": chunk} for chunk in chunks]
        timed: list[Timing] = []
        contents: Mapping[str, Content] = {"text": content, "messages": messages}
        for name, given in contents.items():
            recorder = _Recorder(RandomVectors(self._model.name, self._model.dimension))
            _take_in(recorder, given)
            ways: dict[str, Callable[[], object]] = {
                LIMIT: partial(self._model.embed, recorder.texts),
                OURS: partial(_take_in, self._model, given),
            }
            timed += in_turn(f"book {name}", n, ways, 1)
        return timed


class _Recorder:
    """An embedder that notes what it is asked to embed."""

    def __init__(self, vectors: RandomVectors) -> None:
        self._vectors = vectors
        self.name, self.dimension = vectors.name, vectors.dimension
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Floats:
        """Random vectors."""
        self.texts += texts
        return self._vectors.embed(texts, query=query)


def _take_in(embedder: Embedder, content: Content) -> None:
    """Add to a fresh memory."""
    with (
        TemporaryDirectory(prefix="treering-perf-") as folder,
        Memory.open(Path(folder) / "memory.db", embedder=embedder, llm=NONE) as memory,
    ):
        memory.add(content, source="book")


def _lines(n: int) -> Iterator[str]:
    """An export of ``n`` turns."""
    yield exchange.header({})
    for start in range(0, n, BATCH):
        for number, turn in enumerate(turns(start, min(BATCH, n - start)), start=start):
            fields = {
                "id": f"{number:016x}",
                "source": source_of(number),
                "position": number % BATCH,
                "kind": "chat",
                "added": datetime.fromtimestamp(turn["at"], UTC).isoformat(),
                "at": datetime.fromtimestamp(turn["at"], UTC).isoformat(),
                "speaker": turn["name"],
                "role": turn["role"],
                "session": turn["session"],
                "metadata": turn["metadata"],
                "text": turn["content"],
            }
            yield json.dumps(fields)
