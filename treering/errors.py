"""Every error treering raises, in one tree.

    TreeringError
    ├── InputError            what was passed in cannot be accepted; nothing was changed
    │   ├── EmptyText
    │   ├── TextEncodingError
    │   ├── UnknownName       a source, relation, model or language that is not there
    │   │   ├── UnknownEntry
    │   │   ├── UnknownMemo
    │   │   ├── UnknownMemory
    │   │   ├── UnknownNode
    │   │   ├── UnknownRepository
    │   │   └── UnknownSpace
    │   └── FilterError
    ├── JournalError          the database file
    │   ├── JournalCorrupt
    │   │   └── EntryCorrupt      entries are not what was stored; the others can be read
    │   ├── JournalBusy
    │   │   └── JournalConflict   the server ended a change in favour of another one
    │   ├── JournalFull
    │   └── JournalVersionError
    ├── EmbeddingError        an embedding model failed or is not the one expected
    │   ├── DimensionMismatch
    │   └── ModelMismatch
    ├── LLMError              a language model failed
    │   ├── LLMNotConfigured
    │   ├── LLMUnavailable    down, timed out, overloaded: retrying later may help
    │   ├── LLMReplyError     answered, but not in the form asked for
    │   ├── ReplyDiscarded    answered, from what was forgotten in the meantime
    │   └── TuningStopped     a model could not be tuned to the end; its last checkpoint is kept
    ├── ServerError           a treering server, or the way to it
    │   ├── AccessDenied      its owner does not let this caller do that
    │   │   └── KeyUnknown    no key was sent, or one that opens nothing
    │   ├── QuotaExceeded     the space holds as much as the owner of the server lets it
    │   ├── RequestUnderWay   the same request is being done: trying again later gets its reply
    │   └── ServerUnavailable down, stopping or overloaded: trying again later may help
    ├── CopyMismatch          a copy of a space is not what the space is now
    ├── ViewError             a view failed; what it has not read is pending
    ├── WorkersLost           processes that helped with a bulk ingest ended; the same call goes on
    └── MissingExtra          an optional dependency is not installed

A message names the bad value and the allowed ones. ``hint`` names the operation that resolves the
error; each interface words it for its callers (``treering.hints``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any, ClassVar, Final

from treering.hints import Hint, Interface, words

_WORD_START = r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"


class TreeringError(Exception):
    """Any failure of treering."""

    code: ClassVar[str] = "treering_error"
    """Name of the class in lower case, such as ``unknown_entry``. Programs may rely on it."""

    hint: Hint | None = None
    """Operation that resolves the error. A class may have one for all of its errors."""

    status: ClassVar[HTTPStatus] = HTTPStatus.INTERNAL_SERVER_ERROR
    """Status with which a web server answers."""

    param: str | None = None
    """Parameter with the bad value."""

    def __init__(
        self,
        message: str = "",
        *,
        hint: Hint | None = None,
        param: str | None = None,
        values: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.values = dict(values or {})
        """Names that the words of the hint need, such as that of a model."""
        if hint is not None:
            self.hint = hint
        if param is not None:
            self.param = param

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.code = re.sub(_WORD_START, "_", cls.__name__).lower()

    def __str__(self) -> str:
        return self.worded("python")

    def worded(self, interface: Interface) -> str:
        """Return the message and the next step in the words of an interface."""
        return self.message + self.next_step(interface)

    def next_step(self, interface: Interface) -> str:
        """Return the next step, to be put behind the message; empty without a hint."""
        return f"; {words(self.hint, interface, self.values)}" if self.hint else ""


class InputError(TreeringError, ValueError):
    """A value passed in cannot be accepted; nothing was changed."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY


class EmptyText(InputError):
    """A text to remember or to search for is missing."""


class TextEncodingError(InputError):
    """Bytes or characters that are not valid text."""


class UnknownName(InputError):
    """Nothing is known under that name."""

    status = HTTPStatus.NOT_FOUND


class UnknownEntry(UnknownName):
    """The space does not hold an entry of that id."""

    hint = Hint.LIST_ENTRIES


class UnknownMemo(UnknownName):
    """The space does not hold a memo of that id."""

    hint = Hint.LIST_MEMOS


class UnknownMemory(UnknownName):
    """The place does not hold a memory."""

    hint = Hint.MAKE_MEMORY


class UnknownNode(UnknownName):
    """The tree does not hold a node of that number."""

    hint = Hint.LIST_TREE


class UnknownRepository(UnknownName):
    """The repository is not indexed, or more than one is."""

    hint = Hint.INDEX_CODE


class UnknownSpace(UnknownName):
    """The memory does not hold a space of that name."""

    hint = Hint.LIST_SPACES


class FilterError(InputError):
    """A search filter that cannot mean anything."""


class JournalError(TreeringError):
    """The database failed."""


class JournalCorrupt(JournalError):
    """The file is not a treering database, or is damaged."""


class EntryCorrupt(JournalCorrupt):
    """Entries are not what was stored; all others can be read.

    ``rows`` are their sequence numbers.
    """

    def __init__(self, message: str, rows: Iterable[int] = (), **named: Any) -> None:
        super().__init__(message, **named)
        self.rows = frozenset(rows)


class JournalBusy(JournalError):
    """Another writer held the database for longer than the time-out."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class JournalConflict(JournalBusy):
    """The server ended a change in favour of another one; nothing of it was stored."""


class JournalFull(JournalError):
    """The disk is full or the file may not grow."""

    status = HTTPStatus.INSUFFICIENT_STORAGE


class JournalVersionError(JournalError):
    """The file has a format that this treering does not read, or the server is too old."""


class EmbeddingError(TreeringError):
    """The embedding model failed."""

    status = HTTPStatus.BAD_GATEWAY


class DimensionMismatch(EmbeddingError):
    """A vector does not have the dimension of its space."""


class ModelMismatch(EmbeddingError):
    """The space was built with another embedding model."""

    status = HTTPStatus.CONFLICT


class LLMError(TreeringError):
    """The language model failed."""

    status = HTTPStatus.BAD_GATEWAY


class LLMNotConfigured(LLMError):
    """The operation needs a language model and none is configured."""

    status = HTTPStatus.NOT_IMPLEMENTED


class LLMUnavailable(LLMError):
    """The language model could not be reached or did not answer in time."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class LLMReplyError(LLMError):
    """The language model's reply does not have the form asked for."""


class ReplyDiscarded(LLMError):
    """A reply was not kept, because something that the model was shown was forgotten."""

    status = HTTPStatus.CONFLICT


class TuningStopped(LLMError):
    """Tuning a model could not go on; the last checkpoint is kept."""


class ServerError(TreeringError):
    """A treering server failed, or another server answered."""


class AccessDenied(ServerError):
    """The server does not let this caller do that."""

    status = HTTPStatus.FORBIDDEN


class KeyUnknown(AccessDenied):
    """The server requires a key, and the request lacked it or named an unknown one."""

    status = HTTPStatus.UNAUTHORIZED
    hint = Hint.SEND_KEY


class QuotaExceeded(ServerError):
    """The space would hold more than the owner of the server allows; nothing was stored."""

    status = HTTPStatus.FORBIDDEN


class RequestUnderWay(ServerError):
    """A request with the same idempotency key is being done."""

    status = HTTPStatus.CONFLICT


class ServerUnavailable(ServerError):
    """The server cannot be reached, is stopping, or has too much to do."""

    status = HTTPStatus.SERVICE_UNAVAILABLE


class CopyMismatch(TreeringError):
    """A copy of a space does not hold what the space holds, which may have changed meanwhile."""


class ViewError(TreeringError):
    """A view raised an unexpected error, mostly one of another package."""


class WorkersLost(TreeringError):
    """Worker processes of a bulk ingest ended; all stored entries are durable."""

    @classmethod
    def over(cls, count: int, why: str = "killed, perhaps for want of memory") -> WorkersLost:
        """The error after so many workers ended over the same task."""
        return cls(
            f"{count} workers one after the other ended over the same texts: {why}. Stored "
            "entries are durable; run the same command again, with fewer workers perhaps"
        )


class MissingExtra(TreeringError, ImportError):
    """An optional dependency is not installed."""

    status = HTTPStatus.NOT_IMPLEMENTED

    @classmethod
    def of(cls, package: str, extra: str) -> MissingExtra:
        """The error for ``package``, naming the command that installs it."""
        return cls(
            f"{package} is not installed; run: pip install 'treering[{extra}]'"
            " (in a virtual environment, if pip refuses)"
        )


def _tree(kind: type[TreeringError]) -> list[type[TreeringError]]:
    return [kind, *(each for child in kind.__subclasses__() for each in _tree(child))]


BY_CODE: Final[Mapping[str, type[TreeringError]]] = {
    kind.code: kind for kind in _tree(TreeringError)
}
"""The classes by their codes."""
