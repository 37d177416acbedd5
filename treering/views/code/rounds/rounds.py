"""Rounds of work on code: recorded in the journal, listed as stories, annotated afterwards."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from treering.errors import InputError, ReplyDiscarded
from treering.journal import sources, writing
from treering.journal.space import Space, SpaceWriter
from treering.records import Forgotten
from treering.text import check_text
from treering.views.code.parse.pieces import CodePiece, all_pieces, changes, dense
from treering.views.code.rounds import recorded
from treering.views.code.rounds.git import WORKING_TREE, Git
from treering.views.code.rounds.history import Checkout, EarlierChange, piece_of
from treering.views.code.rounds.recorded import RecordedBlock
from treering.views.code.rounds.session import SessionBlock, change
from treering.views.erase import Eraser

Files = Mapping[str, str]
"""Texts of source files by path, with slashes, relative to the repository."""

Committed = Mapping[str, datetime | None]
"""When the former text of a file was committed; None if it counts as the newest."""

Build = Callable[[], object]
"""Makes durable entries searchable."""

NOTHING_CHANGED = (
    "nothing was recorded: no definition has changed since the last commit or recorded round; "
    "record a change before it is committed"
)


class Rounds:
    """The session memory of one space (CodeMEM 3.4), kept as entries of its journal."""

    def __init__(self, space: Space, build: Build, eraser: Eraser) -> None:
        self._space = space
        self._build = build
        self._eraser = eraser

    def begin(self) -> None:
        """Create the space if it does not exist, so that the cost of a round can be booked."""
        with self._space.write() as writer:
            _ = writer.id

    def record(
        self,
        instruction: str,
        note: str,
        outcome: str,
        checkout: Checkout,
        before: Files | None,
        after: Files | None,
    ) -> tuple[SessionBlock, ...]:
        """Store a block for every definition that a round changed (eq. 6 and 11).

        Without ``after`` these are the files of the ``checkout``, which must be one of git.
        Raises InputError, TextEncodingError.
        """
        if not check_text(instruction, "the instruction").strip():
            raise InputError(
                "the instruction is empty; name the purpose of the change", param="instruction"
            )
        round_ = SessionBlock(
            definition="",
            instruction=instruction.strip(),
            code="",
            note=check_text(note, "the note"),
            outcome=check_text(outcome, "the outcome"),
            repository=checkout.repository,
            branch=checkout.branch,
        )
        while True:  # until no other round comes between reading git and writing
            state, every = self._load()
            blocks = list(_blocks(round_, checkout, every, before, after))
            with self._space.write() as writer:
                if recorded.extent(writer, writer.id) == state:
                    ids = [self._store(writer, writer.id, block) for block in blocks]
                    break
        self._build()
        return tuple(replace(block.block, id=id_) for block, id_ in zip(blocks, ids, strict=True))

    def add(
        self,
        block: SessionBlock,
        code_found: str,
        context: tuple[str, ...],
        shown: Sequence[RecordedBlock] = (),
        note: str = "",
    ) -> SessionBlock:
        """Store a block that a model has written; ``code_found`` is the code that it
        began from, if that differs from the last block, ``context`` the context memory.

        ``shown`` are the earlier blocks that the model was shown, and ``note`` is its note on the
        last one. Raises ReplyDiscarded if one of them was forgotten or changed meanwhile.
        """
        previous = code_found or (shown[-1].block.code if shown else "")
        fresh = recorded.fresh_lines(block.code, previous)
        record = RecordedBlock(block, before=code_found, fresh=fresh, context=context)
        with self._space.write() as writer:
            now = {record.seq: record for record in recorded.load(writer, writer.id)}
            if changed := sum(now.get(record.seq) != record for record in shown):
                raise ReplyDiscarded(
                    f"the model's code was not recorded: {changed} of the {len(shown)} rounds that "
                    "it was shown were forgotten or changed meanwhile, and it may quote them; ask "
                    "again"
                )
            id_ = self._store(writer, writer.id, record)
            if note:
                self._annotate(writer, shown[-1], replace(shown[-1].block, note=note), id_)
        self._build()
        return replace(block, id=id_)

    def note(self, definition: str, note: str, outcome: str = "") -> SessionBlock:
        """Write the note of a definition's last block, now that its reception is known."""
        check_text(note, "the note")
        if not check_text(outcome, "the outcome") and not note:
            raise InputError("give a note or an outcome", param="note")
        with self._space.write() as writer:
            sequences = recorded.sequences(recorded.load(writer, writer.id))
            old = sequences[recorded.find_key(definition, sequences)][-1]
            block = replace(
                old.block, note=note or old.block.note, outcome=outcome or old.block.outcome
            )
            self._annotate(writer, old, block, "")
        self._build()
        return block

    def _annotate(
        self, writer: SpaceWriter, old: RecordedBlock, block: SessionBlock, noted: str
    ) -> None:
        """Replace a block by one with a note; ``noted`` is the id of the block from whose
        instruction a model wrote the note."""
        changed = recorded.draft(replace(old, block=block, noted=noted))
        self._eraser.redraft(writer, old.seq, changed, scrub=bool(old.block.note))

    def forget(self, definition: str) -> Forgotten:
        """Erase the rounds of a definition. Raises UnknownName."""
        sequences = recorded.sequences(self.every())
        seqs = [block.seq for block in sequences[recorded.find_key(definition, sequences)]]
        return self._eraser.forget(lambda writer: self._eraser.erase(writer, seqs))

    def every(self) -> list[RecordedBlock]:
        """All rounds, in the order they were recorded."""
        return self._load()[1]

    def _load(self) -> tuple[tuple[int, int], list[RecordedBlock]]:
        with self._space.read() as reader:
            return recorded.extent(reader, reader.id), recorded.load(reader, reader.id)

    def _store(self, writer: SpaceWriter, space: int, block: RecordedBlock) -> str:
        source = sources.source_id(writer, space, f"{recorded.SOURCE}{block.block.path}")
        return writing.append(writer, space, source, [recorded.draft(block)]).ids[0]


def story_of(
    definition: str, rounds: Iterable[RecordedBlock], root: Path | None
) -> tuple[SessionBlock, ...]:
    """The blocks of one definition, oldest first, with the commits of the repository at ``root``.

    A commit is part of the last round before it that left its code. Raises UnknownName.
    """
    if root is None:
        sequences = recorded.sequences(rounds)
        return recorded.sequence(sequences[recorded.find_key(definition, sequences)])
    git = Git.at(root)
    checkout = Checkout.from_git(git)
    assert checkout.history is not None
    sequences = recorded.sequences(rounds, checkout.names)
    paths = [path for _, path in git.changed_paths("", WORKING_TREE)]  # all source files
    there = checkout.history.all_pieces(git.texts(WORKING_TREE, paths))
    key = recorded.find_key(definition, {*sequences, *there})
    commits = map(_as_block, checkout.history.changes(git.head(), [key])[key])
    here = recorded.sequence(checkout.rounds_here(key, sequences.get(key, [])))
    story: list[SessionBlock] = []
    for block in sorted([*commits, *(block for block in here if block.instruction)], key=_when):
        open_ = [at for at, round_ in enumerate(story) if not round_.commit] if block.commit else []
        took_in = [at for at in open_ if dense(story[at].code) == dense(block.code)]
        if took_in:
            at = took_in[-1]
            story[at] = replace(story[at], commit=block.commit, message=block.message)
        else:
            story.append(block)
    return tuple(story)


def _blocks(
    round_: SessionBlock,
    checkout: Checkout,
    every: Sequence[RecordedBlock],
    before: Files | None,
    after: Files | None,
) -> Iterator[RecordedBlock]:
    """One block to record for each definition that a round changed. ``round_`` lacks code."""
    committed: Committed = dict.fromkeys(before or ())
    is_tree = after is None
    if after is None:
        assert checkout.history is not None
        before, after, committed = _working_tree(checkout.history.git, every, checkout.names)
    paths = {*(before or ()), *after}
    for path in paths:
        if not recorded.is_inside(path):
            raise InputError(f"path {path!r}; give paths from the root of the repository")
    names: Collection[str] = checkout.names
    if not names:
        # Files that name no repository are of the only one recorded, if there is only one.
        there = {record.block.repository for record in every if record.block.repository}
        names = there if len(there) == 1 else ()
    sequences = {}
    for key, sequence in recorded.sequences(every, names).items():
        is_read = sequence[-1].block.path in paths
        if is_read and (here := checkout.rounds_here(key, sequence)):
            sequences[key] = here
    old, new = all_pieces(before or {}), all_pieces(after)
    changed = changes(_pieces_before(old, paths, committed, sequences), new)
    if is_tree:
        keys = _uncommitted_keys(old, new, sequences)
        changed = tuple(each for each in changed if each.piece.key in keys)
    now = datetime.now(UTC)
    for change_ in changed:
        piece, was = change_.piece, change_.before
        code_before = _code(was)
        former = was.key if was and was.key != piece.key else ""
        older = sequences.get(piece.key) or sequences.get(former)
        as_left = older[-1].block.code if older else ""
        block = replace(
            round_,
            definition=piece.qualified,
            code=_code(change_.after),
            language=piece.language,
            path=piece.path,
            at=now,
            repository=checkout.repository or (older[-1].block.repository if older else ""),
        )
        fresh = recorded.fresh_lines(block.code, code_before)
        found = code_before if code_before != as_left else ""
        yield RecordedBlock(block, former, found, fresh=fresh)


def _working_tree(
    git: Git, every: Iterable[RecordedBlock], names: Collection[str]
) -> tuple[Files, Files, Committed]:
    """Files as committed and on disk: those that differ, and those that have sequences."""
    head = git.head()
    pairs = git.changed_paths(head, WORKING_TREE)
    sequences = {key.partition("::")[0] for key in recorded.sequences(every, names)}
    old = {path for path, _ in pairs if path} | sequences
    new = {path for _, path in pairs if path} | sequences
    committed = git.texts(head, sorted(old)) if head else {}
    when = {path: git.last_commit_time(head, path) for path in committed if path in sequences}
    return committed, git.texts(WORKING_TREE, sorted(new)), when


def _uncommitted_keys(
    committed: Mapping[str, CodePiece],
    now: Mapping[str, CodePiece],
    sequences: Mapping[str, Sequence[RecordedBlock]],
) -> set[str]:
    """The definitions that differ from the last commit; a recorded rename deleted none."""
    renamed = {record.former for sequence in sequences.values() for record in sequence}
    keys = {each.piece.key for each in changes(committed, now)}
    return {key for key in keys if key in now or key not in renamed}


def _pieces_before(
    old: Mapping[str, CodePiece],
    paths: Collection[str],
    committed: Committed,
    sequences: Mapping[str, Sequence[RecordedBlock]],
) -> dict[str, CodePiece]:
    """The pieces that a round started from: as last recorded, unless a later commit has them."""
    before = dict(old)
    for key, sequence in sequences.items():
        last = sequence[-1].block
        when = committed.get(last.path)  # None if it counts as the newest
        is_newer = last.path in committed and (
            when is None or (last.at is not None and when > last.at)
        )
        if last.path in paths and not is_newer:
            before.pop(key, None)
            if last.code:
                piece = old.get(key)
                before[key] = replace(piece, code=last.code) if piece else piece_of(last)
    return before


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
    """When a block was recorded; git knows only the second, which a commit is taken to end."""
    at = block.at or datetime.min.replace(tzinfo=UTC)
    return at + timedelta(seconds=1) if block.commit == block.id else at
