"""A conversation for the tests of memos, and memos put in place without a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from treering import Memory
from treering.journal import entries
from treering.views.memos import store
from treering.views.memos.record import Claim, Memo
from treering.views.memos.store import NewMemo
from treering.views.support import claims_of

LINES = (
    ("user", "My sister Ines moved to Porto last week."),
    ("assistant", "How does she like Porto?"),
    ("user", "She loves it, but the rent is 900 euros."),
    ("assistant", "That is a lot for Porto."),
    ("user", "By the way, my boat needs a new sail."),
    ("assistant", "A sailmaker in Lagos repairs sails."),
    ("user", "I will call the sailmaker on Friday."),
    ("assistant", "I will remind you on Friday."),
    ("user", "What should I cook tonight?"),
    ("assistant", "How about a fish stew?"),
    ("user", "I do not eat fish any more."),
    ("assistant", "Then a bean stew."),
)


def messages(count: int = len(LINES), start: int = 0) -> list[dict[str, Any]]:
    """Lines of the conversation; after its end it goes on with numbered lines."""
    return [
        {"role": LINES[n][0], "content": LINES[n][1]}
        if n < len(LINES)
        else {"role": ("user", "assistant")[n % 2], "content": f"Line number {n} of the talk."}
        for n in range(start, start + count)
    ]


def place(
    memory: Memory,
    topic: str,
    summary: str,
    first: int,
    last: int,
    *,
    source: str = "chat",
    seen: tuple[int, int] | None = None,
) -> Memo:
    """A memo as a model would have written it, over positions from ``first`` to ``last``."""
    with memory._space.write() as writer:
        space = writer.id
        seqs = {place: seq for (place, _), seq in entries.places(writer, space, source).items()}
        begin, end = seen or (first, last)
        new = NewMemo(
            topic=topic,
            claims=tuple(Claim(text, True) for text in claims_of(summary)),
            origin="written",
            made=entries.micros(memory.get(_id(writer, seqs[first])).added),
            covered=tuple(seqs[at] for at in range(first, last + 1)),
            seen=tuple(seqs[at] for at in range(begin, end + 1)),
            writer="scripted",
        )
        name = f"memo-{topic.split()[0].lower()}"
        store.put(writer, name, new)
        return store.find(writer, name).memo


def _id(reader: Any, seq: int) -> str:
    return entries.identities(reader, [seq])[0]


def bytes_of(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))
