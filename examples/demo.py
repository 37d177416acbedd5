"""A tour of treering on real text, offline and without a key: ``python -m examples.demo``.

It adds pages of Python's language reference, modules of its library, and a chat between two friends
(``chat.jsonl``). It asks questions, shows the passages that answer them and why they were found,
fills the budget of a prompt, and forgets a source. It exits with 1 if an answer is not found.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from pydoc_data.topics import topics
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treering import Hit, Memory

CHAT = Path(__file__).with_name("chat.jsonl")
LIBRARY = ("bisect", "graphlib", "textwrap")
LONGEST_PAGE = 7_500  # characters: the few longer pages are three quarters of the reference
LINE_EVERY_S = 5.0
TOP = 8  # the answer must be among so many hits: what FragRel puts into a chat's prompt
PLAIN = 500  # how far down plain search is followed
BUDGET = 300
SECRET = "The spare key lies under the third flower pot, the one with the crack."


@dataclass(frozen=True, slots=True)
class Question:
    """A question, where its answer is, and words that the answer has."""

    text: str
    source: str
    answer: str
    where: dict[str, Any] = field(default_factory=dict)

    def answered_by(self, hit: Hit) -> bool:
        """Whether a hit holds the answer."""
        found = " ".join(hit.text.split())
        return hit.source == self.source and self.answer in found


QUESTIONS = (
    Question(
        "What happens to the else clause of a loop that ends with break?",
        "language reference/while",
        "without executing the",
    ),
    Question(
        "When are the default values of a function's parameters evaluated?",
        "language reference/function",
        "when the function definition is executed",
    ),
    Question(
        "Which code finds the leading white space that lines have in common?",
        "library/textwrap.py",
        "margin",
        {"kind": "code"},
    ),
    # The next two answers share no telling word with their questions: what stands around them in
    # the conversation finds them.
    Question("Where was the coffee machine?", "chat", "It said 'winter clothes' on it"),
    Question(
        "What does the hotel by the river look like?", "chat", "It is blue, with tiles all over"
    ),
    Question(
        "What must the dog Bruno not eat?",
        "chat",
        "He can't have chicken",
        {"speaker": "Tomas", "since": "2026-05-01"},
    ),
)


def main() -> int:
    """Run the tour; the number of questions that were not answered, at most 1."""
    print("A tour of treering: real text, offline, without a key.", flush=True)
    from treering import Memory  # numerics and the model take a moment to load

    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "demo.db"
        with Memory.open(path) as memory:
            add_texts(memory)
            added_at = time.perf_counter()
            answered = [show_answer(memory, question) for question in QUESTIONS]
            asked = time.perf_counter()
            show_context(memory)
            gone = show_forgetting(memory, path)
            stats = memory.stats()
    heading("In numbers")
    print(f"{stats.entries:,} entries, {stats.fragments:,} fragments, {stats.bytes / 1e6:.1f} MB")
    a_question = (asked - added_at) / len(QUESTIONS)
    print(f"{added_at - start:.1f} s to add them, {a_question:.2f} s for a question (two searches)")
    print(f"{sum(answered)} of {len(QUESTIONS)} questions answered; secret gone: {gone}")
    return 0 if all(answered) and gone else 1


def add_texts(memory: Memory) -> None:
    """Remember text, code and a chat, and say now and then how far that is."""
    pages = {name: text for name, text in topics.items() if len(text) <= LONGEST_PAGE}
    heading(
        f"Adding {len(pages)} pages of the language reference, {len(LIBRARY)} modules of the "
        "library, and a chat"
    )
    line_due = time.perf_counter() + LINE_EVERY_S
    for count, (name, text) in enumerate(pages.items(), start=1):
        memory.add(text, source=f"language reference/{name}", metadata={"topic": name})
        if time.perf_counter() > line_due:
            print(f"{count} of {len(pages)} pages", flush=True)
            line_due = time.perf_counter() + LINE_EVERY_S
    for name in LIBRARY:
        spec = importlib.util.find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        memory.add(Path(spec.origin), source=f"library/{name}.py")
    memory.add(CHAT, source="chat")
    stats = memory.stats()
    print(f"{stats.sources} sources became {stats.fragments:,} fragments.")


def show_answer(memory: Memory, question: Question) -> bool:
    """Search, show the hit that answers and why it was picked; whether there is one."""
    heading(question.text)
    hits = memory.search(question.text, k=TOP, **question.where)
    place = next((at for at, hit in enumerate(hits) if question.answered_by(hit)), None)
    if place is None:
        print(f"NOT FOUND: no passage of {question.source!r} says {question.answer!r}")
        return False
    hit = hits[place]
    said = f", {hit.speaker}, {hit.at:%Y-%m-%d %H:%M}" if hit.at else ""
    print(f"{hit.source}, entry {hit.position}, characters {hit.start} to {hit.end}{said}:")
    print(f"  “{excerpt(hit.text, question.answer)}”")
    print(f"  hit {place + 1}, because {hit.score:.2f} = {hit.why}")
    plain = memory.search(question.text, k=PLAIN, relations=(), **question.where)
    without = next((at for at, one in enumerate(plain) if question.answered_by(one)), PLAIN)
    print(f"  without relations it would be hit {without + 1}")
    return True


def show_context(memory: Memory) -> None:
    """Fill a prompt's budget with what the chat says about a topic."""
    heading(f"Passages for a prompt about the trip, in at most {BUDGET} tokens")
    query = "Where do they stay in Porto, and what will they do there?"
    context = memory.context(query, budget=BUDGET, source="chat")
    print(context)
    print(f"({context.tokens} tokens, {len(context.passages)} passages)")


def show_forgetting(memory: Memory, path: Path) -> bool:
    """Add a secret, forget it, and read the file's bytes for it; whether it is gone."""
    heading("Forgetting")
    memory.add(SECRET, source="secret")
    before = is_in_file(path)
    receipt = memory.forget(source="secret")
    after = is_in_file(path)
    print(f"Is the secret in the bytes of the file? Before: {before}; after: {after}.")
    derived = ", ".join(f"{kind}: {count}" for kind, count in receipt.views.items() if count)
    print(f"Erased: {len(receipt.entries)} entry, and what was derived from it ({derived}).")
    return before and not after and not memory.search(SECRET, source="secret")


def is_in_file(path: Path) -> bool:
    """Whether the secret's text is in the bytes of the database or of its log."""
    files = (path, Path(f"{path}-wal"))
    return any(SECRET.encode() in file.read_bytes() for file in files if file.exists())


def excerpt(text: str, answer: str, around: int = 120) -> str:
    """The words around the answer, on one line."""
    flat = " ".join(text.split())
    at = flat.index(answer)
    start, stop = max(at - around, 0), at + len(answer) + around
    return f"{'…' if start else ''}{flat[start:stop]}{'…' if stop < len(flat) else ''}"


def heading(text: str) -> None:
    """A line that sets off what follows."""
    print(f"\n── {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
