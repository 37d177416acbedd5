"""Methods of a memory on a server, one for each operation.

``remote_method(MemoView.search, "POST /memos/search")`` has the signature of ``MemoView.search``:
its arguments are the body, and the answer is read as its return type. A new parameter of an
operation needs no code here.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from functools import cache, wraps
from inspect import Parameter, Signature, signature
from pathlib import Path, PurePosixPath, PureWindowsPath
from string import Formatter
from typing import Any, Final, NoReturn, ParamSpec, TypeVar, cast, get_type_hints
from urllib.parse import quote, urlencode

from treering.client.connection import Connection
from treering.errors import InputError
from treering.http import ServerEvent
from treering.llm.tokens import estimate_tokens
from treering.operations import OPERATIONS

P = ParamSpec("P")
T = TypeVar("T")
C = TypeVar("C", bound=type)
Fields = dict[str, Any]
Events = Generator[ServerEvent, None, None]

PAGE: Final = 1_000
"""Items of a long list in one request."""


def remote_method(
    operation: Callable[P, T],
    route: str,
    *,
    body_of: Callable[[Fields], Fields] = dict,
    once: bool = False,
    in_parts: bool = False,
    read: Callable[[Events], T] | None = None,
) -> Callable[P, T]:
    """Return a method that sends its arguments, or what ``body_of`` makes of them, to a route.

    ``once``: a repeated request changes nothing. ``in_parts``: the answer is a list that comes in
    parts. ``read`` takes an answer that is a stream of server-sent events.
    """
    verb, path = route.split()
    taken = signature(operation)
    in_path = [name for _, name, _, _ in Formatter().parse(path) if name]  # those in braces

    @wraps(operation)
    def method(*args: P.args, **kwargs: P.kwargs) -> T:
        this, given = _arguments(taken, args, kwargs)
        # Parameters of the path leave the body, where the server would refuse them.
        at = path.format(**{name: _path_part(given.pop(name), name) for name in in_path})
        connection: Connection = this._connection
        kind: type[T] = _answer_type(operation)
        sent = body_of(given)
        if read is not None:
            return read(connection.events(at, sent | {"stream": True}))
        if in_parts:
            return _read_parts(connection, kind, at, sent)
        if verb == "GET":
            return connection.get(kind, at, sent)
        if verb == "DELETE" and sent:  # which takes no body
            at, sent = f"{at}?{urlencode(sent)}", {}
        return connection.send(kind, verb, at, sent or None, once=once)

    method.route = (verb, path)  # type: ignore[attr-defined]  # held to the OpenAPI document
    return method


def _read_parts(connection: Connection, kind: type[T], at: str, sent: Fields) -> T:
    items: list[Any] = []
    while True:
        part: Any = connection.get(kind, at, sent | {"offset": len(items), "limit": PAGE})
        items += part
        if len(part) < PAGE:
            return cast(T, items)


def remote(kind: C) -> C:
    """Class decorator: each operation of the class above is a request to its route."""
    above = kind.__bases__[-1]
    for row in OPERATIONS:
        name = row.method.__name__
        if vars(above).get(name) is row.method and name not in vars(kind):
            new_names = row.renamed

            def body_of(given: Fields, new_names: Any = new_names) -> Fields:
                return {new_names.get(name, name): value for name, value in given.items()}

            method = remote_method(row.method, row.route, body_of=body_of, in_parts=row.in_parts)
            setattr(kind, name, method)
    return kind


def without(*names: str) -> Callable[[C], C]:
    """Class decorator: inherited methods of these names raise InputError."""

    def decorate(kind: C) -> C:
        for name in names:
            setattr(kind, name, _new_refusal(name))
        return kind

    return decorate


def step(text: str) -> str:
    """Quote a text for use as one part of a path."""
    return quote(text, safe="")


def _path_part(value: object, name: str) -> str:
    if value is None:  # a path would have the text "None"
        raise InputError(f"{name} is None; give one", param=name)
    return step(str(value))


def _new_refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise InputError(
            f"{name}() needs the memory itself, not its server; call it where the memory's file is"
        )

    refuse.__name__ = name
    refuse.is_refusal = True  # type: ignore[attr-defined]
    return refuse


@cache
def _answer_type(operation: Callable[..., Any]) -> type[Any]:
    # Kept: resolving hints takes a good part of a millisecond.
    kind: type[Any] = get_type_hints(operation)["return"]
    return kind


def _arguments(taken: Signature, args: Sequence[Any], kwargs: Fields) -> tuple[Any, Fields]:
    """Return the object of a call, and the arguments to send, with their defaults.

    Raise InputError for a counter of tokens, which cannot be sent.
    """
    bound = taken.bind(*args, **kwargs)
    bound.apply_defaults()
    given = dict(bound.arguments)
    for parameter in taken.parameters.values():
        if parameter.kind is Parameter.VAR_KEYWORD:  # filters
            given |= given.pop(parameter.name)
    if given.pop("count_tokens", estimate_tokens) is not estimate_tokens:
        raise InputError(
            "count_tokens is a function, which cannot be sent to a server; leave it out"
        )
    given.pop("progress", None)
    if isinstance(root := given.get("root"), str | Path):  # else the root of a tree, or none
        given["root"] = _folder(root)
    return given.pop("self"), given


def _folder(root: str | Path) -> str:
    """Return a folder as an absolute path: a relative one counts from the caller's folder."""
    kinds = (PurePosixPath, PureWindowsPath)  # the server's machine may be of the other one
    is_absolute = any(kind(root).is_absolute() for kind in kinds)
    return str(root if is_absolute else Path(root).absolute())
