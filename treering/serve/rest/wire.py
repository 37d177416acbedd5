"""What requests hold, as their bodies are written down in the OpenAPI document."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from treering.ingest.where import Where
from treering.recall.search import MAX_QUERY_CHARS
from treering.records import BRIEF_TOKENS, JSON, Altitude, Kind, Level
from treering.score.own import Mode

MAX_K = 1_000  # hits of one search; whoever needs all entries pages through them
MAX_BUDGET = 1_000_000  # tokens: the largest context windows
MAX_QUERIES = 256  # of one search: more go into another

MAX_PATH_CHARS = 4096

PathText = Annotated[str, Field(min_length=1, max_length=MAX_PATH_CHARS, pattern=r"^[^\x00]*$")]
"""A path as a client writes it; whether it is read is for who takes it to decide."""

Query = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]
K = Annotated[int, Field(ge=1, le=MAX_K)]
Budget = Annotated[int, Field(ge=1, le=MAX_BUDGET)]
Time = Annotated[str | float, Field(description="ISO 8601, or seconds since the epoch.")]


class Body(BaseModel):
    """A body in which nothing unknown may stand: a mistyped name is told, not passed over."""

    model_config = ConfigDict(extra="forbid")


class Conditions(Body):
    """Which entries are meant: all conditions that are given must hold."""

    source: str | None = None
    speaker: str | None = None
    session: str | None = None
    kind: Kind | None = None
    since: str | None = Field(None, description="Only from then on: ISO 8601.")
    until: str | None = Field(None, description="Only before then: ISO 8601.")
    metadata: dict[str, JSON] | None = None
    omit: list[str] | None = Field(None, description="Ids of entries to leave out.")

    def filters(self) -> Where:
        """As ``Memory`` takes them."""
        return Where(
            source=self.source,
            speaker=self.speaker,
            session=self.session,
            kind=self.kind,
            since=self.since,
            until=self.until,
            metadata=self.metadata,
            omit=self.omit,
        )


class Envelope(Body):
    """What is said of everything that is added, unless a message says otherwise."""

    source: str | None = Field(None, description="Default: notes for a text, chat for messages.")
    kind: Kind | None = None
    at: Time | None = None
    speaker: str | None = None
    session: str | None = None
    metadata: dict[str, JSON] | None = None
    mask: bool = Field(False, description="Store no keys, passwords and private passages.")

    def said(self) -> dict[str, Any]:
        """As ``Memory.add`` takes it."""
        return {name: getattr(self, name) for name in Envelope.model_fields}


class Message(BaseModel):
    """A message as OpenAI's interface has it; other keys are kept in the entry's metadata."""

    model_config = ConfigDict(extra="allow")

    role: str | None = None
    name: str | None = None
    content: str | list[JSON] | None = None
    at: Time | None = None
    session: str | None = None
    metadata: dict[str, JSON] | None = None


class NewText(Envelope):
    """A text to remember."""

    text: str


class NewMessages(Envelope):
    """A conversation to remember."""

    messages: list[Message]


class NewContent(Body):
    """Another text for an entry."""

    text: str


class Ranked(Conditions):
    """How candidates are chosen and scored."""

    mode: Mode = "hybrid"
    relations: list[str] | None = Field(
        None, description="Names; none given: what suits each kind of content; []: no relation."
    )
    alpha: float | dict[str, float] | None = Field(
        None, description="The weight of all relations, or of each by name."
    )
    min_confidence: float = Field(0.0, ge=0, le=1, description="Nothing that is less sure.")

    def options(self) -> dict[str, Any]:
        """As ``Memory.search`` takes them."""
        chosen = {"mode": self.mode, "relations": self.relations, "alpha": self.alpha}
        return chosen | {"min_confidence": self.min_confidence} | self.filters()


class AtLevel(Ranked):
    """What is found: texts, summaries of the tree, or both."""

    level: Level = "texts"
    k: K = 10

    def options(self) -> dict[str, Any]:
        """As ``Memory.search`` takes them."""
        return super().options() | {"k": self.k, "level": self.level}


class Search(AtLevel):
    """A search."""

    query: Query


class SearchMany(AtLevel):
    """Several searches in one pass."""

    queries: list[Query] = Field(min_length=1, max_length=MAX_QUERIES)


class WantedContext(Ranked):
    """A question whose passages shall go into a prompt."""

    query: Query
    budget: Budget = 1000
    altitude: Altitude = "texts"

    def options(self) -> dict[str, Any]:
        """As ``Memory.context`` takes them."""
        return super().options() | {"budget": self.budget, "altitude": self.altitude}


class WantedBrief(Body):
    """How long a brief may be."""

    budget: Budget = BRIEF_TOKENS


class Question(Conditions):
    """A question to be answered from the memory."""

    question: Query
    budget: Budget = 1500
    altitude: Altitude = "texts"
