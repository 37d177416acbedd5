"""Rounds of work on code: recorded in the journal, told as stories, annotated afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from treering.errors import InputError, ReplyDiscarded
from treering.journal import sources, writing
from treering.journal.contract import Writer
from treering.journal.space import Space, SpaceWriter
from treering.records import Forgotten
from treering.text import check_text
from treering.views.code.parse.pieces import CodePiece, DefinitionChange, all_pieces, changes, dense
from treering.views.code.parse.statements import change
from treering.views.code.rounds import recorded
from treering.views.code.rounds.checkout import Checkout
from treering.views.code.rounds.git import WORKING_TREE, Git
from treering.views.code.rounds.history import DEPTH, CommitHistory, EarlierChange, piece_of
from treering.views.code.rounds.recorded import RecordedBlock
from treering.views.code.rounds.session import RepositoryNames, SessionBlock
from treering.views.erase import Eraser

Files = Mapping[str, str]
"""Texts of source files by path, with slashes, relative to the repository."""

Committed = Mapping[str, datetime | None]
"""When the former text of a file was committed; None if it is the former text whatever is known."""

Build = Callable[[], object]
"""Makes durable entries searchable."""


@dataclass(frozen=True, slots=True)
class WorkRound:
    """What was asked for, and what is known of how it went."""

    instruction: str
    note: str = ""
    outcome: str = ""

    @classmethod
    def of(cls, instruction: str, note: str, outcome: str) -> WorkRound:
        """Checked texts. Raises InputError, TextEncodingError."""
        if not check_text(instruction, "the instruction").strip():
            raise InputError(
                "the instruction is empty; say what the change was made for", param="instruction"
            )
        return cls(
            instruction.strip(), check_text(note, "the note"), check_text(outcome, "the outcome")
        )


class Rounds:
    """The session memory of one space (CodeMEM 3.4), kept as entries of its journal."""

    def __init__(self, space: Space, build: Build, eraser: Eraser) -> None:
        self._space = space
        self._build = build
        self._eraser = eraser

    def begin(self) -> None:
        """Make the space if it is not there yet, so that what a round costs has where to go."""
        with self._space.write() as writer:
            _ = writer.id

    def record(
        self,
        round_: WorkRound,
        checkout: Checkout,
        before: Files | None,
        after: Files | None,
    ) -> tuple[SessionBlock, ...]:
        """Store a block for every definition that a round changed (eq. 6 and 11).

        Without ``after`` these are the files of the ``checkout``, which must be one of git.
        """
        if after is None:
            assert checkout.git is not None
            old, new, committed = self._working_tree(checkout.git, self.known(checkout.names))
        else:
            old, new, committed = before or {}, after, dict.fromkeys(before or ())
            _check_paths({*old, *new})
        with self._space.write() as writer:
            space = writer.id
            every = recorded.load(writer, space)
            if checkout.names:
                sequences = checkout.sequences(every, {*old, *new})
            else:
                sequences = recorded.sequences(every, _only(every))
            pieces_found = _found(all_pieces(old), {*old, *new}, committed, sequences)
            blocks = list(
                _blocks(round_, changes(pieces_found, all_pieces(new)), sequences, checkout)
            )
            ids = [self._store(writer, space, block) for block in blocks]
        self._build()
        return tuple(replace(block.block, id=id_) for block, id_ in zip(blocks, ids, strict=True))

    def add(
        self,
        block: SessionBlock,
        code_found: str,
        checkout: Checkout,
        context: tuple[str, ...],
        shown: Sequence[RecordedBlock] = (),
        note: str = "",
    ) -> SessionBlock:
        """Store a block that a model has written; ``code_found`` is the code that it
        began from, if that is not what the last block left, ``context`` the context memory.

        ``shown`` are the earlier blocks that the model was shown, and ``note`` is what it says of
        the last one. Raises ReplyDiscarded if one of them was forgotten or changed meanwhile.
        """
        block = replace(block, repository=checkout.names, branch=checkout.branch)
        with self._space.write() as writer:
            space = writer.id
            every = recorded.load(writer, space)
            _refuse_what_shows_forgotten(every, shown)
            older = checkout.sequences(every, {block.path}).get(block.key)
            previous = code_found or (older[-1].block.code if older else "")
            fresh = recorded.fresh_lines(block.code, previous)
            record = RecordedBlock(block, before=code_found, fresh=fresh, context=context)
            id_ = self._store(writer, space, record)
            if note:
                self._annotate(writer, shown[-1], replace(shown[-1].block, note=note), id_)
        self._build()
        return replace(block, id=id_)

    def note(self, definition: str, note: str, outcome: str = "") -> SessionBlock:
        """Write the note of a definition's last block, now that its reception is known."""
        check_text(note, "the note")
        check_text(outcome, "the outcome")
        with self._space.write() as writer:
            sequences = recorded.sequences(recorded.load(writer, writer.id))
            old = sequences[recorded.named(definition, sequences)][-1]
            block = replace(old.block, note=note, outcome=outcome or old.block.outcome)
            self._annotate(writer, old, block, "")
        self._build()
        return block

    def _annotate(
        self, writer: SpaceWriter, old: RecordedBlock, block: SessionBlock, noted: str
    ) -> None:
        """Put a block with a note in the place of one; ``noted`` is the block whose instruction
        told it, where a model wrote it."""
        changed = recorded.draft(replace(old, block=block, noted=noted))
        self._eraser.redraft(writer, old.seq, changed, scrub=bool(old.block.note))

    def forget(self, definition: str) -> Forgotten:
        """Erase the rounds of a definition. Raises UnknownName."""
        sequences = self.known()
        seqs = [block.seq for block in sequences[recorded.named(definition, sequences)]]
        return self._eraser.forget(lambda writer: self._eraser.erase(writer, seqs))

    def of(self, keys: Iterable[str]) -> list[SessionBlock]:
        """The recorded blocks of some definitions, newest first."""
        asked_for = set(keys)
        asked = {
            block.id: block  # of no repository, it is in the sequences of several
            for sequence in self.known().values()
            if sequence[-1].block.key in asked_for
            for block in recorded.sequence(sequence)
            if block.instruction
        }
        return sorted(asked.values(), key=_when, reverse=True)

    def state(self) -> tuple[int, int]:
        """How many rounds there are, and the last one: this changes when one comes or goes."""
        with self._space.read() as reader:
            return recorded.extent(reader, reader.id)

    def known(self, among: RepositoryNames | None = None) -> dict[str, list[RecordedBlock]]:
        """Sequences by what their definition is called now; see ``recorded.sequences``."""
        return recorded.sequences(self.every(), among)

    def every(self) -> list[RecordedBlock]:
        """All rounds, in the order they were recorded."""
        with self._space.read() as reader:
            return recorded.load(reader, reader.id)

    def _working_tree(self, git: Git, keys: Iterable[str]) -> tuple[Files, Files, Committed]:
        """Files as committed and on disk: those that differ, and those that have sequences."""
        head = git.head()
        pairs = git.changed(head, WORKING_TREE)
        sequences = {key.partition("::")[0] for key in keys}
        old = {path for path, _ in pairs if path} | sequences
        new = {path for _, path in pairs if path} | sequences
        committed = git.texts(head, sorted(old)) if head else {}
        when = {path: git.touched(head, path) for path in committed if path in sequences}
        return committed, git.texts(WORKING_TREE, sorted(new)), when

    def _store(self, writer: Writer, space: int, block: RecordedBlock) -> str:
        source = sources.source_id(writer, space, recorded.source_of(block.block))
        return writing.append(writer, space, source, [recorded.draft(block)]).ids[0]


def _refuse_what_shows_forgotten(
    every: Iterable[RecordedBlock], shown: Sequence[RecordedBlock]
) -> None:
    """Raise ReplyDiscarded if a block that a model was shown is gone, or is another now."""
    now = {record.seq: record for record in every}
    changed = sum(now.get(record.seq) != record for record in shown)
    if changed:
        raise ReplyDiscarded(
            f"what the model wrote was not recorded: {changed} of the {len(shown)} rounds that it "
            "was shown were forgotten or changed meanwhile, and it may quote them; ask again"
        )


def story_of(
    definition: str, rounds: Iterable[RecordedBlock], root: Path | None
) -> tuple[SessionBlock, ...]:
    """The blocks of one definition, oldest first, with the commits of the repository at ``root``.

    Raises UnknownName.
    """
    if root is None:
        sequences = recorded.sequences(rounds)
        return recorded.sequence(sequences[recorded.named(definition, sequences)])
    git = Git.at(root)
    checkout = Checkout.of_git(git)
    sequences = recorded.sequences(rounds, checkout.names)
    there = all_pieces(git.texts(WORKING_TREE, git.files()))
    key = recorded.named(definition, {*sequences, *there})
    commits = CommitHistory(git, DEPTH).of(git.head(), key)
    here = checkout.rounds_here(key, sequences.get(key, []))
    return tuple(sorted(_told_once(commits, recorded.sequence(here)), key=_when))


def _told_once(
    commits: Sequence[EarlierChange], sequence: Sequence[SessionBlock]
) -> Iterator[SessionBlock]:
    """Commits and rounds. A commit that took in rounds is told once, with the last of them."""
    taken: dict[int, SessionBlock] = {}
    for earlier in commits:
        commit = _as_block(earlier)
        place = _taken_in(earlier, sequence, frozenset(taken))
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
    commit: EarlierChange, sequence: Sequence[SessionBlock], others: frozenset[int]
) -> int | None:
    """The place of the round that a commit took in, or None.

    It is the last round before the commit that left the commit's code, in a stretch of rounds that
    began with the code that the commit began with.
    """
    states = [dense(block.code) for block in sequence]
    before, after = dense(_code(commit.before)), dense(_code(commit.after))
    if before:
        places = (place for place, state in enumerate(states) if state == before)
        start = next(places, len(states)) + 1
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


def _is_before(block: SessionBlock, commit: EarlierChange) -> bool:
    """Whether a round was there when a commit was made; git knows whole seconds."""
    if block.at is None or commit.at is None:
        return True
    return block.at < commit.at + timedelta(seconds=1)


def _check_paths(paths: Iterable[str]) -> None:
    for path in paths:
        if not recorded.is_inside(path):
            raise InputError(f"path {path!r}; give paths from the root of the repository")


def _found(
    old: Mapping[str, CodePiece],
    paths: Iterable[str],
    committed: Committed,
    sequences: Mapping[str, Sequence[RecordedBlock]],
) -> dict[str, CodePiece]:
    """The pieces that a round started from: as last recorded, unless a later commit has them."""
    files = set(paths)
    pieces_found = dict(old)
    for key, sequence in sequences.items():
        last = sequence[-1].block
        if last.path not in files or _is_later(last, committed):
            continue
        pieces_found.pop(key, None)
        if last.code:
            pieces_found[key] = _piece(last, old.get(key))
    return pieces_found


def _is_later(block: SessionBlock, committed: Committed) -> bool:
    """Whether the former text of a block's file is newer than the block."""
    if block.path not in committed:
        return False
    when = committed[block.path]
    return when is None or (block.at is not None and when > block.at)


def _piece(block: SessionBlock, old: CodePiece | None) -> CodePiece:
    return piece_of(block) if old is None else replace(old, code=block.code)


def _only(every: Sequence[RecordedBlock]) -> RepositoryNames:
    """The repository of files that name none: the only one recorded, if there is only one."""
    there = recorded.repositories(block.block.repository for block in every)
    return there[0][0] if len(there) == 1 else ()


def _blocks(
    round_: WorkRound,
    changed: Iterable[DefinitionChange],
    sequences: Mapping[str, Sequence[RecordedBlock]],
    checkout: Checkout,
) -> Iterator[RecordedBlock]:
    """One block to record for each changed definition."""
    now = datetime.now(UTC)
    for definition_change in changed:
        piece, before = definition_change.piece, _code(definition_change.before)
        former = (
            definition_change.before.key
            if definition_change.before and definition_change.before.key != piece.key
            else ""
        )
        older = sequences.get(piece.key) or sequences.get(former)
        as_left = older[-1].block.code if older else ""
        block = SessionBlock(
            definition=piece.qualified,
            instruction=round_.instruction,
            code=_code(definition_change.after),
            language=piece.language,
            note=round_.note,
            outcome=round_.outcome,
            path=piece.path,
            at=now,
            repository=checkout.names or (older[-1].block.repository if older else ()),
            branch=checkout.branch,
        )
        fresh = recorded.fresh_lines(block.code, before)
        yield RecordedBlock(block, former, before if before != as_left else "", fresh=fresh)


def _code(piece: CodePiece | None) -> str:
    """The code that a block keeps; of a class or file, without the blank lines for definitions."""
    if piece is None:
        return ""
    return piece.code if piece.is_function else piece.dense()


def _as_block(commit: EarlierChange) -> SessionBlock:
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
