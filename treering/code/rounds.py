"""Rounds of work on code: recorded in the journal, told as stories, annotated afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from treering.code import recorded
from treering.code.changes import DefinitionChange, Piece, all_pieces, changes
from treering.code.check import DEPTH, Check
from treering.code.diff import change
from treering.code.git import WORKING_TREE, Git
from treering.code.guard import Brought, piece_of
from treering.code.recorded import Recorded
from treering.code.session import Names, SessionBlock
from treering.errors import InputError
from treering.journal import entries
from treering.journal.contract import Writer
from treering.journal.space import Space
from treering.records import Forgotten
from treering.split.stream import check_text
from treering.views.erase import Eraser

Files = Mapping[str, str]
"""Texts of source files by path, with slashes, relative to the repository."""

Committed = Mapping[str, datetime | None]
"""When the former text of a file was committed; None if it is the former text whatever is known."""

Build = Callable[[], None]
"""Makes entries that are durable searchable."""


@dataclass(frozen=True, slots=True)
class Round:
    """What was asked for, and what is known of how it went."""

    instruction: str
    note: str = ""
    outcome: str = ""

    @classmethod
    def of(cls, instruction: str, note: str, outcome: str) -> Round:
        """Checked texts. Raises InputError, TextEncodingError."""
        if not check_text(instruction, "the instruction").strip():
            raise InputError("the instruction is empty; say what the change was made for")
        return cls(
            instruction.strip(), check_text(note, "the note"), check_text(outcome, "the outcome")
        )


class Rounds:
    """The session memory of one space (CodeMEM 3.4), kept as entries of its journal."""

    def __init__(self, space: Space, build: Build, eraser: Eraser) -> None:
        self._space = space
        self._build = build
        self._eraser = eraser

    def record(
        self,
        round_: Round,
        root: Path,
        before: Files | None,
        after: Files | None,
        among: Names = (),
    ) -> tuple[SessionBlock, ...]:
        """Store a block for every definition that a round changed (eq. 6 and 11).

        ``among`` are the names of the repository that given files are of, if they are of one.
        """
        if after is None and before is not None:
            raise InputError("before= needs after=: the files as they are now")
        if after is None:
            git = Git.at(root)
            among = git.identities()
            old, new, committed = self._working_tree(git, self.known(among))
        else:
            old, new, committed = before or {}, after, dict.fromkeys(before or ())
            _check_paths({*old, *new})
        with self._space.write() as writer:
            space = writer.id
            every = recorded.load(writer, space)
            known = recorded.sequences(every, among or _only(every))
            found = _found(all_pieces(old), {*old, *new}, committed, known)
            made = list(_blocks(round_, changes(found, all_pieces(new)), known, among))
            ids = [self._store(writer, space, one) for one in made]
        self._build()
        return tuple(replace(one.block, id=id_) for one, id_ in zip(made, ids, strict=True))

    def add(self, block: SessionBlock, found: str, among: Names) -> SessionBlock:
        """Store a block that a model has written; ``found`` is the code that it found, if that is
        not what the last block left, ``among`` the names of its repository."""
        block = replace(block, repository=among)
        with self._space.write() as writer:
            space = writer.id
            older = recorded.sequences(recorded.load(writer, space), among or None).get(block.key)
            previous = found or (older[-1].block.code if older else "")
            fresh = recorded.fresh_lines(block.code, previous)
            id_ = self._store(writer, space, Recorded(block, before=found, fresh=fresh))
        self._build()
        return replace(block, id=id_)

    def note(
        self,
        definition: str,
        note: str,
        outcome: str = "",
        *,
        noted: str = "",
        place: int = -1,
        among: Names | None = None,
    ) -> SessionBlock:
        """Write the note of a definition's last block, now that its reception is known.

        ``noted`` is the block whose instruction told, where a model wrote the note from it, and
        ``place`` the block's place in its sequence. ``among`` are the names of a repository.
        """
        check_text(note, "the note")
        check_text(outcome, "the outcome")
        with self._space.write() as writer:
            space = writer.id
            known = recorded.sequences(recorded.load(writer, space), among)
            old = known[recorded.named(definition, known)][place]
            block = replace(old.block, note=note, outcome=outcome or old.block.outcome)
            changed = recorded.draft(replace(old, block=block, noted=noted))
            self._eraser.redraft(writer, old.seq, changed, scrub=bool(old.block.note))
        self._build()
        return block

    def forget(self, definition: str) -> Forgotten:
        """Erase the rounds of a definition. Raises UnknownName."""
        known = self.known()
        seqs = [one.seq for one in known[recorded.named(definition, known)]]
        return self._eraser.forget(seqs)

    def of(self, keys: Iterable[str]) -> list[SessionBlock]:
        """The blocks that rounds left of some definitions, newest first."""
        wanted = set(keys)
        asked = {
            block.id: block  # of no repository, it is in the sequences of several
            for sequence in self.known().values()
            if sequence[-1].block.key in wanted
            for block in recorded.sequence(sequence)
            if block.instruction
        }
        return sorted(asked.values(), key=_when, reverse=True)

    def state(self) -> tuple[int, int]:
        """What tells that rounds were recorded or forgotten."""
        with self._space.read() as reader:
            return recorded.extent(reader, reader.id)

    def known(self, among: Names | None = None) -> dict[str, list[Recorded]]:
        """Sequences by what their definition is called now; see ``recorded.sequences``."""
        with self._space.read() as reader:
            return recorded.sequences(recorded.load(reader, reader.id), among)

    def _working_tree(self, git: Git, known: Iterable[str]) -> tuple[Files, Files, Committed]:
        """Files as committed and on disk: those that differ, and those that have sequences."""
        head = git.head()
        pairs = git.changed(head, WORKING_TREE)
        sequences = {key.partition("::")[0] for key in known}
        old = {path for path, _ in pairs if path} | sequences
        new = {path for _, path in pairs if path} | sequences
        committed = git.texts(head, sorted(old)) if head else {}
        when = {path: git.touched(head, path) for path in committed if path in sequences}
        return committed, git.texts(WORKING_TREE, sorted(new)), when

    def _store(self, writer: Writer, space: int, one: Recorded) -> str:
        source = entries.source_id(writer, space, recorded.source_of(one.block))
        return entries.append(writer, space, source, [recorded.draft(one)]).ids[0]


def story_of(
    definition: str, known: Mapping[str, Sequence[Recorded]], root: Path | None
) -> tuple[SessionBlock, ...]:
    """The blocks of one definition, oldest first, with the commits of the repository at ``root``.

    Raises UnknownName.
    """
    if root is None:
        return recorded.sequence(known[recorded.named(definition, known)])
    git = Git.at(root)
    known = recorded.within(known, git.identities())
    there = all_pieces(git.texts(WORKING_TREE, git.files()))
    key = recorded.named(definition, {*known, *there})
    commits = Check(git, known, DEPTH).history(git.head(), key)
    return tuple(sorted(_told_once(commits, recorded.sequence(known.get(key, []))), key=_when))


def _told_once(
    commits: Sequence[Brought], sequence: Sequence[SessionBlock]
) -> Iterator[SessionBlock]:
    """Commits and rounds; a commit that took in rounds is told with the last of these."""
    taken: dict[int, SessionBlock] = {}
    for one in commits:
        commit = _as_block(one)
        place = _taken_in(one, sequence, frozenset(taken))
        if place is None:
            yield commit
        else:
            taken[place] = commit
    for place, block in enumerate(sequence):
        if place in taken:
            sha, message = taken[place].commit, taken[place].instruction
            yield replace(block, commit=sha, message=message)
        elif block.instruction:
            yield block


def _taken_in(
    commit: Brought, sequence: Sequence[SessionBlock], others: frozenset[int]
) -> int | None:
    """The last round before a commit that left what the commit has, where it began from what the
    commit began from."""
    states = [_dense(block.code) for block in sequence]
    before, after = _dense(_code(commit.before)), _dense(_code(commit.after))
    if before:
        found = (place for place, state in enumerate(states) if state == before)
        start = next(found, len(states)) + 1
    else:  # rounds made the definition, if the first one did not find it
        start = 0 if sequence and sequence[0].instruction else len(states)
    same = [
        place
        for place in range(start, len(states))
        if states[place] == after
        and place not in others
        and sequence[place].instruction
        and _is_before(sequence[place], commit)
    ]
    return same[-1] if same else None


def _is_before(block: SessionBlock, commit: Brought) -> bool:
    """Whether a round was there when a commit was made; git knows whole seconds."""
    if block.at is None or commit.at is None:
        return True
    return block.at < commit.at + timedelta(seconds=1)


def _dense(code: str) -> list[str]:
    return [line for line in code.splitlines() if line.strip()]


def _check_paths(paths: Iterable[str]) -> None:
    for path in paths:
        if not recorded.is_inside(path):
            raise InputError(f"path {path!r}; give paths from the root of the repository")


def _found(
    old: Mapping[str, Piece],
    paths: Iterable[str],
    committed: Committed,
    known: Mapping[str, Sequence[Recorded]],
) -> dict[str, Piece]:
    """The pieces that a round found: as last recorded, unless a later commit has them."""
    files = set(paths)
    found = dict(old)
    for key, sequence in known.items():
        last = sequence[-1].block
        if last.path not in files or _is_later(last, committed):
            continue
        found.pop(key, None)
        if last.code:
            found[key] = _piece(last, old.get(key))
    return found


def _is_later(block: SessionBlock, committed: Committed) -> bool:
    """Whether the former text of a block's file is newer than the block."""
    if block.path not in committed:
        return False
    when = committed[block.path]
    return when is None or (block.at is not None and when > block.at)


def _piece(block: SessionBlock, old: Piece | None) -> Piece:
    return piece_of(block) if old is None else replace(old, code=block.code)


def _only(every: Sequence[Recorded]) -> Names:
    """The repository that files of which nobody said so are of: the only one there is."""
    there = recorded.repositories(one.block.repository for one in every)
    return there[0][0] if len(there) == 1 else ()


def _blocks(
    round_: Round,
    found: Iterable[DefinitionChange],
    known: Mapping[str, Sequence[Recorded]],
    among: Names,
) -> Iterator[Recorded]:
    """What to record of each change."""
    now = datetime.now(UTC)
    for one in found:
        piece, before = one.piece, _code(one.before)
        former = one.before.key if one.before and one.before.key != piece.key else ""
        older = known.get(piece.key) or known.get(former)
        as_left = older[-1].block.code if older else ""
        block = SessionBlock(
            definition=piece.qualified,
            instruction=round_.instruction,
            code=_code(one.after),
            language=piece.language,
            note=round_.note,
            outcome=round_.outcome,
            path=piece.path,
            at=now,
            repository=among or (older[-1].block.repository if older else ()),
        )
        fresh = recorded.fresh_lines(block.code, before)
        yield Recorded(block, former, before if before != as_left else "", fresh=fresh)


def _code(piece: Piece | None) -> str:
    """The code that a block keeps: of a class or file, no blank lines for what is elsewhere."""
    if piece is None:
        return ""
    return piece.code if piece.is_function else piece.dense()


def _as_block(commit: Brought) -> SessionBlock:
    """A commit is a block: its message, the code that it left, and the diff."""
    after, before = commit.after, commit.before
    return SessionBlock(
        definition=after.qualified,
        instruction=commit.instruction,
        code=_code(after),
        language=after.language,
        change=change(_code(before), _code(after), after.language),
        path=after.path,
        id=commit.name,
        at=commit.at,
        commit=commit.name,
        message=commit.instruction,
    )


def _when(block: SessionBlock) -> datetime:
    return block.at or datetime.min.replace(tzinfo=UTC)
