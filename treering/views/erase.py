"""Erasing entries: from the journal, from everything derived, and from the bytes of the file."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence

from treering.errors import JournalFull, UnknownName
from treering.journal import claims, entries, removal, replies, unanswered, work
from treering.journal.contract import Reader
from treering.journal.entries import Draft
from treering.journal.removal import SCRUB
from treering.journal.space import NOWHERE, Space, SpaceReader, SpaceWriter, read_state
from treering.records import Filter, Forgotten
from treering.views import progress
from treering.views.contract import Erased, View, attributed, rereading

log = logging.getLogger("treering")

MAX_NEEDLES = (
    16  # pieces of erased text that are looked for in the file; each costs one pass over it
)
NEEDLE_CHARS = 32
MIN_NEEDLE_CHARS = 12  # shorter ones occur by chance


OWN_TABLES = frozenset(
    (
        *("space", "model", "source", "entry", "work", "spent", "fragment", "vector", "gone"),
        *("code_repository", "code_file", "code_change", "code_relation", "tree", "node", "leaf"),
        *("memo", "memo_version", "memo_line", "serve_key", "reply", "claim", "claim_entry"),
        *("fact_mark", "statement", "superseded", "unanswered", "view"),
        *("serve_closed", "reply_shown", "supersession"),
        *("intake", "intake_slice"),
    )
)
"""Tables that no view of another package has; a file may be anybody's, and names what it likes."""

_COUNTED = {
    "fragment": "fragments",
    "statement": "statements",
    "memo": "memos",
    "serve_key": "keys",
}
"""What is counted of a removed space, by table."""


class Eraser:
    """Erases entries of one space, with all that its views derived from them."""

    def __init__(self, space: Space, views: Sequence[View]) -> None:
        self._space = space
        self._views = views

    def forget(self, seqs: Sequence[int]) -> Forgotten:
        """Erase entries for good; ``scrubbed`` tells whether the file was rewritten.

        The rows go in one transaction. Rewriting the file comes after it and stays queued as
        pending work until it has been done.
        """
        with self._space.write() as writer:
            erased = entries.identities(writer, seqs)
            pieces = pieces_of(writer, seqs)
            rows = self.remove(writer, seqs)
            sources = entries.drop_empty_sources(writer, writer.id)
            self.queue_scrub(writer)
            # The rewritten file is searched for pieces of the erased texts. A piece that a
            # remaining entry also holds would be found there, and would prove nothing.
            needles = [piece.encode() for piece in pieces if not occurs(writer, piece)]
        return Forgotten(tuple(erased), tuple(sources), rows, self._scrubbed(needles))

    def remove(self, writer: SpaceWriter, seqs: Sequence[int]) -> dict[str, int]:
        """Delete entries and everything derived from them; return the derived rows by kind."""
        views = self._followed(writer)
        for view in views:
            for seq, draft in view.redrafts(writer, seqs):
                self.redraft(writer, seq, draft, scrub=False)
        rows, further = self._remove_derived(writer, seqs)
        work.forget_errors(writer, writer.id)
        entries.erase(writer, [*seqs, *further])
        return rows

    def redraft(self, writer: SpaceWriter, seq: int, draft: Draft, *, scrub: bool) -> None:
        """Give an entry new content. The views derive their rows from it again.

        With ``scrub`` the old content is removed from the file's bytes, too.
        """
        _, further = self._remove_derived(writer, [seq])
        entries.erase(writer, further)
        entries.rewrite(writer, seq, draft)
        for view in self._views:
            if view.reads:
                work.enqueue(writer, writer.id, view.rereading, [seq])
        if scrub:
            self.queue_scrub(writer)

    def queue_scrub(self, writer: SpaceWriter) -> None:
        """Queue a rewrite of the file, whose bytes may still hold erased text."""
        work.enqueue(writer, writer.id, SCRUB, [0])

    def scrub(self, needles: Sequence[bytes] = ()) -> bool:
        """Rewrite the file without the erased rows. False if another reader prevented it."""
        clean = self._space.database.scrub(needles)
        if clean:
            with self._space.write() as writer:
                removal.finish(writer)
                if writer.is_there:  # else there is nothing, and a row would be made
                    work.claim(writer, writer.id, SCRUB, [0])
        return clean

    def forget_space(self, name: str) -> Forgotten:
        """Erase a space of the file with all that it has. Raises UnknownName."""
        with self._space.database.write() as writer:
            space = read_state(writer, name).id
            if space == NOWHERE:
                SpaceReader(writer, name).ensure_there()
                raise UnknownName(f"there is no space {name!r}: the file has none")
            seqs = list(entries.matching(writer, space, Filter()))
            erased = entries.identities(writer, seqs)
            sources = entries.source_names(writer, space)
            pieces = [*pieces_of(writer, seqs), *([name] if len(name) >= MIN_NEEDLE_CHARS else [])]
            rows = removal.remove(writer, space, name)
            needles = [
                piece.encode()
                for piece in pieces
                if not (removal.is_named(writer, piece) if piece == name else occurs(writer, piece))
            ]
        counts = {_COUNTED[table]: count for table, count in rows.items() if table in _COUNTED}
        return Forgotten(tuple(erased), tuple(sources), counts, self._scrubbed(needles))

    def _scrubbed(self, needles: Sequence[bytes]) -> bool:
        try:
            return self.scrub(needles)
        except JournalFull as error:  # rewriting needs as much room again as the file has
            log.warning("erased, but not yet from the file's bytes; settle() retries: %s", error)
            return False

    def scrub_pending(self) -> bool:
        """Rewrite the file if that is due. False if another reader prevented it."""
        with self._space.read() as reader:
            due = self.is_scrub_due(reader)
        return not due or self.scrub()

    def is_scrub_due(self, reader: SpaceReader) -> bool:
        """Whether bytes of what was erased here, or of a removed space, may be in the file."""
        return removal.waits(reader) or bool(work.queued(reader, reader.id, SCRUB, 1))

    def _followed(self, reader: SpaceReader) -> list[View]:
        """The views that have stored anything, those that rest on others first."""
        states = progress.states(reader, reader.id)
        return [view for view in reversed(self._views) if view.name in states]

    def _drop_uninstalled(self, writer: SpaceWriter) -> None:
        """Empty the tables of views whose package is not installed: nobody else can erase there.

        All of it is derived; the view reads the journal again once its package is back.
        """
        installed = {view.name for view in self._views}
        for name, state in progress.states(writer, writer.id).items():
            if name not in installed:
                for table in state.tables:
                    if table.isidentifier() and table not in OWN_TABLES:
                        writer.execute(f"DELETE FROM {table} WHERE space = ?", (writer.id,))
                progress.drop(writer, writer.id, name)
                work.drop(writer, writer.id, rereading(name))

    def _remove_derived(
        self, writer: SpaceWriter, seqs: Sequence[int]
    ) -> tuple[dict[str, int], list[int]]:
        """Delete everything derived from entries that are about to be erased or changed.

        Returns the deleted rows by kind, and further entries that must be erased as well. What was
        derived from the further entries is deleted, too.
        """
        rows: Counter[str] = Counter()
        further: list[int] = []
        waiting = list(seqs)
        self._drop_uninstalled(writer)
        # A view may name further entries that must go (a person's change of a memo, say). Other
        # views have derived rows from those, so this repeats until no view names any more.
        while waiting:
            erasures = [_erased_by(view, writer, waiting) for view in self._followed(writer)]
            for erasure in erasures:
                rows.update(erasure.rows)
            replies.erase(writer, writer.id, waiting)
            unanswered.erase(writer, waiting)
            claims.erase(writer, waiting)
            for view in self._views:
                work.claim(writer, writer.id, view.rereading, waiting)
            waiting = [s for erasure in erasures for s in erasure.entries if s not in seqs]
            further += waiting
        return dict(rows), further


def _erased_by(view: View, writer: SpaceWriter, seqs: Sequence[int]) -> Erased:
    with attributed(view):
        return view.erase(writer, seqs)


def matching(reader: SpaceReader, entry_ids: Sequence[str], condition: Filter) -> list[int]:
    """The entries of these ids that meet a filter; with no id, all that meet it.

    Raises UnknownName for an id that is not there.
    """
    seqs = list(entries.matching(reader, reader.id, condition))
    if not entry_ids:
        return seqs
    named = {entries.seq_of(reader, reader.id, identity) for identity in entry_ids}
    return [seq for seq in seqs if seq in named]


def pieces_of(reader: Reader, seqs: Sequence[int]) -> list[str]:
    """Pieces of some of the texts, evenly chosen, to look for in the rewritten file.

    The texts are read as bytes, so that an entry with damaged text can be forgotten, too.
    """
    step = max(len(seqs) // MAX_NEEDLES, 1)
    rows = (
        reader.row("SELECT CAST(text AS BLOB) FROM entry WHERE seq = ?", (seq,))
        for seq in seqs[::step][:MAX_NEEDLES]
    )
    texts = (bytes(row[0]).decode(errors="ignore") for row in rows if row is not None)
    pieces = [_middle(text) for text in texts]
    return [piece for piece in pieces if len(piece) >= MIN_NEEDLE_CHARS]


def _middle(text: str) -> str:
    start = max((len(text) - NEEDLE_CHARS) // 2, 0)
    return text[start : start + NEEDLE_CHARS]


def occurs(reader: Reader, piece: str) -> bool:
    """Whether a remaining entry holds a piece."""
    row = reader.row("SELECT 1 FROM entry WHERE instr(text, ?) > 0 LIMIT 1", (piece,))
    return row is not None
