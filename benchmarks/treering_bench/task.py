"""The one shape every benchmark is read into."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class DocumentPiece:
    """A turn, a section or a fact: a part of a document, in reading order.

    ``unit`` names the evidence unit the piece belongs to. Several pieces may share one, where a
    benchmark marks whole files as evidence. ``role`` is that in a talk with an assistant; people
    who talk with each other have none.
    """

    unit: str
    text: str
    speaker: str | None = None
    role: str | None = None
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """The content of one source: a text made of sections, or a chat made of turns."""

    source: str
    pieces: tuple[DocumentPiece, ...]
    chat: bool = False


@dataclass(frozen=True, slots=True)
class TaskQuestion:
    """A question, its reference answers, and the units that hold the evidence.

    ``evidence`` is empty where the benchmark marks none; such a question counts at the answer
    level only. ``options`` are the choices of a multiple-choice question, and ``answers`` then
    holds the text of the right one. ``at`` is the time of asking, where it matters. A question that
    is not ``answerable`` asks for what was not said that way: it counts for its evidence alone.
    ``before`` is the source of the document before which it is asked, if not after all of them;
    questions come in the order in which they are asked.
    """

    id: str
    text: str
    answers: tuple[str, ...] = ()
    evidence: frozenset[str] = frozenset()
    category: str = ""
    options: tuple[str, ...] = ()
    at: datetime | None = None
    answerable: bool = True
    before: str = ""


@dataclass(frozen=True, slots=True)
class Task:
    """One memory space: the documents to add to it, then the questions to ask of it."""

    space: str
    documents: tuple[Document, ...]
    questions: tuple[TaskQuestion, ...]
