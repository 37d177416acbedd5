"""Session blocks as entries of the journal: durable, searched with talk, exported and forgotten.

The text of the entry is what is read and searched: the instruction, the definition's name, the
note, and the lines that are new. Lines that went are not in it: they are other entries' text, and
go when these are forgotten. The definition's whole code and what else makes a block stand in the
metadata, under ``BLOCK``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from treering.code.session import Names, SessionBlock, Sessions
from treering.errors import UnknownName
from treering.ingest.drafts import metadata_json
from treering.journal.contract import Reader
from treering.journal.entries import Draft, by_seq, identities
from treering.records import BLOCK, JSON, Entry
from treering.split.stream import MAX_ENTRY_CHARS

SOURCE = "code:"
"""The source of a block is this and the path of its file."""

MAX_NEW_CHARS = MAX_ENTRY_CHARS // 4
"""More new code is cut in the text that is searched; the block keeps the whole code."""

_IN = " in "
"""Stands between a definition's key and its repository, where the key alone is not enough."""
_SHORT = 9

_AFTER = "code;"  # sorts right behind every name that begins with ``SOURCE``


@dataclass(frozen=True, slots=True)
class Recorded:
    """A block and what ties it to the one before: see ``Sessions.record``."""

    block: SessionBlock
    former: str = ""
    before: str = ""
    seq: int = 0
    noted: str = ""
    """The id of the round whose instruction the note was written from, if a model wrote it."""
    fresh: str = ""
    """The lines that the round brought: what is searched of the code."""


def is_inside(path: str) -> bool:
    """Whether a path stays in the repository that it is relative to."""
    parts = PurePosixPath(path).parts
    return bool(parts) and parts[0] != "/" and ".." not in parts and path.isprintable()


def source_of(block: SessionBlock) -> str:
    """The source that a block's entry belongs to."""
    return f"{SOURCE}{block.path}"


def draft(recorded: Recorded) -> Draft:
    """The entry of a block."""
    block = recorded.block
    account: dict[str, JSON] = {
        "instruction": block.instruction,
        "code": block.code,
        "before": recorded.before,
        "former": recorded.former,
        "noted": recorded.noted,
        "repository": list(block.repository),
        "language": block.language,
        "note": block.note,
        "outcome": block.outcome,
    }
    told: dict[str, JSON] = {key: value for key, value in account.items() if value}
    metadata: dict[str, JSON] = {"path": block.path, "definition": block.definition, BLOCK: told}
    return Draft(
        text=f"{_head(block)}{recorded.fresh[:MAX_NEW_CHARS]}"[:MAX_ENTRY_CHARS].rstrip(),
        kind="code",
        at=block.at,
        metadata=metadata_json(metadata),
        id=block.id or None,
    )


def _head(block: SessionBlock) -> str:
    """What the text says before the lines that are new."""
    head = [block.instruction, "", block.key]
    head += [f"Note: {block.note}"] if block.note else []
    head += [f"Outcome: {block.outcome}"] if block.outcome else []
    return "\n".join([*head, "", ""])


def fresh_lines(code: str, previous: str) -> str:
    """The lines of ``code`` that ``previous``, which a round found, does not have."""
    left = Counter(previous.splitlines())
    fresh = []
    for line in code.splitlines():
        left[line] -= 1
        fresh += [line] if left[line] < 0 else []
    return "\n".join(fresh)


def read(entry: Entry, seq: int = 0) -> Recorded | None:
    """The block of an entry; None if it is another one."""
    told = entry.metadata.get(BLOCK)
    path, definition = entry.metadata.get("path"), entry.metadata.get("definition")
    if not isinstance(told, dict) or not isinstance(path, str) or not isinstance(definition, str):
        return None
    if not is_inside(path):
        return None
    texts = defaultdict(str, {key: one for key, one in told.items() if isinstance(one, str)})
    block = SessionBlock(
        definition=definition,
        instruction=texts["instruction"],
        code=texts["code"],
        language=texts["language"],
        note=texts["note"],
        outcome=texts["outcome"],
        path=path,
        id=entry.id,
        at=entry.at or entry.added,
        repository=_names(told.get("repository")),
    )
    if not block.language:
        return None
    head = _head(block)
    fresh = entry.text.removeprefix(head) if entry.text.startswith(head) else ""
    return Recorded(block, texts["former"], texts["before"], seq, texts["noted"], fresh)


def _names(told: JSON) -> Names:
    """What a repository went by; blocks of earlier versions hold one name by itself."""
    several = told if isinstance(told, list) else [told]
    return tuple(name for name in several if name and isinstance(name, str))


def is_any(reader: Reader, space: int, after: int) -> bool:
    """Whether anything was recorded after an entry."""
    return next(_seqs(reader, space, after), None) is not None


def extent(reader: Reader, space: int) -> tuple[int, int]:
    """How many rounds there are and which entry is the last."""
    seqs = list(_seqs(reader, space, 0))
    return len(seqs), max(seqs, default=0)


def load(reader: Reader, space: int, after: int = 0) -> list[Recorded]:
    """The blocks of a space after an entry, in the order they were recorded."""
    found = by_seq(reader, list(_seqs(reader, space, after)))
    blocks = (read(entry, seq) for seq, entry in sorted(found.items()))
    return [block for block in blocks if block is not None]


def _seqs(reader: Reader, space: int, after: int) -> Iterator[int]:
    rows = reader.rows(
        "SELECT e.seq FROM entry e JOIN source s ON s.id = e.source"
        " WHERE s.space = ? AND s.name >= ? AND s.name < ? AND e.seq > ? ORDER BY e.seq",
        (space, SOURCE, _AFTER, after),
    )
    return (int(row[0]) for row in rows)


def without_notes(reader: Reader, space: int, forgotten: Sequence[int]) -> list[tuple[int, Draft]]:
    """Blocks whose notes were written from rounds that are to be forgotten, without these notes."""
    if set(forgotten).isdisjoint(_seqs(reader, space, 0)):
        return []
    ids = set(identities(reader, forgotten))
    # What is to be forgotten is not read: it may be damaged.
    left = by_seq(reader, [seq for seq in _seqs(reader, space, 0) if seq not in set(forgotten)])
    known = (read(entry, seq) for seq, entry in sorted(left.items()))
    return [
        (one.seq, draft(replace(one, noted="", block=replace(one.block, note=""))))
        for one in known
        if one is not None and one.noted in ids
    ]


def sequences(
    recorded: Iterable[Recorded], among: Names | None = None
) -> dict[str, list[Recorded]]:
    """The blocks by what their definition is called now, oldest first.

    ``among`` are the names of one repository: then its blocks alone, and such as belong to none
    that is known. Without, repositories are kept apart: of definitions that two of them have by
    one name, the key says which, as ``PATH::NAME in REPOSITORY``. Blocks that belong to none are
    in the sequence of each, and have one of their own where there is no other.
    """
    every = list(recorded)
    if among is not None:
        there = repositories([*(one.block.repository for one in every), among])
        return _chained(_of(every, next((one for one in there if among in one), ())))
    found: dict[tuple[str, str], list[Recorded]] = {}
    for names in repositories(one.block.repository for one in every):
        for key, sequence in _chained(_of(every, names)).items():
            if any(one.block.repository for one in sequence):
                found[names[0][0], key] = sequence
    taken = {one.seq for sequence in found.values() for one in sequence}
    having = Counter(key for _, key in found)
    alone = _chained(one for one in every if one.seq not in taken)
    return alone | {
        key if having[key] + (key in alone) == 1 else f"{key}{_IN}{_short(where)}": sequence
        for (where, key), sequence in found.items()
    }


def _of(every: Iterable[Recorded], repository: Collection[Names]) -> Iterator[Recorded]:
    """The blocks of one repository, and those of none that is known."""
    return (one for one in every if not one.block.repository or one.block.repository in repository)


def _chained(blocks: Iterable[Recorded]) -> dict[str, list[Recorded]]:
    """Sequences by what their definition is called now, whatever it was called before."""
    found: dict[str, list[Recorded]] = {}
    for one in blocks:
        older = found.pop(one.block.key, None) or found.pop(one.former, [])
        found[one.block.key] = [*older, one]
    return found


def within(known: Mapping[str, Sequence[Recorded]], among: Names) -> dict[str, list[Recorded]]:
    """The sequences of one repository among those of all."""
    every = {one.seq: one for sequence in known.values() for one in sequence}
    return sequences((one for _, one in sorted(every.items())), among)


def repositories(named: Iterable[Names]) -> list[tuple[Names, ...]]:
    """The repositories that blocks name, each with all that it went by, the latest first.

    It is the same one if what it is known by first was among its names before, or the other way
    round. One other name in common is not enough: many take in the history of one library, and
    folders are used again.
    """
    found: list[tuple[Names, ...]] = []
    for names in dict.fromkeys(filter(None, named)):
        same = [one for one in found if any(_is_same(names, other) for other in one)]
        found = [one for one in found if one not in same]
        found.append((names, *(other for one in same for other in one)))
    return found


def _is_same(one: Names, other: Names) -> bool:
    return one[0] in other or other[0] in one


def _short(repository: str) -> str:
    """A repository's name as it is shown: a folder whole, of a commit as much as tells it."""
    return repository if "/" in repository or "\\" in repository else repository[:_SHORT]


def sequence(recorded: Sequence[Recorded]) -> tuple[SessionBlock, ...]:
    """The blocks of one definition with their changes, and code that was found between them."""
    memory = Sessions()
    for one in recorded:
        memory = memory.record(one.block, former=one.former, before=one.before)
    return memory.sequence(recorded[-1].block.key) if recorded else ()


def named(definition: str, known: Iterable[str]) -> str:
    """The key meant by ``PATH::NAME``, a qualified name, or its last part.

    Raises UnknownName when there is none, or more than one.
    """
    keys = sorted(set(known))
    found = list(_meant(definition, keys))
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownName(f"{definition!r} can be any of {', '.join(found)}; give one of these")
    shown = ", ".join(keys) or "none"
    raise UnknownName(f"nothing is recorded of {definition!r}; there are records of: {shown}")


def _meant(definition: str, keys: Sequence[str]) -> Iterator[str]:
    if definition in keys:
        yield definition
        return
    names = {key: key.partition("::")[2].partition(_IN)[0] for key in keys}
    wanted = definition.partition("::")[2]
    exact = [
        key
        for key, name in names.items()
        if name == definition or (name == wanted and key.startswith(f"{definition}{_IN}"))
    ]
    yield from exact or (key for key, name in names.items()
                         if name.rpartition(".")[2] == definition)  # fmt: skip
