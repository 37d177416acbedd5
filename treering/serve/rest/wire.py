"""What requests hold: bodies made of the operations that they are for.

``@body_of(Memory.search)`` gives a body the parameters of ``Memory.search`` with their defaults. On
the wire some have narrower types, which stand here once; a body names only what it has otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from types import NoneType
from typing import Annotated, Any, Final, TypeVar, Unpack, cast, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.fields import FieldInfo

from treering.ingest.where import Where
from treering.memory import Memory
from treering.parameters import parameter_help
from treering.records import JSON, Kind
from treering.search.searcher import MAX_QUERY_CHARS
from treering.views.choices import MAX_K, Choices, settings_by_name

MAX_BUDGET = 1_000_000  # tokens: the largest context windows
MAX_QUERIES = 256  # of one search: more go into another

MAX_IDS = 1_000
MAX_MERGED = 100  # memos
MAX_DEPTH = 1_000  # commits that one check compares with
MAX_PATH_CHARS = 4096

PathText = Annotated[str, Field(min_length=1, max_length=MAX_PATH_CHARS, pattern=r"^[^\x00]*$")]
"""A path as a client writes it; whether it is read is for who takes it to decide."""

Query = Annotated[str, Field(min_length=1, max_length=MAX_QUERY_CHARS)]
K = Annotated[int, Field(ge=1, le=MAX_K)]
Budget = Annotated[int, Field(ge=1, le=MAX_BUDGET)]
Time = Annotated[str | float, Field(description="ISO 8601, or seconds since the epoch.")]
Moment = Annotated[str, Field(description="ISO 8601.")]
Weight = Annotated[float, Field(ge=0, le=10, description="The weight of the relation.")]

_ON_THE_WIRE: Final[dict[str, Any]] = {
    "alpha": float | dict[str, float],
    "as_of": str,
    "at": Time,
    "depth": Annotated[int, Field(ge=0, le=MAX_DEPTH)],
    "entry_ids": Annotated[list[str], Field(max_length=MAX_IDS)],
    "near": PathText,
    "memo_ids": Annotated[list[str], Field(min_length=2, max_length=MAX_MERGED)],
    "path": PathText,
    "paths": Annotated[list[PathText], Field(min_length=1)],
    "root": PathText,
    "expires": str | float,
    "budget": Budget,
    "instruction": Query,
    "k": K,
    "message": Query,
    "min_confidence": Annotated[float, Field(ge=0, le=1)],
    "policy": str,
    "queries": Annotated[list[Query], Field(max_length=MAX_QUERIES)],
    "query": Query,
    "question": Query,
    "relations": list[str],
    "rerank": Annotated[str, Field(pattern=r"^[\w.-]+$")],  # a URL is for the owner to choose
    "since": Moment,
    "until": Moment,
}
"""Types of parameters that are narrower in a request, wherever a parameter has that name."""

_CALLBACKS: Final = frozenset({"progress", "count_tokens"})
"""Parameters that cannot be sent."""

IN_QUERY: Final = ConfigDict(strict=False)
"""Of what stands in a query string: there everything is a text."""

B = TypeVar("B", bound="Body")


class Body(BaseModel):
    """A body that refuses unknown fields, so that a mistyped name is an error, and takes no value
    for one of another type: true is no number, and "3" is a text.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    def given(self, *but: str) -> dict[str, Any]:
        """The fields as the operation takes them, ``but`` for these."""
        return {name: getattr(self, name) for name in type(self).model_fields if name not in but}


def body_of(operation: Callable[..., object], *without: str) -> Callable[[type[B]], type[B]]:
    """Give a body the parameters of an operation, but for those that it has itself or goes
    ``without``, such as an id that stands in the path."""
    fields = _fields(operation, without, {})

    def complete(body: type[B]) -> type[B]:
        # A subclass of the same name: fields cannot be added to a model that is there.
        more = {name: field for name, field in fields.items() if name not in body.model_fields}
        return create_model(
            body.__name__,
            __base__=body,
            __doc__=body.__doc__,
            __module__=body.__module__,
            **more,
        )

    return complete


def request_of(
    operation: Callable[..., object],
    *without: str,
    doc: str,
    renamed: Mapping[str, str],
    in_query: bool,
) -> type[Body]:
    """The request that holds the parameters of an operation, named after it."""
    takes_filters = get_type_hints(operation).get("where") == Unpack[Where]
    base = FilterRequest if takes_filters else Body
    if in_query:
        base = create_model("InQuery", __base__=base)
        base.model_config = base.model_config | IN_QUERY
    fields = _fields(operation, without, renamed)
    return create_model(_request_name(operation), __base__=base, __doc__=doc, **fields)


def _request_name(operation: Callable[..., object]) -> str:
    """Such as ``MemoSearchRequest`` of ``MemoView.search``, ``AskRequest`` of ``Memory.ask``."""
    kind, _, method = operation.__qualname__.partition(".")
    of = kind.removesuffix("View").removesuffix("Memory")
    return of + "".join(word.capitalize() for word in method.split("_")) + "Request"


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
    if hints.get("choices") == Unpack[Choices]:
        fields |= {
            name: (
                (kind if kind is str else _ON_THE_WIRE.get(name, kind)) | None,
                Field(None, description=setting.help),
            )
            for name, (kind, setting) in settings_by_name().items()
        }
    return fields


def _field(parameter: Parameter, hint: Any) -> tuple[Any, Any]:
    """The type and default of a parameter, with its help, which a union would hide."""
    kind = _type(parameter, hint)
    notes = (note for part in (kind, *get_args(kind)) for note in get_args(part)[1:])
    helps = (note.description for note in notes if isinstance(note, FieldInfo))
    description = next(filter(None, helps), parameter_help(parameter.name))
    return kind, Field(_default(parameter), description=description)


def _default(parameter: Parameter) -> Any:
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return []
    # The current folder is not the client's.
    is_needed = parameter.default is Parameter.empty or parameter.default == "."
    return ... if is_needed else parameter.default


def _type(parameter: Parameter, hint: Any) -> Any:
    """A parameter's type in a request."""
    if hint is float and parameter.name == "alpha":
        return Weight
    is_node = hint is int and parameter.name == "root"  # of the tree, not a folder
    may_be_empty = parameter.default == ""  # as the message of a commit that is checked
    narrower = None if is_node or may_be_empty else _ON_THE_WIRE.get(parameter.name)
    if parameter.kind is Parameter.VAR_POSITIONAL:
        return narrower or list[hint]
    if narrower is None:
        return hint
    may_be_left_out = parameter.default is None or NoneType in get_args(hint)
    return narrower | None if may_be_left_out else narrower


class FilterRequest(Body):
    """Which entries are meant. All conditions that are given must hold."""

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
    as_of: str | None = Field(None, description="What was known then: ISO 8601.")

    def filters(self) -> Where:
        """As ``Memory`` takes them."""
        return cast(Where, {name: getattr(self, name) for name in FilterRequest.model_fields})


class ChatMessage(BaseModel):
    """A message as OpenAI's interface has it; other keys are kept in the entry's metadata."""

    model_config = ConfigDict(extra="allow", strict=True)

    role: str | None = None
    name: str | None = None
    content: str | list[JSON] | None = None
    at: Time | None = None
    session: str | None = None
    metadata: dict[str, JSON] | None = None


@body_of(Memory.add, "content", "sync", "force")
class EntryDetails(Body):
    """What holds for everything that is added, unless a message says otherwise."""

    source: str | None = Field(None, description="Default: notes for a text, chat for messages.")

    def details(self) -> dict[str, Any]:
        """As ``Memory.add`` takes them."""
        return {name: getattr(self, name) for name in EntryDetails.model_fields}


class AddTextRequest(EntryDetails):
    """A text to remember."""

    text: str


class AddMessagesRequest(EntryDetails):
    """A conversation to remember."""

    messages: list[ChatMessage]


@body_of(Memory.search)
class SearchRequest(FilterRequest):
    """A search."""
