"""Requests: their fields are the parameters of the operations, with narrower types."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from types import NoneType
from typing import Annotated, Any, Final, Unpack, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, Json, create_model
from pydantic.fields import FieldInfo

from treering.errors import InputError
from treering.ingest.where import Where
from treering.memory import Memory
from treering.parameters import parameter_help
from treering.records import JSON, Kind
from treering.search.searcher import MAX_QUERY_CHARS
from treering.views.choices import MAX_K, settings_by_name

MAX_BUDGET = 1_000_000  # tokens: the largest context windows
MAX_QUERIES = 256  # of one search
MAX_IDS = 1_000
MAX_SPACES = 16  # of one call: each is searched twice
MAX_DEPTH = 1_000  # commits that one check compares with
MAX_PATH_CHARS = 4096

PathText = Annotated[str, Field(min_length=1, max_length=MAX_PATH_CHARS, pattern=r"^[^\x00]*$")]
"""A path as a client writes it; the operation decides whether it may be read."""

Query = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]
K = Annotated[int, Field(ge=1, le=MAX_K)]
Time = Annotated[str | float, Field(description="ISO 8601, or seconds since the epoch.")]
Moment = Annotated[str, Field(description="ISO 8601.")]
Weight = Annotated[float, Field(ge=0, le=10, description="The weight of the relation.")]

_NARROWER: Final[dict[str, Any]] = {
    "alpha": float | dict[str, float],
    "as_of": str,
    "at": Time,
    "depth": Annotated[int, Field(ge=0, le=MAX_DEPTH)],
    "entry_ids": Annotated[list[str], Field(max_length=MAX_IDS)],
    "near": PathText,
    "path": PathText,
    "paths": Annotated[list[PathText], Field(min_length=1)],
    "root": PathText,
    "expires": str | float,
    "budget": Annotated[int, Field(ge=1, le=MAX_BUDGET)],
    "instruction": Query,
    "k": K,
    "limit": K,
    "message": Query,
    "min_confidence": Annotated[float, Field(ge=0, le=1)],
    "policy": str,
    "queries": Annotated[list[Query], Field(max_length=MAX_QUERIES)],
    "query": Query,
    "question": Query,
    "relations": list[str],
    "rerank": Annotated[str, Field(pattern=r"^[\w.-]+$")],  # only the owner may choose a URL
    "ids": Annotated[list[str], Field(min_length=1, max_length=MAX_IDS)],
    "since": Moment,
    "spaces": Annotated[list[str], Field(min_length=1, max_length=MAX_SPACES)],
    "until": Moment,
}
"""Types of parameters by name, where a request allows less than the method does."""

_CALLBACKS: Final = frozenset({"progress", "count_tokens"})
"""Parameters that cannot be sent."""


class Body(BaseModel):
    """A body that refuses unknown fields and values of another type, so that mistakes show."""

    model_config = ConfigDict(extra="forbid", strict=True)

    def given(self, *but: str) -> dict[str, Any]:
        """Return the fields as the operation takes them, without those named."""
        return {name: getattr(self, name) for name in type(self).model_fields if name not in but}


class FilterRequest(Body):
    """Conditions on entries; all that are given must hold."""

    source: str | None = None
    speaker: str | None = None
    session: str | None = None
    kind: Kind | None = None
    since: str | None = Field(None, description="Only from then on: ISO 8601.")
    until: str | None = Field(None, description="Only before then: ISO 8601.")
    metadata: dict[str, JSON] | None = Field(
        None, description='Values by key, or conditions such as {"$in": [1, 2]}.'
    )
    omit: list[str] | None = Field(None, description="Ids of entries to leave out.")
    as_of: str | None = Field(None, description="As it was known then: ISO 8601.")


def request_of(
    operation: Callable[..., object],
    *without: str,
    doc: str = "",
    renamed: Mapping[str, str] | None = None,
    in_query: bool = False,
) -> type[Body]:
    """Return the request that holds the parameters of an operation, named after it.

    Parameters in ``without``, such as an id in the path, are left out.
    """
    takes_filters = get_type_hints(operation).get("where") == Unpack[Where]
    base = FilterRequest if takes_filters else Body
    fields = _fields(operation, without, renamed or {})
    if in_query:  # where every value is text
        base = create_model("InQuery", __base__=base)
        base.model_config = base.model_config | ConfigDict(strict=False)
        if takes_filters:
            described = Field(None, description="A JSON object.")
            fields["metadata"] = (Json[dict[str, JSON]] | None, described)
    return create_model(_request_name(operation), __base__=base, __doc__=doc, **fields)


def _request_name(operation: Callable[..., object]) -> str:
    """Such as ``MemoSearchRequest`` of ``MemoView.search``, ``AskRequest`` of ``Memory.ask``."""
    kind, _, method = operation.__qualname__.partition(".")
    prefix = kind.removesuffix("View").removesuffix("Memory")
    return prefix + "".join(word.capitalize() for word in method.split("_")) + "Request"


def _fields(
    operation: Callable[..., object], without: Sequence[str], renamed: Mapping[str, str]
) -> dict[str, Any]:
    hints = get_type_hints(operation)
    left_out = {"self", *without} | _CALLBACKS
    fields: dict[str, Any] = {
        renamed.get(name, name): _field(parameter, hints[name])
        for name, parameter in signature(operation).parameters.items()
        if name not in left_out and parameter.kind is not Parameter.VAR_KEYWORD
    }
    if "choices" in hints:
        fields |= {
            name: (
                (kind if kind is str else _NARROWER.get(name, kind)) | None,
                Field(None, description=setting.help),
            )
            for name, (kind, setting) in settings_by_name().items()
        }
    return fields


def _field(parameter: Parameter, hint: Any) -> tuple[Any, Any]:
    """Return the type and default of a parameter, with its help, which a union would hide."""
    kind = _type(parameter, hint)
    notes = (note for part in (kind, *get_args(kind)) for note in get_args(part)[1:])
    helps = (note.description for note in notes if isinstance(note, FieldInfo))
    description = next(filter(None, helps), parameter_help(parameter.name))
    if parameter.kind is Parameter.VAR_POSITIONAL:
        default: Any = []
    else:  # a default of "." is the server's folder, not the client's
        is_needed = parameter.default in (Parameter.empty, ".")
        default = ... if is_needed else parameter.default
    return kind, Field(default, description=description)


def _type(parameter: Parameter, hint: Any) -> Any:
    if hint is float and parameter.name == "alpha":
        return Weight
    is_node = hint is int and parameter.name == "root"  # of the tree, not a folder
    may_be_empty = parameter.default == ""  # as the message of a commit that is checked
    narrower = None if is_node or may_be_empty else _NARROWER.get(parameter.name)
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return narrower or list[hint]
    if narrower is None:
        return hint
    is_optional = parameter.default is None or NoneType in get_args(hint)
    return narrower | None if is_optional else narrower


class ChatMessage(BaseModel):
    """A message of OpenAI's interface; the entry's metadata gets its other keys."""

    model_config = ConfigDict(extra="allow", strict=True)

    role: str | None = None
    name: str | None = None
    content: str | list[JSON] | None = None
    at: Time | None = None
    session: str | None = None
    metadata: dict[str, JSON] | None = None


_ADD = request_of(Memory.add, "content", "encoding", "sync", "force", "propose")


class AddRequest(_ADD):  # type: ignore[misc, valid-type]
    """A text or a conversation to remember; a message may have its own values for other fields."""

    text: str | None = None
    messages: list[ChatMessage] | None = None
    source: str | None = Field(None, description="Default: notes for a text, chat for messages.")
    propose: str | None = Field(None, description="Who proposes it: it waits to be restored.")

    def content(self) -> str | list[dict[str, Any]]:
        """Return the text or the messages. Raise InputError unless exactly one is given."""
        if self.text is not None and self.messages is not None:
            raise InputError("give text or messages, not both", param="messages")
        if self.text is not None:
            return self.text
        if self.messages is None:
            raise InputError("text or messages is missing", param="text")
        return [message.model_dump(exclude_unset=True) for message in self.messages]
