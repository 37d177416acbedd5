"""Session blocks as entries of the journal: durable, searched with talk, exported and forgotten.

The text of the entry, which is read and searched, is the instruction, the definition's name, the
note, and the lines that are new. Lines that went are not in it: they are other entries' text, and
go when these are forgotten. The definition's whole code and the other fields of a block are in the
metadata, under ``BLOCK``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import PurePosixPath
from typing import Any

from treering.errors import UnknownName
from treering.journal import sources
from treering.journal.contract import Reader
from treering.journal.entries import by_seq, identities
from treering.journal.fields import metadata_json
from treering.journal.writing import Draft
from treering.records import BLOCK, JSON, Entry
from treering.split.stream import MAX_ENTRY_CHARS
from treering.views.code.rounds.session import SHORT, SessionBlock, with_changes

SOURCE = "code:"
"""The source of a block is this and the path of its file."""

MAX_NEW_CHARS = MAX_ENTRY_CHARS // 4
"""Longer new code is cut in the searched text; the block keeps all of it."""

_IN = " in "
"""Stands between a definition's key and its repository, where the key alone is not enough."""

SHOWN = 5  # keys in an error: a repository has thousands

_TEXTS = ("instruction", "code", "language", "note", "outcome", "repository", "branch")
_LINKS = ("former", "before", "noted")
"""The fields of a block, and of its record, that the metadata of its entry have."""


@dataclass(frozen=True, slots=True)
class RecordedBlock:
    """A block with its link to the one before: see ``states``."""

    block: SessionBlock
    former: str = ""
    before: str = ""
    seq: int = 0
    noted: str = ""
    """The id of the round whose instruction the note was written from, if a model wrote it."""
    fresh: str = ""
    """The lines that the round brought: the searched part of the code."""
    context: tuple[str, ...] | None = None
    """The keys of the context memory after the round; None without one (CodeMEM eq. 5)."""


def is_inside(path: str) -> bool:
    """Whether a path stays in the repository that it is relative to."""
    parts = PurePosixPath(path).parts
    return bool(parts) and parts[0] != "/" and ".." not in parts and path.isprintable()


def draft(recorded: RecordedBlock) -> Draft:
    """The entry of a block."""
    block = recorded.block
    account: dict[str, JSON] = {name: getattr(block, name) for name in _TEXTS}
    account |= {name: getattr(recorded, name) for name in _LINKS}
    filled: dict[str, JSON] = {key: value for key, value in account.items() if value}
    if recorded.context is not None:
        filled["context"] = list(recorded.context)
    metadata: dict[str, JSON] = {"path": block.path, "definition": block.definition, BLOCK: filled}
    return Draft(
        text=f"{_head(block)}{recorded.fresh[:MAX_NEW_CHARS]}"[:MAX_ENTRY_CHARS].rstrip(),
        kind="code",
        at=block.at,
        metadata=metadata_json(metadata),
        id=block.id or None,
    )


def _head(block: SessionBlock) -> str:
    """The beginning of an entry's text, before the new lines of code."""
    head = [block.instruction, "", block.key]
    head += [f"Note: {block.note}"] if block.note else []
    head += [f"Outcome: {block.outcome}"] if block.outcome else []
    return "\n".join([*head, "", ""])


def fresh_lines(code: str, previous: str) -> str:
    """The lines of ``code`` that are not in ``previous``, the code that the round started from."""
    left = Counter(previous.splitlines())
    fresh = []
    for line in code.splitlines():
        left[line] -= 1
        fresh += [line] if left[line] < 0 else []
    return "\n".join(fresh)


def read(entry: Entry, seq: int = 0) -> RecordedBlock | None:
    """The block of an entry; None if it is another one."""
    account = entry.metadata.get(BLOCK)
    path, definition = entry.metadata.get("path"), entry.metadata.get("definition")
    if not (isinstance(account, dict) and isinstance(path, str) and isinstance(definition, str)):
        return None
    if not is_inside(path):
        return None
    texts: dict[str, Any] = {key: text for key, text in account.items() if isinstance(text, str)}
    block = SessionBlock(
        definition=definition,
        path=path,
        id=entry.id,
        at=entry.at or entry.added,
        **{name: texts.get(name, "") for name in _TEXTS},
    )
    if not block.language:
        return None
    head = _head(block)
    fresh = entry.text.removeprefix(head) if entry.text.startswith(head) else ""
    held = account.get("context")
    context = tuple(map(str, held)) if isinstance(held, list) else None
    links = {name: texts.get(name, "") for name in _LINKS}
    return RecordedBlock(block, seq=seq, fresh=fresh, context=context, **links)


def extent(reader: Reader, space: int) -> tuple[int, int]:
    """How many rounds there are and which entry is the last."""
    seqs = list(_seqs(reader, space))
    return len(seqs), max(seqs, default=0)


def load(reader: Reader, space: int) -> list[RecordedBlock]:
    """The blocks of a space, in the order they were recorded."""
    entries = by_seq(reader, list(_seqs(reader, space)))
    blocks = (read(entry, seq) for seq, entry in sorted(entries.items()))
    return [block for block in blocks if block is not None]


def _seqs(reader: Reader, space: int) -> Iterator[int]:
    rows = reader.rows(
        "SELECT e.seq FROM entry e JOIN source s ON s.space = e.space AND s.id = e.source"
        " WHERE s.space = ? AND s.family = ? ORDER BY +e.seq",
        (space, sources.family_hash(SOURCE)),
    )
    return (int(row[0]) for row in rows)


def without_notes(reader: Reader, space: int, forgotten: Sequence[int]) -> list[tuple[int, Draft]]:
    """Blocks whose notes were written from rounds that are to be forgotten, without these notes."""
    if set(forgotten).isdisjoint(_seqs(reader, space)):
        return []
    ids = set(identities(reader, forgotten))
    # Do not read the entries to forget: they may be damaged.
    left = by_seq(reader, [seq for seq in _seqs(reader, space) if seq not in set(forgotten)])
    blocks = (read(entry, seq) for seq, entry in sorted(left.items()))
    return [
        (one.seq, draft(replace(one, noted="", block=replace(one.block, note=""))))
        for one in blocks
        if one is not None and one.noted in ids
    ]


def sequences(
    recorded: Iterable[RecordedBlock], among: Collection[str] | None = None
) -> dict[str, list[RecordedBlock]]:
    """Blocks in sequences, oldest first, by the present key of their definition.

    ``among`` are the names of one repository: then its blocks alone, with those whose repository is
    not known. Without it repositories are kept apart. Where two of them have a definition of one
    key, the keys say which is whose: ``PATH::NAME in REPOSITORY``. A block whose repository is not
    known is in the sequences of all, or in one of its own where no repository has the definition.
    """
    every = list(recorded)
    if among is not None:
        return _chains(record for record in every if record.block.repository in {"", *among})
    by_place: dict[tuple[str, str], list[RecordedBlock]] = {}
    for where in dict.fromkeys(record.block.repository for record in every):
        here = (record for record in every if record.block.repository in ("", where))
        for key, sequence in _chains(here).items():
            if any(record.block.repository for record in sequence):
                by_place[where, key] = sequence
    taken = {record.seq for sequence in by_place.values() for record in sequence}
    alone = _chains(record for record in every if record.seq not in taken)
    # A key stays as it is where it is the only one, and says its repository where it is not.
    count = Counter(key for _, key in by_place)
    for (where, key), sequence in by_place.items():
        if count[key] + (key in alone) > 1:
            # A folder in full, a commit abbreviated.
            key += _IN + (where if "/" in where or "\\" in where else where[:SHORT])
        alone[key] = sequence
    return alone


def _chains(blocks: Iterable[RecordedBlock]) -> dict[str, list[RecordedBlock]]:
    """Sequences by the present key of their definition; renames are followed."""
    chains: dict[str, list[RecordedBlock]] = {}
    for record in blocks:
        older = chains.pop(record.block.key, None) or chains.pop(record.former, [])
        chains[record.block.key] = [*older, record]
    return chains


def sequence(recorded: Iterable[RecordedBlock]) -> tuple[SessionBlock, ...]:
    """The blocks of one definition with their changes, and code that was found between them."""
    return with_changes(states(recorded))


def states(recorded: Iterable[RecordedBlock]) -> Iterator[SessionBlock]:
    """The blocks of one definition, each after a block of the code that its round found, where
    that is not what the last one left: nobody is known to have asked for that code."""
    for record in recorded:
        if record.before:
            yield replace(
                record.block, id="", instruction="", code=record.before, note="", outcome=""
            )
        yield record.block


def find_key(definition: str, keys_known: Iterable[str]) -> str:
    """The key meant by ``PATH::NAME``, a qualified name, or its last part.

    Raises UnknownName unless exactly one matches.
    """
    keys = sorted(set(keys_known))
    names = {key: key.partition("::")[2].partition(_IN)[0] for key in keys}
    last = {key: name.rpartition(".")[2] for key, name in names.items()}
    name_alone = definition.partition("::")[2]
    ways = (
        [key for key in keys if key == definition],
        [key for key in keys if names[key] == definition]
        + [key for key in keys if names[key] == name_alone and key.startswith(definition + _IN)],
        [key for key in keys if last[key] == definition],
    )
    matches = next(filter(None, ways), [])
    if len(matches) == 1:
        return matches[0]
    if matches:
        others = f" and {len(matches) - SHOWN:,} others" if len(matches) > SHOWN else ""
        some = ", ".join(matches[:SHOWN]) + others
        raise UnknownName(f"{definition!r} can be any of {some}; give one of these")
    name = definition.rpartition("::")[2].rpartition(".")[2]
    alike = get_close_matches(name, {*last.values()}, SHOWN)
    near = [key for like in alike for key in keys if last[key] == like]
    raise UnknownName(
        f"nothing is known of {definition!r}; "
        + (f"near it: {', '.join(near[:SHOWN])}" if near else "no definition has a name like it")
    )
